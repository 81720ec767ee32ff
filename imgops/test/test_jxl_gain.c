/* SPDX-License-Identifier: MIT */
/*
 * Promises about JPEG XLs with a gain map: it is found before and behind the
 * picture, however the file arrives; a result that keeps it has the same
 * numbers, and shows the same part in both pictures; so has a JPEG made of such
 * a result.  A map that is broken, or of a kind that is not read, is left out
 * with a note, and changes nothing else.  Estimates contain the map.
 */
#include "imgops/test/jxls.h"

#include "base/test/check.h"
#include "imgops/colour/matrix.h"
#include "imgops/test/gainmaps.h"
#include "imgops/test/meter.h"
#include "imgops/test/profiles.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jxl/color_encoding.h>

enum { WIDTH = 160, HEIGHT = 96, STEP = 2 };

static const struct img_transform keep = { .quality = 95,
					   .keep_gainmap = true,
					   .format = IMG_FORMAT_JXL };

static struct jxl_gain_spec usual_file(void)
{
	return (struct jxl_gain_spec){
		.base = { .width = WIDTH, .height = HEIGHT },
		.map = { .width = WIDTH / STEP,
			 .height = HEIGHT / STEP,
			 .step = STEP,
			 .is_grey = true },
		.gain = &gainmap_usual,
	};
}

/* Debian 12's libjxl explains errors on stderr: to /dev/null until loud(). */
static int quiet(void)
{
	int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

	CHECK(kept >= 0 && nowhere >= 0);
	CHECK_NUMBER(dup2(nowhere, STDERR_FILENO), ==, STDERR_FILENO);
	(void)close(nowhere);
	return kept;
}

static void loud(int kept)
{
	CHECK_NUMBER(dup2(kept, STDERR_FILENO), ==, STDERR_FILENO);
	(void)close(kept);
}

static enum img_err decode(struct image *img, struct bytes file,
			   const struct img_transform *t, struct heap *h)
{
	struct img_limits limits = no_limits;
	int kept = quiet();
	enum img_err err;

	/* What a wrong bit may ask for is bounded. */
	limits.pixels_max = 1 << 20;
	limits.decode_bytes_max = 256 << 20;
	heap_init(h);
	err = decode_transform(img, file.data, file.count, t, &limits, h);
	loud(kept);
	return err;
}

