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
#include "base/memory.h"

#include "version.h"

#include <errno.h>
#include <string.h>

/* More than any one photo needs: what a pool gives back is not measured. */
enum { POOL_BYTES_KEPT_MAX = 512 << 20 };

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

static enum exit_code print_error(const struct error *error,
				  enum exit_code code)
{
	fprintf(stderr, "imgops_bench: %s\n", error->text);
	return code;
}

/* Where --json goes, or NULL. */
static bool open_json(FILE **out, const struct bench_options *o,
		      struct error *error)
{
	*out = NULL;
	if (o->json == NULL)
		return true;
	*out = fopen(o->json, "we");
	if (*out == NULL)
		error_set(error, "--json %s: %s", o->json, strerror(errno));
	return *out != NULL;
}

static bool close_json(FILE *out, bool written, const struct bench_options *o,
		       struct error *error)
{
	if (fclose(out) == 0 && written)
		return true;
	error_set(error, "--json %s: %s", o->json, strerror(errno));
	return false;
}

static enum exit_code run_measure(const struct folder *folder,
				  const struct bench_options *o,
				  const struct memory *memory, FILE *json)
{
	struct measure m;
	struct error error;
	enum exit_code code = EXIT_DONE;

	if (!measure_run(&m, folder, o, memory, &error))
		return print_error(&error, EXIT_FAILED);
	report_print(stdout, &m, o);
	if (json != NULL &&
	    !close_json(json, report_write_json(json, &m, o), o, &error))
		code = print_error(&error, EXIT_FAILED);
	measure_release(&m);
	return code;
}

static enum exit_code run_comparison(const struct folder *folder,
				     const struct bench_options *o,
				     const struct memory *memory, FILE *json)
{
	struct quality q = quality_run(folder, o, memory);
	enum exit_code code = EXIT_DONE;
	struct error error;

	if (!quality_print(stdout, &q))
		code = EXIT_FAILED;
	if (json != NULL &&
	    !close_json(json, quality_write_json(json, &q), o, &error))
		code = print_error(&error, EXIT_FAILED);
	quality_release(&q);
	return code;
}

/* All that comes after the options. */
static enum exit_code run_command(const struct bench_options *o)
{
	struct memory_pool *pool = memory_pool_new(POOL_BYTES_KEPT_MAX);
	struct folder folder = { 0 };
	enum exit_code code;
	struct error error;
	FILE *json;

	error_set(&error, "%s", strerror(errno));
	if (pool == NULL || !open_json(&json, o, &error) ||
	    !folder_load(&folder, o->dataset, o->max_bytes, &error))
		code = print_error(&error, EXIT_USAGE);
	else if (o->verify || o->score != NULL)
		code = run_comparison(&folder, o, memory_pool_memory(pool),
				      json);
	else
		code = run_measure(&folder, o, memory_pool_memory(pool), json);
	folder_release(&folder);
	memory_pool_free(pool);
	return code;
}

int main(int argc, char **argv)
{
	struct bench_options o;
	struct error error;

	if (!bench_options_parse(&o, argc, argv, &error)) {
		print_error(&error, EXIT_USAGE);
		fprintf(stderr, "Try 'imgops_bench --help'.\n");
		return EXIT_USAGE;
	}
	if (program_answer(&bench_program, &o.asked, DARKROOM_COMMIT, stdout))
		return EXIT_DONE;
	return run_command(&o);
}
