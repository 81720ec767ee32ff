/* SPDX-License-Identifier: MIT */
/* Promise: every figure has a name and a title of its own. */
#include "base/test/check.h"
#include "stages/bench/fibres.h"
#include "stages/bench/run.h"

#include <stddef.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < FIGURES; i++) {
		CHECK(figures[i].name != NULL);
		CHECK(figures[i].title != NULL);
		for (int j = 0; j < i; j++)
			CHECK(strcmp(figures[i].name, figures[j].name) != 0);
	}
	for (int i = 0; i < FIBRES_FIGURES; i++)
		CHECK(fibres_views[i].name != NULL &&
		      fibres_views[i].title != NULL);
	return 0;
}
