/* SPDX-License-Identifier: MIT */
/*
 * Options are read as they are written, or refused with their name and value.
 */
#include "loadgen/options.h"

#include "base/test/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 30 };

/*
 * Parse a line of words separated by single spaces.  `o` borrows a copy of it,
 * until the next call.
 */
static bool parse(const char *line, struct load_options *o, struct error *error)
{
	static char copy[256];
	char *args[ARGS_MAX + 1] = { (char *)"loadgen" };
	int count = 1;

	CHECK_NUMBER(strlen(line), <, sizeof(copy));
	strcpy(copy, line);
	for (char *word = strtok(copy, " "); word != NULL;
	     word = strtok(NULL, " ")) {
		CHECK_NUMBER(count, <, ARGS_MAX);
		args[count++] = word;
	}
	return load_options_parse(o, count, args, error);
}

static void expect_error(const char *line, const char *part)
{
	struct load_options o;
	struct error error;

	CHECK(!parse(line, &o, &error));
	CHECK_PART(error.text, part);
}

static void test_defaults(void)
{
	struct load_options o;
	struct error error;

	CHECK(parse("--dataset d http://h/", &o, &error));
	CHECK_TEXT(o.dataset, "d");
	CHECK_TEXT(o.url, "http://h/");
	CHECK_NUMBER(o.connections, ==, 4);
	CHECK_NUMBER(o.passes, ==, 1);
	CHECK_NUMBER(o.seed, ==, 1);
	CHECK_NUMBER(o.duration_s, ==, 0);
	CHECK_NUMBER(o.timeout_s, ==, 60);
	CHECK_NUMBER(o.disturbed_percent, ==, 20);
	CHECK(o.json == NULL);
	CHECK(o.save == NULL);
	CHECK(!o.all_files);
	CHECK(!o.asked.help);
}

static void test_all_given(void)
{
	struct load_options o;
	struct error error;

	CHECK(parse("http://h/p?q --dataset d --all-files --connections 16 "
		    "--passes 3 --seed 18446744073709551615 --timeout 0.5 "
		    "--json j --save s --multipart f --params p",
		    &o, &error));
	CHECK_TEXT(o.url, "http://h/p?q");
	CHECK(o.all_files);
	CHECK_NUMBER(o.connections, ==, 16);
	CHECK_NUMBER(o.passes, ==, 3);
	CHECK_NUMBER(o.seed, ==, UINT64_MAX);
	CHECK_NUMBER(o.timeout_s, ==, 0.5);
	CHECK_TEXT(o.multipart, "f");
	CHECK_TEXT(o.params, "p");
	CHECK_TEXT(o.json, "j");
	CHECK_TEXT(o.save, "s");
	CHECK(parse("--dataset d --duration 2.5 http://h/", &o, &error));
	CHECK_NUMBER(o.duration_s, ==, 2.5);
	CHECK_NUMBER(o.passes, ==, 0);
}

static void test_open_loop(void)
{
	struct load_options o;
	struct error error;

	CHECK(parse("--dataset d http://h/", &o, &error));
	CHECK_NUMBER(o.rate_per_s, ==, 0);
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_NONE);
	CHECK(parse("--dataset d --rate 2.5 http://h/", &o, &error));
	CHECK_NUMBER(o.rate_per_s, ==, 2.5);
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_POISSON);
	CHECK_NUMBER(o.connections, ==, 256);
	CHECK_NUMBER(o.passes, ==, 1);
	CHECK(parse("--arrivals constant --connections 4 --rate 9 "
		    "--duration 3 --dataset d http://h/",
		    &o, &error));
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_CONSTANT);
	CHECK_NUMBER(o.connections, ==, 4);
	CHECK_NUMBER(o.duration_s, ==, 3);
	CHECK_NUMBER(o.passes, ==, 0);
}

static void test_trace(void)
{
	struct load_options o;
	struct error error;

	CHECK(parse("--dataset d --arrivals trace=t http://h/", &o, &error));
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_TRACE);
	CHECK_TEXT(o.trace, "t");
	CHECK_NUMBER(o.rate_per_s, ==, 0);
	CHECK_NUMBER(o.passes, ==, 0);
	CHECK_NUMBER(o.connections, ==, 256);
	CHECK(parse("--dataset d --arrivals trace=t --rate 3 http://h/", &o,
		    &error));
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_TRACE);
	CHECK_NUMBER(o.rate_per_s, ==, 3);
}

