/* SPDX-License-Identifier: MIT */
/*
 * For test_large.sh: writes a JPEG as large as those of phones, of 4:2:0, to
 * stdout.  Its rows of MCUs repeat, so it is made in a moment.
 *
 * usage: large_photo WIDTH HEIGHT QUALITY
 */
#include "imgops/test/support.h"

#include "base/test/check.h"

#include <stdlib.h>

enum { MCU_PX = 16 };

/* Shapes with the grain of a small sensor. */
static double photo(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)(x * 3 + y * 70001) * 2654435761u;

	if (component > 0)
		return waves(component, x / 50, y);
	return 40 + 0.6 * waves(component, x / 50, y) +
	       (double)((n >> 16) % 24);
}

int main(int argc, char **argv)
{
	struct jpeg_spec spec = { .height = MCU_PX * JPEG_TILE_ROWS,
				  .picture = photo,
				  .h = { 2 },
				  .v = { 2 } };
	struct bytes tile, jpeg;
	bool ok;

	CHECK_NUMBER(argc, ==, 4);
	spec.width = (uint32_t)atoi(argv[1]);
	spec.quality = atoi(argv[3]);
	spec.restart_interval = (int)((spec.width + MCU_PX - 1) / MCU_PX);
	tile = jpeg_make(&spec);
	jpeg = jpeg_of_height(tile, (uint32_t)atoi(argv[2]));
	ok = fwrite(jpeg.data, 1, jpeg.count, stdout) == jpeg.count;
	ok = fflush(stdout) == 0 && ok;
	free(tile.data);
	free(jpeg.data);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
