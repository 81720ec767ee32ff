/* SPDX-License-Identifier: MIT */
/*
 * A store helper for tests: packages are files of a folder.  The files `mode`
 * and `check` in the folder say how it behaves:
 *
 *	good            as a real one
 *	die-unread      it kills itself before it receives the first request,
 *	die-received    after it has received it,
 *	die-done        after it has carried it out,
 *	die-answered    after it has answered it; and then `mode` is removed, so
 *	                that the next helper is good
 *	die             it ends at once, always
 *	die-of-bad      it kills itself when it receives an id that begins with
 *	                "bad", always
 *	hang-received   it stops itself after it has received the first request;
 *	                `mode` is removed before
 *	silent          it answers only probes
 *	away            it answers READs from its cache, and nothing else is
 *	                available
 *	frozen          it is stopped, and receives nothing
 *	rival           another server is faster, once: before the first PUT
 *	                with a condition, the same package is put, and `mode` is
 *	                removed
 *	no-file number index short pipe    READ's answers are wrong
 *
 * The command `check` writes its process id to the file `checking`.  It accepts
 * the keys unless `check` contains "bad"; with "slow" when there is a file
 * `go`, which it removes.
 *
 * usage: fake_store_helper serve|check FOLDER
 */
#include "service/keeper.h"
#include "service/store/package.h"
#include "service/store/remote/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char mode[32] = "good";

static void read_word(const char *name, char *word, size_t bytes)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, word, bytes - 1) : -1;

	if (n >= 0)
		word[n] = '\0';
	if (fd >= 0)
		(void)close(fd);
}

static void write_pid(const char *name)
{
	FILE *to = fopen("pid", "we");

	if (to == NULL || fprintf(to, "%d", getpid()) < 0 || fclose(to) != 0 ||
	    rename("pid", name) != 0)
		abort();
}

/* Is this the end of a helper in this mode? */
static void die_if(const char *wanted)
{
	if (strcmp(mode, wanted) != 0)
		return;
	(void)unlink("mode");
	(void)raise(SIGKILL);
}

static void copy(int from, int to)
{
	char piece[4096];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, piece, sizeof(piece), at)) > 0) {
		if (write(to, piece, (size_t)n) != n)
			abort();
		at += n;
	}
}

/* "": there is no such package. */
static void read_etag(const char *id, char etag[STORE_VERSION_BYTES])
{
	struct stat file;

	etag[0] = '\0';
	if (stat(id, &file) == 0)
		(void)snprintf(etag, STORE_VERSION_BYTES, "\"%ju-%ju-%ju\"",
			       (uintmax_t)file.st_ino,
			       (uintmax_t)file.st_mtim.tv_sec,
			       (uintmax_t)file.st_mtim.tv_nsec);
}

static void write_package(const char *id, int fd)
{
	int file = open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	copy(fd, file);
	if (file < 0 || close(file) != 0 || rename("new", id) != 0)
		abort();
}

static enum store_answer put(const struct message *m, int fd,
			     struct message *answer)
{
	bool has_condition = m->must_be_new || m->etag[0] != '\0';
	char etag[STORE_VERSION_BYTES];

	if (has_condition && strcmp(mode, "rival") == 0) {
		(void)unlink("mode");
		(void)strcpy(mode, "good");
		write_package(m->id, fd);
	}
	read_etag(m->id, etag);
	if (has_condition && strcmp(etag, m->etag) != 0)
		return STORE_CHANGED;
	answer->is_same = !has_condition && etag[0] != '\0';
	if (!answer->is_same)
		write_package(m->id, fd);
	return STORE_OK;
}

