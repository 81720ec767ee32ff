/* SPDX-License-Identifier: MIT */
/* URLs, targets, drawn queries and the sequence of requests for a seed. */
#include "base/test/check.h"
#include "loadgen/client/request.c"
#include "base/test/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *text, const char *host, const char *port,
		   const char *authority, const char *target)
{
	struct url url;
	struct error error;

	CHECK(url_parse(&url, text, &error));
	CHECK_TEXT(url.host, host);
	CHECK_TEXT(url.port, port);
	CHECK_TEXT(url.authority, authority);
	CHECK_TEXT(url.target, target);
	url_release(&url);
}

static void test_parts(void)
{
	expect("http://h", "h", "80", "h", "/");
	expect("HTTP://h:8080/", "h", "8080", "h:8080", "/");
	expect("http://h:65535?w=1&h=2", "h", "65535", "h:65535", "/?w=1&h=2");
	expect("http://a.b/c/d%20e?f=/#g", "a.b", "80", "a.b", "/c/d%20e?f=/");
	expect("http://h/#g", "h", "80", "h", "/");
	expect("http://[::1]:9/x", "::1", "9", "[::1]:9", "/x");
	expect("https://h/x", "h", "443", "h", "/x");
	expect("HTTPS://h:8443?y", "h", "8443", "h:8443", "/?y");
}

static void expect_error(const char *text, const char *part)
{
	struct url url = { 0 };
	struct error error;

	CHECK(!url_parse(&url, text, &error));
	CHECK_PART(error.text, text);
	CHECK_PART(error.text, part);
	CHECK(url.host == NULL);
}

static void test_refused(void)
{
	expect_error("ftp://h/", "http://");
	expect_error("h:80", "http://");
	expect_error("", "http://");
	expect_error("http://", "malformed");
	expect_error("http:///x", "malformed");
	expect_error("http://h:0/", "malformed");
	expect_error("http://h:65536/", "malformed");
	expect_error("http://h/a b", "malformed");
	expect_error("http://h/a\r\nX: y", "malformed");
	expect_error("http://u:p@h/", "user name");
}

static void test_resolve(void)
{
	struct url url;
	struct error error;
	struct addrinfo *addresses;

	CHECK(url_parse(&url, "http://127.0.0.1:9/", &error));
	addresses = url_resolve(&url, &error);
	CHECK(addresses != NULL);
	CHECK(addresses->ai_next == NULL);
	freeaddrinfo(addresses);
	url_release(&url);

	/* Too long for a host name, so no resolver is asked. */
	CHECK(url_parse(&url,
			"http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/",
			&error));
	CHECK(url_resolve(&url, &error) == NULL);
	CHECK_PART(error.text, "cannot find the host aaa");
	url_release(&url);
}

static struct dataset_file two_files[2];
static const struct dataset dataset = { .files = two_files, .count = 2 };

static void expect_targets(const char *base, const struct params *params,
			   uint32_t file, uint32_t param, const char *expected)
{
	struct targets t;
	struct error error;

	CHECK(targets_init(&t, base, &dataset, params, &error));
	CHECK_TEXT(targets_find(&t, file, param), expected);
	targets_release(&t);
}

static void test_joints(void)
{
	struct params none = { 0 };
	struct params two = { 0 };

	CHECK(params_add(&two, "q=1", 1));
	CHECK(params_add(&two, "q=2", 1));
	expect_targets("/", &none, 0, 0, "/");
	expect_targets("/?w=1", &none, 1, 0, "/?w=1");
	expect_targets("/p", &two, 0, 0, "/p?q=1");
	expect_targets("/p?", &two, 1, 1, "/p?q=2");
	expect_targets("/p?w=1", &two, 1, 0, "/p?w=1&q=1");
	two_files[1].query = (char *)"f=1";
	expect_targets("/", &none, 0, 0, "/");
	expect_targets("/", &none, 1, 0, "/?f=1");
	expect_targets("/?w=1", &two, 0, 1, "/?w=1&q=2");
	expect_targets("/?w=1", &two, 1, 1, "/?w=1&f=1&q=2");
	two_files[1].query = NULL;
	params_release(&two);
}

static void test_too_many(void)
{
	struct dataset_file file = { .query = (char *)"f" };
	struct dataset large = { .files = &file, .count = TARGETS_MAX / 2 + 1 };
	struct params two = { 0 };
	struct targets t;
	struct error error;

	CHECK(params_add(&two, "q=1", 1));
	CHECK(params_add(&two, "q=2", 1));
	CHECK(!targets_init(&t, "/", &large, &two, &error));
	CHECK_PART(error.text, "more than 10000000 different requests");
	params_release(&two);
}

enum { FILES = 50, PASSES = 4, TOTAL = FILES * PASSES };

static void read_order(uint64_t seed, uint32_t out[TOTAL])
{
	struct order o = { 0 };
	uint32_t after;

	CHECK(order_init(&o, FILES, PASSES, seed));
	for (int i = 0; i < TOTAL; i++)
		CHECK(order_next(&o, &out[i]));
	CHECK(!order_next(&o, &after));
	CHECK(!order_next(&o, &after)); /* there is nothing after the end */
	order_release(&o);
}

