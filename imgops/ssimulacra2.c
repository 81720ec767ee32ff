/* SPDX-License-Identifier: MIT */
/*
 * For each of six scales, from 1:1 to 1:32, and each channel of XYB:
 *
 *	samples -> means, squares and product under a Gaussian, row by row
 *	        -> three errors for each pixel
 *	        -> the mean of each, and its 4-norm
 *
 * The score is a function of the weighted sum of these 108 numbers.  Channels
 * of a scale of which no number has a weight to speak of are left out: those
 * are most, and the largest.
 *
 * Rows are compared in bands, with the rows near them that the Gaussian needs.
 * At the first scale, which is the largest, only these rows are kept.
 *
 * Sums are made for each column first.  So the score is the same, whatever
 * vectors a CPU has.
 */
#include "imgops/ssimulacra2.h"

#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	SCALES = 6,
	CHANNELS = 3,
	MAPS = 3,
	NORMS = 2,
	/* Of the Gaussian: in the middle and to one side; and to each side. */
	TAPS = 5,
	REACH = TAPS - 1,
	ROWS = 2 * REACH + 1,
	BAND_ROWS = 8, /* if not all rows are compared */
};

/* A smaller weight changes a score by less than a hundredth. */
#define LEAST_WEIGHT 0.01

/*
 * By channel, scale, norm (mean, 4-norm) and map (unlike structure,
 * new edges, lost edges).
 */
static const double weights[CHANNELS * SCALES * NORMS * MAPS] = {
	/* X */
	0.0,
	0.0007376606707406586,
	0.0,
	0.0,
	0.0007793481682867309,
	0.0,
	0.0,
	0.0004371155730107379,
	0.0,
	1.1041726426657346,
	0.00066284834129271,
	0.00015231632783718752,
	0.0,
	0.0016406437456599754,
	0.0,
	1.8422455520539298,
	11.441172603757666,
	0.0,
	0.0007989109436015163,
	0.000176816438078653,
	0.0,
	1.8787594979546387,
	10.94906990605142,
	0.0,
	0.0007289346991508072,
	0.9677937080626833,
	0.0,
	0.00014003424285435884,
	0.9981766977854967,
	0.00031949755934435053,
	0.0004550992113792063,
	0.0,
	0.0,
	0.0013648766163243398,
	0.0,
	0.0,

	/* Y */
	0.0,
	0.0,
	0.0,
	7.466890328078848,
	0.0,
	17.445833984131262,
	0.0006235601634041466,
	0.0,
	0.0,
	6.683678146179332,
	0.00037724407979611296,
	1.027889937768264,
	225.20515300849274,
	0.0,
	0.0,
	19.213238186143016,
	0.0011401524586618361,
	0.001237755635509985,
	176.39317598450694,
	0.0,
	0.0,
	24.43300999870476,
	0.28520802612117757,
	0.0004485436923833408,
	0.0,
	0.0,
	0.0,
	34.77906344483772,
	44.835625328877896,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0,

	/* B */
	0.0,
	0.0008680556573291698,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0005313191874358747,
	0.0,
	0.00016533814161379112,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0,
	0.0004179171803251336,
	0.0017290828234722833,
	0.0,
	0.0020827005846636437,
	0.0,
	0.0,
	8.826982764996862,
	23.19243343998926,
	0.0,
	95.1080498811086,
	0.9863978034400682,
	0.9834382792465353,
	0.0012286405048278493,
	171.2667255897307,
	0.9807858872435379,
	0.0,
	0.0,
	0.0,
	0.0005130064588990679,
	0.0,
	0.00010854057858411537,
};

/*
 * The Gaussian of sigma 1.5 as a sum of three truncated cosines: D.
 * Charalampidis, "Recursive implementation of the Gaussian filter using
 * truncated cosine functions", IEEE Transactions on Signal Processing 64(14),
 * 2016, with N = 5.  Past its four samples on each side it is 0.
 */
static const float gaussian[TAPS] = {
	0.26462110548819859f, 0.21292859201042227f, 0.10933537277746035f,
	0.03601111465836439f, 0.009414367809653733f
};

