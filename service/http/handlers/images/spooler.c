/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/spooler.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/http/handlers/images/image_hooks.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/images/packer.h"
#include "service/log/log.h"
#include "service/wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)IMAGE_REQUEST_BYTES <= (int)SPOOL_TEXT_BYTES,
	       "a request fits into an entry");

enum {
	/* Wait before the next attempt, if there was no room. */
	NO_ROOM_MS = 100,
	/*
	 * Wait after the first failure; it doubles with each further failure.
	 */
	BACK_OFF_MS = 1000,
	BACK_OFFS = 6, /* at most this many doublings */
	/* No further try, if this number of processes has ended in one. */
	DEATHS_MAX = 3,
};

TAILQ_HEAD(spooled_list, spooled);

struct spooler {
	struct spooler_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct spooled_list waiting; /* entries that wait for their next try */
	/* Failed entries that the thread has not handled yet. */
	struct spooled_list failed;
	uint64_t room_ns; /* there was no room: no entry is tried before this */
	uint32_t running_count; /* entries in the pipeline */
	bool is_alone; /* the one that is running is to be the only one */
	bool leaving, stopping;
};

/* A try: an upload without a connection. */
struct job {
	struct upload upload;
	struct variant variants[VARIANTS_MAX];
	struct spooler *spooler;
	struct spooled *entry;
	bool is_over; /* stored, or deleted; the hold has ended */
	struct budget_waiter memory_wait;
	bool has_waited; /* set under the spooler's lock */
	struct query query;
	struct spool_entry file;
	uint8_t *jpeg;
	char detail[PARAMS_DETAIL_BYTES];
};

/* Can another try succeed? */
static bool is_temporary(enum problem problem)
{
	return problem_status(problem) >= 500;
}

static enum problem problem_of(const struct upload *u)
{
	/*
	 * UPLOAD_GONE: the client had disconnected before its 202 was sent.
	 * The entry is tried again.
	 */
	return u->end == UPLOAD_GONE ? PROBLEM_DEADLINE_EXCEEDED :
				       problem_of_upload(u);
}

static void retry_after(struct spooler *s, struct spooled *e, uint32_t ms)
{
	e->due_ns = clock_after_ms(ms);
	TAILQ_INSERT_TAIL(&s->waiting, e, link);
}

/* The stored() of a hold; the caller of spool_finish() logs a failure. */
static enum store_answer tell_stored(struct spool_hold *h)
{
	struct spooled *e = container_of(h, struct spooled, hold);
	const struct image_event event = {
		.id = h->id,
		.stamp = spool_stamp(e->hooks->spool, h->id),
	};

	return image_hooks_stored(e->hooks->hooks, e->hooks->public_url, &event,
				  e->meta);
}

void spooled_tell(struct spooled *e, const struct spooler_hooks *hooks,
		  const char *meta)
{
	e->hooks = hooks;
	e->meta = meta;
	e->hold.stored = hooks->hooks != NULL ? tell_stored : NULL;
}

/* The same for an upload that cannot become an image. */
static enum store_answer tell_failed(struct spooler *s, const struct spooled *e,
				     const char *problem)
{
	const struct image_event event = {
		.id = e->hold.id,
		.stamp = spool_stamp(s->config.spool, e->hold.id),
	};

	return image_hooks_failed(s->config.hooks.hooks, &event, problem);
}

/* Move the entry to the folder of failed entries. */
static void move_to_failed(struct spooler *s, struct spooled *e,
			   const char *detail, bool is_damaged)
{
	char *text = problem_json(e->problem, detail, NULL, NULL);
	enum store_answer answer =
		text != NULL ? tell_failed(s, e, text) : STORE_FAILED;

	if (answer == STORE_OK)
		answer =
			spool_fail(s->config.spool, &e->hold, text, is_damaged);

	free(text);
	if (answer == STORE_OK || answer == STORE_NOT_FOUND) {
		/* Otherwise another upload has replaced it. */
		if (!spool_has(s->config.spool, e->hold.id))
			log_message(s->config.log, LOG_LEVEL_WARN,
				    "spool: image %s cannot be made: %s%s%s",
				    e->hold.id, problem_code(e->problem),
				    detail != NULL ? ": " : "",
				    detail != NULL ? detail : "");
		free(e);
		return;
	}
	(void)pthread_mutex_lock(&s->lock);
	retry_after(s, e, BACK_OFF_MS << BACK_OFFS);
	(void)pthread_mutex_unlock(&s->lock);
}

