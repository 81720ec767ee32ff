/* SPDX-License-Identifier: MIT */
#include "imgops/arena.h"

enum {
	/* For small requests; two chunks are enough for most pictures. */
	CHUNK_BYTES = ARENA_CHUNK_BYTES - ARENA_BLOCK_EXTRA,
	/* A larger request gets its own block. */
	SHARE_BYTES_MAX = CHUNK_BYTES / 4,
};

struct arena_block {
	struct arena_block *next;
	size_t bytes; /* size of the whole block */
};

_Static_assert(sizeof(struct arena_block) + ARENA_ALIGN_BYTES - 1 <=
		       ARENA_BLOCK_EXTRA,
	       "a block's head, and room to align what follows");

/* A block with room for `bytes`; returns its aligned beginning, or NULL. */
static uint8_t *add_block(struct arena *a, struct arena_account *account,
			  size_t bytes)
{
	size_t whole = bytes + ARENA_BLOCK_EXTRA;
	/* The limit may have been lowered. */
	uint64_t left = account->bytes_max > account->bytes ?
				account->bytes_max - account->bytes :
				0;
	struct arena_block *block;
	uint8_t *data;

	if (whole < bytes || whole > left) {
		account->over_limit = true;
		return NULL;
	}
	block = memory_alloc(account->memory, whole);
	if (block == NULL)
		return NULL;
	*block = (struct arena_block){ a->blocks, whole };
	a->blocks = block;
	account->bytes += whole;
	data = (uint8_t *)(block + 1);
	data += -(uintptr_t)data & (ARENA_ALIGN_BYTES - 1);
	memory_pause(account->memory); /* a new huge page takes long */
	return data;
}

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + ARENA_ALIGN_BYTES - 1) &
	       ~(uint64_t)(ARENA_ALIGN_BYTES - 1);
}

static bool needs_block(uint64_t bytes, uint64_t left_bytes)
{
	return bytes > left_bytes && bytes > SHARE_BYTES_MAX;
}

void *arena_alloc(struct arena *a, struct arena_account *account, size_t bytes)
{
	uint8_t *data;

	if (bytes > SIZE_MAX - ARENA_ALIGN_BYTES) {
		account->over_limit = true;
		return NULL;
	}
	bytes = (size_t)aligned(bytes);
	if (needs_block(bytes, a->left_bytes))
		return add_block(a, account, bytes);
	if (bytes > a->left_bytes) {
		data = add_block(a, account, CHUNK_BYTES);
		if (data == NULL)
			return NULL;
		a->next = data;
		a->left_bytes = CHUNK_BYTES;
	}
	data = a->next;
	a->next += bytes;
	a->left_bytes -= bytes;
	return data;
}

void arena_free(struct arena *a, struct arena_account *account)
{
	struct arena_block *next;

	for (struct arena_block *b = a->blocks; b != NULL; b = next) {
		next = b->next;
		account->bytes -= b->bytes;
		memory_free(account->memory, b);
		memory_pause(account->memory);
	}
	*a = (struct arena){ 0 };
}

void arena_requests_add(struct arena_requests *r, uint64_t bytes)
{
	bytes = aligned(bytes);
	if (needs_block(bytes, r->left_bytes)) {
		r->bytes += bytes + ARENA_BLOCK_EXTRA;
		return;
	}
	if (bytes > r->left_bytes) {
		r->bytes += ARENA_CHUNK_BYTES;
		r->left_bytes = CHUNK_BYTES;
	}
	r->left_bytes -= bytes;
}
