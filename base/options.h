/* SPDX-License-Identifier: MIT */
/*
 * Options: each program has one table of its flags.  With this table the
 * program reads the command line, the environment and a JSON file, and prints
 * --help, the man page and the completion for bash.
 *
 *	static const struct flag flags[] = {
 *		{ "max-body", "SIZE", "32M", "bytes of a request's body",
 *		  FLAG_FIELD(struct options, body_bytes_max),
 *		  .unit = FLAG_SIZE, .least = 1 << 10, .most = 1 << 30 },
 *		FLAGS_ASKED(struct options, asked),
 *		{ 0 },
 *	};
 *
 *	--max-body 32M    DARKROOM_MAX_BODY=32M    { "max-body": "32M" }
 *	--max-body=32M
 *	--steal           DARKROOM_STEAL=true      { "steal": true }
 *
 * A reader calls a function of the program for each value that it finds.  That
 * function handles flags without a field (FLAG_OTHER) itself, and calls
 * flag_set() for all others.
 *
 * Texts name documents and plans by their paths in the sources, such as
 * docs/loadgen.md.  The man page, and the help of an installed program, name
 * where they are installed.
 *
 * Ownership  Texts lie where they were read: in argv, in the environment or in
 *            the JSON file.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/error.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FLAG_NUMBER_BYTES = 32, FLAG_WHY_BYTES = 192, FLAG_VARIABLE_BYTES = 64 };

enum flag_type {
	FLAG_OTHER, /* no field: the program's own function reads the value */
	FLAG_TEXT,
	FLAG_SWITCH,
	FLAG_WHOLE32,
	FLAG_WHOLE64,
	FLAG_REAL,
	FLAG_CHOICE, /* an enum: the index of a word in `values`, "a|b|c" */
};

/* The unit of a number; it decides which suffixes the number may have. */
enum flag_unit {
	FLAG_PLAIN,
	FLAG_MILLIONS, /* given in millions */
	FLAG_SIZE,     /* 1.5G, 64M, 2K or 100B; without a suffix: M */
	FLAG_TIME,     /* 500ms or 1.5s; without a suffix: s; kept in ms */
};

/* The type and the offset of a field, for a row of a table. */
/* clang-format off */
#define FLAG_FIELD(parent, field)                          \
	.type = _Generic(((parent *)NULL)->field,          \
			 const char *: FLAG_TEXT,          \
			 bool: FLAG_SWITCH,                \
			 int: FLAG_WHOLE32,                \
			 uint32_t: FLAG_WHOLE32,           \
			 uint64_t: FLAG_WHOLE64,           \
			 double: FLAG_REAL),               \
	.offset = offsetof(parent, field)

#define FLAG_CHOICE_FIELD(parent, field)                   \
	.type = FLAG_CHOICE, .offset = offsetof(parent, field)
/* clang-format on */

/*
 * A row of a table, which ends with a NULL name.
 *
 * `help` is wrapped where it is printed.  A line in it that begins with two
 * spaces starts an item of a list.
 */
struct flag {
	const char *name;
	const char *values;  /* NULL: a switch, which takes no value */
	const char *initial; /* NULL: unset */
	const char *help;
	enum flag_type type;
	size_t offset; /* of the field in the struct that it sets */
	enum flag_unit unit;
	double least, most; /* limits of a number, in the field's unit */
	const char *zero; /* word for 0 of a WHOLE32, such as "auto"; or NULL */
	/*
	 * Words that the value may be and `values` does not name, for the
	 * completion: the word `i`, or NULL after the last.  NULL: none.
	 */
	const char *(*word)(uint32_t i);
	/*
	 * The value if none follows on the command line: the next word begins
	 * with "--", or there is none.  NULL: a value is needed.
	 */
	const char *alone;
	bool repeats;   /* may be given more than once on a command line */
	bool is_hidden; /* not in the help */
	/*
	 * For a flag of an earlier version: a sentence that says what replaced
	 * it.  Wherever the flag is given, it is refused with this sentence.
	 * Of the other members, only the name is needed; help and the man page
	 * do not list the flag.
	 */
	const char *removed;
};

/* Where flags of a group may be given besides the command line. */
enum { FLAGS_IN_ENVIRONMENT = 1, FLAGS_IN_FILE = 2 };

/* One of an array, whose last element has `flags` NULL. */
struct flag_group {
	const struct flag *flags;
	unsigned sources;  /* FLAGS_IN_ENVIRONMENT, FLAGS_IN_FILE */
	const char *title; /* of its section in the help; NULL: none */
	const char *about; /* text below the title; NULL: none */
};

struct program {
	const char *name;    /* "loadgen compare" has a page loadgen-compare */
	const char *summary; /* for the head of the man page */
	const char *usage;   /* operands, as shown after the program's name */
	const char *about;   /* sentences; empty lines separate paragraphs */
	const struct flag_group *groups;
	/*
	 * Of a file that the program reads: its objects and their keys, for
	 * help and man page; NULL: none.  Such groups end as `groups` do.
	 */
	const struct flag_group *keys;
	const char *notes;       /* after the flags, as `about`; or NULL */
	const char *exit_status; /* or NULL */
	const char *see_also;    /* other man pages; or NULL */
	/* The lines of --version after the first; or NULL. */
	void (*print_built_with)(FILE *out);
	/* Of environment variables, such as "DARKROOM_"; or NULL. */
	const char *prefix;
	/*
	 * What words that are not flags may be, in the form of a flag's
	 * `values`; NULL: such words are refused.
	 */
	const char *operand;
	/*
	 * Read flags as getopt_long() does: if a flag is given twice, the
	 * second value counts; flags may be abbreviated; operands may follow
	 * "--".
	 */
	bool follows_getopt;
	/* Prints more lines at the end of the help; or NULL. */
	void (*print_more)(FILE *out);
};

