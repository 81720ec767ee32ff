/* SPDX-License-Identifier: MIT */
#include "service/http/mhd/version.h"

#include <microhttpd.h>
#include <stdio.h>

bool mhd_version_is_known(const char *version)
{
	unsigned int major, minor, patch;

	if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return false;
	return (major == 0 && minor == 9 && patch >= 75) ||
	       (major == 1 && minor == 0);
}

bool mhd_version_check(struct error *why)
{
	const char *version = MHD_get_version();

	if (mhd_version_is_known(version))
		return true;
	error_set(why,
		  "libmicrohttpd %s is not known to this program: it needs "
		  "0.9.75 or later, before 1.1",
		  version);
	return false;
}
