/* SPDX-License-Identifier: MIT */
/*
 * usage: check_estimates [--every STEP] [DIR...]
 *
 * Promise: whatever a file claims or lacks, its steps take at most FACTOR times
 * as long as img_cost() said; for a file that is decoded again in another way,
 * as was said before each decode.  So a hostile file cannot take much more CPU
 * time than its upload was checked for.
 *
 * The files are made here, and read from each DIR (every STEPth file).  Each
 * is run with several transforms; with --every, with a part of them.  The
 * estimates are in the time of one machine; so is the first thing that is
 * measured, an ordinary picture, and the quotient says how much slower this
 * machine is.  CPU time on a busy machine is longer, too: what is too slow is
 * run again, up to TRIES times, and the shortest time counts.  Programs with
 * sanitizers are slower by other factors, so they do not run this.
 */
#include "imgops/imgops.h"
#include "imgops/test/gainmaps.h"
#include "imgops/test/jxls.h"
#include "imgops/test/png_make.h"
#include "imgops/test/profiles.h"
#ifdef IMG_AVIF
#include "imgops/test/avifs.h"
#endif
#ifdef IMG_HEIC
#include "imgops/test/heics.h"
#endif
#include "imgops/test/webps.h"

#include "base/folder.h"
#include "base/memory.h"
#include "base/test/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FACTOR = 3, TRIES = 6, CALIBRATIONS = 40 };

/* Less is not worth an attack. */
#define SLACK_NS 5e6

static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 250 * 1000 * 1000,
	.scans_max = 64,
	.decode_bytes_max = 1024 << 20,
	.result_pixels_max = 100 * 1000 * 1000,
};

#define STRETCHED(w, h)                                                        \
	.quality = 80, .box = { w, h }, .fit = IMG_FIT_FILL, .enlarge = true

enum { ORDINARY = 2, FEW = 4 };

static const struct img_transform transforms[] = {
	{ .quality = 80 },
	{ .quality = 80, .box = { 16, 16 } },
	[ORDINARY] = { .quality = 80, .box = { 640, 640 }, .blur_sigma_px = 2 },
	{ .quality = 80, .box = { 100, 100 }, .filter = IMG_BSPLINE },
	/* These take long, and hardly depend on how the file is coded. */
	{ .quality = 80, .box = { 640, 640 }, .filter = IMG_BOX },
	{ STRETCHED(3000, 3000) },
	{ STRETCHED(2000, 2000), .light = IMG_LIGHT_LINEAR },
	{ .quality = 80, .box = { 100, 100 }, .light = IMG_LIGHT_LINEAR },
	{ STRETCHED(2000, 2000), .filter = IMG_MITCHELL },
	{ STRETCHED(2000, 2000), .progressive = true,
	  .chroma = IMG_CHROMA_444 },
	{ STRETCHED(2000, 2000), .optimize = true, .blur_sigma_px = 50 },
	{ STRETCHED(2000, 2000), .effort = 9 },
	{ STRETCHED(2000, 2000), .sharpen_sigma_px = 6 },
	{ .quality = 80,
	  .box = { 16, 16 },
	  .fit = IMG_FIT_COVER,
	  .gravity = IMG_SMART },
	{ .quality = 80, .box = { 16, 16 }, .trim = 255 },
	{ .quality = 80, .trim = 30 },
	{ .quality = 80, .box = { 16, 16 }, .pad = { 999, 999, 999, 999 } },
	{ STRETCHED(4000, 8) },
	{ STRETCHED(8, 4000) },
	{ .quality = 100, .progressive = true },
	{ .quality = 100 },
};

static double machine; /* how many times as long things take here */
static uint32_t run_count, wrong_count;
static struct memory_pool *pool;

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* All steps after decode; `decoded` is released. */
static enum img_err finish(struct image *decoded, const struct img_view *view,
			   const struct img_transform *transform)
{
	const struct memory *memory = memory_pool_memory(pool);
	struct image scaled = { 0 };
	uint8_t *jpeg = NULL;
	size_t bytes;
	enum img_err err = img_scale(&scaled, decoded, view, transform, memory);

	img_release(decoded);
	if (err == IMG_OK)
		err = img_retouch(&scaled, view, transform, NULL, memory);
	if (err == IMG_OK)
		err = img_encode(&jpeg, &bytes, &scaled, transform, memory);
	img_release(&scaled);
	memory_pool_block_free(jpeg);
	return err;
}

