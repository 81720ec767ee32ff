/* SPDX-License-Identifier: MIT */
#include "service/store/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void folder_close(int fd)
{
	int saved = errno;

	(void)close(fd);
	errno = saved;
}

bool store_is_id(const char *text)
{
	return strspn(text, "0123456789abcdef") == STORE_ID_BYTES - 1 &&
	       text[STORE_ID_BYTES - 1] == '\0';
}

/* The length of what is a name; 0: nothing is. */
static size_t name_length(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n < STORE_NAME_BYTES ? n : 0;
}

bool store_is_name(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && text[n] == '\0';
}

bool folder_is_file_name(const char *text)
{
	size_t n = name_length(text);

	return n > 0 && (strcmp(text + n, ".jpg") == 0 ||
			 strcmp(text + n, ".json") == 0);
}

int folder_open(int parent, const char *name)
{
	return openat(parent, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

DIR *folder_list(int parent, const char *name)
{
	int fd = folder_open(parent, name);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && list == NULL)
		folder_close(fd);
	return list;
}

const char *folder_next(DIR *list)
{
	const struct dirent *next;

	do
		next = readdir(list);
	while (next != NULL && (strcmp(next->d_name, ".") == 0 ||
				strcmp(next->d_name, "..") == 0));
	return next != NULL ? next->d_name : NULL;
}

/* Bytes of the file; 0 of anything else. */
static uint64_t file_bytes(int folder, const char *name)
{
	struct stat file;

	return fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
			       S_ISREG(file.st_mode) ?
		       (uint64_t)file.st_size :
		       0;
}

uint64_t folder_bytes(int parent, const char *name)
{
	DIR *list = folder_list(parent, name);
	const char *file;
	uint64_t bytes = 0;

	if (list == NULL)
		return 0;
	while ((file = folder_next(list)) != NULL)
		bytes += file_bytes(dirfd(list), file);
	(void)closedir(list);
	return bytes;
}

uint64_t folder_remove(int parent, const char *name)
{
	DIR *list = folder_list(parent, name);
	const char *file;
	uint64_t bytes = 0;

	if (list == NULL) {
		(void)unlinkat(parent, name, 0);
		return 0;
	}
	while ((file = folder_next(list)) != NULL) {
		uint64_t count = file_bytes(dirfd(list), file);

		if (!folder_is_file_name(file))
			continue;
		if (unlinkat(dirfd(list), file, 0) == 0)
			bytes += count;
	}
	(void)closedir(list);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
	return bytes;
}

static bool write_all(int fd, const void *bytes, size_t count)
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

static bool write_file(int folder, const struct store_file *f)
{
	int fd = openat(folder, f->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0666);

	if (fd < 0)
		return false;
	if (write_all(fd, f->bytes, f->count) && fsync(fd) == 0)
		return close(fd) == 0;
	folder_close(fd);
	return false;
}

bool folder_write(int parent, const char *name, const struct store_file *files,
		  uint32_t file_count)
{
	if (mkdirat(parent, name, 0777) != 0)
		return false;

	int folder = folder_open(parent, name);

	if (folder < 0)
		return false;

	bool ok = true;

	for (uint32_t i = 0; ok && i < file_count; i++)
		ok = write_file(folder, &files[i]);
	ok = ok && fsync(folder) == 0;
	folder_close(folder);
	return ok;
}

bool folder_has(int parent, const char *name, const struct store_file *files,
		uint32_t file_count)
{
	int folder = folder_open(parent, name);
	bool same = folder >= 0;

	for (uint32_t i = 0; same && i < file_count; i++)
		same = file_bytes(folder, files[i].name) == files[i].count;
	if (folder >= 0)
		(void)close(folder);
	return same;
}
