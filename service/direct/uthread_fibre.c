/* SPDX-License-Identifier: MIT */
/*
 * n:m and n:1: threads are fibres, which kernel threads take from one run
 * queue, first come, first served.  What a thread waits for is done after its
 * stack was left, because from then on any kernel thread may continue it.
 *
 * Asynchronous.  All kernel threads share an epoll instance.  A socket is armed
 * for one event, and only while a thread waits for it.  So only one kernel
 * thread gets the event, and nobody closes the socket meanwhile.  That kernel
 * thread puts the waiting thread into the run queue.  A kernel thread that
 * finds the run queue empty counts itself as idle, in the same critical
 * section, and sleeps in epoll_wait().  A kernel thread that puts a thread into
 * the queue while another one is idle writes to an eventfd.  This is
 * edge-triggered, so each write wakes one sleeper or, if none sleeps yet, lets
 * the next epoll_wait() return at once.  There is no second write before a
 * kernel thread has taken that event (is_wake_sent).  It clears the flag before
 * it looks at the queue, and wakes another one if it leaves threads there.
 * uthread.pml is a model of this.
 *
 * A thread that waits for more than a second is trimmed, once: the part of its
 * stack that it does not use now is given back to the system (sweep()).  While
 * this happens the thread is claimed: if it is woken then, the sweep puts it
 * into the run queue afterwards.
 *
 * Synchronous.  A kernel thread needs one of m places to run threads.  When its
 * thread's socket would block, it gives its place away, waits in poll(), and
 * then stands in the run queue together with its thread.  There are at least as
 * many spare kernel threads as free places, so a free place can always be used:
 * before a kernel thread leaves its place, it starts a spare one if need be.
 */
#include "service/direct/uthread_kind.h"

#include "base/clock.h"
#include "stages/stage.h"
#include "stages/threads/fibre.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
/* Of ThreadSanitizer's library; no header declares them. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#else
#define AnnotateIgnoreReadsBegin(file, line) ((void)0)
#define AnnotateIgnoreReadsEnd(file, line) ((void)0)
#endif

enum {
	EVENTS_MAX = 64, /* taken from epoll at once */
	SPARES_KEPT = 8, /* more spare kernel threads than needed */
	NAME_BYTES = 16,
};

/* Busy kernel threads look for events so often. */
static const uint64_t look_ns = 20000;

static const uint64_t sweep_ns = NS_PER_S;

/* Of uthread.wake: it waits, but is claimed by sweep(). */
enum { UTHREAD_CLAIMED = UTHREAD_WOKEN + 1 };

/* Of a thread's socket, in epoll. */
enum { SOCKET_OFF, SOCKET_ARMED, SOCKET_CLAIMED };

/* Why a thread has left its stack. */
enum left {
	LEFT_TO_WAIT,
	LEFT_TO_TRANSFER,
	LEFT_TO_YIELD,
};

struct kernel_thread;

struct fibre_thread {
	struct uthread base; /* must be the first member */
	struct fibre *fibre; /* NULL: has not begun */
	struct kernel_thread *runs_on;
	struct fibre_thread *next; /* in the run queue, or free */
	enum left left;
	bool is_in_step;
	bool has_waited; /* or paused, since its last uthread_yield() */
	_Atomic uint32_t left_sweep; /* sweep_count when it left its stack */

	/* The transfer that waits for its socket. */
	bool is_transferring;
	enum transfer_need need;
	transfer_fn *step;
	void *arg;
	int fd;
	int watched_fd; /* the last one given to epoll */
	_Atomic uint32_t socket;

	/* Has this thread on its stack, and waits for a place; or NULL. */
	struct kernel_thread *home;
};

struct kernel_thread {
	struct fibre_threads *owner;
	uint32_t number;
	uint64_t turn_ns;   /* when its thread was entered */
	uint64_t looked_ns; /* at epoll */

	/* Its place, as this is the buffer for steps there; NULL: none. */
	char *buffer;

	/* Synchronous; protected by the lock, as is `buffer`. */
	pthread_cond_t is_called; /* has a place, or the end */
	struct kernel_thread *next_spare;
};

/* The lock is base.lock. */
struct fibre_threads {
	struct uthreads base; /* must be the first member */
	bool is_async;
	uint32_t place_count; /* m */
	struct fibres *stacks;
	struct fibre_thread *all;
	char *buffers; /* of the places */

