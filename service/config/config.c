/* SPDX-License-Identifier: MIT */
#include "service/config/config.h"

#include "stages/schedule_words.h"
#include "stages/take.h"
#include "stages/text_file.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 1 << 16, NAME_BYTES = 64 };

static const char prefix[] = "DARKROOM_";

void config_print_variable(const char *flag, char *out, size_t bytes)
{
	(void)snprintf(out, bytes, "%s%s", prefix, flag);
	for (; *out != '\0'; out++)
		*out = *out == '-' ? '_' : (char)toupper(*out);
}

/* "MAX_BODY" -> the flag max-body; NULL: there is none. */
static const struct flag *find_variable(const struct flag *const *tables,
					const char *name, size_t bytes)
{
	char flag[NAME_BYTES] = "", variable[NAME_BYTES];

	if (bytes >= sizeof(flag))
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		flag[i] = name[i] == '_' ? '-' : (char)tolower(name[i]);
	/* Back again: "max_body" and "MAX-BODY" are no names. */
	config_print_variable(flag, variable, sizeof(variable));
	if (strncmp(variable + strlen(prefix), name, bytes) != 0)
		return NULL;
	return flags_find(tables, flag);
}

static bool has(const char *name, size_t bytes, const char *part)
{
	return memmem(name, bytes, part, strlen(part)) != NULL;
}

/*
 * For each service it puts variables like DARKROOM_PORT_80_TCP_ADDR into every
 * pod, if the service's name is darkroom or begins so.
 */
static bool is_of_kubernetes(const char *name, size_t bytes, const char *value)
{
	return has(name, bytes, "_SERVICE_HOST") ||
	       has(name, bytes, "_SERVICE_PORT") || has(name, bytes, "_TCP") ||
	       has(name, bytes, "_UDP") ||
	       (has(name, bytes, "_PORT") && strstr(value, "://") != NULL);
}

/* Of a switch: NULL for on, "false" for off.  False: neither. */
static bool read_switch(const char **value)
{
	if (strcmp(*value, "1") == 0 || strcmp(*value, "true") == 0)
		*value = NULL;
	else if (strcmp(*value, "0") == 0)
		*value = "false";
	return *value == NULL || strcmp(*value, "false") == 0;
}

/* `entry` is "DARKROOM_NAME=VALUE". */
static bool read_variable(const struct flag *const *tables, const char *entry,
			  flag_take_fn *take, void *arg,
			  char error[FLAGS_ERROR_BYTES])
{
	const char *name = entry + strlen(prefix);
	size_t bytes = strcspn(name, "=");
	const char *value = name + bytes + (name[bytes] == '=');
	const struct flag *f = find_variable(tables, name, bytes);
	char why[FLAG_WHY_BYTES];

	if (f == NULL && is_of_kubernetes(entry, name + bytes - entry, value))
		return true;
	if (f == NULL)
		(void)snprintf(why, sizeof(why),
			       "'%.64s': there is no such variable", value);
	else if (f->values == NULL && !read_switch(&value))
		(void)snprintf(why, sizeof(why),
			       "'%.64s' is not 1, true, 0 or false", value);
	else if (take(arg, f, value, why))
		return true;
	(void)snprintf(error, FLAGS_ERROR_BYTES, "%s%.*s: %s", prefix,
		       (int)(bytes < NAME_BYTES ? bytes : NAME_BYTES), name,
		       why);
	return false;
}

bool config_read_environment(const struct flag *const *tables,
			     char *const *environment, flag_take_fn *take,
			     void *arg, char error[FLAGS_ERROR_BYTES])
{
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, prefix, strlen(prefix)) == 0 &&
		    !read_variable(tables, *environment, take, arg, error))
			return false;
	return true;
}

static bool is_number(const struct flag *f)
{
	return f->type == FLAG_WHOLE32 || f->type == FLAG_WHOLE64 ||
	       f->type == FLAG_REAL;
}

/* Say what a value of the wrong kind should be.  Returns false. */
static bool refuse_item(const struct flag *f, const cJSON *item,
			char why[FLAG_WHY_BYTES])
{
	char *printed = cJSON_PrintUnformatted(item);
	const char *text = printed != NULL ? printed : "it";

	if (f->values == NULL)
		(void)snprintf(why, FLAG_WHY_BYTES,
			       "'%.64s' is not true or false", text);
	else if (is_number(f))
		(void)flag_refuse(f, text, why);
	else
		(void)snprintf(why, FLAG_WHY_BYTES,
			       "'%.64s' is not a string: %s", text, f->values);
	cJSON_free(printed);
	return false;
}

