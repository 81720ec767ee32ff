/* SPDX-License-Identifier: MIT */
/*
 * Promises: a saved graph is loaded again; a file that is no stage graph is
 * refused with a reason and changes nothing; a save that fails leaves the older
 * file, and can be predicted.
 */
#include "stages/graph.h"

#include "base/test/check.h"
#include "base/test/scratch.h"
#include "base/util.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char dir[] = "/tmp/test_graph-XXXXXX";
static char path[64], draft[80];
static struct error refusal;

static void put(const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f != NULL);
	CHECK_NUMBER(fputs(text, f), >=, 0);
	CHECK_NUMBER(fclose(f), ==, 0);
}

static struct stage_graph two_stages(void)
{
	return (struct stage_graph){
		.stage_count = 2,
		.names = { "decode", "scale" },
		.service_ns = { 880, 50 },
		.sent_counts = { [0][1] = 10 },
	};
}

static bool same_weights(const struct stage_graph *a,
			 const struct stage_graph *b)
{
	return memcmp(a->service_ns, b->service_ns, sizeof(a->service_ns)) ==
		       0 &&
	       memcmp(a->sent_counts, b->sent_counts, sizeof(a->sent_counts)) ==
		       0;
}

static void check_loads(const struct stage_graph *expected)
{
	struct stage_graph g = *expected;
	struct error why;

	(void)memset(g.service_ns, 1, sizeof(g.service_ns));
	(void)memset(g.sent_counts, 1, sizeof(g.sent_counts));
	CHECK(graph_load(&g, path, &why));
	for (uint32_t i = 0; i < g.stage_count; i++) {
		CHECK_NUMBER(g.service_ns[i], ==, expected->service_ns[i]);
		for (uint32_t j = 0; j < g.stage_count; j++)
			CHECK_NUMBER(g.sent_counts[i][j], ==,
				     expected->sent_counts[i][j]);
	}
}

static void check_refused(const char *at, const char *reason)
{
	struct stage_graph g = two_stages(), before = two_stages();
	struct error why = { "" };

	CHECK(!graph_load(&g, at, &why));
	if (strstr(why.text, reason) == NULL)
		(void)fprintf(stderr, "%s, without '%s'\n", why.text, reason);
	CHECK_PART(why.text, reason);
	CHECK(same_weights(&g, &before));
}

static void test_loads_what_was_saved(void)
{
	struct stage_graph g = two_stages();

	CHECK(graph_save(&g, path, &refusal));
	check_loads(&g);
	/*
	 * Replace the older file; these are the largest weights that are not
	 * rounded.
	 */
	g.service_ns[1] = UINT64_C(1000000000000000);
	g.sent_counts[0][1] = 0;
	g.sent_counts[0][0] = UINT64_C(999999999999999);
	g.sent_counts[1][0] = 1;
	CHECK(graph_save(&g, path, &refusal));
	check_loads(&g);
	CHECK_NUMBER(access(draft, F_OK), ==, -1);
}

static void test_largest_graph_and_odd_names(void)
{
	static char names[STAGES_MAX][32];
	struct stage_graph g = { .stage_count = STAGES_MAX };

	for (uint32_t i = 0; i < STAGES_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%s%u",
			       i % 2 ? "\"\\\n\xc3\xa9" : "", i);
		g.names[i] = names[i];
		g.service_ns[i] = i * UINT64_C(1000000007);
		for (uint32_t j = 0; j < STAGES_MAX; j++)
			g.sent_counts[i][j] = 1 + i * 100 + j;
	}
	CHECK(graph_save(&g, path, &refusal));
	check_loads(&g);
}

static void test_what_is_not_mentioned_is_zero(void)
{
	struct stage_graph g = two_stages();

	put("{ \"stages\": { \"scale\": { \"service_ns\": 7 } } }");
	g.service_ns[0] = g.sent_counts[0][1] = 0;
	g.service_ns[1] = 7;
	check_loads(&g);
	put("{ \"stages\": {} }");
	g.service_ns[1] = 0;
	check_loads(&g);
}

static void test_files_with_a_mistake_are_refused(void)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "", "not JSON" },
		{ "decode 880", "not JSON" },
		{ "\xff\xfe\x01", "not JSON" },
		{ "{ \"stages\": {} } x", "not JSON" },
		{ "{ \"stages\": { \"decode\": { \"service_ns\": 1",
		  "not JSON" },
		{ "{ \"stages\": { : {} } }", "not JSON" },
		{ "{}", "\"stages\"" },
		{ "[]", "\"stages\"" },
		{ "1", "\"stages\"" },
		{ "null", "\"stages\"" },
		{ "{ \"stages\": [] }", "\"stages\"" },
		{ "{ \"Stages\": {} }", "\"stages\"" },
		{ "{ \"stages\": { \"scale\": 5 } }",
		  "stage 'scale': it must be an object" },
		{ "{ \"stages\": { \"scale\": null } }",
		  "stage 'scale': it must be an object" },
		{ "{ \"stages\": { \"scale\": { \"sent\": [1] } } }",
		  "stage 'scale': sent: it must be an object" },
		/* Keys that are not known, such as misspelt ones. */
		{ "{ \"stages\": {}, \"more\": [] }",
		  "more: there is no such key" },
		{ "{ \"stages\": {}, \"stages\": {} }",
		  "stages: it is there twice" },
		{ "{ \"stages\": { \"Decode\": {} } }",
		  "stages: 'Decode' is no stage; did you mean 'decode'?" },
		{ "{ \"stages\": { \"scale\": {}, \"scale\": {} } }",
		  "stages: 'scale' is there twice" },
		{ "{ \"stages\": { \"scale\": { \"service_us\": 1 } } }",
		  "stage 'scale': service_us: there is no such key" },
		{ "{ \"stages\": { \"decode\": { \"sent\": { \"blur\": 1 } } } "
		  "}",
		  "stage 'decode': sent: 'blur' is no stage" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", i, cases[i].text);
		put(cases[i].text);
		check_refused(path, cases[i].reason);
	}
}

