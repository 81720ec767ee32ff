/* SPDX-License-Identifier: MIT */
/*
 * Stored images: GET, HEAD and DELETE of /v1/images/...  The connection's
 * thread sends files.  The store stage changes the disk, and reads a picture to
 * its end to check that it is not damaged.
 */
#include "service/http/handlers/upload_request.h"
#include "service/http/reply/result.h"
#include "service/http/handlers/images/conditions.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/images/picture_request.h"
#include "service/http/head/urls.h"

#include "service/log/log.h"
#include "service/store/remote/remote.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum { READ_BYTES = 4 << 20 /* of an original, at once */ };

enum problem images_store_problem(struct request *r, enum store_answer answer,
				  const char *what, const char *why)
{
	switch (answer) {
	case STORE_OK:
		return PROBLEM_NONE;
	case STORE_NOT_FOUND:
		request_explain(r, "There is no such image.");
		return PROBLEM_NOT_FOUND;
	case STORE_DAMAGED:
		return PROBLEM_IMAGE_DAMAGED;
	case STORE_FULL:
	case STORE_FAILED:
	case STORE_UNAVAILABLE:
		break;
	case STORE_CHANGED:
		why = "other servers change it all the time";
		break;
	}
	request_explain(r, "The image could not be %s: %.200s.", what, why);
	return answer == STORE_FULL || answer == STORE_FAILED ?
		       PROBLEM_STORE_FAILED :
		       PROBLEM_STORE_UNAVAILABLE;
}

enum problem images_charge(struct request *r, uint64_t bytes)
{
	struct picture_request *own = picture_of(r);

	switch (budget_charge(&own->charge, bytes)) {
	case BUDGET_OK:
		return PROBLEM_NONE;
	case BUDGET_FULL:
	case BUDGET_NEVER:
		break;
	}
	request_explain(r,
			"Images that are being sent use all memory for them; "
			"see Retry-After.");
	return PROBLEM_MEMORY_FULL;
}

/* `is_fresh`: not from a cache. */
static enum problem open_image(struct request *r, bool is_fresh,
			       struct store_image *image)
{
	struct picture_request *own = picture_of(r);
	struct charge *charge = &own->charge;
	enum problem problem = PROBLEM_NONE;
	enum store_answer answer;
	struct error why;

	charge->budget = &r->http->reading.budget;
	if (store_is_remote(r->config->store))
		problem = images_charge(r, PACKAGE_HEAD_BYTES);
	if (problem != PROBLEM_NONE)
		return problem;
	answer = store_find(r->config->store, own->key, is_fresh,
			    own->deadline_ns, image, &why);
	if (answer == STORE_OK && image->is_package && image->is_copy)
		budget_lower(charge, 0);
	return images_store_problem(r, answer, "read", why.text);
}

/* Is there a store, and does the path have a valid id? */
enum problem images_check_target(struct request *r)
{
	struct picture_request *own = picture_of(r);

	own->request = r;
	own->key = r->segments[0];
	if (r->config->store == NULL)
		return PROBLEM_NO_STORE;
	if (!store_is_id(r->segments[0]))
		return PROBLEM_NOT_FOUND;
	return PROBLEM_NONE;
}

/* The same, and the query has no parameters. */
static enum problem check_plain_target(struct request *r)
{
	enum problem problem = images_check_target(r);

	if (problem == PROBLEM_NONE && !request_takes(r, NULL))
		return PROBLEM_BAD_PARAMETER;
	return problem;
}

/* For a GET or HEAD, whose picture or text is found: sets `is_known`. */
static enum problem check_get(struct request *r)
{
	struct picture_request *own = picture_of(r);
	enum condition condition = conditions_check(r->head, own->etag);

	own->is_known = condition == CONDITION_KNOWN;
	return condition == CONDITION_UNLIKE ? PROBLEM_PRECONDITION_FAILED :
					       PROBLEM_NONE;
}

enum problem images_note_damage(struct request *r, const char *name)
{
	struct picture_request *own = picture_of(r);

