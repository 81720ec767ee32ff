/* SPDX-License-Identifier: MIT */
/*
 * All functions that libjpeg needs from a memory manager.  As in jmemmgr.c of
 * libjpeg-turbo 2.1, every object and every row begins at a multiple of 32
 * bytes, and rows of samples end at a multiple of 64, because its vector code
 * reads and writes past their ends.  A virtual array is completely in memory,
 * row after row, so an access only has to check its arguments.
 */
#include "imgops/formats/jpeg/memory.h"

#include <assert.h>
#include <string.h>

#include <jerror.h>

enum { SAMPLES_ALIGN_BYTES = 2 * ARENA_ALIGN_BYTES };

/* The rows of a virtual array. */
struct rows {
	uint8_t *first; /* NULL: not allocated yet */
	size_t row_bytes;
	JDIMENSION count;
	JDIMENSION access_max; /* most rows in one access */
	/* Rows from this one on have not been written yet. */
	JDIMENSION defined_end;
	bool pre_zero;
};

/* jpeglib.h lets the memory manager define these types. */
struct jvirt_sarray_control {
	struct rows rows;
	JSAMPARRAY at;
	JDIMENSION samples_per_row;
	struct jvirt_sarray_control *next;
};

struct jvirt_barray_control {
	struct rows rows;
	JBLOCKARRAY at;
	JDIMENSION blocks_per_row;
	struct jvirt_barray_control *next;
};

static struct jpeg_memory *memory_of(j_common_ptr jpeg)
{
	return (struct jpeg_memory *)jpeg->mem;
}

/* `where` is for libjpeg's message only. */
static void out_of_memory(j_common_ptr jpeg, int where)
{
	ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, where);
}

static void check_pool(j_common_ptr jpeg, int pool_id)
{
	if (pool_id < 0 || pool_id >= JPOOL_NUMPOOLS)
		ERREXIT1(jpeg, JERR_BAD_POOL_ID, pool_id);
}

/* libjpeg's "small" and "large" are the same here: only the size counts. */
static void *alloc(j_common_ptr jpeg, int pool_id, size_t bytes)
{
	struct jpeg_memory *m = memory_of(jpeg);
	void *data;

	check_pool(jpeg, pool_id);
	data = arena_alloc(&m->arenas[pool_id], &m->account, bytes);
	if (data == NULL)
		out_of_memory(jpeg, 1);
	return data;
}

/* All rows are allocated by one request. */
static void *alloc_rows(j_common_ptr jpeg, int pool_id, size_t row_bytes,
			JDIMENSION row_count)
{
	size_t bytes;

	assert(row_count > 0);
	if (__builtin_mul_overflow(row_bytes, (size_t)row_count, &bytes))
		out_of_memory(jpeg, 2);
	return alloc(jpeg, pool_id, bytes);
}

static size_t sample_row_bytes(JDIMENSION samples_per_row)
{
	return ((size_t)samples_per_row + SAMPLES_ALIGN_BYTES - 1) &
	       ~(size_t)(SAMPLES_ALIGN_BYTES - 1);
}

static JSAMPARRAY alloc_samples(j_common_ptr jpeg, int pool_id,
				JDIMENSION samples_per_row,
				JDIMENSION row_count)
{
	size_t row_bytes = sample_row_bytes(samples_per_row);
	JSAMPARRAY rows =
		alloc_rows(jpeg, pool_id, sizeof(JSAMPROW), row_count);
	JSAMPROW first = alloc_rows(jpeg, pool_id, row_bytes, row_count);

	for (JDIMENSION y = 0; y < row_count; y++)
		rows[y] = first + y * row_bytes;
	return rows;
}

static JBLOCKARRAY alloc_blocks(j_common_ptr jpeg, int pool_id,
				JDIMENSION blocks_per_row, JDIMENSION row_count)
{
	JBLOCKARRAY rows =
		alloc_rows(jpeg, pool_id, sizeof(JBLOCKROW), row_count);
	JBLOCKROW first = alloc_rows(
		jpeg, pool_id, blocks_per_row * sizeof(JBLOCK), row_count);

	for (JDIMENSION y = 0; y < row_count; y++)
		rows[y] = first + (size_t)y * blocks_per_row;
	return rows;
}

/* Virtual arrays live as long as the picture. */
static void check_virtual(j_common_ptr jpeg, int pool_id)
{
	if (pool_id != JPOOL_IMAGE)
		ERREXIT1(jpeg, JERR_BAD_POOL_ID, pool_id);
}

static struct jvirt_sarray_control *
request_samples(j_common_ptr jpeg, int pool_id, boolean pre_zero,
		JDIMENSION samples_per_row, JDIMENSION row_count,
		JDIMENSION access_max)
{
	struct jpeg_memory *m = memory_of(jpeg);
	struct jvirt_sarray_control *array;

	check_virtual(jpeg, pool_id);
	array = alloc(jpeg, pool_id, sizeof(*array));
	*array = (struct jvirt_sarray_control){
		.rows = { .count = row_count,
			  .access_max = access_max,
			  .pre_zero = pre_zero },
		.samples_per_row = samples_per_row,
		.next = m->sample_arrays,
	};
	m->sample_arrays = array;
	return array;
}

static struct jvirt_barray_control *
request_blocks(j_common_ptr jpeg, int pool_id, boolean pre_zero,
	       JDIMENSION blocks_per_row, JDIMENSION row_count,
	       JDIMENSION access_max)
{
	struct jpeg_memory *m = memory_of(jpeg);
	struct jvirt_barray_control *array;

	check_virtual(jpeg, pool_id);
	array = alloc(jpeg, pool_id, sizeof(*array));
	*array = (struct jvirt_barray_control){
		.rows = { .count = row_count,
			  .access_max = access_max,
			  .pre_zero = pre_zero },
		.blocks_per_row = blocks_per_row,
		.next = m->block_arrays,
	};
	m->block_arrays = array;
	return array;
}

