/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/reader.h"

#include <jerror.h>

/*
 * libjpeg gets no more of the file at once, and pauses before it gets the next
 * part: a row of MCUs may have megabytes, and there is no other pause in it.
 */
enum { PART_BYTES = 64 << 10 };

_Noreturn void reader_fail(struct reader *r, enum img_err err)
{
	r->err = err;
	longjmp(r->failed, 1);
}

/*
 * Some pixels are lost: this is an error, or only noted if the reader is
 * lenient.  If not even one row of MCUs was read, it is always an error.
 */
static void lose_pixels(struct reader *r)
{
	if (!r->lenient || (!r->is_damaged && r->jpeg.input_scan_number <= 1 &&
			    r->jpeg.input_iMCU_row == 0))
		reader_fail(r,
			    r->hit_end ? IMG_ERR_TRUNCATED : IMG_ERR_CORRUPT);
	r->is_damaged = true;
}

static enum img_err error_of_message(const struct reader *r, int msg_code)
{
	switch (msg_code) {
	case JERR_NO_SOI:
	case JERR_INPUT_EMPTY:
		return IMG_ERR_UNKNOWN_FORMAT;
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
		return r->jpeg_memory.account.over_limit ? IMG_ERR_TOO_LARGE :
							   IMG_ERR_NO_MEMORY;
	default:
		return r->hit_end ? IMG_ERR_TRUNCATED : IMG_ERR_CORRUPT;
	}
}

static void reader_on_error(j_common_ptr jpeg)
{
	struct reader *r = jpeg->client_data;

	reader_fail(r, error_of_message(r, jpeg->err->msg_code));
}

/*
 * `level` is -1 for a warning, 0 or more for traces.  Warnings about unusual
 * headers, and about extra bytes before a marker (which MJPEG cameras write),
 * are ignored: no pixel is lost.
 */
static void reader_on_message(j_common_ptr jpeg, int level)
{
	if (level >= 0)
		return;
	switch (jpeg->err->msg_code) {
	case JWRN_ADOBE_XFORM:
	case JWRN_JFIF_MAJOR:
	case JWRN_NOT_SEQUENTIAL:
	case JWRN_EXTRANEOUS_DATA:
	case JWRN_BOGUS_ICC:
		return;
	default:
		lose_pixels(jpeg->client_data);
	}
}

static void reader_on_output(j_common_ptr jpeg)
{
	(void)jpeg;
}

static void source_init(j_decompress_ptr jpeg)
{
	(void)jpeg;
}

static void source_open(struct reader *r, const uint8_t *data, size_t bytes)
{
	size_t part = bytes < PART_BYTES ? bytes : PART_BYTES;

	r->source.next_input_byte = data;
	r->source.bytes_in_buffer = part;
	r->rest = (struct piece){ data + part, bytes - part };
}

static boolean source_fill(j_decompress_ptr jpeg)
{
	static const JOCTET end[] = { 0xff, JPEG_EOI };
	struct reader *r = jpeg->client_data;

	if (r->rest.bytes > 0) {
		memory_pause(r->memory);
		source_open(r, r->rest.data, r->rest.bytes);
		return TRUE;
	}
	if (r->next_piece < r->piece_count) {
		const struct piece *p = &r->pieces[r->next_piece++];

		source_open(r, p->data, p->bytes);
		return TRUE;
	}
	r->hit_end = true;
	/* The arithmetic decoder does not warn when its data end too early. */
	if (jpeg->arith_code)
		lose_pixels(r);
	source_open(r, end, sizeof(end));
	return TRUE;
}

static void source_skip(j_decompress_ptr jpeg, long bytes)
{
	struct reader *r = jpeg->client_data;
	struct jpeg_source_mgr *src = jpeg->src;
	size_t left = src->bytes_in_buffer + r->rest.bytes;

	if (bytes <= 0)
		return;
	if ((size_t)bytes <= src->bytes_in_buffer) {
		src->next_input_byte += bytes;
		src->bytes_in_buffer -= (size_t)bytes;
	} else if ((size_t)bytes <= left) {
		left -= (size_t)bytes;
		source_open(r, r->rest.data + r->rest.bytes - left, left);
	} else {
		r->rest.bytes = 0;
		(void)source_fill(jpeg);
	}
}

static void on_scan(struct reader *r)
{
	uint32_t components = 0;

	for (int i = 0; i < r->jpeg.comps_in_scan; i++)
		components |= 1u << r->jpeg.cur_comp_info[i]->component_index;
	/*
	 * Only a progressive file may have several scans of one component. What
	 * comes before is used if the reader is lenient: the caller reads the
	 * file again up to here, so that no component is decoded many times.
	 */
	if (!r->jpeg.progressive_mode && (components & r->components_seen) != 0)
		reader_fail(r, IMG_ERR_CORRUPT);
	r->components_seen |= components;
}

/*
 * libjpeg calls this often while it reads a file, at least once in every scan.
 */
static void reader_on_progress(j_common_ptr jpeg)
{
	struct reader *r = jpeg->client_data;

	memory_pause(r->memory);
	if ((uint32_t)r->jpeg.input_scan_number > r->limits->scans_max)
		reader_fail(r, IMG_ERR_TOO_MANY_SCANS);
	if (r->jpeg.input_scan_number == r->scan_number)
		return;
	r->scan_number = r->jpeg.input_scan_number;
	on_scan(r);
}

static void reader_open(struct reader *r)
{
	r->source = (struct jpeg_source_mgr){
		.init_source = source_init,
		.fill_input_buffer = source_fill,
		.skip_input_data = source_skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = source_init,
	};
	r->progress.progress_monitor = reader_on_progress;
	r->jpeg.err = jpeg_std_error(&r->errors);
	r->errors.error_exit = reader_on_error;
	r->errors.emit_message = reader_on_message;
	r->errors.output_message = reader_on_output;
	r->jpeg.client_data = r;
}

enum img_err reader_run(struct reader *r, void (*step)(void *arg), void *arg)
{
	reader_open(r);
	if (setjmp(r->failed) == 0) {
		jpeg_create_decompress(&r->jpeg);
		jpeg_memory_install(&r->jpeg_memory, (j_common_ptr)&r->jpeg,
				    r->memory, r->limits->decode_bytes_max);
		r->jpeg.src = &r->source;
		r->jpeg.progress = &r->progress;
		step(arg);
	}
	r->at = r->source.next_input_byte;
	jpeg_memory_release(&r->jpeg_memory, (j_common_ptr)&r->jpeg);
	jpeg_destroy_decompress(&r->jpeg);
	return r->err;
}

void reader_open_rest(struct reader *r)
{
	r->source.bytes_in_buffer += r->rest.bytes;
	r->rest.bytes = 0;
}

void reader_check_scans(struct reader *r)
{
	const struct jpeg_decompress_struct *jpeg = &r->jpeg;
	bool is_cut = r->hit_end && jpeg->progressive_mode;

	if (r->components_seen != (1u << jpeg->num_components) - 1)
		lose_pixels(r);
	for (int i = 0; is_cut && i < jpeg->num_components; i++)
		for (int k = 0; k < DCTSIZE2; k++)
			if (jpeg->coef_bits[i][k] != 0)
				lose_pixels(r);
}

void reader_check_end(struct reader *r)
{
	/*
	 * If arithmetic-coded data end early at another marker, libjpeg reads
	 * zeros and does not warn.
	 */
	if (r->jpeg.arith_code && r->jpeg.unread_marker != 0 &&
	    r->jpeg.unread_marker != JPEG_EOI) {
		r->hit_end = false;
		lose_pixels(r);
	}
}
