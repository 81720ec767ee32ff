/* SPDX-License-Identifier: MIT */
/*
 * Transport: reads requests from connections and writes replies to them.  This
 * file is the border between a transport and the rest of http/.
 *
 *	transport -- port_admit(), connection_begin(), connection_end() -->
 *	                                                              http.c
 *	transport -- request_new(), request_head(), request_piece(),
 *	             request_next(), request_end() -----------> request_steps.c
 *	transport <- struct transport: suspend(), resume(), send() -- request.h
 *
 * The transport calls the functions below; struct transport has the functions
 * that it offers.  mhd/ has the transport over libmicrohttpd; no file outside
 * of mhd/ uses that library.
 *
 * The calls for one request, in this order:
 *
 *	request_new()    the request line is there
 *	request_head()   the head is complete
 *	request_piece()  a piece of the body is there; none or many
 *	request_next()   the body is complete, or its chunks have a fault;
 *	                 later, each time that the connection was resumed
 *	request_end()    the reply was sent, or the connection ends
 *
 * request_new() may be followed by request_end() directly, and a request that
 * was answered by send() early may still get pieces of its body.
 *
 * Ownership  A struct connection is the transport's, from connection_begin() to
 *            the return of connection_end().  A struct request is not its.
 * Threads    All calls for one connection come from one thread: an I/O thread
 *            that serves many connections, or a thread of its own, for which
 *            the thread that accepts, or the one that stops accepting, may
 *            report its beginning and its end.  Any thread may call resume().
 */
#ifndef SERVICE_TRANSPORT_H
#define SERVICE_TRANSPORT_H

#include "service/http/head/chunk_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Statuses of replies that are no problems; see problem.h for the others. */
enum {
	STATUS_OK = 200,
	STATUS_CREATED = 201,
	STATUS_ACCEPTED = 202,
	STATUS_NO_CONTENT = 204,
	STATUS_PARTIAL_CONTENT = 206,
	STATUS_NOT_MODIFIED = 304,
	STATUS_UNAUTHORIZED = 401,
	STATUS_SERVICE_UNAVAILABLE = 503,
};

struct client;
struct connection;
struct io_thread;
struct port;
struct request;
struct transport;
struct uthreads;

/* A header, or a parameter of a query; value NULL: the parameter has no "=". */
struct http_field {
	const char *name, *value;
};

/* Has the field this name?  Case is ignored. */
bool http_field_is(const struct http_field *field, const char *name);

/* The first field with this name, in any case; NULL: none, or without "=". */
const char *http_field_find(const struct http_field *fields, size_t count,
			    const char *name);

/* Why the transport could not read a head. */
enum head_fault {
	HEAD_FINE,
	HEAD_MALFORMED, /* it is not the head of an HTTP/1 request */
	HEAD_UNKNOWN_VERSION,
	HEAD_WRONG_LENGTH, /* Content-Length is not a number */
	HEAD_LARGE_LENGTH,
	HEAD_LONG_LINE, /* the request line has no end within the limit */
	HEAD_TOO_LARGE, /* nor do the headers */
};

/*
 * The head of a request.  Its texts are valid until request_end(); those of
 * `target` may be changed.
 */
struct request_head {
	/*
	 * Unless this is HEAD_FINE, headers may be missing, the method, target
	 * and version may be made up, and nothing more is read from the
	 * connection.
	 */
	enum head_fault fault;
	const char *method, *version;
	char *target; /* as it was sent, with its query */
	size_t bytes; /* of all lines, with their ends */
	/*
	 * False: a space, a line's end or a NUL stands where it must not, so
	 * that another reader could understand the head in another way.
	 */
	bool is_exact;
	bool is_last; /* the transport reads no other on the connection */
	/* The body comes in chunks. */
	bool is_chunked;
	/* Then, what the transport has read of them until now. */
	struct chunk_reader chunks;
	const struct http_field *fields; /* the headers, in their order */
	size_t field_count;
};

enum {
	REPLY_HEADERS_MAX = 32,
	REPLY_TEXT_BYTES = 4096,
	REPLY_PIECES_MAX = 33,
};

/* read() returns this at the end of the body. */
enum { REPLY_END = -1 };

enum reply_kind {
	REPLY_PIECES, /* bytes in memory, without a copy; maybe none */
	REPLY_FILE,   /* a part of a file */
	REPLY_READ,   /* bytes that read() makes while they are sent */
};

/*
 * A reply: made by reply_init() and the functions after it, and given away to
 * send(), which writes its head with the headers in their order.
 */
struct reply {
	unsigned int status;
	uint32_t header_count;
	struct http_field headers[REPLY_HEADERS_MAX];
	char text[REPLY_TEXT_BYTES]; /* of the headers */
	size_t text_bytes;