	/* Protected by the lock. */
	struct fibre_thread *free;
	struct fibre_thread *first, **end; /* the run queue */
	bool is_stopping;
	uint32_t number; /* of the next kernel thread */

	/* Asynchronous: */
	_Atomic uint32_t used_count; /* these first ones of `all` ever began */
	_Atomic uint32_t sweep_count;
	_Atomic uint32_t left_sweep; /* the newest one of all threads */
	_Atomic uint64_t swept_ns;
	int epoll_fd, wake_fd;
	_Atomic uint32_t idle_count;   /* changed under the lock */
	bool is_wake_sent;             /* protected by the lock */
	_Atomic uint32_t sender_count; /* those who are in send_wake() */

	/* Synchronous: protected by the lock. */
	uint32_t free_place_count, spare_count;
	struct kernel_thread *spares;

	char *free_places[]; /* their buffers */
};

static struct fibre_threads *owner_of(const struct fibre_thread *t)
{
	return (struct fibre_threads *)t->base.owner;
}

static void lock(struct fibre_threads *f)
{
	(void)pthread_mutex_lock(&f->base.lock);
}

static void unlock(struct fibre_threads *f)
{
	(void)pthread_mutex_unlock(&f->base.lock);
}

static void count(_Atomic uint64_t *n)
{
	(void)atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* --- The run queue; the caller holds the lock. --- */

static void put(struct fibre_threads *f, struct fibre_thread *t)
{
	t->next = NULL;
	if (f->first == NULL)
		f->end = &f->first;
	*f->end = t;
	f->end = &t->next;
	(void)atomic_fetch_add(&f->base.ready_count, 1);
}

/* NULL: it is empty. */
static struct fibre_thread *take_thread(struct fibre_threads *f)
{
	struct fibre_thread *t = f->first;

	if (t == NULL)
		return NULL;
	f->first = t->next;
	(void)atomic_fetch_sub(&f->base.ready_count, 1);
	return t;
}

/* --- Asynchronous: sleeping and waking --- */

/* Caller holds the lock.  True: it must call send_wake() after it. */
static bool should_wake(struct fibre_threads *f)
{
	if (f->first == NULL || atomic_load(&f->idle_count) == 0 ||
	    f->is_wake_sent)
		return false;
	f->is_wake_sent = true;
	(void)atomic_fetch_add(&f->sender_count, 1);
	return true;
}

/*
 * As soon as the queue is unlocked the thread in it may run and end, as the
 * last one.  So a stop waits until sender_count is 0.
 */
static void send_wake(struct fibre_threads *f)
{
	uint64_t one = 1;

	/* It fails after 2^64 - 2 calls. */
	if (write(f->wake_fd, &one, sizeof(one)) < 0)
		abort();
	(void)atomic_fetch_sub(&f->sender_count, 1);
}

/* Until the next sweep, if there is something for it. */
static int sleep_ms(const struct fibre_threads *f)
{
	uint32_t sweep = atomic_load(&f->sweep_count);

	if (sweep - atomic_load(&f->left_sweep) > 1)
		return -1;
	return (int)(sweep_ns / NS_PER_MS);
}

/* Put threads whose sockets are ready into the run queue. */
static void look(struct fibre_threads *f, bool sleeps)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(f->epoll_fd, events, EVENTS_MAX,
			   sleeps ? sleep_ms(f) : 0);

	lock(f);
	if (sleeps)
		(void)atomic_fetch_sub(&f->idle_count, 1);
	for (int i = 0; i < n; i++) {
		struct fibre_thread *t = events[i].data.ptr;

		if (t == NULL) {
			f->is_wake_sent = false;
			continue;
		}
		/* One event each time; and it sees what arm() has left. */
		uint32_t was = atomic_exchange(&t->socket, SOCKET_OFF);

		assert(was != SOCKET_OFF);
		if (was == SOCKET_ARMED)
			put(f, t);
	}
	unlock(f);
}

/*
 * ThreadSanitizer knows no order between EPOLL_CTL_MOD and the epoll_wait()
 * that returns its event, so it would report that a close() after the event
 * races with epoll_ctl().
 */
static bool epoll_change(const struct fibre_threads *f, int op, int fd,
			 struct epoll_event *wanted)
{
	bool ok;

	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	ok = epoll_ctl(f->epoll_fd, op, fd, wanted) == 0;
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	return ok;
}

