/* SPDX-License-Identifier: MIT */
/*
 * Encode planes, as they are.  All bytes are those that libjpeg-turbo writes,
 * with its parameters and tables; with `effort` its coefficients are those of
 * effort.c.  It writes progressive results itself, and all on CPUs without
 * AVX2; baseline.c writes the others.  As in reader.c, all state is in one
 * struct, because libjpeg reports errors by longjmp.
 *
 * Memory besides the result: tables, and a row of MCUs; for progressive or
 * optimised results all coefficients, about 2 bytes for each sample.  The
 * result is written into a block that is large enough for nearly any result.
 * When the other memory has been freed, the result is copied into a block of
 * its own size.  So the needed memory is known before encoding, and the bytes
 * of a photo are copied once.
 *
 * A gain map is encoded first, because the picture's header says how long it
 * is.
 */
#include "imgops/estimate.h"

#include "imgops/formats/jpeg/baseline.h"
#include "imgops/formats/jpeg/effort.h"
#include "imgops/formats/jpeg/fdct.h"
#include "imgops/formats/jpeg/gain.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/memory.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"
#include "imgops/metadata/metadata.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

enum {
	ROOM_BYTES_MIN = 4096,
	FINE_QUALITY = 85,
	FINEST_QUALITY = 96,
};

struct encoder {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr destination;
	struct jpeg_progress_mgr progress;
	struct jpeg_memory working;
	jmp_buf failed;
	bool done;

	const struct memory *memory;
	struct output out;
	struct baseline *baseline; /* NULL: libjpeg writes */

	struct image *src;
	const struct img_transform *transform;
	double quality;

	const struct img_gain *gain; /* `src` is a gain map; or NULL */
	const uint8_t *map; /* the encoded gain map of `src`; or NULL */
	size_t map_bytes;
	size_t index_offset; /* of the index's data, in `out` */
};

/* Only memory can fail: sizes and settings are valid. */
static void encoder_on_error(j_common_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	longjmp(e->failed, 1);
}

static void encoder_on_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

/* libjpeg calls this between rows of blocks. */
static void encoder_on_progress(j_common_ptr jpeg)
{
	const struct encoder *e = jpeg->client_data;

	memory_pause(e->memory);
}

/*
 * The size of the first block for a result: enough for noise at this quality,
 * which is several times what a photo needs.  Memory that is not written to
 * costs nothing.
 */
static size_t room_bytes(const struct image *img, size_t profile_bytes,
			 int quality)
{
	size_t samples = 0;

	for (uint32_t i = 0; i < img->plane_count; i++)
		samples += (size_t)img->planes[i].width * img->planes[i].height;
	if (quality >= FINEST_QUALITY)
		samples *= 2;
	else if (quality < FINE_QUALITY)
		samples -= samples / 3;
	return ROOM_BYTES_MIN + profile_bytes + samples;
}

static size_t metadata_bytes(const struct image *src)
{
	const struct img_metadata *m = src->metadata;

	return m == NULL ? 0 : m->exif.count + m->xmp.count + m->iptc.count;
}

/* Libjpeg goes on after the bytes that are written. */
static void destination_set(struct encoder *e)
{
	e->destination.next_output_byte = e->out.bytes + e->out.count;
	e->destination.free_in_buffer = e->out.room_bytes - e->out.count;
}

/* What libjpeg has written is written. */
static void destination_end(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	e->out.count = e->out.room_bytes - e->destination.free_in_buffer;
}

static void reserve(struct encoder *e, size_t bytes)
{
	if (!output_reserve(&e->out, bytes))
		longjmp(e->failed, 1);
}

static void destination_init(j_compress_ptr jpeg)
{
	destination_set(jpeg->client_data);
}

static boolean destination_full(j_compress_ptr jpeg)
{
	struct encoder *e = jpeg->client_data;

	e->out.count = e->out.room_bytes;
	reserve(e, 1);
	destination_set(e);
	return TRUE;
}

