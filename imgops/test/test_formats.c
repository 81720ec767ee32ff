/* SPDX-License-Identifier: MIT */
/*
 * Promises, for every format of formats/list.h: its own results are recognised,
 * read at the size that was asked for, and look like the picture; no beginning
 * of them is taken for a file of another format; a file that is cut at any
 * length is an error or the whole picture or, if `lenient` is set, a damaged
 * one; memory that fails at any time is an error, and nothing stays allocated;
 * memory stays within the estimate; a higher `quality` takes more bytes.
 *
 * Of the lengths and of the times, every third; all with TEST_ALL in the
 * environment.
 */
#include "imgops/formats/format.h"
#include "imgops/test/meter.h"
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <stdlib.h>
#include <string.h>

static const struct img_size size = { 150, 70 };
static uint32_t step = 3;

/* Colours that RGB has too. */
static double pale(uint32_t component, double x, double y)
{
	return 128 +
	       (waves(component, x, y) - 128) * (component == 0 ? 0.5 : 0.2);
}

static struct img_transform transform_to(enum img_format_number format)
{
	return (struct img_transform){ .quality = 95, .format = format };
}

/* Encode `pale`.  The result is a copy of malloc(). */
static struct bytes result_make(const struct img_transform *transform,
				enum img_space space, struct heap *h)
{
	struct jpeg_spec spec = { .width = size.width_px,
				  .height = size.height_px,
				  .picture = pale,
				  .space = space == IMG_GREY ? JCS_GRAYSCALE :
							       JCS_YCbCr };
	struct img_view view = whole_view(size);
	struct bytes jpeg = jpeg_make(&spec), copy;
	struct image decoded = must_decode(jpeg, full_size, h), scaled = { 0 };
	uint8_t *bytes = NULL;
	enum img_err err =
		img_scale(&scaled, &decoded, &view, transform, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_encode(&bytes, &copy.count, &scaled, transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	copy.data = malloc(copy.count);
	CHECK(copy.data != NULL);
	memcpy(copy.data, bytes, copy.count);
	h->memory.free(h->memory.arg, bytes);
	img_release(&decoded);
	img_release(&scaled);
	free(jpeg.data);
	CHECK_NUMBER(h->live_count, ==, 0);
	return copy;
}

static void check_words(void)
{
	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		const struct img_format *f = img_formats[i];

		CHECK_NUMBER(f->name[0], !=, '\0');
		CHECK(f->codec != NULL);
		CHECK(strncmp(f->media_type, "image/", 6) == 0);
		CHECK(strpbrk(f->suffix, "./ ") == NULL);
		CHECK_NUMBER(f->suffix[0], !=, '\0');
		for (uint32_t k = 0; k < i; k++)
			CHECK(strcmp(f->word, img_formats[k]->word) != 0 &&
			      strcmp(f->suffix, img_formats[k]->suffix) != 0);
	}
}

static void check_names(void)
{
	char text[IMG_FORMAT_NAMES_CHARS];
	const char *at = text;

	img_format_names(text, " and ", UINT32_MAX);
	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		at = strstr(at, img_formats[i]->name);
		CHECK(at != NULL);
	}
	CHECK_TEXT(at, img_formats[IMG_FORMATS - 1]->name);
}

static void check_beginnings(const struct img_format *format, struct bytes file)
{
	struct img_header whole, h = { 0 };
	enum img_err err = img_probe(&whole, file.data, file.count, &no_limits);
	bool is_read = false;

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(whole.format, ==, format);
	CHECK_NUMBER(whole.stored.width_px, ==, size.width_px);
	CHECK_NUMBER(whole.stored.height_px, ==, size.height_px);
	CHECK_NUMBER(whole.upright.width_px, ==, size.width_px);
	CHECK_NUMBER(whole.orientation, ==, 1);
	for (size_t n = 0; n <= file.count; n++) {
		struct img_header fresh = { 0 };

		err = img_probe_more(&fresh, file.data, n, &no_limits);
		if (n < IMG_BEGIN_BYTES) {
			CHECK_NUMBER(err, ==, IMG_ERR_UNKNOWN_FORMAT);
			continue;
		}
		CHECK(fresh.format == NULL || fresh.format == format);
		CHECK(err == IMG_OK || (err == IMG_ERR_TRUNCATED && !is_read));
		CHECK_NUMBER(img_probe_more(&h, file.data, n, &no_limits), ==,
			     err);
		is_read = err == IMG_OK;
	}
	CHECK(is_read);
	CHECK(headers_agree(&h, &whole));
}

