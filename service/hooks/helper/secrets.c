/* SPDX-License-Identifier: MIT */
#include "service/hooks/helper/secrets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nettle/base64.h>
#include <nettle/hmac.h>

static const char prefix[] = "whsec_";

enum {
	PREFIX_CHARS = sizeof(prefix) - 1,
	LINE_CHARS_MAX =
		PREFIX_CHARS + BASE64_ENCODE_RAW_LENGTH(SECRET_BYTES_MAX),
};

/* `line` has at most LINE_CHARS_MAX characters. */
static bool decode(struct secret *to, const char *line, size_t chars)
{
	uint8_t bytes[BASE64_DECODE_LENGTH(LINE_CHARS_MAX)];
	struct base64_decode_ctx base64;
	size_t count = sizeof(bytes);
	bool is_good;

	base64_decode_init(&base64);
	is_good = base64_decode_update(&base64, &count, bytes,
				       chars - PREFIX_CHARS,
				       line + PREFIX_CHARS) == 1 &&
		  base64_decode_final(&base64) == 1 &&
		  count >= SECRET_BYTES_MIN && count <= SECRET_BYTES_MAX;
	if (is_good) {
		(void)memcpy(to->bytes, bytes, count);
		to->count = count;
	}
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(&base64, sizeof(base64));
	return is_good;
}

static bool read_line(struct secrets *s, const char *line, size_t chars,
		      uint32_t number, struct error *error)
{
	if (chars > 0 && line[chars - 1] == '\r')
		chars--;
	if (chars == 0 || line[0] == '#')
		return true;
	if (s->count == SECRETS_MAX)
		return error_fail(error, "it has more than %d keys",
				  SECRETS_MAX);
	if (chars > PREFIX_CHARS && chars <= LINE_CHARS_MAX &&
	    memcmp(line, prefix, PREFIX_CHARS) == 0 &&
	    decode(&s->list[s->count], line, chars)) {
		s->count++;
		return true;
	}
	return error_fail(error,
			  "line %" PRIu32 " is not whsec_ and the base64 of %d "
			  "to %d bytes",
			  number, SECRET_BYTES_MIN, SECRET_BYTES_MAX);
}

bool secrets_read(struct secrets *s, const char *text, struct error *error)
{
	(void)memset(s, 0, sizeof(*s));
	for (uint32_t number = 1; *text != '\0'; number++) {
		size_t chars = strcspn(text, "\n");

		if (!read_line(s, text, chars, number, error))
			return false;
		text += chars + (text[chars] == '\n');
	}
	return s->count > 0 || error_fail(error, "it has no key");
}

static void sign(const struct secret *key, const char *head, const char *body,
		 size_t body_bytes,
		 char out[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1])
{
	struct hmac_sha256_ctx hmac;
	uint8_t digest[SHA256_DIGEST_SIZE];

	hmac_sha256_set_key(&hmac, key->count, key->bytes);
	hmac_sha256_update(&hmac, strlen(head), (const uint8_t *)head);
	hmac_sha256_update(&hmac, body_bytes, (const uint8_t *)body);
	hmac_sha256_digest(&hmac, SHA256_DIGEST_SIZE, digest);
	base64_encode_raw(out, SHA256_DIGEST_SIZE, digest);
	out[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE)] = '\0';
	explicit_bzero(&hmac, sizeof(hmac));
}

void secrets_sign(const struct secrets *s, const char *id, uint64_t timestamp,
		  const char *body, size_t body_bytes,
		  char out[SECRETS_SIGNATURE_BYTES])
{
	char head[128], text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];
	size_t at = 0;

	(void)snprintf(head, sizeof(head), "%s.%" PRIu64 ".", id, timestamp);
	out[0] = '\0';
	for (uint32_t i = 0; i < s->count; i++) {
		sign(&s->list[i], head, body, body_bytes, text);
		at += (size_t)snprintf(out + at, SECRETS_SIGNATURE_BYTES - at,
				       "%sv1,%s", i > 0 ? " " : "", text);
	}
}
