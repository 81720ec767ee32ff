/* SPDX-License-Identifier: MIT */
#include "imgops/bench/bare.h"

#include <math.h>
#include <time.h>

const char *const step_names[STEP_COUNT] = {
	[STEP_PROBE] = "probe",   [STEP_DECODE] = "decode",
	[STEP_SCALE] = "scale",   [STEP_BLUR] = "blur",
	[STEP_ENCODE] = "encode",
};

const struct img_limits bare_limits = {
	.side_px_max = 65500,
	.pixels_max = 250000000,
	.scans_max = 100,
	.decode_bytes_max = UINT64_C(1) << 30,
};

double bare_cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t side(double px)
{
	return px < 1 ? 1 : px > 65500 ? 65500 : (uint32_t)px;
}

struct img_view bare_decode_view(const struct img_view *view,
				 const struct bare_job *job)
{
	double wide = view->size.width_px * job->margin;
	double high = view->size.height_px * job->margin;
	struct img_view larger = *view;

	/* All but whole: a margin of 1 changes nothing. */
	larger.size.width_px = side(wide + 1 - 1e-6);
	larger.size.height_px = side(high + 1 - 1e-6);
	return larger;
}

uint32_t bare_eighths(const struct image *decoded,
		      const struct img_header *header)
{
	return (uint32_t)lround(8 * decoded->planes[0].span_x /
				header->stored.width_px);
}

/* End step `b->step`, which began at *since.  False: it refused the file. */
static bool ended(struct bare *b, double *since, enum img_err err)
{
	double now = bare_cpu_s();

	b->cpu_s[b->step] = now - *since;
	*since = now;
	b->err = err;
	if (err != IMG_OK)
		return false;
	if (b->step < STEP_ENCODE)
		b->step++;
	return true;
}

/* What a server does before it queues an upload. */
static enum img_err probe(struct bare *b, struct img_view *view,
			  const struct file *file,
			  const struct img_recipe *recipe)
{
	enum img_err err = img_probe(&b->header, file->bytes, file->size_bytes,
				     &bare_limits);

	if (err != IMG_OK)
		return err;
	*view = img_fit(&b->header, recipe);
	b->cost = img_cost(&b->header, file->bytes, file->size_bytes, view,
			   recipe);
	return IMG_OK;
}

/* `pictures`: decoded, scaled, blurred.  False: refused. */
static bool run(struct bare *b, struct image pictures[3],
		const struct file *file, const struct bare_job *job)
{
	struct image *decoded = &pictures[0], *scaled = &pictures[1];
	struct image *last = scaled;
	const struct img_recipe *recipe = job->recipe;
	double since = bare_cpu_s();
	struct img_view view, larger;

	if (!ended(b, &since, probe(b, &view, file, recipe)))
		return false;
	larger = bare_decode_view(&view, job);
	b->size = view.size;
	if (!ended(b, &since,
		   img_decode(decoded, file->bytes, file->size_bytes,
			      &b->header, &larger, recipe, &bare_limits,
			      job->memory)))
		return false;
	b->eighths = bare_eighths(decoded, &b->header);
	if (!ended(b, &since,
		   img_scale(scaled, decoded, &view, recipe, job->memory)))
		return false;
	img_release(decoded); /* as early as a server would */
	if (recipe->blur_sigma_px > 0) {
		last = &pictures[2];
		if (!ended(b, &since,
			   img_blur(last, scaled, recipe->blur_sigma_px,
				    job->memory)))
			return false;
		img_release(scaled);
	}
	b->step = STEP_ENCODE;
	return ended(b, &since,
		     img_encode(&b->jpeg, &b->jpeg_bytes, last, recipe,
				job->memory));
}

struct bare bare_run(const struct file *file, const struct bare_job *job)
{
	struct image pictures[3] = { 0 };
	struct bare b = { 0 };

	(void)run(&b, pictures, file, job); /* b.err says it too */
	for (int i = 0; i < 3; i++)
		img_release(&pictures[i]);
	return b;
}

void bare_release(struct bare *b, const struct bare_job *job)
{
	if (b->jpeg != NULL)
		job->memory->free(job->memory->arg, b->jpeg);
	b->jpeg = NULL;
}
