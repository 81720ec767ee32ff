/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/listing.h"

#include "base/clock.h"
#include "service/store/remote/helper/object.h"

#include <curl/curl.h>
#include <errno.h>
#include <expat.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE_BYTES_MAX = 8 << 20,
	PAGE_KEYS_MAX = 1000,
	TEXT_BYTES = 2048, /* of an element; a key has at most 1024 */
	CHECK_MS = 8000,
	TURN_MS = 1000,
	PIECE_BYTES = 64 << 10,
	VERIFY_MAX = 16,       /* objects at once */
	EMPTY_PAGES_MAX = 100, /* one after the other */
};

struct object {
	char key[TEXT_BYTES];
	char modified[32];
	uint64_t bytes;
};

/* A page of the list, and where the parser is in it. */
struct page {
	struct object *objects; /* PAGE_KEYS_MAX */
	uint32_t object_count;
	char token[TEXT_BYTES]; /* of the next page; "": this is the last */
	/* An earlier token, kept after 1, 2, 4, 8 ... pages. */
	char kept_token[TEXT_BYTES];
	uint64_t page_count;
	uint32_t empty_count; /* pages without objects, up to this one */
	bool has_more, is_wrong;
	struct object current;
	uint32_t depth;
	bool is_inside; /* of a <Contents> */
	char text[TEXT_BYTES];
	size_t text_bytes;
	XML_Parser parser;
};

/* -- XML -- */

static void refuse_page(struct page *p)
{
	p->is_wrong = true;
	(void)XML_StopParser(p->parser, XML_FALSE);
}

/* A name without its name space. */
static const char *plain(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon != NULL ? colon + 1 : name;
}

static void begin_element(void *arg, const char *name, const char **attributes)
{
	struct page *p = arg;

	(void)attributes;
	p->depth++;
	p->text_bytes = 0;
	if (p->depth == 2 && strcmp(plain(name), "Contents") == 0) {
		p->is_inside = true;
		(void)memset(&p->current, 0, sizeof(p->current));
	}
	if (p->depth > 8)
		refuse_page(p);
}

static void take_text(void *arg, const char *text, int count)
{
	struct page *p = arg;

	if ((size_t)count >= sizeof(p->text) - p->text_bytes) {
		refuse_page(p);
		return;
	}
	(void)memcpy(p->text + p->text_bytes, text, (size_t)count);
	p->text_bytes += (size_t)count;
}

/* Keys are percent-encoded, as the request asks for. */
static void take_key(struct page *p)
{
	int count = 0;
	char *key =
		curl_easy_unescape(NULL, p->text, (int)p->text_bytes, &count);

	if (key == NULL || strlen(key) != (size_t)count)
		refuse_page(p);
	else
		(void)snprintf(p->current.key, sizeof(p->current.key), "%s",
			       key);
	curl_free(key);
}

static void end_contents(struct page *p)
{
	p->is_inside = false;
	if (p->object_count == PAGE_KEYS_MAX || p->current.key[0] == '\0')
		refuse_page(p);
	else
		p->objects[p->object_count++] = p->current;
}

static void end_element(void *arg, const char *full_name)
{
	struct page *p = arg;
	const char *name = plain(full_name);

	p->text[p->text_bytes] = '\0';
	if (p->depth == 3 && p->is_inside) {
		if (strcmp(name, "Key") == 0)
			take_key(p);
		else if (strcmp(name, "Size") == 0)
			p->current.bytes = strtoull(p->text, NULL, 10);
		else if (strcmp(name, "LastModified") == 0)
			(void)snprintf(p->current.modified,
				       sizeof(p->current.modified), "%.31s",
				       p->text);
	} else if (p->depth == 2) {
		if (p->is_inside)
			end_contents(p);
		else if (strcmp(name, "IsTruncated") == 0)
			p->has_more = strcmp(p->text, "true") == 0;
		else if (strcmp(name, "NextContinuationToken") == 0)
			(void)memcpy(p->token, p->text, p->text_bytes + 1);
	}
	p->depth--;
	p->text_bytes = 0;
}

/* A list has no document type, with which a reply could grow without limit. */
static void refuse_type(void *arg, const char *name, const char *system,
			const char *public, int has_subset)
{
	(void)name;
	(void)system;
	(void)public;
	(void)has_subset;
	refuse_page(arg);
}