/*
 * The thread waits for its socket.  From a success on it may run on another
 * kernel thread.
 */
static void arm(struct fibre_thread *t)
{
	struct fibre_threads *f = owner_of(t);
	struct epoll_event wanted = {
		.events =
			EPOLLONESHOT |
			(t->need == TRANSFER_NEEDS_INPUT ? EPOLLIN : EPOLLOUT),
		.data.ptr = t,
	};
	int fd = t->fd;
	/* Mostly right.  The number may belong to a new socket, though. */
	int first = fd == t->watched_fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	t->watched_fd = fd;
	atomic_store(&t->socket, SOCKET_ARMED);
	if (epoll_change(f, first, fd, &wanted))
		return;
	if ((errno == EEXIST || errno == ENOENT) &&
	    epoll_change(f, EPOLL_CTL_ADD + EPOLL_CTL_MOD - first, fd, &wanted))
		return;
	/* No memory to watch it: so the transfer must end. */
	(void)shutdown(fd, SHUT_RDWR);
	lock(f);
	if (atomic_exchange(&t->socket, SOCKET_OFF) == SOCKET_ARMED)
		put(f, t);
	unlock(f);
}

/*
 * Without an event.  It is in epoll then, so arm() needs no memory.  If the
 * descriptor is closed on its other side before a thread waits for it, that is
 * one event, as of send_wake().
 */
static bool fibre_watch(struct uthreads *u, int fd)
{
	struct fibre_threads *f = (struct fibre_threads *)u;
	struct epoll_event none = { .events = EPOLLONESHOT };

	return !f->is_async ||
	       epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, fd, &none) == 0;
}

/* --- Synchronous: places.  The caller holds the lock. --- */

static bool start_kernel_thread(struct fibre_threads *f);

static void give_place(struct fibre_threads *f, struct kernel_thread *k)
{
	assert(f->free_place_count > 0 && k->buffer == NULL);
	k->buffer = f->free_places[--f->free_place_count];
	(void)pthread_cond_signal(&k->is_called);
}

/* A place may have become free, or a thread ready. */
static void use_place(struct fibre_threads *f)
{
	struct kernel_thread *k;

	if (f->free_place_count == 0 || f->first == NULL)
		return;
	if (f->first->home != NULL) {
		k = take_thread(f)->home;
	} else {
		assert(f->spare_count >= f->free_place_count);
		k = f->spares;
		f->spares = k->next_spare;
		f->spare_count--;
	}
	give_place(f, k);
}

static void free_place(struct fibre_threads *f, struct kernel_thread *k)
{
	assert(k->buffer != NULL);
	f->free_places[f->free_place_count++] = k->buffer;
	k->buffer = NULL;
}

static void wait_for_place(struct fibre_threads *f, struct kernel_thread *k)
{
	while (k->buffer == NULL && !f->is_stopping)
		(void)pthread_cond_wait(&k->is_called, &f->base.lock);
}

static void add_spare(struct fibre_threads *f, struct kernel_thread *k)
{
	k->next_spare = f->spares;
	f->spares = k;
	f->spare_count++;
}

/* NULL: the kernel thread ends. */
static struct fibre_thread *next_sync(struct kernel_thread *k)
{
	struct fibre_threads *f = k->owner;
	struct fibre_thread *t = NULL;

	lock(f);
	for (;;) {
		wait_for_place(f, k);
		if (f->is_stopping)
			break;
		t = take_thread(f);
		if (t != NULL && t->home == NULL)
			break;
		free_place(f, k);
		if (t != NULL)
			give_place(f, t->home);
		t = NULL;
		if (f->spare_count >= f->free_place_count + SPARES_KEPT)
			break;
		add_spare(f, k);
	}
	unlock(f);
	k->turn_ns = clock_now_ns();
	return t;
}

/* False: there is no kernel thread for the place, so this one keeps it. */
static bool leave_place(struct kernel_thread *k)
{
	struct fibre_threads *f = k->owner;
	bool ok;

	lock(f);
	ok = f->spare_count > f->free_place_count || start_kernel_thread(f);
	if (ok) {
		free_place(f, k);
		use_place(f);
	}
	unlock(f);
	return ok;
}

