/* SPDX-License-Identifier: MIT */
/*
 * Promises: several results of one decode never need more memory at one time
 * than estimated, even if each is in its largest step; in that case the
 * estimate is not much too high.  The estimated time of each result is that of
 * a single request without the decode.
 */
#include "base/test/check.h"
#include "imgops/imgops.h"
#include "imgops/test/meter.h"
#include "imgops/test/support.h"

#include <stdlib.h>

/* Some pictures that a site makes of one photo. */
static const struct img_transform site[] = {
	{ .quality = 80, .box = { 1280, 1280 } },
	{ .quality = 80, .box = { 320, 320 }, .blur_sigma_px = 3 },
	{ .quality = 90, .box = { 400, 400 }, .fit = IMG_FIT_COVER },
	{ .quality = 80,
	  .box = { 640, 0 },
	  .progressive = true,
	  .sharpen_sigma_px = 1 },
	{ .quality = 95, .box = { 640, 640 }, .chroma = IMG_CHROMA_444 },
	{ .quality = 60, .box = { 64, 64 } },
};

enum { PARTS = ARRAY_SIZE(site) };

/*
 * The memory peak of each step, without the memory that was in use before it.
 */
struct measured {
	size_t decode;
	size_t decoded; /* kept until all have been scaled */
	size_t scale[PARTS];
	size_t finish[PARTS]; /* blur and encode, with the scaled picture */
};

static size_t most(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Begin a new peak; returns the memory in use at its beginning. */
static size_t start_peak(struct meter *m)
{
	m->peak_bytes = m->live_bytes;
	return m->live_bytes;
}

static void measure_part(struct measured *out, uint32_t i, struct meter *m,
			 const struct image *decoded,
			 const struct img_view *view)
{
	struct image scaled = { 0 };
	size_t before = start_peak(m), jpeg_bytes;
	uint8_t *jpeg;
	enum img_err err =
		img_scale(&scaled, decoded, view, &site[i], &m->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	out->scale[i] = m->peak_bytes - before;
	(void)start_peak(m);
	err = img_retouch(&scaled, view, &site[i], NULL, &m->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_encode(&jpeg, &jpeg_bytes, &scaled, &site[i], &m->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	out->finish[i] = m->peak_bytes - before;
	img_release(&scaled);
	m->memory.free(m, jpeg);
	CHECK_NUMBER(m->live_bytes, ==, before);
}

static void measure(struct measured *out, struct bytes jpeg,
		    const struct img_header *header,
		    const struct img_view *views)
{
	struct image decoded = { 0 };
	struct meter m;
	enum img_err err;

	meter_init(&m);
	err = img_decode(&decoded, jpeg.data, jpeg.count, header, &views[0],
			 &site[0], &no_limits, &m.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	out->decode = m.peak_bytes;
	out->decoded = m.live_bytes;
	for (uint32_t i = 0; i < PARTS; i++)
		measure_part(out, i, &m, &decoded, &views[i]);
	img_release(&decoded);
	CHECK_NUMBER(m.live_bytes, ==, 0);
}

/*
 * The memory if all results are made at once, each in the step that takes the
 * most.
 */
static size_t worst(const struct measured *m)
{
	size_t bytes = m->decode, finishing = 0;

	for (uint32_t last = 0; last < PARTS; last++) {
		size_t scaling = m->decoded + m->scale[last];

		for (uint32_t i = 0; i < PARTS; i++)
			if (i != last)
				scaling += most(m->scale[i], m->finish[i]);
		bytes = most(bytes, scaling);
		finishing += m->finish[last];
	}
	return most(bytes, finishing);
}

static void test_memory_of_several_pictures_is_within_a_tenth(void)
{
	for (int kind = 0; kind < 2; kind++) {
		struct jpeg_spec spec = { .width = 1536,
					  .height = 1024,
					  .h = { 2 },
					  .v = { 2 },
					  .progressive = kind == 1 };
		struct bytes jpeg = jpeg_make(&spec);
		struct img_cost_part parts[PARTS];
		struct img_view views[PARTS];
		struct measured measured;
		struct img_header header;
		enum img_err err =
			img_probe(&header, jpeg.data, jpeg.count, &no_limits);

		CHECK_NUMBER(err, ==, IMG_OK);
		for (uint32_t i = 0; i < PARTS; i++) {
			views[i] = img_fit(&header, &site[i]);
			parts[i] =
				(struct img_cost_part){ .view = &views[i],
							.transform = &site[i] };
		}
		measure(&measured, jpeg, &header, views);

		struct img_cost cost = img_cost_parts(
			&header, img_decode_scale(&header, &views[0], &site[0]),
			parts, PARTS);
		size_t bytes = worst(&measured);

		CHECK_NUMBER(cost.bytes, >=, bytes);
		CHECK_NUMBER(cost.bytes, <=, bytes + bytes / 10);
		free(jpeg.data);
	}
}

/* The time is one decode, plus the other steps of each picture. */
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

	CHECK_NUMBER(err, ==, IMG_OK);
	for (uint32_t i = 0; i < PARTS; i++) {
		views[i] = img_fit(&header, &site[i]);
		parts[i] = (struct img_cost_part){ .view = &views[i],
						   .transform = &site[i] };
	}

	struct img_cost first = img_cost(&header, &views[0], &site[0]);
	struct img_cost all = img_cost_parts(
		&header, img_decode_scale(&header, &views[0], &site[0]), parts,
		PARTS);

	for (uint32_t i = 0; i < PARTS; i++) {
		struct img_cost one = img_cost(&header, &views[i], &site[i]);

		CHECK_NUMBER(parts[i].encode_ns, ==, one.encode_ns);
		CHECK_NUMBER(parts[i].blur_ns, ==, one.blur_ns);
		scale_ns += parts[i].scale_ns;
		blur_ns += parts[i].blur_ns;
		encode_ns += parts[i].encode_ns;
	}
	CHECK_NUMBER(parts[0].scale_ns, ==, first.scale_ns);
	CHECK_NUMBER(all.decode_ns, ==, first.decode_ns);
	CHECK_NUMBER(all.scale_ns, ==, scale_ns);
	CHECK_NUMBER(all.blur_ns, ==, blur_ns);
	CHECK_NUMBER(all.encode_ns, ==, encode_ns);
	CHECK_NUMBER(all.cpu_ns, ==,
		     all.decode_ns + scale_ns + blur_ns + encode_ns);
	CHECK_NUMBER(all.bytes, >, first.bytes);
	free(jpeg.data);
}

int main(void)
{
	test_memory_of_several_pictures_is_within_a_tenth();
	test_time_of_several_pictures_is_told_by_picture();
	return 0;
}
