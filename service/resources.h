/* SPDX-License-Identifier: MIT */
/*
 * Resources: everything that flags name by a path or an address, opened before
 * the server has threads and a sandbox.  Errors are printed to stderr.
 *
 * Keys, certificates and the block list can be read again while the server runs
 * (SIGHUP).  The server itself cannot open files then: the sandbox forbids it,
 * and its user may not be allowed to.  So a second process, the reader, reads
 * them:
 *
 *	server  --ask-->  reader: opens and checks the files
 *	   keys, TLS, list  <--told--
 *
 * The reader keeps the rights that the server had at its start.  It receives no
 * byte from a client, and returns only the same kind of secrets that the server
 * already has.  It ends when the server ends.
 *
 * Threads    One.
 */
#ifndef SERVICE_RESOURCES_H
#define SERVICE_RESOURCES_H

#include "service/config/options.h"
#include "service/http/head/auth.h"
#include "service/http/connection/tls.h"
#include "service/hooks/hooks.h"
#include "service/pipeline/block_list.h"
#include "service/store/remote/remote.h"

#include "stages/graph.h"

#include <stdbool.h>
#include <stdio.h>

/* The exit status if a flag, or a file or address that it names, is wrong. */
enum { EXIT_USAGE = 2 };

enum {
	RESOURCES_WARNINGS = 12, /* two for each file with keys */
};

/* What is not right with the modes of files, each as a line for the log. */
struct warnings {
	uint32_t count;
	char lines[RESOURCES_WARNINGS][OPTIONS_REFUSAL_BYTES];
};

struct secrets {
	struct auth *auth;
	struct tls tls; /* empty: plain HTTP, or given to tls_serve() */
	bool has_tls;
	/* Other machines can reach --listen without a key. */
	bool is_exposed;
	struct block_list *blocks; /* NULL: there is none */
	/* NULL: there are no files that could be read again. */
	struct reader *reader;
	struct warnings warnings; /* of the last files that were read */
};

struct server_resources {
	int listen_fd; /* -1: none, or taken over */
	int admin_fd;  /* the same for --admin-listen */
	int agent_fd;  /* for --agent-listen; -1: none */
	uint16_t port, admin_port, agent_port;
	struct secrets secrets;
	struct stage_graph graph; /* the graph for --balance partition */
	struct store *store;      /* NULL: not asked for */
	struct inbox *inbox;      /* NULL: there is none */
	struct hooks *hooks;      /* NULL: there are no webhooks */
	char *hooks_path;         /* of their queue; owned */
	FILE *trace;              /* NULL: not asked for, or taken over */
};

/*
 * Open everything, start the reader and become --user.  Returns an exit status;
 * also after an error, `r` must be released.
 */
int server_resources_init(struct server_resources *r, const struct options *o);
void server_resources_release(struct server_resources *r);

/*
 * Read the files of keys and certificates again.  False: `refusal` says which
 * one is wrong, and nothing has changed.
 */
MUST_CHECK bool
server_resources_reload_secrets(struct secrets *s,
				char refusal[OPTIONS_REFUSAL_BYTES]);

/*
 * For --check-config: read and check these files, and refuse an address that
 * others can reach without a key.  Returns an exit status.
 */
int resources_check_secrets(const struct options *o);

/*
 * Check what --store s3://... needs, without a connection.  Returns an exit
 * status.
 */
int resources_check_remote(const struct options *o);

/* The same for the webhooks, with their keys. */
int resources_check_hooks(const struct options *o);

/*
 * Can --save-graph be written at the end?  The sandbox leaves its folder open,
 * so / is refused with a sandbox.  False: `why` is the reason.
 */
bool resources_can_save_graph(const struct options *o, struct error *why);

/*
 * Read the value of --store, which is s3://..., and the flags that belong to
 * it.  Texts are lent by `o`.  False: the error says what is wrong.
 */
MUST_CHECK bool resources_read_store_url(const struct options *o,
					 struct remote_config *c,
					 struct error *error);

/* Print why a flag's value is wrong.  Returns `status`. */
int resources_refuse(const struct options *o, int status, const char *flag,
		     const char *value, const char *why);

#endif
