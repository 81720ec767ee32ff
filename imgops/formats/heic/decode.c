/* SPDX-License-Identifier: MIT */
/*
 * Decoding by libde265 (hevc.h), at full size.  A picture is one item
 * or a grid of items, the cells, which are decoded one after another and copied
 * to planes of the whole, with their range and depth changed.  Planes of JFIF's
 * Y'CbCr and of grey are the result; others are made RGB.
 *
 * Where chroma samples lie is ignored, as browsers do.
 */
#include "imgops/formats/heic/heic.h"

#include "imgops/formats/heic/hevc.h"
#include "imgops/formats/heic/rgb.h"
#include "imgops/image.h"

#include <string.h>

struct job {
	const struct img_header *header;
	const struct heif_own *own;
	struct isobmff_span file;
	struct isobmff_meta meta;
	const struct memory *memory;

	/* The planes of the picture, whose first sample is at left, top. */
	struct image planes;
	uint32_t left, top;
	/* The header's, or what the first cell says. */
	uint32_t matrix;
	bool is_full_range;
	uint32_t depths[3]; /* of the first cell's planes */
	uint8_t levels[3][HEIF_LEVELS_MAX];

	struct img_size cell;
	size_t copied_bytes; /* of all items */
};

/* --- Planes --- */

static uint32_t factor_of(uint32_t plane, uint32_t factor)
{
	return plane == 0 ? 1 : factor;
}

/* `levels` NULL: a byte is as it should be. */
static void put_row(uint8_t *to, const uint8_t *from, uint32_t width,
		    const uint8_t *levels, bool is_wide)
{
	const uint16_t *wide = (const uint16_t *)(const void *)from;

	if (levels == NULL && !is_wide) {
		memcpy(to, from, width);
		return;
	}
	for (uint32_t x = 0; x < width; x++)
		to[x] = levels[is_wide ? wide[x] % HEIF_LEVELS_MAX : from[x]];
}

/*
 * Copy plane number `plane` of a cell to `to`.  The cell's first sample is at
 * x, y of the coded picture, of which `to` has the part from j->left, j->top.
 */
static void put_plane(struct img_plane *to, const struct job *j,
		      const struct de265_image *img, uint32_t plane, uint32_t x,
		      uint32_t y, const uint8_t *levels)
{
	uint32_t h = factor_of(plane, j->own->coding.h_factor);
	uint32_t v = factor_of(plane, j->own->coding.v_factor);
	int stride;
	const uint8_t *from = de265_get_image_plane(img, (int)plane, &stride);
	bool is_wide = de265_get_bits_per_pixel(img, (int)plane) > 8;
	int64_t left = (int64_t)(x / h) - j->left / h;
	int64_t top = (int64_t)(y / v) - j->top / v;
	int64_t right = left + (j->cell.width_px + h - 1) / h;
	int64_t bottom = top + (j->cell.height_px + v - 1) / v;
	int64_t skipped = left < 0 ? -left : 0;

	right = right < to->width ? right : to->width;
	bottom = bottom < to->height ? bottom : to->height;
	if (left + skipped >= right)
		return;
	for (int64_t row = top < 0 ? 0 : top; row < bottom; row++)
		put_row(to->samples + row * (int64_t)to->stride_bytes + left +
				skipped,
			from + (row - top) * stride +
				skipped * (is_wide ? 2 : 1),
			(uint32_t)(right - left - skipped), levels, is_wide);
}

static uint32_t planes_of(const struct de265_image *img)
{
	return de265_get_chroma_format(img) == de265_chroma_mono ? 1 : 3;
}

/* Is the plane not smaller than this? */
static bool is_large(const struct de265_image *img, uint32_t plane,
		     uint32_t width_px, uint32_t height_px)
{
	int width = de265_get_image_width(img, (int)plane);
	int height = de265_get_image_height(img, (int)plane);

	return width >= 0 && height >= 0 && (uint32_t)width >= width_px &&
	       (uint32_t)height >= height_px;
}

