/* SPDX-License-Identifier: MIT */
/* Promise: every figure has a name and a title of its own. */
#include "stages/bench/fibres.h"
#include "stages/bench/run.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < FIGURES; i++) {
		assert(figures[i].name != NULL && figures[i].title != NULL);
		for (int j = 0; j < i; j++)
			assert(strcmp(figures[i].name, figures[j].name) != 0);
	}
	for (int i = 0; i < FIBRES_FIGURES; i++)
		assert(fibres_views[i].name != NULL &&
		       fibres_views[i].title != NULL);
	return 0;
}
