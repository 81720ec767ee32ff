/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/uploads/arrival.h"

#include "service/http/handlers/upload_request.h"
#include "service/http/handlers/uploads/ticket_request.h"
#include "service/http/head/auth.h"
#include "service/http/head/params.h"
#include "service/hooks/hooks.h"
#include "service/hooks/protocol.h"
#include "service/log/log.h"

#include "base/take.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arrival *arrival_of(const struct request *r)
{
	return ((struct upload_request *)r->own)->arrival;
}

/* The id of the image that it became. */
static const char *own_image(const struct request *r)
{
	return ((struct upload_request *)r->own)->storing.accepted.id;
}

static struct inbox *inbox_of(const struct request *r)
{
	return r->config->inbox;
}

/* The problem of an answer of the inbox. */
static enum problem problem_of(struct request *r, enum store_answer answer)
{
	switch (answer) {
	case STORE_OK:
		return PROBLEM_NONE;
	case STORE_NOT_FOUND:
		return PROBLEM_NOT_FOUND;
	case STORE_FULL:
		request_explain(r, "The inbox is full: --inbox-quota, or its "
				   "disk.");
		return PROBLEM_STORE_FULL;
	case STORE_DAMAGED:
	case STORE_FAILED:
	case STORE_UNAVAILABLE:
	case STORE_CHANGED:
		break;
	}
	request_explain(r, "The upload could not be kept: %s.",
			answer == STORE_DAMAGED ? "its file is damaged" :
						  strerror(errno));
	return PROBLEM_STORE_FAILED;
}

static enum problem refuse_length(struct request *r, uint64_t bytes,
				  uint64_t bytes_max)
{
	request_explain(r,
			"The upload has %" PRIu64 " bytes, and at most "
			"%" PRIu64 " are allowed.",
			bytes, bytes_max);
	r->excess =
		(struct excess){ (double)bytes, (double)bytes_max, "bytes" };
	return PROBLEM_BODY_TOO_LARGE;
}

/*
 * What the client says about the whole upload.  A client that begins again by
 * the URL of a ticket may say another length.
 */
static enum problem take_length(struct request *r)
{
	struct arrival *a = arrival_of(r);
	struct ticket *t = &a->ticket;

	if (a->tus.has_length && t->has_length && t->length != a->tus.length &&
	    !a->restarts) {
		request_explain(r,
				"Upload-Length is %" PRIu64 " now, and was "
				"%" PRIu64 " before.",
				a->tus.length, t->length);
		return PROBLEM_BAD_UPLOAD;
	}
	if (a->tus.has_length || (a->restarts && a->tus.defers_length)) {
		t->has_length = a->tus.has_length;
		t->length = a->tus.length;
	}
	if (t->has_length && t->length > t->bytes_max)
		return refuse_length(r, t->length, t->bytes_max);
	if (t->has_length && t->length == 0)
		return PROBLEM_EMPTY_BODY;
	return PROBLEM_NONE;
}

/*
 * The bytes that the upload may have.  Of a whole body, which may be a form,
 * its length says nothing.
 */
static uint64_t most_bytes(const struct arrival *a)
{
	const struct ticket *t = &a->ticket;

	return t->has_length && a->kind != ARRIVAL_WHOLE ? t->length :
							   t->bytes_max;
}

/* The bytes of this body must fit behind those that came before. */
static enum problem check_room(struct request *r)
{
	struct arrival *a = arrival_of(r);
	const struct ticket *t = &a->ticket;
	uint64_t most = most_bytes(a);
	uint64_t end = a->offset + r->length_bytes;

	/* Also if it is not known how many come: the length may be new. */
	if (end > most)
		return refuse_length(r, end, most);
	a->is_last = a->kind == ARRIVAL_WHOLE ||
		     (t->has_length && (end == most || !r->has_length));
	return PROBLEM_NONE;
}

/* A parameter of the query that is about the ticket, and not its image. */
static bool take_own(struct request *r, const struct http_field *p,
		     uint64_t *seconds)
{
	struct ticket *t = &arrival_of(r)->ticket;
	const char *value = p->value != NULL ? p->value : "";
	char shown[PARAMS_SHOWN_BYTES];
	uint64_t most = r->config->inbox_s;
	bool is_bytes = strcmp(p->name, TICKET_MAX_BODY) == 0;

	if (is_bytes)
		most = r->config->body_bytes_max;
	if (number_read_whole(value, 1, most,
			      is_bytes ? &t->bytes_max : seconds))
		return true;
	request_explain(
		r, "%s must be a number of %s from 1 to %" PRIu64 ", not '%s'.",
		p->name, is_bytes ? "bytes" : "seconds", most,
		params_shown(shown, value));
	return false;
}

