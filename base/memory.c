/* SPDX-License-Identifier: MIT */
/*
 * Every block is a mapping of its own, so its memory can be given back to the
 * system.  The first 64 bytes of a block are its header.  The lock is not held
 * while memory is mapped or unmapped.
 */
#include "base/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/queue.h>

/* When built with AddressSanitizer, memory that is not in use is poisoned. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define POISON(at, bytes) ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif

#define PAGE_BYTES ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20) /* a huge page of x86-64 */
#define BLOCK_BYTES_MAX ((size_t)1 << 40)

/*
 * Without a limit, kept blocks that fit no request would accumulate in each
 * class.  So the mapped memory, in use and kept together, may exceed the
 * largest amount that was in use at one time since the last trim by only this
 * much.
 */
#define SLACK_BYTES ((size_t)4 << 20)

enum {
	CLASSES = 108,    /* class_of(BLOCK_BYTES_MAX) + 1 */
	CLASSES_MORE = 3, /* a block serves requests from 1/2 of its size */
	/* Blocks in use may be larger than needed by 1/16 of the limit. */
	OVERSIZE_PART = 16,
};

enum block_state {
	BLOCK_LIVE = 0x6c697665, /* unlikely to be in memory by chance */
	BLOCK_KEPT = 0x6b657074,
};

struct block {
	_Alignas(64) struct memory_pool *pool;
	size_t bytes; /* size of the mapping, including this header */
	uint32_t class;
	enum block_state state;
	size_t count_bytes; /* size of the smallest class large enough */
	/* Set while the block is kept. */
	LIST_ENTRY(block) of_class;
	TAILQ_ENTRY(block) by_age;
};

LIST_HEAD(block_list, block);
TAILQ_HEAD(block_queue, block);

struct memory_pool {
	struct memory memory;
	size_t kept_bytes_max;
	size_t bytes_max;     /* limit of live and kept bytes together */
	pthread_mutex_t lock; /* protects all members below */
	struct block_list kept[CLASSES];
	struct block_queue by_age; /* the same blocks, last freed first */
	uint64_t live_bytes_peak;  /* since the last trim */
	/* sum over live blocks of (bytes - count_bytes) */
	uint64_t oversize_bytes;
	struct memory_pool_stats stats;
};

/*
 * Classes hold 1, 2, 3, 4 pages, then 5, 6, 7, 8, then 10, 12, 14, 16 and so
 * on: four for each doubling.
 */
static uint32_t class_of(size_t pages)
{
	size_t n = pages - 1;

	assert(pages > 0);
	if (n < 4)
		return (uint32_t)n;

	uint32_t log2 = 63 - (uint32_t)__builtin_clzll(n);

	return 4 * (log2 - 1) + (uint32_t)(n >> (log2 - 2) & 3);
}

static size_t class_bytes(uint32_t class)
{
	if (class < 4)
		return (class + 1) * PAGE_BYTES;
	return ((size_t)5 + class % 4) * PAGE_BYTES << (class / 4 - 1);
}

/*
 * Large blocks begin at the border of a huge page: then the first use of 2 MiB
 * costs one page fault instead of 512.
 */