/* The result, of malloc(). */
static struct bytes run(struct bytes file, const struct img_transform *t)
{
	struct image decoded = { 0 }, scaled = { 0 };
	struct bytes out = { 0 }, copy;
	struct img_header header;
	struct img_view view;
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	view = img_fit(&header, t);
	CHECK_NUMBER(decode(&decoded, file, t, &h), ==, IMG_OK);
	CHECK_NUMBER(img_scale(&scaled, &decoded, &view, t, &h.memory), ==,
		     IMG_OK);
	CHECK_NUMBER(scaled.notes, ==, 0);
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

/* --- Reading --- */

/* Exact, or for a lossy picture near in the mean. */
static void check_samples(const struct image *img, const struct jxl_spec *spec)
{
	CHECK_NUMBER(img->plane_count, ==, (spec->is_grey ? 1 : 3));
	for (uint32_t p = 0; p < img->plane_count; p++) {
		const struct img_plane *plane = &img->planes[p];
		double sum = 0;

		for (uint32_t y = 0; y < plane->height; y++)
			for (uint32_t x = 0; x < plane->width; x++)
				sum += fabs(sample(plane, x, y) -
					    floor((jxl_sample(spec, p, x, y) +
						   128) /
						  257.0));
		CHECK_NUMBER(sum / plane->width / plane->height, <=,
			     (spec->is_lossy ? 4 : 0));
	}
}

static void check_read(const struct jxl_gain_spec *spec)
{
	struct img_transform strip = keep;
	struct bytes file = jxl_make_gain(spec);
	struct image img = { 0 };
	struct img_header header, map;
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK(img_gainmap_header(&map, &header));
	CHECK_NUMBER(map.stored.width_px, ==, spec->map.width);
	CHECK_NUMBER(map.space, ==, (spec->map.is_grey ? IMG_GREY : IMG_RGB));
	CHECK_NUMBER(decode(&img, file, &keep, &h), ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, 0);
	CHECK(img.gainmap != NULL);
	check_gain(&img.gainmap->gain, spec->gain);
	CHECK_NUMBER(img.gainmap->stored.height_px, ==, spec->map.height);
	CHECK_NUMBER(img.gainmap->base_stored.height_px, ==, HEIGHT);
	check_samples(&img.gainmap->image, &spec->map);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	strip.keep_gainmap = false;
	CHECK_NUMBER(decode(&img, file, &strip, &h), ==, IMG_OK);
	CHECK(img.notes == 0 && img.gainmap == NULL);
	img_release(&img);
	check_arrival(file, false);
	free(file.data);
}

static void test_every_kind(void)
{
	for (int i = 0; i < 16; i++) {
		struct jxl_gain_spec spec = usual_file();

		check_case("kind %d", i);
		spec.is_before = i & 1;
		spec.map.is_lossy = i & 2;
		spec.base.parts = i & 4 ? 3 : 0;
		spec.map.is_grey = i & 8;
		if (i & 4)
			spec.gain = &gainmap_coloured;
		check_read(&spec);
	}
}

/* Samples are numbers, whatever their colours are said to be. */
static void test_colours_of_the_map(void)
{
	struct bytes icc = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	const struct jxl_spec maps[] = {
		{ .curve = JXL_TRANSFER_FUNCTION_LINEAR, .is_grey = true },
		{ .curve = JXL_TRANSFER_FUNCTION_LINEAR,
		  .is_grey = true,
		  .is_lossy = true },
		{ .primary = JXL_PRIMARIES_P3 },
		{ .primary = JXL_PRIMARIES_P3, .is_lossy = true },
		{ .icc = icc.data, .icc_bytes = icc.count },
	};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		struct jxl_gain_spec spec = usual_file();

		check_case("maps[%zu]", i);
		spec.map = maps[i];
		spec.map.width = WIDTH / STEP;
		spec.map.height = HEIGHT / STEP;
		spec.map.step = STEP;
		check_read(&spec);
	}
	free(icc.data);
}

/* --- Results --- */

struct seen {
	struct img_gain gain;
	struct bytes colours;
	struct image base, map;
	struct heap base_heap, map_heap;
};

static size_t take_number(struct bytes *from, uint32_t bytes)
{
	size_t number = 0;

	CHECK_NUMBER(from->count, >=, bytes);
	for (uint32_t i = 0; i < bytes; i++)
		number = number << 8 | from->data[i];
	from->data += bytes;
	from->count -= bytes;
	return number;
}

static struct bytes take_part(struct bytes *from, uint32_t size_bytes)
{
	size_t bytes = take_number(from, size_bytes);
	struct bytes part = { from->data, bytes };

	CHECK_NUMBER(bytes, <=, from->count);
	from->data += bytes;
	from->count -= bytes;
	return part;
}

/* Both pictures of a result, each as a file of its own. */
static void see(struct seen *s, struct bytes file)
{
	struct bytes box = jxl_find_box(file, "jhgm");

	CHECK(box.data != NULL);
	CHECK_NUMBER(take_number(&box, 1), ==, 0);
	gainmap_see_iso(&s->gain, take_part(&box, 2));
	s->colours = take_part(&box, 1);
	CHECK_NUMBER(take_number(&box, 4), ==, 0);
	s->base = s->map = (struct image){ 0 };
	CHECK_NUMBER(decode(&s->base, jxl_find_box(file, "jxlc"), &keep,
			    &s->base_heap),
		     ==, IMG_OK);
	CHECK_NUMBER(decode(&s->map, box, &keep, &s->map_heap), ==, IMG_OK);
}

static void forget(struct seen *s)
{
	img_release(&s->base);
	img_release(&s->map);
}

/* The mean of one of CELLS x CELLS cells. */
enum { CELLS = 8 };
static double mean_of(const struct img_plane *p, uint32_t x, uint32_t y)
{
	uint32_t width = p->width / CELLS, height = p->height / CELLS;
	double sum = 0;

	CHECK_NUMBER(p->width % CELLS + p->height % CELLS, ==, 0);
	for (uint32_t v = 0; v < height; v++)
		for (uint32_t u = 0; u < width; u++)
			sum += sample(p, x * width + u, y * height + v);
	return sum / (width * height);
}

