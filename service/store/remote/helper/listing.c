/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/listing.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/take.h"
#include "service/store/package.h"

#include <curl/curl.h>
#include <errno.h>
#include <expat.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE_BYTES_MAX = 8 << 20,
	PAGE_KEYS_MAX = 1000,
	TEXT_BYTES = LISTING_TEXT_BYTES, /* of an element; keys: 1024 */
	SPACE_BYTES = 256, /* of a name space, with the separator */
	DEPTH_MAX = 8,
	CHECK_MS = 8000,
	TURN_MS = 1000,
	PIECE_BYTES = 64 << 10,
	VERIFY_MAX = 16, /* objects at once */
	/* Of these together, unless a single one is larger. */
	VERIFY_BYTES_MAX = 256 << 20,
	EMPTY_PAGES_MAX = 100, /* one after the other */
};

/* It ends a name space, and is in no name. */
static const char space_end = '|';

struct object {
	char key[TEXT_BYTES];
	char modified[32];
	bool is_odd; /* verify: it was not there, or longer than listed */
	uint64_t bytes;
};

/* A page of the list. */
struct page {
	const char *prefix;     /* of the list's keys */
	struct object *objects; /* PAGE_KEYS_MAX */
	uint32_t object_count;
	bool has_more;
	char token[TEXT_BYTES]; /* of the next page; "": this is the last */
	/* Of this page and those before it. */
	char last_key[TEXT_BYTES];
	uint32_t empty_count; /* pages without objects, up to this one */
};

/* -- XML -- */

enum place { IN_LIST, IN_OBJECT, IN_ERROR, IN_OTHER };

/* A page that is being read. */
struct reader {
	XML_Parser parser;
	struct page *page;
	uint32_t depth;
	enum place root; /* IN_OTHER: not known yet */
	bool is_inside;  /* of a <Contents> */
	const struct field *field;
	uint32_t seen; /* bits of fields */
	bool is_encoded;
	char code[S3_CODE_BYTES]; /* of an error */
	const struct s3 *s3;
	char prefix[TEXT_BYTES]; /* that the page says */
	uint64_t key_count;
	/* The name space of the root and the separator; "": it has none. */
	char space[SPACE_BYTES];
	struct object current;
	char text[TEXT_BYTES]; /* of `field` */
	size_t text_bytes;
	const char *why; /* the page is refused; NULL: it is not */
};

static void refuse(struct reader *r, const char *why)
{
	if (r->why != NULL)
		return;
	r->why = why;
	(void)XML_StopParser(r->parser, XML_FALSE);
}

/* Each of these functions takes the text of a field.  False: it is wrong. */

static bool take_truncated(struct reader *r)
{
	r->page->has_more = strcmp(r->text, "true") == 0;
	return r->page->has_more || strcmp(r->text, "false") == 0;
}

static bool take_token(struct reader *r)
{
	(void)memcpy(r->page->token, r->text, r->text_bytes + 1);
	return true;
}

static bool take_encoding(struct reader *r)
{
	r->is_encoded = strcmp(r->text, "url") == 0;
	return r->is_encoded;
}

/* For what a list of all objects, from the first on, does not have. */
static bool take_nothing(struct reader *r)
{
	return r->text_bytes == 0;
}

static bool take_bucket(struct reader *r)
{
	return s3_is_bucket(r->s3, r->text);
}

static bool take_prefix(struct reader *r)
{
	(void)memcpy(r->prefix, r->text, r->text_bytes + 1);
	return true;
}

static bool take_count(struct reader *r)
{
	return number_read_whole(r->text, 0, PAGE_KEYS_MAX, &r->key_count);
}

static bool take_key(struct reader *r)
{
	(void)memcpy(r->current.key, r->text, r->text_bytes + 1);
	return r->text_bytes > 0;
}

static bool take_size(struct reader *r)
{
	return number_read_whole(r->text, 0, INT64_MAX, &r->current.bytes);
}

static bool take_modified(struct reader *r)
{
	(void)snprintf(r->current.modified, sizeof(r->current.modified),
		       "%.31s", r->text);
	return true;
}

