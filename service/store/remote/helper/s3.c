/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/s3.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/take.h"
#include "service/store/remote/helper/sign.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <nettle/base16.h>
#include <nettle/md5.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	CONNECT_MS = 2000,
	PATIENCE_MS = 4000, /* without progress, in the first attempt */
	DOUBLINGS_MAX = 3,  /* of it */
	PAUSE_MIN_MS = 50,
	PAUSE_MAX_MS = 2000,
	DEADLINE_MS = 60000, /* of a call without a deadline */
	PROGRESS_BYTES = 1 << 10,
	PIECE_BYTES = 64 << 10,
	UPLOAD_PIECE_BYTES = 16 << 10,
	HEAD_BYTES_MAX = 64 << 10, /* of all heads of an attempt */
	HEADER_BYTES = 128,        /* of a value that is read */
	IDLE_MAX = S3_ACTIVE_MAX,
	HOST_BYTES = 640, /* with a bucket before it, and a port */
	URL_BYTES = 1024,
	BUCKET_BYTES_MIN = 3,
	BUCKET_BYTES_MAX = 63,
};

TAILQ_HEAD(calls, s3_call);

struct s3 {
	CURLM *multi;
	CURL *idle[IDLE_MAX];
	uint32_t idle_count;
	struct calls queued, active, paused;
	uint32_t queued_count, slots_used, reads_used, call_count;
	bool has_news; /* a call ended in this turn */
	char fault
		[MESSAGE_DETAIL_BYTES]; /* why attempts fail; "": they do not */
	struct store_figures figures;
	uint64_t random;
	char base[URL_BYTES];  /* URL of the bucket, without "/" at its end */
	char host[HOST_BYTES]; /* as in the header Host */
	const char *path;      /* of `base` */
	char bucket[BUCKET_BYTES_MAX + 1];
	char prefix[S3_PREFIX_BYTES + 1];
	char region[SIGN_REGION_BYTES];
	const char *ca_file;
	struct credentials credentials;
};

/* Where a call's attempt has ended, and what this means. */
struct verdict {
	enum s3_result result;
	bool may_pass; /* try again */
};

/* -- What the store answered -- */

static const char *method_name(enum s3_method method)
{
	static const char *const names[] = {
		[S3_GET] = "GET",
		[S3_HEAD] = "HEAD",
		[S3_PUT] = "PUT",
		[S3_DELETE] = "DELETE",
	};

	return names[method];
}

/*
 * The first row that fits counts; status 0 or code NULL: any.  A 404 without
 * the code of a missing object is that of something else, such as a balancer
 * whose servers are away.
 */
static const struct meaning {
	long status;
	const char *code;
	struct verdict verdict;
	const char *hint;
} meanings[] = {
	{ 0, "NoSuchBucket", { S3_FAILED, false }, "there is no such bucket" },
	{ 0,
	  "SignatureDoesNotMatch",
	  { S3_FAILED, false },
	  "the secret key or the access key is wrong" },
	{ 0,
	  "InvalidAccessKeyId",
	  { S3_FAILED, false },
	  "the access key is unknown" },
	{ 0,
	  "AuthorizationHeaderMalformed",
	  { S3_FAILED, false },
	  "the region or the access key is wrong" },
	{ 0, "QuotaExceeded", { S3_FULL, false }, "a quota is used up" },
	{ 0, "EntityTooLarge", { S3_FULL, false }, NULL },
	{ 0, "NotImplemented", { S3_NOT_SUPPORTED, false }, NULL },
	{ 0, "BucketAlreadyOwnedByYou", { S3_EXISTS, false }, NULL },
	{ 0, "RequestTimeout", { S3_UNAVAILABLE, true }, NULL },
	{ 0, "OperationAborted", { S3_UNAVAILABLE, true }, NULL },
	{ 0, "ConditionalRequestConflict", { S3_UNAVAILABLE, true }, NULL },
	/* The body was changed on its way. */
	{ 0, "BadDigest", { S3_UNAVAILABLE, true }, NULL },
	{ 0, "XAmzContentSHA256Mismatch", { S3_UNAVAILABLE, true }, NULL },
	{ 403, NULL, { S3_FAILED, false }, "these keys may not do that" },
	{ 404, "NoSuchKey", { S3_NOT_FOUND, false }, NULL },
	{ 404,
	  NULL,
	  { S3_FAILED, false },
	  "this does not say that there is no such object" },
	{ 408, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 412, NULL, { S3_EXISTS, false }, NULL },
	{ 413, NULL, { S3_FULL, false }, NULL },
	{ 416, NULL, { S3_BAD_RANGE, false }, NULL },
	{ 429, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 500, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 501, NULL, { S3_NOT_SUPPORTED, false }, NULL },
	{ 502, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 503, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 504, NULL, { S3_UNAVAILABLE, true }, NULL },
	{ 507, NULL, { S3_FULL, false }, "the store is full" },
};

static const struct meaning other_status = {
	0, NULL, { S3_FAILED, false }, NULL
};
static const struct meaning redirect = {
	0,
	NULL,
	{ S3_FAILED, false },
	"it redirects; give the endpoint and the region of the bucket itself",
};

static const struct meaning *find_meaning(long status, const char *code)
{
	if (status >= 300 && status < 400)
		return &redirect;
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		const struct meaning *m = &meanings[i];

		if ((m->code == NULL || strcmp(m->code, code) == 0) &&
		    (m->status == 0 || m->status == status))
			return m;
	}
	return &other_status;
}

/* Copy the letters and digits between <Code> and </Code>. */
static void read_code(struct s3_call *c)
{
	const char *at = strstr(c->error_text, "<Code>");
	size_t n = 0;

	c->code[0] = '\0';
	if (at == NULL)
		return;
	at += strlen("<Code>");
	while (n < sizeof(c->code) - 1 && ((at[n] >= 'A' && at[n] <= 'Z') ||
					   (at[n] >= 'a' && at[n] <= 'z') ||
					   (at[n] >= '0' && at[n] <= '9')))
		n++;
	(void)memcpy(c->code, at, n);
	c->code[n] = '\0';
}

static struct verdict judge_error(struct s3_call *c, long status)
{
	const struct meaning *m;

