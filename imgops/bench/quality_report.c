/* SPDX-License-Identifier: MIT */
#include "imgops/bench/quality.h"

#include "imgops/bench/report.h"

#include <cjson/cJSON.h>

static const struct {
	const char *name, *title;
	double bound;
	bool is_error; /* less is better */
} metrics[METRIC_COUNT] = {
	[METRIC_SSIM] = { "ssim", "resize, luma SSIM", -1, false },
	[METRIC_PSNR] = { "psnr_db", "resize, luma PSNR, dB", 0, false },
	[METRIC_LEVELS] = { "scale_levels", "scale, worst error", 2, true },
	[METRIC_BLUR] = { "blur_db", "blur, PSNR, dB", 45, false },
	[METRIC_ENCODED] = { "encode_db", "encode, PSNR, dB", 20, false },
};

/* The median, the worst tenth's best, and the worst file. */
struct summary {
	double median, p10;
	struct value worst;
	bool is_fine;
};

static struct summary summarise(const struct quality *q, enum metric m)
{
	const struct value *v = q->values[m];
	size_t count = q->counts[m];
	bool is_error = metrics[m].is_error;
	struct summary s = {
		.median = values_quantile(v, count, 0.5),
		.p10 = values_quantile(v, count, is_error ? 0.9 : 0.1),
		.worst = is_error ? v[count - 1] : v[0],
	};

	s.is_fine = is_error ? s.worst.value <= metrics[m].bound :
			       s.worst.value >= metrics[m].bound;
	return s;
}

bool quality_print(FILE *out, const struct quality *q)
{
	bool is_fine = true;

	fprintf(out, "%-22s %6s %9s %9s %9s\n", "", "files", "median", "p10",
		"worst");
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		struct summary s;

		if (q->counts[m] == 0)
			continue;
		s = summarise(q, m);
		is_fine = is_fine && s.is_fine;
		fprintf(out, "%-22s %6zu %9.4f %9.4f %9.4f  %s%s\n",
			metrics[m].title, q->counts[m], s.median, s.p10,
			s.worst.value, s.worst.path,
			s.is_fine ? "" : "  BOUND BROKEN");
	}
	fprintf(out, "not compared           %6zu\n", q->skipped_count);
	for (size_t i = 0; i < q->skipped_count; i++)
		fprintf(out, "  %s: %s\n", q->skipped[i].path,
			q->skipped[i].why);
	return is_fine;
}

bool quality_write_json(FILE *out, const struct quality *q)
{
	cJSON *object = cJSON_CreateObject();

	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		cJSON *o;
		struct summary s;

		if (q->counts[m] == 0)
			continue;
		s = summarise(q, m);
		o = cJSON_AddObjectToObject(object, metrics[m].name);
		cJSON_AddNumberToObject(o, "files", (double)q->counts[m]);
		cJSON_AddNumberToObject(o, "median", s.median);
		cJSON_AddNumberToObject(o, "p10", s.p10);
		cJSON_AddNumberToObject(o, "worst", s.worst.value);
		cJSON_AddStringToObject(o, "worst_path", s.worst.path);
	}
	cJSON_AddNumberToObject(object, "not_compared",
				(double)q->skipped_count);
	return report_print_json(out, object);
}
