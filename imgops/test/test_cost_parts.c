/* SPDX-License-Identifier: MIT */
/*
 * Promises: several pictures of one decode never ask for more memory at one
 * time than foretold, in whatever order they are made; each one's time is what
 * it would be alone, without the decode.
 */
#include "imgops/cost.h"
#include "imgops/test/meter.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <stdlib.h>

/* Some of what a site makes of one photo. */
static const struct img_recipe site[] = {
	{ .quality = 80, .box = { 1280, 1280 } },
	{ .quality = 80, .box = { 320, 320 }, .blur_sigma_px = 3 },
	{ .quality = 90, .box = { 400, 400 }, .fit = IMG_FIT_COVER },
	{ .quality = 80, .box = { 640, 0 }, .progressive = true },
	{ .quality = 95, .box = { 640, 640 }, .full_chroma = true },
	{ .quality = 60, .box = { 64, 64 } },
};

enum { PARTS = LENGTH(site), STEPS = 3 };

/* One picture of several, somewhere on its way. */
struct made {
	struct img_view view;
	struct image image;
	uint8_t *out;
	size_t out_bytes;
	uint32_t steps_done;
};

/* The next step of one; its input is released when its output is there. */
static void go_on(struct made *m, const struct img_recipe *recipe,
		  const struct image *decoded, const struct img_memory *memory)
{
	struct image next = { 0 };
	enum img_err err = IMG_OK;

	switch (m->steps_done++) {
	case 0:
		err = img_scale(&m->image, decoded, &m->view, recipe, memory);
		break;
	case 1:
		if (recipe->blur_sigma_px <= 0)
			break;
		err = img_blur(&next, &m->image, recipe->blur_sigma_px, memory);
		img_release(&m->image);
		m->image = next;
		break;
	case 2:
		err = img_encode(&m->out, &m->out_bytes, &m->image, recipe,
				 memory);
		img_release(&m->image);
		break;
	}
	assert(err == IMG_OK);
}

/* Decode, then all steps of all parts, in one of many orders.  The peak. */
static size_t measure_parts(struct bytes jpeg, const struct img_header *header,
			    struct made *made, uint32_t order)
{
	struct meter m;
	struct image decoded = { 0 };
	uint32_t scaled = 0;
	enum img_err err;

	meter_init(&m);
	err = img_decode(&decoded, jpeg.data, jpeg.count, header, &made[0].view,
			 &site[0], &no_limits, &m.memory);
	assert(err == IMG_OK);
	for (uint32_t n = 0; n < PARTS * STEPS; n++) {
		/* By step, by picture, or whatever comes. */
		uint32_t i = order == 0 ? n % PARTS :
			     order == 1 ? n / STEPS :
					  scramble(order * 100 + n) % PARTS;

		while (made[i].steps_done == STEPS)
			i = (i + 1) % PARTS;
		go_on(&made[i], &site[i], &decoded, &m.memory);
		scaled += made[i].steps_done == 1;
		if (scaled == PARTS)
			img_release(&decoded);
	}
	for (uint32_t i = 0; i < PARTS; i++) {
		m.memory.free(&m, made[i].out);
		made[i].steps_done = 0;
	}
	assert(m.live_bytes == 0);
	return m.peak_bytes;
}

static void test_memory_is_enough_for_several_pictures(void)
{
	for (int kind = 0; kind < 2; kind++) {
		struct jpeg_spec spec = { .width = 1536,
					  .height = 1024,
					  .h = { 2 },
					  .v = { 2 },
					  .progressive = kind == 1 };
		struct bytes jpeg = jpeg_make(&spec);
		struct img_cost_part parts[PARTS];
		struct made made[PARTS] = { 0 };
		struct img_header header;
		size_t peak = 0;
		enum img_err err =
			img_probe(&header, jpeg.data, jpeg.count, &no_limits);

		assert(err == IMG_OK);
		for (uint32_t i = 0; i < PARTS; i++) {
			made[i].view = img_fit(&header, &site[i]);
			parts[i] = (struct img_cost_part){ &made[i].view,
							   &site[i], 0, 0, 0 };
		}

		struct img_cost cost = img_cost_parts(
			&header, jpeg.data, jpeg.count,
			img_eighths(&header, &made[0].view, &site[0]), parts,
			PARTS);

		for (uint32_t order = 0; order < 20; order++) {
			size_t bytes =
				measure_parts(jpeg, &header, made, order);

			peak = bytes > peak ? bytes : peak;
		}
		assert(cost.bytes >= peak);
		/* All may be at their largest step at once, here none were. */
		assert(cost.bytes <= 2 * peak);
		free(jpeg.data);
	}
}

/* One decode, and of each picture what it would take alone. */
static void test_time_of_several_pictures_is_told_by_picture(void)
{
	struct jpeg_spec spec = { .width = 1536, .height = 1024 };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_cost_part parts[PARTS];
	struct img_view views[PARTS];
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);
	uint64_t scale_ns = 0, blur_ns = 0, encode_ns = 0;

	assert(err == IMG_OK);
	for (uint32_t i = 0; i < PARTS; i++) {
		views[i] = img_fit(&header, &site[i]);
		parts[i] =
			(struct img_cost_part){ &views[i], &site[i], 0, 0, 0 };
	}

	struct img_cost first =
		img_cost(&header, jpeg.data, jpeg.count, &views[0], &site[0]);
	struct img_cost all = img_cost_parts(
		&header, jpeg.data, jpeg.count,
		img_eighths(&header, &views[0], &site[0]), parts, PARTS);

	for (uint32_t i = 0; i < PARTS; i++) {
		struct img_cost one = img_cost(&header, jpeg.data, jpeg.count,
					       &views[i], &site[i]);

		assert(parts[i].encode_ns == one.encode_ns);
		assert(parts[i].blur_ns == one.blur_ns);
		scale_ns += parts[i].scale_ns;
		blur_ns += parts[i].blur_ns;
		encode_ns += parts[i].encode_ns;
	}
	assert(parts[0].scale_ns == first.scale_ns);
	assert(all.decode_ns == first.decode_ns);
	assert(all.scale_ns == scale_ns && all.blur_ns == blur_ns);
	assert(all.encode_ns == encode_ns);
	assert(all.cpu_ns == all.decode_ns + scale_ns + blur_ns + encode_ns);
	assert(all.bytes > first.bytes);
	free(jpeg.data);
}

int main(void)
{
	test_memory_is_enough_for_several_pictures();
	test_time_of_several_pictures_is_told_by_picture();
	return 0;
}
