/* SPDX-License-Identifier: MIT */
/*
 * Promise: white space after the value of Content-Length is removed, wherever
 * the bytes are split, and nothing else is; an invalid head stays invalid, and
 * is not read as a shorter one.
 */
#include "service/http/mhd/interpose.c"

#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 512 };

/* Read a text in two pieces; returns what remains of it. */
static const char *trim(const char *text, size_t cut)
{
	static char out[BYTES_MAX];
	input_state state = FIRST_LINE;
	size_t bytes = strlen(text), first;

	assert(bytes < sizeof(out));
	(void)strcpy(out, text);
	first = input_trim(&state, out, cut);
	memmove(out + first, out + cut, bytes - cut);
	bytes = first + input_trim(&state, out + first, bytes - cut);
	out[bytes] = '\0';
	return out;
}

static void check(const char *text, const char *expected)
{
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		const char *got = trim(text, cut);

		if (strcmp(got, expected) != 0)
			(void)fprintf(stderr, "at %zu: '%s'\n", cut, got);
		assert(strcmp(got, expected) == 0);
	}
}

#define LINE "POST / HTTP/1.1\r\n"
#define END "\r\n\r\n"

static void test_white_space_is_removed(void)
{
	check(LINE "Content-Length: 5 " END, LINE "Content-Length: 5" END);
	check(LINE "X: y \r\ncontent-LENGTH:\t15 \t " END "a: b \r\n",
	      LINE "X: y \r\ncontent-LENGTH:\t15" END "a: b \r\n");
	check("\r\n\r\n" LINE "Content-Length:7 \r\nA: b" END,
	      "\r\n\r\n" LINE "Content-Length:7\r\nA: b" END);
}

static void test_all_else_stays(void)
{
	static const char *const texts[] = {
		LINE "Content-Length: 5" END "Content-Length: 5 \r\n",
		LINE "\r\nContent-Length: 5 \r\n",
		LINE "X-Content-Length: 5 " END,
		LINE "Content-Length : 5 " END,
		LINE "Content-Lengt: 5 " END,
		LINE "Content-Length:  " END,
		LINE "Content-Length: +5 " END,
		LINE "Content-Length: 5x " END,
		LINE "Content-Length: 5\r " END,
		LINE " Content-Length: 5 " END,
		LINE "\rContent-Length: 5 " END,
		"Content-Length: 5 \r\n" LINE,
		LINE "\nContent-Length: 5 \r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check(texts[i], texts[i]);
}

/*
 * Whatever bytes follow the white space, an invalid value does not become
 * valid.
 */
static void test_what_is_wrong_stays_wrong(void)
{
	const char *text = LINE "Content-Length: 1 2" END;

	for (size_t cut = 0; cut <= strlen(text); cut++)
		assert(strstr(trim(text, cut), "Length: 1 ") != NULL);
	check(LINE "Content-Length: 5 \r \r\n",
	      LINE "Content-Length: 5\r \r\n");
}

/* Bytes that libmicrohttpd would misread are replaced, but only in the head. */
static void test_false_ends_are_replaced(void)
{
	static const char head[] = "\0" LINE "X\0: a\0\r\n\0\n:\nY::" END ":\0";
	static const char to[] = "\1" LINE "X\1: a\1\r\n\1\n\1\nY::" END ":\0";
	char out[sizeof(head)];

	_Static_assert(sizeof(head) == sizeof(to), "nothing is removed");
	for (size_t cut = 0; cut <= sizeof(head); cut++) {
		input_state state = FIRST_LINE;

		memcpy(out, head, sizeof(head));
		assert(input_trim(&state, out, cut) == cut);
		assert(input_trim(&state, out + cut, sizeof(head) - cut) ==
		       sizeof(head) - cut);
		assert(memcmp(out, to, sizeof(to)) == 0);
	}
}

int main(void)
{
	test_white_space_is_removed();
	test_all_else_stays();
	test_what_is_wrong_stays_wrong();
	test_false_ends_are_replaced();
	return 0;
}
