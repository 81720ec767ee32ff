/* SPDX-License-Identifier: MIT */
#include "service/report/metric.h"

#include <inttypes.h>
#include <string.h>

/* The first and the last bucket of a histogram end at 2^bits - 1. */
static const struct {
	uint32_t first_bits, last_bits;
} buckets[] = {
	[METRIC_ONE] = { 1, 10 },
	[METRIC_SECONDS] = { 17, 36 },
};

void metric_head(FILE *to, const struct metric *m)
{
	static const char *const types[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};

	(void)fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help,
		      m->name, types[m->type]);
}

static void print_value(FILE *to, enum metric_unit unit, uint64_t value)
{
	if (unit == METRIC_SECONDS)
		(void)fprintf(to, "%" PRIu64 ".%09" PRIu64, value / 1000000000,
			      value % 1000000000);
	else
		(void)fprintf(to, "%" PRIu64, value);
}

/* One line; `suffix` is of the name. */
static void print_line(FILE *to, const struct metric *m, const char *suffix,
		       const char *labels, enum metric_unit unit,
		       uint64_t value)
{
	(void)fprintf(to, labels[0] != '\0' ? "%s%s{%s} " : "%s%s%s ", m->name,
		      suffix, labels);
	print_value(to, unit, value);
	(void)fputc('\n', to);
}

void metric_sample(FILE *to, const struct metric *m, const char *labels,
		   uint64_t value)
{
	print_line(to, m, "", labels, m->unit, value);
}

uint64_t metric_value(const struct metric_field *f, const void *from)
{
	const char *at = (const char *)from + f->offset;
	uint32_t small;
	uint64_t large;

	if (f->bytes == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&large, at, sizeof(large));
	return large;
}

void metric_single(FILE *to, const struct metric *m, uint64_t value)
{
	metric_head(to, m);
	metric_sample(to, m, "", value);
}

void metric_singles(FILE *to, const struct metric_field *fields, size_t count,
		    const void *from)
{
	for (size_t i = 0; i < count; i++)
		metric_single(to, &fields[i].metric,
			      metric_value(&fields[i], from));
}

void metric_histogram(FILE *to, const struct metric *m, const char *labels,
		      const struct histogram_copy *h, uint64_t sum)
{
	const char *comma = labels[0] != '\0' ? "," : "";

	for (uint32_t bits = buckets[m->unit].first_bits;
	     bits <= buckets[m->unit].last_bits; bits++) {
		(void)fprintf(to, "%s_bucket{%s%sle=\"", m->name, labels,
			      comma);
		print_value(to, m->unit, (UINT64_C(1) << bits) - 1);
		(void)fprintf(to, "\"} %" PRIu64 "\n",
			      histogram_count_to(h, bits));
	}
	(void)fprintf(to, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", m->name,
		      labels, comma, h->count);
	print_line(to, m, "_sum", labels, m->unit, sum);
	print_line(to, m, "_count", labels, METRIC_ONE, h->count);
}
