/* SPDX-License-Identifier: MIT */
/*
 * stages_bench_split: what stacks of linked chunks (gcc's -fsplit-stack) cost
 * and save, against stacks of fixed size whose pages take memory when they are
 * first used.
 *
 * Linked chunks are those of libgcc: a function whose frame does not fit into
 * the chunk calls __morestack(), which finds or makes the next chunk.  Where a
 * function calls code without -fsplit-stack, such as libc, the linker makes it
 * ask for 1 MiB, of which only those pages take memory that are used.
 *
 * usage: stages_bench_split [FIBRES]        (default: 1000)
 */
#include "stages/bench/split_work.h"

#include "base/machine_usage.h"

#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Of libgcc; it has no header for them. */
extern void *__splitstack_makecontext(size_t bytes, void *context[10],
				      size_t *given_bytes);
extern void __splitstack_releasecontext(void *context[10]);
extern void __splitstack_getcontext(void *context[10]);
extern void __splitstack_setcontext(void *context[10]);
extern void __splitstack_block_signals(int *new, int *old);
extern void __splitstack_block_signals_context(void *context[10], int *new,
					       int *old);

enum {
	STACK_BYTES = 64 << 10,
	/* The first chunk of a fibre; in a large one, libc has room. */
	SMALL_CHUNK_BYTES = 4 << 10,
	LARGE_CHUNK_BYTES = 2 << 20,
	FIBRES_MAX = 30000, /* each takes two mappings or more */
	ROUNDS = 5,
	CALLS = 2000000,
	SWITCHES = 1000000
};

/* Bytes of the first chunk; 0: not linked, a fixed size. */
static const size_t chunk_bytes[] = { 0, SMALL_CHUNK_BYTES, LARGE_CHUNK_BYTES };

static const char *const kind_names[WORK_KINDS] = { "nothing",
						    "32 KiB, returned",
						    "snprintf, returned" };

/* --- Calls --- */

typedef uint64_t call_fn(uint32_t depth);

/* ns per call, the least of the rounds. */
static double measure_calls(call_fn *call, uint32_t depth)
{
	double least = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t from_ns = clock_cpu_ns(), made = 0;

		while (made < CALLS)
			made += call(depth);

		double ns = (double)(clock_cpu_ns() - from_ns) / (double)made;

		least = ns < least ? ns : least;
	}
	return least;
}

/* --- Fibres --- */

static bool begin_work_fibre(struct work_fibre *f, enum work_kind kind,
			     size_t chunk)
{
	size_t bytes = STACK_BYTES;
	int off = 0;

	f->kind = kind;
	if (chunk > 0) {
		f->stack = __splitstack_makecontext(chunk, f->chunks, &bytes);
		if (f->stack == NULL)
			return false;
		__splitstack_block_signals_context(f->chunks, &off, NULL);
	} else {
		f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					MAP_STACK,
				-1, 0);
		if (f->stack == MAP_FAILED)
			return false;
		(void)madvise(f->stack, STACK_BYTES, MADV_NOHUGEPAGE);
	}
	f->context =
		make_fcontext((char *)f->stack + bytes, bytes,
			      chunk > 0 ? work_begin_linked : work_begin_fixed);
	return true;
}

static void continue_fixed(struct work_fibre *f)
{
	f->context = jump_fcontext(f->context, f).from;
}

static void continue_linked(struct work_fibre *f)
{
	__splitstack_getcontext(f->outside_chunks);
	__splitstack_setcontext(f->chunks);
	f->context = jump_fcontext(f->context, f).from;
	__splitstack_getcontext(f->chunks);
	__splitstack_setcontext(f->outside_chunks);
}

/* Where a fibre is paused, it is left for ever. */
static void end(struct work_fibre *f, bool is_linked)
{
	if (is_linked)
		__splitstack_releasecontext(f->chunks);
	else
		(void)munmap(f->stack, STACK_BYTES);
}

struct costs {
	double switch_ns, bytes;
};

static bool measure_fibres(uint32_t count, enum work_kind kind, size_t chunk,
			   struct costs *out)
{
	void (*go_on)(struct work_fibre *) =
		chunk > 0 ? continue_linked : continue_fixed;
	struct work_fibre *all = calloc(count, sizeof(*all));
	double before_bytes;
	uint32_t begun = 0;