static bool take_code(struct reader *r)
{
	size_t n = strspn(r->text, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");

	(void)snprintf(r->code, sizeof(r->code), "%.*s", (int)n, r->text);
	return true;
}

/* The elements that are read, each of them at most once in its place. */
static const struct field {
	enum place place;
	const char *name;
	bool (*take)(struct reader *r);
	const char *wrong, *twice;
} fields[] = {
	{ IN_LIST, "IsTruncated", take_truncated,
	  "IsTruncated is neither true nor false",
	  "IsTruncated is there twice" },
	{ IN_LIST, "NextContinuationToken", take_token, NULL,
	  "NextContinuationToken is there twice" },
	{ IN_LIST, "EncodingType", take_encoding, "EncodingType is not url",
	  "EncodingType is there twice" },
	{ IN_LIST, "Name", take_bucket, "its Name is that of another bucket",
	  "Name is there twice" },
	{ IN_LIST, "Prefix", take_prefix, NULL, "Prefix is there twice" },
	{ IN_LIST, "KeyCount", take_count,
	  "KeyCount is not a number up to 1,000", "KeyCount is there twice" },
	{ IN_LIST, "Delimiter", take_nothing,
	  "it has a Delimiter, so it lacks objects",
	  "Delimiter is there twice" },
	{ IN_LIST, "Marker", take_nothing,
	  "it has a Marker, so it lacks objects", "Marker is there twice" },
	{ IN_LIST, "StartAfter", take_nothing,
	  "it has a StartAfter, so it lacks objects",
	  "StartAfter is there twice" },
	{ IN_LIST, "NextMarker", take_nothing,
	  "it has a NextMarker, so it is of another kind",
	  "NextMarker is there twice" },
	{ IN_OBJECT, "Key", take_key, "a Key is empty",
	  "an object has two Keys" },
	{ IN_OBJECT, "Size", take_size, "a Size is not a number of bytes",
	  "an object has two Sizes" },
	{ IN_OBJECT, "LastModified", take_modified, NULL,
	  "an object has two times" },
	{ IN_ERROR, "Code", take_code, NULL, "an error has two Codes" },
};

static bool has_seen(const struct reader *r, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strcmp(fields[i].name, name) == 0)
			return (r->seen >> i & 1) != 0;
	return false;
}

static void begin_root(struct reader *r, const char *name)
{
	if (strcmp(name, "ListBucketResult") == 0)
		r->root = IN_LIST;
	else if (strcmp(name, "Error") == 0)
		r->root = IN_ERROR;
	else
		refuse(r, "it is another document");
}

static void begin_contents(struct reader *r)
{
	r->is_inside = true;
	r->current = (struct object){ .bytes = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].place == IN_OBJECT)
			r->seen &= ~(UINT32_C(1) << i);
}

static void begin_field(struct reader *r, const char *name)
{
	enum place place = r->depth == 2                 ? r->root :
			   r->depth == 3 && r->is_inside ? IN_OBJECT :
							   IN_OTHER;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].place != place ||
		    strcmp(fields[i].name, name) != 0)
			continue;
		if ((r->seen >> i & 1) != 0)
			refuse(r, fields[i].twice);
		r->seen |= UINT32_C(1) << i;
		r->field = &fields[i];
	}
}

/*
 * A name without its name space, which must be that of the root: what another
 * one means, nobody here knows.
 */
static const char *plain(struct reader *r, const char *name)
{
	const char *bar = strrchr(name, space_end);
	size_t n = bar != NULL ? (size_t)(bar + 1 - name) : 0;

	if (n >= sizeof(r->space))
		refuse(r, "the name of a name space is too long");
	else if (r->depth == 1)
		(void)snprintf(r->space, sizeof(r->space), "%.*s", (int)n,
			       name);
	else if (r->root == IN_LIST &&
		 (strlen(r->space) != n || memcmp(r->space, name, n) != 0))
		refuse(r, "an element is of another name space");
	return name + n;
}

