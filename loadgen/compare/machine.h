/* SPDX-License-Identifier: MIT */
/* Machine: where figures were measured, and from which state of the source. */
#ifndef LOADGEN_COMPARE_MACHINE_H
#define LOADGEN_COMPARE_MACHINE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* {cpu, cores, kernel, memory_bytes}; what is not known is null. */
cJSON *machine_describe(void);

/* The commit of the current folder as Git tells it; null: no Git tree. */
cJSON *machine_commit(void);

#endif
