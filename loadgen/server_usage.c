/* SPDX-License-Identifier: MIT */
#include "loadgen/server_usage.h"

#include "loadgen/process_stat.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 64, LINE_BYTES = 512 };

/* Of the process and of its children that ended.  0: it has ended too. */
static double cpu_s(pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(pid, &stat))
		return 0;
	return (double)stat.cpu_ticks / (double)sysconf(_SC_CLK_TCK);
}

/* The numbers of a status file that are wanted; 0 where there is none. */
struct status {
	uint64_t peak_kb;
	uint64_t voluntary;
	uint64_t involuntary;
};

static struct status read_status(const char *path)
{
	struct status s = { 0 };
	char line[LINE_BYTES];
	FILE *in = fopen(path, "re");

	if (in == NULL)
		return s; /* it has ended */
	while (fgets(line, sizeof(line), in) != NULL) {
		sscanf(line, "VmHWM: %" SCNu64, &s.peak_kb);
		sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &s.voluntary);
		sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64,
		       &s.involuntary);
	}
	fclose(in);
	return s;
}

static void add_switches(struct server_usage *u, pid_t pid)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (threads == NULL)
		return;
	while ((entry = readdir(threads)) != NULL) {
		long thread = strtol(entry->d_name, NULL, 10);
		struct status s;

		if (thread <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%ld/status",
			 (int)pid, thread);
		s = read_status(path);
		u->voluntary_switches += s.voluntary;
		u->involuntary_switches += s.involuntary;
	}
	closedir(threads);
}

/* Since the processes started. */
static void read_usage(struct server_usage *u)
{
	for (size_t i = 0; i < u->processes.count; i++) {
		char path[PATH_BYTES];
		pid_t pid = u->processes.pids[i];

		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		u->peak_memory_bytes += read_status(path).peak_kb * 1024;
		u->cpu_s += cpu_s(pid);
		add_switches(u, pid);
	}
}

static bool reset_peak(pid_t pid)
{
	char path[PATH_BYTES];
	FILE *out;
	bool written;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
	out = fopen(path, "we");
	if (out == NULL)
		return false;
	written = fputs("5", out) >= 0;
	return fclose(out) == 0 && written;
}

void server_watch_begin(struct server_watch *w,
			const struct processes *processes)
{
	*w = (struct server_watch){ .before = { .processes = *processes } };
	w->before.peak_was_reset = true;
	for (size_t i = 0; i < processes->count; i++)
		w->before.peak_was_reset &= reset_peak(processes->pids[i]);
	read_usage(&w->before);
}

/* What ended unseen may have taken more with it than was added. */
static uint64_t growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

void server_watch_end(const struct server_watch *w, struct server_usage *out)
{
	const struct server_usage *before = &w->before;

	*out = (struct server_usage){
		.processes = before->processes,
		.peak_was_reset = before->peak_was_reset,
	};
	processes_add_descendants(&out->processes);
	read_usage(out);
	out->cpu_s -= before->cpu_s;
	if (out->cpu_s < 0)
		out->cpu_s = 0;
	out->voluntary_switches =
		growth(before->voluntary_switches, out->voluntary_switches);
	out->involuntary_switches =
		growth(before->involuntary_switches, out->involuntary_switches);
}