	read_code(c);
	m = find_meaning(status, c->code);
	if (strcmp(c->code, "RequestTimeTooSkewed") == 0)
		(void)snprintf(c->detail, sizeof(c->detail),
			       "the store answered %ld %s: the clock of this "
			       "machine differs from that of the store by "
			       "%" PRId64 " s",
			       status, c->code, c->skew_s);
	else
		(void)snprintf(c->detail, sizeof(c->detail),
			       "the store answered %ld%s%s%s%s", status,
			       c->code[0] != '\0' ? " " : "", c->code,
			       m->hint != NULL ? ": " : "",
			       m->hint != NULL ? m->hint : "");
	/* A reply to HEAD has no body that would have a code. */
	if (c->method == S3_HEAD && c->key[0] != '\0' && status == 404)
		return (struct verdict){ S3_NOT_FOUND, false };
	/* There is no object that could have the ETag. */
	if (m->verdict.result == S3_NOT_FOUND && c->match[0] != '\0')
		return (struct verdict){ S3_EXISTS, false };
	/* Without a key or for a PUT, it is the bucket that is not found. */
	if (m->verdict.result == S3_NOT_FOUND &&
	    (c->key[0] == '\0' || c->method == S3_PUT))
		return (struct verdict){ S3_FAILED, false };
	return m->verdict;
}

static struct verdict fail(struct s3_call *c, enum s3_result result,
			   const char *why)
{
	(void)snprintf(c->detail, sizeof(c->detail), "%s", why);
	return (struct verdict){ result, result == S3_UNAVAILABLE };
}

static bool is_good(const struct s3_call *c, long status)
{
	switch (c->method) {
	case S3_GET: /* open_sink() has checked whether 206 is right */
		return status == 200 || status == 206;
	case S3_DELETE:
		return status == 200 || status == 204;
	case S3_HEAD:
	case S3_PUT:
		break;
	}
	return status == 200;
}

/*
 * Does the ETag deny that the object has these bytes?  An ETag that is no MD5
 * says nothing of them, nor does that of an object which the store has
 * encrypted by a key of KMS or of the client.
 */
static bool denies(const struct s3_call *c)
{
	char md5[S3_MD5_BYTES];

	return !c->is_etag_opaque && s3_read_md5(c->etag, md5) &&
	       strcmp(md5, c->md5) != 0;
}

/* Does the body of a reply have the element Error, of any name space? */
static bool has_error(const struct s3_call *c)
{
	return strstr(c->error_text, "<Error") != NULL ||
	       strstr(c->error_text, ":Error") != NULL;
}

/* Is the body a web page, such as that of a proxy in front of the store? */
static bool has_html(const struct s3_call *c)
{
	return strcasestr(c->error_text, "<html") != NULL ||
	       strcasestr(c->error_text, "<!doctype html") != NULL;
}

/*
 * RFC 9110, 8.8.3: a quoted text without blanks and quotes, perhaps after W/.
 * Some stores leave the quotes out; then only digits and letters count.
 */
