/* SPDX-License-Identifier: MIT */
/*
 * Decode with libjpeg-turbo: raw planes, scaled in the DCT.
 *
 * libjpeg reports errors by longjmp and damage by warnings.  Both end here:
 * all state is in struct decoder, whose steps run under one setjmp, so no
 * local variable lives across it.  A warning that means lost pixels becomes an
 * error; the end of the input becomes an EOI marker, so a file that only lacks
 * its EOI is still whole.
 */
#include "imgops/imgops.h"

#include "imgops/exif.h"
#include "imgops/interleaved.h"
#include "imgops/planar.h"
#include "imgops/planes.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>
#include <jerror.h>

enum { DCT_EIGHTHS = 8 }; /* libjpeg's scales: 1/8 .. 8/8 */

struct decoder {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	enum img_err err;
	bool hit_end; /* libjpeg asked for more than there is */

	const struct img_limits *limits;
	int scan_number;          /* of the last one seen by on_progress() */
	uint32_t components_seen; /* bit i: a scan held component i */

	struct img_header header; /* probe_step() fills it */

	const struct img_memory *memory; /* for decode_step() */
	struct img_size target;          /* in the file's orientation */
	struct image *dst;
};

_Noreturn static void fail(struct decoder *d, enum img_err err)
{
	d->err = err;
	longjmp(d->failed, 1);
}

static enum img_err damage(const struct decoder *d)
{
	return d->hit_end ? IMG_ERR_TRUNCATED : IMG_ERR_CORRUPT;
}

static enum img_err classify(const struct decoder *d, int msg_code)
{
	switch (msg_code) {
	case JERR_NO_SOI:
	case JERR_INPUT_EMPTY:
		return IMG_ERR_NOT_JPEG;
	case JERR_BAD_PRECISION:
	case JERR_SOF_UNSUPPORTED:
	case JERR_COMPONENT_COUNT:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_CCIR601_NOTIMPL:
		return IMG_ERR_UNSUPPORTED;
	case JERR_IMAGE_TOO_BIG:
	case JERR_WIDTH_OVERFLOW:
		return IMG_ERR_TOO_LARGE;
	case JERR_OUT_OF_MEMORY:
		return IMG_ERR_NO_MEMORY;
	default:
		return damage(d);
	}
}

static void on_error(j_common_ptr jpeg)
{
	struct decoder *d = jpeg->client_data;

	fail(d, classify(d, jpeg->err->msg_code));
}

/* `level` -1: a warning; 0 and up: traces. */
static void on_message(j_common_ptr jpeg, int level)
{
	if (level >= 0)
		return;
	switch (jpeg->err->msg_code) {
	case JWRN_ADOBE_XFORM: /* odd headers, and bytes left over before a */
	case JWRN_JFIF_MAJOR:  /* marker (MJPEG cameras do that): every */
	case JWRN_NOT_SEQUENTIAL: /* pixel is still there */
	case JWRN_EXTRANEOUS_DATA:
	case JWRN_BOGUS_ICC:
		return;
	default:
		fail(jpeg->client_data, damage(jpeg->client_data));
	}
}

static void on_output(j_common_ptr jpeg)
{
	(void)jpeg;
}

static void source_init(j_decompress_ptr jpeg)
{
	(void)jpeg;
}

static boolean source_fill(j_decompress_ptr jpeg)
{
	static const JOCTET end[] = { 0xff, JPEG_EOI };
	struct decoder *d = jpeg->client_data;

	/* The arithmetic decoder never warns that its data has run out. */
	if (jpeg->arith_code)
		fail(d, IMG_ERR_TRUNCATED);
	d->hit_end = true;
	jpeg->src->next_input_byte = end;
	jpeg->src->bytes_in_buffer = sizeof(end);
	return TRUE;
}

static void source_skip(j_decompress_ptr jpeg, long bytes)
{
	struct jpeg_source_mgr *src = jpeg->src;

	if (bytes <= 0)
		return;
	if ((size_t)bytes > src->bytes_in_buffer) {
		(void)source_fill(jpeg);
		return;
	}
	src->next_input_byte += bytes;
	src->bytes_in_buffer -= (size_t)bytes;
}

static void on_scan(struct decoder *d)
{
	uint32_t components = 0;

	for (int i = 0; i < d->jpeg.comps_in_scan; i++)
		components |= 1u << d->jpeg.cur_comp_info[i]->component_index;
	/* Only a progressive file may come back to a component. */
	if (!d->jpeg.progressive_mode && (components & d->components_seen) != 0)
		fail(d, IMG_ERR_CORRUPT);
	d->components_seen |= components;
}

/* Called all along while a file is read, so in every scan. */
static void on_progress(j_common_ptr jpeg)
{
	struct decoder *d = jpeg->client_data;

	if ((uint32_t)d->jpeg.input_scan_number > d->limits->scans_max)
		fail(d, IMG_ERR_TOO_MANY_SCANS);
	if (d->jpeg.input_scan_number == d->scan_number)
		return;
	d->scan_number = d->jpeg.input_scan_number;
	on_scan(d);
}

/* Run `step` with the JPEG opened; whatever happens, close it again. */
static enum img_err decoder_run(struct decoder *d, const uint8_t *jpeg,
				size_t jpeg_bytes,
				void (*step)(struct decoder *d))
{
	d->source = (struct jpeg_source_mgr){
		.next_input_byte = jpeg,
		.bytes_in_buffer = jpeg_bytes,
		.init_source = source_init,
		.fill_input_buffer = source_fill,
		.skip_input_data = source_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = source_init,
	};
	d->progress.progress_monitor = on_progress;
	d->jpeg.err = jpeg_std_error(&d->errors);
	d->errors.error_exit = on_error;
	d->errors.emit_message = on_message;
	d->errors.output_message = on_output;
	d->jpeg.client_data = d;
	if (setjmp(d->failed) == 0) {
		jpeg_create_decompress(&d->jpeg);
		d->jpeg.src = &d->source;
		d->jpeg.progress = &d->progress;
		step(d);
	}
	jpeg_destroy_decompress(&d->jpeg);
	return d->err;
}

