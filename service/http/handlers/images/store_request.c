/* SPDX-License-Identifier: MIT */
/*
 * POST /v1/images: what happens to an upload whose results are stored, in
 * addition to what happens to every upload (upload_request.c).
 *
 *	decoded   the image's id is known.  With respond=decoded and a spool, a
 *	          task of the store stage writes the upload to the spool, while
 *	          its pictures are made.
 *	written   the reply is 202, unless the image is being stored by then
 *	store     the image is put into the store, by the store stage; after a
 *	          202 it replaces the entry in the spool
 *	done      the reply is 201 or a problem.  After a 202, there is no
 *	          further reply: if the upload failed, its entry goes to the
 *	          spooler, and the last holder of the request frees the request.
 *
 * The order of these events decides the reply: see `next_states`.  The task
 * reads the request's body, which the connection frees.  So the connection does
 * not reply while the task is writing, even if the upload is done.
 *
 * Without a spool (http_config.spools is false), the reply is 202 as soon as
 * the upload is decoded, and a list in memory keeps the result.
 */
#include "service/http/handlers/upload_request.h"
#include "service/http/handlers/images/image_hooks.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/images/packer.h"
#include "service/http/handlers/images/picture_request.h"
#include "service/http/handlers/images/spooler.h"
#include "service/http/handlers/uploads/arrival.h"
#include "service/http/head/urls.h"
#include "service/hooks/hooks.h"
#include "service/log/log.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPOOL_TIMES = 16 }; /* the mean is over about this many recent times */

void accepted_init(struct accepted_list *l)
{
	(void)pthread_mutex_init(&l->lock, NULL);
	LIST_INIT(&l->pending);
	l->failed_count = 0;
}

void accepted_release(struct accepted_list *l)
{
	(void)pthread_mutex_destroy(&l->lock);
}

static void accepted_add(struct accepted_list *l, struct accepted *a)
{
	(void)pthread_mutex_lock(&l->lock);
	LIST_INSERT_HEAD(&l->pending, a, link);
	(void)pthread_mutex_unlock(&l->lock);
}

static void accepted_settle(struct accepted_list *l, struct accepted *a,
			    enum problem problem)
{
	(void)pthread_mutex_lock(&l->lock);
	LIST_REMOVE(a, link);
	if (problem != PROBLEM_NONE) {
		size_t i = l->failed_count++ % ACCEPTED_FAILURES_MAX;

		(void)memcpy(l->failed[i].id, a->id, sizeof(a->id));
		l->failed[i].problem = problem;
	}
	(void)pthread_mutex_unlock(&l->lock);
}

/* Caller holds the lock. */
static enum accepted_state find_accepted(const struct accepted_list *l,
					 const char *id, enum problem *problem)
{
	uint64_t count = l->failed_count;

	for (const struct accepted *a = LIST_FIRST(&l->pending); a != NULL;
	     a = LIST_NEXT(a, link))
		if (strcmp(a->id, id) == 0)
			return ACCEPTED_PENDING;
	for (uint64_t n = 0; n < ACCEPTED_FAILURES_MAX && n < count; n++) {
		size_t i = (count - 1 - n) % ACCEPTED_FAILURES_MAX;

		if (strcmp(l->failed[i].id, id) == 0) {
			*problem = l->failed[i].problem;
			return ACCEPTED_FAILED;
		}
	}
	return ACCEPTED_NONE;
}

enum accepted_state accepted_find(struct accepted_list *l, const char *id,
				  enum problem *problem)
{
	(void)pthread_mutex_lock(&l->lock);

	enum accepted_state state = find_accepted(l, id, problem);

	(void)pthread_mutex_unlock(&l->lock);
	return state;
}

/* Events of an upload with respond=decoded; they happen in several threads. */
enum early_event {
	EVENT_WRITE_BEGINS, /* the task begins to write the upload */
	EVENT_WRITTEN,
	EVENT_NOT_WRITTEN, /* writing failed, or came too late */
	EVENT_STORE_BEGINS,
	EVENT_DONE, /* the pipeline is done with the upload */
	EARLY_EVENTS
};