/* What a Gaussian is taken of: reference and result, their squares, both. */
enum moment {
	MEAN,
	SQUARE = MEAN + 2,
	PRODUCT = SQUARE + 2,
	MOMENTS,
};

/* Some or all rows at one scale: light of red, green and blue, later XYB. */
struct level {
	uint32_t width, height;
	float *planes[CHANNELS];
};

/*
 * Which rows of a scale are compared: `rows` of each `period`, from `first` on.
 * The Gaussian needs the rows of a strip, which has up to REACH rows more on
 * each side.  Strips do not overlap.
 */
struct bands {
	uint32_t height; /* of the picture at this scale */
	uint32_t rows, first, period, count;
	bool are_alone; /* only strips are kept, one below the other */
};

struct row_steps;

/* Everything is in one allocation. */
struct ssimulacra2 {
	const struct memory *memory;
	const struct row_steps *steps;
	uint32_t width, height;
	uint32_t scales;
	struct bands bands[SCALES];
	/* In XYB. */
	struct level reference[SCALES];
	struct level strips;    /* of the result, at the first scale */
	struct level result[2]; /* at two other scales, in turn */
	struct level pair;      /* two rows of a picture */
	uint8_t *chroma[2];     /* a row of each, of full size */

	/*
	 * Of one channel at one scale, for each column: the sum of each error,
	 * and of its 4th power.
	 */
	float *sums[MAPS][NORMS];
	/*
	 * A row of each moment with zeros at its ends, the last rows of each
	 * under the Gaussian along the row, and one row under both.
	 */
	float *line[MOMENTS];
	float *rows[MOMENTS][ROWS];
	float *blurred[MOMENTS];
	/* A row: unlike structure, stronger edges, weaker ones. */
	float *errors[MAPS];
	uint32_t row_count; /* that are in the sums */
	float *zeros;       /* a row */
};

/* --- Rows, compiled once for any CPU and once for AVX2 --- */

#define INLINE static inline __attribute__((always_inline))

/* A number, or 0 if it is less: without a branch, which no vector has. */
INLINE float positive(float v)
{
	return (fabsf(v) + v) / 2;
}

/*
 * The curve of sRGB (IEC 61966-2-1), from 0 to 255 to 0 to 1: a line up to its
 * toe, and from there a polynomial that is within 0.00001.
 */
INLINE float light_of(float level)
{
	const float toe = 0.04045f;
	float v = level / 255, u = positive(v - toe);
	float sum = 0.078691f +
		    u * (0.58054236f +
			 u * (0.74163392f +
			      u * (-0.67373964f +
				   u * (0.66154313f + u * (-0.40327631f +
							   u * 0.10603653f)))));

	return (v - u) / 12.92f + u * sum;
}

INLINE void light_of_samples(float *restrict out, const uint8_t *restrict in,
			     uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		out[x] = light_of(in[x]);
}

/*
 * Over white.  Colours have been multiplied by alpha, and scaling may leave
 * more colour than alpha.
 */
INLINE void light_over_white(float *restrict out, const uint8_t *restrict in,
			     const uint8_t *restrict alpha, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		out[x] = light_of(255 - positive(alpha[x] - in[x]));
}

/* One of R, G and B, by the shares that Cb and Cr have in it. */
INLINE void light_of_ycc(float *restrict out, const uint8_t *restrict luma,
			 const uint8_t *restrict cb, const uint8_t *restrict cr,
			 float of_cb, float of_cr, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		float v = luma[x] + of_cb * (float)(cb[x] - 128) +
			  of_cr * (float)(cr[x] - 128);

		out[x] = light_of(255 - positive(255 - positive(v)));
	}
}

/* Each sample twice. */
INLINE void widen(uint8_t *restrict out, const uint8_t *restrict in,
		  uint32_t width)
{
	for (uint32_t x = 0; x < width / 2; x++) {
		out[2 * x] = in[x];
		out[2 * x + 1] = in[x];
	}
	if (width % 2 != 0)
		out[width - 1] = in[width / 2];
}

