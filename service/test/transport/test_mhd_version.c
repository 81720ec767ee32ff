/* SPDX-License-Identifier: MIT */
/* Promise: only versions of libmicrohttpd that were tried are used. */
#include "service/http/mhd/interpose.h"

#include "base/test/check.h"
#include "base/util.h"

int main(void)
{
	static const char *const known[] = { "0.9.75", "0.9.77", "1.0.0",
					     "1.0.1", "1.0.99" };
	static const char *const others[] = { "0.9.74", "0.10.80", "1.1.0",
					      "2.0.0",  "1.0",     "",
					      "x.y.z" };
	struct error why;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		CHECK(mhd_version_is_known(known[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(!mhd_version_is_known(others[i]));
	CHECK(mhd_version_check(&why));
	return 0;
}