/* An element of a list that says that objects are missing? */
static bool begin_unexpected(struct reader *r, const char *name)
{
	if (strcmp(name, "CommonPrefixes") == 0)
		refuse(r, "it has CommonPrefixes, so it lacks objects");
	else if (strcmp(name, "Error") == 0)
		refuse(r, "it has an Error");
	else
		return false;
	return true;
}

static void begin_element(void *arg, const char *full_name,
			  const char **attributes)
{
	struct reader *r = arg;
	const char *name;

	(void)attributes;
	r->depth++;
	name = plain(r, full_name);
	r->text_bytes = 0;
	if (r->depth > DEPTH_MAX)
		refuse(r, "its elements are nested too deeply");
	else if (r->field != NULL)
		refuse(r, "a value has elements in it");
	else if (r->depth == 1)
		begin_root(r, name);
	else if (r->depth == 2 && r->root == IN_LIST &&
		 strcmp(name, "Contents") == 0)
		begin_contents(r);
	else if (r->depth != 2 || r->root != IN_LIST ||
		 !begin_unexpected(r, name))
		begin_field(r, name);
}

static void take_text(void *arg, const char *text, int count)
{
	struct reader *r = arg;

	if (r->field == NULL)
		return;
	if ((size_t)count >= sizeof(r->text) - r->text_bytes) {
		refuse(r, "a value is too long");
		return;
	}
	(void)memcpy(r->text + r->text_bytes, text, (size_t)count);
	r->text_bytes += (size_t)count;
}

static void end_contents(struct reader *r)
{
	struct page *p = r->page;

	r->is_inside = false;
	if (!has_seen(r, "Key") || !has_seen(r, "Size"))
		refuse(r, "an object has no Key or no Size");
	else if (p->object_count == PAGE_KEYS_MAX)
		refuse(r, "a page has more than 1,000 objects");
	else
		p->objects[p->object_count++] = r->current;
}

static void end_element(void *arg, const char *name)
{
	struct reader *r = arg;

	(void)name;
	r->text[r->text_bytes] = '\0';
	if (r->field != NULL && !r->field->take(r))
		refuse(r, r->field->wrong);
	else if (r->field == NULL && r->depth == 2 && r->is_inside)
		end_contents(r);
	r->field = NULL;
	r->text_bytes = 0;
	r->depth--;
}

/* A list has no document type, with which a reply could grow without limit. */
static void refuse_type(void *arg, const char *name, const char *system,
			const char *public, int has_subset)
{
	(void)name;
	(void)system;
	(void)public;
	(void)has_subset;
	refuse(arg, "it has a document type");
}

static void parse(struct reader *r, int fd, uint64_t bytes)
{
	char piece[PIECE_BYTES];
	uint64_t at = 0;

	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(r->parser, take_text);
	XML_SetStartDoctypeDeclHandler(r->parser, refuse_type);
	while (r->why == NULL && at < bytes) {
		ssize_t n = pread(fd, piece, sizeof(piece), (off_t)at);

		if (n <= 0)
			refuse(r, "it could not be read");
		else if (XML_Parse(r->parser, piece, (int)n,
				   at + (uint64_t)n == bytes) != XML_STATUS_OK)
			refuse(r, "it is not well-formed XML");
		at += n > 0 ? (uint64_t)n : 0;
	}
	if (r->root == IN_OTHER)
		refuse(r, "it is empty");
}

/* Keys are percent-encoded, as the request asks for, if the page says so. */
static bool decode_key(char key[TEXT_BYTES])
{
	int count = 0;
	char *decoded;
	bool is_good;

	for (char *at = key; (at = strchr(at, '+')) != NULL;)
		*at = ' ';
	decoded = curl_easy_unescape(NULL, key, 0, &count);
	is_good = decoded != NULL && strlen(decoded) == (size_t)count;
	if (is_good)
		(void)memcpy(key, decoded, (size_t)count + 1);
	curl_free(decoded);
	return is_good;
}

/*
 * A list is in the order of the keys' bytes, so a key is there once, and pages
 * that come again are noticed.
 */
