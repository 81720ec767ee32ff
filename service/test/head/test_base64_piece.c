/* SPDX-License-Identifier: MIT */
/*
 * Promise: a piece that is read in any steps gives the same text as when it is
 * read at once.
 */
#include "service/http/reply/result.c"

#include "base/test/check.h"
#include "base/util.h"

#include <string.h>

/* RFC 4648, 10. */
static const char *const vectors[][2] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
};

/*
 * Read at most `step` characters at once, into a buffer of exactly this size.
 */
static void check(const struct base64_piece *p, const char *whole, size_t step)
{
	char out[64] = "";
	uint64_t chars = base64_piece_chars(p), at = 0;

	CHECK_NUMBER(chars, ==, strlen(whole));
	while (at < chars) {
		size_t room = chars - at < step ? (size_t)(chars - at) : step;
		size_t taken;

		memset(out + at, '!', sizeof(out) - at);
		taken = base64_piece_read(p, at, out + at, step);
		CHECK_NUMBER(taken, >=, 1);
		CHECK_NUMBER(taken, <=, room);
		at += taken;
		CHECK_NUMBER(out[at], ==, '!');
	}
	CHECK(memcmp(out, whole, chars) == 0);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const char *bytes = vectors[i][0];
		struct base64_piece encoded = { bytes, strlen(bytes), true };
		struct base64_piece plain = { bytes, strlen(bytes), false };

		for (size_t step = 1; step <= 12; step++) {
			check(&encoded, vectors[i][1], step);
			check(&plain, bytes, step);
		}
	}
	return 0;
}