/* The ticket's own webhook. */
static enum problem take_webhook(struct request *r, const char *url)
{
	struct ticket *t = &arrival_of(r)->ticket;
	const struct hooks *hooks = r->config->hooks;
	char shown[PARAMS_SHOWN_BYTES];
	const char *why;

	if (url == NULL || !hook_check_url(url, &why)) {
		request_explain(r,
				TICKET_WEBHOOK " must be a URL such as "
					       "https://shop.example/hook, not "
					       "'%s'.",
				params_shown(shown, url != NULL ? url : ""));
		return PROBLEM_BAD_PARAMETER;
	}
	if (hooks == NULL || !hooks_allow(hooks, url))
		return PROBLEM_WEBHOOK_NOT_ALLOWED;
	t->webhook = url;
	return PROBLEM_NONE;
}

static bool is_own(const char *name)
{
	return strcmp(name, TICKET_MAX_BODY) == 0 ||
	       strcmp(name, TICKET_LIFETIME) == 0;
}

/* The new ticket keeps the parameters of its image. */
static enum problem take_parameters(struct request *r, uint64_t *seconds)
{
	struct ticket *t = &arrival_of(r)->ticket;
	enum problem problem = PROBLEM_NONE;

	t->parameters = calloc(r->argument_count + 1, sizeof(*t->parameters));
	if (t->parameters == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < r->argument_count && problem == PROBLEM_NONE;
	     i++) {
		const struct http_field *p = &r->arguments[i];

		if (auth_takes_parameter(r->config->auth, p->name))
			continue;
		if (strcmp(p->name, TICKET_WEBHOOK) == 0)
			problem = take_webhook(r, p->value);
		else if (!is_own(p->name))
			t->parameters[t->parameter_count++] = *p;
		else if (!take_own(r, p, seconds))
			problem = PROBLEM_BAD_PARAMETER;
	}
	return problem;
}

static enum problem begin_new(struct request *r)
{
	struct arrival *a = arrival_of(r);
	struct ticket *t = &a->ticket;
	uint64_t seconds = r->config->inbox_s;
	enum problem problem;

	(void)memcpy(t->owner, r->owner, sizeof(t->owner));
	t->bytes_max = r->config->body_bytes_max;
	t->metadata = a->tus.metadata;
	problem = take_parameters(r, &seconds);
	if (problem == PROBLEM_NONE)
		problem = take_length(r);
	if (problem == PROBLEM_NONE && r->length_bytes > 0 && !tus_has_type(r))
		return PROBLEM_BAD_UPLOAD;
	if (problem != PROBLEM_NONE)
		return problem;
	inbox_name(inbox_of(r), &a->hold, (uint32_t)seconds);
	return check_room(r);
}

/* A hold_ask: another request wants the ticket. */
static void give_way(struct inbox_hold *h)
{
	client_give_way(container_of(h, struct arrival, hold)->request->client);
}

static enum problem find_ticket(struct request *r)
{
	struct arrival *a = arrival_of(r);
	enum problem problem = tickets_hold(r, &a->hold, give_way, &a->found);

	if (problem != PROBLEM_NONE)
		return problem;
	if (!ticket_read(&a->ticket, a->found.text))
		return problem_of(r, STORE_DAMAGED);
	/* --max-body may be less than when the ticket was made. */
	a->ticket.bytes_max =
		min_u64(a->ticket.bytes_max, r->config->body_bytes_max);
	(void)memcpy(r->owner, a->ticket.owner, sizeof(r->owner));
	if (a->found.end[0] == '\0')
		return PROBLEM_NONE;
	request_explain(r, "The upload has become an image; GET says which.");
	/* A tus client that does not know it yet asks for the offset then. */
	return a->kind == ARRIVAL_PART ? PROBLEM_WRONG_OFFSET :
					 PROBLEM_UPLOAD_ENDED;
}

/* tus: PATCH has the next bytes, and says where they belong. */
static enum problem check_part(struct request *r)
{
	struct arrival *a = arrival_of(r);