/* Another part, or a mirrored one, differs by tens. */
static void check_aligned(const struct seen *s)
{
	enum { LEVELS = 4 };

	for (uint32_t p = 0; p < s->map.plane_count; p++) {
		double sum = 0;

		for (uint32_t y = 0; y < CELLS; y++)
			for (uint32_t x = 0; x < CELLS; x++)
				sum += fabs(mean_of(&s->base.planes[p], x, y) -
					    mean_of(&s->map.planes[p], x, y));
		CHECK_NUMBER(sum / (CELLS * CELLS), <=, LEVELS);
	}
}

static void test_shows_the_same_part(void)
{
	static const struct img_transform rows[] = {
		{ .box = { 80, 80 } },
		{ .box = { 80, 80 }, .as_stored = true },
		{ .box = { 64, 64 }, .fit = IMG_FIT_COVER },
		{ .box = { 64, 32 },
		  .fit = IMG_FIT_COVER,
		  .gravity = IMG_SOUTHEAST },
		{ .box = { 0, 0 }, .lossless = true },
	};

	for (uint32_t o = 1; o <= 8; o++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct jxl_gain_spec spec = usual_file();
			struct img_transform t = rows[i];
			struct bytes file, out;
			struct seen seen;

			check_case("orientation %u, rows[%zu]", o, i);
			t.quality = 95;
			t.keep_gainmap = true;
			t.format = IMG_FORMAT_JXL;
			spec.base.orientation = spec.map.orientation = o;
			spec.map.is_grey = o & 1;
			if (!spec.map.is_grey)
				spec.gain = &gainmap_coloured;
			file = jxl_make_gain(&spec);
			out = run(file, &t);
			see(&seen, out);
			check_gain(&seen.gain, spec.gain);
			check_aligned(&seen);
			forget(&seen);
			free(out.data);
			free(file.data);
		}
}

/* Without loss, and at its own size, the map's samples stay. */
static void test_lossless(void)
{
	struct jxl_gain_spec spec = usual_file();
	struct img_transform t = keep;
	struct bytes file, out;
	struct seen seen;

	t.lossless = true;
	file = jxl_make_gain(&spec);
	out = run(file, &t);
	see(&seen, out);
	check_samples(&seen.base, &spec.base);
	check_samples(&seen.map, &spec.map);
	forget(&seen);
	check_arrival(out, false);
	free(out.data);
	free(file.data);
}

/* --- From and to JPEG --- */

static struct bytes make_jpeg(const struct img_gain *gain, bool is_grey,
			      struct bytes profile)
{
	struct gainmap_spec spec = {
		.base = { .width = WIDTH, .height = HEIGHT, .picture = waves },
		.map = { .width = WIDTH, .height = HEIGHT, .picture = waves },
		.gain = gain,
		.profile = profile,
	};

	spec.map.space = is_grey ? JCS_GRAYSCALE : JCS_YCbCr;
	return gainmap_make(&spec);
}

/* The light of each channel, as the profile of a decoded map says it. */
static void check_light(struct bytes jxl, struct bytes profile)
{
	struct matrix_tags wanted, got;
	struct image img = { 0 };
	struct heap h;

	CHECK_NUMBER(decode(&img, jxl, &keep, &h), ==, IMG_OK);
	CHECK(img.gainmap != NULL);
	CHECK(!img.gainmap->gain.uses_base_colours);
	CHECK(matrix_read(&wanted, profile.data, profile.count));
	CHECK(matrix_read(&got, img.gainmap->image.profile,
			  img.gainmap->image.profile_bytes));
	for (int i = 0; i < 9; i++)
		CHECK_NUMBER(
			fabs(wanted.xyz[i / 3][i % 3] - got.xyz[i / 3][i % 3]),
			<, 2e-4);
	img_release(&img);
}

