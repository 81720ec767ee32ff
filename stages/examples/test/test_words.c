/* SPDX-License-Identifier: MIT */
/*
 * Promises: words of the search example are found in texts; their stems are
 * those of Porter's paper; words that sound the same have the same sound, and
 * others have not; and the distance of words is the number of changed letters.
 */
#include "base/test/check.h"
#include "../search/words.h"

#include <string.h>

static void test_words_of_a_text(void)
{
	static const char text[] = "The \"B-tree\" of 2 caf\xc3\xa9s, ";
	static const char *const words[] = { "the", "b", "tree",
					     "of",  "2", "caf\xc3\xa9s" };
	const char *at = text, *end = text + strlen(text);
	char word[WORD_BYTES];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		CHECK(word_next(&at, end, word));
		CHECK_TEXT(word, words[i]);
	}
	CHECK(!word_next(&at, end, word));
}

static void test_a_long_word_is_cut(void)
{
	char text[100], word[WORD_BYTES];
	const char *at = text;

	memset(text, 'x', sizeof(text));
	CHECK(word_next(&at, text + sizeof(text), word));
	CHECK_NUMBER(strlen(word), ==, WORD_BYTES - 1);
	CHECK(!word_next(&at, text + sizeof(text), word));
}

static void test_common_words(void)
{
	static const char *const common[] = { "a", "the", "your", "is",
					      "which" };

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		check_case("%s", common[i]);
		CHECK(word_is_common(common[i]));
	}
	CHECK(!word_is_common("tree"));
	CHECK(!word_is_common("thee"));
}

/* The examples of the paper, and words that stay. */
static void test_stems(void)
{
	static const char *const stems[][2] = {
		{ "caresses", "caress" },
		{ "ponies", "poni" },
		{ "caress", "caress" },
		{ "cats", "cat" },
		{ "feed", "feed" },
		{ "agreed", "agre" },
		{ "plastered", "plaster" },
		{ "bled", "bled" },
		{ "motoring", "motor" },
		{ "sing", "sing" },
		{ "conflated", "conflat" },
		{ "troubled", "troubl" },
		{ "sized", "size" },
		{ "hopping", "hop" },
		{ "tanned", "tan" },
		{ "falling", "fall" },
		{ "hissing", "hiss" },
		{ "filing", "file" },
		{ "happy", "happi" },
		{ "sky", "sky" },
		{ "relational", "relat" },
		{ "conditional", "condit" },
		{ "digitizer", "digit" },
		{ "vietnamization", "vietnam" },
		{ "hopefulness", "hope" },
		{ "sensibiliti", "sensibl" },
		{ "triplicate", "triplic" },
		{ "electrical", "electr" },
		{ "revival", "reviv" },
		{ "allowance", "allow" },
		{ "replacement", "replac" },
		{ "adoption", "adopt" },
		{ "effective", "effect" },
		{ "probate", "probat" },
		{ "rate", "rate" },
		{ "cease", "ceas" },
		{ "controll", "control" },
		{ "roll", "roll" },
		{ "is", "is" },
		{ "mp3s", "mp3s" },
		{ "generalizations", "gener" },
	};

	for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
		char word[WORD_BYTES];

		check_case("%s", stems[i][0]);
		strcpy(word, stems[i][0]);
		word_stem(word);
		CHECK_TEXT(word, stems[i][1]);
	}
}

static void test_sounds(void)
{
	static const char *const same[][2] = {
		{ "knight", "night" }, { "philosophy", "filosofy" },
		{ "write", "rite" },   { "receive", "recieve" },
		{ "color", "colour" }, { "kernel", "kernal" },
		{ "thumb", "thum" },   { "school", "skool" },
		{ "judge", "juje" },   { "action", "akshun" },
	};
	static const char *const other[][2] = {
		{ "file", "pile" }, { "thin", "tin" },  { "map", "mob" },
		{ "ship", "sip" },  { "king", "ring" },
	};
	char a[SOUND_BYTES], b[SOUND_BYTES];

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		check_case("%s", same[i][0]);
		word_sound(same[i][0], a);
		word_sound(same[i][1], b);
		CHECK_TEXT(a, b);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		check_case("%s", other[i][0]);
		word_sound(other[i][0], a);
		word_sound(other[i][1], b);
		CHECK(strcmp(a, b) != 0);
	}
	word_sound("h", a);
	CHECK(a[0] != '\0');
}

static void test_distances(void)
{
	CHECK_NUMBER(word_distance("kitten", "sitting"), ==, 3);
	CHECK_NUMBER(word_distance("", "abc"), ==, 3);
	CHECK_NUMBER(word_distance("abc", ""), ==, 3);
	CHECK_NUMBER(word_distance("tree", "tree"), ==, 0);
}

int main(void)
{
	test_words_of_a_text();
	test_a_long_word_is_cut();
	test_common_words();
	test_stems();
	test_sounds();
	test_distances();
	return 0;
}