/* `t` is on the kernel thread's stack. */
static void come_back(struct kernel_thread *k, struct fibre_thread *t)
{
	struct fibre_threads *f = k->owner;

	lock(f);
	if (f->free_place_count > 0) {
		give_place(f, k);
	} else {
		t->home = k;
		put(f, t);
		wait_for_place(f, k);
		t->home = NULL;
	}
	unlock(f);
	k->turn_ns = clock_now_ns(); /* the wait was not part of its turn */
	t->has_waited = true;
}

/* --- Kernel threads --- */

/* Put a thread that can run into the run queue. */
static void make_ready(struct fibre_threads *f, struct fibre_thread *t)
{
	bool wakes = false;

	lock(f);
	put(f, t);
	if (f->is_async)
		wakes = should_wake(f);
	else
		use_place(f);
	unlock(f);
	if (wakes)
		send_wake(f);
}

static void end_wait(struct fibre_threads *f, struct fibre_thread *t)
{
	(void)atomic_fetch_sub(&f->base.waiting_count, 1);
	make_ready(f, t);
}

static void trim(struct fibre_threads *f, struct fibre_thread *t)
{
	uint32_t waits = UTHREAD_WAITS, claimed = UTHREAD_CLAIMED;
	uint32_t armed = SOCKET_ARMED, socket = SOCKET_CLAIMED;

	if (atomic_compare_exchange_strong(&t->base.wake, &waits, claimed)) {
		fibre_trim(t->fibre);
		if (!atomic_compare_exchange_strong(&t->base.wake, &claimed,
						    UTHREAD_WAITS))
			end_wait(f, t);
	} else if (atomic_compare_exchange_strong(&t->socket, &armed, socket)) {
		fibre_trim(t->fibre);
		if (!atomic_compare_exchange_strong(&t->socket, &socket,
						    SOCKET_ARMED))
			make_ready(f, t);
	}
}

/* Trim those that left their stacks before the last sweep. */
static void sweep(struct fibre_threads *f, uint64_t now_ns)
{
	uint64_t last_ns =
		atomic_load_explicit(&f->swept_ns, memory_order_relaxed);
	uint32_t number, used;

	if (now_ns - last_ns < sweep_ns ||
	    !atomic_compare_exchange_strong(&f->swept_ns, &last_ns, now_ns))
		return;
	number = atomic_fetch_add(&f->sweep_count, 1);
	used = atomic_load(&f->used_count);
	for (uint32_t i = 0; i < used; i++) {
		struct fibre_thread *t = &f->all[i];

		if (atomic_load_explicit(&t->left_sweep, memory_order_relaxed) +
			    1 !=
		    number)
			continue;
		trim(f, t);
	}
}

/* NULL: the end. */
static struct fibre_thread *next_async(struct kernel_thread *k)
{
	struct fibre_threads *f = k->owner;

	for (;;) {
		uint64_t now_ns = clock_now_ns();

		sweep(f, now_ns);
		/* Those that sleep have the events. */
		if (now_ns - k->looked_ns >= look_ns &&
		    atomic_load(&f->idle_count) == 0) {
			look(f, false);
			k->looked_ns = now_ns;
		}
		lock(f);
		struct fibre_thread *t = take_thread(f);
		bool is_over = t == NULL && f->is_stopping;
		bool wakes = should_wake(f);

		if (t == NULL && !is_over)
			(void)atomic_fetch_add(&f->idle_count, 1);
		if (is_over) /* the next one ends, too */
			(void)atomic_fetch_add(&f->sender_count, 1);
		unlock(f);
		if (wakes || is_over)
			send_wake(f);
		if (t != NULL || is_over) {
			k->turn_ns = now_ns;
			return t;
		}
		look(f, true);
	}
}

static void end_thread(struct fibre_threads *f, struct fibre_thread *t)
{
	fibres_give(f->stacks, t->fibre);
	lock(f);
	t->next = f->free;
	f->free = t;
	unlock(f);
	uthreads_leave(&f->base);
}

/* This kernel thread takes from the queue next, so it wakes nobody. */
static void put_back(struct fibre_threads *f, struct fibre_thread *t)
{
	lock(f);
	put(f, t);
	unlock(f);
}

/* Its transfer is not done. */
static void wait_for_step(struct fibre_threads *f, struct fibre_thread *t)
{
	if (t->need == TRANSFER_YIELDS)
		put_back(f, t);
	else
		arm(t);
}

