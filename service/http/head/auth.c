/* SPDX-License-Identifier: MIT */
/*
 * Keys, the files that they are read from, and signatures: HMAC-SHA256 (RFC
 * 2104) over a text that is made of the request.  The text does not depend on
 * how a proxy encodes or sorts the query:
 *
 *	METHOD \n
 *	path \n
 *	key=value \n       for each parameter, decoded, sorted by bytes
 */
#include "service/http/head/auth.h"

#include "service/http/head/browsers.h"
#include "service/http/head/params.h"
#include "service/http/request.h"
#include "service/http/head/text_part.h"

#include "base/file.h"
#include "base/util.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

enum { SIGNATURE_HEX_CHARS = 2 * SHA256_DIGEST_SIZE };

/*
 * The state of HMAC-SHA256 (RFC 2104) after the key was added; signing does not
 * change it.
 */
struct signature_key {
	struct hmac_sha256_ctx start;
};

/* A parameter of a query, decoded. */
struct signature_parameter {
	const char *key;
	const char *value; /* NULL: no "=", the same as "" */
};

/* What is signed.  head.c has refused queries with more parameters. */
struct signed_query {
	const char *method;
	const char *path; /* decoded */
	struct signature_parameter parameters[AUTH_PARAMETERS_MAX];
	uint32_t count;
};

static void signature_key_set(struct signature_key *key, const char *secret,
			      size_t bytes)
{
	hmac_sha256_set_key(&key->start, bytes, (const uint8_t *)secret);
}

static const char *parameter_value(const struct signature_parameter *p)
{
	return p->value != NULL ? p->value : "";
}

/* The byte of "key=value" at `i`; 0 at its end. */
static unsigned char parameter_line_byte(const struct signature_parameter *p,
					 size_t key_bytes, size_t i)
{
	if (i < key_bytes)
		return (unsigned char)p->key[i];
	if (i == key_bytes)
		return '=';
	return (unsigned char)parameter_value(p)[i - key_bytes - 1];
}

static int compare_parameters(const void *left, const void *right)
{
	const struct signature_parameter *a = left, *b = right;
	size_t a_bytes = strlen(a->key), b_bytes = strlen(b->key);
	size_t i = 0;

	while (parameter_line_byte(a, a_bytes, i) ==
		       parameter_line_byte(b, b_bytes, i) &&
	       parameter_line_byte(a, a_bytes, i) != '\0')
		i++;
	return parameter_line_byte(a, a_bytes, i) -
	       parameter_line_byte(b, b_bytes, i);
}

static bool parameter_is_clear(const struct signature_parameter *p)
{
	return strpbrk(p->key, "=\n") == NULL &&
	       strchr(parameter_value(p), '\n') == NULL;
}

static void hash_text(struct hmac_sha256_ctx *hmac, const char *text)
{
	hmac_sha256_update(hmac, strlen(text), (const uint8_t *)text);
}

/* Sorts the parameters.  False: the signed text could be read in two ways. */
static MUST_CHECK bool signature_make(char hex[SIGNATURE_HEX_CHARS + 1],
				      const struct signature_key *key,
				      struct signed_query *q)
{
	struct hmac_sha256_ctx hmac = key->start;
	uint8_t digest[SHA256_DIGEST_SIZE];

	for (uint32_t i = 0; i < q->count; i++)
		if (!parameter_is_clear(&q->parameters[i]))
			return false;
	qsort(q->parameters, q->count, sizeof(q->parameters[0]),
	      compare_parameters);
	hash_text(&hmac, q->method);
	hash_text(&hmac, "\n");
	hash_text(&hmac, q->path);
	hash_text(&hmac, "\n");
	for (uint32_t i = 0; i < q->count; i++) {
		hash_text(&hmac, q->parameters[i].key);
		hash_text(&hmac, "=");
		hash_text(&hmac, parameter_value(&q->parameters[i]));
		hash_text(&hmac, "\n");
	}
	hmac_sha256_digest(&hmac, sizeof(digest), digest);
	base16_encode_update(hex, sizeof(digest), digest);
	hex[SIGNATURE_HEX_CHARS] = '\0';
	return true;
}

static bool signature_is(const char made[SIGNATURE_HEX_CHARS + 1],
			 const char *given)
{
	char lower[SIGNATURE_HEX_CHARS];

	if (strlen(given) != SIGNATURE_HEX_CHARS)
		return false;
	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++)
		lower[i] = (char)tolower((unsigned char)given[i]);
	return memeql_sec(made, lower, SIGNATURE_HEX_CHARS) != 0;
}

