/* SPDX-License-Identifier: MIT */
#include "base/test/check.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLERS_MAX 12
/* Of a text that is printed. */
#define SHOWN_MAX 2000

static _Thread_local char tried[256];

void check_case(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(tried, sizeof(tried), format, arguments);
	va_end(arguments);
}

/* Print the lines of the callers, if this machine has addr2line. */
static void print_callers(void)
{
	void *at[CALLERS_MAX];
	int count = backtrace(at, CALLERS_MAX);
	char command[64 + CALLERS_MAX * 20] = "";
	size_t used = 0;
	Dl_info program, found;

	if (dladdr((void *)(uintptr_t)&print_callers, &program) == 0)
		return;
	for (int i = 1; i < count; i++) {
		/* The call, not the place to which it returns. */
		const char *call = (const char *)at[i] - 1;

		if (dladdr(call, &found) == 0 ||
		    found.dli_fbase != program.dli_fbase)
			continue;
		used += (size_t)snprintf(command + used, sizeof(command) - used,
					 " 0x%tx",
					 call - (char *)found.dli_fbase);
	}
	(void)setenv("CHECK_PROGRAM", program.dli_fname, 1);
	(void)setenv("CHECK_CALLS", command, 1);
	(void)!system("addr2line -psfi -e \"$CHECK_PROGRAM\" $CHECK_CALLS "
		      "2>/dev/null | sed -n '/ check\\.c:/d; "
		      "s/^\\([a-z_].*:[0-9][0-9]*\\).*/in \\1/p' >&2");
}

/* The rest of a message has been printed. */
static _Noreturn void end_test(void)
{
	(void)fprintf(stderr, "\n");
	if (tried[0] != '\0')
		(void)fprintf(stderr, "last case: %s\n", tried);
	print_callers();
	abort();
}

static void begin_message(struct check_place place, const char *expression)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s:%d: %s(): not so: %s", place.file, place.line,
		      place.function, expression);
}

void check_failed(struct check_place place, const char *expression)
{
	begin_message(place, expression);
	end_test();
}

static void print_value(struct check_value value)
{
	if (value.kind == CHECK_SIGNED)
		(void)fprintf(stderr, "%" PRId64, value.number);
	else if (value.kind == CHECK_UNSIGNED)
		(void)fprintf(stderr, "%" PRIu64, value.count);
	else if (value.kind == CHECK_REAL)
		(void)fprintf(stderr, "%.17g", value.real);
	else
		(void)fprintf(stderr, "0x%" PRIx64, value.count);
}

void check_number_failed(struct check_place place, const char *expression,
			 struct check_value a, struct check_value b)
{
	begin_message(place, expression);
	(void)fprintf(stderr, "\nvalues: ");
	print_value(a);
	(void)fprintf(stderr, " and ");
	print_value(b);
	end_test();
}

static void print_text(const char *name, const char *text)
{
	if (text == NULL)
		(void)fprintf(stderr, "\n%s: NULL", name);
	else
		(void)fprintf(stderr, "\n%s: \"%.*s\"", name, SHOWN_MAX, text);
}

void check_text(struct check_place place, const char *expression, const char *a,
		const char *b)
{
	if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
		return;
	begin_message(place, expression);
	print_text("first", a);
	print_text("second", b);
	end_test();
}

void check_contains(struct check_place place, const char *expression,
		    const char *text, const char *part)
{
	if (text != NULL && strstr(text, part) != NULL)
		return;
	begin_message(place, expression);
	print_text("text", text);
	print_text("does not contain", part);
	end_test();
}