/* A transition that is not listed cannot happen: early_advance() asserts it. */
static const enum early_state next_states[EARLY_EVENTS][EARLY_STATES] = {
	[EVENT_WRITE_BEGINS] = {
		[EARLY_NO] = EARLY_NO,
		[EARLY_QUEUED] = EARLY_WRITING,
		[EARLY_DONE] = EARLY_DONE,
	},
	[EVENT_WRITTEN] = {
		[EARLY_WRITING] = EARLY_ACCEPTED,
		[EARLY_TOO_LATE] = EARLY_TOO_LATE,
		[EARLY_DONE] = EARLY_DONE,
	},
	[EVENT_NOT_WRITTEN] = {
		[EARLY_WRITING] = EARLY_NO,
		[EARLY_TOO_LATE] = EARLY_NO,
		[EARLY_DONE] = EARLY_DONE,
	},
	[EVENT_STORE_BEGINS] = {
		[EARLY_NO] = EARLY_NO,
		[EARLY_QUEUED] = EARLY_NO,
		[EARLY_WRITING] = EARLY_TOO_LATE,
		[EARLY_ACCEPTED] = EARLY_ACCEPTED,
	},
	[EVENT_DONE] = {
		[EARLY_NO] = EARLY_DONE,
		[EARLY_QUEUED] = EARLY_DONE,
		[EARLY_WRITING] = EARLY_DONE,
		[EARLY_TOO_LATE] = EARLY_DONE,
		[EARLY_ACCEPTED] = EARLY_ACCEPTED,
	},
};

/* Returns the previous state. */
static enum early_state early_advance(struct storing *s, enum early_event event)
{
	enum early_state state = atomic_load(&s->early);
	enum early_state next;

	do {
		next = next_states[event][state];
		assert(next != EARLY_IMPOSSIBLE);
	} while (!atomic_compare_exchange_weak(&s->early, &state, next));
	return state;
}

bool storing_is_accepted(const struct request *r)
{
	const struct upload_request *own = r->own;

	return atomic_load(&own->storing.early) == EARLY_ACCEPTED;
}

static struct spool *spool_of(const struct request *r)
{
	return store_spool(r->config->store);
}

/* The upload goes on alone, and the connection sends a 202. */
static void accept_upload(struct request *r)
{
	struct upload_request *own = r->own;

	atomic_store(&own->upload.is_accepted, true);
	request_resume(r);
}

/*
 * Is the upload likely to be in the spool before the image is stored?  If not,
 * writing it would be useless.  The time of a write is estimated by the mean of
 * recent ones.  Each upload that is not written lowers the estimate, so that
 * sooner or later a write is tried and measured again.
 */
static bool is_worth_spooling(struct request *r)
{
	struct upload_request *own = r->own;
	_Atomic uint64_t *spool_ns = &r->http->spool_ns;
	uint64_t ns = atomic_load(spool_ns);

	if (upload_left_ns(&own->upload) > ns)
		return true;
	atomic_store(spool_ns, ns - ns / SPOOL_TIMES);
	return false;
}

/* If two threads do this at the same time, one of the times is lost. */
static void learn_spool_time(struct request *r, uint64_t taken_ns)
{
	_Atomic uint64_t *spool_ns = &r->http->spool_ns;
	uint64_t ns = atomic_load(spool_ns);

	atomic_store(spool_ns, ns - ns / SPOOL_TIMES + taken_ns / SPOOL_TIMES);
}

/* True: `spooled` is now the upload's entry. */
static bool write_spool_entry(struct request *r)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;
	const struct upload *u = &own->upload;
	char request[IMAGE_REQUEST_BYTES];

	s->spooled = calloc(1, sizeof(*s->spooled));
	if (s->spooled == NULL)
		return false;
	(void)memcpy(s->spooled->hold.id, s->accepted.id, STORE_ID_BYTES);
	image_request_print(request, u, r->owner);
	if (spool_put(spool_of(r), &s->spooled->hold, request, u->jpeg,
		      u->jpeg_bytes) == STORE_OK)
		return true;
	free(s->spooled);
	s->spooled = NULL;
	return false;
}

/* Allowed, because no client knows the id of the image yet. */
static void remove_spool_entry(struct request *r)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;

	spool_drop(spool_of(r), &s->spooled->hold);
	free(s->spooled);
	s->spooled = NULL;
}

/*
 * Write the upload to the spool.  Nothing is written if all pictures are made
 * by now: then they are stored about as soon as the upload would be written,
 * and 201 is the better reply.
 */
