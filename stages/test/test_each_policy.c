/* SPDX-License-Identifier: MIT */
/*
 * Promises: each_policy() ends the test at once, with the policy's name and
 * what it broke, if a policy breaks the contract of policy.h; one that chooses
 * by the lengths of queues may decline to be blind; and an abort names the
 * policy.
 */
#include "stages/test/each_policy.h"

#include "base/test/check.h"
#include "base/util.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The stage with the most events: as a newcomer would write it. */
static uint32_t pick_longest(void *state, const struct group_view *view)
{
	uint32_t longest = 0;

	(void)state;
	for (uint32_t i = 1; i < view->stage_count; i++)
		if (view->stages[i].queued_count >
		    view->stages[longest].queued_count)
			longest = i;
	return view->stages[longest].queued_count > 0 ? longest : POLICY_IDLE;
}

static uint32_t pick_first(void *state, const struct group_view *view)
{
	(void)state;
	(void)view;
	return 0;
}

static uint32_t pick_none(void *state, const struct group_view *view)
{
	(void)state;
	(void)view;
	return POLICY_IDLE;
}

static uint32_t pick_last_and_more(void *state, const struct group_view *view)
{
	(void)state;
	return view->stage_count;
}

static uint32_t pick_for_ever(void *state, const struct group_view *view)
{
	volatile uint32_t *turns = state;

	while (view->stage_count > 0)
		(*turns)++;
	return 0;
}

static uint32_t pick_and_abort(void *state, const struct group_view *view)
{
	(void)state;
	(void)view;
	abort();
}

/* A policy without mistakes, apart from its pick(). */
static struct policy policy_of(policy_pick_fn *pick)
{
	return (struct policy){
		.name = "mine",
		.summary = "a policy of one's own",
		.meaning = "It is tried here.",
		.workers = POLICY_WORKERS_ROAM,
		.state_bytes = sizeof(uint32_t),
		.pick = pick,
	};
}

/* What a child writes to stderr that goes through `p`; returns its status. */
static int try_in_child(const struct policy *p, bool aborts, char *text,
			size_t bytes)
{
	int ends[2], status;
	size_t count = 0;
	ssize_t got;
	pid_t child;

	CHECK_NUMBER(pipe(ends), ==, 0);
	child = fork();
	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)each_policy(p);
		if (aborts)
			abort();
		_exit(0);
	}
	(void)close(ends[1]);
	while ((got = read(ends[0], text + count, bytes - 1 - count)) > 0)
		count += (size_t)got;
	text[count] = '\0';
	(void)close(ends[0]);
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	return status;
}

/*
 * Nothing can be told of planted mistakes if a policy of the list has one: that
 * one is named, and the test ends.
 */
static void expect_list_without_mistakes(void)
{
	char text[1000];

	if (try_in_child(NULL, false, text, sizeof(text)) == 0)
		return;
	(void)fprintf(stderr,
		      "%sthe checks with planted mistakes are not made\n",
		      text);
	exit(EXIT_FAILURE);
}

static void expect_refused(const struct policy *p, const char *why)
{
	char text[1000];
	int status = try_in_child(p, false, text, sizeof(text));

	if (strstr(text, why) == NULL)
		(void)fprintf(stderr, "'%s', without '%s'\n", text, why);
	CHECK(WIFEXITED(status));
	CHECK_NUMBER(WEXITSTATUS(status), ==, EXIT_FAILURE);
	CHECK_PART(text, "policy 'mine' breaks the contract");
	CHECK_PART(text, why);
}

static void test_orders_that_break_the_contract(void)
{
	static const struct {
		policy_pick_fn *pick;
		const char *why;
	} cases[] = {
		{ pick_none, "POLICY_IDLE, but a stage has events" },
		{ pick_first, "a stage, but none has events" },
		{ pick_last_and_more, "a stage that there is not" },
		{ pick_longest, "sets needs_lengths" },
		{ pick_for_ever, "does not return" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy p = policy_of(cases[i].pick);

		check_case("cases[%zu]", i);
		expect_refused(&p, cases[i].why);
	}
}

static void test_members_that_break_the_contract(void)
{
	struct policy p = policy_of(pick_longest);

	p.needs_lengths = true;
	p.summary = "two\nlines";
	expect_refused(&p, "summary");
	p.summary = "one line";
	p.meaning = NULL;
	expect_refused(&p, "meaning");
	p.meaning = "It has one.";
	p.pick = NULL;
	expect_refused(&p, "pick()");
	p.pick = pick_longest;
	p.workers = POLICY_WORKERS_CALLER;
	expect_refused(&p, "pick()");
}

static void test_one_that_needs_lengths_declines_to_be_blind(void)
{
	struct policy p = policy_of(pick_longest);

	p.needs_lengths = true;
	CHECK(each_policy(&p));
	CHECK(!each_policy(NULL));
}

static void test_an_abort_names_the_policy(void)
{
	struct policy p = policy_of(pick_longest);
	char text[1000];
	int status;

	p.needs_lengths = true;
	status = try_in_child(&p, true, text, sizeof(text));
	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
	CHECK_PART(text, "aborted while policy 'mine' was tested");
}

/* Also by an assertion of its own, before the test uses it. */
static void test_a_pick_that_aborts_names_the_policy(void)
{
	struct policy p = policy_of(pick_and_abort);
	char text[1000];
	int status = try_in_child(&p, false, text, sizeof(text));

	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
	CHECK_PART(text, "aborted while policy 'mine' was tested");
}

int main(void)
{
	expect_list_without_mistakes();
	/* First, while this process has no handler that a child inherits. */
	test_a_pick_that_aborts_names_the_policy();
	test_orders_that_break_the_contract();
	test_members_that_break_the_contract();
	test_one_that_needs_lengths_declines_to_be_blind();
	test_an_abort_names_the_policy();
	return 0;
}
