/* SPDX-License-Identifier: MIT */
/*
 * Image hooks: the events of webhooks about images (service/hooks/hooks.h):
 *
 *	image.stored   data: what GET /v1/images/ID replies, without its
 *	               checksum, and the id of the ticket
 *	image.failed   of an upload that was answered 202.  data: the id, and
 *	               the problem
 *
 * URLs in events begin with that of --public-url; what a request says of the
 * server's name is not believed here.
 *
 * Threads    Any; they wait for the disk.
 */
#ifndef SERVICE_IMAGE_HOOKS_H
#define SERVICE_IMAGE_HOOKS_H

#include "service/store/store.h"

struct hooks;

struct image_event {
	const char *id;     /* of the image */
	const char *ticket; /* its id; NULL: none */
	const char *url;    /* of the ticket's own webhook; NULL: none */
	uint64_t stamp;     /* see hooks.h */
};

/* `hooks` NULL: there are no events.  After other answers, errno says why. */
MUST_CHECK enum store_answer image_hooks_stored(struct hooks *hooks,
						const char *public_url,
						const struct image_event *e,
						const char *meta);

/* `problem` is JSON. */
MUST_CHECK enum store_answer image_hooks_failed(struct hooks *hooks,
						const struct image_event *e,
						const char *problem);

#endif
