/* SPDX-License-Identifier: MIT */
#include "service/test/store/fake_s3.h"

#include "base/test/check.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

enum {
	BODY_BYTES_MAX = 64 << 20,
	TEXT_BYTES = 2048,
	HEX_BYTES = 65,
	PIECES = 10, /* of a slow body */
	PIECE_MS = 20,
	HANG_MS = 20000,
	LATE_MS = 50,
	HUGE_BYTES = 1 << 20,
	LATE_BYTES = 4200, /* before an error that comes late */
	KEYS_PER_PAGE = 7, /* few, so that lists have several pages */
};

/* Begin of each token of a list: a signature needs all of it encoded. */
static const char token_begin[] = "+/=~*(!:,@ %;$'";

struct object {
	char key[TEXT_BYTES];
	char *bytes;
	size_t count;
	char etag[48];
	LIST_ENTRY(object) link;
};

struct order {
	char behaviour[32], method[16], key[128];
	unsigned count, skip;
	LIST_ENTRY(order) link;
};

struct fake_s3 {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock;
	LIST_HEAD(objects, object) objects; /* by key */
	LIST_HEAD(orders, order) orders;
	struct fake_s3_counts counts;
	bool is_stopping;
};

/* One request, from its head to its end. */
struct exchange {
	char target[TEXT_BYTES]; /* as sent: path and query */
	char *body;
	size_t body_bytes, body_room;
	bool has_head;
	char behaviour[32];
};

struct answer {
	unsigned status;
	const char *code; /* of an error */
	char *body;       /* or NULL */
	size_t bytes;
	char etag[48], range[96];
};

/* -- Digests -- */

static void print_hex(char out[HEX_BYTES], const uint8_t *digest, size_t n)
{
	base16_encode_update(out, n, digest);
	out[2 * n] = '\0';
}

static void print_sha256(char out[HEX_BYTES], const void *bytes, size_t count)
{
	struct sha256_ctx ctx;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&ctx);
	sha256_update(&ctx, count, bytes);
	sha256_digest(&ctx, sizeof(digest), digest);
	print_hex(out, digest, sizeof(digest));
}

static void print_etag(char out[48], const void *bytes, size_t count)
{
	struct md5_ctx ctx;
	uint8_t digest[MD5_DIGEST_SIZE];
	char hex[HEX_BYTES];

	md5_init(&ctx);
	md5_update(&ctx, count, bytes);
	md5_digest(&ctx, sizeof(digest), digest);
	print_hex(hex, digest, sizeof(digest));
	snprintf(out, 48, "\"%.32s\"", hex);
}

static void sign(uint8_t out[32], const uint8_t *key, size_t key_bytes,
		 const char *text)
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key_bytes, key);
	hmac_sha256_update(&ctx, strlen(text), (const uint8_t *)text);
	hmac_sha256_digest(&ctx, 32, out);
}

/* -- The signature, version 4 -- */

static const char *header(struct MHD_Connection *c, const char *name)
{
	const char *value =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);

	return value != NULL ? value : "";
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The query with its parameters in order. */
static void sort_query(char out[TEXT_BYTES], const char *query)
{
	char copy[TEXT_BYTES], *parts[32], *at = copy, *part;
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", query);
	out[0] = '\0';
	while ((part = strsep(&at, "&")) != NULL && count < 32)
		parts[count++] = part;
	qsort(parts, count, sizeof(parts[0]), compare_texts);
	for (size_t i = 0; i < count; i++) {
		strcat(out, i > 0 ? "&" : "");
		strcat(out, parts[i]);
		if (*parts[i] != '\0' && strchr(parts[i], '=') == NULL)
			strcat(out, "=");
	}
}

static void print_canonical(char out[4 * TEXT_BYTES], struct MHD_Connection *c,
			    const struct exchange *x, const char *method,
			    const char *signed_headers)
{
	const char *mark = strchr(x->target, '?');
	char query[TEXT_BYTES], names[TEXT_BYTES], *at = names, *name;
	size_t path =
		mark != NULL ? (size_t)(mark - x->target) : strlen(x->target);
	size_t n;

	sort_query(query, mark != NULL ? mark + 1 : "");
	n = (size_t)sprintf(out, "%s\n%.*s\n%s\n", method, (int)path, x->target,
			    query);
	snprintf(names, sizeof(names), "%s", signed_headers);
	while ((name = strsep(&at, ";")) != NULL)
		n += (size_t)sprintf(out + n, "%s:%s\n", name, header(c, name));
	sprintf(out + n, "\n%s\n%s", signed_headers,
		header(c, "x-amz-content-sha256"));
}

