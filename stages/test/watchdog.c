/* SPDX-License-Identifier: MIT */
#include "stages/test/watchdog.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Threads that all sleep use no CPU time; on a busy machine they use some. */
enum { INTERVAL_S = 120, LEAST_MS = 100 };

static int64_t last_ms;

static int64_t ms_of(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000 + time.tv_usec / 1000;
}

/* CPU time of this process.  Unlike times(), the sandbox allows getrusage(). */
static int64_t used_ms(void)
{
	struct rusage use = { 0 };

	(void)getrusage(RUSAGE_SELF, &use);
	return ms_of(use.ru_utime) + ms_of(use.ru_stime);
}

static void look(int signal_number)
{
	static const char message[] = "watchdog: hangs; a wake-up was lost or "
				      "a queue never drained\n";
	int64_t used = used_ms();

	(void)signal_number;
	if (used - last_ms >= LEAST_MS) {
		last_ms = used;
		(void)alarm(INTERVAL_S);
		return;
	}
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(2);
	abort();
}

void watchdog_start(void)
{
	/* Calls of the test go on: ThreadSanitizer's signal() ends them. */
	const struct sigaction action = { .sa_handler = look,
					  .sa_flags = SA_RESTART };

	last_ms = used_ms();
	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(INTERVAL_S);
}
