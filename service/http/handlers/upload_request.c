/* SPDX-License-Identifier: MIT */
/*
 * Uploads: the hooks for POST /, /v1/process and /v1/images.  store_request.c
 * has what /v1/images does in addition.
 *
 *	admit    read the query's parameters; is there a free slot in the
 *	         pipeline?
 *	wait     for memory, if the schedule lets uploads wait for it, and for
 *	         a slot, which is then reserved
 *	prepare  is there memory for the body?
 *	receive  a piece of the body: bytes of the picture, or fields of a form,
 *	         which are parameters, too.  If the picture's header is complete
 *	         and shows that the picture will be refused, refuse it now.
 *	start    submit the upload to the pipeline.  If that has a stage that
 *	         parses forms, the form is read there.
 *	reply    send the results, or what went wrong
 *
 * The memory that an upload is charged for changes:
 *
 *	while it waits for memory nothing
 *	while the body arrives    its buffer and a part of the estimate: body.h
 *	refused by its header     nothing, also while the rest is read
 *	in the pipeline           the body and the estimate from the header
 *	after decode              the estimate alone; if the results are to be
 *	                          stored, still both
 *	until the reply is sent   the results
 *	at the end                nothing
 */
#include "service/http/handlers/upload_request.h"

#include "service/http/handlers/images/making.h"
#include "service/http/handlers/uploads/arrival.h"
#include "service/http/head/auth.h"
#include "service/http/head/digest.h"
#include "service/http/reply/result.h"

#include "base/clock.h"
#include "base/take.h"
#include "base/util.h"
#include "service/log/log.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/base16.h>

enum {
	TIMING_BYTES = 640,  /* of Server-Timing */
	PEEK_BYTES_MIN = 64, /* enough to recognise other kinds of files */
	WARNING_BYTES = 256,
	TEXT_BYTES = 512, /* examined to tell kinds of files apart */
	TIMEOUT_S_MAX = 86400,
	/*
	 * The last 16th of an upload's time is for its reply.  Under overload
	 * the first upload of the queue is always one that is nearly late;
	 * without this reserve, its client would get the reply some ms too
	 * late.
	 */
	REPLY_PART = 16,
};

/*
 * Has the client disconnected?  Called by a worker.  It asks the socket,
 * because nothing is noticed on a suspended connection.  A client
 * that has only shut down its sending side looks the same as one that has
 * closed the connection.
 */
static bool is_client_gone(const struct upload *u)
{
	const struct upload_request *own =
		container_of(u, struct upload_request, upload);

	/*
	 * Ask the socket first: is_accepted is set before the 202 is sent, so
	 * it is true if the client disconnects after its 202.
	 */
	return client_has_closed(own->fd) && !atomic_load(&u->is_accepted);
}

/*
 * Called by a worker, after decode, if the results are not stored.  Free the
 * body now, because the results may have to wait for other uploads, or for a
 * slow client.
 */
static void free_decoded_body(struct upload *u)
{
	struct upload_request *own =
		container_of(u, struct upload_request, upload);

	body_free_picture(&own->body);
	u->jpeg = NULL;
	budget_lower(&u->charge, u->charge.bytes - u->jpeg_charge_bytes);
	u->jpeg_charge_bytes = 0;
}

/* NULL: it is not for /v1/uploads. */
static const struct arrival *own_arrival(const struct request *r)
{
	const struct upload_request *own = r->own;

	return own->arrival;
}

/* Is it, with this body, complete? */
static bool is_whole(const struct request *r)
{
	const struct arrival *a = own_arrival(r);

	return a == NULL || a->is_last;
}

/* Will the results be stored? */
static bool is_stored(const struct request *r)
{
	const struct upload_request *own = r->own;

	return own->upload.store != NULL;
}

/*
 * Called by a worker.  Resume the connection, which then sends the reply,
 * except in two cases: it has already sent a 202, or the task that writes the
 * upload to the spool still reads the body.  That task then resumes the
 * connection.
 */
static void on_upload_done(struct upload *u)
{
	struct request *r = request_of_upload(u);
	const struct upload_request *own = r->own;
	bool answers_early = own->storing.answers_early;

	if (u->end == UPLOAD_NOT_PARSED)
		request_refuse(r, r->problem);
	if (!is_stored(r) || storing_end_upload(r))
		request_resume(r);
	if (answers_early)
		request_release(r);
}

/*
 * The body is not needed any more, but the results are.  The pipeline has
 * finished the upload, or never gets it.
 */
static void drop_body(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;

	pipeline_forget(u);
	body_release(&own->body);
	budget_lower(&u->charge, upload_result_bytes(u));
	budget_give_slot(&u->charge);
}

void upload_drop_body(struct request *r)
{
	drop_body(r);
}