static void check_keys(struct reader *r)
{
	struct page *p = r->page;
	const char *prefix = p->prefix;
	char *last = p->last_key;

	for (uint32_t i = 0; r->why == NULL && i < p->object_count; i++) {
		char *key = p->objects[i].key;

		if (r->is_encoded && !decode_key(key))
			refuse(r, "a Key has a zero byte");
		else if (strncmp(key, prefix, strlen(prefix)) != 0)
			refuse(r, "a Key is not below the prefix");
		else if (strcmp(last, key) >= 0)
			refuse(r, "its Keys are not in order");
		(void)memcpy(last, key, strlen(key) + 1);
	}
}

/* What the page says of itself. */
static void check_claims(struct reader *r)
{
	if (has_seen(r, "KeyCount") && r->key_count != r->page->object_count)
		refuse(r, "KeyCount is not the count of its objects");
	if (r->is_encoded && !decode_key(r->prefix))
		refuse(r, "its Prefix has a zero byte");
	if (has_seen(r, "Prefix") && strcmp(r->prefix, r->page->prefix) != 0)
		refuse(r, "it has another Prefix");
}

static void check_page(struct reader *r)
{
	const struct page *p = r->page;

	if (!has_seen(r, "IsTruncated"))
		refuse(r, "IsTruncated is missing");
	if (p->has_more && p->token[0] == '\0')
		refuse(r, "it is truncated, but NextContinuationToken is "
			  "missing");
	if (!p->has_more && p->token[0] != '\0')
		refuse(r, "it is complete, but has a NextContinuationToken");
	check_claims(r);
	check_keys(r);
}

