/* SPDX-License-Identifier: MIT */
#include "base/machine_usage.h"

#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

/* The columns of /proc/stat's first line, as proc(5) describes it. */
enum { USER, NICE, SYSTEM, IDLE, IO_WAIT, IRQ, SOFT_IRQ, STEAL, COLUMNS };

static void read_cpu(struct machine_usage *u)
{
	uint64_t ticks[COLUMNS];
	double second = (double)sysconf(_SC_CLK_TCK);
	FILE *in = fopen("/proc/stat", "re");

	if (in == NULL)
		return;
	if (fscanf(in,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &ticks[USER], &ticks[NICE], &ticks[SYSTEM], &ticks[IDLE],
		   &ticks[IO_WAIT], &ticks[IRQ], &ticks[SOFT_IRQ],
		   &ticks[STEAL]) == COLUMNS) {
		u->cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
		u->busy_s =
			(double)(ticks[USER] + ticks[NICE] + ticks[SYSTEM]) /
			second;
		u->steal_s = (double)ticks[STEAL] / second;
	}
	fclose(in);
}

static double read_load(void)
{
	FILE *in = fopen("/proc/loadavg", "re");
	double load = NAN;

	if (in == NULL)
		return NAN;
	if (fscanf(in, "%lf", &load) != 1)
		load = NAN;
	fclose(in);
	return load;
}

static double read_mhz(void)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[LINE_BYTES];
	double sum = 0, mhz;
	int count = 0;

	if (in == NULL)
		return NAN;
	while (fgets(line, sizeof(line), in) != NULL)
		if (sscanf(line, "cpu MHz : %lf", &mhz) == 1) {
			sum += mhz;
			count++;
		}
	fclose(in);
	return count > 0 ? sum / count : (double)NAN;
}

void machine_watch_begin(struct machine_watch *w)
{
	*w = (struct machine_watch){ .before = { .cores = 0 } };
	read_cpu(&w->before);
}

void machine_watch_end(const struct machine_watch *w, struct machine_usage *out)
{
	*out = (struct machine_usage){ .load = read_load(),
				       .core_mhz = read_mhz() };
	read_cpu(out);
	out->busy_s = fmax(0, out->busy_s - w->before.busy_s);
	out->steal_s = fmax(0, out->steal_s - w->before.steal_s);
}

/* The CPU time of other programs.  NAN: that of the run is not known. */
static double foreign_s(const struct machine_usage *u, double own_s)
{
	return isnan(own_s) ? own_s : fmax(0, u->busy_s - own_s);
}

double machine_disturbed_percent(const struct machine_usage *u, double own_s,
				 double seconds)
{
	if (u->cores == 0 || isnan(own_s) || seconds < MACHINE_JUDGED_S)
		return NAN;
	return fmin(100, 100 * (u->steal_s + foreign_s(u, own_s)) /
				 (u->cores * seconds));
}

bool machine_must_repeat(double disturbed_percent, double percent_max,
			 uint64_t attempt)
{
	return attempt < MACHINE_ATTEMPTS && disturbed_percent > percent_max;
}

void machine_add_json(struct json *j, const struct machine_usage *u,
		      double own_s, double seconds)
{
	if (u->cores == 0) {
		json_add_null(j, "machine");
		return;
	}
	json_open_object(j, "machine");
	json_add_whole(j, "cores", u->cores);
	json_add_number(j, "busy_s", u->busy_s);
	json_add_number(j, "foreign_s", foreign_s(u, own_s));
	json_add_number(j, "steal_s", u->steal_s);
	json_add_number(j, "disturbed_percent",
			machine_disturbed_percent(u, own_s, seconds));
	json_add_number(j, "load_average", u->load);
	json_add_number(j, "core_mhz", u->core_mhz);
	json_close(j);
}

double machine_resident_bytes(void)
{
	FILE *in = fopen("/proc/self/smaps_rollup", "re");
	char line[LINE_BYTES];
	double kilobytes = 0;

	while (in != NULL && kilobytes == 0 &&
	       fgets(line, sizeof(line), in) != NULL)
		(void)sscanf(line, "Rss: %lf kB", &kilobytes);
	if (in != NULL)
		(void)fclose(in);
	return kilobytes * 1024;
}
