/* SPDX-License-Identifier: MIT */
/*
 * The messages between the server and its store helper, the process
 * `darkroom-store`, which has the sockets and the keys of an object store.
 *
 *	server --request, with a descriptor--> helper --HTTP--> object store
 *	server <--answer, with a descriptor-- helper
 *
 * Both ends share a socket of type SOCK_SEQPACKET.  Each message is one
 * `struct message`, whole or not there, with at most one descriptor.  Bytes of
 * images are never in a message: they are in the descriptor's file, which is
 * anonymous memory (memfd) or a file of the helper's cache.
 *
 * Life of a request
 *	1. The server sends it, and keeps it until its answer comes or its
 *	   deadline passes.
 *	2. The helper sends one answer with the same number.
 *	3. If a helper ends, its keeper (the parent process) starts another and
 *	   sends MESSAGE_STARTED over the same socket.  The server then sends
 *	   again what has no answer.  A helper ignores a request that it has
 *	   received already.  So a request is carried out twice only if a helper
 *	   ended while the object store did it; an image's id names its bytes,
 *	   so a second PUT of it changes nothing.
 *	4. An answer with a number that nobody waits for is ignored.
 *
 * Nothing in a message is trusted by the other side: message_receive() refuses
 * messages of another size, version or kind, texts without their NUL, and ids
 * that store_is_id() refuses.
 */
#ifndef SERVICE_STORE_PROTOCOL_H
#define SERVICE_STORE_PROTOCOL_H

#include "service/store/entries.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	MESSAGE_VERSION = 5,
	MESSAGE_DETAIL_BYTES = 200,
};

enum message_kind {
	/*
	 * From the keeper, with a sentence for the log, or "": a helper is
	 * started; something else.  `answer`: is it an error?
	 */
	MESSAGE_STARTED,
	MESSAGE_NOTE,
	/* From the server. */
	/*
	 * fd: a package of `bytes` bytes, for `id`.  If it must_be_new, or has
	 * an `etag`, the answer may be STORE_CHANGED.
	 */
	MESSAGE_PUT,
	MESSAGE_READ,   /* `bytes` bytes of the package `id`, from `from` on */
	MESSAGE_DELETE, /* `id` */
	/*
	 * Images behind `id` ("": all) whose ids begin with `detail`: at most
	 * `bytes` of them.
	 */
	MESSAGE_LIST,
	MESSAGE_PROBE, /* can the store be used?  The answer has `figures` */
	/* From the helper. */
	MESSAGE_ANSWER,
	MESSAGE_KINDS
};

/* Counted by a helper since its start. */
struct store_figures {
	uint64_t requests;   /* HTTP requests that were sent */
	uint64_t retries;    /* of these, not the first for its message */
	uint64_t errors;     /* without an answer, or 5xx */
	uint64_t sent_bytes; /* of bodies */
	uint64_t received_bytes;
	uint64_t cache_hits, cache_misses, cache_evictions;
	uint64_t cache_failures;    /* copies that could not be written */
	uint64_t put_ns, put_count; /* time of PUT requests, without retries */
	uint64_t get_ns, get_count;
	struct store_gauges {
		uint64_t cache_bytes, cache_quota_bytes;
		uint64_t cache_free_bytes; /* of its file system */
		uint64_t cache_error;      /* errno of the last failure */
		/* 1: a PUT with an `etag` is carried out in any case. */
		uint64_t lacks_conditions;
	} now; /* at the end: not counted */
};

struct message {
	uint32_t version;
	uint32_t kind;        /* enum message_kind */
	uint64_t number;      /* chosen by the server */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
	/* Of the package; READ: wanted; READ's answer: of the whole package. */
	uint64_t bytes;
	uint64_t from;     /* READ, and its answer; LIST's: are there more? */
	uint32_t is_fresh; /* READ: from the object store, not from the cache */
	uint32_t must_be_new; /* PUT: only if there is no such image */
	char id[STORE_ID_BYTES];
	/*
	 * PUT: only in place of the object that has this ETag.  READ's answer:
	 * that of the object; "": it has none that says which it is, or the
	 * file was in the cache already.
	 */
	char etag[STORE_VERSION_BYTES];
	/* Answers only. */
	uint32_t answer;  /* enum store_answer */
	uint32_t is_same; /* PUT: the image existed with these bytes */
	uint32_t is_copy; /* READ: the file is one of the cache, on the disk */
	/* DETAIL: why it failed, a sentence for the client, without secrets. */
	char detail[MESSAGE_DETAIL_BYTES];
	struct store_figures figures; /* of every answer */
};

/*
 * READ's answer has a file that begins with the byte `from` of the package: the
 * bytes that were asked for, as far as the package has them, in anonymous
 * memory; so the server knows how much memory a request can take.  Or a copy in
 * the cache, which is the whole package; then `from` is 0.
 * STORE_NOT_FOUND: no such image.
 */

/*
 * LIST's answer has a file with a line "ID SECONDS" for each image, in the
 * order of the ids; the time, since 1970, is when its object was changed last.
 */

/*
 * Send a message, with a descriptor unless fd is -1; the caller still owns it.
 * Waits while the socket is full.  False: errno.
 */
MUST_CHECK bool message_send(int socket, const struct message *m, int fd);

enum message_result { MESSAGE_OK, MESSAGE_BAD, MESSAGE_END };

/*
 * Receive a message; waits for one, unless the socket does not block (then
 * MESSAGE_BAD with errno EAGAIN).  *fd is the caller's, or -1.  MESSAGE_BAD:
 * not a message; it is skipped, and its descriptors are closed.  MESSAGE_END:
 * the other end is closed.
 */
MUST_CHECK enum message_result message_receive(int socket, struct message *m,
					       int *fd);

#endif
