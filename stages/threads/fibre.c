/* SPDX-License-Identifier: MIT */
/*
 * The sanitizers follow stacks, so each switch is announced to them: before the
 * switch, and after it on the other stack.  ThreadSanitizer also records when a
 * function is entered and left.  Some functions here are entered and never
 * left, so this file is built without ThreadSanitizer.
 */
#include "stages/threads/fibre.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#ifdef DARKROOM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(DARKROOM_TSAN)
enum { FRAMES_GROW = 8 }; /* with sanitizers */
#else
enum { FRAMES_GROW = 1 };
#endif
enum { STACK_BYTES_MIN = 16 << 10 };
/* Larger than any stack frame, so that no frame reaches past it. */
enum { GUARD_BYTES = 64 << 10 };
/*
 * MADV_GUARD_INSTALL of Linux 6.13, which older headers lack: a guard without a
 * mapping of its own.
 */
enum { GUARD_ADVICE = 102 };
/*
 * Of all sets, with an older Linux.  There a guard takes two of the 65,530
 * mappings that Linux allows by default, and other parts of the program need
 * some.
 */
enum { GUARDS_MAPPED_MAX = 16384 };
/*
 * The stacks begin in different sets of the cache.  Otherwise, as stacks are
 * multiples of a page apart, the ends of all of them would share one set.
 */
enum { COLOURS = 32, COLOUR_BYTES = 64 };
/* Pages below the frame of a paused fibre that its next call will need. */
enum { TRIM_SPARED_PAGES = 1 };

/* --- Contexts: how a stack is left and entered --- */

#ifdef DARKROOM_UCONTEXT
#include <ucontext.h>

struct contexts {
	ucontext_t inside, outside;
};
#else
/* From boost/context/detail/fcontext.hpp, which is C++. */
struct transfer {
	void *from; /* the context that was left */
	void *data;
};
extern struct transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *top, size_t bytes,
			   void (*begin)(struct transfer));

struct contexts {
	void *inside, *outside;
};
#endif

struct fibre {
	struct contexts contexts;
	uint8_t *stack; /* its lowest byte */
	size_t stack_bytes;
	uint8_t *top; /* the first byte after those that are used */
	fibre_fn *fn;
	void *arg;
	bool has_returned;
	struct fibre *next; /* the next free fibre */

	/*
	 * The sanitizers' handles: of the thread that entered the fibre, and of
	 * the fibre.
	 */
	void *outside_fake, *inside_fake;
	const void *outside_stack;
	size_t outside_bytes;
	void *outside_tsan, *inside_tsan;
};

static void fibre_main(struct fibre *f) __attribute__((noreturn));

#ifdef DARKROOM_UCONTEXT
/* makecontext() passes only ints, so the pointer comes in two halves. */
static void run_on_stack(unsigned high, unsigned low)
{
	fibre_main((struct fibre *)((uintptr_t)high << 32 | low));
}

static void make_inside(struct fibre *f)
{
	ucontext_t *c = &f->contexts.inside;

	(void)getcontext(c);
	c->uc_stack.ss_sp = f->stack;
	c->uc_stack.ss_size = (size_t)(f->top - f->stack);
	makecontext(c, (void (*)(void))run_on_stack, 2,
		    (unsigned)((uintptr_t)f >> 32), (unsigned)(uintptr_t)f);
}

static void switch_inside(struct fibre *f)
{
	(void)swapcontext(&f->contexts.outside, &f->contexts.inside);
}

static void switch_outside(struct fibre *f)
{
	(void)swapcontext(&f->contexts.inside, &f->contexts.outside);
}
#else
static void run_on_stack(struct transfer t)
{
	struct fibre *f = t.data;

	f->contexts.outside = t.from;
	fibre_main(f);
}

static void make_inside(struct fibre *f)
{
	f->contexts.inside = make_fcontext(f->top, (size_t)(f->top - f->stack),
					   run_on_stack);
}

static void switch_inside(struct fibre *f)
{
	f->contexts.inside = jump_fcontext(f->contexts.inside, f).from;
}

static void switch_outside(struct fibre *f)
{
	f->contexts.outside = jump_fcontext(f->contexts.outside, NULL).from;
}
#endif

/* --- Sanitizers --- */

static void tell_before_inside(struct fibre *f)
{
	(void)f;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&f->outside_fake, f->stack,
				       f->stack_bytes);
#endif
#ifdef DARKROOM_TSAN
	f->outside_tsan = __tsan_get_current_fiber();
	if (f->inside_tsan == NULL)
		f->inside_tsan = __tsan_create_fiber(0);
	__tsan_switch_to_fiber(f->inside_tsan, 0);
#endif
}

static void tell_is_inside(struct fibre *f)
{
	(void)f;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(f->inside_fake, &f->outside_stack,
					&f->outside_bytes);
#endif
}

