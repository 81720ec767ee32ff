/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the gain map that is attached to an image.
 *
 * Each step makes its own image first, and then calls a function below, which
 * does the same to the map.  Which bytes of a file are its map, and what they
 * mean, is a matter of the format: formats/gain.h.
 *
 * A map is a picture of its own, usually smaller than its base, and samples of
 * both are where the same fractions of their sides are.  So one view serves for
 * both, except for its size.
 */
#ifndef IMGOPS_GAINMAP_H
#define IMGOPS_GAINMAP_H

#include "imgops/imgops.h"

/* True: each number is one that a map can have. */
bool gain_is_valid(const struct img_gain *gain);

/*
 * Does a map of samples in `space` brighten all channels alike?  Then grey
 * stays grey.
 */
bool gain_is_single(const struct img_gain *gain, enum img_space space);

/*
 * Is a map of samples in `space` to be applied in the colours of its base?  The
 * gain of a map of one channel multiplies light, and its offsets are white.
 * Both mean the same in all primaries of one white.
 */
bool gain_has_base_colours(const struct img_gain *gain, enum img_space space);

/* Attach an empty map to `img`.  NULL: no memory. */
MUST_CHECK struct img_gainmap *gainmap_attach(struct image *img,
					      const struct memory *memory);

void gainmap_free(struct img_gainmap *map, const struct memory *memory);

/* Note that the map of `img` is left out, and detach what is attached. */
void gainmap_leave_out(struct image *img);

/* Attach a copy of `from`, which may be as strange as for img_copy(). */
MUST_CHECK enum img_err gainmap_copy(struct image *dst,
				     const struct img_gainmap *from,
				     const struct memory *memory);

/*
 * The scale at which the map of a file is decoded, if its base is decoded at
 * `scale`.  Whatever the results are, it is enough for them.
 */
uint32_t gainmap_decode_scale(const struct img_header *map,
			      const struct img_header *base, uint32_t scale);

/* How the map is treated in a result of `view` and `transform`. */
struct gainmap_result {
	struct img_view view;
	struct img_transform transform; /* blur_sigma_px 0: is not blurred */
};

/* Of `decoded` only the shape of the planes is read. */
void gainmap_result(struct gainmap_result *r, const struct image *decoded,
		    struct img_size stored, struct img_size base_stored,
		    const struct img_view *view,
		    const struct img_transform *transform);

/*
 * Attach to `dst` the map of `src`, scaled.  `is_converted`: the base is no
 * longer in the colours of src->profile.  A map whose profile is bad is left
 * out, with a note.
 */
MUST_CHECK enum img_err gainmap_scale(struct image *dst,
				      const struct image *src,
				      const struct img_view *view,
				      const struct img_transform *transform,
				      bool is_converted,
				      const struct memory *memory);

/* Attach to `dst` the map of `src`, blurred as img_blur() blurs `src`. */
MUST_CHECK enum img_err gainmap_blur(struct image *dst, const struct image *src,
				     double sigma_px,
				     const struct memory *memory);

/* How the map of a picture is encoded; `transform` is the picture's. */
struct img_transform gainmap_coding(const struct img_transform *transform);

#endif
