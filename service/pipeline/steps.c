/* SPDX-License-Identifier: MIT */
#include "service/pipeline/steps.h"

#include "imgops/cost.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
	/*
	 * What blocks of the pool take more than is asked for: a quarter, and
	 * somewhat more than a page each, of which a picture has less than 24.
	 */
	ROUNDING_PART = 4,
	ROUNDING_BYTES = 128 << 10,
};

static uint64_t pixels(const struct variant *v)
{
	return img_pixels(v->view.size);
}

/* How each variant shows the picture, and at how many eighths to decode it. */
static enum img_err fit(struct upload *u, const struct img_limits *limits,
			uint32_t *eighths_most)
{
	*eighths_most = 0;
	u->smallest = &u->variants[0];
	for (uint32_t i = 0; i < u->variant_count; i++) {
		struct variant *v = &u->variants[i];

		v->upload = u;
		v->event.number = u->number;
		v->view = img_fit(&u->header, &v->recipe);
		if (pixels(v) > limits->pixels_max)
			return IMG_ERR_TOO_LARGE;

		uint32_t eighths =
			img_eighths(&u->header, &v->view, &v->recipe);

		if (eighths > *eighths_most) {
			*eighths_most = eighths;
			u->decoded_for = v;
		}
		if (pixels(v) < pixels(u->smallest))
			u->smallest = v;
	}
	return IMG_OK;
}

enum img_err steps_foretell(struct upload *u, const struct img_limits *limits)
{
	struct img_cost_part parts[VARIANTS_MAX];
	struct img_cost cost;
	uint32_t eighths;
	enum img_err err =
		img_probe(&u->header, u->jpeg, u->jpeg_bytes, limits);

	if (err == IMG_OK)
		err = fit(u, limits, &eighths);
	if (err != IMG_OK)
		return err;
	for (uint32_t i = 0; i < u->variant_count; i++)
		parts[i] = (struct img_cost_part){
			.view = &u->variants[i].view,
			.recipe = &u->variants[i].recipe,
		};
	cost = img_cost_parts(&u->header, u->jpeg, u->jpeg_bytes, eighths,
			      parts, u->variant_count);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		uint64_t *foretold_ns = u->variants[i].foretold_ns;

		foretold_ns[PIPELINE_SCALE] = parts[i].scale_ns;
		foretold_ns[PIPELINE_BLUR] = parts[i].blur_ns;
		foretold_ns[PIPELINE_ENCODE] = parts[i].encode_ns;
	}
	u->variants[0].foretold_ns[PIPELINE_DECODE] = cost.decode_ns;
	u->variants[0].event.left_ns = cost.cpu_ns;
	u->foretold_ns = cost.cpu_ns;
	atomic_store(&u->left_ns, cost.cpu_ns);
	u->foretold_bytes = cost.bytes + cost.bytes / ROUNDING_PART +
			    (uint64_t)ROUNDING_BYTES * u->variant_count;
	return IMG_OK;
}

static enum img_err decode(struct upload *u, const struct img_limits *limits,
			   const struct img_memory *memory)
{
	return img_decode(&u->decoded, u->jpeg, u->jpeg_bytes, &u->header,
			  &u->decoded_for->view, &u->decoded_for->recipe,
			  limits, memory);
}

/* Who scales last releases what was decoded. */
static enum img_err scale(struct variant *v, const struct img_memory *memory)
{
	struct upload *u = v->upload;
	enum img_err err =
		img_scale(&v->image, &u->decoded, &v->view, &v->recipe, memory);

	if (err != IMG_OK)
		return err;
	if (u->wants_placeholder && v == u->smallest)
		img_placeholder(&u->placeholder, &v->image);
	if (atomic_fetch_sub(&u->unscaled_count, 1) == 1)
		img_release(&u->decoded);
	return IMG_OK;
}

static enum img_err blur(struct variant *v, const struct img_memory *memory)
{
	struct image blurred = { 0 };

	if (v->recipe.blur_sigma_px <= 0)
		return IMG_OK;

	enum img_err err =
		img_blur(&blurred, &v->image, v->recipe.blur_sigma_px, memory);

	if (err != IMG_OK)
		return err;
	img_release(&v->image);
	v->image = blurred;
	return IMG_OK;
}

static enum img_err encode(struct variant *v, const struct img_memory *memory)
{
	return img_encode(&v->jpeg, &v->jpeg_bytes, &v->image, &v->recipe,
			  memory);
}

enum img_err steps_take(enum pipeline_step step, struct variant *v,
			const struct img_limits *limits,
			const struct img_memory *memory)
{
	switch (step) {
	case PIPELINE_DECODE:
		return decode(v->upload, limits, memory);
	case PIPELINE_SCALE:
		return scale(v, memory);
	case PIPELINE_BLUR:
		return blur(v, memory);
	case PIPELINE_ENCODE:
		return encode(v, memory);
	case PIPELINE_STEPS:
		break;
	}
	abort();
}
