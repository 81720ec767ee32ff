/* SPDX-License-Identifier: MIT */
/*
 * scalers PHOTO WIDTH RESULT_WIDTH: make the luma of a photo WIDTH wide, then
 * scale it to RESULT_WIDTH by scale_planes() and by other libraries.  Prints
 * for each the CPU time, including that for its tables, and the difference from
 * Lanczos-3 in double precision.
 *
 * Built where libswscale-dev and libyuv-dev are installed.
 */
#include "base/clock.h"
#include "imgops/bench/measure.h"
#include "imgops/bench/reference.h"
#include "imgops/image.h"
#include "imgops/resample/scale.h"

#include <stdlib.h>

#include <libswscale/swscale.h>
#include <libyuv/scale.h>

enum { RUNS = 15 };

struct job {
	const struct image *src;
	struct image dst;
	const struct memory *memory;
	enum img_filter filter; /* for by_darkroom() */
	struct SwsContext *sws; /* from the last run */
};

typedef bool scaler_fn(struct job *j);

static bool by_darkroom(struct job *j)
{
	struct img_view view = {
		.width = 1,
		.height = 1,
		.orientation = 1,
		.size = { j->dst.planes[0].width, j->dst.planes[0].height },
	};

	return scale_planes(&j->dst, j->src, &view, j->filter, j->memory);
}

static bool by_swscale_kept(struct job *j)
{
	const struct img_plane *s = &j->src->planes[0], *d = &j->dst.planes[0];
	const uint8_t *from[4] = { s->samples };
	uint8_t *to[4] = { d->samples };
	int from_stride[4] = { (int)s->stride_bytes };
	int to_stride[4] = { (int)d->stride_bytes };

	if (j->sws == NULL)
		j->sws = sws_getContext((int)s->width, (int)s->height,
					AV_PIX_FMT_GRAY8, (int)d->width,
					(int)d->height, AV_PIX_FMT_GRAY8,
					SWS_LANCZOS, NULL, NULL, NULL);
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
	enum img_filter filter;
} scalers[] = {
	{ "darkroom Lanczos-3", by_darkroom, IMG_LANCZOS3 },
	{ "swscale Lanczos", by_swscale, 0 },
	{ "  context kept", by_swscale_kept, 0 },
	{ "libyuv box", by_libyuv, 0 },
	{ "darkroom Catmull-Rom", by_darkroom, IMG_CATMULL_ROM },
};

/* The shortest CPU time of several runs; less than 0: `run` failed. */
static double time_ms(struct job *j, scaler_fn *run)
{
	uint64_t least_ns = UINT64_MAX;

	for (int i = 0; i < RUNS; i++) {
		uint64_t start_ns = clock_thread_cpu_ns(), ns;

		if (!run(j))
			return -1;
		ns = clock_thread_cpu_ns() - start_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	return (double)least_ns / NS_PER_MS;
}

/* Load the photo and make its luma `width` wide. */
static bool load(struct image *luma, const char *path, uint32_t width,
		 const struct memory *memory)
{
	struct img_transform transform = { .box = { width, 0 },
					   .as_stored = true };
	struct image decoded = { 0 };
	struct img_header header;
	struct img_view view;
	struct error error;
	struct file file;
	bool ok;

	if (!file_read(&file, *path == '/' ? "/" : ".", path, &error)) {
		fprintf(stderr, "scalers: %s\n", error.text);
		return false;
	}
	ok = img_probe(&header, file.bytes, file.size_bytes, &run_limits) ==
	     IMG_OK;
	if (ok) {
		view = img_fit(&header, &transform);
		ok = img_decode_any(&decoded, file.bytes, file.size_bytes,
				    &header, &view, &transform, &run_limits,
				    memory) == IMG_OK &&
		     img_scale(luma, &decoded, &view, &transform, memory) ==
			     IMG_OK;
	}
	if (!ok)
		fprintf(stderr, "scalers: cannot decode and scale %s\n", path);
	img_release(&decoded);
	file_release(&file);
	luma->plane_count = 1;
	return ok;
}

int main(int argc, char **argv)
{
	struct memory_pool *pool = memory_pool_new(256 << 20, SIZE_MAX);
	struct image luma = { 0 };
	struct job j = { .src = &luma };

	if (argc != 4 || pool == NULL) {
		fprintf(stderr, "usage: scalers PHOTO WIDTH RESULT_WIDTH\n");
		return 2;
	}
	j.memory = memory_pool_memory(pool);
	if (!load(&luma, argv[1], (uint32_t)atoi(argv[2]), j.memory))
		return 1;

	const struct img_plane *p = &luma.planes[0];
	uint32_t width = (uint32_t)atoi(argv[3]);
	struct img_size size = { width, p->height * width / p->width };
	struct img_view view = {
		.width = 1, .height = 1, .size = size, .orientation = 1
	};

	image_shape(&j.dst, size, IMG_GREY, false);
	if (!image_alloc(&j.dst, j.memory))
		return 1;

	double *reference =
		reference_scale(p, &view, &j.dst.planes[0], IMG_LANCZOS3, NULL);

	printf("%u x %u to %u x %u\n", p->width, p->height, size.width_px,
	       size.height_px);
	for (size_t i = 0; i < ARRAY_SIZE(scalers); i++) {
		j.filter = scalers[i].filter;

		double ms = time_ms(&j, scalers[i].run);
		struct likeness l = plane_likeness(&j.dst.planes[0], reference);

		printf("%-20s %8.3f ms  PSNR %5.1f dB  most %4.1f levels\n",
		       scalers[i].name, ms, l.psnr_db, l.worst_levels);
	}
	free(reference);
	sws_freeContext(j.sws);
	img_release(&j.dst);
	img_release(&luma);
	memory_pool_free(pool);
	return 0;
}
