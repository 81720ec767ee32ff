/* SPDX-License-Identifier: MIT */
/*
 * Promises: a picture is found by the entry that it is nearest to, within that
 * entry's distance, as it is displayed or as it is in the file; never one of
 * low quality.  A list that is passed on is the same.  A broken file changes
 * nothing.
 */
#include "service/pipeline/block_list.h"

#include "base/test/check.h"
#include "base/test/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZEROS "00000000000000000000000000000000"
#define ONES "ffffffffffffffffffffffffffffffff"

static bool read_text(struct block_list *b, const char *text)
{
	char path[] = "block_list_XXXXXX", why[BLOCK_WHY_BYTES] = "";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	bool ok;

	CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
	ok = block_list_read(b, path, why);
	CHECK(ok == (why[0] == '\0'));
	CHECK(remove(path) == 0);
	return ok;
}

/* The hash of zeros with the first `bits` changed. */
static struct img_pdq picture(uint32_t bits)
{
	struct img_pdq pdq = { .quality = 100 };

	for (uint32_t i = 0; i < bits; i++)
		pdq.upright[i / 8] |= (uint8_t)(1 << i % 8);
	memset(pdq.stored, 0x55, sizeof(pdq.stored));
	return pdq;
}

static void test_the_nearest_is_found(void)
{
	struct block_list *b = block_list_new(31), *copy = block_list_new(0);
	struct block_match match;
	struct img_pdq pdq;
	void *packed = malloc(block_list_packed_bytes());

	CHECK(b != NULL && copy != NULL && packed != NULL);
	pdq = picture(0);
	CHECK(!block_list_has(b, &pdq, &match));
	CHECK(read_text(b, ONES ONES "\n" ZEROS ZEROS " first\r\n\n# x\n" ZEROS
				     "0000000000000000000000000000000f,4"));
	CHECK_NUMBER(block_list_count(b), ==, 3);
	pdq = picture(31);
	CHECK(block_list_has(b, &pdq, &match));
	CHECK_NUMBER(match.distance, ==, 31);
	pdq = picture(32);
	CHECK(!block_list_has(b, &pdq, &match));
	pdq = picture(230);
	CHECK(block_list_has(b, &pdq, &match));
	CHECK_NUMBER(match.hash[0], ==, 0xff);
	pdq = picture(0);
	pdq.upright[31] = 7;
	CHECK(block_list_has(b, &pdq, &match));
	CHECK_NUMBER(match.distance, ==, 1);
	CHECK_NUMBER(match.hash[31], ==, 0x0f);
	pdq.quality = BLOCK_QUALITY_MIN - 1;
	CHECK(!block_list_has(b, &pdq, &match));
	pdq = picture(128);
	CHECK(!block_list_has(b, &pdq, &match));
	memset(pdq.stored, 0, sizeof(pdq.stored));
	CHECK(block_list_has(b, &pdq, &match));
	block_list_pack(b, packed);
	block_list_unpack(copy, packed);
	CHECK_NUMBER(block_list_count(copy), ==, 3);
	CHECK(block_list_has(copy, &pdq, &match));
	free(packed);
	block_list_free(b);
	block_list_free(copy);
}

static void test_broken_files_change_nothing(void)
{
	static const char *const broken[] = {
		ZEROS,
		ZEROS ZEROS "0",
		ZEROS "0000000000000000000000000000000g",
		ZEROS "000000000000000 000000000000000",
		ZEROS ZEROS ",",
		ZEROS ZEROS ",65",
		ZEROS ZEROS ",-1",
		ZEROS ZEROS ",99999999999999999999",
		ZEROS ZEROS ",4;",
		ZEROS ZEROS ";4",
		"\n" ZEROS "\n" ZEROS,
	};
	struct block_list *b = block_list_new(31);
	char *many = malloc(66 * (BLOCK_ENTRIES_MAX + 1)), *at = many;

	CHECK(b != NULL && many != NULL);
	CHECK(read_text(b, ONES ONES));
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		check_case("broken[%zu]", i);
		CHECK(!read_text(b, broken[i]));
		CHECK_NUMBER(block_list_count(b), ==, 1);
	}
	for (int i = 0; i <= BLOCK_ENTRIES_MAX; i++, at += 65)
		(void)strcpy(at, ZEROS ZEROS "\n");
	CHECK(!read_text(b, many));
	at[-65] = '\0';
	CHECK(read_text(b, many));
	CHECK_NUMBER(block_list_count(b), ==, BLOCK_ENTRIES_MAX);
	CHECK(read_text(b, ""));
	CHECK_NUMBER(block_list_count(b), ==, 0);
	free(many);
	block_list_free(b);
}

int main(void)
{
	test_the_nearest_is_found();
	test_broken_files_change_nothing();
	return 0;
}
