/* SPDX-License-Identifier: MIT */
/*
 * Requests: where a run sends its requests, and which request comes next.
 *
 *	URL ---------.
 *	dataset, order --file--.
 *	params, seed --query--> targets --> requests_next() -> struct request
 *
 * Each pass sends every file once, in a new shuffle.  The shuffle of a pass
 * depends only on the seed, the pass and the number of files.  The query that a
 * request draws depends only on the seed and the number of the request in the
 * run.  So a run can be repeated on any machine and with any number of
 * connections.
 *
 * Pure, except for url_resolve() and request_source_init().
 *
 * Ownership  A URL and a source own their texts.  `struct requests` borrows the
 *            source, and each `struct request` borrows it too, until the
 *            request has ended.
 * Limits     TARGETS_MAX targets: one for each query of --params; if files have
 *            queries of their own, one for each file and each of these queries.
 */
#ifndef LOADGEN_CLIENT_REQUEST_H
#define LOADGEN_CLIENT_REQUEST_H

#include "base/error.h"
#include "loadgen/dataset/dataset.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TARGETS_MAX = 10000000 };

/* The server, and the resource on it. */
struct url {
	bool is_tls;     /* https:// */
	char *host;      /* a name or an address, without brackets */
	char *authority; /* host and port as in the URL: the Host header */
	char *target;    /* path and query; "/" if the URL has no path */
	char port[sizeof("65535")];
};

/* Fill `url`.  False: `error` says what is wrong, and `url` is untouched. */
MUST_CHECK bool url_parse(struct url *url, const char *text,
			  struct error *error);

/* Free the texts and make `url` empty.  An empty one is fine. */
void url_release(struct url *url);

/*
 * All addresses of the host, to be freed by freeaddrinfo().  NULL: `error` says
 * why there is none.  Blocks while it asks the resolver.
 */
struct addrinfo *url_resolve(const struct url *url, struct error *error);

struct param {
	char *query;
	double weight_up_to; /* sum of its own weight and those before it */
};

/*
 * The queries of --params.  Each request draws one of them, with a probability
 * in proportion to its weight.  If empty, nothing is drawn.
 */
struct params {
	struct param *all;
	uint32_t count;
};

/*
 * Every path and query that may be sent.  The query is that of the URL, then
 * that of the file, then a drawn one, joined by '&'.
 */
struct targets {
	char **texts;         /* those of file 0, then of file 1 ..; owned */
	uint32_t file_count;  /* 1: all files have the same targets */
	uint32_t param_count; /* 1 if nothing is drawn */
};

/* The source of the requests of all runs. */
struct request_source {
	const struct dataset *dataset;
	struct params params;
	struct targets targets;
	char *api_key; /* a header line with CRLF; NULL: none */
};

/*
 * Fill the empty `s`.  A file of params has one query per line, such as
 * "w=320&h=320&q=75".  A weight and a TAB may precede the query; without them
 * the weight is 1.  The first line of a file of API keys is sent with each
 * request, as "Authorization: Bearer KEY" (RFC 6750).  lines.h says what else
 * these files may contain.  The path is NULL if there is no such file.  False:
 * `error` names the URL, or the option (--params, --api-key-file) and the file;
 * request_source_release() must still be called.
 */
MUST_CHECK bool request_source_init(struct request_source *s,
				    const struct dataset *dataset,
				    const char *url, const char *params_file,
				    const char *api_key_file,
				    struct error *error);

/* Make `s` empty.  An empty one is fine. */
void request_source_release(struct request_source *s);

/* One upload, as it is sent. */
struct request {
	uint32_t file; /* index into the dataset */
	/* Of the file itself, even if it is sent within a form. */
	size_t file_bytes;
	const char *target;       /* path and query, not empty */
	const char *content_type; /* NULL: a GET */
	const char *fields;       /* more header lines, with CRLF; NULL: none */
	const char *body;         /* NULL only if empty */
	size_t body_bytes;
};

/* The order in which files are sent. */
struct order {
	/* Indexes of all files, shuffled for this pass; owned. */
	uint32_t *files;
	uint32_t file_count;
	uint32_t next;   /* index into files */
	uint64_t pass;   /* passes begun */
	uint64_t passes; /* 0: without end */
	uint64_t seed;
};

struct requests {
	const struct request_source *source;
	uint64_t passes; /* 0: without end */
	uint64_t seed;

	/* Written by requests_*() only. */
	struct order order;
	uint64_t count; /* requests so far */
};

/*
 * Begin.  The caller has set all members above `order`.  False: out of memory.
 */
MUST_CHECK bool requests_begin(struct requests *r);

/* The next request.  False: all passes are over. */
bool requests_next(struct requests *r, struct request *request);

/* Free what requests_begin() made. */
void requests_end(struct requests *r);

#endif