INLINE void read_ycc(float *const out[CHANNELS], uint8_t *const chroma[2],
		     const struct image *img, uint32_t y)
{
	static const float shares[CHANNELS][2] = {
		{ 0, 1.402f },
		{ -0.344136f, -0.714136f },
		{ 1.772f, 0 },
	};
	uint32_t width = img->planes[0].width;
	const uint8_t *from[2];

	for (uint32_t i = 0; i < 2; i++)
		if (image_has_full_chroma(img)) {
			from[i] = image_row(img, 1 + i, y);
		} else {
			widen(chroma[i], image_row(img, 1 + i, y / 2), width);
			from[i] = chroma[i];
		}
	for (uint32_t c = 0; c < CHANNELS; c++)
		light_of_ycc(out[c], image_row(img, 0, y), from[0], from[1],
			     shares[c][0], shares[c][1], width);
}

/* Light of red, green and blue of row `y` of a picture. */
INLINE void read_row(float *const out[CHANNELS], uint8_t *const chroma[2],
		     const struct image *img, uint32_t y)
{
	uint32_t width = img->planes[0].width;

	if (img->space == IMG_YCBCR) {
		read_ycc(out, chroma, img, y);
		return;
	}
	for (uint32_t c = 0; c < CHANNELS; c++)
		if (img->space == IMG_RGBA)
			light_over_white(out[c], image_row(img, c, y),
					 image_row(img, 3, y), width);
		else
			light_of_samples(
				out[c],
				image_row(img, img->space == IMG_GREY ? 0 : c,
					  y),
				width);
}

/*
 * One step of Halley's method from a guess by the exponent: within 0.00003 of
 * the root.
 */
INLINE float cube_root(float v)
{
	int32_t bits;
	float root, cube;

	memcpy(&bits, &v, sizeof(bits));
	bits = bits / 3 + 0x2a512ce3;
	memcpy(&root, &bits, sizeof(root));
	cube = root * root * root;
	return root * (cube + 2 * v) / (2 * cube + v);
}

/* XYB of JPEG XL, moved so that all is from 0 to 1, about; in place. */
INLINE void convert_row(const struct level *l, uint32_t y)
{
	const float bias = 0.0037930732552754493f, root = 0.155954200549248620f;
	size_t at = (size_t)y * l->width;
	float *restrict red = l->planes[0] + at;
	float *restrict green = l->planes[1] + at;
	float *restrict blue = l->planes[2] + at;

	for (uint32_t i = 0; i < l->width; i++) {
		float r = red[i], g = green[i], b = blue[i];
		float large = 0.3f * r + 0.622f * g + 0.078f * b;
		float medium = 0.23f * r + 0.692f * g + 0.078f * b;
		float small = 0.24342268924547819f * r +
			      0.20476744424496821f * g +
			      0.5518098665095536f * b;
		float luma;

		large = cube_root(large + bias) - root;
		medium = cube_root(medium + bias) - root;
		small = cube_root(small + bias) - root;
		luma = (large + medium) / 2;
		red[i] = (large - medium) / 2 * 14 + 0.42f;
		green[i] = luma + 0.01f;
		blue[i] = small - luma + 0.55f;
	}
}

/* `in` has REACH more samples at each end. */
INLINE void blur_along(float *restrict out, const float *restrict in,
		       uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		const float *at = in + x + REACH;
		float sum = gaussian[0] * at[0];

		for (int k = 1; k < TAPS; k++)
			sum += gaussian[k] * (at[-k] + at[k]);
		out[x] = sum;
	}
}

INLINE void blur_down(float *restrict out, float *const rows[ROWS],
		      uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		float sum = gaussian[0] * rows[REACH][x];

		for (int k = 1; k < TAPS; k++)
			sum += gaussian[k] *
			       (rows[REACH - k][x] + rows[REACH + k][x]);
		out[x] = sum;
	}
}

