/* SPDX-License-Identifier: MIT */
#include "service/http/trace_context.h"

#include "service/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	VERSION_CHARS = 2,
	FLAGS_CHARS = 2,
	TRACE_AT = VERSION_CHARS + 1,
	PARENT_AT = TRACE_AT + TRACE_ID_CHARS + 1,
	FLAGS_AT = PARENT_AT + SPAN_ID_CHARS + 1,
	END_AT = FLAGS_AT + FLAGS_CHARS,
};

static bool is_hex(const char *at, size_t chars)
{
	return strspn(at, "0123456789abcdef") >= chars;
}

static bool is_id(const char *at, size_t chars)
{
	return is_hex(at, chars) && strspn(at, "0") < chars;
}

static bool is_version(const char *at)
{
	return is_hex(at, VERSION_CHARS) && strncmp(at, "ff", 2) != 0;
}

static bool is_end(const char *at)
{
	return at[strspn(at, " \t")] == '\0';
}

/* Later versions may have more behind it, but have this. */
static bool is_traceparent(const char *text)
{
	bool is_first = strncmp(text, "00-", TRACE_AT) == 0;

	return is_version(text) && text[TRACE_AT - 1] == '-' &&
	       is_id(text + TRACE_AT, TRACE_ID_CHARS) &&
	       text[PARENT_AT - 1] == '-' &&
	       is_id(text + PARENT_AT, SPAN_ID_CHARS) &&
	       text[FLAGS_AT - 1] == '-' &&
	       is_hex(text + FLAGS_AT, FLAGS_CHARS) &&
	       (is_end(text + END_AT) || (!is_first && text[END_AT] == '-'));
}

/* The kernel may have no randomness yet; then requests differ in time. */
static uint64_t new_span(void)
{
	uint64_t span = 0;

	(void)getrandom(&span, sizeof(span), GRND_NONBLOCK);
	return span != 0 ? span : clock_now_ns();
}

bool trace_context_read(struct trace_context *out, const char *value)
{
	value += strspn(value, " \t");
	if (!is_traceparent(value))
		return false;
	*out = (struct trace_context){
		.is_sampled = strchr("13579bdf", value[END_AT - 1]) != NULL,
	};
	memcpy(out->trace_id, value + TRACE_AT, TRACE_ID_CHARS);
	memcpy(out->parent_id, value + PARENT_AT, SPAN_ID_CHARS);
	(void)snprintf(out->span_id, sizeof(out->span_id), "%016" PRIx64,
		       new_span());
	return true;
}

/* Other flags are of later versions, and to be 0. */
void trace_context_print(char out[TRACEPARENT_BYTES],
			 const struct trace_context *c)
{
	(void)snprintf(out, TRACEPARENT_BYTES, "00-%s-%s-%s", c->trace_id,
		       c->span_id, c->is_sampled ? "01" : "00");
}
