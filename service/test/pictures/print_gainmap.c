/* SPDX-License-Identifier: MIT */
/* For test scripts: a JPEG of 400 x 240 with a gain map, to standard output. */
#include "imgops/test/gainmaps.h"

#include <stdlib.h>

int main(void)
{
	struct gainmap_spec spec = {
		.base = { .width = 400, .height = 240, .picture = waves },
		.map = { .width = 200,
			 .height = 120,
			 .picture = waves,
			 .space = JCS_GRAYSCALE },
		.gain = &gainmap_usual,
	};
	struct bytes file = gainmap_make(&spec);
	bool ok = fwrite(file.data, 1, file.count, stdout) == file.count;

	free(file.data);
	return ok && fflush(stdout) == 0 ? 0 : 1;
}
