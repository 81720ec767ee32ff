/* SPDX-License-Identifier: MIT */
/*
 * Promises: every state of a request runs a function, waits for an event or is
 * a last one; every state that waits can be left; the last ones ignore what is
 * still read of the body; and an event that cannot happen in a state
 * ends the program.
 */
#include "service/http/request_steps.c"

#include "base/test/check.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_last_state(enum request_state state)
{
	return state == REQUEST_REPLIED || state == REQUEST_STREAM ||
	       state == REQUEST_SHUT || state == REQUEST_CLOSED;
}

/* Events that lead to another state. */
static uint32_t count_ways_out(enum request_state state)
{
	uint32_t count = 0;

	for (int event = 0; event < EVENTS; event++)
		count += steps[state].after[event] != REQUEST_NONE &&
			 steps[state].after[event] != state;
	return count;
}

static void test_every_state_runs_waits_or_is_last(void)
{
	for (enum request_state s = REQUEST_NONE + 1; s < REQUEST_STATES; s++) {
		bool runs = steps[s].run != NULL;
		bool waits = count_ways_out(s) > 0;

		CHECK_NUMBER(runs + waits + is_last_state(s), ==, 1);
	}
	CHECK(steps[REQUEST_NONE].run == NULL);
	CHECK_NUMBER(count_ways_out(REQUEST_NONE), ==, 0);
}

static bool aborts(enum request_state state, enum request_event event)
{
	pid_t child = fork();
	int status;

	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		struct request r = { .state = state };

		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		(void)close(STDERR_FILENO);
		(void)request_advance(&r, event);
		_exit(0);
	}
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_an_impossible_event_ends_the_program(void)
{
	CHECK(!aborts(REQUEST_HELD, EVENT_PIECE));
	CHECK(aborts(REQUEST_HEAD, EVENT_PIECE));
	CHECK(aborts(REQUEST_WAIT, EVENT_HEAD));
	CHECK(aborts(REQUEST_BODY, EVENT_HEAD));
	CHECK(aborts(REQUEST_WORK, EVENT_PIECE));
	for (int event = 0; event < EVENTS; event++) {
		CHECK(aborts(REQUEST_NONE, (enum request_event)event));
	}
	CHECK(aborts(REQUEST_REPLIED, EVENT_HEAD));
}

static void test_a_last_state_stays(void)
{
	for (enum request_state s = REQUEST_NONE + 1; s < REQUEST_STATES; s++) {
		if (!is_last_state(s))
			continue;
		struct request r = { .state = s };
		bool wanted = s != REQUEST_SHUT && s != REQUEST_CLOSED;

		CHECK_NUMBER(request_advance(&r, EVENT_PIECE), ==, wanted);
		CHECK_NUMBER(request_advance(&r, EVENT_NEXT), ==, wanted);
		CHECK_NUMBER(r.state, ==, s);
	}
}

int main(void)
{
	test_every_state_runs_waits_or_is_last();
	test_a_last_state_stays();
	test_an_impossible_event_ends_the_program();
	return 0;
}
