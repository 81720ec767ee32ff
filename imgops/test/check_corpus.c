/* SPDX-License-Identifier: MIT */
/*
 * usage: check_corpus DIR EXCEPTIONS
 *   DIR/manifest.tsv: file, class, expected (accept, reject, either)
 *   EXCEPTIONS: file, answered as
 *
 * Promises, for every file, through the whole pipeline, at full size or in one
 * of some boxes, with TEST_ALL in the environment in each of them: a file to be
 * accepted is accepted by strict decoding; a file to be rejected fails, for a
 * reason that fits its class; if strict decoding accepts a file, lenient
 * decoding makes the same bytes; the memory in use at one time stays under a
 * bound, and all of it is freed.  The slowest files are printed.
 *
 * Damage in scans that are dropped (scans.h) is not noticed, so a damaged
 * progressive file may be accepted with a box.
 */
#include "imgops/imgops.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	SLOWEST = 5,
	NAME_BYTES = 256,
	EXCEPTIONS_MAX = 64,
	LIVE_BYTES_MAX = 256 << 20,
};

/*
 * The limits of the service, except for two, which are lower: decoding, scaling
 * to the same size and encoding one picture without a box must fit into
 * LIVE_BYTES_MAX.
 */
static const struct img_limits limits = {
	.side_px_max = 65500,
	.pixels_max = 40 * 1000 * 1000,
	.scans_max = 64,
	.decode_bytes_max = 160 << 20,
};

/* 0: no box.  Together they use all scales of the decoder. */
static const uint32_t boxes_px[] = { 0, 16, 64, 200 };

struct heap {
	uint64_t live_bytes, live_bytes_max;
};

struct result {
	enum img_err err;
	bool is_progressive;
	uint8_t *jpeg; /* allocated on the heap */
	size_t bytes;
};

struct exception {
	char file[NAME_BYTES], expected[16];
};

struct slow {
	char what[NAME_BYTES + 32];
	double seconds;
};

struct check {
	const char *dir;
	struct exception exceptions[EXCEPTIONS_MAX];
	uint32_t exception_count;
	struct slow slowest[SLOWEST]; /* slowest first */
	uint64_t live_bytes_max;
	uint32_t file_count, wrong_count, unnoticed_count;
};

/* The size of a block is stored in front of it. */
static void *heap_alloc(void *arg, size_t bytes)
{
	struct heap *h = arg;
	size_t *block = malloc(bytes + 64);

	CHECK(block != NULL);
	*block = bytes;
	h->live_bytes += bytes;
	if (h->live_bytes > h->live_bytes_max)
		h->live_bytes_max = h->live_bytes;
	return (char *)block + 64;
}

static void heap_free(void *arg, void *data)
{
	struct heap *h = arg;
	size_t *block = (size_t *)(void *)((char *)data - 64);

	h->live_bytes -= *block;
	free(block);
}

static struct result run(const uint8_t *jpeg, size_t jpeg_bytes,
			 const struct img_transform *transform,
			 const struct memory *memory)
{
	struct image decoded = { 0 }, scaled = { 0 }, blurred = { 0 };
	struct img_header header;
	struct result r = { .err = img_probe(&header, jpeg, jpeg_bytes,
					     &limits) };

	if (r.err != IMG_OK)
		return r;

	struct img_view view = img_fit(&header, transform);

	r.is_progressive = header.is_progressive;
	r.err = img_decode_any(&decoded, jpeg, jpeg_bytes, &header, &view,
			       transform, &limits, memory);
	if (r.err == IMG_OK)
		r.err = img_scale(&scaled, &decoded, &view, transform, memory);
	img_release(&decoded);
	if (r.err == IMG_OK && transform->blur_sigma_px > 0) {
		r.err = img_blur(&blurred, &scaled, transform->blur_sigma_px,
				 memory);
		img_release(&scaled);
		scaled = blurred;
	}
	if (r.err == IMG_OK)
		r.err = img_encode(&r.jpeg, &r.bytes, &scaled, transform,
				   memory);
	img_release(&scaled);
	return r;
}

