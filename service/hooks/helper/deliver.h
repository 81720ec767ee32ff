/* SPDX-License-Identifier: MIT */
/*
 * Deliver: receive events from the server over KEEPER_SOCKET (protocol.h), send
 * each by one POST, signed, and answer what came of it.  Returns when the
 * server has closed the socket.
 */
#ifndef SERVICE_HOOKS_DELIVER_H
#define SERVICE_HOOKS_DELIVER_H

#include "service/hooks/helper/secrets.h"

struct deliver_config {
	const struct secrets *secrets;
	const char *allowed; /* ORIGIN,...: others are refused */
	const char *ca_file; /* NULL: the system's certificates */
};

/* False: libcurl could not be started. */
MUST_CHECK bool deliver(const struct deliver_config *c);

#endif
