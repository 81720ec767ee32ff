/* SPDX-License-Identifier: MIT */
/* A check that fails says where, what, the values, the case and the callers. */
#include "base/test/check.h"
#include "base/util.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t calls;

static int counted(int number)
{
	calls++;
	return number;
}

static void fail_condition(void)
{
	CHECK(calls == 999, "nobody called so often");
}

static void fail_number(void)
{
	check_case("row %d", 7);
	CHECK_NUMBER(counted(-3), >=, 2u);
}

static void fail_real(void)
{
	CHECK_NUMBER(0.5, <, 0.25f);
}

static void fail_not_a_number(void)
{
	CHECK_NUMBER(0.0 / (double)calls, ==, 0.0 / (double)calls);
}

static void fail_unequal(void)
{
	CHECK_NUMBER(7, !=, 7);
}

static void fail_less(void)
{
	CHECK_NUMBER(7, <, 7);
}

static void fail_more(void)
{
	CHECK_NUMBER(7, >, 7);
}

static void fail_text(void)
{
	CHECK_TEXT("one", "two");
}

static void fail_null(void)
{
	CHECK_TEXT(getenv("NO_SUCH_VARIABLE"), "");
}

static void fail_part(void)
{
	CHECK_PART("a reply", "an error");
}

static const struct {
	void (*fail)(void);
	const char *parts[4];
} failures[] = {
	{ fail_condition,
	  { "test_check.c:", "fail_condition()", "calls == 999",
	    "nobody called so often" } },
	{ fail_number,
	  { "counted(-3) >= 2u", "values: -3 and 2\n", "last case: row 7\n" } },
	{ fail_real, { "values: 0.5 and 0.25\n" } },
	{ fail_not_a_number, { "nan" } },
	{ fail_unequal, { "7 != 7", "values: 7 and 7\n" } },
	{ fail_less, { "7 < 7" } },
	{ fail_more, { "7 > 7" } },
	{ fail_text, { "first: \"one\"\n", "second: \"two\"\n" } },
	{ fail_null, { "first: NULL\n", "second: \"\"\n" } },
	{ fail_part,
	  { "text: \"a reply\"\n", "does not contain: \"an error\"\n" } },
};

/* Run it in a process of its own; what it prints before it aborts. */
static void run(void (*fail)(void), char printed[4096])
{
	int pipe_ends[2], status;
	size_t used = 0;
	ssize_t count;
	pid_t child;

	CHECK_NUMBER(pipe(pipe_ends), ==, 0);
	child = fork();
	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)dup2(pipe_ends[1], STDERR_FILENO);
		(void)signal(SIGABRT, SIG_DFL);
		fail();
		_exit(0);
	}
	(void)close(pipe_ends[1]);
	while ((count = read(pipe_ends[0], printed + used, 4095 - used)) > 0)
		used += (size_t)count;
	printed[used] = '\0';
	(void)close(pipe_ends[0]);
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	CHECK(WIFSIGNALED(status), "it aborts");
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
}

static void test_failures_are_explained(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		char printed[4096];

		check_case("failures[%zu]", i);
		run(failures[i].fail, printed);
		for (size_t k = 0; k < ARRAY_SIZE(failures[i].parts); k++)
			if (failures[i].parts[k] != NULL)
				CHECK_PART(printed, failures[i].parts[k]);
	}
}

static void test_what_holds_is_evaluated_once(void)
{
	_Atomic uint16_t atomic = 4;
	const char *text = "text";

	calls = 0;
	CHECK(counted(1), "not zero");
	CHECK_NUMBER(counted(-1), <, UINT64_MAX, "as in mathematics");
	CHECK_NUMBER(INT64_MIN, <=, INT64_MIN);
	CHECK_NUMBER(UINT64_MAX, >, 0.5);
	CHECK_NUMBER(atomic, ==, 4);
	CHECK_NUMBER('a', !=, 'b');
	CHECK_NUMBER(true, ==, 1);
	CHECK_NUMBER(7, >=, 7);
	CHECK_NUMBER(text, ==, text);
	CHECK_TEXT(text, "text", "a comment");
	CHECK_PART(text, "ex");
	CHECK_NUMBER(calls, ==, 2);
}

int main(void)
{
	test_failures_are_explained();
	test_what_holds_is_evaluated_once();
	return 0;
}
