/* SPDX-License-Identifier: MIT */
#include "imgops/test/support.h"

#include "base/test/check.h"
#ifdef IMG_HEIC
#include "imgops/formats/heic/heic.h"
#endif
#include "imgops/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct img_limits no_limits = {
	.side_px_max = 65500,
	.pixels_max = UINT64_MAX,
	.scans_max = 1000,
	.decode_bytes_max = UINT64_MAX,
};

const struct img_size full_size = { 0, 0 };

static void *heap_alloc(void *arg, size_t bytes)
{
	struct heap *h = arg;

	if (bytes > h->largest_bytes)
		h->largest_bytes = bytes;
	if (++h->alloc_count == h->fail_at)
		return NULL;
	h->live_count++;
	return malloc(bytes);
}

static void heap_free(void *arg, void *block)
{
	struct heap *h = arg;

	CHECK_NUMBER(h->live_count, >, 0);
	h->live_count--;
	free(block);
}

static void heap_pause(void *arg)
{
	((struct heap *)arg)->pause_count++;
}

void heap_init(struct heap *h)
{
	*h = (struct heap){
		.memory = { heap_alloc, heap_free, h, heap_pause },
	};
}

double waves(uint32_t component, double x, double y)
{
	double c = component;

	return 128 + 60 * sin(x / (17 + c) + c) + 50 * cos(y / (11 + c) - c);
}

uint32_t scramble(uint32_t n)
{
	n = (n ^ n >> 16) * 0x7feb352du;
	n = (n ^ n >> 15) * 0x846ca68bu;
	return n ^ n >> 16;
}

double psnr(double squared_error_total, double count)
{
	return 10 * log10(255 * 255 * count / (squared_error_total + 1e-9));
}

uint8_t picture_sample(picture_fn *picture, uint32_t component, double x,
		       double y)
{
	return (uint8_t)lround(fmin(255, fmax(0, picture(component, x, y))));
}

uint8_t sample(const struct img_plane *p, uint32_t x, uint32_t y)
{
	CHECK_NUMBER(x, <, p->width);
	CHECK_NUMBER(y, <, p->height);
	return p->samples[y * p->stride_bytes + x];
}

bool is_empty(const struct image *img)
{
	return img->plane_count == 0 && img->block == NULL &&
	       img->memory == NULL && img->planes[0].samples == NULL;
}

bool is_same(const struct image *a, const struct image *b)
{
	if (a->plane_count != b->plane_count)
		return false;
	for (uint32_t i = 0; i < a->plane_count; i++) {
		const struct img_plane *p = &a->planes[i], *q = &b->planes[i];

		if (p->width != q->width || p->height != q->height ||
		    p->span_x != q->span_x || p->span_y != q->span_y)
			return false;
		for (uint32_t y = 0; y < p->height; y++)
			if (memcmp(p->samples + y * p->stride_bytes,
				   q->samples + y * q->stride_bytes,
				   p->width) != 0)
				return false;
	}
	return true;
}

int largest_difference(const struct image *a, const struct image *b)
{
	int most = 0;

	CHECK_NUMBER(a->plane_count, ==, b->plane_count);
	for (uint32_t i = 0; i < a->plane_count; i++) {
		const struct img_plane *p = &a->planes[i], *q = &b->planes[i];

		CHECK_NUMBER(p->width, ==, q->width);
		CHECK_NUMBER(p->height, ==, q->height);
		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				int d = abs(sample(p, x, y) - sample(q, x, y));

				most = d > most ? d : most;
			}
	}
	return most;
}

/* The samples of one component, in whole MCUs. */
struct raw {
	uint8_t *samples;
	size_t stride_bytes;
	uint32_t rows_per_group;
};

static uint32_t divide_up(uint32_t n, uint32_t by)
{
	return (n + by - 1) / by;
}

