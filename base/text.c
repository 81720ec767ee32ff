/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 4096 };

static bool text_make_room(struct text *t, size_t room)
{
	char *moved;

	if (room <= t->room)
		return true;
	if (room < 2 * t->room)
		room = 2 * t->room;
	if (room < ROOM_MIN)
		room = ROOM_MIN;
	moved = realloc(t->bytes, room);
	if (moved == NULL)
		return false;
	t->bytes = moved;
	t->room = room;
	return true;
}

/* A cookie_write_function_t; 0 is an error. */
static ssize_t text_append(void *cookie, const char *bytes, size_t count)
{
	struct text *t = cookie;

	if (!text_make_room(t, t->count + count + 1))
		return 0;
	memcpy(t->bytes + t->count, bytes, count);
	t->count += count;
	t->bytes[t->count] = '\0';
	return (ssize_t)count;
}

FILE *text_open(struct text *t)
{
	*t = (struct text){ .bytes = NULL };
	return fopencookie(t, "w",
			   (cookie_io_functions_t){ .write = text_append });
}

char *text_close(struct text *t, FILE *to)
{
	bool ok = fflush(to) == 0 && !ferror(to);

	ok = fclose(to) == 0 && ok;
	(void)text_append(t, "", 0); /* the NUL, if nothing was written */
	if (ok && t->bytes != NULL)
		return t->bytes;
	free(t->bytes);
	return NULL;
}