/* The thread has left its stack, and from here on others may continue it. */
static void settle(struct fibre_threads *f, struct fibre_thread *t)
{
	uint32_t wake = UTHREAD_RUNS;
	uint32_t sweep = atomic_load(&f->sweep_count);

	atomic_store_explicit(&t->left_sweep, sweep, memory_order_relaxed);
	atomic_store_explicit(&f->left_sweep, sweep, memory_order_relaxed);
	switch (t->left) {
	case LEFT_TO_WAIT:
		(void)atomic_fetch_add(&f->base.waiting_count, 1);
		if (atomic_compare_exchange_strong(&t->base.wake, &wake,
						   UTHREAD_WAITS))
			return;
		(void)atomic_fetch_sub(&f->base.waiting_count, 1);
		break;
	case LEFT_TO_TRANSFER:
		(void)atomic_fetch_add(&f->base.transferring_count, 1);
		wait_for_step(f, t);
		return;
	case LEFT_TO_YIELD:
		break;
	}
	put_back(f, t);
}

static void begin_thread(void *arg)
{
	struct fibre_thread *t = arg;

	t->base.fn(t->base.arg);
}

static void enter(struct kernel_thread *k, struct fibre_thread *t)
{
	struct fibre_threads *f = k->owner;
	bool has_ended;

	t->runs_on = k;
	t->has_waited = true;
	count(&f->base.switch_count);
	uthread_set_self(&t->base);
	if (t->fibre != NULL) {
		has_ended = fibre_resume(t->fibre);
	} else {
		t->fibre = fibres_take(f->stacks);
		assert(t->fibre != NULL);
		has_ended = fibre_run(t->fibre, begin_thread, t);
	}
	uthread_set_self(NULL);
	if (has_ended)
		end_thread(f, t);
	else
		settle(f, t);
}

static enum transfer_need run_step(struct fibre_thread *t, transfer_fn *step,
				   void *arg)
{
	struct uthreads *u = t->base.owner;
	enum transfer_need need;

	assert(!t->is_in_step);
	count(&u->step_count);
	t->is_in_step = true;
	need = step(arg, t->runs_on->buffer, u->config.buffer_bytes);
	t->is_in_step = false;
	return need;
}

/* The thread was in the run queue. */
static void go_on(struct kernel_thread *k, struct fibre_thread *t)
{
	struct fibre_threads *f = k->owner;

	if (t->is_transferring &&
	    f->base.model.transfers == TRANSFERS_BY_SCHEDULER) {
		t->runs_on = k;
		uthread_set_self(&t->base);
		t->need = run_step(t, t->step, t->arg);
		uthread_set_self(NULL);
		if (t->need != TRANSFER_DONE) {
			wait_for_step(f, t);
			return;
		}
	}
	if (t->is_transferring) {
		t->is_transferring = false;
		(void)atomic_fetch_sub(&f->base.transferring_count, 1);
	}
	enter(k, t);
}

static void *kernel_main(void *arg)
{
	struct kernel_thread *k = arg;
	struct fibre_threads *f = k->owner;
	const struct cores *cores = f->base.config.cores;
	char name[NAME_BYTES];
	struct fibre_thread *t;

	(void)snprintf(name, sizeof(name), "direct-%u", k->number);
	(void)pthread_setname_np(pthread_self(), name);
	/* In other models kernel threads are more or fewer than cores. */
	if (f->is_async && f->place_count > 1)
		(void)cores_bind(cores, k->number, 1);
	else
		(void)cores_bind(cores, 0, cores_count(cores));
	while ((t = f->is_async ? next_async(k) : next_sync(k)) != NULL)
		go_on(k, t);
	(void)pthread_cond_destroy(&k->is_called);
	free(k);
	lock(f);
	if (atomic_fetch_sub(&f->base.kernel_thread_count, 1) == 1)
		(void)pthread_cond_broadcast(&f->base.has_none);
	unlock(f);
	return NULL;
}

