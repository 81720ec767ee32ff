/* SPDX-License-Identifier: MIT */
#include "service/pipeline/steps.h"

#include "base/clock.h"
#include "imgops/imgops.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BLOCKS_MAX = 24, /* the most that a variant has in the pool at once */
	SENTENCE_BYTES = 128,
	/*
	 * A decoder in another process is ended after this many times its
	 * estimate, and LOST_NS_MIN.
	 */
	LOST_TIMES = 10,
};

#define LOST_NS_MIN (1000 * NS_PER_MS)

_Static_assert((int)IMG_BORDERS_MAX >= (int)VARIANTS_MAX,
	       "each variant may have its own border");

/*
 * The most blocks of the pool at once.  A gain map has as many once more; with
 * a limit of bytes there are a sample of the picture and another result.
 */
static size_t blocks_max(const struct upload *u)
{
	size_t blocks = 0;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct img_transform *t = &u->variants[i].transform;

		blocks += t->keep_gainmap ? 2 * BLOCKS_MAX : BLOCKS_MAX;
		blocks += t->bytes_max > 0 ? 2 : 0;
		blocks += t->metadata != IMG_METADATA_STRIP ? 3 : 0;
	}
	return blocks;
}

static bool is_to_be_hashed(const struct upload *u, const struct steps *s)
{
	return u->wants.pdq || s->blocks != NULL;
}

/*
 * The decoder gets what needs the largest scale.
 */
static void choose_scale(struct upload *u, const struct img_view *view,
			 const struct img_transform *t, uint32_t *dct_scale_max)
{
	uint32_t dct_scale = img_decode_scale(&u->header, view, t);

	if (dct_scale <= *dct_scale_max)
		return;
	*dct_scale_max = dct_scale;
	u->decoded_view = *view;
	u->decoded_as = *t;
}

/* The hash is that of all of the picture. */
static void fit_hash(struct upload *u, uint32_t *dct_scale_max)
{
	struct img_transform t = u->variants[0].transform;
	struct img_view view;

	t.box = (struct img_size){ IMG_PDQ_SIDE_PX, IMG_PDQ_SIDE_PX };
	t.fit = IMG_FIT_FILL;
	t.dpr = 0;
	t.trim = 0;
	t.crop = (struct img_rect){ 0 };
	t.enlarge = false;
	view = img_fit(&u->header, &t);
	choose_scale(u, &view, &t, dct_scale_max);
}

static uint64_t pixels(const struct variant *v)
{
	return img_pixels(img_result_size(&v->view));
}

/* The view of each variant, and the DCT scale that suits all of them. */
static enum img_err fit_variants(struct upload *u, const struct steps *steps,
				 uint32_t *dct_scale_max)
{
	const struct img_limits *limits = &steps->limits;

	*dct_scale_max = 0;
	u->output_pixels = 0;
	u->smallest = &u->variants[0];
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->upload = u;
		v->closure.event.number = u->number;
		v->closure.event.deadline_ns = u->deadline_ns;
		if (!img_crop_fits(&u->header, &v->transform, NULL))
			return IMG_ERR_OUTSIDE;
		v->view = img_fit(&u->header, &v->transform);
		if (!img_result_fits(&v->view, &v->transform, limits))
			return IMG_ERR_TOO_LARGE;
		u->output_pixels += pixels(v);
		choose_scale(u, &v->view, &v->transform, dct_scale_max);
		if (pixels(v) < pixels(u->smallest))
			u->smallest = v;
	}
	if (is_to_be_hashed(u, steps))
		fit_hash(u, dct_scale_max);
	return IMG_OK;
}

/* After a border was found, the decoded picture may still be good. */
static bool is_decoded(const struct upload *u, uint32_t dct_scale)
{
	return u->decoded.plane_count > 0 && dct_scale <= u->decoded_scale;
}

/*
 * An irregular file is decoded in full, which takes as much as a result of its
 * size, however little of it is asked for and however few bytes it has.
 */
static bool is_too_large_in_full(const struct upload *u,
				 const struct img_limits *limits)
{
	return u->header.is_irregular &&
	       img_pixels(u->header.stored) > img_result_pixels_max(limits);
}

/*
 * Continue the analysis of the file where the last call stopped.  A format
 * whose program is missing is not known.
 */
static enum img_err analyse(struct upload *u, const struct steps *steps)
{
	enum img_err err;

	assert(u->jpeg_bytes >= u->header.bytes);
	err = img_probe_more(&u->header, u->jpeg, u->jpeg_bytes,
			     &steps->limits);
	if (u->header.format != NULL &&
	    !decoders_take(steps->decoders, u->header.format)) {
		u->header = (struct img_header){ 0 };
		return IMG_ERR_UNKNOWN_FORMAT;
	}
	if (err == IMG_OK || err == IMG_ERR_TOO_LARGE)
		u->stored = u->header.stored;
	return err;
}

