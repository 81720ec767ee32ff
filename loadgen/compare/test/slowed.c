/* SPDX-License-Identifier: MIT */
/*
 * slowed PERCENT PROGRAM [ARGUMENT]...: run the program, and beside it use this
 * share of each core in a busy loop, until it ends.  The busy processes are the
 * program's children, so they count as its CPU time.
 */
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 5 * NS_PER_MS };

static void be_busy(double share)
{
	for (uint64_t begin_ns = clock_now_ns();; begin_ns += PERIOD_NS) {
		uint64_t end_ns = begin_ns + PERIOD_NS;
		struct timespec end = {
			.tv_sec = (time_t)(end_ns / NS_PER_S),
			.tv_nsec = (long)(end_ns % NS_PER_S),
		};

		while (clock_now_ns() < begin_ns + share * PERIOD_NS)
			;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
	}
}

int main(int argc, char **argv)
{
	double percent = argc >= 3 ? strtod(argv[1], NULL) : -1;

	if (!(percent >= 0 && percent < 100)) {
		fprintf(stderr,
			"usage: slowed PERCENT PROGRAM [ARGUMENT]...\n");
		return 2;
	}
	for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++) {
		pid_t parent = getpid(), pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() == parent)
				be_busy(percent / 100);
			_exit(0);
		}
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