	if (all == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		all[i].kind = kind; /* touches its page */
	before_bytes = machine_resident_bytes();
	while (begun < count && begin_work_fibre(&all[begun], kind, chunk))
		go_on(&all[begun++]);
	out->bytes = (machine_resident_bytes() - before_bytes) / (double)count;
	out->switch_ns = 1e9;
	for (int round = 0; round < ROUNDS && begun == count; round++) {
		uint64_t from_ns = clock_cpu_ns();

		for (uint32_t i = 0; i < SWITCHES; i++)
			go_on(&all[i % count]);

		double ns = (double)(clock_cpu_ns() - from_ns) / SWITCHES;

		out->switch_ns = ns < out->switch_ns ? ns : out->switch_ns;
	}
	for (uint32_t i = 0; i < begun; i++)
		end(&all[i], chunk > 0);
	free(all);
	return begun == count;
}

/* --- Crossing the end of a chunk at each call --- */

struct crossing {
	struct work_fibre fibre; /* must be the first member */
	bool blocks_signals;
	double ns; /* of a call that crosses */
};

/*
 * On a new chunk: a call that needs 16 KiB finds the next chunk and leaves it
 * again.
 */
static void cross(struct transfer t)
{
	struct crossing *c = t.data;
	int blocks = c->blocks_signals;
	uint32_t depth = 4 * SMALL_CHUNK_BYTES / WORK_FRAME_BYTES;
	double inside;

	c->fibre.outside = t.from;
	__splitstack_block_signals(&blocks, NULL);
	inside = measure_calls(work_call_linked, depth) * depth;
	c->ns = inside - measure_calls(work_call_fixed, 8) * depth;
	(void)jump_fcontext(c->fibre.outside, NULL);
	abort();
}

static double measure_crossing(bool blocks_signals)
{
	struct crossing c = { .blocks_signals = blocks_signals };
	size_t bytes;
	int blocks = blocks_signals;

	c.fibre.stack = __splitstack_makecontext(2 * SMALL_CHUNK_BYTES,
						 c.fibre.chunks, &bytes);
	if (c.fibre.stack == NULL)
		return 0;
	__splitstack_block_signals_context(c.fibre.chunks, &blocks, NULL);
	c.fibre.context =
		make_fcontext((char *)c.fibre.stack + bytes, bytes, cross);
	__splitstack_getcontext(c.fibre.outside_chunks);
	__splitstack_setcontext(c.fibre.chunks);
	(void)jump_fcontext(c.fibre.context, &c);
	__splitstack_getcontext(c.fibre.chunks);
	__splitstack_setcontext(c.fibre.outside_chunks);
	end(&c.fibre, true);
	return c.ns;
}

static void print_calls(void)
{
	printf("| a call | fixed, ns | linked, ns |\n|---|--:|--:|\n"
	       "| with %d bytes of stack | %.2f | %.2f |\n",
	       WORK_FRAME_BYTES, measure_calls(work_call_fixed, 8),
	       measure_calls(work_call_linked, 8));
	printf("| that needs the next chunk | - | %.0f |\n"
	       "| the same, and libgcc blocks signals meanwhile | - | %.0f |\n",
	       measure_crossing(false), measure_crossing(true));
}

/* False: no memory. */
static bool print_fibres(uint32_t count)
{
	printf("\n| %" PRIu32 " fibres, each paused after ", count);
	for (size_t i = 0; i < ARRAY_SIZE(chunk_bytes); i++)
		if (chunk_bytes[i] == 0)
			printf("| fixed: ns per switch | bytes ");
		else
			printf("| linked, first chunk of %zu KiB: ns per "
			       "switch "
			       "| bytes ",
			       chunk_bytes[i] >> 10);
	puts("|\n|---|--:|--:|--:|--:|--:|--:|");
	for (enum work_kind k = 0; k < WORK_KINDS; k++) {
		printf("| %s ", kind_names[k]);
		for (size_t i = 0; i < ARRAY_SIZE(chunk_bytes); i++) {
			struct costs c;

			if (!measure_fibres(count, k, chunk_bytes[i], &c))
				return false;
			printf("| %.1f | %.0f ", c.switch_ns, c.bytes);
		}
		puts("|");
	}
	return true;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000;

	if (argc > 2 || count < 1 || count > FIBRES_MAX) {
		fprintf(stderr,
			"usage: stages_bench_split [FIBRES]\n"
			"FIBRES: 1 .. %d\n",
			FIBRES_MAX);
		return 2;
	}
	print_calls();
	if (print_fibres(count))
		return 0;
	fputs("stages_bench_split: no memory\n", stderr);
	return 1;
}
