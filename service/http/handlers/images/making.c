/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/making.h"

#include "service/http/reply/result.h"
#include "service/http/head/urls.h"
#include "service/log/log.h"

#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void making_init(struct making *m)
{
	TAILQ_INIT(&m->turns);
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_cond_init(&m->called, NULL);
	for (uint32_t i = 0; i < MAKING_LOCKS; i++)
		(void)pthread_mutex_init(&m->adding[i], NULL);
}

void making_release(struct making *m)
{
	for (uint32_t i = 0; i < MAKING_LOCKS; i++)
		(void)pthread_mutex_destroy(&m->adding[i]);
	(void)pthread_cond_destroy(&m->called);
	(void)pthread_mutex_destroy(&m->lock);
}

static pthread_mutex_t *lock_of(struct making *m, const char *id)
{
	const char digits[] = { id[0], id[1], '\0' };

	return &m->adding[strtoul(digits, NULL, 16) % MAKING_LOCKS];
}

void making_lock(struct making *m, const char *id)
{
	(void)pthread_mutex_lock(lock_of(m, id));
}

void making_unlock(struct making *m, const char *id)
{
	(void)pthread_mutex_unlock(lock_of(m, id));
}

static bool is_get(const struct request *r)
{
	return r->route->method == METHOD_GET;
}

/* Name what is asked for by a hash, which equal requests have in common. */
static void name_what(struct request *r)
{
	struct making_request *own = making_of(r);
	char text[QUERY_TEXT_BYTES];

	(void)query_print(text, &own->upload.upload);
	sha256_print(own->what, text, strlen(text));
	own->turn =
		(struct making_turn){ .id = r->segments[0], .what = own->what };
}

static enum problem admit(struct request *r)
{
	struct making_request *own = making_of(r);
	enum problem problem = images_check_target(r);

	if (problem == PROBLEM_NONE)
		problem = upload_begin(r);
	if (problem == PROBLEM_NONE)
		name_what(r);
	own->picture.deadline_ns = own->upload.upload.deadline_ns;
	return problem;
}

/* The variant's name is made of the hash; see query_is_made_name(). */
static void name_variant(struct request *r)
{
	struct making_request *own = making_of(r);
	struct variant *v = &own->upload.upload.variants[0];

	_Static_assert(sizeof(v->name) <= SEGMENT_BYTES, "it fits");
	(void)snprintf(v->name, sizeof(v->name), "m%.*s",
		       (int)sizeof(v->name) - 2, own->what);
	assert(query_is_made_name(v->name));
	(void)strcpy(r->segments[1], v->name);
}

enum problem making_admit(struct request *r)
{
	struct making_request *own = making_of(r);
	enum problem problem = admit(r);

	if (problem != PROBLEM_NONE)
		return problem;
	if (own->upload.query.variant_count == 0) {
		name_variant(r);
		return PROBLEM_NONE;
	}
	request_explain(r, "GET makes one picture, so it takes no variant; "
			   "POST takes several.");
	return PROBLEM_BAD_PARAMETER;
}

enum problem adding_admit(struct request *r)
{
	struct making_request *own = making_of(r);
	enum problem problem = admit(r);

	if (problem != PROBLEM_NONE || own->upload.query.variant_count > 0)
		return problem;
	request_explain(r, "Say what to make: variant=NAME:w=320, or the name "
			   "of a preset.");
	return PROBLEM_BAD_PARAMETER;
}

/* Caller holds the lock. */
static bool is_being_made(const struct making *m, const struct making_turn *t)
{
	const struct making_turn *other;

	TAILQ_FOREACH(other, &m->turns, link)
	if (other->is_making && strcmp(other->id, t->id) == 0 &&
	    strcmp(other->what, t->what) == 0)
		return true;
	return false;
}

/*
 * Is it this request's turn?  If not, it waits: its connection is suspended, or
 * its thread waits here.
 */
static bool take_turn(struct request *r, bool *is_suspended)
{
	struct making *m = &r->http->making;
	struct making_turn *t = &making_of(r)->turn;
	bool is_mine;

	*is_suspended = false;
	(void)pthread_mutex_lock(&m->lock);
	is_mine = !is_being_made(m, t);
	t->is_making = is_mine;
	t->is_called = t->is_making;
	TAILQ_INSERT_TAIL(&m->turns, t, link);
	if (!t->is_making)
		*is_suspended = request_suspend(r);
	while (!*is_suspended && !t->is_called)
		(void)pthread_cond_wait(&m->called, &m->lock);
	(void)pthread_mutex_unlock(&m->lock);
	return is_mine; /* `t` may be another thread's by now */
}

/* Caller holds the lock.  Those that wait for the same look again. */
static void call_waiting(struct making *m, const struct making_turn *t)
{
	struct making_turn *other, *next;

	for (other = TAILQ_FIRST(&m->turns); other != NULL; other = next) {
		next = TAILQ_NEXT(other, link);
		if (other->is_making || strcmp(other->id, t->id) != 0 ||
		    strcmp(other->what, t->what) != 0)
			continue;
		TAILQ_REMOVE(&m->turns, other, link);
		other->is_called = true;
		request_resume(container_of(other, struct making_request, turn)
				       ->picture.request);
	}
	(void)pthread_cond_broadcast(&m->called);
}

