/* SPDX-License-Identifier: MIT */
/*
 * A library to be preloaded: see faults.h.  The pool is not allowed to keep
 * memory for the next upload, so that each upload allocates its own.
 */
#include "service/test/process/faults.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The memory that dlsym() needs before it has found the real allocator. */
static _Alignas(16) char early[4096];
static size_t early_bytes;

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *,
			      void *(*)(void *), void *);
	int (*pthread_setname_np)(pthread_t, const char *);
	int (*pthread_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *,
				      const struct timespec *);
	int (*clock_gettime)(clockid_t, struct timespec *);
} next;

static struct faults none;
static struct faults *faults = &none;

static void *find(const char *name)
{
	void *at = dlsym(RTLD_NEXT, name);

	assert(at != NULL);
	return at;
}

/*
 * dlsym() returns a pointer to data; C has no conversion from it to a pointer
 * to a function.
 */
#define FIND(name) (*(void **)&next.name = find(#name))

static void find_all(void)
{
	static bool is_finding;

	if (next.clock_gettime != NULL || is_finding)
		return;
	is_finding = true;
	FIND(malloc);
	FIND(calloc);
	FIND(realloc);
	FIND(free);
	FIND(posix_memalign);
	FIND(aligned_alloc);
	FIND(pthread_create);
	FIND(pthread_setname_np);
	FIND(pthread_cond_timedwait);
	FIND(clock_gettime);
	is_finding = false;
}

__attribute__((constructor)) static void map_faults(void)
{
	const char *path = getenv("FAULTS");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	find_all();
	if (fd < 0)
		return;
	at = (void *)syscall(SYS_mmap, NULL, sizeof(*faults),
			     PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert(at != MAP_FAILED);
	(void)close(fd);
	faults = at;
}

static bool fails(_Atomic int64_t *left)
{
	return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) == 1;
}

/* Called at each allocation: does it succeed? */
static bool has_memory(void)
{
	find_all();
	if (!fails(&faults->allocations_left))
		return true;
	errno = ENOMEM;
	return false;
}

static bool is_early(const void *at)
{
	return (const char *)at >= early &&
	       (const char *)at < early + sizeof(early);
}

void *malloc(size_t bytes)
{
	if (!has_memory())
		return NULL;
	if (next.malloc != NULL)
		return next.malloc(bytes);

	void *at = early + early_bytes;

	early_bytes += (bytes + 15) & ~(size_t)15;
	assert(early_bytes <= sizeof(early));
	return at;
}

void *calloc(size_t count, size_t bytes)
{
	if (next.calloc == NULL)
		return malloc(count * bytes); /* `early` is all zeros */
	return has_memory() ? next.calloc(count, bytes) : NULL;
}

void *realloc(void *at, size_t bytes)
{
	return has_memory() ? next.realloc(at, bytes) : NULL;
}

void free(void *at)
{
	if (!is_early(at))
		next.free(at);
}

int posix_memalign(void **at, size_t alignment, size_t bytes)
{
	return has_memory() ? next.posix_memalign(at, alignment, bytes) :
			      ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return has_memory() ? next.aligned_alloc(alignment, bytes) : NULL;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd,
	   off_t offset)
{
	if (!has_memory())
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd,
			       offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*run)(void *), void *arg)
{
	find_all();
	return fails(&faults->threads_left) ?
		       EAGAIN :
		       next.pthread_create(thread, attributes, run, arg);
}

/* This thread is the trimmer of service/pipeline/buffers.c. */
static _Thread_local bool is_trimmer;

int pthread_setname_np(pthread_t thread, const char *name)
{
	is_trimmer = strcmp(name, "trim") == 0;
	return next.pthread_setname_np(thread, name);
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
			   const struct timespec *end)
{
	return is_trimmer ? ETIMEDOUT :
			    next.pthread_cond_timedwait(condition, mutex, end);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	find_all();

	int result = next.clock_gettime(clock, now);

	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		now->tv_sec += atomic_load(&faults->clock_jump_s);
	return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
	struct timespec t;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &t);
	*now = (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *now)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	if (now != NULL)
		*now = t.tv_sec;
	return t.tv_sec;
}