/*
 * A try begins.  If the process ends before outlive_try(), the next one finds
 * another death.  Not UPLOAD_ENDED: that could not be written.
 */
static enum upload_end begin_try(struct upload *u)
{
	struct job *j = (struct job *)u;
	struct spooled *e = j->entry;
	enum store_answer answer;

	if (!e->is_old)
		return UPLOAD_ENDED;
	answer = spool_set_attempts(j->spooler->config.spool, e->hold.id,
				    e->death_count + 1);
	e->has_begun = answer == STORE_OK;
	/* If it was deleted, that is found at the end. */
	if (e->has_begun || answer == STORE_NOT_FOUND)
		return UPLOAD_ENDED;
	return answer == STORE_FULL ? UPLOAD_STORE_FULL : UPLOAD_NOT_STORED;
}

static void outlive_try(struct spooler *s, struct spooled *e)
{
	if (e->has_begun)
		(void)!spool_set_attempts(s->config.spool, e->hold.id,
					  e->death_count);
	e->has_begun = false;
}

/* A try has failed, or the server stopped before the try. */
static void handle_failure(struct spooler *s, struct spooled *e)
{
	uint32_t shift = e->try_count < BACK_OFFS ? e->try_count : BACK_OFFS;

	if (!is_temporary(e->problem)) {
		move_to_failed(s, e, NULL, false);
		return;
	}
	log_message(s->config.log, LOG_LEVEL_WARN,
		    "spool: image %s is not stored yet: %s; %s", e->hold.id,
		    problem_code(e->problem),
		    e->problem == PROBLEM_STOPPING ? "left in the spool" :
						     "it will be tried again");
	e->try_count++;
	outlive_try(s, e);
	(void)pthread_mutex_lock(&s->lock);
	retry_after(s, e, BACK_OFF_MS << shift);
	(void)pthread_mutex_unlock(&s->lock);
}

static void free_job(struct job *j)
{
	const struct memory *memory =
		pipeline_memory(j->spooler->config.pipeline);

	upload_free_results(&j->upload);
	if (j->jpeg != NULL)
		memory->free(memory->arg, j->jpeg);
	budget_lower(&j->upload.charge, 0);
	budget_give_slot(&j->upload.charge);
	free(j);
}

