/* SPDX-License-Identifier: MIT */
#include "imgops/bench/forecast.h"

#include "imgops/bench/stats.h"

#include <math.h>
#include <stdlib.h>

static double cpu_error(const struct row *row, double passes)
{
	double cpu_s = 0;

	for (int s = 0; s < STEP_COUNT; s++)
		cpu_s += row->cpu_s[s];
	return fabs(log((double)row->cost.cpu_ns / 1e9 * passes / cpu_s));
}

static void judge(struct forecast *f, const struct measure *m,
		  struct value *cpu, struct value *memory)
{
	size_t n = 0;

	for (size_t i = 0; i < m->row_count; i++) {
		const struct row *row = &m->rows[i];

		if (row->first.err != IMG_OK)
			continue;
		cpu[n] = (struct value){ cpu_error(row, (double)m->passes),
					 row->file->path };
		memory[n++] = (struct value){ (double)row->cost.bytes /
						      (double)row->peak_bytes,
					      row->file->path };
		f->memory_low_count += row->cost.bytes < row->peak_bytes;
	}
	f->count = n;
	if (n == 0)
		return;
	values_sort(cpu, n);
	values_sort(memory, n);
	f->cpu_median = values_quantile(cpu, n, 0.5);
	f->cpu_p90 = values_quantile(cpu, n, 0.9);
	f->cpu_worst = cpu[n - 1].value;
	f->cpu_worst_path = cpu[n - 1].path;
	f->memory_least = memory[0].value;
	f->memory_least_path = memory[0].path;
	f->memory_median = values_quantile(memory, n, 0.5);
	f->memory_most = memory[n - 1].value;
	f->memory_most_path = memory[n - 1].path;
}

bool forecast_judge(struct forecast *f, const struct measure *m)
{
	struct value *values = calloc(2 * m->row_count, sizeof(*values));

	*f = (struct forecast){ 0 };
	if (values == NULL)
		return false;
	judge(f, m, values, values + m->row_count);
	free(values);
	return true;
}
