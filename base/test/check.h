/* SPDX-License-Identifier: MIT */
#ifndef BASE_TEST_CHECK_H
#define BASE_TEST_CHECK_H

/*
 * What a test expects.  If it is not so, the test prints the line, the
 * expression, both values, the case that was tried and who called, and aborts.
 *
 *     CHECK(condition);
 *     CHECK(condition, "what it means");
 *     CHECK_NUMBER(width, <=, 640);
 *     CHECK_TEXT(reply, "[]");
 *     CHECK_PART(reply, "\"width\":640");
 *
 * Each may end with a literal that says what it means.  Arguments are evaluated
 * once.  Any thread may call these.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * The case that this thread tries from here on, such as a row of a table, for
 * what is printed.  Like printf().
 */
void check_case(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(...)                                                             \
	(CHECK_FIRST(__VA_ARGS__, 0) ? (void)0 :                               \
				       check_failed(CHECK_HERE, #__VA_ARGS__))

/*
 * Numbers, characters, bools and pointers to objects.  The operator is one of
 * == != < > <= >=, as in mathematics: -1 is less than 3U.
 */
#define CHECK_NUMBER(a, operator, ...)                                         \
	check_number(CHECK_HERE, #a " " #operator" " #__VA_ARGS__,             \
		     CHECK_VALUE(a), #operator,                                \
		     CHECK_VALUE(CHECK_FIRST(__VA_ARGS__, 0)))

/* Texts that are the same; NULL is another than "". */
#define CHECK_TEXT(a, ...)                                                     \
	check_text(CHECK_HERE, #a ", " #__VA_ARGS__, a,                        \
		   CHECK_FIRST(__VA_ARGS__, 0))

/* A text that contains another. */
#define CHECK_PART(text, ...)                                                  \
	check_contains(CHECK_HERE, #text ", " #__VA_ARGS__, text,              \
		       CHECK_FIRST(__VA_ARGS__, 0))

/* The rest is for these macros only. */

/*
 * Where the compiler does not inline them, the functions below are not
 * sanitized: some tests call them millions of times, and they only compare
 * copies.
 */
#ifdef __OPTIMIZE__
#define CHECK_PLAIN
#else
#define CHECK_PLAIN                                                            \
	__attribute__((no_sanitize("address", "thread", "undefined")))
#endif

struct check_place {
	const char *file, *function;
	int line;
};

struct check_value {
	enum { CHECK_SIGNED, CHECK_UNSIGNED, CHECK_REAL, CHECK_POINTER } kind;
	union {
		int64_t number;
		uint64_t count;
		double real;
	};
};

#define CHECK_HERE ((struct check_place){ __FILE__, __func__, __LINE__ })
#define CHECK_FIRST(first, ...) (first)
/* clang-format off */
#define CHECK_VALUE(value)                                                     \
	_Generic((value),                                                      \
		bool: check_as_count,                                          \
		unsigned char: check_as_count,                                 \
		unsigned short: check_as_count,                                \
		unsigned: check_as_count,                                      \
		unsigned long: check_as_count,                                 \
		unsigned long long: check_as_count,                            \
		char: check_as_signed,                                         \
		signed char: check_as_signed,                                  \
		short: check_as_signed,                                        \
		int: check_as_signed,                                          \
		long: check_as_signed,                                         \
		long long: check_as_signed,                                    \
		float: check_as_real,                                          \
		double: check_as_real,                                         \
		default: check_as_pointer)(value)
/* clang-format on */

CHECK_PLAIN static inline struct check_value check_as_signed(int64_t number)
{
	return (struct check_value){ CHECK_SIGNED, { .number = number } };
}

CHECK_PLAIN static inline struct check_value check_as_count(uint64_t count)
{
	return (struct check_value){ CHECK_UNSIGNED, { .count = count } };
}

CHECK_PLAIN static inline struct check_value check_as_real(double real)
{
	return (struct check_value){ CHECK_REAL, { .real = real } };
}

CHECK_PLAIN static inline struct check_value
check_as_pointer(const volatile void *pointer)
{
	return (struct check_value){ CHECK_POINTER,
				     { .count = (uintptr_t)pointer } };
}

CHECK_PLAIN static inline double check_real_of(struct check_value value)
{
	return value.kind == CHECK_REAL   ? value.real :
	       value.kind == CHECK_SIGNED ? (double)value.number :
					    (double)value.count;
}

/* -1, 0 or 1: a is below, at or above b; 2: one of them is not a number. */
CHECK_PLAIN static inline int check_compared(struct check_value a,
					     struct check_value b)
{
	bool a_below = a.kind == CHECK_SIGNED && a.number < 0;
	bool b_below = b.kind == CHECK_SIGNED && b.number < 0;

	if (a.kind == CHECK_REAL || b.kind == CHECK_REAL) {
		double x = check_real_of(a), y = check_real_of(b);

		return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
	}
	if (a_below != b_below)
		return a_below ? -1 : 1;
	/* Negative numbers are in the same order as their bits. */
	return a.count < b.count ? -1 : a.count > b.count;
}

_Noreturn void check_failed(struct check_place place, const char *expression);
_Noreturn void check_number_failed(struct check_place place,
				   const char *expression, struct check_value a,
				   struct check_value b);

/* Inline, because some tests compare millions of pixels. */
CHECK_PLAIN static inline void
check_number(struct check_place place, const char *expression,
	     struct check_value a, const char *operator, struct check_value b)
{
	int order = check_compared(a, b);
	bool or_equal = operator[1] == '=' && order == 0; /* of <= and >= */
	bool holds = operator[0] == '=' ? order == 0 :
		     operator[0] == '!' ? order != 0 :
		     operator[0] == '<' ? order == -1 || or_equal :
					  order == 1 || or_equal;

	if (!holds)
		check_number_failed(place, expression, a, b);
}

void check_text(struct check_place place, const char *expression, const char *a,
		const char *b);
void check_contains(struct check_place place, const char *expression,
		    const char *text, const char *part);

#endif
