/* SPDX-License-Identifier: MIT */
/*
 * fuzz_seeds DIR: write small files of every format and kind as seeds for the
 * fuzz targets, each preceded by the option bytes of a transform.
 */
#include "imgops/test/gainmaps.h"
#include "imgops/test/gifs.h"
#include "imgops/test/jxls.h"
#include "imgops/test/png_make.h"
#include "imgops/test/profiles.h"
#include "imgops/test/support.h"
#include "imgops/test/avifs.h"
#include "imgops/test/heics.h"
#include "imgops/test/webps.h"

#include <stdlib.h>

enum { OPTION_BYTES = 8, CHUNK_BYTES = 200 };

struct seeds {
	const char *dir;
	uint32_t count;
};

static void put(FILE *f, const void *data, size_t count)
{
	(void)fwrite(data, 1, count, f);
}

/* Write the profile in chunks, the last one first. */
static void put_profile(FILE *f, struct bytes profile)
{
	size_t chunks = (profile.count + CHUNK_BYTES - 1) / CHUNK_BYTES;

	for (size_t i = chunks; i > 0; i--) {
		size_t from = (i - 1) * CHUNK_BYTES;
		size_t n = profile.count - from < CHUNK_BYTES ?
				   profile.count - from :
				   CHUNK_BYTES;

		put(f, "\xff\xe2", 2);
		(void)fputc((int)((n + 16) >> 8), f);
		(void)fputc((int)((n + 16) & 255), f);
		put(f, "ICC_PROFILE", 12);
		(void)fputc((int)i, f);
		(void)fputc((int)chunks, f);
		put(f, profile.data + from, n);
	}
}

/* A new file with the bytes of its options. */
static FILE *open_seed(struct seeds *s)
{
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%03u", s->dir, s->count);
	FILE *f = fopen(path, "wb");

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	for (uint32_t i = 0; i < OPTION_BYTES; i++)
		(void)fputc((int)(scramble(s->count * OPTION_BYTES + i) & 255),
			    f);
	s->count++;
	return f;
}

static void write_seed(struct seeds *s, struct bytes jpeg, struct bytes profile)
{
	FILE *f = open_seed(s);

	put(f, jpeg.data, 2);
	if (profile.count > 0 && profile.count < 255 * CHUNK_BYTES)
		put_profile(f, profile);
	put(f, jpeg.data + 2, jpeg.count - 2);
	(void)fclose(f);
	free(jpeg.data);
}

static void write_codings(struct seeds *s)
{
	static const J_COLOR_SPACE spaces[] = { JCS_YCbCr, JCS_GRAYSCALE,
						JCS_RGB, JCS_CMYK, JCS_YCCK };

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		for (int coding = 0; coding < 32; coding++) {
			struct jpeg_spec spec = {
				.width = 40,
				.height = 24,
				.space = spaces[i],
				.h = { 1 + (coding & 1), 1, 1, 1 },
				.v = { 1 + (coding & 1), 1, 1, 1 },
				.quality = 40,
				.progressive = coding & 2,
				.arithmetic = coding & 4,
				.restart_interval = coding & 8 ? 2 : 0,
				.separate_scans = coding & 16,
				.optimize = (coding & 20) == 16,
				.orientation = s->count % 9,
				.little_endian = coding & 1,
			};

			write_seed(s, jpeg_make(&spec), (struct bytes){ 0 });
		}
}

