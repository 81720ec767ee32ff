/* SPDX-License-Identifier: MIT */
#include "imgops/bench/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum value_kind {
	VALUE_FLAG,   /* bool, no value */
	VALUE_TEXT,   /* const char * */
	VALUE_COUNT,  /* uint64_t, from min to max */
	VALUE_SIDE,   /* uint32_t, the same */
	VALUE_INT,    /* int, the same */
	VALUE_NUMBER, /* double, the same */
	VALUE_FIT,    /* enum img_fit */
};

struct spec {
	const char *name;
	const char *value; /* as the help calls it */
	enum value_kind kind;
	size_t offset; /* in struct options */
	double min;
	double max;
	const char *help; /* NULL: not in the help */
};

#define NEXT "\n                      "
#define FIELD(name) offsetof(struct options, name)

static const struct spec specs[] = {
	{ "dataset", "DIR", VALUE_TEXT, FIELD(dataset), 0, 0,
	  "the *.jpg and *.jpeg files below DIR (no default)" },
	{ "max-bytes", "N", VALUE_COUNT, FIELD(max_bytes), 1, 1e18,
	  "only files of fewer bytes than N (default: all)" },
	{ "w", "N", VALUE_SIDE, FIELD(recipe.box.width_px), 0, 65500,
	  "width of the box, in pixels; 0: unbounded (default: 640)" },
	{ "h", "N", VALUE_SIDE, FIELD(recipe.box.height_px), 0, 65500,
	  "height of the box (default: 640)" },
	{ "fit", "FIT", VALUE_FIT, FIELD(recipe.fit), 0, 0,
	  "inside, cover or fill (default: inside)" },
	{ "enlarge", "", VALUE_FLAG, FIELD(recipe.enlarge), 0, 0,
	  "pictures smaller than the box too" },
	{ "blur", "S", VALUE_NUMBER, FIELD(recipe.blur_sigma_px), 0, 100,
	  "sigma in pixels of the result; 0: none (default: 2)" },
	{ "q", "N", VALUE_INT, FIELD(recipe.quality), 1, 100,
	  "JPEG quality (default: 80)" },
	{ "full-chroma", "", VALUE_FLAG, FIELD(recipe.full_chroma), 0, 0,
	  "4:4:4 instead of 4:2:0" },
	{ "progressive", "", VALUE_FLAG, FIELD(recipe.progressive), 0, 0,
	  "write progressive files" },
	{ "optimize", "", VALUE_FLAG, FIELD(recipe.optimize), 0, 0,
	  "Huffman tables for each picture" },
	{ "keep-profile", "", VALUE_FLAG, FIELD(recipe.keep_profile), 0, 0,
	  "keep ICC profiles instead of converting to sRGB" },
	{ "lenient", "", VALUE_FLAG, FIELD(recipe.lenient), 0, 0,
	  "take what a damaged file still gives" },
	{ "passes", "N", VALUE_COUNT, FIELD(passes), 1, 1e6,
	  "measured, after one to warm up (default: 3)" },
	{ "floor", "", VALUE_FLAG, FIELD(floor), 0, 0,
	  "in turn with libjpeg-turbo alone: planar decode at the" NEXT
	  "same DCT scale, planar encode of the same result" },
	{ "verify", "", VALUE_FLAG, FIELD(verify), 0, 0,
	  "instead, compare every step with a slow reference" },
	{ "score", "DIR", VALUE_TEXT, FIELD(score), 0, 0,
	  "instead, compare the results in DIR, named as their" NEXT
	  "originals, with the reference resize" },
	{ "save", "DIR", VALUE_TEXT, FIELD(save), 0, 0,
	  "write the results to DIR (default: nowhere)" },
	{ "json", "FILE", VALUE_TEXT, FIELD(json), 0, 0,
	  "write the figures to FILE too (default: none)" },
	{ "per-file", "", VALUE_FLAG, FIELD(per_file), 0, 0,
	  "a row for each file in FILE" },
	/* A trial: what decoding larger costs, and gains in quality. */
	{ "margin", "F", VALUE_NUMBER, FIELD(margin), 0.1, 8, NULL },
	{ "help", "", VALUE_FLAG, FIELD(help), 0, 0, "print this" },
};

enum { SPEC_COUNT = sizeof(specs) / sizeof(*specs) };

