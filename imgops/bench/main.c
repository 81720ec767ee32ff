/* SPDX-License-Identifier: MIT */
/*
 * imgops_bench: options -> folder -> measure -> report
 *                                -> quality
 *                                -> gaps
 *
 * The only file that prints to the user or ends the program.
 */
#include "imgops/bench/gaps.h"
#include "imgops/bench/measure.h"
#include "imgops/bench/quality.h"
#include "imgops/bench/report.h"

#include "base/file.h"
#include "version.h"

#include <assert.h>
#include <string.h>

/*
 * More than any photo needs, so that the pool never returns memory to the
 * system during a measurement.
 */
enum { POOL_BYTES_KEPT_MAX = 512 << 20 };

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

#define FIELD(name) FLAG_FIELD(struct bench_options, name)

static const struct flag flags[] = {
	{ "dataset", "DIR", NULL,
	  "use the *.jpg and *.jpeg files below DIR; required",
	  FIELD(dataset) },
	{ "max-bytes", "N", NULL, "use only files of fewer bytes than N",
	  FIELD(max_bytes), .least = 1, .most = 1e18 },
	{ "w", "N", "640", "width of the box, in pixels; 0: unbounded",
	  FIELD(transform.box.width_px), .most = IMG_SIDE_PX_MAX },
	{ "h", "N", "640", "height of the box, in pixels; 0: unbounded",
	  FIELD(transform.box.height_px), .most = IMG_SIDE_PX_MAX },
	{ "fit", "inside|cover|fill", "inside", "how the picture fits the box",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.fit) },
	{ "filter", "lanczos3|box|triangle|bspline|catmull-rom|mitchell",
	  "lanczos3", "resampling filter",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.filter) },
	{ "light", "gamma|linear", "gamma",
	  "scale the numbers of a file, or their light",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.light) },
	{ "enlarge", NULL, NULL, "also enlarge pictures smaller than the box",
	  FIELD(transform.enlarge) },
	{ "blur", "S", "2", "sigma in pixels of the result; 0: none",
	  FIELD(transform.blur_sigma_px), .most = 100 },
	{ "q", "N", "80", "JPEG quality", FIELD(transform.quality), .least = 1,
	  .most = 100 },
	{ "target", "N", NULL,
	  "instead of --q, a quality at which the result has this SSIMULACRA2",
	  FIELD(transform.score), .least = 1, .most = 100 },
	{ "chroma", "420|444|auto", "420", "resolution of the colours",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.chroma) },
	{ "progressive", NULL, NULL, "write progressive files",
	  FIELD(transform.progressive) },
	{ "optimize", NULL, NULL, "Huffman tables for each picture",
	  FIELD(transform.optimize) },
	{ "effort", "N", "0", "time to spend for fewer bytes",
	  FIELD(transform.effort), .most = 9 },
	{ "keep-profile", NULL, NULL,
	  "keep ICC profiles instead of converting to sRGB",
	  FIELD(transform.keep_profile) },
	{ "lenient", NULL, NULL, "use the readable part of a damaged file",
	  FIELD(transform.lenient) },
	{ "passes", "N", "3",
	  "number of passes that are measured, after one to warm up; 0: only "
	  "--save, in one pass",
	  FIELD(passes), .most = 1e6 },
	{ "floor", NULL, NULL,
	  "also measure, in turn, libjpeg-turbo alone: decoding to planes at "
	  "the same DCT scale, and encoding the same result",
	  FIELD(floor) },
	{ "verify", NULL, NULL,
	  "instead, compare every step with a slow reference", FIELD(verify) },
	{ "score", "DIR", NULL,
	  "instead, compare the results in DIR, which have the names of their "
	  "originals, with the reference resize",
	  FIELD(score) },
	{ "gaps", NULL, NULL,
	  "instead, measure the CPU time between two calls of memory.pause(), "
	  "at which a schedule can take the CPU from a picture",
	  FIELD(gaps) },
	{ "save", "DIR", NULL, "write the results to DIR", FIELD(save) },
	{ "json", "FILE", NULL,
	  "write the figures to FILE too, as JSON; -: to standard output, "
	  "instead of the text",
	  FIELD(json) },
	{ "per-file", NULL, NULL, "add a row for each file to --json",
	  FIELD(per_file) },
	/*
	 * To try how much time a larger decode costs, and how much quality it
	 * gains.
	 */
	{ "margin", "F", "1", "decode at F times the needed size",
	  FIELD(margin), .least = 0.1, .most = 8, .is_hidden = true },
	FLAGS_ASKED(struct bench_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program bench_program = {
	.name = "imgops_bench",
	.summary = "measure the picture operations on a folder of JPEGs",
	.usage = "--dataset DIR [OPTION]...",
	.about = "Run the picture operations over the JPEGs of a folder on one "
		 "thread, bound to a CPU, and report what they cost, or how "
		 "good the results are.",
	.groups = groups,
	.notes = "Times are CPU time of the thread. Files that are refused are "
		 "listed.",
	.exit_status = "0 done, 1 --verify found a bound broken, or writing "
		       "failed, 2 wrong usage.",
	.see_also = "darkroom(1)",
	.follows_getopt = true,
};

static bool take_flag(void *options, const struct flag *f, const char *value,
		      struct error *why)
{
	return flag_set(f, value, options, why);
}

/*
 * The strings of `o` point into argv.  False: `error` names the option and its
 * value.
 */
static bool parse_options(struct bench_options *o, int argc, char **argv,
			  struct error *error)
{
	*o = (struct bench_options){ .max_bytes = UINT64_MAX };
	flags_init(flags, o);
	if (!flags_read(&bench_program, argv + 1, (uint32_t)argc - 1, take_flag,
			o, error))
		return false;
	if (flags_is_asked(&o->asked))
		return true;

	double blur = o->transform.blur_sigma_px;

	if (o->dataset == NULL)
		error_set(error, "--dataset DIR is missing");
	else if (blur > 0 && blur < 0.3)
		error_set(error, "--blur %g: not 0, nor from 0.3 to 100", blur);
	else if (o->passes == 0 &&
		 (o->save == NULL || o->floor || o->json != NULL))
		error_set(error, "--passes 0: only with --save, and without "
				 "--floor and --json");
	else if (o->verify + o->gaps + (o->score != NULL) > 1)
		error_set(error, "--verify --score --gaps: only one");
	else
		return true;
	return false;
}

static enum exit_code print_error(const struct error *error,
				  enum exit_code code)
{
	fprintf(stderr, "imgops_bench: %s\n", error->text);
	return code;
}

static enum exit_code run_measure(const struct folder *folder,
				  const struct bench_options *o,
				  const struct memory *memory, FILE *json)
{
	struct measure m;
	struct error error;

	if (!measure_run(&m, folder, o, memory, &error))
		return print_error(&error, EXIT_FAILED);
	report_print(stdout, &m, o);
	if (json != NULL)
		report_write_json(json, &m, o);
	measure_release(&m);
	return EXIT_DONE;
}

static enum exit_code run_comparison(const struct folder *folder,
				     const struct bench_options *o,
				     const struct memory *memory, FILE *json)
{
	struct quality q = quality_run(folder, o, memory);
	bool is_fine = quality_print(stdout, &q);

	if (json != NULL)
		quality_write_json(json, &q, o->per_file);
	quality_release(&q);
	return is_fine ? EXIT_DONE : EXIT_FAILED;
}

static enum exit_code run_gaps(const struct folder *folder,
			       const struct bench_options *o, FILE *json)
{
	struct gaps g;

	gaps_measure(&g, folder, o);
	gaps_print(stdout, &g, o);
	if (json != NULL)
		gaps_write_json(json, &g);
	gaps_release(&g);
	return EXIT_DONE;
}

/* Everything after reading the options. */
static enum exit_code run_command(const struct bench_options *o)
{
	struct memory_pool *pool =
		memory_pool_new(POOL_BYTES_KEPT_MAX, SIZE_MAX);
	const struct memory *memory;
	FILE *json = NULL;
	struct folder folder = { 0 };
	enum exit_code code;
	struct error error;

	assert(pool != NULL);
	memory = memory_pool_memory(pool);
	if (o->json != NULL) {
		json = file_open_figures(o->json, &error);
		if (json == NULL)
			return print_error(&error, EXIT_USAGE);
	}
	if (!folder_load(&folder, o->dataset, o->max_bytes, &error))
		return print_error(&error, EXIT_USAGE);
	if (o->verify || o->score != NULL)
		code = run_comparison(&folder, o, memory, json);
	else if (o->gaps)
		code = run_gaps(&folder, o, json);
	else
		code = run_measure(&folder, o, memory, json);
	if (json != NULL && !file_close_figures(json, o->json, &error))
		code = print_error(&error, EXIT_FAILED);
	folder_release(&folder);
	memory_pool_free(pool);
	return code;
}

int main(int argc, char **argv)
{
	struct bench_options o;
	struct error error;
	enum exit_code code = EXIT_DONE;

	file_fill_standard();
	if (!parse_options(&o, argc, argv, &error)) {
		print_error(&error, EXIT_USAGE);
		fprintf(stderr, "Try 'imgops_bench --help'.\n");
		return EXIT_USAGE;
	}
	if (!program_answer(&bench_program, &o.asked, DARKROOM_COMMIT, stdout))
		code = run_command(&o);
	return program_finish(&bench_program, code);
}