/* Is the cell what the header has promised? */
static bool is_promised(const struct job *j, const struct de265_image *img)
{
	static const uint32_t factors[] = { [de265_chroma_mono] = 1 * 4 + 1,
					    [de265_chroma_420] = 2 * 4 + 2,
					    [de265_chroma_422] = 2 * 4 + 1,
					    [de265_chroma_444] = 1 * 4 + 1 };
	const struct heif_coding *c = &j->own->coding;
	enum de265_chroma chroma = de265_get_chroma_format(img);
	bool is_grey = chroma == de265_chroma_mono;

	if (chroma > de265_chroma_444 || is_grey != c->is_grey ||
	    factors[chroma] != c->h_factor * 4 + c->v_factor)
		return false;
	for (uint32_t i = 0; i < planes_of(img); i++) {
		uint32_t h = factor_of(i, c->h_factor);
		uint32_t v = factor_of(i, c->v_factor);
		uint32_t depth =
			(uint32_t)de265_get_bits_per_pixel(img, (int)i);

		if (depth < 8 || depth > c->depth ||
		    !is_large(img, i, (j->cell.width_px + h - 1) / h,
			      (j->cell.height_px + v - 1) / v))
			return false;
	}
	return true;
}

/*
 * Are the planes the result?  They are for grey, and if their matrix is JFIF's,
 * unless a part is shown that begins within a sample of chroma.
 */
static bool are_result(const struct job *j)
{
	const struct heif_coding *c = &j->own->coding;

	if (j->own->alpha != 0)
		return false;
	return c->is_grey ||
	       (heif_is_jfif(j->matrix) && j->own->left % c->h_factor == 0 &&
		j->own->top % c->v_factor == 0);
}

/* With the first cell it is known what planes there will be. */
static enum img_err begin_planes(struct job *j, const struct de265_image *img)
{
	struct img_size size = j->own->coded;

	j->matrix = j->own->matrix;
	j->is_full_range = j->own->is_full_range;
	if (!j->own->has_matrix) {
		j->matrix = (uint32_t)de265_get_image_matrix_coefficients(img);
		j->is_full_range = de265_get_image_full_range_flag(img) != 0;
	}
	for (uint32_t i = 0; i < planes_of(img); i++) {
		j->depths[i] = (uint32_t)de265_get_bits_per_pixel(img, (int)i);
		heif_fill_levels(j->levels[i], j->depths[i], j->is_full_range,
				 i > 0 && j->matrix != H273_MATRIX_IDENTITY);
	}
	if (are_result(j)) {
		size = j->header->stored;
		j->left = j->own->left;
		j->top = j->own->top;
	}
	heic_shape(&j->planes, size, j->header);
	return image_alloc(&j->planes, j->memory) ? IMG_OK : IMG_ERR_NO_MEMORY;
}

static enum img_err put_cell(struct job *j, const struct de265_image *img,
			     uint32_t x, uint32_t y)
{
	enum img_err err = IMG_OK;

	if (!is_promised(j, img))
		return IMG_ERR_CORRUPT;
	if (j->planes.plane_count == 0)
		err = begin_planes(j, img);
	for (uint32_t i = 0; err == IMG_OK && i < planes_of(img); i++) {
		bool is_kept = j->is_full_range && j->depths[i] == 8;

		if ((uint32_t)de265_get_bits_per_pixel(img, (int)i) !=
		    j->depths[i])
			return IMG_ERR_CORRUPT;
		put_plane(&j->planes.planes[i], j, img, i, x, y,
			  is_kept ? NULL : j->levels[i]);
	}
	return err;
}

/* Alpha is the luma of a picture, and uses all of its range. */
static enum img_err put_alpha(struct job *j, const struct de265_image *img,
			      uint32_t x, uint32_t y)
{
	uint32_t depth = (uint32_t)de265_get_bits_per_pixel(img, 0);
	uint8_t levels[HEIF_LEVELS_MAX];

	if (!is_large(img, 0, j->cell.width_px, j->cell.height_px) ||
	    depth < 8 || depth > HEIF_DEPTH_MAX)
		return IMG_ERR_CORRUPT;
	heif_fill_levels(levels, depth, true, false);
	put_plane(&j->planes.planes[j->planes.plane_count - 1], j, img, 0, x, y,
		  depth == 8 ? NULL : levels);
	return IMG_OK;
}

