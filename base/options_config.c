/* SPDX-License-Identifier: MIT */
/* Flags read from the environment and a JSON file, and written to one. */
#include "base/options.h"

#include "base/similar.h"
#include "base/take.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { FILE_BYTES_MAX = 1 << 16 };

void flag_print_variable(const struct program *p, const char *name,
			 char out[FLAG_VARIABLE_BYTES])
{
	(void)snprintf(out, FLAG_VARIABLE_BYTES, "%s%s", p->prefix, name);
	for (; *out != '\0'; out++)
		*out = *out == '-' ? '_' : (char)toupper(*out);
}

enum { HINT_BYTES = FLAG_VARIABLE_BYTES + 32 };

/*
 * The end of a message that `name` is unknown in `source`: what was probably
 * meant, or that this flag must be given elsewhere; else "".
 */
static const char *hint_at(const struct program *p,
			   const struct flag_group *groups, unsigned source,
			   const char *name, char hint[HINT_BYTES])
{
	const char *meant = flags_meant(groups, source, name);
	char variable[FLAG_VARIABLE_BYTES];

	hint[0] = '\0';
	if (flags_find(groups, name) != NULL) {
		(void)snprintf(hint, HINT_BYTES, "; --%s cannot be %s", name,
			       source == FLAGS_IN_FILE ? "in a file" :
							 "a variable");
	} else if (meant != NULL && source == FLAGS_IN_ENVIRONMENT) {
		flag_print_variable(p, meant, variable);
		(void)snprintf(hint, HINT_BYTES, "; did you mean %s?",
			       variable);
	} else if (meant != NULL) {
		(void)snprintf(hint, HINT_BYTES, "; did you mean '%s'?", meant);
	}
	return hint;
}

/* The flag `name`, if its group may be given in `source`. */
static const struct flag *find_in(const struct program *p, unsigned source,
				  const char *name)
{
	for (const struct flag_group *g = p->groups; g->flags != NULL; g++)
		for (const struct flag *f = g->flags; f->name != NULL; f++)
			if (strcmp(f->name, name) == 0)
				return (g->sources & source) != 0 ? f : NULL;
	return NULL;
}

/* "MAX_BODY" -> "max-body"; a longer name becomes "". */
static void name_flag(const char *name, size_t bytes,
		      char flag[FLAG_VARIABLE_BYTES])
{
	if (bytes >= FLAG_VARIABLE_BYTES)
		bytes = 0;
	for (size_t i = 0; i < bytes; i++)
		flag[i] = name[i] == '_' ?
				  '-' :
				  (char)tolower((unsigned char)name[i]);
	flag[bytes] = '\0';
}

/* "MAX_BODY" -> the flag max-body; NULL: there is none. */
static const struct flag *find_variable(const struct program *p,
					const char *name, size_t bytes)
{
	char flag[FLAG_VARIABLE_BYTES], variable[FLAG_VARIABLE_BYTES];

	name_flag(name, bytes, flag);
	/*
	 * The variable's name must be exactly that of the flag: "max_body" and
	 * "MAX-BODY" are refused.
	 */
	flag_print_variable(p, flag, variable);
	if (strncmp(variable + strlen(p->prefix), name, bytes) != 0)
		return NULL;
	return find_in(p, FLAGS_IN_ENVIRONMENT, flag);
}

static bool name_contains(const char *name, size_t bytes, const char *part)
{
	return memmem(name, bytes, part, strlen(part)) != NULL;
}

/*
 * Kubernetes puts variables such as DARKROOM_PORT_80_TCP_ADDR into every pod,
 * for each service whose name begins with that of the program.
 */
static bool is_of_kubernetes(const char *name, size_t bytes, const char *value)
{
	return name_contains(name, bytes, "_SERVICE_HOST") ||
	       name_contains(name, bytes, "_SERVICE_PORT") ||
	       name_contains(name, bytes, "_TCP") ||
	       name_contains(name, bytes, "_UDP") ||
	       (name_contains(name, bytes, "_PORT") &&
		strstr(value, "://") != NULL);
}

/*
 * Set the value of a switch to NULL for on, "false" for off.  Returns false if
 * it is neither "true" nor "false".
 */
static bool read_switch(const char **value)
{
	if (strcmp(*value, "1") == 0 || strcmp(*value, "true") == 0)
		*value = NULL;
	else if (strcmp(*value, "0") == 0)
		*value = "false";
	return *value == NULL || strcmp(*value, "false") == 0;
}

/* `entry` is "PREFIX_NAME=VALUE". */
static bool read_variable(const struct program *p, const char *entry,
			  flag_take_fn *take, void *arg, struct error *error)
{
	const char *name = entry + strlen(p->prefix);
	size_t bytes = strcspn(name, "=");
	const char *value = name + bytes + (name[bytes] == '=');
	const struct flag *f = find_variable(p, name, bytes);
	char flag[FLAG_VARIABLE_BYTES], hint[HINT_BYTES];
	struct error why;

	if (f == NULL && is_of_kubernetes(entry, name + bytes - entry, value))
		return true;
	name_flag(name, bytes, flag);
	if (f == NULL)
		error_set(&why, "'%.64s': there is no such variable%s", value,
			  hint_at(p, p->groups, FLAGS_IN_ENVIRONMENT, flag,
				  hint));
	else if (f->removed != NULL)
		error_set(&why, "%s", f->removed);
	else if (f->values == NULL && !read_switch(&value))
		error_set(&why, "'%.64s' is not 1, true, 0 or false", value);
	else if (take(arg, f, value, &why))
		return true;
	error_set(error, "%s%.*s: %s", p->prefix,
		  (int)(bytes < FLAG_VARIABLE_BYTES ? bytes :
						      FLAG_VARIABLE_BYTES),
		  name, why.text);
	return false;
}

