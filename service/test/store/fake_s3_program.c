/* SPDX-License-Identifier: MIT */
/* fake_s3: the server of fake_s3.h for shell tests; prints its port. */
#include "service/test/store/fake_s3.h"

#include <stdio.h>
#include <unistd.h>

int main(void)
{
	unsigned port;

	(void)fake_s3_start(&port);
	printf("%u\n", port);
	fflush(stdout);
	for (;;)
		pause();
}
