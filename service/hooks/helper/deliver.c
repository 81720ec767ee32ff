/* SPDX-License-Identifier: MIT */
#include "service/hooks/helper/deliver.h"

#include "base/clock.h"
#include "service/hooks/protocol.h"
#include "service/keeper.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	CONNECT_MS = 5000,
	TURN_MS = 1000,
	HEAD_BYTES_MAX = 64 << 10,  /* of a reply */
	REPLY_BYTES_MAX = 16 << 10, /* of its body, which is not looked at */
};

struct helper {
	const struct deliver_config *config;
	CURLM *multi;
	uint32_t count; /* attempts that have begun */
};

/* A POST. */
struct attempt {
	uint64_t number;
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	size_t head_bytes, reply_bytes;
	bool has_head; /* the head of the reply is complete */
};

static void answer(uint64_t number, long status, curl_off_t retry_after_s,
		   const char *detail)
{
	struct hook_message m = {
		.kind = HOOK_ANSWER,
		.number = number,
		.status = (uint32_t)status,
		.retry_after_s =
			retry_after_s > 0 && retry_after_s < UINT32_MAX ?
				(uint32_t)retry_after_s :
				0,
	};
	struct pollfd wait = { .fd = KEEPER_SOCKET, .events = POLLOUT };

	(void)snprintf(m.detail, sizeof(m.detail), "%s", detail);
	/*
	 * There are at most HOOK_FLIGHTS_MAX answers on their way.  If one is
	 * lost, the server replaces this helper, and tells the event again.
	 */
	if (!hook_send(KEEPER_SOCKET, &m, NULL) && poll(&wait, 1, TURN_MS) == 1)
		(void)!hook_send(KEEPER_SOCKET, &m, NULL);
}

static void free_attempt(struct helper *h, struct attempt *a)
{
	if (a == NULL)
		return;
	if (a->easy != NULL) {
		(void)curl_multi_remove_handle(h->multi, a->easy);
		curl_easy_cleanup(a->easy);
	}
	curl_slist_free_all(a->headers);
	free(a->body);
	free(a);
}

/* A line of the head of the reply, or of one of status 1xx before it. */
static size_t take_line(char *line, size_t size, size_t count, void *arg)
{
	struct attempt *a = arg;
	long status = 0;

	count *= size;
	a->head_bytes += count;
	(void)curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	if ((line[0] == '\r' || line[0] == '\n') && status >= 200)
		a->has_head = true;
	return a->head_bytes <= HEAD_BYTES_MAX ? count : 0;
}

/* The body of a reply says nothing; one that is long is not read. */
static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct attempt *a = arg;

	(void)bytes;
	a->reply_bytes += size * count;
	return a->reply_bytes <= REPLY_BYTES_MAX ? size * count : 0;
}

static bool add_header(struct attempt *a, const char *name, const char *value)
{
	char line[SECRETS_SIGNATURE_BYTES + 64];
	struct curl_slist *longer;

	(void)snprintf(line, sizeof(line), "%s: %s", name, value);
	longer = curl_slist_append(a->headers, line);
	if (longer != NULL)
		a->headers = longer;
	return longer != NULL;
}

static bool set_headers(struct helper *h, struct attempt *a,
			const struct hook_message *m)
{
	char timestamp[24], signature[SECRETS_SIGNATURE_BYTES];
	uint64_t now_s = (uint64_t)time(NULL);

	(void)snprintf(timestamp, sizeof(timestamp), "%" PRIu64, now_s);
	secrets_sign(h->config->secrets, m->id, now_s, a->body, m->body_bytes,
		     signature);
	return add_header(a, "Content-Type", "application/json") &&
	       add_header(a, "webhook-id", m->id) &&
	       add_header(a, "webhook-timestamp", timestamp) &&
	       add_header(a, "webhook-signature", signature);
}

