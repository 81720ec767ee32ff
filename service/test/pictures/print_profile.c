/* SPDX-License-Identifier: MIT */
/* For test scripts: the ICC profile of Display P3, to standard output. */
#include "imgops/test/profiles.h"

#include <stdlib.h>

int main(void)
{
	struct bytes p = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);
	bool ok = fwrite(p.data, 1, p.count, stdout) == p.count;

	free(p.data);
	return ok && fflush(stdout) == 0 ? 0 : 1;
}