static struct img_size turned(struct img_size size, uint32_t orientation)
{
	if (orientation < 5)
		return size;
	return (struct img_size){ size.height_px, size.width_px };
}

static void check_limits(struct decoder *d, struct img_size size)
{
	const struct img_limits *limits = d->limits;

	if (size.width_px > limits->side_px_max ||
	    size.height_px > limits->side_px_max ||
	    (uint64_t)size.width_px * size.height_px > limits->pixels_max)
		fail(d, IMG_ERR_TOO_LARGE);
}

static struct img_size read_header(struct decoder *d)
{
	(void)jpeg_read_header(&d->jpeg, TRUE);

	struct img_size size = { d->jpeg.image_width, d->jpeg.image_height };

	check_limits(d, size);
	return size;
}

/* The smallest scale, in eighths, at which the picture covers `target`. */
static uint32_t choose_eighths(struct img_size full, struct img_size target)
{
	uint32_t eighths = 1;

	while (eighths < DCT_EIGHTHS &&
	       ((uint64_t)full.width_px * eighths <
			(uint64_t)target.width_px * DCT_EIGHTHS ||
		(uint64_t)full.height_px * eighths <
			(uint64_t)target.height_px * DCT_EIGHTHS))
		eighths++;
	return eighths;
}

static uint64_t round_up(uint64_t n, int step)
{
	return (n + (uint64_t)step - 1) / (uint64_t)step * (uint64_t)step;
}

/* libjpeg keeps all coefficients of a file of several scans, in whole MCUs. */
static uint64_t coefficient_bytes(struct jpeg_decompress_struct *jpeg)
{
	uint64_t blocks = 0;

	if (!jpeg_has_multiple_scans(jpeg))
		return 0;
	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];

		blocks += round_up(c->width_in_blocks, c->h_samp_factor) *
			  round_up(c->height_in_blocks, c->v_samp_factor);
	}
	return blocks * sizeof(JBLOCK);
}

static void allocate(struct decoder *d)
{
	uint64_t planes = image_bytes(d->dst);
	uint64_t limit = d->limits->decode_bytes_max;

	if (planes > limit || coefficient_bytes(&d->jpeg) > limit - planes)
		fail(d, IMG_ERR_TOO_LARGE);
	if (!image_alloc(d->dst, d->memory))
		fail(d, IMG_ERR_NO_MEMORY);
}

/*
 * The end of the input between two scans looks like the end of the file.  Then
 * some components or coefficients have never come, or not with all their bits.
 */
static bool is_complete(struct decoder *d)
{
	struct jpeg_decompress_struct *jpeg = &d->jpeg;

	if (!jpeg_has_multiple_scans(jpeg))
		return true;
	if (d->components_seen != (1u << jpeg->num_components) - 1)
		return false;
	if (!d->hit_end || !jpeg->progressive_mode)
		return true;
	for (int i = 0; i < jpeg->num_components; i++)
		for (int k = 0; k < DCTSIZE2; k++)
			if (jpeg->coef_bits[i][k] != 0)
				return false;
	return true;
}

/* Arithmetic data that some other marker cut short reads as zeros. */
static bool ends_well(const struct decoder *d)
{
	return !d->jpeg.arith_code || d->jpeg.unread_marker == 0 ||
	       d->jpeg.unread_marker == JPEG_EOI;
}

static void decode_step(struct decoder *d)
{
	struct jpeg_decompress_struct *jpeg = &d->jpeg;
	bool planar;

	jpeg->scale_num = choose_eighths(read_header(d), d->target);
	jpeg->scale_denom = DCT_EIGHTHS;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->do_block_smoothing = FALSE;
	planar = planar_prepare(jpeg);
	if (!planar && !interleaved_prepare(jpeg))
		fail(d, IMG_ERR_UNSUPPORTED);
	jpeg_calc_output_dimensions(jpeg);
	if (planar)
		planar_shape(d->dst, jpeg);
	else
		interleaved_shape(d->dst, jpeg);
	allocate(d);
	(void)jpeg_start_decompress(jpeg);
	if (!is_complete(d))
		fail(d, damage(d));
	if (planar)
		planar_read(d->dst, jpeg);
	else
		interleaved_read(d->dst, jpeg);
	if (!ends_well(d))
		fail(d, IMG_ERR_CORRUPT);
}

/* What the whole picture would measure, at the scale of `view`. */
static struct img_size whole_size(const struct img_view *view)
{
	return (struct img_size){
		(uint32_t)ceil(view->size.width_px / view->width - 1e-6),
		(uint32_t)ceil(view->size.height_px / view->height - 1e-6),
	};
}

enum img_err img_decode(struct image *dst, const uint8_t *jpeg,
			size_t jpeg_bytes, const struct img_header *header,
			const struct img_view *view,
			const struct img_recipe *recipe,
			const struct img_limits *limits,
			const struct img_memory *memory)
{
	struct decoder d = {
		.limits = limits,
		.memory = memory,
		.target = turned(whole_size(view), view->orientation),
		.dst = dst,
	};
	(void)header;
	(void)recipe;
	enum img_err err = decoder_run(&d, jpeg, jpeg_bytes, decode_step);

	if (err != IMG_OK)
		img_release(dst);
	return err;
}