static void test_jpeg_and_back(void)
{
	static const struct img_gain *const gains[] = { &gainmap_usual,
							&gainmap_coloured };
	struct bytes none = { 0 };

	for (size_t i = 0; i < GAMUT_COUNT + 2; i++) {
		bool has_profile = i >= 2;
		const struct img_gain *gain = gains[i > 0];
		struct bytes profile =
			has_profile ?
				profile_rgb(&gamuts[i - 2], CURVE_SRGB, 0) :
				none;
		struct bytes jpeg = make_jpeg(gain, i == 0, profile), jxl, back;
		struct img_transform t = keep;
		struct gainmap_seen seen;

		check_case("file %zu", i);
		jxl = run(jpeg, &t);
		if (has_profile)
			check_light(jxl, profile);
		t.format = IMG_FORMAT_JPEG;
		back = run(jxl, &t);
		CHECK(gainmap_see(&seen, back));
		check_gain(&seen.gain, gain);
		CHECK(seen.has_profile == has_profile);
		free(back.data);
		free(jxl.data);
		free(jpeg.data);
		free(profile.data);
	}
}

/* Colours that the file codes, and those that are not read. */
static void test_alternates_colours(void)
{
	struct bytes p3 = jxl_p3(), icc, file;
	uint8_t grey[] = { 1 << 2 }, other[] = { 2 };
	const struct bytes unknown[] = { { grey, 1 }, { other, 1 } };
	struct jxl_gain_spec spec = usual_file();
	struct image img = { 0 };
	struct heap h;

	spec.gain = &gainmap_coloured;
	spec.map.is_grey = false;
	spec.colours = p3;
	file = jxl_make_gain(&spec);
	icc = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);
	check_light(file, icc);
	free(file.data);
	for (size_t i = 0; i < 3; i++) {
		check_case("unknown %zu", i);
		spec.colours = i < 2 ? unknown[i] : (struct bytes){ 0 };
		spec.profile = i < 2 ? (struct bytes){ 0 } : icc;
		file = jxl_make_gain(&spec);
		CHECK_NUMBER(decode(&img, file, &keep, &h), ==, IMG_OK);
		CHECK_NUMBER(img.notes, ==, IMG_NOTE_NO_GAINMAP);
		CHECK(img.gainmap == NULL);
		img_release(&img);
		free(file.data);
	}
	free(icc.data);
	free(p3.data);
}

/* --- What is left out --- */

