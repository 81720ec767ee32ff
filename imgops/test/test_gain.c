/* SPDX-License-Identifier: MIT */
/*
 * Promises about JPEGs with a gain map: the map is found by its index and its
 * metadata, of every kind; in a result that keeps it, it shows the same part
 * as the picture, with the same meaning, and another program finds it.  By
 * default a result is what it would be without the map.  A broken map is left
 * out with a note, and changes nothing else.  Estimates contain the map.
 */
#include "imgops/gainmap.h"

#include "base/test/check.h"
#include "imgops/test/gainmaps.h"
#include "imgops/test/meter.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 400, HEIGHT = 240, MAP_STEP = 4 };

/* `waves` in pixels of a base that is MAP_STEP times as large. */
static double map_waves(uint32_t component, double x, double y)
{
	return waves(component, x * MAP_STEP, y * MAP_STEP);
}

static struct gainmap_spec usual_file(void)
{
	return (struct gainmap_spec){
		.base = { .width = WIDTH,
			  .height = HEIGHT,
			  .picture = waves,
			  .quality = 98 },
		.map = { .width = WIDTH / MAP_STEP,
			 .height = HEIGHT / MAP_STEP,
			 .picture = map_waves,
			 .space = JCS_GRAYSCALE,
			 .quality = 98 },
		.gain = &gainmap_usual,
	};
}

static const struct img_transform keep = {
	.quality = 95,
	.box = { 200, 200 },
	.keep_gainmap = true,
};

