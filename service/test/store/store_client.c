/* SPDX-License-Identifier: MIT */
#include "service/test/store/store_client.h"

#include "service/keeper.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/test/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

void client_add(struct client *c, const char *flag, const char *value)
{
	size_t n = 0;

	while (c->arguments[n] != NULL)
		n++;
	CHECK_NUMBER(n + 2, <, CLIENT_ARGUMENTS_MAX);
	c->arguments[n] = flag;
	c->arguments[n + 1] = value;
}

static _Noreturn void run(const struct client *c, const char *command)
{
	const char *words[CLIENT_ARGUMENTS_MAX + 2] = { c->program, command };

	memcpy(words + 2, c->arguments, sizeof(c->arguments));
	execv(c->program, (char *const *)words);
	_exit(127);
}

/* The socket lives longer than a helper, as with the server's keeper. */
void client_start(struct client *c)
{
	if (c->socket <= 0) {
		int pair[2];
		int made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				      pair);

		CHECK_NUMBER(made, ==, 0);
		c->socket = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
		c->helper_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
		close(pair[0]);
		close(pair[1]);
	}
	c->helper = fork();
	CHECK_NUMBER(c->helper, >=, 0);
	if (c->helper == 0) {
		dup2(c->helper_socket, KEEPER_SOCKET);
		run(c, "serve");
	}
}

void client_kill(struct client *c)
{
	kill(c->helper, SIGKILL);
	waitpid(c->helper, NULL, 0);
}

