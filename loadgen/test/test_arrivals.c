/* SPDX-License-Identifier: MIT */
/* Arrivals have the rates, gaps and traces that were asked for. */
#include "base/test/check.h"
#include "loadgen/client/arrivals.h"
#include "base/test/scratch.h"

#include <math.h>
#include <string.h>

enum { COUNT = 100000 };

static uint64_t times_ns[COUNT];

static void draw(enum arrivals_kind kind, double rate_per_s, uint64_t seed)
{
	struct arrivals a;

	arrivals_init(&a, kind, rate_per_s, seed);
	for (int i = 0; i < COUNT; i++)
		times_ns[i] = arrivals_next_ns(&a);
}

static void test_constant_is_exact(void)
{
	draw(ARRIVALS_CONSTANT, 1000, 1);
	for (int i = 0; i < COUNT; i++)
		CHECK_NUMBER(times_ns[i], ==, (uint64_t)i * 1000000);
	draw(ARRIVALS_CONSTANT, 0.5, 1);
	CHECK_NUMBER(times_ns[0], ==, 0);
	CHECK_NUMBER(times_ns[3], ==, UINT64_C(6000000000));
	draw(ARRIVALS_CONSTANT, 3, 1); /* 1/3 s is not a whole number of ns */
	CHECK_NUMBER(times_ns[99999], ==, UINT64_C(33333000000000));
}

static void test_never_backwards(void)
{
	draw(ARRIVALS_POISSON, 1e6, 1);
	for (int i = 1; i < COUNT; i++)
		CHECK_NUMBER(times_ns[i], >=, times_ns[i - 1]);
}

/* The mean of COUNT gaps has a standard deviation of 0.3 %. */
static void test_poisson_rate(void)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		draw(ARRIVALS_POISSON, 0.25, seed);
		CHECK_NUMBER(
			fabs((double)times_ns[COUNT - 1] / (COUNT * 4e9) - 1),
			<, 0.02);
	}
}

/*
 * Pearson's statistic of the gaps in BINS bins that exponential gaps of this
 * mean fall into with equal probability: bin i ends at -ln(1 - (i + 1) / BINS).
 */
static double chi_square(double mean_ns)
{
	enum { BINS = 20 };
	double expected = (double)(COUNT - 1) / BINS;
	double sum = 0;
	int counts[BINS] = { 0 };

	for (int i = 1; i < COUNT; i++) {
		double gap_ns = (double)(times_ns[i] - times_ns[i - 1]);

		counts[(int)(BINS * -expm1(-gap_ns / mean_ns))]++;
	}
	for (int i = 0; i < BINS; i++)
		sum += (counts[i] - expected) * (counts[i] - expected) /
		       expected;
	return sum;
}

/*
 * The upper critical value of 19 degrees of freedom at 0.001.  NIST/SEMATECH
 * e-Handbook of Statistical Methods, table 1.3.6.7.4.
 */
static const double chi_square_critical = 43.820;

static void test_poisson_gaps_are_exponential(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		draw(ARRIVALS_POISSON, 1000, seed);
		CHECK_NUMBER(chi_square(1e6), <, chi_square_critical);
		CHECK_NUMBER(chi_square(1.03e6), >, chi_square_critical);
	}
}

/*
 * Gaps are independent: a gap and the next one are both longer than the mean
 * with probability exp(-2).
 */
static void test_poisson_gaps_are_independent(void)
{
	int both = 0;
	bool last = false;

	draw(ARRIVALS_POISSON, 1000, 5);
	for (int i = 1; i < COUNT; i++) {
		bool is_long = times_ns[i] - times_ns[i - 1] > 1000000;

		both += is_long && last;
		last = is_long;
	}
	CHECK_NUMBER(fabs((double)both / COUNT - exp(-2)), <, 0.01);
}

static void expect_replay(const struct trace *trace, double rate_per_s,
			  const uint64_t *expected_ns)
{
	struct arrivals a;

	arrivals_init_trace(&a, trace, rate_per_s);
	for (size_t i = 0; i < trace->count; i++)
		CHECK_NUMBER(arrivals_next_ns(&a), ==, expected_ns[i]);
	CHECK_NUMBER(arrivals_next_ns(&a), ==, ARRIVALS_OVER);
	CHECK_NUMBER(arrivals_next_ns(&a), ==, ARRIVALS_OVER);
}

static void test_trace_is_exact(void)
{
	double times_s[] = { 0, 0.1, 0.1, 1.001, 999999.000000001 };
	struct trace trace = { .times_s = times_s, .count = 5 };

	expect_replay(&trace, trace_rate_per_s(&trace),
		      (const uint64_t[]){ 0, 100000000, 100000000, 1001000000,
					  UINT64_C(999999000000001) });
}

static void test_trace_is_stretched(void)
{
	double times_s[] = { 0.5, 0.75, 2 };
	struct trace trace = { .times_s = times_s, .count = 3 };

	CHECK_NUMBER(trace_rate_per_s(&trace), ==, 1.5);
	expect_replay(&trace, 0.75,
		      (const uint64_t[]){ 1000000000, 1500000000,
					  UINT64_C(4000000000) });
	expect_replay(&trace, 6,
		      (const uint64_t[]){ 125000000, 187500000, 500000000 });
}

