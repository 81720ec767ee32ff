/* SPDX-License-Identifier: MIT */
/*
 * For each of six scales, from 1:1 to 1:32, and each channel of XYB:
 *
 *	samples -> means and variances under a Gaussian -> three maps of errors
 *	        -> the mean of each map, and its 4-norm
 *
 * The score is a function of the weighted sum of these 108 numbers.
 */
#include "imgops/bench/ssimulacra2.h"

#include "imgops/bench/measure.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCALES = 6, CHANNELS = 3, MAPS = 3, NORMS = 2, TAPS = 5 };

/*
 * By channel (X, Y, B), scale, norm (mean, 4-norm) and map (unlike structure,
 * new edges, lost edges).
 */
static const double weights[CHANNELS * SCALES * NORMS * MAPS] = {
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

/* Of one scale. */
struct scale {
	uint32_t width, height;
	float *samples[2][CHANNELS]; /* reference and result, in XYB */
	/* Of one channel, under the Gaussian. */
	float *mean[2], *square[2], *product;
	float *rows, *line; /* for blur() */
};

static float *new_plane(size_t count)
{
	return must_alloc(count, sizeof(float));
}

static void scale_init(struct scale *s, uint32_t width, uint32_t height)
{
	size_t count = (size_t)width * height;

	*s = (struct scale){ .width = width, .height = height };
	for (int i = 0; i < 2; i++) {
		for (int c = 0; c < CHANNELS; c++)
			s->samples[i][c] = new_plane(count);
		s->mean[i] = new_plane(count);
		s->square[i] = new_plane(count);
	}
	s->product = new_plane(count);
	s->rows = new_plane(count);
	s->line = new_plane(width + 2 * (TAPS - 1));
}

static void scale_release(struct scale *s)
{
	for (int i = 0; i < 2; i++) {
		for (int c = 0; c < CHANNELS; c++)
			free(s->samples[i][c]);
		free(s->mean[i]);
		free(s->square[i]);
	}
	free(s->product);
	free(s->rows);
	free(s->line);
}

static void blur_row(float *out, const float *in, float *line, uint32_t width)
{
	const float *at = line + TAPS - 1; /* its ends stay 0 */

	memcpy(line + TAPS - 1, in, width * sizeof(*in));
	for (uint32_t x = 0; x < width; x++) {
		float sum = gaussian[0] * at[x];

		for (int k = 1; k < TAPS; k++)
			sum += gaussian[k] * (at[(int)x - k] + at[(int)x + k]);
		out[x] = sum;
	}
}

static void add_row(float *out, const float *in, float weight, uint32_t width)
{
	for (uint32_t x = 0; x < width; x++)
		out[x] += weight * in[x];
}

/* Outside of the picture, samples are 0.  In place. */
static void blur(struct scale *s, float *plane)
{
	uint32_t width = s->width, height = s->height;

	for (uint32_t y = 0; y < height; y++)
		blur_row(s->rows + (size_t)y * width, plane + (size_t)y * width,
			 s->line, width);
	memset(plane, 0, (size_t)width * height * sizeof(*plane));
	for (uint32_t y = 0; y < height; y++)
		for (int k = 1 - TAPS; k < TAPS; k++) {
			int64_t from = (int64_t)y + k;

			if (from >= 0 && from < height)
				add_row(plane + (size_t)y * width,
					s->rows + (size_t)from * width,
					gaussian[abs(k)], width);
		}
}

static void blur_product(struct scale *s, float *out, const float *a,
			 const float *b)
{
	for (size_t i = 0; i < (size_t)s->width * s->height; i++)
		out[i] = a[i] * b[i];
	blur(s, out);
}

/* XYB of JPEG XL, moved so that all is from 0 to 1, about. */
static void convert(float *const out[CHANNELS], const struct light *l)
{
	const float bias = 0.0037930732552754493f, root = cbrtf(bias);

	for (size_t i = 0; i < (size_t)l->width * l->height; i++) {
		float r = l->planes[0][i], g = l->planes[1][i],
		      b = l->planes[2][i];
		float large = 0.3f * r + 0.622f * g + 0.078f * b;
		float medium = 0.23f * r + 0.692f * g + 0.078f * b;
		float small = 0.24342268924547819f * r +
			      0.20476744424496821f * g +
			      0.5518098665095536f * b;
		float y;

		large = cbrtf(large + bias) - root;
		medium = cbrtf(medium + bias) - root;
		small = cbrtf(small + bias) - root;
		y = (large + medium) / 2;
		out[0][i] = (large - medium) / 2 * 14 + 0.42f;
		out[1][i] = y + 0.01f;
		out[2][i] = small - y + 0.55f;
	}
}

/* How unlike the structure is around sample i. */
static double structure_error(const struct scale *s, size_t i)
{
	const float c2 = 0.0009f;
	float a = s->mean[0][i], b = s->mean[1][i];
	float variances = s->square[0][i] - a * a + (s->square[1][i] - b * b);
	float covariance = s->product[i] - a * b;
	float alike = (1 - (a - b) * (a - b)) * (2 * covariance + c2) /
		      (variances + c2);

	return fmax(0, 1 - (double)alike);
}

/* How much stronger the edge at sample i is; less than 0: weaker. */
static double edge_error(const struct scale *s, int channel, size_t i)
{
	double edges[2];

	for (int p = 0; p < 2; p++)
		edges[p] = fabsf(s->samples[p][channel][i] - s->mean[p][i]);
	return (1 + edges[1]) / (1 + edges[0]) - 1;
}

static void add_error(double sums[NORMS], double error)
{
	double square = error * error;

	sums[0] += error;
	sums[1] += square * square;
}

/* Returns the weighted sum of the norms of a channel's maps. */
static double compare_channel(struct scale *s, int c,
			      const double w[NORMS * MAPS])
{
	size_t count = (size_t)s->width * s->height;
	double sums[MAPS][NORMS] = { 0 }, sum = 0;

	for (int p = 0; p < 2; p++) {
		memcpy(s->mean[p], s->samples[p][c], count * sizeof(float));
		blur(s, s->mean[p]);
		blur_product(s, s->square[p], s->samples[p][c],
			     s->samples[p][c]);
	}
	blur_product(s, s->product, s->samples[0][c], s->samples[1][c]);
	for (size_t i = 0; i < count; i++) {
		double edge = edge_error(s, c, i);

		add_error(sums[0], structure_error(s, i));
		add_error(sums[1], fmax(edge, 0));
		add_error(sums[2], fmax(-edge, 0));
	}
	for (int m = 0; m < MAPS; m++)
		sum += w[m] * sums[m][0] / (double)count +
		       w[MAPS + m] * sqrt(sqrt(sums[m][1] / (double)count));
	return sum;
}

/* Half the sides, rounded up; the last samples are repeated. */
static struct light halve(const struct light *l)
{
	struct light half = { .width = (l->width + 1) / 2,
			      .height = (l->height + 1) / 2 };

	for (int c = 0; c < CHANNELS; c++) {
		half.planes[c] = new_plane((size_t)half.width * half.height);
		for (uint32_t y = 0; y < half.height; y++) {
			const float *top =
				l->planes[c] + (size_t)2 * y * l->width;
			const float *bottom =
				2 * y + 1 < l->height ? top + l->width : top;
			float *out = half.planes[c] + (size_t)y * half.width;

			for (uint32_t x = 0; x < half.width; x++) {
				uint32_t right = 2 * x + (2 * x + 1 < l->width);

				out[x] = (top[2 * x] + top[right] +
					  bottom[2 * x] + bottom[right]) /
					 4;
			}
		}
	}
	return half;
}

void light_release(struct light *l)
{
	for (int c = 0; c < CHANNELS; c++)
		free(l->planes[c]);
	*l = (struct light){ 0 };
}

/* The sums of the channels at one scale. */
static void compare_scale(double sums[CHANNELS], const struct light pictures[2],
			  const double *const w[CHANNELS])
{
	struct scale s;

	scale_init(&s, pictures[0].width, pictures[0].height);
	convert(s.samples[0], &pictures[0]);
	convert(s.samples[1], &pictures[1]);
	for (int c = 0; c < CHANNELS; c++)
		sums[c] += compare_channel(&s, c, w[c]);
	scale_release(&s);
}

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

double ssimulacra2(const struct light *reference, const struct light *result)
{
	struct light now[2] = { *reference, *result };
	uint32_t scales = count_scales(reference->width, reference->height);
	double sums[CHANNELS] = { 0 };

	assert(reference->width == result->width &&
	       reference->height == result->height);
	assert(reference->width >= SSIMULACRA2_SIDE_MIN &&
	       reference->height >= SSIMULACRA2_SIDE_MIN);
	for (uint32_t i = 0; i < scales; i++) {
		/* A small picture has fewer scales, and no gaps in between. */
		const double *w[CHANNELS];

		for (uint32_t c = 0; c < CHANNELS; c++)
			w[c] = weights +
			       (size_t)(c * scales + i) * NORMS * MAPS;
		compare_scale(sums, now, w);
		for (int p = 0; p < 2 && i + 1 < scales; p++) {
			struct light half = halve(&now[p]);

			if (i > 0)
				light_release(&now[p]);
			now[p] = half;
		}
	}
	for (int p = 0; p < 2 && scales > 1; p++)
		light_release(&now[p]);
	return score_of(sums[0] + sums[1] + sums[2]);
}
