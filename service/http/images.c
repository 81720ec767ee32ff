/* SPDX-License-Identifier: MIT */
/*
 * Stored images: GET, HEAD and DELETE of /v1/images/...  The connection's
 * thread sends files.  The store stage changes the disk, and reads a picture to
 * its end to check that it is not damaged.
 */
#include "service/http/request.h"
#include "service/http/result.h"
#include "service/http/image_meta.h"

#include "service/log/log.h"

#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum range_kind {
	RANGE_ALL,  /* the whole file: no range, or one that may be ignored */
	RANGE_PART, /* one part */
	RANGE_NONE, /* the range begins after the end of the file */
};

struct range {
	uint64_t offset, count; /* the part, if RANGE_PART */
};

/*
 * Read the digits at *at; a number above 2^64 - 1 is read as 2^64 - 1.  False:
 * there are no digits.
 */
static bool read_range_number(const char **at, uint64_t *out)
{
	const char *begin = *at;

	*out = 0;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		uint64_t digit = (uint64_t)(**at - '0');

		*out = *out > (UINT64_MAX - digit) / 10 ? UINT64_MAX :
							  *out * 10 + digit;
	}
	return *at > begin;
}

static bool is_range_end(const char *at)
{
	return at[strspn(at, " \t")] == '\0';
}

/* "-5": the last bytes. */
static enum range_kind range_of_last(uint64_t count, uint64_t file_bytes,
				     struct range *out)
{
	if (count == 0 || file_bytes == 0)
		return RANGE_NONE;
	if (count > file_bytes)
		count = file_bytes;
	*out = (struct range){ file_bytes - count, count };
	return RANGE_PART;
}

static enum range_kind range_read(const char *text, uint64_t file_bytes,
				  struct range *out)
{
	static const char unit[] = "bytes=";
	uint64_t from, to = UINT64_MAX;

	if (text == NULL || strncasecmp(text, unit, sizeof(unit) - 1) != 0)
		return RANGE_ALL;
	text += sizeof(unit) - 1;
	text += strspn(text, " \t");
	if (*text == '-') {
		text++;
		return read_range_number(&text, &from) && is_range_end(text) ?
			       range_of_last(from, file_bytes, out) :
			       RANGE_ALL;
	}
	if (!read_range_number(&text, &from) || *text++ != '-')
		return RANGE_ALL;
	if ((!is_range_end(text) && !read_range_number(&text, &to)) ||
	    !is_range_end(text) || to < from)
		return RANGE_ALL;
	if (from >= file_bytes)
		return RANGE_NONE;
	if (to >= file_bytes)
		to = file_bytes - 1;
	*out = (struct range){ from, to - from + 1 };
	return RANGE_PART;
}

static bool etag_is_listed(const char *list, const char *etag)
{
	size_t bytes = strlen(etag);

	if (list == NULL)
		return false;
	for (;;) {
		list += strspn(list, " \t,");
		if (*list == '*')
			return true;
		/*
		 * Weak and strong tags are compared in the same way here (RFC
		 * 9110, 8.8.3.2).
		 */
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		if (*list != '"')
			return false;
		if (strncmp(list, etag, bytes) == 0)
			return true;
		list = strchr(list + 1, '"');
		if (list == NULL)
			return false;
		list++;
	}
}

enum {
	META_BYTES_MAX = 64 << 10,
	FILE_NAME_BYTES = STORE_NAME_BYTES + sizeof(".jpg") - 1,
};

/* The problem for an answer of the store other than STORE_OK. */
static enum problem problem_of_store(struct request *r,
				     enum store_answer answer, const char *what)
{
	switch (answer) {
	case STORE_OK:
		return PROBLEM_NONE;
	case STORE_NOT_FOUND:
		return PROBLEM_NOT_FOUND;
	case STORE_DAMAGED:
		return PROBLEM_IMAGE_DAMAGED;
	case STORE_FULL:
	case STORE_FAILED:
	case STORE_UNAVAILABLE:
		break;
	}
	(void)snprintf(r->detail, sizeof(r->detail),
		       "The image could not be %s: %s.", what, strerror(errno));
	return PROBLEM_STORE_FAILED;
}

