/* SPDX-License-Identifier: MIT */
#include "service/opened.h"

#include "service/http/listen.h"
#include "service/pipeline/partition.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int opened_complain(const struct options *o, int status, const char *flag,
		    const char *value, const char *why)
{
	char refusal[OPTIONS_REFUSAL_BYTES];

	options_refuse(o, flag, value, why, refusal);
	(void)fprintf(stderr, "darkroom: %s\n", refusal);
	return status;
}

static int load_graph(struct opened *to, const struct options *o)
{
	const char *why;

	if (o->schedule.balance != BALANCE_PARTITION ||
	    partition_load(&to->graph, o->graph, &why))
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, "graph", o->graph, why);
}

/* Is the file's folder the root folder, by whatever path? */
static bool is_in_root(const char *path)
{
	char *copy = strdup(path);
	struct stat folder, root;
	bool is =
		copy == NULL ||
		(stat(dirname(copy), &folder) == 0 && stat("/", &root) == 0 &&
		 folder.st_dev == root.st_dev && folder.st_ino == root.st_ino);

	free(copy);
	return is;
}

bool opened_can_save_graph(const struct options *o, const char **why)
{
	if (o->sandbox != SANDBOX_OFF && is_in_root(o->save_graph)) {
		*why = "the sandbox leaves its folder open: give it one of "
		       "its own";
		return false;
	}
	*why = NULL;
	if (!graph_can_be_saved(o->save_graph))
		*why = strerror(errno);
	return *why == NULL;
}

/* Now, not when there is something to lose. */
static int check_save_graph(const struct options *o)
{
	const char *why;

	if (o->save_graph == NULL || opened_can_save_graph(o, &why))
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, "save-graph", o->save_graph, why);
}

static int open_address(const struct options *o, const char *flag,
			const char *address, int *fd, uint16_t *port)
{
	const char *why;

	if (address == NULL)
		return EXIT_SUCCESS;
	*fd = listen_on(address, port, &why);
	if (*fd >= 0)
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, flag, address, why);
}

static int open_store(struct opened *to, const struct options *o)
{
	const char *why;

	if (o->store == NULL)
		return EXIT_SUCCESS;
	to->store = store_open(o->store, o->store_quota_bytes, &why);
	if (to->store != NULL)
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, "store", o->store, why);
}

static int open_trace(struct opened *to, const struct options *o)
{
	if (o->trace == NULL)
		return EXIT_SUCCESS;
	to->trace = fopen(o->trace, "we");
	if (to->trace != NULL)
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, "trace", o->trace,
			       strerror(errno));
}

int opened_init(struct opened *to, const struct options *o)
{
	*to = (struct opened){ .listen_fd = -1, .admin_fd = -1 };

	int status = secrets_load(&to->secrets, o);

	if (status == EXIT_SUCCESS)
		status = load_graph(to, o);
	if (status == EXIT_SUCCESS)
		status = check_save_graph(o);
	if (status == EXIT_SUCCESS)
		status = open_address(o, "listen", o->listen, &to->listen_fd,
				      &to->port);
	if (status == EXIT_SUCCESS)
		status = open_address(o, "admin-listen", o->admin_listen,
				      &to->admin_fd, &to->admin_port);
	if (status == EXIT_SUCCESS)
		status = open_store(to, o);
	if (status == EXIT_SUCCESS)
		status = open_trace(to, o);
	return status;
}

void opened_release(struct opened *opened)
{
	if (opened->listen_fd >= 0)
		(void)close(opened->listen_fd);
	if (opened->admin_fd >= 0)
		(void)close(opened->admin_fd);
	store_close(opened->store);
	if (opened->trace != NULL)
		(void)fclose(opened->trace);
	secrets_release(&opened->secrets);
}