static struct raw raw_make(const struct jpeg_compress_struct *jpeg,
			   uint32_t component, picture_fn *picture,
			   picture_fn *hidden)
{
	const jpeg_component_info *c = &jpeg->comp_info[component];
	uint32_t mcu_w = (uint32_t)jpeg->max_h_samp_factor * DCTSIZE;
	uint32_t mcu_h = (uint32_t)jpeg->max_v_samp_factor * DCTSIZE;
	uint32_t mcus_x = (jpeg->image_width + mcu_w - 1) / mcu_w;
	uint32_t mcus_y = (jpeg->image_height + mcu_h - 1) / mcu_h;
	uint32_t width = mcus_x * (uint32_t)c->h_samp_factor * DCTSIZE;
	uint32_t height = mcus_y * (uint32_t)c->v_samp_factor * DCTSIZE;
	double step_x = jpeg->max_h_samp_factor / (double)c->h_samp_factor;
	double step_y = jpeg->max_v_samp_factor / (double)c->v_samp_factor;
	/* Samples in the frame: T.81, A.1.1. */
	uint32_t visible_x =
		divide_up(jpeg->image_width * (uint32_t)c->h_samp_factor,
			  (uint32_t)jpeg->max_h_samp_factor);
	uint32_t visible_y =
		divide_up(jpeg->image_height * (uint32_t)c->v_samp_factor,
			  (uint32_t)jpeg->max_v_samp_factor);
	struct raw raw = {
		.samples = malloc((size_t)width * height),
		.stride_bytes = width,
		.rows_per_group = (uint32_t)c->v_samp_factor * DCTSIZE,
	};

	CHECK(raw.samples != NULL);
	for (uint32_t y = 0; y < height; y++) {
		for (uint32_t x = 0; x < width; x++) {
			double at_x = fmin((x + 0.5) * step_x,
					   jpeg->image_width - 0.5);
			double at_y = fmin((y + 0.5) * step_y,
					   jpeg->image_height - 0.5);

			if (hidden != NULL &&
			    (x >= visible_x || y >= visible_y))
				raw.samples[(size_t)y * width + x] =
					picture_sample(hidden, component, x, y);
			else
				raw.samples[(size_t)y * width + x] =
					picture_sample(picture, component, at_x,
						       at_y);
		}
	}
	return raw;
}

static void write_rows(struct jpeg_compress_struct *jpeg, picture_fn *picture,
		       picture_fn *hidden)
{
	JSAMPROW rows[4][4 * DCTSIZE];
	JSAMPARRAY planes[4] = { rows[0], rows[1], rows[2], rows[3] };
	struct raw raws[4];
	JDIMENSION lines = (JDIMENSION)jpeg->max_v_samp_factor * DCTSIZE;
	uint32_t count = (uint32_t)jpeg->num_components;

	for (uint32_t i = 0; i < count; i++)
		raws[i] = raw_make(jpeg, i, picture, hidden);
	for (uint32_t group = 0; jpeg->next_scanline < jpeg->image_height;
	     group++) {
		for (uint32_t i = 0; i < count; i++) {
			const struct raw *raw = &raws[i];

			for (uint32_t r = 0; r < raw->rows_per_group; r++)
				rows[i][r] = raw->samples +
					     (group * raw->rows_per_group + r) *
						     raw->stride_bytes;
		}
		(void)jpeg_write_raw_data(jpeg, planes, lines);
	}
	for (uint32_t i = 0; i < count; i++)
		free(raws[i].samples);
}

static void write_exif(struct jpeg_compress_struct *jpeg, uint32_t orientation,
		       bool little_endian)
{
	uint8_t big[] = "Exif\0\0MM\0*\0\0\0\10\0\1"
			"\1\22\0\3\0\0\0\1\0?\0\0\0\0\0\0";
	uint8_t little[] = "Exif\0\0II*\0\10\0\0\0\1\0"
			   "\22\1\3\0\1\0\0\0?\0\0\0\0\0\0\0";
	uint8_t *app1 = little_endian ? little : big;

	*(uint8_t *)memchr(app1, '?', sizeof(big)) = (uint8_t)orientation;
	jpeg_write_marker(jpeg, JPEG_APP0 + 1, app1, sizeof(big) - 1);
}

static int component_count(J_COLOR_SPACE space)
{
	return space == JCS_GRAYSCALE                 ? 1 :
	       space == JCS_CMYK || space == JCS_YCCK ? 4 :
							3;
}

/* Keep the number of codes of each length, but shuffle the symbols. */
static void shuffle_codes(JHUFF_TBL *table, uint32_t seed)
{
	uint32_t count = 0;

	for (uint32_t n = 1; n <= 16; n++)
		count += table->bits[n];
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t k = scramble(seed * 256 + i) % (i + 1);
		UINT8 symbol = table->huffval[i];

		table->huffval[i] = table->huffval[k];
		table->huffval[k] = symbol;
	}
}

