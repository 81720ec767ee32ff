/* SPDX-License-Identifier: MIT */
/*
 * Ticket: what was asked for by POST /v1/uploads, as ticket.json of the inbox
 * keeps it (store/inbox.h).
 *
 * Pure.
 */
#ifndef SERVICE_TICKET_H
#define SERVICE_TICKET_H

#include "service/http/http_config.h"
#include "service/http/transport.h"

struct cJSON;

#define UPLOADS_PATH "/v1/uploads"

struct ticket {
	char owner[OWNER_BYTES];
	uint64_t bytes_max; /* that the upload may have */
	bool has_length;    /* it is known how many it has */
	uint64_t length;
	const char *metadata; /* Upload-Metadata; NULL: none */
	const char *webhook;  /* that gets an event for its image; NULL: none */
	/* The parameters of its image, as they were given. */
	struct http_field *parameters; /* owned */
	uint32_t parameter_count;
	struct cJSON *json; /* owner of the texts; NULL: the caller owns them */
};

/* The JSON; the caller frees it.  NULL: no memory. */
char *ticket_print(const struct ticket *t);

/* False: it is not such a text, or there is no memory. */
MUST_CHECK bool ticket_read(struct ticket *t, const char *text);

void ticket_release(struct ticket *t); /* {0} is fine */

#endif