	(void)snprintf(own->damaged, sizeof(own->damaged), "%s", name);
	return PROBLEM_IMAGE_DAMAGED;
}

/* The image is damaged, unless it was deleted meanwhile. */
static enum problem report_damage(struct request *r)
{
	struct picture_request *own = picture_of(r);
	const char *name = own->damaged;
	struct store_image image;
	enum problem problem = open_image(r, true, &image);

	if (problem == PROBLEM_NOT_FOUND)
		return PROBLEM_NOT_FOUND;
	if (problem == PROBLEM_NONE)
		store_close_image(&image);
	request_explain(r,
			"%s%sthis image is damaged; delete the image and "
			"upload the picture again.",
			name, *name != '\0' ? " of " : "");
	log_message(r->config->log, LOG_LEVEL_ERROR,
		    "%s%sthe stored image %s is damaged", name,
		    *name != '\0' ? " of " : "", own->key);
	return PROBLEM_IMAGE_DAMAGED;
}

/*
 * What is damaged in a remote store is read once more: the error may have
 * happened on its way, or in a cache.  So is what a copy of the image lacks:
 * another server may have added it.
 */
static enum problem read_carefully(struct request *r,
				   enum problem (*read)(struct request *r,
							bool is_fresh))
{
	enum problem problem = read(r, false);

	if ((problem == PROBLEM_IMAGE_DAMAGED ||
	     (problem == PROBLEM_NOT_FOUND && picture_of(r)->has_image)) &&
	    store_is_remote(r->config->store))
		problem = read(r, true);
	return problem == PROBLEM_IMAGE_DAMAGED ? report_damage(r) : problem;
}

static enum problem problem_of_file(struct request *r, const char *name,
				    enum store_answer answer)
{
	if (answer == STORE_NOT_FOUND)
		return images_note_damage(r, name);
	if (answer == STORE_FAILED)
		log_message(r->config->log, LOG_LEVEL_ERROR,
			    "%s of the stored image %s cannot be read: %s",
			    name, picture_of(r)->key, strerror(errno));
	return images_store_problem(r, answer, "read", strerror(errno));
}

/* Open a file that the image must have. */
static enum problem open_file(struct request *r,
			      const struct store_image *image, const char *name,
			      struct store_part *part)
{
	return problem_of_file(r, name, store_read(image, name, part));
}

/* Fetch a part that was not in the head of the package. */
static enum problem fetch_part(struct request *r, bool is_fresh,
			       struct store_part *part)
{
	struct picture_request *own = picture_of(r);
	enum problem problem =
		images_charge(r, own->charge.bytes + part->bytes);
	enum store_answer answer;
	struct error why;

	if (problem != PROBLEM_NONE)
		return problem;
	answer = store_fetch(r->config->store, own->key, part->offset,
			     part->bytes, is_fresh, own->deadline_ns, part,
			     &why);
	return images_store_problem(r, answer, "read", why.text);
}

/* NULL: no memory, or it is not the text about this image. */
static char *read_text(const struct request *r, const struct store_part *part)
{
	size_t count = (size_t)part->bytes;
	char *text = calloc(1, count + 1);

	if (text != NULL &&
	    pread(part->fd, text, count, (off_t)part->offset) ==
		    (ssize_t)count &&
	    image_meta_is_whole(text) &&
	    package_is_meta_of(text, count, picture_of(r)->key))
		return text;
	free(text);
	return NULL;
}

/* Read the JSON text about the image; the caller calls free(). */
static enum problem read_meta(struct request *r, bool is_fresh,
			      const struct store_image *image, char **out)
{
	const char *name = "made.json";
	struct store_part part;
	enum store_answer answer = store_read(image, name, &part);
	enum problem problem;

	if (answer == STORE_NOT_FOUND) {
		name = "meta.json";
		problem = open_file(r, image, name, &part);
	} else {
		problem = problem_of_file(r, name, answer);
	}
	if (problem == PROBLEM_NONE && part.bytes > META_BYTES_MAX) {
		if (part.fd >= 0)
			(void)close(part.fd);
		return images_note_damage(r, name);
	}
	if (problem == PROBLEM_NONE && part.fd < 0)
		problem = fetch_part(r, is_fresh, &part);
	if (problem != PROBLEM_NONE)
		return problem;
	*out = read_text(r, &part);
	(void)close(part.fd);
	return *out != NULL ? PROBLEM_NONE : images_note_damage(r, name);
}

