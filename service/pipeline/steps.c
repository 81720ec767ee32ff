/* SPDX-License-Identifier: MIT */
#include "service/pipeline/steps.h"

#include "imgops/imgops.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS_MAX = 24 }; /* the most that a variant has in the pool at once */

static uint64_t pixels(const struct variant *v)
{
	return img_pixels(v->view.size);
}

/* The view of each variant, and the DCT scale that suits all of them. */
static enum img_err fit_variants(struct upload *u,
				 const struct img_limits *limits,
				 uint32_t *dct_scale_max)
{
	*dct_scale_max = 0;
	u->output_pixels = 0;
	u->smallest = &u->variants[0];
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->upload = u;
		v->event.number = u->number;
		v->event.deadline_ns = u->deadline_ns;
		v->view = img_fit(&u->header, &v->transform);
		if (pixels(v) > img_result_pixels_max(limits))
			return IMG_ERR_TOO_LARGE;
		u->output_pixels += pixels(v);

		uint32_t dct_scale =
			img_dct_scale(&u->header, &v->view, &v->transform);

		if (dct_scale > *dct_scale_max) {
			*dct_scale_max = dct_scale;
			u->decoded_for = v;
		}
		if (pixels(v) < pixels(u->smallest))
			u->smallest = v;
	}
	return IMG_OK;
}

/* Continue the analysis of the file where the last call stopped. */
static enum img_err analyse(struct upload *u, const struct img_limits *limits)
{
	enum img_err err;

	assert(u->jpeg_bytes >= u->header.bytes);
	err = img_probe_more(&u->header, u->jpeg, u->jpeg_bytes, limits);
	if (err == IMG_OK || err == IMG_ERR_TOO_LARGE)
		u->stored = u->header.stored;
	return err;
}

enum img_err steps_estimate(struct upload *u, const struct img_limits *limits)
{
	struct img_cost_part parts[VARIANTS_MAX];
	struct img_cost cost;
	uint32_t dct_scale;
	enum img_err err = analyse(u, limits);

	if (err != IMG_OK || u->variant_count == 0)
		return err;
	err = fit_variants(u, limits, &dct_scale);
	if (err != IMG_OK)
		return err;
	for (uint32_t i = 0; i < u->variant_count; i++)
		parts[i] = (struct img_cost_part){
			.view = &u->variants[i].view,
			.transform = &u->variants[i].transform,
		};
	cost = img_cost_parts(&u->header, dct_scale, parts, u->variant_count);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		uint64_t *estimated_ns = u->variants[i].estimated_ns;

		estimated_ns[PIPELINE_SCALE] = parts[i].scale_ns;
		estimated_ns[PIPELINE_BLUR] = parts[i].blur_ns;
		estimated_ns[PIPELINE_ENCODE] = parts[i].encode_ns;
	}
	u->variants[0].estimated_ns[PIPELINE_DECODE] = cost.decode_ns;
	u->estimated_ns = cost.cpu_ns;
	atomic_store(&u->left_ns, cost.cpu_ns);
	u->estimated_bytes = memory_pool_charges_max(
		cost.bytes, (size_t)BLOCKS_MAX * u->variant_count);
	return IMG_OK;
}

static double megapixels(uint64_t pixels)
{
	return (double)pixels / 1e6;
}

/* Leaves `text` as it is if the picture is within the limit. */
static void explain_size(char *text, size_t bytes, const char *what,
			 struct img_size size, const char *flag,
			 uint64_t pixels_max)
{
	if (img_pixels(size) > pixels_max)
		(void)snprintf(text, bytes,
			       "%s has %" PRIu32 " x %" PRIu32
			       " pixels, %.10g megapixels; %s allows %.10g.",
			       what, size.width_px, size.height_px,
			       megapixels(img_pixels(size)), flag,
			       megapixels(pixels_max));
}

void steps_explain_too_large(const struct upload *u,
			     const struct img_limits *limits, char *text,
			     size_t bytes)
{
	struct img_size size = u->stored;

	text[0] = '\0';
	if (size.width_px > limits->side_px_max ||
	    size.height_px > limits->side_px_max)
		(void)snprintf(text, bytes,
			       "The picture has %" PRIu32 " x %" PRIu32
			       " pixels; --max-side allows %" PRIu32 ".",
			       size.width_px, size.height_px,
			       limits->side_px_max);
	if (text[0] == '\0')
		explain_size(text, bytes, "The picture", size,
			     "--max-megapixels", limits->pixels_max);
	for (uint32_t i = 0; i < u->variant_count && text[0] == '\0'; i++)
		explain_size(text, bytes, "A result asked for",
			     u->variants[i].view.size,
			     "--max-result-megapixels",
			     img_result_pixels_max(limits));
	if (text[0] == '\0')
		(void)snprintf(text, bytes,
			       "Decoding this picture of %" PRIu32 " x %" PRIu32
			       " pixels takes more memory than "
			       "--max-decode-memory allows, %" PRIu64 " MiB.",
			       size.width_px, size.height_px,
			       limits->decode_bytes_max >> 20);
}

static enum img_err run_decode(struct upload *u,
			       const struct img_limits *limits,
			       const struct memory *memory)
{
	return img_decode(&u->decoded, u->jpeg, u->jpeg_bytes, &u->header,
			  &u->decoded_for->view, &u->decoded_for->transform,
			  limits, memory);
}

/* The last variant to be scaled releases the decoded planes. */
static enum img_err run_scale(struct variant *v, const struct memory *memory)
{
	struct upload *u = v->upload;
	enum img_err err = img_scale(&v->image, &u->decoded, &v->view,
				     &v->transform, memory);

	if (err != IMG_OK)
		return err;
	if (u->wants.placeholder && v == u->smallest)
		img_placeholder(&u->placeholder, &v->image);
	if (atomic_fetch_sub(&u->unscaled_count, 1) == 1)
		img_release(&u->decoded);
	return IMG_OK;
}

static enum img_err run_blur(struct variant *v, const struct memory *memory)
{
	struct image blurred = { 0 };
	enum img_err err = img_blur(&blurred, &v->image,
				    v->transform.blur_sigma_px, memory);

	if (err != IMG_OK)
		return err;
	img_release(&v->image);
	v->image = blurred;
	return IMG_OK;
}

static enum img_err run_encode(struct variant *v, const struct memory *memory)
{
	return img_encode(&v->jpeg, &v->jpeg_bytes, &v->image, &v->transform,
			  memory);
}

enum img_err steps_run(enum pipeline_step step, struct variant *v,
		       const struct img_limits *limits,
		       const struct memory *memory)
{
	switch (step) {
	case PIPELINE_DECODE:
		return run_decode(v->upload, limits, memory);
	case PIPELINE_SCALE:
		return run_scale(v, memory);
	case PIPELINE_BLUR:
		return run_blur(v, memory);
	case PIPELINE_ENCODE:
		return run_encode(v, memory);
	case PIPELINE_STEPS:
		break;
	}
	abort();
}