static void set_step(struct variant *v, enum pipeline_step step, uint64_t ns,
		     uint32_t way)
{
	v->nominal_ns[step] = v->estimated_ns[step] = ns;
	v->ways[step] = way;
}

enum img_err steps_estimate(struct upload *u, const struct steps *steps)
{
	const struct img_limits *limits = &steps->limits;
	struct img_cost_part parts[VARIANTS_MAX];
	struct img_cost cost;
	uint64_t left_ns;
	uint32_t dct_scale;
	bool is_to_decode; /* decode is still to run */
	enum img_err err = analyse(u, steps);

	if (err != IMG_OK || u->variant_count == 0)
		return err;
	if (is_too_large_in_full(u, limits))
		return IMG_ERR_TOO_LARGE;
	err = fit_variants(u, steps, &dct_scale);
	if (err != IMG_OK)
		return err;
	for (uint32_t i = 0; i < u->variant_count; i++)
		parts[i] = (struct img_cost_part){
			.view = &u->variants[i].view,
			.transform = &u->variants[i].transform,
			.watermark = watermarks_of(steps->watermarks,
						   &u->variants[i].transform),
		};
	is_to_decode = !is_decoded(u, dct_scale);
	cost = img_cost_parts(&u->header,
			      is_to_decode ? dct_scale : u->decoded_scale,
			      parts, u->variant_count);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		set_step(v, PIPELINE_SCALE, parts[i].scale_ns,
			 parts[i].scale_way);
		set_step(v, PIPELINE_BLUR, parts[i].blur_ns, parts[i].blur_way);
		set_step(v, PIPELINE_ENCODE, parts[i].encode_ns,
			 parts[i].encode_way);
	}
	left_ns = is_to_decode ? cost.cpu_ns : cost.cpu_ns - cost.decode_ns;
	set_step(&u->variants[0], PIPELINE_DECODE,
		 is_to_decode ? cost.decode_ns : 0, cost.decode_way);
	u->estimated_ns = cost.cpu_ns;
	atomic_store(&u->left_ns, left_ns);
	if (is_to_be_hashed(u, steps))
		cost.bytes += img_pdq_bytes_max(&u->header);
	u->estimated_bytes = memory_pool_charges_max(cost.bytes, blocks_max(u));
	if (decoders_find(steps->decoders, u->header.format) != NULL)
		u->estimated_bytes +=
			decoder_extra_bytes(u->jpeg_bytes, cost.bytes);
	return IMG_OK;
}

/* Leaves `text` and `e` as they are if the picture is within the limit. */
static void explain_size(char *text, size_t bytes, struct excess *e,
			 const char *what, struct img_size size,
			 const char *flag, uint64_t pixels_max,
			 const char *after)
{
	char before[SENTENCE_BYTES], between[SENTENCE_BYTES];

	if (img_pixels(size) <= pixels_max)
		return;
	*e = (struct excess){ (double)img_pixels(size), (double)pixels_max,
			      "pixels" };
	(void)snprintf(before, sizeof(before),
		       "%s has %" PRIu32 " x %" PRIu32 " pixels, ", what,
		       size.width_px, size.height_px);
	(void)snprintf(between, sizeof(between), "; %s allows ", flag);
	excess_explain(text, bytes, e, before, between, after);
}

/* As explain_size(), about a side; `flag` has set the limit. */
static void explain_side(char *text, size_t bytes, struct excess *e,
			 const char *what, struct img_size size,
			 const char *flag, uint32_t side_px_max)
{
	uint32_t side_px =
		size.width_px > size.height_px ? size.width_px : size.height_px;

	if (side_px <= side_px_max)
		return;
	*e = (struct excess){ side_px, side_px_max, "pixels per side" };
	(void)snprintf(text, bytes,
		       "%s has %" PRIu32 " x %" PRIu32
		       " pixels; %s allows %" PRIu32 ".",
		       what, size.width_px, size.height_px, flag, side_px_max);
}

static void explain_decoder(char *text, size_t bytes, struct excess *e,
			    struct img_size size, uint64_t bytes_max)
{
	*e = (struct excess){ NAN, (double)bytes_max, "bytes" };
	(void)snprintf(text, bytes,
		       "Decoding this picture of %" PRIu32 " x %" PRIu32
		       " pixels takes more memory than --max-decode-memory "
		       "allows, %" PRIu64 " MiB.",
		       size.width_px, size.height_px, bytes_max >> 20);
}