static bool take_item(const struct flag *f, const cJSON *item,
		      flag_take_fn *take, void *arg, char why[FLAG_WHY_BYTES])
{
	char number[FLAG_NUMBER_BYTES];

	if (cJSON_IsNull(item))
		return true;
	if (f->values == NULL && cJSON_IsBool(item))
		return take(arg, f, cJSON_IsTrue(item) ? NULL : "false", why);
	if (f->values != NULL && cJSON_IsString(item))
		return take(arg, f, item->valuestring, why);
	if (!is_number(f) || !cJSON_IsNumber(item))
		return refuse_item(f, item, why);
	(void)snprintf(number, sizeof(number), "%.16g", item->valuedouble);
	return take(arg, f, number, why);
}

static bool read_item(const struct flag *const *tables, const cJSON *object,
		      const cJSON *item, flag_take_fn *take, void *arg,
		      char why[FLAG_WHY_BYTES])
{
	const struct flag *f = flags_find(tables, item->string);

	if (f == NULL)
		(void)snprintf(why, FLAG_WHY_BYTES, "there is no such key");
	else if (cJSON_GetObjectItemCaseSensitive(object, item->string) != item)
		(void)snprintf(why, FLAG_WHY_BYTES, "it is there twice");
	else
		return take_item(f, item, take, arg, why);
	return false;
}

/* NULL: `why` says what is wrong. */
static cJSON *parse(const char *text, char why[FLAG_WHY_BYTES])
{
	const bool nothing_may_follow = true;
	const char *end = text;
	cJSON *root = cJSON_ParseWithOpts(text, &end, nothing_may_follow);
	uint32_t line = 1;

	if (cJSON_IsObject(root))
		return root;
	for (; text < end; text++)
		line += *text == '\n';
	if (root != NULL)
		(void)snprintf(why, FLAG_WHY_BYTES, "not a JSON object");
	else
		(void)snprintf(why, FLAG_WHY_BYTES, "not JSON in line %u",
			       line);
	cJSON_Delete(root);
	return NULL;
}

bool config_read_file(const struct flag *const *tables, const char *path,
		      cJSON **file, flag_take_fn *take, void *arg,
		      char error[FLAGS_ERROR_BYTES])
{
	char why[FLAG_WHY_BYTES];
	const char *unreadable;
	char *text = text_file_read(path, FILE_BYTES_MAX, &unreadable);
	const cJSON *item;

	*file = text != NULL ? parse(text, why) : NULL;
	if (*file == NULL)
		(void)snprintf(error, FLAGS_ERROR_BYTES, "%.100s: %s", path,
			       text != NULL ? why : unreadable);
	free(text);
	cJSON_ArrayForEach(item, *file)
	{
		if (read_item(tables, *file, item, take, arg, why))
			continue;
		(void)snprintf(error, FLAGS_ERROR_BYTES, "%.100s: %.64s: %s",
			       path, item->string, why);
		return false;
	}
	return *file != NULL;
}

static bool add_flag(cJSON *object, const struct flag *f, const void *from)
{
	const void *field = (const char *)from + f->offset;
	char text[FLAG_NUMBER_BYTES];

	if (f->type == FLAG_TEXT) {
		const char *value = *(const char *const *)field;

		return value != NULL ?
			       cJSON_AddStringToObject(object, f->name, value) :
			       cJSON_AddNullToObject(object, f->name);
	}
	if (f->type == FLAG_SWITCH)
		return cJSON_AddBoolToObject(object, f->name,
					     *(const bool *)field);
	flag_print(f, from, text);
	if (!is_number(f) || f->unit == FLAG_SIZE || f->unit == FLAG_TIME)
		return cJSON_AddStringToObject(object, f->name, text);
	return cJSON_AddRawToObject(object, f->name, text);
}

/* The words of a schedule; of what has no use there, null. */
static bool add_schedule(cJSON *object, const struct schedule *s,
			 const char *const *stages, uint32_t stage_count)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count = schedule_words(s, stages, stage_count, words);
	bool ok = true;

	for (uint32_t i = 0; ok && i < count; i++)
		ok = words[i].value[0] != '\0' ?
			     cJSON_AddStringToObject(object, words[i].flag,
						     words[i].value) != NULL :
			     cJSON_AddTrueToObject(object, words[i].flag) !=
				     NULL;
	for (const struct flag *f = schedule_flags; f->name != NULL; f++)
		if (cJSON_GetObjectItemCaseSensitive(object, f->name) == NULL)
			ok = ok && cJSON_AddNullToObject(object, f->name);
	return ok;
}

char *config_print(const struct flag *table, const void *from,
		   const struct schedule *s, const char *const *stages,
		   uint32_t stage_count)
{
	cJSON *root = cJSON_CreateObject();
	bool ok = root != NULL;

	for (const struct flag *f = table; f->name != NULL; f++)
		ok = ok && add_flag(root, f, from);
	ok = ok && add_schedule(root, s, stages, stage_count);

	char *text = ok ? cJSON_Print(root) : NULL;

	cJSON_Delete(root);
	return text;
}