static bool is_etag(const char *etag)
{
	size_t n;

	if (strncmp(etag, "W/", 2) == 0)
		etag += 2;
	n = strlen(etag);
	if (etag[0] != '"')
		return n > 0 &&
		       strspn(etag, "0123456789-"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz") == n &&
		       strcmp(etag, "null") != 0;
	if (n < 3 || etag[n - 1] != '"')
		return false;
	for (size_t i = 1; i < n - 1; i++)
		if ((unsigned char)etag[i] <= ' ' || etag[i] == '"' ||
		    etag[i] == ',' || etag[i] == '\x7f')
			return false;
	return true;
}

/*
 * A good answer to a PUT or DELETE has no body, or a text without an error.
 * False: *v says what it has.
 */
static bool judge_text(struct s3_call *c, struct verdict *v)
{
	if (has_error(c)) {
		*v = judge_error(c, 500);
		(void)snprintf(c->detail, sizeof(c->detail),
			       "the store answered 200 with the error %s",
			       c->code[0] != '\0' ? c->code : "(no code)");
		return false;
	}
	if (c->method == S3_DELETE && has_html(c)) {
		*v = fail(c, S3_UNAVAILABLE,
			  "the store answered a DELETE with a web page");
		return false;
	}
	if (!c->is_binary && c->received_bytes == c->error_bytes)
		return true;
	*v = fail(c, S3_UNAVAILABLE,
		  c->is_binary ? "the store answered 200 with a body that is "
				 "not ASCII or UTF-8" :
				 "the store answered 200 with a body of more "
				 "than 4,095 bytes");
	return false;
}

/* The head of a good answer to the PUT of an object. */
static struct verdict judge_put(struct s3_call *c)
{
	char md5[S3_MD5_BYTES];

	if (c->sent_bytes != c->body_bytes)
		return fail(c, S3_UNAVAILABLE,
			    "the store answered a PUT before it had read the "
			    "package");
	if (c->has_two_etags)
		return fail(c, S3_UNAVAILABLE,
			    "the store answered a PUT with two ETags that "
			    "differ");
	if (!is_etag(c->etag))
		return fail(c, S3_UNAVAILABLE,
			    "the store answered a PUT without an ETag");
	if (c->received_bytes > 0 && !s3_read_md5(c->etag, md5))
		return fail(c, S3_UNAVAILABLE,
			    "the store answered a PUT with a text and an ETag "
			    "that says nothing of the package");
	if (denies(c))
		return fail(c, S3_UNAVAILABLE,
			    "the store's ETag is not that of the package");
	return (struct verdict){ S3_OK, false };
}

static struct verdict judge_reply(struct s3_call *c, long status)
{
	struct verdict v;

	if (status < 200 || status > 299)
		return judge_error(c, status);
	if (!is_good(c, status)) {
		(void)snprintf(c->detail, sizeof(c->detail),
			       "the store answered %ld to a %s", status,
			       method_name(c->method));
		return (struct verdict){ S3_UNAVAILABLE, true };
	}
	if ((c->method == S3_PUT || c->method == S3_DELETE) &&
	    !judge_text(c, &v))
		return v;
	if (c->method == S3_PUT && c->key[0] != '\0')
		return judge_put(c);
	if (c->method == S3_GET && c->has_sink && c->part_bytes != UINT64_MAX &&
	    c->received_bytes != c->part_bytes)
		return fail(c, S3_UNAVAILABLE,
			    "the store's reply had a wrong length");
	return (struct verdict){ S3_OK, false };
}

/*
 * An attempt was given up.  If it was the deadline that ended it, an attempt
 * before it says more.
 */
static struct verdict judge_late(struct s3_call *c)
{
	if (c->cause[0] == '\0' || clock_now_ns() < c->deadline_ns)
		return fail(c, S3_UNAVAILABLE,
			    "the store did not answer in time");
	(void)snprintf(c->detail, sizeof(c->detail),
		       "%.140s; the last attempt was cut short by the deadline",
		       c->cause);
	return (struct verdict){ S3_UNAVAILABLE, true };
}

/* The sink took no bytes; `detail` says why, or an errno. */
static struct verdict judge_sink(struct s3_call *c)
{
	if (c->detail[0] == '\0')
		return fail(c, S3_NO_SINK, strerror(c->sink_errno));
	return (struct verdict){ S3_NO_SINK, false };
}

static const char *describe(CURLcode code)
{
	switch (code) {
	case CURLE_UNSUPPORTED_PROTOCOL: /* it would be HTTP/0.9 */
	case CURLE_WEIRD_SERVER_REPLY:
		return "the store's reply is not HTTP/1.1";
	/* What libcurl says of a line that is too long, by its version. */
	case CURLE_OUT_OF_MEMORY:
#if LIBCURL_VERSION_NUM >= 0x080600
	case CURLE_TOO_LARGE:
#endif
		return "a header of the store's reply is longer than 100 KiB, "
		       "or there is too little memory";
	default:
		return curl_easy_strerror(code);
	}
}

static struct verdict judge(struct s3_call *c, CURLcode code)
{
	long status = 0;

	(void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (c->is_bad_reply) /* `detail` says why */
		return (struct verdict){ S3_UNAVAILABLE, true };
	switch (code) {
	case CURLE_OK:
		return judge_reply(c, status);
	case CURLE_WRITE_ERROR:
		return judge_sink(c);
	case CURLE_OPERATION_TIMEDOUT:
		return judge_late(c);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
		return fail(c, S3_FAILED,
			    "the store's certificate is not trusted, or is for "
			    "another host");
	case CURLE_SSL_CACERT_BADFILE:
		return fail(c, S3_FAILED,
			    "the file of trusted certificates cannot be read");
	case CURLE_ABORTED_BY_CALLBACK:
		return fail(c, S3_FAILED, "the package could not be read");
	default:
		return fail(c, S3_UNAVAILABLE, describe(code));
	}
}

/* -- The functions that libcurl calls -- */

static uint64_t patience_ns(const struct s3_call *c)
{
	return (uint64_t)PATIENCE_MS * NS_PER_MS
	       << min_u32(c->attempt_count - 1, DOUBLINGS_MAX);
}

static void make_progress(struct s3_call *c, size_t bytes)
{
	c->progress_bytes += bytes;
	if (c->progress_bytes < PROGRESS_BYTES)
		return;
	c->progress_bytes = 0;
	c->due_ns = min_u64(clock_now_ns() + patience_ns(c), c->deadline_ns);
}

static size_t read_body(char *to, size_t size, size_t count, void *arg)
{
	struct s3_call *c = arg;
	uint64_t left = c->body_bytes - c->sent_bytes;
	ssize_t n;

	if (left == 0)
		return 0;
	n = pread(c->body, to, (size_t)min_u64(size * count, left),
		  (off_t)c->sent_bytes);
	if (n <= 0)
		return CURL_READFUNC_ABORT;
	c->sent_bytes += (uint64_t)n;
	make_progress(c, (size_t)n);
	return (size_t)n;
}

/* libcurl sends a body again if a kept connection turned out to be closed. */
static int seek_body(void *arg, curl_off_t offset, int origin)
{
	struct s3_call *c = arg;

	if (origin != SEEK_SET || offset < 0 ||
	    (uint64_t)offset > c->body_bytes)
		return CURL_SEEKFUNC_CANTSEEK;
	c->sent_bytes = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

/*
 * Copy the value of a header; "": there is none, or it does not fit.  Trailers,
 * which come after the body, and heads of status 1xx do not count.  False:
 * there are several that differ.
 */
static bool copy_header(const struct s3_call *c, const char *name, char *value,
			size_t room)
{
	struct curl_header *h;

	value[0] = '\0';
	for (size_t i = 0; curl_easy_header(c->easy, name, i, CURLH_HEADER, -1,
					    &h) == CURLHE_OK;
	     i++) {
		if (i == 0 && strlen(h->value) < room)
			(void)memcpy(value, h->value, strlen(h->value) + 1);
		else if (i > 0 && strcmp(h->value, value) != 0)
			return false;
	}
	return true;
}

static void read_range(struct s3_call *c, const char *text)
{
	uint64_t from, to, all;

	if (!take_word(&text, "bytes ") ||
	    !take_number(&text, 0, INT64_MAX, &from) ||
	    !take_word(&text, "-") ||
	    !take_number(&text, from, INT64_MAX, &to) ||
	    !take_word(&text, "/") ||
	    !take_number(&text, to + 1, INT64_MAX, &all) || !take_end(text))
		return;
	c->has_range_reply = true;
	c->part_from = from;
	c->part_bytes = to - from + 1;
	c->object_bytes = all;
}

static void forget_reply(struct s3_call *c)
{
	c->has_head = c->has_two_etags = c->is_etag_opaque = false;
	c->has_range_reply = c->has_sink = c->is_bad_reply = c->is_part = false;
	c->is_too_long = c->is_binary = c->is_removed = false;
	c->part_from = c->received_bytes = c->kept_bytes = 0;
	c->part_bytes = c->object_bytes = UINT64_MAX;
	c->etag[0] = c->code[0] = c->detail[0] = c->error_text[0] = '\0';
	c->error_bytes = 0;
	c->sink_fd = -1;
	c->skew_s = 0;
}

static void read_date(struct s3_call *c, const char *text)
{
	time_t date = curl_getdate(text, NULL);

	c->skew_s = date >= 0 ? (int64_t)date - (int64_t)time(NULL) : 0;
}

/*
 * With some kinds of encryption the ETag is not the MD5 of the object.  The
 * store names the kind in these headers; with any other value, or none, the
 * ETag must be an MD5.
 */
static void read_encryption(struct s3_call *c)
{
	static const char by_store[] = "x-amz-server-side-encryption";
	static const char by_client[] =
		"x-amz-server-side-encryption-customer-algorithm";
	char value[HEADER_BYTES];

	if (copy_header(c, by_store, value, sizeof(value)))
		c->is_etag_opaque = strcmp(value, "aws:kms") == 0 ||
				    strcmp(value, "aws:kms:dsse") == 0;
	if (copy_header(c, by_client, value, sizeof(value)))
		c->is_etag_opaque |= strcmp(value, "AES256") == 0;
}

/*
 * RFC 9112, 6.3: if the length of a reply is said twice, nobody knows where it
 * ends, nor which part of it libcurl takes for its body.
 */
static bool has_clear_length(const struct s3_call *c)
{
	char value[HEADER_BYTES];
	struct curl_header *h;
	uint64_t bytes;

	if (curl_easy_header(c->easy, "Content-Length", 0, CURLH_HEADER, -1,
			     &h) != CURLHE_OK)
		return true;
	return copy_header(c, "Content-Length", value, sizeof(value)) &&
	       number_read_whole(value, 0, INT64_MAX, &bytes) &&
	       curl_easy_header(c->easy, "Transfer-Encoding", 0, CURLH_HEADER,
				-1, &h) != CURLHE_OK;
}

/* What the head of a reply to HEAD says of the object. */
static void read_object_head(struct s3_call *c)
{
	char value[HEADER_BYTES];
	uint64_t bytes;

	if (copy_header(c, "Content-Length", value, sizeof(value)) &&
	    number_read_whole(value, 0, INT64_MAX, &bytes))
		c->object_bytes = bytes;
	c->is_removed =
		!copy_header(c, "x-amz-delete-marker", value, sizeof(value)) ||
		strcmp(value, "true") == 0;
}

static void read_head(struct s3_call *c)
{
	char value[HEADER_BYTES];

	c->has_two_etags = !copy_header(c, "ETag", c->etag, sizeof(c->etag));
	if (c->has_two_etags) /* then it has none that counts */
		c->etag[0] = '\0';
	if (copy_header(c, "Content-Range", value, sizeof(value)))
		read_range(c, value);
	if (copy_header(c, "Date", value, sizeof(value)))
		read_date(c, value);
	if (c->method == S3_HEAD)
		read_object_head(c);
	read_encryption(c);
}

static void set_bad_reply(struct s3_call *c, const char *why)
{
	c->is_bad_reply = true;
	(void)snprintf(c->detail, sizeof(c->detail), "%s", why);
}

/* After these a server may not know where the next request begins. */
static bool ends_connection(long status)
{
	return status >= 500 || status == 408 || status == 429;
}

/*
 * Take a line of a head.  Another head follows one of status 1xx, or 417, after
 * which libcurl sends the request again without "Expect".
 */
static size_t take_line(char *line, size_t size, size_t count, void *arg)
{
	struct s3_call *c = arg;
	long status = 0;

	count *= size;
	make_progress(c, count);
	c->head_bytes += count;
	if (c->head_bytes > HEAD_BYTES_MAX) {
		set_bad_reply(c, "the head of the store's reply is longer than "
				 "64 KiB");
		return 0;
	}
	if (c->has_head) /* a trailer, which says nothing */
		return count;
	(void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (count >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		forget_reply(c);
	} else if ((line[0] == '\r' || line[0] == '\n') && status >= 200 &&
		   status != 417) {
		c->has_head = true;
		if (!has_clear_length(c)) {
			set_bad_reply(c, "the store's reply says its length in "
					 "two ways, or not by a number");
			return 0;
		}
		read_head(c);
		if (ends_connection(status))
			(void)curl_easy_setopt(c->easy, CURLOPT_FORBID_REUSE,
					       1L);
	}
	return count;
}

/* Stop a reply, or that of an object, which is longer than it may be. */
static void set_too_long(struct s3_call *c)
{
	c->is_too_long = true;
	(void)snprintf(c->detail, sizeof(c->detail),
		       "the object has more than %" PRIu64
		       " bytes, which is the limit",
		       c->reply_bytes_max);
}

/* Check the head of a good reply before its first byte is kept. */
static bool open_sink(struct s3_call *c, long status)
{
	curl_off_t length = -1;

	(void)curl_easy_getinfo(c->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
				&length);
	if (status == 206 &&
	    (!c->has_range || !c->has_range_reply || c->part_from != c->from ||
	     c->part_from + c->part_bytes !=
		     min_u64(c->to + 1, c->object_bytes))) {
		set_bad_reply(c, "the store answered with a wrong "
				 "Content-Range");
		return false;
	}
	if (status != 206) {
		c->part_from = 0;
		c->part_bytes = c->object_bytes =
			length >= 0 ? (uint64_t)length : UINT64_MAX;
	}
	c->is_part = c->part_bytes != c->object_bytes;
	if (c->object_bytes != UINT64_MAX &&
	    c->object_bytes > c->reply_bytes_max) {
		set_too_long(c);
		return false;
	}
	c->sink_fd = c->sink(c);
	c->sink_errno = errno;
	c->has_sink = c->sink_fd >= 0;
	return c->has_sink;
}

/*
 * Are there control characters that no text has?  A body in UTF-16 or UTF-32,
 * or one that is packed, could hide an error.
 */
static bool has_control(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\t' &&
		    bytes[i] != '\n' && bytes[i] != '\r')
			return true;
	return false;
}

/* So that no text ends before its bytes. */
static void replace_nuls(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (text[i] == '\0')
			text[i] = ' ';
}

static size_t keep_error(struct s3_call *c, const char *bytes, size_t count)
{
	size_t kept = (size_t)min_u64(count, sizeof(c->error_text) - 1 -
						     c->error_bytes);

	(void)memcpy(c->error_text + c->error_bytes, bytes, kept);
	c->error_bytes += kept;
	c->error_text[c->error_bytes] = '\0';
	replace_nuls(c->error_text, c->error_bytes);
	c->is_binary |= has_control(bytes, count);
	c->received_bytes += count;
	if (c->received_bytes <= PIECE_BYTES)
		return count;
	set_bad_reply(c, "the store answered with a text longer than 64 KiB");
	return 0;
}

static bool write_sink(struct s3_call *c, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t n =
			pwrite(c->sink_fd, bytes, count, (off_t)c->kept_bytes);

		if (n < 0) {
			c->sink_errno = errno;
			return false;
		}
		bytes += (size_t)n;
		count -= (size_t)n;
		c->kept_bytes += (uint64_t)n;
	}
	return true;
}

/* A store that does not know ranges sends more than was asked for. */
static bool keep_bytes(struct s3_call *c, const char *bytes, size_t count)
{
	uint64_t at = c->part_from + c->received_bytes, end = at + count;
	uint64_t from = c->has_range ? max_u64(at, c->from) : at;
	uint64_t until = c->has_range ? min_u64(end, c->to + 1) : end;

	c->received_bytes += count;
	return from >= until ||
	       write_sink(c, bytes + (from - at), (size_t)(until - from));
}

static size_t write_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct s3_call *c = arg;
	long status = 0;

	count *= size;
	make_progress(c, count);
	(void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	if (c->method != S3_GET || (status != 200 && status != 206))
		return keep_error(c, bytes, count);
	if (c->sink == NULL) /* only whether there is an answer counts */
		return count;
	if (!c->has_sink && !open_sink(c, status))
		return 0;
	if (count > c->reply_bytes_max - c->received_bytes) {
		set_too_long(c);
		return 0;
	}
	return keep_bytes(c, bytes, count) ? count : 0;
}

/* -- An attempt -- */

static bool add_header(struct s3_call *c, const char *name, const char *value)
{
	char line[CREDENTIAL_TOKEN_BYTES + 64];
	struct curl_slist *longer;

	(void)snprintf(line, sizeof(line), "%s: %s", name, value);
	longer = curl_slist_append(c->headers, line);
	explicit_bzero(line, sizeof(line));
	if (longer == NULL)
		return false;
	c->headers = longer;
	return true;
}

/*
 * All headers that are set here are signed.  None is "Expect", so a body is
 * sent as that of a POST, for which libcurl asks for "100 Continue" only from
 * 1 MiB on.
 */
static bool set_headers(struct s3 *s, struct s3_call *c)
{
	char date[SIGN_DATE_BYTES], authorization[SIGN_BYTES];
	char path[URL_BYTES + S3_KEY_BYTES];
	const char *token = s->credentials.token;
	bool is_put = c->method == S3_PUT;
	const struct sign_header all[] = {
		{ "content-type", is_put ? "application/octet-stream" : NULL },
		{ "host", s->host },
		{ "if-match", c->match[0] != '\0' ? c->match : NULL },
		{ "if-none-match", is_put && c->must_be_new ? "*" : NULL },
		{ "x-amz-content-sha256", c->sha256 },
		{ "x-amz-date", date },
		{ "x-amz-security-token", *token != '\0' ? token : NULL },
	};
	struct sign_request r = {
		.method = method_name(c->method),
		.path = path,
		.query = c->query,
	};

	sign_print_date(date, time(NULL));
	(void)snprintf(path, sizeof(path), "%s/%s", s->path, c->key);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].value == NULL)
			continue;
		r.headers[r.header_count++] = all[i];
		if (!add_header(c, all[i].name, all[i].value))
			return false;
	}
	sign_print(authorization, &r, s->region, &s->credentials);
	return add_header(c, "authorization", authorization);
}