static void write_bytes(struct encoder *e, const void *bytes, size_t count)
{
	if (count == 0)
		return;
	reserve(e, count);
	memcpy(e->out.bytes + e->out.count, bytes, count);
	e->out.count += count;
}

/* A segment of several pieces: its name, and the others. */
static void write_pieces(struct encoder *e, int code, const void *name,
			 size_t name_bytes, const struct metadata_span *pieces,
			 size_t count)
{
	size_t bytes = 2 + name_bytes;

	for (size_t i = 0; i < count; i++)
		bytes += pieces[i].count;

	const uint8_t head[] = { 0xff, (uint8_t)code, (uint8_t)(bytes >> 8),
				 (uint8_t)bytes };

	assert(bytes <= UINT16_MAX);
	write_bytes(e, head, sizeof(head));
	write_bytes(e, name, name_bytes);
	for (size_t i = 0; i < count; i++)
		write_bytes(e, pieces[i].bytes, pieces[i].count);
}

static void write_segment(struct encoder *e, const struct gain_segment *s)
{
	write_pieces(e, s->code, s->data, s->bytes, NULL, 0);
}

/*
 * XMP, and in it what a gain map needs, for there is one XMP in a file.  What
 * has no room for both has only the latter.
 */
static void write_xmp(struct encoder *e, const struct img_metadata *m)
{
	enum { SEGMENT_BYTES_MAX = 65533 };
	static const char name[] = JPEG_XMP_NAME;
	struct metadata_span pieces[] = {
		{ m->xmp.bytes, m->xmp_end },
		{ NULL, 0 },
		{ m->xmp.bytes + m->xmp_end, m->xmp.count - m->xmp_end },
	};
	struct gain_segment s;

	if (e->map != NULL) {
		gain_write_directory(&s, e->map_bytes);
		pieces[1].bytes = gain_description(&s, &pieces[1].count);
	}
	if (sizeof(name) + m->xmp.count + pieces[1].count > SEGMENT_BYTES_MAX)
		write_segment(e, &s);
	else
		write_pieces(e, MARKER_APP1, name, sizeof(name), pieces,
			     ARRAY_SIZE(pieces));
}

/* The metadata of the picture other than its map's. */
static void write_own_metadata(struct encoder *e, const struct img_metadata *m)
{
	static const char exif[] = JPEG_EXIF_NAME, iptc[] = JPEG_IPTC_NAME;
	uint8_t resource[] = { '8',
			       'B',
			       'I',
			       'M',
			       4,
			       4,
			       0,
			       0,
			       0,
			       0,
			       (uint8_t)(m->iptc.count >> 8),
			       (uint8_t)m->iptc.count };
	const struct metadata_span tiff = { m->exif.bytes, m->exif.count };
	const struct metadata_span pieces[] = {
		{ resource, sizeof(resource) },
		{ m->iptc.bytes, m->iptc.count },
		{ (const uint8_t *)"", m->iptc.count % 2 },
	};

	if (m->exif.count > 0)
		write_pieces(e, MARKER_APP1, exif, sizeof(exif), &tiff, 1);
	if (m->xmp.count > 0)
		write_xmp(e, m);
	if (m->iptc.count > 0)
		write_pieces(e, MARKER_APP13, iptc, sizeof(iptc), pieces,
			     ARRAY_SIZE(pieces));
}

/* What a map says of itself, and the first picture of its map. */
static void write_metadata(struct encoder *e)
{
	enum { HEAD_BYTES = 4 }; /* the marker and its length */
	struct gain_segment s;

	if (e->map == NULL) {
		gain_write_xmp(&s, e->gain);
		write_segment(e, &s);
	} else if (e->src->metadata == NULL ||
		   e->src->metadata->xmp.count == 0) {
		gain_write_directory(&s, e->map_bytes);
		write_segment(e, &s);
	}
	gain_write_metadata(&s, e->gain);
	write_segment(e, &s);
	if (e->map == NULL)
		return;
	e->index_offset = e->out.count + HEAD_BYTES;
	/* The first picture's size is not yet known. */
	gain_write_index(&s, e->index_offset + HEAD_BYTES, e->map_bytes,
			 e->index_offset);
	write_segment(e, &s);
}

