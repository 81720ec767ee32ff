/* SPDX-License-Identifier: MIT */
/*
 * Interposed functions: recv(), gnutls_record_recv() and accept4() of this
 * program, which libmicrohttpd then calls in place of those of the libraries,
 * because the functions of a program come before those of shared libraries.
 * libmicrohttpd 0.9.75 has no hook for what it reads or accepts.
 *
 * recv() and gnutls_record_recv() remove the white space that may follow the
 * value of Content-Length (RFC 9110, 5.5: it is not a part of the value).
 * libmicrohttpd takes it for a part of the value and answers 400 by itself,
 * before it calls us; some clients and proxies send it.  If our functions are
 * not called, such a request is answered 400, and all others work.
 *
 * All other bytes are passed on as they are, so head.c still finds all that is
 * wrong in a head.  A head is changed only if it begins with the first byte of
 * a recv(): after a client has sent a part of its next request together with
 * the one before, nothing on its connection is changed any more.
 *
 * accept4() sleeps for 20 ms if there is no descriptor or memory for a
 * connection.  libmicrohttpd would otherwise try again at once, and use a whole
 * core for as long as a client waits.
 *
 * Threads    One for each descriptor at a time.
 */
#ifndef SERVICE_INTERPOSE_H
#define SERVICE_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* A new connection.  `is_plain`: without TLS. */
void input_begin(int fd, bool is_plain);

/* A request is over; it had `bytes`, with its head. */
void input_begin_next(int fd, bool is_plain, uint64_t bytes);
void input_end(int fd);

#endif