/* A row of a channel enters s->rows. */
INLINE void take_row(struct ssimulacra2 *s, const float *restrict a,
		     const float *restrict b, uint32_t width)
{
	float *to[MOMENTS];

	for (int m = 0; m < MOMENTS; m++)
		to[m] = s->line[m] + REACH;
	for (uint32_t x = 0; x < width; x++) {
		to[MEAN][x] = a[x];
		to[MEAN + 1][x] = b[x];
		to[SQUARE][x] = a[x] * a[x];
		to[SQUARE + 1][x] = b[x] * b[x];
		to[PRODUCT][x] = a[x] * b[x];
	}
	for (int m = 0; m < MOMENTS; m++) {
		float *oldest = s->rows[m][0];

		memmove(s->rows[m], s->rows[m] + 1,
			(ROWS - 1) * sizeof(oldest));
		s->rows[m][ROWS - 1] = oldest;
		blur_along(oldest, s->line[m], width);
	}
}

/* How unlike the structure is around each sample of a row. */
INLINE void find_structure(float *restrict out, float *const blurred[MOMENTS],
			   uint32_t width)
{
	const float c2 = 0.0009f;
	const float *restrict mean_a = blurred[MEAN];
	const float *restrict mean_b = blurred[MEAN + 1];
	const float *restrict square_a = blurred[SQUARE];
	const float *restrict square_b = blurred[SQUARE + 1];
	const float *restrict product = blurred[PRODUCT];

	for (uint32_t x = 0; x < width; x++) {
		float a = mean_a[x], b = mean_b[x];
		float variances = square_a[x] - a * a + (square_b[x] - b * b);
		float covariance = product[x] - a * b;
		float alike = (1 - (a - b) * (a - b)) * (2 * covariance + c2) /
			      (variances + c2);

		out[x] = positive(1 - alike);
	}
}

/* How much stronger, or weaker, the edge at each sample is. */
INLINE void find_edges(float *restrict stronger, float *restrict weaker,
		       const float *restrict a, const float *restrict mean_a,
		       const float *restrict b, const float *restrict mean_b,
		       uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		float edge = (1 + fabsf(b[x] - mean_b[x])) /
				     (1 + fabsf(a[x] - mean_a[x])) -
			     1;

		stronger[x] = positive(edge);
		weaker[x] = positive(-edge);
	}
}

/* Add a row of errors to what their mean and their 4-norm are made of. */
INLINE void add_errors(float *restrict sums, float *restrict fourths,
		       const float *restrict errors, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++) {
		float square = errors[x] * errors[x];

		sums[x] += errors[x];
		fourths[x] += square * square;
	}
}

/* A row of a channel, of which all rows near it have been taken. */
INLINE void compare_row(struct ssimulacra2 *s, const float *a, const float *b,
			uint32_t width)
{
	for (int m = 0; m < MOMENTS; m++)
		blur_down(s->blurred[m], s->rows[m], width);
	find_structure(s->errors[0], s->blurred, width);
	find_edges(s->errors[1], s->errors[2], a, s->blurred[MEAN], b,
		   s->blurred[MEAN + 1], width);
	for (int m = 0; m < MAPS; m++)
		add_errors(s->sums[m][0], s->sums[m][1], s->errors[m], width);
}

struct row_steps {
	void (*read)(float *const out[CHANNELS], uint8_t *const chroma[2],
		     const struct image *img, uint32_t y);
	void (*convert)(const struct level *l, uint32_t y);
	void (*take)(struct ssimulacra2 *s, const float *a, const float *b,
		     uint32_t width);
	void (*compare)(struct ssimulacra2 *s, const float *a, const float *b,
			uint32_t width);
};

static void portable_read(float *const out[CHANNELS], uint8_t *const chroma[2],
			  const struct image *img, uint32_t y)
{
	read_row(out, chroma, img, y);
}

static void portable_convert(const struct level *l, uint32_t y)
{
	convert_row(l, y);
}

static void portable_take(struct ssimulacra2 *s, const float *a, const float *b,
			  uint32_t width)
{
	take_row(s, a, b, width);
}

