/* SPDX-License-Identifier: MIT */
/* A plan is read as it is written, or refused with the place and the reason. */
#include "loadgen/compare/plan.h"

#include "base/json.h"
#include "base/test/check.h"
#include "base/test/scratch.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLOSED "\"closed\": { \"connections\": 4, \"passes\": 2 }"
#define ARMS "\"arms\": [ { \"name\": \"a\", \"url\": \"http://h/\" } ]"

static bool read_text(struct plan *plan, const char *text, struct error *error)
{
	cJSON *json = cJSON_Parse(text);

	CHECK(json != NULL);
	return plan_read(plan, json, error);
}

static bool read_file(struct plan *plan, const char *path, struct error *error)
{
	cJSON *json = json_read_file(path, 1 << 20, error);

	return json != NULL && plan_read(plan, json, error);
}

static void expect_refusal(const char *text, const char *reason)
{
	struct plan plan;
	struct error error;

	CHECK(!read_text(&plan, text, &error));
	CHECK_TEXT(error.text, reason);
	plan_release(&plan);
}

static double connections_in_json(const struct plan *plan)
{
	const cJSON *closed = cJSON_GetObjectItem(plan->json, "closed");

	return cJSON_GetObjectItem(closed, "connections")->valuedouble;
}

static void test_whole_plan(void)
{
	static const char text[] =
		"{ \"title\": \"T\", \"dataset\": \"D\", \"query\": \"w=1\","
		"\"verify\": \"decode\", \"refusals\": \"count\","
		"\"server_counter\": \"n_total\","
		"\"repetitions\": 7,"
		"\"closed\": { \"connections\": 16, \"duration_s\": 1.5 },"
		"\"open\": { \"percent_of_capacity\": [50, 120.5],"
		"\"duration_s\": 10, \"connections\": 2048 },"
		"\"arms\": [ { \"name\": \"A\", \"command\": [\"x\", \"-p\","
		"\"{port}\"], \"environment\": { \"PORT\": \"{port}\" },"
		"\"url\": \"http://127.0.0.1:{port}/\", \"directory\": \"d\","
		"\"connections\": 3 },"
		"{ \"name\": \"B\", \"url\": \"http://h/\" } ] }";
	struct plan plan;
	struct error error;

	CHECK(read_text(&plan, text, &error));
	CHECK_TEXT(plan.title, "T");
	CHECK_TEXT(plan.dataset, "D");
	CHECK_TEXT(plan.query, "w=1");
	CHECK_NUMBER(plan.verify, ==, PLAN_VERIFY_DECODE);
	CHECK_NUMBER(plan.refusals, ==, PLAN_REFUSALS_COUNT);
	CHECK_TEXT(plan.server_counter, "n_total");
	CHECK_NUMBER(plan.repetitions, ==, 7);
	CHECK_NUMBER(plan.closed.connections, ==, 16);
	CHECK_NUMBER(plan.closed.passes, ==, 0);
	CHECK_NUMBER(plan.closed.duration_s, ==, 1.5);
	CHECK_NUMBER(plan.open.rate_count, ==, 2);
	CHECK_NUMBER(plan.open.percents[1], ==, 120.5);
	CHECK_NUMBER(plan.open.connections, ==, 2048);
	CHECK_NUMBER(plan.open.duration_s, ==, 10);
	CHECK_NUMBER(plan.arm_count, ==, 2);
	CHECK_NUMBER(plan.arms[0].connections, ==, 3);
	CHECK_NUMBER(cJSON_GetArraySize(plan.arms[0].command), ==, 3);
	CHECK_TEXT(cJSON_GetArrayItem(plan.arms[0].command, 2)->valuestring,
		   "{port}");
	CHECK_NUMBER(cJSON_GetArraySize(plan.arms[0].environment), ==, 1);
	CHECK_TEXT(plan.arms[0].environment->child->string, "PORT");
	CHECK_TEXT(plan.arms[0].directory, "d");
	CHECK(plan.arms[1].command == NULL);
	plan_set_connections(&plan, 50);
	CHECK_NUMBER(plan.closed.connections, ==, 50);
	CHECK_NUMBER(plan_connections(&plan.arms[0], 50), ==, 3);
	/* A report that is made again from the JSON says so, too. */
	CHECK_NUMBER(connections_in_json(&plan), ==, 50);
	plan_release(&plan);
}