static void free_headers(struct s3_call *c)
{
	curl_slist_free_all(c->headers);
	c->headers = NULL;
}

static void set_method(struct s3_call *c)
{
	CURL *e = c->easy;

	switch (c->method) {
	case S3_GET:
		break;
	case S3_HEAD:
		(void)curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
		break;
	case S3_DELETE:
		(void)curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
				       method_name(c->method));
		break;
	case S3_PUT:
		(void)curl_easy_setopt(e, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST,
				       method_name(c->method));
		(void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)c->body_bytes);
		(void)curl_easy_setopt(e, CURLOPT_READFUNCTION, read_body);
		(void)curl_easy_setopt(e, CURLOPT_READDATA, c);
		(void)curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, seek_body);
		(void)curl_easy_setopt(e, CURLOPT_SEEKDATA, c);
		(void)curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE,
				       (long)UPLOAD_PIECE_BYTES);
	}
}

static void set_options(struct s3 *s, struct s3_call *c)
{
	CURL *e = c->easy;
	char url[URL_BYTES + S3_KEY_BYTES + S3_QUERY_BYTES], range[64];

	(void)snprintf(url, sizeof(url), "%s/%s%s%s", s->base, c->key,
		       c->query != NULL ? "?" : "",
		       c->query != NULL ? c->query : "");
	(void)curl_easy_setopt(e, CURLOPT_URL, url);
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
			       (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	/* Do not wait for a name server when an attempt is given up. */
	(void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	(void)curl_easy_setopt(e, CURLOPT_USERAGENT, "darkroom-store");
	if (s->ca_file != NULL)
		(void)curl_easy_setopt(e, CURLOPT_CAINFO, s->ca_file);
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->headers);
	(void)curl_easy_setopt(e, CURLOPT_PRIVATE, c);
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_line);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, write_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
	/* The rest of a reply that was odd is no reply to the repetition. */
	if (c->attempt_count > 1)
		(void)curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, 1L);
	if (c->has_range) {
		(void)snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64,
			       c->from, c->to);
		(void)curl_easy_setopt(e, CURLOPT_RANGE, range);
	}
	set_method(c);
}

