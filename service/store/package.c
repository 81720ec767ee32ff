/* SPDX-License-Identifier: MIT */
#include "service/store/package.h"

#include "base/file.h"
#include "base/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

static const char begin_text[] = "darkroom-package 1 ";

enum {
	PIECE_BYTES = 64 << 10, /* read at once */
	BEGIN_TEXT_BYTES = sizeof(begin_text) - 1,
	DIGITS = 8,
	FIRST_LINE_BYTES = BEGIN_TEXT_BYTES + DIGITS + 1,
};

/* No real package reaches it; sums of such numbers do not overflow. */
#define FILE_BYTES_MAX (UINT64_C(1) << 40)

static void hash(char text[STORE_ID_BYTES], const struct store_file *f)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, f->count, f->bytes);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	text[STORE_ID_BYTES - 1] = '\0';
}

/* Print the index; the first file is at `offset`.  Returns its length. */
static size_t print_index(char index[PACKAGE_INDEX_BYTES_MAX],
			  struct package *p, uint64_t offset)
{
	size_t at = FIRST_LINE_BYTES;

	p->bytes = offset;
	(void)snprintf(index, PACKAGE_INDEX_BYTES_MAX, "%s%0*" PRIu64 "\n",
		       begin_text, DIGITS, offset);
	for (uint32_t i = 0; i < p->file_count; i++) {
		struct package_file *f = &p->files[i];

		f->offset = p->bytes;
		p->bytes += f->bytes;
		at += (size_t)snprintf(index + at, PACKAGE_INDEX_BYTES_MAX - at,
				       "%s %" PRIu64 " %" PRIu64 " %s\n",
				       f->name, f->offset, f->bytes, f->sha256);
	}
	return at;
}

/*
 * The offsets are in the index, whose length depends on their digits.  So it is
 * printed again until its length is what was assumed.
 */
static size_t make_index(char index[PACKAGE_INDEX_BYTES_MAX], struct package *p)
{
	size_t assumed = 0, bytes = print_index(index, p, 0);

	while (bytes != assumed) {
		assumed = bytes;
		bytes = print_index(index, p, assumed);
	}
	return bytes;
}

_Static_assert(
	FIRST_LINE_BYTES + PACKAGE_FILES_MAX *
				   (sizeof(((struct package_file *)0)->name) +
				    STORE_ID_BYTES + 2 * 21) <
		PACKAGE_INDEX_BYTES_MAX,
	"every index fits");

bool package_write(int fd, const struct store_file *files, uint32_t file_count,
		   struct package *out)
{
	char index[PACKAGE_INDEX_BYTES_MAX];

	if (file_count == 0 || file_count > PACKAGE_FILES_MAX) {
		errno = E2BIG;
		return false;
	}
	out->file_count = file_count;
	for (uint32_t i = 0; i < file_count; i++) {
		struct package_file *f = &out->files[i];

		(void)snprintf(f->name, sizeof(f->name), "%s", files[i].name);
		f->bytes = files[i].count;
		hash(f->sha256, &files[i]);
	}
	if (!file_write_all(fd, index, make_index(index, out)))
		return false;
	for (uint32_t i = 0; i < file_count; i++)
		if (!file_write_all(fd, files[i].bytes, files[i].count))
			return false;
	return true;
}

/* Take decimal digits without a leading zero, and the `end` after them. */
static bool take_number(const char **at, const char *until, char end,
			uint64_t *out)
{
	const char *begin = *at;
	uint64_t n = 0;

	while (*at < until && **at >= '0' && **at <= '9') {
		n = n * 10 + (uint64_t)(**at - '0');
		if (n > FILE_BYTES_MAX)
			return false;
		(*at)++;
	}
	if (*at == begin || (*begin == '0' && *at != begin + 1) ||
	    *at == until || **at != end)
		return false;
	(*at)++;
	*out = n;
	return true;
}