/* The reply closes the file. */
static void begin_file(struct request *r, struct reply *p,
		       const struct store_part *file, struct range part)
{
	reply_init(p);
	p->kind = REPLY_FILE;
	p->fd = file->fd;
	p->offset = file->offset + part.offset;
	p->bytes = part.count;
	r->reply_bytes = part.count;
}

/*
 * The image is not stored, and no upload of it goes on.  If one was accepted
 * but failed, the spool has the problem.  Its file may be damaged, or written
 * by somebody else: no other code than that of a failed upload is believed.
 */
static enum problem find_failure(struct request *r)
{
	const struct spool *spool = store_spool(r->config->store);
	char text[SPOOL_TEXT_BYTES];
	enum store_answer answer =
		spool != NULL ? spool_find_failed(spool, r->segments[0], text) :
				STORE_NOT_FOUND;
	enum problem problem;
	cJSON *o;
	const char *code, *detail;

	if (answer != STORE_OK)
		return answer == STORE_NOT_FOUND ? PROBLEM_NOT_FOUND :
						   PROBLEM_STORE_FAILED;
	o = cJSON_Parse(text);
	code = cJSON_GetStringValue(cJSON_GetObjectItem(o, "code"));
	detail = cJSON_GetStringValue(cJSON_GetObjectItem(o, "detail"));
	problem = code != NULL ? problem_find(code) : PROBLEM_NONE;
	if (!problem_is_final(problem))
		problem = PROBLEM_STORE_FAILED;
	if (detail != NULL)
		request_explain(r, "%s", detail);
	cJSON_Delete(o);
	return problem;
}

static struct image_state find_image_state(struct request *r)
{
	const struct spool *spool = store_spool(r->config->store);
	struct image_state p = { .accepted = ACCEPTED_PENDING };

	p.is_durable = spool != NULL && spool_has(spool, r->segments[0]);
	if (!p.is_durable)
		p.accepted = accepted_find(&r->http->accepted, r->segments[0],
					   &p.failed_by);
	return p;
}

/* PROBLEM_NONE: the image is not stored, but will be. */
static enum problem problem_of_missing(struct request *r,
				       const struct image_state *p)
{
	switch (p->accepted) {
	case ACCEPTED_NONE:
		return find_failure(r);
	case ACCEPTED_FAILED:
		return p->failed_by;
	case ACCEPTED_PENDING:
		break;
	}
	return PROBLEM_NONE;
}

bool images_begin_meta(struct request *r, struct reply *p, const char *meta,
		       const char *base)
{
	if (base[0] != '\0')
		return reply_begin_text(r, p, image_meta_below(meta, base));
	reply_begin_bytes(r, p, meta, strlen(meta));
	return true;
}

static bool reply_meta(struct request *r, const char *meta)
{
	struct picture_request *own = picture_of(r);
	char base[URL_BASE_BYTES];
	struct reply p;

	urls_base(base, r);
	if (!images_begin_meta(r, &p, meta, base))
		return false;
	reply_add_header(&p, "ETag", own->etag);
	reply_add_header(&p, "Cache-Control", "no-cache");
	return reply_send(r, own->is_known ? STATUS_NOT_MODIFIED : STATUS_OK,
			  "application/json", &p);
}

static void start_work(struct request *r);

/* The work is done.  Another request may get the turn. */
static void end_work(struct request *r)
{
	struct picture_request *own = picture_of(r);
	struct read_turn *next =
		own->has_turn ? reading_leave(&r->http->reading) : NULL;

	own->has_turn = false;
	request_resume(r); /* which may free it */
	if (next != NULL)
		start_work(container_of(next, struct picture_request, turn)
				   ->request);
}

