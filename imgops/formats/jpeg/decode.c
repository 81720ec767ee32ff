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
#include "imgops/estimate.h"

#include "imgops/formats/format.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/gain.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/entropy.h"
#include "imgops/formats/jpeg/reader.h"
#include "imgops/formats/jpeg/scans.h"
#include "imgops/formats/jpeg/texture.h"

#include <assert.h>
#include <math.h>

/* How a file is read. */
struct path {
	bool is_ours; /* by sequential.c or progressive.c */
	/* All coefficients are kept until the whole file is read. */
	bool keeps_coefficients;
	bool drops_scans;   /* reads only the pieces of scans_pieces() */
	enum scans_set set; /* of those pieces */
	uint32_t dct_scale;
	uint64_t scan_bytes; /* bytes from the first scan on */
	uint64_t kept_bytes; /* the part of scan_bytes that is decoded */
	uint32_t scan_count; /* scans that are decoded */
};

static bool can_be_ours(const struct img_header *h, uint32_t scan_count)
{
	const struct jpeg_own *own = jpeg_own(h);
	if (h->is_irregular || own->is_arithmetic)
		return false;
	if (h->is_progressive)
		return own->scans.is_complete &&
		       scan_count <= PROGRESSIVE_SCANS_MAX;
	return own->has_one_scan && own->has_huffman_tables;
}

/*
 * The scans that are enough at 1/8 or 2/8.  Those with much energy have light.
 */
static enum scans_set find_set(const struct img_header *h, uint32_t dct_scale,
			       bool keeps_light)
{
	if (keeps_light)
		return SCANS_AT_2_TEXTURE;
	if (dct_scale == 1)
		return SCANS_AT_1;
	return h->texture == IMG_TEXTURE_UNKNOWN ? SCANS_AT_2_TEXTURE :
						   SCANS_AT_2;
}

/*
 * If blocks are cut, scans are dropped only if edge_is_plain() can say
 * afterwards whether hidden samples show.
 */
static bool can_drop_scans(const struct img_header *h, uint32_t dct_scale,
			   enum scans_set set)
{
	const struct jpeg_own *own = jpeg_own(h);
	uint32_t count = 0;

	if (h->is_progressive && !own->needs_all_scans &&
	    dct_scale <= SCANS_DCT_SCALE_MAX)
		count = scans_pieces_scans(&own->scans, set);
	if (count == 0 || edge_cut_blocks(h) == 0)
		return count > 0;
	return can_be_ours(h, count) && edge_has_neighbours(h);
}

/* Decode and estimate both go by this. */
static struct path path_of(const struct img_header *h, uint32_t dct_scale,
			   bool keeps_light)
{
	enum scans_set set = find_set(h, dct_scale, keeps_light);
	const struct jpeg_own *own = jpeg_own(h);
	struct path p = {
		.keeps_coefficients = !own->has_one_scan,
		.drops_scans = can_drop_scans(h, dct_scale, set),
		.set = set,
		.dct_scale = dct_scale,
		.scan_bytes = h->bytes - own->scan_offset,
		.scan_count = own->scan_count,
	};
	uint64_t kept = 0;

	if (p.drops_scans) {
		p.scan_count = scans_pieces_scans(&own->scans, p.set);
		kept = scans_pieces_bytes(&own->scans, p.set);
	}
	p.kept_bytes = p.scan_bytes;
	/* Leave out the header, with which the first piece begins. */
	if (kept > 0)
		p.kept_bytes =
			kept > own->scan_offset ? kept - own->scan_offset : 0;
	if (can_be_ours(h, p.scan_count)) {
		p.is_ours = true;
		p.keeps_coefficients = false;
	} else if (!p.keeps_coefficients) {
		p.dct_scale = DECODE_SCALE_FULL;
	}
	return p;
}

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