static void end_call(struct s3 *s, struct s3_call *c, struct verdict v)
{
	free_headers(c);
	c->result = v.result;
	s->call_count--;
	s->has_news = true;
	c->done(c);
}

static void give_slot(struct s3 *s, const struct s3_call *c)
{
	s->slots_used -= !c->is_urgent;
	s->reads_used -= c->is_read;
}

static void give_easy_back(struct s3 *s, struct s3_call *c)
{
	curl_easy_reset(c->easy);
	if (s->idle_count < IDLE_MAX)
		s->idle[s->idle_count++] = c->easy;
	else
		curl_easy_cleanup(c->easy);
	c->easy = NULL;
}

static void begin_attempt(struct s3 *s, struct s3_call *c)
{
	uint64_t now = clock_now_ns();

	forget_reply(c);
	free_headers(c); /* of the attempt before; their date is old */
	c->easy =
		s->idle_count > 0 ? s->idle[--s->idle_count] : curl_easy_init();
	if (c->easy == NULL || !set_headers(s, c)) {
		if (c->easy != NULL)
			give_easy_back(s, c);
		give_slot(s, c);
		end_call(s, c, fail(c, S3_FAILED, "too little memory"));
		return;
	}
	s->figures.requests++;
	s->figures.retries += c->attempt_count > 0;
	c->attempt_count++;
	c->sent_bytes = c->progress_bytes = c->head_bytes = 0;
	c->unsent_bytes = -1;
	c->due_ns = min_u64(now + patience_ns(c), c->deadline_ns);
	set_options(s, c);
	TAILQ_INSERT_TAIL(&s->active, c, link);
	/* It fails only for a handle that is wrong or is added already. */
	(void)curl_multi_add_handle(s->multi, c->easy);
}

