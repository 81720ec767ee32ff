/* SPDX-License-Identifier: MIT */
/* The resident memory of this process, for benchmarks of stacks. */
#ifndef STAGES_BENCH_RESIDENT_H
#define STAGES_BENCH_RESIDENT_H

#include <stdio.h>

/*
 * In bytes; 0: not known.  /proc/self/statm is less exact: it lacks what the
 * kernel has not yet added up.
 */
static inline double resident_bytes(void)
{
	FILE *in = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	double kilobytes = 0;

	while (in != NULL && kilobytes == 0 &&
	       fgets(line, sizeof(line), in) != NULL)
		(void)sscanf(line, "Rss: %lf kB", &kilobytes);
	if (in != NULL)
		(void)fclose(in);
	return kilobytes * 1024;
}

#endif
