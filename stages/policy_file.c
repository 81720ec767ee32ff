/* SPDX-License-Identifier: MIT */
#include "stages/flags.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

/* The file stays open, because its code is used to the end of the program. */
static bool load(const char *path, struct error *error)
{
	char here[PATH_MAX + 3];

	/* dlopen() looks for a name without a slash in the system's folders. */
	(void)snprintf(here, sizeof(here), "%s%s",
		       strchr(path, '/') == NULL ? "./" : "", path);
	void *file = dlopen(here, RTLD_NOW | RTLD_LOCAL);

	if (file == NULL)
		return error_fail(error, "%s", dlerror());
	const struct policy *const *p = dlsym(file, "stages_policy");
	const size_t *bytes = dlsym(file, "stages_policy_bytes");

	if (p == NULL || bytes == NULL)
		return error_fail(error, "it has no STAGES_POLICY_FILE()");
	if (*bytes != sizeof(struct policy))
		return error_fail(error,
				  "it was built for another version: its "
				  "struct policy has %zu bytes, not %zu",
				  *bytes, sizeof(struct policy));
	return policy_register(*p) ||
	       error_fail(error,
			  "its policy is not complete, has the name of another "
			  "one, or there are %d already",
			  POLICIES_MAX);
}

bool policy_load(const char *path, struct error *error)
{
	struct error why;

	return path == NULL || load(path, &why) ||
	       error_fail(error, "--policy-file '%.200s': %s", path, why.text);
}
