/* SPDX-License-Identifier: MIT */
#include "service/http/head/digest.h"

#include "service/http/head/field_values.h"

#include <string.h>
#include <strings.h>

#include <nettle/base64.h>
#include <nettle/nettle-meta.h>

static const struct digest_kind {
	const char *name;     /* in Content-Digest */
	const char *tus_name; /* in Upload-Checksum */
	const struct nettle_hash *hash;
} kinds[] = {
	{ "sha-512", "sha512", &nettle_sha512 },
	{ "sha-256", "sha256", &nettle_sha256 },
	{ "sha", "sha1", &nettle_sha1 },
	{ "md5", "md5", &nettle_md5 },
};

enum { BASE64_CHARS_MAX = 4 * (DIGEST_BYTES_MAX / 3 + 1) };

static const struct digest_kind *find_kind(struct text_part name, bool is_tus)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *own = is_tus ? kinds[i].tus_name : kinds[i].name;

		if (text_part_is(name, text_part_of(own)))
			return &kinds[i];
	}
	return NULL;
}

/* Use this kind, if the text is a digest of it in base64. */
static bool set_wanted(struct digest *d, const struct digest_kind *kind,
		       struct text_part base64)
{
	uint8_t bytes[BASE64_DECODE_LENGTH(BASE64_CHARS_MAX)];
	struct base64_decode_ctx decode;
	size_t count = sizeof(bytes);

	base64_decode_init(&decode);
	if (base64.bytes > BASE64_CHARS_MAX ||
	    base64_decode_update(&decode, &count, bytes, base64.bytes,
				 base64.text) == 0 ||
	    base64_decode_final(&decode) == 0 ||
	    count != kind->hash->digest_size)
		return false;
	(void)memcpy(d->wanted, bytes, count);
	d->kind = kind;
	kind->hash->init(&d->state);
	return true;
}

/* "sha-256=:BASE64:", a member of a dictionary of RFC 8941. */
static bool read_member(struct digest *d, struct text_part member)
{
	const char *equals = memchr(member.text, '=', member.bytes);
	const struct digest_kind *kind;
	struct text_part value;

	if (equals == NULL)
		return false;
	kind = find_kind((struct text_part){ member.text,
					     (size_t)(equals - member.text) },
			 false);
	value.text = equals + 1;
	value.bytes = member.bytes - (size_t)(value.text - member.text);
	if (kind == NULL || value.bytes < 2 || value.text[0] != ':' ||
	    value.text[value.bytes - 1] != ':')
		return false;
	return set_wanted(
		d, kind, (struct text_part){ value.text + 1, value.bytes - 2 });
}

static bool read_dictionary(struct digest *d, const struct request_head *head)
{
	struct field_list list = { .head = head, .name = d->header };

	while (field_list_next(&list))
		if (read_member(d, list.item))
			return true;
	return false;
}

/* "sha1 BASE64" */
static bool read_checksum(struct digest *d, const char *value)
{
	size_t name_bytes = strcspn(value, " ");
	const struct digest_kind *kind =
		find_kind((struct text_part){ value, name_bytes }, true);

	d->is_tus = true;
	return kind != NULL && value[name_bytes] == ' ' &&
	       set_wanted(d, kind, text_part_of(value + name_bytes + 1));
}

bool digest_begin(struct digest *d, const struct request_head *head)
{
	static const char *const names[] = {
		"Upload-Checksum",
		"Content-Digest",
		"Repr-Digest",
		"Content-MD5",
	};
	const char *value = NULL;

	d->header = NULL;
	d->is_tus = false;
	for (size_t i = 0; i < ARRAY_SIZE(names) && value == NULL; i++) {
		value = http_field_find(head->fields, head->field_count,
					names[i]);
		if (value != NULL)
			d->header = names[i];
	}
	if (value == NULL)
		return true;
	if (d->header == names[0])
		return read_checksum(d, value);
	if (d->header == names[ARRAY_SIZE(names) - 1])
		return set_wanted(d, find_kind(text_part_of("md5"), false),
				  text_part_of(value));
	return read_dictionary(d, head);
}

void digest_add(struct digest *d, const void *bytes, size_t count)
{
	if (d->header != NULL)
		d->kind->hash->update(&d->state, count, bytes);
}

bool digest_end(struct digest *d)
{
	uint8_t found[DIGEST_BYTES_MAX];
	size_t count;

	if (d->header == NULL)
		return true;
	count = d->kind->hash->digest_size;
	d->kind->hash->digest(&d->state, count, found);
	return memcmp(found, d->wanted, count) == 0;
}
