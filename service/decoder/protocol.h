/* SPDX-License-Identifier: MIT */
/*
 * What server and decoder processes send each other.
 *
 *	server  --> request      a file is in the shared memory
 *	process --> reply        planes are there, or an error
 *	parent  --> reply LOST   the process of the lane has ended
 *
 * Messages of a lane's socket are whole packets (SOCK_SEQPACKET).  Replies have
 * the number of their request, so an old one is recognised.  A process writes
 * the number of a request to `taken` before it takes the request off the
 * socket; so its parent knows which request is lost with it.
 *
 * The control pipe carries struct decoder_end: end this request.  At the pipe's
 * end all processes end.
 *
 * Both sides must be built alike; the program checks that by decoder_version(),
 * and if it has another one, sends its own as the first message, and ends.
 */
#ifndef SERVICE_DECODER_PROTOCOL_H
#define SERVICE_DECODER_PROTOCOL_H

#include "imgops/imgops.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
	DECODER_CONTROL = 3, /* descriptors in darkroom-decoder */
	DECODER_LANES,       /* of each lane the socket, then the memory */
	DECODER_LANES_MAX = 64,
};

/* The beginning of a lane's shared memory. */
struct decoder_shared {
	_Atomic uint64_t taken; /* see above */
};

enum { DECODER_FILE_AT = 4096 /* the file, after struct decoder_shared */ };

enum decoder_operation {
	DECODER_DECODE,
	DECODER_PACK, /* see imgops/repack.h */
	DECODER_RESTORE,
};

struct decoder_request {
	uint64_t number; /* 1, 2, ... */
	uint32_t operation;
	uint32_t is_idle; /* only while cores have nothing else to do */
	uint64_t cpu_ns;
	uint64_t file_bytes;
	uint64_t file_bytes_max; /* what img_decode() allocates is behind it */
	/* To pack or restore: the result begins there, and has at most */
	uint64_t result_bytes_max;
	/* To decode: */
	uint32_t format;
	struct img_header header; /* its `format` is NULL */
	struct img_view view;
	struct img_transform transform;
	struct img_limits limits;
};

struct decoder_end {
	uint64_t lane;
	uint64_t number; /* of the request */
};

struct decoder_plane {
	uint64_t offset; /* in the shared memory */
	uint64_t stride_bytes;
	uint32_t width, height;
	double span_x, span_y;
};

struct decoder_image {
	uint32_t plane_count;
	uint32_t space;
	uint32_t notes;
	uint32_t is_srgb;
	uint64_t profile_offset, profile_bytes;
	struct decoder_plane planes[IMG_PLANES_MAX];
};

/* As struct img_gain. */
struct decoder_gain {
	uint32_t channel_count;
	uint32_t uses_base_colours;
	double base_headroom, other_headroom;
	struct {
		double min, max, gamma, base_offset, other_offset;
	} channels[3];
};

struct decoder_reply {
	uint64_t number;
	uint32_t err; /* enum img_err */
	uint32_t has_map;
	struct decoder_image image, map;
	struct decoder_gain gain; /* of the map */
	uint64_t result_bytes;    /* packed or restored */
	uint64_t cpu_ns;          /* that it took */
};

enum { DECODER_VERSION_CHARS = 128 };

/* The first argument of the program: what both sides must agree on. */
static inline void decoder_version(char out[DECODER_VERSION_CHARS])
{
	int at = snprintf(out, DECODER_VERSION_CHARS,
			  "protocol 5, %zu and %zu bytes, formats",
			  sizeof(struct decoder_request),
			  sizeof(struct decoder_reply));

	for (uint32_t i = 0; i < IMG_FORMATS && at < DECODER_VERSION_CHARS; i++)
		at += snprintf(out + at, (size_t)(DECODER_VERSION_CHARS - at),
			       " %s", img_formats[i]->word);
}

#endif
