/* SPDX-License-Identifier: MIT */
/* mkset: a set of uploads, made of photos; its command line. */
#include "datasets/memory.h"
#include "datasets/output.h"
#include "datasets/profile.h"
#include "datasets/quantiles.h"
#include "datasets/set.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whole numbers are exact in a double so far. */
static const double SEED_MAX = 0x1p53 - 1;

struct options {
	const struct profile *profile;
	double scale;
	const char *photos;
	uint64_t seed;
	uint32_t jobs;
	const char *out;
};

static const char USAGE[] =
	"Usage: mkset [OPTION]... OUT\n"
	"Make a set of uploads in the folder OUT: JPEGs cut, scaled and "
	"encoded "
	"from photos\n"
	"so that their sizes are those of a known set.\n\n"
	"  --profile NAME  thesis: 4,697 files of 0.4 KB to 4.2 MB; phone: 100 "
	"of 12 or 48\n"
	"                  megapixels, enlarged; avatar: 1,000 small squares "
	"(thesis)\n"
	"  --scale F       F times as many files, 0.001 to 10 (1)\n"
	"  --photos DIR    the photos, below DIR, but not in sets that mkset "
	"made\n"
	"                  (datasets/photos)\n"
	"  --seed N        of all that is drawn (1)\n"
	"  --jobs N        threads; the set does not depend on it (cores)\n\n"
	"The same photos, options and libjpeg give the same bytes.  Exit "
	"status: "
	"0 made,\n"
	"1 not, 2 wrong usage.\n";

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

static double parse_number(const char *name, const char *text, double min,
			   double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= min && value <= max))
		stop(2, "--%s '%s': not a number from %.16g to %.16g", name,
		     text, min, max);
	return value;
}

static uint64_t parse_whole(const char *name, const char *text, double min,
			    double max)
{
	double value = parse_number(name, text, min, max);

	if (value != floor(value))
		stop(2, "--%s '%s': not a whole number", name, text);
	return (uint64_t)value;
}

static void parse_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "profile", required_argument, NULL, 'p' },
		{ "scale", required_argument, NULL, 's' },
		{ "photos", required_argument, NULL, 'd' },
		{ "seed", required_argument, NULL, 'r' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int option;

	*o = (struct options){ .profile = profile_find("thesis"),
			       .scale = 1,
			       .photos = "datasets/photos",
			       .seed = 1,
			       .jobs = cores > 0 ? (uint32_t)cores : 1 };
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'p') {
			o->profile = profile_find(optarg);
			if (o->profile == NULL)
				stop(2,
				     "--profile '%s': not thesis, phone or "
				     "avatar",
				     optarg);
		} else if (option == 's') {
			o->scale = parse_number("scale", optarg, 0.001, 10);
		} else if (option == 'd') {
			o->photos = optarg;
		} else if (option == 'r') {
			o->seed = parse_whole("seed", optarg, 0, SEED_MAX);
		} else if (option == 'j') {
			o->jobs =
				(uint32_t)parse_whole("jobs", optarg, 1, 1024);
		} else if (option == 'h') {
			fputs(USAGE, stdout);
			exit(0);
		} else {
			exit(2);
		}
	}
	if (optind + 1 != argc)
		stop(2, "one folder OUT, please; see --help");
	o->out = argv[optind];
}

/* Of all threads, so far. */
static double cpu_seconds(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void report(const struct set *set)
{
	uint64_t *sizes = memory_new(set->count, sizeof(*sizes));
	uint64_t encodings = 0;
	struct size_summary s;

	for (uint32_t i = 0; i < set->count; i++) {
		sizes[i] = set->uploads[i].made.size_bytes;
		encodings += set->uploads[i].made.encodings;
	}
	s = sizes_summarise(sizes, set->count);
	free(sizes);
	printf("%" PRIu64 " files of %u photos, %.1f MB: min %" PRIu64
	       ", median %" PRIu64 ", mean %.0f, p90 %" PRIu64 ", max %" PRIu64
	       " bytes; %" PRIu64 " encodings, %.0f s of CPU\n",
	       s.count, set->source_count, (double)s.total / 1e6, s.min,
	       s.median, s.mean, s.p90, s.max, encodings, cpu_seconds());
}

int main(int argc, char **argv)
{
	struct options o;

	parse_options(&o, argc, argv);

	struct set set = { .profile = o.profile,
			   .photos = o.photos,
			   .out = o.out,
			   .seed = o.seed,
			   .jobs = o.jobs,
			   .count = (uint32_t)fmax(
				   1, round(o.scale * o.profile->files)),
			   .show_progress = isatty(2) };

	if (!set_survey(&set))
		stop(1,
		     "cannot read photos in %s: %s; datasets/fetch gets some",
		     o.photos, strerror(errno));
	if (set.source_count == 0)
		stop(1, "no usable photos in %s; datasets/fetch gets some",
		     o.photos);
	if (!output_open(o.out))
		stop(1, "%s: %s", o.out,
		     errno == EEXIST ? "not empty, and not made by mkset" :
				       strerror(errno));
	if (!set_make(&set))
		stop(1, "%s: %s", o.out, strerror(errno));
	report(&set);
	set_release(&set);
	return 0;
}
