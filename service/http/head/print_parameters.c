/* SPDX-License-Identifier: MIT */
/*
 * Prints the table of parameters for other parts of the program, in one of
 * these forms:
 *
 *	module      parameters.js, from which the page makes its form
 *	dictionary  tokens for the fuzzer of queries
 *	list        a line NAME, DEFAULT, VALUES for the test of the documents,
 *	            with tabs between
 */
#include "service/http/head/params.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	[PARAM_BYTES] = "bytes",     [PARAM_SIDE] = "side",
	[PARAM_QUALITY] = "quality", [PARAM_SIGMA] = "sigma",
	[PARAM_FACTOR] = "factor",   [PARAM_SCORE] = "score",
	[PARAM_RECT] = "rect",       [PARAM_POINT] = "point",
	[PARAM_SIDES] = "sides",     [PARAM_COLOUR] = "colour",
	[PARAM_SWITCH] = "switch",   [PARAM_WORD] = "word",
	[PARAM_NAME] = "name",
};

static bool has_range(const struct param *param)
{
	return param->word_count == 0 && param->kind != PARAM_COLOUR &&
	       param->kind != PARAM_RECT && param->kind != PARAM_POINT &&
	       param->kind != PARAM_SIDES && param->kind != PARAM_NAME &&
	       param->kind != PARAM_SCORE;
}

static void add_parameter(struct json *j, const struct param *param)
{
	json_open_object(j, NULL);
	json_add_text(j, "name", param->name);
	json_add_text(j, "label", param->label);
	json_add_text(j, "kind", kinds[param->kind]);
	if (has_range(param)) {
		json_add_number(j, "min", param->min);
		json_add_number(j, "max", param->max);
	}
	json_open_array(j, "words");
	for (uint32_t i = 0; i < param->word_count; i++) {
		json_open_object(j, NULL);
		json_add_text(j, "name", param->words[i].name);
		json_add_text(j, "meaning", param->words[i].meaning);
		json_close(j);
	}
	json_close(j);
	json_add_text(j, "default", param->default_text);
	json_add_text(j, "ifAbsent", param->if_absent);
	json_add_text(j, "help", param->help);
	json_add_text(j, "onlyWith", param->only_with);
	json_add_bool(j, "isAdvanced", param->is_advanced);
	json_close(j);
}

static void print_formats(void)
{
	struct json j;

	json_begin(&j, stdout, JSON_INDENTED);
	json_open_array(&j, NULL);
	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		json_open_object(&j, NULL);
		json_add_text(&j, "word", img_formats[i]->word);
		json_add_text(&j, "type", img_formats[i]->media_type);
		json_add_text(&j, "ending", img_formats[i]->suffix);
		json_close(&j);
	}
	json_close(&j);
}

static void print_module(void)
{
	struct json j;

	(void)printf("// Made from the table in service/http/head/params.c.\n\n"
		     "export const variantsMax = %d;\n\n"
		     "export const parameters = ",
		     VARIANTS_MAX);
	json_begin(&j, stdout, JSON_INDENTED);
	json_open_array(&j, NULL);
	for (uint32_t i = 0; i < params_count; i++)
		add_parameter(&j, &params_table[i]);
	json_close(&j);
	(void)printf(";\n\nexport const formats = ");
	print_formats();
	(void)printf(";\n");
}

static void print_dictionary(void)
{
	for (uint32_t i = 0; i < params_count; i++) {
		const struct param *p = &params_table[i];

		(void)printf("\"%s=\"\n", p->name);
		for (uint32_t k = 0; k < p->word_count; k++)
			(void)printf("\"%s=%s\"\n", p->name, p->words[k].name);
		if (has_range(p))
			(void)printf("\"%s=%.10g\"\n\"%s=%.10g\"\n", p->name,
				     p->min, p->name, p->max);
	}
}

static void print_list(void)
{
	for (uint32_t i = 0; i < params_count; i++) {
		const struct param *p = &params_table[i];

		(void)printf("%s\t%s\t", p->name,
			     p->default_text != NULL ? p->default_text :
						       p->if_absent);
		for (uint32_t k = 0; k < p->word_count; k++)
			(void)printf("%s%s", k > 0 ? " " : "",
				     p->words[k].name);
		if (has_range(p))
			(void)printf("%.10g %.10g", p->min, p->max);
		(void)printf("\n");
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "module") == 0)
		print_module();
	else if (argc == 2 && strcmp(argv[1], "dictionary") == 0)
		print_dictionary();
	else if (argc == 2 && strcmp(argv[1], "list") == 0)
		print_list();
	else {
		(void)fprintf(stderr, "usage: print_parameters "
				      "module|dictionary|list\n");
		return 2;
	}
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