static void test_seed_decides(void)
{
	struct arrivals a;
	bool differ = false;

	draw(ARRIVALS_POISSON, 7, 3);
	arrivals_init(&a, ARRIVALS_POISSON, 7, 3);
	for (int i = 0; i < COUNT; i++)
		CHECK_NUMBER(arrivals_next_ns(&a), ==, times_ns[i]);
	arrivals_init(&a, ARRIVALS_POISSON, 7, 4);
	for (int i = 0; i < COUNT; i++)
		differ = differ || arrivals_next_ns(&a) != times_ns[i];
	CHECK(differ);
}

static void test_names(void)
{
	enum arrivals_kind kind = ARRIVALS_NONE;

	CHECK(arrivals_find("poisson", &kind));
	CHECK_NUMBER(kind, ==, ARRIVALS_POISSON);
	CHECK(arrivals_find("constant", &kind));
	CHECK_NUMBER(kind, ==, ARRIVALS_CONSTANT);
	CHECK(!arrivals_find("none", &kind));
	CHECK(!arrivals_find("", &kind));
	CHECK(arrivals_find("trace", &kind));
	CHECK_NUMBER(kind, ==, ARRIVALS_TRACE);
	CHECK_TEXT(arrivals_name(ARRIVALS_POISSON), "poisson");
	CHECK(arrivals_name(ARRIVALS_NONE) == NULL);
}

static struct scratch scratch;

static bool read_text(struct trace *t, const char *text, size_t size,
		      struct error *error)
{
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "times", text, size);
	return trace_read(t, scratch_path(&scratch, "times", path), error);
}

static void expect(const char *text, const double *times_s, size_t count)
{
	struct trace t = { 0 };
	struct error error;

	CHECK(read_text(&t, text, strlen(text), &error));
	CHECK_NUMBER(t.count, ==, count);
	for (size_t i = 0; i < count; i++)
		CHECK_NUMBER(t.times_s[i], ==, times_s[i]);
	trace_release(&t);
	CHECK(t.times_s == NULL);
}

static void expect_error(const char *text, size_t size, const char *part)
{
	struct trace t = { 0 };
	struct error error;

	CHECK(!read_text(&t, text, size, &error));
	CHECK_PART(error.text, part);
	CHECK(t.times_s == NULL);
	CHECK_NUMBER(t.count, ==, 0);
}

#define FIFTY "..................................................."
#define COMMENT "#" FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "\n"

#define EXPECT_ERROR(text, part) expect_error(text, sizeof(text) - 1, part)

static void test_good_files(void)
{
	expect("1", (const double[]){ 1 }, 1);
	expect("# seconds\n0\n\n0.5\r\n  # later\n 0.5\t\n1e1\n",
	       (const double[]){ 0, 0.5, 0.5, 10 }, 4);
}

static void test_a_long_file(void)
{
	enum { LINES = 5000 };
	static char text[2 * LINES + 1];
	static double times_s[LINES];

	for (int i = 0; i < LINES; i++) {
		memcpy(text + 2 * i, "7\n", 2);
		times_s[i] = 7;
	}
	expect(text, times_s, LINES);
}

static void test_bad_lines_are_named(void)
{
	EXPECT_ERROR("1\n2\n1.5\n", "times:3: '1.5': earlier");
	EXPECT_ERROR("# x\n-1\n", "times:2: '-1': not a time");
	EXPECT_ERROR("1 2\n", "times:1: '1 2': not a time");
	EXPECT_ERROR("1\nsoon\n", "times:2: 'soon'");
	EXPECT_ERROR("inf\n", "times:1: 'inf'");
	EXPECT_ERROR("0x10\n", "'0x10'");
	EXPECT_ERROR(".\n", "'.'");
	EXPECT_ERROR("1000001\n", "'1000001'");
	EXPECT_ERROR("1\n2\0\n", "times: it is no text; give a text file with "
				 "a time in each line");
	/* Not among the first bytes. */
	EXPECT_ERROR(COMMENT COMMENT "1\n2\0\n", "times:4: not a line of text");
	EXPECT_ERROR("", "times: no time after 0");
	EXPECT_ERROR("0\n0\n", "times: no time after 0");
}

static void test_unreadable(void)
{
	struct trace t = { 0 };
	struct error error;

	CHECK(!trace_read(&t, "/no/such/file", &error));
	CHECK_PART(error.text, "/no/such/file: No such file");
	CHECK(!trace_read(&t, scratch.dir, &error));
	CHECK_PART(error.text, ": Is a directory");
}

static void test_trace(void)
{
	scratch_init(&scratch);
	test_good_files();
	test_a_long_file();
	test_bad_lines_are_named();
	test_unreadable();
	scratch_release(&scratch);
}

int main(void)
{
	test_constant_is_exact();
	test_never_backwards();
	test_poisson_rate();
	test_poisson_gaps_are_exponential();
	test_poisson_gaps_are_independent();
	test_trace_is_exact();
	test_trace_is_stretched();
	test_seed_decides();
	test_names();
	test_trace();
	return 0;
}