/*
 * The CPU time of all steps, and what was said of it.  If the file is to be
 * decoded again, *is_again is set and the header is changed, and the time is
 * that until then.
 */
static double run(double *said_ns, bool *is_again, struct bytes jpeg,
		  struct img_header *header,
		  const struct img_transform *transform)
{
	struct image decoded = { 0 };
	struct img_view view = img_fit(header, transform);
	double start_ns = now_ns();
	enum img_err err;

	*said_ns = (double)img_cost(header, &view, transform).cpu_ns;
	err = decode_here(&decoded, jpeg.data, jpeg.count, header, &view,
			  transform, &limits, memory_pool_memory(pool));
	if (err == IMG_OK)
		err = img_find_border(header, &decoded, transform,
				      memory_pool_memory(pool));
	if (err == IMG_OK)
		err = finish(&decoded, &view, transform);
	img_release(&decoded);
	*is_again = img_decode_again(header, err);
	return now_ns() - start_ns;
}

/* Why the file is decoded again, for a message. */
static const char *finding(const struct img_header *h)
{
	if (h->is_irregular)
		return ", irregular";
	if (h->texture == IMG_TEXTURE_FINE)
		return ", fine texture";
	if (h->border_count > 0)
		return ", a border";
	return h->has_findings ? ", all scans" : "";
}

static void check(const char *name, struct bytes jpeg,
		  const struct img_header *header,
		  const struct img_transform *transform, double slack_ns)
{
	struct img_header h;
	double took_ns = 0, said_ns = 0;
	bool ok = false, is_again = false;

	for (int i = 0; i < TRIES && !ok; i++) {
		h = *header;
		took_ns = run(&said_ns, &is_again, jpeg, &h, transform);
		ok = took_ns <= FACTOR * machine * (said_ns + slack_ns);
	}
	run_count++;
	if (!ok) {
		wrong_count++;
		printf("%s, %" PRIu32 " x %" PRIu32
		       "%s: %.1f ms, estimated %.1f ms\n",
		       name, transform->box.width_px, transform->box.height_px,
		       finding(header), took_ns / 1e6, said_ns * machine / 1e6);
	}
	if (is_again)
		check(name, jpeg, &h, transform, slack_ns);
}

/* Of JPEGs and PPMs, one run in so many: no divisor of their transforms. */
static size_t file_step = 1;

static bool is_sampled(void)
{
	static size_t file_count;

	return file_count++ % file_step == 0;
}

/* With the first `count` transforms; a damaged file is used as far as it is. */
static void check_file(const char *name, struct bytes jpeg, size_t count)
{
	struct img_header header;

	if (img_probe(&header, jpeg.data, jpeg.count, &limits) != IMG_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		struct img_transform transform = transforms[i];

		transform.lenient = true;
		if (is_sampled())
			check(name, jpeg, &header, &transform, SLACK_NS);
	}
}

static double flat(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 90;
}

static double noise(uint32_t component, double x, double y)
{
	return scramble((uint32_t)(x * 3 + y * 70000) + component) % 256;
}

static void check_made(const char *name, const struct jpeg_spec *spec,
		       size_t count)
{
	struct bytes jpeg = jpeg_make(spec), cut = jpeg;

	check_file(name, jpeg, count);
	/* After its first rows, and near its end. */
	cut.count = jpeg.count / 16 + 1000;
	if (cut.count < jpeg.count)
		check_file(name, cut, FEW);
	if (jpeg.count > 8) {
		cut.count = jpeg.count - 8;
		check_file(name, cut, FEW);
	}
	free(jpeg.data);
}

/* Each pixel of noise takes long. */
enum { SIDE = 1000, NOISE_SIDE = 400, LARGE = 4000 };

static void check_kinds(const char *name, picture_fn *picture,
			J_COLOR_SPACE space)
{
	uint32_t side = picture == noise ? NOISE_SIDE : SIDE;
	const struct jpeg_spec plain = { .width = side,
					 .height = side,
					 .picture = picture,
					 .space = space,
					 .optimize = true };
	struct jpeg_spec specs[6] = {
		plain, plain, plain, plain, plain, plain
	};

	specs[1].progressive = true;
	specs[2].separate_scans = true;
	specs[3].restart_interval = 1;
	specs[4].arithmetic = true;
	specs[5].arithmetic = true;
	specs[5].progressive = true;
	specs[4].optimize = specs[5].optimize = false;
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		char what[64];

		(void)snprintf(what, sizeof(what), "%s %zu", name, i);
		check_made(what, &specs[i], FEW);
	}
}

