/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/object.h"

#include <string.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

enum { PIECE_BYTES = 64 << 10 };

/* STORE_DAMAGED: there is none, or it gives another number of bytes. */
static enum store_answer read_index(int fd, uint64_t bytes, struct package *p)
{
	char head[PACKAGE_INDEX_BYTES_MAX];
	ssize_t n = pread(fd, head, (size_t)min_u64(bytes, sizeof(head)), 0);

	if (n < 0)
		return STORE_FAILED;
	if (package_read_index(p, head, (size_t)n) != STORE_OK ||
	    p->bytes != bytes)
		return STORE_DAMAGED;
	return STORE_OK;
}

static enum store_answer check_file(int fd, const struct package_file *f)
{
	uint8_t digest[SHA256_DIGEST_SIZE], piece[PIECE_BYTES];
	char text[STORE_ID_BYTES];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	for (uint64_t at = 0; at < f->bytes;) {
		ssize_t n = pread(fd, piece,
				  (size_t)min_u64(sizeof(piece), f->bytes - at),
				  (off_t)(f->offset + at));

		if (n <= 0)
			return n < 0 ? STORE_FAILED : STORE_DAMAGED;
		sha256_update(&ctx, (size_t)n, piece);
		at += (uint64_t)n;
	}
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	return memcmp(text, f->sha256, sizeof(text) - 1) == 0 ? STORE_OK :
								STORE_DAMAGED;
}

static enum store_answer check_id(int fd, const struct package *p,
				  const char *id)
{
	const struct package_file *meta = package_find(p, "meta.json");
	char begin[2 * STORE_ID_BYTES];
	ssize_t n;

	if (meta == NULL)
		return STORE_DAMAGED;
	n = pread(fd, begin, (size_t)min_u64(meta->bytes, sizeof(begin)),
		  (off_t)meta->offset);
	if (n < 0)
		return STORE_FAILED;
	return package_is_meta_of(begin, (size_t)n, id) ? STORE_OK :
							  STORE_DAMAGED;
}

enum store_answer object_check(int fd, uint64_t bytes, const char *id)
{
	struct package p;
	enum store_answer answer = read_index(fd, bytes, &p);

	if (answer == STORE_OK)
		answer = check_id(fd, &p, id);
	for (uint32_t i = 0; answer == STORE_OK && i < p.file_count; i++)
		answer = check_file(fd, &p.files[i]);
	return answer;
}
