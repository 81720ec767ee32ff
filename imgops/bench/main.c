/* SPDX-License-Identifier: MIT */
/*
 * imgops_bench: options -> folder -> measure -> report
 *                                -> quality
 *
 * The only file that prints to the user or ends the program.
 */
#include "imgops/bench/measure.h"
#include "imgops/bench/quality.h"
#include "imgops/bench/report.h"
#include "imgops/pool.h"

#include <errno.h>
#include <string.h>

/* More than any one photo needs: what a pool gives back is not measured. */
enum { POOL_BYTES_KEPT_MAX = 512 << 20 };

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static enum exit_code complain(const struct error *error, enum exit_code code)
{
	fprintf(stderr, "imgops_bench: %s\n", error->text);
	return code;
}

/* Where --json goes, or NULL. */
static bool open_json(FILE **out, const struct options *o, struct error *error)
{
	*out = NULL;
	if (o->json == NULL)
		return true;
	*out = fopen(o->json, "we");
	if (*out == NULL)
		error_set(error, "--json %s: %s", o->json, strerror(errno));
	return *out != NULL;
}

static bool close_json(FILE *out, bool written, const struct options *o,
		       struct error *error)
{
	if (fclose(out) == 0 && written)
		return true;
	error_set(error, "--json %s: %s", o->json, strerror(errno));
	return false;
}

static enum exit_code measure(const struct folder *folder,
			      const struct options *o,
			      const struct img_memory *memory, FILE *json)
{
	struct measure m;
	struct error error;
	enum exit_code code = EXIT_DONE;

	if (!measure_run(&m, folder, o, memory, &error))
		return complain(&error, EXIT_FAILED);
	report_print(stdout, &m, o);
	if (json != NULL &&
	    !close_json(json, report_write_json(json, &m, o), o, &error))
		code = complain(&error, EXIT_FAILED);
	measure_release(&m);
	return code;
}

static enum exit_code compare(const struct folder *folder,
			      const struct options *o,
			      const struct img_memory *memory, FILE *json)
{
	struct quality q = quality_run(folder, o, memory);
	enum exit_code code = EXIT_DONE;
	struct error error;

	if (!quality_print(stdout, &q))
		code = EXIT_FAILED;
	if (json != NULL &&
	    !close_json(json, quality_write_json(json, &q), o, &error))
		code = complain(&error, EXIT_FAILED);
	quality_release(&q);
	return code;
}

/* All that comes after the options. */
static enum exit_code run(const struct options *o)
{
	struct img_pool *pool = img_pool_new(POOL_BYTES_KEPT_MAX);
	struct folder folder = { 0 };
	enum exit_code code;
	struct error error;
	FILE *json;

	error_set(&error, "%s", strerror(errno));
	if (pool == NULL || !open_json(&json, o, &error) ||
	    !folder_load(&folder, o->dataset, o->max_bytes, &error))
		code = complain(&error, EXIT_USAGE);
	else if (o->verify || o->score != NULL)
		code = compare(&folder, o, img_pool_memory(pool), json);
	else
		code = measure(&folder, o, img_pool_memory(pool), json);
	folder_release(&folder);
	img_pool_free(pool);
	return code;
}

int main(int argc, char **argv)
{
	struct options o;
	struct error error;

	if (!options_parse(&o, argc, argv, &error)) {
		complain(&error, EXIT_USAGE);
		fprintf(stderr, "Try 'imgops_bench --help'.\n");
		return EXIT_USAGE;
	}
	if (o.help) {
		options_print_help(stdout);
		return EXIT_DONE;
	}
	return run(&o);
}