static void portable_compare(struct ssimulacra2 *s, const float *a,
			     const float *b, uint32_t width)
{
	compare_row(s, a, b, width);
}

static const struct row_steps portable_steps = {
	portable_read,
	portable_convert,
	portable_take,
	portable_compare,
};

#ifdef __x86_64__

#define AVX2 __attribute__((target("avx2")))

AVX2 static void avx2_read(float *const out[CHANNELS], uint8_t *const chroma[2],
			   const struct image *img, uint32_t y)
{
	read_row(out, chroma, img, y);
}

AVX2 static void avx2_convert(const struct level *l, uint32_t y)
{
	convert_row(l, y);
}

AVX2 static void avx2_take(struct ssimulacra2 *s, const float *a,
			   const float *b, uint32_t width)
{
	take_row(s, a, b, width);
}

AVX2 static void avx2_compare(struct ssimulacra2 *s, const float *a,
			      const float *b, uint32_t width)
{
	compare_row(s, a, b, width);
}

static const struct row_steps avx2_steps = {
	avx2_read,
	avx2_convert,
	avx2_take,
	avx2_compare,
};

#endif

static const struct row_steps *best_steps(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return &avx2_steps;
#endif
	return &portable_steps;
}

/* --- Light --- */

/*
 * Row `y` of half the sides, rounded up, from two rows of `l`; the last samples
 * are repeated.
 */
static void halve_rows(const struct level *half, uint32_t y,
		       const struct level *l, uint32_t top_y, uint32_t low_y)
{
	for (int c = 0; c < CHANNELS; c++) {
		const float *top = l->planes[c] + (size_t)top_y * l->width;
		const float *low = l->planes[c] + (size_t)low_y * l->width;
		float *out = half->planes[c] + (size_t)y * half->width;

		for (uint32_t x = 0; x < l->width / 2; x++)
			out[x] = (top[2 * x] + top[2 * x + 1] + low[2 * x] +
				  low[2 * x + 1]) /
				 4;
		if (l->width % 2 != 0)
			out[l->width / 2] =
				(top[l->width - 1] + low[l->width - 1]) / 2;
	}
}

static void halve(const struct ssimulacra2 *s, const struct level *half,
		  const struct level *l)
{
	for (uint32_t y = 0; y < half->height; y++) {
		halve_rows(half, y, l, 2 * y,
			   min_u32(2 * y + 1, l->height - 1));
		memory_pause(s->memory);
	}
}

static void convert(const struct ssimulacra2 *s, const struct level *l)
{
	for (uint32_t y = 0; y < l->height; y++) {
		s->steps->convert(l, y);
		memory_pause(s->memory);
	}
}

/* --- Bands --- */

static struct bands bands_of(uint32_t width, uint32_t height, uint64_t pixels)
{
	uint32_t all = (height + BAND_ROWS - 1) / BAND_ROWS;
	uint32_t step =
		(uint32_t)min_u64((uint64_t)width * height / pixels, all);
	struct bands b = { .height = height,
			   .rows = height,
			   .period = height + 2 * REACH,
			   .count = 1 };

	if (step <= 1)
		return b;
	b.rows = BAND_ROWS;
	b.period = step * BAND_ROWS;
	b.first = step / 2 * BAND_ROWS;
	b.count = (height - b.first + b.period - 1) / b.period;
	return b;
}

/* Of the rows of a strip, with room for those that are not in the picture. */
static uint32_t strip_rows(const struct bands *b)
{
	return b->rows + 2 * REACH;
}

/* Rows `from` to `end` - 1 of a picture. */
struct range {
	uint32_t from, end;
};

static struct range band_at(const struct bands *b, uint32_t i)
{
	uint32_t from = b->first + i * b->period;

	return (struct range){ from, min_u32(from + b->rows, b->height) };
}

static struct range strip_at(const struct bands *b, uint32_t i)
{
	struct range r = band_at(b, i);

	return (struct range){ r.from > REACH ? r.from - REACH : 0,
			       min_u32(r.end + REACH, b->height) };
}