enum {
	KEY_CHARS_MIN = 16,
	KEY_CHARS_MAX = 512,
	NAME_CHARS_MAX = AUTH_OWNER_BYTES - 1,
	OWNER_DIGEST_BYTES = 8, /* of a key without a name */
	FILE_BYTES_MAX = 1 << 16,
	EXPIRES_DIGITS_MAX = 18, /* fits an int64_t */
};

#define NAME_CHARS                                                             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static const char scheme[] = "Bearer ";
static const char expires_name[] = "expires";
static const char signature_name[] = "signature";

struct keys {
	uint8_t api_digests[AUTH_KEYS_MAX][SHA256_DIGEST_SIZE];
	char api_owners[AUTH_KEYS_MAX][AUTH_OWNER_BYTES];
	uint32_t api_count;
	struct signature_key sign_keys[AUTH_KEYS_MAX];
	char sign_owners[AUTH_KEYS_MAX][AUTH_OWNER_BYTES];
	uint32_t sign_count;
	uint8_t metrics_digests[AUTH_KEYS_MAX][SHA256_DIGEST_SIZE];
	uint32_t metrics_count;
};

struct auth {
	pthread_rwlock_t lock; /* protects `keys` */
	struct keys keys;
};

struct auth *auth_new(void)
{
	struct auth *a = calloc(1, sizeof(*a));

	if (a != NULL)
		(void)pthread_rwlock_init(&a->lock, NULL);
	return a;
}

void auth_free(struct auth *a)
{
	if (a == NULL)
		return;
	(void)pthread_rwlock_destroy(&a->lock);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

size_t auth_packed_bytes(void)
{
	return sizeof(struct keys);
}

void auth_pack(const struct auth *a, void *to)
{
	(void)memcpy(to, &a->keys, sizeof(a->keys));
}

void auth_unpack(struct auth *a, const void *from)
{
	(void)pthread_rwlock_wrlock(&a->lock);
	(void)memcpy(&a->keys, from, sizeof(a->keys));
	(void)pthread_rwlock_unlock(&a->lock);
}

static void digest_of(uint8_t digest[SHA256_DIGEST_SIZE], struct text_part key)
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, key.bytes, (const uint8_t *)key.text);
	sha256_digest(&sha, SHA256_DIGEST_SIZE, digest);
	explicit_bzero(&sha, sizeof(sha));
}

/* A line of a file: "NAME KEY" or "KEY". */
struct line {
	struct text_part name; /* empty: it has none */
	struct text_part key;
};

/*
 * A key without a name gets "#" and a hash as its owner.  Names contain no "#",
 * so no named key has the same owner.
 */
static void set_owner(char owner[AUTH_OWNER_BYTES], const struct line *l)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	if (l->name.bytes > 0) {
		(void)snprintf(owner, AUTH_OWNER_BYTES, "%.*s",
			       (int)l->name.bytes, l->name.text);
		return;
	}
	digest_of(digest, l->key);
	owner[0] = '#';
	base16_encode_update(owner + 1, OWNER_DIGEST_BYTES, digest);
	owner[1 + 2 * OWNER_DIGEST_BYTES] = '\0';
}

/* A keep_fn, as the next two. */
static const char *keep_api_key(struct keys *a, const struct line *l)
{
	digest_of(a->api_digests[a->api_count], l->key);
	set_owner(a->api_owners[a->api_count++], l);
	return NULL;
}

static const char *keep_sign_key(struct keys *a, const struct line *l)
{
	signature_key_set(&a->sign_keys[a->sign_count], l->key.text,
			  l->key.bytes);
	set_owner(a->sign_owners[a->sign_count++], l);
	return NULL;
}

static const char *keep_metrics_key(struct keys *a, const struct line *l)
{
	uint8_t *digest = a->metrics_digests[a->metrics_count];

	digest_of(digest, l->key);
	for (uint32_t i = 0; i < a->api_count; i++)
		if (memcmp(digest, a->api_digests[i], SHA256_DIGEST_SIZE) == 0)
			return "is also a key of --api-key-file, which allows "
			       "everything";
	a->metrics_count++;
	return NULL;
}

static struct line split_key_line(const char *text, size_t bytes)
{
	const char *space = memchr(text, ' ', bytes);
	struct line l = { .key = { text, bytes } };

