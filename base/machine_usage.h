/* SPDX-License-Identifier: MIT */
/*
 * Machine usage: what others took of this machine's CPU time during a run, so
 * that a run that was disturbed can be told from a slow program.
 *
 *	do {
 *		machine_watch_begin()    read /proc/stat
 *		... the run ...
 *		machine_watch_end()      read it again
 *	} while (machine_must_repeat());
 *
 * A run is disturbed if the hypervisor and other programs took more than a few
 * per cent of all cores.  Then it is made again at once, up to MACHINE_ATTEMPTS
 * times in all; the last attempt counts.  If they took so much that the figures
 * show them rather than the program, it gives no verdict.
 *
 * CPU time is counted in the kernel's clock ticks of 10 ms, and in a container
 * it is that of the whole machine.
 */
#ifndef BASE_MACHINE_USAGE_H
#define BASE_MACHINE_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The usual limit of a disturbed run, and of one that gives a verdict. */
#define MACHINE_DISTURBED_PERCENT 5
#define MACHINE_NO_VERDICT_PERCENT 20
/* Shorter runs are not judged, because the ticks are too inexact. */
#define MACHINE_JUDGED_S 0.5

enum { MACHINE_ATTEMPTS = 3 };

struct json;

struct machine_usage {
	uint32_t cores;  /* 0: /proc/stat could not be read */
	double busy_s;   /* of all programs; without interrupts */
	double steal_s;  /* taken by the hypervisor for other machines */
	double load;     /* the load average over a minute, at the end */
	double core_mhz; /* mean of the cores, at the end; NAN: not known */
};

struct machine_watch {
	struct machine_usage before;
};

void machine_watch_begin(struct machine_watch *w);
void machine_watch_end(const struct machine_watch *w,
		       struct machine_usage *out);

/*
 * What the hypervisor and other programs took of all cores, in %, in a run of
 * `seconds`, whose own programs used `own_s` of CPU time (NAN: not known).
 * NAN: it cannot be judged.
 */
double machine_disturbed_percent(const struct machine_usage *u, double own_s,
				 double seconds);

/* `attempt`: 1 for the first. */
bool machine_must_repeat(double disturbed_percent, double percent_max,
			 uint64_t attempt);

/* Add all of this, as an object "machine" or null. */
void machine_add_json(struct json *j, const struct machine_usage *u,
		      double own_s, double seconds);

/*
 * The resident memory of this process, in bytes, for benchmarks; 0: not known.
 * /proc/self/statm is less exact: it lacks what the kernel has not yet added
 * up.
 */
double machine_resident_bytes(void);

#endif