static void explain_scans(char *text, size_t bytes, struct excess *e,
			  const struct img_header *h, uint32_t scans_max)
{
	*e = (struct excess){ NAN, scans_max, "scans" };
	(void)snprintf(text, bytes,
		       "The %s of %" PRIu32 " x %" PRIu32
		       " pixels has more scans than --max-scans allows for "
		       "its size, %" PRIu32 ".",
		       h->format->name, h->stored.width_px, h->stored.height_px,
		       scans_max);
}

static void explain_crop(char *text, size_t bytes, const struct upload *u)
{
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct img_transform *t = &u->variants[i].transform;
		struct img_size size;

		if (img_crop_fits(&u->header, t, &size))
			continue;
		(void)snprintf(text, bytes,
			       "The crop begins at %" PRIu32 ",%" PRIu32
			       "; the picture has %" PRIu32 " x %" PRIu32
			       " pixels.",
			       t->crop.left_px, t->crop.top_px, size.width_px,
			       size.height_px);
		return;
	}
}

static void explain_bytes(char *text, size_t bytes, struct excess *e,
			  const struct upload *u)
{
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		if (v->least_bytes == 0)
			continue;
		*e = (struct excess){ (double)v->least_bytes,
				      v->transform.bytes_max, "bytes" };
		(void)snprintf(text, bytes,
			       "The smallest result has %zu bytes, and "
			       "max_bytes is %" PRIu32
			       "; ask for fewer pixels, or another format.",
			       v->least_bytes, v->transform.bytes_max);
		return;
	}
}

void steps_explain(const struct upload *u, const struct img_limits *limits,
		   char *text, size_t bytes, struct excess *excess)
{
	struct img_size size = u->stored;
	struct excess e = { .unit = NULL };

	if (u->err == IMG_ERR_OUTSIDE) {
		explain_crop(text, bytes, u);
		return;
	}
	if (u->err == IMG_ERR_TOO_MANY_BYTES) {
		explain_bytes(text, bytes, excess, u);
		return;
	}
	if (u->err == IMG_ERR_TOO_MANY_SCANS) {
		explain_scans(text, bytes, excess, &u->header,
			      img_scans_max(u->header.stored, limits));
		return;
	}
	explain_side(text, bytes, &e, "The picture", size, "--max-side",
		     limits->side_px_max);
	if (e.unit == NULL)
		explain_size(text, bytes, &e, "The picture", size,
			     "--max-megapixels", limits->pixels_max, ".");
	if (e.unit == NULL && is_too_large_in_full(u, limits))
		explain_size(text, bytes, &e,
			     "The file is damaged or unusual, and can only be "
			     "decoded in full; it",
			     size, "--max-result-megapixels",
			     img_result_pixels_max(limits), ".");
	for (uint32_t i = 0; i < u->variant_count && e.unit == NULL; i++) {
		const struct variant *v = &u->variants[i];
		const struct img_format *f = img_formats[v->transform.format];
		struct img_size result = img_result_size(&v->view);

		explain_side(
			text, bytes, &e, "A result asked for", result, f->name,
			f->side_px_max > 0 ? f->side_px_max : IMG_SIDE_PX_MAX);
		if (e.unit != NULL)
			break;
		explain_size(text, bytes, &e, "A result asked for", result,
			     "--max-result-megapixels",
			     img_result_pixels_max(limits),
			     ". Ask for a smaller one with w or h.");
	}
	if (e.unit == NULL)
		explain_decoder(text, bytes, &e, size,
				limits->decode_bytes_max);
	*excess = e;
}

/* Before the file is freed. */
static enum img_err read_metadata(struct upload *u, const struct memory *memory)
{
	bool is_wanted = false;

	for (uint32_t i = 0; i < u->variant_count; i++)
		is_wanted |=
			u->variants[i].transform.metadata != IMG_METADATA_STRIP;
	return is_wanted ?
		       img_metadata_read(&u->metadata, u->jpeg, u->jpeg_bytes,
					 &u->header, memory) :
		       IMG_OK;
}

