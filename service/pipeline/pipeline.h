/* SPDX-License-Identifier: MIT */
/*
 * Pipeline: the border between HTTP above and stages and pictures below.
 *
 *	http/ --- pipeline_submit() -> decode > scale > blur > encode [> store]
 *	http/ <------ u->done(u) ------ after the last step of the last variant
 *
 * With the stages of the thesis: [parse] > decode ... encode > [statistics].
 *
 * Files above it know nothing of stages; files below it know nothing of
 * connections.
 *
 * Ownership  See upload.h.
 * Threads    One thread calls pipeline_start(), pipeline_stop() and
 *            pipeline_free().  Between the first and the last of these, any
 *            number may call the others at the same time.
 * Limits     At most `uploads_max` uploads are inside at any time; more are
 *            refused.  Every queue has room for all variants of all uploads.
 * Memory     Bodies, pictures and results are charged to pipeline_budget():
 *            before the upload is queued, their estimated size; after its
 *            steps, the exact size of what remains.  If the estimate is too low
 *            (see struct img_cost), memory_bytes_max still holds, and some
 *            upload ends with IMG_ERR_NO_MEMORY.
 */
#ifndef SERVICE_PIPELINE_H
#define SERVICE_PIPELINE_H

#include "service/pipeline/upload.h"

#include "base/memory.h"
#include "imgops/imgops.h"
#include "stages/stage.h"
#include "stages/stats.h"

#include <stdio.h>

/* The names on the command line: "decode", "scale", ... */
extern const char *const pipeline_step_names[PIPELINE_STAGES];

/* The values of --stages, in this order. */
enum stage_set { STAGES_IMAGE, STAGES_THESIS };

/* The steps that are stages of the schedule: its stage i is step first + i. */
struct pipeline_steps {
	enum pipeline_step first;
	uint32_t count;
	const char *const *names; /* of the stages, as they follow */
};

struct pipeline_steps pipeline_steps(enum stage_set set);

/* The index of the stage of a step, which has one, in pipeline_stats.stages. */
static inline uint32_t pipeline_stage_index(const struct pipeline_steps *steps,
					    enum pipeline_step step)
{
	return step == PIPELINE_STORE ? steps->count : step - steps->first;
}

struct pipeline_config {
	struct schedule schedule; /* complete, for the stages of `stages` */
	enum stage_set stages;
	const struct cores *cores; /* must outlive the pipeline */
	/* Cores that are idle help to decode: help.h; early.h. */
	bool splits_decode, decodes_early;
	/* Count hardware events of workers, if possible: tally.h. */
	bool counts_hardware;
	uint32_t uploads_max;
	struct img_limits limits;
	struct decoders *decoders; /* of steps.h; must outlive the pipeline */
	const struct watermarks *watermarks; /* of steps.h; the same */
	struct block_list *blocks;           /* the same; NULL: none */
	/* Limit for all results of one upload; 0: none. */
	uint64_t output_pixels_max;
	/* Limit for the estimate of one upload; 0: none. */
	uint64_t cpu_ns_max;
	/* Limit for all uploads; UINT64_MAX: none. */
	uint64_t memory_bytes_max;
	/*
	 * Threads of the store stage; 0: there is none, and upload.store must
	 * be NULL.  See pipeline_store_has_threads().
	 */
	uint32_t store_threads;
	/* The most tasks at any time, in addition to one for each upload. */
	uint32_t tasks_max;
	/* See struct group_config; may be NULL. */
	const struct caller_threads *caller_threads;
};

/* The result of pipeline_read(); counters since the start. */
struct pipeline_stats {
	uint64_t sent_count;        /* taken by pipeline_submit() */
	uint64_t refused_count;     /* by pipeline_count_refused() */
	uint64_t finished_count;    /* ended with all their pictures */
	uint64_t failed_count;      /* ended without any */
	uint64_t late_count;        /* of the failed: UPLOAD_LATE */
	uint64_t unreachable_count; /* of the failed: UPLOAD_UNREACHABLE */
	uint64_t gone_count;        /* of the failed: UPLOAD_GONE */
	uint64_t abandoned_count;   /* by pipeline_count_abandoned() */
	uint32_t in_flight_count;
	uint64_t left_ns; /* see struct pipeline_load */
	/*
	 * Bytes of uploads, counted when the first picture of each is encoded:
	 * the input throughput of the thesis (4.2.4).
	 */
	uint64_t cleared_bytes;
	/* Parts of decodes, by idle cores: ahead, and while bodies arrive. */
	uint64_t helped_count, early_count;
	/*
	 * Pixels of finished uploads: in their files, and in all their results.
	 */
	uint64_t pixels_in, pixels_out;
	/*
	 * Of finished uploads: sum of the times from the first queue to the
	 * result.
	 */
	uint64_t inside_ns;
	struct histogram_copy inside;
	/* Finished uploads without, and with, the step store. */
	uint64_t unstored_count, stored_count;
	uint64_t sent_to_store_count; /* uploads, after encode */
	uint64_t task_count;          /* by pipeline_send_task() */
	struct memory_pool_stats buffers;
	struct budget_stats memory;
	struct pipeline_steps steps; /* of the first of these stages */
	uint32_t stage_count;        /* with that of the store, if any */
	const char *stage_names[PIPELINE_STAGES];
	struct stage_stats stages[PIPELINE_STAGES];
};

