/* SPDX-License-Identifier: MIT */
/*
 * Packer: a thread that looks after the originals of a store in a folder.
 *
 *	original.jpg --pack--> packed.jxl --restore, compare--> replaces the
 *	                                                        JPEG in one step
 *
 * Packing    A JPEG is recompressed to JPEG XL (imgops/repack.h), about a fifth
 *            smaller, from which each byte of it can be restored.  Processes
 *            without rights do both (decoder.h), one file at a time.  They run
 *            only while cores have nothing else to do, and one begins only
 *            while no upload is in the pipeline.
 *            A JPEG that libjxl does not take, that does not come back as it
 *            was, or that becomes hardly smaller, stays; a file kept.json in
 *            its entry says why, and it is not tried again.
 * Orphans    An original without an image, left by a crash or an error between
 *            putting the two, is removed after ORPHAN_S.
 * Work       packer_tell() names new originals, and remembers a few.
 *            At the start, and later at most once per hour and only if there
 *            may be something to do, the thread walks through all originals,
 *            some hundred in a second.
 *
 * Threads    Any number of threads may call packer_tell() and packer_read() at
 *            the same time; neither blocks.  One thread calls the others.  The
 *            thread has the usual priority, because it takes locks of the
 *            store; it computes no more than a few SHA-256.
 * Memory     What packing takes is charged to the pipeline's budget, and is at
 *            most a quarter of that; larger pictures stay JPEGs.
 */
#ifndef SERVICE_PACKER_H
#define SERVICE_PACKER_H

#include "service/pipeline/pipeline.h"
#include "service/store/store.h"

struct decoder;
struct log;
struct packer;

enum { ORPHAN_S = 3600 };

/* Larger ones are not packed. */
#define PACKED_JPEG_BYTES_MAX (UINT64_C(256) << 20)

struct packer_config {
	struct pipeline *pipeline;
	struct store *store;
	struct decoder *repacker; /* NULL: it packs nothing */
	struct log *log;
};

/* Since the start. */
struct packer_stats {
	uint64_t packed_count;
	uint64_t saved_bytes;
	uint64_t kept_count; /* JPEGs that were tried, and stay */
	uint64_t orphan_count;
};

/* NULL: no memory or no thread. */
struct packer *packer_start(const struct packer_config *config);

/* The original of this image was put.  NULL is fine. */
void packer_tell(struct packer *p, const char *id);

/* Begin no more work.  NULL is fine. */
void packer_leave(struct packer *p);

/*
 * End the thread, and free the packer.  A process that packs should be ended
 * before: decoder_end_waits().  NULL is fine.
 */
void packer_stop(struct packer *p);

void packer_read(const struct packer *p, struct packer_stats *out);

#endif
