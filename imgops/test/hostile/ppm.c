/* SPDX-License-Identifier: MIT */
/* Hostile PPMs: headers that are nearly right. */
#include "imgops/test/hostile/hostile.h"

#include <string.h>

enum { WIDTH = 5, HEIGHT = 3, SAMPLES = 3 * WIDTH * HEIGHT };

/* A picture of 8 bits behind a header. */
static struct bytes ppm_of(const char *head, size_t samples)
{
	uint8_t file[1024];
	size_t count = strlen(head);

	memcpy(file, head, count);
	for (size_t i = 0; i < samples; i++)
		file[count++] = (uint8_t)scramble((uint32_t)i);
	return bytes_of(file, count);
}

static size_t samples_of(char kind)
{
	return kind == '6' ? SAMPLES : SAMPLES / 3;
}

/* A number in place of the width, the height or white. */
static void try_numbers(struct hostile *h, char kind, const char *seed)
{
	static const char *const numbers[] = {
		"",
		"0",
		"00",
		"005",
		"1",
		"2",
		"4",
		"6",
		"-1",
		"+5",
		"5.0",
		"5e0",
		"0x5",
		"five",
		"254",
		"256",
		"1023",
		"65535",
		"65536",
		"1000000",
		"2147483648",
		"4294967295",
		"4294967301",
		"18446744073709551621",
		"99999999999999999999999999999999",
	};
	static const char *const places[] = { "width", "height", "white" };
	static const char *const right[] = { "5", "3", "255" };

	for (size_t place = 0; place < ARRAY_SIZE(places); place++)
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
			const char *n[3] = { right[0], right[1], right[2] };
			char head[256];

			n[place] = numbers[i];
			(void)snprintf(head, sizeof(head), "P%c\n%s %s\n%s\n",
				       kind, n[0], n[1], n[2]);
			hostile_try(h, seed, ppm_of(head, samples_of(kind)),
				    "%s-is-%s", places[place],
				    i == 0 ? "missing" : numbers[i]);
		}
}

/* What is between the words of the header. */
static void try_spaces(struct hostile *h, char kind, const char *seed)
{
	static const struct {
		const char *name, *text;
	} spaces[] = {
		{ "nothing", "" },
		{ "tab", "\t" },
		{ "return", "\r" },
		{ "return-line", "\r\n" },
		{ "form-feed", "\f" },
		{ "vertical-tab", "\v" },
		{ "two-spaces", "  " },
		{ "comment", " #12 13\n" },
		{ "comment-first", "#x\n" },
		{ "comment-of-return", " #x\r" },
		{ "comments", " #\n#\n# x\n" },
		{ "comment-open", " #" },
		{ "letter", " x " },
		{ "comma", ", " },
		{ "escape", "\33" },
		{ "no-break-space", "\xc2\xa0" },
	};
	static const char *const places[] = { "the-name", "the-width",
					      "the-height", "white" };

	for (size_t place = 0; place < ARRAY_SIZE(places); place++)
		for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
			const char *t[] = { "\n", " ", "\n", "\n" };
			char head[128];

			t[place] = spaces[i].text;
			(void)snprintf(head, sizeof(head), "P%c%s5%s3%s255%s",
				       kind, t[0], t[1], t[2], t[3]);
			hostile_try(h, seed, ppm_of(head, samples_of(kind)),
				    "%s-after-%s", spaces[i].name,
				    places[place]);
		}
}

/* Netpbm's other kinds, and letters that are none. */
static void try_names(struct hostile *h)
{
	static const char names[] = "0123456789afFx ";

	for (const char *n = names; *n != '\0'; n++) {
		char head[] = "P?\n5 3\n255\n";

		if (*n == '5' || *n == '6')
			continue;
		head[1] = *n;
		hostile_try(h, "name", ppm_of(head, SAMPLES), "P%s",
			    *n == ' ' ? "-space" : (const char[]){ *n, 0 });
	}
	hostile_try(h, "name", ppm_of("p6\n5 3\n255\n", SAMPLES), "small-p6");
	hostile_try(h, "name", ppm_of("P6", 0), "nothing-else");
	hostile_try(h, "name",
		    ppm_of("P7\nWIDTH 5\nHEIGHT 3\nDEPTH 3\nMAXVAL 255\n"
			   "TUPLTYPE RGB\nENDHDR\n",
			   SAMPLES),
		    "PAM");
}

static void try_kind(struct hostile *h, char kind, const char *seed)
{
	char head[] = "P?\n5 3\n255\n";
	struct seed s;

	head[1] = kind;
	s = seed_of(seed, ppm_of(head, samples_of(kind)));
	(void)seed_part(&s, "name", 0, 2);
	(void)seed_part(&s, "width", 3, 1);
	(void)seed_part(&s, "height", 5, 1);
	(void)seed_part(&s, "white", 7, 3);
	(void)seed_part(&s, "samples", 11, samples_of(kind));
	seed_part(&s, "header", 0, 11)->is_inner = true;
	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_ends(h, &s);
	if (kind == '6') {
		mutate_all_bits(h, &s, "header", 0, 11 * 8);
		try_numbers(h, kind, seed);
	}
	try_spaces(h, kind, seed);
	seed_free(&s);
}

void hostile_ppm(struct hostile *h)
{
	try_kind(h, '6', "P6");
	try_kind(h, '5', "P5");
	try_names(h);
}