/* --- Items --- */

/*
 * All of an item's data; *copy is to be freed.  Where that keeps the memory
 * until the end, it is no more than the file, for all items together.
 */
static enum img_err read_item(struct isobmff_span *data, uint8_t **copy,
			      struct job *j, uint32_t item)
{
	struct isobmff_extents e, again;
	struct isobmff_span piece;
	size_t bytes = 0;

	if (!isobmff_extents(&e, &j->meta, j->file, item) || e.left == 0)
		return IMG_ERR_CORRUPT;
	again = e;
	while (isobmff_extent(&piece, &e)) {
		*data = piece;
		bytes += piece.left;
		if (bytes > j->file.left) /* pieces that overlap */
			return IMG_ERR_CORRUPT;
	}
	if (e.left > 0)
		return IMG_ERR_CORRUPT;
	if (again.left == 1)
		return IMG_OK;
	j->copied_bytes += bytes;
	if (bytes == 0 || j->copied_bytes > j->file.left)
		return IMG_ERR_CORRUPT;
	*copy = memory_alloc(j->memory, bytes);
	if (*copy == NULL)
		return IMG_ERR_NO_MEMORY;
	*data = (struct isobmff_span){ *copy, bytes, false };
	for (bytes = 0; isobmff_extent(&piece, &again); bytes += piece.left)
		if (piece.left > 0)
			memcpy(*copy + bytes, piece.at, piece.left);
	return IMG_OK;
}

static enum img_err find_config(struct heic_config *c, const struct job *j,
				uint32_t item)
{
	enum { PROPERTIES_MAX = 64 };
	struct isobmff_places places = isobmff_places(&j->meta, item);
	struct isobmff_box box;

	for (uint32_t i = 0; i < PROPERTIES_MAX; i++) {
		if (!isobmff_property(&box, &j->meta, &places))
			break;
		if (box.type == ISOBMFF_NAME('h', 'v', 'c', 'C'))
			return heic_config_read(c, box.data);
	}
	return IMG_ERR_CORRUPT;
}

typedef enum img_err put_fn(struct job *j, const struct de265_image *img,
			    uint32_t x, uint32_t y);

/* Decode an item that is no grid, and put it at x, y. */
static enum img_err decode_item(struct job *j, uint32_t item, put_fn *put,
				uint32_t x, uint32_t y)
{
	struct heic_config config;
	struct isobmff_span data;
	struct hevc hevc = { 0 };
	uint8_t *copy = NULL;
	enum img_err err = find_config(&config, j, item);

	if (err == IMG_OK)
		err = read_item(&data, &copy, j, item);
	if (err == IMG_OK)
		err = hevc_decode(&hevc, &config, data, j->cell);
	if (err == IMG_OK)
		err = put(j, hevc.img, x, y);
	hevc_end(&hevc);
	memory_free(j->memory, copy);
	return err;
}

/* The columns of a grid.  0: its data make no sense. */
static uint32_t read_columns(const struct job *j, struct isobmff_span s)
{
	uint32_t head = (uint32_t)isobmff_number(&s, 2); /* version, flags */
	uint32_t rows = 1 + (uint32_t)isobmff_number(&s, 1);
	uint32_t columns = 1 + (uint32_t)isobmff_number(&s, 1);
	uint32_t bytes = (head & 1) != 0 ? 4 : 2;
	uint64_t width = isobmff_number(&s, bytes);
	uint64_t height = isobmff_number(&s, bytes);

	return !s.is_bad && rows * columns == j->own->cells &&
			       width == j->own->coded.width_px &&
			       height == j->own->coded.height_px &&
			       (uint64_t)columns * j->cell.width_px >= width &&
			       (uint64_t)rows * j->cell.height_px >= height ?
		       columns :
		       0;
}

