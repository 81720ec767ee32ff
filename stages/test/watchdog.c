/* SPDX-License-Identifier: MIT */
#include "stages/test/watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECONDS_MAX = 120 };

static void bark(int signal_number)
{
	static const char message[] = "watchdog: hangs; a wake-up was lost or "
				      "a queue never drained\n";

	(void)signal_number;
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(2);
	abort();
}

void watchdog_start(void)
{
	(void)signal(SIGALRM, bark);
	(void)alarm(SECONDS_MAX);
}
