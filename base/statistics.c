/* SPDX-License-Identifier: MIT */
#include "base/statistics.h"

#include "base/quantiles.h"

#include <assert.h>
#include <math.h>

void sample_add_block(struct sample *s, size_t block, double value)
{
	size_t i = 0;

	while (i < s->count && s->blocks[i] != block)
		i++;
	if (!isfinite(value) || i == SAMPLE_COUNT_MAX)
		return;
	if (i == s->count) {
		s->values[i] = 0;
		s->blocks[i] = block;
		s->merged[i] = 0;
		s->count++;
	}
	s->values[i] += (value - s->values[i]) / (double)++s->merged[i];
}

void sample_add(struct sample *s, double value)
{
	sample_add_block(s, s->count, value);
}

size_t sample_added(const struct sample *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++)
		count += s->merged[i];
	return count;
}

static struct sample sorted(const struct sample *s)
{
	struct sample copy = *s;

	quantiles_sort(copy.values, copy.count);
	return copy;
}

double sample_mean(const struct sample *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++)
		sum += s->values[i];
	return s->count > 0 ? sum / (double)s->count : (double)NAN;
}

double sample_deviation(const struct sample *s)
{
	double mean = sample_mean(s);
	double squares = 0;

	if (s->count < 2)
		return NAN;
	for (size_t i = 0; i < s->count; i++)
		squares += (s->values[i] - mean) * (s->values[i] - mean);
	return sqrt(squares / (double)(s->count - 1));
}

double sample_median(const struct sample *s)
{
	struct sample ordered = sorted(s);

	return s->count > 0 ? quantile_between(ordered.values, s->count, 0.5) :
			      (double)NAN;
}

/*
 * The continued fraction of the incomplete beta function, by Lentz's method:
 * NIST Digital Library of Mathematical Functions, 8.17.22.
 */
static double beta_fraction(double a, double b, double x)
{
	static const double tiny = 1e-300;
	double c = 1, d = 1 / fmax(1 - (a + b) * x / (a + 1), tiny), h = d;

	for (int m = 1; m < 1000; m++) {
		double terms[2] = {
			m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
			-(a + m) * (a + b + m) * x /
				((a + 2 * m) * (a + 2 * m + 1)),
		};
		double before = h;

		for (int i = 0; i < 2; i++) {
			d = 1 + terms[i] * d;
			c = 1 + terms[i] / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			h *= c * d;
		}
		if (fabs(h - before) <= 1e-15 * fabs(h))
			break;
	}
	return h;
}

/* The regularized incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) +
			   b * log1p(-x));

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Student's t distribution: P(T <= t). */
static double student_cdf(double t, double freedom)
{
	double tail =
		incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) /
		2;

	return t > 0 ? 1 - tail : tail;
}