/* Scans that add hardly any bytes, but look at every block, or coefficient. */
static void check_refined(const char *name, J_COLOR_SPACE space, int dc_bits,
			  int ac_bits)
{
	struct jpeg_spec spec = {
		.width = LARGE, .height = LARGE, .picture = flat, .space = space
	};
	int all = space == JCS_GRAYSCALE ? 1 : 3, count = 0;
	jpeg_scan_info scans[64];
	struct bytes jpeg;

	for (int bits = dc_bits; bits >= 0; bits--)
		scans[count++] = (jpeg_scan_info){
			all, { 0, 1, 2 }, 0, 0, bits == dc_bits ? 0 : bits + 1,
			bits
		};
	for (int c = 0; c < all; c++)
		for (int bits = ac_bits; bits >= 0; bits--)
			scans[count++] = (jpeg_scan_info){
				1,
				{ c },
				1,
				63,
				bits == ac_bits ? 0 : bits + 1,
				bits
			};
	jpeg = jpeg_with_scans(jpeg_make(&spec), scans, count);
	check_file(name, jpeg, FEW);
	free(jpeg.data);
}

/* Set the size in the header of a file, which then lacks most of its data. */
static void set_size(struct bytes jpeg, uint8_t sof, uint32_t width,
		     uint32_t height)
{
	uint8_t *frame = jpeg_marker(jpeg, sof);

	frame[1] = (uint8_t)(height >> 8);
	frame[2] = (uint8_t)height;
	frame[3] = (uint8_t)(width >> 8);
	frame[4] = (uint8_t)width;
}

/*
 * As large as an upload may be: in a file of a kilobyte, and with all rows.
 * The progressive one has the most pixels for its scans.
 */
static void check_largest(const char *name, picture_fn *picture)
{
	struct jpeg_spec spec = { .width = 16320,
				  .height = 16 * JPEG_TILE_ROWS,
				  .picture = picture,
				  .h = { 2 },
				  .v = { 2 },
				  .quality = 30,
				  .restart_interval = 16320 / 16 };
	struct jpeg_spec small = { .width = 64,
				   .height = 64,
				   .picture = picture,
				   .progressive = true };
	struct bytes tile = jpeg_make(&spec), jpeg;

	jpeg = jpeg_of_height(tile, 15300);
	check_file(name, jpeg, FEW);
	free(jpeg.data);
	free(tile.data);
	jpeg = jpeg_make(&small);
	set_size(jpeg, 0xc2, 16000, 9900);
	check_file(name, jpeg, FEW);
	free(jpeg.data);
	small.progressive = false;
	jpeg = jpeg_make(&small);
	set_size(jpeg, 0xc0, 16320, 15300);
	check_file(name, jpeg, FEW);
	free(jpeg.data);
}

/* The scans of a sequential file, `count` times. */
static void check_repeated(const char *name, bool arithmetic, int count)
{
	struct jpeg_spec spec = { .width = LARGE,
				  .height = LARGE,
				  .picture = flat,
				  .separate_scans = true,
				  .arithmetic = arithmetic };
	struct bytes once = jpeg_make(&spec), all;
	size_t head = (size_t)(jpeg_marker(once, 0xda) - 4 - once.data);
	size_t scans = once.count - head - 2;

	all.count = head + scans * (size_t)count;
	all.data = malloc(all.count);
	CHECK(all.data != NULL);
	memcpy(all.data, once.data, head);
	for (int i = 0; i < count; i++)
		memcpy(all.data + head + scans * (size_t)i, once.data + head,
		       scans);
	check_file(name, all, FEW);
	free(all.data);
	free(once.data);
}

/* Coefficients that are all large; each of many results encodes them. */
static void check_fine(void)
{
	struct jpeg_spec spec = {
		.width = SIDE, .height = SIDE, .picture = noise, .quality = 100
	};
	struct bytes jpeg = jpeg_make(&spec);

	check_file("fine", jpeg, ARRAY_SIZE(transforms));
	free(jpeg.data);
}

