/* SPDX-License-Identifier: MIT */
#include "imgops/test/hostile/charge.h"

#include "base/test/check.h"

#include <stdlib.h>

enum { HEAD_BYTES = 64, KEPT_BYTES_MIN = 1 << 20 };

#ifdef COUNT_MALLOC

#include <errno.h>
#include <malloc.h>

/* glibc's own, which are not counted. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *block);

static struct charge *current;
static int64_t library_bytes; /* in use */

static void *counted(void *block)
{
	int64_t beyond;

	if (block == NULL)
		return NULL;
	library_bytes += (int64_t)malloc_usable_size(block);
	if (current == NULL)
		return block;
	beyond = library_bytes - (int64_t)current->live_bytes;
	if (beyond > current->uncharged_bytes)
		current->uncharged_bytes = beyond;
	return block;
}

static void forget(void *block)
{
	if (block != NULL)
		library_bytes -= (int64_t)malloc_usable_size(block);
}

void *malloc(size_t bytes)
{
	return counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
	return counted(__libc_calloc(count, bytes));
}

void *realloc(void *block, size_t bytes)
{
	void *moved;

	forget(block);
	moved = __libc_realloc(block, bytes);
	return counted(moved == NULL && bytes > 0 ? block : moved) == NULL ?
		       NULL :
		       moved;
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return counted(__libc_memalign(align, bytes));
}

int posix_memalign(void **block, size_t align, size_t bytes)
{
	void *b = counted(__libc_memalign(align, bytes));

	if (b == NULL)
		return ENOMEM;
	*block = b;
	return 0;
}

void free(void *block)
{
	forget(block);
	__libc_free(block);
}

#else

#define __libc_malloc malloc
#define __libc_free free

#endif

/*
 * A large block that is free: new ones take milliseconds, with AddressSanitizer
 * even if nothing is written there.
 */
static size_t *kept;

static size_t *take_kept(size_t bytes)
{
	size_t *block = kept != NULL && *kept == bytes ? kept : NULL;

	if (block != NULL)
		kept = NULL;
	return block;
}

static void *charge_alloc(void *arg, size_t bytes)
{
	struct charge *c = arg;
	size_t *head = take_kept(bytes);

	if (head == NULL)
		head = __libc_malloc(HEAD_BYTES + bytes);
	CHECK(head != NULL);
	*head = bytes;
	c->live_bytes += bytes;
	if (c->live_bytes > c->peak_bytes)
		c->peak_bytes = c->live_bytes;
	return (char *)head + HEAD_BYTES;
}

static void charge_free(void *arg, void *block)
{
	struct charge *c = arg;
	size_t *head = (size_t *)(void *)((char *)block - HEAD_BYTES);

	c->live_bytes -= *head;
	if (*head >= KEPT_BYTES_MIN) {
		__libc_free(kept);
		kept = head;
	} else {
		__libc_free(head);
	}
}

void charge_begin(struct charge *c, void (*pause)(void *charge))
{
	*c = (struct charge){ .memory = { charge_alloc, charge_free, c,
					  pause } };
#ifdef COUNT_MALLOC
	library_bytes = 0;
	current = c;
#endif
}

void charge_end(struct charge *c)
{
#ifdef COUNT_MALLOC
	CHECK(current == c);
	current = NULL;
#else
	(void)c;
#endif
}