static void count_attempt(struct s3 *s, struct s3_call *c, CURLcode code,
			  struct verdict v)
{
	struct store_figures *f = &s->figures;
	curl_off_t us = 0;
	long status = 0;

	(void)curl_easy_getinfo(c->easy, CURLINFO_TOTAL_TIME_T, &us);
	(void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	f->errors += code != CURLE_OK || status >= 500;
	f->sent_bytes += c->sent_bytes;
	f->received_bytes += c->received_bytes;
	if (v.result != S3_OK)
		return;
	if (c->method == S3_PUT) {
		f->put_count++;
		f->put_ns += (uint64_t)us * 1000;
	} else if (c->method == S3_GET && c->key[0] != '\0') {
		f->get_count++;
		f->get_ns += (uint64_t)us * 1000;
	}
}

static void end_attempt(struct s3 *s, struct s3_call *c, CURLcode code)
{
	struct verdict v = judge(c, code);
	uint64_t now = clock_now_ns(), pause_ms;

	count_attempt(s, c, code, v);
	(void)snprintf(s->fault, sizeof(s->fault), "%s",
		       v.may_pass ? c->detail : "");
	(void)curl_multi_remove_handle(s->multi, c->easy);
	give_easy_back(s, c);
	TAILQ_REMOVE(&s->active, c, link);
	pause_ms = min_u64(PAUSE_MAX_MS, (uint64_t)PAUSE_MIN_MS << min_u32(
						 c->attempt_count - 1, 6));
	c->due_ns = now + random_below(&s->random, (uint32_t)pause_ms + 1) *
				  NS_PER_MS;
	if (v.may_pass && !c->is_single && c->due_ns < c->deadline_ns) {
		(void)memcpy(c->cause, c->detail, sizeof(c->cause));
		TAILQ_INSERT_TAIL(&s->paused, c, link);
		return;
	}
	give_slot(s, c);
	end_call(s, c, v);
}

/* Bytes that the kernel could not deliver yet; 0: none, or not known. */
static int read_unsent(const struct s3_call *c)
{
	curl_socket_t socket = CURL_SOCKET_BAD;
	int bytes = 0;

	(void)curl_easy_getinfo(c->easy, CURLINFO_ACTIVESOCKET, &socket);
	if (socket == CURL_SOCKET_BAD || ioctl(socket, SIOCOUTQ, &bytes) != 0)
		return 0;
	return bytes;
}

/*
 * The time without progress is over.  But a body that was given to the kernel
 * may still be on its way, over a slow link.
 */
static void check_stalled(struct s3 *s, struct s3_call *c, uint64_t now)
{
	int unsent = read_unsent(c);

	if (now < c->deadline_ns && unsent > 0 &&
	    (c->unsent_bytes < 0 || unsent < c->unsent_bytes)) {
		c->unsent_bytes = unsent;
		c->due_ns = min_u64(now + patience_ns(c), c->deadline_ns);
		return;
	}
	end_attempt(s, c, CURLE_OPERATION_TIMEDOUT);
}

/* -- The queue -- */

/* The call that is due first; NULL: none. */
static struct s3_call *find_first(struct calls *calls)
{
	struct s3_call *c, *first = NULL;

	TAILQ_FOREACH(c, calls, link)
	if (first == NULL || c->due_ns < first->due_ns)
		first = c;
	return first;
}

static bool is_due(const struct s3_call *c, uint64_t now)
{
	return c != NULL && c->due_ns <= now;
}

static void print_hex(char *out, const uint8_t *digest, size_t count)
{
	base16_encode_update(out, count, digest);
	out[BASE16_ENCODE_LENGTH(count)] = '\0';
}

/* False: the body is shorter than it should be. */
static bool hash_body(struct s3_call *c)
{
	struct sha256_ctx sha256;
	struct md5_ctx md5;
	uint8_t digest[SHA256_DIGEST_SIZE], piece[PIECE_BYTES];
	uint64_t at = 0;

	sha256_init(&sha256);
	md5_init(&md5);
	while (c->method == S3_PUT && at < c->body_bytes) {
		ssize_t n = pread(
			c->body, piece,
			(size_t)min_u64(sizeof(piece), c->body_bytes - at),
			(off_t)at);

		if (n <= 0)
			return false;
		sha256_update(&sha256, (size_t)n, piece);
		md5_update(&md5, (size_t)n, piece);
		at += (uint64_t)n;
	}
	sha256_digest(&sha256, SHA256_DIGEST_SIZE, digest);
	print_hex(c->sha256, digest, SHA256_DIGEST_SIZE);
	md5_digest(&md5, MD5_DIGEST_SIZE, digest);
	print_hex(c->md5, digest, MD5_DIGEST_SIZE);
	return true;
}

static void begin_call(struct s3 *s, struct s3_call *c)
{
	TAILQ_REMOVE(&s->queued, c, link);
	s->queued_count--;
	if (!hash_body(c)) {
		end_call(s, c,
			 fail(c, S3_FAILED,
			      "the package is shorter than its message said"));
		return;
	}
	s->slots_used += !c->is_urgent;
	s->reads_used += c->is_read;
	begin_attempt(s, c);
}

/*
 * An urgent one; else, if a slot is free, the one that waits longest, but a
 * read only if there is no other.
 */
static struct s3_call *next_queued(struct s3 *s)
{
	bool has_slot = s->slots_used < S3_ACTIVE_MAX;
	struct s3_call *c, *other = NULL, *read = NULL;