static void set_up(struct jpeg_compress_struct *jpeg,
		   const struct jpeg_spec *spec, jpeg_scan_info *scans)
{
	J_COLOR_SPACE space = spec->space != 0 ? spec->space : JCS_YCbCr;

	jpeg->image_width = spec->width;
	jpeg->image_height = spec->height;
	jpeg->input_components = component_count(space);
	jpeg->in_color_space = space;
	jpeg_set_defaults(jpeg);
	if (spec->two_components) {
		jpeg->input_components = 2;
		space = JCS_UNKNOWN;
	}
	jpeg_set_colorspace(jpeg, space);
	jpeg_set_quality(jpeg, spec->quality != 0 ? spec->quality : 95, TRUE);
	for (int i = 0; i < jpeg->num_components; i++) {
		jpeg->comp_info[i].h_samp_factor = spec->h[i] ? spec->h[i] : 1;
		jpeg->comp_info[i].v_samp_factor = spec->v[i] ? spec->v[i] : 1;
		scans[i] = (jpeg_scan_info){ 1, { i }, 0, DCTSIZE2 - 1, 0, 0 };
	}
	if (spec->no_adobe)
		jpeg->write_Adobe_marker = FALSE;
	if (spec->separate_scans) {
		jpeg->scan_info = scans;
		jpeg->num_scans = jpeg->num_components;
	}
	if (spec->progressive)
		jpeg_simple_progression(jpeg);
	jpeg->optimize_coding = spec->optimize;
	for (int i = 0; spec->shuffle > 0 && i < 2; i++)
		shuffle_codes(jpeg->ac_huff_tbl_ptrs[i], spec->shuffle);
	jpeg->arith_code = spec->arithmetic;
	jpeg->restart_interval = (unsigned)spec->restart_interval;
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->raw_data_in = TRUE;
}

struct bytes jpeg_make(const struct jpeg_spec *spec)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	jpeg_scan_info scans[4];
	unsigned char *data = NULL;
	unsigned long count = 0;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &data, &count);
	set_up(&jpeg, spec, scans);
	jpeg_start_compress(&jpeg, TRUE);
	if (spec->orientation != 0)
		write_exif(&jpeg, spec->orientation, spec->little_endian);
	write_rows(&jpeg, spec->picture != NULL ? spec->picture : waves,
		   spec->hidden);
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	return (struct bytes){ data, count };
}

static void append(struct bytes *to, const void *from, size_t count)
{
	memcpy(to->data + to->count, from, count);
	to->count += count;
}

static size_t count_blocks(uint32_t width, uint32_t height,
			   const uint8_t factors[3])
{
	uint32_t h_max = 0, v_max = 0, in_mcu = 0;

	for (int i = 0; i < 3; i++) {
		uint32_t h = factors[i] >> 4, v = factors[i] & 15;

		h_max = h > h_max ? h : h_max;
		v_max = v > v_max ? v : v_max;
		in_mcu += h * v;
	}
	h_max *= DCTSIZE;
	v_max *= DCTSIZE;
	return (size_t)((width + h_max - 1) / h_max) *
	       ((height + v_max - 1) / v_max) * in_mcu;
}

struct bytes jpeg_dense(uint32_t width, uint32_t height,
			const uint8_t factors[3])
{
	/* Each has one code: no difference, and one bit after no zeros. */
	static const uint8_t dht[2][22] = {
		{ 0xff, 0xc4, 0, 20, 0x00, 1, [21] = 0 },
		{ 0xff, 0xc4, 0, 20, 0x10, 1, [21] = 1 },
	};
	static const uint8_t dqt[5] = { 0xff, 0xdb, 0, 67, 0 };
	static const uint8_t sos[] = { 0xff, 0xda, 0, 12, 3, 1,  0,
				       2,    0,    3, 0,  0, 63, 0 };
	const uint8_t size[4] = { (uint8_t)(height >> 8), (uint8_t)height,
				  (uint8_t)(width >> 8), (uint8_t)width };
	const uint8_t components[10] = { 3, 1, factors[0], 0, 2, factors[1],
					 0, 3, factors[2], 0 };
	size_t bits =
		count_blocks(width, height, factors) * (1 + 2 * (DCTSIZE2 - 1));
	struct bytes b = { calloc(bits / 8 + 256, 1), 0 };

	CHECK(b.data != NULL);
	append(&b, "\xff\xd8", 2);
	append(&b, dqt, sizeof(dqt));
	memset(b.data + b.count, 1, DCTSIZE2);
	b.count += DCTSIZE2;
	append(&b, "\xff\xc0\0\x11\x08", 5);
	append(&b, size, sizeof(size));
	append(&b, components, sizeof(components));
	append(&b, dht, sizeof(dht));
	append(&b, sos, sizeof(sos));
	b.count += (bits + 7) / 8; /* each code and each bit is 0 */
	append(&b, "\xff\xd9", 2);
	return b;
}

