/* SPDX-License-Identifier: MIT */
#include "service/http/base64_piece.h"

#include <string.h>

#include <nettle/base64.h>

enum { GROUP_BYTES = 3, GROUP_CHARS = 4 };

uint64_t base64_piece_chars(const struct base64_piece *p)
{
	return p->is_encoded ? BASE64_ENCODE_RAW_LENGTH((uint64_t)p->count) :
			       p->count;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Some of one group of characters: the last one, or all there is room for. */
static size_t read_group(const uint8_t *bytes, size_t count, size_t skipped,
			 char *out, size_t max)
{
	char group[GROUP_CHARS];
	size_t taken = least(GROUP_CHARS - skipped, max);

	base64_encode_raw(group, least(count, GROUP_BYTES), bytes);
	memcpy(out, group + skipped, taken);
	return taken;
}

static size_t encode(const struct base64_piece *p, uint64_t offset, char *out,
		     size_t max)
{
	size_t from = (size_t)(offset / GROUP_CHARS) * GROUP_BYTES;
	size_t skipped = offset % GROUP_CHARS;
	const uint8_t *bytes = (const uint8_t *)p->bytes + from;
	size_t groups =
		least(max / GROUP_CHARS, (p->count - from) / GROUP_BYTES);

	if (skipped > 0 || groups == 0)
		return read_group(bytes, p->count - from, skipped, out, max);
	base64_encode_raw(out, groups * GROUP_BYTES, bytes);
	return groups * GROUP_CHARS;
}

size_t base64_piece_read(const struct base64_piece *p, uint64_t offset,
			 char *out, size_t max)
{
	size_t taken;

	if (p->is_encoded)
		return encode(p, offset, out, max);
	taken = least(p->count - (size_t)offset, max);
	memcpy(out, (const char *)p->bytes + offset, taken);
	return taken;
}