/* Take what stands before the next `end`, which must fit, and the `end`. */
static bool take_word(const char **at, const char *until, char end, char *out,
		      size_t out_bytes)
{
	const char *stop = memchr(*at, end, (size_t)(until - *at));
	size_t n = stop != NULL ? (size_t)(stop - *at) : 0;

	if (n == 0 || n >= out_bytes || memchr(*at, '\0', n) != NULL)
		return false;
	(void)memcpy(out, *at, n);
	out[n] = '\0';
	*at = stop + 1;
	return true;
}

static bool take_file(const char **at, const char *until, struct package *p)
{
	struct package_file *f = &p->files[p->file_count];

	if (p->file_count == PACKAGE_FILES_MAX ||
	    !take_word(at, until, ' ', f->name, sizeof(f->name)) ||
	    !take_number(at, until, ' ', &f->offset) ||
	    !take_number(at, until, ' ', &f->bytes) ||
	    !take_word(at, until, '\n', f->sha256, sizeof(f->sha256)))
		return false;
	if (!store_is_file_name(f->name) || package_find(p, f->name) != NULL ||
	    !store_is_sha256(f->sha256) || f->offset != p->bytes ||
	    f->bytes == 0)
		return false;
	p->bytes += f->bytes;
	p->file_count++;
	return true;
}

enum store_answer package_read_index(struct package *out, const void *bytes,
				     size_t count)
{
	const char *text = bytes, *at = text + BEGIN_TEXT_BYTES, *until;
	uint64_t index_bytes = 0;

	if (count < FIRST_LINE_BYTES ||
	    memcmp(text, begin_text, BEGIN_TEXT_BYTES) != 0)
		return STORE_DAMAGED;
	for (; at < text + FIRST_LINE_BYTES - 1; at++) {
		if (*at < '0' || *at > '9')
			return STORE_DAMAGED;
		index_bytes = index_bytes * 10 + (uint64_t)(*at - '0');
	}
	if (*at++ != '\n' || index_bytes <= FIRST_LINE_BYTES ||
	    index_bytes > PACKAGE_INDEX_BYTES_MAX || index_bytes > count)
		return STORE_DAMAGED;
	until = text + index_bytes;
	*out = (struct package){ .bytes = index_bytes };
	while (at < until)
		if (!take_file(&at, until, out))
			return STORE_DAMAGED;
	return STORE_OK;
}

const struct package_file *package_find(const struct package *p,
					const char *name)
{
	for (uint32_t i = 0; i < p->file_count; i++)
		if (strcmp(p->files[i].name, name) == 0)
			return &p->files[i];
	return NULL;
}

bool package_has(const struct package *p, const struct store_file *files,
		 uint32_t file_count)
{
	for (uint32_t i = 0; i < file_count; i++) {
		const struct package_file *f = package_find(p, files[i].name);
		char sha256[STORE_ID_BYTES];

		if (f == NULL || f->bytes != files[i].count)
			return false;
		hash(sha256, &files[i]);
		if (strcmp(sha256, f->sha256) != 0)
			return false;
	}
	return true;
}

bool package_is_meta_of(const char *text, size_t count, const char *id)
{
	static const char begin[] = "{\"id\":\"";
	const size_t id_bytes = STORE_ID_BYTES - 1;

	return count > sizeof(begin) - 1 + id_bytes &&
	       memcmp(text, begin, sizeof(begin) - 1) == 0 &&
	       memcmp(text + sizeof(begin) - 1, id, id_bytes) == 0 &&
	       text[sizeof(begin) - 1 + id_bytes] == '"';
}

/* STORE_DAMAGED: there is none, or it gives another number of bytes. */
static enum store_answer read_own_index(int fd, uint64_t bytes,
					struct package *p)
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

enum store_answer package_check(int fd, uint64_t bytes, const char *id)
{
	struct package p;
	enum store_answer answer = read_own_index(fd, bytes, &p);

	if (answer == STORE_OK)
		answer = check_id(fd, &p, id);
	for (uint32_t i = 0; answer == STORE_OK && i < p.file_count; i++)
		answer = check_file(fd, &p.files[i]);
	return answer;
}