/* How full the pipeline is. */
struct pipeline_load {
	uint32_t in_flight_count, uploads_max;
	uint32_t waiting_count; /* of those in flight: decode has not begun */
	uint64_t used_bytes, limit_bytes; /* of pipeline_budget() */
	/*
	 * Estimated time of the steps that have not ended, of all uploads
	 * inside.  A step counts in full until it ends.
	 */
	uint64_t left_ns;
	double pace; /* factor of struct pace, which left_ns includes */
	uint32_t core_count;
};

/* NULL: no memory, or no threads. */
struct pipeline *pipeline_start(const struct pipeline_config *config);

/* The schedule as flags, defaults included; no newline. */
void pipeline_print_schedule(const struct pipeline_config *config, FILE *to);

/* For the statistics of stages/: the schedule's workers, and their stages. */
struct stage_group *pipeline_group(const struct pipeline *p);
const struct stage *pipeline_stage(const struct pipeline *p,
				   enum pipeline_step step);

/* A group of stages with workers of its own. */
struct worker_group {
	const struct stage_group *group; /* lives as long as the pipeline */
	uint32_t step_first; /* its stage i is step step_first + i */
	bool only_waits;     /* for other processes */
};

enum { WORKER_GROUPS_MAX = 3 };

/*
 * The workers of the schedule, then, if there are any, those of the store and
 * those that wait for the decoder's processes.
 * Returns the number of groups.
 */
uint32_t pipeline_worker_groups(const struct pipeline *p,
				struct worker_group out[WORKER_GROUPS_MAX]);

/* Threads that run stages; 0: pipeline_submit() runs them itself. */
uint32_t pipeline_worker_count(const struct pipeline *p);

struct pipeline_steps pipeline_own_steps(const struct pipeline *p);

/*
 * Is there a stage that parses bodies?  Then an upload may have a parse(), and
 * its body need not be read before it is submitted.
 */
bool pipeline_parses(const struct pipeline *p);

/*
 * Has the store stage threads of its own?  If not, because each connection has
 * a kernel thread, the thread that submits also stores.
 */
bool pipeline_store_has_threads(const struct schedule *s);

/* Are steps and tasks run in the call that submits them? */
bool pipeline_runs_in_caller(const struct pipeline *p);

/*
 * Is there a free slot for an upload whose body begins to arrive?  The slot is
 * not reserved: pipeline_submit() checks again.  But an upload that has waited
 * for memory has a slot in its charge: see struct budget_waiter.
 */
MUST_CHECK bool pipeline_has_slot(const struct pipeline *p);

/*
 * Statistics: count an upload that was refused, by the pipeline or before,
 * because there was no slot or memory for it.
 */
void pipeline_count_refused(struct pipeline *p);

/*
 * Statistics: count an accepted upload that gets no result, because the server
 * stops without waiting for it.
 */
void pipeline_count_abandoned(struct pipeline *p);

/*
 * Look at the first u->jpeg_bytes (2 or more) of an upload that still arrives.
 * The findings are kept in u->header; later calls with more bytes of the same
 * file, and pipeline_submit(), continue from there.  False: the header is not
 * yet complete.  True: the answer is known.  If u->end is UPLOAD_ENDED and
 * u->err IMG_OK, the header is complete and the upload may be accepted.
 * Otherwise they say why it will be refused or fail, whatever bytes follow.  If
 * variant_count is 0, only the file is checked, not the results to make.
 */
MUST_CHECK bool pipeline_peek(struct pipeline *p, struct upload *u);

/*
 * After pipeline_peek() has accepted the header of `u`, which still arrives:
 * the first u->jpeg_bytes have come, and a core that is idle may decode them.
 * From then on, until pipeline_submit(): call pipeline_hold() before the bytes
 * move, for which the upload's charge will be raised to `bytes`, and
 * pipeline_forget() before they are freed.  If there is not as much memory,
 * pipeline_hold() gives back what the decode has.
 */