/* Is there a store, and does the path have a valid id? */
static enum problem check_id(const struct request *r)
{
	if (r->config->store == NULL)
		return PROBLEM_NO_STORE;
	return store_is_id(r->segments[0]) ? PROBLEM_NONE : PROBLEM_NOT_FOUND;
}

/*
 * A file of an image is missing or has changed.  The image is damaged, unless
 * it was deleted meanwhile.
 */
static enum problem report_damage(struct request *r, const char *name)
{
	int entry;
	enum store_answer answer =
		store_find(r->config->store, r->segments[0], &entry);

	if (answer == STORE_NOT_FOUND)
		return PROBLEM_NOT_FOUND;
	if (answer == STORE_OK)
		(void)close(entry);
	(void)snprintf(r->detail, sizeof(r->detail),
		       "%s of this image is damaged; upload the picture again "
		       "to replace it.",
		       name);
	log_message(r->config->log, LOG_LEVEL_ERROR,
		    "%s of the stored image %s is damaged", name,
		    r->segments[0]);
	return PROBLEM_IMAGE_DAMAGED;
}

/* Open a file that the image must have. */
static enum problem open_file(struct request *r, int entry, const char *name,
			      int *fd, uint64_t *bytes)
{
	enum store_answer answer = store_read(entry, name, fd, bytes);

	return answer == STORE_NOT_FOUND ? report_damage(r, name) :
					   problem_of_store(r, answer, "read");
}

static enum problem open_entry(struct request *r, int *entry)
{
	return problem_of_store(
		r, store_find(r->config->store, r->segments[0], entry), "read");
}

/* Read the JSON text about the image; the caller calls free(). */
static enum problem read_meta(struct request *r, int entry, char **out)
{
	static const char name[] = "meta.json";
	uint64_t bytes;
	char *text;
	int fd;
	enum problem problem = open_file(r, entry, name, &fd, &bytes);
	bool is_whole;

	if (problem != PROBLEM_NONE)
		return problem;
	text = bytes <= META_BYTES_MAX ? calloc(1, (size_t)bytes + 1) : NULL;
	if (text == NULL && bytes <= META_BYTES_MAX)
		problem = PROBLEM_OUT_OF_MEMORY;
	is_whole = text != NULL &&
		   read(fd, text, (size_t)bytes) == (ssize_t)bytes &&
		   image_meta_is_whole(text);
	(void)close(fd);
	if (is_whole) {
		*out = text;
		return PROBLEM_NONE;
	}
	free(text);
	return problem != PROBLEM_NONE ? problem : report_damage(r, name);
}

/* The reply closes the file. */
static void begin_file(struct request *r, struct reply *p, int fd,
		       struct range part)
{
	reply_init(p);
	p->kind = REPLY_FILE;
	p->fd = fd;
	p->offset = part.offset;
	p->bytes = part.count;
	r->reply_bytes = part.count;
}

/*
 * The image is not stored.  If an upload of it was accepted but failed, the
 * spool has the problem.
 */
static bool reply_failed(struct request *r)
{
	char text[SPOOL_TEXT_BYTES];
	enum problem problem = PROBLEM_NOT_FOUND;
	cJSON *o;
	const char *code, *detail;

	if (spool_find_failed(store_spool(r->config->store), r->segments[0],
			      text) != STORE_OK)
		return reply_with_problem(r, problem);
	o = cJSON_Parse(text);
	code = cJSON_GetStringValue(cJSON_GetObjectItem(o, "code"));
	detail = cJSON_GetStringValue(cJSON_GetObjectItem(o, "detail"));
	if (code != NULL)
		problem = problem_find(code);
	if (problem == PROBLEM_NONE)
		problem = PROBLEM_STORE_FAILED;
	if (detail != NULL)
		(void)snprintf(r->detail, sizeof(r->detail), "%s", detail);
	cJSON_Delete(o);
	return reply_with_problem(r, problem);
}

/* What is known about an image that may not be stored yet. */
struct image_state {
	enum accepted_state accepted;
	enum problem failed_by;
	bool is_durable; /* it is in the spool */
};