static void *map(size_t bytes)
{
	size_t slack = bytes < HUGE_BYTES ? 0 : HUGE_BYTES - PAGE_BYTES;
	uint8_t *at = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (slack == 0)
		return at;

	size_t before = -(uintptr_t)at & (HUGE_BYTES - 1);

	if (before > 0)
		(void)munmap(at, before);
	if (before < slack)
		(void)munmap(at + before + bytes, slack - before);
	(void)madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

static void unmap_all(struct block_list *blocks)
{
	struct block *b;

	while ((b = LIST_FIRST(blocks)) != NULL) {
		LIST_REMOVE(b, of_class);
		UNPOISON(b, b->bytes);
		(void)munmap(b, b->bytes);
	}
}

/* Caller holds the lock. */
static void remove_kept(struct memory_pool *pool, struct block *b)
{
	assert(b->state == BLOCK_KEPT);
	LIST_REMOVE(b, of_class);
	TAILQ_REMOVE(&pool->by_age, b, by_age);
	pool->stats.kept_bytes -= b->bytes;
	pool->stats.kept_count--;
}

/*
 * Move the oldest kept blocks to `blocks` until at most `bytes` are kept.
 * Caller holds the lock.
 */
static void evict(struct memory_pool *pool, size_t bytes,
		  struct block_list *blocks)
{
	while (pool->stats.kept_bytes > bytes) {
		struct block *b = TAILQ_LAST(&pool->by_age, block_queue);

		remove_kept(pool, b);
		LIST_INSERT_HEAD(blocks, b, of_class);
	}
}

/* Caller holds the lock. */
static void count_live(struct memory_pool *pool, size_t bytes)
{
	struct memory_pool_stats *s = &pool->stats;

	s->live_count++;
	s->live_bytes += bytes;
	if (s->live_bytes > s->live_bytes_peak)
		s->live_bytes_peak = s->live_bytes;
	if (s->live_bytes > pool->live_bytes_peak)
		pool->live_bytes_peak = s->live_bytes;
}

/* Would `b` waste more than the limit allows?  Caller holds the lock. */
static bool is_too_large(const struct memory_pool *pool, const struct block *b,
			 uint32_t class)
{
	return pool->oversize_bytes + b->bytes - class_bytes(class) >
	       pool->bytes_max / OVERSIZE_PART;
}

/*
 * Take a kept block of `class` or of one of the next CLASSES_MORE classes.
 * NULL: there is none, or it would waste too much.
 */
static struct block *find_kept(struct memory_pool *pool, uint32_t class)
{
	struct block *b = NULL;
	uint32_t end = class + CLASSES_MORE + 1;

	(void)pthread_mutex_lock(&pool->lock);
	for (uint32_t i = class; b == NULL && i < end && i < CLASSES; i++)
		b = LIST_FIRST(&pool->kept[i]);
	if (b != NULL && is_too_large(pool, b, class))
		b = NULL;
	if (b != NULL) {
		remove_kept(pool, b);
		count_live(pool, b->bytes);
		pool->oversize_bytes += b->bytes - class_bytes(class);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return b;
}

/*
 * Count a new block, and move kept blocks to `old` to make room for it.  False:
 * it would exceed the limit.
 */
static bool make_room(struct memory_pool *pool, size_t bytes,
		      struct block_list *old)
{
	(void)pthread_mutex_lock(&pool->lock);

	bool fits = bytes <= pool->bytes_max &&
		    pool->stats.live_bytes <= pool->bytes_max - bytes;

	if (fits) {
		count_live(pool, bytes);
		pool->stats.mapped_count++;

		uint64_t mapped_max = pool->live_bytes_peak + SLACK_BYTES;

		if (mapped_max > pool->bytes_max)
			mapped_max = pool->bytes_max;
		evict(pool, mapped_max - pool->stats.live_bytes, old);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return fits;
}

/* Undo make_room(), because the system had no memory. */
static void give_room_back(struct memory_pool *pool, size_t bytes)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->stats.live_count--;
	pool->stats.live_bytes -= bytes;
	pool->stats.mapped_count--;
	(void)pthread_mutex_unlock(&pool->lock);
}

static struct block *map_block(struct memory_pool *pool, uint32_t class)
{
	size_t bytes = class_bytes(class);
	struct block_list old = LIST_HEAD_INITIALIZER(&old);

	if (!make_room(pool, bytes, &old))
		return NULL;
	unmap_all(&old); /* first, so that both are never mapped at once */

	struct block *b = map(bytes);

	if (b == NULL) {
		give_room_back(pool, bytes);
		return NULL;
	}
	*b = (struct block){ .pool = pool, .bytes = bytes, .class = class };
	return b;
}

static uint32_t class_for(size_t bytes)
{
	assert(bytes <= BLOCK_BYTES_MAX - sizeof(struct block));
	return class_of((bytes + sizeof(struct block) - 1) / PAGE_BYTES + 1);
}

size_t memory_pool_charge(size_t bytes)
{
	return class_bytes(class_for(bytes));
}

/*
 * A request is rounded up to pages, with its header, and these by at most a
 * quarter to a class.
 */
size_t memory_pool_charges_max(size_t bytes, size_t count)
{
	size_t more = count * (sizeof(struct block) + PAGE_BYTES);

	return bytes + more + (bytes + more) / 4;
}

size_t memory_pool_block_charge(const void *data)
{
	return data != NULL ? ((const struct block *)data - 1)->count_bytes : 0;
}

static void *pool_alloc(void *arg, size_t bytes)
{
	struct memory_pool *pool = arg;

	if (bytes > BLOCK_BYTES_MAX - sizeof(struct block))
		return NULL;

	uint32_t class = class_for(bytes);
	struct block *b = find_kept(pool, class);

	if (b == NULL)
		b = map_block(pool, class);
	if (b == NULL)
		return NULL;
	b->state = BLOCK_LIVE;
	b->count_bytes = class_bytes(class);
	UNPOISON(b + 1, bytes);
	POISON((uint8_t *)(b + 1) + bytes, b->bytes - sizeof(*b) - bytes);
	return b + 1;
}

static void pool_free(void *arg, void *data)
{
	struct memory_pool *pool = arg;
	struct block *b = (struct block *)data - 1;
	struct block_list old = LIST_HEAD_INITIALIZER(&old);

	(void)pthread_mutex_lock(&pool->lock);
	assert(b->pool == pool);
	assert(b->state == BLOCK_LIVE);
	b->state = BLOCK_KEPT;
	POISON(data, b->bytes - sizeof(*b));
	pool->stats.live_count--;
	pool->stats.live_bytes -= b->bytes;
	pool->oversize_bytes -= b->bytes - b->count_bytes;
	LIST_INSERT_HEAD(&pool->kept[b->class], b, of_class);
	TAILQ_INSERT_HEAD(&pool->by_age, b, by_age);
	pool->stats.kept_bytes += b->bytes;
	pool->stats.kept_count++;
	evict(pool, pool->kept_bytes_max, &old);
	(void)pthread_mutex_unlock(&pool->lock);
	unmap_all(&old);
}

void memory_pool_block_free(void *data)
{
	if (data != NULL)
		pool_free(((struct block *)data - 1)->pool, data);
}

struct memory_pool *memory_pool_new(size_t kept_bytes_max, size_t bytes_max)
{
	struct memory_pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	assert(class_of(BLOCK_BYTES_MAX / PAGE_BYTES) == CLASSES - 1);
	pool->memory = (struct memory){ .alloc = pool_alloc,
					.free = pool_free,
					.arg = pool };
	pool->kept_bytes_max = kept_bytes_max;
	pool->bytes_max = bytes_max;
	(void)pthread_mutex_init(&pool->lock, NULL);
	TAILQ_INIT(&pool->by_age);
	return pool;
}

size_t memory_pool_guaranteed(size_t bytes_max)
{
	return bytes_max - bytes_max / OVERSIZE_PART;
}

const struct memory *memory_pool_memory(const struct memory_pool *pool)
{
	return &pool->memory;
}

void memory_pool_trim(struct memory_pool *pool)
{
	struct block_list old = LIST_HEAD_INITIALIZER(&old);

	(void)pthread_mutex_lock(&pool->lock);
	evict(pool, 0, &old);
	pool->live_bytes_peak = pool->stats.live_bytes;
	(void)pthread_mutex_unlock(&pool->lock);
	unmap_all(&old);
}

void memory_pool_read(struct memory_pool *pool, struct memory_pool_stats *out)
{
	(void)pthread_mutex_lock(&pool->lock);
	*out = pool->stats;
	(void)pthread_mutex_unlock(&pool->lock);
}

void memory_pool_free(struct memory_pool *pool)
{
	if (pool == NULL)
		return;
	assert(pool->stats.live_count == 0);
	memory_pool_trim(pool);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}
