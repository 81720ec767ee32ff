/* SPDX-License-Identifier: MIT */
/*
 * Input: what a client sends, before libmicrohttpd gets it.
 *
 * Our own reader (head_reader.h) reads the heads, and keeps them for
 * transport_mhd.c.  In the place of each, libmicrohttpd gets a short one in
 * plain HTTP, which says only what it must know:
 *
 *	P / HTTP/1.1               or HEAD, or 1.0
 *	Host:
 *	Content-Length:12          or Transfer-Encoding:chunked
 *	Expect:100-continue        if the body has not begun to arrive
 *	Connection:keep-alive      or close
 *
 * Bodies are passed on as they are.  If a body comes in chunks, our own reader
 * (chunk_reader.h) reads them, and passes on the same chunks with plain sizes,
 * without extensions and trailers.  Chunks with a fault end there, as if that
 * was the last one: so libmicrohttpd reports the end, and then the fault is in
 * the head.  So all versions of libmicrohttpd see the same, refuse nothing by
 * themselves, and cannot find another end of a request than we do.
 *
 * Behind a head whose request is the last of its connection in any case,
 * nothing is passed on but its body: a head with a fault, or one that head.c
 * refuses and closes the connection.  Nor is anything behind chunks with a
 * fault.
 *
 * What stands for a head, or for a line of chunks, is never longer than that,
 * unless nothing follows it; but the head may have been received before, in
 * parts.  input_read() passes on all at once that is not a part of a head or
 * of such a line, or as much as there is
 * room for, so that libmicrohttpd, which waits for its socket, never waits for
 * bytes that are here.
 *
 * Threads    The connection's.
 * Limits     A head: see head_reader.h.  The heads of requests that follow each
 *            other without waiting for the replies are kept.  If they take
 *            more bytes than one head may have, the last of them is the last
 *            one of its connection.
 */
#ifndef SERVICE_INPUT_H
#define SERVICE_INPUT_H

#include "service/http/head/head_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct input;

/* Where bytes come from. */
struct input_source {
	/* As recv(): returns the number of bytes; 0: the end; less: nothing. */
	ssize_t (*receive)(void *arg, char *to, size_t bytes);
	void *arg;
	/* If it gets fewer bytes than it was asked for, there are no more. */
	bool is_drained;
};

enum {
	/* Nothing could be passed on, as if nothing had been received. */
	INPUT_NONE = -1000001,
	INPUT_NO_MEMORY = -1000002,
};

/*
 * `body_bytes_max`: of a body in chunks.  `may_stop`: input_read() need not
 * pass on all that it could, because libmicrohttpd calls again as long as the
 * socket has bytes (poll(), without TLS).  NULL: no memory.
 */
struct input *input_new(size_t head_bytes_max, uint64_t body_bytes_max,
			bool may_stop);

/* NULL is fine. */
void input_free(struct input *in);

/*
 * Receive, and pass on up to `bytes` bytes.  Returns their number, INPUT_NONE,
 * INPUT_NO_MEMORY, or what receive() returned.
 */
ssize_t input_read(struct input *in, char *to, size_t bytes,
		   const struct input_source *source);

/* Does nothing follow what was received?  See above. */
bool input_has_ended(const struct input *in);

/* Bytes that input_read() can pass on without receiving more. */
size_t input_waiting(const struct input *in);

/*
 * The first head that was passed on.  It is complete if all of it was passed
 * on; its `chunks` are what was read of them, which may be more than was passed
 * on.  NULL: none was.
 */
const struct request_head *input_head(const struct input *in);

/* The request of this head is over. */
void input_drop_head(struct input *in);

#endif