static void check_read(const char *name, struct bytes jpeg,
		       const struct img_transform *transform)
{
	struct img_header header;
	enum img_err err = img_probe(&header, jpeg.data, jpeg.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	check(name, jpeg, &header, transform, SLACK_NS);
}

static void check_one(const char *name, const struct jpeg_spec *spec,
		      const struct img_transform *transform)
{
	struct bytes jpeg = jpeg_make(spec);

	check_read(name, jpeg, transform);
	free(jpeg.data);
}

static void check_profile(const char *name, J_COLOR_SPACE space,
			  struct bytes profile)
{
	struct jpeg_spec spec = {
		.width = 300, .height = 300, .picture = waves, .space = space
	};
	struct bytes plain = jpeg_make(&spec);
	struct bytes jpeg = jpeg_with_profile(plain, profile);

	check_file(name, jpeg, FEW);
	free(plain.data);
	free(jpeg.data);
	free(profile.data);
}

/* Pictures of a few columns or rows, of which each costs much. */
static void check_lines(void)
{
	static const struct img_size sizes[] = {
		{ 1, 65500 },
		{ 4, 65500 },
		{ 16, 65500 },
		{ 65500, 1 },
	};
	static const struct img_transform lines[] = {
		{ .quality = 80 },
		{ .quality = 80, .sharpen_sigma_px = 0.5 },
		{ .format = IMG_FORMAT_PPM, .sharpen_sigma_px = 10 },
		{ .quality = 80, .blur_sigma_px = 0.5 },
		{ .quality = 80, .blur_sigma_px = 20 },
		{ .quality = 80,
		  .blur_sigma_px = 100,
		  .chroma = IMG_CHROMA_444 },
		{ .quality = 100, .blur_sigma_px = 3, .progressive = true },
	};
	static const J_COLOR_SPACE spaces[] = { JCS_YCbCr, JCS_GRAYSCALE,
						JCS_CMYK };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t s = 0; s < ARRAY_SIZE(spaces); s++) {
			struct jpeg_spec spec = {
				.width = sizes[i].width_px,
				.height = sizes[i].height_px,
				.picture = s == 0 ? noise : flat,
				.space = spaces[s],
			};

			struct bytes jpeg = jpeg_make(&spec);

			for (size_t t = 0; t < ARRAY_SIZE(lines); t++)
				if (is_sampled())
					check_read("a line", jpeg, &lines[t]);
			free(jpeg.data);
		}
}

/*
 * Of a progressive file, usually only the DC scans are decoded at 1/8; of this
 * one all scans, because it has too few blocks beside those that the frame
 * cuts.
 */
static void check_strip(void)
{
	struct jpeg_spec spec = { .width = 65500,
				  .height = 57,
				  .picture = noise,
				  .h = { 2 },
				  .v = { 2 },
				  .quality = 100,
				  .progressive = true };
	struct img_transform small = { .quality = 80, .box = { 600, 600 } };

	check_one("a strip", &spec, &small);
}

/*
 * Few pixels, and much work for each, because most blocks are cut or outside of
 * the frame.  Many such files are worth an attack, so there is no slack.
 */
