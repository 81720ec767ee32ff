/* SPDX-License-Identifier: MIT */
#include "service/test/store_client.h"

#include "base/clock.h"
#include "base/random.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

void client_add(struct client *c, const char *flag, const char *value)
{
	size_t n = 0;

	while (c->arguments[n] != NULL)
		n++;
	assert(n + 2 < CLIENT_ARGUMENTS_MAX);
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

		assert(made == 0);
		c->socket = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
		c->helper_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
		close(pair[0]);
		close(pair[1]);
	}
	c->helper = fork();
	assert(c->helper >= 0);
	if (c->helper == 0) {
		dup2(c->helper_socket, STORE_SOCKET);
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

	assert(made == 0);
	pid = fork();
	assert(pid >= 0);
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

uint64_t client_send(struct client *c, enum message_kind kind, const char *id,
		     const char *name, int fd, uint64_t bytes, unsigned ms)
{
	struct message m = {
		.kind = kind,
		.number = ++c->number,
		.deadline_ns = ms > 0 ? clock_after_ms(ms) : 0,
		.bytes = bytes,
	};
	bool is_sent;

	snprintf(m.id, sizeof(m.id), "%s", id);
	snprintf(m.name, sizeof(m.name), "%s", name);
	is_sent = message_send(c->socket, &m, fd);
	assert(is_sent);
	return m.number;
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

		assert(got == MESSAGE_OK && a.message.kind == MESSAGE_ANSWER);
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
	char meta[64];
	struct store_file files[] = {
		{ "meta.json", meta, 0 },
		{ "a.jpg", noise, bytes / 2 },
		{ "b.jpg", noise, bytes / 2 + bytes % 2 },
	};
	bool is_written;

	assert(fd >= 0 && noise != NULL && bytes >= 2);
	for (size_t i = 0; i <= bytes / sizeof(*noise); i++)
		noise[i] = random_next(&state);
	snprintf(meta, sizeof(meta), "{\"number\":%u,\"variant\":%u}", number,
		 variant);
	files[0].count = strlen(meta);
	files[2].bytes = (const char *)noise + bytes / 2;
	is_written = package_write(fd, files, 3, p);
	assert(is_written);
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
	m = client_wait(c, client_send(c, MESSAGE_PUT, id, "", fd, p.bytes, ms),
			&none);
	assert(none == -1);
	close(fd);
	return m;
}

bool is_file_good(int fd, uint64_t bytes, const char *name)
{
	char head[PACKAGE_INDEX_BYTES_MAX], text[STORE_ID_BYTES], *all;
	ssize_t n = pread(fd, head, sizeof(head), 0);
	uint8_t digest[SHA256_DIGEST_SIZE];
	const struct package_file *f;
	struct sha256_ctx ctx;
	struct package p;

	if (n <= 0 || package_read_index(&p, head, (size_t)n) != STORE_OK ||
	    p.bytes != bytes ||
	    (f = package_find(&p, *name != '\0' ? name : "meta.json")) == NULL)
		return false;
	all = malloc(f->bytes);
	assert(all != NULL);
	n = pread(fd, all, f->bytes, (off_t)f->offset);
	sha256_init(&ctx);
	sha256_update(&ctx, n > 0 ? (size_t)n : 0, (const uint8_t *)all);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	free(all);
	return n == (ssize_t)f->bytes &&
	       memcmp(text, f->sha256, sizeof(text) - 1) == 0;
}

struct message client_read(struct client *c, unsigned number, const char *name,
			   unsigned ms)
{
	char id[STORE_ID_BYTES];
	struct message m;
	int fd;

	sample_id(number, id);
	m = client_wait(c, client_send(c, MESSAGE_READ, id, name, -1, 0, ms),
			&fd);
	assert((fd >= 0) == (m.answer == STORE_OK));
	if (fd >= 0) {
		assert(is_file_good(fd, m.bytes, "meta.json"));
		assert(is_file_good(fd, m.bytes, name));
		close(fd);
	}
	return m;
}
