/* SPDX-License-Identifier: MIT */
/*
 * Promise: text_close() returns everything that was written; if memory was too
 * short for all of it, it returns NULL.
 */
#include "base/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 100000 };

static size_t largest; /* the largest allocation that succeeds; 0: no limit */

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

void *__wrap_realloc(void *memory, size_t bytes)
{
	if (largest != 0 && bytes > largest)
		return NULL;
	return __real_realloc(memory, bytes);
}

static char *write_lines(struct text *t)
{
	FILE *to = text_open(t);

	assert(to != NULL);
	for (int i = 0; i < LINES; i++)
		(void)fprintf(to, "line %d\n", i);
	return text_close(t, to);
}

static void test_all_is_there(void)
{
	struct text t;
	char *text = write_lines(&t);
	char *end = text;

	assert(text != NULL && strlen(text) == t.count);
	for (int i = 0; i < LINES; i++) {
		assert(strncmp(end, "line ", 5) == 0);
		assert(strtol(end + 5, &end, 10) == i && *end++ == '\n');
	}
	assert(*end == '\0');
	free(text);
}

static void test_nothing_written_is_an_empty_text(void)
{
	struct text t;
	FILE *to = text_open(&t);
	char *text = to != NULL ? text_close(&t, to) : NULL;

	assert(text != NULL && text[0] == '\0' && t.count == 0);
	free(text);
}

static void test_lack_of_memory_is_reported(void)
{
	struct text t;

	largest = 1 << 16;
	assert(write_lines(&t) == NULL);
	largest = 0;
}

int main(void)
{
	test_all_is_there();
	test_nothing_written_is_an_empty_text();
	test_lack_of_memory_is_reported();
	return 0;
}