static void test_odd_weights_are_refused(void)
{
	static const char *const weights[] = {
		"-1",     "1.5",    "1e400",
		"-1e400", "1e20",   "18446744073709551616",
		"null",   "\"12\"", "true",
		"[1]",    "{}",
	};
	char text[200];

	for (size_t i = 0; i < ARRAY_SIZE(weights); i++) {
		/*
		 * The first stage is valid, but it must not be changed either.
		 */
		(void)snprintf(text, sizeof(text),
			       "{\"stages\":{\"decode\":{\"service_ns\":1},"
			       "\"scale\":{\"service_ns\":%s}}}",
			       weights[i]);
		put(text);
		check_refused(path, "stage 'scale': service_ns");
		(void)snprintf(text, sizeof(text),
			       "{\"stages\":{\"scale\":{\"sent\":"
			       "{\"decode\":%s}}}}",
			       weights[i]);
		put(text);
		check_refused(path, "stage 'scale': sent: decode");
	}
}

static void test_long_and_deep_files_are_refused(void)
{
	enum { BYTES = 1 << 20 };
	char *text = malloc(BYTES + 2);

	CHECK(text != NULL);
	(void)memset(text, '[', BYTES);
	text[BYTES] = '\0';
	put(text);
	check_refused(path, "not JSON");
	(void)memset(text, ' ', BYTES + 1);
	text[BYTES + 1] = '\0';
	put(text);
	check_refused(path, "too large");
	check_refused("/dev/zero", "too large");
	free(text);
}

static void test_what_is_no_file_is_refused(void)
{
	check_refused("/nowhere/graph.json", strerror(ENOENT));
	check_refused(dir, strerror(EISDIR));
	check_refused("", strerror(ENOENT));
}

static void test_failed_save_leaves_the_older_file(void)
{
	struct stage_graph older = two_stages(), newer = two_stages();
	struct rlimit old_limit, none;

	newer.service_ns[0] = 1;
	CHECK(graph_save(&older, path, &refusal));
	CHECK_NUMBER(getrlimit(RLIMIT_FSIZE, &old_limit), ==, 0);
	none = (struct rlimit){ .rlim_cur = 10,
				.rlim_max = old_limit.rlim_max };
	CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	CHECK_NUMBER(setrlimit(RLIMIT_FSIZE, &none), ==, 0);
	bool saved = graph_save(&newer, path, &refusal);

	CHECK_NUMBER(setrlimit(RLIMIT_FSIZE, &old_limit), ==, 0);
	CHECK(!saved);
	CHECK_TEXT(refusal.text, strerror(EFBIG));
	CHECK_NUMBER(access(draft, F_OK), ==, -1);
	check_loads(&older);
}

/*
 * Check that graph_save() and graph_can_be_saved() both fail, and that neither
 * leaves a file.
 */
static void check_cannot_be_saved(const char *at, int why)
{
	struct stage_graph g = two_stages();
	char beside[80];

	CHECK(!graph_save(&g, at, &refusal));
	CHECK_TEXT(refusal.text, strerror(why));
	refusal.text[0] = '\0';
	CHECK(!graph_can_be_saved(at, &refusal));
	CHECK_TEXT(refusal.text, strerror(why));
	(void)snprintf(beside, sizeof(beside), "%s.tmp", at);
	CHECK_NUMBER(access(beside, F_OK), ==, -1);
}

static void test_save_says_why_not(void)
{
	check_cannot_be_saved("/nowhere/graph.json", ENOENT);
	check_cannot_be_saved(dir, EISDIR);
	check_cannot_be_saved("", ENOENT);
}

static void test_trial_of_a_save_changes_nothing(void)
{
	struct stage_graph older = two_stages();

	CHECK(graph_save(&older, path, &refusal));
	CHECK(graph_can_be_saved(path, &refusal));
	check_loads(&older);
	CHECK_NUMBER(unlink(path), ==, 0);
	CHECK(graph_can_be_saved(path, &refusal));
	CHECK_NUMBER(access(path, F_OK), ==, -1);
	CHECK_NUMBER(access(draft, F_OK), ==, -1);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	scratch_adopt(dir);
	(void)snprintf(path, sizeof(path), "%s/graph.json", dir);
	(void)snprintf(draft, sizeof(draft), "%s.tmp", path);
	test_loads_what_was_saved();
	test_largest_graph_and_odd_names();
	test_what_is_not_mentioned_is_zero();
	test_files_with_a_mistake_are_refused();
	test_odd_weights_are_refused();
	test_long_and_deep_files_are_refused();
	test_what_is_no_file_is_refused();
	test_failed_save_leaves_the_older_file();
	test_save_says_why_not();
	test_trial_of_a_save_changes_nothing();
	CHECK_NUMBER(rmdir(dir), ==, 0);
	return 0;
}