static void realize(j_common_ptr jpeg)
{
	struct jpeg_memory *m = memory_of(jpeg);

	for (struct jvirt_sarray_control *a = m->sample_arrays; a != NULL;
	     a = a->next) {
		if (a->at != NULL)
			continue;
		a->at = alloc_samples(jpeg, JPOOL_IMAGE, a->samples_per_row,
				      a->rows.count);
		a->rows.first = a->at[0];
		a->rows.row_bytes = sample_row_bytes(a->samples_per_row);
	}
	for (struct jvirt_barray_control *a = m->block_arrays; a != NULL;
	     a = a->next) {
		if (a->at != NULL)
			continue;
		a->at = alloc_blocks(jpeg, JPOOL_IMAGE, a->blocks_per_row,
				     a->rows.count);
		a->rows.first = (uint8_t *)a->at[0];
		a->rows.row_bytes = a->blocks_per_row * sizeof(JBLOCK);
	}
}

/*
 * Rows are zeroed when they are first accessed, not all at once: then they are
 * in the cache when libjpeg fills them.  A reader may access rows that were
 * never written if the array promises zeros; a writer may not skip rows.
 */
static void access_rows(j_common_ptr jpeg, struct rows *rows, JDIMENSION start,
			JDIMENSION count, boolean writable)
{
	JDIMENSION end = start + count;
	JDIMENSION fresh = rows->defined_end;

	if (rows->first == NULL || count > rows->access_max ||
	    start > rows->count || count > rows->count - start)
		ERREXIT(jpeg, JERR_BAD_VIRTUAL_ACCESS);
	if (end <= fresh)
		return;
	if (writable ? fresh < start : !rows->pre_zero)
		ERREXIT(jpeg, JERR_BAD_VIRTUAL_ACCESS);
	if (writable)
		rows->defined_end = end;
	if (fresh < start)
		fresh = start;
	if (!rows->pre_zero)
		return;
	memset(rows->first + fresh * rows->row_bytes, 0,
	       (end - fresh) * rows->row_bytes);
	/* As with a new block of an arena: new pages take long. */
	memory_pause(memory_of(jpeg)->account.memory);
}

static JSAMPARRAY access_samples(j_common_ptr jpeg,
				 struct jvirt_sarray_control *array,
				 JDIMENSION start, JDIMENSION count,
				 boolean writable)
{
	access_rows(jpeg, &array->rows, start, count, writable);
	return array->at + start;
}

static JBLOCKARRAY access_blocks(j_common_ptr jpeg,
				 struct jvirt_barray_control *array,
				 JDIMENSION start, JDIMENSION count,
				 boolean writable)
{
	access_rows(jpeg, &array->rows, start, count, writable);
	return array->at + start;
}

static void free_arena(struct jpeg_memory *m, int pool_id)
{
	arena_free(&m->arenas[pool_id], &m->account);
	if (pool_id == JPOOL_IMAGE) {
		m->sample_arrays = NULL;
		m->block_arrays = NULL;
	}
}

static void free_pool(j_common_ptr jpeg, int pool_id)
{
	check_pool(jpeg, pool_id);
	free_arena(memory_of(jpeg), pool_id);
}

/* Called if jpeg_destroy() comes without jpeg_memory_release(). */
static void self_destruct(j_common_ptr jpeg)
{
	jpeg_memory_release(memory_of(jpeg), jpeg);
	jpeg->mem->self_destruct(jpeg);
}

void jpeg_memory_install(struct jpeg_memory *m, j_common_ptr jpeg,
			 const struct memory *memory, uint64_t bytes_max)
{
	*m = (struct jpeg_memory){
		.methods = {
			.alloc_small = alloc,
			.alloc_large = alloc,
			.alloc_sarray = alloc_samples,
			.alloc_barray = alloc_blocks,
			.request_virt_sarray = request_samples,
			.request_virt_barray = request_blocks,
			.realize_virt_arrays = realize,
			.access_virt_sarray = access_samples,
			.access_virt_barray = access_blocks,
			.free_pool = free_pool,
			.self_destruct = self_destruct,
			.max_memory_to_use = jpeg->mem->max_memory_to_use,
			.max_alloc_chunk = jpeg->mem->max_alloc_chunk,
		},
		.original = jpeg->mem,
		.account = { .memory = memory, .bytes_max = bytes_max },
	};
	jpeg->mem = &m->methods;
}

void jpeg_memory_release(struct jpeg_memory *m, j_common_ptr jpeg)
{
	if (m->original == NULL)
		return;
	assert(jpeg->mem == &m->methods);
	for (int pool_id = 0; pool_id < JPOOL_NUMPOOLS; pool_id++)
		free_arena(m, pool_id);
	jpeg->mem = m->original;
	m->original = NULL;
}

uint64_t jpeg_memory_bytes(const struct img_size *blocks, uint32_t count,
			   size_t before, size_t after)
{
	struct arena_requests r = { .bytes = ARENA_CHUNK_BYTES };

	arena_requests_add(&r, before);
	/* libjpeg allocates the last component first. */
	for (uint32_t i = count; i-- > 0;) {
		uint64_t rows = blocks[i].height_px;

		arena_requests_add(&r, rows * sizeof(JBLOCKROW));
		arena_requests_add(&r,
				   rows * blocks[i].width_px * sizeof(JBLOCK));
	}
	if (r.left_bytes < after)
		r.bytes += ARENA_CHUNK_BYTES;
	return r.bytes;
}
