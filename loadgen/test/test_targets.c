/* SPDX-License-Identifier: MIT */
/* A target is the URL's, with what the file and the draw add. */
#include "loadgen/targets.h"

#include <assert.h>
#include <string.h>

static struct dataset_file files[2];
static const struct dataset dataset = { .files = files, .count = 2 };

static void expect(const char *base, const struct params *params, uint32_t file,
		   uint32_t param, const char *expected)
{
	struct targets t;
	struct error error;

	assert(targets_init(&t, base, &dataset, params, &error));
	assert(strcmp(targets_find(&t, file, param), expected) == 0);
	targets_release(&t);
}

static void test_joints(void)
{
	struct params none = { 0 };
	struct params two = { 0 };

	assert(params_add(&two, "q=1", 1) && params_add(&two, "q=2", 1));
	expect("/", &none, 0, 0, "/");
	expect("/?w=1", &none, 1, 0, "/?w=1");
	expect("/p", &two, 0, 0, "/p?q=1");
	expect("/p?", &two, 1, 1, "/p?q=2");
	expect("/p?w=1", &two, 1, 0, "/p?w=1&q=1");
	files[1].query = (char *)"f=1";
	expect("/", &none, 0, 0, "/");
	expect("/", &none, 1, 0, "/?f=1");
	expect("/?w=1", &two, 0, 1, "/?w=1&q=2");
	expect("/?w=1", &two, 1, 1, "/?w=1&f=1&q=2");
	files[1].query = NULL;
	params_release(&two);
}

static void test_too_many(void)
{
	struct dataset_file file = { .query = (char *)"f" };
	struct dataset large = { .files = &file, .count = TARGETS_MAX / 2 + 1 };
	struct params two = { 0 };
	struct targets t;
	struct error error;

	assert(params_add(&two, "q=1", 1) && params_add(&two, "q=2", 1));
	assert(!targets_init(&t, "/", &large, &two, &error));
	assert(strstr(error.text, "more than 10000000 requests") != NULL);
	params_release(&two);
}

int main(void)
{
	test_joints();
	test_too_many();
	return 0;
}