/* The result, of malloc(), and its notes. */
static struct bytes run(struct bytes file, const struct img_transform *t,
			uint32_t *notes)
{
	struct image decoded, scaled = { 0 }, blurred = { 0 };
	struct bytes out = { 0 }, copy;
	struct img_header header;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	struct img_view view = img_fit(&header, t);

	CHECK_NUMBER(decode_transform(&decoded, file.data, file.count, t,
				      &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img_scale(&scaled, &decoded, &view, t, &h.memory), ==,
		     IMG_OK);
	if (t->blur_sigma_px > 0) {
		CHECK_NUMBER(img_blur(&blurred, &scaled, t->blur_sigma_px,
				      &h.memory),
			     ==, IMG_OK);
		img_release(&scaled);
		scaled = blurred;
	}
	*notes = scaled.notes;
	CHECK_NUMBER(img_encode(&out.data, &out.count, &scaled, t, &h.memory),
		     ==, IMG_OK);
	img_release(&scaled);
	img_release(&decoded);
	copy = (struct bytes){ malloc(out.count), out.count };
	CHECK(copy.data != NULL);
	memcpy(copy.data, out.data, out.count);
	memory_free(&h.memory, out.data);
	CHECK_NUMBER(h.live_count, ==, 0);
	return copy;
}

/* The result with its map.  The caller frees the result. */
static struct bytes must_keep_of(struct gainmap_seen *seen, struct bytes file,
				 const struct img_transform *t)
{
	uint32_t notes;
	struct bytes out = run(file, t, &notes);

	CHECK_NUMBER(notes, ==, 0);
	CHECK(gainmap_see(seen, out));
	return out;
}

static struct bytes must_keep(struct gainmap_seen *seen,
			      const struct gainmap_spec *spec,
			      const struct img_transform *t)
{
	struct bytes file = gainmap_make(spec);
	struct bytes out = must_keep_of(seen, file, t);

	free(file.data);
	return out;
}

static void check_gain(const struct img_gain *a, const struct img_gain *b)
{
	const size_t numbers =
		a->channel_count * sizeof(a->channels[0]) / sizeof(double);

	CHECK_NUMBER(a->channel_count, ==, b->channel_count);
	CHECK_NUMBER(a->base_headroom, ==, b->base_headroom);
	CHECK_NUMBER(a->other_headroom, ==, b->other_headroom);
	for (size_t i = 0; i < numbers; i++)
		CHECK_NUMBER((&a->channels[0].min)[i], ==,
			     (&b->channels[0].min)[i]);
}

static void test_every_metadata(void)
{
	for (int kind = 0; kind < GAINMAP_APPLE; kind++)
		for (int i = 0; i < 4; i++) {
			bool is_list = kind == GAINMAP_XMP_LISTS;
			struct gainmap_spec spec = usual_file();
			struct gainmap_seen seen;
			struct bytes out;

			check_case("metadata %d, variant %d", kind, i);
			spec.metadata = (enum gainmap_metadata)kind;
			spec.little_endian = i & 1;
			spec.has_preview = i & 2;
			if (is_list || (i & 1 && kind <= GAINMAP_ISO_SHARED))
				spec.gain = &gainmap_coloured;
			out = must_keep(&seen, &spec, &keep);
			check_gain(&seen.gain, spec.gain);
			free(out.data);
		}
}

/* The light of a level of BT.709, both from 0 to 1. */
static double light709(double level)
{
	return level < 0.081 ? level / 4.5 :
			       pow((level + 0.099) / 1.099, 1 / 0.45);
}

/* Each sample of the result's map means the gain that it meant before. */
static void check_apple(const struct gainmap_spec *spec, double headroom)
{
	/* Lanczos-3 and two JPEGs may move a sample by this. */
	enum { LEVELS = 4 };
	struct img_transform t = keep;
	struct gainmap_seen seen;
	struct jpeg_view map;
	struct bytes out;

	t.box = (struct img_size){ 0, 0 };
	out = must_keep(&seen, spec, &t);
	CHECK_NUMBER(fabs(exp2(seen.gain.other_headroom) - headroom), <, 1e-3);
	CHECK_NUMBER(seen.gain.other_headroom, ==, seen.gain.channels[0].max);
	map = jpeg_read(seen.map, JCS_GRAYSCALE, 8);
	for (uint32_t y = 0; y < map.height; y++)
		for (uint32_t x = 0; x < map.width; x++) {
			double level = map_waves(0, x + 0.5, y + 0.5) / 255;
			double gain = 1 + (headroom - 1) * light709(level);
			double said = 255 * log2(gain) / log2(headroom);

			CHECK_NUMBER(fabs(map.pixels[y * map.width + x] - said),
				     <=, LEVELS);
		}
	free(map.pixels);
	free(out.data);
}

static void test_apples_maps_mean_the_same(void)
{
	static const struct {
		double note[2], headroom;
	} rows[] = {
		{ { 0.5, 0 }, 3.482202253 },      /* 2^1.8 */
		{ { 0.8, 2 }, 2.637187229 },      /* 2^(1.601 - 0.202) */
		{ { 1.01, 0.005 }, 6.276672783 }, /* 2^(3 - 0.35) */
		{ { 1.5, 1 }, 4 },                /* 2^(2.303 - 0.303) */
	};
	struct gainmap_spec spec = usual_file();

	spec.metadata = GAINMAP_APPLE;
	spec.headroom = 5.25;
	check_apple(&spec, 5.25);
	spec.metadata = GAINMAP_APPLE_NOTE;
	spec.headroom = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_case("row %zu", i);
		memcpy(spec.note, rows[i].note, sizeof(spec.note));
		check_apple(&spec, rows[i].headroom);
	}
}

/* --- The map shows the part that the picture shows --- */

/* How much of pixel `i` of `count` is from `begin` to `begin` + `size`. */
static double overlap(uint32_t i, uint32_t count, double begin, double size)
{
	double from = fmax((double)i / count, begin);
	double to = fmin((i + 1.0) / count, begin + size);

	return fmax(to - from, 0);
}

/* The mean of a part of a picture; sides are from 0 to 1. */
static double mean_of(const struct jpeg_view *v, double left, double top,
		      double side)
{
	double sum = 0, area = 0;

	for (uint32_t y = (uint32_t)(top * v->height);
	     y < v->height && y < (top + side) * v->height; y++)
		for (uint32_t x = (uint32_t)(left * v->width);
		     x < v->width && x < (left + side) * v->width; x++) {
			double part = overlap(x, v->width, left, side) *
				      overlap(y, v->height, top, side);

			sum += part * v->pixels[y * v->width + x];
			area += part;
		}
	return sum / area;
}

/* In a grid of cells, the means of both are the same. */
static void check_aligned(const struct gainmap_seen *seen)
{
	enum { CELLS = 8, LEVELS = 8 };
	struct jpeg_view first = jpeg_read(seen->first, JCS_GRAYSCALE, 8);
	struct jpeg_view map = jpeg_read(seen->map, JCS_GRAYSCALE, 8);
	const double side = 1.0 / CELLS;

	for (int y = 0; y < CELLS; y++)
		for (int x = 0; x < CELLS; x++)
			CHECK_NUMBER(
				fabs(mean_of(&first, x * side, y * side, side) -
				     mean_of(&map, x * side, y * side, side)),
				<=, LEVELS);
	free(first.pixels);
	free(map.pixels);
}

