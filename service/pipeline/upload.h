/* SPDX-License-Identifier: MIT */
/*
 * Upload: one request's picture on its way through the pipeline, and the
 * results made of it: one variant, or several from one decode.
 *
 *	decode -+-> scale > blur > encode -+-> store
 *	        +-> scale -------> encode -+   (nothing to retouch)
 *	        variants[0], [1], ...
 *
 * With the stages of the thesis, `parse` is before decode, and `statistics`
 * after encode.
 *
 * Ownership  From pipeline_submit() to done() the pipeline owns the upload and
 *            everything it points to, variants too; before and after, the
 *            caller does.
 */
#ifndef SERVICE_UPLOAD_H
#define SERVICE_UPLOAD_H

#include "service/pipeline/block_list.h"
#include "service/pipeline/budget.h"
#include "service/pipeline/early.h"
#include "service/pipeline/excess.h"
#include "service/pipeline/help.h"

#include "imgops/imgops.h"
#include "stages/stage.h"

#include <inttypes.h>

/* How logs and traces print an upload's number; X-Request-Id ends with it. */
#define UPLOAD_NUMBER "%06" PRIx64

enum pipeline_step {
	PIPELINE_PARSE, /* upload.parse(); only with the thesis's stages */
	PIPELINE_DECODE,
	PIPELINE_SCALE,
	PIPELINE_BLUR, /* all of img_retouch(); skipped if there is nothing */
	PIPELINE_ENCODE,
	PIPELINE_STATISTICS, /* counts; only with the thesis's stages */
	PIPELINE_STEPS, /* those above run on the workers of the schedule */
	PIPELINE_STORE = PIPELINE_STEPS, /* runs on threads of its own */
};

/* Each step has a stage, and a time in struct upload. */
enum { PIPELINE_STAGES = PIPELINE_STORE + 1 };

/*
 * Work for the store stage: see pipeline_send_task().  Embed a task in a
 * struct.  Set `run` and, for traces, event.number; zero the rest.
 */
struct task {
	struct event event;
	/*
	 * Called on a thread of the stage.  From then on, the pipeline does not
	 * use the task.
	 */
	void (*run)(struct task *t);
};

/* How an upload ended, or why the pipeline did not take it. */
enum upload_end {
	UPLOAD_ENDED,       /* all its steps ran, or one failed: see `err` */
	UPLOAD_NO_SLOT,     /* not taken: no free slot, or stopping */
	UPLOAD_MEMORY_FULL, /* not taken, or its wait for memory was broken */
	UPLOAD_TOO_MUCH,    /* not taken: larger than the whole budget */
	UPLOAD_TOO_MUCH_OUTPUT, /* its results exceed output_pixels_max */
	UPLOAD_TOO_MUCH_CPU,    /* its estimate exceeds cpu_ns_max */
	UPLOAD_ABANDONED,       /* by pipeline_abandon() */
	UPLOAD_LATE,            /* its deadline passed before its next step */
	UPLOAD_UNREACHABLE, /* by estimate it cannot end before its deadline */
	UPLOAD_BLOCKED,     /* the block list has it: see `block` */
	UPLOAD_GONE,        /* its client disconnected */
	UPLOAD_NOT_PARSED,  /* its parse() has found no picture */
	UPLOAD_STORE_FULL,  /* the store had no room for its results */
	UPLOAD_NOT_STORED,  /* its results could not be written */
	UPLOAD_STORE_UNAVAILABLE, /* a remote store did not answer in time */
};

enum { VARIANTS_MAX = 16, VARIANT_NAME_BYTES = 33 };

/* One picture to make from an upload.  Zero it, then fill the first part. */
struct variant {
	char name[VARIANT_NAME_BYTES]; /* "" if the request names no variant */
	struct img_transform transform;

	/* Valid from done() on, if the upload has a result. */
	uint8_t *jpeg; /* NULL: no result; freed by upload_free_results() */
	size_t jpeg_bytes;
	struct img_size size;
	uint32_t notes; /* IMG_NOTE_... */
	/* The smallest result was larger than it may be; 0: it was not. */
	size_t least_bytes;

	/* Private to the pipeline. */
	struct upload *upload;
	struct closure closure; /* a child of upload.closure */
	struct img_view view;
	struct image image;
	/* CPU time of each step by imgops/, and what takes most of it. */
	uint64_t nominal_ns[PIPELINE_STEPS];
	uint32_t ways[PIPELINE_STEPS];
	uint64_t estimated_ns[PIPELINE_STEPS]; /* as long as here, by pace.h */
	uint64_t begun_ns[PIPELINE_STEPS];
	uint64_t service_ns[PIPELINE_STEPS];
	uint64_t cpu_ns; /* of its steps that have a way */
};

/* The file format of its result. */
static inline const struct img_format *variant_format(const struct variant *v)
{
	return img_formats[v->transform.format];
}

/*
 * The parameters of the whole upload, as opposed to those of a variant.  Every
 * member is in the table of service/http/head/params.c, and so in the id of its
 * image.
 */
struct upload_wants {
	bool placeholder;
	bool pdq; /* a hash by which pictures are compared */
};

