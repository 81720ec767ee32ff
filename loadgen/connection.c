/* SPDX-License-Identifier: MIT */
#include "loadgen/connection.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONNECT_TIMEOUT_MS = 10000,
	REPLY_BYTES_FIRST = 64 << 10,
	/* Four times libcurl's default takes a third off the client's CPU time
	 * with photos of 0.6 MB; eight times takes no more. */
	UPLOAD_BUFFER_BYTES = 256 << 10,
};

static size_t size_bytes(const struct connection *c)
{
	return c->config->dataset->files[c->file].size_bytes;
}

/*
 * libcurl has a connection, new or kept, and is about to send the request.  A
 * second time means that it is about to send it again, as the connection was
 * kept and closed without a reply: no, the server has lost a request.
 */
static int note_start(void *arg, char *server_ip, char *own_ip, int server_port,
		      int own_port)
{
	struct connection *c = arg;

	(void)server_ip, (void)own_ip, (void)server_port, (void)own_port;
	if (c->started_ns != 0) {
		c->rejected = "Kept connection closed without a reply";
		return CURL_PREREQFUNC_ABORT;
	}
	c->started_ns = clock_now_ns();
	return CURL_PREREQFUNC_OK;
}

/* libcurl calls this after each send and receive, and now and then. */
static int note_sent(void *arg, curl_off_t to_receive, curl_off_t received,
		     curl_off_t to_send, curl_off_t sent)
{
	struct connection *c = arg;

	(void)to_receive, (void)received, (void)to_send;
	if (c->sent_ns == 0 && c->started_ns != 0 &&
	    sent == (curl_off_t)size_bytes(c))
		c->sent_ns = clock_now_ns();
	return 0;
}

static bool reserve_reply(struct connection *c, size_t bytes)
{
	size_t capacity = c->reply_capacity;
	char *reply;

	if (capacity == 0)
		capacity = REPLY_BYTES_FIRST;
	while (capacity < bytes)
		capacity *= 2;
	if (capacity == c->reply_capacity)
		return true;
	reply = realloc(c->reply, capacity);
	if (reply == NULL)
		return false;
	c->reply = reply;
	c->reply_capacity = capacity;
	return true;
}

/* Anything but `count` makes libcurl break the transfer off. */
static size_t take_reply(char *bytes, size_t one, size_t count, void *arg)
{
	struct connection *c = arg;

	assert(one == 1);
	if (count > CLIENT_REPLY_BYTES_MAX - c->reply_bytes) {
		c->rejected = "Reply too long";
		return 0;
	}
	if (c->config->keep_replies) {
		if (!reserve_reply(c, c->reply_bytes + count)) {
			c->rejected = "Out of memory for the reply";
			return 0;
		}
		memcpy(c->reply + c->reply_bytes, bytes, count);
	}
	c->reply_bytes += count;
	return count;
}

bool connection_init(struct connection *c, const struct client_config *config,
		     struct curl_slist *headers)
{
	CURL *e = curl_easy_init();

	c->config = config;
	c->easy = e;
	if (e == NULL)
		return false;
	curl_easy_setopt(e, CURLOPT_PRIVATE, c);
	curl_easy_setopt(e, CURLOPT_URL, config->url);
	curl_easy_setopt(e, CURLOPT_PROXY, ""); /* whatever environment says */
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE,
			 (long)UPLOAD_BUFFER_BYTES);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS,
			 (long)(config->timeout_ns / NS_PER_MS));
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, c->error);
	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, note_start);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, c);
	curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, note_sent);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, c);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_reply);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
	return true;
}

void connection_release(struct connection *c)
{
	curl_easy_cleanup(c->easy);
	free(c->reply);
}

struct connection *connection_of(CURL *easy)
{
	char *private;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	return (struct connection *)private;
}

void connection_prepare(struct connection *c, uint32_t file)
{
	const struct dataset_file *upload = &c->config->dataset->files[file];

	c->file = file;
	c->started_ns = 0;
	c->sent_ns = 0;
	c->rejected = NULL;
	c->reply_bytes = 0;
	c->error[0] = '\0';
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, upload->bytes); /* lent */
	curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)upload->size_bytes);
}

struct result connection_describe(const struct connection *c, CURLcode outcome,
				  uint64_t now_ns)
{
	struct result r = {
		.file = c->file,
		.uploaded_bytes = size_bytes(c),
		.scheduled = c->intended_ns != 0,
		.waited = c->waited,
		.lag_ns = c->lag_ns,
		.reply = c->reply,
		.reply_bytes = c->reply_bytes,
	};
	long status = 0;

	if (outcome != CURLE_OK) {
		r.error = c->rejected != NULL ? c->rejected :
						curl_easy_strerror(outcome);
		return r;
	}
	curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	r.status = (int)status;
	r.from_first_byte_ns = now_ns - c->started_ns;
	r.from_last_byte_ns = c->sent_ns != 0 ? now_ns - c->sent_ns : 0;
	r.response_ns =
		r.scheduled ? now_ns - c->intended_ns : r.from_last_byte_ns;
	return r;
}