bool flags_read_environment(const struct program *p, char *const *environment,
			    flag_take_fn *take, void *arg, struct error *error)
{
	for (; *environment != NULL; environment++)
		if (strncmp(*environment, p->prefix, strlen(p->prefix)) == 0 &&
		    !read_variable(p, *environment, take, arg, error))
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
			struct error *why)
{
	char *printed = cJSON_PrintUnformatted(item);
	const char *text = printed != NULL ? printed : "it";

	if (f->values == NULL)
		error_set(why, "'%.64s' is not true or false", text);
	else if (is_number(f))
		(void)flag_refuse(f, text, why);
	else
		error_set(why, "'%.64s' is not a string: %s", text, f->values);
	cJSON_free(printed);
	return false;
}

static bool take_item(const struct flag *f, const cJSON *item,
		      flag_take_fn *take, void *arg, struct error *why)
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

/*
 * `f` is NULL if none of `groups` has that name.  `take` is NULL if the caller
 * reads the value.
 */
static bool read_item(const struct flag *f, const struct flag_group *groups,
		      const cJSON *object, const cJSON *item,
		      flag_take_fn *take, void *arg, struct error *error)
{
	char hint[HINT_BYTES];
	struct error why;

	if (f == NULL)
		error_set(&why, "there is no such key%s",
			  hint_at(NULL, groups, FLAGS_IN_FILE, item->string,
				  hint));
	else if (cJSON_GetObjectItemCaseSensitive(object, item->string) != item)
		error_set(&why, "it is there twice");
	else if (f->removed != NULL && !cJSON_IsNull(item))
		error_set(&why, "%s", f->removed);
	else if (take == NULL || take_item(f, item, take, arg, &why))
		return true;
	error_set(error, "%.64s: %s", item->string, why.text);
	return false;
}

bool flags_read_file(const struct program *p, const char *path,
		     struct cJSON **file, flag_take_fn *take, void *arg,
		     struct error *error)
{
	const cJSON *item;
	struct error why;

	if (*file == NULL)
		*file = json_read_file(path, FILE_BYTES_MAX, error);
	if (*file == NULL)
		return false;
	if (!cJSON_IsObject(*file)) {
		error_set(error, "%.100s: not a JSON object", path);
		return false;
	}
	cJSON_ArrayForEach(item, *file)
	{
		if (read_item(find_in(p, FLAGS_IN_FILE, item->string),
			      p->groups, *file, item, take, arg, &why))
			continue;
		error_set(error, "%.100s: %s", path, why.text);
		return false;
	}
	return true;
}

/* A flag_take_fn. */
static bool set_field(void *to, const struct flag *f, const char *value,
		      struct error *why)
{
	return flag_set(f, value, to, why);
}

bool flags_read_object(const struct flag *table, const struct cJSON *object,
		       void *to, struct error *error)
{
	const struct flag_group groups[] = {
		{ .flags = table, .sources = FLAGS_IN_FILE },
		{ .flags = NULL },
	};
	const cJSON *item;

	cJSON_ArrayForEach(item, object)
	{
		const struct flag *f = flags_find(groups, item->string);
		bool has_field = f != NULL && f->type != FLAG_OTHER;

		if (!read_item(f, groups, object, item,
			       has_field ? set_field : NULL, to, error))
			return false;
	}
	return true;
}

bool flags_refuse_name(const char *key, const char *const *names, size_t count,
		       const char *what, struct error *error)
{
	size_t at;

	struct similar s = similar_begin(key);

	for (size_t i = 0; i < count; i++)
		similar_try(&s, names[i], names[i]);
	if (s.meant != NULL)
		return error_fail(error, "'%.64s' is no %s; did you mean '%s'?",
				  key, what, s.meant);
	error_set(error, "'%.64s' is no %s; there are", key, what);
	at = strlen(error->text);
	for (size_t i = 0; i < count && at < sizeof(error->text); i++)
		at += (size_t)snprintf(error->text + at,
				       sizeof(error->text) - at, "%s %s",
				       i > 0 ? "," : "", names[i]);
	return false;
}

bool flags_check_names(const struct cJSON *object, const char *const *names,
		       size_t count, const char *what, struct error *error)
{
	const cJSON *item;

	if (object != NULL && !cJSON_IsObject(object))
		return error_fail(error, "it must be an object");
	cJSON_ArrayForEach(item, object)
	{
		const char *key = item->string;
		size_t i = 0;

		while (i < count && strcmp(names[i], key) != 0)
			i++;
		if (i == count)
			return flags_refuse_name(key, names, count, what,
						 error);
		if (cJSON_GetObjectItemCaseSensitive(object, key) != item)
			return error_fail(error, "'%.64s' is there twice", key);
	}
	return true;
}

static void add_value(const struct flag *f, const void *from, struct json *to)
{
	const void *field = (const char *)from + f->offset;
	char text[FLAG_NUMBER_BYTES];

	if (f->type == FLAG_TEXT) {
		json_add_text(to, f->name, *(const char *const *)field);
	} else if (f->type == FLAG_SWITCH) {
		json_add_bool(to, f->name, *(const bool *)field);
	} else {
		flag_print(f, from, text);
		if (!is_number(f) || f->unit == FLAG_SIZE ||
		    f->unit == FLAG_TIME ||
		    (f->zero != NULL && strcmp(text, f->zero) == 0))
			json_add_text(to, f->name, text);
		else
			json_add_raw(to, f->name, text);
	}
}

void flags_add_values(const struct flag *table, const void *from,
		      struct json *to)
{
	for (const struct flag *f = table; f->name != NULL; f++)
		if (f->removed == NULL)
			add_value(f, from, to);
}
