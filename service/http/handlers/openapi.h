/* SPDX-License-Identifier: MIT */
/* The description of the API: see openapi.c. */
#ifndef SERVICE_OPENAPI_H
#define SERVICE_OPENAPI_H

/* The JSON; the caller frees it.  NULL: no memory. */
char *openapi_make(void);

#endif
