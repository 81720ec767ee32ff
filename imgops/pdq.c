/* SPDX-License-Identifier: MIT */
/*
 * PDQ, as "The TMK+PDQF video-hashing algorithm and the PDQ image-hashing
 * algorithm" of Facebook (2019) defines it:
 *
 *	luma --box filters, twice--> 64 x 64 --DCT--> 16 x 16 --> 256 bits
 *
 * Each of the 64 x 64 samples is taken where two box filters in a row, along
 * each axis, have made a tent, which is about as wide as two samples are far
 * apart.  So each is a weighted sum of its own rows and columns, and nearly
 * every sample of the picture is read once.
 */
#include "imgops/imgops.h"

#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIDE = 64,
	TERMS = 16, /* the frequencies 1 to 16 */
	SIDE_PX_MIN = 5,
	TURN = 256, /* of the DCT's angles */
};

/* --- 64 x 64 samples --- */

/* The weights of the samples from `first` on. */
struct tent {
	uint32_t first, count;
	float *weights;
};

struct window {
	uint32_t from, to; /* `to` is the last */
};

/* An axis of what is decoded; `span` of its samples show the picture. */
struct axis {
	uint32_t count;
	double span;
};

/* What a box filter of `width` samples averages at sample `i`. */
static struct window window_at(uint32_t i, uint32_t width, uint32_t size)
{
	uint32_t after = (width + 2) / 2 - 1, before = width - 1 - after;

	return (struct window){ i > before ? i - before : 0,
				min_u32(i + after, size - 1) };
}

static uint32_t width_of(uint32_t size)
{
	return (size + 2 * SIDE - 1) / (2 * SIDE);
}

static size_t tent_room(uint32_t size)
{
	return 2 * (size_t)width_of(size);
}

/* Of a picture in full size. */
static void make_full_tent(struct tent *t, uint32_t n, uint32_t size)
{
	uint32_t width = width_of(size);
	uint32_t at = (uint32_t)((n + 0.5) * size / SIDE);
	struct window outer = window_at(at, width, size);
	float sum = 0;

	t->first = window_at(outer.from, width, size).from;
	t->count = window_at(outer.to, width, size).to - t->first + 1;
	memset(t->weights, 0, tent_room(size) * sizeof(*t->weights));
	/* First the differences from one weight to the next. */
	for (uint32_t i = outer.from; i <= outer.to; i++) {
		struct window inner = window_at(i, width, size);
		float share = 1.0f / (float)(outer.to - outer.from + 1) /
			      (float)(inner.to - inner.from + 1);

		t->weights[inner.from - t->first] += share;
		if (inner.to - t->first + 1 < t->count)
			t->weights[inner.to - t->first + 1] -= share;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		sum += t->weights[i];
		t->weights[i] = sum;
	}
}

/*
 * Sample number `n` of SIDE along an axis of `size` samples, of which there are
 * `decoded`: each stands for those of its place.
 */
static void make_tent(struct tent *t, uint32_t n, uint32_t size,
		      const struct axis *decoded)
{
	uint32_t first, at = 0;

	make_full_tent(t, n, size);
	first = (uint32_t)((t->first + 0.5) * decoded->span / size);
	for (uint32_t i = 0; i < t->count; i++) {
		float weight = t->weights[i];

		at = (uint32_t)((t->first + i + 0.5) * decoded->span / size);
		at = min_u32(at, decoded->count - 1);
		t->weights[i] = 0;
		t->weights[at - first] += weight;
	}
	t->first = first;
	t->count = at - first + 1;
}

static const uint8_t *plane_row(const struct image *img, uint32_t i, uint32_t y)
{
	return img->planes[i].samples + y * img->planes[i].stride_bytes;
}

/* Luma of R, G and B by BT.601. */
static float luma_of(uint32_t r, uint32_t g, uint32_t b)
{
	return 0.299f * (float)r + 0.587f * (float)g + 0.114f * (float)b;
}

/* A row of luma; what is transparent shows white. */
static void luma_row(float *to, const struct image *img, uint32_t y)
{
	const uint8_t *rows[IMG_PLANES_MAX];
	uint32_t width = img->planes[0].width;

	for (uint32_t i = 0; i < img->plane_count; i++)
		rows[i] = plane_row(img, i,
				    min_u32(y, img->planes[i].height - 1));
	for (uint32_t x = 0; x < width; x++) {
		switch (img->space) {
		case IMG_GREY:
		case IMG_YCBCR:
			to[x] = rows[0][x];
			break;
		case IMG_YCCK: /* of the inks */
			to[x] = (float)(255 - rows[0][x]) * (float)rows[3][x] /
				255;
			break;
		default:
			to[x] = luma_of(rows[0][x], rows[1][x], rows[2][x]);
			if (img->space == IMG_RGBA)
				to[x] += (float)(255 - rows[3][x]);
			if (img->space == IMG_CMYK)
				to[x] *= (float)rows[3][x] / 255;
		}
	}
}

static void add_row(float *restrict sum, const float *restrict row,
		    float weight, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] += weight * row[x];
}

static void add_samples(float *restrict sum, const uint8_t *restrict row,
			float weight, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		sum[x] += weight * row[x];
}

/* Everything that is computed on the way, in one block. */
struct work {
	float samples[SIDE][SIDE];
	float half[TERMS][SIDE];
	float terms[TERMS][TERMS], turned[TERMS][TERMS];
	float sorted[TERMS * TERMS];
	float cosines[TURN];
	float rest[]; /* two rows of the picture, and the weights */
};

