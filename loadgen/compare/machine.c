/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value of the first line "model name : VALUE", without its newline. */
static bool read_cpu(char *value, size_t value_bytes)
{
	FILE *in = fopen("/proc/cpuinfo", "re");
	char line[256];
	bool found = false;

	while (in != NULL && !found && fgets(line, sizeof(line), in) != NULL) {
		const char *colon = strchr(line, ':');

		found = strncmp(line, "model name", 10) == 0 && colon != NULL;
		if (found)
			snprintf(value, value_bytes, "%.*s",
				 (int)strcspn(colon + 2, "\n"), colon + 2);
	}
	if (in != NULL)
		fclose(in);
	return found;
}

static void add_text(cJSON *object, const char *name, bool known,
		     const char *text)
{
	if (known)
		cJSON_AddStringToObject(object, name, text);
	else
		cJSON_AddNullToObject(object, name);
}

cJSON *machine_describe(void)
{
	cJSON *object = cJSON_CreateObject();
	struct utsname names;
	char text[256];
	bool known = read_cpu(text, sizeof(text));

	add_text(object, "cpu", known, text);
	cJSON_AddNumberToObject(object, "cores",
				(double)sysconf(_SC_NPROCESSORS_ONLN));
	known = uname(&names) == 0;
	if (known)
		snprintf(text, sizeof(text), "%s %s %s", names.sysname,
			 names.release, names.machine);
	add_text(object, "kernel", known, text);
	cJSON_AddNumberToObject(object, "memory_bytes",
				(double)sysconf(_SC_PHYS_PAGES) *
					(double)sysconf(_SC_PAGESIZE));
	return object;
}

cJSON *machine_commit(void)
{
	FILE *in = popen("git describe --always --dirty --abbrev=12 "
			 "--exclude '*' 2>/dev/null",
			 "re");
	char text[64] = "";

	if (in != NULL) {
		if (fgets(text, sizeof(text), in) == NULL)
			text[0] = '\0';
		pclose(in);
	}
	text[strcspn(text, "\n")] = '\0';
	return text[0] != '\0' ? cJSON_CreateString(text) : cJSON_CreateNull();
}
