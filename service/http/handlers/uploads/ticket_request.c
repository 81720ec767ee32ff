/* SPDX-License-Identifier: MIT */
/* GET, HEAD and DELETE of a ticket: /v1/uploads/ID. */
#include "service/http/handlers/uploads/ticket_request.h"

#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/waiting.h"
#include "service/http/head/params.h"
#include "service/http/head/tus.h"
#include "service/http/head/urls.h"
#include "service/http/request.h"
#include "service/pipeline/pipeline.h"

#include "base/json.h"
#include "base/text.h"
#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>

enum {
	TICKET_URL_BYTES =
		URL_BASE_BYTES + sizeof(UPLOADS_PATH "/") + STORE_ID_BYTES,
	DATE_BYTES = 32,
};

/* The `own` of a request for a ticket. */
struct ticket_request {
	struct request *request;
	struct inbox_hold hold;
	struct inbox_ticket found;
	struct ticket ticket;
	bool is_stored;
	struct waiter waiter; /* for its image, or for what is wrong */
	struct task task;
};

static enum problem explain_unknown(struct request *r)
{
	if (inbox_has_expired(r->segments[0]))
		return PROBLEM_UPLOAD_EXPIRED;
	request_explain(r, "There is no such upload.");
	return PROBLEM_NOT_FOUND;
}

static enum problem find_ticket(struct request *r, struct inbox_ticket *out)
{
	switch (inbox_find(r->config->inbox, r->segments[0], out)) {
	case STORE_OK:
		return PROBLEM_NONE;
	case STORE_NOT_FOUND:
		return explain_unknown(r);
	default:
		break;
	}
	request_explain(r, "The upload could not be read: %s.",
			strerror(errno));
	return PROBLEM_STORE_FAILED;
}

static enum problem check_target(struct request *r)
{
	if (r->config->inbox == NULL)
		return PROBLEM_NO_INBOX;
	return store_is_id(r->segments[0]) ? PROBLEM_NONE : PROBLEM_NOT_FOUND;
}

enum problem tickets_hold(struct request *r, struct inbox_hold *h,
			  void (*ask)(struct inbox_hold *h),
			  struct inbox_ticket *out)
{
	enum problem problem = check_target(r);

	if (problem == PROBLEM_NONE && !request_takes(r, NULL))
		problem = PROBLEM_BAD_PARAMETER;
	if (problem == PROBLEM_NONE)
		problem = tus_check_version(r);
	if (problem != PROBLEM_NONE)
		return problem;
	h->ask = ask;
	if (!inbox_hold(r->config->inbox, h, r->segments[0]))
		return PROBLEM_UPLOAD_BUSY;
	problem = find_ticket(r, out);
	if (problem != PROBLEM_NONE)
		inbox_release(r->config->inbox, h);
	return problem;
}

/* When the ticket expires, UTC. */
static struct tm expiry(const char *id)
{
	time_t at = (time_t)inbox_expires_s(id);
	struct tm tm;

	(void)gmtime_r(&at, &tm);
	return tm;
}

static const char *state_name(const struct ticket_state *s)
{
	if (s->image != NULL)
		return "stored";
	if (s->problem != NULL && s->offset == 0)
		return "refused";
	return s->offset > 0 ? "receiving" : "waiting";
}

static void print_url(char url[TICKET_URL_BYTES], const struct request *r,
		      const char *path, const char *id)
{
	char base[URL_BASE_BYTES];

	urls_base(base, r);
	(void)snprintf(url, TICKET_URL_BYTES, "%s%s/%s", base, path, id);
}

static void add_state(struct json *j, const struct request *r,
		      const struct ticket_state *s)
{
	char url[TICKET_URL_BYTES], date[DATE_BYTES];
	struct tm expires = expiry(s->id);

	print_url(url, r, UPLOADS_PATH, s->id);
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &expires);
	json_add_text(j, "id", s->id);
	json_add_text(j, "url", url);
	json_add_text(j, "state", state_name(s));
	json_add_whole(j, "offset", s->offset);
	if (s->ticket->has_length)
		json_add_whole(j, "length", s->ticket->length);
	json_add_whole(j, "max_body", s->ticket->bytes_max);
	json_add_text(j, "expires", date);
	if (s->image != NULL) {
		print_url(url, r, IMAGES_PATH, s->image);
		json_open_object(j, "image");
		json_add_text(j, "id", s->image);
		json_add_text(j, "url", url);
		json_close(j);
	}
	if (s->problem != NULL && s->image == NULL)
		json_add_raw(j, "problem", s->problem);
}

static char *state_json(const struct request *r, const struct ticket_state *s)
{
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	add_state(&j, r, s);
	json_close(&j);
	(void)fputc('\n', out);
	return text_close(&text, out);
}

static void add_number(struct reply *p, const char *name, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	reply_add_header(p, name, text);
}

static void add_headers(struct request *r, struct reply *p, bool is_new,
			const struct ticket_state *s)
{
	char url[TICKET_URL_BYTES], date[DATE_BYTES];
	struct tm expires = expiry(s->id);

	print_url(url, r, UPLOADS_PATH, s->id);
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT",
		       &expires);
	if (is_new)
		reply_add_header(p, "Location", url);
	add_number(p, "Upload-Offset", s->offset);
	if (s->ticket->has_length)
		add_number(p, "Upload-Length", s->ticket->length);
	else
		reply_add_header(p, "Upload-Defer-Length", "1");
	if (s->ticket->metadata != NULL && !is_new)
		reply_add_header(p, "Upload-Metadata", s->ticket->metadata);
	reply_add_header(p, "Upload-Expires", date);
	if (s->image != NULL) {
		print_url(url, r, IMAGES_PATH, s->image);
		reply_add_header(p, "Content-Location", url);
	}
	reply_add_header(p, "Cache-Control", "no-store");
}

