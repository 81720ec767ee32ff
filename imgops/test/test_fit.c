/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_fit() shows all of the picture inside the box, or fills the box
 * with the part of it that gravity names, or stretches it; the aspect is kept,
 * sides are never 0, and nothing is enlarged unless asked.
 */
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>

static struct img_size fit_inside(struct img_size size, struct img_size box)
{
	struct img_header header = { .upright = size, .orientation = 1 };
	struct img_recipe recipe = { .box = box };
	struct img_view view = img_fit(&header, &recipe);

	assert(view.left == 0 && view.top == 0);
	assert(view.width == 1 && view.height == 1);
	return view.size;
}

static void test_fit_gives_the_known_sizes(void)
{
	static const struct {
		struct img_size size, box, fit;
	} cases[] = {
		{ { 640, 480 }, { 320, 320 }, { 320, 240 } },
		{ { 480, 640 }, { 320, 320 }, { 240, 320 } },
		{ { 640, 480 }, { 0, 0 }, { 640, 480 } },
		{ { 640, 480 }, { 320, 0 }, { 320, 240 } },
		{ { 640, 480 }, { 0, 240 }, { 320, 240 } },
		{ { 640, 480 }, { 640, 480 }, { 640, 480 } },
		{ { 640, 480 }, { 1000, 1000 }, { 640, 480 } },
		{ { 640, 480 }, { 1000, 240 }, { 320, 240 } },
		{ { 640, 480 }, { 1, 1 }, { 1, 1 } },
		{ { 1, 1 }, { 640, 640 }, { 1, 1 } },
		{ { 65500, 1 }, { 640, 640 }, { 640, 1 } },
		{ { 1, 65500 }, { 640, 640 }, { 1, 640 } },
		{ { 65500, 65500 }, { 65499, 0 }, { 65499, 65499 } },
		{ { 65500, 65500 }, { UINT32_MAX, 7 }, { 7, 7 } },
		{ { 65500, 3 }, { 0, 2 }, { 43667, 2 } },
		{ { 100, 15 }, { 50, 50 }, { 50, 8 } }, /* 7.5 goes up */
		{ { 100, 149 }, { 0, 1 }, { 1, 1 } },
		{ { 1000, 3 }, { 100, 100 }, { 100, 1 } }, /* 0.3 goes to 1 */
		{ { 4032, 3024 }, { 640, 640 }, { 640, 480 } },
		{ { 4000, 3000 }, { 333, 1000 }, { 333, 250 } },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct img_size fit = fit_inside(cases[i].size, cases[i].box);

		assert(fit.width_px == cases[i].fit.width_px);
		assert(fit.height_px == cases[i].fit.height_px);
	}
}

static void test_fit_stays_inside_and_keeps_the_aspect(void)
{
	for (uint32_t i = 0; i < 100000; i++) {
		struct img_size size = { scramble(4 * i) % 65500 + 1,
					 scramble(4 * i + 1) % 65500 + 1 };
		struct img_size box = { scramble(4 * i + 2) % 70000,
					scramble(4 * i + 3) % 70000 };
		struct img_size fit = fit_inside(size, box);
		double w =
			(double)size.width_px * fit.height_px / size.height_px;
		double h =
			(double)size.height_px * fit.width_px / size.width_px;

		assert(fit.width_px >= 1 && fit.height_px >= 1);
		assert(fit.width_px <= size.width_px);
		assert(fit.height_px <= size.height_px);
		assert(box.width_px == 0 || fit.width_px <= box.width_px);
		assert(box.height_px == 0 || fit.height_px <= box.height_px);
		/* One side decides, the other is rounded, but not to 0. */
		assert(fabs(fit.width_px - fmax(1, w)) <= 0.5001 ||
		       fabs(fit.height_px - fmax(1, h)) <= 0.5001);
	}
}

int main(void)
{
	test_fit_gives_the_known_sizes();
	test_fit_stays_inside_and_keeps_the_aspect();
	return 0;
}
