/* SPDX-License-Identifier: MIT */
#include "imgops/metadata/metadata.h"

#include <string.h>

/* The bytes of a character that may be in XML; 0: there is none. */
static size_t character_bytes(const uint8_t *at, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = at[0] < 0x80  ? 1 :
		       at[0] >= 0xf0 ? 4 :
		       at[0] >= 0xe0 ? 3 :
				       2;
	uint32_t code = bytes == 1 ? at[0] : at[0] & (0x7fu >> bytes);

	if (bytes > left || (at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fu);
	}
	if (code < least[bytes] || (code >= 0xd800 && code < 0xe000) ||
	    code == 0xfffe || code == 0xffff || code > 0x10ffff)
		return 0;
	return bytes;
}

bool metadata_is_utf8(const uint8_t *text, size_t count)
{
	for (size_t i = 0, n; i < count; i += n) {
		n = character_bytes(text + i, count - i);
		if (n == 0 || text[i] == 0)
			return false;
	}
	return true;
}

static bool is_blank(uint8_t c)
{
	return c <= ' ' || c == 0x7f;
}

/* Append a byte, or a character of Latin-1.  False: there is no room. */
static bool append(char *text, size_t *at, uint8_t c, bool is_utf8)
{
	if (*at + 2 >= METADATA_FIELD_BYTES)
		return false;
	if (is_blank(c)) {
		text[(*at)++] = ' ';
	} else if (is_utf8 || c < 0x80) {
		text[(*at)++] = (char)c;
	} else if (c >= 0xa0) { /* others are control characters */
		text[(*at)++] = (char)(0xc0 | c >> 6);
		text[(*at)++] = (char)(0x80 | (c & 0x3f));
	}
	return true;
}

void metadata_record_add(struct metadata_record *r, enum metadata_field field,
			 const uint8_t *text, size_t count)
{
	char *to = r->text[field];
	size_t before = strlen(to), at = before;
	bool is_utf8, ok = true;

	while (count > 0 && is_blank(text[count - 1]))
		count--;
	while (count > 0 && is_blank(text[0])) {
		text++;
		count--;
	}
	if (count == 0)
		return;
	is_utf8 = metadata_is_utf8(text, count);
	for (const char *p = METADATA_BETWEEN; at > 0 && ok && *p != '\0'; p++)
		ok = append(to, &at, (uint8_t)*p, true);
	for (size_t i = 0; i < count && ok; i++)
		ok = append(to, &at, text[i], is_utf8);
	to[ok ? at : before] = '\0';
	r->is_left_out |= !ok;
}

void metadata_record_complete(struct metadata_record *r,
			      const struct metadata_record *from)
{
	for (uint32_t i = 0; i < METADATA_FIELDS; i++)
		if (r->text[i][0] == '\0')
			(void)strcpy(r->text[i], from->text[i]);
	r->is_left_out |= from->is_left_out;
}

void metadata_put(struct metadata_out *o, const void *bytes, size_t count)
{
	if (count > o->room - o->count) {
		o->is_bad = true;
		return;
	}
	if (count > 0)
		memcpy(o->bytes + o->count, bytes, count);
	o->count += count;
}

void metadata_put_text(struct metadata_out *o, const char *text)
{
	metadata_put(o, text, strlen(text));
}