/* The run() of a task of the store stage. */
static void run_store_work(struct task *task)
{
	struct picture_request *own =
		container_of(task, struct picture_request, task);
	struct request *r = own->request;

	own->work(r);
	end_work(r);
}

static void start_work(struct request *r)
{
	struct picture_request *own = picture_of(r);

	if (pipeline_send_task(r->config->pipeline, &own->task))
		return;
	r->problem = PROBLEM_STOPPING;
	end_work(r);
}

static bool send_work(struct request *r, void (*work)(struct request *r),
		      bool is_read)
{
	struct picture_request *own = picture_of(r);
	bool is_suspended = request_suspend(r);
	uint32_t deadline_ms = r->config->deadline_ms;

	if (is_read && deadline_ms == 0)
		deadline_ms = REMOTE_WAIT_MS;
	own->work = work;
	own->has_turn = is_read;
	/* The time in the queue, or until its turn, counts. */
	if (deadline_ms > 0)
		own->deadline_ns = clock_after_ms(deadline_ms);
	own->task.run = run_store_work;
	own->task.event.number = r->number;
	if (!is_read || reading_enter(&r->http->reading, &own->turn))
		start_work(r);
	return is_suspended;
}

bool images_send_read(struct request *r, void (*work)(struct request *r))
{
	(void)reading_admit(&r->http->reading, true);
	return send_work(r, work, true);
}

bool images_begin_work(struct request *r, void (*work)(struct request *r))
{
	return send_work(r, work, false);
}

bool images_begin_read(struct request *r, void (*work)(struct request *r))
{
	if (reading_admit(&r->http->reading, false))
		return send_work(r, work, true);
	r->is_turned_away = true;
	r->problem = PROBLEM_STORE_UNAVAILABLE;
	request_explain(r, "%" PRIu32 " reads wait for the store already.",
			r->http->reading.admitted_max);
	return false;
}

/* Do some work here, unless it may wait for a network. */
static bool do_work(struct request *r, void (*work)(struct request *r))
{
	if (store_is_remote(r->config->store))
		return images_begin_read(r, work);
	work(r);
	return false;
}

static enum problem read_image_once(struct request *r, bool is_fresh)
{
	struct picture_request *own = picture_of(r);
	struct store_image image;
	enum problem problem = open_image(r, is_fresh, &image);
	char base[URL_BASE_BYTES];

	free(own->meta); /* of an earlier look */
	own->meta = NULL;
	if (problem == PROBLEM_NONE) {
		own->package_bytes = image.is_package ? image.index.bytes : 0;
		(void)snprintf(own->version, sizeof(own->version), "%s",
			       image.is_package ? image.version : "");
		problem = read_meta(r, is_fresh, &image, &own->meta);
		store_close_image(&image);
	}
	if (problem == PROBLEM_NONE) {
		urls_base(base, r);
		image_meta_etag(own->etag, own->meta, base);
	}
	return problem;
}

enum problem images_read_meta(struct request *r)
{
	bool is_remote = store_is_remote(r->config->store);
	enum problem problem = read_image_once(r, is_remote);

	if (problem == PROBLEM_IMAGE_DAMAGED && is_remote)
		problem = read_image_once(r, true);
	return problem == PROBLEM_IMAGE_DAMAGED ? report_damage(r) : problem;
}

/* An image that is not stored yet is nothing that conditions could mean. */
static void read_image(struct request *r)
{
	struct picture_request *p = picture_of(r);
	enum problem problem = read_carefully(r, read_image_once);

	budget_lower(&p->charge, 0);
	if (problem == PROBLEM_NONE)
		problem = check_get(r);
	else if (problem == PROBLEM_NOT_FOUND)
		problem = problem_of_missing(r, &p->state);
	if (problem == PROBLEM_NONE && p->meta == NULL &&
	    conditions_check(r->head, NULL) == CONDITION_UNLIKE)
		problem = PROBLEM_PRECONDITION_FAILED;
	r->problem = problem;
}

static bool is_pending(const struct image_state *s)
{
	return s->is_durable || s->accepted == ACCEPTED_PENDING;
}

