/* SPDX-License-Identifier: MIT */
/*
 * Promises: the line of a slow request shows where its time went, and the line
 * of another request does not; the longest possible line is complete.
 */
#include "service/log/log.c"

#include "base/test/check.h"

#include <string.h>

#include <cjson/cJSON.h>

/* The line, as a string. */
static const char *line_for(enum log_form form, const struct log_request *r)
{
	static char line[LOG_LINE_BYTES + 1];
	size_t bytes = line_of_request(line, form, r);

	CHECK_NUMBER(bytes, <=, LOG_LINE_BYTES);
	CHECK_NUMBER(line[bytes - 1], ==, '\n');
	line[bytes] = '\0';
	return line;
}

static void test_slow_ones_have_their_timeline(void)
{
	struct log_request r = {
		.id = "i",
		.method = "GET",
		.end = "sent",
		.steps = { { "body", 0, 1200000999 },
			   { "decode", 1200100000, 8400000 } },
		.step_count = 2,
		.policy = "p",
	};

	CHECK(strstr(line_for(LOG_FORM_JSON, &r), "body") == NULL);
	CHECK(strstr(line_for(LOG_FORM_TEXT, &r), "body") == NULL);
	r.is_slow = true;
	CHECK_PART(line_for(LOG_FORM_JSON, &r),
		   "\"slow\":true,\"timeline\":["
		   "{\"step\":\"body\",\"start_s\":0.000000,"
		   "\"dur_s\":1.200000},"
		   "{\"step\":\"decode\",\"start_s\":1.200100,"
		   "\"dur_s\":0.008400}],\"policy\"");
	CHECK_PART(line_for(LOG_FORM_TEXT, &r),
		   " SLOW: body 1200.0 at 0.0, decode 8.4 at 1200.1\n");
	r.step_count = 0;
	CHECK_PART(line_for(LOG_FORM_JSON, &r), "\"timeline\":[]");
	CHECK_PART(line_for(LOG_FORM_TEXT, &r), " SLOW\n");
}

static void test_traces_are_told(void)
{
	struct log_request r = {
		.id = "i",
		.trace_id = "t",
		.span_id = "s",
		.parent_span_id = "p",
		.method = "GET",
		.end = "sent",
	};

	CHECK_PART(line_for(LOG_FORM_JSON, &r),
		   "\"trace\":\"t\",\"span\":\"s\",\"parent_span\":\"p\"");
	CHECK_PART(line_for(LOG_FORM_TEXT, &r), "; i of trace t\n");
	r.trace_id = r.span_id = r.parent_span_id = NULL;
	CHECK_PART(line_for(LOG_FORM_JSON, &r),
		   "\"trace\":null,\"span\":null,\"parent_span\":null");
	CHECK_PART(line_for(LOG_FORM_TEXT, &r), "; i\n");
}

/* A request with every member, each as long as possible. */
static void test_the_longest_line_is_whole(void)
{
	static const char id[] = "4bf92f3577b34da6a3ce929d0e0e4736";
	struct log_request r = {
		.id = id,
		.trace_id = id,
		.span_id = id + 16,
		.parent_span_id = id + 16,
		.method = "OPTIONS",
		.path = "/v1/images/{id}/{variant}/and/some/more/of/it",
		.end = "stopped",
		.status = 599,
		.code = "a_code_that_is_longer_than_all",
		.bytes_in = UINT64_MAX,
		.bytes_out = UINT64_MAX,
		.pixels_in = UINT64_MAX,
		.pixels_out = UINT64_MAX,
		.variant_count = UINT32_MAX,
		.total_ns = UINT64_MAX,
		.is_slow = true,
		.policy = "thread-per-connection",
	};
	cJSON *o;

	while (r.time_count < LOG_TIMES_MAX)
		r.times[r.time_count++] =
			(struct log_time){ "decode", UINT64_MAX };
	while (r.step_count < LOG_STEPS_MAX)
		r.steps[r.step_count++] =
			(struct log_step){ "decode", UINT64_MAX, UINT64_MAX };
	o = cJSON_Parse(line_for(LOG_FORM_JSON, &r));
	CHECK_NUMBER(cJSON_GetArraySize(cJSON_GetObjectItem(o, "timeline")), ==,
		     LOG_STEPS_MAX);
	CHECK(cJSON_IsString(cJSON_GetObjectItem(o, "policy")));
	cJSON_Delete(o);
	CHECK_NUMBER(strlen(line_for(LOG_FORM_TEXT, &r)), <, LOG_LINE_BYTES);
}

int main(void)
{
	test_slow_ones_have_their_timeline();
	test_traces_are_told();
	test_the_longest_line_is_whole();
	return 0;
}
