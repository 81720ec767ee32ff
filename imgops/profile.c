/* SPDX-License-Identifier: MIT */
#include "imgops/profile.h"

#include "imgops/markers.h"

#include <string.h>

enum {
	NAME_BYTES = 12,             /* "ICC_PROFILE" and its zero */
	HEAD_BYTES = NAME_BYTES + 2, /* number, from 1, and count */
	CHUNKS_MAX = 255,
};

struct chunks {
	struct marker list[CHUNKS_MAX]; /* by number; without data: not seen */
	uint32_t count;                 /* as the first one has it; 0: none */
	uint32_t seen_count;
	size_t bytes; /* of all, without heads */
};

/* False: it contradicts those before. */
static bool add_chunk(struct chunks *c, const struct marker *m)
{
	uint32_t number = m->data[NAME_BYTES], count = m->data[NAME_BYTES + 1];

	if (c->seen_count == 0)
		c->count = count;
	if (number == 0 || number > count || count != c->count ||
	    c->list[number - 1].data != NULL)
		return false;
	c->list[number - 1] = *m;
	c->seen_count++;
	c->bytes += m->bytes - HEAD_BYTES;
	return true;
}

static enum profile_state find_chunks(struct chunks *c, const uint8_t *jpeg,
				      size_t jpeg_bytes)
{
	struct markers w;
	struct marker m;

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return PROFILE_NONE;
	while (markers_next(&w, &m) && m.code != MARKER_SOS)
		if (m.code == MARKER_APP2 && m.bytes >= HEAD_BYTES &&
		    marker_begins(&m, "ICC_PROFILE", NAME_BYTES) &&
		    !add_chunk(c, &m))
			return PROFILE_BROKEN;
	if (c->seen_count == 0)
		return PROFILE_NONE;
	if (c->seen_count != c->count || c->bytes == 0 ||
	    c->bytes > PROFILE_BYTES_MAX)
		return PROFILE_BROKEN;
	return PROFILE_READ;
}

enum profile_state profile_read(uint8_t **profile, size_t *bytes,
				const uint8_t *jpeg, size_t jpeg_bytes,
				const struct img_memory *memory)
{
	struct chunks c = { 0 };
	enum profile_state state = find_chunks(&c, jpeg, jpeg_bytes);
	uint8_t *to;

	if (state != PROFILE_READ)
		return state;
	to = memory->alloc(memory->arg, c.bytes);
	if (to == NULL)
		return PROFILE_NO_MEMORY;
	*profile = to;
	*bytes = c.bytes;
	for (uint32_t i = 0; i < c.count; i++) {
		size_t n = c.list[i].bytes - HEAD_BYTES;

		memcpy(to, c.list[i].data + HEAD_BYTES, n);
		to += n;
	}
	return PROFILE_READ;
}