static void test_sweeps(void)
{
	struct load_options o;
	struct error error;

	CHECK(parse("--dataset d --step 10:30:5:2 http://h/", &o, &error));
	CHECK(o.step != NULL);
	CHECK_NUMBER(o.rate_per_s, ==, 10);
	CHECK_NUMBER(o.duration_s, ==, 2);
	CHECK_NUMBER(o.steps.by_per_s, ==, 5);
	CHECK_NUMBER(o.passes, ==, 0);
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_POISSON);
	CHECK_NUMBER(o.connections, ==, 256);
	CHECK(parse("--dataset d --find-max p90<2s http://h/", &o, &error));
	CHECK(o.find_max != NULL);
	CHECK_NUMBER(o.objective.below_ms, ==, 2000);
	CHECK_NUMBER(o.rate_per_s, ==, 10);
	CHECK_NUMBER(o.duration_s, ==, 10);
	CHECK_NUMBER(o.passes, ==, 0);
	CHECK(parse("--dataset d --find-max p90<2s --rate 50 --duration 3 "
		    "--arrivals constant http://h/",
		    &o, &error));
	CHECK_NUMBER(o.rate_per_s, ==, 50);
	CHECK_NUMBER(o.duration_s, ==, 3);
	CHECK_NUMBER(o.arrivals, ==, ARRIVALS_CONSTANT);
}

static void test_help_needs_nothing_else(void)
{
	struct load_options o;
	struct error error;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(parse("--help", &o, &error));
	CHECK(o.asked.help);
	CHECK(out != NULL);
	CHECK(program_answer(&load_program, &o.asked, "abc", out));
	fclose(out);
	CHECK_PART(text, "--connections");
	CHECK_PART(text, "(default: 4)");
	free(text);
}

static void test_errors_name_option_and_value(void)
{
	expect_error("--dataset d --connections 0 http://h/",
		     "--connections: '0'");
	expect_error("--dataset d --connections 4x http://h/", "'4x'");
	expect_error("--dataset d --connections -1 http://h/", "'-1'");
	expect_error("--dataset d --seed 18446744073709551616 http://h/",
		     "--seed: '18446744073709551616'");
	expect_error("--dataset d --duration 0 http://h/", "--duration: '0'");
	expect_error("--dataset d --duration inf http://h/", "'inf'");
	expect_error("--dataset d --timeout 1.2.3 http://h/", "'1.2.3'");
	expect_error("--dataset d --passes 2 --duration 3 http://h/",
		     "--passes 2 --duration 3");
	expect_error("--dataset d --passes 2 --arrivals trace=t http://h/",
		     "--passes: not with --arrivals trace=FILE, which says "
		     "when to end");
	expect_error("--dataset d --rate 0 http://h/", "--rate: '0'");
	expect_error("--dataset d --rate fast http://h/", "'fast'");
	expect_error("--dataset d --rate 9 --arrivals even http://h/",
		     "--arrivals: 'even' is not poisson, constant or trace");
	expect_error("--dataset d --arrivals poisson http://h/",
		     "--arrivals poisson: --rate is missing");
	expect_error("--dataset d --arrivals trace http://h/", "'trace'");
	expect_error("--dataset d --arrivals trace= http://h/", "'trace='");
	expect_error("--dataset d --step 9 http://h/", "--step: '9'");
	expect_error("--dataset d --find-max p90 http://h/",
		     "--find-max: 'p90'");
	expect_error("--dataset d --step 1:2:1:1 --rate 3 http://h/",
		     "--step: not with --rate");
	expect_error("--dataset d --step 1:2:1:1 --duration 3 http://h/",
		     "--step: not with --duration");
	expect_error("--dataset d --step 1:2:1:1 --find-max p90<2s http://h/",
		     "--step: not with --find-max");
	expect_error("--dataset d --find-max p90<2s --passes 3 http://h/",
		     "--find-max: not with --passes");
	expect_error("--dataset d --step 1:2:1:1 --arrivals trace=t http://h/",
		     "--step: not with --arrivals trace");
	expect_error("--dataset d --calibrate --params p http://h/",
		     "--calibrate: not with --params");
	expect_error("--dataset d --server-counter a-b http://h/",
		     "--server-counter: 'a-b' is not a counter's name");
	expect_error("--dataset d --server-counter 9 http://h/",
		     "--server-counter: '9' is not");
	expect_error("--dataset d --speed 9 http://h/", "--speed");
	expect_error("--dataset d -x http://h/", "-x");
	expect_error("http://h/ --dataset", "--dataset needs a value");
	expect_error("http://h/", "--dataset DIR|LIST is missing");
	expect_error("--dataset d", "URL is missing");
	expect_error("--dataset d http://h/ http://i/", "'http://i/'");
	expect_error("--dataset d ftp://h/", "'ftp://h/'");
	expect_error("--dataset d h", "'h'");
}

int main(void)
{
	test_defaults();
	test_all_given();
	test_open_loop();
	test_trace();
	test_sweeps();
	test_help_needs_nothing_else();
	test_errors_name_option_and_value();
	return 0;
}