static void spool_upload(struct request *r)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;
	uint64_t begin_ns = clock_now_ns();
	bool is_written;

	if (upload_is_made(&own->upload) ||
	    early_advance(s, EVENT_WRITE_BEGINS) != EARLY_QUEUED)
		return;
	is_written = write_spool_entry(r);
	learn_spool_time(r, clock_now_ns() - begin_ns);
	if (is_written && early_advance(s, EVENT_WRITTEN) == EARLY_WRITING) {
		accept_upload(r);
		return;
	}
	/*
	 * The connection may be waiting until the body is not needed any more.
	 */
	if (early_advance(s, EVENT_NOT_WRITTEN) == EARLY_DONE)
		request_resume(r);
	if (is_written)
		remove_spool_entry(r);
}

/* The run() of a spool task. */
static void run_spool_task(struct task *task)
{
	struct request *r =
		container_of(task, struct upload_request, storing.spool_task)
			->request;

	spool_upload(r);
	atomic_fetch_sub(&r->http->spooling_count, 1);
	request_release(r);
}

/*
 * The store stage has room for one spool task for each upload that may be in
 * the pipeline, so this is the limit.  Without the limit, tasks could fill the
 * stage on a slow disk: an upload that ends early leaves its task in the stage,
 * and another upload comes into the pipeline.
 */
static bool reserve_spool_task(struct http *h)
{
	uint32_t most = pipeline_load(h->config.pipeline).uploads_max;

	if (atomic_fetch_add(&h->spooling_count, 1) < most)
		return true;
	atomic_fetch_sub(&h->spooling_count, 1);
	return false;
}

/*
 * If there is no room for the task, the reply waits until the image is stored.
 */
static void send_spool_task(struct request *r)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;

	if (!reserve_spool_task(r->http))
		return;
	s->spool_task.run = run_spool_task;
	s->spool_task.event.number = own->upload.number;
	atomic_store(&s->early, EARLY_QUEUED);
	atomic_fetch_add(&r->holder_count, 1);
	if (pipeline_send_task(r->config->pipeline, &s->spool_task))
		return;
	atomic_store(&s->early, EARLY_NO);
	atomic_fetch_sub(&r->holder_count, 1);
	atomic_fetch_sub(&r->http->spooling_count, 1);
}

/*
 * Can a 202 be sent now?  A thread that runs the steps itself can send it, and
 * go on then, if what is to be done before is done in a call.
 */
static bool can_accept(const struct request *r)
{
	const struct pipeline *p = r->config->pipeline;

	return pipeline_worker_count(p) > 0 || !r->config->spools ||
	       pipeline_runs_in_caller(p);
}

/* Called by the thread that has decoded. */
static void on_decoded(struct upload *u)
{
	struct request *r = request_of_upload(u);
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;
	char request[IMAGE_REQUEST_BYTES];
	uint32_t version = image_request_print(request, u, r->owner);

	image_id(s->accepted.id, version, request, u->jpeg, u->jpeg_bytes);
	if (!s->answers_early || !can_accept(r))
		return;
	/* Before the 202, which may end the connection's part. */
	u->is_held = pipeline_can_hold(u);
	if (!r->config->spools) {
		accepted_add(&r->http->accepted, &s->accepted);
		atomic_store(&s->early, EARLY_ACCEPTED);
		accept_upload(r);
		return;
	}
	if (is_worth_spooling(r))
		send_spool_task(r);
	/* A spool that holds uploads is written in a call. */
	if (u->is_held)
		u->is_held = storing_is_accepted(r);
}

void storing_end(struct request *r)
{
	struct upload_request *own = r->own;

	if (own == NULL || !own->upload.is_held)
		return;
	/* Until then its thread reads no other request. */
	client_enter(r->client, CLIENT_WORK);
	pipeline_go_on(&own->upload);
}

/* Without a spool: the image is stored, so queue its webhooks. */
static enum store_answer tell_stored(struct request *r, struct error *why)
{
	struct upload_request *own = r->own;
	const struct arrival *a = own->arrival;
	const struct image_event event = {
		.id = own->storing.accepted.id,
		.ticket = a != NULL ? a->hold.id : NULL,
		.url = a != NULL ? a->ticket.webhook : NULL,
		/* A ticket becomes one image, so it has one event. */
		.stamp = a != NULL ? 0 : hooks_new_stamp(),
	};
	enum store_answer answer =
		image_hooks_stored(r->config->hooks, r->config->public_url,
				   &event, own->storing.meta);