static enum img_err decode_grid(struct job *j, uint32_t item, put_fn *put)
{
	const uint32_t dimg = ISOBMFF_NAME('d', 'i', 'm', 'g');
	struct isobmff_span data;
	uint8_t *copy = NULL;
	enum img_err err = read_item(&data, &copy, j, item);
	uint32_t columns = err == IMG_OK ? read_columns(j, data) : 0;

	memory_free(j->memory, copy);
	if (err == IMG_OK && columns == 0)
		err = IMG_ERR_CORRUPT;
	for (uint32_t i = 0; err == IMG_OK && i < j->own->cells; i++)
		err = decode_item(j, isobmff_target(&j->meta, dimg, item, i),
				  put, i % columns * j->cell.width_px,
				  i / columns * j->cell.height_px);
	return err;
}

static enum img_err decode_picture(struct job *j, uint32_t item, put_fn *put)
{
	if (isobmff_item_type(&j->meta, item) ==
	    ISOBMFF_NAME('g', 'r', 'i', 'd'))
		return decode_grid(j, item, put);
	return decode_item(j, item, put, 0, 0);
}

/* --- All --- */

static bool is_opaque(const struct img_plane *alpha)
{
	for (uint32_t y = 0; y < alpha->height; y++)
		for (uint32_t x = 0; x < alpha->width; x++)
			if (alpha->samples[y * alpha->stride_bytes + x] != 255)
				return false;
	return true;
}

static enum img_err make_rgb(struct image *dst, const struct job *j)
{
	const struct heif_own *own = j->own;
	const struct image *planes = &j->planes;
	const struct rgb_source source = {
		.planes = planes,
		.h_factor = own->coding.h_factor,
		.v_factor = own->coding.v_factor,
		.left = own->left,
		.top = own->top,
		.matrix = j->matrix,
		.is_grey = own->coding.is_grey,
		.has_alpha = own->alpha != 0,
		.is_multiplied =
			isobmff_targets(&j->meta,
					ISOBMFF_NAME('p', 'r', 'e', 'm'),
					j->meta.primary) > 0,
	};
	bool has_alpha = own->alpha != 0 &&
			 !is_opaque(&planes->planes[planes->plane_count - 1]);

	image_shape(dst, j->header->stored, has_alpha ? IMG_RGBA : IMG_RGB,
		    true);
	if (!image_alloc(dst, j->memory))
		return IMG_ERR_NO_MEMORY;
	return rgb_make(dst, &source) ? IMG_OK : IMG_ERR_UNSUPPORTED;
}

static enum img_err decode(struct image *dst, struct job *j)
{
	enum img_err err = decode_picture(j, j->own->item, put_cell);

	if (err == IMG_OK && j->own->alpha != 0)
		err = decode_picture(j, j->own->alpha, put_alpha);
	if (err == IMG_OK && are_result(j)) {
		*dst = j->planes;
		j->planes = (struct image){ 0 };
	} else if (err == IMG_OK) {
		err = make_rgb(dst, j);
	}
	img_release(&j->planes);
	return err;
}

/* As struct heif_decoder says. */
static enum img_err decode_header(struct image *dst, const uint8_t *bytes,
				  size_t count, const struct img_header *h,
				  const struct memory *memory)
{
	const struct heif_own *own = heif_own(h);
	struct isobmff_span meta = { bytes + own->meta_offset,
				     (size_t)own->meta_bytes, false };
	struct job j = { .header = h,
			 .own = own,
			 .file = { bytes, count, false },
			 .cell = own->cell,
			 .memory = memory };
	enum img_err err = isobmff_meta_read(&j.meta, meta);

	return err == IMG_OK ? decode(dst, &j) : err;
}

enum img_err heic_decode(struct image *dst, const uint8_t *bytes, size_t count,
			 const struct img_header *h,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory)
{
	static const struct heif_decoder decoder = { heic_working_bytes,
						     decode_header };

	(void)view; /* there is only one size */
	return heif_decode(dst, bytes, count, h, &decoder, transform, limits,
			   memory);
}