/* One request on its way.  Zero it, then fill the first part. */
struct upload {
	uint64_t number; /* shown in traces; 0: none */
	const uint8_t *jpeg;
	size_t jpeg_bytes;
	/*
	 * A charge of pipeline_budget(), at least the memory of `jpeg`.  The
	 * caller sets it before pipeline_submit(), lowers it to the memory of
	 * the results after freeing `jpeg`, and to 0 at the end.  In between
	 * the pipeline changes it.
	 */
	struct charge charge;
	uint64_t jpeg_charge_bytes; /* the part of the charge for `jpeg` */
	struct variant *variants;   /* all have the same transform.lenient */
	uint32_t variant_count;     /* 1 .. VARIANTS_MAX */
	struct upload_wants wants;
	/*
	 * Of CLOCK_MONOTONIC; 0: none.  Before each step: if it has passed, the
	 * upload ends with UPLOAD_LATE; if the steps left would end after it,
	 * with UPLOAD_UNREACHABLE.
	 */
	uint64_t deadline_ns;
	/*
	 * Time for the reply to reach the client.  Until decode has begun, an
	 * upload is UPLOAD_UNREACHABLE unless its steps can end this long
	 * before the deadline.
	 */
	uint64_t reply_ns;
	/*
	 * The reply 202 was sent: the upload goes on even if it is late or its
	 * client disconnects.
	 */
	_Atomic bool is_accepted;
	/*
	 * The first step, if pipeline_parses(): `jpeg` is the whole body yet,
	 * and of `variants` and `wants` nothing is known.  Sets them.  Returns
	 * UPLOAD_ENDED or UPLOAD_NOT_PARSED; then variant_count may be 0.
	 * NULL: they are known when the upload is submitted.
	 */
	enum upload_end (*parse)(struct upload *u);
	/*
	 * Called by pipeline_submit(), unless there is a parse(), when there is
	 * a slot and memory for the upload and its steps are about to begin;
	 * may block.  Returns
	 * UPLOAD_ENDED, or why it is not to be taken.  Or NULL.
	 */
	enum upload_end (*begin)(struct upload *u);
	/* Called before each step: has the client disconnected?  Or NULL. */
	bool (*is_gone)(const struct upload *u);
	/*
	 * Called once, after a successful decode: `jpeg` is not read any more,
	 * so it may be freed, and the charge lowered.  Or NULL.
	 */
	void (*on_decoded)(struct upload *u);
	/*
	 * on_decoded() may set it, if pipeline_can_hold(): the next steps wait
	 * for pipeline_go_on().
	 */
	bool is_held;
	/*
	 * The last step, which may block: store the results.  Returns
	 * UPLOAD_ENDED or why it failed.  NULL: nothing is stored.
	 */
	enum upload_end (*store)(struct upload *u);
	/* Called once, by a worker or by pipeline_submit(); must not block. */
	void (*done)(struct upload *u);

	/*
	 * Valid from done() on; `end` also if the upload was not taken.  Either
	 * all variants have a result or none has.
	 */
	enum upload_end end;
	enum img_err err;
	struct img_size stored; /* of the file; 0 x 0 until it is known */
	struct img_placeholder placeholder; /* if wanted */
	bool is_hashed;                     /* `pdq` is set */
	struct img_pdq pdq;
	struct block_match block; /* if it ended as UPLOAD_BLOCKED */
	uint64_t submitted_ns;    /* of CLOCK_MONOTONIC; also if not taken */
	uint64_t begun_ns[PIPELINE_STAGES]; /* by the first variant; 0: never */
	uint64_t service_ns[PIPELINE_STAGES]; /* sum over variants; 0: none */
	uint64_t waited_ns;                   /* in queues, sum over variants */

	/*
	 * What is known of the header of `jpeg`; zero at first, then completed
	 * as more bytes arrive.
	 */
	struct img_header header;

	/* Private to the pipeline. */
	struct pipeline *pipeline;
	struct closure closure; /* decodes, then waits for its variants */
	struct closure parsing; /* parses, then waits for `closure` */
	/* Stores the results; before, decodes if another process does. */
	struct task task;
	struct postponed held;
	uint64_t decoder_cpu_ns; /* of another process that has decoded it */
	struct early early;      /* while it arrives, and until it ends */
	struct help help;        /* while it decodes */
	uint64_t help_cpu_ns;    /* of other threads, while it decoded */
	enum img_err decode_err; /* of the task for which it has waited */
	uint64_t queued_ns;      /* when it was sent to its first stage */
	/* More memory than it has reserved; it waits for it before decode. */
	bool lacks_memory;
	struct budget_waiter memory_wait;
	struct image decoded;         /* shared by all variants, read-only */
	uint32_t decoded_scale;       /* its img_decode_scale() */
	struct img_metadata metadata; /* of the file; as long as `u` runs */
	/* What needs the largest DCT scale: a variant, or the hash. */
	struct img_view decoded_view;
	struct img_transform decoded_as;
	const struct variant *smallest; /* the placeholder is made of it */
	uint64_t output_pixels;         /* sum over variants */
	uint64_t estimated_ns;          /* sum over variants */
	uint64_t expected_cpu_ns;       /* the CPU time in it */
	uint64_t estimated_bytes;
	/*
	 * For UPLOAD_UNREACHABLE: the time that the remaining steps need, and
	 * the time until the deadline.
	 */
	uint64_t needed_ns, remaining_ns;
	_Atomic uint64_t left_ns;       /* of estimated_ns */
	_Atomic uint32_t running_count; /* variants with steps left to run */
	_Atomic uint32_t
		unscaled_count; /* variants that still need `decoded` */
	_Atomic bool is_failed; /* its setter writes `end` and `err` */
};

#endif
