/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/markers.h"

#include <string.h>

enum {
	MARK = 0xff,
	STUFFED = 0x00,
	NEAR_BYTES = 4,
	GAP_BYTES_MAX = 64 << 10, /* the most bytes between two segments */
	PAUSE_BYTES = 256 << 10,  /* between two pauses, up to the next 0xff */
};

static bool is_restart(uint8_t code)
{
	return code >= MARKER_RST0 && code <= MARKER_RST7;
}

static bool stands_alone(uint8_t code)
{
	return code == MARKER_TEM || code == MARKER_SOI || code == MARKER_EOI ||
	       is_restart(code);
}

bool markers_start(struct markers *w, const uint8_t *jpeg, size_t jpeg_bytes)
{
	if (jpeg_bytes < 2 || jpeg[0] != MARK || jpeg[1] != MARKER_SOI)
		return false;
	*w = (struct markers){ .at = jpeg + 2, .end = jpeg + jpeg_bytes };
	return true;
}

/*
 * The next 0xff, or NULL.  memchr() is fast over long distances but slow to
 * start, and in a hostile file every second byte may be 0xff.
 */
static const uint8_t *find_mark(const uint8_t *p, const uint8_t *end)
{
	for (uint32_t i = 0; i < NEAR_BYTES && p < end; i++, p++)
		if (*p == MARK)
			return p;
	return memchr(p, MARK, (size_t)(end - p));
}

/*
 * Move to the 0xff of the next marker; if there are several in a row, to the
 * last.  False: no marker is left.
 */
static bool find_marker(struct markers *w)
{
	const uint8_t *p = w->at, *end = w->end, *paused = p;

	if (!w->in_scan && end - p > GAP_BYTES_MAX)
		end = p + GAP_BYTES_MAX;
	for (;; p++) {
		p = find_mark(p, end);
		if (p == NULL || end - p < 2)
			return false;
		if (w->memory != NULL && p - paused > PAUSE_BYTES) {
			memory_pause(w->memory);
			paused = p;
		}
		if (p[1] == MARK || p[1] == STUFFED)
			continue;
		if (w->in_scan && is_restart(p[1]))
			continue;
		w->at = p;
		return true;
	}
}

static bool read_segment(struct markers *w, struct marker *m)
{
	size_t left = (size_t)(w->end - w->at), length;

	if (left < 2)
		return false;
	length = (size_t)w->at[0] << 8 | w->at[1];
	if (length > left)
		return false;
	m->data = w->at + 2;
	m->bytes = length < 2 ? 0 : length - 2;
	w->at = m->data + m->bytes;
	return true;
}

bool markers_next(struct markers *w, struct marker *m)
{
	if (!find_marker(w)) {
		w->at = w->end;
		return false;
	}
	*m = (struct marker){ .code = w->at[1], .start = w->at };
	w->at += 2;
	m->data = w->at;
	w->in_scan = m->code == MARKER_SOS;
	if (m->code == MARKER_EOI)
		w->end = w->at;
	if (stands_alone(m->code))
		return true;
	if (read_segment(w, m))
		return true;
	w->at = w->end;
	return false;
}