/* Caller holds the lock, so that the thread cannot run before it is counted. */
static bool start_kernel_thread(struct fibre_threads *f)
{
	struct kernel_thread *k = malloc(sizeof(*k));
	pthread_t thread;

	if (k == NULL)
		return false;
	*k = (struct kernel_thread){ .owner = f, .number = f->number };
	if (f->is_async)
		k->buffer = f->free_places[f->number];
	(void)pthread_cond_init(&k->is_called, NULL);
	if (pthread_create(&thread, &f->base.attr, kernel_main, k) != 0) {
		(void)pthread_cond_destroy(&k->is_called);
		free(k);
		return false;
	}
	f->number++;
	(void)atomic_fetch_add(&f->base.kernel_thread_count, 1);
	if (!f->is_async)
		add_spare(f, k);
	return true;
}

static void fibres_release(struct fibre_threads *f)
{
	fibres_free(f->stacks);
	free(f->all);
	free(f->buffers);
	if (f->epoll_fd >= 0)
		(void)close(f->epoll_fd);
	if (f->wake_fd >= 0)
		(void)close(f->wake_fd);
}

static bool open_epoll(struct fibre_threads *f)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };

	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return f->epoll_fd >= 0 && f->wake_fd >= 0 &&
	       epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, f->wake_fd, &e) == 0;
}

static struct uthreads *fibre_new(const struct uthreads_config *config)
{
	uint32_t places = config->model->mapping == THREADS_N_TO_M ?
				  cores_count(config->cores) :
				  1;
	struct fibre_threads *f =
		calloc(1, sizeof(*f) + places * sizeof(f->free_places[0]));

	if (f == NULL)
		return NULL;
	f->is_async = config->model->io == THREADS_IO_ASYNC;
	f->place_count = places;
	f->epoll_fd = -1;
	f->wake_fd = -1;
	f->stacks = fibres_new(&(struct fibre_stacks){
		.count = config->threads_max, .may_lack_guards = true });
	f->all = calloc(config->threads_max, sizeof(*f->all));
	f->buffers = malloc(places * config->buffer_bytes);
	if (f->stacks == NULL || f->all == NULL || f->buffers == NULL ||
	    (f->is_async && !open_epoll(f))) {
		fibres_release(f);
		free(f);
		return NULL;
	}
	for (uint32_t i = 0; i < places; i++)
		f->free_places[i] = f->buffers + i * config->buffer_bytes;
	for (uint32_t i = config->threads_max; i-- > 0;) {
		f->all[i].next = f->free;
		f->free = &f->all[i];
	}
	return &f->base;
}

static bool fibre_start(struct uthreads *u)
{
	struct fibre_threads *f = (struct fibre_threads *)u;
	bool ok = true;

	lock(f);
	for (uint32_t i = 0; ok && i < f->place_count; i++) {
		ok = start_kernel_thread(f);
		if (ok && !f->is_async)
			f->free_place_count++;
	}
	unlock(f);
	return ok;
}

static void fibre_stop(struct uthreads *u)
{
	struct fibre_threads *f = (struct fibre_threads *)u;

	lock(f);
	f->is_stopping = true;
	for (struct kernel_thread *k = f->spares; k != NULL; k = k->next_spare)
		(void)pthread_cond_signal(&k->is_called);
	unlock(f);
	if (f->is_async) {
		(void)atomic_fetch_add(&f->sender_count, 1);
		send_wake(f);
	}
	lock(f);
	while (atomic_load(&u->kernel_thread_count) > 0)
		(void)pthread_cond_wait(&u->has_none, &u->lock);
	unlock(f);
	while (atomic_load(&f->sender_count) > 0)
		(void)sched_yield();
	fibres_release(f);
}

/* --- Threads --- */

static bool fibre_spawn(struct uthreads *u, uthread_fn *fn, void *arg)
{
	struct fibre_threads *f = (struct fibre_threads *)u;
	struct fibre_thread *t;

	lock(f);
	t = f->free;
	assert(t != NULL); /* as it is counted */
	f->free = t->next;
	if (t >= f->all + f->used_count)
		f->used_count = (uint32_t)(t - f->all) + 1;
	unlock(f);
	assert(t->base.wake != UTHREAD_WAITS && t->socket == SOCKET_OFF);
	/* One by one, as sweep() reads others meanwhile. */
	t->base.owner = u;
	t->base.fn = fn;
	t->base.arg = arg;
	t->base.wake = UTHREAD_RUNS;
	t->fibre = NULL;
	t->watched_fd = -1;
	make_ready(f, t);
	return true;
}