	if (!a->tus.is_tus)
		return PROBLEM_TUS_VERSION;
	if (!tus_has_type(r))
		return PROBLEM_BAD_UPLOAD;
	if (!a->tus.has_offset) {
		request_explain(r, "PATCH needs Upload-Offset.");
		return PROBLEM_BAD_UPLOAD;
	}
	if (a->tus.offset == a->found.bytes)
		return PROBLEM_NONE;
	request_explain(r,
			"Upload-Offset is %" PRIu64 ", but %" PRIu64
			" bytes have arrived.",
			a->tus.offset, a->found.bytes);
	return PROBLEM_WRONG_OFFSET;
}

static enum problem begin_old(struct request *r)
{
	struct arrival *a = arrival_of(r);
	enum problem problem = find_ticket(r);

	if (problem != PROBLEM_NONE)
		return problem;
	a->restarts = a->kind == ARRIVAL_WHOLE && a->tus.is_tus;
	if (a->kind == ARRIVAL_PART) {
		problem = check_part(r);
		a->offset = a->found.bytes;
	}
	if (a->restarts) {
		a->kind = ARRIVAL_NEW;
		a->ticket.metadata = a->tus.metadata;
	}
	if (problem == PROBLEM_NONE)
		problem = take_length(r);
	return problem == PROBLEM_NONE ? check_room(r) : problem;
}

enum problem arrival_begin(struct request *r, enum arrival_kind kind)
{
	struct upload_request *own = r->own;
	struct arrival *a = own->arrival = calloc(1, sizeof(*a));
	enum problem problem;

	if (inbox_of(r) == NULL)
		return PROBLEM_NO_INBOX;
	if (a == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	a->request = r;
	a->kind = kind;
	problem = tus_read(&a->tus, r);
	if (problem != PROBLEM_NONE)
		return problem;
	return kind == ARRIVAL_NEW ? begin_new(r) : begin_old(r);
}

struct body_length arrival_length(const struct request *r)
{
	const struct arrival *a = arrival_of(r);
	struct body_length length = { .is_known = true, .bytes = 0 };

	if (a->is_last)
		length.before = a->offset;
	length.bytes = length.before + r->length_bytes;
	if (r->head->is_chunked)
		length = (struct body_length){
			.before = length.before,
			.bytes = length.before - a->offset + most_bytes(a),
		};
	return length;
}

/* The bytes of this body, without those that came before. */
static size_t own_bytes(const struct upload_request *own)
{
	return own->body.count - (size_t)own->body.before;
}

static const uint8_t *own_begin(const struct upload_request *own)
{
	return own->body.bytes + own->body.before;
}

enum problem arrival_refuse_piece(struct request *r, size_t bytes)
{
	const struct arrival *a = arrival_of(r);

	return refuse_length(r, a->offset + own_bytes(r->own) + bytes,
			     most_bytes(a));
}

/* Write `count` bytes of this body to the inbox. */
static enum store_answer keep(struct request *r, size_t count)
{
	struct arrival *a = arrival_of(r);
	enum store_answer answer = STORE_OK;

	if (count > 0)
		answer = inbox_append(inbox_of(r), &a->hold, a->offset,
				      own_begin(r->own), count);
	if (answer == STORE_OK)
		a->offset += count;
	a->is_kept = true;
	return answer;
}

static enum problem write_ticket(struct request *r)
{
	struct arrival *a = arrival_of(r);
	char *text = ticket_print(&a->ticket);
	enum store_answer answer;

