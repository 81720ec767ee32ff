/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the query of POST /v1/uploads on the first line, headers
 * on the next ones, and after an empty line a body, of which digests are made.
 *
 * For any input, the request is accepted, or refused with a sentence.  A ticket
 * is within the limits of the server, and what is kept of it is read again as
 * it was written.  A body has its digest, however it is cut, or it has not.
 */
#include "service/http/handlers/upload_request.h"
#include "service/http/handlers/uploads/arrival.h"
#include "service/http/head/auth.h"
#include "service/http/head/digest.h"
#include "service/http/head/query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARAMETERS_MAX = 64, FIELDS_MAX = 64, BODY_BYTES_MAX = 1 << 20 };

static struct http_config config;

static void open_config(void)
{
	char path[] = "/dev/shm/fuzz_upload.XXXXXX", tmp[64];
	struct error why;

	assert(mkdtemp(path) != NULL);
	config = (struct http_config){
		.inbox = inbox_open(path, 0, &why),
		.inbox_s = 1000,
		.auth = auth_new(),
		.body_bytes_max = BODY_BYTES_MAX,
	};
	assert(config.inbox != NULL && config.auth != NULL);
	/* Nothing is written to it. */
	(void)snprintf(tmp, sizeof(tmp), "%s/tmp", path);
	assert(rmdir(tmp) == 0 && rmdir(path) == 0);
}

/* Split "Name: value" lines until an empty one; the rest is in *text. */
static size_t split_fields(char **text, struct http_field *fields)
{
	size_t count = 0;
	char *line;

	while ((line = strsep(text, "\n")) != NULL && *line != '\0') {
		char *value = strstr(line, ": ");

		if (value == NULL || count == FIELDS_MAX)
			continue;
		*value = '\0';
		fields[count++] = (struct http_field){ line, value + 2 };
	}
	return count;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_ticket(const struct ticket *t)
{
	char *text = ticket_print(t);
	struct ticket again;

	assert(text != NULL);
	assert(t->bytes_max >= 1 && t->bytes_max <= BODY_BYTES_MAX);
	assert(!t->has_length || (t->length >= 1 && t->length <= t->bytes_max));
	/* What is not UTF-8 is replaced, so it may differ. */
	assert(ticket_read(&again, text));
	assert(again.bytes_max == t->bytes_max);
	assert(again.has_length == t->has_length);
	assert(!t->has_length || again.length == t->length);
	assert(is_same_text(again.metadata, t->metadata));
	assert(again.parameter_count == t->parameter_count);
	for (uint32_t i = 0; i < t->parameter_count; i++)
		assert((again.parameters[i].value == NULL) ==
		       (t->parameters[i].value == NULL));
	ticket_release(&again);
	free(text);
}

static void make_ticket(struct request *r)
{
	struct upload_request *own = r->own;
	enum problem problem = arrival_begin(r, ARRIVAL_NEW);

	if (problem == PROBLEM_NONE)
		check_ticket(&own->arrival->ticket);
	/* Those without a sentence of their own have one in problem.c. */
	assert(problem != PROBLEM_BAD_UPLOAD || r->detail != NULL);
	assert(problem != PROBLEM_BAD_PARAMETER || r->detail != NULL);
	if (own->arrival != NULL)
		arrival_release(r);
}

static void check_digest(const struct request_head *head, const char *body,
			 size_t bytes)
{
	struct digest whole, parts;
	bool begins = digest_begin(&whole, head);

	assert(digest_begin(&parts, head) == begins);
	if (!begins) {
		assert(whole.header != NULL);
		return;
	}
	digest_add(&whole, body, bytes);
	digest_add(&parts, body, bytes / 3);
	digest_add(&parts, body + bytes / 3, bytes - bytes / 3);
	assert(digest_end(&whole) == digest_end(&parts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), *rest = text, *query;
	struct http_field arguments[PARAMETERS_MAX], fields[FIELDS_MAX];
	struct request_head head = { .fields = fields };
	struct upload_request own = { .digest = NULL };
	struct request r = { .head = &head,
			     .config = &config,
			     .own = &own,
			     .arguments = arguments };
	size_t body_bytes;

	if (config.inbox == NULL)
		open_config();
	assert(text != NULL);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	query = strsep(&rest, "\n");
	head.field_count = split_fields(&rest, fields);
	r.argument_count = query_split(query, arguments, PARAMETERS_MAX);
	body_bytes = rest != NULL ? bytes - (size_t)(rest - text) : 0;
	r.length_bytes = body_bytes;
	r.has_length = body_bytes > 0;
	make_ticket(&r);
	check_digest(&head, rest != NULL ? rest : "", body_bytes);
	free(r.detail);
	free(text);
	return 0;
}