	TAILQ_FOREACH(c, &s->queued, link)
	{
		if (c->is_urgent)
			return c;
		if (c->is_read && read == NULL)
			read = c;
		if (!c->is_read && other == NULL)
			other = c;
	}
	if (!has_slot)
		return NULL;
	return other != NULL || s->reads_used >= S3_READS_MAX ? other : read;
}

static void do_what_is_due(struct s3 *s)
{
	uint64_t now = clock_now_ns();
	struct s3_call *c;

	while (is_due(c = find_first(&s->active), now))
		check_stalled(s, c, now);
	while (is_due(c = find_first(&s->queued), now)) {
		TAILQ_REMOVE(&s->queued, c, link);
		s->queued_count--;
		end_call(s, c,
			 fail(c, S3_UNAVAILABLE,
			      s->fault[0] != '\0' ?
				      s->fault :
				      "too many requests wait for the store"));
	}
	while (is_due(c = find_first(&s->paused), now)) {
		TAILQ_REMOVE(&s->paused, c, link);
		begin_attempt(s, c);
	}
	while ((c = next_queued(s)) != NULL)
		begin_call(s, c);
}

static void perform(struct s3 *s)
{
	const struct CURLMsg *m;
	int count;

	(void)curl_multi_perform(s->multi, &count);
	while ((m = curl_multi_info_read(s->multi, &count)) != NULL) {
		struct s3_call *c = NULL;
		CURLcode code = m->data.result;

		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
		end_attempt(s, c, code);
	}
}

void s3_send(struct s3 *s, struct s3_call *c)
{
	if (c->deadline_ns == 0)
		c->deadline_ns = clock_after_ms(DEADLINE_MS);
	c->due_ns = c->deadline_ns;
	c->attempt_count = 0;
	c->cause[0] = '\0';
	c->headers = NULL;
	c->easy = NULL;
	forget_reply(c);
	TAILQ_INSERT_TAIL(&s->queued, c, link);
	s->queued_count++;
	s->call_count++;
}

static int time_to_first(struct s3 *s, int ms)
{
	struct calls *lists[] = { &s->active, &s->paused, &s->queued };
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct s3_call *c = find_first(lists[i]);
		uint64_t wait;

		if (c == NULL)
			continue;
		wait = c->due_ns > now ? (c->due_ns - now) / NS_PER_MS + 1 : 0;
		if (wait < (uint64_t)ms)
			ms = (int)wait;
	}
	return next_queued(s) != NULL ? 0 : ms;
}

bool s3_turn(struct s3 *s, int fd, int ms)
{
	struct curl_waitfd wait = { .fd = fd, .events = CURL_WAIT_POLLIN };

	s->has_news = false;
	do_what_is_due(s);
	perform(s);
	(void)curl_multi_poll(s->multi, &wait, fd >= 0,
			      s->has_news ? 0 : time_to_first(s, ms), NULL);
	perform(s);
	return fd >= 0 && wait.revents != 0;
}

/* -- Setup -- */

static bool has_only(const char *text, const char *more)
{
	for (; *text != '\0'; text++)
		if (!((*text >= 'a' && *text <= 'z') ||
		      (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') ||
		      strchr(more, *text) != NULL))
			return false;
	return true;
}

static bool check_prefix(const char *prefix, struct error *error)
{
	size_t n = strlen(prefix);

	if (n >= S3_PREFIX_BYTES - 1)
		return error_fail(error,
				  "the prefix has %zu characters, not "
				  "at most %d",
				  n, S3_PREFIX_BYTES - 2);
	if (!has_only(prefix, "._-/"))
		return error_fail(error,
				  "prefix '%s': only letters, digits "
				  "and . _ - / are allowed",
				  prefix);
	if (n > 0 && (prefix[0] == '/' || prefix[n - 1] == '/' ||
		      strstr(prefix, "//") != NULL))
		return error_fail(error,
				  "prefix '%s': / is only allowed "
				  "between two names",
				  prefix);
	/* They would be taken out of the path on its way. */
	if (store_has_dots(prefix))
		return error_fail(error,
				  "prefix '%s': no part may be '.' or '..'",
				  prefix);
	return true;
}

static bool check_names(const struct s3_config *config, struct error *error)
{
	size_t n = strlen(config->bucket);

	if (n < BUCKET_BYTES_MIN || n > BUCKET_BYTES_MAX ||
	    !has_only(config->bucket, "._-") || config->bucket[0] == '.' ||
	    config->bucket[0] == '-')
		return error_fail(error,
				  "bucket '%s': a bucket has %d to %d letters, "
				  "digits and . _ -",
				  config->bucket, BUCKET_BYTES_MIN,
				  BUCKET_BYTES_MAX);
	if (*config->region == '\0' ||
	    strlen(config->region) >= SIGN_REGION_BYTES ||
	    !has_only(config->region, "-_"))
		return error_fail(error,
				  "region '%s': a region has 1 to 64 letters, "
				  "digits and - _",
				  config->region);
	return check_prefix(config->prefix, error);
}

static bool is_absent(CURLU *url, CURLUPart part)
{
	char *text = NULL;
	bool is_there = curl_url_get(url, part, &text, 0) == CURLUE_OK;

	curl_free(text);
	return !is_there;
}

/* An address has no names below it. */
static bool is_address(const char *host)
{
	return *host == '[' || strspn(host, "0123456789.") == strlen(host);
}

/* Keep the parts of the bucket's URL.  `port` NULL: the scheme's own. */
static void keep_base(struct s3 *s, const struct s3_config *config,
		      const char *scheme, const char *host, const char *port)
{
	bool in_path = config->path_style || is_address(host);

	(void)snprintf(s->host, sizeof(s->host), "%s%s%s%s%s",
		       in_path ? "" : config->bucket, in_path ? "" : ".", host,
		       port != NULL ? ":" : "", port != NULL ? port : "");
	(void)snprintf(s->base, sizeof(s->base), "%s://%s%s%s", scheme, s->host,
		       in_path ? "/" : "", in_path ? config->bucket : "");
	s->path = s->base + strlen(scheme) + strlen("://") + strlen(s->host);
}

static bool make_base(struct s3 *s, CURLU *url, const struct s3_config *config,
		      struct error *error)
{
	char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL;
	bool is_good =
		curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
		(strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
		curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
		curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
		strcmp(path, "/") == 0 && is_absent(url, CURLUPART_USER) &&
		is_absent(url, CURLUPART_QUERY) &&
		is_absent(url, CURLUPART_FRAGMENT) && strlen(host) < 512;

	(void)curl_url_get(url, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT);
	if (!is_good)
		error_set(error,
			  "endpoint '%s': it is not http://HOST[:PORT] or "
			  "https://HOST[:PORT]",
			  config->endpoint);
	else
		keep_base(s, config, scheme, host, port);
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	return is_good;
}

static bool set_base(struct s3 *s, const struct s3_config *config,
		     struct error *error)
{
	struct s3_config with_endpoint = *config;
	char amazon[128];
	CURLU *url = curl_url();
	bool is_set;

	(void)snprintf(amazon, sizeof(amazon), "https://s3.%s.amazonaws.com",
		       config->region);
	if (config->endpoint == NULL)
		with_endpoint.endpoint = amazon;
	if (url == NULL)
		return error_fail(error, "too little memory");
	if (curl_url_set(url, CURLUPART_URL, with_endpoint.endpoint, 0) ==
	    CURLUE_OK)
		is_set = make_base(s, url, &with_endpoint, error);
	else
		is_set = error_fail(error, "endpoint '%s': it is not a URL",
				    with_endpoint.endpoint);
	curl_url_cleanup(url);
	return is_set;
}

struct s3 *s3_new(const struct s3_config *config, struct error *error)
{
	struct s3 *s;

	if (!check_names(config, error))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL || curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK ||
	    (s->multi = curl_multi_init()) == NULL) {
		error_set(error, "too little memory");
		free(s);
		return NULL;
	}
	TAILQ_INIT(&s->queued);
	TAILQ_INIT(&s->active);
	TAILQ_INIT(&s->paused);
	(void)curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS,
				(long)S3_ACTIVE_MAX);
	if (getrandom(&s->random, sizeof(s->random), 0) < 0)
		s->random = clock_now_ns();
	s->credentials = *config->credentials;
	s->ca_file = config->ca_file;
	(void)snprintf(s->bucket, sizeof(s->bucket), "%s", config->bucket);
	(void)snprintf(s->prefix, sizeof(s->prefix), "%s%s", config->prefix,
		       *config->prefix != '\0' ? "/" : "");
	(void)snprintf(s->region, sizeof(s->region), "%s", config->region);
	if (set_base(s, config, error))
		return s;
	s3_free(s);
	return NULL;
}