static enum img_err decode(struct upload *u, const struct steps *steps,
			   const struct memory *memory)
{
	struct img_transform transform = u->decoded_as;
	struct decoder *decoder =
		decoders_find(steps->decoders, u->header.format);
	/* What was learned from other files may be too little for this one. */
	uint64_t expected_ns =
		max_u64(u->variants[0].estimated_ns[PIPELINE_DECODE],
			u->variants[0].nominal_ns[PIPELINE_DECODE]);
	struct decoder_time time = {
		.cpu_ns_max = LOST_NS_MIN + LOST_TIMES * expected_ns,
		.end_ns = atomic_load(&u->is_accepted) ? 0 : u->deadline_ns,
	};
	enum img_err err;

	for (uint32_t i = 0; i < u->variant_count; i++)
		transform.keep_gainmap |= u->variants[i].transform.keep_gainmap;
	if (decoder == NULL)
		return img_decode_rest(&u->decoded, u->early.decoding, u->jpeg,
				       u->jpeg_bytes, &u->header,
				       &u->decoded_view, &transform,
				       &steps->limits, memory);
	err = decoder_decode(decoder, &u->decoded, u->jpeg, u->jpeg_bytes,
			     &u->header, &u->decoded_view, &transform,
			     &steps->limits, &time, memory);
	u->decoder_cpu_ns = time.cpu_ns;
	return err;
}

/* The borders that variants leave out.  BORDER: at least one is news. */
static enum img_err find_borders(struct upload *u, const struct memory *memory)
{
	enum img_err all = IMG_OK;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		enum img_err err =
			img_find_border(&u->header, &u->decoded,
					&u->variants[i].transform, memory);

		if (err != IMG_OK && err != IMG_ERR_BORDER)
			return err;
		all = err == IMG_OK ? all : err;
	}
	return all;
}

/*
 * After BORDER this runs again: with the new views, and if these need a larger
 * scale, with another decoded picture.
 */
static enum img_err run_decode(struct upload *u, const struct steps *steps,
			       const struct memory *memory)
{
	uint32_t dct_scale =
		img_decode_scale(&u->header, &u->decoded_view, &u->decoded_as);
	enum img_err err = IMG_OK;

	if (!is_decoded(u, dct_scale)) {
		img_release(&u->decoded);
		err = decode(u, steps, memory);
		u->decoded_scale = dct_scale;
	}
	if (err == IMG_OK)
		err = find_borders(u, memory);
	if (err == IMG_OK && is_to_be_hashed(u, steps)) {
		err = img_pdq(&u->pdq, &u->decoded, &u->header, memory);
		u->is_hashed = err == IMG_OK;
	}
	return err == IMG_OK ? read_metadata(u, memory) : err;
}

/*
 * The last variant to be scaled releases the decoded planes, or takes them if
 * all others have ended.
 */
static enum img_err run_scale(struct variant *v, const struct memory *memory)
{
	struct upload *u = v->upload;
	enum img_err err;

	if (atomic_load(&u->unscaled_count) == 1)
		err = img_scale_last(&v->image, &u->decoded, &v->view,
				     &v->transform, memory);
	else
		err = img_scale(&v->image, &u->decoded, &v->view, &v->transform,
				memory);
	if (err != IMG_OK)
		return err;
	if (u->wants.placeholder && v == u->smallest)
		img_placeholder(&u->placeholder, &v->image);
	if (atomic_fetch_sub(&u->unscaled_count, 1) == 1)
		img_release(&u->decoded);
	return IMG_OK;
}

static enum img_err run_retouch(struct variant *v, const struct steps *steps,
				const struct memory *memory)
{
	return img_retouch(&v->image, &v->view, &v->transform,
			   watermarks_of(steps->watermarks, &v->transform),
			   memory);
}

static enum img_err run_encode(struct variant *v, const struct memory *memory)
{
	const struct upload *u = v->upload;
	struct img_metadata metadata;
	enum img_err err;

	err = img_metadata_make(&metadata, &u->metadata, &u->header, &v->view,
				&v->transform, &v->image, memory);
	if (err != IMG_OK)
		return err;
	v->image.notes |= metadata.notes;
	if (metadata.exif.count + metadata.xmp.count + metadata.iptc.count > 0)
		v->image.metadata = &metadata;
	err = img_encode(&v->jpeg, &v->jpeg_bytes, &v->image, &v->transform,
			 memory);
	if (err == IMG_ERR_TOO_MANY_BYTES)
		v->least_bytes = v->jpeg_bytes;
	v->image.metadata = NULL;
	img_metadata_release(&metadata);
	return err;
}

enum img_err steps_run(enum pipeline_step step, struct variant *v,
		       const struct steps *steps, const struct memory *memory)
{
	switch (step) {
	case PIPELINE_DECODE:
		return run_decode(v->upload, steps, memory);
	case PIPELINE_SCALE:
		return run_scale(v, memory);
	case PIPELINE_BLUR:
		return run_retouch(v, steps, memory);
	case PIPELINE_ENCODE:
		return run_encode(v, memory);
	case PIPELINE_STATISTICS:
		return IMG_OK; /* pipeline.c counts, after the last step */
	case PIPELINE_PARSE:
	case PIPELINE_STEPS:
		break;
	}
	abort();
}
