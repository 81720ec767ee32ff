/* SPDX-License-Identifier: MIT */
/*
 * Store client: starts darkroom-store and speaks its protocol, as the server
 * does.  Any error of a system call fails the test.
 */
#ifndef SERVICE_TEST_STORE_CLIENT_H
#define SERVICE_TEST_STORE_CLIENT_H

#include "service/store/package.h"
#include "service/store/remote/protocol.h"

#include <sys/types.h>

enum { CLIENT_ARGUMENTS_MAX = 24, CLIENT_ANSWERS_MAX = 512 };

struct client_answer {
	struct message message;
	int fd;
	bool is_used;
};

struct client {
	const char *program;
	const char *arguments[CLIENT_ARGUMENTS_MAX]; /* after "serve"; NULL */
	int socket, helper_socket;
	pid_t helper;
	uint64_t number;
	struct client_answer answers[CLIENT_ANSWERS_MAX]; /* not asked for */
};

/* Add an argument of the helper, and its value (or NULL). */
void client_add(struct client *c, const char *flag, const char *value);

/* Start the helper; after client_kill() again. */
void client_start(struct client *c);

/* End it by SIGKILL. */
void client_kill(struct client *c);

/* Close the socket; returns the exit status of the helper. */
int client_stop(struct client *c);

/* Run the program with this command, its output in `out`; its exit status. */
int client_command(const struct client *c, const char *command, char *out,
		   size_t room);

/* Send a request; `fd` may be -1; `ms`: its deadline, or 0.  Its number. */
uint64_t client_send(struct client *c, enum message_kind kind, const char *id,
		     int fd, uint64_t bytes, unsigned ms);

/* Send this request; its number and deadline are set here. */
uint64_t client_send_message(struct client *c, const struct message *m, int fd,
			     unsigned ms);

/* Send a READ, which need not be from the begin of the package. */
uint64_t client_send_read(struct client *c, const char *id, uint64_t from,
			  uint64_t bytes, bool is_fresh, unsigned ms);

/* Wait for the answer.  *fd is the caller's, or -1. */
struct message client_wait(struct client *c, uint64_t number, int *fd);

/* A package for a number, of about `bytes` bytes; the same every time. */
int sample_package(unsigned number, unsigned variant, size_t bytes,
		   struct package *p);
void sample_id(unsigned number, char id[STORE_ID_BYTES]);

/* Put it, and wait for the answer. */
struct message client_put(struct client *c, unsigned number, unsigned variant,
			  size_t bytes, unsigned ms);

/*
 * Read the index, meta.json and `name` ("": only these), as the server does; if
 * that is STORE_OK, their bytes are checked.
 */
struct message client_read(struct client *c, unsigned number, const char *name,
			   unsigned ms);

/* Is this file of the package in `fd` there, with its SHA-256? */
bool is_file_good(int fd, uint64_t bytes, const char *name);

#endif
