/* SPDX-License-Identifier: MIT */
/*
 * Config: flags from the environment and from a JSON file, as flags_read() has
 * them from a command line, and printed as such a file.
 *
 *	--max-body 64M    DARKROOM_MAX_BODY=64M    { "max-body": "64M" }
 *	--steal           DARKROOM_STEAL=true      { "steal": true }
 *
 * A switch that is off there has the value "false".
 */
#ifndef SERVICE_CONFIG_H
#define SERVICE_CONFIG_H

#include "stages/schedule.h"

struct cJSON;

/* "max-body" -> "DARKROOM_MAX_BODY"; cut to `bytes`. */
void config_print_variable(const char *flag, char *out, size_t bytes);

/*
 * All of `environment` that begins with DARKROOM_, but what Kubernetes sets for
 * a service of this name.  False: `error` names the variable and its value.
 */
__attribute__((warn_unused_result)) bool
config_read_environment(const struct flag *const *tables,
			char *const *environment, flag_take_fn *take, void *arg,
			char error[FLAGS_ERROR_BYTES]);

/*
 * One JSON object with the names of flags; null is as if it were not there.
 * False: `error` names the file, the key and its value.  Either way *file is
 * for the caller's cJSON_Delete(); values lie in it.
 */
__attribute__((warn_unused_result)) bool
config_read_file(const struct flag *const *tables, const char *path,
		 struct cJSON **file, flag_take_fn *take, void *arg,
		 char error[FLAGS_ERROR_BYTES]);

/*
 * What config_read_file() makes `from`, whose fields are `table`, and a
 * complete schedule of.  The caller frees it.  NULL: no memory.
 */
char *config_print(const struct flag *table, const void *from,
		   const struct schedule *s, const char *const *stages,
		   uint32_t stage_count);

#endif
