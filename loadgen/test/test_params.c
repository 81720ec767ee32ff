/* SPDX-License-Identifier: MIT */
/* Params are read as written, and drawn by their weights, for a seed alike. */
#include "loadgen/params_file.h"
#include "loadgen/test/scratch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 100000 };

static struct scratch scratch;

static bool read_text(struct params *p, const char *text, struct error *error)
{
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "params", text, strlen(text));
	return params_read(p, scratch_path(&scratch, "params", path), error);
}

static void test_good_file(void)
{
	struct params p = { 0 };
	struct error error;

	assert(read_text(&p, "# sizes\nw=320&h=320&q=75\r\n2.5\tw=64\n\nw=9\n",
			 &error));
	assert(p.count == 3);
	assert(strcmp(p.all[0].query, "w=320&h=320&q=75") == 0);
	assert(strcmp(p.all[1].query, "w=64") == 0);
	assert(p.all[0].weight_up_to == 1 && p.all[1].weight_up_to == 3.5);
	assert(p.all[2].weight_up_to == 4.5);
	params_release(&p);
	assert(p.all == NULL && p.count == 0);
}

static void expect_error(const char *text, const char *part)
{
	struct params p = { 0 };
	struct error error;

	assert(!read_text(&p, text, &error));
	assert(strstr(error.text, part) != NULL);
	assert(p.all == NULL && p.count == 0);
}

static void test_bad_lines_are_named(void)
{
	expect_error("", "params: no query");
	expect_error("w=1\n0\tw=2\n", "params:2: '0': not a weight");
	expect_error("x\tw=2\n", "params:1: 'x': not a weight");
	expect_error("-1\tw=2\n", "'-1': not a weight");
	expect_error("1e7\tw=2\n", "'1e7': not a weight");
	expect_error("10000000\tw=2\n", "'10000000': not a weight");
	expect_error("\tw=2\n", "'': not a weight");
	expect_error("1\t\n", "'': not a query");
	expect_error("2 w=1\n", "'2 w=1': not a query");
	expect_error("?w=1\n", "'?w=1': not a query");
	expect_error("w=\xc3\xa4\n", "not a query");
}

/* Each share is within five standard deviations of its weight. */
static void test_drawn_by_weight(void)
{
	static const double weights[] = { 1, 0.001, 7, 2 };
	struct params p = { 0 };
	int counts[4] = { 0 };

	for (int i = 0; i < 4; i++)
		assert(params_add(&p, "q", weights[i]));
	for (uint64_t i = 0; i < DRAWS; i++)
		counts[params_draw(&p, 1, i)]++;
	for (int i = 0; i < 4; i++) {
		double share = weights[i] / 10.001;
		double deviation = sqrt(DRAWS * share * (1 - share));

		assert(counts[i] > 0);
		assert(fabs(counts[i] - DRAWS * share) < 5 * deviation);
	}
	params_release(&p);
}

static void test_seed_and_number_decide(void)
{
	struct params p = { 0 };
	int same_by_seed = 0;
	int same_as_last = 0;

	for (int i = 0; i < 10; i++)
		assert(params_add(&p, "q", 1));
	for (uint64_t i = 1; i < DRAWS; i++) {
		uint32_t drawn = params_draw(&p, 3, i);

		assert(params_draw(&p, 3, i) == drawn);
		same_by_seed += params_draw(&p, 4, i) == drawn;
		same_as_last += params_draw(&p, 3, i - 1) == drawn;
	}
	/* By chance one in ten, +- 5 standard deviations of 95. */
	assert(abs(same_by_seed - DRAWS / 10) < 475);
	assert(abs(same_as_last - DRAWS / 10) < 475);
	params_release(&p);
}

int main(void)
{
	scratch_init(&scratch);
	test_good_file();
	test_bad_lines_are_named();
	test_drawn_by_weight();
	test_seed_and_number_decide();
	scratch_release(&scratch);
	return 0;
}
