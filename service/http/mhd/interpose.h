/* SPDX-License-Identifier: MIT */
/*
 * Interpose: this program's own recv(), gnutls_record_recv() and accept4().
 *
 * The dynamic linker prefers the functions of a program to those of shared
 * libraries, so libmicrohttpd calls these instead.  Version 0.9.75 has no hook
 * for reading or accepting.
 *
 * recv(), gnutls_record_recv()
 *	White space may follow the value of a Content-Length; it is not a part
 *	of the value (RFC 9110, 5.5).  Some clients and proxies send it.
 *	libmicrohttpd refuses such a request with 400 before it calls us, so
 *	these functions remove the white space.
 *	libmicrohttpd takes a NUL before a LF for a CR, and a line that begins
 *	with a colon for the end of the head, and head.c cannot see this.  So a
 *	NUL in a head, and such a colon, become bytes 1, which head.c refuses.
 *	All other bytes stay as they are, and head.c still finds all errors of a
 *	head.
 *	A head is changed only if its first byte is the first byte of a recv().
 *	If a client has sent the beginning of a request together with the
 *	request before, nothing is changed on its connection from then on.
 *
 * accept4()
 *	If there is no descriptor or memory for a connection, it sleeps for
 *	20 ms.  Without this, libmicrohttpd would try again at once, and use a
 *	whole core as long as a client waits.
 *
 * The functions below tell recv() where a head begins.
 *
 * Threads    One for each descriptor at a time.
 */
#ifndef SERVICE_INTERPOSE_H
#define SERVICE_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* A connection was accepted.  `is_plain`: without TLS. */
void input_begin(int fd, bool is_plain);

/*
 * A request is over; it had `bytes`, head and body together.  The next one may
 * begin.
 */
void input_begin_next(int fd, bool is_plain, uint64_t bytes);

/* The connection ends, or it is not known where its next head begins. */
void input_end(int fd);

#endif
