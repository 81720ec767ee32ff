/* SPDX-License-Identifier: MIT */
/*
 * Machine usage: what others took of this machine's CPU time during a run, so
 * that a run that was disturbed can be told from a slow server.
 *
 *	machine_watch_begin()    read /proc/stat
 *	... the run ...
 *	machine_watch_end()      read it again
 *
 * CPU time is counted in the kernel's clock ticks of 10 ms, and in a container
 * it is that of the whole machine.
 */
#ifndef BASE_MACHINE_USAGE_H
#define BASE_MACHINE_USAGE_H

#include <stdint.h>

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
 * The CPU time of other programs, in seconds, if this program and the server
 * used `own_s`.
 */
double machine_foreign_s(const struct machine_usage *u, double own_s);

/*
 * What the hypervisor and other programs took of all cores, in %, in a run of
 * `seconds`.
 */
double machine_disturbed_percent(const struct machine_usage *u, double own_s,
				 double seconds);

#endif