static bool parse_page(struct page *p, int fd, uint64_t bytes)
{
	char piece[PIECE_BYTES];
	bool is_good = true;

	p->parser = XML_ParserCreate(NULL);
	if (p->parser == NULL)
		return false;
	XML_SetUserData(p->parser, p);
	XML_SetElementHandler(p->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(p->parser, take_text);
	XML_SetStartDoctypeDeclHandler(p->parser, refuse_type);
	for (uint64_t at = 0; is_good && at < bytes;) {
		ssize_t n = pread(fd, piece, sizeof(piece), (off_t)at);

		is_good = n > 0 &&
			  XML_Parse(p->parser, piece, (int)n,
				    at + (uint64_t)n == bytes) == XML_STATUS_OK;
		at += is_good ? (uint64_t)n : 0;
	}
	XML_ParserFree(p->parser);
	return is_good && !p->is_wrong && bytes > 0 &&
	       (!p->has_more || p->token[0] != '\0');
}

/* -- A page -- */

struct waited {
	bool is_done;
	int fd;
};

static void end_waited(struct s3_call *c)
{
	struct waited *w = c->owner;

	w->is_done = true;
}

static int sink_waited(struct s3_call *c)
{
	const struct waited *w = c->owner;

	return ftruncate(w->fd, 0) == 0 ? w->fd : -1;
}

/* False: the query would be too long. */
static bool print_query(const struct s3 *s3, const struct page *p,
			uint32_t keys_max, char query[S3_QUERY_BYTES])
{
	char *token = curl_easy_escape(NULL, p->token, 0);
	char *prefix = curl_easy_escape(NULL, s3_prefix(s3), 0);
	int n = -1;

	/* The signature needs the names in this order. */
	if (token != NULL && prefix != NULL)
		n = snprintf(query, S3_QUERY_BYTES,
			     "%s%s%sencoding-type=url&list-type=2&max-keys=%u"
			     "&prefix=%s",
			     *token != '\0' ? "continuation-token=" : "", token,
			     *token != '\0' ? "&" : "", keys_max, prefix);
	curl_free(token);
	curl_free(prefix);
	return n > 0 && n < S3_QUERY_BYTES;
}

/*
 * Does the list get on?  Tokens that repeat, however many pages are between
 * them, are found by comparing each with one that is kept for twice as many
 * pages each time.
 */
static bool check_progress(struct page *p, struct error *error)
{
	p->empty_count = p->object_count > 0 ? 0 : p->empty_count + 1;
	if (p->has_more && strcmp(p->token, p->kept_token) == 0)
		return error_fail(error, "the store's list of objects has no "
					 "end: it repeats its token");
	if (p->has_more && p->empty_count >= EMPTY_PAGES_MAX)
		return error_fail(error,
				  "the store's list of objects has no end: %d "
				  "pages without an object",
				  EMPTY_PAGES_MAX);
	p->page_count++;
	if ((p->page_count & (p->page_count - 1)) == 0)
		(void)memcpy(p->kept_token, p->token, sizeof(p->token));
	return true;
}

/* Read the page that follows the one in `p`. */
static bool read_page(struct s3 *s3, struct page *p, uint32_t keys_max,
		      uint64_t deadline_ns, struct error *error)
{
	char query[S3_QUERY_BYTES];
	struct waited w = { .fd = memfd_create("list", MFD_CLOEXEC) };
	struct s3_call c = {
		.method = S3_GET,
		.query = query,
		.deadline_ns = deadline_ns,
		.reply_bytes_max = PAGE_BYTES_MAX,
		.sink = sink_waited,
		.done = end_waited,
		.owner = &w,
	};
	bool is_read = false;

	if (w.fd < 0 || !print_query(s3, p, keys_max, query)) {
		error_set(error, "the list cannot be asked for: %s",
			  w.fd < 0 ? strerror(errno) : "the token is too long");
	} else {
		s3_send(s3, &c);
		while (!w.is_done)
			(void)s3_turn(s3, -1, TURN_MS);
		p->object_count = 0;
		p->token[0] = '\0';
		p->has_more = false;
		if (c.result != S3_OK)
			error_set(error, "%s", c.detail);
		else if (!parse_page(p, w.fd, c.received_bytes))
			error_set(error, "the store's list of objects is not "
					 "one that this program understands");
		else
			is_read = check_progress(p, error);
	}
	if (w.fd >= 0)
		(void)close(w.fd);
	return is_read;
}

static struct page *page_new(struct error *error)
{
	struct page *p = calloc(1, sizeof(*p));

	if (p != NULL)
		p->objects = calloc(PAGE_KEYS_MAX, sizeof(struct object));
	if (p != NULL && p->objects != NULL)
		return p;
	free(p);
	error_set(error, "too little memory");
	return NULL;
}

static void page_free(struct page *p)
{
	free(p->objects);
	free(p);
}

/* -- The commands -- */

bool store_create(struct s3 *s3, struct error *error)
{
	struct waited w = { .fd = -1 };
	struct s3_call c = {
		.method = S3_PUT,
		.deadline_ns = clock_after_ms(CHECK_MS),
		.body = -1,
		.done = end_waited,
		.owner = &w,
	};

	s3_send(s3, &c);
	while (!w.is_done)
		(void)s3_turn(s3, -1, TURN_MS);
	return c.result == S3_OK || c.result == S3_EXISTS ||
	       error_fail(error, "%s", c.detail);
}

bool store_check(struct s3 *s3, struct error *error)
{
	struct page *p = page_new(error);
	bool is_good = p != NULL &&
		       read_page(s3, p, 1, clock_after_ms(CHECK_MS), error);

	if (p != NULL)
		page_free(p);
	return is_good;
}

/* Print a text of the store so that it cannot control a terminal. */
static void print_text(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text >= ' ' && *text <= '~' && *text != '\\')
			(void)fputc(*text, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*text);
}

