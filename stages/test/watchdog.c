/* SPDX-License-Identifier: MIT */
#include "stages/test/watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/times.h>
#include <unistd.h>

/* Threads that all sleep use no CPU ticks; on a busy machine they use some. */
enum { INTERVAL_S = 120, TICKS_LEAST = 10 };

static clock_t last_ticks;

/* CPU time of this process. */
static clock_t used_ticks(void)
{
	struct tms t;

	(void)times(&t);
	return t.tms_utime + t.tms_stime;
}

static void look(int signal_number)
{
	static const char message[] = "watchdog: hangs; a wake-up was lost or "
				      "a queue never drained\n";
	clock_t ticks = used_ticks();

	(void)signal_number;
	if (ticks - last_ticks >= TICKS_LEAST) {
		last_ticks = ticks;
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

	last_ticks = used_ticks();
	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(INTERVAL_S);
}