/*
 * The thread that calls leaves its stack, and returns on any kernel thread.
 * Nothing thread-local may be kept across this.
 */
static void leave(struct fibre_thread *t, enum left left)
{
	assert(!t->is_in_step);
	t->left = left;
	fibre_pause(t->fibre);
}

static void transfer_sync(struct fibre_thread *t, int fd, transfer_fn *step,
			  void *arg)
{
	struct uthreads *u = t->base.owner;
	enum transfer_need need;

	while ((need = run_step(t, step, arg)) != TRANSFER_DONE) {
		if (need == TRANSFER_YIELDS) {
			leave(t, LEFT_TO_YIELD);
			continue;
		}
		struct kernel_thread *k = t->runs_on;
		bool has_left = leave_place(k);
		struct pollfd p = {
			.fd = fd,
			.events =
				need == TRANSFER_NEEDS_INPUT ? POLLIN : POLLOUT,
		};

		(void)atomic_fetch_add(&u->transferring_count, 1);
		(void)poll(&p, 1, -1);
		(void)atomic_fetch_sub(&u->transferring_count, 1);
		if (has_left)
			come_back(k, t);
	}
}

static void fibre_transfer(struct uthread *self, int fd, transfer_fn *step,
			   void *arg)
{
	struct fibre_thread *t = (struct fibre_thread *)self;

	if (!owner_of(t)->is_async) {
		transfer_sync(t, fd, step, arg);
		return;
	}
	t->need = run_step(t, step, arg);
	while (t->need != TRANSFER_DONE) {
		t->fd = fd;
		t->step = step;
		t->arg = arg;
		t->is_transferring = true;
		leave(t, LEFT_TO_TRANSFER);
		if (self->owner->model.transfers == TRANSFERS_BY_THREAD)
			t->need = run_step(t, step, arg);
	}
}

static void fibre_wait(struct uthread *self)
{
	uint32_t wake = UTHREAD_WOKEN;

	if (atomic_compare_exchange_strong(&self->wake, &wake, UTHREAD_RUNS))
		return;
	leave((struct fibre_thread *)self, LEFT_TO_WAIT);
	/* An exchange, so that it sees what those did that woke it. */
	(void)atomic_exchange(&self->wake, UTHREAD_RUNS);
}

static void fibre_wake(struct uthread *t)
{
	/* If it does not wait, it may end at once. */
	struct uthreads *u = t->owner;

	if (atomic_exchange(&t->wake, UTHREAD_WOKEN) == UTHREAD_WAITS)
		end_wait((struct fibre_threads *)u, (struct fibre_thread *)t);
}

static bool fibre_should_pause(struct uthread *self)
{
	struct fibre_thread *t = (struct fibre_thread *)self;
	struct fibre_threads *f = owner_of(t);
	uint64_t quantum_ns = f->base.model.quantum_ns, now_ns;

	if (quantum_ns == 0 || t->is_in_step)
		return false;
	now_ns = clock_now_ns();
	if (now_ns - t->runs_on->turn_ns < quantum_ns)
		return false;
	if (f->is_async && atomic_load(&f->base.ready_count) == 0 &&
	    atomic_load(&f->idle_count) == 0)
		look(f, false);
	if (atomic_load(&f->base.ready_count) > 0)
		return true;
	t->runs_on->turn_ns = now_ns;
	return false;
}

static void fibre_preempt(struct uthread *self)
{
	count(&self->owner->preempted_count);
	leave((struct fibre_thread *)self, LEFT_TO_YIELD);
}

static void fibre_yield(struct uthread *self)
{
	struct fibre_thread *t = (struct fibre_thread *)self;

	if (!t->has_waited)
		leave(t, LEFT_TO_YIELD);
	t->has_waited = false;
}

static uint32_t fibre_kernel_thread(const struct uthread *self)
{
	return ((const struct fibre_thread *)self)->runs_on->number;
}

const struct uthread_kind uthread_fibre = {
	.new = fibre_new,
	.start = fibre_start,
	.stop = fibre_stop,
	.spawn = fibre_spawn,
	.transfer = fibre_transfer,
	.wait = fibre_wait,
	.wake = fibre_wake,
	.should_pause = fibre_should_pause,
	.pause = fibre_preempt,
	.yield = fibre_yield,
	.watch = fibre_watch,
	.kernel_thread = fibre_kernel_thread,
};
