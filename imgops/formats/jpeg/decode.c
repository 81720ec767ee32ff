/* SPDX-License-Identifier: MIT */
/*
 * Decode: bytes to planes of n/8 of their size, n = 1 .. 4 or 8.
 *
 *	one scan                  sequential.c
 *	progressive               progressive.c, from the scans that are needed
 *	n <= 4, several scans     libjpeg's coefficients, reduced by edge.c
 *	n = 8, several scans      libjpeg's raw planes
 *
 * If sequential.c or progressive.c cannot read a file, img_decode() returns
 * IMG_ERR_IRREGULAR, because libjpeg takes much longer and needs more memory:
 * at n = 8 for one scan, by its coefficients for several.  Only one scan at n =
 * 8 is then read by libjpeg at once.
 *
 * A block that the frame cuts needs coefficients of all scans (edge.h).  If
 * progressive.c has not read all, for n <= 2, and hidden samples may show,
 * img_decode() returns IMG_ERR_NEEDS_ALL_SCANS, and all are read the next time.
 *
 * If the file may have texture that is too fine for n (texture.h), that is
 * found out on the way, and img_decode() returns IMG_ERR_TEXTURE.
 *
 * For n from 5 to 7, libjpeg's inverse DCT has no vector code and costs more
 * than for 8.
 */
#include "imgops/formats/format.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/gain.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/entropy.h"
#include "imgops/formats/jpeg/path.h"
#include "imgops/formats/jpeg/reader.h"
#include "imgops/formats/jpeg/scans.h"
#include "imgops/formats/jpeg/texture.h"

#include <assert.h>
#include <math.h>

/* A scan that is decoded while it arrives. */
struct early {
	struct img_early base;
	struct reduction how; /* `scan` is for this */
	struct image image;
	struct sequential *scan;
	size_t scan_offset;
	const struct memory *memory;
	enum img_err err;
};

struct decoder {
	struct reader reader;
	struct image *dst;
	struct path path;
	bool watches_texture, keeps_light;
	struct early *early; /* NULL: all of the file has come */
};

static struct reduction reduction_of(const struct decoder *d)
{
	return (struct reduction){
		.n = d->path.dct_scale,
		.watches_texture = d->watches_texture,
		.keeps_light = d->keeps_light,
	};
}

/* False: the file is in a colour space that has no name here. */
static bool find_space(enum img_space *space, J_COLOR_SPACE from)
{
	switch (from) {
	case JCS_GRAYSCALE:
		*space = IMG_GREY;
		return true;
	case JCS_YCbCr:
		*space = IMG_YCBCR;
		return true;
	case JCS_RGB:
		*space = IMG_RGB;
		return true;
	case JCS_CMYK:
		*space = IMG_CMYK;
		return true;
	case JCS_YCCK:
		*space = IMG_YCCK;
		return true;
	default:
		return false;
	}
}

static void shape_planes(struct decoder *d, uint32_t n)
{
	struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	struct img_size size = { jpeg->image_width, jpeg->image_height };

	*d->dst = (struct image){
		.plane_count = (uint32_t)jpeg->num_components,
	};
	if (!find_space(&d->dst->space, jpeg->jpeg_color_space))
		reader_fail(&d->reader, IMG_ERR_UNSUPPORTED);
	assert(jpeg->num_components <= IMG_PLANES_MAX);
	for (uint32_t i = 0; i < d->dst->plane_count; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];

		d->dst->planes[i] =
			image_plane_shape(size, n, (uint32_t)c->h_samp_factor,
					  (uint32_t)jpeg->max_h_samp_factor,
					  (uint32_t)c->v_samp_factor,
					  (uint32_t)jpeg->max_v_samp_factor);
	}
}

/* Point `rows` at the samples of one component in row of MCUs `group`. */
static void point_output_rows(JSAMPROW *rows, const struct img_plane *p,
			      const jpeg_component_info *c, uint32_t group)
{
	uint32_t count = (uint32_t)(c->v_samp_factor * DCTSIZE);

	assert(count <= IMAGE_ROW_GROUP_MAX);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = p->samples +
			  ((size_t)group * count + i) * p->stride_bytes;
}