/* After the last byte of the first picture. */
static void append_map(struct encoder *e)
{
	struct gain_segment s;

	gain_write_index(&s, e->out.count, e->map_bytes, e->index_offset);
	memcpy(e->out.bytes + e->index_offset, s.data, s.bytes);
	write_bytes(e, e->map, e->map_bytes);
}

/* The profile, in chunks that have a number each (ICC.1, annex B.4). */
static void write_profile(struct encoder *e)
{
	enum { CHUNK_BYTES_MAX = 65519 };
	char name[] = "ICC_PROFILE\0\1"; /* and the number of chunks */
	size_t left = e->src->profile_bytes;

	name[sizeof(name) - 1] =
		(char)((left + CHUNK_BYTES_MAX - 1) / CHUNK_BYTES_MAX);
	for (const uint8_t *from = e->src->profile; left > 0;) {
		size_t count = min_u64(left, CHUNK_BYTES_MAX);
		const struct metadata_span chunk = { from, count };

		write_pieces(e, MARKER_APP2, name, sizeof(name), &chunk, 1);
		name[sizeof(name) - 2]++;
		from += count;
		left -= count;
	}
}

/* All segments before the tables. */
static void write_segments(struct encoder *e)
{
	if (e->src->metadata != NULL)
		write_own_metadata(e, e->src->metadata);
	if (e->map != NULL || e->gain != NULL)
		write_metadata(e);
	if (e->src->profile != NULL)
		write_profile(e);
}

/* As libjpeg's jpeg_quality_scaling(), which takes whole qualities alone. */
static int table_percent(double quality)
{
	return (int)(quality < 50 ? 5000 / quality : 200 - 2 * quality);
}

static bool is_optimised(const struct img_transform *t)
{
	return t->optimize || t->effort > 0;
}