void options_print_help(FILE *out)
{
	fputs("Usage: imgops_bench --dataset DIR [OPTION]...\n"
	      "Run the bare pipeline over the JPEGs of a folder on one pinned "
	      "thread and report\nwhat it costs, or how good it is.\n\n",
	      out);
	for (size_t i = 0; i < SPEC_COUNT; i++)
		if (specs[i].help != NULL)
			fprintf(out, "  --%-12s %-4s %s\n", specs[i].name,
				specs[i].value, specs[i].help);
	fputs("\n"
	      "Times are CPU time of the thread.  Files that are refused are "
	      "named.\n\n"
	      "Exit status: 0 done, 1 --verify found a bound broken, or "
	      "writing "
	      "failed,\n2 wrong usage.\n",
	      out);
}

static bool parse_number(const struct spec *spec, const char *text, double *out,
			 struct error *error)
{
	bool whole = spec->kind != VALUE_NUMBER;
	size_t digits = strspn(text, whole ? "0123456789" : "0123456789.");
	char *end;

	*out = strtod(text, &end);
	if (digits > 0 && text[digits] == '\0' && *end == '\0' &&
	    *out >= spec->min && *out <= spec->max)
		return true;
	error_set(error, "--%s '%s': not a %snumber from %g to %g", spec->name,
		  text, whole ? "whole " : "", spec->min, spec->max);
	return false;
}

static bool parse_fit(const char *text, enum img_fit *fit, struct error *error)
{
	static const char *const names[] = {
		[IMG_FIT_INSIDE] = "inside",
		[IMG_FIT_COVER] = "cover",
		[IMG_FIT_FILL] = "fill",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*fit = (enum img_fit)i;
			return true;
		}
	}
	error_set(error, "--fit '%s': not inside, cover or fill", text);
	return false;
}

static bool take(struct options *o, const struct spec *spec, const char *text,
		 struct error *error)
{
	void *field = (char *)o + spec->offset;
	double number;

	switch (spec->kind) {
	case VALUE_FLAG:
		*(bool *)field = true;
		return true;
	case VALUE_TEXT:
		*(const char **)field = text;
		return true;
	case VALUE_FIT:
		return parse_fit(text, field, error);
	default:
		break;
	}
	if (!parse_number(spec, text, &number, error))
		return false;
	if (spec->kind == VALUE_COUNT)
		*(uint64_t *)field = (uint64_t)number;
	else if (spec->kind == VALUE_SIDE)
		*(uint32_t *)field = (uint32_t)number;
	else if (spec->kind == VALUE_INT)
		*(int *)field = (int)number;
	else
		*(double *)field = number;
	return true;
}

static bool take_options(struct options *o, int argc, char **argv,
			 struct error *error)
{
	struct option known[SPEC_COUNT + 1] = { 0 };
	int found;
	int i;

	for (i = 0; i < SPEC_COUNT; i++) {
		known[i].name = specs[i].name;
		known[i].has_arg = specs[i].kind == VALUE_FLAG ?
					   no_argument :
					   required_argument;
	}
	optind = 0; /* also resets what getopt_long() remembers */
	opterr = 0;
	while ((found = getopt_long(argc, argv, ":", known, &i)) == 0)
		if (!take(o, &specs[i], optarg, error))
			return false;
	if (found == -1)
		return true;
	error_set(error, "%s: %s", argv[optind - 1],
		  found == ':' ? "its value is missing" : "no such option");
	return false;
}

bool options_parse(struct options *o, int argc, char **argv,
		   struct error *error)
{
	*o = (struct options){
		.max_bytes = UINT64_MAX,
		.recipe = { .box = { 640, 640 },
			    .blur_sigma_px = 2,
			    .quality = 80 },
		.passes = 3,
		.margin = 1,
	};
	if (!take_options(o, argc, argv, error))
		return false;
	if (o->help)
		return true;
	if (optind < argc)
		error_set(error, "'%s': not an option", argv[optind]);
	else if (o->dataset == NULL)
		error_set(error, "--dataset DIR is missing");
	else if (o->recipe.blur_sigma_px > 0 && o->recipe.blur_sigma_px < 0.3)
		error_set(error, "--blur %g: not 0, nor from 0.3 to 100",
			  o->recipe.blur_sigma_px);
	else if (o->verify && o->score != NULL)
		error_set(error, "--verify --score: only one");
	else
		return true;
	return false;
}