static void print_object(FILE *out, const char *id, const struct object *o)
{
	fprintf(out, "%s %" PRIu64 " ", id, o->bytes);
	print_text(out, o->modified);
	(void)fputc('\n', out);
}

bool store_list(struct s3 *s3, FILE *out, struct error *error)
{
	struct page *p = page_new(error);
	bool is_read = p != NULL;

	while (is_read &&
	       (is_read = read_page(s3, p, PAGE_KEYS_MAX, 0, error))) {
		for (uint32_t i = 0; i < p->object_count; i++) {
			const struct object *o = &p->objects[i];
			char id[STORE_ID_BYTES];

			if (s3_read_key(s3, o->key, id))
				print_object(out, id, o);
		}
		if (!p->has_more)
			break;
	}
	if (p != NULL)
		page_free(p);
	return is_read;
}

/* An image that is being fetched to be checked. */
struct check {
	struct s3_call call;
	char id[STORE_ID_BYTES];
	int fd; /* -1: this check is free */
	bool is_done;
};

static int sink_check(struct s3_call *c)
{
	const struct check *k = c->owner;

	return ftruncate(k->fd, 0) == 0 ? k->fd : -1;
}

static void end_check(struct s3_call *c)
{
	struct check *k = c->owner;

	k->is_done = true;
}

static void print_bad(FILE *out, const struct check *k)
{
	fprintf(out, "%s: ", k->id);
	print_text(out, k->call.result == S3_OK ? "damaged" : k->call.detail);
	(void)fputc('\n', out);
}

static void count_check(struct check *k, FILE *out, struct verified *v)
{
	const struct s3_call *c = &k->call;
	bool is_good =
		c->result == S3_OK &&
		object_check(k->fd, c->received_bytes, k->id) == STORE_OK;

	if (!is_good)
		print_bad(out, k);
	v->good += is_good;
	v->bad += !is_good;
	v->bytes += is_good ? c->received_bytes : 0;
	(void)close(k->fd);
	k->fd = -1;
	k->is_done = false;
}

static bool begin_check(struct s3 *s3, struct check *k, const char *id)
{
	k->fd = memfd_create("package", MFD_CLOEXEC);
	if (k->fd < 0)
		return false;
	(void)memcpy(k->id, id, sizeof(k->id));
	k->call = (struct s3_call){
		.method = S3_GET,
		.reply_bytes_max = OBJECT_BYTES_MAX,
		.sink = sink_check,
		.done = end_check,
		.owner = k,
	};
	s3_print_key(s3, id, k->call.key);
	s3_send(s3, &k->call);
	return true;
}

/* Wait until a check is free, counting those that are done. */
static struct check *free_check(struct s3 *s3, struct check *all, FILE *out,
				struct verified *v)
{
	for (;;) {
		for (uint32_t i = 0; i < VERIFY_MAX; i++) {
			if (all[i].is_done)
				count_check(&all[i], out, v);
			if (all[i].fd < 0)
				return &all[i];
		}
		(void)s3_turn(s3, -1, TURN_MS);
	}
}

static bool verify_page(struct s3 *s3, const struct page *p, struct check *all,
			FILE *out, struct verified *v, struct error *error)
{
	bool is_good = true;

	for (uint32_t i = 0; is_good && i < p->object_count; i++) {
		char id[STORE_ID_BYTES];

		if (!s3_read_key(s3, p->objects[i].key, id))
			v->others++;
		else if (!begin_check(s3, free_check(s3, all, out, v), id))
			is_good = error_fail(error, "%s", strerror(errno));
	}
	while (s3_call_count(s3) > 0)
		(void)s3_turn(s3, -1, TURN_MS);
	for (uint32_t i = 0; i < VERIFY_MAX; i++)
		if (all[i].is_done)
			count_check(&all[i], out, v);
	return is_good;
}

bool store_verify(struct s3 *s3, FILE *out, struct verified *v,
		  struct error *error)
{
	struct page *p = page_new(error);
	struct check *all = calloc(VERIFY_MAX, sizeof(*all));
	bool is_read = p != NULL && all != NULL;

	*v = (struct verified){ 0 };
	for (uint32_t i = 0; all != NULL && i < VERIFY_MAX; i++)
		all[i].fd = -1;
	while (is_read) {
		is_read = read_page(s3, p, PAGE_KEYS_MAX, 0, error) &&
			  verify_page(s3, p, all, out, v, error);
		if (!p->has_more)
			break;
	}
	if (p != NULL)
		page_free(p);
	free(all);
	return is_read;
}