static void set_parameters(struct encoder *e)
{
	struct jpeg_compress_struct *jpeg = &e->jpeg;

	jpeg->image_width = e->src->planes[0].width;
	jpeg->image_height = e->src->planes[0].height;
	jpeg->input_components = (int)e->src->plane_count;
	jpeg->in_color_space =
		e->src->plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	/* Gives Y' the factors 2x2, so the result is 4:2:0. */
	jpeg_set_defaults(jpeg);
	if (image_has_full_chroma(e->src)) {
		jpeg->comp_info[0].h_samp_factor = 1;
		jpeg->comp_info[0].v_samp_factor = 1;
	}
	if (e->transform->effort > 0)
		effort_set_tables(jpeg, e->quality);
	else
		jpeg_set_linear_quality(jpeg, table_percent(e->quality), TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
	jpeg->optimize_coding = is_optimised(e->transform);
	if (e->transform->progressive)
		/* Also optimises the Huffman tables. */
		jpeg_simple_progression(jpeg);
}

/* Repeat the last samples of rows and columns to the end of the last blocks. */
static void pad_plane(struct img_plane *p)
{
	uint32_t width = (p->width + DCTSIZE - 1) / DCTSIZE * DCTSIZE;
	uint32_t height = (p->height + DCTSIZE - 1) / DCTSIZE * DCTSIZE;
	uint8_t *row = p->samples;

	/* fdct_row() reads pairs of blocks. */
	assert(width + DCTSIZE <= p->stride_bytes);
	for (uint32_t y = 0; y < height; y++, row += p->stride_bytes)
		if (y < p->height)
			memset(row + p->width, row[p->width - 1],
			       width - p->width);
		else
			memcpy(row, row - p->stride_bytes, width);
}

/* It does not read the rows past the last blocks, which are not set. */
static void write_rows(struct encoder *e)
{
	struct jpeg_compress_struct *jpeg = &e->jpeg;
	const struct image *src = e->src;
	JSAMPROW rows[IMG_PLANES_MAX][2 * DCTSIZE];
	JSAMPARRAY planes[IMG_PLANES_MAX] = { rows[0], rows[1], rows[2] };

	while (jpeg->next_scanline < jpeg->image_height) {
		uint32_t group = jpeg->next_scanline /
				 (jpeg->max_v_samp_factor * DCTSIZE);

		for (uint32_t i = 0; i < src->plane_count; i++) {
			uint32_t count =
				jpeg->comp_info[i].v_samp_factor * DCTSIZE;

			for (uint32_t y = 0; y < count; y++)
				rows[i][y] =
					image_row(src, i, group * count + y);
		}
		(void)jpeg_write_raw_data(jpeg, planes,
					  jpeg->max_v_samp_factor * DCTSIZE);
	}
}

static void write_by_libjpeg(struct encoder *e)
{
	struct jpeg_compress_struct *jpeg = &e->jpeg;
	bool has_effort = e->transform->effort > 0;
	struct effort_blocks blocks;

	if (has_effort)
		effort_begin(&blocks, e->src, jpeg);
	else
		jpeg_start_compress(jpeg, TRUE);
	destination_end(jpeg);
	write_segments(e);
	destination_set(e);
	if (has_effort)
		effort_transform(&blocks, e->src, jpeg, e->memory);
	else
		write_rows(e);
	jpeg_finish_compress(jpeg);
}

/* --- What baseline.c does not write --- */

static void write_quant_table(struct encoder *e, uint32_t number)
{
	const JQUANT_TBL *table = e->jpeg.quant_tbl_ptrs[number];
	uint8_t data[1 + DCTSIZE2] = { (uint8_t)number };

	for (uint32_t k = 0; k < DCTSIZE2; k++)
		data[1 + k] = (uint8_t)table->quantval[idct_order[k]];
	write_pieces(e, MARKER_DQT, data, sizeof(data), NULL, 0);
}

static void write_code_table(struct encoder *e, uint32_t number,
			     const JHUFF_TBL *table)
{
	struct metadata_span symbols = { table->huffval, 0 };
	uint8_t data[1 + CODE_BITS_MAX] = { (uint8_t)number };

	for (uint32_t bits = 1; bits <= CODE_BITS_MAX; bits++) {
		data[bits] = table->bits[bits];
		symbols.count += table->bits[bits];
	}
	write_pieces(e, MARKER_DHT, data, sizeof(data), &symbols, 1);
}

static void write_frame(struct encoder *e)
{
	const struct img_plane *p = &e->src->planes[0];
	uint32_t count = e->src->plane_count;
	uint8_t data[6 + 3 * IMG_PLANES_MAX] = {
		BITS_IN_JSAMPLE,    (uint8_t)(p->height >> 8),
		(uint8_t)p->height, (uint8_t)(p->width >> 8),
		(uint8_t)p->width,  (uint8_t)count,
	};

	for (uint32_t i = 0; i < count; i++) {
		const jpeg_component_info *c = &e->jpeg.comp_info[i];
		uint8_t *to = data + 6 + 3 * i;

		to[0] = (uint8_t)c->component_id;
		to[1] = (uint8_t)(c->h_samp_factor << 4 | c->v_samp_factor);
		to[2] = (uint8_t)c->quant_tbl_no;
	}
	write_pieces(e, MARKER_SOF0, data, 6 + 3 * count, NULL, 0);
}

static void write_scan_header(struct encoder *e)
{
	uint32_t count = e->src->plane_count;
	uint8_t data[4 + 2 * IMG_PLANES_MAX] = { (uint8_t)count };
	uint8_t *to = data + 1;

	for (uint32_t i = 0; i < count; i++) {
		const jpeg_component_info *c = &e->jpeg.comp_info[i];

		*to++ = (uint8_t)c->component_id;
		*to++ = (uint8_t)(c->dc_tbl_no << 4 | c->ac_tbl_no);
	}
	to[1] = DCTSIZE2 - 1; /* the last coefficient */
	write_pieces(e, MARKER_SOS, data, 4 + 2 * count, NULL, 0);
}

static void write_baseline(struct encoder *e)
{
	static const uint8_t start[] =
		"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0";
	static const uint8_t end[] = { 0xff, MARKER_EOI };
	uint32_t table_count = e->src->plane_count > 1 ? 2 : 1;
	struct jpeg_compress_struct *jpeg = &e->jpeg;

	e->baseline =
		baseline_new(e->src, jpeg, e->transform->effort, e->memory);
	if (e->baseline == NULL)
		longjmp(e->failed, 1);
	if (jpeg->optimize_coding)
		baseline_optimise(e->baseline);
	write_bytes(e, start, sizeof(start));
	write_segments(e);
	for (uint32_t i = 0; i < table_count; i++)
		write_quant_table(e, i);
	write_frame(e);
	for (uint32_t i = 0; i < table_count; i++) {
		write_code_table(e, i, jpeg->dc_huff_tbl_ptrs[i]);
		write_code_table(e, 0x10 + i, jpeg->ac_huff_tbl_ptrs[i]);
	}
	write_scan_header(e);
	if (!baseline_write(e->baseline, &e->out))
		longjmp(e->failed, 1);
	write_bytes(e, end, sizeof(end));
}

static bool is_for_libjpeg(const struct img_transform *transform)
{
	return transform->progressive || !fdct_is_supported();
}

static void encode_planes(struct encoder *e)
{
	size_t room = room_bytes(e->src, e->src->profile_bytes,
				 e->transform->quality) +
		      e->map_bytes + metadata_bytes(e->src);

	set_parameters(e);
	for (uint32_t i = 0; i < e->src->plane_count; i++)
		pad_plane(&e->src->planes[i]);
	if (!output_grow(&e->out, room))
		longjmp(e->failed, 1);
	if (is_for_libjpeg(e->transform))
		write_by_libjpeg(e);
	else
		write_baseline(e);
	if (e->map != NULL)
		append_map(e);
}

/* False: out of memory. */
static bool encoder_run(struct encoder *e)
{
	e->jpeg.err = jpeg_std_error(&e->errors);
	e->errors.error_exit = encoder_on_error;
	e->errors.emit_message = encoder_on_message;
	e->progress.progress_monitor = encoder_on_progress;
	e->jpeg.client_data = e;
	e->destination.init_destination = destination_init;
	e->destination.empty_output_buffer = destination_full;
	e->destination.term_destination = destination_end;
	if (setjmp(e->failed) == 0) {
		jpeg_create_compress(&e->jpeg);
		jpeg_memory_install(&e->working, (j_common_ptr)&e->jpeg,
				    e->memory, UINT64_MAX);
		e->jpeg.dest = &e->destination;
		e->jpeg.progress = &e->progress;
		encode_planes(e);
		e->done = true;
	}
	baseline_free(e->baseline);
	jpeg_memory_release(&e->working, (j_common_ptr)&e->jpeg);
	jpeg_destroy_compress(&e->jpeg);
	return e->done;
}

/* Copy the result into a block of its own size, unless that saves little. */
static uint8_t *take_result(struct encoder *e)
{
	const struct memory *memory = e->memory;
	uint8_t *out = e->out.bytes;

	if (e->out.count <= e->out.room_bytes / 2) {
		out = memory->alloc(memory->arg, e->out.count);
		if (out != NULL)
			memcpy(out, e->out.bytes, e->out.count);
		memory->free(memory->arg, e->out.bytes);
	}
	return out;
}

/* The result, of e->out.count bytes.  NULL: out of memory. */
static uint8_t *encode(struct encoder *e)
{
	assert(e->quality >= 1 && e->quality <= 100);
	assert(e->src->profile_bytes <= PROFILE_BYTES_MAX);
	if (!encoder_run(e)) {
		memory_free(e->memory, e->out.bytes);
		return NULL;
	}
	return take_result(e);
}

enum img_err jpeg_encode(uint8_t **jpeg, size_t *jpeg_bytes, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory)
{
	struct encoder e = { .memory = memory,
			     .out.memory = memory,
			     .src = src,
			     .transform = transform,
			     .quality = quality };
	uint8_t *map = NULL, *out = NULL;

	if (src->gainmap != NULL) {
		struct img_transform coding = gainmap_coding(transform);
		struct encoder m = { .memory = memory,
				     .out.memory = memory,
				     .src = &src->gainmap->image,
				     .transform = &coding,
				     .quality = coding.quality,
				     .gain = &src->gainmap->gain };

		map = encode(&m);
		e.map = map;
		e.map_bytes = m.out.count;
	}
	if (src->gainmap == NULL || map != NULL)
		out = encode(&e);
	memory_free(memory, map);
	if (out == NULL)
		return IMG_ERR_NO_MEMORY;
	*jpeg = out;
	*jpeg_bytes = e.out.count;
	return IMG_OK;
}

/* --- Estimate --- */

enum encode_term {
	TERM_RESULTS, /* always 1 */
	TERM_OPTIMIZED_RESULTS,
	TERM_PROGRESSIVE_RESULTS,
	TERM_SAMPLES,
	TERM_OPTIMIZED_SAMPLES,   /* additional, for two passes */
	TERM_PROGRESSIVE_SAMPLES, /* additional, for ten scans */
	TERM_SHARP_SAMPLES,       /* additional, if not blurred */
	TERM_SHARP_PROGRESSIVE_SAMPLES,
	/*
	 * Additional for each bit that coefficients are finer than at the
	 * quality of the photos to which the others were fitted.
	 */
	TERM_FINE_SAMPLE_BITS,
	TERM_FINE_OPTIMIZED_SAMPLE_BITS,
	TERM_FINE_PROGRESSIVE_SAMPLE_BITS,
	TERM_COUNT,
};

static const struct estimate_term encode_terms[TERM_COUNT] = {
	[TERM_RESULTS] = { "result", 5400 },
	[TERM_OPTIMIZED_RESULTS] = { "result, optimised", 8400 },
	[TERM_PROGRESSIVE_RESULTS] = { "result, progressive", 90700 },
	[TERM_SAMPLES] = { "sample", 0.475 },
	[TERM_OPTIMIZED_SAMPLES] = { "sample, optimised", 0.25 },
	[TERM_PROGRESSIVE_SAMPLES] = { "sample, progressive", 5.52 },
	[TERM_SHARP_SAMPLES] = { "sample, not blurred", 0.21 },
	[TERM_SHARP_PROGRESSIVE_SAMPLES] = { "sample, progressive, not blurred",
					     3.43 },
	[TERM_FINE_SAMPLE_BITS] = { "sample times bits of quality", 0.28 },
	[TERM_FINE_OPTIMIZED_SAMPLE_BITS] = { "optimised sample times bits",
					      0.10 },
	[TERM_FINE_PROGRESSIVE_SAMPLE_BITS] = { "progressive sample times bits",
						2.43 },
};

/* A result that is blurred with a smaller sigma is sharp. */
#define SHARP_SIGMA_MAX 0.7

/*
 * How many bits finer than at FITTED_QUALITY the coefficients are: libjpeg
 * multiplies its tables by 2 - quality / 50, at least by a hundredth.
 */
static double fine_bits(int quality)
{
	enum { FITTED_QUALITY = 80 };

	if (quality <= FITTED_QUALITY)
		return 0;
	return log2((200 - 2.0 * FITTED_QUALITY) / fmax(200 - 2 * quality, 1));
}

/* libjpeg's small allocations before and after all coefficients, in bytes. */
enum {
	BEFORE_BYTES = 1152,
	OPTIMIZED_AFTER_BYTES = 14464,
	PROGRESSIVE_AFTER_BYTES = 8768,
};

static uint32_t blocks_of(uint32_t samples, uint32_t step)
{
	uint32_t blocks = (samples + DCTSIZE - 1) / DCTSIZE;

	return (blocks + step - 1) / step * step;
}

/* libjpeg's memory if it must collect all coefficients before it writes. */
static uint64_t coefficient_bytes(const struct image *img, bool progressive)
{
	struct img_size blocks[IMG_PLANES_MAX];
	bool is_halved = img->plane_count > 1 && !image_has_full_chroma(img);

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		uint32_t step = i == 0 && is_halved ? 2 : 1;

		blocks[i] = (struct img_size){ blocks_of(p->width, step),
					       blocks_of(p->height, step) };
	}
	return jpeg_memory_bytes(blocks, img->plane_count, BEFORE_BYTES,
				 progressive ? PROGRESSIVE_AFTER_BYTES :
					       OPTIMIZED_AFTER_BYTES);
}

