/* SPDX-License-Identifier: MIT */
/*
 * imgops_bench: options -> folder -> measure -> report.
 *
 * The only file that prints to the user or ends the program.
 */
#include "imgops/bench/measure.h"
#include "imgops/bench/report.h"

#include <errno.h>
#include <string.h>

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

static bool write_json(const struct measure *m, const struct options *o,
		       struct error *error)
{
	FILE *out;
	bool written;

	if (o->json == NULL)
		return true;
	out = fopen(o->json, "we");
	written = out != NULL && report_write_json(out, m, o);
	if (out != NULL && fclose(out) != 0)
		written = false;
	if (!written)
		error_set(error, "--json %s: %s", o->json, strerror(errno));
	return written;
}

static enum exit_code measure(const struct folder *folder,
			      const struct options *o)
{
	struct measure m;
	struct error error;
	enum exit_code code = EXIT_DONE;

	if (!measure_run(&m, folder, o, &error))
		return complain(&error, EXIT_FAILED);
	report_print(stdout, &m, o);
	if (!write_json(&m, o, &error))
		code = complain(&error, EXIT_FAILED);
	measure_release(&m);
	return code;
}

int main(int argc, char **argv)
{
	struct folder folder = { 0 };
	struct options o;
	struct error error;
	enum exit_code code;

	if (!options_parse(&o, argc, argv, &error)) {
		complain(&error, EXIT_USAGE);
		fprintf(stderr, "Try 'imgops_bench --help'.\n");
		return EXIT_USAGE;
	}
	if (o.help) {
		options_print_help(stdout);
		return EXIT_DONE;
	}
	if (!folder_load(&folder, o.dataset, o.max_bytes, &error))
		return complain(&error, EXIT_USAGE);
	code = measure(&folder, &o);
	folder_release(&folder);
	return code;
}