static void tell_before_outside(struct fibre *f)
{
	(void)f;
#ifdef __SANITIZE_ADDRESS__
	/* NULL: the fibre's stack is not entered again. */
	__sanitizer_start_switch_fiber(f->has_returned ? NULL : &f->inside_fake,
				       f->outside_stack, f->outside_bytes);
#endif
#ifdef DARKROOM_TSAN
	__tsan_switch_to_fiber(f->outside_tsan, 0);
#endif
}

static void tell_is_outside(struct fibre *f)
{
	(void)f;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(f->outside_fake, NULL, NULL);
#endif
}

/* --- Fibres --- */

static void fibre_main(struct fibre *f)
{
	tell_is_inside(f);
	f->fn(f->arg);
	f->has_returned = true;
	tell_before_outside(f);
	switch_outside(f);
	abort(); /* nobody enters it again */
}

void fibre_pause(struct fibre *f)
{
	tell_before_outside(f);
	switch_outside(f);
	tell_is_inside(f);
}

bool fibre_resume(struct fibre *f)
{
	assert(!f->has_returned);
	tell_before_inside(f);
	switch_inside(f);
	tell_is_outside(f);
	return f->has_returned;
}

bool fibre_run(struct fibre *f, fibre_fn *fn, void *arg)
{
	f->fn = fn;
	f->arg = arg;
	f->has_returned = false;
	f->inside_fake = NULL;
	make_inside(f);
	return fibre_resume(f);
}

struct fibres {
	uint8_t *stacks; /* GUARD_BYTES below each are for a guard */
	size_t stack_bytes, step_bytes, mapped_bytes;
	uint32_t count;
	bool has_light_guards;
	uint32_t mapped_count; /* guards that take mappings */
	pthread_mutex_t lock;
	/* Protected by the lock. */
	struct fibre *warm; /* free ones that keep the memory of their stacks */
	uint32_t warm_count;
	struct fibre *cold;   /* free ones without memory */
	uint32_t taken_count; /* those that were ever taken: the first ones */
	/* Written under the lock, read without it. */
	_Atomic uint32_t free_count;
	struct fibre all[];
};

static _Atomic uint32_t mapped_count; /* of all sets */

/* Caller holds set->lock. */
static struct fibre *take_first_time(struct fibres *set)
{
	uint32_t i = set->taken_count;
	struct fibre *f = &set->all[i];
	uint8_t *from = set->stacks + i * set->step_bytes;

	if (i == set->count)
		return NULL;
	set->taken_count++;
	f->stack = from + GUARD_BYTES;
	f->stack_bytes = set->stack_bytes;
	f->top = f->stack + f->stack_bytes -
		 (size_t)(i % COLOURS) * COLOUR_BYTES;
	f->has_returned = true;
	if (set->has_light_guards &&
	    madvise(from, GUARD_BYTES, GUARD_ADVICE) != 0)
		(void)mprotect(from, GUARD_BYTES, PROT_NONE);
	return f;
}

/* Guards that take mappings, for as many stacks as possible. */
static void map_guards(struct fibres *set)
{
	while (set->mapped_count < set->count &&
	       atomic_fetch_add(&mapped_count, 1) < GUARDS_MAPPED_MAX &&
	       mprotect(set->stacks + set->mapped_count * set->step_bytes,
			GUARD_BYTES, PROT_NONE) == 0)
		set->mapped_count++;
	if (set->mapped_count < set->count) /* the last one failed */
		(void)atomic_fetch_sub(&mapped_count, 1);
}