/* Is the image stored by now, or is it known that it will not be? */
static bool is_settled(const struct request *r)
{
	const struct spool *spool = store_spool(r->config->store);
	enum problem failed_by;

	if (spool != NULL && spool_has(spool, r->segments[0]))
		return false;
	return accepted_find(&r->http->accepted, r->segments[0], &failed_by) !=
	       ACCEPTED_PENDING;
}

static enum problem check_image(struct request *r)
{
	static const char *const names[] = { "wait", NULL };
	struct picture_request *own = picture_of(r);
	enum problem problem = images_check_target(r);

	if (problem == PROBLEM_NONE &&
	    (!request_takes(r, names) || !waiting_read(r, &own->waiter)))
		return PROBLEM_BAD_PARAMETER;
	return problem;
}

bool images_start_image(struct request *r)
{
	struct picture_request *own = picture_of(r);

	/*
	 * Done before the store is asked, because the image may be stored in
	 * between.
	 */
	own->state = find_image_state(r);
	if (own->waiter.until_ns > 0 && is_pending(&own->state))
		return waiting_start(r, &own->waiter, is_settled);
	return do_work(r, read_image);
}

static bool start_image(struct request *r)
{
	struct picture_request *own = picture_of(r);

	if (!r->starts_again)
		r->problem = check_image(r);
	r->starts_again = false;
	waiting_count(r, &own->waiter);
	return r->problem == PROBLEM_NONE && images_start_image(r);
}

bool images_reply_image(struct request *r)
{
	struct picture_request *own = picture_of(r);

	if (own->meta != NULL)
		return reply_meta(r, own->meta);
	return storing_reply_accepted(r, r->segments[0], own->state.is_durable);
}

/* Open the picture, and set its ETag. */
static enum problem open_picture(struct request *r, bool is_fresh,
				 const struct store_image *image)
{
	struct picture_request *p = picture_of(r);
	char *meta;
	enum problem problem = read_meta(r, is_fresh, image, &meta);
	bool is_found;

	if (problem != PROBLEM_NONE)
		return problem;
	is_found = image_meta_find(meta, r->segments[1], &p->picture);
	free(meta);
	p->has_image = true;
	if (!is_found) {
		request_explain(r,
				"The image has no variant '%s'; its JSON lists "
				"those that it has.",
				r->segments[1]);
		return PROBLEM_NOT_FOUND;
	}
	(void)snprintf(p->etag, sizeof(p->etag), "\"%s\"", p->picture.sha256);
	problem = open_file(r, image,
			    restoring_is_needed(r) ? PACKED_NAME :
						     p->picture.file,
			    &p->file);
	p->is_open = problem == PROBLEM_NONE;
	if (p->is_open && restoring_is_needed(r))
		problem = restoring_begin(r);
	return problem;
}

static void close_file(struct request *r)
{
	struct picture_request *own = picture_of(r);

	if (own->is_open && own->file.fd >= 0)
		(void)close(own->file.fd);
	own->is_open = false;
}

void images_release(struct request *r)
{
	struct picture_request *own = picture_of(r);

	close_file(r);
	pieces_release(r);
	if (own->charge.bytes > 0)
		budget_lower(&own->charge, 0);
	free(own->meta);
	own->meta = NULL;
}

/*
 * The part to send.  With If-Range, a part is sent only if the picture is still
 * the same.  HEAD always means the whole picture.
 */
static enum range_kind read_range(struct request *r,
				  const struct picture_request *p,
				  struct range *part)
{
	const char *same = request_header(r, "If-Range");
	enum range_kind kind = RANGE_ALL;

	if (!r->is_head && (same == NULL || strcmp(same, p->etag) == 0))
		kind = range_read(request_header(r, "Range"), p->file.bytes,
				  part);
	if (kind == RANGE_PART)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			       part->offset, part->offset + part->count - 1,
			       p->file.bytes);
	if (kind == RANGE_NONE)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes */%" PRIu64, p->file.bytes);
	return kind;
}