/* The rows of strip `i` of a picture, or of its strips. */
static struct level level_of_strip(const struct bands *b,
				   const struct level *all, uint32_t i)
{
	struct range r = strip_at(b, i);
	struct level l = { all->width, r.end - r.from, { NULL } };
	uint32_t row = b->are_alone ? i * strip_rows(b) : r.from;

	for (int c = 0; c < CHANNELS; c++)
		l.planes[c] = all->planes[c] + (size_t)row * all->width;
	return l;
}

/* Copy row `y` of light to the strip that it is in, if it is in one. */
static void keep_row(const struct ssimulacra2 *s, const struct level *strips,
		     uint32_t y)
{
	const struct bands *b = &s->bands[0];
	uint32_t i =
		y + REACH < b->first ? 0 : (y + REACH - b->first) / b->period;
	struct range r;

	if (i >= b->count)
		return;
	r = strip_at(b, i);
	if (y < r.from || y >= r.end)
		return;

	struct level l = level_of_strip(b, strips, i);

	for (int c = 0; c < CHANNELS; c++)
		memcpy(l.planes[c] + (size_t)(y - r.from) * s->width,
		       s->pair.planes[c] + (size_t)(y % 2) * s->width,
		       s->width * sizeof(float));
}

/*
 * The first scale in XYB, as strips, and the light of the second one, if there
 * is one.
 */
static void read_picture(const struct ssimulacra2 *s,
			 const struct level *strips, const struct level *half,
			 const struct image *img)
{
	for (uint32_t y = 0; y < s->height; y++) {
		float *row[CHANNELS];

		for (int c = 0; c < CHANNELS; c++)
			row[c] = s->pair.planes[c] + (size_t)(y % 2) * s->width;
		s->steps->read(row, s->chroma, img, y);
		keep_row(s, strips, y);
		if (half != NULL && (y % 2 != 0 || y + 1 == s->height))
			halve_rows(half, y / 2, &s->pair, 0, y % 2);
		memory_pause(s->memory);
	}
	for (uint32_t i = 0; i < s->bands[0].count; i++) {
		struct level l = level_of_strip(&s->bands[0], strips, i);

		convert(s, &l);
	}
}

static void clear_sums(struct ssimulacra2 *s, uint32_t width)
{
	s->row_count = 0;
	for (int m = 0; m < MAPS; m++)
		for (int n = 0; n < NORMS; n++)
			memset(s->sums[m][n], 0, width * sizeof(float));
}

static void clear_rows(struct ssimulacra2 *s, uint32_t width)
{
	for (int m = 0; m < MOMENTS; m++) {
		memset(s->line[m], 0, (width + 2 * REACH) * sizeof(float));
		for (int i = 0; i < ROWS; i++)
			memset(s->rows[m][i], 0, width * sizeof(float));
	}
}

/*
 * Compare rows `first` to `end` - 1 of a channel.  Rows above and below are in
 * `a` and `b`, too, or there are none in the picture.
 */
static void compare_rows(struct ssimulacra2 *s, const struct level *a,
			 const struct level *b, uint32_t c, uint32_t first,
			 uint32_t end)
{
	uint32_t width = a->width;

	clear_rows(s, width);
	for (uint32_t y = first > REACH ? first - REACH : 0; y < end + REACH;
	     y++) {
		size_t from = (size_t)y * width;
		size_t middle = from - (size_t)REACH * width;

		if (y < a->height)
			s->steps->take(s, a->planes[c] + from,
				       b->planes[c] + from, width);
		else
			s->steps->take(s, s->zeros, s->zeros, width);
		if (y >= first + REACH)
			s->steps->compare(s, a->planes[c] + middle,
					  b->planes[c] + middle, width);
		memory_pause(s->memory);
	}
	s->row_count += end - first;
}

static double total(const float *values, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (double)values[i];
	return sum;
}

/* The weighted sum of what was compared since clear_sums(). */
static double weighted_sum(const struct ssimulacra2 *s, uint32_t width,
			   const double w[NORMS * MAPS])
{
	double count = (double)width * s->row_count, sum = 0;

	for (int m = 0; m < MAPS; m++)
		sum += w[m] * total(s->sums[m][0], width) / count +
		       w[MAPS + m] *
			       sqrt(sqrt(total(s->sums[m][1], width) / count));
	return sum;
}

