/* SPDX-License-Identifier: MIT */
/*
 * Opened: what flags name by a path or an address, opened before the server has
 * threads, so that paths and addresses can be out of reach while it serves.
 *
 * What is wrong is told on stderr.
 */
#ifndef SERVICE_OPENED_H
#define SERVICE_OPENED_H

#include "service/config/options.h"
#include "service/store/store.h"
#include "service/secrets.h"

#include "stages/graph.h"

#include <stdbool.h>
#include <stdio.h>

enum { EXIT_USAGE = 2 }; /* a flag, or what it names, is no good */

struct opened {
	int listen_fd; /* -1: none, or taken over */
	int admin_fd;  /* as well */
	uint16_t port, admin_port;
	struct secrets secrets;
	struct stage_graph graph; /* of --balance partition */
	struct store *store;      /* NULL: not asked for */
	FILE *trace;              /* NULL: not asked for, or taken over */
};

/* Returns an exit status.  Either way `to` is good for opened_release(). */
int opened_init(struct opened *to, const struct options *o);
void opened_release(struct opened *opened);

/*
 * Can --save-graph be written at the end?  As the sandbox leaves all of its
 * folder open, / is refused with one.  False: *why says why not.
 */
bool opened_can_save_graph(const struct options *o, const char **why);

/* Say why a flag's value is no good.  Returns `status`. */
int opened_complain(const struct options *o, int status, const char *flag,
		    const char *value, const char *why);

#endif
