/* SPDX-License-Identifier: MIT */
/*
 * What is done with the scaled picture before it is encoded.
 */
#include "imgops/imgops.h"

#include "imgops/pad.h"
#include "imgops/watermark.h"

bool img_is_retouched(const struct img_view *view,
		      const struct img_transform *transform)
{
	return transform->blur_sigma_px > 0 ||
	       transform->sharpen_sigma_px > 0 ||
	       pad_is_needed(view, transform) || transform->watermark > 0;
}

static enum img_err blur(struct image *img, double sigma_px,
			 const struct memory *memory)
{
	struct image blurred = { 0 };
	enum img_err err = img_blur(&blurred, img, sigma_px, memory);

	if (err != IMG_OK)
		return err;
	img_release(img);
	*img = blurred;
	return IMG_OK;
}

enum img_err img_retouch(struct image *img, const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_watermark *watermark,
			 const struct memory *memory)
{
	enum img_err err = IMG_OK;

	if (transform->blur_sigma_px > 0)
		err = blur(img, transform->blur_sigma_px, memory);
	if (err == IMG_OK && transform->sharpen_sigma_px > 0)
		err = img_sharpen(img, transform->sharpen_sigma_px, memory);
	if (err == IMG_OK && pad_is_needed(view, transform))
		err = pad_image(img, view, transform, memory);
	if (err == IMG_OK && watermark != NULL)
		err = watermark_draw(img, watermark, transform, memory);
	return err;
}