static void test_each_file_once_per_pass(void)
{
	uint32_t files[TOTAL];

	read_order(1, files);
	for (int pass = 0; pass < PASSES; pass++) {
		int seen[FILES] = { 0 };

		for (int i = 0; i < FILES; i++)
			seen[files[pass * FILES + i]]++;
		for (int i = 0; i < FILES; i++)
			CHECK_NUMBER(seen[i], ==, 1);
	}
}

static void test_same_seed_same_order(void)
{
	uint32_t once[TOTAL];
	uint32_t again[TOTAL];

	read_order(7, once);
	read_order(7, again);
	CHECK(memcmp(once, again, sizeof(once)) == 0);
}

static void test_another_seed_another_order(void)
{
	uint32_t one[TOTAL];
	uint32_t other[TOTAL];

	read_order(7, one);
	read_order(8, other);
	CHECK(memcmp(one, other, sizeof(one)) != 0);
}

static void test_fresh_shuffle_for_each_pass(void)
{
	uint32_t files[TOTAL];

	read_order(1, files);
	for (int pass = 1; pass < PASSES; pass++)
		CHECK(memcmp(files, &files[pass * FILES],
			     FILES * sizeof(*files)) != 0);
}

/* Every file is sometimes the first: the shuffle reaches both ends. */
static void test_every_file_can_be_first(void)
{
	int first[3] = { 0 };

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct order o = { 0 };
		uint32_t file;

		CHECK(order_init(&o, 3, 1, seed));
		CHECK(order_next(&o, &file));
		first[file]++;
		order_release(&o);
	}
	for (int i = 0; i < 3; i++)
		CHECK_NUMBER(first[i], >, 50);
}

static void test_without_end(void)
{
	struct order o = { 0 };
	uint32_t file;

	CHECK(order_init(&o, 1, 0, 1));
	for (int i = 0; i < 1000; i++)
		CHECK(order_next(&o, &file) && file == 0);
	order_release(&o);
}

enum { REQUESTS = FILES * PASSES, QUERIES = 5 };

static char bodies[FILES];
static struct dataset_file photo_files[FILES];
static struct dataset photos = {
	.files = photo_files,
	.content_type = "image/jpeg",
};
static struct params params;

/* Make all requests of a data set of `file_count` files. */
static uint64_t draw(uint32_t file_count, uint64_t seed,
		     struct request sent[REQUESTS], struct targets *targets)
{
	struct request_source source = { .dataset = &photos, .params = params };
	struct requests r = {
		.source = &source,
		.passes = PASSES,
		.seed = seed,
	};
	struct error error;
	uint64_t count = 0;

	photos.count = file_count;
	CHECK(targets_init(&source.targets, "/", &photos, &params, &error));
	*targets = source.targets;
	CHECK(requests_begin(&r));
	while (requests_next(&r, &sent[count]))
		CHECK_NUMBER(++count, <=, REQUESTS);
	requests_end(&r);
	return count;
}

static void test_every_file_in_each_pass(void)
{
	struct request sent[REQUESTS + 1];
	struct targets targets;
	int targets_seen[QUERIES] = { 0 };

	CHECK_NUMBER(draw(FILES, 1, sent, &targets), ==, REQUESTS);
	for (int pass = 0; pass < PASSES; pass++) {
		bool seen[FILES] = { false };

		for (int i = pass * FILES; i < (pass + 1) * FILES; i++) {
			CHECK(!seen[sent[i].file]);
			seen[sent[i].file] = true;
		}
	}
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t file = sent[i].file;

		CHECK_NUMBER(sent[i].body, ==, &bodies[file]);
		CHECK_NUMBER(sent[i].body_bytes, ==, file + 100);
		CHECK_NUMBER(sent[i].file_bytes, ==, file);
		CHECK_TEXT(sent[i].content_type, "image/jpeg");
		targets_seen[sent[i].target[strlen("/?q=")] - '0']++;
	}
	for (int i = 0; i < QUERIES; i++)
		CHECK_NUMBER(targets_seen[i], >, 0);
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
	CHECK_NUMBER(count, ==, REQUESTS / 2);
	for (uint64_t i = 0; i < count; i++) {
		CHECK_TEXT(all[i].target, half[i].target);
		differ = differ || strcmp(all[i].target, other[i].target) != 0;
	}
	CHECK(differ);
	for (int i = 0; i < 3; i++)
		targets_release(&targets[i]);
}