/* Copy what follows `name` in the header Authorization, up to a comma. */
static void find_part(char out[TEXT_BYTES], const char *text, const char *name)
{
	const char *at = strstr(text, name);

	out[0] = '\0';
	if (at != NULL)
		snprintf(out, TEXT_BYTES, "%.*s",
			 (int)strcspn(at + strlen(name), ", "),
			 at + strlen(name));
}

/* NULL: it is right. */
static const char *check_signature(struct MHD_Connection *c,
				   const struct exchange *x, const char *method)
{
	const char *given = header(c, "Authorization");
	char credential[TEXT_BYTES], names[TEXT_BYTES], signature[TEXT_BYTES];
	char canonical[4 * TEXT_BYTES], text[TEXT_BYTES], hash[HEX_BYTES];
	char key[64], day[16], region[64], right[HEX_BYTES];
	uint8_t k[32];

	find_part(credential, given, "Credential=");
	find_part(names, given, "SignedHeaders=");
	find_part(signature, given, "Signature=");
	if (sscanf(credential, "%63[^/]/%15[^/]/%63[^/]/s3/aws4_request", key,
		   day, region) != 3)
		return "AccessDenied";
	if (strcmp(key, FAKE_S3_KEY) != 0)
		return "InvalidAccessKeyId";
	if (strstr(names, "host") == NULL ||
	    strstr(names, "x-amz-date") == NULL ||
	    strstr(names, "x-amz-content-sha256") == NULL)
		return "AccessDenied";
	print_canonical(canonical, c, x, method, names);
	print_sha256(hash, canonical, strlen(canonical));
	snprintf(text, sizeof(text),
		 "AWS4-HMAC-SHA256\n%s\n%s/%s/s3/aws4_request\n%s",
		 header(c, "x-amz-date"), day, region, hash);
	sign(k, (const uint8_t *)"AWS4" FAKE_S3_SECRET,
	     strlen("AWS4" FAKE_S3_SECRET), day);
	sign(k, k, sizeof(k), region);
	sign(k, k, sizeof(k), "s3");
	sign(k, k, sizeof(k), "aws4_request");
	sign(k, k, sizeof(k), text);
	print_hex(right, k, sizeof(k));
	return strcmp(right, signature) == 0 ? NULL : "SignatureDoesNotMatch";
}

/* -- Objects; the caller holds the lock -- */

static struct object *find_object(struct fake_s3 *f, const char *key)
{
	struct object *o;

	LIST_FOREACH(o, &f->objects, link)
	if (strcmp(o->key, key) == 0)
		return o;
	return NULL;
}

static void remove_object(struct object *o)
{
	LIST_REMOVE(o, link);
	free(o->bytes);
	free(o);
}

static void store_object(struct fake_s3 *f, const char *key, struct exchange *x,
			 struct answer *a)
{
	struct object *old = find_object(f, key), *o, *after = NULL;

	if (old != NULL)
		remove_object(old);
	else
		f->counts.stored++;
	old = calloc(1, sizeof(*old));
	CHECK(old != NULL);
	snprintf(old->key, sizeof(old->key), "%s", key);
	old->bytes = x->body;
	old->count = x->body_bytes;
	x->body = NULL;
	print_etag(old->etag, old->bytes, old->count);
	memcpy(a->etag, old->etag, sizeof(a->etag));
	LIST_FOREACH(o, &f->objects, link)
	if (strcmp(o->key, key) < 0)
		after = o;
	if (after != NULL)
		LIST_INSERT_AFTER(after, old, link);
	else
		LIST_INSERT_HEAD(&f->objects, old, link);
}

/* -- Requests -- */

/* As a proxy in front of the store may answer. */
static void answer_page(struct answer *a)
{
	a->body = strdup("<!DOCTYPE html><html><body>Welcome</body></html>");
	if (a->body != NULL)
		a->bytes = strlen(a->body);
}