/* A small picture has fewer scales, and no gaps in between. */
static const double *weights_of(const struct ssimulacra2 *s, uint32_t channel,
				uint32_t scale)
{
	return weights + (size_t)(channel * s->scales + scale) * NORMS * MAPS;
}

static bool has_weight(const double w[NORMS * MAPS])
{
	for (int i = 0; i < NORMS * MAPS; i++)
		if (w[i] >= LEAST_WEIGHT)
			return true;
	return false;
}

/* A channel at one scale, in XYB. */
static double compare_channel(struct ssimulacra2 *s, uint32_t scale,
			      const struct level *result, uint32_t c,
			      const double w[NORMS * MAPS])
{
	const struct bands *bands = &s->bands[scale];

	clear_sums(s, result->width);
	for (uint32_t i = 0; i < bands->count; i++) {
		struct level a = level_of_strip(bands, &s->reference[scale], i);
		struct level b = level_of_strip(bands, result, i);
		struct range strip = strip_at(bands, i);
		struct range band = band_at(bands, i);

		compare_rows(s, &a, &b, c, band.from - strip.from,
			     band.end - strip.from);
	}
	return weighted_sum(s, result->width, w);
}

/* All channels at one scale. */
static double compare_scale(struct ssimulacra2 *s, uint32_t scale,
			    const struct level *result)
{
	double sum = 0;

	for (uint32_t c = 0; c < CHANNELS; c++) {
		const double *w = weights_of(s, c, scale);

		if (has_weight(w))
			sum += compare_channel(s, scale, result, c, w);
	}
	return sum;
}

/* --- Pictures --- */

/* As in the authors' program, the last scale may be smaller than the least. */
static uint32_t count_scales(uint32_t width, uint32_t height)
{
	uint32_t count = 1;

	while (count < SCALES && width >= SSIMULACRA2_SIDE_MIN &&
	       height >= SSIMULACRA2_SIDE_MIN) {
		width = (width + 1) / 2;
		height = (height + 1) / 2;
		count++;
	}
	return count;
}

/* The published curve from the weighted sum to a score. */
static double score_of(double sum)
{
	sum *= 0.9562382616834844;
	sum = 6.248496625763138e-5 * sum * sum * sum -
	      0.020884521182843837 * sum * sum + 2.326765642916932 * sum;
	return sum > 0 ? 100 - 10 * pow(sum, 0.6276336467831387) : 100;
}

/* --- The struct --- */

/* Give out floats from `room`, or only count them if it is NULL. */
static float *take_floats(float *room, size_t *used, size_t count)
{
	float *taken = room == NULL ? NULL : room + *used;

	*used += count;
	return taken;
}

static void place_level(struct level *l, uint32_t width, uint32_t height,
			float *room, size_t *used)
{
	l->width = width;
	l->height = height;
	for (int c = 0; c < CHANNELS; c++)
		l->planes[c] = take_floats(room, used, (size_t)width * height);
}

static void place_rows(struct ssimulacra2 *s, float *room, size_t *used)
{
	for (int m = 0; m < MOMENTS; m++) {
		s->line[m] = take_floats(room, used, s->width + 2 * REACH);
		for (int i = 0; i < ROWS; i++)
			s->rows[m][i] = take_floats(room, used, s->width);
		s->blurred[m] = take_floats(room, used, s->width);
	}
	for (int m = 0; m < MAPS; m++) {
		s->errors[m] = take_floats(room, used, s->width);
		for (int n = 0; n < NORMS; n++)
			s->sums[m][n] = take_floats(room, used, s->width);
	}
	s->zeros = take_floats(room, used, s->width);
	for (int i = 0; i < 2; i++)
		s->chroma[i] = (uint8_t *)take_floats(room, used, s->width);
	place_level(&s->pair, s->width, 2, room, used);
}