static void test_requests(void)
{
	for (uint32_t i = 0; i < FILES; i++)
		photo_files[i] = (struct dataset_file){
			.size_bytes = i,
			.body = &bodies[i],
			.body_bytes = i + 100,
		};
	for (int i = 0; i < QUERIES; i++) {
		char query[] = { 'q', '=', (char)('0' + i), '\0' };

		CHECK(params_add(&params, query, 1));
	}
	test_every_file_in_each_pass();
	test_draws_repeat_whatever_the_files();
	params_release(&params);
}

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

	CHECK(read_text(&p, "# sizes\nw=320&h=320&q=75\r\n2.5\tw=64\n\nw=9\n",
			&error));
	CHECK_NUMBER(p.count, ==, 3);
	CHECK_TEXT(p.all[0].query, "w=320&h=320&q=75");
	CHECK_TEXT(p.all[1].query, "w=64");
	CHECK_NUMBER(p.all[0].weight_up_to, ==, 1);
	CHECK_NUMBER(p.all[1].weight_up_to, ==, 3.5);
	CHECK_NUMBER(p.all[2].weight_up_to, ==, 4.5);
	params_release(&p);
	CHECK(p.all == NULL);
	CHECK_NUMBER(p.count, ==, 0);
}

/* A pipe that has the text and then ends, as a shell's <(...). */
static void test_a_pipe_is_read_from_its_first_line(void)
{
	static const char text[] = "w=1\nw=2\n";
	struct params p = { 0 };
	struct error error;
	char path[32];
	int ends[2];

	CHECK_NUMBER(pipe(ends), ==, 0);
	CHECK_NUMBER(write(ends[1], text, strlen(text)), ==,
		     (ssize_t)strlen(text));
	CHECK_NUMBER(close(ends[1]), ==, 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	CHECK(params_read(&p, path, &error));
	CHECK_NUMBER(p.count, ==, 2);
	CHECK_TEXT(p.all[0].query, "w=1");
	CHECK_TEXT(p.all[1].query, "w=2");
	params_release(&p);
	CHECK_NUMBER(close(ends[0]), ==, 0);
}

static void expect_error_params(const char *text, const char *part)
{
	struct params p = { 0 };
	struct error error;

	CHECK(!read_text(&p, text, &error));
	CHECK_PART(error.text, part);
	CHECK(p.all == NULL);
	CHECK_NUMBER(p.count, ==, 0);
}

static void test_bad_lines_are_named(void)
{
	expect_error_params("", "params: no query");
	expect_error_params("w=1\n0\tw=2\n", "params:2: '0': not a weight");
	expect_error_params("x\tw=2\n", "params:1: 'x': not a weight");
	expect_error_params("-1\tw=2\n", "'-1': not a weight");
	expect_error_params("1e7\tw=2\n", "'1e7': not a weight");
	expect_error_params("10000000\tw=2\n", "'10000000': not a weight");
	expect_error_params("\tw=2\n", "'': not a weight");
	expect_error_params("1\t\n", "'': not a query");
	expect_error_params("2 w=1\n", "'2 w=1': not a query");
	expect_error_params("?w=1\n", "'?w=1': not a query");
	expect_error_params("w=\xc3\xa4\n", "not a query");
}

/* Each share is within five standard deviations of its weight. */
static void test_drawn_by_weight(void)
{
	static const double weights[] = { 1, 0.001, 7, 2 };
	struct params p = { 0 };
	int counts[4] = { 0 };

	for (int i = 0; i < 4; i++)
		CHECK(params_add(&p, "q", weights[i]));
	for (uint64_t i = 0; i < DRAWS; i++)
		counts[params_draw(&p, 1, i)]++;
	for (int i = 0; i < 4; i++) {
		double share = weights[i] / 10.001;
		double deviation = sqrt(DRAWS * share * (1 - share));

		CHECK_NUMBER(counts[i], >, 0);
		CHECK_NUMBER(fabs(counts[i] - DRAWS * share), <, 5 * deviation);
	}
	params_release(&p);
}

static void test_seed_and_number_decide(void)
{
	struct params p = { 0 };
	int same_by_seed = 0;
	int same_as_last = 0;

	for (int i = 0; i < 10; i++)
		CHECK(params_add(&p, "q", 1));
	for (uint64_t i = 1; i < DRAWS; i++) {
		uint32_t drawn = params_draw(&p, 3, i);

		CHECK_NUMBER(params_draw(&p, 3, i), ==, drawn);
		same_by_seed += params_draw(&p, 4, i) == drawn;
		same_as_last += params_draw(&p, 3, i - 1) == drawn;
	}
	/*
	 * By chance one in ten is the same; 475 are 5 standard deviations of
	 * that number.
	 */
	CHECK_NUMBER(abs(same_by_seed - DRAWS / 10), <, 475);
	CHECK_NUMBER(abs(same_as_last - DRAWS / 10), <, 475);
	params_release(&p);
}

static void test_params(void)
{
	scratch_init(&scratch);
	test_good_file();
	test_a_pipe_is_read_from_its_first_line();
	test_bad_lines_are_named();
	test_drawn_by_weight();
	test_seed_and_number_decide();
	scratch_release(&scratch);
}

int main(void)
{
	test_parts();
	test_refused();
	test_resolve();
	test_joints();
	test_too_many();
	test_each_file_once_per_pass();
	test_same_seed_same_order();
	test_another_seed_another_order();
	test_fresh_shuffle_for_each_pass();
	test_every_file_can_be_first();
	test_without_end();
	test_requests();
	test_params();
	return 0;
}
