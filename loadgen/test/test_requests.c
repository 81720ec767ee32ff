/* SPDX-License-Identifier: MIT */
/* Requests send every file in each pass, with draws that files do not move. */
#include "loadgen/requests.h"

#include <assert.h>
#include <string.h>

enum { FILES = 50, PASSES = 4, REQUESTS = FILES * PASSES, QUERIES = 5 };

static char bodies[FILES];
static struct dataset_file files[FILES];
static struct dataset dataset = {
	.files = files,
	.content_type = "image/jpeg",
};
static struct params params;

/* Make all requests of a data set of so many files. */
static uint64_t draw(uint32_t file_count, uint64_t seed,
		     struct request sent[REQUESTS], struct targets *targets)
{
	struct requests r = {
		.dataset = &dataset,
		.params = &params,
		.targets = targets,
		.passes = PASSES,
		.seed = seed,
	};
	struct error error;
	uint64_t count = 0;

	dataset.count = file_count;
	assert(targets_init(targets, "/", &dataset, &params, &error));
	assert(requests_begin(&r));
	while (requests_next(&r, &sent[count]))
		assert(++count <= REQUESTS);
	requests_end(&r);
	return count;
}

static void test_every_file_in_each_pass(void)
{
	struct request sent[REQUESTS + 1];
	struct targets targets;
	int targets_seen[QUERIES] = { 0 };

	assert(draw(FILES, 1, sent, &targets) == REQUESTS);
	for (int pass = 0; pass < PASSES; pass++) {
		bool seen[FILES] = { false };

		for (int i = pass * FILES; i < (pass + 1) * FILES; i++) {
			assert(!seen[sent[i].file]);
			seen[sent[i].file] = true;
		}
	}
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t file = sent[i].file;

		assert(sent[i].body == &bodies[file]);
		assert(sent[i].body_bytes == file + 100);
		assert(sent[i].file_bytes == file);
		assert(strcmp(sent[i].content_type, "image/jpeg") == 0);
		targets_seen[sent[i].target[strlen("/?q=")] - '0']++;
	}
	for (int i = 0; i < QUERIES; i++)
		assert(targets_seen[i] > 0);
	targets_release(&targets);
}

static void test_draws_repeat_whatever_the_files(void)
{
	struct request all[REQUESTS + 1];
	struct request half[REQUESTS + 1];
	struct request other[REQUESTS + 1];
	struct targets targets[3];
	uint64_t count = draw(FILES / 2, 7, half, &targets[1]);
	bool differ = false;

	draw(FILES, 7, all, &targets[0]);
	draw(FILES, 8, other, &targets[2]);
	assert(count == REQUESTS / 2);
	for (uint64_t i = 0; i < count; i++) {
		assert(strcmp(all[i].target, half[i].target) == 0);
		differ = differ || strcmp(all[i].target, other[i].target) != 0;
	}
	assert(differ);
	for (int i = 0; i < 3; i++)
		targets_release(&targets[i]);
}

int main(void)
{
	for (uint32_t i = 0; i < FILES; i++)
		files[i] = (struct dataset_file){
			.size_bytes = i,
			.body = &bodies[i],
			.body_bytes = i + 100,
		};
	for (int i = 0; i < QUERIES; i++) {
		char query[] = { 'q', '=', (char)('0' + i), '\0' };

		assert(params_add(&params, query, 1));
	}
	test_every_file_in_each_pass();
	test_draws_repeat_whatever_the_files();
	params_release(&params);
	return 0;
}
