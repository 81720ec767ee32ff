/* SPDX-License-Identifier: MIT */
/*
 * Originals that are packed, restored: by a process without rights, within the
 * memory that uploads may be charged, and compared with their SHA-256 before
 * anybody sees them.
 */
#include "service/http/handlers/images/picture_request.h"

#include "service/decoder/decoder.h"
#include "service/log/log.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Charge the pipeline's memory, of which uploads are made, too. */
static enum problem charge(struct request *r, uint64_t bytes)
{
	struct picture_request *p = picture_of(r);

	if (p->charge.bytes == 0)
		p->charge.budget = pipeline_budget(r->config->pipeline);
	switch (budget_charge(&p->charge, bytes)) {
	case BUDGET_OK:
		return PROBLEM_NONE;
	case BUDGET_FULL:
		break;
	case BUDGET_NEVER:
		return PROBLEM_TOO_MUCH_MEMORY;
	}
	request_explain(r, "There is no memory to restore the original now; "
			   "see Retry-After.");
	return PROBLEM_MEMORY_FULL;
}

static enum problem problem_of_error(struct request *r, enum img_err err)
{
	struct picture_request *p = picture_of(r);

	if (err == IMG_OK)
		return PROBLEM_NONE;
	if (err == IMG_ERR_NO_DECODER)
		return PROBLEM_DECODER_DOWN;
	if (err == IMG_ERR_LOST && p->deadline_ns != 0 &&
	    clock_now_ns() >= p->deadline_ns)
		return PROBLEM_DEADLINE_EXCEEDED;
	if (err == IMG_ERR_LOST && atomic_load(&r->http->abandoning))
		return PROBLEM_STOPPING;
	log_message(r->config->log, LOG_LEVEL_ERROR,
		    "the stored original %s cannot be restored: %s", p->key,
		    img_strerror(err));
	return images_note_damage(r, PACKED_NAME);
}

/* Restore `packed` into `to`, of the original's size. */
static enum problem restore_bytes(struct request *r, uint8_t *to,
				  const uint8_t *packed, uint64_t more_bytes)
{
	const struct picture_request *p = picture_of(r);
	const struct stored_picture *picture = &p->picture;
	struct img_repack_estimate estimate;
	struct decoder_repack work = {
		.what = IMG_RESTORE,
		.bytes = packed,
		.count = (size_t)picture->packed_bytes,
		.to = to,
		.room = (size_t)picture->bytes,
		.end_ns = p->deadline_ns,
	};
	char sha256[SHA256_TEXT_BYTES];
	enum problem problem;
	size_t count;

	if (!img_estimate_repack(&estimate, IMG_RESTORE, work.bytes,
				 work.count))
		return images_note_damage(r, PACKED_NAME);
	work.cpu_ns = estimate.cpu_ns_max;
	/* Both files are in the memory of the process, too. */
	problem = charge(r, more_bytes + 2 * picture->packed_bytes +
				    picture->bytes + estimate.memory_bytes);
	if (problem == PROBLEM_NONE)
		problem = problem_of_error(
			r, decoder_repack(r->config->repacker, &work, &count));
	if (problem != PROBLEM_NONE)
		return problem;
	sha256_print(sha256, to, count);
	return count == picture->bytes && strcmp(sha256, picture->sha256) == 0 ?
		       PROBLEM_NONE :
		       images_note_damage(r, PACKED_NAME);
}

/* What stays charged afterwards is `more_bytes`, or nothing after an error. */
static enum problem restore(struct request *r, uint8_t *to, uint64_t more_bytes)
{
	struct picture_request *p = picture_of(r);
	size_t count = (size_t)p->picture.packed_bytes;
	enum problem problem = charge(r, more_bytes + count);
	uint8_t *packed = NULL;

	if (problem == PROBLEM_NONE) {
		packed = malloc(count);
		if (packed == NULL)
			problem = PROBLEM_OUT_OF_MEMORY;
	}
	if (problem == PROBLEM_NONE &&
	    pread(p->file.fd, packed, count, 0) != (ssize_t)count)
		problem = images_note_damage(r, PACKED_NAME);
	if (problem == PROBLEM_NONE)
		problem = restore_bytes(r, to, packed, more_bytes);
	free(packed);
	budget_lower(&p->charge, problem == PROBLEM_NONE ? more_bytes : 0);
	return problem;
}

enum problem restoring_begin(struct request *r)
{
	struct picture_request *p = picture_of(r);

	if (p->file.bytes != p->picture.packed_bytes)
		return images_note_damage(r, PACKED_NAME);
	p->file.bytes = p->picture.bytes;
	if (r->config->repacker != NULL)
		return PROBLEM_NONE;
	request_explain(r,
			"The original is stored as JPEG XL, and this server "
			"cannot restore it: %s.",
			img_can_repack() ? "its program darkroom-decoder has "
					   "not started" :
					   "it is built without libjxl");
	return PROBLEM_STORE_FAILED;
}

enum problem restoring_read(struct request *r, uint8_t *to)
{
	return restore(r, to, 0);
}

/* A file in memory, of that size.  -1: failed. */
static int open_memory(uint64_t bytes)
{
	int fd = memfd_create("original", MFD_CLOEXEC);

	/* The sandbox has no call that only sets the size. */
	if (fd >= 0 && pwrite(fd, "", 1, (off_t)bytes - 1) != 1) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

enum problem restoring_open(struct request *r)
{
	struct picture_request *p = picture_of(r);
	size_t bytes = (size_t)p->picture.bytes;
	enum problem problem = PROBLEM_OUT_OF_MEMORY;
	int fd = open_memory(bytes);
	void *to = MAP_FAILED;

	if (fd >= 0)
		to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  0);
	if (to != MAP_FAILED) {
		problem = restore(r, to, bytes);
		(void)munmap(to, bytes);
	}
	if (problem == PROBLEM_NONE) {
		(void)close(p->file.fd);
		p->file = (struct store_part){ .fd = fd,
					       .is_fetched = true,
					       .bytes = bytes };
	} else if (fd >= 0) {
		(void)close(fd);
	}
	return problem;
}
