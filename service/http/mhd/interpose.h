/* SPDX-License-Identifier: MIT */
/*
 * Interpose: this program's own recv(), accept4(), sendfile64(), and two
 * functions of GnuTLS.
 *
 * The dynamic linker prefers the functions of a program to those of shared
 * libraries, so libmicrohttpd calls these instead.  Version 0.9.75 has no hook
 * for reading or accepting.
 *
 * recv(), gnutls_record_recv(), gnutls_record_check_pending()
 *	What a connection has received passes its input first: see input.h.
 *	With the last bytes recv() also sees to it that libmicrohttpd notices
 *	the end of the connection, which it could miss.
 *
 * accept4()
 *	If there is no descriptor or memory for a connection, it sleeps for
 *	20 ms.  Without this, libmicrohttpd would try again at once, and use a
 *	whole core as long as a client waits.
 *
 * sendfile64()
 *	At the end of the file it fails.  Without this, libmicrohttpd would wait
 *	for ever for the rest of a file that has become shorter while it is
 *	sent.  Now it tries to read the rest, and closes the connection.
 *
 * The functions below say which descriptors are those of connections.
 *
 * Threads    One for each descriptor at a time.
 */
#ifndef SERVICE_INTERPOSE_H
#define SERVICE_INTERPOSE_H

#include "service/http/mhd/input.h"

#include "base/error.h"
#include "base/util.h"

#include <stdbool.h>

/*
 * What this connection receives passes `in`.  `is_plain`: without TLS.  False:
 * the descriptor is too large.
 */
MUST_CHECK bool interpose_begin(int fd, bool is_plain, struct input *in);

/* The connection ends. */
void interpose_end(int fd);

/*
 * How libmicrohttpd calls these functions is not a part of its interface, so
 * only versions that were tried are used: from 0.9.75 on, before 1.1.
 * CMakeLists.txt checks the version that is compiled with, and
 * mhd_version_check() the one that is loaded, which may be another.
 */
bool mhd_version_is_known(const char *version);
MUST_CHECK bool mhd_version_check(struct error *why);

#endif
