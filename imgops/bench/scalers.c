/* SPDX-License-Identifier: MIT */
/*
 * scalers PHOTO WIDTH RESULT_WIDTH: the luma of a photo, first made WIDTH wide,
 * scaled to RESULT_WIDTH by scale_planes() and by other libraries: CPU time,
 * tables included, and the distance from Lanczos-3 in double precision.
 *
 * Built where libswscale-dev and libyuv-dev are installed.
 */
#include "imgops/bench/run.h"

#include "base/util.h"
#include "imgops/bench/reference.h"
#include "imgops/image.h"
#include "base/memory.h"
#include "imgops/resample/scale.h"

#include <math.h>
#include <stdlib.h>

#include <libswscale/swscale.h>
#include <libyuv/scale.h>

enum { RUNS = 15 };

struct job {
	const struct image *src;
	struct image dst;
	const struct memory *memory;
	struct SwsContext *sws; /* of the last run */
};

typedef bool scaler_fn(struct job *j);

static struct SwsContext *sws_make(const struct job *j)
{
	const struct img_plane *s = &j->src->planes[0], *d = &j->dst.planes[0];

	return sws_getContext((int)s->width, (int)s->height, AV_PIX_FMT_GRAY8,
			      (int)d->width, (int)d->height, AV_PIX_FMT_GRAY8,
			      SWS_LANCZOS, NULL, NULL, NULL);
}

static bool by_filter(struct job *j, enum img_filter filter)
{
	struct img_view view = {
		.width = 1,
		.height = 1,
		.orientation = 1,
		.size = { j->dst.planes[0].width, j->dst.planes[0].height },
	};

	return scale_planes(&j->dst, j->src, &view, filter, j->memory);
}

static bool by_darkroom(struct job *j)
{
	return by_filter(j, IMG_LANCZOS3);
}

static bool by_stb(struct job *j)
{
	return by_filter(j, IMG_CATMULL_ROM);
}

static bool by_swscale_kept(struct job *j)
{
	const struct img_plane *s = &j->src->planes[0], *d = &j->dst.planes[0];
	const uint8_t *from[4] = { s->samples };
	uint8_t *to[4] = { d->samples };
	int from_stride[4] = { (int)s->stride_bytes };
	int to_stride[4] = { (int)d->stride_bytes };

	if (j->sws == NULL)
		j->sws = sws_make(j);
	return j->sws != NULL && sws_scale(j->sws, from, from_stride, 0,
					   (int)s->height, to, to_stride) > 0;
}

static bool by_swscale(struct job *j)
{
	sws_freeContext(j->sws);
	j->sws = NULL;
	return by_swscale_kept(j);
}

static bool by_libyuv(struct job *j)
{
	const struct img_plane *s = &j->src->planes[0], *d = &j->dst.planes[0];

	ScalePlane(s->samples, (int)s->stride_bytes, (int)s->width,
		   (int)s->height, d->samples, (int)d->stride_bytes,
		   (int)d->width, (int)d->height, kFilterBox);
	return true;
}

static const struct {
	const char *name;
	scaler_fn *run;
} scalers[] = {
	{ "darkroom Lanczos-3", by_darkroom },
	{ "swscale Lanczos", by_swscale },
	{ "  context kept", by_swscale_kept },
	{ "libyuv box", by_libyuv },
	{ "stb Catmull-Rom", by_stb },
};

/* The least CPU time of some runs; less than 0: it failed. */
static double time_ms(struct job *j, scaler_fn *run)
{
	double least = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		double start = run_cpu_s();

		if (!run(j))
			return -1;
		least = fmin(least, run_cpu_s() - start);
	}
	return least * 1000;
}

static void print_scaler(struct job *j, size_t i, const double *reference)
{
	const struct img_plane *d = &j->dst.planes[0];
	double ms = time_ms(j, scalers[i].run), squares = 0, most = 0;

	for (uint32_t y = 0; y < d->height; y++)
		for (uint32_t x = 0; x < d->width; x++) {
			double error = d->samples[y * d->stride_bytes + x] -
				       reference[(size_t)y * d->width + x];

			squares += error * error;
			most = fmax(most, fabs(error));
		}
	printf("%-20s %8.3f ms  PSNR %5.1f dB  most %4.1f levels\n",
	       scalers[i].name, ms,
	       10 * log10(255.0 * 255 * d->width * d->height / squares), most);
}

/* The photo's luma, alone and `width` wide. */
static bool load(struct image *luma, const char *path, uint32_t width,
		 const struct memory *memory)
{
	struct img_transform transform = { .box = { width, 0 },
					   .as_stored = true };
	struct image decoded = { 0 };
	static uint8_t jpeg[32 << 20];
	struct img_header header;
	FILE *f = fopen(path, "rb");
	size_t bytes = f != NULL ? fread(jpeg, 1, sizeof(jpeg), f) : 0;
	bool ok = img_probe(&header, jpeg, bytes, &run_limits) == IMG_OK;

	if (f != NULL)
		(void)fclose(f);
	if (!ok)
		return false;

	struct img_view view = img_fit(&header, &transform);

	ok = img_decode(&decoded, jpeg, bytes, &header, &view, &transform,
			&run_limits, memory) == IMG_OK &&
	     img_scale(luma, &decoded, &view, &transform, memory) == IMG_OK;
	img_release(&decoded);
	luma->plane_count = 1;
	return ok;
}

int main(int argc, char **argv)
{
	struct memory_pool *pool = memory_pool_new(256 << 20);
	struct image luma = { 0 };
	struct job j = { .src = &luma };

	if (argc != 4 || pool == NULL) {
		fprintf(stderr, "usage: scalers PHOTO WIDTH RESULT_WIDTH\n");
		return 2;
	}
	j.memory = memory_pool_memory(pool);
	if (!load(&luma, argv[1], (uint32_t)atoi(argv[2]), j.memory))
		return 1;

	uint32_t width = (uint32_t)atoi(argv[3]);
	uint32_t height = luma.planes[0].height * width / luma.planes[0].width;
	struct img_size size = { width, height };
	struct img_view view = { .width = 1, .height = 1, .size = size };
	struct upright upright = reference_turn(&luma.planes[0], 1);

	image_shape(&j.dst, size, IMG_GREY, false);
	if (!image_alloc(&j.dst, j.memory))
		return 1;

	double *reference = reference_scale(&upright, &view, &j.dst.planes[0],
					    IMG_LANCZOS3);

	printf("%u x %u to %u x %u\n", luma.planes[0].width,
	       luma.planes[0].height, width, height);
	for (size_t i = 0; i < ARRAY_SIZE(scalers); i++)
		print_scaler(&j, i, reference);
	free(reference);
	reference_release(&upright);
	sws_freeContext(j.sws);
	img_release(&j.dst);
	img_release(&luma);
	memory_pool_free(pool);
	return 0;
}
