/* SPDX-License-Identifier: MIT */
#include "service/http/auth.h"

#include "stages/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nettle/memops.h>
#include <nettle/sha2.h>

enum {
	KEY_CHARS_MIN = 16,
	KEY_CHARS_MAX = 512,
	FILE_BYTES_MAX = 1 << 16,
	EXPIRES_DIGITS_MAX = 18, /* fits an int64_t */
};

static const char scheme[] = "Bearer ";
static const char expires_name[] = "expires";
static const char signature_name[] = "signature";

struct auth {
	uint8_t api_digests[AUTH_KEYS_MAX][SHA256_DIGEST_SIZE];
	uint32_t api_count;
	struct signature_key sign_keys[AUTH_KEYS_MAX];
	uint32_t sign_count;
};

struct auth *auth_new(void)
{
	return calloc(1, sizeof(struct auth));
}

void auth_free(struct auth *a)
{
	if (a == NULL)
		return;
	explicit_bzero(a, sizeof(*a));
	free(a);
}

static void digest_of(uint8_t digest[SHA256_DIGEST_SIZE], const char *key,
		      size_t bytes)
{
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, bytes, (const uint8_t *)key);
	sha256_digest(&sha, SHA256_DIGEST_SIZE, digest);
	explicit_bzero(&sha, sizeof(sha));
}

static void keep_api_key(struct auth *a, const char *key, size_t bytes)
{
	digest_of(a->api_digests[a->api_count++], key, bytes);
}

static void keep_sign_key(struct auth *a, const char *key, size_t bytes)
{
	signature_key_set(&a->sign_keys[a->sign_count++], key, bytes);
}

static const char *wrong_with(const char *key, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return "has a space, or what is not ASCII";
	if (bytes < KEY_CHARS_MIN)
		return "is shorter than 16 characters";
	if (bytes > KEY_CHARS_MAX)
		return "is longer than 512 characters";
	return NULL;
}

typedef void keep_fn(struct auth *a, const char *key, size_t bytes);

static bool read_lines(struct auth *a, keep_fn *keep, const char *text,
		       char why[AUTH_WHY_BYTES])
{
	uint32_t count = 0, number = 1;

	for (const char *line = text; *line != '\0'; number++) {
		size_t bytes = strcspn(line, "\r\n");
		const char *wrong = wrong_with(line, bytes);
		bool is_key = bytes > 0 && line[0] != '#';

		if (is_key && count == AUTH_KEYS_MAX)
			wrong = "is one key too many";
		if (is_key && wrong != NULL) {
			(void)snprintf(why, AUTH_WHY_BYTES, "line %u %s",
				       number, wrong);
			return false;
		}
		if (is_key) {
			keep(a, line, bytes);
			count++;
		}
		line += bytes;
		line += *line == '\r';
		line += *line == '\n';
	}
	(void)snprintf(why, AUTH_WHY_BYTES, "there is no key in it");
	return count > 0;
}

static bool read_file(struct auth *a, keep_fn *keep, const char *path,
		      char why[AUTH_WHY_BYTES])
{
	const char *unreadable;
	char *text = text_file_read(path, FILE_BYTES_MAX, &unreadable);
	bool ok = text != NULL;

	if (ok) {
		ok = read_lines(a, keep, text, why);
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
	return read_file(a, keep_api_key, path, why);
}

bool auth_read_sign_keys(struct auth *a, const char *path,
			 char why[AUTH_WHY_BYTES])
{
	return read_file(a, keep_sign_key, path, why);
}

bool auth_is_on(const struct auth *a)
{
	return a->api_count > 0 || a->sign_count > 0;
}

bool auth_takes_parameter(const struct auth *a, const char *key)
{
	return a->sign_count > 0 && (strcmp(key, expires_name) == 0 ||
				     strcmp(key, signature_name) == 0);
}

enum problem auth_check_key(const struct auth *a, const char *authorization)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	int found = 0;

	if (authorization == NULL ||
	    strncasecmp(authorization, scheme, strlen(scheme)) != 0)
		return PROBLEM_UNAUTHORIZED;

	const char *key = authorization + strlen(scheme);

	key += strspn(key, " ");
	digest_of(digest, key, strnlen(key, KEY_CHARS_MAX + 1));
	for (uint32_t i = 0; i < a->api_count; i++)
		found |= memeql_sec(digest, a->api_digests[i], sizeof(digest));
	return found ? PROBLEM_NONE : PROBLEM_INVALID_KEY;
}

/* The value of the one parameter of this name; NULL: none, or several. */
static const char *find_one(const struct auth_request *r, const char *key,
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

static void drop(struct auth_request *r, const char *key)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (strcmp(r->parameters[i].key, key) != 0)
			r->parameters[kept++] = r->parameters[i];
	r->count = kept;
}

/* False: it is not there once, or no number. */
static bool read_expires(int64_t *expires_s, const struct auth_request *r)
{
	uint32_t count;
	const char *text = find_one(r, expires_name, &count);

	if (text == NULL || text[0] == '\0' ||
	    text[strspn(text, "0123456789")] != '\0' ||
	    strlen(text) > EXPIRES_DIGITS_MAX)
		return false;
	*expires_s = strtoll(text, NULL, 10);
	return true;
}

enum problem auth_check_signature(const struct auth *a,
				  const struct auth_request *request,
				  int64_t now_s)
{
	struct auth_request r = *request;
	uint32_t count;
	const char *given = find_one(&r, signature_name, &count);
	int64_t expires_s;
	int found = 0;

	if (count == 0 || a->sign_count == 0)
		return PROBLEM_UNAUTHORIZED;
	if (given == NULL || !read_expires(&expires_s, &r))
		return PROBLEM_BAD_SIGNATURE;
	drop(&r, signature_name);
	for (uint32_t i = 0; i < a->sign_count; i++) {
		char made[SIGNATURE_HEX_CHARS + 1];

		if (!signature_make(made, &a->sign_keys[i], r.method, r.path,
				    r.parameters, r.count))
			return PROBLEM_BAD_SIGNATURE;
		found |= signature_is(made, given);
	}
	if (!found)
		return PROBLEM_BAD_SIGNATURE;
	return now_s < expires_s ? PROBLEM_NONE : PROBLEM_SIGNATURE_EXPIRED;
}