/* Read all rows at 8/8, after jpeg_start_decompress() for raw data. */
static void read_planes(struct image *img, struct jpeg_decompress_struct *jpeg)
{
	JSAMPROW rows[IMG_PLANES_MAX][IMAGE_ROW_GROUP_MAX];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2],
					      rows[3] };
	JDIMENSION lines = (JDIMENSION)(jpeg->max_v_samp_factor * DCTSIZE);

	for (uint32_t group = 0; jpeg->output_scanline < jpeg->output_height;
	     group++) {
		for (uint32_t i = 0; i < img->plane_count; i++)
			point_output_rows(rows[i], &img->planes[i],
					  &jpeg->comp_info[i], group);
		(void)jpeg_read_raw_data(jpeg, planes, lines);
	}
}

static void check_limits(struct decoder *d)
{
	const struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	const struct img_limits *limits = d->reader.limits;
	if (jpeg->image_width > limits->side_px_max ||
	    jpeg->image_height > limits->side_px_max ||
	    (uint64_t)jpeg->image_width * jpeg->image_height >
		    limits->pixels_max)
		reader_fail(&d->reader, IMG_ERR_TOO_LARGE);
}

/*
 * libjpeg keeps all coefficients of a file with several scans, in whole MCUs.
 */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *jpeg)
{
	uint64_t blocks = 0;

	if (!jpeg_has_multiple_scans(jpeg))
		return 0;
	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];

		blocks +=
			round_up_blocks(c->width_in_blocks, c->h_samp_factor) *
			round_up_blocks(c->height_in_blocks, c->v_samp_factor);
	}
	return blocks * sizeof(JBLOCK);
}

static void make_planes(struct decoder *d)
{
	struct reader *r = &d->reader;
	uint64_t limit = r->limits->decode_bytes_max, planes;

	shape_planes(d, d->path.dct_scale);
	planes = image_bytes(d->dst);
	if (planes > limit || coefficient_bytes(&r->jpeg) > limit - planes)
		reader_fail(r, IMG_ERR_TOO_LARGE);
	r->jpeg_memory.account.bytes_max = limit - planes;
	if (!image_alloc(d->dst, r->memory))
		reader_fail(r, IMG_ERR_NO_MEMORY);
}

static void read_ours(struct decoder *d)
{
	struct reader *r = &d->reader;
	struct reduction how = reduction_of(d);
	enum img_err err;

	reader_open_rest(r);
	if (r->jpeg.progressive_mode)
		err = progressive_read(d->dst, how, &r->jpeg, r->pieces,
				       r->piece_count, d->path.scan_count,
				       r->memory);
	else
		err = sequential_read(d->dst, how, &r->jpeg, r->memory);
	if (err == IMG_OK && d->path.drops_scans &&
	    !edge_is_plain(d->dst, how.n, &r->jpeg))
		err = IMG_ERR_NEEDS_ALL_SCANS;
	if (err != IMG_OK)
		reader_fail(r, err);
}

static void read_scans(struct decoder *d)
{
	struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;
	jvirt_barray_ptr *arrays = jpeg_read_coefficients(jpeg);
	uint32_t n = d->path.dct_scale;

	reader_check_scans(&d->reader);
	if (d->watches_texture &&
	    texture_in_arrays(d->dst, jpeg, arrays, n, d->keeps_light,
			      d->reader.memory))
		reader_fail(&d->reader, IMG_ERR_TEXTURE);
	edge_arrays(d->dst, n, jpeg, arrays);
	if (d->keeps_light)
		texture_keep_light(d->dst, jpeg, arrays, n, d->reader.memory);
}

static void read_full(struct decoder *d)
{
	struct jpeg_decompress_struct *jpeg = &d->reader.jpeg;

	jpeg->raw_data_out = TRUE;
	jpeg->out_color_space = jpeg->jpeg_color_space;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_block_smoothing = FALSE;
	(void)jpeg_start_decompress(jpeg);
	if (jpeg_has_multiple_scans(jpeg))
		reader_check_scans(&d->reader);
	read_planes(d->dst, jpeg);
}

