/* SPDX-License-Identifier: MIT */
/*
 * Result: everything that is known about one request at its end.
 *
 * Results separate making load from counting it: client/ makes them, report/
 * counts them, and neither includes the other.
 *
 *	intended time  request start  last byte sent  last byte received
 *	      |--------------|--------------|--------------|
 *	      |              |              |<------------>| from_last_byte_ns
 *	      |              |<--------------------------->| from_first_byte_ns
 *	      |<------------------------------------------>| response_ns
 *
 * A closed loop has no intended time; in it, response_ns equals
 * from_last_byte_ns.
 */
#ifndef LOADGEN_CLIENT_RESULT_H
#define LOADGEN_CLIENT_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct result {
	uint32_t file;           /* index into the dataset */
	int status;              /* HTTP status; 0: no whole reply, see error */
	const char *error;       /* static text; NULL if there is a status */
	const char *target;      /* path and query; lent for the run */
	uint64_t uploaded_bytes; /* size of the file, also within a form */
	/* Of the file's image, set by run.c; 0: not a JPEG. */
	double megapixels;
	uint64_t response_ns;
	uint64_t from_last_byte_ns;
	uint64_t from_first_byte_ns;
	uint64_t unloaded_ns; /* the file's, set by run.c; 0: not known */

	/* Times since the beginning of the run; 0: it did not happen. */
	/* Only in an open loop; there, 0 is a valid time. */
	uint64_t intended_ns;
	uint64_t started_ns;
	uint64_t sent_ns;
	uint64_t ended_ns;

	/* Sent by an open loop, which sets the next two members. */
	bool scheduled;
	bool waited;     /* no connection was free at the intended time */
	uint64_t lag_ns; /* from the intended time until the request began */

	const char *reply; /* lent for the call; NULL if empty or not kept */
	size_t reply_bytes;
};

/* 2xx: the only replies that count as work done. */
static inline bool status_is_ok(int status)
{
	return status >= 200 && status <= 299;
}

/*
 * The request's time divided by the file's time without load (unloaded_ns),
 * which must be known.  The request's time counts from its first byte sent or,
 * in an open loop, from the intended time.
 */
static inline double result_slowdown(const struct result *r)
{
	uint64_t loaded_ns =
		r->scheduled ? r->response_ns : r->from_first_byte_ns;

	return (double)loaded_ns / (double)r->unloaded_ns;
}

/* Answered 2xx: the only results that count as work done. */
static inline bool result_is_ok(const struct result *r)
{
	return status_is_ok(r->status);
}

#endif
