/* SPDX-License-Identifier: MIT */
/* Tickets: requests about them, and what other requests for them need. */
#ifndef SERVICE_TICKET_REQUEST_H
#define SERVICE_TICKET_REQUEST_H

#include "service/http/handlers/uploads/ticket.h"
#include "service/http/reply/problem.h"
#include "service/store/inbox.h"

struct request;

/* Parameters of POST /v1/uploads that are about the ticket. */
#define TICKET_MAX_BODY "max_body"
#define TICKET_LIFETIME "lifetime"
#define TICKET_WEBHOOK "webhook"

/*
 * Begin a hold on the ticket of the path, and read it.  If there is a problem,
 * there is no hold.
 */
enum problem tickets_hold(struct request *r, struct inbox_hold *h,
			  void (*ask)(struct inbox_hold *h),
			  struct inbox_ticket *out);

/* What a client is told of a ticket. */
struct ticket_state {
	const char *id;
	const struct ticket *ticket;
	uint64_t offset;     /* bytes that have arrived */
	const char *image;   /* the id of its image; NULL: none yet */
	const char *problem; /* JSON, of the last picture; NULL: none */
};

/*
 * Reply with the headers of tus, and JSON if the status is not 204.  The hold
 * ends first, so that the client's next request finds the ticket free.
 */
bool tickets_reply(struct request *r, struct inbox_hold *h, unsigned int status,
		   const struct ticket_state *s);

#endif