static struct image_state find_image_state(struct request *r)
{
	struct image_state p = { .accepted = ACCEPTED_PENDING };

	p.is_durable = spool_has(store_spool(r->config->store), r->segments[0]);
	if (!p.is_durable)
		p.accepted = accepted_find(&r->http->accepted, r->segments[0],
					   &p.failed_by);
	return p;
}

/* Reply about an image that is not stored. */
static bool reply_not_stored(struct request *r, const struct image_state *p)
{
	switch (p->accepted) {
	case ACCEPTED_NONE:
		return reply_failed(r);
	case ACCEPTED_FAILED:
		return reply_with_problem(r, p->failed_by);
	case ACCEPTED_PENDING:
		break;
	}
	(void)memcpy(r->storing.accepted.id, r->segments[0], STORE_ID_BYTES);
	return storing_reply_accepted(r, p->is_durable);
}

/* `meta` is freed with the reply. */
static bool reply_meta(struct request *r, char *meta)
{
	struct reply p;

	if (!reply_begin_text(r, &p, meta))
		return false;
	reply_add_header(&p, "Cache-Control", "no-cache");
	return reply_send(r, STATUS_OK, "application/json", &p);
}

static bool reply_image(struct request *r)
{
	enum problem problem = check_id(r);
	struct image_state state;
	char *meta;
	int entry;

	if (problem != PROBLEM_NONE)
		return reply_with_problem(r, problem);
	/*
	 * Done before the store is asked, because the image may be stored in
	 * between.
	 */
	state = find_image_state(r);
	problem = open_entry(r, &entry);
	if (problem == PROBLEM_NOT_FOUND)
		return reply_not_stored(r, &state);
	if (problem != PROBLEM_NONE)
		return reply_with_problem(r, problem);
	problem = read_meta(r, entry, &meta);
	(void)close(entry);
	return problem == PROBLEM_NONE ? reply_meta(r, meta) :
					 reply_with_problem(r, problem);
}

static void name_file(char name[FILE_NAME_BYTES], const struct request *r)
{
	(void)snprintf(name, FILE_NAME_BYTES, "%.*s.jpg", STORE_NAME_BYTES - 1,
		       r->segments[1]);
}

/* Open the picture, and set its ETag. */
static enum problem open_picture(struct request *r, int entry)
{
	struct picture *p = &r->picture;
	char name[FILE_NAME_BYTES], sha256[SHA256_TEXT_BYTES];
	char *meta;
	enum problem problem = read_meta(r, entry, &meta);
	bool is_found;

	if (problem != PROBLEM_NONE)
		return problem;
	is_found = image_meta_find(meta, r->segments[1], sha256);
	free(meta);
	if (!is_found)
		return PROBLEM_NOT_FOUND;
	(void)snprintf(p->etag, sizeof(p->etag), "\"%s\"", sha256);
	name_file(name, r);
	problem = open_file(r, entry, name, &p->fd, &p->bytes);
	p->is_open = problem == PROBLEM_NONE;
	return problem;
}

static void close_picture(struct request *r)
{
	if (r->picture.is_open)
		(void)close(r->picture.fd);
	r->picture.is_open = false;
}

/*
 * The part to send.  With If-Range, a part is sent only if the picture is still
 * the same.  HEAD always means the whole picture.
 */
static enum range_kind read_range(struct request *r, const struct picture *p,
				  struct range *part)
{
	const char *same = request_header(r, "If-Range");
	enum range_kind kind = RANGE_ALL;

	if (!r->is_head && (same == NULL || strcmp(same, p->etag) == 0))
		kind = range_read(request_header(r, "Range"), p->bytes, part);
	if (kind == RANGE_PART)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			       part->offset, part->offset + part->count - 1,
			       p->bytes);
	if (kind == RANGE_NONE)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes */%" PRIu64, p->bytes);
	return kind;
}

/* Does the client have this picture already? */
static bool is_known(const struct request *r)
{
	return etag_is_listed(request_header(r, "If-None-Match"),
			      r->picture.etag);
}