static void test_defaults(void)
{
	struct plan plan;
	struct error error;

	CHECK(read_text(&plan, "{ \"title\": \"T\"," CLOSED "," ARMS "}",
			&error));
	CHECK(plan.dataset == NULL);
	CHECK_NUMBER(*plan.query, ==, '\0');
	CHECK_NUMBER(plan.repetitions, ==, 10);
	CHECK_NUMBER(plan.verify, ==, PLAN_VERIFY_SIZE);
	CHECK_NUMBER(plan.refusals, ==, PLAN_REFUSALS_FAIL);
	CHECK_NUMBER(plan.disturbed_percent, ==, 5);
	CHECK_NUMBER(plan_left_out_percent(&plan), ==, 20);
	plan.disturbed_percent = 30; /* what counts may be as disturbed */
	CHECK_NUMBER(plan_left_out_percent(&plan), ==, 30);
	CHECK_NUMBER(plan.closed.slices, ==, 1);
	CHECK_NUMBER(plan.open.rate_count, ==, 0);
	CHECK_NUMBER(plan.arms[0].connections, ==, 0);
	plan_release(&plan);
}

static void test_refusals_of_the_plan(void)
{
	expect_refusal("[]", "plan: it must be an object");
	expect_refusal("{ \"titel\": \"T\" }",
		       "plan: titel: there is no such key; did you mean "
		       "'title'?");
	expect_refusal("{ \"title\": \"T\", \"title\": \"U\" }",
		       "plan: title: it is there twice");
	expect_refusal("{}", "plan: title is missing");
	expect_refusal("{ \"title\": \"\" }",
		       "plan: title: '' is not a valid TEXT");
	expect_refusal("{ \"title\": 1 }",
		       "plan: title: '1' is not a string: TEXT");
	expect_refusal("{ \"title\": \"T\", \"server_counter\": \"a b\" }",
		       "plan: server_counter must be a counter's name, of up "
		       "to 63 letters, digits, _ and :");
	expect_refusal("{ \"title\": \"T\", \"query\": 1 }",
		       "plan: query must be a text");
	expect_refusal("{ \"title\": \"T\", \"verify\": \"no\" }",
		       "plan: verify: 'no' is not a valid size|decode|none");
	expect_refusal("{ \"title\": \"T\", \"refusals\": true }",
		       "plan: refusals: 'true' is not a string: fail|count");
	expect_refusal("{ \"title\": \"T\", \"repetitions\": 0 }",
		       "plan: repetitions: '0' is not a whole number from 1 "
		       "to 100");
	expect_refusal("{ \"title\": \"T\", \"disturbed_percent\": 30,"
		       "\"left_out_percent\": 10 }",
		       "plan: left_out_percent: 10 is less than "
		       "disturbed_percent, 30");
	expect_refusal("{ \"title\": \"T\", \"repetitions\": 2.5 }",
		       "plan: repetitions: '2.5' is not a whole number from 1 "
		       "to 100");
	expect_refusal("{ \"title\": \"T\" }", "closed: it must be an object");
	expect_refusal("{ \"title\": \"T\", " CLOSED "}",
		       "plan: arms must be a list of 1 to 16");
}

static void test_refusals_of_loops(void)
{
#define LOOP(text) "{ \"title\": \"T\", " text ", " ARMS "}"
	expect_refusal(LOOP("\"closed\": { \"passes\": 1 }"),
		       "closed: connections is missing");
	expect_refusal(LOOP("\"closed\": { \"connections\": 1 }"),
		       "closed: passes or duration_s, not both");
	expect_refusal(LOOP("\"closed\": { \"connections\": 1, \"passes\": 1,"
			    "\"duration_s\": 1 }"),
		       "closed: passes or duration_s, not both");
	expect_refusal(LOOP("\"closed\": { \"connections\": 1,"
			    "\"duration_s\": -1 }"),
		       "closed: duration_s: '-1' is not a number from 0.001 to "
		       "86400");
	expect_refusal(LOOP(CLOSED ", \"open\": { \"duration_s\": 1 }"),
		       "open: percent_of_capacity must be a list of 1 to 16 "
		       "numbers");
	expect_refusal(LOOP(CLOSED ", \"open\": { \"duration_s\": 1,"
				   "\"percent_of_capacity\": [0] }"),
		       "open: percent_of_capacity must be numbers from 1 to "
		       "1000 that rise");
	expect_refusal(LOOP(CLOSED ", \"open\": { \"duration_s\": 1,"
				   "\"percent_of_capacity\": [80, 50] }"),
		       "open: percent_of_capacity must be numbers from 1 to "
		       "1000 that rise");
	expect_refusal(LOOP(CLOSED ", \"open\": {"
				   "\"percent_of_capacity\": [50] }"),
		       "open: duration_s is missing");
	expect_refusal(LOOP(CLOSED ", \"open\": { \"rate\": 1 }"),
		       "open: rate: there is no such key");
	expect_refusal(LOOP(CLOSED ", \"open\": 1"),
		       "open: it must be an object");
}