	if (answer != STORE_OK)
		error_set(why, "its webhook has no room: %s",
			  errno != 0 ? strerror(errno) : "too many wait");
	return answer;
}

/* Put the image, whose original is there. */
static enum store_answer put_pictures(struct request *r, struct error *why)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;
	struct image_files f;
	enum store_answer answer;

	image_files_init(&f, &own->upload, s->meta);
	if (early_advance(s, EVENT_STORE_BEGINS) != EARLY_ACCEPTED ||
	    s->spooled == NULL) {
		answer = store_put(r->config->store, s->accepted.id, f.files,
				   f.count, own->upload.deadline_ns, why);
		return answer == STORE_OK && r->config->hooks != NULL ?
			       tell_stored(r, why) :
			       answer;
	}
	spooled_tell(s->spooled, &r->http->spooler_hooks, s->meta);
	answer = spool_finish(spool_of(r), &s->spooled->hold, f.files, f.count);
	error_set(why, "%s", strerror(errno));
	if (answer == STORE_FULL || answer == STORE_FAILED)
		return answer;
	/*
	 * STORE_NOT_FOUND: the image was deleted, or another upload has stored
	 * the same image.
	 */
	if (answer == STORE_NOT_FOUND)
		original_drop(r->config->store, s->accepted.id, 0);
	free(s->spooled);
	s->spooled = NULL;
	return STORE_OK;
}

/*
 * Store the image after its original; after a 202, it replaces the entry in the
 * spool.
 */
static enum store_answer put_image(struct request *r, struct error *why)
{
	const struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	const char *id = own->storing.accepted.id;
	enum store_answer answer;

	store_lock_original(r->config->store, id);
	answer = original_put(r->config->store, id, u, why);
	if (answer == STORE_OK)
		answer = put_pictures(r, why);
	/* Else what a full store refuses would fill the disk. */
	if (answer != STORE_OK)
		original_drop(r->config->store, id, u->deadline_ns);
	store_unlock_original(r->config->store, id);
	packer_tell(r->config->packer, id);
	return answer;
}

/* The same for an upload of /v1/uploads, of which one image is made. */
static enum store_answer put_arrival(struct request *r, struct error *why)
{
	struct upload_request *own = r->own;
	const char *id = own->storing.accepted.id;
	enum store_answer answer = arrival_claim(r, id);

	error_set(why, "%s", strerror(errno));
	if (answer == STORE_OK)
		answer = put_image(r, why);
	if (answer == STORE_OK)
		arrival_finish(r, id);
	return answer;
}

/* Called by a thread of the store stage. */
static enum upload_end store_image(struct upload *u)
{
	struct request *r = request_of_upload(u);
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;
	struct error why = { "no memory" };
	enum store_answer answer = STORE_FAILED;

	s->meta = image_meta(s->accepted.id, u);
	if (s->meta != NULL && own->arrival != NULL)
		answer = put_arrival(r, &why);
	else if (s->meta != NULL)
		answer = put_image(r, &why);
	if (answer == STORE_OK)
		return UPLOAD_ENDED;
	if (answer == STORE_UNAVAILABLE && atomic_load(&r->http->abandoning))
		return UPLOAD_ABANDONED;
	/* After a 202 nobody reads it, and the request is another thread's. */
	if (answer != STORE_FULL && !storing_is_accepted(r))
		request_explain(r, "The image could not be written: %.200s.",
				why.text);
	return answer == STORE_FULL        ? UPLOAD_STORE_FULL :
	       answer == STORE_UNAVAILABLE ? UPLOAD_STORE_UNAVAILABLE :
					     UPLOAD_NOT_STORED;
}

/*
 * Without a spool, an upload that was answered 202 has failed.  The worker
 * waits for the disk, which is rare enough.  If the event cannot be queued, it
 * is lost, as the upload is if the process ends.
 */