static bool reply_picture(struct request *r)
{
	struct picture *p = &r->picture;
	struct range part = { 0, p->bytes };
	enum range_kind kind =
		is_known(r) ? RANGE_ALL : read_range(r, p, &part);
	struct reply reply;

	if (kind == RANGE_NONE)
		return reply_with_problem(r, PROBLEM_BAD_RANGE);
	p->is_open = false;
	begin_file(r, &reply, p->fd, part);
	reply_add_header(&reply, "ETag", p->etag);
	reply_add_header(&reply, "Accept-Ranges", "bytes");
	reply_add_header(&reply, "Cache-Control",
			 "public, max-age=31536000, immutable");
	/* A 304 has the headers of the 200, with its length, and no body. */
	return reply_send(r,
			  is_known(r)        ? STATUS_NOT_MODIFIED :
			  kind == RANGE_PART ? STATUS_PARTIAL_CONTENT :
					       STATUS_OK,
			  RESULT_TYPE, &reply);
}

static enum problem find_picture(struct request *r)
{
	enum problem problem = check_id(r);
	int entry;

	if (problem == PROBLEM_NONE && !store_is_name(r->segments[1]))
		problem = PROBLEM_NOT_FOUND;
	if (problem == PROBLEM_NONE)
		problem = open_entry(r, &entry);
	if (problem != PROBLEM_NONE)
		return problem;
	problem = open_picture(r, entry);
	(void)close(entry);
	return problem;
}

/* The SHA-256 that the picture must have. */
static void read_etag(char sha256[SHA256_TEXT_BYTES], const struct picture *p)
{
	(void)snprintf(sha256, SHA256_TEXT_BYTES, "%s", p->etag + 1);
}

/* A picture that the client already has is not sent, so it is not checked. */
static bool needs_check(const struct request *r)
{
	char sha256[SHA256_TEXT_BYTES];

	read_etag(sha256, &r->picture);
	return !is_known(r) &&
	       !store_is_checked(r->config->store, r->picture.fd, sha256);
}

/* The run() of a task of the store stage. */
static void check_picture(struct task *task)
{
	struct request *r = container_of(task, struct request, task);
	char name[FILE_NAME_BYTES], sha256[SHA256_TEXT_BYTES];
	enum store_answer answer;

	read_etag(sha256, &r->picture);
	answer = store_check(r->config->store, r->picture.fd, sha256);
	name_file(name, r);
	r->problem = answer == STORE_DAMAGED ?
			     report_damage(r, name) :
			     problem_of_store(r, answer, "read");
	request_resume(r);
}

/* The run() of a task of the store stage. */
static void delete_image(struct task *task)
{
	struct request *r = container_of(task, struct request, task);

	r->problem = problem_of_store(
		r, spool_delete(store_spool(r->config->store), r->segments[0]),
		"removed");
	request_resume(r);
}

/* Let the store stage run a task.  Returns as a start() hook does. */
static bool send_task(struct request *r, void (*run)(struct task *task))
{
	bool is_suspended = request_suspend(r);

	r->task.run = run;
	r->task.event.number = r->upload.number;
	if (!pipeline_send_task(r->config->pipeline, &r->task)) {
		r->problem = PROBLEM_STOPPING;
		request_resume(r);
	}
	return is_suspended;
}

static bool start_picture(struct request *r)
{
	r->problem = find_picture(r);
	return r->problem == PROBLEM_NONE && needs_check(r) &&
	       send_task(r, check_picture);
}

static bool start_removal(struct request *r)
{
	r->problem = check_id(r);
	return r->problem == PROBLEM_NONE && send_task(r, delete_image);
}

static bool reply_removed(struct request *r)
{
	struct reply p;

	reply_begin_bytes(r, &p, NULL, 0);
	return reply_send(r, STATUS_NO_CONTENT, NULL, &p);
}

const struct handler image_handler = { .reply = reply_image };

const struct handler image_removal_handler = {
	.start = start_removal,
	.reply = reply_removed,
};

const struct handler picture_handler = {
	.start = start_picture,
	.reply = reply_picture,
	.release = close_picture,
};