static void check_picture(struct bytes file, enum img_space space,
			  struct heap *h)
{
	struct img_transform t = { .quality = 95, .chroma = IMG_CHROMA_444 };
	struct image decoded = must_decode(file, full_size, h), scaled = { 0 };
	struct image exact;
	struct img_view view = whole_view(size);
	enum img_err err = img_scale(&scaled, &decoded, &view, &t, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	/* A format without grey has a grey picture as colours without any. */
	CHECK(scaled.space == space || scaled.space == IMG_YCBCR);
	image_shape(&exact, size, space, true);
	for (uint32_t i = 0; i < scaled.plane_count; i++) {
		double sum = 0;

		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++) {
				double wanted =
					i > 0 && space == IMG_GREY ?
						128 :
						pale(i, x + 0.5, y + 0.5);
				double off = sample(&scaled.planes[i], x, y) -
					     wanted;

				sum += off * off;
			}
		CHECK_NUMBER(psnr(sum, (double)img_pixels(size)), >, 33);
	}
	img_release(&decoded);
	img_release(&scaled);
}

/* Enough for the header, the first rows and the last rows. */
enum { ENDS_BYTES = 800 };

/* A whole picture, a damaged one with a note, or an error. */
static void check_length(struct bytes file, size_t n, const struct image *whole,
			 struct heap *h)
{
	const struct img_transform lenient = { .quality = 80, .lenient = true };
	struct image img = { 0 };

	if (decode_bytes(&img, file.data, n, &no_limits, h) == IMG_OK)
		CHECK(img.notes == 0 && is_same(&img, whole));
	img_release(&img);
	if (decode_transform(&img, file.data, n, &lenient, &no_limits, h) ==
	    IMG_OK)
		CHECK(img.notes == IMG_NOTE_DAMAGED ||
		      (img.notes == 0 && is_same(&img, whole)));
	img_release(&img);
}

/*
 * What is not needed at the end: the marker EOI of a JPEG; of a PNG a chunk
 * without data, and the CRC before it, because the data have a checksum.
 */
static size_t end_bytes(struct bytes file)
{
	if (file.data[0] == 0x89)
		return 16;
	return file.data[0] == 0xff ? 2 : 0;
}

/* The libraries for AVIF and JPEG XL show nothing of what is not whole. */
static bool shows_parts(struct bytes file)
{
	return memcmp(file.data + 4, "ftyp", 4) != 0 &&
	       (file.data[0] != 0xff || file.data[1] != 0x0a);
}

static void check_cut(struct bytes file, struct heap *h)
{
	const struct img_transform lenient = { .quality = 80, .lenient = true };
	struct image whole = must_decode(file, full_size, h), img = { 0 };

	for (size_t n = file.count % step; n <= file.count; n += step) {
		check_length(file, n, &whole, h);
		if (n >= ENDS_BYTES && n + ENDS_BYTES < file.count)
			n += n / 4;
	}
	for (size_t cut = end_bytes(file) + 1; cut < file.count;
	     cut += 1 + cut / 2)
		CHECK_NUMBER(decode_bytes(&img, file.data, file.count - cut,
					  &no_limits, h),
			     !=, IMG_OK);
	/* The last rows are missing: there is something to show. */
	if (shows_parts(file)) {
		CHECK_NUMBER(decode_transform(&img, file.data,
					      file.count - file.count / 8,
					      &lenient, &no_limits, h),
			     ==, IMG_OK);
		CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
		img_release(&img);
	}
	img_release(&whole);
}