/* Bytes that a kind of file has at an offset; "?" is any byte. */
static const struct magic {
	const char *kind;
	uint32_t offset;
	uint32_t count;
	const char *bytes;
} magics[] = {
#define MAGIC(kind, offset, text)                                              \
	{                                                                      \
		kind, offset, sizeof(text) - 1, text                           \
	}
	MAGIC("a PNG picture", 0, "\x89PNG\r\n\x1a\n"),
	MAGIC("a GIF picture", 0, "GIF87a"),
	MAGIC("a GIF picture", 0, "GIF89a"),
	MAGIC("a WebP picture", 0, "RIFF????WEBP"),
	MAGIC("an AVIF picture", 4, "ftypavi"),
	/* "avif" may be the first or second of the compatible brands. */
	MAGIC("an AVIF picture", 4, "ftyp????????avif"),
	MAGIC("an AVIF picture", 4, "ftyp????????????avif"),
	MAGIC("a HEIC picture", 4, "ftyphe"),
	MAGIC("a HEIC picture", 4, "ftypmif1"),
	MAGIC("a HEIC picture", 4, "ftypmsf1"),
	MAGIC("a camera's raw file (CR3)", 4, "ftypcrx "),
	MAGIC("a video (MP4 or QuickTime)", 4, "ftyp"),
	MAGIC("a TIFF picture or a camera's raw file", 0, "II*\0"),
	MAGIC("a TIFF picture or a camera's raw file", 0, "MM\0*"),
	MAGIC("a TIFF picture", 0, "II+\0"),
	MAGIC("a TIFF picture", 0, "MM\0+"),
	MAGIC("a BMP picture", 0, "BM????\0\0\0\0"),
	MAGIC("a JPEG XL picture", 0, "\xff\x0a"),
	MAGIC("a JPEG XL picture", 0, "\0\0\0\x0cJXL "),
	MAGIC("a JPEG 2000 picture", 0, "\0\0\0\x0cjP  "),
	MAGIC("a JPEG 2000 picture", 0, "\xff\x4f\xff\x51"),
	MAGIC("a Photoshop file", 0, "8BPS"),
	MAGIC("an icon (ICO)", 0, "\0\0\1\0"),
	MAGIC("a PDF document", 0, "%PDF-"),
	MAGIC("gzip data", 0, "\x1f\x8b"),
	MAGIC("a ZIP archive", 0, "PK\3\4"),
	MAGIC("a video (Matroska or WebM)", 0, "\x1a\x45\xdf\xa3"),
	MAGIC("a JPEG in base64", 1, "9j/"),
	MAGIC("a data: URL", 0, "data:"),
	MAGIC("zero bytes", 0, "\0\0\0\0\0\0\0\0"),
#undef MAGIC
};

static bool has_magic(const struct magic *m, const uint8_t *bytes, size_t count)
{
	if (count < m->offset + m->count)
		return false;
	for (uint32_t i = 0; i < m->count; i++)
		if (m->bytes[i] != '?' &&
		    (uint8_t)m->bytes[i] != bytes[m->offset + i])
			return false;
	return true;
}

static const char *kind_of_text(const char *text)
{
	text += strspn(text, "\xef\xbb\xbf \t\r\n");
	if (strncmp(text, "--", 2) == 0 &&
	    strcasestr(text, "content-disposition") != NULL)
		return "a form without its Content-Type";
	if (strcasestr(text, "<svg") != NULL)
		return "an SVG picture";
	if (strncasecmp(text, "<!doctype html", 14) == 0 ||
	    strncasecmp(text, "<html", 5) == 0)
		return "an HTML page";
	if (text[0] == '<')
		return "XML text";
	return text[0] == '{' || text[0] == '[' ? "JSON text" : "text";
}

