/* SPDX-License-Identifier: MIT */
/*
 * For the tests of imgops: a heap that counts and fails, JPEGs of any kind,
 * and libjpeg's own view of them.
 *
 * Pictures are functions of the position, so that each sample has a known
 * value, whatever the subsampling.  Errors fail an assertion.
 */
#ifndef IMGOPS_TEST_SUPPORT_H
#define IMGOPS_TEST_SUPPORT_H

#include "imgops/imgops.h"
#include "imgops/formats/jpeg/scans.h"

#include <stdio.h>

#include <jpeglib.h>

/* A struct memory that counts. */
struct heap {
	struct memory memory;
	uint32_t alloc_count;
	uint32_t live_count;  /* blocks not freed yet */
	size_t largest_bytes; /* the largest single request */
	uint32_t fail_at;     /* this allocation gets NULL; 0: none does */
	uint32_t pause_count;
};

void heap_init(struct heap *h);

extern const struct img_limits no_limits;

/* A target for must_decode(): the full size. */
extern const struct img_size full_size;

/*
 * The largest target for which a picture of `size` is decoded at `dct_scale`.
 */
struct img_size target_at(struct img_size size, uint32_t dct_scale);

/* The whole picture, as it is stored in the file. */
struct img_view whole_view(struct img_size size);

/* The value, 0..255, of a component at (x, y), in luma pixels. */
typedef double picture_fn(uint32_t component, double x, double y);

/* A gentle colour pattern, different along x and y. */
picture_fn waves;

/* The JPEG to make.  A member that is 0 means the most usual value. */
struct jpeg_spec {
	uint32_t width, height;
	/* Gives the values of components as stored in the file. */
	picture_fn *picture;
	/*
	 * The samples of the last blocks that are outside of the frame.  NULL:
	 * those at its edge are repeated.
	 */
	picture_fn *hidden;
	J_COLOR_SPACE space; /* 0: Y'CbCr */
	int h[4], v[4];      /* sampling factors */
	int quality;         /* 0: 95 */
	int restart_interval;
	bool progressive;
	bool optimize;       /* Huffman tables made for this picture */
	uint32_t shuffle;    /* 1, 2, ..: give common symbols long AC codes */
	bool separate_scans; /* sequential: one scan for each component */
	bool arithmetic;
	bool two_components; /* of no known colour space */
	bool no_adobe;       /* leave out the Adobe marker */
	uint32_t orientation;
	bool little_endian; /* EXIF */
};

struct bytes {
	uint8_t *data; /* of malloc() */
	size_t count;
};

struct bytes jpeg_make(const struct jpeg_spec *spec);

/* Encode `jpeg` again with the scans of `script`; frees `jpeg`. */
struct bytes jpeg_with_scans(struct bytes jpeg, const jpeg_scan_info *script,
			     int scan_count);

/*
 * A JPEG of this height that has the rows of MCUs of `jpeg` again and again.
 * `jpeg` is sequential, of one scan, with JPEG_TILE_ROWS rows of MCUs, and has
 * a restart marker after each.
 */
enum { JPEG_TILE_ROWS = 8 };
struct bytes jpeg_of_height(struct bytes jpeg, uint32_t height);

/*
 * A sequential JPEG of three components in which every AC coefficient is -1 and
 * takes two bits: more work for a byte than any encoder makes.  `factors` are
 * the sampling factors, h << 4 | v.
 */
struct bytes jpeg_dense(uint32_t width, uint32_t height,
			const uint8_t factors[3]);

/* One component as a grey JPEG of its own size, with the same coefficients. */
struct bytes jpeg_component(struct bytes jpeg, int index);

/* How libjpeg sees a file, decoded at `dct_scale`. */
struct jpeg_view {
	uint32_t width, height, channels;
	uint8_t *pixels; /* of malloc(), interleaved */
	int components;
	int h[4], v[4];
	uint32_t marker_count; /* APPn and COM, without JFIF's APP0 */
};

struct jpeg_view jpeg_read(struct bytes jpeg, J_COLOR_SPACE space,
			   int dct_scale);

/* Dequantised coefficients of a grey JPEG. */
struct jpeg_blocks {
	uint32_t across, down;
	int32_t (*values)[64]; /* of malloc(); [v * 8 + u] */
};

struct jpeg_blocks jpeg_read_blocks(struct bytes jpeg);

/* Where the data of the first marker `code` begins, after its length. */
uint8_t *jpeg_marker(struct bytes jpeg, uint8_t code);

/*
 * True: the two headers promise the same of a file: what users read there, the
 * scale of a small result, and the costs of results of every format.
 */
bool headers_agree(const struct img_header *a, const struct img_header *b);

/* img_probe() without limits. */
enum img_err probe_bytes(struct img_header *h, struct bytes file);

/*
 * Check that the header does not depend on the pieces in which a good file
 * arrives.  `is_final`: once it is OK, more bytes do not change it.
 */
void check_arrival(struct bytes file, bool is_final);

/* img_decode(), or what the program of the format does. */
enum img_err decode_here(struct image *img, const uint8_t *bytes, size_t count,
			 const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory);

/* img_decode_any(), or what the program of the format does. */
enum img_err decode_any_here(struct image *img, const uint8_t *bytes,
			     size_t count, const struct img_header *header,
			     const struct img_view *view,
			     const struct img_transform *transform,
			     const struct img_limits *limits,
			     const struct memory *memory);

/*
 * As decode_any_here(), and leave out the border that `transform` asks to
 * remove: *view becomes that of what is inside.
 */
enum img_err decode_inside_here(struct image *img, const uint8_t *bytes,
				size_t count, struct img_header *header,
				struct img_view *view,
				const struct img_transform *transform,
				const struct img_limits *limits,
				const struct memory *memory);

/*
 * Probe and decode a copy on the heap, so that sanitizers notice overruns.  An
 * error must leave `img` empty.
 */
enum img_err decode_transform(struct image *img, const uint8_t *data,
			      size_t count,
			      const struct img_transform *transform,
			      const struct img_limits *limits, struct heap *h);

/* As decode_transform(), at full size. */
enum img_err decode_bytes(struct image *img, const uint8_t *data, size_t count,
			  const struct img_limits *limits, struct heap *h);

/* As decode_bytes(), but returns only the error. */
enum img_err decode_limits(struct bytes jpeg, const struct img_limits *limits,
			   struct heap *h);

/* Probe and decode at the usual scale, which must succeed. */
struct image must_decode(struct bytes jpeg, struct img_size target,
			 struct heap *h);

/* A 4:2:0 or grey image of `picture`, as img_scale() would make. */
struct image image_make(struct img_size size, enum img_space space,
			picture_fn *picture, struct heap *h);

bool is_empty(const struct image *img);

/* True: the same sizes, spans and samples. */
bool is_same(const struct image *a, const struct image *b);

/* The largest difference, in levels, of two pictures of the same sizes. */
int largest_difference(const struct image *a, const struct image *b);

/* The sample of `p` at (x, y), which must be inside. */
uint8_t sample(const struct img_plane *p, uint32_t x, uint32_t y);

/* The value of `picture` at this position, rounded. */
uint8_t picture_sample(picture_fn *picture, uint32_t component, double x,
		       double y);

/* Number `n` of a fixed pseudo-random sequence, 0..2^32-1. */
uint32_t scramble(uint32_t n);

/* scans_pieces() of a complete file. */
uint32_t scans_keep(struct piece pieces[SCANS_PIECES_MAX], const uint8_t *jpeg,
		    size_t jpeg_bytes, uint32_t dct_scale);

double psnr(double squared_error_total, double count);

#endif