	if (space == NULL || space == text)
		return l;
	l.name = (struct text_part){ text, (size_t)(space - text) };
	l.key.text = space + strspn(space, " ");
	l.key.bytes = bytes - (size_t)(l.key.text - text);
	return l;
}

static const char *wrong_with_name(const struct line *l)
{
	size_t good = l->name.bytes > 0 ? strspn(l->name.text, NAME_CHARS) : 0;

	if (good < l->name.bytes)
		return "has a name with characters other than A-Z, a-z, 0-9, "
		       "'.', '_' and '-'";
	if (l->name.bytes > NAME_CHARS_MAX)
		return "has a name longer than 64 characters";
	return NULL;
}

static const char *wrong_with(const struct line *l)
{
	for (size_t i = 0; i < l->key.bytes; i++)
		if (l->key.text[i] <= ' ' || l->key.text[i] > '~')
			return "has a space in its key, or a character that is "
			       "not printable ASCII";
	if (l->key.bytes < KEY_CHARS_MIN)
		return "has a key shorter than 16 characters";
	if (l->key.bytes > KEY_CHARS_MAX)
		return "has a key longer than 512 characters";
	return wrong_with_name(l);
}

/* Keep a key.  The result is what is wrong with it, or NULL. */
typedef const char *keep_fn(struct keys *a, const struct line *l);

static bool read_key_lines(struct keys *a, keep_fn *keep, const char *text,
			   char why[AUTH_WHY_BYTES])
{
	uint32_t count = 0, number = 1;

	for (const char *line = text; *line != '\0'; number++) {
		size_t bytes = strcspn(line, "\r\n");
		struct line parts = split_key_line(line, bytes);
		const char *wrong = wrong_with(&parts);
		bool is_key = bytes > 0 && line[0] != '#';

		if (is_key && count == AUTH_KEYS_MAX)
			wrong = "is one key too many";
		if (is_key && wrong == NULL)
			wrong = keep(a, &parts);
		if (is_key && wrong != NULL) {
			(void)snprintf(why, AUTH_WHY_BYTES, "line %u %s",
				       number, wrong);
			return false;
		}
		count += is_key;
		line += bytes;
		line += *line == '\r';
		line += *line == '\n';
	}
	(void)snprintf(why, AUTH_WHY_BYTES, "there is no key in it");
	return count > 0;
}

static bool read_key_file(struct keys *a, keep_fn *keep, const char *path,
			  char why[AUTH_WHY_BYTES])
{
	const char *unreadable;
	char *text = file_read_text(path, FILE_BYTES_MAX, &unreadable);
	bool ok = text != NULL;

	if (ok) {
		ok = read_key_lines(a, keep, text, why);
		explicit_bzero(text, strlen(text));
	} else {
		(void)snprintf(why, AUTH_WHY_BYTES, "%s", unreadable);
	}
	free(text);
	return ok;
}

bool auth_read_api_keys(struct auth *a, const char *path,
			char why[AUTH_WHY_BYTES])
{
	return read_key_file(&a->keys, keep_api_key, path, why);
}

bool auth_read_sign_keys(struct auth *a, const char *path,
			 char why[AUTH_WHY_BYTES])
{
	return read_key_file(&a->keys, keep_sign_key, path, why);
}

bool auth_read_metrics_keys(struct auth *a, const char *path,
			    char why[AUTH_WHY_BYTES])
{
	return read_key_file(&a->keys, keep_metrics_key, path, why);
}

static bool has_keys(const struct keys *k)
{
	return k->api_count > 0 || k->sign_count > 0;
}

bool auth_is_on(struct auth *a)
{
	bool is_on;

	(void)pthread_rwlock_rdlock(&a->lock);
	is_on = has_keys(&a->keys);
	(void)pthread_rwlock_unlock(&a->lock);
	return is_on;
}

bool auth_takes_parameter(struct auth *a, const char *key)
{
	bool has_sign_keys;

	if (strcmp(key, expires_name) != 0 && strcmp(key, signature_name) != 0)
		return false;
	(void)pthread_rwlock_rdlock(&a->lock);
	has_sign_keys = a->keys.sign_count > 0;
	(void)pthread_rwlock_unlock(&a->lock);
	return has_sign_keys;
}