/* The kind of a file of no known format, in words: "a PNG picture", "text". */
static const char *kind_of_file(const uint8_t *bytes, size_t count)
{
	char text[TEXT_BYTES + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (has_magic(&magics[i], bytes, count))
			return magics[i].kind;
	for (; n < TEXT_BYTES && n < count; n++) {
		if (bytes[n] == '\0' ||
		    (bytes[n] < ' ' && strchr("\t\r\n\f", bytes[n]) == NULL))
			return "of an unknown kind";
		text[n] = (char)bytes[n];
	}
	text[n] = '\0';
	return kind_of_text(text);
}

/*
 * Does the file lack all bytes that `curl --data @FILE` removes?  Every JPEG
 * has a NUL near its beginning, in the length of a segment.  Text is no sign.
 */
static bool has_lost_bytes(const uint8_t *bytes, size_t count)
{
	bool is_binary;

	if (bytes == NULL || count < PEEK_BYTES_MIN)
		return false;
	is_binary = bytes[0] == 0xff && bytes[1] == 0xd8;
	for (size_t i = 0; i < TEXT_BYTES && i < count; i++) {
		if (bytes[i] == '\0' || bytes[i] == '\r' || bytes[i] == '\n')
			return false;
		is_binary |= bytes[i] < ' ' && bytes[i] != '\t';
	}
	return is_binary;
}

/*
 * The problem of the upload.  If it exceeds a limit, `detail` and `excess` get
 * the numbers.
 */
static enum problem explained_problem(struct request *r)
{
	struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	enum problem problem = problem_of_upload(u);
	char detail[REQUEST_DETAIL_BYTES] = "";

	if (u->end == UPLOAD_ENDED && u->err != IMG_OK &&
	    u->err != IMG_ERR_NO_MEMORY &&
	    (u->header.format == NULL ||
	     u->header.format == img_formats[IMG_FORMAT_JPEG]) &&
	    has_lost_bytes(u->jpeg, u->jpeg_bytes)) {
		request_explain(r,
				"The file has no NUL, CR or LF: curl's --data "
				"removes these bytes; use --data-binary.");
		return problem;
	}
	pipeline_explain(r->config->pipeline, u, detail, sizeof(detail),
			 &r->excess);
	if (detail[0] != '\0')
		request_explain(r, "%s", detail);
	if (problem == PROBLEM_NOT_A_JPEG) {
		char names[IMG_FORMAT_NAMES_CHARS];

		img_format_names(names, " and ",
				 pipeline_formats(r->config->pipeline));
		request_explain(r, "The file is %s; only %s files are read.",
				kind_of_file(u->jpeg, u->jpeg_bytes), names);
	}
	return problem;
}

enum problem upload_problem(struct request *r)
{
	enum problem problem = explained_problem(r);

	request_count_refusal(r, problem);
	return problem;
}

/* False: `detail` says what is wrong with it. */
static bool set_parameter(struct request *r, const char *key, const char *value)
{
	struct upload_request *own = r->own;
	char detail[PARAMS_DETAIL_BYTES];

	if (strcmp(key, "respond") != 0) {
		if (query_set(&own->query, key, value, detail))
			return true;
		request_explain(r, "%s", detail);
		return false;
	}
	if (is_stored(r) && own->arrival == NULL)
		return storing_set_respond(r, value);
	request_explain(r, "respond is only for POST /v1/images.");
	return false;
}

/*
 * A field that is no parameter may come from a button, or from a library that
 * adds fields.
 */
static void explain_field(struct request *r, const char *name)
{
	char detail[REQUEST_DETAIL_BYTES];

	if (strcmp(name, "respond") == 0 || query_has(name) ||
	    r->detail == NULL)
		return;
	(void)snprintf(detail, sizeof(detail), "%s", r->detail);
	request_explain(r,
			"%s The form has a field of this name: a submit button "
			"must have no name, and an upload library must add no "
			"fields.",
			detail);
}

/* Take the parameters of the query or the ticket, up to the first bad one. */
static enum problem take_parameters(struct request *r)
{
	const struct arrival *arrival = own_arrival(r);
	const struct http_field *all =
		arrival != NULL ? arrival->ticket.parameters : r->arguments;
	uint32_t count = arrival != NULL ? arrival->ticket.parameter_count :
					   r->argument_count;

	for (uint32_t i = 0; i < count; i++) {
		const struct http_field *a = &all[i];

		if (!auth_takes_parameter(r->config->auth, a->name) &&
		    !set_parameter(r, a->name, a->value))
			return PROBLEM_BAD_PARAMETER;
	}
	return PROBLEM_NONE;
}

/* A field of a form, and the values of the same name in the query. */
struct field {
	const char *name, *value;
	const char *other; /* NULL: no other value */
	bool is_given;     /* the query has this value */
};

static void compare_with_query(struct field *f, const struct request *r)
{
	for (uint32_t i = 0; i < r->argument_count; i++) {
		const char *value = r->arguments[i].value;

		if (strcmp(r->arguments[i].name, f->name) != 0)
			continue;
		if (value != NULL && strcmp(value, f->value) == 0)
			f->is_given = true;
		else
			f->other = value != NULL ? value : "";
	}
}

/*
 * A library that sends a file in several forms says so by one of these fields:
 * the number of forms.
 */
static const struct {
	const char *name, *remedy;
} pieces[] = {
	{ "chunks", "Plupload: chunk_size: 0" },
	{ "dztotalchunkcount", "Dropzone: chunking: false" },
	{ "qqtotalparts", "Fine Uploader: chunking: { enabled: false }" },
	{ "resumableTotalChunks",
	  "Resumable.js: a chunkSize above the file's" },
	{ "flowTotalChunks", "flow.js: a chunkSize above the file's" },
};

/* Does the field say that the file is only a piece of one? */
static bool is_of_piece(struct request *r, const struct field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		if (strcmp(f->name, pieces[i].name) != 0 ||
		    strtoul(f->value, NULL, 10) <= 1)
			continue;
		request_explain(r,
				"The form has one piece of a file, as its "
				"field '%s' says; send the file whole (%s).",
				pieces[i].name, pieces[i].remedy);
		return true;
	}
	return false;
}

/*
 * Upload libraries send fields of their own, and so do buttons.  The reply
 * names one, because it may be a parameter with a wrong name.
 */
static enum problem ignore_field(struct request *r, const struct field *f)
{
	struct upload_request *own = r->own;

	if (is_of_piece(r, f))
		return PROBLEM_BAD_FORM;
	if (own->ignored_count++ == 0)
		(void)params_shown(own->ignored, f->name);
	return PROBLEM_NONE;
}

static bool is_parameter(const struct field *f)
{
	return query_has(f->name) || strcmp(f->name, "respond") == 0;
}

/*
 * A field is a parameter, unless the query has it already.  A field must not
 * change what a signed query says.
 */
static enum problem take_field(struct request *r, struct field *f)
{
	char name[PARAMS_SHOWN_BYTES], here[PARAMS_SHOWN_BYTES],
		there[PARAMS_SHOWN_BYTES];