static void check_left_out(struct bytes file)
{
	struct image img = { 0 };
	struct heap h;

	CHECK_NUMBER(decode(&img, file, &keep, &h), ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_NO_GAINMAP);
	CHECK(img.gainmap == NULL);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_other_maps(void)
{
	static const struct img_gain bad = { .channel_count = 1 };
	static const struct jxl_gain_spec specs[] = {
		{ .map = { .width = WIDTH + 1, .height = 8 } },
		{ .map = { .width = 8, .height = HEIGHT + 1 } },
		{ .map = { .has_alpha = true } },
		{ .map = { .orientation = 6 } },
		{ .map = { .frames = 2 } },
		{ .map = { .in_boxes = true } },
		{ .gain = &bad },
		{ .version = 1 },
		{ .is_compressed = true },
		{ .is_endless = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct jxl_gain_spec spec = specs[i];
		struct bytes file;

		check_case("specs[%zu]", i);
		spec.base = usual_file().base;
		if (spec.gain == NULL)
			spec.gain = &gainmap_usual;
		file = jxl_make_gain(&spec);
		check_left_out(file);
		free(file.data);
	}
}

/* The map's box is behind the picture. */
static void test_cut_files(void)
{
	enum { HEAD_BYTES = 24, BOX_HEAD_BYTES = 8 };
	struct jxl_gain_spec spec = usual_file();
	struct bytes file = jxl_make_gain(&spec);
	size_t at = (size_t)(jxl_find_box(file, "jhgm").data - file.data);

	for (size_t n = at; n < file.count;
	     n += n < at + HEAD_BYTES ? 1 : 331) {
		struct bytes cut = { file.data, n };

		check_case("%zu of %zu bytes", n, file.count);
		check_left_out(cut);
		/* The box ends there, too. */
		if (n > UINT16_MAX + at)
			continue;
		memset(file.data + at - BOX_HEAD_BYTES, 0, 2);
		file.data[at - 6] = (uint8_t)((n - at + BOX_HEAD_BYTES) >> 8);
		file.data[at - 5] = (uint8_t)(n - at + BOX_HEAD_BYTES);
		check_left_out(cut);
		file.data[at - 6] =
			(uint8_t)((file.count - at + BOX_HEAD_BYTES) >> 8);
		file.data[at - 5] = (uint8_t)(file.count - at + BOX_HEAD_BYTES);
	}
	free(file.data);
}

/* Bits of the box's head, and of its parts' heads, may be wrong. */
static void test_wrong_bits(void)
{
	enum { BOX_HEAD_BYTES = 8, BITS = 8 * 180 };

	for (int i = 0; i < 2; i++) {
		struct bytes p3 = jxl_p3();
		struct jxl_gain_spec spec = usual_file();
		struct bytes file;
		size_t at;

		spec.is_before = i == 1;
		spec.map.is_grey = false;
		spec.gain = &gainmap_coloured;
		spec.colours = p3;
		file = jxl_make_gain(&spec);
		at = (size_t)(jxl_find_box(file, "jhgm").data - file.data);
		for (size_t bit = 0; bit < BITS; bit += bit < 64 ? 3 : 29) {
			uint8_t *byte =
				&file.data[at - BOX_HEAD_BYTES + bit / 8];
			struct image img = { 0 };
			enum img_err err;
			struct heap h;

			check_case("before %d, bit %zu", i, bit);
			*byte ^= (uint8_t)(1u << bit % 8);
			err = decode(&img, file, &keep, &h);
			/* Nothing is found behind a box of a wrong size. */
			CHECK(err == IMG_OK ||
			      (spec.is_before && bit / 8 < BOX_HEAD_BYTES));
			if (err == IMG_OK)
				img_release(&img);
			CHECK_NUMBER(h.live_count, ==, 0);
			*byte ^= (uint8_t)(1u << bit % 8);
		}
		free(file.data);
		free(p3.data);
	}
}

static void test_failing_memory(void)
{
	struct bytes p3 = jxl_p3(), file;
	struct jxl_gain_spec spec = usual_file();
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct img_header header;
	struct img_view view;

	spec.gain = &gainmap_coloured;
	spec.map.is_grey = false;
	spec.colours = p3;
	file = jxl_make_gain(&spec);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	view = img_fit(&header, &keep);
	for (uint32_t n = 1; err == IMG_ERR_NO_MEMORY; n++) {
		struct image img = { 0 }, scaled = { 0 };
		uint8_t *out = NULL;
		struct heap h;
		size_t bytes;

		CHECK_NUMBER(n, <, 500);
		heap_init(&h);
		h.fail_at = n;
		err = img_decode(&img, file.data, file.count, &header, &view,
				 &keep, &no_limits, &h.memory);
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
	struct image decoded = { 0 }, scaled = { 0 };
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
		struct jxl_gain_spec spec = usual_file();
		struct bytes file;

		spec.base.width = spec.base.height = 360;
		spec.map.width = spec.map.height = i & 1 ? 360 : 90;
		spec.map.is_grey = i & 2;
		spec.map.is_noise = spec.base.is_noise = i & 4;
		file = jxl_make_gain(&spec);
		for (int k = 0; k < 4; k++) {
			struct img_transform t = keep;

			if (!has_all &&
			    __builtin_parity((unsigned)(i << 3 | k)))
				continue;
			check_case("file %d, transform %d", i, k);
			t.box.width_px = t.box.height_px = k & 1 ? 0 : 250;
			t.lossless = k & 2;
			check_estimate(file, &t);
		}
		free(file.data);
	}
}

int main(void)
{
	test_every_kind();
	test_colours_of_the_map();
	test_shows_the_same_part();
	test_lossless();
	test_jpeg_and_back();
	test_alternates_colours();
	test_other_maps();
	test_cut_files();
	test_wrong_bits();
	test_failing_memory();
	test_estimates_contain_the_map();
	return 0;
}
