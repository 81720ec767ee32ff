/* SPDX-License-Identifier: MIT */
#include "service/report/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_BYTES = 4096 };

void process_open(struct process *p)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	*p = (struct process){
		.status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC),
		.files = opendir("/proc/self/fd"),
		.started_unix_ns = (uint64_t)now.tv_sec * 1000000000 +
				   (uint64_t)now.tv_nsec,
	};
}

void process_close(struct process *p)
{
	if (p->status_fd >= 0)
		(void)close(p->status_fd);
	if (p->files != NULL)
		(void)closedir(p->files);
}

/* The figure of a line such as "VmRSS:	   5432 kB". */
static uint64_t bytes_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line != NULL ? strtoull(line + strlen(name), NULL, 10) * 1024 :
			      0;
}

/* Of this program: getrusage() would tell of the one that started it, too. */
static void read_memory(int status_fd, struct process_stats *out)
{
	char status[STATUS_BYTES];
	ssize_t bytes = pread(status_fd, status, sizeof(status) - 1, 0);

	if (bytes <= 0)
		return;
	status[bytes] = '\0';
	out->resident_bytes = bytes_of(status, "\nVmRSS:");
	out->resident_bytes_peak = bytes_of(status, "\nVmHWM:");
	out->virtual_bytes = bytes_of(status, "\nVmSize:");
}

static uint64_t count_files(DIR *files)
{
	const struct dirent *entry;
	uint64_t count = 0;

	rewinddir(files);
	while ((entry = readdir(files)) != NULL)
		count += entry->d_name[0] != '.';
	return count;
}

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

void process_read(const struct process *p, struct process_stats *out)
{
	struct rusage use;
	struct rlimit files = { 0 };

	(void)getrusage(RUSAGE_SELF, &use);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	*out = (struct process_stats){
		.started_unix_ns = p->started_unix_ns,
		.cpu_ns = nanoseconds(use.ru_utime) + nanoseconds(use.ru_stime),
		.switch_count = (uint64_t)(use.ru_nvcsw + use.ru_nivcsw),
		.file_count_max = files.rlim_cur,
	};
	read_memory(p->status_fd, out);
	if (p->files != NULL)
		out->file_count = count_files(p->files);
}