/* The t at which it is `p`. */
static double student_quantile(double p, double freedom)
{
	double low = -1, high = 1;

	assert(p > 0 && p < 1);
	while (student_cdf(low, freedom) > p)
		low *= 2;
	while (student_cdf(high, freedom) < p)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		*(student_cdf(middle, freedom) < p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

/* The logarithms of a / b of all blocks that both have. */
static struct sample log_ratios(const struct sample *a, const struct sample *b)
{
	struct sample logs = { .count = 0 };

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			if (a->blocks[i] == b->blocks[j] && a->values[i] > 0 &&
			    b->values[j] > 0)
				sample_add_block(
					&logs, a->blocks[i],
					log(a->values[i] / b->values[j]));
	return logs;
}

/* P(|T| >= |t|); the mean is `error` times t away from 0. */
static double two_sided_p(double mean, double error, double freedom)
{
	if (error == 0)
		return mean == 0 ? 1 : 0;
	return 2 * student_cdf(-fabs(mean / error), freedom);
}

/* Of a mean of logarithms; with less than two blocks, only the ratio. */
static struct sample_ratio make_ratio(size_t blocks, double mean,
				      double deviation, double error,
				      double freedom, double level)
{
	struct sample_ratio r = { blocks, exp(mean), NAN, NAN,
				  NAN,    NAN,       NAN, NAN };
	double width;

	if (blocks < 2)
		return r;
	width = student_quantile((1 + level) / 2, freedom) * error;
	r.low = exp(mean - width);
	r.high = exp(mean + width);
	r.deviation = deviation;
	r.p = two_sided_p(mean, error, freedom);
	r.error = error;
	r.freedom = freedom;
	return r;
}

struct sample_ratio sample_compare(const struct sample *a,
				   const struct sample *b, double level)
{
	struct sample logs = log_ratios(a, b);
	double freedom = (double)logs.count - 1, mean = sample_mean(&logs);
	double deviation = sample_deviation(&logs);

	return make_ratio(logs.count, mean, deviation,
			  deviation / sqrt((double)logs.count), freedom, level);
}

static struct sample logs_of(const struct sample *s)
{
	struct sample logs = { .count = 0 };

	for (size_t i = 0; i < s->count; i++)
		if (s->values[i] > 0)
			sample_add(&logs, log(s->values[i]));
	return logs;
}

struct sample_ratio sample_compare_apart(const struct sample *a,
					 const struct sample *b, double level)
{
	struct sample x = logs_of(a), y = logs_of(b);
	double mean = sample_mean(&x) - sample_mean(&y);

	/* The variances of both means, and Welch's degrees of freedom. */
	double dx = sample_deviation(&x), dy = sample_deviation(&y);
	double vx = dx * dx / (double)x.count, vy = dy * dy / (double)y.count;
	double freedom = vx + vy > 0 ?
				 (vx + vy) * (vx + vy) /
					 (vx * vx / (double)(x.count - 1) +
					  vy * vy / (double)(y.count - 1)) :
				 1;

	return make_ratio(x.count < y.count ? x.count : y.count, mean,
			  sqrt(dx * dx + dy * dy), sqrt(vx + vy), freedom,
			  level);
}

double sample_equivalence_p(const struct sample_ratio *r, double bound)
{
	double room = log(bound) - fabs(log(r->ratio));

	if (r->blocks < 2)
		return NAN;
	if (r->error == 0)
		return room > 0 ? 0 : 1;
	return student_cdf(-room / r->error, r->freedom);
}

double sample_least_ratio(double deviation, size_t blocks, double alpha,
			  double power)
{
	double freedom = (double)blocks - 1;

	return exp((student_quantile(1 - alpha / 2, freedom) +
		    student_quantile(power, freedom)) *
		   deviation / sqrt((double)blocks));
}

double sample_blocks_needed(double deviation, double bound, double alpha,
			    double power)
{
	size_t low = 1, high = 2;

	while (high <= 1 << 20 &&
	       sample_least_ratio(deviation, high, alpha, power) > bound) {
		low = high;
		high *= 2;
	}
	if (high > 1 << 20)
		return INFINITY;
	while (high - low > 1) { /* too few; enough */
		size_t middle = (low + high) / 2;

		if (sample_least_ratio(deviation, middle, alpha, power) > bound)
			low = middle;
		else
			high = middle;
	}
	return (double)high;
}

void holm_correct(double *p, size_t count)
{
	double given[HOLM_TESTS_MAX], last = 0;
	size_t tests = 0;

	assert(count <= HOLM_TESTS_MAX);
	for (size_t i = 0; i < count; i++) {
		given[i] = p[i];
		tests += !isnan(p[i]);
	}
	for (; tests > 0; tests--) {
		size_t least = count;

		for (size_t i = 0; i < count; i++)
			if (!isnan(given[i]) &&
			    (least == count || given[i] < given[least]))
				least = i;
		last = fmax(last, fmin(1, given[least] * (double)tests));
		p[least] = last;
		given[least] = NAN;
	}
}
