/* SPDX-License-Identifier: MIT */
#include "stages/quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char membership[] = "/proc/self/cgroup";
static const char v2_mount[] = "/sys/fs/cgroup";
static const char v1_mount[] = "/sys/fs/cgroup/cpu";

static uint32_t cpus(long long quota_us, long long period_us)
{
	if (quota_us <= 0 || period_us <= 0 ||
	    quota_us / period_us >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(quota_us / period_us + (quota_us % period_us > 0));
}

/* "max 100000" or "150000 100000" in v2; two files of one number in v1. */
static bool read_numbers(const char *dir, const char *file, long long *numbers,
			 int wanted)
{
	char path[PATH_BYTES + 64];
	int found = 0;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, file);
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return false;
	while (found < wanted && fscanf(f, "%lld", &numbers[found]) == 1)
		found++;
	(void)fclose(f);
	return found == wanted;
}

static uint32_t quota_of(const char *dir)
{
	long long n[2];

	if (read_numbers(dir, "cpu.max", n, 2) ||
	    (read_numbers(dir, "cpu.cfs_quota_us", &n[0], 1) &&
	     read_numbers(dir, "cpu.cfs_period_us", &n[1], 1)))
		return cpus(n[0], n[1]);
	return UINT32_MAX;
}

/*
 * The least quota of the group `path` and those above it.  A container may be
 * told a path that only its host sees: what cannot be read sets no limit.
 */
static uint32_t quota_up(const char *root, const char *mount, const char *path)
{
	char dir[PATH_BYTES];
	uint32_t least = UINT32_MAX;
	size_t root_bytes = strlen(root) + strlen(mount);

	if (snprintf(dir, sizeof(dir), "%s%s%s", root, mount, path) >=
	    PATH_BYTES)
		return UINT32_MAX;
	for (;;) {
		uint32_t here = quota_of(dir);

		least = here < least ? here : least;
		char *slash = strrchr(dir, '/');

		if (slash == NULL || (size_t)(slash - dir) < root_bytes)
			return least;
		*slash = '\0';
	}
}

/* Does "cpu,cpuacct", say, name the controller "cpu"? */
static bool names_cpu(char *controllers)
{
	char *rest = NULL;

	for (char *c = strtok_r(controllers, ",", &rest); c != NULL;
	     c = strtok_r(NULL, ",", &rest))
		if (strcmp(c, "cpu") == 0)
			return true;
	return false;
}

uint32_t quota_cpus_under(const char *root)
{
	char line[PATH_BYTES];
	uint32_t least = UINT32_MAX;

	if (snprintf(line, sizeof(line), "%s%s", root, membership) >=
	    PATH_BYTES)
		return least;
	FILE *f = fopen(line, "re");

	if (f == NULL)
		return least;
	/* "0::/a/b" in v2; "3:cpu,cpuacct:/a/b" in v1. */
	while (fgets(line, sizeof(line), f) != NULL) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		uint32_t here = UINT32_MAX;

		if (controllers[1] == '\0')
			here = quota_up(root, v2_mount, path);
		else if (names_cpu(controllers + 1))
			here = quota_up(root, v1_mount, path);
		least = here < least ? here : least;
	}
	(void)fclose(f);
	return least;
}

uint32_t quota_cpus(void)
{
	return quota_cpus_under("");
}