void pipeline_arrive(struct pipeline *p, struct upload *u);
void pipeline_hold(struct upload *u, uint64_t bytes);
void pipeline_forget(struct upload *u);

/*
 * True: the pipeline owns `u` until it calls u->done(u).  It may call done()
 * before pipeline_submit() returns; it always does so if the header shows that
 * the file cannot be read.  False: u->end says why; the caller still owns `u`.
 */
MUST_CHECK bool pipeline_submit(struct pipeline *p, struct upload *u);

/*
 * In on_decoded(): does pipeline_submit() run the steps of `u` itself?  Only
 * then may it be held.
 */
bool pipeline_can_hold(const struct upload *u);

/*
 * An upload that is_held goes on, in this call.  To be called once, when
 * pipeline_submit() has returned.
 */
void pipeline_go_on(const struct upload *u);

/*
 * If `u` exceeded a limit of pixels, scans, CPU time or memory, or could not
 * meet its deadline: a sentence with the two numbers, and the flag if there is
 * one; and the numbers.  Otherwise `text` and `excess` are unchanged.
 */
void pipeline_explain(const struct pipeline *p, const struct upload *u,
		      char *text, size_t bytes, struct excess *excess);

/* Has every variant run its last step?  Any thread may ask, after decode. */
bool upload_is_made(const struct upload *u);

/*
 * To be called in on_decoded(): the estimated CPU time of the remaining steps.
 */
uint64_t upload_left_ns(const struct upload *u);

/* Memory of the results, as memory_pool_block_charge() counts it. */
uint64_t upload_result_bytes(const struct upload *u);

/* Call it before pipeline_free().  Without results it does nothing. */
void upload_free_results(struct upload *u);

/*
 * Run `t` in the store stage, which must exist.  False: the pipeline has
 * stopped, or too many tasks wait; the caller still owns the task.
 */
MUST_CHECK bool pipeline_send_task(struct pipeline *p, struct task *t);

/* The memory of uploads; charge it before allocating. */
struct budget *pipeline_budget(struct pipeline *p);

/* The allocator of uploads, bodies included. */
const struct memory *pipeline_memory(const struct pipeline *p);

/*
 * Should an upload wait while the budget is full, instead of being refused?
 * That is a property of the schedule's policy.
 */
bool pipeline_waits_for_memory(const struct pipeline *p);

/*
 * The estimated charge of an upload of `body_bytes`, in addition to its body.
 */
uint64_t pipeline_likely_bytes(const struct pipeline *p, uint64_t body_bytes);

/* The bytes of a body, in the mean of recent uploads. */
uint64_t pipeline_likely_body_bytes(const struct pipeline *p);

/* For Retry-After, in whole s, 1 .. 60: departures_retry_after_s(). */
uint32_t pipeline_retry_after_s(struct pipeline *p);

void pipeline_read(const struct pipeline *p, struct pipeline_stats *out);

/* Any thread may call it at any time: it takes no lock and never waits. */
struct pipeline_load pipeline_load(const struct pipeline *p);

/* What it has learned of this machine; see pace.h. */
const struct pace *pipeline_pace(const struct pipeline *p);

/* The part of left_ns that each core has to do. */
uint64_t pipeline_left_per_core_ns(const struct pipeline_load *load);

/*
 * How many uploads a balancer should send here, compared with an empty server
 * (100): in percent, 1 .. 100.  It is 50 when each core has `half_ns` (at least
 * 1) left to do:
 *
 *	100 * half_ns / (half_ns + left per core)
 */
uint32_t pipeline_weight_percent(const struct pipeline_load *load,
				 uint64_t half_ns);

/*
 * End the uploads inside without results, each as soon as its running step is
 * over; done() is called as usual.
 */
void pipeline_abandon(struct pipeline *p);

/* False: formats of other processes (decoder.h) are not decoded any more. */
bool pipeline_can_decode(const struct pipeline *p);

/* The formats of uploads, a bit for each enum img_format_number. */
uint32_t pipeline_formats(const struct pipeline *p);

/*
 * Refuse uploads, finish those inside, end the workers.  A second call does
 * nothing.  An upload at the stage parse whose file another process decodes is
 * abandoned, because the threads of the decoders end before the workers, to
 * which they send; the server has none by then: it has waited for all uploads,
 * or called pipeline_abandon().
 */
void pipeline_stop(struct pipeline *p);
void pipeline_free(struct pipeline *p);

#endif