static uint64_t encode_bytes(const struct workload *w)
{
	const struct img_transform *t = w->transform;
	const struct image *img = &w->scaled;
	uint64_t working = JPEG_MEMORY_BYTES_MIN;
	uint64_t room = room_bytes(img, w->profile_bytes, t->quality);

	if (!is_for_libjpeg(t))
		working = ARENA_CHUNK_BYTES +
			  baseline_bytes(img, is_optimised(t));
	else if (t->progressive || is_optimised(t))
		working = coefficient_bytes(img, t->progressive);
	/* A result is copied only if it takes at most half of its room. */
	return image_bytes(img) + w->profile_bytes + room +
	       max_u64(working, room / 2);
}

/*
 * How many times as long as baseline.c libjpeg takes, if it is not progressive.
 */
#define LIBJPEG_TIMES 1.8
#define LIBJPEG_OPTIMIZED_TIMES 2.8

/* The fixed cost of a row of blocks, in samples of each row. */
enum { ROW_SAMPLES_MIN = 64 };

static void encode_count(double *counts, const struct workload *w)
{
	const struct img_transform *t = w->transform;
	bool is_sharp = t->blur_sigma_px < SHARP_SIGMA_MAX;
	double samples = 0;

	for (uint32_t i = 0; i < w->scaled.plane_count; i++) {
		const struct img_plane *p = &w->scaled.planes[i];

		samples += samples_in_groups(p->width, p->height,
					     ROW_SAMPLES_MIN, DCTSIZE);
	}
	if (!t->progressive && is_for_libjpeg(t))
		samples *= is_optimised(t) ? LIBJPEG_OPTIMIZED_TIMES :
					     LIBJPEG_TIMES;
	counts[TERM_RESULTS] = 1;
	counts[TERM_OPTIMIZED_RESULTS] = is_optimised(t);
	counts[TERM_PROGRESSIVE_RESULTS] = t->progressive;
	counts[TERM_SAMPLES] = samples;
	counts[TERM_FINE_SAMPLE_BITS] = samples * fine_bits(t->quality);
	if (t->progressive) {
		counts[TERM_PROGRESSIVE_SAMPLES] = samples;
		counts[TERM_FINE_PROGRESSIVE_SAMPLE_BITS] =
			samples * fine_bits(t->quality);
	} else if (is_optimised(t)) {
		counts[TERM_OPTIMIZED_SAMPLES] = samples;
		counts[TERM_FINE_OPTIMIZED_SAMPLE_BITS] =
			samples * fine_bits(t->quality);
	}
	if (is_sharp)
		counts[TERM_SHARP_SAMPLES] = samples;
	if (is_sharp && t->progressive)
		counts[TERM_SHARP_PROGRESSIVE_SAMPLES] = samples;
}

const struct step_estimate jpeg_encode_estimate = {
	.name = "encode",
	.terms = encode_terms,
	.term_count = TERM_COUNT,
	.count = encode_count,
	.bytes = encode_bytes,
};