	enum reply_kind kind;
	bool has_length; /* false: how long the body is, is not yet known */
	uint64_t bytes;  /* of the body */
	struct iovec pieces[REPLY_PIECES_MAX];
	uint32_t piece_count;
	/* REPLY_FILE; owned by the reply, and open until request_end() ends. */
	int fd;
	uint64_t offset;
	/*
	 * REPLY_READ: copy the bytes from `at` on, at most `bytes_max`, which
	 * is about read_bytes.  Returns how many; 0: the connection was
	 * suspended, and is resumed when there are some; REPLY_END.
	 */
	ssize_t (*read)(void *arg, uint64_t at, char *to, size_t bytes_max);
	size_t read_bytes;
	void *arg; /* for read() and release() */
	/*
	 * Called when the body is not needed any more, perhaps after
	 * request_end(), so it must not use the request.  NULL, and with a
	 * file: nothing.
	 */
	void (*release)(void *arg);
};

/* An empty reply. */
void reply_init(struct reply *p);

/* The value is copied.  A header without a value ("") is left out. */
void reply_add_header(struct reply *p, const char *name, const char *value);

/* The bytes must stay in memory until the request ends, or until release(). */
void reply_add_piece(struct reply *p, const void *bytes, size_t count);

/* Free the body of a reply that is not given to send(). */
void reply_drop(struct reply *p);

/* "Not Found" for 404. */
const char *http_reason(unsigned int status);

/* A thread that serves connections of a port, or starts a thread for each. */
struct io_thread_config {
	struct port *port;
	uint32_t index; /* of the thread at its port */
	/*
	 * Where to accept connections; -1: they are given by give(), which
	 * transport_direct does not have.
	 */
	int listen_fd;
	bool is_shared; /* see http_config.shares_listen_fd */
	/* Each connection has a kernel thread, and nothing is suspended. */
	bool has_threads;
	/* They run the connections of transport_direct; otherwise NULL. */
	struct uthreads *uthreads;
	bool has_tls; /* see tls_serve() */
	uint32_t connections_max;
	size_t connection_bytes; /* memory for a connection's input */
	uint64_t body_bytes_max; /* of a body in chunks */
};

struct transport {
	/* NULL: it could not be started. */
	struct io_thread *(*start)(const struct io_thread_config *config);
	/* NULL: none.  Serve this connection.  False: it was closed. */
	bool (*give)(struct io_thread *t, int fd, const struct sockaddr *from,
		     socklen_t bytes);
	/*
	 * Accept no more.  Returns the listening socket, which the caller
	 * closes after stop(); -1: none.
	 */
	int (*stop_accepting)(struct io_thread *t);
	/* End all connections, and the thread. */
	void (*stop)(struct io_thread *t);

	/*
	 * suspend(): no more calls for this connection until resume().  Only
	 * the connection's own thread suspends it.
	 */
	void (*suspend)(struct connection *c);
	void (*resume)(struct connection *c);
	/*
	 * Send a reply to the connection's present request.  The body of the
	 * reply belongs to the transport from now on, also if this fails.  The
	 * first byte is not sent before the transport's call that led here has
	 * returned.  False: no memory, and the connection must be closed.
	 */
	bool (*send)(struct connection *c, struct reply *reply);
};

extern const struct transport transport_mhd;
extern const struct transport transport_direct; /* in direct/ */

/* A connection; a transport may have more members behind these. */
struct connection {
	const struct transport *transport;
	struct port *port;
	uint32_t io_thread; /* the index of its thread at the port */
	int fd;
	void *tls;             /* its gnutls_session_t; NULL: no TLS */
	struct client *client; /* set by connection_begin() */
};

static inline void connection_suspend(struct connection *c)
{
	c->transport->suspend(c);
}

static inline void connection_resume(struct connection *c)
{
	c->transport->resume(c);
}

/* Called by a transport; http.c has these. */

/* May one more connection come from this address? */
bool port_admit(struct port *port, const struct sockaddr *from);

/* A connection was accepted; its members but `client` are set. */
void connection_begin(struct connection *c, const struct sockaddr *from);

/* It will be closed after this call. */
void connection_end(struct connection *c);

/* Called by a transport; request_steps.c has these. */

enum request_ending {
	ENDED_SENT, /* the reply was sent to its last byte */
	ENDED_GONE, /* the connection has ended before that */
	/* The transport has refused it, or could not read it to its end. */
	ENDED_BROKEN,
	ENDED_STOPPED, /* the server stops */
};

/* NULL: no memory, and the connection must be closed. */
struct request *request_new(struct connection *c);

/* False, for these three: close the connection. */
bool request_head(struct request *r, const struct request_head *head);
bool request_piece(struct request *r, const char *data, size_t bytes);
bool request_next(struct request *r);

/* `r` NULL: there was no memory for it. */
void request_end(struct connection *c, struct request *r,
		 enum request_ending how);

#endif
