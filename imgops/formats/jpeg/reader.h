/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: libjpeg's decompressor, without its longjmp and warnings.
 *
 * libjpeg reports errors by longjmp and damage by warnings.  reader_run() calls
 * a function, `step`, that may use r->jpeg freely, and returns the error.  When
 * libjpeg fails, longjmp leaves `step` in the middle.  So everything that is
 * needed afterwards must be in `arg`, not in local variables.
 *
 * A warning that means lost pixels is an error; if `lenient` is set, it only
 * sets `is_damaged`.  At the end of the input, libjpeg is given an EOI marker,
 * so a file that lacks only its EOI counts as intact.
 */
#ifndef IMGOPS_FORMATS_JPEG_READER_H
#define IMGOPS_FORMATS_JPEG_READER_H

#include "imgops/imgops.h"
#include "imgops/formats/jpeg/memory.h"
#include "imgops/formats/jpeg/scans.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

struct reader {
	/* Set by the caller. */
	const struct piece *pieces; /* the file, in the order of reading */
	uint32_t piece_count;
	const struct img_limits *limits;
	const struct memory *memory;
	bool lenient;

	struct jpeg_decompress_struct jpeg;
	bool is_damaged;
	/* Where reading stopped, in the last piece that was read. */
	const uint8_t *at;

	/* Private. */
	struct jpeg_error_mgr errors;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	struct jpeg_memory jpeg_memory;
	jmp_buf failed;
	enum img_err err;
	uint32_t next_piece;
	struct piece rest; /* what libjpeg has not yet got of the last piece */
	bool hit_end;      /* libjpeg asked for more than there is */
	int scan_number;   /* the last scan that reader_on_progress() saw */
	uint32_t components_seen; /* bit i: a scan with component i was seen */
};

/* Open the file, call `step`, and always close the file again. */
enum img_err reader_run(struct reader *r, void (*step)(void *arg), void *arg);

/* The functions below may be called only by `step`. */

/* Leave `step`. */
_Noreturn void reader_fail(struct reader *r, enum img_err err);

/*
 * Let jpeg.src have all that is left of the piece, for a reader that pauses by
 * itself.
 */
void reader_open_rest(struct reader *r);

/*
 * Call it when all scans of a file with several scans have been read.  It
 * checks that every coefficient of every component came with all its bits.
 */
void reader_check_scans(struct reader *r);

/*
 * Call it after the last row.  It checks for arithmetic-coded data that end
 * early.
 */
void reader_check_end(struct reader *r);

#endif
