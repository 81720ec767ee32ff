/* SPDX-License-Identifier: MIT */
/*
 * Decoder: img_decode() in other processes, for formats whose decoders may
 * crash, hang or be taken over by a file; and img_repack() for the same reason.
 *
 *	server --control--> darkroom-decoder --fork--> forker
 *	   \                                              | fork
 *	    \__ lane: socket and shared memory __ a process for each lane
 *
 * A lane decodes one file at a time.  The file and the planes are in memory
 * that both sides share, and a process of its own, without rights, decodes it.
 * If that process ends, the file is IMG_ERR_LOST, and the next file of the lane
 * gets a new process.  The forker reads no file: it waits, forks and collects.
 * If it ends, the files in work are IMG_ERR_LOST, and darkroom-decoder starts
 * a new one, and does nothing else.  It is started before the server enters its
 * sandbox, in which nothing can be started; so if it ends, every file is
 * IMG_ERR_NO_DECODER.
 *
 * Threads    Any number may decode at once; each waits until a lane is free,
 *            and for its file's process, without using CPU.
 * Trust      Nothing that comes from a process is used unchecked.
 * Memory     For each lane up to a MiB of shared memory is kept.  More of it,
 *            and what a process allocates, exists only while a file is decoded;
 *            the caller counts it: decoder_extra_bytes().
 */
#ifndef SERVICE_DECODER_H
#define SERVICE_DECODER_H

#include "base/error.h"
#include "imgops/imgops.h"
#include "imgops/repack.h"

#include <limits.h>

struct decoder;

/* The program for formats that name none. */
#define DECODER_USUAL "darkroom-decoder"

struct decoder_config {
	uint32_t formats;    /* a bit for each enum img_format_number */
	uint32_t lanes;      /* files that are decoded at the same time */
	size_t file_bytes;   /* the largest file */
	uint64_t bytes_max;  /* memory of one process: see img_limits */
	const char *name;    /* of the program; NULL: DECODER_USUAL */
	const char *program; /* its path; NULL: in the folder of this one */
	/* Called once, by any thread, when that program has ended. */
	void (*on_down)(void *arg, const char *name);
	void *arg;
};

struct decoder_stats {
	uint64_t decoded_count; /* files, also those that have errors */
	uint64_t lost_count;    /* processes that ended while they decoded */
	uint64_t down_count;    /* files that were IMG_ERR_NO_DECODER */
};

/*
 * Start the program.  Call it before there are threads and a sandbox.  NULL:
 * `error` says why.
 */
struct decoder *decoder_start(const struct decoder_config *c,
			      struct error *error);

/* Set `error` to what is said of such a program that is missing.  False. */
bool decoder_explain_missing(const char *name, struct error *error);

/* How many files it decodes at the same time. */
uint32_t decoder_lanes(const struct decoder *d);

/* Is this format decoded in another process?  `d` may be NULL: no. */
bool decoder_takes(const struct decoder *d, const struct img_format *format);

/* How long decoding may take, and has taken. */
struct decoder_time {
	uint64_t cpu_ns_max, end_ns;
	uint64_t cpu_ns; /* set on success, by the program; else 0 */
};

/*
 * As img_decode().  A process that uses more CPU time than time->cpu_ns_max,
 * that is stopped, or that has not replied at time->end_ns (0: any time) is
 * ended.  After a quarter of that CPU time it has a low priority.
 * IMG_ERR_LOST: the process has ended, or was ended.  IMG_ERR_NO_DECODER: the
 * program has.
 */
MUST_CHECK enum img_err decoder_decode(struct decoder *d, struct image *dst,
				       const uint8_t *bytes, size_t count,
				       const struct img_header *header,
				       const struct img_view *view,
				       const struct img_transform *transform,
				       const struct img_limits *limits,
				       struct decoder_time *time,
				       const struct memory *memory);
/* The arguments of decoder_repack(). */
struct decoder_repack {
	enum img_repack what;
	const uint8_t *bytes; /* the file */
	size_t count;
	uint8_t *to; /* its result, */
	size_t room; /* of at most so many bytes */
	/*
	 * In a process that runs only while cores have nothing else to do, and
	 * does this alone.
	 */
	bool is_idle;
	uint64_t cpu_ns, end_ns; /* cpu_ns_max and end_ns of decoder_decode() */
};

/*
 * As img_repack(); the errors are those and LOST and NO_DECODER.  What a
 * process has packed is whatever the file wanted: restore it and compare.
 */
MUST_CHECK enum img_err decoder_repack(struct decoder *d,
				       const struct decoder_repack *r,
				       size_t *count);

/*
 * Memory outside of struct memory that such a file takes, if decoding it by
 * img_decode() takes `decode_bytes`.
 */
uint64_t decoder_extra_bytes(size_t file_bytes, uint64_t decode_bytes);

/* Has the program not ended?  `d` may be NULL: yes. */
bool decoder_is_up(struct decoder *d);

/* From now on nobody waits: files in work are IMG_ERR_LOST.  NULL is fine. */
void decoder_end_waits(struct decoder *d);

void decoder_read(const struct decoder *d, struct decoder_stats *out);

/* End all processes.  No thread may decode.  NULL is fine. */
void decoder_free(struct decoder *d);

#endif