struct img_size target_at(struct img_size size, uint32_t dct_scale)
{
	double most = dct_scale / 8.0 / 1.1;

	return (struct img_size){ (uint32_t)(size.width_px * most),
				  (uint32_t)(size.height_px * most) };
}

struct img_view whole_view(struct img_size size)
{
	return (struct img_view){
		.width = 1,
		.height = 1,
		.size = size,
		.orientation = 1,
	};
}

struct image must_decode(struct bytes jpeg, struct img_size target,
			 struct heap *h)
{
	struct img_header header;
	struct image img = { 0 };
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	struct img_view view =
		whole_view(target.width_px > 0 ? target : header.upright);

	view.orientation = header.orientation;
	header.texture = IMG_TEXTURE_IGNORED;
	err = img_decode(&img, jpeg.data, jpeg.count, &header, &view,
			 &(struct img_transform){ 0 }, &no_limits, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	return img;
}

static bool costs_agree(const struct img_header *a, const struct img_header *b,
			struct img_size box)
{
	for (uint32_t i = 0; i < IMG_RESULT_FORMATS; i++) {
		struct img_transform t = { .quality = 80,
					   .box = box,
					   .keep_gainmap = true,
					   .format =
						   (enum img_format_number)i };
		struct img_view view = img_fit(a, &t);
		struct img_cost of_a = img_cost(a, &view, &t);
		struct img_cost of_b = img_cost(b, &view, &t);

		if (img_decode_scale(a, &view, &t) !=
			    img_decode_scale(b, &view, &t) ||
		    of_a.decode_ns != of_b.decode_ns ||
		    of_a.cpu_ns != of_b.cpu_ns || of_a.bytes != of_b.bytes)
			return false;
	}
	return true;
}

static bool sizes_agree(struct img_size a, struct img_size b)
{
	return a.width_px == b.width_px && a.height_px == b.height_px;
}

bool headers_agree(const struct img_header *a, const struct img_header *b)
{
	return a->format == b->format && sizes_agree(a->stored, b->stored) &&
	       sizes_agree(a->upright, b->upright) &&
	       a->orientation == b->orientation && a->space == b->space &&
	       a->component_count == b->component_count &&
	       memcmp(a->h_factors, b->h_factors, sizeof(a->h_factors)) == 0 &&
	       memcmp(a->v_factors, b->v_factors, sizeof(a->v_factors)) == 0 &&
	       a->icc_bytes == b->icc_bytes && a->profile == b->profile &&
	       a->is_progressive == b->is_progressive && a->bytes == b->bytes &&
	       costs_agree(a, b, full_size) &&
	       costs_agree(a, b, (struct img_size){ 8, 8 });
}

enum img_err probe_bytes(struct img_header *h, struct bytes file)
{
	*h = (struct img_header){ 0 };
	return img_probe(h, file.data, file.count, &no_limits);
}

void check_arrival(struct bytes file, bool is_final)
{
	enum { ENDS_BYTES = 800, STEP_BYTES = 97 };
	struct img_header whole, h = { 0 };
	const size_t near = getenv("TEST_ALL") != NULL ? 1 : 3;
	bool is_read = false;
	size_t step;

	CHECK_NUMBER(probe_bytes(&whole, file), ==, IMG_OK);
	for (size_t n = IMG_BEGIN_BYTES; n <= file.count; n += step) {
		struct img_header fresh = { 0 };
		enum img_err err =
			img_probe_more(&fresh, file.data, n, &no_limits);

		CHECK(err == IMG_OK || (err == IMG_ERR_TRUNCATED && !is_read));
		CHECK_NUMBER(img_probe_more(&h, file.data, n, &no_limits), ==,
			     err);
		is_read = err == IMG_OK;
		if (is_read)
			CHECK(headers_agree(&h, &fresh));
		fresh.bytes = file.count;
		if (is_read && is_final)
			CHECK(headers_agree(&fresh, &whole));
		step = n < ENDS_BYTES || n + ENDS_BYTES > file.count ?
			       near :
			       STEP_BYTES;
		if (n < file.count && n + step > file.count)
			step = file.count - n;
	}
	CHECK(is_read);
	CHECK_NUMBER(img_probe_more(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	CHECK(headers_agree(&h, &whole));
}

enum img_err decode_here(struct image *img, const uint8_t *bytes, size_t count,
			 const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory)
{
#ifdef IMG_HEIC
	static bool has_started;

	if (header->format == img_formats[IMG_FORMAT_HEIC]) {
		has_started = has_started || heic_start();
		return heic_decode(img, bytes, count, header, view, transform,
				   limits, memory);
	}
#endif
	return img_decode(img, bytes, count, header, view, transform, limits,
			  memory);
}

enum img_err decode_any_here(struct image *img, const uint8_t *bytes,
			     size_t count, const struct img_header *header,
			     const struct img_view *view,
			     const struct img_transform *transform,
			     const struct img_limits *limits,
			     const struct memory *memory)
{
	struct img_header h = *header;
	enum img_err err;

	do {
		err = decode_here(img, bytes, count, &h, view, transform,
				  limits, memory);
	} while (img_decode_again(&h, err));
	return err;
}

/* After BORDER.  OK: `img`, decoded at *scale, is good for the new view. */
static enum img_err fit_again(struct img_view *view, uint32_t *scale,
			      const struct img_header *header,
			      const struct img_transform *transform,
			      const struct img_limits *limits)
{
	uint32_t before = *scale;

	if (!img_crop_fits(header, transform, NULL))
		return IMG_ERR_OUTSIDE;
	*view = img_fit(header, transform);
	if (!img_result_fits(view, transform, limits))
		return IMG_ERR_TOO_LARGE;
	*scale = img_decode_scale(header, view, transform);
	return *scale <= before ? IMG_OK : IMG_ERR_BORDER;
}

enum img_err decode_inside_here(struct image *img, const uint8_t *bytes,
				size_t count, struct img_header *header,
				struct img_view *view,
				const struct img_transform *transform,
				const struct img_limits *limits,
				const struct memory *memory)
{
	uint32_t scale = img_decode_scale(header, view, transform);
	enum img_err err;

	do {
		img_release(img);
		err = decode_any_here(img, bytes, count, header, view,
				      transform, limits, memory);
		if (err == IMG_OK)
			err = img_find_border(header, img, transform, memory);
		if (err == IMG_ERR_BORDER)
			err = fit_again(view, &scale, header, transform,
					limits);
	} while (err == IMG_ERR_BORDER);
	if (err != IMG_OK)
		img_release(img);
	return err;
}

enum img_err decode_transform(struct image *img, const uint8_t *data,
			      size_t count,
			      const struct img_transform *transform,
			      const struct img_limits *limits, struct heap *h)
{
	struct img_header header;
	uint8_t *copy = malloc(count + 1);
	enum img_err err;

	CHECK(copy != NULL);
	if (count > 0)
		memcpy(copy + 1, data, count);
	*img = (struct image){ 0 };
	err = img_probe(&header, copy + 1, count, limits);
	if (err == IMG_OK) {
		struct img_view view = img_fit(&header, transform);

		err = decode_any_here(img, copy + 1, count, &header, &view,
				      transform, limits, &h->memory);
	}
	free(copy);
	CHECK(err == IMG_OK || is_empty(img));
	return err;
}

enum img_err decode_bytes(struct image *img, const uint8_t *data, size_t count,
			  const struct img_limits *limits, struct heap *h)
{
	return decode_transform(img, data, count, &(struct img_transform){ 0 },
				limits, h);
}

enum img_err decode_limits(struct bytes jpeg, const struct img_limits *limits,
			   struct heap *h)
{
	struct image img;
	enum img_err err = decode_bytes(&img, jpeg.data, jpeg.count, limits, h);

	img_release(&img);
	return err;
}

struct image image_make(struct img_size size, enum img_space space,
			picture_fn *picture, struct heap *h)
{
	struct image img;
	bool ok;

	image_shape(&img, size, space, false);
	ok = image_alloc(&img, &h->memory);
	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];
		uint32_t step = i == 0 ? 1 : 2;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				p->samples[y * p->stride_bytes + x] =
					picture_sample(picture, i,
						       (x + 0.5) * step,
						       (y + 0.5) * step);
	}
	return img;
}

uint32_t scans_keep(struct piece pieces[SCANS_PIECES_MAX], const uint8_t *jpeg,
		    size_t jpeg_bytes, uint32_t dct_scale)
{
	struct scans scans = { 0 };
	struct markers w;
	struct marker m;
	const uint8_t *end;
	bool in_scan;

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return 0;
	for (end = w.at, in_scan = false; markers_next(&w, &m);
	     end = w.at, in_scan = w.in_scan)
		scans_add(&scans, &m, jpeg, in_scan || m.start == end);
	return scans_pieces(pieces, &scans, jpeg,
			    (enum scans_set)(dct_scale - 1));
}