/*
 * The bytes of a URL never change.  Only those that need no key may be kept by
 * others than the client.
 */
const char *images_cache_control(const struct request *r)
{
	return request_role(r) == ROLE_IMAGE || r->is_signed ?
		       "public, max-age=31536000, immutable" :
		       "private, max-age=31536000, immutable";
}

bool images_reply_picture(struct request *r)
{
	struct picture_request *p = picture_of(r);
	struct range part = { 0, p->file.bytes };
	enum range_kind kind =
		p->is_known ? RANGE_ALL : read_range(r, p, &part);
	struct reply reply;

	if (kind == RANGE_NONE)
		return reply_with_problem(r, PROBLEM_BAD_RANGE);
	if (pieces_are_needed(r))
		pieces_begin_reply(r, &reply, part.offset, part.count);
	else
		begin_file(r, &reply, &p->file, part);
	p->is_open = false;
	reply_add_header(&reply, "ETag", p->etag);
	reply_add_header(&reply, "Accept-Ranges", "bytes");
	reply_add_header(&reply, "Cache-Control", images_cache_control(r));
	/* A 304 has the headers of the 200, with its length, and no body. */
	return reply_send(r,
			  p->is_known        ? STATUS_NOT_MODIFIED :
			  kind == RANGE_PART ? STATUS_PARTIAL_CONTENT :
					       STATUS_OK,
			  p->picture.media_type, &reply);
}

/* A picture that the client already has is not sent, so it is not checked. */
static bool needs_check(const struct request *r)
{
	const struct picture_request *own = picture_of(r);

	return !own->is_known &&
	       (restoring_is_needed(r) ||
		!store_is_checked(r->config->store, &own->file,
				  own->picture.sha256));
}

/* Of one that is packed, HEAD compares only the packed file. */
static enum problem check_file(struct request *r)
{
	struct picture_request *own = picture_of(r);
	struct store_part part = own->file;
	const char *name = own->picture.file, *sha256 = own->picture.sha256;
	enum store_answer answer;

	if (restoring_is_needed(r) && !r->is_head)
		return restoring_open(r);
	if (restoring_is_needed(r)) {
		part.bytes = own->picture.packed_bytes;
		name = PACKED_NAME;
		sha256 = own->picture.packed_sha256;
	}
	answer = store_check(r->config->store, &part, sha256);
	if (answer == STORE_DAMAGED)
		return images_note_damage(r, name);
	return images_store_problem(r, answer, "read", strerror(errno));
}

static void check_picture(struct request *r)
{
	r->problem = check_file(r);
	if (r->problem == PROBLEM_IMAGE_DAMAGED)
		r->problem = report_damage(r);
}

static enum problem open_picture_once(struct request *r, bool is_fresh)
{
	struct store_image image;
	enum problem problem = open_image(r, is_fresh, &image);

	close_file(r); /* the one that was damaged */
	if (problem != PROBLEM_NONE)
		return problem;
	problem = open_picture(r, is_fresh, &image);
	store_close_image(&image);
	return problem;
}

static enum problem find_picture_once(struct request *r, bool is_fresh)
{
	enum problem problem = open_picture_once(r, is_fresh);

	return problem == PROBLEM_NONE ? check_get(r) : problem;
}

static void find_picture(struct request *r)
{
	r->problem = read_carefully(r, find_picture_once);
}

/* The same, and fetch it, and compare its SHA-256. */
static enum problem fetch_picture_once(struct request *r, bool is_fresh)
{
	enum problem problem = find_picture_once(r, is_fresh);
	struct picture_request *p = picture_of(r);

	if (problem != PROBLEM_NONE || p->is_known)
		return problem;
	if (p->file.fd >= 0)
		return needs_check(r) ? check_file(r) : PROBLEM_NONE;
	/* Its bytes are not sent, so they need not be fetched. */
	if (r->is_head)
		return PROBLEM_NONE;
	budget_lower(&p->charge, 0); /* of the head */
	return pieces_fetch(r, p->file.offset, is_fresh);
}