/*
 * Flags that every program has.  If one is given, the program only prints what
 * it asks for.
 */
struct flags_asked {
	bool help, version, man, completion;
};

static inline bool flags_is_asked(const struct flags_asked *a)
{
	return a->help || a->version || a->man || a->completion;
}

/* clang-format off */
#define FLAGS_ASKED(parent, field)                                       \
	{ "help", NULL, NULL, "print this and exit; also -h",            \
	  FLAG_FIELD(parent, field.help) },                              \
	{ "version", NULL, NULL, "print version and commit, and exit",   \
	  FLAG_FIELD(parent, field.version) },                           \
	{ "man", NULL, NULL, "print the man page and exit",              \
	  FLAG_FIELD(parent, field.man), .is_hidden = true },            \
	{ "completion", NULL, NULL, "print the completion for bash",     \
	  FLAG_FIELD(parent, field.completion), .is_hidden = true }
/* clang-format on */

/*
 * Called for a flag and its value.  The value of a switch is NULL for on, or
 * "false".  For an operand, `f` is NULL.  False: `why` says what is wrong with
 * the value; for an operand, `why` is a whole sentence.
 */
typedef bool flag_take_fn(void *arg, const struct flag *f, const char *value,
			  struct error *why);

/*
 * Call `take` for each flag and operand among `words`, in order, until one
 * returns false.  A flag that is given twice is refused, unless it repeats.
 * False: `error` is a sentence that names the flag and its value.
 */
MUST_CHECK bool flags_read(const struct program *p, char *const *words,
			   uint32_t count, flag_take_fn *take, void *arg,
			   struct error *error);

/*
 * Read all variables of `environment` that begin with the program's prefix,
 * except those that Kubernetes sets for a service of the program's name.
 * False: `error` names the variable and its value.
 */
MUST_CHECK bool flags_read_environment(const struct program *p,
				       char *const *environment,
				       flag_take_fn *take, void *arg,
				       struct error *error);

/*
 * Read a file with one JSON object, whose keys are names of flags; a key with
 * the value null is ignored.  If *file is not NULL, it was read already: a pipe
 * can be read only once.  False: `error` names the file, the key and its
 * value.  In both cases the caller frees *file by cJSON_Delete(), but not while
 * it uses texts from the file.
 */
MUST_CHECK bool flags_read_file(const struct program *p, const char *path,
				struct cJSON **file, flag_take_fn *take,
				void *arg, struct error *error);

/*
 * Read a JSON object into the struct at `to`, as flags_read_file() does.  Every
 * key must be in `table`; one without a field (FLAG_OTHER) is left to the
 * caller.  False: `error` names the key and its value.
 */
MUST_CHECK bool flags_read_object(const struct flag *table,
				  const struct cJSON *object, void *to,
				  struct error *error);

/*
 * Write that `key` is no `what`, such as "stage", and which of `names` was
 * probably meant or, if none is near, which there are.  Returns false.
 */
bool flags_refuse_name(const char *key, const char *const *names, size_t count,
		       const char *what, struct error *error);

/*
 * Is each key of a JSON object one of `names`, and there once?  NULL is an
 * empty object.  False: `error` names the key, as above.
 */
MUST_CHECK bool flags_check_names(const struct cJSON *object,
				  const char *const *names, size_t count,
				  const char *what, struct error *error);

/* NULL: no flag has that name. */
const struct flag *flags_find(const struct flag_group *groups,
			      const char *name);

/*
 * The name of the flag that was probably meant by the unknown `name`, of those
 * that may be given in `source` (0: on the command line).  NULL: none is near.
 */
const char *flags_meant(const struct flag_group *groups, unsigned source,
			const char *name);

/* Set every field to its initial value, if it has one. */
void flags_init(const struct flag *table, void *to);

/*
 * Set the field of `f`, in the struct at `to`.  False: `text` is no valid
 * value, as `why` says, and nothing has changed.
 */
MUST_CHECK bool flag_set(const struct flag *f, const char *text, void *to,
			 struct error *why);

/* Write the field of a number or choice as the text that would set it. */
void flag_print(const struct flag *f, const void *from,
		char text[FLAG_NUMBER_BYTES]);

/*
 * Set `why` to a message that `text` is not a valid value.  The message names
 * the range of a number, or f->values.  Returns false.
 */
bool flag_refuse(const struct flag *f, const char *text, struct error *why);

/* "max-body" -> "DARKROOM_MAX_BODY". */
void flag_print_variable(const struct program *p, const char *name,
			 char out[FLAG_VARIABLE_BYTES]);

/*
 * Add the fields of `table` to a JSON object that flags_read_file() can read.
 */
void flags_add_values(const struct flag *table, const void *from,
		      struct json *to);

/*
 * Print what was asked for.  `commit` is that of the sources.  False: nothing
 * was asked for.
 */
bool program_answer(const struct program *p, const struct flags_asked *asked,
		    const char *commit, FILE *out);

/*
 * The status with which the program ends: `status`, or 1 instead of 0 if what
 * it has printed to stdout could not be written, which is said on stderr.
 */
int program_finish(const struct program *p, int status);

#endif