	/* Browsers send an empty field for an input that was not filled in. */
	if (f->value[0] == '\0')
		return PROBLEM_NONE;
	/* What a ticket is for was said by who has asked for it. */
	if (own_arrival(r) != NULL ||
	    (r->config->form == FORM_LENIENT && !is_parameter(f)))
		return ignore_field(r, f);
	compare_with_query(f, r);
	if (f->is_given)
		return PROBLEM_NONE;
	if (r->is_signed) {
		request_explain(
			r,
			"The field '%s' is not in the signed query with "
			"this value; the query must have all "
			"parameters.",
			params_shown(name, f->name));
		return PROBLEM_BAD_SIGNATURE;
	}
	if (f->other != NULL && strcmp(f->name, "variant") != 0) {
		request_explain(r,
				"%s is '%s' in the query and '%s' in the form.",
				params_shown(name, f->name),
				params_shown(there, f->other),
				params_shown(here, f->value));
		return PROBLEM_BAD_PARAMETER;
	}
	if (set_parameter(r, f->name, f->value))
		return PROBLEM_NONE;
	explain_field(r, f->name);
	return PROBLEM_BAD_PARAMETER;
}

/* Take the fields that are complete by now. */
static enum problem take_fields(struct request *r)
{
	struct upload_request *own = r->own;
	struct field f = { .is_given = false };
	enum problem problem = PROBLEM_NONE;

	while (problem == PROBLEM_NONE &&
	       body_next_field(&own->body, &own->fields_at, &f.name,
			       &f.value)) {
		f.other = NULL;
		f.is_given = false;
		problem = take_field(r, &f);
	}
	return problem;
}

static void drop_variants(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;

	if (u->variants != &own->variant)
		free(u->variants);
	own->variant = (struct variant){ .name = "" };
	u->variants = NULL;
	u->variant_count = 0;
}

/*
 * Make the variants that the query and the fields until now ask for.  A single
 * variant needs no allocation.
 */
