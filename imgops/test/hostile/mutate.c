/* SPDX-License-Identifier: MIT */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#include "imgops/test/profiles.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- Files --- */

/* Inlined, gcc 14 takes a profile of 0 bytes for possible, and warns. */
__attribute__((noinline)) struct bytes bytes_of(const void *data, size_t count)
{
	struct bytes b = { malloc(count + 1), count };

	CHECK(b.data != NULL);
	if (count > 0)
		memcpy(b.data, data, count);
	return b;
}

struct bytes bytes_cut(struct bytes file, size_t count)
{
	CHECK_NUMBER(count, <=, file.count);
	return bytes_of(file.data, count);
}

struct bytes bytes_insert(struct bytes file, size_t at, const void *data,
			  size_t count)
{
	struct bytes b = { malloc(file.count + count + 1), file.count + count };

	CHECK(b.data != NULL);
	CHECK_NUMBER(at, <=, file.count);
	memcpy(b.data, file.data, at);
	if (count > 0)
		memcpy(b.data + at, data, count);
	memcpy(b.data + at + count, file.data + at, file.count - at);
	return b;
}

struct bytes bytes_without(struct bytes file, size_t at, size_t count)
{
	struct bytes b = bytes_of(file.data, file.count);

	CHECK_NUMBER(at + count, <=, file.count);
	memmove(b.data + at, b.data + at + count, file.count - at - count);
	b.count -= count;
	return b;
}

struct bytes bytes_set(struct bytes file, size_t at, const void *data,
		       size_t count)
{
	struct bytes b = bytes_of(file.data, file.count);

	CHECK_NUMBER(at + count, <=, file.count);
	memcpy(b.data + at, data, count);
	return b;
}

uint64_t bytes_number(const uint8_t *at, uint32_t bytes, bool is_little)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < bytes; i++)
		value = value << 8 | at[is_little ? bytes - 1 - i : i];
	return value;
}

void bytes_put_number(uint8_t *at, uint64_t value, uint32_t bytes,
		      bool is_little)
{
	for (uint32_t i = 0; i < bytes; i++, value >>= 8)
		at[is_little ? i : bytes - 1 - i] = (uint8_t)value;
}

/* --- Seeds --- */

struct seed seed_of(const char *name, struct bytes file)
{
	return (struct seed){ .name = name, .file = file };
}

void seed_free(struct seed *s)
{
	free(s->file.data);
	s->file = (struct bytes){ 0 };
}

struct part *seed_part(struct seed *s, const char *name, size_t at,
		       size_t bytes)
{
	struct part *p = &s->parts[s->part_count];
	size_t length = strlen(name);
	uint32_t alike = 0;

	CHECK_NUMBER(s->part_count, <, SEED_PARTS_MAX);
	CHECK_NUMBER(at + bytes, <=, s->file.count);
	for (uint32_t i = 0; i < s->part_count; i++)
		alike += strncmp(s->parts[i].name, name, length) == 0 &&
			 (s->parts[i].name[length] == '\0' ||
			  s->parts[i].name[length] == '.');
	*p = (struct part){ .at = at, .bytes = bytes, .data_at = at };
	if (alike == 0)
		(void)snprintf(p->name, sizeof(p->name), "%s", name);
	else
		(void)snprintf(p->name, sizeof(p->name), "%s.%u", name,
			       alike + 1);
	s->part_count++;
	return p;
}

const struct part *seed_find(const struct seed *s, const char *name)
{
	for (uint32_t i = 0; i < s->part_count; i++)
		if (strcmp(s->parts[i].name, name) == 0)
			return &s->parts[i];
	check_case("%s/%s", s->name, name);
	CHECK(!"a part of this name");
	return NULL;
}

void seed_try(struct hostile *h, const struct seed *s, struct bytes file,
	      const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (s->repair != NULL)
		s->repair(file);
	hostile_try(h, s->name, file, "%s", text);
}

/* --- Mutations --- */

