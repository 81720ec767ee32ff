/* SPDX-License-Identifier: MIT */
/*
 * Promise: text_close() returns everything that was written; if memory was too
 * short for all of it, it returns NULL.
 */
#include "base/test/check.h"
#include "base/text.h"

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

	CHECK(to != NULL);
	for (int i = 0; i < LINES; i++)
		(void)fprintf(to, "line %d\n", i);
	return text_close(t, to);
}

static void test_all_is_there(void)
{
	struct text t;
	char *text = write_lines(&t);
	char *end = text;

	CHECK(text != NULL);
	CHECK_NUMBER(strlen(text), ==, t.count);
	for (int i = 0; i < LINES; i++) {
		CHECK(strncmp(end, "line ", 5) == 0);
		CHECK_NUMBER(strtol(end + 5, &end, 10), ==, i);
		CHECK_NUMBER(*end++, ==, '\n');
	}
	CHECK_NUMBER(*end, ==, '\0');
	free(text);
}

static void test_nothing_written_is_an_empty_text(void)
{
	struct text t;
	FILE *to = text_open(&t);
	char *text = to != NULL ? text_close(&t, to) : NULL;

	CHECK(text != NULL);
	CHECK_NUMBER(text[0], ==, '\0');
	CHECK_NUMBER(t.count, ==, 0);
	free(text);
}

static void test_lack_of_memory_is_reported(void)
{
	struct text t;

	largest = 1 << 16;
	CHECK(write_lines(&t) == NULL);
	largest = 0;
}

int main(void)
{
	test_all_is_there();
	test_nothing_written_is_an_empty_text();
	test_lack_of_memory_is_reported();
	return 0;
}
