/* SPDX-License-Identifier: MIT */
/*
 * Hostile files: odd and broken files of each format, made from intact ones.
 *
 *	seed -> mutate_...() and what is peculiar to the format -> hostile_try()
 *
 * A file is named after its seed and what was done to it: "rgba/cut-in-IDAT".
 * check_hostile.c runs each file and compares the answer with a manifest, so
 * names are unique within a format.
 *
 * Ownership  hostile_try() frees the bytes it gets.  A seed keeps its own until
 *            seed_free().  Functions that return struct bytes return a new file
 *            of malloc() and leave what they got as it was.
 */
#ifndef IMGOPS_TEST_HOSTILE_H
#define IMGOPS_TEST_HOSTILE_H

#include "imgops/test/support.h"

struct hostile;

/* --- Seeds --- */

/* A chunk, box or block of a file.  Its size is a number within it. */
struct part {
	char name[16];
	size_t at, bytes; /* of all of it */
	size_t data_at;   /* after its head */
	size_t size_at;
	uint32_t size_bytes; /* of that number; 0: it has none */
	size_t name_at;      /* of four letters; 0: none */
	bool is_inner;       /* within another part */
};

enum { SEED_PARTS_MAX = 64 };

struct seed {
	const char *name;
	struct bytes file;
	bool is_little_endian;
	/* Make the sums and sizes right that belong to the whole file. */
	void (*repair)(struct bytes file);
	struct part parts[SEED_PARTS_MAX];
	uint32_t part_count;
};

/* `file` belongs to the seed. */
struct seed seed_of(const char *name, struct bytes file);
void seed_free(struct seed *s);

/* Add a part; its name gets a number if it is not the first of this name. */
struct part *seed_part(struct seed *s, const char *name, size_t at,
		       size_t bytes);

/* The part of this name, which must be there. */
const struct part *seed_find(const struct seed *s, const char *name);

/* --- Files --- */

struct bytes bytes_of(const void *data, size_t count);
struct bytes bytes_cut(struct bytes file, size_t count);
struct bytes bytes_insert(struct bytes file, size_t at, const void *data,
			  size_t count);
struct bytes bytes_without(struct bytes file, size_t at, size_t count);
/* With `count` bytes at `at` replaced. */
struct bytes bytes_set(struct bytes file, size_t at, const void *data,
		       size_t count);

uint64_t bytes_number(const uint8_t *at, uint32_t bytes, bool is_little);
void bytes_put_number(uint8_t *at, uint64_t value, uint32_t bytes,
		      bool is_little);

/* The file that --seeds has written: SUFFIX is that of the format. */
struct bytes hostile_seed(const struct hostile *h, const char *name);

/* --- What is done to them --- */

/* Run a file, whose name is SEED/ and the text. */
void hostile_try(struct hostile *h, const char *seed, struct bytes file,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As hostile_try(), after seed->repair(). */
void seed_try(struct hostile *h, const struct seed *s, struct bytes file,
	      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* As it is: the picture that others are compared with. */
void mutate_nothing(struct hostile *h, const struct seed *s);

/* Cut before each part, within it, and at places all over the file. */
void mutate_cuts(struct hostile *h, const struct seed *s);

/*
 * Each part: left out, twice, before the one before, of an unknown name; its
 * size 0, 1 less, 1 more, the largest.
 */
void mutate_parts(struct hostile *h, const struct seed *s);

/* A number in the data of a part. */
struct number {
	const char *part, *name;
	uint32_t offset, bytes;
};

/* Each number: 0, 1, 1 less, 1 more, the largest. */
void mutate_numbers(struct hostile *h, const struct seed *s,
		    const struct number *numbers, size_t count);

/* One bit of `count` bytes, spread over the data of a part. */
void mutate_bits(struct hostile *h, const struct seed *s, const char *part,
		 uint32_t count);

/* Each bit from `first` to before `end`, counted from the part's data. */
void mutate_all_bits(struct hostile *h, const struct seed *s, const char *part,
		     uint32_t first, uint32_t end);

/* Bytes after the end, and other files before and after it. */
void mutate_ends(struct hostile *h, const struct seed *s);

/*
 * EXIF data and ICC profiles that are broken, each by `put`, which returns the
 * file that has these.
 */
typedef struct bytes put_fn(const struct seed *s, const void *data,
			    size_t count);
void mutate_exif(struct hostile *h, const struct seed *s, put_fn *put);
void mutate_profile(struct hostile *h, const struct seed *s, put_fn *put);

/* --- The formats --- */

void hostile_png(struct hostile *h);
void hostile_webp(struct hostile *h);
void hostile_gif(struct hostile *h);
void hostile_avif(struct hostile *h);
void hostile_heic(struct hostile *h);
void hostile_jxl(struct hostile *h);
void hostile_ppm(struct hostile *h);

#endif