/* False: the request has no key. */
static bool digest_request(uint8_t digest[SHA256_DIGEST_SIZE],
			   const char *authorization)
{
	if (authorization == NULL ||
	    strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return false;

	const char *key = authorization + strlen(scheme);

	key += strspn(key, " ");
	digest_of(digest,
		  (struct text_part){ key, strnlen(key, KEY_CHARS_MAX + 1) });
	return true;
}

static bool is_metrics_key(const struct keys *k, const char *authorization)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	bool found = false;

	if (!digest_request(digest, authorization))
		return false;
	for (uint32_t i = 0; i < k->metrics_count; i++)
		found |= memeql_sec(digest, k->metrics_digests[i],
				    sizeof(digest)) != 0;
	return found;
}

static enum problem match_key(const struct keys *k, const char *authorization,
			      char owner[AUTH_OWNER_BYTES])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	const char *found = NULL;

	if (!digest_request(digest, authorization))
		return PROBLEM_UNAUTHORIZED;
	for (uint32_t i = 0; i < k->api_count; i++)
		if (memeql_sec(digest, k->api_digests[i], sizeof(digest)))
			found = k->api_owners[i];
	if (found == NULL)
		return PROBLEM_INVALID_KEY;
	(void)memcpy(owner, found, AUTH_OWNER_BYTES);
	return PROBLEM_NONE;
}

/*
 * *count is the number of parameters with this name.  Returns the value if
 * there is exactly one, otherwise NULL.
 */
static const char *find_parameter(const struct signed_query *r, const char *key,
				  uint32_t *count)
{
	const char *value = NULL;

	*count = 0;
	for (uint32_t i = 0; i < r->count; i++)
		if (strcmp(r->parameters[i].key, key) == 0) {
			value = r->parameters[i].value;
			(*count)++;
		}
	return *count == 1 ? value : NULL;
}

static void drop_parameter(struct signed_query *r, const char *key)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (strcmp(r->parameters[i].key, key) != 0)
			r->parameters[kept++] = r->parameters[i];
	r->count = kept;
}

/*
 * False: the query does not have exactly one `expires`, or it is not a number.
 */
static bool read_expires(int64_t *expires_s, const struct signed_query *r)
{
	uint32_t count;
	const char *text = find_parameter(r, expires_name, &count);

	if (text == NULL || text[0] == '\0' ||
	    text[strspn(text, "0123456789")] != '\0' ||
	    strlen(text) > EXPIRES_DIGITS_MAX)
		return false;
	*expires_s = strtoll(text, NULL, 10);
	return true;
}

/* Sorts the parameters of `q` and removes the signature. */
static enum problem match_signature(const struct keys *k,
				    struct signed_query *q, int64_t now_s,
				    char owner[AUTH_OWNER_BYTES])
{
	uint32_t count;
	const char *given = find_parameter(q, signature_name, &count);
	const char *found = NULL;
	int64_t expires_s;

	if (count == 0 || k->sign_count == 0)
		return PROBLEM_UNAUTHORIZED;
	if (given == NULL || !read_expires(&expires_s, q))
		return PROBLEM_BAD_SIGNATURE;
	drop_parameter(q, signature_name);
	for (uint32_t i = 0; i < k->sign_count; i++) {
		char made[SIGNATURE_HEX_CHARS + 1];

		if (!signature_make(made, &k->sign_keys[i], q))
			return PROBLEM_BAD_SIGNATURE;
		if (signature_is(made, given))
			found = k->sign_owners[i];
	}
	if (found == NULL)
		return PROBLEM_BAD_SIGNATURE;
	if (now_s >= expires_s)
		return PROBLEM_SIGNATURE_EXPIRED;
	(void)memcpy(owner, found, AUTH_OWNER_BYTES);
	return PROBLEM_NONE;
}

_Static_assert((int)AUTH_OWNER_BYTES == OWNER_BYTES, "owners have one size");

enum { SIGNED_SHOWN_BYTES = 301 }; /* of a text that was signed, in a problem */

/*
 * Append a part of the signed text as far as there is room, with printable
 * ASCII only.
 */
static void show_signed(char out[SIGNED_SHOWN_BYTES], const char *text,
			const char *after)
{
	size_t at = strlen(out);

	(void)params_show(out + at, SIGNED_SHOWN_BYTES - at, text);
	at = strlen(out);
	(void)snprintf(out + at, SIGNED_SHOWN_BYTES - at, "%s", after);
}

