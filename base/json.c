/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/file.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

void json_begin(struct json *j, FILE *out, enum json_style style)
{
	*j = (struct json){ .out = out, .style = style };
}

static uint32_t depth_bit(const struct json *j)
{
	return UINT32_C(1) << (j->depth - 1);
}

static void print_line_start(const struct json *j, uint32_t tabs)
{
	(void)fputc('\n', j->out);
	while (tabs-- > 0)
		(void)fputc('\t', j->out);
}

/* `text` with quotes around it, escaped. */
static void print_quoted(FILE *out, const char *text)
{
	static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	(void)fputc('"', out);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		const char *escape = NULL;

		for (const char *e = escapes; *e != '\0'; e += 2)
			if (*e == *text)
				escape = e + 1;
		if (escape != NULL)
			(void)fprintf(out, "\\%c", *escape);
		else if (c < ' ')
			(void)fprintf(out, "\\u%04x", c);
		else
			(void)fputc(c, out);
	}
	(void)fputc('"', out);
}

/* Write what precedes a value: a comma, a new line, its name. */
static void begin_value(struct json *j, const char *name)
{
	bool is_indented = j->style == JSON_INDENTED;

	if (j->depth == 0) {
		assert(name == NULL);
		return;
	}

	bool is_member = (j->objects & depth_bit(j)) != 0;

	assert(is_member == (name != NULL));
	if ((j->with_values & depth_bit(j)) != 0)
		(void)fputs(is_indented && !is_member ? ", " : ",", j->out);
	j->with_values |= depth_bit(j);
	if (!is_member)
		return;
	if (is_indented)
		print_line_start(j, j->depth);
	print_quoted(j->out, name);
	(void)fputs(is_indented ? ":\t" : ":", j->out);
}

static void open_value(struct json *j, const char *name, bool is_object)
{
	begin_value(j, name);
	assert(j->depth < JSON_DEPTH_MAX);
	j->depth++;
	j->with_values &= ~depth_bit(j);
	if (is_object)
		j->objects |= depth_bit(j);
	else
		j->objects &= ~depth_bit(j);
	(void)fputc(is_object ? '{' : '[', j->out);
}

void json_open_object(struct json *j, const char *name)
{
	open_value(j, name, true);
}

void json_open_array(struct json *j, const char *name)
{
	open_value(j, name, false);
}

void json_close(struct json *j)
{
	assert(j->depth > 0);

	bool is_object = (j->objects & depth_bit(j)) != 0;

	j->depth--;
	if (is_object && j->style == JSON_INDENTED)
		print_line_start(j, j->depth);
	(void)fputc(is_object ? '}' : ']', j->out);
}

void json_add_text(struct json *j, const char *name, const char *text)
{
	if (text == NULL) {
		json_add_null(j, name);
		return;
	}
	begin_value(j, name);
	print_quoted(j->out, text);
}

/*
 * Prints as cJSON does: with 15 digits; or with 17, if the text of 15 digits,
 * read again, differs from the number by more than rounding.
 */
void json_add_number(struct json *j, const char *name, double number)
{
	char text[32];

	if (!isfinite(number)) {
		json_add_null(j, name);
		return;
	}
	number += 0.0; /* -0 is written as 0 */
	(void)snprintf(text, sizeof(text), "%1.15g", number);

	double again = strtod(text, NULL);

	if (fabs(again - number) >
	    fmax(fabs(again), fabs(number)) * DBL_EPSILON)
		(void)snprintf(text, sizeof(text), "%1.17g", number);
	json_add_raw(j, name, text);
}

void json_add_whole(struct json *j, const char *name, uint64_t number)
{
	begin_value(j, name);
	(void)fprintf(j->out, "%" PRIu64, number);
}

void json_add_bool(struct json *j, const char *name, bool value)
{
	json_add_raw(j, name, value ? "true" : "false");
}

void json_add_null(struct json *j, const char *name)
{
	json_add_raw(j, name, "null");
}

void json_add_raw(struct json *j, const char *name, const char *json)
{
	begin_value(j, name);
	(void)fputs(json, j->out);
}

struct cJSON *json_read_text(const char *text, struct error *error)
{
	const bool nothing_may_follow = true;
	const char *end = text;
	struct cJSON *json =
		cJSON_ParseWithOpts(text, &end, nothing_may_follow);
	size_t line = 1;

	if (json != NULL)
		return json;
	for (const char *c = text; c < end; c++)
		line += *c == '\n';
	error_set(error, "not JSON in line %zu", line);
	return NULL;
}

struct cJSON *json_read_file(const char *path, size_t bytes_max,
			     struct error *error)
{
	const char *unreadable;
	char *text = file_read_text(path, bytes_max, &unreadable);
	struct cJSON *json = NULL;
	struct error why;

	if (text == NULL)
		error_set(error, "%s: %s", path, unreadable);
	else if ((json = json_read_text(text, &why)) == NULL)
		error_set(error, "%s: %s", path, why.text);
	free(text);
	return json;
}

const struct cJSON *json_at(const struct cJSON *json, const char *path)
{
	char key[32];

	for (; json != NULL && *path != '\0'; path += *path == '.') {
		size_t length = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)length, path);
		json = cJSON_IsArray(json) ?
			       cJSON_GetArrayItem(json, atoi(key)) :
			       cJSON_GetObjectItemCaseSensitive(json, key);
		path += length;
	}
	return json;
}

double json_number(const struct cJSON *json, const char *path, double missing)
{
	double number = cJSON_GetNumberValue(json_at(json, path));

	return isnan(number) ? missing : number;
}

const char *json_text(const struct cJSON *json, const char *path)
{
	const char *text = cJSON_GetStringValue(json_at(json, path));

	return text != NULL ? text : "-";
}
