/* SPDX-License-Identifier: MIT */
/*
 * To meet the target size, the number of pixels is varied.  If the plan
 * prescribes a camera's number of pixels, noise is varied instead: an enlarged
 * photo has less detail, and so fewer bytes, than a photo from a camera.
 */
#include "datasets/make.h"

#include "datasets/xalloc.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

/*
 * A search for the x > 0 that gives y = wanted, where y grows about as a power
 * of x.
 */
struct size_search {
	double wanted;
	/* Exponent: a guess at first, then computed from the last two tries. */
	double power;
	double low;    /* x of a y that was too small; 0: none yet */
	double high;   /* x of a y that was too large; 0: none yet */
	double last_x; /* 0: none yet */
	double last_y;
};

/* The x to try after `x`, which gave `y` > 0. */
static double size_search_next(struct size_search *s, double x, double y)
{
	double step = s->last_x > 0 ? log(x / s->last_x) : 0;
	double next;

	if (y < s->wanted)
		s->low = fmax(s->low, x);
	else
		s->high = s->high == 0 ? x : fmin(s->high, x);
	if (fabs(step) > 0.01)
		s->power = fmin(2, fmax(0.2, log(y / s->last_y) / step));
	s->last_x = x;
	s->last_y = y;
	next = x * pow(s->wanted / y, 1 / s->power);
	if (next > s->low && (s->high == 0 || next < s->high))
		return next;
	return s->high == 0 ? s->low * 1.5 : sqrt(fmax(s->low, 1) * s->high);
}

/* Forget all tries, because something other than x has changed. */
static void size_search_restart(struct size_search *s)
{
	s->low = s->high = s->last_x = s->last_y = 0;
}

enum {
	TRIES_MAX = 12,
	/*
	 * A picture of more pixels than this is first tried at a smaller size.
	 */
	TRIAL_PIXELS = 200000,
	TRIAL_PART = 6,
	THUMBNAIL_PX = 160,
	/*
	 * Two files smaller than this could be equal by chance, so each gets a
	 * comment with its number.
	 */
	NUMBERED_BELOW_BYTES = 6000,
	COMMENT_BYTES = 4,   /* least size of a comment */
	AMPLITUDE_MAX = 192, /* the largest amplitude of picture_add_noise() */
	QUALITY_MIN = 40,
};

/*
 * Bytes grow as pixels to this power: a small version has more bytes per pixel.
 */
static const double DENSITY_POWER = 0.87;
static const double TOLERANCE = 0.025;

struct job {
	const struct plan *plan;
	const struct source *source;
	const struct pyramid *pyramid;
	const struct icc_profiles *icc_profiles;
	struct jpeg thumbnail;
	uint8_t *exif; /* room for a segment */
	char comment[32];
};

/* One version of the upload. */
struct trial {
	uint32_t width; /* upright */
	uint32_t height;
	int quality;
	uint32_t amplitude;
	struct jpeg jpeg;
};

/*
 * Scale the planned part of the photo, upright, from a pyramid level of at
 * least twice the size.  A smaller level would make the result less sharp; how
 * much less would depend on the size, so bytes would not grow steadily with
 * pixels.
 */
static void render_part(const struct job *job, struct picture *out,
			uint32_t width, uint32_t height)
{
	const struct pyramid *p = job->pyramid;
	struct box part = job->plan->part;
	uint32_t level = 0;

	while (level + 1 < p->count &&
	       p->levels[level + 1].width * part.width >= 2 * width &&
	       p->levels[level + 1].height * part.height >= 2 * height)
		level++;

	const struct picture *from = &p->levels[level];
	struct box box = { part.left * from->width, part.top * from->height,
			   part.width * from->width,
			   part.height * from->height };

	picture_scale(out, from, box, width, height);
}

/* The picture as it is stored: converted to its profile, and turned. */
static void render_stored(const struct job *job, struct picture *out,
			  const struct trial *t)
{
	struct picture upright;

	render_part(job, &upright, t->width, t->height);
	if (t->amplitude > 0)
		picture_add_noise(&upright, t->amplitude, job->plan->seed);
	icc_profiles_convert(job->icc_profiles, job->plan->icc, &upright);
	if (job->plan->orientation == 1) {
		*out = upright;
		return;
	}
	picture_turn(out, &upright, job->plan->orientation);
	picture_release(&upright);
}

static void add_segments(const struct job *job, struct encoding *e,
			 const struct picture *stored)
{
	const struct plan *plan = job->plan;

	if (plan->exif) {
		struct exif exif = {
			.orientation = plan->orientation,
			.width_px = stored->width,
			.height_px = stored->height,
			.seed = plan->seed,
			.thumbnail = { 0, job->thumbnail.bytes,
				       job->thumbnail.size_bytes },
		};
		size_t size_bytes = exif_write(job->exif, &exif);

		e->segments[e->segment_count++] =
			(struct segment){ JPEG_APP0 + 1, job->exif,
					  size_bytes };
	}
	if (plan->icc != ICC_NONE)
		e->segments[e->segment_count++] =
			icc_profiles_segment(job->icc_profiles, plan->icc);
	if (plan->target_bytes < NUMBERED_BELOW_BYTES)
		e->segments[e->segment_count++] =
			(struct segment){ JPEG_COM,
					  (const uint8_t *)job->comment,
					  strlen(job->comment) };
}

