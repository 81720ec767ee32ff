/* SPDX-License-Identifier: MIT */
/*
 * fuzz_seeds DIR: write small JPEGs of every kind, each behind the option bytes
 * of a recipe, for fuzz_imgops to start from.
 */
#include "imgops/test/support.h"

#include <stdlib.h>

enum { OPTION_BYTES = 8 };

static void write_seed(const char *dir, uint32_t number,
		       const struct jpeg_spec *spec)
{
	struct bytes jpeg = jpeg_make(spec);
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%03u", dir, number);
	FILE *f = fopen(path, "wb");

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	for (uint32_t i = 0; i < OPTION_BYTES; i++)
		(void)fputc((int)(scramble(number * OPTION_BYTES + i) & 255),
			    f);
	(void)fwrite(jpeg.data, 1, jpeg.count, f);
	(void)fclose(f);
	free(jpeg.data);
}

int main(int argc, char **argv)
{
	static const J_COLOR_SPACE spaces[] = { JCS_YCbCr, JCS_GRAYSCALE,
						JCS_RGB, JCS_CMYK, JCS_YCCK };
	uint32_t number = 0;

	if (argc != 2) {
		(void)fprintf(stderr, "usage: fuzz_seeds DIR\n");
		return 2;
	}
	for (size_t s = 0; s < LENGTH(spaces); s++)
		for (int coding = 0; coding < 16; coding++) {
			struct jpeg_spec spec = {
				.width = 40,
				.height = 24,
				.space = spaces[s],
				.h = { 1 + (coding & 1), 1, 1, 1 },
				.v = { 1 + (coding & 1), 1, 1, 1 },
				.quality = 40,
				.progressive = coding & 2,
				.arithmetic = coding & 4,
				.restart_interval = coding & 8 ? 2 : 0,
				.orientation = number % 9,
			};

			write_seed(argv[1], number++, &spec);
		}
	return 0;
}
