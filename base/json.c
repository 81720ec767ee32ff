/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/file.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum {
	DEL = 0x7f,
	SHORT_BYTES = 16, /* up to this, putc() is faster than fwrite() */
};

void json_begin(struct json *j, FILE *out, enum json_style style)
{
	*j = (struct json){ .out = out, .style = style };
}

void json_begin_bytes(struct json *j, char *to, size_t bytes)
{
	*j = (struct json){ .at = to, .end = to + bytes };
}

static void put(struct json *j, const char *bytes, size_t count)
{
	if (j->out != NULL && count <= SHORT_BYTES) {
		while (count-- > 0)
			(void)putc_unlocked(*bytes++, j->out);
		return;
	}
	if (j->out != NULL) {
		(void)fwrite_unlocked(bytes, 1, count, j->out);
		return;
	}
	if (count > (size_t)(j->end - j->at))
		count = (size_t)(j->end - j->at);
	memcpy(j->at, bytes, count);
	j->at += count;
}

static void put_byte(struct json *j, char byte)
{
	if (j->out != NULL)
		(void)putc_unlocked(byte, j->out);
	else if (j->at < j->end)
		*j->at++ = byte;
}

/* At least `digits_min` digits. */
static void put_whole(struct json *j, uint64_t number, uint32_t digits_min)
{
	char digits[20]; /* of UINT64_MAX */
	char *end = digits + sizeof(digits), *at = end;

	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (end - at < digits_min)
		*--at = '0';
	put(j, at, (size_t)(end - at));
}

static void put_escape(struct json *j, char c)
{
	static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	static const char hex[] = "0123456789abcdef";
	char text[] = "\\u0000";

	for (const char *e = escapes; *e != '\0'; e += 2)
		if (*e == c) {
			text[1] = e[1];
			put(j, text, 2);
			return;
		}
	text[4] = hex[c >> 4 & 15];
	text[5] = hex[c & 15];
	put(j, text, sizeof(text) - 1);
}

/* `text` with quotes around it, escaped. */
static void put_quoted(struct json *j, const char *text)
{
	const char *plain = text;

	put_byte(j, '"');
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= ' ' && c != '"' && c != '\\' && c != DEL)
			continue;
		put(j, plain, (size_t)(text - plain));
		plain = text + 1;
		put_escape(j, *text);
	}
	put(j, plain, (size_t)(text - plain));
	put_byte(j, '"');
}

static void put_line_start(struct json *j)
{
	put_byte(j, '\n');
	for (uint32_t tabs = 0; tabs < j->depth; tabs++)
		put_byte(j, '\t');
}

static uint32_t depth_bit(const struct json *j)
{
	return UINT32_C(1) << (j->depth - 1);
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
	if ((j->with_values & depth_bit(j)) != 0) {
		put_byte(j, ',');
		if (is_indented && !is_member)
			put_byte(j, ' ');
		if (j->style == JSON_LINES && j->depth == 1)
			put_byte(j, '\n');
	}
	j->with_values |= depth_bit(j);
	if (!is_member)
		return;
	if (is_indented)
		put_line_start(j);
	put_quoted(j, name);
	put_byte(j, ':');
	if (is_indented)
		put_byte(j, '\t');
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
	put_byte(j, is_object ? '{' : '[');
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
		put_line_start(j);
	put_byte(j, is_object ? '}' : ']');
}

void json_add_text(struct json *j, const char *name, const char *text)
{
	if (text == NULL) {
		json_add_null(j, name);
		return;
	}
	begin_value(j, name);
	put_quoted(j, text);
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
	put_whole(j, number, 1);
}

void json_add_decimal(struct json *j, const char *name, uint64_t number,
		      uint32_t decimals)
{
	uint64_t one = 1;

	for (uint32_t i = 0; i < decimals; i++)
		one *= 10;
	begin_value(j, name);
	put_whole(j, number / one, 1);
	put_byte(j, '.');
	put_whole(j, number % one, decimals);
}

void json_add_rounded(struct json *j, const char *name, double number,
		      int digits)
{
	char text[32];

	if (!isfinite(number)) {
		json_add_null(j, name);
		return;
	}
	(void)snprintf(text, sizeof(text), "%.*g", digits, number);
	json_add_raw(j, name, text);
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
	put(j, json, strlen(json));
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

const struct cJSON *json_given(const struct cJSON *json, const char *key)
{
	const struct cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);

	return cJSON_IsNull(item) ? NULL : item;
}

uint64_t json_whole(const struct cJSON *json, const char *path)
{
	double number = json_number(json, path, 0);

	return number >= 0 && number <= (double)(UINT64_C(1) << 53) ?
		       (uint64_t)number :
		       0;
}

const char *json_text(const struct cJSON *json, const char *path)
{
	const char *text = cJSON_GetStringValue(json_at(json, path));

	return text != NULL ? text : "-";
}
