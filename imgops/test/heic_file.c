/* SPDX-License-Identifier: MIT */
/*
 * usage: heic_file KIND
 *
 * For tests of programs: print a HEIC as phones write them.
 *
 *	plain   one picture
 *	phone   8 x 6 cells, turned, with a depth map, a gain map, a thumbnail
 *		and EXIF
 *	alpha   with alpha
 *	wide    10 bits of BT.2020
 *	large   as of a camera of 12 megapixels
 */
#include "imgops/test/heics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		struct heic_spec spec;
	} kinds[] = {
		{ "plain", { .width = 200, .height = 150 } },
		{ "phone",
		  { .width = 8 * 64 - 8,
		    .height = 6 * 64 - 6,
		    .cell = 64,
		    .has_no_box = true,
		    .is_turned = true,
		    .angle = 3,
		    .has_depth = true,
		    .has_gainmap = true,
		    .gain = HEIC_GAIN_XMP,
		    .has_thumbnail = true,
		    .has_exif = true } },
		{ "alpha", { .width = 200, .height = 150, .has_alpha = true } },
		{ "wide",
		  { .width = 200,
		    .height = 150,
		    .depth = 10,
		    .matrix = 9,
		    .primaries = 9 } },
		{ "large",
		  { .width = 4032,
		    .height = 3024,
		    .cell = 512,
		    .has_no_box = true } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes file;
		bool ok;

		if (argc != 2 || strcmp(argv[1], kinds[i].name) != 0)
			continue;
		file = heic_make(&kinds[i].spec);
		ok = fwrite(file.data, file.count, 1, stdout) == 1 &&
		     fflush(stdout) == 0;
		free(file.data);
		return ok ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	(void)fprintf(stderr, "usage: heic_file KIND\n");
	return 2;
}
