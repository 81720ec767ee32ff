/* SPDX-License-Identifier: MIT */
/*
 * What transport_direct.c, which accepts and ends connections, and
 * connection.c, which serves one, know of each other.
 */
#ifndef SERVICE_DIRECT_H
#define SERVICE_DIRECT_H

#include "service/http/head/head_reader.h"
#include "service/direct/outgoing.h"
#include "service/direct/uthread.h"
#include "service/direct/wire.h"
#include "service/http/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

struct direct_connection {
	struct connection base;
	struct io_thread *io_thread;
	struct uthread *thread;
	struct wire wire;
	LIST_ENTRY(direct_connection) link;

	/* Bytes that were received, and not read yet from `input_at` on. */
	char *input;
	size_t input_at, input_bytes;

	/* Of the present request. */
	struct head_reader reader;
	enum head_event event; /* of the reader */
	struct reply_terms terms;
	char *head_text; /* of a complete head, if it is not in `input` */
	struct request *request;
	bool is_suspended;
	bool is_early; /* a reply would be sent before the body was read */
	bool has_reply;
	bool wants_more; /* of its body: request_piece() */
	bool is_lost;    /* the other side has closed it, or it is broken */
	uint64_t body_bytes_left;
	struct outgoing reply;
	int result; /* of a step */
};

struct io_thread {
	struct io_thread_config config;
	struct wire_tls *tls; /* NULL: none */
	int pause_fd;         /* a timer */
	/*
	 * What the accepting thread waits for: the listening socket; or, if
	 * that is shared, and so cannot be shut down to wake the thread, an
	 * epoll of the socket and stop_fd.
	 */
	int wait_fd, stop_fd;

	/* Of the connection that was accepted; the accepting thread's. */
	int accepted_fd;
	struct sockaddr_storage from;
	bool must_pause;

	_Atomic bool refusing; /* accept no more */
	_Atomic bool stopping;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t ended; /* a connection, or the accepting thread */
	bool is_accepting;
	uint32_t connection_count;
	LIST_HEAD(, direct_connection) connections;
};

/* An uthread_fn for a connection that has begun: serve it to its end. */
void connection_serve(void *arg);

/* struct transport */
void direct_suspend(struct connection *c);
void direct_resume(struct connection *c);
bool direct_send(struct connection *c, struct reply *reply);

/* It is over: end it, close its socket, and free it. */
void direct_connection_end(struct direct_connection *c);

#endif