static void test_refusals_of_arms(void)
{
#define ARM(text) "{ \"title\": \"T\", " CLOSED ", \"arms\": [" text "] }"
#define BAD_NAME                                                               \
	"its name must have 1 to 48 bytes, not only spaces, and no comma"
#define GOOD "{ \"name\": \"a\", \"url\": \"http://h/\" }"
	expect_refusal(ARM("1"), "arm 1: it must be an object");
	expect_refusal(ARM("{ \"url\": \"http://h/\" }"), "arm 1: " BAD_NAME);
	expect_refusal(ARM("{ \"name\": \"\", \"url\": \"http://h/\" }"),
		       "arm 1: " BAD_NAME);
	expect_refusal(
		ARM(GOOD ", { \"name\": \" \", \"url\": \"http://h/\" }"),
		"arm 2: " BAD_NAME);
	expect_refusal(ARM(GOOD "," GOOD),
		       "arm 'a': another arm has the same name");
	expect_refusal(ARM("{ \"name\": \"a,b\", \"url\": \"http://h/\" }"),
		       "arm 1: " BAD_NAME);
	expect_refusal(ARM("{ \"name\": \"a\" }"),
		       "arm 'a': its url must begin with http://");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"ftp://h/\" }"),
		       "arm 'a': its url must begin with http://");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"http://h:{port}\" }"),
		       "arm 'a': its url has {port}, but there is no command");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"http://h/\","
			   "\"command\": [] }"),
		       "arm 'a': command must be a list of 1 to 64 texts");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"http://h/\","
			   "\"command\": [\"x\", 1] }"),
		       "arm 'a': command must be a list of 1 to 64 texts");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"http://h/\","
			   "\"environment\": { \"A\": 1 } }"),
		       "arm 'a': environment must be an object of at most 64 "
		       "texts");
	expect_refusal(ARM("{ \"name\": \"a\", \"url\": \"http://h/\","
			   "\"connections\": 0 }"),
		       "arm 1: connections: '0' is not a whole number from 1 "
		       "to 100000");
	expect_refusal(ARM("{ \"name\": \"a\", \"port\": 1 }"),
		       "arm 1: port: there is no such key");
}

static void test_chosen_arms(void)
{
	static const char text[] = ARM(GOOD ",{ \"name\": \"b\", \"url\":"
					    "\"http://h/\" },"
					    "{ \"name\": \"c d\", \"url\":"
					    "\"http://h/\" }");
	struct plan plan;
	struct error error;

	CHECK(read_text(&plan, text, &error));
	CHECK(!plan_choose_arms(&plan, "a,x", &error));
	CHECK_TEXT(error.text, "the plan has no arm 'x'; there are a, b, "
			       "c d");
	CHECK(!plan_choose_arms(&plan, "a,", &error));
	CHECK_PART(error.text, "no arm ''; there are a, b");
	CHECK_NUMBER(plan.arm_count, ==, 3);
	CHECK(plan_choose_arms(&plan, "c d,a", &error));
	CHECK_NUMBER(plan.arm_count, ==, 2);
	CHECK_TEXT(plan.arms[0].name, "a");
	CHECK_TEXT(plan.arms[1].name, "c d");
	plan_release(&plan);
}

static void test_files(void)
{
	static const char text[] = "{\n\"title\": \"T\",\n oops }";
	struct scratch scratch;
	char path[SCRATCH_PATH_BYTES];
	struct plan plan = { 0 };
	struct error error;

	scratch_init(&scratch);
	scratch_write(&scratch, "plan.json", text, sizeof(text) - 1);
	CHECK(!read_file(&plan, scratch_path(&scratch, "plan.json", path),
			 &error));
	CHECK_PART(error.text, "plan.json: not JSON in line 3");
	CHECK(!read_file(&plan, scratch_path(&scratch, "none.json", path),
			 &error));
	CHECK_PART(error.text, "none.json: No such file");
	scratch_release(&scratch);
}

/* The man page says what each key is. */
static void test_keys_are_described(void)
{
	size_t count = 0;

	for (const struct flag_group *g = plan_keys; g->flags != NULL; g++)
		for (const struct flag *f = g->flags; f->name != NULL; f++) {
			CHECK(f->values != NULL);
			CHECK_NUMBER(strlen(f->help), >, 9);
			count++;
		}
	CHECK_NUMBER(count, >=, 20);
}

static void test_plans_of_the_tree(void)
{
	glob_t found;

	CHECK_NUMBER(glob(PLANS "/*.json", 0, NULL, &found), ==, 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct plan plan;
		struct error error;

		if (!read_file(&plan, found.gl_pathv[i], &error)) {
			fprintf(stderr, "%s\n", error.text);
			abort();
		}
		plan_release(&plan);
	}
	globfree(&found);
}

int main(void)
{
	test_whole_plan();
	test_defaults();
	test_refusals_of_the_plan();
	test_refusals_of_loops();
	test_refusals_of_arms();
	test_chosen_arms();
	test_files();
	test_keys_are_described();
	test_plans_of_the_tree();
	return 0;
}
