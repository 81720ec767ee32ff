/* SPDX-License-Identifier: MIT */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char membership[] = "/proc/self/cgroup";
static const char mount[] = "/sys/fs/cgroup";

bool cgroup_read_numbers(const char *dir, const char *file, long long *numbers,
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

/* `hierarchy` is "" in version 2; in version 1 it is a name such as "/cpu". */
static void visit_up(const char *root, const char *hierarchy, const char *path,
		     cgroup_visit_fn *visit, void *arg)
{
	char dir[PATH_BYTES];
	size_t root_bytes = strlen(root) + strlen(mount) + strlen(hierarchy);

	if (snprintf(dir, sizeof(dir), "%s%s%s%s", root, mount, hierarchy,
		     path) >= PATH_BYTES)
		return;
	for (;;) {
		visit(arg, dir);
		char *slash = strrchr(dir, '/');

		if (slash == NULL || (size_t)(slash - dir) < root_bytes)
			return;
		*slash = '\0';
	}
}

/* Is the controller in a list such as "cpu,cpuacct"? */
static bool names(char *list, const char *controller)
{
	char *rest = NULL;

	for (char *c = strtok_r(list, ",", &rest); c != NULL;
	     c = strtok_r(NULL, ",", &rest))
		if (strcmp(c, controller) == 0)
			return true;
	return false;
}

void cgroup_visit(const char *root, const char *controller,
		  cgroup_visit_fn *visit, void *arg)
{
	char line[PATH_BYTES], v1[64];

	(void)snprintf(v1, sizeof(v1), "/%s", controller);
	if (snprintf(line, sizeof(line), "%s%s", root, membership) >=
	    PATH_BYTES)
		return;
	FILE *f = fopen(line, "re");

	if (f == NULL)
		return;
	/* "0::/a/b" in v2; "3:cpu,cpuacct:/a/b" in v1. */
	while (fgets(line, sizeof(line), f) != NULL) {
		char *list = strchr(line, ':');
		char *path = list != NULL ? strchr(list + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (list[1] == '\0')
			visit_up(root, "", path, visit, arg);
		else if (names(list + 1, controller))
			visit_up(root, v1, path, visit, arg);
	}
	(void)fclose(f);
}