static void test_shows_the_same_part(void)
{
	static const struct {
		const char *name;
		struct img_transform t;
	} rows[] = {
		{ "inside", { .box = { 200, 200 } } },
		{ "much smaller", { .box = { 48, 48 } } },
		{ "full size", { .box = { 0, 0 } } },
		{ "enlarged", { .box = { 500, 500 }, .enlarge = true } },
		{ "cover", { .box = { 160, 160 }, .fit = IMG_FIT_COVER } },
		{ "part",
		  { .box = { 80, 160 },
		    .fit = IMG_FIT_COVER,
		    .gravity = IMG_SOUTHEAST } },
		{ "fill", { .box = { 100, 200 }, .fit = IMG_FIT_FILL } },
		{ "blurred", { .box = { 200, 200 }, .blur_sigma_px = 6 } },
		{ "filter", { .box = { 200, 200 }, .filter = IMG_BSPLINE } },
		{ "as stored", { .box = { 200, 200 }, .as_stored = true } },
		{ "progressive", { .box = { 200, 200 }, .progressive = true } },
		{ "optimised", { .box = { 200, 200 }, .optimize = true } },
		{ "effort", { .box = { 200, 200 }, .effort = 5 } },
	};

	for (uint32_t orientation = 1; orientation <= 8; orientation++) {
		struct gainmap_spec spec = usual_file();
		struct bytes file;

		spec.base.orientation = orientation;
		spec.base.space = orientation % 2 ? JCS_GRAYSCALE : JCS_YCbCr;
		spec.map.progressive = orientation % 3 == 0;
		file = gainmap_make(&spec);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct img_transform t = rows[i].t;
			struct gainmap_seen seen;
			struct bytes out;

			check_case("orientation %u, %s", orientation,
				   rows[i].name);
			t.quality = 95;
			t.keep_gainmap = true;
			out = must_keep_of(&seen, file, &t);
			check_aligned(&seen);
			free(out.data);
		}
		free(file.data);
	}
}

/* A map of colours keeps them, and its profile if it has one. */
static void test_colours(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);

	for (int i = 0; i < 4; i++) {
		bool has_profile = i & 1, is_full = i & 2;
		struct gainmap_spec spec = usual_file();
		struct gainmap_seen seen;
		struct jpeg_view map;
		struct bytes out;

		check_case("profile %d, all chroma %d", has_profile, is_full);
		spec.gain = &gainmap_coloured;
		spec.map.space = JCS_YCbCr;
		spec.map.h[0] = spec.map.v[0] = is_full ? 1 : 2;
		spec.map.h[1] = spec.map.v[1] = 1;
		spec.map.h[2] = spec.map.v[2] = 1;
		if (has_profile)
			spec.profile = p3;
		out = must_keep(&seen, &spec, &keep);
		map = jpeg_read(seen.map, JCS_RGB, 8);
		CHECK_NUMBER(map.components, ==, 3);
		CHECK_NUMBER(map.h[0], ==, is_full ? 1 : 2);
		CHECK(seen.has_profile == has_profile);
		CHECK(seen.gain.uses_base_colours == !has_profile);
		check_aligned(&seen);
		free(map.pixels);
		free(out.data);
	}
	free(p3.data);
}

/* --- What else may come --- */

static void check_same_bytes(struct bytes a, struct bytes b)
{
	CHECK_NUMBER(a.count, ==, b.count);
	CHECK(memcmp(a.data, b.data, a.count) == 0);
}

/* The result of the first picture alone. */
static struct bytes run_alone(const struct gainmap_spec *spec,
			      const struct img_transform *t)
{
	struct bytes jpeg = jpeg_make(&spec->base), out;
	uint32_t notes;

	out = run(jpeg, t, &notes);
	CHECK_NUMBER(notes, ==, 0);
	free(jpeg.data);
	return out;
}

