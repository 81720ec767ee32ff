/* SPDX-License-Identifier: MIT */
/* Promise: every figure has a name and a title of its own. */
#include "stages/bench/run.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < FIGURES; i++) {
		assert(figure_abouts[i].name != NULL &&
		       figure_abouts[i].title != NULL);
		for (int j = 0; j < i; j++)
			assert(strcmp(figure_abouts[i].name,
				      figure_abouts[j].name) != 0);
	}
	return 0;
}