static void answer_error(struct answer *a, unsigned status, const char *code)
{
	free(a->body);
	a->status = status;
	a->body = NULL;
	a->bytes = 0;
	a->etag[0] = a->range[0] = '\0';
	if (code == NULL)
		return;
	if (asprintf(&a->body,
		     "<?xml version=\"1.0\"?><Error><Code>%s</Code>"
		     "<Message>no secret</Message></Error>",
		     code) >= 0)
		a->bytes = strlen(a->body);
}

/* Is the condition If-Match true? */
static bool is_match(const struct exchange *x, const struct object *o,
		     const char *match)
{
	size_t n = strlen(match);

	if (strcmp(x->behaviour, "barematch") == 0)
		return strncmp(o->etag + 1, match, strlen(o->etag) - 2) == 0 &&
		       n == strlen(o->etag) - 2;
	return strcmp(x->behaviour, "wrongmatch") != 0 &&
	       strcmp(o->etag, match) == 0;
}

/* Answer what a condition does not allow.  False: it does. */
static bool deny(const struct exchange *x, const struct object *old,
		 bool must_be_new, const char *match, struct answer *a)
{
	if (*match != '\0' && strcmp(x->behaviour, "ignoresmatch") != 0 &&
	    (old == NULL || !is_match(x, old, match)))
		answer_error(a, old == NULL ? 404 : 412,
			     old == NULL ? "NoSuchKey" : "PreconditionFailed");
	else if (must_be_new && old != NULL)
		answer_error(a, 412, "PreconditionFailed");
	else
		return false;
	return true;
}

static void put(struct fake_s3 *f, struct MHD_Connection *c, const char *key,
		struct exchange *x, struct answer *a)
{
	bool must_be_new = *header(c, "If-None-Match") == '*';
	const char *match = header(c, "If-Match");
	char hash[HEX_BYTES];

	f->counts.put++;
	print_sha256(hash, x->body != NULL ? x->body : "", x->body_bytes);
	if ((must_be_new || *match != '\0') &&
	    strcmp(x->behaviour, "noconditions") == 0)
		answer_error(a, 501, "NotImplemented");
	else if (strcmp(hash, header(c, "x-amz-content-sha256")) != 0)
		answer_error(a, 400, "XAmzContentSHA256Mismatch");
	else if (!deny(x, find_object(f, key), must_be_new, match, a))
		store_object(f, key, x, a);
}

/* Which bytes of the object are asked for?  All, if there is no range. */
static void read_range(struct MHD_Connection *c, const struct exchange *x,
		       struct answer *a, size_t *from, size_t *count)
{
	unsigned long first, last;
	size_t all = *count;

	if (sscanf(header(c, "Range"), "bytes=%lu-%lu", &first, &last) != 2 ||
	    strcmp(x->behaviour, "norange") == 0)
		return;
	if (first >= all) {
		answer_error(a, 416, "InvalidRange");
		return;
	}
	if (last >= all)
		last = all - 1;
	a->status = 206;
	*from = first;
	*count = last - first + 1;
	if (strcmp(x->behaviour, "badrange") == 0)
		first++;
	snprintf(a->range, sizeof(a->range), "bytes %lu-%lu/%zu", first, last,
		 all);
}

static void get(struct fake_s3 *f, struct MHD_Connection *c, const char *key,
		const struct exchange *x, struct answer *a, bool is_head)
{
	const struct object *o = find_object(f, key), *other;
	size_t from = 0, count;

	if (strcmp(x->behaviour, "other") == 0)
		LIST_FOREACH(other, &f->objects, link)
	if (strcmp(other->key, key) != 0)
		o = other;
	if (is_head)
		f->counts.head++;
	else
		f->counts.get++;
	if (o == NULL) {
		answer_error(a, 404, "NoSuchKey");
		return;
	}
	count = o->count;
	if (!is_head)
		read_range(c, x, a, &from, &count);
	if (a->status >= 300)
		return;
	a->body = malloc(count + 1);
	CHECK(a->body != NULL);
	memcpy(a->body, o->bytes + from, count);
	a->bytes = count - (strcmp(x->behaviour, "shorter") == 0);
	snprintf(a->etag, sizeof(a->etag), "%s%.40s",
		 strcmp(x->behaviour, "weak") == 0 ? "W/" : "", o->etag);
}

static void delete_object(struct fake_s3 *f, const char *key, struct answer *a)
{
	struct object *o = find_object(f, key);

	f->counts.delete ++;
	a->status = 204;
	if (o == NULL)
		return;
	remove_object(o);
	f->counts.stored--;
}