static void set_options(struct helper *h, struct attempt *a,
			const struct hook_message *m)
{
	CURL *e = a->easy;

	(void)curl_easy_setopt(e, CURLOPT_URL, m->url);
	(void)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(e, CURLOPT_HTTP_VERSION,
			       (long)CURL_HTTP_VERSION_1_1);
	(void)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	(void)curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	(void)curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)HOOK_ATTEMPT_MS);
	(void)curl_easy_setopt(e, CURLOPT_USERAGENT, "darkroom-webhook");
	if (h->config->ca_file != NULL)
		(void)curl_easy_setopt(e, CURLOPT_CAINFO, h->config->ca_file);
	(void)curl_easy_setopt(e, CURLOPT_HTTPHEADER, a->headers);
	(void)curl_easy_setopt(e, CURLOPT_POST, 1L);
	(void)curl_easy_setopt(e, CURLOPT_POSTFIELDS, a->body);
	(void)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE, (long)m->body_bytes);
	(void)curl_easy_setopt(e, CURLOPT_PRIVATE, a);
	(void)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_line);
	(void)curl_easy_setopt(e, CURLOPT_HEADERDATA, a);
	(void)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
	(void)curl_easy_setopt(e, CURLOPT_WRITEDATA, a);
}

static bool is_allowed(const struct helper *h, const char *url)
{
	const char *at = h->config->allowed;
	char origin[HOOK_ORIGIN_BYTES], other[HOOK_ORIGIN_BYTES];

	if (!hook_origin(url, origin))
		return false;
	while (hook_next_origin(&at, other))
		if (strcmp(origin, other) == 0)
			return true;
	return false;
}

static void begin(struct helper *h, const struct hook_message *m,
		  const char *body)
{
	struct attempt *a;

	if (!is_allowed(h, m->url)) {
		answer(m->number, 0, 0, "its origin is not allowed");
		return;
	}
	a = calloc(1, sizeof(*a));
	if (a != NULL) {
		a->number = m->number;
		a->body = malloc(m->body_bytes + 1);
		a->easy = curl_easy_init();
	}
	if (a == NULL || a->body == NULL || a->easy == NULL) {
		answer(m->number, 0, 0, "the webhook helper has no memory");
		free_attempt(h, a);
		return;
	}
	(void)memcpy(a->body, body, m->body_bytes);
	if (!set_headers(h, a, m)) {
		answer(m->number, 0, 0, "the webhook helper has no memory");
		free_attempt(h, a);
		return;
	}
	set_options(h, a, m);
	/* It fails only for a handle that is wrong or is added already. */
	(void)curl_multi_add_handle(h->multi, a->easy);
	h->count++;
}

static const char *describe(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return "it did not answer in time";
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
		return "its certificate is not trusted, or is for another host";
	case CURLE_WRITE_ERROR:
		return "the head of its reply is longer than 64 KiB";
	default:
		return curl_easy_strerror(code);
	}
}

/* Once the head of the reply is there, its body does not matter. */
static void end(struct helper *h, struct attempt *a, CURLcode code)
{
	curl_off_t retry_after_s = 0;
	long status = 0;

	(void)curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(a->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (code == CURLE_OK || a->has_head)
		answer(a->number, status, retry_after_s, "");
	else
		answer(a->number, 0, 0, describe(code));
	free_attempt(h, a);
	h->count--;
}

static void perform(struct helper *h)
{
	int running, left;
	const CURLMsg *message;

	(void)curl_multi_perform(h->multi, &running);
	while ((message = curl_multi_info_read(h->multi, &left)) != NULL) {
		CURLcode code = message->data.result;
		char *a = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
					&a);
		end(h, (struct attempt *)(void *)a, code);
	}
}

/* Receive what is there.  False: the other end is closed. */
static bool receive(struct helper *h)
{
	static char body[HOOK_BODY_BYTES];
	struct hook_message m;

	while (h->count < HOOK_FLIGHTS_MAX) {
		switch (hook_receive(KEEPER_SOCKET, &m, body)) {
		case HOOK_RECEIVED:
			if (m.kind == HOOK_SEND)
				begin(h, &m, body);
			break;
		case HOOK_BAD:
			break;
		case HOOK_NOTHING:
			return true;
		case HOOK_END:
			return false;
		}
	}
	return true;
}

bool deliver(const struct deliver_config *c)
{
	struct helper h = { .config = c };

	if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK ||
	    (h.multi = curl_multi_init()) == NULL)
		return false;
	(void)curl_multi_setopt(h.multi, CURLMOPT_MAXCONNECTS,
				(long)HOOK_FLIGHTS_MAX);
	while (receive(&h)) {
		bool has_room = h.count < HOOK_FLIGHTS_MAX;
		struct curl_waitfd wait = { .fd = KEEPER_SOCKET,
					    .events = CURL_WAIT_POLLIN };

		perform(&h);
		(void)curl_multi_poll(h.multi, &wait, has_room, TURN_MS, NULL);
		perform(&h);
	}
	/* The process ends: so do the attempts that are left. */
	return true;
}