/* Read the page of `bytes` bytes in `fd`.  False: `error`. */
static bool parse_page(struct page *p, int fd, uint64_t bytes,
		       const struct s3 *s3, struct error *error)
{
	struct reader r = { .page = p,
			    .root = IN_OTHER,
			    .s3 = s3,
			    .parser = XML_ParserCreateNS(NULL, space_end) };

	if (r.parser == NULL)
		return error_fail(error, "too little memory");
	p->object_count = 0;
	p->token[0] = '\0';
	p->has_more = false;
	parse(&r, fd, bytes);
	if (r.why == NULL && r.root == IN_ERROR)
		error_set(error, "the store answered 200 with the error %s",
			  r.code[0] != '\0' ? r.code : "(no code)");
	if (r.root == IN_LIST)
		check_page(&r);
	XML_ParserFree(r.parser);
	if (r.why != NULL)
		error_set(error,
			  "the store's answer is not a list of objects: "
			  "%s",
			  r.why);
	return r.why == NULL && r.root == IN_LIST;
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
static bool print_query(const struct page *p, uint32_t keys_max,
			char query[S3_QUERY_BYTES])
{
	char *token = curl_easy_escape(NULL, p->token, 0);
	char *prefix = curl_easy_escape(NULL, p->prefix, 0);
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

/* Does the list get on? */
static bool check_progress(struct page *p, struct error *error)
{
	p->empty_count = p->object_count > 0 ? 0 : p->empty_count + 1;
	return !p->has_more || p->empty_count < EMPTY_PAGES_MAX ||
	       error_fail(error,
			  "the store's list of objects has no end: %d pages "
			  "without an object",
			  EMPTY_PAGES_MAX);
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

	if (w.fd < 0 || !print_query(p, keys_max, query)) {
		error_set(error, "the list cannot be asked for: %s",
			  w.fd < 0 ? strerror(errno) : "the token is too long");
	} else {
		s3_send(s3, &c);
		while (!w.is_done)
			(void)s3_turn(s3, -1, TURN_MS);
		if (c.is_too_long)
			error_set(error,
				  "a page of the list has more than %d bytes, "
				  "which is the limit",
				  PAGE_BYTES_MAX);
		else if (c.result != S3_OK)
			error_set(error, "%s", c.detail);
		else
			is_read = parse_page(p, w.fd, c.received_bytes, s3,
					     error) &&
				  check_progress(p, error);
	}
	if (w.fd >= 0)
		(void)close(w.fd);
	return is_read;
}

/* For a list of the keys with this prefix, which stays the caller's. */
static struct page *page_new(const char *prefix, struct error *error)
{
	struct page *p = calloc(1, sizeof(*p));

	if (p != NULL) {
		p->prefix = prefix;
		p->objects = calloc(PAGE_KEYS_MAX, sizeof(struct object));
	}
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
	struct page *p = page_new(s3_prefix(s3), error);
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
	struct page *p = page_new(s3_prefix(s3), error);
	bool is_read = p != NULL;

	while (is_read &&
	       (is_read = read_page(s3, p, PAGE_KEYS_MAX, 0, error))) {
		for (uint32_t i = 0; i < p->object_count; i++) {
			const struct object *o = &p->objects[i];
			char id[STORE_ID_BYTES];

			if (s3_read_key(s3, o->key, id))
				print_object(out, id, o);
		}
		is_read = file_finish(out, error);
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
	struct object *object; /* of the page */
	char id[STORE_ID_BYTES];
	int fd; /* -1: this check is free */
	bool is_done;
};

struct verify {
	struct s3 *s3;
	FILE *out;
	struct verified *counts;
	uint64_t bytes; /* of the objects that are being checked, as listed */
	struct check checks[VERIFY_MAX];
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

static void count_bad(struct verify *v, const char *id, const char *why)
{
	fprintf(v->out, "%s: ", id);
	print_text(v->out, why);
	(void)fputc('\n', v->out);
	v->counts->bad++;
}

static bool is_absent(const struct s3_call *c)
{
	return c->result == S3_NOT_FOUND;
}

/* The result of a check.  The first time, what is odd is only marked. */
static void count_check(struct verify *v, struct check *k)
{
	const struct s3_call *c = &k->call;

	if (!k->object->is_odd && (c->is_too_long || is_absent(c)))
		k->object->is_odd = true;
	else if (c->is_too_long)
		count_bad(v, k->id, "damaged: it is longer than the list says");
	else if (c->result != S3_OK)
		count_bad(v, k->id, c->detail);
	else if (package_check(k->fd, c->received_bytes, k->id) != STORE_OK)
		count_bad(v, k->id, "damaged");
	else {
		v->counts->good++;
		v->counts->bytes += c->received_bytes;
	}
	v->bytes -= c->reply_bytes_max;
	(void)close(k->fd);
	k->fd = -1;
	k->is_done = false;
}

/* Count those that are done.  Returns one that is free, or NULL. */
static struct check *count_done(struct verify *v)
{
	struct check *free = NULL;

	for (uint32_t i = 0; i < VERIFY_MAX; i++) {
		struct check *k = &v->checks[i];

		if (k->is_done)
			count_check(v, k);
		if (k->fd < 0)
			free = k;
	}
	return free;
}

/* One that is larger than VERIFY_BYTES_MAX is fetched alone. */
static bool has_room(const struct verify *v, uint64_t bytes)
{
	return v->bytes == 0 || (v->bytes < VERIFY_BYTES_MAX &&
				 bytes <= VERIFY_BYTES_MAX - v->bytes);
}

/* False: errno. */
static bool begin_check(struct verify *v, struct object *o, const char *id)
{
	struct check *k;

	while ((k = count_done(v)) == NULL || !has_room(v, o->bytes))
		(void)s3_turn(v->s3, -1, TURN_MS);
	k->fd = memfd_create("package", MFD_CLOEXEC);
	if (k->fd < 0)
		return false;
	(void)memcpy(k->id, id, sizeof(k->id));
	k->object = o;
	k->call = (struct s3_call){
		.method = S3_GET,
		.reply_bytes_max = o->bytes,
		.sink = sink_check,
		.done = end_check,
		.owner = k,
	};
	v->bytes += o->bytes;
	s3_print_key(v->s3, id, k->call.key);
	s3_send(v->s3, &k->call);
	return true;
}

static bool verify_object(struct verify *v, struct object *o,
			  struct error *error)
{
	char id[STORE_ID_BYTES];

	if (!s3_read_key(v->s3, o->key, id))
		v->counts->others++;
	else if (o->bytes > PACKAGE_BYTES_MAX)
		count_bad(v, id, "damaged: it is larger than 1 GiB");
	else if (!begin_check(v, o, id))
		return error_fail(error, "%s", strerror(errno));
	return true;
}

static void end_checks(struct verify *v)
{
	while (s3_call_count(v->s3) > 0)
		(void)s3_turn(v->s3, -1, TURN_MS);
	(void)count_done(v);
}

/*
 * List the object again: it may have been removed or replaced since the page
 * was read.  False: `error`.
 */
static bool list_again(struct verify *v, struct object *o, bool *is_listed,
		       struct error *error)
{
	struct page *p = page_new(o->key, error);
	bool is_read = p != NULL && read_page(v->s3, p, 1, 0, error);

	while (is_read && p->object_count == 0 && p->has_more)
		is_read = read_page(v->s3, p, 1, 0, error);
	/* Its key is the first of those that begin with it. */
	*is_listed = is_read && p->object_count > 0 &&
		     strcmp(p->objects[0].key, o->key) == 0;
	if (*is_listed)
		o->bytes = p->objects[0].bytes;
	if (p != NULL)
		page_free(p);
	return is_read;
}

static bool verify_page(struct verify *v, const struct page *p,
			struct error *error)
{
	bool is_good = true, is_listed;

	for (uint32_t i = 0; is_good && i < p->object_count; i++)
		is_good = verify_object(v, &p->objects[i], error);
	end_checks(v);
	for (uint32_t i = 0; is_good && i < p->object_count; i++) {
		if (!p->objects[i].is_odd)
			continue;
		is_good = list_again(v, &p->objects[i], &is_listed, error);
		if (is_good && is_listed)
			is_good = verify_object(v, &p->objects[i], error);
		else if (is_good)
			v->counts->removed++;
	}
	end_checks(v);
	return is_good && file_finish(v->out, error);
}

bool store_verify(struct s3 *s3, FILE *out, struct verified *counts,
		  struct error *error)
{
	struct page *p = page_new(s3_prefix(s3), error);
	struct verify *v = calloc(1, sizeof(*v));
	bool is_read = p != NULL && v != NULL;

	*counts = (struct verified){ 0 };
	if (p != NULL && v == NULL)
		error_set(error, "too little memory");
	if (is_read) {
		v->s3 = s3;
		v->out = out;
		v->counts = counts;
		for (uint32_t i = 0; i < VERIFY_MAX; i++)
			v->checks[i].fd = -1;
	}
	while (is_read) {
		is_read = read_page(s3, p, PAGE_KEYS_MAX, 0, error) &&
			  verify_page(v, p, error);
		if (!p->has_more)
			break;
	}
	if (p != NULL)
		page_free(p);
	free(v);
	return is_read;
}

/* -- A page for a server -- */

/* The begin of the keys whose ids begin with `prefix`. */
static void print_prefix(char out[S3_KEY_BYTES], const struct s3 *s3,
			 const char *prefix)
{
	if (strlen(prefix) < 2)
		(void)snprintf(out, S3_KEY_BYTES, "%s%s", s3_prefix(s3),
			       prefix);
	else
		(void)snprintf(out, S3_KEY_BYTES, "%s%.2s/%s", s3_prefix(s3),
			       prefix, prefix);
}

bool listing_print_query(const struct s3 *s3, const struct message *m,
			 const struct listing *l, char query[S3_QUERY_BYTES])
{
	char prefix[S3_KEY_BYTES], key[S3_KEY_BYTES] = "";
	bool is_first = l->token[0] == '\0';
	char *after, *begin;
	int n = -1;

	print_prefix(prefix, s3, m->detail);
	if (m->id[0] != '\0')
		s3_print_key(s3, m->id, key);
	after = curl_easy_escape(NULL, is_first ? key : l->token, 0);
	begin = curl_easy_escape(NULL, prefix, 0);
	/* The signature needs the names in this order. */
	if (after != NULL && begin != NULL)
		n = snprintf(query, S3_QUERY_BYTES,
			     "%s%s%sencoding-type=url&list-type=2&max-keys="
			     "%" PRIu64 "&prefix=%s%s%s",
			     is_first ? "" : "continuation-token=",
			     is_first ? "" : after, is_first ? "" : "&",
			     m->bytes, begin,
			     is_first && *after != '\0' ? "&start-after=" : "",
			     is_first ? after : "");
	curl_free(after);
	curl_free(begin);
	return n > 0 && n < S3_QUERY_BYTES;
}

/* "2026-11-30T12:00:00.000Z", in seconds since 1970; 0: another text. */
static uint64_t read_time(const char *text)
{
	struct tm tm = { 0 };
	time_t s = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) != NULL ?
			   timegm(&tm) :
			   0;

	return s > 0 ? (uint64_t)s : 0;
}

/*
 * The first key of an original behind `key`.  Only those of its image, whose
 * first 63 digits it has, can stand between.  False: there is none.
 */
static bool find_next(const struct s3 *s3, const char *key,
		      char id[STORE_ID_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	char next[S3_KEY_BYTES];

	(void)memset(id, 'f', STORE_ID_BYTES - 2);
	(void)strcpy(id + STORE_ID_BYTES - 2, "z");
	s3_print_key(s3, id, next);
	if (strcmp(next, key) <= 0)
		return false;
	/* The lowest digits with which it is still behind the key. */
	for (uint32_t i = 0; i < STORE_ID_BYTES - 2; i++)
		for (const char *d = digits; *d != '\0'; d++) {
			id[i] = *d;
			s3_print_key(s3, id, next);
			if (strcmp(next, key) > 0)
				break;
		}
	return true;
}

static bool write_line(int fd, const char *id, uint64_t seconds)
{
	char line[STORE_ID_BYTES + 24];
	int n = snprintf(line, sizeof(line), "%s %" PRIu64 "\n", id, seconds);

	return file_write_all(fd, line, (size_t)n);
}

/* False: see errno. */
static bool write_lines(const struct s3 *s3, const struct page *p, int fd,
			uint32_t *count)
{
	char id[STORE_ID_BYTES];

	*count = 0;
	if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
		return false;
	for (uint32_t i = 0; i < p->object_count; i++) {
		const struct object *o = &p->objects[i];

		if (!s3_read_key(s3, o->key, id))
			continue;
		if (!write_line(fd, id, read_time(o->modified)))
			return false;
		++*count;
	}
	return true;
}

/*
 * No object of the page has a key of this program, so the server could not go
 * on behind one of them.  False: errno.
 */
static bool skip_page(const struct s3 *s3, const struct page *p, int fd,
		      struct listing *l)
{
	char id[STORE_ID_BYTES];

	if (l->page_count < EMPTY_PAGES_MAX) {
		(void)strcpy(l->token, p->token);
		return true;
	}
	l->has_more = find_next(s3, l->last_key, id);
	return !l->has_more || write_line(fd, id, 0);
}

/* False: errno. */
static bool convert_page(const struct s3 *s3, const struct page *p, int fd,
			 struct listing *l)
{
	uint32_t count;

	l->has_more = p->has_more;
	l->token[0] = '\0';
	l->page_count++;
	if (p->object_count > 0)
		(void)strcpy(l->last_key, p->objects[p->object_count - 1].key);
	return write_lines(s3, p, fd, &count) &&
	       (count > 0 || !p->has_more || skip_page(s3, p, fd, l));
}

bool listing_convert(const struct s3 *s3, const struct message *m, int fd,
		     uint64_t bytes, struct listing *l, struct error *error)
{
	char prefix[S3_KEY_BYTES];
	struct page *p;
	bool ok;

	print_prefix(prefix, s3, m->detail);
	p = page_new(prefix, error);
	if (p == NULL)
		return false;
	ok = parse_page(p, fd, bytes, s3, error);
	if (ok && !convert_page(s3, p, fd, l))
		ok = error_fail(error, "%s", strerror(errno));
	page_free(p);
	return ok;
}