static const char *argument(struct MHD_Connection *c, const char *name)
{
	const char *value =
		MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, name);

	return value != NULL ? value : "";
}

static void list(struct fake_s3 *f, struct MHD_Connection *c,
		 const struct exchange *x, struct answer *a)
{
	const char *prefix = argument(c, "prefix");
	const char *after = argument(c, "continuation-token");
	int max = atoi(argument(c, "max-keys")), count = 0;
	const struct object *o, *last = NULL;
	bool has_more = false;
	FILE *out = open_memstream(&a->body, &a->bytes);

	CHECK(out != NULL);
	f->counts.list++;
	if (strncmp(after, token_begin, strlen(token_begin)) == 0)
		after += strlen(token_begin);
	if (*after == '\0')
		after = argument(c, "start-after");
	if (max <= 0 || max > KEYS_PER_PAGE)
		max = KEYS_PER_PAGE;
	fputs("<ListBucketResult xmlns=\"http://s3."
	      "amazonaws.com/doc/2006-03-01/\">",
	      out);
	LIST_FOREACH(o, &f->objects, link)
	{
		if (strncmp(o->key, prefix, strlen(prefix)) != 0 ||
		    strcmp(o->key, after) <= 0)
			continue;
		has_more = count == max;
		if (has_more)
			break;
		count++;
		last = o;
		fprintf(out,
			"<Contents><Key>%s</Key><LastModified>%s</LastModified>"
			"<Size>%zu</Size></Contents>",
			o->key,
			strcmp(x->behaviour, "control") == 0 ?
				"a&#10;b\\\xc2\x9b\x7f" :
				"2026-01-02T03:04:05Z",
			o->count);
	}
	fprintf(out, "<IsTruncated>%s</IsTruncated>",
		has_more ? "true" : "false");
	if (has_more)
		fprintf(out,
			"<NextContinuationToken>%s%s</NextContinuationToken>",
			token_begin, last->key);
	fputs("</ListBucketResult>", out);
	fclose(out);
}

/* Do what was asked.  The caller holds the lock. */
static void handle(struct fake_s3 *f, struct MHD_Connection *c,
		   const char *method, struct exchange *x, struct answer *a)
{
	static const char bucket[] = "/" FAKE_S3_BUCKET;
	const char *wrong = check_signature(c, x, method);
	size_t n = strlen(bucket);
	char key[TEXT_BYTES];

	if (wrong != NULL) {
		answer_error(a, 403, wrong);
		return;
	}
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(x->target, "?"),
		 x->target);
	if (strncmp(key, bucket, n) != 0 || (key[n] != '/' && key[n] != '\0')) {
		answer_error(a, 404, "NoSuchBucket");
		return;
	}
	memmove(key, key + n, strlen(key + n) + 1);
	if (key[0] == '/')
		memmove(key, key + 1, strlen(key));
	if (key[0] == '\0' && strcmp(method, "HEAD") == 0)
		f->counts.head++;
	else if (key[0] == '\0')
		list(f, c, x, a);
	else if (strcmp(method, "PUT") == 0)
		put(f, c, key, x, a);
	else if (strcmp(method, "DELETE") == 0)
		delete_object(f, key, a);
	else
		get(f, c, key, x, a, strcmp(method, "HEAD") == 0);
}

/* -- Misbehaviour -- */

static void find_order(struct fake_s3 *f, const char *method,
		       struct exchange *x)
{
	struct order *o;

	LIST_FOREACH(o, &f->orders, link)
	{
		if (o->count == 0 ||
		    (o->method[0] != '-' && strcmp(o->method, method) != 0) ||
		    strstr(x->target, o->key) == NULL)
			continue;
		if (o->skip > 0) {
			o->skip--;
			continue;
		}
		o->count--;
		snprintf(x->behaviour, sizeof(x->behaviour), "%s",
			 o->behaviour);
		return;
	}
}

static bool does(const struct exchange *x, const char *behaviour)
{
	return strcmp(x->behaviour, behaviour) == 0;
}