/* 4:2:2, 4:4:0, 4:1:1, 4:1:0, fractional, luma the smallest, uneven. */
static void write_samplings(struct seeds *s)
{
	static const int factors[][2][3] = {
		{ { 2, 1, 1 }, { 1, 1, 1 } }, { { 1, 1, 1 }, { 2, 1, 1 } },
		{ { 4, 1, 1 }, { 1, 1, 1 } }, { { 4, 1, 1 }, { 2, 1, 1 } },
		{ { 3, 1, 1 }, { 2, 1, 1 } }, { { 3, 2, 2 }, { 1, 1, 1 } },
		{ { 1, 2, 2 }, { 1, 2, 2 } }, { { 2, 2, 1 }, { 2, 1, 2 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
		for (int progressive = 0; progressive < 2; progressive++) {
			const int *h = factors[i][0], *v = factors[i][1];
			struct jpeg_spec spec = {
				.width = 33,
				.height = 31,
				.h = { h[0], h[1], h[2] },
				.v = { v[0], v[1], v[2] },
				.quality = 40,
				.progressive = progressive,
			};

			write_seed(s, jpeg_make(&spec), (struct bytes){ 0 });
		}
}

static void write_profiles(struct seeds *s)
{
	struct jpeg_spec colour = { .width = 24, .height = 16, .quality = 40 };
	struct jpeg_spec grey = colour, ink = colour;

	grey.space = JCS_GRAYSCALE;
	ink.space = JCS_CMYK;
	for (size_t i = 0; i < GAMUT_COUNT; i++)
		for (int steps = 0; steps <= 16; steps += 16) {
			struct bytes p = profile_rgb(&gamuts[i], 1.8, steps);

			write_seed(s, jpeg_make(&colour), p);
			free(p.data);
		}

	struct bytes g = profile_grey(2.2), k = profile_cmyk();

	write_seed(s, jpeg_make(&grey), g);
	/* A profile that does not fit the picture. */
	write_seed(s, jpeg_make(&colour), g);
	write_seed(s, jpeg_make(&ink), k);
	free(g.data);
	free(k.data);
}

static void write_ppms(struct seeds *s)
{
	static const uint32_t whites[] = { 255, 15, 1023, 65535 };

	for (size_t i = 0; i < ARRAY_SIZE(whites); i++)
		for (char kind = '5'; kind <= '6'; kind++) {
			uint32_t bytes = 19 * 17 * (kind == '6' ? 3 : 1) *
					 (whites[i] > 255 ? 2 : 1);
			FILE *f = open_seed(s);

			(void)fprintf(f, "P%c #c\n19 17\n%u\n", kind,
				      whites[i]);
			for (uint32_t k = 0; k < bytes; k++)
				(void)fputc((int)(scramble(k) & 255), f);
			(void)fclose(f);
		}
}

#ifdef IMG_PNG
static void write_pngs(struct seeds *s)
{
	static const struct {
		uint32_t type, depth;
	} kinds[] = { { 0, 1 }, { 0, 8 }, { 0, 16 }, { 2, 8 }, { 2, 16 },
		      { 3, 2 }, { 3, 8 }, { 4, 8 },  { 6, 8 }, { 6, 16 } };
	static const uint8_t gamma[] = { 0, 0, 0xd9, 3 },
			     cicp[] = { 12, 13, 0, 1 };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (uint32_t i = 0; i < 8; i++) {
			struct png_spec spec = {
				.width = 19,
				.height = 17,
				.type = kinds[k].type,
				.depth = kinds[k].depth,
				.filter = PNG_ALL_FILTERS,
				.is_interlaced = i & 1,
				.has_alpha = (i & 2) && kinds[k].type < 4,
				.idat_bytes = i & 4 ? 50 : 0,
			};
			struct bytes png;
			FILE *f = open_seed(s);

			if (i == 2)
				png_add(&spec.extra, "gAMA", gamma, 4);
			if (i == 3)
				png_add(&spec.extra, "cICP", cicp, 4);
			png = png_make(&spec);
			put(f, png.data, png.count);
			(void)fclose(f);
			free(png.data);
			free(spec.extra.data);
		}
}
#endif

static void write_whole(struct seeds *s, struct bytes file)
{
	FILE *f = open_seed(s);

	put(f, file.data, file.count);
	(void)fclose(f);
	free(file.data);
}

static void write_gainmaps(struct seeds *s)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);

	for (int i = 0; i < 8 * GAINMAP_KINDS; i++) {
		struct gainmap_spec spec = {
			.base = { .width = 40, .height = 24, .quality = 40 },
			.map = { .width = 20, .height = 12, .quality = 40 },
			.metadata = (enum gainmap_metadata)(i / 8),
			.gain = &gainmap_coloured,
			.little_endian = i & 1,
			.has_preview = i & 2,
		};

		if (i & 1)
			spec.map.space = JCS_GRAYSCALE;
		else
			spec.profile = p3;
		spec.map.progressive = i & 2;
		spec.base.progressive = i & 4;
		write_whole(s, gainmap_make(&spec));
	}
	free(p3.data);
}

#ifdef IMG_GIF

static void write_gifs(struct seeds *s)
{
	for (int kind = 0; kind < 16; kind++) {
		struct gif_spec spec = {
			.screen = { 40, 36 },
			.left = kind & 1 ? 3 : 0,
			.top = kind & 1 ? 5 : 0,
			.width = 40,
			.height = 36,
			.is_interlaced = kind & 2,
			.has_own_colours = kind & 4,
			.clear_index = kind & 8 ? 5 : -1,
			.frames = 1 + (kind & 2),
		};

		write_whole(s, gif_make(&spec));
	}
}

#endif

#ifdef IMG_WEBP

static void write_webps(struct seeds *s)
{
	for (int kind = 0; kind < 4; kind++) {
		bool is_lossless = kind & 1, has_alpha = kind & 2;

		write_whole(s, webp_make(40, 24, is_lossless, has_alpha));
		write_whole(s, webp_make(2, 70, is_lossless, has_alpha));
		write_whole(s, webp_with_all(is_lossless, has_alpha));
		write_whole(s, webp_animation(80, 60, 2, 4, is_lossless,
					      has_alpha, 2));
	}
}

#else

static void write_webps(struct seeds *s)
{
	(void)s;
}

#endif

#ifdef IMG_AVIF

static void write_avifs(struct seeds *s)
{
	const struct avif_spec specs[] = {
		{ .format = 420 },
		{ .format = 422, .depth = 10, .is_limited = true },
		{ .format = 444, .depth = 12, .matrix = 1, .has_alpha = true },
		{ .format = 400, .is_turned = true, .angle = 1 },
		{ .is_identity = true, .is_mirrored = true, .mirror = 1 },
		{ .width = 64, .height = 64, .columns = 2 },
		{ .format = 420, .frames = 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		write_whole(s, avif_make(&specs[i]));
}

#endif

#ifdef IMG_HEIC

static void write_heics(struct seeds *s)
{
	const struct heic_spec specs[] = {
		{ .width = 40, .height = 24 },
		{ .width = 24, .height = 24, .format = 422, .depth = 10 },
		{ .width = 24,
		  .height = 24,
		  .format = 444,
		  .depth = 12,
		  .matrix = 1,
		  .has_alpha = true,
		  .is_multiplied = true },
		{ .width = 24,
		  .height = 24,
		  .format = 400,
		  .is_turned = true,
		  .angle = 1,
		  .is_in_pieces = true },
		{ .width = 24,
		  .height = 24,
		  .matrix = HEIC_IDENTITY,
		  .format = 444,
		  .is_mirrored = true,
		  .is_at_end = true },
		{ .width = 60,
		  .height = 58,
		  .cell = 32,
		  .has_no_box = true,
		  .has_gainmap = true,
		  .has_thumbnail = true,
		  .has_exif = true },
		{ .width = 24,
		  .height = 24,
		  .primaries = 12,
		  .is_cut = true,
		  .aperture = { 20, 1, 16, 1, 0, 1, 0, 1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		write_whole(s, heic_make(&specs[i]));
}

#endif

#ifdef IMG_JXL

static void write_jxls(struct seeds *s)
{
	const struct jxl_spec specs[] = {
		{ .width = 40, .height = 24 },
		{ .width = 40, .height = 24, .is_lossy = true },
		{ .is_lossy = true, .has_alpha = true, .orientation = 6 },
		{ .is_grey = true, .depth = 16, .in_boxes = true, .parts = 3 },
		{ .is_grey = true, .has_alpha = true, .depth = 32 },
		{ .is_lossy = true, .curve = 16, .primary = 9 },
		{ .primary = 11, .has_alpha = true },
		{ .width = 20, .height = 20, .frames = 3, .layers = 2 },
		{ .is_lossy = true, .layers = 3, .has_photon_noise = true },
		{ .width = 300, .height = 260, .is_lossy = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes jxl = jxl_make(&specs[i]);
		FILE *f = open_seed(s);

		put(f, jxl.data, jxl.count);
		(void)fclose(f);
		free(jxl.data);
	}
	for (int i = 0; i < 8; i++) {
		struct bytes p3 = jxl_p3();
		struct jxl_gain_spec spec = {
			.base = { .width = 40, .height = 24, .parts = i & 2 },
			.map = { .width = 20, .height = 12, .is_grey = i & 4 },
			.gain = &gainmap_coloured,
			.colours = p3,
			.is_before = i & 1,
		};

		spec.map.is_lossy = i & 2;
		write_whole(s, jxl_make_gain(&spec));
		free(p3.data);
	}
}

#endif

int main(int argc, char **argv)
{
	struct seeds s = { 0 };

	if (argc != 2) {
		(void)fprintf(stderr, "usage: fuzz_seeds DIR\n");
		return 2;
	}
	s.dir = argv[1];
	write_codings(&s);
	write_samplings(&s);
	write_profiles(&s);
	write_ppms(&s);
	write_gainmaps(&s);
#ifdef IMG_PNG
	write_pngs(&s);
#endif
#ifdef IMG_AVIF
	write_avifs(&s);
#endif
#ifdef IMG_HEIC
	write_heics(&s);
#endif
	write_webps(&s);
#ifdef IMG_GIF
	write_gifs(&s);
#endif
#ifdef IMG_JXL
	write_jxls(&s);
#endif
	return 0;
}
