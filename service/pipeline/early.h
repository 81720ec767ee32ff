/* SPDX-License-Identifier: MIT */
/*
 * Early: an upload is decoded while its body arrives, by a core that has
 * nothing else to do.  When the last byte is there, only the rest is left:
 * img_decode_rest().
 *
 *	body     |  arrives ............................|
 *	early        | decode | decode |  | decode |
 *	stages                                           | rest > scale ...
 *
 * It is for bodies that take long to arrive, as further events of the upload in
 * the stage of help.h.  Its memory is charged, and is a small multiple of what
 * has arrived, so that a client that sends little takes little.
 *
 * Threads    One at a time: before pipeline_submit() the owner of the upload,
 *            then the pipeline.
 */
#ifndef SERVICE_EARLY_H
#define SERVICE_EARLY_H

#include "service/pipeline/budget.h"
#include "service/pipeline/help.h"

#include "imgops/imgops.h"

/* Zero it. */
struct early {
	struct charge charge; /* of its memory, besides that of the upload */
	/* NULL: nothing is decoded early. */
	struct img_early *decoding;

	/* Private to early.c. */
	bool is_tried;
	uint64_t since_ns; /* the first arrival; 0: none */
	struct help help;
	bool is_begun; /* a part */
	_Atomic bool has_run, stop;
	enum img_err err; /* of the parts that have run */
	const uint8_t *bytes;
	size_t count;
};

/* What is to be decoded, and with what. */
struct early_work {
	struct help_stage *of;
	struct budget *budget;
	const uint8_t *bytes;
	size_t count; /* that have arrived */
	uint64_t number;
	const struct img_header *header;
	const struct img_view *view;
	const struct img_transform *transform;
	const struct img_limits *limits;
	uint64_t memory_bytes; /* at most */
	const struct memory *memory;
};

/*
 * Not between early_begin() and early_end(): has the body arrived for long
 * enough, and is enough of it there, to decode a picture that takes
 * `memory_bytes`?
 */
bool early_is_due(struct early *e, size_t count, uint64_t memory_bytes);

/* Begin, if there is memory. */
void early_begin(struct early *e, const struct early_work *work);

/*
 * More bytes have arrived.  Errors: those of img_early_come(), of an earlier
 * call.
 */
MUST_CHECK enum img_err early_go_on(struct early *e, const uint8_t *bytes,
				    size_t count);

/*
 * The bytes may now move, or the upload may be submitted: nobody reads them
 * until early_go_on().  It waits for some MCUs at most.
 */
void early_hold(struct early *e);

/* After early_hold(): free everything.  It may begin anew. */
void early_end(struct early *e);

#endif