/* Refuse before anything is done.  False: it is not this behaviour. */
static bool refuse(const struct exchange *x, struct answer *a)
{
	static const struct {
		const char *behaviour;
		unsigned status;
		const char *code;
	} refusals[] = {
		{ "503", 503, "SlowDown" },
		{ "500", 500, "InternalError" },
		{ "429", 429, "TooManyRequests" },
		{ "507", 507, "InsufficientStorage" },
		{ "501", 501, "NotImplemented" },
		{ "skew", 403, "RequestTimeTooSkewed" },
		{ "quota", 403, "QuotaExceeded" },
		{ "redirect", 307, "TemporaryRedirect" },
		{ "hugeerror", 500, "InternalError" },
		{ "404", 404, NULL },
		{ "noversion", 404, "NoSuchVersion" },
		{ "denied404", 404, "AccessDenied" },
		{ "202", 202, NULL },
		{ "204", 204, NULL },
		{ "206", 206, NULL },
		{ "errorbody", 200, "InternalError" },
		{ "lateerror", 200, "InternalError" },
		{ "utf16error", 200, "InternalError" },
		{ "page", 200, NULL },
	};

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		if (does(x, refusals[i].behaviour)) {
			answer_error(a, refusals[i].status, refusals[i].code);
			if (does(x, "page"))
				answer_page(a);
			/* Only the body says what has happened. */
			if (refusals[i].status == 200 && x->body != NULL)
				print_etag(a->etag, x->body, x->body_bytes);
			return true;
		}
	return false;
}

struct stream {
	char *bytes;
	size_t count, until;
	bool is_slow, is_chunked;
};

static ssize_t read_stream(void *arg, uint64_t at, char *out, size_t room)
{
	const struct stream *s = arg;
	size_t n = s->until - (size_t)at;
	struct timespec pause = { .tv_nsec = PIECE_MS * 1000000L };

	if (n == 0)
		return s->is_chunked ? MHD_CONTENT_READER_END_OF_STREAM :
				       MHD_CONTENT_READER_END_WITH_ERROR;
	if (s->is_slow) {
		nanosleep(&pause, NULL);
		if (n > s->count / PIECES + 1)
			n = s->count / PIECES + 1;
	}
	if (n > room)
		n = room;
	memcpy(out, s->bytes + at, n);
	return (ssize_t)n;
}

static void free_stream(void *arg)
{
	struct stream *s = arg;

	free(s->bytes);
	free(s);
}

/* Put a comment before the error, or two bytes in place of each. */
static void hide_error(const struct exchange *x, struct answer *a)
{
	size_t wide = does(x, "utf16error") ? 2 : 1;
	size_t begin = does(x, "lateerror") ? LATE_BYTES : 0;
	char *hidden = calloc(begin + wide * a->bytes + 1, 1);

	CHECK(hidden != NULL);
	memset(hidden, 'c', begin);
	if (begin > 0) {
		memcpy(hidden, "<!--", 4);
		memcpy(hidden + begin - 3, "-->", 3);
	}
	for (size_t i = 0; i < a->bytes; i++)
		hidden[begin + wide * i] = a->body[i];
	free(a->body);
	a->body = hidden;
	a->bytes = begin + wide * a->bytes;
}

