/* SPDX-License-Identifier: MIT */
#include "service/kept.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool kept_is_there(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

bool kept_write(int fd, const void *bytes, size_t count, struct error *error)
{
	/* One that was ended while it wrote may have left a part. */
	if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    file_write_all(fd, bytes, count) &&
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ==
		    0)
		return true;
	return error_fail(error, "the keys cannot be kept in descriptor %d: %s",
			  fd, strerror(errno));
}

void kept_read(int fd, char *text, size_t room)
{
	ssize_t n = pread(fd, text, room - 1, 0);

	text[n > 0 ? n : 0] = '\0';
}
