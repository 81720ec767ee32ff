/* SPDX-License-Identifier: MIT */
/*
 * Promise: the viewers' first frame is made with `is_first` true, even if
 * memory was short several times before; later frames are made with false.
 */
#include "service/http/handlers/watch/viewers.c"

#include "base/test/check.h"

#include <stdatomic.h>
#include <string.h>

enum { FAILED = 2, FRAMES = 5 };

struct frames {
	_Atomic int count;
	bool are_first[FRAMES];
};

static char *make(void *arg, bool is_first)
{
	struct frames *f = arg;
	int number = atomic_load(&f->count);

	if (number < FRAMES) {
		f->are_first[number] = is_first;
		atomic_store(&f->count, number + 1);
	}
	return number < FAILED ? NULL : strdup("frame");
}

int main(void)
{
	static struct frames frames;
	struct viewers *all = viewers_start(make, &frames);
	struct viewer *v;
	char text[16];

	CHECK(all != NULL);
	CHECK_NUMBER(viewer_add(all, strdup("hello"), NULL, &v), ==,
		     VIEWERS_ENTERED);
	CHECK_NUMBER(viewer_read(v, text, sizeof(text)), ==, 5);
	CHECK(memcmp(text, "hello", 5) == 0);
	while (atomic_load(&frames.count) < FRAMES) {
		CHECK_NUMBER(viewer_read(v, text, sizeof(text)), ==, 5);
		CHECK(memcmp(text, "frame", 5) == 0);
	}
	viewer_remove(v);
	viewers_stop(all);
	for (int i = 0; i < FRAMES; i++)
		CHECK_NUMBER(frames.are_first[i], ==, (i <= FAILED));
	return 0;
}