/* A way in which the header ETag differs from what is right. */
static void spoil_etag(const struct exchange *x, struct answer *a)
{
	static const struct {
		const char *behaviour, *etag;
	} all[] = {
		{ "noetag", "" },
		{ "etagtrailer", "" },
		{ "emptyetag", "\"\"" },
		{ "emptyweaketag", "W/\"\"" },
		{ "quoteetag", "\"" },
		{ "weaketag", "W/\"0123456789abcdef0123456789abcdef\"" },
		{ "etag", "\"0123456789abcdef0123456789abcdef\"" },
		{ "kms", "\"0123456789abcdef0123456789abcdef\"" },
		{ "kmsother", "\"0123456789abcdef0123456789abcdef\"" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (does(x, all[i].behaviour))
			strcpy(a->etag, all[i].etag);
}

static struct MHD_Response *make_response(const struct exchange *x,
					  struct answer *a)
{
	struct stream *s;
	bool is_chunked;

	if (does(x, "hugeerror")) {
		a->body = realloc(a->body, HUGE_BYTES);
		CHECK(a->body != NULL);
		memset(a->body + a->bytes, 'x', HUGE_BYTES - a->bytes);
		a->bytes = HUGE_BYTES;
	}
	if (does(x, "flip") && a->bytes > 0)
		a->body[a->bytes - 1] ^= 1;
	if (does(x, "lateerror") || does(x, "utf16error"))
		hide_error(x, a);
	is_chunked = does(x, "chunked") || does(x, "trailer") ||
		     does(x, "etagtrailer");
	if (!does(x, "truncate") && !does(x, "slow") && !is_chunked)
		return MHD_create_response_from_buffer(a->bytes, a->body,
						       MHD_RESPMEM_MUST_FREE);
	s = calloc(1, sizeof(*s));
	CHECK(s != NULL);
	*s = (struct stream){ a->body, a->bytes,
			      does(x, "truncate") ? a->bytes / 2 : a->bytes,
			      does(x, "slow"), is_chunked };
	return MHD_create_response_from_callback(
		s->is_chunked ? MHD_SIZE_UNKNOWN : a->bytes, 1 << 14,
		read_stream, s, free_stream);
}

static enum MHD_Result send_answer(struct MHD_Connection *c,
				   const struct exchange *x, struct answer *a)
{
	struct MHD_Response *r = make_response(x, a);
	char right[48];
	enum MHD_Result sent;

	CHECK(r != NULL);
	memcpy(right, a->etag, sizeof(right));
	spoil_etag(x, a);
	if (does(x, "twoetags"))
		MHD_add_response_header(r, "ETag",
					"\"0123456789abcdef0123456789abcdef\"");
	if (does(x, "etagtrailer"))
		MHD_add_response_footer(r, "ETag", right);
	if (does(x, "trailer"))
		MHD_add_response_footer(r, "HTTP/1.1", "404 Not Found");
	if (a->etag[0] != '\0')
		MHD_add_response_header(r, "ETag", a->etag);
	if (a->range[0] != '\0')
		MHD_add_response_header(r, "Content-Range", a->range);
	if (does(x, "kms") || does(x, "kmsother"))
		MHD_add_response_header(r, "x-amz-server-side-encryption",
					does(x, "kms") ? "aws:kms" :
							 "aws:kmsother");
	if (does(x, "marker"))
		MHD_add_response_header(r, "x-amz-delete-marker", "true");
	if (does(x, "redirect"))
		MHD_add_response_header(r, "Location",
					"http://127.0.0.1:1/elsewhere");
	if (does(x, "skew"))
		MHD_add_response_header(r, "Date",
					"Fri, 02 Jan 2026 03:04:05 GMT");
	sent = MHD_queue_response(c, a->status, r);
	MHD_destroy_response(r);
	return sent;
}

static void hang(struct fake_s3 *f)
{
	struct timespec pause = { .tv_nsec = 10 * 1000000L };
	bool is_stopping = false;

	for (int ms = 0; ms < HANG_MS && !is_stopping; ms += 10) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&f->lock);
		is_stopping = f->is_stopping;
		pthread_mutex_unlock(&f->lock);
	}
}

static enum MHD_Result control(struct fake_s3 *f, struct MHD_Connection *c,
			       struct exchange *x)
{
	static const char object[] = "/-/object/";
	struct fake_s3_counts n = fake_s3_count(f);
	struct answer a = { .status = 200 };

	if (strncmp(x->target, object, strlen(object)) == 0) {
		pthread_mutex_lock(&f->lock);
		store_object(f, x->target + strlen(object), x, &a);
		pthread_mutex_unlock(&f->lock);
		return send_answer(c, x, &a);
	}
	if (strcmp(x->target, "/-/do") == 0 && x->body != NULL) {
		fake_s3_do(f, x->body);
		a.status = 204;
	} else if (asprintf(&a.body,
			    "put %u get %u head %u delete %u list %u stored "
			    "%u\n",
			    n.put, n.get, n.head, n.delete, n.list,
			    n.stored) >= 0) {
		a.bytes = strlen(a.body);
	}
	return send_answer(c, x, &a);
}

static enum MHD_Result reply(struct fake_s3 *f, struct MHD_Connection *c,
			     const char *method, struct exchange *x)
{
	struct answer a = { .status = 200 };

	if (strncmp(x->target, "/-/", 3) == 0)
		return control(f, c, x);
	pthread_mutex_lock(&f->lock);
	find_order(f, method, x);
	pthread_mutex_unlock(&f->lock);
	if (does(x, "late"))
		nanosleep(&(struct timespec){ .tv_nsec = LATE_MS * 1000000L },
			  NULL);
	pthread_mutex_lock(&f->lock);
	if (!refuse(x, &a) && !does(x, "hang"))
		handle(f, c, method, x, &a);
	pthread_mutex_unlock(&f->lock);
	if (does(x, "hang"))
		hang(f);
	if (does(x, "cut") || does(x, "hang")) {
		free(a.body);
		return MHD_NO; /* closes the connection */
	}
	return send_answer(c, x, &a);
}