static void fetch_picture(struct request *r)
{
	r->problem = read_carefully(r, fetch_picture_once);
}

bool images_start_picture(struct request *r)
{
	if (store_is_remote(r->config->store))
		return images_begin_read(r, fetch_picture);
	find_picture(r);
	return r->problem == PROBLEM_NONE && needs_check(r) &&
	       send_work(r, check_picture, false);
}

static bool start_picture(struct request *r)
{
	r->problem = check_plain_target(r);
	if (r->problem == PROBLEM_NONE && !store_is_name(r->segments[1]))
		r->problem = PROBLEM_NOT_FOUND;
	return r->problem == PROBLEM_NONE && images_start_picture(r);
}

/* The original of an image is an image, too: see image_meta.h. */
static void name_original(struct request *r)
{
	struct picture_request *own = picture_of(r);

	store_original_key(own->original, r->segments[0]);
	own->key = own->original;
	(void)strcpy(r->segments[1], ORIGINAL_NAME);
}

static enum problem problem_of_original(struct request *r, enum problem problem)
{
	if (problem != PROBLEM_NOT_FOUND)
		return problem;
	free(r->detail);
	r->detail = NULL;
	return PROBLEM_NO_ORIGINAL;
}

/* Called again when the original was looked for. */
static bool start_original(struct request *r)
{
	static const char *const signed_names[] = { "expires", "signature",
						    NULL };

	if (r->starts_again) {
		r->starts_again = false;
		r->problem = problem_of_original(r, r->problem);
		return false;
	}
	r->problem = images_check_target(r);
	if (r->problem == PROBLEM_NONE &&
	    !request_takes(r, r->is_signed ? signed_names : NULL))
		r->problem = PROBLEM_BAD_PARAMETER;
	if (r->problem != PROBLEM_NONE)
		return false;
	name_original(r);
	r->starts_again = true;
	return images_start_picture(r);
}

enum problem images_open_original(struct request *r)
{
	name_original(r);
	return problem_of_original(r, read_carefully(r, open_picture_once));
}

/* Read a part of the picture. */
static enum problem read_part(struct request *r, uint8_t *to, uint64_t from,
			      uint64_t bytes)
{
	struct picture_request *own = picture_of(r);
	struct store_part part = own->file;
	enum store_answer answer = STORE_OK;
	struct error why;
	ssize_t count;

	part.offset += from;
	part.bytes = bytes;
	if (own->file.fd < 0)
		answer = store_fetch(r->config->store, own->key, part.offset,
				     part.bytes, false, own->deadline_ns, &part,
				     &why);
	if (answer != STORE_OK)
		return images_store_problem(r, answer, "read", why.text);
	count = pread(part.fd, to, (size_t)bytes, (off_t)part.offset);
	if (own->file.fd < 0)
		(void)close(part.fd);
	return count == (ssize_t)bytes ?
		       PROBLEM_NONE :
		       images_note_damage(r, own->picture.file);
}

/*
 * What is fetched of a remote store is in memory beside `to`: several MiB at
 * once if there is memory, else a piece.
 */
static enum problem read_parts(struct request *r, uint8_t *to)
{
	struct picture_request *own = picture_of(r);
	uint64_t all = own->file.bytes, piece = min_u64(READ_BYTES, all);
	uint64_t charged = own->charge.bytes;
	bool is_remote = own->file.fd < 0;
	enum problem problem = PROBLEM_NONE;

	if (is_remote && !reading_charge_whole(&own->charge, charged + piece)) {
		piece = reading_piece_bytes(&r->http->reading);
		problem = images_charge(r, charged + piece);
	}
	for (uint64_t at = 0; problem == PROBLEM_NONE && at < all; at += piece)
		problem = read_part(r, to + at, at, min_u64(piece, all - at));
	if (is_remote)
		budget_lower(&own->charge, charged);
	return problem;
}

enum problem images_read_picture(struct request *r, uint8_t *to)
{
	const struct picture_request *own = picture_of(r);
	char sha256[SHA256_TEXT_BYTES];
	enum problem problem = restoring_is_needed(r) ? restoring_read(r, to) :
							read_parts(r, to);