static void encode_trial(const struct job *job, struct trial *t)
{
	const struct plan *plan = job->plan;
	struct encoding e = {
		.quality = t->quality,
		.sampling = plan->sampling,
		.progressive = plan->progressive,
		.optimised = plan->optimised,
		.grey = plan->grey,
	};
	struct picture stored;

	render_stored(job, &stored, t);
	add_segments(job, &e, &stored);
	jpeg_encode(&t->jpeg, &stored, &e);
	picture_release(&stored);
}

static void make_thumbnail(struct job *job)
{
	const struct encoding e = { .quality = 80, .sampling = SAMPLING_422 };
	double aspect = job->plan->aspect;
	uint32_t width = (uint32_t)fmax(1, THUMBNAIL_PX * fmin(1, aspect));
	uint32_t height = (uint32_t)fmax(1, THUMBNAIL_PX / fmax(1, aspect));
	struct picture upright, stored;

	render_part(job, &upright, width, height);
	picture_turn(&stored, &upright, job->plan->orientation);
	jpeg_encode(&job->thumbnail, &stored, &e);
	picture_release(&stored);
	picture_release(&upright);
}

/*
 * The distance from the target size; huge if the file must be exact and is too
 * large.
 */
static double target_miss(const struct plan *plan, size_t bytes)
{
	double off = (double)bytes / (double)plan->target_bytes - 1;

	if (plan->exact && bytes != plan->target_bytes &&
	    bytes + COMMENT_BYTES > plan->target_bytes)
		return 1e9 + off;
	return fabs(off);
}

/* Keep the better of the two in `best`, and release the other. */
static void keep_better(const struct plan *plan, struct trial *best,
			struct trial *other)
{
	if (best->jpeg.bytes == NULL ||
	    target_miss(plan, other->jpeg.size_bytes) <
		    target_miss(plan, best->jpeg.size_bytes)) {
		jpeg_release(&best->jpeg);
		*best = *other;
	} else {
		jpeg_release(&other->jpeg);
	}
}

/* Set sides with about `pixels` pixels, within the plan's limits. */
static void set_sides(const struct plan *plan, struct trial *t, double pixels)
{
	double width = sqrt(pixels * plan->aspect);
	double shortest = fmin(width, width / plan->aspect);
	double longest = fmax(width, width / plan->aspect);

	if (shortest < plan->side_min_px)
		width *= plan->side_min_px / shortest;
	else if (longest > plan->side_max_px)
		width *= plan->side_max_px / longest;
	t->width = (uint32_t)fmax(1, round(width));
	t->height = (uint32_t)fmax(1, round(pixels / t->width));
	if (shortest < plan->side_min_px || longest > plan->side_max_px)
		t->height = (uint32_t)fmax(1, round(width / plan->aspect));
}

/*
 * The approximate bytes of tables and metadata, which do not depend on pixels.
 */
static double fixed_bytes(const struct job *job)
{
	const struct plan *plan = job->plan;
	double bytes = plan->grey ? 220 : 450;

	if (!plan->optimised && !plan->progressive)
		bytes += plan->grey ? 150 : 250;
	if (plan->exif)
		bytes += 420 + (double)job->thumbnail.size_bytes;
	if (plan->icc != ICC_NONE)
		bytes += 600;
	return bytes;
}

/* The number of pixels that should give the target, from the survey. */
static double guess_pixels(const struct job *job, double body)
{
	const struct source *s = job->source;
	double whole = (double)s->width * s->height;
	double bytes = plan_density(job->plan) * (double)s->capacity_bytes;
	double part = job->plan->part.width * job->plan->part.height;

	return whole * part * pow(body / (bytes * part), 1 / DENSITY_POWER);
}

static double aim_bytes(const struct plan *plan)
{
	/*
	 * A file that must be exact is padded to its size, so it must be a
	 * little smaller before.
	 */
	return (double)plan->target_bytes * (plan->exact ? 0.993 : 1);
}

/* The last resort: change the quality.  False: the quality is at its limit. */
static bool change_quality(int *quality, bool larger)
{
	int other = *quality + (larger ? 4 : -6);

	if (other < QUALITY_MIN || other > 100)
		return false;
	*quality = other;
	return true;
}

