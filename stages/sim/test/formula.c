/* SPDX-License-Identifier: MIT */
#include "stages/sim/test/formula.h"

#include "base/test/check.h"

#include <math.h>
#include <stdio.h>

double formula_erlang_c_wait_s(uint32_t servers, double load)
{
	double offered = servers * load;
	double blocked = 1; /* Erlang B, by recursion over servers */

	for (uint32_t i = 1; i <= servers; i++)
		blocked = offered * blocked / (i + offered * blocked);
	double waits = blocked / (1 - load * (1 - blocked));

	return waits * SERVICE_S / (servers * (1 - load));
}

void formula_expect(const char *what, double simulated, double exact,
		    double tolerance)
{
	double off = simulated / exact - 1;

	printf("%-42s %12.6g  exact %12.6g  %+6.2f %%\n", what, simulated,
	       exact, 100 * off);
	(void)fflush(stdout);
	CHECK_NUMBER(fabs(off), <=, tolerance);
}