/* Without a map in the result, it is that of the first picture alone. */
static void check_left_out(const struct gainmap_spec *spec,
			   const struct img_transform *t, bool is_noted)
{
	struct bytes file = gainmap_make(spec), alone = run_alone(spec, t), out;
	uint32_t notes;

	out = run(file, t, &notes);
	CHECK_NUMBER(notes, ==, is_noted ? IMG_NOTE_NO_GAINMAP : 0);
	check_same_bytes(out, alone);
	free(out.data);
	free(alone.data);
	free(file.data);
}

static void test_default_strips(void)
{
	struct gainmap_spec spec = usual_file();
	struct img_transform strip = keep;

	strip.keep_gainmap = false;
	check_left_out(&spec, &strip, false);
	spec.gain = NULL;
	spec.metadata = GAINMAP_NONE;
	check_left_out(&spec, &strip, false);
	/* A second picture that is no map is none that is left out. */
	check_left_out(&spec, &keep, false);
}

/* Without headroom, a map changes nothing, and nothing is lost. */
static void test_empty_maps(void)
{
	struct gainmap_spec spec = usual_file();
	struct bytes file, out;
	struct gainmap_seen seen;
	uint32_t notes;

	spec.metadata = GAINMAP_APPLE_NOTE;
	spec.note[0] = 1.5;
	spec.note[1] = 9; /* stops below 0 */
	file = gainmap_make(&spec);
	out = run(file, &keep, &notes);
	CHECK_NUMBER(notes, ==, 0);
	CHECK(!gainmap_see(&seen, out));
	free(out.data);
	free(file.data);
	spec.metadata = GAINMAP_APPLE; /* the file does not say how much */
	check_left_out(&spec, &keep, true);
}

static void test_other_formats_have_none(void)
{
	struct gainmap_spec spec = usual_file();
	struct img_transform t = keep;

	t.format = IMG_FORMAT_PPM;
	check_left_out(&spec, &t, true);
}

static void test_trailers_are_left_out(void)
{
	struct gainmap_spec spec = usual_file();
	struct gainmap_seen seen;
	struct bytes out;

	spec.trailer = "....ftypmp42 a film, with \xff\xd8\xff in it";
	out = must_keep(&seen, &spec, &keep);
	check_aligned(&seen);
	free(out.data);
}

/* Numbers that no map has. */
static struct img_gain strange_gain(int i)
{
	struct img_gain g = gainmap_usual;

	switch (i) {
	case 0:
		g.other_headroom = 0;
		break;
	case 1:
		g.channels[0].gamma = 0;
		break;
	case 2:
		g.channels[0].min = 4;
		break;
	case 3:
		g.channels[0].max = 100;
		break;
	default:
		g.channels[0].base_offset = -100;
	}
	return g;
}

/* The file may have an index that is wrong. */
static void test_wrong_places(void)
{
	const int64_t width = usual_file().map.width;
	const struct {
		const char *name;
		int64_t offset, bytes;
	} rows[] = {
		{ "past the end", 1000000, 0 },
		{ "one byte past the end", 0, 1 },
		{ "between two pictures", 1, -1 },
		/* Even itself, by overflow. */
		{ "in the first picture", -500, 0 },
		{ "too short", 0, -width },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gainmap_spec spec = usual_file();

		check_case("%s", rows[i].name);
		spec.is_promised = rows[i].offset != 1000000;
		spec.offset_error = rows[i].offset;
		spec.bytes_error = rows[i].bytes;
		check_left_out(&spec, &keep, true);
	}
}

static void test_broken_maps_are_left_out(void)
{
	const struct jpeg_spec large = { .width = WIDTH + 1, .height = 8 },
			       inks = { .width = 100,
					.height = 60,
					.space = JCS_CMYK },
			       rgb = { .width = 100,
				       .height = 60,
				       .space = JCS_RGB };
	struct bytes grey = profile_grey(2.2);

	for (int i = 0; i < 11; i++) {
		struct img_gain strange = strange_gain(i % 5);
		struct gainmap_spec spec = usual_file();

		check_case("broken map %d", i);
		spec.is_promised = true;
		switch (i) {
		case 0:
			spec.cut_bytes = 500;
			break;
		case 1:
			spec.map = large;
			break;
		case 2:
			spec.map = inks;
			break;
		case 3:
			spec.map = rgb;
			break;
		case 4: /* a profile that is none of RGB */
			spec.gain = &gainmap_coloured;
			spec.profile = grey;
			break;
		case 5: /* numbers without channels for them */
			spec.metadata = GAINMAP_NONE;
			break;
		default:
			spec.gain = &strange;
			spec.metadata = i % 2 ? GAINMAP_ISO : GAINMAP_XMP;
		}
		check_left_out(&spec, &keep, true);
	}
	free(grey.data);
}