int client_stop(struct client *c)
{
	int status;

	for (size_t i = 0; i < CLIENT_ANSWERS_MAX; i++)
		if (c->answers[i].is_used && c->answers[i].fd >= 0)
			close(c->answers[i].fd);
	close(c->socket);
	close(c->helper_socket);
	waitpid(c->helper, &status, 0);
	*c = (struct client){ .program = c->program };
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int client_command(const struct client *c, const char *command, char *out,
		   size_t room)
{
	int ends[2], status, made = pipe(ends);
	size_t count = 0;
	ssize_t n;
	pid_t pid;

	CHECK_NUMBER(made, ==, 0);
	pid = fork();
	CHECK_NUMBER(pid, >=, 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		close(ends[0]);
		close(ends[1]);
		run(c, command);
	}
	close(ends[1]);
	while ((n = read(ends[0], out + count, room - 1 - count)) > 0)
		count += (size_t)n;
	out[count] = '\0';
	close(ends[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t send_message(struct client *c, struct message *m, int fd,
			     unsigned ms)
{
	bool is_sent;

	m->number = ++c->number;
	m->deadline_ns = ms > 0 ? clock_after_ms(ms) : 0;
	is_sent = message_send(c->socket, m, fd);
	CHECK(is_sent);
	return m->number;
}

uint64_t client_send_message(struct client *c, const struct message *m, int fd,
			     unsigned ms)
{
	struct message copy = *m;

	return send_message(c, &copy, fd, ms);
}

uint64_t client_send(struct client *c, enum message_kind kind, const char *id,
		     int fd, uint64_t bytes, unsigned ms)
{
	struct message m = { .kind = kind, .bytes = bytes };

	snprintf(m.id, sizeof(m.id), "%s", id);
	return send_message(c, &m, fd, ms);
}

uint64_t client_send_read(struct client *c, const char *id, uint64_t from,
			  uint64_t bytes, bool is_fresh, unsigned ms)
{
	struct message m = { .kind = MESSAGE_READ,
			     .from = from,
			     .bytes = bytes,
			     .is_fresh = is_fresh };

	snprintf(m.id, sizeof(m.id), "%s", id);
	return send_message(c, &m, -1, ms);
}

static struct client_answer *free_answer(struct client *c)
{
	for (size_t i = 0; i < CLIENT_ANSWERS_MAX; i++)
		if (!c->answers[i].is_used)
			return &c->answers[i];
	abort();
}

struct message client_wait(struct client *c, uint64_t number, int *fd)
{
	for (size_t i = 0; i < CLIENT_ANSWERS_MAX; i++) {
		struct client_answer *a = &c->answers[i];

		if (a->is_used && a->message.number == number) {
			a->is_used = false;
			*fd = a->fd;
			return a->message;
		}
	}
	for (;;) {
		struct client_answer a = { .is_used = true };
		enum message_result got =
			message_receive(c->socket, &a.message, &a.fd);

		CHECK_NUMBER(got, ==, MESSAGE_OK);
		CHECK_NUMBER(a.message.kind, ==, MESSAGE_ANSWER);
		if (a.message.number == number) {
			*fd = a.fd;
			return a.message;
		}
		*free_answer(c) = a;
	}
}

void sample_id(unsigned number, char id[STORE_ID_BYTES])
{
	struct sha256_ctx ctx;
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(number), (const uint8_t *)&number);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(id, sizeof(digest), digest);
	id[STORE_ID_BYTES - 1] = '\0';
}

int sample_package(unsigned number, unsigned variant, size_t bytes,
		   struct package *p)
{
	uint64_t state = number * UINT64_C(1000003) + variant;
	int fd = memfd_create("sample", MFD_CLOEXEC);
	uint64_t *noise = malloc(bytes + sizeof(*noise));
	char meta[128], id[STORE_ID_BYTES];
	struct store_file files[] = {
		{ "meta.json", meta, 0 },
		{ "a.jpg", noise, bytes / 2 },
		{ "b.jpg", noise, bytes / 2 + bytes % 2 },
	};
	bool is_written;

	CHECK_NUMBER(fd, >=, 0);
	CHECK(noise != NULL);
	CHECK_NUMBER(bytes, >=, 2);
	for (size_t i = 0; i <= bytes / sizeof(*noise); i++)
		noise[i] = random_next(&state);
	sample_id(number, id);
	snprintf(meta, sizeof(meta), "{\"id\":\"%s\",\"variant\":%u}", id,
		 variant);
	files[0].count = strlen(meta);
	files[2].bytes = (const char *)noise + bytes / 2;
	is_written = package_write(fd, files, 3, p);
	CHECK(is_written);
	free(noise);
	return fd;
}

struct message client_put(struct client *c, unsigned number, unsigned variant,
			  size_t bytes, unsigned ms)
{
	struct package p;
	int fd = sample_package(number, variant, bytes, &p), none;
	char id[STORE_ID_BYTES];
	struct message m;

	sample_id(number, id);
	m = client_wait(c, client_send(c, MESSAGE_PUT, id, fd, p.bytes, ms),
			&none);
	CHECK_NUMBER(none, ==, -1);
	close(fd);
	return m;
}

/* Is the file `f` of a package at `at` of `fd`? */
static bool is_part_good(int fd, uint64_t at, const struct package_file *f)
{
	char text[STORE_ID_BYTES], *all = malloc(f->bytes);
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	ssize_t n;

	CHECK(all != NULL);
	n = pread(fd, all, f->bytes, (off_t)at);
	sha256_init(&ctx);
	sha256_update(&ctx, n > 0 ? (size_t)n : 0, (const uint8_t *)all);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	free(all);
	return n == (ssize_t)f->bytes &&
	       memcmp(text, f->sha256, sizeof(text) - 1) == 0;
}

static bool read_index(int fd, uint64_t bytes, struct package *p)
{
	char head[PACKAGE_INDEX_BYTES_MAX];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n > 0 && package_read_index(p, head, (size_t)n) == STORE_OK &&
	       p->bytes == bytes;
}

bool is_file_good(int fd, uint64_t bytes, const char *name)
{
	const struct package_file *f;
	struct package p;

	return read_index(fd, bytes, &p) &&
	       (f = package_find(&p, name)) != NULL &&
	       is_part_good(fd, f->offset, f);
}

/* Read a file that is not in the head. */
static struct message read_part(struct client *c, const char *id,
				const struct package_file *f, unsigned ms)
{
	struct message m;
	struct stat file;
	int fd;

	m = client_wait(c,
			client_send_read(c, id, f->offset, f->bytes, false, ms),
			&fd);
	if (fd < 0)
		return m;
	CHECK_NUMBER(m.from, ==, f->offset);
	CHECK_NUMBER(fstat(fd, &file), ==, 0);
	CHECK_NUMBER((uint64_t)file.st_size, ==, f->bytes);
	if (!is_part_good(fd, 0, f))
		m.answer = STORE_DAMAGED;
	close(fd);
	return m;
}

struct message client_read(struct client *c, unsigned number, const char *name,
			   unsigned ms)
{
	const struct package_file *f;
	char id[STORE_ID_BYTES];
	struct package p;
	struct message m;
	int fd;

	sample_id(number, id);
	m = client_wait(
		c, client_send_read(c, id, 0, PACKAGE_HEAD_BYTES, false, ms),
		&fd);
	CHECK_NUMBER((fd >= 0), ==, (m.answer == STORE_OK));
	if (fd < 0)
		return m;
	if (!read_index(fd, m.bytes, &p) ||
	    !is_file_good(fd, m.bytes, "meta.json")) {
		m.answer = STORE_DAMAGED;
	} else if (*name != '\0') {
		f = package_find(&p, name);
		CHECK(f != NULL);
		if (!m.is_copy && f->offset + f->bytes > PACKAGE_HEAD_BYTES)
			m = read_part(c, id, f, ms);
		else if (!is_part_good(fd, f->offset, f))
			m.answer = STORE_DAMAGED;
	}
	close(fd);
	return m;
}