void mutate_nothing(struct hostile *h, const struct seed *s)
{
	hostile_try(h, s->name, bytes_of(s->file.data, s->file.count),
		    "intact");
}

void mutate_cuts(struct hostile *h, const struct seed *s)
{
	enum { SPREAD = 10 };

	for (uint32_t i = 0; i < s->part_count; i++) {
		const struct part *p = &s->parts[i];

		if (p->at > 0 && !p->is_inner)
			hostile_try(h, s->name, bytes_cut(s->file, p->at),
				    "cut-before-%s", p->name);
		if (p->data_at > p->at && !p->is_inner)
			hostile_try(h, s->name,
				    bytes_cut(s->file, p->data_at - 1),
				    "cut-in-head-of-%s", p->name);
		if (p->at + p->bytes > p->data_at + 1)
			hostile_try(h, s->name,
				    bytes_cut(s->file,
					      (p->data_at + p->at + p->bytes +
					       1) / 2),
				    "cut-in-%s", p->name);
	}
	for (size_t i = 1; i < SPREAD; i++)
		hostile_try(h, s->name,
			    bytes_cut(s->file, s->file.count * i / SPREAD),
			    "cut-at-%zu0-percent", i);
	hostile_try(h, s->name, bytes_cut(s->file, s->file.count - 1),
		    "cut-by-1");
	hostile_try(h, s->name, bytes_cut(s->file, s->file.count - 2),
		    "cut-by-2");
}

/* The two parts change places. */
static struct bytes swapped(const struct seed *s, const struct part *first,
			    const struct part *second)
{
	struct bytes b = bytes_of(s->file.data, s->file.count);

	memcpy(b.data + first->at, s->file.data + second->at, second->bytes);
	memcpy(b.data + first->at + second->bytes, s->file.data + first->at,
	       first->bytes);
	return b;
}

static struct bytes with_number(const struct seed *s, size_t at, uint32_t bytes,
				uint64_t value)
{
	uint8_t number[8];

	bytes_put_number(number, value, bytes, s->is_little_endian);
	return bytes_set(s->file, at, number, bytes);
}

/* The values of a number that are tried, each once. */
static void mutate_number(struct hostile *h, const struct seed *s, size_t at,
			  uint32_t bytes, const char *name)
{
	uint64_t is =
		bytes_number(s->file.data + at, bytes, s->is_little_endian);
	uint64_t most = bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
	const struct {
		const char *name;
		uint64_t value;
	} tried[] = { { "0", 0 },
		      { "1", 1 },
		      { "less", is - 1 },
		      { "more", is + 1 },
		      { "max", most } };

	for (size_t i = 0; i < ARRAY_SIZE(tried); i++) {
		bool is_new = (tried[i].value & most) != is;

		for (size_t k = 0; k < i; k++)
			is_new &= (tried[k].value & most) !=
				  (tried[i].value & most);
		if (is_new)
			seed_try(h, s,
				 with_number(s, at, bytes, tried[i].value),
				 "%s-%s", name, tried[i].name);
	}
}

/* The part beside it, in the same part or in none.  NULL: it is the first. */
static const struct part *part_before(const struct seed *s,
				      const struct part *p)
{
	for (const struct part *o = s->parts; o < s->parts + s->part_count; o++)
		if (o->at + o->bytes == p->at)
			return o;
	return NULL;
}

static void mutate_part(struct hostile *h, const struct seed *s, uint32_t i)
{
	const struct part *p = &s->parts[i], *before = part_before(s, p);
	char name[32];

	if (!p->is_inner) {
		seed_try(h, s, bytes_without(s->file, p->at, p->bytes),
			 "without-%s", p->name);
		seed_try(h, s,
			 bytes_insert(s->file, p->at, s->file.data + p->at,
				      p->bytes),
			 "%s-twice", p->name);
	}
	if (before != NULL)
		seed_try(h, s, swapped(s, before, p), "%s-before-%s", p->name,
			 before->name);
	if (p->name_at > 0)
		seed_try(h, s, bytes_set(s->file, p->name_at, "zzZz", 4),
			 "%s-unknown", p->name);
	(void)snprintf(name, sizeof(name), "size-of-%s", p->name);
	if (p->size_bytes > 0)
		mutate_number(h, s, p->size_at, p->size_bytes, name);
}