/* True: `err` is a reason for which a file of this class may fail. */
static bool fits(const char *class, enum img_err err)
{
	static const struct {
		const char *class;
		enum img_err errs[2];
	} expected[] = {
		{ "12bit", { IMG_ERR_UNSUPPORTED } },
		{ "lossless", { IMG_ERR_UNSUPPORTED } },
		{ "lossless-arithmetic", { IMG_ERR_UNSUPPORTED } },
		{ "hierarchical", { IMG_ERR_UNSUPPORTED } },
		{ "jpeg-ls", { IMG_ERR_UNSUPPORTED } },
		{ "not-jpeg", { IMG_ERR_UNKNOWN_FORMAT } },
		{ "leading-garbage", { IMG_ERR_UNKNOWN_FORMAT } },
		{ "zero-dimension", { IMG_ERR_CORRUPT } },
		{ "bad-sof", { IMG_ERR_CORRUPT, IMG_ERR_UNSUPPORTED } },
		{ "truncated-header",
		  { IMG_ERR_TRUNCATED, IMG_ERR_UNKNOWN_FORMAT } },
		{ "truncated-scan", { IMG_ERR_TRUNCATED } },
		{ "scan-bomb", { IMG_ERR_TOO_MANY_SCANS, IMG_ERR_TOO_LARGE } },
		{ "huge-dimensions", { IMG_ERR_TOO_LARGE } },
		{ "bomb-valid-data", { IMG_ERR_TOO_LARGE } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		if (strcmp(class, expected[i].class) == 0)
			return err == expected[i].errs[0] ||
			       err == expected[i].errs[1];
	return true;
}

/* What is no JPEG may be a file of another format. */
static bool is_of_other_format(const uint8_t *bytes, size_t count)
{
	struct img_header h = { .format = NULL };
	enum img_err err = img_probe_more(&h, bytes, count, &limits);

	return h.format != NULL && h.format != img_formats[IMG_FORMAT_JPEG] &&
	       err != IMG_ERR_UNKNOWN_FORMAT;
}

static double cpu_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void note_time(struct check *c, const char *file, uint32_t box_px,
		      double seconds)
{
	uint32_t i = SLOWEST;

	if (seconds <= c->slowest[SLOWEST - 1].seconds)
		return;
	for (; i > 1 && c->slowest[i - 2].seconds < seconds; i--)
		c->slowest[i - 1] = c->slowest[i - 2];
	c->slowest[i - 1].seconds = seconds;
	(void)snprintf(c->slowest[i - 1].what, sizeof(c->slowest[0].what),
		       "%s, box %u", file, box_px);
}

static void complain(struct check *c, const char *file, uint32_t box_px,
		     const char *what, enum img_err err)
{
	printf("%s, box %u: %s: %s\n", file, box_px, what, img_strerror(err));
	c->wrong_count++;
}

static void check_box(struct check *c, const char *file, const char *class,
		      const char *expected, const uint8_t *jpeg, size_t bytes,
		      uint32_t box_px)
{
	struct heap h = { 0 };
	struct memory memory = { .alloc = heap_alloc,
				 .free = heap_free,
				 .arg = &h };
	struct img_transform transform = { .box = { box_px, box_px },
					   .quality = 80,
					   .blur_sigma_px =
						   box_px > 0 ? 2 : 0 };
	double start = cpu_seconds();
	struct result strict = run(jpeg, bytes, &transform, &memory);

	note_time(c, file, box_px, cpu_seconds() - start);
	if (strcmp(expected, "accept") == 0 && strict.err != IMG_OK)
		complain(c, file, box_px, "to be accepted", strict.err);
	if (strcmp(expected, "reject") == 0 &&
	    !is_of_other_format(jpeg, bytes)) {
		if (strict.err == IMG_OK && box_px > 0 && strict.is_progressive)
			c->unnoticed_count++;
		else if (strict.err == IMG_OK || !fits(class, strict.err))
			complain(c, file, box_px, class, strict.err);
	}

	transform.lenient = true;
	start = cpu_seconds();
	struct result lenient = run(jpeg, bytes, &transform, &memory);

	note_time(c, file, box_px, cpu_seconds() - start);
	if (strict.err == IMG_OK &&
	    (lenient.err != IMG_OK || lenient.bytes != strict.bytes ||
	     memcmp(lenient.jpeg, strict.jpeg, strict.bytes) != 0))
		complain(c, file, box_px, "lenient differs", lenient.err);
	if (strict.jpeg != NULL)
		heap_free(&h, strict.jpeg);
	if (lenient.jpeg != NULL)
		heap_free(&h, lenient.jpeg);
	CHECK_NUMBER(h.live_bytes, ==, 0);
	if (h.live_bytes_max > LIVE_BYTES_MAX)
		complain(c, file, box_px, "too much memory", strict.err);
	if (h.live_bytes_max > c->live_bytes_max)
		c->live_bytes_max = h.live_bytes_max;
}

static uint8_t *load(const char *dir, const char *file, size_t *bytes)
{
	char path[4096];
	long end;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	FILE *f = fopen(path, "rb");

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	(void)fseek(f, 0, SEEK_END);
	end = ftell(f);
	rewind(f);
	CHECK_NUMBER(end, >=, 0);

	/*
	 * A copy of the exact size, so that sanitizers see reads past its end.
	 */
	uint8_t *data = malloc(end > 0 ? (size_t)end : 1);

	CHECK(data != NULL);
	*bytes = fread(data, 1, (size_t)end, f);
	CHECK_NUMBER(*bytes, ==, (size_t)end);
	(void)fclose(f);
	return data;
}

static const char *expected_of(const struct check *c, const char *file,
			       const char *expected)
{
	for (uint32_t i = 0; i < c->exception_count; i++)
		if (strcmp(c->exceptions[i].file, file) == 0)
			return c->exceptions[i].expected;
	return expected;
}

static FILE *open_lines(const char *path)
{
	FILE *f = fopen(path, "r");

	if (f != NULL)
		return f;
	perror(path);
	exit(1);
}

static void read_exceptions(struct check *c, const char *path)
{
	FILE *f = open_lines(path);
	char line[4096];

	while (fgets(line, sizeof(line), f) != NULL) {
		struct exception *e = &c->exceptions[c->exception_count];

		if (line[0] == '#')
			continue;
		CHECK_NUMBER(c->exception_count, <, EXCEPTIONS_MAX);
		c->exception_count += sscanf(line, "%255[^\t]\t%15[^\t\n]",
					     e->file, e->expected) == 2;
	}
	(void)fclose(f);
}

static void check_manifest(struct check *c)
{
	char path[4096], line[8192], file[NAME_BYTES], class[64], expected[16];
	const bool has_all = getenv("TEST_ALL") != NULL;

	(void)snprintf(path, sizeof(path), "%s/manifest.tsv", c->dir);
	FILE *f = open_lines(path);

	while (fgets(line, sizeof(line), f) != NULL) {
		size_t bytes;

		if (sscanf(line, "%255[^\t]\t%63[^\t]\t%15[^\t\n]", file, class,
			   expected) != 3 ||
		    strcmp(file, "file") == 0)
			continue;

		uint8_t *jpeg = load(c->dir, file, &bytes);
		const char *want = expected_of(c, file, expected);

		for (size_t i = 0; i < ARRAY_SIZE(boxes_px); i++)
			if (has_all ||
			    i == c->file_count % ARRAY_SIZE(boxes_px))
				check_box(c, file, class, want, jpeg, bytes,
					  boxes_px[i]);
		free(jpeg);
		c->file_count++;
	}
	(void)fclose(f);
}

int main(int argc, char **argv)
{
	static struct check c;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: check_corpus DIR EXCEPTIONS\n");
		return 2;
	}
	c.dir = argv[1];
	read_exceptions(&c, argv[2]);
	check_manifest(&c);
	printf("%u files, %u wrong, %u with unnoticed damage in dropped scans\n"
	       "at most %.1f MB at once\n",
	       c.file_count, c.wrong_count, c.unnoticed_count,
	       (double)c.live_bytes_max / 1e6);
	for (uint32_t i = 0; i < SLOWEST; i++)
		printf("%.2f s of CPU: %s\n", c.slowest[i].seconds,
		       c.slowest[i].what);
	return c.wrong_count > 0 || c.file_count == 0;
}