static void shrink(struct work *w, const struct image *img,
		   struct img_size full, const struct memory *memory)
{
	const struct img_plane *p = &img->planes[0];
	const struct axis x_axis = { p->width, p->span_x };
	const struct axis y_axis = { p->height, p->span_y };
	uint32_t width = p->width;
	float *sum = w->rest, *row = sum + width, *weights = row + width;
	struct tent down = { .weights = weights }, across[SIDE];
	bool has_luma = img->space == IMG_GREY || img->space == IMG_YCBCR;

	weights += tent_room(full.height_px);
	for (uint32_t n = 0; n < SIDE; n++) {
		across[n].weights = weights + n * tent_room(full.width_px);
		make_tent(&across[n], n, full.width_px, &x_axis);
	}
	for (uint32_t n = 0; n < SIDE; n++) {
		make_tent(&down, n, full.height_px, &y_axis);
		memset(sum, 0, width * sizeof(*sum));
		for (uint32_t i = 0; i < down.count; i++) {
			uint32_t y = down.first + i;

			if (has_luma) {
				add_samples(sum, plane_row(img, 0, y),
					    down.weights[i], width);
				continue;
			}
			luma_row(row, img, y);
			add_row(sum, row, down.weights[i], width);
		}
		for (uint32_t k = 0; k < SIDE; k++) {
			const struct tent *t = &across[k];
			float total = 0;

			for (uint32_t i = 0; i < t->count; i++)
				total += t->weights[i] * sum[t->first + i];
			w->samples[n][k] = total;
		}
		memory_pause(memory);
	}
}

/* --- The bits --- */

static uint32_t step(float a, float b)
{
	return (uint32_t)abs((int)((a - b) * 100 / 255));
}

/* How much there is to see: of flat pictures, the bits say nothing. */
static uint32_t quality_of(float samples[SIDE][SIDE])
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < SIDE; i++)
		for (uint32_t k = 0; k + 1 < SIDE; k++)
			sum += step(samples[i][k], samples[i][k + 1]) +
			       step(samples[k][i], samples[k + 1][i]);
	return min_u32(sum / 90, 100);
}

/* Of the DCT of 64 x 64 terms, those of the frequencies 1 to 16. */
static void transform(struct work *w)
{
	float scale = sqrtf(2.0f / SIDE);

	for (uint32_t i = 0; i < TURN; i++)
		w->cosines[i] = scale * cosf((float)(M_PI * 2 / TURN * i));
	memset(w->half, 0, sizeof(w->half));
	for (uint32_t i = 0; i < TERMS; i++)
		for (uint32_t k = 0; k < SIDE; k++)
			add_row(w->half[i], w->samples[k],
				w->cosines[(i + 1) * (2 * k + 1) % TURN], SIDE);
	for (uint32_t i = 0; i < TERMS; i++) {
		for (uint32_t j = 0; j < TERMS; j++) {
			float sum = 0;

			for (uint32_t k = 0; k < SIDE; k++)
				sum += w->half[i][k] *
				       w->cosines[(j + 1) * (2 * k + 1) % TURN];
			w->terms[i][j] = sum;
		}
	}
}

/* The terms of the picture when it is turned by an EXIF orientation. */
static void turn(struct work *w, uint32_t orientation)
{
	bool swaps = orientation >= 5;
	bool across = orientation == 2 || orientation == 3 ||
		      orientation == 6 || orientation == 7;
	bool down = orientation == 3 || orientation == 4 || orientation == 7 ||
		    orientation == 8;

	for (uint32_t i = 0; i < TERMS; i++) {
		for (uint32_t j = 0; j < TERMS; j++) {
			float v = swaps ? w->terms[j][i] : w->terms[i][j];

			/* Mirrored, the odd frequencies change their signs. */
			if (across && j % 2 == 0)
				v = -v;
			if (down && i % 2 == 0)
				v = -v;
			w->turned[i][j] = v;
		}
	}
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Each bit: is its term above the median?  The last one comes first. */
static void quantise(uint8_t bits[IMG_PDQ_BYTES], struct work *w)
{
	const float *terms = w->turned[0];
	float median;

	memcpy(w->sorted, terms, sizeof(w->sorted));
	qsort(w->sorted, TERMS * TERMS, sizeof(*w->sorted), compare);
	median = w->sorted[TERMS * TERMS / 2 - 1];
	memset(bits, 0, IMG_PDQ_BYTES);
	for (uint32_t i = 0; i < TERMS * TERMS; i++)
		if (terms[i] > median)
			bits[IMG_PDQ_BYTES - 1 - i / 8] |=
				(uint8_t)(1u << i % 8);
}

static size_t work_bytes(uint32_t decoded_width, struct img_size full)
{
	return sizeof(struct work) +
	       sizeof(float) *
		       (2 * (size_t)decoded_width + tent_room(full.height_px) +
			SIDE * tent_room(full.width_px));
}

uint64_t img_pdq_bytes_max(const struct img_header *header)
{
	return work_bytes(header->stored.width_px, header->stored);
}

enum img_err img_pdq(struct img_pdq *out, const struct image *decoded,
		     const struct img_header *header,
		     const struct memory *memory)
{
	struct img_size full = header->stored;
	struct work *w;

	*out = (struct img_pdq){ .quality = 0 };
	if (full.width_px < SIDE_PX_MIN || full.height_px < SIDE_PX_MIN)
		return IMG_OK;
	w = memory_alloc(memory, work_bytes(decoded->planes[0].width, full));
	if (w == NULL)
		return IMG_ERR_NO_MEMORY;
	shrink(w, decoded, full, memory);
	out->quality = quality_of(w->samples);
	transform(w);
	turn(w, 1);
	quantise(out->stored, w);
	turn(w, header->orientation);
	quantise(out->upright, w);
	memory_free(memory, w);
	return IMG_OK;
}
