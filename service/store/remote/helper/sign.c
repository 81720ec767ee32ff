/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/sign.h"

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

enum {
	DAY_BYTES = 8, /* of a date */
	HEX_BYTES = BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1,
};

static const char service[] = "s3";
static const char last_word[] = "aws4_request";
static const char key_begin[] = "AWS4";

void sign_print_date(char date[SIGN_DATE_BYTES], time_t now)
{
	struct tm day;

	(void)gmtime_r(&now, &day);
	(void)strftime(date, SIGN_DATE_BYTES, "%Y%m%dT%H%M%SZ", &day);
}

const char *sign_find_header(const struct sign_request *r, const char *name)
{
	for (size_t i = 0; i < r->header_count; i++)
		if (strcmp(r->headers[i].name, name) == 0)
			return r->headers[i].value;
	return NULL;
}

static void print_hex(char out[HEX_BYTES],
		      const uint8_t digest[SHA256_DIGEST_SIZE])
{
	base16_encode_update(out, SHA256_DIGEST_SIZE, digest);
	out[HEX_BYTES - 1] = '\0';
}

static void add(struct sha256_ctx *ctx, const char *text)
{
	sha256_update(ctx, strlen(text), (const uint8_t *)text);
}

/* "host;x-amz-date" */
static void add_names(struct sha256_ctx *ctx, const struct sign_request *r)
{
	for (size_t i = 0; i < r->header_count; i++) {
		add(ctx, i > 0 ? ";" : "");
		add(ctx, r->headers[i].name);
	}
}

/* The hash of the request in the form that both ends make of it. */
static void hash_request(char out[HEX_BYTES], const struct sign_request *r)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	add(&ctx, r->method);
	add(&ctx, "\n");
	add(&ctx, r->path);
	add(&ctx, "\n");
	add(&ctx, r->query != NULL ? r->query : "");
	add(&ctx, "\n");
	for (size_t i = 0; i < r->header_count; i++) {
		add(&ctx, r->headers[i].name);
		add(&ctx, ":");
		add(&ctx, r->headers[i].value);
		add(&ctx, "\n");
	}
	add(&ctx, "\n");
	add_names(&ctx, r);
	add(&ctx, "\n");
	add(&ctx, sign_find_header(r, "x-amz-content-sha256"));
	sha256_digest(&ctx, sizeof(digest), digest);
	print_hex(out, digest);
}

static void next_key(uint8_t key[SHA256_DIGEST_SIZE], size_t key_bytes,
		     const uint8_t *from, const char *text, size_t count)
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, key_bytes, from);
	hmac_sha256_update(&ctx, count, (const uint8_t *)text);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, key);
	explicit_bzero(&ctx, sizeof(ctx));
}

/* The signature of `text`, with a key for this day, region and service. */
static void sign_text(char out[HEX_BYTES], const char *text, const char *date,
		      const char *region, const struct credentials *keys)
{
	char first[sizeof(key_begin) + sizeof(keys->secret_key)];
	const char *words[] = { region, service, last_word, text };
	uint8_t key[SHA256_DIGEST_SIZE];

	(void)snprintf(first, sizeof(first), "%s%s", key_begin,
		       keys->secret_key);
	next_key(key, strlen(first), (const uint8_t *)first, date, DAY_BYTES);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		next_key(key, sizeof(key), key, words[i], strlen(words[i]));
	print_hex(out, key);
	explicit_bzero(first, sizeof(first));
	explicit_bzero(key, sizeof(key));
}

void sign_print(char out[SIGN_BYTES], const struct sign_request *r,
		const char *region, const struct credentials *keys)
{
	const char *date = sign_find_header(r, "x-amz-date");
	char scope[SIGN_REGION_BYTES + 64], text[SIGN_BYTES], hex[HEX_BYTES];
	int at;

	hash_request(hex, r);
	(void)snprintf(scope, sizeof(scope), "%.*s/%s/%s/%s", DAY_BYTES, date,
		       region, service, last_word);
	(void)snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date,
		       scope, hex);
	sign_text(hex, text, date, region, keys);
	at = snprintf(out, SIGN_BYTES,
		      "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=",
		      keys->access_key, scope);
	for (size_t i = 0; i < r->header_count; i++)
		at += snprintf(out + at, SIGN_BYTES - (size_t)at, "%s%s",
			       i > 0 ? ";" : "", r->headers[i].name);
	(void)snprintf(out + at, SIGN_BYTES - (size_t)at, ", Signature=%s",
		       hex);
}
