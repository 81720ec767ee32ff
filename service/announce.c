/* SPDX-License-Identifier: MIT */
#include "service/announce.h"

#include "stages/cores.h"

#include <stdlib.h>

static void print_cores(const struct cores *cores, FILE *to)
{
	for (uint32_t i = 0; i < cores_count(cores); i++)
		(void)fprintf(to, "%c%u", i == 0 ? ' ' : ',',
			      cores_cpu(cores, i));
}

void announce_start(struct log *l, const struct options *o,
		    const struct opened *opened,
		    const struct pipeline_config *config)
{
	FILE *to = log_begin(l);

	if (to == NULL)
		return;
	(void)fprintf(
		to, "version " DARKROOM_VERSION ", listening on %s (port %u), ",
		o->listen, opened->port);
	if (o->admin_listen != NULL)
		(void)fprintf(to, "admin on %s (port %u), ", o->admin_listen,
			      opened->admin_port);
	pipeline_print_schedule(config, to);
	(void)fprintf(to, ", cores");
	print_cores(config->cores, to);
	log_end(l);
}

void announce_sandbox(struct log *l, const struct sandbox *sandbox)
{
	FILE *to = log_begin(l);

	if (to == NULL)
		return;
	(void)fprintf(to, "sandbox: ");
	sandbox_print(sandbox, to);
	log_end(l);
}

static void announce_tables(struct log *l, struct stats_source *source)
{
	FILE *to = log_begin(l);

	if (to == NULL)
		return;
	stats_print(source, to);
	log_end_table(l);
}

void announce_stats(struct log *l, struct stats_source *source)
{
	char *json;

	if (!log_is_json(l)) {
		announce_tables(l, source);
		return;
	}
	json = stats_json(source);
	log_value(l, "stats", json);
	free(json);
}