/* Called by a worker. */
static void on_try_done(struct upload *u)
{
	struct job *j = (struct job *)u;
	struct spooler *s = j->spooler;
	struct spooled *e = j->entry;
	bool is_over = j->is_over;

	e->problem = is_over ? PROBLEM_NONE : problem_of(u);
	free_job(j);
	if (is_over)
		free(e);
	(void)pthread_mutex_lock(&s->lock);
	if (!is_over)
		TAILQ_INSERT_TAIL(&s->failed, e, link);
	s->running_count--;
	s->is_alone = false;
	(void)pthread_cond_signal(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

/* Called by a worker of the store stage. */
static enum upload_end store_try(struct upload *u)
{
	struct job *j = (struct job *)u;
	struct spooler *s = j->spooler;
	struct spool_hold *hold = &j->entry->hold;
	char *meta = image_meta(hold->id, u);
	struct image_files files;
	enum store_answer answer = STORE_FAILED;
	struct error why;

	store_lock_original(s->config.store, hold->id);
	if (meta != NULL)
		answer = original_put(s->config.store, hold->id, u, &why);
	if (answer == STORE_OK) {
		image_files_init(&files, u, meta);
		spooled_tell(j->entry, &s->config.hooks, meta);
		answer = spool_finish(s->config.spool, hold, files.files,
				      files.count);
	}
	if (answer == STORE_NOT_FOUND)
		original_drop(s->config.store, hold->id, 0);
	store_unlock_original(s->config.store, hold->id);
	packer_tell(s->config.packer, hold->id);
	free(meta);
	j->is_over = answer == STORE_OK || answer == STORE_NOT_FOUND;
	if (answer == STORE_OK) {
		spool_count_recovered(s->config.spool);
		log_message(s->config.log, LOG_LEVEL_INFO,
			    "spool: image %s is stored", hold->id);
	}
	if (j->is_over)
		return UPLOAD_ENDED;
	return answer == STORE_FULL ? UPLOAD_STORE_FULL : UPLOAD_NOT_STORED;
}

/* How the reading of an entry ended. */
enum reading {
	READ_WHOLE,
	READ_NO_ROOM, /* no memory now */
	READ_GONE,
	READ_FAILED, /* not read, for a temporary reason */
	/* Damaged, or written by another version of the program. */
	READ_DAMAGED,
};

static bool is_leaving(struct spooler *s)
{
	bool leaving;

	(void)pthread_mutex_lock(&s->lock);
	leaving = s->leaving;
	(void)pthread_mutex_unlock(&s->lock);
	return leaving;
}

/* Called under the lock of the budget. */
static bool is_wait_over(const struct budget_waiter *w)
{
	return is_leaving(container_of(w, struct job, memory_wait)->spooler);
}

/* Called by any thread; `j` may be freed as soon as the lock is free. */
static void end_memory_wait(struct budget_waiter *w)
{
	struct job *j = container_of(w, struct job, memory_wait);
	struct spooler *s = j->spooler;

	(void)pthread_mutex_lock(&s->lock);
	j->has_waited = true;
	(void)pthread_cond_signal(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

/*
 * Charge the memory for the upload's bytes.  If uploads wait for memory, this
 * one waits in the same line, and gets a slot, too.  Meanwhile the spooler does
 * nothing else: other entries would only wait in the line behind it.
 */
static enum budget_answer charge_bytes(struct job *j, uint64_t bytes)
{
	struct spooler *s = j->spooler;
	struct charge *c = &j->upload.charge;

	if (!pipeline_waits_for_memory(s->config.pipeline) ||
	    bytes > c->budget->limit_bytes)
		return budget_charge(c, bytes);
	if (budget_try(c, bytes))
		return BUDGET_OK;
	j->memory_wait = (struct budget_waiter){
		.line = BUDGET_OUTSIDE,
		.charge = c,
		.bytes = bytes,
		.wants_slot = true,
		.is_over = is_wait_over,
		.done = end_memory_wait,
	};
	if (budget_wait(&j->memory_wait))
		return j->memory_wait.answer;
	(void)pthread_mutex_lock(&s->lock);
	while (!j->has_waited)
		(void)wait_until(&s->changed, &s->lock, WAIT_NEVER_NS);
	(void)pthread_mutex_unlock(&s->lock);
	return j->memory_wait.answer;
}

/* Read the upload's bytes into memory; the memory is charged first. */
static enum reading read_upload(struct job *j)
{
	struct pipeline *p = j->spooler->config.pipeline;
	const struct memory *memory = pipeline_memory(p);
	struct upload *u = &j->upload;
	size_t bytes = (size_t)j->file.bytes;

	if (j->file.bytes == 0 || j->file.bytes > UINT32_MAX)
		return READ_DAMAGED;
	u->charge.budget = pipeline_budget(p);
	u->jpeg_charge_bytes = memory_pool_charge(bytes);
	switch (charge_bytes(j, u->jpeg_charge_bytes)) {
	case BUDGET_OK:
		break;
	case BUDGET_FULL:
		return READ_NO_ROOM;
	case BUDGET_NEVER:
		j->entry->problem = PROBLEM_TOO_MUCH_MEMORY;
		return READ_DAMAGED;
	}
	j->jpeg = memory->alloc(memory->arg, bytes);
	if (j->jpeg == NULL)
		return READ_NO_ROOM;
	if (!file_read_all(j->file.fd, j->jpeg, bytes))
		return errno == EIO ? READ_DAMAGED : READ_FAILED;
	u->jpeg = j->jpeg;
	u->jpeg_bytes = bytes;
	return READ_WHOLE;
}

/* Read the parameters of the entry's variants. */
static enum reading read_request(struct job *j)
{
	struct upload *u = &j->upload;
	char id[STORE_ID_BYTES], owner[OWNER_BYTES];

	image_id(id, store_id_version(j->entry->hold.id), j->file.request,
		 u->jpeg, u->jpeg_bytes);
	if (strcmp(id, j->entry->hold.id) != 0) {
		(void)snprintf(j->detail, sizeof(j->detail),
			       "The upload was damaged on the disk before it "
			       "was stored.");
		return READ_DAMAGED;
	}
	if (!image_request_read(j->file.request, &j->query, owner, j->detail))
		return READ_DAMAGED;
	u->variants = j->variants;
	u->variant_count = query_picture_count(&j->query);
	/* The text names each format, so none is chosen. */
	return query_make(&j->query, NULL, IMG_FORMAT_JPEG, u, j->detail) ?
		       READ_WHOLE :
		       READ_DAMAGED;
}

static enum reading read_entry(struct job *j)
{
	const struct spool *spool = j->spooler->config.spool;
	const char *id = j->entry->hold.id;
	enum reading reading;

	switch (spool_read(spool, id, &j->file)) {
	case STORE_OK:
		break;
	case STORE_NOT_FOUND:
		(void)snprintf(j->detail, sizeof(j->detail),
			       "Files of the upload are missing.");
		return spool_has(spool, id) ? READ_DAMAGED : READ_GONE;
	case STORE_DAMAGED:
		return READ_DAMAGED;
	default:
		return READ_FAILED;
	}
	reading = read_upload(j);
	(void)close(j->file.fd);
	return reading == READ_WHOLE ? read_request(j) : reading;
}

/*
 * End a try whose upload did not get into the pipeline.  There was no room: `e`
 * is tried again soon, and so are the others.  NULL: the caller handles the
 * entry.
 */
static void end_try(struct spooler *s, struct spooled *e)
{
	(void)pthread_mutex_lock(&s->lock);
	s->running_count--;
	s->is_alone = false;
	if (e != NULL) {
		retry_after(s, e, NO_ROOM_MS);
		s->room_ns = e->due_ns;
	}
	(void)pthread_mutex_unlock(&s->lock);
}

/* Submit the upload.  It is already counted as running. */
static void submit_try(struct spooler *s, struct job *j)
{
	struct spooled *e = j->entry;
	struct upload *u = &j->upload;
	bool has_room;

	u->number = atomic_fetch_add(s->config.number, 1) + 1;
	u->is_accepted = true;
	u->begin = begin_try;
	u->store = store_try;
	u->done = on_try_done;
	if (pipeline_submit(s->config.pipeline, u))
		return;
	has_room = u->end != UPLOAD_NO_SLOT && u->end != UPLOAD_MEMORY_FULL;
	e->problem = problem_of(u);
	free_job(j);
	if (!has_room)
		outlive_try(s, e); /* it had begun, if the server stops */
	end_try(s, has_room ? NULL : e);
	if (has_room)
		handle_failure(s, e);
}

static void try_one(struct spooler *s, struct spooled *e)
{
	struct job *j = calloc(1, sizeof(*j));
	char detail[PARAMS_DETAIL_BYTES];
	enum reading reading = READ_NO_ROOM;

	e->problem = PROBLEM_STORE_FAILED;
	if (j != NULL) {
		j->spooler = s;
		j->entry = e;
		reading = read_entry(j);
		(void)memcpy(detail, j->detail, sizeof(detail));
	}
	/* Reading takes time: the server may have begun to drain. */
	if (reading == READ_WHOLE && is_leaving(s))
		reading = READ_NO_ROOM;
	if (reading == READ_WHOLE) {
		submit_try(s, j);
		return;
	}
	if (j != NULL)
		free_job(j);
	end_try(s, reading == READ_NO_ROOM ? e : NULL);
	switch (reading) {
	case READ_WHOLE:
	case READ_NO_ROOM:
		break;
	case READ_GONE:
		spool_release(s->config.spool, &e->hold);
		free(e);
		break;
	case READ_FAILED:
		handle_failure(s, e);
		break;
	case READ_DAMAGED:
		move_to_failed(s, e, detail[0] != '\0' ? detail : NULL,
			       e->problem == PROBLEM_STORE_FAILED);
		break;
	}
}

/* Processes have ended in its tries. */
static void give_up(struct spooler *s, struct spooled *e)
{
	end_try(s, NULL);
	e->problem = PROBLEM_PROCESS_ENDED;
	move_to_failed(s, e, NULL, false);
}

/* Caller holds the lock. */
static bool has_room(const struct spooler *s, const struct spooled *e)
{
	struct pipeline *p = s->config.pipeline;
	uint32_t worker_count = pipeline_worker_count(p);

	if (s->leaving || s->is_alone || clock_now_ns() < s->room_ns ||
	    !pipeline_has_slot(p))
		return false;
	if (s->running_count == 0)
		return true;
	return e->death_count == 0 && s->running_count < worker_count &&
	       pipeline_load(p).in_flight_count <= s->running_count;
}

/*
 * Caller holds the lock.  An entry that is due; or NULL, and *wake_ns is when
 * to look again.
 */
static struct spooled *find_due(struct spooler *s, uint64_t *wake_ns)
{
	uint64_t now_ns = clock_now_ns();

	*wake_ns = WAIT_NEVER_NS;
	if (s->leaving)
		return NULL;
	for (struct spooled *e = TAILQ_FIRST(&s->waiting); e != NULL;
	     e = TAILQ_NEXT(e, link)) {
		if (e->due_ns <= now_ns && has_room(s, e)) {
			TAILQ_REMOVE(&s->waiting, e, link);
			s->is_alone = e->death_count > 0;
			return e;
		}
		if (e->due_ns <= now_ns) {
			*wake_ns = now_ns + NO_ROOM_MS * NS_PER_MS;
			return NULL;
		}
		if (e->due_ns < *wake_ns)
			*wake_ns = e->due_ns;
	}
	return NULL;
}

static void *run_spooler(void *arg)
{
	struct spooler *s = arg;

	(void)pthread_setname_np(pthread_self(), "spooler");
	(void)pthread_mutex_lock(&s->lock);
	for (;;) {
		struct spooled *failed = TAILQ_FIRST(&s->failed), *due = NULL;
		uint64_t wake_ns = WAIT_NEVER_NS;

		if (failed != NULL)
			TAILQ_REMOVE(&s->failed, failed, link);
		else if (s->stopping && s->running_count == 0)
			break;
		else
			due = find_due(s, &wake_ns);
		if (failed == NULL && due == NULL) {
			(void)wait_until(&s->changed, &s->lock, wake_ns);
			continue;
		}
		s->running_count += due != NULL;
		(void)pthread_mutex_unlock(&s->lock);
		if (failed != NULL)
			handle_failure(s, failed);
		else if (due->death_count < DEATHS_MAX)
			try_one(s, due);
		else
			give_up(s, due);
		(void)pthread_mutex_lock(&s->lock);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* An entry of an earlier run. */
static bool take_old_entry(void *arg, const char *id)
{
	struct spooler *s = arg;
	struct spooled *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return false;
	(void)memcpy(e->hold.id, id, STORE_ID_BYTES);
	spool_hold(s->config.spool, &e->hold);
	e->is_old = true;
	e->death_count = spool_attempts(s->config.spool, id);
	if (e->death_count == 0)
		TAILQ_INSERT_HEAD(&s->waiting, e, link);
	else
		TAILQ_INSERT_TAIL(&s->waiting, e, link);
	return true;
}

static void spooler_free(struct spooler *s)
{
	struct spooled *e;

	while ((e = TAILQ_FIRST(&s->waiting)) != NULL) {
		TAILQ_REMOVE(&s->waiting, e, link);
		spool_release(s->config.spool, &e->hold);
		free(e);
	}
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->changed);
	free(s);
}

struct spooler *spooler_start(const struct spooler_config *config)
{
	struct spooler *s = calloc(1, sizeof(*s));
	struct spool_stats stats;

	if (s == NULL)
		return NULL;
	s->config = *config;
	TAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->failed);
	(void)pthread_mutex_init(&s->lock, NULL);
	wait_init(&s->changed);
	spool_stats(config->spool, &stats);
	if (stats.waiting_count > 0)
		log_message(config->log, LOG_LEVEL_INFO,
			    "spool: %" PRIu64 " uploads of an earlier run will "
			    "now be finished",
			    stats.waiting_count);
	if (spool_list(config->spool, take_old_entry, s) &&
	    pthread_create(&s->thread, NULL, run_spooler, s) == 0)
		return s;
	spooler_free(s);
	return NULL;
}

void spooler_take(struct spooler *s, struct spooled *e, const struct upload *u)
{
	e->problem = problem_of(u);
	(void)pthread_mutex_lock(&s->lock);
	TAILQ_INSERT_TAIL(&s->failed, e, link);
	(void)pthread_cond_signal(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

void spooler_leave(struct spooler *s)
{
	(void)pthread_mutex_lock(&s->lock);
	s->leaving = true;
	(void)pthread_mutex_unlock(&s->lock);
}

bool spooler_is_idle(struct spooler *s)
{
	(void)pthread_mutex_lock(&s->lock);

	bool is_idle = s->running_count == 0;

	(void)pthread_mutex_unlock(&s->lock);
	return is_idle;
}

void spooler_stop(struct spooler *s)
{
	struct spool_stats stats;

	if (s == NULL)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->leaving = true;
	s->stopping = true;
	(void)pthread_cond_signal(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	spool_stats(s->config.spool, &stats);
	if (stats.waiting_count > 0)
		log_message(s->config.log, LOG_LEVEL_WARN,
			    "spool: %" PRIu64 " uploads are left in the spool "
			    "for the next start",
			    stats.waiting_count);
	spooler_free(s);
}