/* -- libmicrohttpd -- */

static void *begin(void *arg, const char *target, struct MHD_Connection *c)
{
	struct exchange *x = calloc(1, sizeof(*x));

	(void)arg, (void)c;
	CHECK(x != NULL);
	snprintf(x->target, sizeof(x->target), "%s", target);
	return x;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *bytes,
				  size_t *count, void **state)
{
	struct exchange *x = *state;

	(void)url, (void)version;
	if (!x->has_head) {
		x->has_head = true;
		return MHD_YES;
	}
	if (*count == 0)
		return reply(arg, c, method, x);
	CHECK_NUMBER(x->body_bytes + *count, <, BODY_BYTES_MAX);
	if (x->body_bytes + *count >= x->body_room) {
		x->body_room = 2 * (x->body_bytes + *count) + 1;
		x->body = realloc(x->body, x->body_room);
		CHECK(x->body != NULL);
	}
	memcpy(x->body + x->body_bytes, bytes, *count);
	x->body_bytes += *count;
	x->body[x->body_bytes] = '\0';
	*count = 0;
	return MHD_YES;
}

static void on_end(void *arg, struct MHD_Connection *c, void **state,
		   enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *state;

	(void)arg, (void)c, (void)code;
	if (x != NULL)
		free(x->body);
	free(x);
}

struct fake_s3 *fake_s3_start(unsigned *port)
{
	struct fake_s3 *f = calloc(1, sizeof(*f));
	struct sockaddr_in any = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const union MHD_DaemonInfo *info;

	CHECK(f != NULL);
	pthread_mutex_init(&f->lock, NULL);
	LIST_INIT(&f->objects);
	LIST_INIT(&f->orders);
	f->daemon = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL,
		0, NULL, NULL, on_request, f, MHD_OPTION_SOCK_ADDR, &any,
		MHD_OPTION_URI_LOG_CALLBACK, begin, f,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, f, MHD_OPTION_END);
	CHECK(f->daemon != NULL);
	info = MHD_get_daemon_info(f->daemon, MHD_DAEMON_INFO_BIND_PORT);
	CHECK(info != NULL);
	*port = info->port;
	return f;
}

void fake_s3_stop(struct fake_s3 *f)
{
	struct object *o;
	struct order *d;

	pthread_mutex_lock(&f->lock);
	f->is_stopping = true;
	pthread_mutex_unlock(&f->lock);
	MHD_stop_daemon(f->daemon);
	while ((o = LIST_FIRST(&f->objects)) != NULL)
		remove_object(o);
	while ((d = LIST_FIRST(&f->orders)) != NULL) {
		LIST_REMOVE(d, link);
		free(d);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void fake_s3_do(struct fake_s3 *f, const char *text)
{
	struct order *o = calloc(1, sizeof(*o));

	CHECK(o != NULL);
	strcpy(o->method, "-");
	if (sscanf(text, "%31s %u %15s %127s %u", o->behaviour, &o->count,
		   o->method, o->key, &o->skip) < 2) {
		fprintf(stderr, "fake_s3: '%s' is not understood\n", text);
		abort();
	}
	pthread_mutex_lock(&f->lock);
	LIST_INSERT_HEAD(&f->orders, o, link);
	pthread_mutex_unlock(&f->lock);
}

struct fake_s3_counts fake_s3_count(struct fake_s3 *f)
{
	struct fake_s3_counts counts;

	pthread_mutex_lock(&f->lock);
	counts = f->counts;
	pthread_mutex_unlock(&f->lock);
	return counts;
}

void fake_s3_damage(struct fake_s3 *f)
{
	struct object *o;

	pthread_mutex_lock(&f->lock);
	LIST_FOREACH(o, &f->objects, link)
	{
		o->bytes[o->count - 1] ^= 1;
		print_etag(o->etag, o->bytes, o->count);
	}
	pthread_mutex_unlock(&f->lock);
}
