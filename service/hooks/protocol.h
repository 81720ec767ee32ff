/* SPDX-License-Identifier: MIT */
/*
 * The messages between the server and its webhook helper, the process
 * `darkroom-webhook`, which has the sockets and the keys of signatures.
 *
 *	server --HOOK_SEND--> helper --POST--> receiver
 *	server <--HOOK_ANSWER-- helper
 *
 * Both ends share a socket of type SOCK_SEQPACKET (service/keeper.h).  Each
 * message is a struct hook_message and the bytes of its body.  The server sends
 * at most HOOK_FLIGHTS_MAX that have no answer.  If a helper ends, the next one
 * may still receive what was sent to it; an answer with a number that nobody
 * waits for is ignored.
 *
 * Nothing in a message is trusted by the other side.  In particular, the helper
 * sends only to the origins that were named when it was started: a server under
 * foreign control cannot make it call others.
 */
#ifndef SERVICE_HOOKS_PROTOCOL_H
#define SERVICE_HOOKS_PROTOCOL_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HOOK_VERSION = 1,
	HOOK_URL_BYTES = 1024,
	HOOK_ORIGIN_BYTES = 320,
	HOOK_ORIGINS_MAX = 65, /* in a list, with that of --webhook */
	HOOK_ID_BYTES = 80,
	HOOK_BODY_BYTES = 64 << 10, /* most bytes of a body */
	HOOK_DETAIL_BYTES = 200,
	HOOK_FLIGHTS_MAX = 32,
	HOOK_ATTEMPT_MS = 15000, /* the longest attempt */
};

enum hook_kind {
	/* From the keeper, with a sentence for the log, or "". */
	HOOK_STARTED,
	HOOK_NOTE,
	HOOK_SEND,   /* from the server: `id` and the body, to `url` */
	HOOK_ANSWER, /* from the helper */
	HOOK_KINDS
};

struct hook_message {
	uint32_t version;
	uint32_t kind; /* enum hook_kind */
	uint64_t number;
	uint32_t body_bytes;
	uint32_t is_wrong;      /* of the keeper's: it is an error */
	uint32_t status;        /* of the reply; 0: there was none */
	uint32_t retry_after_s; /* that the reply asks for; 0: nothing */
	char id[HOOK_ID_BYTES];
	char url[HOOK_URL_BYTES];
	char detail[HOOK_DETAIL_BYTES]; /* why there was no reply */
};

/*
 * Send a message; `body` may be NULL if it has none.  Does not wait: if the
 * socket is full, errno is EAGAIN.  False: errno.
 */
MUST_CHECK bool hook_send(int socket, const struct hook_message *m,
			  const char *body);

enum hook_received { HOOK_RECEIVED, HOOK_NOTHING, HOOK_BAD, HOOK_END };

/*
 * Receive a message, without waiting: HOOK_NOTHING: there is none.  HOOK_BAD:
 * it is no message, and is skipped.  HOOK_END: the other end is closed.
 */
MUST_CHECK enum hook_received hook_receive(int socket, struct hook_message *m,
					   char body[HOOK_BODY_BYTES]);

/*
 * The origin of a URL, such as "https://shop.example" or "http://10.0.0.1:81":
 * in lower case, without the usual port.  False: it is no absolute URL of http
 * or https, of at most 1023 printable ASCII characters, without a name before
 * "@" and without a fragment.
 */
MUST_CHECK bool hook_origin(const char *url, char origin[HOOK_ORIGIN_BYTES]);

/*
 * Read the next origin of a list ORIGIN,... .  False: the list has ended, or
 * what comes is no origin as hook_origin() writes it: then **at is not '\0'.
 */
bool hook_next_origin(const char **at, char origin[HOOK_ORIGIN_BYTES]);

/*
 * Check a URL, or a list of origins, and give the reason if it is wrong: then
 * false.
 */
MUST_CHECK bool hook_check_url(const char *url, const char **why);
MUST_CHECK bool hook_check_origins(const char *origins, const char **why);

#endif