void mutate_parts(struct hostile *h, const struct seed *s)
{
	for (uint32_t i = 0; i < s->part_count; i++)
		mutate_part(h, s, i);
}

void mutate_numbers(struct hostile *h, const struct seed *s,
		    const struct number *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct part *p = seed_find(s, numbers[i].part);
		char name[64];

		(void)snprintf(name, sizeof(name), "%s-%s", p->name,
			       numbers[i].name);
		mutate_number(h, s, p->data_at + numbers[i].offset,
			      numbers[i].bytes, name);
	}
}

static void flip(struct hostile *h, const struct seed *s, const struct part *p,
		 const char *name, size_t bit)
{
	struct bytes b = bytes_of(s->file.data, s->file.count);

	b.data[p->data_at + bit / 8] ^= (uint8_t)(1u << bit % 8);
	seed_try(h, s, b, "%s-%zu-of-%s", name, bit, p->name);
}

void mutate_bits(struct hostile *h, const struct seed *s, const char *part,
		 uint32_t count)
{
	const struct part *p = seed_find(s, part);
	size_t bits = 8 * (p->at + p->bytes - p->data_at);

	for (uint32_t i = 0; i < count; i++)
		flip(h, s, p, "bit",
		     bits * i / count + scramble(i) % (bits / count));
}

void mutate_all_bits(struct hostile *h, const struct seed *s, const char *part,
		     uint32_t first, uint32_t end)
{
	for (uint32_t bit = first; bit < end; bit++)
		flip(h, s, seed_find(s, part), "head-bit", bit);
}