	if (text == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	if (strlen(text) >= INBOX_TEXT_BYTES) {
		free(text);
		request_explain(r, "The parameters, with Upload-Metadata, are "
				   "too long to be kept.");
		return PROBLEM_BAD_UPLOAD;
	}
	if (a->restarts)
		answer = inbox_restart(inbox_of(r), &a->hold, text);
	else if (a->kind == ARRIVAL_NEW)
		answer = inbox_make(inbox_of(r), &a->hold, text);
	else
		answer = inbox_change(inbox_of(r), &a->hold, text);
	free(text);
	return problem_of(r, answer);
}

/*
 * Does ticket.json lack what this request has said?  A length that says that
 * all bytes have arrived is not kept: if the image is then not stored, a client
 * would take the upload for ended.
 */
static bool is_ticket_new(const struct arrival *a)
{
	return a->kind == ARRIVAL_NEW ||
	       (a->kind == ARRIVAL_PART && a->tus.has_length &&
		a->ticket.length > a->offset);
}

/* In the store stage. */
static void prepare(struct request *r)
{
	struct upload_request *own = r->own;
	struct arrival *a = own->arrival;
	enum store_answer answer = STORE_OK;

	if (is_ticket_new(a))
		r->problem = write_ticket(r);
	if (r->problem != PROBLEM_NONE)
		return;
	if (!a->is_last)
		answer = keep(r, own_bytes(own));
	else if (own->body.before > 0)
		answer = inbox_read(inbox_of(r), &a->hold, own->body.bytes,
				    (size_t)own->body.before);
	r->problem = problem_of(r, answer);
}

/*
 * How many bytes of this body count before the image is stored.  The last byte
 * of the upload does not, so that a client that tries again sends it again.
 */
static size_t countable_bytes(const struct upload_request *own)
{
	const struct arrival *a = own->arrival;
	size_t bytes = own_bytes(own);
	bool is_whole =
		a->ticket.has_length && a->offset + bytes == a->ticket.length;

	return is_whole && bytes > 0 ? bytes - 1 : bytes;
}

/* In the store stage: the pipeline has failed, or the connection. */
static void settle(struct request *r)
{
	struct upload_request *own = r->own;
	struct arrival *a = own->arrival;
	enum store_answer answer = STORE_OK;

	if (a->refusal != NULL)
		answer = inbox_refuse(inbox_of(r), &a->hold, a->refusal);
	else if (a->kind == ARRIVAL_PART)
		answer = keep(r, countable_bytes(own));
	a->is_kept = true;
	if (answer != STORE_OK)
		log_message(r->config->log, LOG_LEVEL_WARN,
			    "request %s: its upload could not be kept", r->id);
}

/* The run() of a task. */
static void run_step(struct task *task)
{
	struct arrival *a = container_of(task, struct arrival, task);
	struct request *r = a->request;

	if (a->step == ARRIVAL_SUBMIT)
		prepare(r);
	else
		settle(r);
	request_resume(r);
}

static bool send_step(struct request *r)
{
	struct arrival *a = arrival_of(r);
	bool is_suspended = request_suspend(r);

	a->task = (struct task){ .run = run_step };
	a->task.event.number = r->number;
	if (!pipeline_send_task(r->config->pipeline, &a->task)) {
		r->problem = PROBLEM_STOPPING;
		request_resume(r);
	}
	return is_suspended;
}

/* Is the request at fault, so that its bytes are of no use? */
static bool is_final(enum problem problem)
{
	return problem_is_of_request(problem) &&
	       problem != PROBLEM_REQUEST_TIMEOUT;
}

/* The pipeline is done with the upload, or has not taken it. */
static bool start_settling(struct request *r)
{
	const struct upload_request *own = r->own;
	struct arrival *a = own->arrival;

	/* Of a form without a picture nothing is kept. */
	if (own->upload.end == UPLOAD_NOT_PARSED)
		return false;
	r->has_timing = true;
	if (r->problem == PROBLEM_NONE)
		r->problem =
			a->is_taken ? PROBLEM_UPLOAD_ENDED : upload_problem(r);
	if (r->problem == PROBLEM_NONE)
		return false;
	if (is_final(r->problem))
		a->refusal =
			problem_json(r->problem, r->detail, &r->excess, r->id);
	return send_step(r);
}

/* Chunks may have ended before the upload is complete. */
static void look_at_end(struct request *r)
{
	struct arrival *a = arrival_of(r);

	if (a->kind != ARRIVAL_WHOLE)
		a->is_last = a->ticket.has_length &&
			     a->offset + own_bytes(r->own) == a->ticket.length;
}

bool arrival_start(struct request *r)
{
	struct arrival *a = arrival_of(r);

	r->starts_again = false;
	switch (a->step) {
	case ARRIVAL_PREPARE:
		look_at_end(r);
		a->step = ARRIVAL_SUBMIT;
		r->starts_again = a->is_last;
		return send_step(r);
	case ARRIVAL_SUBMIT:
		a->step = ARRIVAL_SETTLE;
		if (r->problem != PROBLEM_NONE)
			return false;
		r->starts_again = true;
		return upload_submit(r);
	case ARRIVAL_SETTLE:
		a->step = ARRIVAL_REPLY;
		return start_settling(r);
	case ARRIVAL_REPLY:
		break;
	}
	return false;
}

bool arrival_reply(struct request *r)
{
	struct arrival *a = arrival_of(r);
	struct ticket_state state = {
		.id = a->hold.id,
		.ticket = &a->ticket,
		.offset = a->is_stored ? a->ticket.length : a->offset,
		.image = a->is_stored ? own_image(r) : NULL,
	};

	upload_drop_body(r); /* not needed while the client reads the reply */
	switch (a->kind) {
	case ARRIVAL_WHOLE:
		return storing_reply_stored(r);
	case ARRIVAL_NEW:
		return tickets_reply(r, &a->hold, STATUS_CREATED, &state);
	case ARRIVAL_PART:
		return tickets_reply(r, &a->hold, STATUS_NO_CONTENT, &state);
	}
	abort();
}

void arrival_refuse(struct request *r)
{
	if (is_final(r->problem))
		upload_drop_body(r);
}

/* The run() of the task of arrival_end(). */
static void run_last(struct task *task)
{
	struct arrival *a = container_of(task, struct arrival, task);
	struct request *r = a->request;

	settle(r);
	request_release(r);
}

/*
 * Has the body bytes that are not in the inbox yet, and belong there?  Those of
 * a body with a digest do not, unless they were compared with it.
 */
static bool has_more(const struct request *r)
{
	const struct upload_request *own = r->own;
	const struct arrival *a = own->arrival;

	return a->kind == ARRIVAL_PART && !a->is_kept && !a->is_stored &&
	       own->digest == NULL && own->body.bytes != NULL &&
	       countable_bytes(own) > 0 &&
	       (r->problem == PROBLEM_NONE || !is_final(r->problem));
}

void arrival_end(struct request *r)
{
	struct upload_request *own = r->own;
	struct arrival *a = own != NULL ? own->arrival : NULL;

	if (a == NULL || !a->hold.is_held)
		return;
	inbox_ignore(inbox_of(r), &a->hold); /* its client is gone */
	if (!has_more(r))
		return;
	a->task = (struct task){ .run = run_last };
	a->task.event.number = r->number;
	atomic_fetch_add(&r->holder_count, 1);
	if (!pipeline_send_task(r->config->pipeline, &a->task))
		atomic_fetch_sub(&r->holder_count, 1);
}

void arrival_release(struct request *r)
{
	struct arrival *a = arrival_of(r);

	if (a == NULL)
		return;
	inbox_release(inbox_of(r), &a->hold);
	ticket_release(&a->ticket);
	free(a->refusal);
	free(a);
}

/*
 * Has an earlier upload of the ticket, which did not come to its end, stored
 * its image?  If that is not known, it may have.
 */
static bool is_earlier_stored(struct request *r)
{
	struct upload_request *own = r->own;
	struct store_image image;
	struct error why;
	enum store_answer answer =
		store_find(r->config->store, own->arrival->found.claim, true,
			   own->upload.deadline_ns, &image, &why);

	if (answer == STORE_OK)
		store_close_image(&image);
	return answer != STORE_NOT_FOUND;
}

enum store_answer arrival_claim(struct request *r, const char *image)
{
	struct arrival *a = arrival_of(r);
	enum store_answer answer = inbox_claim(inbox_of(r), &a->hold, image);

	if (answer == STORE_DAMAGED && !is_earlier_stored(r))
		answer = inbox_claim_again(inbox_of(r), &a->hold, image);
	a->is_taken = answer == STORE_DAMAGED;
	return answer;
}

void arrival_finish(struct request *r, const char *image)
{
	struct arrival *a = arrival_of(r);
	struct upload_request *own = r->own;
	char text[INBOX_END_BYTES];

	(void)snprintf(text, sizeof(text), "{\"image\":\"%s\",\"bytes\":%zu}",
		       image, own->upload.jpeg_bytes);
	a->is_stored = true;
	/* Until it is written, the same upload is accepted again. */
	if (inbox_end(inbox_of(r), &a->hold, text) != STORE_OK)
		log_message(r->config->log, LOG_LEVEL_WARN,
			    "request %s: the end of its upload could not be "
			    "noted",
			    r->id);
}
