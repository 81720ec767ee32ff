/* SPDX-License-Identifier: MIT */
/*
 * Results: what the pipeline made of an upload, in a reply or in the store.
 */
#ifndef SERVICE_RESULT_H
#define SERVICE_RESULT_H

#include "service/pipeline/upload.h"

#include <stdio.h>

#define RESULT_TYPE "image/jpeg"

/*
 * Print members of a JSON object, with commas between them.  Their strings have
 * no character that JSON escapes.
 */
void result_print_upload(FILE *out, const struct upload *u);
void result_print_variant(FILE *out, const struct variant *v, const char *name);

#endif