/* `q` as match_signature() has left it: sorted, without the signature. */
static void explain_signed_text(struct request *r, const struct signed_query *q)
{
	char shown[SIGNED_SHOWN_BYTES] = "";

	show_signed(shown, q->method, "\n");
	show_signed(shown, q->path, "\n");
	for (uint32_t i = 0; i < q->count; i++) {
		show_signed(shown, q->parameters[i].key, "=");
		show_signed(shown, parameter_value(&q->parameters[i]), "\n");
	}
	request_explain(
		r,
		"The signature is not the HMAC-SHA256 of \"%s\"%s with a "
		"key of this server, taken without its line feed.",
		shown, strlen(shown) + 1 < sizeof(shown) ? "" : " and so on");
}

/*
 * The same checks as in match_signature(), in the same order.  NULL: another
 * key or another text was signed.
 */
static const char *wrong_with_query(const struct signed_query *q)
{
	uint32_t signatures, expiries;
	const char *given = find_parameter(q, signature_name, &signatures);
	int64_t expires_s;

	if (signatures > 0 && given == NULL)
		return "The query must have one signature with a value.";
	(void)find_parameter(q, expires_name, &expiries);
	if (expiries == 0)
		return "The signed query has no expires.";
	if (!read_expires(&expires_s, q))
		return "expires must be given once, as a whole number of "
		       "seconds since 1970.";
	for (uint32_t i = 0; i < q->count; i++)
		if (!parameter_is_clear(&q->parameters[i]))
			return "A parameter with = in its name, or with a line "
			       "feed, cannot be signed.";
	return NULL;
}

static enum problem check_signed_query(const struct keys *k, struct request *r)
{
	/* GET for HEAD, too. */
	struct signed_query q = { .method = route_method_name(r->route),
				  .path = r->path };
	enum problem problem;
	const char *wrong;

	for (uint32_t i = 0; i < r->argument_count; i++)
		q.parameters[q.count++] = (struct signature_parameter){
			.key = r->arguments[i].name,
			.value = r->arguments[i].value,
		};
	problem = match_signature(k, &q, time(NULL), r->owner);
	if (problem != PROBLEM_BAD_SIGNATURE)
		return problem;
	wrong = wrong_with_query(&q);
	if (wrong != NULL)
		request_explain(r, "%s", wrong);
	else
		explain_signed_text(r, &q);
	return problem;
}

/*
 * Probes, stored images, the page and preflights need no key.  If there are no
 * keys, pages of other sites may ask for them.
 */
static bool is_public(enum role role)
{
	return role == ROLE_PROBE || role == ROLE_IMAGE || role == ROLE_PAGE ||
	       role == ROLE_PREFLIGHT;
}

/* The key is no API key: is it a metrics key, and may that do this? */
static enum problem match_metrics_key(const struct keys *k,
				      const struct request *r)
{
	if (!is_metrics_key(k, request_header(r, "Authorization")))
		return PROBLEM_INVALID_KEY;
	return r->route->takes_metrics_key ? PROBLEM_NONE :
					     PROBLEM_KEY_NOT_ALLOWED;
}

/* With keys: one of them must allow the request. */
static enum problem check_keys(const struct keys *k, struct request *r)
{
	enum problem problem, signature;

	if (is_public(r->route->role))
		return PROBLEM_NONE;
	/* Who knows the ticket may use it, but not by another site's page. */
	if (r->route->role == ROLE_TICKET)
		return browsers_check_origin(r);
	problem = match_key(k, request_header(r, "Authorization"), r->owner);
	if (problem == PROBLEM_INVALID_KEY)
		problem = match_metrics_key(k, r);
	if (problem == PROBLEM_UNAUTHORIZED && r->route->role != ROLE_UPLOAD)
		request_explain(r,
				"Send a key as \"Authorization: Bearer KEY\".");
	if (problem == PROBLEM_NONE || r->route->role != ROLE_UPLOAD)
		return problem;
	signature = check_signed_query(k, r);
	r->is_signed = signature == PROBLEM_NONE;
	/* Pages of other sites may show a picture, as a stored one. */
	if (r->is_signed && r->route->method == METHOD_GET)
		return PROBLEM_NONE;
	if (r->is_signed)
		return browsers_check_origin(r);
	/*
	 * If there is no signature, the problem is what was wrong with the key.
	 */
	return signature == PROBLEM_UNAUTHORIZED ? problem : signature;
}

enum problem auth_check_request(struct request *r)
{
	struct auth *a = r->config->auth;
	enum problem problem;

	(void)pthread_rwlock_rdlock(&a->lock);
	problem = has_keys(&a->keys) ?
			  check_keys(&a->keys, r) :
			  browsers_check_page(r, is_public(r->route->role));
	(void)pthread_rwlock_unlock(&a->lock);
	return problem;
}