static void check_dense(void)
{
	static const struct {
		uint32_t width, height;
		uint8_t factors[3];
		struct img_size box;
	} strips[] = {
		{ 65500, 8, { 0x14, 0x14, 0x12 }, { 4000, 0 } },
		{ 65500, 4, { 0x14, 0x14, 0x12 }, { 20000, 0 } },
		{ 65500, 8, { 0x14, 0x11, 0x11 }, { 2000, 0 } },
		{ 65500, 8, { 0x22, 0x11, 0x11 }, { 4000, 0 } },
		{ 8, 65500, { 0x41, 0x41, 0x21 }, { 0, 4000 } },
		{ 4, 65500, { 0x41, 0x41, 0x21 }, { 0, 20000 } },
		{ 8, 65500, { 0x22, 0x11, 0x11 }, { 2000, 33 } },
		{ 4096, 40, { 0x22, 0x11, 0x11 }, { 8, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(strips); i++) {
		struct img_transform t = { .quality = 80,
					   .box = strips[i].box };
		struct bytes jpeg = jpeg_dense(
			strips[i].width, strips[i].height, strips[i].factors);
		struct img_header header;
		enum img_err err =
			img_probe(&header, jpeg.data, jpeg.count, &limits);

		check_case("strips[%zu]", i);
		CHECK_NUMBER(err, ==, IMG_OK);
		check("a dense strip", jpeg, &header, &t, 0);
		free(jpeg.data);
	}
}

/* Such a file is mostly samples, and may be small: there is no slack. */
static void check_ppm(char kind, struct img_size size, uint32_t white)
{
	static const struct img_transform results[] = {
		{ .quality = 80, .format = IMG_FORMAT_PPM },
		{ .quality = 80, .box = { 100, 100 } },
		{ STRETCHED(1500, 1500), .format = IMG_FORMAT_PPM },
		{ STRETCHED(4, 8000), .format = IMG_FORMAT_PPM },
	};
	size_t samples = img_pixels(size) * (kind == '6' ? 3 : 1) *
			 (white > 255 ? 2 : 1);
	struct bytes ppm = { malloc(samples + 64), 0 };
	struct img_header header;
	enum img_err err;

	CHECK(ppm.data != NULL);
	ppm.count =
		(size_t)snprintf((char *)ppm.data, 64, "P%c %u %u %u\n", kind,
				 size.width_px, size.height_px, white);
	for (size_t i = 0; i < samples; i++)
		ppm.data[ppm.count++] = (uint8_t)scramble((uint32_t)i);
	err = img_probe(&header, ppm.data, ppm.count, &limits);
	CHECK_NUMBER(err, ==, IMG_OK);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (is_sampled())
			check("a PPM", ppm, &header, &results[i], 0);
	free(ppm.data);
}

/* Results of each file. */
enum { PNG_RESULTS = 3, AVIF_RESULTS = 6, WEBP_RESULTS = 6, JXL_RESULTS = 6 };

/* Of gain maps, PNGs and others, which are many: one result of `made_step`. */
static size_t made_step = 1;
static size_t made_count;

static bool is_chosen(void)
{
	return made_count++ % made_step == 0;
}

#if defined(IMG_PNG) || defined(IMG_WEBP) || defined(IMG_AVIF) ||              \
	defined(IMG_JXL)
/* Is one of the next `count` chosen?  If not, they are skipped. */
static bool has_chosen(size_t count)
{
	size_t skipped = (made_step - made_count % made_step) % made_step;

	if (skipped < count)
		return true;
	made_count += count;
	return false;
}
#endif

#ifdef IMG_PNG
/* As for a PPM, there is no slack. */
static void check_png(const char *name, struct bytes png)
{
	static const struct img_transform results[PNG_RESULTS] = {
		{ .quality = 80, .box = { 100, 100 } },
		{ .format = IMG_FORMAT_PNG },
		{ .format = IMG_FORMAT_PNG, .effort = 9, .box = { 700, 700 } },
	};
	struct img_header header;
	enum img_err err = img_probe(&header, png.data, png.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (is_chosen())
			check(name, png, &header, &results[i], 0);
	free(png.data);
}

static void check_pngs(void)
{
	static const struct {
		uint32_t type, depth;
	} kinds[] = { { 0, 1 }, { 0, 8 }, { 0, 16 }, { 2, 8 }, { 2, 16 },
		      { 3, 4 }, { 3, 8 }, { 4, 8 },  { 6, 8 }, { 6, 16 } };
	static const struct img_size sizes[] = {
		{ 1500, 1000 }, { 60, 60 }, { 1, 65500 }, { 65500, 1 }
	};
	struct png_spec strip = { .width = 999, .height = 400 };
	struct png_spec pieces = {
		.width = 500, .height = 500, .type = 2, .idat_bytes = 1
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			for (int i = 0; i < 4; i++) {
				struct png_spec spec = {
					.width = sizes[s].width_px,
					.height = sizes[s].height_px,
					.type = kinds[k].type,
					.depth = kinds[k].depth,
					.filter = 4,
					.is_flat = i == 0,
					.is_noise = i == 1,
					.is_interlaced = i == 2,
					.has_alpha =
						i == 3 && kinds[k].type < 4,
				};

				if (has_chosen(PNG_RESULTS))
					check_png("a PNG", png_make(&spec));
			}
	check_png("a PNG of tables",
		  png_make_of(&strip, png_deflate_tables(1000 * 400)));
	check_png("a PNG of tiny chunks", png_make(&pieces));
}
#else
static void check_pngs(void)
{
}
#endif

#ifdef IMG_AVIF

static void check_avif(const char *name, const struct avif_spec *spec)
{
	static const struct img_transform results[AVIF_RESULTS] = {
		{ .quality = 80, .box = { 100, 100 } },
		{ .quality = 80,
		  .box = { 300, 300 },
		  .format = IMG_FORMAT_AVIF },
		{ .quality = 100, .format = IMG_FORMAT_AVIF, .effort = 1 },
		{ .quality = 80,
		  .box = { 60, 60 },
		  .format = IMG_FORMAT_AVIF,
		  .chroma = IMG_CHROMA_444,
		  .effort = 9 },
		{ .quality = 80,
		  .box = { 300, 300 },
		  .format = IMG_FORMAT_AVIF,
		  .lossless = true },
		{ STRETCHED(1, 8000), .format = IMG_FORMAT_AVIF, .effort = 1 },
	};
	struct bytes avif = avif_make(spec);
	struct img_header header;
	enum img_err err = img_probe(&header, avif.data, avif.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (is_chosen())
			check(name, avif, &header, &results[i], SLACK_NS);
	free(avif.data);
}

static void check_avifs(void)
{
	static const struct img_size sizes[] = { { 900, 700 },
						 { 8, 8000 },
						 { 8000, 8 } };
	static const struct avif_spec specs[] = {
		{ .format = 420 },
		{ .is_noise = true },
		{ .format = 400, .is_noise = true },
		{ .format = 420, .is_noise = true, .has_alpha = true },
		{ .depth = 12, .is_noise = true },
		{ .depth = 10, .format = 422, .matrix = 1, .curve = 16 },
		{ .depth = 10, .is_noise = true, .columns = 2 },
	};

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
			struct avif_spec spec = specs[i];

			if (!has_chosen(AVIF_RESULTS) ||
			    (spec.columns > 0 && s > 0))
				continue;
			spec.width = sizes[s].width_px;
			spec.height = sizes[s].height_px;
			check_avif("an AVIF", &spec);
		}
}
#else
static void check_avifs(void)
{
}
#endif

#ifdef IMG_HEIC

/* As darkroom-heif decodes it. */
static void check_heics(void)
{
	static const struct img_size sizes[] = { { 900, 700 },
						 { 32, 8000 },
						 { 8000, 32 } };
	static const struct heic_spec specs[] = {
		{ .has_no_box = true },
		{ .format = 444, .matrix = 1, .has_alpha = true },
		{ .depth = 12, .matrix = 9, .is_limited = true },
		{ .cell = 32, .depth = 10 },
	};
	const struct img_transform t = { .quality = 80, .box = { 100, 100 } };

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
			struct heic_spec spec = specs[i];
			struct img_header header;
			struct bytes heic;
			enum img_err err;

			if (!is_chosen())
				continue;
			spec.width = sizes[s].width_px;
			spec.height = sizes[s].height_px;
			heic = heic_make(&spec);
			err = img_probe(&header, heic.data, heic.count,
					&limits);
			CHECK_NUMBER(err, ==, IMG_OK);
			check("a HEIC", heic, &header, &t, SLACK_NS);
			free(heic.data);
		}
}
#else
static void check_heics(void)
{
}
#endif

#ifdef IMG_WEBP

static void check_webp(const char *name, struct bytes webp)
{
	static const struct img_transform results[WEBP_RESULTS] = {
		{ .quality = 80, .box = { 100, 100 } },
		{ .quality = 100, .format = IMG_FORMAT_WEBP },
		{ .quality = 80,
		  .box = { 500, 500 },
		  .format = IMG_FORMAT_WEBP,
		  .effort = 9 },
		{ .quality = 80, .format = IMG_FORMAT_WEBP, .lossless = true },
		{ .quality = 80,
		  .box = { 300, 300 },
		  .format = IMG_FORMAT_WEBP,
		  .lossless = true,
		  .effort = 9 },
		{ STRETCHED(1, 8000), .format = IMG_FORMAT_WEBP },
	};
	struct img_header header;
	enum img_err err = img_probe(&header, webp.data, webp.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (is_chosen())
			check(name, webp, &header, &results[i], SLACK_NS);
	free(webp.data);
}

/* Of noise, or of one colour; and what takes long for its bytes. */
static void check_webps(void)
{
	static const struct img_size sizes[] = { { 900, 700 },
						 { 1, 16383 },
						 { 16383, 1 } };

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (int kind = 0; kind < 8; kind++) {
			size_t count = img_pixels(sizes[s]) * 4;
			uint8_t *rgba;

			if (!has_chosen(WEBP_RESULTS))
				continue;
			rgba = malloc(count);
			CHECK(rgba != NULL);
			for (size_t i = 0; i < count; i++)
				rgba[i] =
					kind & 1 ?
						(uint8_t)scramble((uint32_t)i) :
						90;
			for (size_t i = 3; i < count && !(kind & 2); i += 4)
				rgba[i] = 255;
			check_webp("a WebP",
				   webp_from_pixels(rgba, sizes[s].width_px,
						    sizes[s].height_px,
						    kind & 4));
			free(rgba);
		}
	check_webp("an animation",
		   webp_animation(4000, 3000, 100, 100, false, false, 1));
	check_webp("a WebP of many codes", webp_of_sets());
}

#else

static void check_webps(void)
{
}

#endif

#ifdef IMG_JXL

static void check_jxl(const char *name, struct bytes jxl)
{
	static const struct img_transform results[JXL_RESULTS] = {
		{ .quality = 80, .box = { 100, 100 } },
		{ .quality = 80, .format = IMG_FORMAT_JXL },
		{ .quality = 95,
		  .box = { 300, 300 },
		  .format = IMG_FORMAT_JXL,
		  .effort = 9 },
		{ .quality = 80, .format = IMG_FORMAT_JXL, .lossless = true },
		{ .quality = 80,
		  .box = { 200, 200 },
		  .format = IMG_FORMAT_JXL,
		  .lossless = true,
		  .effort = 9 },
		{ STRETCHED(1, 8000), .format = IMG_FORMAT_JXL },
	};
	struct img_header header;
	enum img_err err = img_probe(&header, jxl.data, jxl.count, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (is_chosen())
			check(name, jxl, &header, &results[i], SLACK_NS);
	free(jxl.data);
}

/* Of waves or noise; and many frames for one picture. */
static void check_jxls(void)
{
	static const struct img_size sizes[] = { { 900, 700 },
						 { 2, 20000 },
						 { 20000, 2 } };
	struct jxl_spec layers = {
		.width = 500, .height = 500, .layers = 20, .is_lossy = true
	};
	struct jxl_spec tiny = { .width = 8, .height = 8, .layers = 500 };

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (int kind = 0; kind < 16; kind++) {
			struct jxl_spec spec = {
				.width = sizes[s].width_px,
				.height = sizes[s].height_px,
				.is_noise = kind & 1,
				.is_lossy = kind & 2,
				.has_alpha = kind & 4,
				.is_grey = kind & 8,
			};

			if (has_chosen(JXL_RESULTS))
				check_jxl("a JPEG XL", jxl_make(&spec));
		}
	check_jxl("a JPEG XL of layers", jxl_make(&layers));
	check_jxl("a JPEG XL of tiny layers", jxl_make(&tiny));
}

#else

static void check_jxls(void)
{
}

#endif

static void check_ppms(void)
{
	static const struct img_size sizes[] = {
		{ 1000, 1000 }, { 100, 100 }, { 1, 65500 }, { 65500, 1 }
	};
	static const uint32_t whites[] = { 255, 15, 65535 };

	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (size_t i = 0; i < ARRAY_SIZE(whites); i++) {
			check_ppm('5', sizes[s], whites[i]);
			check_ppm('6', sizes[s], whites[i]);
		}
}

/* Maps that take longer than their pictures. */
static void check_gainmaps(void)
{
	for (int i = 0; i < 8; i++) {
		struct gainmap_spec spec = {
			.base = { .width = NOISE_SIDE,
				  .height = NOISE_SIDE,
				  .picture = flat },
			.map = { .width = NOISE_SIDE,
				 .height = NOISE_SIDE,
				 .picture = i & 1 ? flat : noise,
				 .progressive = i & 2,
				 .arithmetic = i & 4 },
			.gain = &gainmap_coloured,
		};
		struct bytes jpeg = gainmap_make(&spec);
		struct img_header header;

		CHECK_NUMBER(img_probe(&header, jpeg.data, jpeg.count, &limits),
			     ==, IMG_OK);
		for (size_t k = 0; k < ARRAY_SIZE(transforms); k++) {
			struct img_transform transform = transforms[k];

			transform.keep_gainmap = true;
			if (is_chosen())
				check("a gain map", jpeg, &header, &transform,
				      SLACK_NS);
		}
		free(jpeg.data);
	}
}

static void check_all_made(void)
{
	struct jpeg_spec tiny = {
		.width = 16, .height = 16, .picture = noise, .space = JCS_CMYK
	};
	struct jpeg_spec tall = { .width = 1,
				  .height = 65500,
				  .picture = flat };
	struct img_transform wide = { STRETCHED(1500, 60),
				      .filter = IMG_MITCHELL };
	struct jpeg_spec turned = {
		.width = 4000, .height = 4000, .picture = flat, .orientation = 6
	};

	check_gainmaps();
	check_kinds("flat, Y'CbCr", flat, JCS_YCbCr);
	check_kinds("flat, grey", flat, JCS_GRAYSCALE);
	check_kinds("flat, CMYK", flat, JCS_CMYK);
	check_kinds("noise, Y'CbCr", noise, JCS_YCbCr);
	check_kinds("noise, CMYK", noise, JCS_CMYK);
	check_made("tiny, CMYK", &tiny, ARRAY_SIZE(transforms));
	check_refined("refined, grey", JCS_GRAYSCALE, 0, 10);
	check_refined("refined DC", JCS_YCbCr, 10, 0);
	check_refined("refined", JCS_YCbCr, 1, 10);
	check_repeated("repeated scans", false, 20);
	check_repeated("repeated scans, arithmetic", true, 20);
	check_largest("largest, flat", flat);
	check_largest("largest, noise", noise);
	check_fine();
	check_one("tall", &tall, &wide);
	check_lines();
	check_strip();
	check_dense();
	check_made("turned", &turned, ARRAY_SIZE(transforms));
	check_profile("a table for inks", JCS_CMYK, profile_cmyk());
	check_profile("a profile for grey", JCS_GRAYSCALE, profile_grey(2.2));
	check_profile("a matrix profile", JCS_YCbCr,
		      profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0));
	check_profile("HLG", JCS_YCbCr, profile_hdr(9, HDR_HLG));
	check_ppms();
	check_pngs();
	check_webps();
	check_avifs();
	check_heics();
	check_jxls();
}

static struct bytes read_file(const struct folder_file *file)
{
	struct bytes b = { malloc(file->bytes + 1), file->bytes };
	FILE *f = fopen(file->path, "rb");

	CHECK(b.data != NULL);
	CHECK(f != NULL);
	b.count = fread(b.data, 1, b.count, f);
	(void)fclose(f);
	return b;
}

static void check_folder(const char *dir, size_t step)
{
	struct folder_list list = { 0 };
	struct error error;

	if (!folder_list_read(&list, dir, FOLDER_ALL_FILES, NULL, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	for (size_t i = 0; i < list.count; i += step) {
		struct bytes jpeg = read_file(&list.files[i]);

		check_file(list.files[i].name, jpeg, FEW);
		free(jpeg.data);
	}
	folder_list_release(&list);
}

/* The shortest time of an ordinary picture with an ordinary transform. */
static void measure_machine(void)
{
	struct jpeg_spec spec = { .width = 1600,
				  .height = 1200,
				  .picture = waves };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header;
	enum img_err err = img_probe(&header, jpeg.data, jpeg.count, &limits);
	double said_ns;
	bool is_again;

	CHECK_NUMBER(err, ==, IMG_OK);
	machine = 1e9;
	for (int i = 0; i < CALIBRATIONS; i++) {
		double took_ns = run(&said_ns, &is_again, jpeg, &header,
				     &transforms[ORDINARY]);

		if (took_ns / said_ns < machine)
			machine = took_ns / said_ns;
	}
	if (machine < 1)
		machine = 1;
	free(jpeg.data);
}

int main(int argc, char **argv)
{
	bool has_step = argc > 2 && strcmp(argv[1], "--every") == 0;
	size_t step = has_step ? strtoul(argv[2], NULL, 10) : 1;

	CHECK_NUMBER(step, >, 0);
	made_step = 8 * step - 3; /* an odd number, so that all kinds come */
	file_step = step > 1 ? 13 : 1;
	cmsSetLogErrorHandler(NULL);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	pool = memory_pool_new((size_t)256 << 20, SIZE_MAX);
	CHECK(pool != NULL);
	measure_machine();
	check_all_made();
	for (int i = has_step ? 3 : 1; i < argc; i++)
		check_folder(argv[i], step);
	memory_pool_free(pool);
	printf("%" PRIu32 " runs, %" PRIu32 " of them took more than %d times "
	       "what was estimated (this machine: %.2f)\n",
	       run_count, wrong_count, FACTOR, machine);
	return wrong_count > 0;
}