bool tickets_reply(struct request *r, struct inbox_hold *h, unsigned int status,
		   const struct ticket_state *s)
{
	bool has_text = status != STATUS_NO_CONTENT;
	struct reply p;

	inbox_release(r->config->inbox, h);
	if (!has_text)
		reply_begin_bytes(r, &p, NULL, 0);
	else if (!reply_begin_text(r, &p, state_json(r, s)))
		return false;
	add_headers(r, &p, status == STATUS_CREATED, s);
	return reply_send(r, status, has_text ? "application/json" : NULL, &p);
}

/*
 * Has the image that has claimed the ticket been stored, although its end was
 * not noted?  Of a store beyond the network, that is not asked.
 */
static bool is_image_stored(const struct request *r, const char *image)
{
	struct store *store = r->config->store;
	struct store_image found;
	struct error why;

	if (image[0] == '\0' || store_is_remote(store) ||
	    store_find(store, image, false, 0, &found, &why) != STORE_OK)
		return false;
	store_close_image(&found);
	return true;
}

/* Is its image stored?  Then all of its bytes have arrived. */
static void find_end(struct request *r)
{
	struct ticket_request *own = r->own;
	struct ticket *t = &own->ticket;
	struct cJSON *end = cJSON_Parse(own->found.end);
	uint64_t bytes = json_whole(end, "bytes");

	own->is_stored = own->found.end[0] != '\0' ||
			 is_image_stored(r, own->found.claim);
	if (own->is_stored && bytes > 0) {
		t->has_length = true;
		t->length = bytes;
	}
	cJSON_Delete(end);
}

static enum problem check_get(struct request *r)
{
	static const char *const names[] = { "wait", NULL };
	struct ticket_request *own = r->own;
	enum problem problem = check_target(r);

	if (problem == PROBLEM_NONE &&
	    (!request_takes(r, names) || !waiting_read(r, &own->waiter)))
		return PROBLEM_BAD_PARAMETER;
	return problem;
}

/* Has it an end, or is a file refused, or is it gone? */
static bool is_settled(const struct request *r)
{
	return inbox_is_settled(r->config->inbox, r->segments[0]);
}

/*
 * HEAD is for a client that will go on, so nobody else may send at that time;
 * it learns why the last picture was refused by GET.
 */
static bool start_state(struct request *r)
{
	struct ticket_request *own = r->own;

	if (r->is_head)
		r->problem = tickets_hold(r, &own->hold, NULL, &own->found);
	else if (!r->starts_again)
		r->problem = check_get(r);
	r->starts_again = false;
	waiting_count(r, &own->waiter);
	if (r->problem == PROBLEM_NONE && own->waiter.until_ns > 0 &&
	    !is_settled(r))
		return waiting_start(r, &own->waiter, is_settled);
	if (r->problem == PROBLEM_NONE && !r->is_head)
		r->problem = find_ticket(r, &own->found);
	if (r->problem == PROBLEM_NONE &&
	    !ticket_read(&own->ticket, own->found.text))
		r->problem = PROBLEM_STORE_FAILED;
	if (r->problem == PROBLEM_NONE)
		find_end(r);
	return false;
}

static bool reply_state(struct request *r)
{
	struct ticket_request *own = r->own;
	const struct ticket_state state = {
		.id = r->segments[0],
		.ticket = &own->ticket,
		.offset =
			own->is_stored ? own->ticket.length : own->found.bytes,
		.image = own->is_stored ? own->found.claim : NULL,
		.problem = own->found.problem[0] != '\0' ? own->found.problem :
							   NULL,
	};

	return tickets_reply(r, &own->hold, STATUS_OK, &state);
}

/* The run() of a task of the store stage. */
static void run_removal(struct task *task)
{
	struct ticket_request *own =
		container_of(task, struct ticket_request, task);
	struct request *r = own->request;

	if (inbox_remove(r->config->inbox, &own->hold) == STORE_FAILED)
		r->problem = PROBLEM_STORE_FAILED;
	request_resume(r);
}

static bool start_removal(struct request *r)
{
	struct ticket_request *own = r->own;
	bool is_suspended;

	r->problem = tickets_hold(r, &own->hold, NULL, &own->found);
	if (r->problem != PROBLEM_NONE)
		return false;
	own->request = r;
	own->task = (struct task){ .run = run_removal };
	own->task.event.number = r->number;
	is_suspended = request_suspend(r);
	if (!pipeline_send_task(r->config->pipeline, &own->task)) {
		r->problem = PROBLEM_STOPPING;
		request_resume(r);
	}
	return is_suspended;
}

static bool reply_removed(struct request *r)
{
	struct ticket_request *own = r->own;
	struct reply p;

	inbox_release(r->config->inbox, &own->hold);
	reply_begin_bytes(r, &p, NULL, 0);
	return reply_send(r, STATUS_NO_CONTENT, NULL, &p);
}

static void release(struct request *r)
{
	struct ticket_request *own = r->own;

	inbox_release(r->config->inbox, &own->hold);
	ticket_release(&own->ticket);
}

const struct handler ticket_handler = {
	.state_bytes = sizeof(struct ticket_request),
	.start = start_state,
	.reply = reply_state,
	.release = release,
};

const struct handler ticket_removal_handler = {
	.state_bytes = sizeof(struct ticket_request),
	.start = start_removal,
	.reply = reply_removed,
	.release = release,
};