/*
 * Begin the scan, of which only a part has come.  libjpeg may have read past
 * the end, from bytes of its own.
 */
static void begin_scan(struct decoder *d)
{
	struct reader *r = &d->reader;
	const uint8_t *file = r->pieces[0].data, *at;

	reader_open_rest(r);
	at = r->jpeg.src->next_input_byte;
	if (r->hit_end || at < file || at > file + r->pieces[0].bytes)
		reader_fail(r, IMG_ERR_TRUNCATED);
	d->early->scan_offset = (size_t)(at - file);
	d->early->scan =
		sequential_begin(d->dst, reduction_of(d), &r->jpeg, r->memory);
	if (d->early->scan == NULL)
		reader_fail(r, IMG_ERR_IRREGULAR);
}

static void decode_step(void *arg)
{
	struct decoder *d = arg;
	struct reader *r = &d->reader;

	(void)jpeg_read_header(&r->jpeg, TRUE);
	check_limits(d);
	make_planes(d);
	if (d->early != NULL)
		begin_scan(d);
	else if (d->path.is_ours)
		read_ours(d);
	else if (d->path.dct_scale < DECODE_SCALE_FULL)
		read_scans(d);
	else
		read_full(d);
	reader_check_end(r);
}

static enum img_err decode_pieces(struct decoder *d, const struct piece *pieces,
				  uint32_t count)
{
	d->reader.pieces = pieces;
	d->reader.piece_count = count;

	enum img_err err = reader_run(&d->reader, decode_step, d);

	if (err != IMG_OK)
		img_release(d->dst);
	else if (d->reader.is_damaged)
		d->dst->notes |= IMG_NOTE_DAMAGED;
	return err;
}

/* The file up to the segment in which reading has failed. */
static struct piece file_before(const struct piece *whole,
				const uint8_t *failed,
				const struct memory *memory)
{
	struct piece cut = { whole->data, 0 };
	struct markers walk;
	struct marker m;

	if (!markers_start(&walk, whole->data, whole->bytes))
		return cut;
	walk.memory = memory;
	while (markers_next(&walk, &m) && m.start < failed)
		cut.bytes = (size_t)(m.start - whole->data);
	return cut;
}

/* The pieces of a progressive file that must be read. 0: the whole file. */
static uint32_t find_pieces(struct piece pieces[SCANS_PIECES_MAX],
			    const uint8_t *jpeg, const struct img_header *h,
			    const struct path *path)
{
	return path->drops_scans ? scans_pieces(pieces, &jpeg_own(h)->scans,
						jpeg, path->set) :
				   0;
}

static enum img_err decode_once(struct decoder *d, const struct piece *whole,
				const struct img_header *header)
{
	struct piece pieces[SCANS_PIECES_MAX];
	struct decoder fresh = *d;
	uint32_t count = find_pieces(pieces, whole->data, header, &d->path);
	enum img_err err;

	if (count > 0)
		err = decode_pieces(d, pieces, count);
	else
		err = decode_pieces(d, whole, 1);
	if (!d->reader.lenient ||
	    (err != IMG_ERR_CORRUPT && err != IMG_ERR_UNSUPPORTED))
		return err;

	struct piece cut = file_before(whole, d->reader.at, d->reader.memory);

	*d = fresh;
	if (cut.bytes == 0 || decode_pieces(d, &cut, 1) != IMG_OK)
		return err;
	d->dst->notes |= IMG_NOTE_DAMAGED;
	return IMG_OK;
}

/* It holds no memory any more, and cannot go on. */
static void early_end(struct early *e)
{
	img_release(&e->image);
	memory_free(e->memory, e->scan);
	e->scan = NULL;
}

/* Has it been begun, for what `d` is to do? */
static bool early_suits(const struct early *e, const struct decoder *d,
			const struct img_header *header)
{
	const struct reduction how = reduction_of(d);

	return e != NULL && e->scan != NULL && d->path.is_ours &&
	       !header->is_progressive && e->how.n == how.n &&
	       e->how.watches_texture == how.watches_texture &&
	       e->how.keeps_light == how.keeps_light;
}

