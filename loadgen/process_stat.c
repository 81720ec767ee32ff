/* SPDX-License-Identifier: MIT */
#include "loadgen/process_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "pid (name) state parent ..": a name may hold anything, ')' too. */
static bool parse(const char *line, struct process_stat *out)
{
	uint64_t user, system, user_children, system_children;
	const char *name_end = strrchr(line, ')');
	int parent;

	if (name_end == NULL ||
	    sscanf(name_end,
		   ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &parent, &user, &system, &user_children,
		   &system_children) != 5)
		return false;
	*out = (struct process_stat){
		.parent = parent,
		.cpu_ticks = user + system + user_children + system_children,
	};
	return true;
}

bool process_stat_read(pid_t pid, struct process_stat *out)
{
	char path[64];
	char line[512];
	bool is_read;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (in == NULL)
		return false;
	is_read = fgets(line, sizeof(line), in) != NULL && parse(line, out);
	fclose(in);
	return is_read;
}