/* What is broken beside a map does not cost it. */
static void test_good_maps_are_found(void)
{
	static const int64_t errors[] = { 1000000, 1, -8, -100000 };
	struct bytes grey = profile_grey(2.2), out;
	struct gainmap_spec spec = usual_file();
	struct gainmap_seen seen;

	spec.has_preview = true;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		check_case("the preview's size %+d", (int)errors[i]);
		spec.preview_error = errors[i];
		out = must_keep(&seen, &spec, &keep);
		free(out.data);
	}
	check_case("a profile that is not needed");
	spec = usual_file();
	spec.profile = grey;
	out = must_keep(&seen, &spec, &keep);
	CHECK(!seen.has_profile);
	free(out.data);
	free(grey.data);
}

/* Any byte of the metadata may be wrong. */
static void test_damaged_bytes(void)
{
	for (int kind = 0; kind < GAINMAP_NONE; kind++) {
		struct gainmap_spec spec = usual_file();
		struct bytes file, out;

		spec.headroom = kind == GAINMAP_APPLE ? 4 : 0;
		size_t step = kind == GAINMAP_XMP_LONG ? 1999 : 13;

		spec.metadata = (enum gainmap_metadata)kind;
		spec.gain = &gainmap_coloured;
		spec.base.width = spec.base.height = 24;
		spec.map.width = spec.map.height = 16;
		file = gainmap_make(&spec);
		for (size_t i = 2; i < file.count; i += step) {
			struct img_header h;
			uint8_t was = file.data[i];
			uint32_t notes;

			file.data[i] =
				(uint8_t)(was ^ 1 << scramble((uint32_t)i) % 8);
			if (probe_bytes(&h, file) == IMG_OK) {
				struct img_transform t = keep;
				struct image img;
				struct heap heap;

				heap_init(&heap);
				if (decode_transform(&img, file.data,
						     file.count, &t, &no_limits,
						     &heap) == IMG_OK) {
					img_release(&img);
					out = run(file, &t, &notes);
					free(out.data);
				}
				CHECK_NUMBER(heap.live_count, ==, 0);
			}
			file.data[i] = was;
		}
		free(file.data);
	}
}

static void test_arrival(void)
{
	for (int i = 0; i < 4; i++) {
		struct gainmap_spec spec = usual_file();
		struct bytes file;

		spec.has_preview = i & 1;
		spec.base.progressive = spec.map.progressive = i & 2;
		spec.base.width = spec.base.height = 100;
		spec.map.width = spec.map.height = 50;
		file = gainmap_make(&spec);
		check_arrival(file, false);
		free(file.data);
	}
}