/* Decode what has not been decoded while it arrived. */
static enum img_err early_rest(struct early *e, struct decoder *d,
			       const struct piece *whole)
{
	enum img_err err = e->err;

	if (err == IMG_OK)
		err = sequential_rest(e->scan, whole->data + e->scan_offset,
				      whole->bytes - e->scan_offset,
				      d->reader.memory);
	if (err == IMG_OK) {
		*d->dst = e->image;
		e->image = (struct image){ 0 };
	}
	early_end(e);
	return err;
}

/*
 * As decode_once(); what is irregular at 8/8 is read by libjpeg, at once if
 * that takes no more memory.
 */
static enum img_err decode_file(struct decoder *d, const struct piece *whole,
				const struct img_header *header,
				struct early *early)
{
	struct decoder fresh = *d;
	enum img_err err = early_suits(early, d, header) ?
				   early_rest(early, d, whole) :
				   decode_once(d, whole, header);

	if (err != IMG_ERR_IRREGULAR || !d->path.is_ours ||
	    header->is_progressive || d->path.dct_scale < DECODE_SCALE_FULL)
		return err;
	*d = fresh;
	d->path.is_ours = false;
	return decode_once(d, whole, header);
}

static enum img_err read_profile(struct image *img, const struct piece *whole,
				 const struct img_header *header,
				 const struct memory *memory)
{
	enum profile_state state =
		jpeg_own(header)->walk.is_adobe_rgb ?
			profile_adobe_rgb(&img->profile, &img->profile_bytes,
					  memory) :
			profile_read(&img->profile, &img->profile_bytes,
				     whole->data, whole->bytes, memory);

	switch (state) {
	case PROFILE_READ:
		img->is_srgb = header->profile == IMG_PROFILE_SRGB;
		return IMG_OK;
	case PROFILE_BROKEN:
		img->notes |= IMG_NOTE_BAD_PROFILE;
		return IMG_OK;
	case PROFILE_NO_MEMORY:
		img_release(img);
		return IMG_ERR_NO_MEMORY;
	default:
		return IMG_OK;
	}
}

/* True: if the file had fine texture, it would be decoded at a larger scale. */
static bool may_be_too_fine(const struct img_header *header,
			    const struct img_view *view,
			    const struct img_transform *transform)
{
	struct img_header fine = *header;

	fine.texture = IMG_TEXTURE_FINE;
	return header->texture == IMG_TEXTURE_UNKNOWN &&
	       img_decode_scale(&fine, view, transform) >
		       img_decode_scale(header, view, transform);
}

/*
 * Attach the gain map, which is decoded for a picture that is decoded at
 * `scale`; nothing, if it changes nothing.  Errors: those of its file.
 */
