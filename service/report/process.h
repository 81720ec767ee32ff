/* SPDX-License-Identifier: MIT */
/*
 * Process: what the system tells of this program.
 *
 * Its files are opened at the start and stay open: later, /proc may be out of
 * reach.
 *
 * Threads    One at a time.
 */
#ifndef SERVICE_PROCESS_H
#define SERVICE_PROCESS_H

#include <dirent.h>
#include <stdint.h>

struct process {
	int status_fd;            /* of /proc/self/status; -1: not there */
	DIR *files;               /* /proc/self/fd; NULL: not there */
	uint64_t started_unix_ns; /* by the system's clock at that time */
};

/* 0 where the system does not tell. */
struct process_stats {
	uint64_t started_unix_ns;
	uint64_t cpu_ns;
	uint64_t resident_bytes, resident_bytes_peak;
	uint64_t virtual_bytes;
	uint64_t switch_count; /* of context, of threads that ended too */
	uint64_t file_count, file_count_max; /* open */
};

void process_open(struct process *p);
void process_read(const struct process *p, struct process_stats *out);
void process_close(struct process *p);

#endif