static size_t whole_pages(size_t bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

struct fibres *fibres_new(const struct fibre_stacks *config)
{
	uint32_t count = config->count;
	struct fibres *set =
		calloc(1, sizeof(*set) + count * sizeof(struct fibre));
	size_t bytes = config->stack_bytes > 0 ? config->stack_bytes :
						 FIBRE_STACK_BYTES;
	void *stacks;

	assert(count > 0);
	if (set == NULL)
		return NULL;
	if (bytes < STACK_BYTES_MIN)
		bytes = STACK_BYTES_MIN;
	set->stack_bytes = whole_pages(bytes) * FRAMES_GROW;
	set->step_bytes = set->stack_bytes + GUARD_BYTES;
	stacks = mmap(NULL, count * set->step_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
		      -1, 0);
	if (stacks == MAP_FAILED) {
		free(set);
		return NULL;
	}
	(void)madvise(stacks, count * set->step_bytes, MADV_NOHUGEPAGE);
	(void)pthread_mutex_init(&set->lock, NULL);
	set->stacks = stacks;
	set->mapped_bytes = count * set->step_bytes;
	set->count = count;
	set->has_light_guards = madvise(stacks, GUARD_BYTES, GUARD_ADVICE) == 0;
	if (!set->has_light_guards)
		map_guards(set);
	if (!set->has_light_guards && !config->may_lack_guards)
		set->count = set->mapped_count;
	set->free_count = set->count;
	if (set->count > 0)
		return set;
	fibres_free(set);
	return NULL;
}

uint32_t fibres_guards_left(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_light =
		page != MAP_FAILED && madvise(page, bytes, GUARD_ADVICE) == 0;
	uint32_t mapped = atomic_load(&mapped_count);

	if (page != MAP_FAILED)
		(void)munmap(page, bytes);
	if (is_light)
		return UINT32_MAX;
	return mapped < GUARDS_MAPPED_MAX ? GUARDS_MAPPED_MAX - mapped : 0;
}

uint32_t fibres_count(const struct fibres *set)
{
	return set->count;
}

void fibres_free(struct fibres *set)
{
	uint32_t given_count;

	if (set == NULL)
		return;
	given_count = set->warm_count;
	for (const struct fibre *f = set->cold; f != NULL; f = f->next)
		given_count++;
	assert(given_count == set->taken_count);
#ifdef DARKROOM_TSAN
	for (uint32_t i = 0; i < set->taken_count; i++)
		if (set->all[i].inside_tsan != NULL)
			__tsan_destroy_fiber(set->all[i].inside_tsan);
#endif
#ifdef __SANITIZE_ADDRESS__
	/* The frames of fibre_main() never end; others may map this memory. */
	__asan_unpoison_memory_region(set->stacks, set->mapped_bytes);
#endif
	(void)atomic_fetch_sub(&mapped_count, set->mapped_count);
	(void)munmap(set->stacks, set->mapped_bytes);
	(void)pthread_mutex_destroy(&set->lock);
	free(set);
}

static struct fibre *pop(struct fibre **first)
{
	struct fibre *f = *first;

	*first = f->next;
	return f;
}

static void push_fibre(struct fibre **first, struct fibre *f)
{
	f->next = *first;
	*first = f;
}

struct fibre *fibres_take(struct fibres *set)
{
	struct fibre *f;

	(void)pthread_mutex_lock(&set->lock);
	if (set->warm_count > 0) {
		set->warm_count--;
		f = pop(&set->warm);
	} else if (set->cold != NULL) {
		f = pop(&set->cold);
	} else {
		f = take_first_time(set);
	}
	if (f != NULL)
		(void)atomic_fetch_sub(&set->free_count, 1);
	(void)pthread_mutex_unlock(&set->lock);
	return f;
}

bool fibres_has_free(const struct fibres *set)
{
	return atomic_load(&set->free_count) > 0;
}

bool fibre_is_new(const struct fibre *f)
{
	return f->has_returned;
}

/* The lowest bytes of a stack, whole pages, are not needed any more. */
static void release_memory(struct fibre *f, size_t bytes)
{
	(void)madvise(f->stack, bytes, MADV_DONTNEED);
}

void fibres_give(struct fibres *set, struct fibre *f)
{
	bool stays_warm;

	assert(f->has_returned);
	(void)pthread_mutex_lock(&set->lock);
	stays_warm = set->warm_count < FIBRES_WARM_MAX;
	if (!stays_warm) {
		(void)pthread_mutex_unlock(&set->lock);
		release_memory(f, f->stack_bytes);
		(void)pthread_mutex_lock(&set->lock);
	}
	set->warm_count += stays_warm;
	push_fibre(stays_warm ? &set->warm : &set->cold, f);
	(void)atomic_fetch_add(&set->free_count, 1);
	(void)pthread_mutex_unlock(&set->lock);
}

void fibre_fetch(const struct fibre *f, bool stack)
{
	__builtin_prefetch(f, 1);
#ifndef DARKROOM_UCONTEXT
	if (stack)
		__builtin_prefetch(f->contexts.inside, 1);
#else
	(void)stack;
#endif
}

#ifdef DARKROOM_UCONTEXT
void fibre_trim(struct fibre *f)
{
	(void)f; /* it is not known where the fibre paused */
}
#else
/*
 * The kernel is not asked which pages have memory: that costs as much as to
 * give them back, and a service of systemd may not ask (mincore() is not in
 * @system-service).
 */
void fibre_trim(struct fibre *f)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t below = (size_t)((uint8_t *)f->contexts.inside - f->stack);
	size_t pages = below / page_bytes;

	assert(below < f->stack_bytes);
	if (pages > TRIM_SPARED_PAGES)
		release_memory(f, (pages - TRIM_SPARED_PAGES) * page_bytes);
}
#endif

size_t fibres_stack_bytes(void)
{
	return (size_t)FIBRE_STACK_BYTES * FRAMES_GROW;
}