void making_leave(struct request *r)
{
	struct making *m = &r->http->making;
	struct making_turn *t = &making_of(r)->turn;

	if (!t->is_making)
		return;
	(void)pthread_mutex_lock(&m->lock);
	TAILQ_REMOVE(&m->turns, t, link);
	t->is_making = false;
	call_waiting(m, t);
	(void)pthread_mutex_unlock(&m->lock);
}

/* Charge memory for the original, and get a buffer for it. */
static enum problem begin_body(struct request *r, uint64_t bytes)
{
	struct upload_request *own = r->own;
	struct pipeline *p = r->config->pipeline;
	enum problem problem;

	body_begin(&own->body, NULL, false,
		   (struct body_length){
			   .is_known = true, .bytes = bytes, .before = bytes },
		   p, &own->upload.charge);
	own->upload.jpeg_charge_bytes = own->body.whole_bytes;
	problem = body_admit(&own->body, p);
	if (own->body.detail[0] != '\0') {
		request_explain(r, "%s", own->body.detail);
		r->excess = own->body.excess;
	}
	return problem;
}

/* In the store stage. */
static void read_original(struct request *r)
{
	struct making_request *own = making_of(r);

	r->problem = images_open_original(r);
	if (r->problem == PROBLEM_NONE)
		r->problem = begin_body(r, own->picture.file.bytes);
	if (r->problem == PROBLEM_NONE)
		r->problem = images_read_picture(r, own->upload.body.bytes);
	images_release(r);
}

/* Leave out the variants that the image has already. */
static enum problem drop_known(const struct upload *u, const char *meta,
			       struct upload *fresh)
{
	fresh->variant_count = 0;
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];
		struct stored_picture known;
		char sha256[SHA256_TEXT_BYTES];

		sha256_print(sha256, v->jpeg, v->jpeg_bytes);
		if (!image_meta_find(meta, query_variant_name(v), &known))
			fresh->variants[fresh->variant_count++] = *v;
		else if (strcmp(known.sha256, sha256) != 0)
			return PROBLEM_VARIANT_EXISTS;
	}
	return PROBLEM_NONE;
}

/* store_extend() reads a package, and then makes another of its files. */
static enum problem charge_package(struct request *r)
{
	const struct picture_request *p = &making_of(r)->picture;

	return p->package_bytes == 0 ?
		       PROBLEM_NONE :
		       images_charge(r, p->charge.bytes + 2 * p->package_bytes);
}

/*
 * Add the pictures, of which there are some, to the image.  *is_changed:
 * another server was faster, so they must be added to what it has made of it.
 */