static uint32_t search_pixels(const struct job *job, struct trial *best)
{
	const struct plan *plan = job->plan;
	double fixed = fixed_bytes(job);
	struct size_search search = { .wanted =
					      fmax(aim_bytes(plan) - fixed, 20),
				      .power = DENSITY_POWER };
	double pixels = guess_pixels(job, search.wanted);
	int quality = plan->quality;
	uint32_t tries = 0, width = 0, height = 0;

	if (pixels > TRIAL_PIXELS)
		pixels /= TRIAL_PART;
	while (tries < TRIES_MAX) {
		struct trial t = { .quality = quality };

		set_sides(plan, &t, pixels);
		if (t.width == width && t.height == height) {
			if (plan->side_min_px <= 1 ||
			    !change_quality(&quality,
					    search.last_y < search.wanted))
				break;
			t.quality = quality;
			size_search_restart(&search);
		}
		width = t.width;
		height = t.height;
		encode_trial(job, &t);
		tries++;
		pixels = size_search_next(
			&search, (double)width * height,
			fmax((double)t.jpeg.size_bytes - fixed, 10));
		keep_better(plan, best, &t);
		if (target_miss(plan, best->jpeg.size_bytes) < TOLERANCE)
			break;
	}
	return tries;
}

static uint32_t search_noise(const struct job *job, struct trial *best)
{
	/*
	 * The search varies x = amplitude + offset.  The offset keeps x above
	 * 0, and the first steps no larger than later ones.
	 */
	static const double offset = 16;
	const struct plan *plan = job->plan;
	bool sideways = plan->orientation == 6 || plan->orientation == 8;
	struct size_search search = { .wanted = (double)plan->target_bytes,
				      .power = 0.6 };
	double noise = offset + 40;
	int quality = plan->quality;
	uint32_t tries = 0;

	while (tries < TRIES_MAX) {
		struct trial t = {
			.width = sideways ? plan->frame->height_px :
					    plan->frame->width_px,
			.height = sideways ? plan->frame->width_px :
					     plan->frame->height_px,
			.quality = quality,
			.amplitude = (uint32_t)(noise - offset),
		};
		bool quiet = t.amplitude == 0;
		bool loud = t.amplitude == AMPLITUDE_MAX;
		bool large;

		encode_trial(job, &t);
		tries++;
		large = t.jpeg.size_bytes > plan->target_bytes;
		noise = size_search_next(&search, offset + t.amplitude,
					 (double)t.jpeg.size_bytes);
		noise = fmin(offset + AMPLITUDE_MAX, fmax(offset, noise));
		keep_better(plan, best, &t);
		if (target_miss(plan, best->jpeg.size_bytes) < TOLERANCE)
			break;
		if ((quiet && large) || (loud && !large)) {
			if (!change_quality(&quality, !large))
				break;
			size_search_restart(&search);
		}
	}
	return tries;
}

/*
 * Insert a comment of spaces after the application segments, so that the file
 * has `size_bytes`.
 */
static void fill_up_with_comment(struct jpeg *j, size_t size_bytes)
{
	size_t fill = size_bytes - j->size_bytes;
	size_t at = 2;

	if (fill < COMMENT_BYTES || fill > SEGMENT_BYTES_MAX)
		return;
	while ((j->bytes[at + 1] & 0xf0) == 0xe0)
		at += 2 + ((size_t)j->bytes[at + 2] << 8 | j->bytes[at + 3]);
	j->bytes = xreallocarray(j->bytes, size_bytes, 1);
	memmove(j->bytes + at + fill, j->bytes + at, j->size_bytes - at);
	memset(j->bytes + at, ' ', fill);
	j->bytes[at] = 0xff;
	j->bytes[at + 1] = JPEG_COM;
	j->bytes[at + 2] = (uint8_t)((fill - 2) >> 8);
	j->bytes[at + 3] = (uint8_t)(fill - 2);
	j->size_bytes = size_bytes;
}

void make_upload(struct upload *upload, struct jpeg *out,
		 const struct source *source, const struct pyramid *pyramid,
		 const struct icc_profiles *icc_profiles)
{
	const struct plan *plan = &upload->plan;
	struct job job = { plan, source, pyramid, icc_profiles,
			   .exif = xcalloc(SEGMENT_BYTES_MAX, 1) };
	struct trial best = { 0 };
	bool sideways = plan->orientation == 6 || plan->orientation == 8;
	uint32_t encodings;

	snprintf(job.comment, sizeof(job.comment), "mkset %u", plan->number);
	if (plan->thumbnail)
		make_thumbnail(&job);
	encodings = plan->frame != NULL ? search_noise(&job, &best) :
					  search_pixels(&job, &best);
	if (plan->exact && best.jpeg.size_bytes < plan->target_bytes)
		fill_up_with_comment(&best.jpeg, plan->target_bytes);
	*out = best.jpeg;
	upload->made = (struct made){
		.size_bytes = best.jpeg.size_bytes,
		.width = sideways ? best.height : best.width,
		.height = sideways ? best.width : best.height,
		.quality = best.quality,
		.enlarged = best.width / (plan->part.width * source->width),
		.encodings = encodings,
	};
	jpeg_release(&job.thumbnail);
	free(job.exif);
}