static void test_failing_memory(void)
{
	struct gainmap_spec spec = usual_file();
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct img_header header;
	struct bytes file;

	spec.gain = &gainmap_coloured;
	spec.map.space = JCS_YCbCr;
	spec.profile = p3;
	file = gainmap_make(&spec);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	struct img_view view = img_fit(&header, &keep);

	for (uint32_t n = 1; err == IMG_ERR_NO_MEMORY; n++) {
		struct image img = { 0 }, scaled = { 0 };
		uint8_t *out = NULL;
		struct heap h;
		size_t bytes;

		heap_init(&h);
		h.fail_at = n;
		CHECK_NUMBER(n, <, 500);
		err = img_decode_any(&img, file.data, file.count, &header,
				     &view, &keep, &no_limits, &h.memory);
		if (err == IMG_OK)
			err = img_scale(&scaled, &img, &view, &keep, &h.memory);
		if (err == IMG_OK)
			err = img_encode(&out, &bytes, &scaled, &keep,
					 &h.memory);
		CHECK(err == IMG_OK || err == IMG_ERR_NO_MEMORY);
		memory_free(&h.memory, out);
		img_release(&scaled);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
	free(file.data);
	free(p3.data);
}

/* --- Estimates --- */

static void check_estimate(struct bytes file, const struct img_transform *t)
{
	struct image decoded = { 0 }, scaled = { 0 }, blurred = { 0 };
	struct bytes out = { 0 };
	struct img_transform strip = *t;
	struct img_header header;
	struct img_cost cost;
	struct img_view view;
	struct meter m;

	meter_init(&m);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	view = img_fit(&header, t);
	cost = img_cost(&header, &view, t);
	strip.keep_gainmap = false;
	CHECK_NUMBER(img_cost(&header, &view, &strip).cpu_ns, <, cost.cpu_ns);
	CHECK_NUMBER(img_decode(&decoded, file.data, file.count, &header, &view,
				t, &no_limits, &m.memory),
		     ==, IMG_OK);
	CHECK_NUMBER(img_scale(&scaled, &decoded, &view, t, &m.memory), ==,
		     IMG_OK);
	img_release(&decoded);
	if (t->blur_sigma_px > 0) {
		CHECK_NUMBER(img_blur(&blurred, &scaled, t->blur_sigma_px,
				      &m.memory),
			     ==, IMG_OK);
		img_release(&scaled);
		scaled = blurred;
	}
	CHECK_NUMBER(img_encode(&out.data, &out.count, &scaled, t, &m.memory),
		     ==, IMG_OK);
	CHECK(scaled.gainmap != NULL);
	CHECK_NUMBER(m.peak_bytes, <=, cost.bytes);
	CHECK_NUMBER(cost.bytes, <=, 3 * m.peak_bytes);
	memory_free(&m.memory, out.data);
	img_release(&scaled);
}

/* Half of the combinations, with all of any three; with TEST_ALL, all. */
static void test_estimates_contain_the_map(void)
{
	const bool has_all = getenv("TEST_ALL") != NULL;

	for (int i = 0; i < 8; i++) {
		struct gainmap_spec spec = usual_file();
		struct bytes file;

		spec.base.width = spec.base.height = 600;
		spec.map.width = spec.map.height = i & 1 ? 600 : 150;
		spec.map.progressive = i & 2;
		if (i & 4) {
			spec.map.space = JCS_YCbCr;
			spec.gain = &gainmap_coloured;
		}
		file = gainmap_make(&spec);
		for (int k = 0; k < 8; k++) {
			struct img_transform t = keep;

			if (!has_all &&
			    __builtin_parity((unsigned)(i << 3 | k)))
				continue;
			check_case("file %d, transform %d", i, k);
			t.box.width_px = t.box.height_px = k & 1 ? 0 : 250;
			t.blur_sigma_px = k & 2 ? 8 : 0;
			t.progressive = k & 4;
			check_estimate(file, &t);
		}
		free(file.data);
	}
}

/* A map as large as its picture is decoded at a reduced size, too. */
static void test_large_maps_take_little_memory(void)
{
	enum { SIDE_PX = 800 };
	struct gainmap_spec spec = usual_file();
	struct img_transform t = keep;
	struct img_header header;
	struct img_view view;
	struct bytes file;

	spec.base.width = spec.base.height = SIDE_PX;
	spec.map.width = spec.map.height = SIDE_PX;
	file = gainmap_make(&spec);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	for (uint32_t eighths = 1; eighths <= 3; eighths++) {
		struct image decoded = { 0 };
		struct meter m;

		check_case("%d/8", (int)eighths);
		meter_init(&m);
		/* Less, because a margin is decoded, too. */
		t.box.width_px = SIDE_PX * eighths / 9;
		view = img_fit(&header, &t);
		CHECK_NUMBER(img_decode(&decoded, file.data, file.count,
					&header, &view, &t, &no_limits,
					&m.memory),
			     ==, IMG_OK);
		CHECK(decoded.gainmap != NULL);
		CHECK_NUMBER(m.peak_bytes, <, SIDE_PX * SIDE_PX);
		img_release(&decoded);
	}
	free(file.data);
}

int main(void)
{
	test_every_metadata();
	test_apples_maps_mean_the_same();
	test_shows_the_same_part();
	test_colours();
	test_default_strips();
	test_empty_maps();
	test_other_formats_have_none();
	test_trailers_are_left_out();
	test_wrong_places();
	test_broken_maps_are_left_out();
	test_good_maps_are_found();
	test_damaged_bytes();
	test_arrival();
	test_failing_memory();
	test_estimates_contain_the_map();
	test_large_maps_take_little_memory();
	return 0;
}
