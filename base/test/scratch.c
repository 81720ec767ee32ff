/* SPDX-License-Identifier: MIT */
#include "base/test/check.h"
#include "base/test/scratch.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of this process, to be removed if a test fails. */
enum { KEPT_MAX = 8 };
static char kept[KEPT_MAX][sizeof(((struct scratch *)NULL)->dir)];
static pid_t owner_pid;

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *place)
{
	(void)status, (void)type, (void)place;
	return remove(path);
}

static int remove_all(const char *dir)
{
	return nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* An assertion of the test has failed, so this thread is in no library. */
static void clean_up(int signal_number)
{
	(void)signal(signal_number, SIG_DFL);
	for (int i = 0; i < KEPT_MAX && getpid() == owner_pid; i++)
		if (kept[i][0] != '\0')
			(void)remove_all(kept[i]);
	(void)raise(signal_number);
}

/* Replace the first `old` in the list. */
static void keep(const char *old, const char *new)
{
	for (int i = 0; i < KEPT_MAX; i++)
		if (strcmp(kept[i], old) == 0) {
			(void)strcpy(kept[i], new);
			return;
		}
}

void scratch_adopt(const char *dir)
{
	CHECK_NUMBER(strlen(dir), <, sizeof(kept[0]));
	owner_pid = getpid();
	keep("", dir);
	(void)signal(SIGABRT, clean_up);
}

void scratch_init(struct scratch *s)
{
	strcpy(s->dir, "/tmp/darkroom-test-XXXXXX");
	CHECK(mkdtemp(s->dir) != NULL);
	scratch_adopt(s->dir);
}

void scratch_release(struct scratch *s)
{
	CHECK_NUMBER(remove_all(s->dir), ==, 0);
	keep(s->dir, "");
}

void scratch_clear(struct scratch *s)
{
	CHECK_NUMBER(remove_all(s->dir), ==, 0);
	CHECK_NUMBER(mkdir(s->dir, 0700), ==, 0);
}

const char *scratch_path(const struct scratch *s, const char *name,
			 char path[SCRATCH_PATH_BYTES])
{
	int length = snprintf(path, SCRATCH_PATH_BYTES, "%s/%s", s->dir, name);

	CHECK_NUMBER(length, >, 0);
	CHECK_NUMBER(length, <, SCRATCH_PATH_BYTES);
	return path;
}

/* Make all folders that contain `path`. */
static void make_parents(const struct scratch *s, char *path)
{
	for (char *c = path + strlen(s->dir) + 1; *c != '\0'; c++)
		if (*c == '/') {
			*c = '\0';
			(void)mkdir(path, 0777);
			*c = '/';
		}
}

void scratch_mkdir(const struct scratch *s, const char *name)
{
	char path[SCRATCH_PATH_BYTES];

	(void)scratch_path(s, name, path);
	make_parents(s, path);
	CHECK_NUMBER(mkdir(path, 0777), ==, 0);
}

void scratch_write(const struct scratch *s, const char *name, const void *bytes,
		   size_t size_bytes)
{
	char path[SCRATCH_PATH_BYTES];
	FILE *out;

	(void)scratch_path(s, name, path);
	make_parents(s, path);
	out = fopen(path, "w");
	CHECK(out != NULL);
	CHECK_NUMBER(fwrite(bytes, 1, size_bytes, out), ==, size_bytes);
	CHECK_NUMBER(fclose(out), ==, 0);
}

void scratch_write_text(const struct scratch *s, const char *name,
			const char *text)
{
	scratch_write(s, name, text, strlen(text));
}

char *scratch_read(const struct scratch *s, const char *name)
{
	char path[SCRATCH_PATH_BYTES];
	FILE *in = fopen(scratch_path(s, name, path), "r");
	char *text = NULL;
	size_t room = 0;

	CHECK(in != NULL);
	if (getdelim(&text, &room, '\0', in) < 0) {
		CHECK(feof(in)); /* an empty file */
		free(text);
		text = strdup("");
	}
	fclose(in);
	CHECK(text != NULL);
	return text;
}

cJSON *scratch_read_json(const struct scratch *s, const char *name)
{
	char *text = scratch_read(s, name);
	cJSON *json = cJSON_Parse(text);

	CHECK(json != NULL);
	free(text);
	return json;
}

void scratch_expect(const struct scratch *s, const char *name, const char *part)
{
	char *text = scratch_read(s, name);

	if (strstr(text, part) == NULL)
		fprintf(stderr, "'%s' is not in %s:\n%s\n", part, name, text);
	CHECK_PART(text, part);
	free(text);
}

bool scratch_has(const struct scratch *s, const char *name)
{
	char path[SCRATCH_PATH_BYTES];

	return access(scratch_path(s, name, path), F_OK) == 0;
}
