/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/credentials.h"

#include "base/file.h"
#include "service/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a file of kept keys: the values and the lines around them. */
enum { KEPT_BYTES = sizeof(struct credentials) + 256 };

static const char initial_profile[] = "default";

struct setting {
	const char *key, *variable;
	size_t offset, room;
};

#define PLACE(key, variable, member)                                           \
	{                                                                      \
		key, variable, offsetof(struct credentials, member),           \
			sizeof(((struct credentials *)NULL)->member)           \
	}

static const struct setting settings[] = {
	PLACE("aws_access_key_id", "AWS_ACCESS_KEY_ID", access_key),
	PLACE("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", secret_key),
	PLACE("aws_session_token", "AWS_SESSION_TOKEN", token),
};

/* Keys are sent in headers: printable ASCII without spaces. */
static bool take_value(struct credentials *c, const struct setting *p,
		       const char *value)
{
	size_t n = strlen(value);

	if (n >= p->room)
		return false;
	for (size_t i = 0; i < n; i++)
		if (value[i] <= ' ' || value[i] > '~')
			return false;
	(void)memcpy((char *)c + p->offset, value, n + 1);
	return true;
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]) != NULL)
		end--;
	*end = '\0';
	return text;
}

/* Entries that other tools need, such as `region`, are ignored. */
static bool read_entry(struct credentials *c, char *line, const char *where,
		       struct error *error)
{
	char *equals = strchr(line, '=');
	const char *key;

	if (equals == NULL)
		return error_fail(
			error, "%s: neither [PROFILE] nor KEY = VALUE", where);
	*equals = '\0';
	key = trim(line);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (strcmp(key, settings[i].key) == 0 &&
		    !take_value(c, &settings[i], trim(equals + 1)))
			return error_fail(error,
					  "%s: the value of %s is longer than "
					  "%zu characters, or has a space or "
					  "a character that is not ASCII",
					  where, key, settings[i].room - 1);
	return true;
}

static bool read_lines(struct credentials *c, char *text, const char *path,
		       const char *profile, struct error *error)
{
	bool is_inside = false, is_found = false;
	uint32_t number = 1;
	char where[300];

	for (char *line; (line = strsep(&text, "\n")) != NULL; number++) {
		size_t n;

		(void)snprintf(where, sizeof(where), "%s: line %u", path,
			       number);
		line = trim(line);
		n = strlen(line);
		if (n == 0 || *line == '#' || *line == ';')
			continue;
		if (*line == '[') {
			if (line[n - 1] != ']')
				return error_fail(error, "%s: ] is missing",
						  where);
			line[n - 1] = '\0';
			is_inside = strcmp(trim(line + 1), profile) == 0;
			is_found |= is_inside;
		} else if (is_inside && !read_entry(c, line, where, error)) {
			return false;
		}
	}
	if (!is_found)
		return error_fail(error, "%s: there is no profile [%s]", path,
				  profile);
	for (size_t i = 0; i < 2; i++)
		if (((char *)c)[settings[i].offset] == '\0')
			return error_fail(error, "%s: profile [%s] has no %s",
					  path, profile, settings[i].key);
	return true;
}

static bool read_file(struct credentials *c, const char *path,
		      const char *profile, struct error *error)
{
	const char *why;
	char *text = file_read_text(path, CREDENTIALS_FILE_BYTES_MAX, &why);
	size_t bytes;
	bool is_read;

	if (text == NULL) {
		struct error whose;

		error_set(&whose, "%s", why);
		if (errno == EACCES)
			file_explain(&whose, path, "", errno);
		return error_fail(error, "%s: %.400s", path, whose.text);
	}
	bytes = strlen(text);
	is_read = read_lines(c, text, path, profile, error);
	explicit_bzero(text, bytes);
	free(text);
	return is_read;
}

static bool is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

static bool read_environment(struct credentials *c, struct error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const char *value = getenv(settings[i].variable);

		if (value != NULL && !take_value(c, &settings[i], value))
			return error_fail(error,
					  "%s: it is longer than %zu "
					  "characters, or has a space or a "
					  "character that is not ASCII",
					  settings[i].variable,
					  settings[i].room - 1);
	}
	if (*c->access_key == '\0' || *c->secret_key == '\0')
		return error_fail(error, "%s is set, but not %s",
				  settings[*c->access_key == '\0'].variable,
				  settings[*c->access_key != '\0'].variable);
	return true;
}

static bool find(struct credentials *c, const char *file, const char *profile,
		 struct error *error)
{
	if (is_given(file))
		return read_file(c, file, profile, error);
	if (is_given(getenv("AWS_ACCESS_KEY_ID")) ||
	    is_given(getenv("AWS_SECRET_ACCESS_KEY")))
		return read_environment(c, error);
	file = getenv("AWS_SHARED_CREDENTIALS_FILE");
	if (is_given(file))
		return read_file(c, file, profile, error);
	return error_fail(error,
			  "no keys: give --credentials-file FILE (of the "
			  "server: --s3-credentials-file), or set "
			  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
			  "AWS_SHARED_CREDENTIALS_FILE");
}

static void forget_environment(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		char *value = getenv(settings[i].variable);

		if (value != NULL)
			explicit_bzero(value, strlen(value));
		(void)unsetenv(settings[i].variable);
	}
}

bool credentials_read(struct credentials *c, const char *file,
		      const char *profile, struct error *error)
{
	bool is_found;

	(void)memset(c, 0, sizeof(*c));
	if (!is_given(profile))
		profile = getenv("AWS_PROFILE");
	is_found = find(c, file, is_given(profile) ? profile : initial_profile,
			error);
	forget_environment();
	if (!is_found)
		explicit_bzero(c, sizeof(*c));
	return is_found;
}

bool credentials_keep(const struct credentials *c, int fd, struct error *error)
{
	char text[KEPT_BYTES];
	int n = snprintf(text, sizeof(text),
			 "[%s]\n%s = %s\n%s = %s\n%s = %s\n", initial_profile,
			 settings[0].key, c->access_key, settings[1].key,
			 c->secret_key, settings[2].key, c->token);
	bool is_kept = kept_write(fd, text, (size_t)n, error);

	explicit_bzero(text, sizeof(text));
	return is_kept;
}

bool credentials_read_kept(struct credentials *c, int fd, struct error *error)
{
	char text[KEPT_BYTES + 1];
	bool is_read;

	(void)memset(c, 0, sizeof(*c));
	kept_read(fd, text, sizeof(text));
	is_read = read_lines(c, text, "the kept keys", initial_profile, error);
	explicit_bzero(text, sizeof(text));
	forget_environment();
	if (!is_read)
		explicit_bzero(c, sizeof(*c));
	return is_read;
}