static enum img_err read_gainmap(struct image *dst, const uint8_t *jpeg,
				 const struct img_header *header,
				 const struct img_header *map, uint32_t scale,
				 const struct img_limits *limits,
				 const struct memory *memory)
{
	const struct jpeg_map *from = &jpeg_own(header)->pictures.map;
	struct piece whole = { jpeg + from->offset, from->bytes };
	struct decoder d = {
		.reader = { .limits = limits, .memory = memory },
		.path = path_of(map, gainmap_decode_scale(map, header, scale),
				false),
	};
	struct gain_metadata metadata;
	struct gain_found found;
	bool needs_profile;
	enum img_err err;

	if (!gain_find_metadata(&metadata, whole.data, whole.bytes, jpeg,
				header->bytes) ||
	    !gain_read(&found, &metadata))
		return IMG_ERR_CORRUPT;
	needs_profile = from->icc_bytes > 0 &&
			!gain_has_base_colours(&found.gain, map->space);
	if (needs_profile && from->icc_bytes > IMG_GAINMAP_PROFILE_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	if (found.is_empty)
		return IMG_OK;
	err = gain_attach(dst, &found, map, header, memory);
	if (err != IMG_OK)
		return err;
	d.dst = &dst->gainmap->image;
	err = decode_file(&d, &whole, map, NULL);
	if (err == IMG_OK && needs_profile)
		err = read_profile(d.dst, &whole, map, memory);
	if (err == IMG_OK)
		err = gain_finish(dst->gainmap, &found);
	return err;
}

/* If a gain map is asked for, add it, or a note that it is left out. */
static enum img_err add_gainmap(struct image *dst, const struct piece *whole,
				const struct img_header *header, uint32_t scale,
				const struct img_transform *transform,
				const struct img_limits *limits,
				const struct memory *memory)
{
	const struct jpeg_pictures *p = &jpeg_own(header)->pictures;
	enum img_err err = IMG_ERR_UNSUPPORTED;
	struct img_header map;

	if (!transform->keep_gainmap)
		return IMG_OK;
	/* What is missing at the end of a file may be its map. */
	if (!gain_header(&map, header) && !p->has_bad_map && !p->is_cut &&
	    !gain_is_promised(whole->data, whole->bytes))
		return IMG_OK;
	if (p->has_map)
		err = read_gainmap(dst, whole->data, header, &map, scale,
				   limits, memory);
	return gain_or_note(dst, err);
}

static struct decoder
decoder_make(struct image *dst, const struct img_header *header,
	     const struct img_view *view, const struct img_transform *transform,
	     const struct img_limits *limits, const struct memory *memory)
{
	bool keeps_light = transform->light == IMG_LIGHT_LINEAR;
	uint32_t scale = img_decode_scale(header, view, transform);

	return (struct decoder){
		.reader = { .limits = limits,
			    .memory = memory,
			    .lenient = transform->lenient },
		.dst = dst,
		.path = path_of(header, scale, keeps_light),
		.watches_texture = may_be_too_fine(header, view, transform),
		.keeps_light = keeps_light,
	};
}

/* --- While it arrives --- */

static void early_free(struct img_early *base)
{
	struct early *e = container_of(base, struct early, base);

	early_end(e);
	memory_free(e->memory, e);
}

static const struct format_early early_format;

static struct img_early *
early_begin(const uint8_t *bytes, size_t count, const struct img_header *header,
	    const struct img_view *view, const struct img_transform *transform,
	    const struct img_limits *limits, const struct memory *memory)
{
	struct piece come = { bytes, count };
	struct decoder d =
		decoder_make(NULL, header, view, transform, limits, memory);
	struct early *e;

	if (!d.path.is_ours || header->is_progressive)
		return NULL;
	e = memory_alloc(memory, sizeof(*e));
	if (e == NULL)
		return NULL;
	*e = (struct early){
		.base = { &early_format },
		.how = reduction_of(&d),
		.memory = memory,
	};
	d.dst = &e->image;
	d.early = e;
	if (decode_pieces(&d, &come, 1) == IMG_OK)
		return &e->base;
	early_free(&e->base);
	return NULL;
}

static enum img_err early_come(struct img_early *base, const uint8_t *bytes,
			       size_t count, const _Atomic bool *stop)
{
	struct early *e = container_of(base, struct early, base);

	if (e->scan != NULL && e->err == IMG_OK)
		e->err = sequential_come(e->scan, bytes + e->scan_offset,
					 count - e->scan_offset, stop);
	return e->err;
}

static enum img_err
decode_rest(struct image *dst, struct img_early *base, const uint8_t *jpeg,
	    size_t jpeg_bytes, const struct img_header *header,
	    const struct img_view *view, const struct img_transform *transform,
	    const struct img_limits *limits, const struct memory *memory)
{
	struct early *e =
		base == NULL ? NULL : container_of(base, struct early, base);
	struct piece whole = { jpeg, jpeg_bytes };
	struct decoder d =
		decoder_make(dst, header, view, transform, limits, memory);
	uint32_t scale = img_decode_scale(header, view, transform);
	enum img_err err = decode_file(&d, &whole, header, e);

	if (err == IMG_OK && header->icc_bytes > 0)
		err = read_profile(dst, &whole, header, memory);
	if (err == IMG_OK)
		err = add_gainmap(dst, &whole, header, scale, transform, limits,
				  memory);
	return err;
}

static double early_left(const struct img_early *base, size_t count,
			 const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform)
{
	const struct early *e = container_of(base, const struct early, base);
	const struct decoder d =
		decoder_make(NULL, header, view, transform, NULL, NULL);
	size_t read;

	if (!early_suits(e, &d, header))
		return 1;
	read = e->scan_offset + sequential_come_bytes(e->scan);
	return (double)(count - read) / (double)count;
}

static const struct format_early early_format = {
	.left = early_left,
	.begin = early_begin,
	.come = early_come,
	.rest = decode_rest,
	.free = early_free,
};

static enum img_err
jpeg_decode(struct image *dst, const uint8_t *jpeg, size_t jpeg_bytes,
	    const struct img_header *header, const struct img_view *view,
	    const struct img_transform *transform,
	    const struct img_limits *limits, const struct memory *memory)
{
	return decode_rest(dst, NULL, jpeg, jpeg_bytes, header, view, transform,
			   limits, memory);
}

static bool jpeg_decode_again(struct img_header *header, enum img_err err)
{
	bool is_fine = header->texture == IMG_TEXTURE_FINE;

	switch (err) {
	case IMG_ERR_IRREGULAR:
		if (header->is_irregular)
			return false;
		header->is_irregular = true;
		break;
	case IMG_ERR_NEEDS_ALL_SCANS:
		if (jpeg_own(header)->needs_all_scans)
			return false;
		jpeg_own_change(header)->needs_all_scans = true;
		break;
	case IMG_ERR_TEXTURE:
		if (header->texture != IMG_TEXTURE_UNKNOWN)
			return false;
		header->texture = IMG_TEXTURE_FINE;
		break;
	case IMG_ERR_TOO_LARGE:
		if (is_fine)
			header->texture = IMG_TEXTURE_IGNORED;
		return is_fine;
	default:
		return false;
	}
	header->has_findings = true;
	return true;
}

/* --- The format --- */

/*
 * If a file has fine texture, the least scale.  At 1/8, nothing is known of the
 * texture in a progressive file.
 */
enum { TEXTURE_SCALE_MIN = 2 };

static uint32_t jpeg_scale(const struct img_header *h, double n, double fine_n)
{
	bool is_fine = h->texture == IMG_TEXTURE_FINE;
	bool may_be = h->texture == IMG_TEXTURE_UNKNOWN &&
		      jpeg_own(h)->scans.is_dense && fine_n > 1;

	if (is_fine || may_be)
		n = fmax(n, TEXTURE_SCALE_MIN);
	return n > IDCT_MAX ? DECODE_SCALE_FULL : (uint32_t)n;
}

static uint32_t jpeg_scale_used(const struct img_header *h, uint32_t scale)
{
	return path_of(h, scale, false).dct_scale;
}

static enum format_planes jpeg_planes(const struct img_transform *transform)
{
	(void)transform;
	return FORMAT_YCBCR;
}

static const struct img_codec codec = {
	.magic_bytes = JPEG_MAGIC_BYTES,
	.recognise = jpeg_recognise,
	.probe_more = jpeg_probe_more,
	.scale = jpeg_scale,
	.scale_used = jpeg_scale_used,
	.decode = jpeg_decode,
	.decode_again = jpeg_decode_again,
	.early = &early_format,
	.decode_estimate = &jpeg_decode_estimate,
	.encode = jpeg_encode,
	.encode_estimate = &jpeg_encode_estimate,
	.own_pixel_bytes = 10,
	.own_edge_px = 48,
	.own_bytes = 256 << 10,
	.planes = jpeg_planes,
	.holds_profile = true,
	.holds_metadata = true,
	.holds_iptc = true,
	.metadata = jpeg_metadata,
	.gainmap = gain_header,
};

const struct img_format jpeg_format = {
	.name = "JPEG",
	.word = "jpeg",
	.media_type = "image/jpeg",
	.suffix = "jpg",
	.holds_gainmap = true,
	.codec = &codec,
};
