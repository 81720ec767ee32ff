/* SPDX-License-Identifier: MIT */
/*
 * Parameters: what a request may ask for, for the whole upload or for one of
 * its variants.
 *
 * One table lists them.  Parsing, the ids of stored images, presets, requests
 * in the spool, --help, the page's form, the check of docs/http-api.md and the
 * fuzzer's dictionary are derived from it.
 *
 * To add a parameter, add:
 *
 *	1. a member to struct img_transform or struct upload_wants
 *	2. the code that uses it, in imgops/ or where uploads are answered
 *	3. an entry to params_table, anywhere, whose `since` is one more than
 *	   the largest in the table, and whose default gives the pictures of
 *	   before
 *	4. a row to docs/http-api.md
 *	5. its values to test_params.c, and its effect to a test of imgops/test,
 *	   and over HTTP to test_recipe.sh; a member of struct img_transform to
 *	   fuzz_imgops.c
 *	6. if it changes the sides of results, its rule to
 *	   loadgen/report/verify.c
 *
 * If a member has no entry, test_image_meta fails, because different pictures
 * would have equal ids.
 *
 * Ids last: the id of an image is a hash of the text of params_print().  That
 * text has all parameters of version 1, and a later one only if its value is
 * not its default.  So a new parameter changes the id of no request that does
 * not use it, and servers of two releases agree on the id of every upload that
 * both understand; test_ids checks that.  For the same reason the default and
 * the place of an entry among the others never change.
 */
#ifndef SERVICE_PARAMS_H
#define SERVICE_PARAMS_H

#include "service/pipeline/upload.h"

#include <stddef.h>
#include <stdio.h>

/* The value of format=auto: query_make() puts one of the formats there. */
#define PARAMS_FORMAT_AUTO ((enum img_format_number)IMG_RESULT_FORMATS)

/* How a value is read and printed. */
enum param_kind {
	PARAM_SIDE,    /* uint32_t, min .. max; 0: not given */
	PARAM_QUALITY, /* int, min .. max */
	PARAM_SIGMA,   /* double, 0 or min .. max */
	PARAM_FACTOR,  /* double, min .. max */
	PARAM_SCORE,   /* double, min .. max; 0: none */
	PARAM_COLOUR,  /* uint32_t, 0xRRGGBB or IMG_TRANSPARENT */
	PARAM_BYTES,   /* uint32_t, min .. max; 0: not given */
	PARAM_RECT,    /* struct img_rect: "x,y,w,h" */
	PARAM_POINT,   /* struct img_point: "x,y", each 0 .. 1 */
	PARAM_SIDES,   /* struct img_sides: 1, 2 or 4 of 0 .. max */
	PARAM_SWITCH,  /* bool: words for false and true */
	PARAM_WORD,    /* enum: a word for each value */
	PARAM_NAME,    /* uint32_t: the number of a watermark; 0: none */
};

struct param_word {
	const char *name;
	const char *meaning; /* for people; NULL: the name is enough */
};

struct param {
	const char *name;
	const char *label; /* in the page's form */
	enum param_kind kind;
	double min, max;
	const struct param_word *words;
	uint32_t word_count;
	size_t offset; /* offset of its member in struct params */
	/* The default as it would be in a query; NULL: none. */
	const char *default_text;
	const char *if_absent; /* the value if the parameter is absent */
	const char *help;
	/* "NAME=VALUE" or "NAME=VALUE|VALUE": else it has no effect. */
	const char *only_with;
	/* Wrong names that people may try, separated by spaces. */
	const char *other_names;
	/*
	 * "NAME=VALUE" that its value "auto" stands for, unless that is given,
	 * too; NULL: it has no such value.  Another value ends what a variant
	 * has of it from the whole upload.
	 */
	const char *auto_text;
	/* The first version of ids that it counts in: see image_id(). */
	uint32_t since;
	bool is_inverted; /* a switch whose word "1" means false */
	/* For the whole upload; a variant cannot set it. */
	bool is_of_upload;
	bool is_advanced; /* hidden at first in the page's form */
};

extern const struct param params_table[];
extern const uint32_t params_count;

enum {
	PARAMS_DETAIL_BYTES = 256,
	PARAMS_SHOWN_BYTES = 41,
	PARAMS_TEXT_BYTES = 768 /* enough for every result of params_print() */
};

/* Parameters being read.  Start with one of the two functions below. */
struct params {
	struct img_transform transform;
	struct upload_wants wants;
	const char *variant; /* the variant's name; NULL: the whole upload */
	uint64_t seen;       /* bit i: params_table[i] was given */
};

/*
 * The names of watermarks, from number 1 on, which must stay; there are none
 * before.  To be called before there are threads.
 */
void params_set_watermarks(const char *const *names, uint32_t count);

void params_init(struct params *p);

/*
 * Begin the parameters of a variant as a copy of `all`, those of the whole
 * upload.
 */
void params_init_variant(struct params *p, const struct params *all,
			 const char *name);

/* Is there a parameter with this name? */
bool params_has(const char *key);

/* Before the value of a PARAM_SCORE: the only measure there is. */
#define PARAMS_SCORE_PREFIX "ssimulacra2:"

/*
 * Set the parameter `key`; `value` NULL: there was no "=".  False: `detail` is
 * a sentence that says what is wrong, and `p` is unchanged.
 */
MUST_CHECK bool params_set(struct params *p, const char *key, const char *value,
			   char detail[PARAMS_DETAIL_BYTES]);

/*
 * Do the parameters of a result go together, when all are set?  False: `detail`
 * is a sentence that says which do not.
 */
MUST_CHECK bool params_check(const struct params *p,
			     char detail[PARAMS_DETAIL_BYTES]);

/*
 * Print the values of the whole upload, or those of a variant: each as
 * "key=value" followed by the character `end`.  Different values give different
 * texts, and params_set() reads them back.  A parameter that is absent is left
 * out, and so is one with a `since` above 1 that has its default.  Returns the
 * largest `since` of those that are printed, at least 1.
 */
uint32_t params_print(char out[PARAMS_TEXT_BYTES], const struct params *p,
		      bool is_of_upload, char end);

/*
 * Copy as much of `in` as fits, with only printable ASCII, so that it is safe
 * to show.
 */
const char *params_shown(char out[PARAMS_SHOWN_BYTES], const char *in);
const char *params_show(char *out, size_t room, const char *in);

/* For --help: a line for each parameter. */
void params_print_help(FILE *to);

#endif
