/* SPDX-License-Identifier: MIT */
/*
 * Flags: tables of them, which read command lines and print themselves.
 *
 *	static const struct flag table[] = {
 *		{ "max-body", "SIZE", "32M", "bytes of a request's body",
 *		  FLAG_FIELD(struct options, body_bytes_max),
 *		  .unit = FLAG_SIZE, .least = 1 << 10, .most = 1 << 30 },
 *		{ 0 },
 *	};
 *
 * On a command line: "--max-body 32M" or "--max-body=32M".
 */
#ifndef STAGES_FLAGS_H
#define STAGES_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FLAG_NUMBER_BYTES = 32, FLAG_WHY_BYTES = 192, FLAGS_ERROR_BYTES = 384 };

enum flag_type {
	FLAG_OTHER, /* no field: who reads it knows what to do */
	FLAG_TEXT,  /* lent */
	FLAG_SWITCH,
	FLAG_WHOLE32,
	FLAG_WHOLE64,
	FLAG_REAL,
	FLAG_CHOICE, /* an enum: which of `values`, which are "a|b|c" */
};

/* What a number is of, and so with which units it may be given. */
enum flag_unit {
	FLAG_PLAIN,
	FLAG_MILLIONS, /* in millions */
	FLAG_SIZE,     /* 1.5G, 64M, 2K or 100B; without a unit: M */
	FLAG_TIME,     /* 500ms or 1.5s; without a unit: s; kept in ms */
};

/* The type and place of a field, for a table. */
/* clang-format off */
#define FLAG_FIELD(parent, field)                          \
	.type = _Generic(((parent *)NULL)->field,          \
			 const char *: FLAG_TEXT,          \
			 bool: FLAG_SWITCH,                \
			 uint32_t: FLAG_WHOLE32,           \
			 uint64_t: FLAG_WHOLE64,           \
			 double: FLAG_REAL),               \
	.offset = offsetof(parent, field)

#define FLAG_CHOICE_FIELD(parent, field)                   \
	.type = FLAG_CHOICE, .offset = offsetof(parent, field)
/* clang-format on */

/* A table ends with a NULL name; an array of tables with NULL. */
struct flag {
	const char *name;
	const char *values;  /* NULL: it is a switch and takes none */
	const char *initial; /* NULL: unset */
	const char *help;
	enum flag_type type;
	size_t offset; /* of the field */
	enum flag_unit unit;
	double least, most; /* of a number, as it is kept */
};

/*
 * Take a flag and its value; NULL for a switch.  False: `why` says what is
 * wrong with the value.
 */
typedef bool flag_take_fn(void *arg, const struct flag *f, const char *value,
			  char why[FLAG_WHY_BYTES]);

/*
 * Call `take` for each flag among `words`, in order, until one returns false.
 * False: `error` is a sentence that names the flag and its value.
 */
__attribute__((warn_unused_result)) bool
flags_read(const struct flag *const *tables, char *const *words, uint32_t count,
	   flag_take_fn *take, void *arg, char error[FLAGS_ERROR_BYTES]);

/* NULL: there is none of that name. */
const struct flag *flags_find(const struct flag *const *tables,
			      const char *name);

/* Set every field that has an initial value to it. */
void flags_init(const struct flag *table, void *to);

/* A line or more for each, for --help. */
void flags_print_help(const struct flag *table, FILE *out);

/*
 * Set the field of `f`, in the struct at `to`.  False: `why` says what `text`
 * is not, and nothing has changed.
 */
__attribute__((warn_unused_result)) bool flag_set(const struct flag *f,
						  const char *text, void *to,
						  char why[FLAG_WHY_BYTES]);

/* The value of a number's or choice's field, as it can be given. */
void flag_print(const struct flag *f, const void *from,
		char text[FLAG_NUMBER_BYTES]);

/* Let `why` say that `text` is none of f->values.  Returns false. */
bool flag_refuse(const struct flag *f, const char *text,
		 char why[FLAG_WHY_BYTES]);

#endif
