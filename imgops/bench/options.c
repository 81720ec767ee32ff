/* SPDX-License-Identifier: MIT */
#include "imgops/bench/options.h"

#define FIELD(name) FLAG_FIELD(struct bench_options, name)

static const struct flag flags[] = {
	{ "dataset", "DIR", NULL,
	  "use the *.jpg and *.jpeg files below DIR; required",
	  FIELD(dataset) },
	{ "max-bytes", "N", NULL, "use only files of fewer bytes than N",
	  FIELD(max_bytes), .least = 1, .most = 1e18 },
	{ "w", "N", "640", "width of the box, in pixels; 0: unbounded",
	  FIELD(transform.box.width_px), .most = 65500 },
	{ "h", "N", "640", "height of the box, in pixels; 0: unbounded",
	  FIELD(transform.box.height_px), .most = 65500 },
	{ "fit", "inside|cover|fill", "inside", "how the picture fits the box",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.fit) },
	{ "filter", "lanczos3|box|triangle|bspline|catmull-rom|mitchell",
	  "lanczos3", "resampling filter",
	  FLAG_CHOICE_FIELD(struct bench_options, transform.filter) },
	{ "enlarge", NULL, NULL, "also enlarge pictures smaller than the box",
	  FIELD(transform.enlarge) },
	{ "blur", "S", "2", "sigma in pixels of the result; 0: none",
	  FIELD(transform.blur_sigma_px), .most = 100 },
	{ "q", "N", "80", "JPEG quality", FIELD(transform.quality), .least = 1,
	  .most = 100 },
	{ "full-chroma", NULL, NULL, "4:4:4 instead of 4:2:0",
	  FIELD(transform.full_chroma) },
	{ "progressive", NULL, NULL, "write progressive files",
	  FIELD(transform.progressive) },
	{ "optimize", NULL, NULL, "Huffman tables for each picture",
	  FIELD(transform.optimize) },
	{ "keep-profile", NULL, NULL,
	  "keep ICC profiles instead of converting to sRGB",
	  FIELD(transform.keep_profile) },
	{ "lenient", NULL, NULL, "use the readable part of a damaged file",
	  FIELD(transform.lenient) },
	{ "passes", "N", "3",
	  "number of passes that are measured, after one to warm up",
	  FIELD(passes), .least = 1, .most = 1e6 },
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
	{ "save", "DIR", NULL, "write the results to DIR", FIELD(save) },
	{ "json", "FILE", NULL, "write the figures to FILE, too", FIELD(json) },
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

const struct program bench_program = {
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

bool bench_options_parse(struct bench_options *o, int argc, char **argv,
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
	else if (o->verify && o->score != NULL)
		error_set(error, "--verify --score: only one");
	else
		return true;
	return false;
}
