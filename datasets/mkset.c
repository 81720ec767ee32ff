/* SPDX-License-Identifier: MIT */
/* The command line of mkset, which makes a set of uploads from photos. */
#include "base/clock.h"
#include "base/file.h"
#include "base/options.h"
#include "base/quantiles.h"
#include "datasets/xalloc.h"
#include "datasets/plan.h"
#include "datasets/set.h"

#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mkset_options {
	const struct profile *profile;
	double scale;
	const char *photos;
	uint64_t seed;
	uint32_t jobs;
	const char *out;
	struct flags_asked asked;
};

#define FIELD(name) FLAG_FIELD(struct mkset_options, name)

static const struct flag flags[] = {
	{ "profile", "thesis|phone|camera|avatar|web", "thesis",
	  "thesis: 4,697 files of 0.4 KB to 4.2 MB; phone: 100 of 12 or 48 "
	  "megapixels, enlarged; camera: 40 of 24 megapixels, enlarged; "
	  "avatar: 1,000 small squares; web: 1,000 of 500 x 375",
	  .type = FLAG_OTHER },
	{ "scale", "F", "1", "make F times as many files", FIELD(scale),
	  .least = 0.001, .most = 10 },
	{ "photos", "DIR", "datasets/photos",
	  "the photos below DIR, except in sets that mkset made",
	  FIELD(photos) },
	{ "seed", "N", "1", "seed of all random numbers", FIELD(seed),
	  .most = 0x1p53 - 1 },
	{ "jobs", "N", NULL,
	  "number of threads; it does not change the set; default: the number "
	  "of cores",
	  FIELD(jobs), .least = 1, .most = 1024 },
	FLAGS_ASKED(struct mkset_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program mkset_program = {
	.name = "mkset",
	.summary = "make a set of JPEG uploads of known sizes from photos",
	.usage = "[OPTION]... OUT",
	.about = "Make a set of uploads in the folder OUT: JPEGs cut, scaled "
		 "and encoded from photos so that their sizes are those of a "
		 "known set.",
	.groups = groups,
	.notes = "The same photos, options and libjpeg give the same bytes.",
	.exit_status = "0 made, 1 not made, 2 wrong usage.",
	.see_also = "loadgen(1)",
	.operand = "DIR",
	.follows_getopt = true,
};

__attribute__((format(printf, 2, 3), noreturn)) static void
stop(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("mkset: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(status);
}

/* A flag_take_fn. */
static bool take_option(void *options, const struct flag *f, const char *value,
			struct error *why)
{
	struct mkset_options *o = options;

	if (f == NULL && o->out == NULL) {
		o->out = value;
		return true;
	}
	if (f == NULL) {
		error_set(why, "'%s': one folder OUT, please; see --help",
			  value);
		return false;
	}
	if (f->type != FLAG_OTHER)
		return flag_set(f, value, o, why);
	o->profile = profile_find(value);
	if (o->profile == NULL)
		error_set(why,
			  "'%s' is not thesis, phone, camera, avatar or web",
			  value);
	return o->profile != NULL;
}

static void parse_options(struct mkset_options *o, int argc, char **argv)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct error error;

	*o = (struct mkset_options){ .profile = profile_find("thesis"),
				     .jobs = cores > 0 ? (uint32_t)cores : 1 };
	flags_init(flags, o);
	if (!flags_read(&mkset_program, argv + 1, (uint32_t)argc - 1,
			take_option, o, &error))
		stop(2, "%s", error.text);
	if (program_answer(&mkset_program, &o->asked, DARKROOM_COMMIT, stdout))
		exit(program_finish(&mkset_program, 0));
	if (o->out == NULL)
		stop(2, "one folder OUT, please; see --help");
}

static void report(const struct set *set)
{
	double *sizes = xcalloc(set->count, sizeof(*sizes));
	double total = 0;
	uint64_t encodings = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		sizes[i] = (double)set->uploads[i].made.size_bytes;
		total += sizes[i];
		encodings += set->uploads[i].made.encodings;
	}
	quantiles_sort(sizes, set->count);
	printf("%u files of %u photos, %.1f MB: min %.0f, median %.0f, mean "
	       "%.0f, p90 %.0f, max %.0f bytes; %" PRIu64
	       " encodings, %.0f s of CPU\n",
	       set->count, set->source_count, total / 1e6, sizes[0],
	       quantile_nearest(sizes, set->count, 0.5), total / set->count,
	       quantile_nearest(sizes, set->count, 0.9), sizes[set->count - 1],
	       encodings, (double)clock_cpu_ns() / (double)NS_PER_S);
	free(sizes);
}

int main(int argc, char **argv)
{
	struct mkset_options o;
	struct error error;

	file_fill_standard();
	parse_options(&o, argc, argv);

	struct set set = { .profile = o.profile,
			   .photos = o.photos,
			   .out = o.out,
			   .seed = o.seed,
			   .jobs = o.jobs,
			   .count = (uint32_t)fmax(
				   1, round(o.scale * o.profile->files)),
			   .show_progress = isatty(2) };

	if (!set_make(&set, &error))
		stop(1, "%s", error.text);
	report(&set);
	set_release(&set);
	return program_finish(&mkset_program, 0);
}