static uint64_t round_up_blocks(uint64_t n, int step)
{
	return (n + (uint64_t)step - 1) / (uint64_t)step * (uint64_t)step;
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

/* --- Estimate --- */

enum decode_term {
	TERM_PICTURES,    /* always 1 */
	TERM_PROFILES,    /* 1 if there is a profile */
	TERM_HEAD_BYTES,  /* bytes before the first scan, perhaps all tables */
	TERM_TABLES,      /* tables of AC codes, if some are skipped */
	TERM_FULL_TABLES, /* the same at 8/8, where none is */
	/* Bytes of a sequential file, decoded by libjpeg. */
	TERM_FULL_BYTES,
	/* Bytes of a sequential file, by sequential.c at n/8. */
	TERM_SEQUENTIAL_1_BYTES,
	TERM_SEQUENTIAL_2_BYTES,
	TERM_SEQUENTIAL_3_BYTES,
	TERM_SEQUENTIAL_4_BYTES,
	TERM_SEQUENTIAL_8_BYTES,
	/* Bytes of a progressive file in which markers are searched. */
	TERM_SCANNED_BYTES,
	TERM_DC_BYTES, /* bytes of DC scans, at 1/8 */
	/*
	 * Blocks that are visited in DC scans beyond the usual two.  The time
	 * for those is a part of that for a block to 1 x 1 samples.
	 */
	TERM_DC_BLOCKS,
	/* Bytes of a progressive file, by progressive.c, not only from DC. */
	TERM_ROWS_BYTES,
	TERM_ROWS_BLOCKS, /* blocks that this visits in all scans */
	/* Bytes of a progressive file, decoded by libjpeg. */
	TERM_PROGRESSIVE_BYTES,
	TERM_ARITHMETIC_BYTES,
	/*
	 * Where arithmetic-coded data end early, libjpeg reads zeros, which may
	 * mean as much work for each block as noise.
	 */
	TERM_ARITHMETIC_BLOCKS,
	TERM_KEPT_BLOCKS, /* coefficients written and read again */
	/* Extra time for a block that the frame cuts, at a reduced size. */
	TERM_CUT_BLOCKS,
	/* Blocks that the inverse DCT turns into n x n samples. */
	TERM_BLOCKS_1,
	TERM_BLOCKS_2,
	TERM_BLOCKS_3,
	TERM_BLOCKS_4,
	TERM_BLOCKS_8,
	TERM_BLOCKS_LIBJPEG, /* to 8 x 8 samples, by libjpeg */
	TERM_LIGHT_BLOCKS,   /* of luma, whose light is kept */
	TERM_COUNT,
};

static const struct estimate_term decode_terms[TERM_COUNT] = {
	[TERM_PICTURES] = { "picture", 6310 },
	[TERM_PROFILES] = { "profile", 1910 },
	[TERM_HEAD_BYTES] = { "byte before the first scan", 1 },
	[TERM_TABLES] = { "table of AC codes", 16700 },
	[TERM_FULL_TABLES] = { "table of AC codes at 8/8", 6000 },
	[TERM_FULL_BYTES] = { "byte, decoded by libjpeg", 6.11 },
	[TERM_SEQUENTIAL_1_BYTES] = { "byte, decoded at 1/8", 3 },
	[TERM_SEQUENTIAL_2_BYTES] = { "byte, decoded at 2/8", 3.2 },
	[TERM_SEQUENTIAL_3_BYTES] = { "byte, decoded at 3/8", 3.3 },
	[TERM_SEQUENTIAL_4_BYTES] = { "byte, decoded at 4/8", 3.6 },
	[TERM_SEQUENTIAL_8_BYTES] = { "byte, decoded at 8/8", 4 },
	[TERM_SCANNED_BYTES] = { "byte of scans, walked over", 0.52 },
	[TERM_DC_BYTES] = { "byte of DC scans", 0 },
	[TERM_DC_BLOCKS] = { "block of a further DC scan", 5 },
	[TERM_ROWS_BYTES] = { "byte, progressive, in rows", 7 },
	[TERM_ROWS_BLOCKS] = { "block of a scan, in rows", 1 },
	[TERM_PROGRESSIVE_BYTES] = { "byte, progressive, by libjpeg", 37.7 },
	[TERM_ARITHMETIC_BYTES] = { "byte, arithmetic coding", 60 },
	[TERM_ARITHMETIC_BLOCKS] = { "block, arithmetic coding", 2500 },
	[TERM_KEPT_BLOCKS] = { "block of kept coefficients", 15 },
	[TERM_CUT_BLOCKS] = { "block that the frame cuts", 100 },
	[TERM_BLOCKS_1] = { "block to 1 x 1 samples", 8 },
	[TERM_BLOCKS_2] = { "block to 2 x 2 samples", 14 },
	[TERM_BLOCKS_3] = { "block to 3 x 3 samples", 20 },
	[TERM_BLOCKS_4] = { "block to 4 x 4 samples", 20.5 },
	[TERM_BLOCKS_8] = { "block to 8 x 8 samples", 22 },
	[TERM_BLOCKS_LIBJPEG] = { "block to 8 x 8 samples, libjpeg", 40 },
	[TERM_LIGHT_BLOCKS] = { "block whose light is kept", 11 },
};

/*
 * The time to visit a block without bytes, in units of the time for one byte.
 * A scan that refines AC looks at all the coefficients of each block.
 */
#define BYTES_PER_VISIT 0.5
#define ARITHMETIC_BYTES_PER_VISIT 2

/* DC scans of a usual progressive file. */
enum { DC_SCANS = 2 };

/* libjpeg's small allocations before and after all coefficients, in bytes. */
enum { BEFORE_BYTES = 4832, AFTER_BYTES = 11232 };

static uint64_t kept_coefficient_bytes(const struct img_header *h,
				       uint32_t dct_scale)
{
	struct img_size blocks[IMG_PLANES_MAX];
	uint64_t bytes;

	for (uint32_t i = 0; i < h->component_count; i++) {
		blocks[i] = header_blocks(h, i);
		blocks[i].width_px = (uint32_t)round_up_blocks(
			blocks[i].width_px, h->h_factors[i]);
		blocks[i].height_px = (uint32_t)round_up_blocks(
			blocks[i].height_px, h->v_factors[i]);
	}
	bytes = jpeg_memory_bytes(blocks, h->component_count, BEFORE_BYTES,
				  AFTER_BYTES);
	/*
	 * At a reduced size libjpeg makes other small allocations, in another
	 * order: one more chunk is enough.
	 */
	return dct_scale < DECODE_SCALE_FULL ? bytes + ARENA_CHUNK_BYTES :
					       bytes;
}

/* The memory of sequential.c or progressive.c, without libjpeg's. */
static uint64_t our_decode_bytes(const struct img_header *h,
				 const struct path *p)
{
	const struct jpeg_own *own = jpeg_own(h);
	struct img_size most = image_factors_max(h);
	struct block_count blocks = { 0 };

	if (!h->is_progressive)
		return sequential_bytes(
			(struct table_set){ own->dc_tables, own->ac_tables });
	for (uint32_t i = 0; i < h->component_count; i++)
		block_count_add(&blocks, p->dct_scale, h->stored,
				h->h_factors[i], most.width_px, h->v_factors[i],
				most.height_px);
	return progressive_bytes(blocks, h->component_count, p->scan_count);
}

static uint64_t decode_bytes(const struct workload *w)
{
	const struct img_header *h = w->header;
	struct path p = path_of(h, w->scale, w->keeps_light);
	uint64_t working = JPEG_MEMORY_BYTES_MIN;

	if (p.keeps_coefficients)
		working = kept_coefficient_bytes(h, p.dct_scale);
	else if (p.is_ours)
		working += our_decode_bytes(h, &p);
	return image_bytes(&w->decoded) + max_u64(working, h->icc_bytes);
}

static double all_blocks(const struct img_header *h)
{
	double blocks = 0;

	for (uint32_t i = 0; i < h->component_count; i++)
		blocks += (double)img_pixels(header_blocks(h, i));
	return blocks;
}

/* How many blocks are visited in all scans of the file. */
static double visited_blocks(const struct img_header *h)
{
	double blocks = 0;

	for (uint32_t i = 0; i < h->component_count; i++)
		blocks += (double)img_pixels(header_blocks(h, i)) *
			  jpeg_own(h)->component_scans[i];
	return blocks;
}

static void count_progressive(double *counts, const struct img_header *h,
			      const struct path *p, double bytes)
{
	if (!p->is_ours) {
		counts[TERM_PROGRESSIVE_BYTES] = bytes;
	} else if (p->drops_scans && p->set == SCANS_AT_1) {
		counts[TERM_DC_BYTES] = bytes;
		if (p->scan_count > DC_SCANS)
			counts[TERM_DC_BLOCKS] =
				all_blocks(h) * (p->scan_count - DC_SCANS);
	} else {
		counts[TERM_ROWS_BYTES] = bytes;
		/* Most scans are of one component. */
		counts[TERM_ROWS_BLOCKS] =
			all_blocks(h) / h->component_count * p->scan_count;
	}
}

static void count_bytes(double *counts, const struct img_header *h,
			const struct path *p)
{
	const struct jpeg_own *own = jpeg_own(h);
	double bytes = (double)p->scan_bytes, kept = (double)p->kept_bytes;
	double visited = visited_blocks(h);

	/* A scan with hardly any bytes still visits every block. */
	if (!p->is_ours)
		kept = fmax(kept, visited * BYTES_PER_VISIT);
	if (own->is_arithmetic) {
		counts[TERM_ARITHMETIC_BYTES] =
			fmax(bytes, visited * ARITHMETIC_BYTES_PER_VISIT);
		counts[TERM_ARITHMETIC_BLOCKS] = all_blocks(h);
	} else if (h->is_progressive) {
		counts[TERM_SCANNED_BYTES] = bytes;
		count_progressive(counts, h, p, kept);
	} else if (p->is_ours) {
		bool is_full = p->dct_scale == DECODE_SCALE_FULL;

		counts[is_full ? TERM_SEQUENTIAL_8_BYTES :
				 TERM_SEQUENTIAL_1_BYTES + p->dct_scale - 1] =
			bytes;
		counts[is_full ? TERM_FULL_TABLES : TERM_TABLES] =
			__builtin_popcount(own->ac_tables);
	} else {
		counts[TERM_FULL_BYTES] = bytes;
	}
}

static enum decode_term blocks_term(const struct path *p)
{
	if (p->dct_scale < DECODE_SCALE_FULL)
		return TERM_BLOCKS_1 + p->dct_scale - 1;
	return p->is_ours ? TERM_BLOCKS_8 : TERM_BLOCKS_LIBJPEG;
}

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	struct path p = path_of(h, w->scale, w->keeps_light);

	counts[TERM_PICTURES] = 1;
	counts[TERM_PROFILES] = h->icc_bytes > 0;
	counts[TERM_HEAD_BYTES] = (double)jpeg_own(h)->scan_offset;
	if (p.dct_scale < DECODE_SCALE_FULL)
		counts[TERM_CUT_BLOCKS] = edge_cut_blocks(h);
	if (p.dct_scale < DECODE_SCALE_FULL && w->keeps_light)
		counts[TERM_LIGHT_BLOCKS] =
			(double)img_pixels(header_blocks(h, 0));
	count_bytes(counts, h, &p);
	for (uint32_t i = 0; i < h->component_count; i++) {
		double blocks = (double)img_pixels(header_blocks(h, i));

		counts[blocks_term(&p)] += blocks;
		if (p.keeps_coefficients)
			counts[TERM_KEPT_BLOCKS] += blocks;
	}
}

static const struct step_estimate jpeg_decode_estimate = {
	.name = "decode",
	.terms = decode_terms,
	.term_count = TERM_COUNT,
	.count = decode_count,
	.bytes = decode_bytes,
};

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
