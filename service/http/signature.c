/* SPDX-License-Identifier: MIT */
#include "service/http/signature.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/base16.h>
#include <nettle/memops.h>

void signature_key_set(struct signature_key *key, const char *secret,
		       size_t bytes)
{
	hmac_sha256_set_key(&key->start, bytes, (const uint8_t *)secret);
}

static const char *value_of(const struct signature_parameter *p)
{
	return p->value != NULL ? p->value : "";
}

/* The byte of "key=value" at `i`; 0 at its end. */
static unsigned char line_byte(const struct signature_parameter *p,
			       size_t key_bytes, size_t i)
{
	if (i < key_bytes)
		return (unsigned char)p->key[i];
	if (i == key_bytes)
		return '=';
	return (unsigned char)value_of(p)[i - key_bytes - 1];
}

static int compare_lines(const void *left, const void *right)
{
	const struct signature_parameter *a = left, *b = right;
	size_t a_bytes = strlen(a->key), b_bytes = strlen(b->key);
	size_t i = 0;

	while (line_byte(a, a_bytes, i) == line_byte(b, b_bytes, i) &&
	       line_byte(a, a_bytes, i) != '\0')
		i++;
	return line_byte(a, a_bytes, i) - line_byte(b, b_bytes, i);
}

static bool is_clear(const struct signature_parameter *p)
{
	return strpbrk(p->key, "=\n") == NULL &&
	       strchr(value_of(p), '\n') == NULL;
}

static void add(struct hmac_sha256_ctx *hmac, const char *text)
{
	hmac_sha256_update(hmac, strlen(text), (const uint8_t *)text);
}

bool signature_make(char hex[SIGNATURE_HEX_CHARS + 1],
		    const struct signature_key *key, const char *method,
		    const char *path, struct signature_parameter *parameters,
		    uint32_t count)
{
	struct hmac_sha256_ctx hmac = key->start;
	uint8_t digest[SHA256_DIGEST_SIZE];

	for (uint32_t i = 0; i < count; i++)
		if (!is_clear(&parameters[i]))
			return false;
	if (count > 0)
		qsort(parameters, count, sizeof(parameters[0]), compare_lines);
	add(&hmac, method);
	add(&hmac, "\n");
	add(&hmac, path);
	add(&hmac, "\n");
	for (uint32_t i = 0; i < count; i++) {
		add(&hmac, parameters[i].key);
		add(&hmac, "=");
		add(&hmac, value_of(&parameters[i]));
		add(&hmac, "\n");
	}
	hmac_sha256_digest(&hmac, sizeof(digest), digest);
	base16_encode_update(hex, sizeof(digest), digest);
	hex[SIGNATURE_HEX_CHARS] = '\0';
	return true;
}

bool signature_is(const char made[SIGNATURE_HEX_CHARS + 1], const char *given)
{
	char lower[SIGNATURE_HEX_CHARS];

	if (strlen(given) != SIGNATURE_HEX_CHARS)
		return false;
	for (size_t i = 0; i < SIGNATURE_HEX_CHARS; i++)
		lower[i] = (char)tolower((unsigned char)given[i]);
	return memeql_sec(made, lower, SIGNATURE_HEX_CHARS) != 0;
}