/* Decode, scale and encode to `to`, with a heap that may fail. */
static enum img_err run(struct bytes file, const struct img_transform *t,
			const struct memory *memory)
{
	struct image decoded = { 0 }, scaled = { 0 };
	struct img_header header;
	struct img_view view;
	uint8_t *out = NULL;
	size_t out_bytes;
	enum img_err err =
		img_probe(&header, file.data, file.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	view = img_fit(&header, t);
	err = img_decode_any(&decoded, file.data, file.count, &header, &view, t,
			     &no_limits, memory);
	if (err == IMG_OK)
		err = img_scale(&scaled, &decoded, &view, t, memory);
	img_release(&decoded);
	if (err == IMG_OK)
		err = img_encode(&out, &out_bytes, &scaled, t, memory);
	img_release(&scaled);
	memory_free(memory, out);
	return err;
}

/* In a small box decode needs the most memory; in a large one, encode does. */
static void check_memory(struct bytes file, enum img_format_number to,
			 struct img_size box)
{
	struct img_transform t = transform_to(to);
	struct img_header header;
	struct img_view view;
	struct img_cost cost;
	struct meter m;
	struct heap h;
	enum img_err err =
		img_probe(&header, file.data, file.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	t.box = box;
	t.enlarge = true;
	view = img_fit(&header, &t);
	cost = img_cost(&header, &view, &t);
	CHECK_NUMBER(cost.decode_ns, >, 0);
	CHECK_NUMBER(cost.encode_ns, >, 0);
	meter_init(&m);
	err = run(file, &t, &m.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(m.live_bytes, ==, 0);
	CHECK_NUMBER(m.peak_bytes, <=, cost.bytes);

	for (uint32_t fail_at = 1; err != IMG_OK || fail_at == 1;
	     fail_at += step) {
		heap_init(&h);
		h.fail_at = fail_at;
		err = run(file, &t, &h.memory);
		CHECK(err == IMG_OK || err == IMG_ERR_NO_MEMORY);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

/* More pixels take longer to encode. */
static void check_encode_estimate(struct bytes file, enum img_format_number to)
{
	struct img_transform t = transform_to(to);
	struct img_header header;
	uint64_t last_ns = 0;
	enum img_err err =
		img_probe(&header, file.data, file.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	t.enlarge = true;
	for (uint32_t side = 50; side < 3000; side *= 2) {
		struct img_view view;
		uint64_t ns;

		t.box = (struct img_size){ side, side };
		view = img_fit(&header, &t);
		ns = img_cost(&header, &view, &t).encode_ns;
		CHECK_NUMBER(ns, >, last_ns);
		last_ns = ns;
	}
}

/* Between the points, too; the end is the best that the library has. */
static void check_qualities(const double *qualities)
{
	double last = format_quality(qualities, 1);
	bool rises = qualities[FORMAT_QUALITIES - 1] > last;

	CHECK_NUMBER(last, ==, qualities[0]);
	for (int q = 2; q <= 100; q++) {
		double now = format_quality(qualities, q);

		CHECK(rises ? now > last : now < last);
		last = now;
	}
	CHECK_NUMBER(last, ==, qualities[FORMAT_QUALITIES - 1]);
	for (uint32_t i = 0; i < FORMAT_QUALITIES; i++)
		CHECK_NUMBER(format_quality(qualities, format_qualities[i]), ==,
			     qualities[i]);
}

/*
 * A higher quality takes more bytes, and no format a multiple, or a small
 * part, of what a JPEG of that quality takes.
 */
static void check_sizes(enum img_format_number format, struct heap *h)
{
	static const int tried[] = { 1, 20, 40, 60, 80, 90, 100 };
	size_t last = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(tried); i++) {
		struct img_transform t = { .quality = tried[i],
					   .format = format };
		struct bytes file = result_make(&t, IMG_YCBCR, h), jpeg;

		check_case("%s, quality %d", img_formats[format]->word,
			   tried[i]);
		t.format = IMG_FORMAT_JPEG;
		jpeg = result_make(&t, IMG_YCBCR, h);
		CHECK_NUMBER(file.count, >, last);
		CHECK_NUMBER(file.count, <, jpeg.count * 3 / 2 + 500);
		CHECK_NUMBER(file.count, >, jpeg.count / 5);
		last = file.count;
		free(file.data);
		free(jpeg.data);
	}
}

int main(void)
{
	static const enum img_space spaces[] = { IMG_YCBCR, IMG_GREY };
	struct heap h;

	if (getenv("TEST_ALL") != NULL)
		step = 1;
	heap_init(&h);
	check_words();
	check_names();
	for (uint32_t i = 0; i < IMG_RESULT_FORMATS; i++)
		if (img_formats[i]->codec->qualities != NULL) {
			check_qualities(img_formats[i]->codec->qualities);
			check_sizes((enum img_format_number)i, &h);
		}
	for (uint32_t from = 0; from < IMG_RESULT_FORMATS; from++)
		for (uint32_t s = 0; s < ARRAY_SIZE(spaces); s++) {
			check_case("%s, %s", img_formats[from]->word,
				   spaces[s] == IMG_GREY ? "grey" : "colours");
			struct img_transform t =
				transform_to((enum img_format_number)from);
			struct bytes file = result_make(&t, spaces[s], &h);

			check_beginnings(img_formats[from], file);
			check_picture(file, spaces[s], &h);
			check_cut(file, &h);
			for (uint32_t i = 0; i < IMG_RESULT_FORMATS; i++) {
				enum img_format_number to =
					(enum img_format_number)i;

				check_memory(file, to,
					     (struct img_size){ 60, 60 });
				check_memory(file, to,
					     (struct img_size){ 700, 700 });
				check_encode_estimate(file, to);
			}
			free(file.data);
		}
	CHECK_NUMBER(h.live_count, ==, 0);
	return 0;
}