/* A copy of the file that is wrong as `mode` says. */
static int spoil(int fd, struct message *answer)
{
	int copied = memfd_create("wrong", MFD_CLOEXEC), ends[2];

	copy(fd, copied);
	(void)close(fd);
	if (strcmp(mode, "number") == 0)
		answer->number += 1000;
	if (strcmp(mode, "index") == 0 && pwrite(copied, "x", 1, 20) != 1)
		abort();
	if (strcmp(mode, "short") == 0 &&
	    ftruncate(copied, lseek(copied, 0, SEEK_END) - 1) != 0)
		abort();
	if (strcmp(mode, "no-file") == 0 || strcmp(mode, "pipe") == 0)
		(void)close(copied);
	if (strcmp(mode, "no-file") == 0)
		return -1;
	if (strcmp(mode, "pipe") == 0) {
		if (pipe2(ends, O_CLOEXEC) != 0)
			abort();
		copied = ends[0];
	}
	return copied;
}

static enum store_answer find(const struct message *m, struct message *answer,
			      int *fd)
{
	*fd = open(m->id, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return STORE_NOT_FOUND;
	answer->bytes = (uint64_t)lseek(*fd, 0, SEEK_END);
	answer->is_copy = true;
	read_etag(m->id, answer->etag);
	*fd = spoil(*fd, answer);
	return STORE_OK;
}

static void serve_one(const struct message *m, int fd)
{
	struct message answer = { .kind = MESSAGE_ANSWER, .number = m->number };
	int file = -1;

	answer.figures.requests = 1;
	if (m->kind != MESSAGE_READ && strcmp(mode, "away") == 0) {
		answer.answer = STORE_UNAVAILABLE;
		(void)snprintf(answer.detail, sizeof(answer.detail), "away");
		(void)!message_send(KEEPER_SOCKET, &answer, -1);
		return;
	}
	if (strcmp(mode, "die-of-bad") == 0 && strncmp(m->id, "bad", 3) == 0)
		(void)raise(SIGKILL);
	if (m->kind != MESSAGE_PROBE && strcmp(mode, "hang-received") == 0) {
		(void)unlink("mode");
		(void)raise(SIGSTOP);
	}
	if (m->kind != MESSAGE_PROBE)
		die_if("die-received");
	if (m->kind == MESSAGE_PUT)
		answer.answer = put(m, fd, &answer);
	if (m->kind == MESSAGE_READ)
		answer.answer = find(m, &answer, &file);
	if (m->kind == MESSAGE_DELETE)
		answer.answer = unlink(m->id) == 0 ? STORE_OK : STORE_NOT_FOUND;
	if (m->kind != MESSAGE_PROBE)
		die_if("die-done");
	if (m->kind != MESSAGE_PROBE && strcmp(mode, "silent") == 0)
		return;
	if (!message_send(KEEPER_SOCKET, &answer, file))
		exit(EXIT_SUCCESS);
	if (file >= 0)
		(void)close(file);
	if (m->kind != MESSAGE_PROBE)
		die_if("die-answered");
}

static void serve(void)
{
	struct message m;
	int fd;

	if (strcmp(mode, "die") == 0)
		exit(EXIT_FAILURE);
	if (strcmp(mode, "frozen") == 0)
		(void)raise(SIGSTOP);
	if (strcmp(mode, "die-unread") == 0)
		(void)usleep(100000); /* until there are requests */
	die_if("die-unread");
	for (;;) {
		switch (message_receive(KEEPER_SOCKET, &m, &fd)) {
		case MESSAGE_OK:
			serve_one(&m, fd);
			if (fd >= 0)
				(void)close(fd);
			break;
		case MESSAGE_BAD:
			break;
		case MESSAGE_END:
			return;
		}
	}
}

int main(int argc, char **argv)
{
	char check[8] = "good";

	if (argc < 4 || chdir(argv[3]) != 0)
		return EXIT_FAILURE;
	read_word("mode", mode, sizeof(mode));
	read_word("check", check, sizeof(check));
	if (strcmp(argv[1], "check") == 0) {
		write_pid("checking");
		while (strcmp(check, "slow") == 0 && unlink("go") != 0)
			(void)usleep(10000);
		return strcmp(check, "bad") == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	serve();
	return EXIT_SUCCESS;
}
