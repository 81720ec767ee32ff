/* SPDX-License-Identifier: MIT */
#include "service/store/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char marker_name[] = "darkroom-store";
static const char marker_text[] = "darkroom store, version 1\n";

enum { MARKER_BYTES = sizeof(marker_text) - 1 };

/* Nothing in it but what a new file system or a crash while opening left? */
static bool is_new(int root)
{
	DIR *list = folder_list(root, ".");
	const char *name;

	if (list == NULL)
		return false;
	do
		name = folder_next(list);
	while (name != NULL && (strcmp(name, marker_name) == 0 ||
				strcmp(name, "lost+found") == 0));
	(void)closedir(list);
	return name == NULL;
}

/* A crash leaves the marker whole or empty. */
static bool write_marker(int root)
{
	int marker =
		openat(root, marker_name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ok;

	if (marker < 0)
		return false;
	ok = pwrite(marker, marker_text, MARKER_BYTES, 0) == MARKER_BYTES &&
	     fsync(marker) == 0 && fsync(root) == 0;
	folder_close(marker);
	return ok;
}

static bool take(int root, int marker, bool new, const char **why)
{
	char text[MARKER_BYTES + 1];
	ssize_t count;

	if (flock(marker, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			*why = "is in use by another server";
		return false;
	}
	count = pread(marker, text, sizeof(text), 0);
	if (count == MARKER_BYTES &&
	    memcmp(text, marker_text, MARKER_BYTES) == 0)
		return true;
	if (count == 0 && new)
		return write_marker(root);
	*why = "is no store of this version of the program";
	return false;
}

int store_claim(int root, const char **why)
{
	/* Not to write, so that the file system can be made read-only. */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	bool new = is_new(root);
	int marker =
		openat(root, marker_name, new ? flags | O_CREAT : flags, 0666);

	if (marker < 0) {
		if (errno == ENOENT || errno == ELOOP)
			*why = "is neither empty nor a store of this program";
		return -1;
	}
	if (take(root, marker, new, why))
		return marker;
	folder_close(marker);
	return -1;
}
