/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM_FIRST = 1 << 20, OWNER_TEXT_BYTES = 96 };

/* NULL: errno says why. */
static FILE *open_figures(const char *path)
{
	int figures, nowhere;
	FILE *out;

	if (strcmp(path, "-") != 0)
		return fopen(path, "we");
	(void)fflush(stdout);
	figures = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	out = figures >= 0 && nowhere >= 0 &&
			      dup2(nowhere, STDOUT_FILENO) >= 0 ?
		      fdopen(figures, "w") :
		      NULL;
	if (nowhere >= 0)
		(void)close(nowhere);
	if (out == NULL && figures >= 0)
		(void)close(figures);
	return out;
}

FILE *file_open_figures(const char *path, struct error *error)
{
	FILE *figures = open_figures(path);

	if (figures == NULL)
		error_set(error, "--json %s: %s", path, strerror(errno));
	return figures;
}

bool file_close_figures(FILE *figures, const char *path, struct error *error)
{
	bool is_written;

	errno = 0;
	is_written = !ferror(figures);
	if (fclose(figures) == 0 && is_written)
		return true;
	return error_fail(error, "--json %s: %s", path,
			  errno != 0 ? strerror(errno) :
				       "not all could be written");
}

bool file_write_all(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = write(fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		count -= (size_t)n;
	}
	return true;
}

bool file_read_all(int fd, void *to, size_t count)
{
	char *at = to;

	while (count > 0) {
		ssize_t n = read(fd, at, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0;
		if (n <= 0)
			return false;
		at += n;
		count -= (size_t)n;
	}
	return true;
}

/*
 * The buffer has room for one byte more than `bytes_max`: if that is filled,
 * the file is too large.
 */
static char *read_stream(FILE *in, size_t bytes_max, size_t *bytes)
{
	size_t room = 0, count = 0;
	char *text = NULL;

	do {
		if (count + 1 >= room) {
			room = room == 0 ? ROOM_FIRST : 2 * room;
			if (room > bytes_max + 2)
				room = bytes_max + 2;

			char *more = realloc(text, room);

			if (more == NULL) {
				free(text);
				return NULL;
			}
			text = more;
		}
		count += fread(text + count, 1, room - count - 1, in);
	} while (count <= bytes_max && !feof(in) && !ferror(in));
	text[count] = '\0';
	*bytes = count;
	return text;
}

char *file_read_bytes(const char *path, size_t bytes_max, size_t *bytes,
		      const char **why)
{
	FILE *in = fopen(path, "re");

	if (in == NULL) {
		*why = strerrordesc_np(errno);
		return NULL;
	}
	char *text = read_stream(in, bytes_max, bytes);

	*why = NULL;
	if (text == NULL || ferror(in))
		*why = strerrordesc_np(errno);
	else if (*bytes > bytes_max)
		*why = "too large";
	(void)fclose(in);
	if (*why == NULL)
		return text;
	free(text);
	return NULL;
}

char *file_read_text(const char *path, size_t bytes_max, const char **why)
{
	size_t bytes;
	char *text = file_read_bytes(path, bytes_max, &bytes, why);

	if (text == NULL || strlen(text) == bytes)
		return text;
	free(text);
	*why = "not text: it has a zero byte";
	return NULL;
}

static void print_owner(char text[OWNER_TEXT_BYTES], uid_t user, gid_t group)
{
	const struct passwd *u = getpwuid(user);
	const struct group *g = getgrgid(group);

	(void)snprintf(text, OWNER_TEXT_BYTES, "%.32s:%.32s (%u:%u)",
		       u != NULL ? u->pw_name : "?",
		       g != NULL ? g->gr_name : "?", user, group);
}

void file_explain(struct error *why, const char *path, const char *file,
		  int error)
{
	char owner[OWNER_TEXT_BYTES], own[OWNER_TEXT_BYTES];
	char *whole = NULL, *at;
	struct stat found;

	if (asprintf(&whole, "%s%s%s", path, file[0] != '\0' ? "/" : "", file) <
	    0)
		whole = NULL;
	at = whole;
	/* It may not exist, or a folder above it may forbid to look. */
	while (at != NULL && stat(at, &found) != 0 && strcmp(at, "/") != 0 &&
	       strcmp(at, ".") != 0)
		at = dirname(at);
	if (at == NULL || stat(at, &found) != 0) {
		error_set(why, "%s", strerror(error));
	} else {
		print_owner(owner, found.st_uid, found.st_gid);
		print_owner(own, geteuid(), getegid());
		error_set(why,
			  "%s: '%.160s' belongs to %s and has mode %04o; this "
			  "process is %s",
			  strerror(error), at, owner, found.st_mode & 07777U,
			  own);
	}
	free(whole);
}

void file_fill_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

bool file_finish(FILE *out, struct error *error)
{
	errno = 0;
	if (fflush(out) == 0 && !ferror(out))
		return true;
	return error_fail(error, "the output could not be written%s%s",
			  errno != 0 ? ": " : "",
			  errno != 0 ? strerror(errno) : "");
}

bool file_draft_open(struct file_draft *d, const char *path,
		     struct error *error)
{
	*d = (struct file_draft){ .path = strdup(path) };
	if (d->path == NULL || asprintf(&d->draft_path, "%s.tmp", path) < 0)
		d->draft_path = NULL;
	else
		d->out = fopen(d->draft_path, "we");
	if (d->out != NULL)
		return true;

	int why = errno;

	error_set(error, "%s: %s", path, strerror(why));
	free(d->draft_path);
	free(d->path);
	*d = (struct file_draft){ 0 };
	errno = why;
	return false;
}

bool file_draft_commit(struct file_draft *d, struct error *error)
{
	bool is_written = fflush(d->out) == 0 && !ferror(d->out) &&
			  fsync(fileno(d->out)) == 0;
	int why = errno;

	if (fclose(d->out) != 0 && is_written) {
		is_written = false;
		why = errno;
	}
	d->out = NULL;
	if (is_written && rename(d->draft_path, d->path) != 0) {
		is_written = false;
		why = errno;
	}
	if (!is_written)
		error_set(error, "%s: %s", d->path, strerror(why));
	file_draft_drop(d);
	errno = why;
	return is_written;
}

void file_draft_drop(struct file_draft *d)
{
	if (d->out != NULL)
		(void)fclose(d->out);
	if (d->draft_path != NULL)
		(void)unlink(d->draft_path);
	free(d->draft_path);
	free(d->path);
	*d = (struct file_draft){ 0 };
}

bool file_write_text(const char *dir, const char *name, const char *text,
		     struct error *error)
{
	struct file_draft draft;
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (text == NULL) {
		error_set(error, "%s: %s", path, strerror(ENOMEM));
		return false;
	}
	if (!file_draft_open(&draft, path, error))
		return false;
	(void)fputs(text, draft.out);
	return file_draft_commit(&draft, error);
}

bool file_beside_program(char *path, const char *name)
{
	ssize_t count = readlink("/proc/self/exe", path, PATH_MAX - 1);
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	char *end;

	/* Without /proc: as the kernel was asked to start it. */
	if (count > 0)
		path[count] = '\0';
	else if (started_as == NULL || realpath(started_as, path) == NULL)
		return false;
	end = strrchr(path, '/');
	if (end == NULL || (size_t)(end + 1 - path) + strlen(name) >= PATH_MAX)
		return false;
	(void)strcpy(end + 1, name);
	return access(path, X_OK) == 0;
}