/* Returns how many floats all arrays have. */
static size_t place_arrays(struct ssimulacra2 *s, uint64_t pixels, float *room)
{
	uint32_t width = s->width, height = s->height, rows;
	size_t used = 0;

	s->scales = count_scales(width, height);
	for (uint32_t i = 0; i < s->scales; i++) {
		s->bands[i] = bands_of(width, height, pixels);
		if (i == 0)
			s->bands[0].are_alone = true;
		rows = i == 0 ? strip_rows(&s->bands[0]) * s->bands[0].count :
				height;
		place_level(&s->reference[i], width, rows, room, &used);
		if (i <= 2)
			place_level(i == 0 ? &s->strips : &s->result[i % 2],
				    width, rows, room, &used);
		width = (width + 1) / 2;
		height = (height + 1) / 2;
	}
	place_rows(s, room, &used);
	return used;
}

size_t ssimulacra2_bytes(uint32_t width, uint32_t height, uint64_t pixels)
{
	struct ssimulacra2 s = { .width = width, .height = height };

	return sizeof(s) + place_arrays(&s, pixels, NULL) * sizeof(float);
}

/* The other scales in XYB, of which the first has light. */
static void fill_reference(struct ssimulacra2 *s, const struct image *reference)
{
	read_picture(s, &s->reference[0],
		     s->scales > 1 ? &s->reference[1] : NULL, reference);
	for (uint32_t i = 2; i < s->scales; i++)
		halve(s, &s->reference[i], &s->reference[i - 1]);
	for (uint32_t i = 1; i < s->scales; i++)
		convert(s, &s->reference[i]);
}

static struct ssimulacra2 *start(const struct image *reference, uint64_t pixels,
				 const struct row_steps *steps,
				 const struct memory *memory)
{
	uint32_t width = reference->planes[0].width;
	uint32_t height = reference->planes[0].height;
	struct ssimulacra2 *s;

	assert(width >= SSIMULACRA2_SIDE_MIN && height >= SSIMULACRA2_SIDE_MIN);
	assert(pixels > 0 && image_is_shaped(reference));
	s = memory_alloc(memory, ssimulacra2_bytes(width, height, pixels));
	if (s == NULL)
		return NULL;
	*s = (struct ssimulacra2){ .memory = memory,
				   .steps = steps,
				   .width = width,
				   .height = height };
	place_arrays(s, pixels, (float *)(s + 1));
	memset(s->zeros, 0, width * sizeof(*s->zeros));
	fill_reference(s, reference);
	return s;
}

struct ssimulacra2 *ssimulacra2_new(const struct image *reference,
				    uint64_t pixels,
				    const struct memory *memory)
{
	return start(reference, pixels, best_steps(), memory);
}

struct ssimulacra2 *ssimulacra2_new_portable(const struct image *reference,
					     uint64_t pixels,
					     const struct memory *memory)
{
	return start(reference, pixels, &portable_steps, memory);
}

/* Of a result, in the shape of the reference. */
static struct level *result_at(struct ssimulacra2 *s, uint32_t scale)
{
	struct level *l = &s->result[scale % 2];

	l->width = s->reference[scale].width;
	l->height = s->reference[scale].height;
	return l;
}

double ssimulacra2_score(struct ssimulacra2 *s, const struct image *result)
{
	double sum;

	assert(result->planes[0].width == s->width &&
	       result->planes[0].height == s->height);
	assert(image_is_shaped(result));
	read_picture(s, &s->strips, s->scales > 1 ? result_at(s, 1) : NULL,
		     result);
	sum = compare_scale(s, 0, &s->strips);
	for (uint32_t i = 1; i < s->scales; i++) {
		const struct level *now = result_at(s, i);

		if (i + 1 < s->scales)
			halve(s, result_at(s, i + 1), now);
		convert(s, now);
		sum += compare_scale(s, i, now);
	}
	return score_of(sum);
}

void ssimulacra2_free(struct ssimulacra2 *s)
{
	if (s != NULL)
		memory_free(s->memory, s);
}