static enum problem make_variants(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;
	struct query q = own->query;
	char detail[PARAMS_DETAIL_BYTES];
	uint32_t count;

	drop_variants(r);
	if (is_stored(r))
		query_add_presets(&q, r->config->presets);
	count = query_picture_count(&q);
	u->variants = count == 1 ? &own->variant :
				   calloc(count, sizeof(*u->variants));
	if (u->variants == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	u->variant_count = count;
	if (query_make(&q, r->config->presets,
		       formats_choose(&r->http->formats, r->head), u, detail)) {
		own->made_at = own->fields_at;
		return PROBLEM_NONE;
	}
	request_explain(r, "%s", detail);
	return PROBLEM_BAD_PARAMETER;
}

/* If the body is refused, say why. */
static void explain_body(struct request *r)
{
	struct upload_request *own = r->own;

	if (own->body.detail[0] == '\0')
		return;
	request_explain(r, "%s", own->body.detail);
	r->excess = own->body.excess;
}

static enum problem check_digest(struct request *r)
{
	const struct upload_request *own = r->own;

	if (own->digest == NULL || digest_end(own->digest))
		return PROBLEM_NONE;
	if (own->digest->is_tus)
		return PROBLEM_CHECKSUM_MISMATCH;
	request_explain(r, "The body does not have the digest of its %s.",
			own->digest->header);
	return PROBLEM_DIGEST_MISMATCH;
}

/* May the body be empty?  So it is if a ticket is only made. */
static bool may_be_empty(const struct request *r)
{
	const struct arrival *a = own_arrival(r);

	return a != NULL && a->kind != ARRIVAL_WHOLE;
}

/* The body is complete, and with it the last field. */
static enum problem finish_body(struct request *r)
{
	struct upload_request *own = r->own;
	bool is_form = own->body.form != NULL;
	enum problem problem = body_finish(&own->body);

	if (problem == PROBLEM_EMPTY_BODY && may_be_empty(r))
		problem = PROBLEM_NONE;
	if (problem == PROBLEM_NONE && is_form)
		problem = take_fields(r);
	if (problem == PROBLEM_NONE && own->fields_at > own->made_at)
		problem = make_variants(r);
	explain_body(r);
	return problem;
}

/* "2.5".  False: it is not a time. */
static bool timeout_read(const char *text, uint64_t *ns)
{
	double s;

	if (!take_decimal(&text, TIMEOUT_S_MAX, &s) || s == 0)
		return false;
	*ns = (uint64_t)(s * (double)NS_PER_S);
	return take_end(text);
}

/* Returns the number of headers Request-Timeout; *text is the last one. */
static uint32_t find_timeout(const struct request_head *head, const char **text)
{
	uint32_t count = 0;

	for (size_t i = 0; i < head->field_count; i++)
		if (strcasecmp(head->fields[i].name,
			       HTTP_HEADER_REQUEST_TIMEOUT) == 0) {
			*text = head->fields[i].value;
			count++;
		}
	return count;
}

/*
 * The deadline is that of the server, or an earlier one that the client asks
 * for.
 */
static enum problem set_deadline(struct request *r)
{
	struct upload_request *own = r->own;
	uint64_t time_ns = r->config->deadline_ms * NS_PER_MS;
	const char *text = "";
	uint32_t count = find_timeout(r->head, &text);
	char shown[PARAMS_SHOWN_BYTES];
	uint64_t asked_ns;

	if (count > 1 || (count == 1 && !timeout_read(text, &asked_ns))) {
		request_explain(
			r,
			"Request-Timeout must be given once, as a number "
			"of seconds above 0 and up to %d, such as 2.5, "
			"not '%s'.",
			TIMEOUT_S_MAX, params_shown(shown, text));
		return PROBLEM_BAD_TIMEOUT;
	}
	if (count == 1 && (time_ns == 0 || asked_ns < time_ns)) {
		time_ns = asked_ns;
		client_expect_until(r->client, r->begin_ns + time_ns);
	}
	own->upload.deadline_ns = time_ns > 0 ? r->begin_ns + time_ns : 0;
	own->upload.reply_ns = time_ns / REPLY_PART;
	return PROBLEM_NONE;
}

/* Has the deadline passed?  Then a slow body must not keep its memory. */
static bool is_late(const struct request *r)
{
	const struct upload_request *own = r->own;

	return own->upload.deadline_ns > 0 &&
	       clock_now_ns() >= own->upload.deadline_ns;
}

/* Does the client say which digest the body has? */
static enum problem begin_digest(struct request *r)
{
	struct upload_request *own = r->own;
	struct digest digest;

	if (!digest_begin(&digest, r->head)) {
		request_explain(r,
				"%s is malformed, or has no known algorithm.",
				digest.header);
		return PROBLEM_BAD_DIGEST;
	}
	if (digest.header == NULL)
		return PROBLEM_NONE;
	own->digest = malloc(sizeof(*own->digest));
	if (own->digest == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	*own->digest = digest;
	return PROBLEM_NONE;
}

enum problem upload_begin(struct request *r)
{
	struct upload_request *own = r->own;
	enum problem problem;

	own->request = r;
	own->upload.number = r->number;
	if (atomic_load(&r->http->refusing)) {
		r->must_close = true;
		return PROBLEM_STOPPING;
	}
	query_init(&own->query);
	if (r->config->formats != NULL)
		query_default_auto(&own->query);
	own->peek_bytes_min = PEEK_BYTES_MIN;
	problem = set_deadline(r);
	if (problem != PROBLEM_NONE)
		return problem;
	own->fd = r->connection->fd;
	problem = take_parameters(r);
	if (problem == PROBLEM_NONE)
		problem = begin_digest(r);
	return problem == PROBLEM_NONE ? make_variants(r) : problem;
}

static enum problem admit_upload(struct request *r)
{
	enum problem problem;

	if (!r->has_length && !r->head->is_chunked && !may_be_empty(r))
		return PROBLEM_LENGTH_REQUIRED;
	problem = upload_begin(r);
	if (problem == PROBLEM_NONE && is_whole(r) &&
	    !pipeline_has_slot(r->config->pipeline))
		problem = PROBLEM_OVERLOADED;
	return problem;
}

/* Has the client of a request that waits for memory disconnected? */
static bool is_waiter_gone(const struct budget_waiter *w)
{
	return is_client_gone(
		&container_of(w, struct upload_request, memory_wait)->upload);
}

static void end_memory_wait(struct budget_waiter *w)
{
	request_resume(
		container_of(w, struct upload_request, memory_wait)->request);
}

static struct body_length body_length_of(const struct request *r)
{
	if (own_arrival(r) != NULL)
		return arrival_length(r);
	return (struct body_length){
		.is_known = r->has_length,
		.bytes = r->has_length ? r->length_bytes :
					 r->config->body_bytes_max,
	};
}

/*
 * The body and its picture are reserved as a whole, so that no upload keeps
 * memory while it waits for more, except one whose estimate was too low.
 */
static bool wait_for_memory(struct request *r)
{
	struct upload_request *own = r->own;
	struct pipeline *p = r->config->pipeline;
	struct upload *u = &own->upload;
	const struct body_length length = body_length_of(r);
	bool is_suspended;
	uint64_t bytes;

	body_begin(&own->body, request_header(r, "Content-Type"),
		   r->config->form == FORM_STRICT, length, p, &u->charge);
	u->jpeg_charge_bytes = own->body.whole_bytes;
	bytes = body_need_bytes(&own->body);
	if (!pipeline_waits_for_memory(p) ||
	    bytes > u->charge.budget->limit_bytes ||
	    budget_try(&u->charge, bytes))
		return false;
	own->memory_wait = (struct budget_waiter){
		.line = BUDGET_OUTSIDE,
		.charge = &u->charge,
		.bytes = bytes,
		.wants_slot = true,
		.until_ns = u->deadline_ns,
		.is_over = is_waiter_gone,
		.done = end_memory_wait,
	};
	client_enter(r->client, CLIENT_WAIT);
	is_suspended = request_suspend(r);
	assert(is_suspended); /* a policy whose uploads wait has workers */
	(void)is_suspended;
	if (budget_wait(&own->memory_wait))
		request_resume(r);
	return true;
}

static enum problem prepare_for_body(struct request *r)
{
	struct upload_request *own = r->own;
	bool has_waited = own->memory_wait.charge != NULL;

	if (!has_waited || own->memory_wait.answer == BUDGET_OK) {
		enum problem problem =
			body_admit(&own->body, r->config->pipeline);

		explain_body(r);
		return problem;
	}
	if (is_late(r))
		return PROBLEM_DEADLINE_EXCEEDED;
	if (!atomic_load(&r->http->refusing)) {
		r->is_gone = true;
		return PROBLEM_NONE;
	}
	r->must_close = true;
	return PROBLEM_STOPPING;
}

/*
 * If the header has arrived and shows that the file will be refused, refuse it
 * now: the rest of the body is not needed.  Done each time that the bytes have
 * doubled; not for a complete body, which is submitted at once.
 */
static enum problem peek_at_header(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;
	uint32_t variant_count = u->variant_count;
	size_t bytes = own->body.count;
	bool is_known;

	if (own->peek_bytes_min == 0 || bytes < own->peek_bytes_min ||
	    (r->has_length && bytes == r->length_bytes && is_whole(r)))
		return PROBLEM_NONE;
	own->peek_bytes_min = 2 * bytes;
	u->jpeg = own->body.bytes;
	u->jpeg_bytes = bytes;
	/* In a form, fields after the file may ask for other results. */
	if (own->body.form != NULL)
		u->variant_count = 0;
	is_known = pipeline_peek(r->config->pipeline, u);
	u->variant_count = variant_count;
	if (!is_known)
		return PROBLEM_NONE;
	own->peek_bytes_min = 0;
	own->has_good_header = u->end == UPLOAD_ENDED && u->err == IMG_OK;
	return explained_problem(r);
}

/*
 * Let what has come of a picture with a good header be decoded, for what is
 * asked for by now.
 */
static void decode_early(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;

	if (!own->has_good_header || !is_whole(r) ||
	    (r->has_length && own->body.received_bytes == r->length_bytes) ||
	    (own->fields_at > own->made_at && make_variants(r) != PROBLEM_NONE))
		return;
	u->jpeg = own->body.bytes;
	u->jpeg_bytes = own->body.count;
	pipeline_arrive(r->config->pipeline, u);
}

/* Of what was read of the body: take its fields, and look at its picture. */
static enum problem take_read(struct request *r, enum problem problem)
{
	explain_body(r);
	if (problem == PROBLEM_NONE)
		problem = take_fields(r);
	if (problem == PROBLEM_NONE)
		problem = peek_at_header(r);
	return problem;
}

/* upload.parse(): a form that was kept until now. */
static enum upload_end parse_form(struct upload *u)
{
	struct request *r = request_of_upload(u);
	struct upload_request *own = r->own;
	bool answers_early = own->storing.answers_early;
	enum problem problem = take_read(r, body_read_kept(&own->body));

	if (problem == PROBLEM_NONE)
		problem = finish_body(r);
	/* As upload_submit() does, which did not know this field. */
	if (!answers_early && own->storing.answers_early)
		atomic_fetch_add(&r->holder_count, 1);
	u->jpeg = own->body.bytes;
	u->jpeg_bytes = own->body.count;
	r->problem = problem;
	return problem == PROBLEM_NONE ? UPLOAD_ENDED : UPLOAD_NOT_PARSED;
}

static enum problem receive_piece(struct request *r, const char *data,
				  size_t bytes)
{
	struct upload_request *own = r->own;
	uint64_t move_bytes;
	enum problem problem;

	if (is_late(r))
		return PROBLEM_DEADLINE_EXCEEDED;
	if (own->digest != NULL)
		digest_add(own->digest, data, bytes);
	move_bytes = body_move_bytes(&own->body, bytes);
	if (move_bytes > 0)
		pipeline_hold(&own->upload, move_bytes);
	problem = body_receive(&own->body, data, bytes);
	own->upload.jpeg_charge_bytes = own->body.whole_bytes;
	if (problem == PROBLEM_BODY_TOO_LARGE && own->arrival != NULL)
		problem = arrival_refuse_piece(r, bytes);
	if (own->body.is_kept) {
		explain_body(r);
		return problem;
	}
	problem = take_read(r, problem);
	if (problem == PROBLEM_NONE)
		decode_early(r);
	if (own->peek_bytes_min > own->body.count)
		r->wanted_bytes = own->peek_bytes_min - own->body.count;
	return problem;
}

/*
 * Send the upload into the pipeline.  False: the server stops, or the pipeline
 * has refused the upload: see u->end.
 */
static bool submit_upload(struct request *r)
{
	struct upload_request *own = r->own;
	struct upload *u = &own->upload;

	u->jpeg = own->body.bytes;
	u->jpeg_bytes = own->body.count;
	if (own->body.is_kept)
		u->parse = parse_form;
	/* What a client sends in parts goes on without it. */
	if (own->arrival == NULL)
		u->is_gone = is_client_gone;
	u->done = on_upload_done;
	if (!is_stored(r))
		u->on_decoded = free_decoded_body;
	return !atomic_load(&r->http->abandoning) &&
	       pipeline_submit(r->config->pipeline, u);
}

bool upload_submit(struct request *r)
{
	struct upload_request *own = r->own;
	bool answers_early = own->storing.answers_early;
	bool is_suspended, is_submitted;

	if (answers_early)
		atomic_fetch_add(&r->holder_count, 1);
	/*
	 * Done first, because a worker may finish and resume the connection
	 * before pipeline_submit() returns.
	 */
	is_suspended = request_suspend(r);
	is_submitted = submit_upload(r);
	r->submitted_ns = own->upload.submitted_ns;
	if (is_submitted)
		return is_suspended;
	request_refuse(r, atomic_load(&r->http->abandoning) ?
				  PROBLEM_STOPPING :
				  problem_of_upload(&own->upload));
	if (answers_early)
		atomic_fetch_sub(&r->holder_count, 1);
	request_resume(r);
	return is_suspended;
}

/* Is there all of a body that is right?  False: the request was refused. */
static bool is_body_good(struct request *r)
{
	const struct upload_request *own = r->own;
	enum problem problem = check_digest(r);

	if (problem == PROBLEM_NONE && !own->body.is_kept)
		problem = finish_body(r);
	if (problem != PROBLEM_NONE)
		request_refuse(r, problem);
	return problem == PROBLEM_NONE;
}

static bool start_upload(struct request *r)
{
	return is_body_good(r) && upload_submit(r);
}

/* Called several times: see uploads/arrival.h. */
static bool start_arrival(struct request *r)
{
	if (!r->starts_again && !is_body_good(r))
		return false;
	return arrival_start(r);
}

static bool reply_results(struct request *r)
{
	struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	char type[RESULT_TYPE_CHARS];
	struct reply p;

	for (uint32_t i = 0; i < u->variant_count; i++)
		r->result_bytes += u->variants[i].jpeg_bytes;
	return result_begin_reply(&p, r->head, u, type) &&
	       reply_send(r, STATUS_OK, type, &p);
}

static bool reply_to_upload(struct request *r)
{
	struct upload_request *own = r->own;

	if (storing_is_accepted(r))
		return storing_reply_accepted(r, own->storing.accepted.id,
					      r->config->spools);
	if (own->upload.end != UPLOAD_GONE)
		r->problem = upload_problem(r);
	drop_body(r); /* not needed while the client reads the reply */
	if (own->upload.end == UPLOAD_GONE)
		return false;
	r->has_timing = true;
	if (r->problem != PROBLEM_NONE)
		return reply_problem(r);
	return is_stored(r) ? storing_reply_stored(r) : reply_results(r);
}

__attribute__((format(printf, 3, 4))) static int
print_at(char text[TIMING_BYTES], int at, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	at += vsnprintf(text + at, TIMING_BYTES - (size_t)at, format, list);
	va_end(list);
	assert(at < TIMING_BYTES);
	return at;
}

/* A Warning (RFC 7234, 5.5) that fields were ignored. */
static void add_ignored(const struct upload_request *own, struct reply *p)
{
	char text[WARNING_BYTES], name[PARAMS_SHOWN_BYTES];

	if (own->ignored_count == 0)
		return;
	(void)strcpy(name, own->ignored);
	for (char *c = name; *c != '\0'; c++)
		if (*c == '"' || *c == '\\')
			*c = '?';
	(void)snprintf(
		text, sizeof(text),
		"199 darkroom \"fields of the form that are no parameters were "
		"ignored: %" PRIu32 ", the first is '%s'\"",
		own->ignored_count, name);
	reply_add_header(p, "Warning", text);
}

static int print_step(char text[TIMING_BYTES], int at, const struct request *r,
		      uint32_t step)
{
	const struct upload_request *own = r->own;
	const struct upload *u = &own->upload;

	at = print_at(text, at, ", %s;dur=%.3f", pipeline_step_names[step],
		      (double)u->service_ns[step] / 1e6);
	if (u->begun_ns[step] == 0)
		return at;
	return print_at(text, at, ";start=%.3f",
			(double)(u->begun_ns[step] - r->begin_ns) / 1e6);
}

/*
 * "body;dur=1.1, queue;dur=0.1, decode;dur=8.4;start=1.2, ..., total;dur=10.2",
 * in milliseconds; `start` is the time after the head.
 */
static void add_timing(const struct request *r, struct reply *p)
{
	const struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	struct pipeline_steps steps = pipeline_own_steps(r->config->pipeline);
	uint32_t end = steps.first + steps.count;
	char text[TIMING_BYTES];
	int at = print_at(text, 0, "body;dur=%.3f, queue;dur=%.3f",
			  (double)(u->submitted_ns - r->begin_ns) / 1e6,
			  (double)u->waited_ns / 1e6);

	for (uint32_t i = steps.first; i < end; i++)
		at = print_step(text, at, r, i);
	if (u->store != NULL)
		at = print_step(text, at, r, PIPELINE_STORE);
	(void)print_at(text, at, ", total;dur=%.3f",
		       (double)(r->replied_ns - r->begin_ns) / 1e6);
	reply_add_header(p, "Server-Timing", text);
	add_ignored(own, p);
}

static void log_hash(const struct upload *u, struct log_request *line)
{
	_Static_assert(sizeof(line->pdq) == 2 * IMG_PDQ_BYTES + 1,
		       "it has room");
	if (!u->is_hashed)
		return;
	base16_encode_update(line->pdq, IMG_PDQ_BYTES, u->pdq.upright);
	line->pdq_quality = u->pdq.quality;
	if (u->end != UPLOAD_BLOCKED)
		return;
	base16_encode_update(line->blocked_by, IMG_PDQ_BYTES, u->block.hash);
	line->blocked_distance = u->block.distance;
}

static void log_step(const struct request *r, struct log_request *line,
		     uint32_t step)
{
	const struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	const char *name = pipeline_step_names[step];

	log_request_add_time(line, name, u->service_ns[step]);
	if (u->begun_ns[step] > 0)
		log_request_add_step(line, name,
				     u->begun_ns[step] - r->begin_ns,
				     u->service_ns[step]);
}

/*
 * Steps begin in this order: a step has a beginning only if all earlier steps
 * have one.
 */
static void log_upload(const struct request *r, struct log_request *line)
{
	const struct upload_request *own = r->own;
	const struct upload *u = &own->upload;
	struct pipeline_steps steps = pipeline_own_steps(r->config->pipeline);

	/* The pipeline may still have the upload. */
	if (storing_is_accepted(r))
		return;
	line->pixels_in = img_pixels(u->stored);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		if (v->jpeg == NULL)
			continue;
		line->pixels_out += img_pixels(v->size);
		line->bytes_out += v->jpeg_bytes;
		line->variant_count++;
	}
	log_hash(u, line);
	log_request_add_time(line, "queue", u->waited_ns);
	for (uint32_t i = steps.first; i < steps.first + steps.count; i++)
		log_step(r, line, i);
	if (u->store != NULL)
		log_step(r, line, PIPELINE_STORE);
}

static void release_upload(struct request *r)
{
	struct upload_request *own = r->own;

	upload_free_results(&own->upload);
	drop_body(r);
	free(own->storing.meta);
	drop_variants(r);
	free(own->digest);
	arrival_release(r);
}

static enum problem admit_stored_upload(struct request *r)
{
	enum problem problem = storing_begin(r);

	return problem == PROBLEM_NONE ? admit_upload(r) : problem;
}

static enum problem admit_arrival(struct request *r, enum arrival_kind kind)
{
	struct upload_request *own = r->own;
	enum problem problem = storing_begin(r);

	if (problem == PROBLEM_NONE)
		problem = arrival_begin(r, kind);
	if (problem == PROBLEM_NONE)
		problem = admit_upload(r);
	/* The header of a picture is only in its first bytes. */
	if (own->arrival != NULL && own->arrival->offset > 0)
		own->peek_bytes_min = 0;
	return problem;
}

static enum problem admit_new_ticket(struct request *r)
{
	return admit_arrival(r, ARRIVAL_NEW);
}

static enum problem admit_whole(struct request *r)
{
	return admit_arrival(r, ARRIVAL_WHOLE);
}

static enum problem admit_part(struct request *r)
{
	return admit_arrival(r, ARRIVAL_PART);
}

/* The hooks of all uploads, except admit(). */
#define UPLOAD_HOOKS                                                           \
	.state_bytes = sizeof(struct upload_request), .wait = wait_for_memory, \
	.prepare = prepare_for_body, .receive = receive_piece,                 \
	.goes_on = storing_is_accepted, .add_timing = add_timing,              \
	.log = log_upload, .release = release_upload

/* Those that start and reply at once. */
#define PLAIN_HOOKS                                                            \
	UPLOAD_HOOKS, .start = start_upload, .reply = reply_to_upload,         \
		      .refuse = drop_body

const struct handler upload_handler = {
	PLAIN_HOOKS,
	.admit = admit_upload,
};

const struct handler stored_upload_handler = {
	PLAIN_HOOKS,
	.admit = admit_stored_upload,
	.end = storing_end,
};

/* Of /v1/uploads. */
#define ARRIVAL_HOOKS                                                          \
	UPLOAD_HOOKS, .start = start_arrival, .reply = arrival_reply,          \
		      .refuse = arrival_refuse, .end = arrival_end

const struct handler new_ticket_handler = {
	ARRIVAL_HOOKS,
	.admit = admit_new_ticket,
};

const struct handler ticket_upload_handler = {
	ARRIVAL_HOOKS,
	.admit = admit_whole,
};

const struct handler ticket_part_handler = {
	ARRIVAL_HOOKS,
	.admit = admit_part,
};

static void release_making(struct request *r)
{
	making_leave(r);
	images_release(r);
	release_upload(r);
}

/* Of /v1/images/ID, whose body is the original. */
#define MAKING_HOOKS                                                           \
	.state_bytes = sizeof(struct making_request),                          \
	.picture_at = offsetof(struct making_request, picture),                \
	.start = making_start, .add_timing = add_timing, .log = log_upload,    \
	.release = release_making

const struct handler making_handler = {
	MAKING_HOOKS,
	.admit = making_admit,
	.reply = making_reply,
};

const struct handler adding_handler = {
	MAKING_HOOKS,
	.admit = adding_admit,
	.reply = adding_reply,
};