static void tell_failed(struct request *r, enum problem problem)
{
	struct upload_request *own = r->own;
	const struct image_event event = {
		.id = own->storing.accepted.id,
		.stamp = hooks_new_stamp(),
	};
	char *text;

	if (r->config->hooks == NULL || problem == PROBLEM_NONE)
		return;
	text = problem_json(problem, NULL, NULL, NULL);
	if (text == NULL ||
	    image_hooks_failed(r->config->hooks, &event, text) != STORE_OK)
		log_message(r->config->log, LOG_LEVEL_WARN,
			    "webhooks: the failure of image %s cannot be told",
			    event.id);
	free(text);
}

/* An upload that was accepted is done.  Called by a worker. */
static void settle_accepted(struct request *r)
{
	struct upload_request *own = r->own;
	struct storing *s = &own->storing;

	if (!r->config->spools) {
		if (own->upload.end == UPLOAD_ABANDONED)
			request_count_abandoned(r);
		tell_failed(r, problem_of_upload(&own->upload));
		accepted_settle(&r->http->accepted, &s->accepted,
				problem_of_upload(&own->upload));
	} else if (s->spooled != NULL) {
		spooler_take(r->http->spooler, s->spooled, &own->upload);
		s->spooled = NULL;
	}
}

bool storing_end_upload(struct request *r)
{
	struct upload_request *own = r->own;

	switch (early_advance(&own->storing, EVENT_DONE)) {
	case EARLY_ACCEPTED:
		settle_accepted(r);
		return false;
	case EARLY_WRITING:
	case EARLY_TOO_LATE:
		return false; /* the task still reads the body */
	default:
		return true;
	}
}

enum {
	IMAGE_URL_BYTES =
		URL_BASE_BYTES + sizeof(IMAGES_PATH "/") + STORE_ID_BYTES,
};

static void print_url(char url[IMAGE_URL_BYTES], const struct request *r,
		      const char *id)
{
	char base[URL_BASE_BYTES];

	urls_base(base, r);
	(void)snprintf(url, IMAGE_URL_BYTES, "%s" IMAGES_PATH "/%s", base, id);
}

/* Reply with the image's `url` in Location. */
static bool reply_json(struct request *r, const char *url, unsigned int status,
		       struct reply *p)
{
	reply_add_header(p, "Location", url);
	return reply_send(r, status, "application/json", p);
}

bool storing_reply_accepted(struct request *r, const char *id, bool is_durable)
{
	char url[IMAGE_URL_BYTES];
	struct text text;
	struct json j;
	struct reply p;
	FILE *out = text_open(&text);

	if (out == NULL)
		return false;
	print_url(url, r, id);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "id", id);
	json_add_text(&j, "url", url);
	json_add_text(&j, "status", "processing");
	json_add_bool(&j, "durable", is_durable);
	json_close(&j);
	(void)fputc('\n', out);
	return reply_begin_text(r, &p, text_close(&text, out)) &&
	       reply_json(r, url, STATUS_ACCEPTED, &p);
}

bool storing_reply_stored(struct request *r)
{
	struct upload_request *own = r->own;
	const char *meta = own->storing.meta;
	char base[URL_BASE_BYTES], etag[ETAG_BYTES], url[IMAGE_URL_BYTES];
	struct reply p;

	urls_base(base, r);
	if (!images_begin_meta(r, &p, meta, base))
		return false;
	image_meta_etag(etag, meta, base);
	reply_add_header(&p, "ETag", etag);
	print_url(url, r, own->storing.accepted.id);
	return reply_json(r, url, STATUS_CREATED, &p);
}

bool storing_set_respond(struct request *r, const char *value)
{
	struct upload_request *own = r->own;
	bool is_decoded = value != NULL && strcmp(value, "decoded") == 0;
	char shown[PARAMS_SHOWN_BYTES];

	own->storing.answers_early = is_decoded;
	if (is_decoded || (value != NULL && strcmp(value, "stored") == 0))
		return true;
	request_explain(r, "respond must be stored or decoded, not '%s'.",
			params_shown(shown, value != NULL ? value : ""));
	return false;
}

enum problem storing_begin(struct request *r)
{
	struct upload_request *own = r->own;

	if (r->config->store == NULL)
		return PROBLEM_NO_STORE;
	if (r->config->hooks != NULL && hooks_are_full(r->config->hooks))
		return PROBLEM_WEBHOOKS_FULL;
	atomic_store(&own->storing.early, EARLY_NO);
	own->upload.on_decoded = on_decoded;
	own->upload.store = store_image;
	return PROBLEM_NONE;
}