static enum problem add_pictures(struct request *r, const struct upload *fresh,
				 bool *is_changed)
{
	struct making_request *own = making_of(r);
	char *made;
	struct image_files f;
	struct error why;
	enum store_answer answer;
	enum problem problem;

	if (image_meta_count(own->picture.meta) + fresh->variant_count >
	    MAKING_VARIANTS_MAX)
		return PROBLEM_TOO_MANY_VARIANTS;
	problem = charge_package(r);
	if (problem != PROBLEM_NONE)
		return problem;
	made = image_meta_add(own->picture.meta, r->segments[0], fresh);
	if (made == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	image_files_add(&f, fresh, made);
	answer = store_extend(r->config->store, r->segments[0],
			      own->picture.version, f.files, f.count,
			      own->picture.deadline_ns, &why);
	*is_changed = answer == STORE_CHANGED;
	free(own->picture.meta);
	own->picture.meta = made;
	if (answer == STORE_FULL)
		return PROBLEM_STORE_FULL;
	return images_store_problem(r, answer, "changed", why.text);
}

static enum problem add_once(struct request *r, bool *is_changed)
{
	struct making_request *own = making_of(r);
	const struct upload *u = &own->upload.upload;
	struct variant variants[VARIANTS_MAX];
	struct upload fresh = *u;
	enum problem problem;

	*is_changed = false;
	fresh.variants = variants;
	own->picture.key = r->segments[0];
	problem = images_read_meta(r);
	if (problem == PROBLEM_NONE)
		problem = drop_known(u, own->picture.meta, &fresh);
	if (problem == PROBLEM_NONE && fresh.variant_count > 0)
		problem = add_pictures(r, &fresh, is_changed);
	return problem;
}

static enum problem add_made(struct request *r)
{
	uint64_t deadline_ns = making_of(r)->picture.deadline_ns;
	enum problem problem;
	uint32_t attempt = 0;
	bool is_changed;

	do
		problem = add_once(r, &is_changed);
	while (is_changed && store_try_again(attempt++, deadline_ns));
	return problem;
}

/* Called by a thread of the store stage. */
static enum upload_end store_made(struct upload *u)
{
	struct request *r = request_of_upload(u);
	struct making_request *own = making_of(r);
	struct making *m = &r->http->making;

	making_lock(m, r->segments[0]);
	own->problem = add_made(r);
	making_unlock(m, r->segments[0]);
	if (own->problem != PROBLEM_NONE && is_get(r) &&
	    own->problem != PROBLEM_NOT_FOUND) {
		log_message(r->config->log, LOG_LEVEL_WARN,
			    "request %s: its picture was not added to the "
			    "image: %s",
			    r->id, problem_code(own->problem));
		own->problem = PROBLEM_NONE;
	}
	return UPLOAD_ENDED;
}

/* Look for the image, or for the picture that GET wants. */
static bool look(struct request *r)
{
	r->starts_again = true;
	making_of(r)->step = MAKING_TURN;
	return is_get(r) ? images_start_picture(r) : images_start_image(r);
}

/* Is there more to do than to reply? */
static bool must_make(struct request *r)
{
	struct making_request *own = making_of(r);

	if (!is_get(r))
		return r->problem == PROBLEM_NONE && own->picture.meta != NULL;
	if (r->problem != PROBLEM_NOT_FOUND || !own->picture.has_image)
		return false;
	r->problem = PROBLEM_NONE;
	free(r->detail);
	r->detail = NULL;
	return true;
}

static bool begin_turn(struct request *r)
{
	struct making_request *own = making_of(r);
	bool is_suspended;

	if (!must_make(r))
		return false;
	r->starts_again = true;
	/* Another thread may go on with it as soon as it is suspended. */
	own->step = MAKING_LOOK;
	if (!take_turn(r, &is_suspended))
		return is_suspended;
	own->step = MAKING_READ;
	return false;
}

static bool read(struct request *r)
{
	struct making_request *own = making_of(r);

	uint64_t deadline_ns = own->upload.upload.deadline_ns;

	own->step = MAKING_SUBMIT;
	r->starts_again = true;
	if (deadline_ns > 0 && clock_now_ns() >= deadline_ns) {
		r->problem = PROBLEM_DEADLINE_EXCEEDED;
		return false;
	}
	if (!pipeline_has_slot(r->config->pipeline)) {
		r->problem = PROBLEM_OVERLOADED;
		return false;
	}
	return store_is_remote(r->config->store) ?
		       images_begin_read(r, read_original) :
		       images_begin_work(r, read_original);
}

static bool submit(struct request *r)
{
	struct making_request *own = making_of(r);

	own->step = MAKING_END;
	r->starts_again = true;
	if (r->problem != PROBLEM_NONE)
		return false;
	own->is_made = true;
	atomic_store(&own->upload.storing.early, EARLY_NO);
	own->upload.upload.store = store_made;
	return upload_submit(r);
}

static bool end(struct request *r)
{
	struct making_request *own = making_of(r);

	if (own->is_made && r->problem == PROBLEM_NONE) {
		r->has_timing = true;
		r->problem = upload_problem(r);
		if (r->problem == PROBLEM_NONE)
			r->problem = own->problem;
	}
	upload_drop_body(r);
	making_leave(r);
	return false;
}

bool making_start(struct request *r)
{
	r->starts_again = false;
	switch (making_of(r)->step) {
	case MAKING_LOOK:
		return look(r);
	case MAKING_TURN:
		return begin_turn(r);
	case MAKING_READ:
		return read(r);
	case MAKING_SUBMIT:
		return submit(r);
	case MAKING_END:
		return end(r);
	}
	abort();
}

bool making_reply(struct request *r)
{
	struct making_request *own = making_of(r);
	struct upload *u = &own->upload.upload;
	char type[RESULT_TYPE_CHARS], sha256[SHA256_TEXT_BYTES],
		etag[ETAG_BYTES];
	struct reply p;

	if (!own->is_made)
		return images_reply_picture(r);
	if (u->end == UPLOAD_GONE)
		return false;
	result_begin_picture(&p, u, type);
	sha256_print(sha256, u->variants[0].jpeg, u->variants[0].jpeg_bytes);
	(void)snprintf(etag, sizeof(etag), "\"%s\"", sha256);
	reply_add_header(&p, "ETag", etag);
	reply_add_header(&p, "Cache-Control", images_cache_control(r));
	r->result_bytes += u->variants[0].jpeg_bytes;
	return reply_send(r, STATUS_OK, type, &p);
}

bool adding_reply(struct request *r)
{
	struct making_request *own = making_of(r);
	struct storing *s = &own->upload.storing;

	if (!own->is_made) /* the image is not stored yet */
		return images_reply_image(r);
	if (own->upload.upload.end == UPLOAD_GONE)
		return false;
	(void)strcpy(s->accepted.id, r->segments[0]);
	s->meta = own->picture.meta;
	own->picture.meta = NULL;
	return storing_reply_stored(r);
}