void s3_print_key(const struct s3 *s, const char *id, char key[S3_KEY_BYTES])
{
	(void)snprintf(key, S3_KEY_BYTES, "%s%.2s/%s", s->prefix, id, id);
}

void s3_print_trial_key(const struct s3 *s, char key[S3_KEY_BYTES])
{
	(void)snprintf(key, S3_KEY_BYTES, "%sdarkroom-trial", s->prefix);
}

bool s3_read_key(const struct s3 *s, const char *key, char id[STORE_ID_BYTES])
{
	size_t n = strlen(s->prefix);

	if (strncmp(key, s->prefix, n) != 0)
		return false;
	key += n;
	if (strlen(key) != STORE_ID_BYTES + 2 || key[2] != '/' ||
	    memcmp(key, key + 3, 2) != 0 || !store_is_key(key + 3))
		return false;
	(void)memcpy(id, key + 3, STORE_ID_BYTES);
	return true;
}

/*
 * Move *etag past the W/ of a weak one, and past its quote.  Returns how many
 * bytes are between its quotes.
 */
static size_t open_etag(const char **etag)
{
	size_t n;

	if (strncmp(*etag, "W/", 2) == 0)
		*etag += 2;
	*etag += **etag == '"';
	n = strlen(*etag);
	return n > 0 && (*etag)[n - 1] == '"' ? n - 1 : n;
}

bool s3_is_strong(const char *etag)
{
	return is_etag(etag) && strncmp(etag, "W/", 2) != 0 &&
	       strlen(etag) < S3_ETAG_BYTES - 2; /* with quotes, it fits */
}

void s3_print_etag(char out[S3_ETAG_BYTES], const char *etag, bool has_quotes)
{
	const char *quote = has_quotes ? "\"" : "";
	size_t n = open_etag(&etag);

	(void)snprintf(out, S3_ETAG_BYTES, "%s%.*s%s", quote, (int)n, etag,
		       quote);
}

bool s3_read_md5(const char *etag, char md5[S3_MD5_BYTES])
{
	size_t n = open_etag(&etag);

	if (n != S3_MD5_BYTES - 1)
		return false;
	for (size_t i = 0; i < n; i++) {
		char digit = etag[i];

		if (digit >= 'A' && digit <= 'F')
			digit = (char)(digit - 'A' + 'a');
		if (!((digit >= '0' && digit <= '9') ||
		      (digit >= 'a' && digit <= 'f')))
			return false;
		md5[i] = digit;
	}
	md5[n] = '\0';
	return true;
}

static bool has_end(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

bool s3_is_bucket(const struct s3 *s, const char *name)
{
	return strcmp(name, s->bucket) == 0 || has_end(s->bucket, "-s3alias") ||
	       has_end(s->bucket, "--ol-s3");
}

const char *s3_prefix(const struct s3 *s)
{
	return s->prefix;
}

uint32_t s3_call_count(const struct s3 *s)
{
	return s->call_count;
}

const struct store_figures *s3_figures(const struct s3 *s)
{
	return &s->figures;
}

static void drop_calls(struct s3 *s, struct calls *calls)
{
	struct s3_call *c;

	while ((c = TAILQ_FIRST(calls)) != NULL) {
		TAILQ_REMOVE(calls, c, link);
		free_headers(c);
		if (c->easy == NULL)
			continue;
		(void)curl_multi_remove_handle(s->multi, c->easy);
		curl_easy_cleanup(c->easy);
	}
}

void s3_drop(struct s3 *s)
{
	drop_calls(s, &s->queued);
	drop_calls(s, &s->active);
	drop_calls(s, &s->paused);
	s->queued_count = s->slots_used = s->reads_used = s->call_count = 0;
}

void s3_free(struct s3 *s)
{
	if (s == NULL)
		return;
	s3_drop(s);
	while (s->idle_count > 0)
		curl_easy_cleanup(s->idle[--s->idle_count]);
	(void)curl_multi_cleanup(s->multi);
	curl_global_cleanup();
	explicit_bzero(s, sizeof(*s));
	free(s);
}