void mutate_ends(struct hostile *h, const struct seed *s)
{
	static const uint8_t zeros[100], ppm[] = "P5 1 1 255\nx";
	static const uint8_t gif[] = "GIF89a\1\0\1\0\x80\0\0abcdef"
				     ",\0\0\0\0\1\0\1\0\0\2\2D\1\0;";
	static const struct {
		const char *name;
		const void *data;
		size_t count;
	} others[] = { { "zero", zeros, 1 },
		       { "zeros", zeros, sizeof(zeros) },
		       { "text", "<html><script>alert(1)</script>", 31 },
		       { "PPM", ppm, sizeof(ppm) - 1 },
		       { "GIF", gif, sizeof(gif) - 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		hostile_try(h, s->name,
			    bytes_insert(s->file, s->file.count, others[i].data,
					 others[i].count),
			    "%s-after", others[i].name);
		hostile_try(h, s->name,
			    bytes_insert(s->file, 0, others[i].data,
					 others[i].count),
			    "%s-before", others[i].name);
	}
	hostile_try(h, s->name,
		    bytes_insert(s->file, s->file.count, s->file.data,
				 s->file.count),
		    "same-after");
	hostile_try(h, s->name, bytes_of(s->file.data + 1, s->file.count - 1),
		    "without-first-byte");
}

/* --- EXIF and profiles --- */

#define EXIF "II*\0\10\0\0\0"
#define ORIENTATION "\22\1\3\0\1\0\0\0"
#define TEXT(name, text)                                                       \
	{                                                                      \
		name, text, sizeof(text) - 1                                   \
	}

void mutate_exif(struct hostile *h, const struct seed *s, put_fn *put)
{
	static const struct {
		const char *name;
		const void *data;
		size_t count;
	} kinds[] = {
		TEXT("empty", ""),
		TEXT("orientation-6", EXIF "\1\0" ORIENTATION "\6\0\0\0"),
		TEXT("orientation-0", EXIF "\1\0" ORIENTATION "\0\0\0\0"),
		TEXT("orientation-9", EXIF "\1\0" ORIENTATION "\11\0\0\0"),
		TEXT("orientation-65535",
		     EXIF "\1\0" ORIENTATION "\377\377\0\0"),
		TEXT("orientation-as-text",
		     EXIF "\1\0\22\1\2\0\1\0\0\0\6\0\0\0"),
		TEXT("orientation-none", EXIF "\1\0\22\1\3\0\0\0\0\0\6\0\0\0"),
		TEXT("orientation-twice",
		     EXIF "\2\0" ORIENTATION "\6\0\0\0" ORIENTATION "\3\0\0\0"),
		TEXT("big-endian", "MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1"
				   "\0\6\0\0"),
		TEXT("no-byte-order",
		     "XX*\0\10\0\0\0\1\0" ORIENTATION "\6\0\0\0"),
		TEXT("cut-in-header", "II*\0\10"),
		TEXT("cut-in-entry", EXIF "\1\0\22\1\3\0"),
		TEXT("more-entries", EXIF "\377\377" ORIENTATION "\6\0\0\0"),
		TEXT("offset-0", "II*\0\0\0\0\0"),
		TEXT("offset-of-itself",
		     "II*\0\4\0\0\0\1\0" ORIENTATION "\6\0\0\0"),
		TEXT("offset-max", "II*\0\377\377\377\377"),
		TEXT("of-JPEG", "Exif\0\0" EXIF "\1\0" ORIENTATION "\6\0\0\0"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		hostile_try(h, s->name, put(s, kinds[i].data, kinds[i].count),
			    "exif-%s", kinds[i].name);
}

static void try_profile(struct hostile *h, const struct seed *s, put_fn *put,
			struct bytes profile, const char *name)
{
	hostile_try(h, s->name, put(s, profile.data, profile.count),
		    "profile-%s", name);
}

/* Numbers in a profile of a matrix; its tags begin at 128. */
static void mutate_matrix(struct hostile *h, const struct seed *s, put_fn *put,
			  struct bytes profile)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t value;
	} changes[] = {
		{ "size-0", 0, 0 },
		{ "size-less", 0, 131 },
		{ "size-max", 0, UINT32_MAX },
		{ "version-99", 8, 0x63000000 },
		{ "of-a-printer", 12, 0x70727472 },
		{ "of-a-link", 12, 0x6c696e6b },
		{ "of-grey", 16, 0x47524159 },
		{ "of-CMYK", 16, 0x434d594b },
		{ "of-nothing", 16, 0 },
		{ "to-nothing", 20, 0 },
		{ "no-signature", 36, 0 },
		{ "tags-0", 128, 0 },
		{ "tags-1", 128, 1 },
		{ "tags-max", 128, UINT32_MAX },
		{ "tag-unknown", 132, 0x7a7a7a7a },
		{ "tag-at-0", 136, 0 },
		{ "tag-at-end", 136, UINT32_MAX },
		{ "tag-of-0-bytes", 140, 0 },
		{ "tag-of-max-bytes", 140, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		uint8_t number[4];
		struct bytes b;

		bytes_put_number(number, changes[i].value, 4, false);
		b = bytes_set(profile, changes[i].at, number, 4);
		try_profile(h, s, put, b, changes[i].name);
		free(b.data);
	}
}

void mutate_profile(struct hostile *h, const struct seed *s, put_fn *put)
{
	struct bytes matrix = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct bytes grey = profile_grey(2.2), cmyk = profile_cmyk();
	static const size_t cuts[] = { 0, 3, 127, 131, 200 };

	try_profile(h, s, put, matrix, "intact");
	try_profile(h, s, put, grey, "grey");
	try_profile(h, s, put, cmyk, "CMYK");
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++)
		hostile_try(h, s->name, put(s, matrix.data, cuts[i]),
			    "profile-cut-at-%zu", cuts[i]);
	hostile_try(h, s->name, put(s, matrix.data, matrix.count - 1),
		    "profile-cut-by-1");
	mutate_matrix(h, s, put, matrix);
	free(matrix.data);
	free(grey.data);
	free(cmyk.data);
}
