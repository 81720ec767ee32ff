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

enum { PERIOD_NS = 5 * NS_PER_MS, PAUSE_NS = 200 * NS_PER_MS };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * NS_PER_S + (double)t.tv_nsec;
}

/* What is missed in one period, because others run, is done in the next. */
static void be_busy(double share)
{
	static const struct timespec period = { .tv_nsec = PERIOD_NS };
	uint64_t last_ns = clock_now_ns();
	double debt_ns = 0;

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		double begin_ns = cpu_ns();

		/* After a long gap it was stopped, as the program. */
		if (now_ns < last_ns + PAUSE_NS)
			debt_ns += share * (double)(now_ns - last_ns);
		last_ns = now_ns;
		while (cpu_ns() < begin_ns + debt_ns)
			;
		debt_ns -= cpu_ns() - begin_ns;
		nanosleep(&period, NULL);
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