	if (problem == PROBLEM_NONE)
		sha256_print(sha256, to, (size_t)own->file.bytes);
	if (problem == PROBLEM_NONE && strcmp(sha256, own->picture.sha256) != 0)
		problem = images_note_damage(r, own->picture.file);
	return problem == PROBLEM_IMAGE_DAMAGED ? report_damage(r) : problem;
}

/*
 * Do the conditions of a DELETE allow it?  They are about the stored image; the
 * ETag of a damaged one is not known.  If there is nothing to remove, they are
 * ignored.
 */
static enum problem check_removal(struct request *r)
{
	struct picture_request *p = picture_of(r);
	const char *etag = p->etag;
	enum problem problem;

	p->state = find_image_state(r);
	problem = read_image_once(r, true);
	budget_lower(&p->charge, 0);
	if (problem == PROBLEM_NOT_FOUND && !p->state.is_durable &&
	    find_failure(r) == PROBLEM_NOT_FOUND)
		return PROBLEM_NONE;
	if (problem == PROBLEM_NOT_FOUND)
		etag = NULL;
	else if (problem != PROBLEM_NONE && problem != PROBLEM_IMAGE_DAMAGED)
		return problem;
	free(r->detail);
	r->detail = NULL;
	return conditions_check(r->head, etag) == CONDITION_HOLDS ?
		       PROBLEM_NONE :
		       PROBLEM_PRECONDITION_FAILED;
}

/* Before the image, so that it cannot stay behind. */
static enum store_answer delete_original(struct request *r, struct error *why)
{
	char key[STORE_ID_BYTES];

	store_original_key(key, r->segments[0]);
	return store_delete(r->config->store, key, picture_of(r)->deadline_ns,
			    why);
}

static enum store_answer delete_both(struct request *r, struct error *why)
{
	struct store *store = r->config->store;
	enum store_answer answer = delete_original(r, why);

	if (answer != STORE_OK && answer != STORE_NOT_FOUND)
		return answer;
	if (store_spool(store) == NULL)
		return store_delete(store, r->segments[0],
				    picture_of(r)->deadline_ns, why);
	answer = spool_delete(store_spool(store), r->segments[0]);
	error_set(why, "%s", strerror(errno));
	return answer;
}

static void remove_all(struct request *r)
{
	struct error why;
	enum store_answer answer;

	store_lock_original(r->config->store, r->segments[0]);
	answer = delete_both(r, &why);
	store_unlock_original(r->config->store, r->segments[0]);
	r->problem = images_store_problem(r, answer, "removed", why.text);
}

/* Not while pictures are added, which may put all of the image again. */
static void delete_image(struct request *r)
{
	struct making *m = &r->http->making;

	if (conditions_exist(r->head))
		r->problem = check_removal(r);
	if (r->problem != PROBLEM_NONE)
		return;
	making_lock(m, r->segments[0]);
	remove_all(r);
	making_unlock(m, r->segments[0]);
}

static bool start_removal(struct request *r)
{
	r->problem = check_plain_target(r);
	return r->problem == PROBLEM_NONE && send_work(r, delete_image, false);
}

static bool reply_removed(struct request *r)
{
	struct reply p;

	reply_begin_bytes(r, &p, NULL, 0);
	return reply_send(r, STATUS_NO_CONTENT, NULL, &p);
}

const struct handler image_handler = {
	.state_bytes = sizeof(struct picture_request),
	.start = start_image,
	.reply = images_reply_image,
	.release = images_release,
};

const struct handler image_removal_handler = {
	.state_bytes = sizeof(struct picture_request),
	.start = start_removal,
	.reply = reply_removed,
	.release = images_release,
};

const struct handler picture_handler = {
	.state_bytes = sizeof(struct picture_request),
	.start = start_picture,
	.reply = images_reply_picture,
	.release = images_release,
};

const struct handler original_handler = {
	.state_bytes = sizeof(struct picture_request),
	.start = start_original,
	.reply = images_reply_picture,
	.release = images_release,
};
