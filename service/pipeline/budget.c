/* SPDX-License-Identifier: MIT */
/*
 * Atomics are relaxed unless the missed wake-up needs more: no counter protects
 * other memory, and each single counter is exact.
 *
 * The missed wake-up: thread A finds no memory and begins to wait; meanwhile
 * thread B gives back the last memory and sees no waiting thread, so nobody
 * wakes A.  Therefore A first adds to waiting_count and then tries again, and B
 * first subtracts from used_bytes and then reads waiting_count.  These four
 * accesses are sequentially consistent, so at least one of the two threads sees
 * what the other has done.  The same holds for used_slots.
 *
 * One lock protects the lines of those that wait.  done() is called under it,
 * so it may take locks of others, but nobody uses the budget under those.
 */
#include "service/pipeline/budget.h"

#include "base/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <math.h>

enum {
	LOOK_AGAIN_MS = 250, /* is_over() is asked after this time */
	/* struct memory_estimate */
	WEIGHT = 8, /* the latest upload counts as an eighth */
	/*
	 * A sample counts as at most this many times the mean, so that one very
	 * large upload does not outweigh all others.
	 */
	SAMPLE_MAX = 4,
	/*
	 * The estimate before the first upload: a photo that becomes a web
	 * picture.
	 */
	FIRST_BODY_BYTES = 1 << 20,
	FIRST_PICTURE_BYTES = 3 << 20,
	/* struct departures */
	SLOT_NS_LOG2 = 27, /* 134 ms */
	COUNT_BITS = 24,
	WAIT_S_MAX = 30,
};

#define WINDOW_NS ((uint64_t)(DEPARTURE_SLOTS - 1) << SLOT_NS_LOG2)

void budget_init(struct budget *b, uint64_t limit_bytes, uint32_t slots_max)
{
	b->limit_bytes = limit_bytes;
	b->slots_max = slots_max;
	atomic_init(&b->used_slots, 0);
	atomic_init(&b->used_bytes, 0);
	atomic_init(&b->peak_bytes, 0);
	atomic_init(&b->refused_count, 0);
	atomic_init(&b->waiting_count, 0);
	atomic_init(&b->wait_count, 0);
	atomic_init(&b->broken_wait_count, 0);
	atomic_init(&b->waited_ns, 0);
	(void)pthread_mutex_init(&b->lock, NULL);
	wait_init(&b->sooner);
	for (int line = 0; line < BUDGET_LINES; line++) {
		TAILQ_INIT(&b->lines[line]);
		b->is_ended[line] = false;
	}
	b->held_bytes = 0;
	b->wake_ns = WAIT_NEVER_NS;
	b->look_ns = 0;
	b->has_watch = b->stopping = false;
}

static void budget_raise_peak(struct budget *b, uint64_t used)
{
	uint64_t peak =
		atomic_load_explicit(&b->peak_bytes, memory_order_relaxed);

	while (used > peak &&
	       !atomic_compare_exchange_weak_explicit(
		       &b->peak_bytes, &peak, used, memory_order_relaxed,
		       memory_order_relaxed))
		;
}

/*
 * False: with `bytes` more, the limit would be exceeded now.  The load is that
 * of the missed wake-up.
 */
static bool budget_take(struct budget *b, uint64_t bytes)
{
	uint64_t used = atomic_load(&b->used_bytes);

	do {
		if (bytes > b->limit_bytes - used)
			return false;
	} while (!atomic_compare_exchange_weak(&b->used_bytes, &used,
					       used + bytes));
	budget_raise_peak(b, used + bytes);
	return true;
}

enum budget_answer budget_charge(struct charge *c, uint64_t bytes)
{
	struct budget *b = c->budget;
	bool fits = bytes <= b->limit_bytes;

	if (bytes <= c->bytes) {
		budget_lower(c, bytes);
		return BUDGET_OK;
	}
	if (fits && budget_take(b, bytes - c->bytes)) {
		c->bytes = bytes;
		return BUDGET_OK;
	}
	atomic_fetch_add_explicit(&b->refused_count, 1, memory_order_relaxed);
	return fits ? BUDGET_FULL : BUDGET_NEVER;
}

bool budget_try(struct charge *c, uint64_t bytes)
{
	struct budget *b = c->budget;

	if (bytes <= c->bytes) {
		budget_lower(c, bytes);
		return true;
	}
	if (bytes > b->limit_bytes ||
	    atomic_load_explicit(&b->waiting_count, memory_order_relaxed) > 0 ||
	    !budget_take(b, bytes - c->bytes))
		return false;
	c->bytes = bytes;
	return true;
}

/* Lower a charge that is larger than `bytes`. */
static void budget_give_back(struct charge *c, uint64_t bytes)
{
	uint64_t before =
		atomic_fetch_sub(&c->budget->used_bytes, c->bytes - bytes);

	assert(before >= c->bytes - bytes);
	c->bytes = bytes;
}

static struct budget_waiter *first_waiter(const struct budget *b)
{
	for (int line = 0; line < BUDGET_LINES; line++)
		if (!TAILQ_EMPTY(&b->lines[line]))
			return TAILQ_FIRST(&b->lines[line]);
	return NULL;
}

/* Caller holds the lock.  `w` may be freed when this returns. */
static void end_wait(struct budget *b, struct budget_waiter *w,
		     enum budget_answer answer)
{
	TAILQ_REMOVE(&b->lines[w->line], w, link);
	b->held_bytes -= w->held_bytes;
	atomic_fetch_sub(&b->waiting_count, 1);
	atomic_fetch_add(&b->waited_ns, clock_now_ns() - w->since_ns);
	w->answer = answer;
	w->done(w);
}

bool budget_has_slot(const struct budget *b)
{
	return atomic_load(&b->used_slots) < b->slots_max;
}

bool budget_take_slot(struct charge *c)
{
	struct budget *b = c->budget;
	uint32_t used = atomic_load(&b->used_slots);

	if (c->has_slot)
		return true;
	do {
		if (used >= b->slots_max)
			return false;
	} while (
		!atomic_compare_exchange_weak(&b->used_slots, &used, used + 1));
	c->has_slot = true;
	return true;
}

/*
 * Caller holds the lock.  False: there is not enough now.  Memory is taken
 * last, so that none is charged, and counted in the peak, only to be given back
 * at once.
 */
static bool take_all(struct budget *b, struct budget_waiter *w)
{
	struct charge *c = w->charge;
	uint64_t more_bytes = w->bytes - c->bytes;
	bool had_slot = c->has_slot;

	if (more_bytes > b->limit_bytes - atomic_load(&b->used_bytes))
		return false;
	if (w->wants_slot && !budget_take_slot(c))
		return false;
	if (budget_take(b, more_bytes)) {
		c->bytes = w->bytes;
		return true;
	}
	if (c->has_slot && !had_slot) {
		c->has_slot = false;
		atomic_fetch_sub(&b->used_slots, 1);
	}
	return false;
}

/* Caller holds the lock.  False: there is not enough now. */
static bool serve(struct budget *b, struct budget_waiter *w)
{
	if (!take_all(b, w))
		return false;
	end_wait(b, w, BUDGET_OK);
	return true;
}

/*
 * Caller holds the lock.  Does nobody hold memory, except those that wait?  A
 * charge that another thread takes in this moment can only make this false.
 */
static bool is_standstill(const struct budget *b)
{
	return !TAILQ_EMPTY(&b->lines[BUDGET_INSIDE]) &&
	       atomic_load(&b->used_bytes) == b->held_bytes;
}

/* Caller holds the lock. */
static struct budget_waiter *largest_holder(const struct budget *b)
{
	struct budget_waiter *w, *largest = NULL;

	TAILQ_FOREACH(w, &b->lines[BUDGET_INSIDE], link)
	if (largest == NULL || w->held_bytes > largest->held_bytes)
		largest = w;
	return largest;
}

/* Caller holds the lock. */
static void break_standstill(struct budget *b)
{
	while (is_standstill(b)) {
		struct budget_waiter *newest =
			TAILQ_LAST(&b->lines[BUDGET_INSIDE], budget_waiters);

		if (serve(b, largest_holder(b)) || !is_standstill(b))
			continue;
		atomic_fetch_add(&b->broken_wait_count, 1);
		atomic_fetch_add(&b->refused_count, 1);
		end_wait(b, newest, BUDGET_FULL);
	}
}

/* Caller holds the lock.  There may be more memory, or fewer that wait. */
static void serve_all(struct budget *b)
{
	struct budget_waiter *w = first_waiter(b);

	while (w != NULL && serve(b, w))
		w = first_waiter(b);
	break_standstill(b);
}

/* Something was given back: see the missed wake-up. */
static void serve_waiters(struct budget *b)
{
	if (atomic_load(&b->waiting_count) == 0)
		return;
	(void)pthread_mutex_lock(&b->lock);
	serve_all(b);
	(void)pthread_mutex_unlock(&b->lock);
}

void budget_lower(struct charge *c, uint64_t bytes)
{
	if (bytes >= c->bytes)
		return;
	budget_give_back(c, bytes);
	serve_waiters(c->budget);
}

void budget_give_slot(struct charge *c)
{
	if (!c->has_slot)
		return;
	c->has_slot = false;
	(void)atomic_fetch_sub(&c->budget->used_slots, 1);
	serve_waiters(c->budget);
}

/*
 * Caller holds the lock.  The watch looks at all that wait at `until_ns` at the
 * latest, and when it is to ask is_over() again.
 */
static void wake_watch(struct budget *b, uint64_t until_ns)
{
	uint64_t wake_ns = b->look_ns;

	if (until_ns > 0 && until_ns < wake_ns)
		wake_ns = until_ns;
	if (wake_ns >= b->wake_ns)
		return;
	b->wake_ns = wake_ns;
	(void)pthread_cond_signal(&b->sooner);
}

/* Caller holds the lock, and has added it to waiting_count. */
static void join_line(struct budget *b, struct budget_waiter *w)
{
	w->since_ns = clock_now_ns();
	b->held_bytes += w->held_bytes;
	TAILQ_INSERT_TAIL(&b->lines[w->line], w, link);
	atomic_fetch_add(&b->wait_count, 1);
	wake_watch(b, w->until_ns);
	if (w->held_bytes < w->charge->bytes)
		budget_give_back(w->charge, w->held_bytes);
	serve_all(b);
}

bool budget_wait(struct budget_waiter *w)
{
	struct budget *b = w->charge->budget;
	bool is_first = true, is_over;

	assert(b->has_watch && w->bytes <= b->limit_bytes &&
	       w->held_bytes <= w->charge->bytes &&
	       w->charge->bytes <= w->bytes);
	(void)pthread_mutex_lock(&b->lock);
	atomic_fetch_add(&b->waiting_count, 1); /* the missed wake-up */
	for (int line = 0; line <= (int)w->line; line++)
		is_first = is_first && TAILQ_EMPTY(&b->lines[line]);
	is_over = is_first && take_all(b, w);
	if (is_over) {
		w->answer = BUDGET_OK;
	} else if (b->is_ended[w->line]) {
		w->answer = BUDGET_FULL;
		is_over = true;
	}
	if (is_over)
		atomic_fetch_sub(&b->waiting_count, 1);
	else
		join_line(b, w);
	(void)pthread_mutex_unlock(&b->lock);
	return is_over;
}

/* Caller holds the lock. */
static void end_line(struct budget *b, enum budget_line line)
{
	while (!TAILQ_EMPTY(&b->lines[line]))
		end_wait(b, TAILQ_FIRST(&b->lines[line]), BUDGET_FULL);
}

void budget_end_waits(struct budget *b, enum budget_line line)
{
	(void)pthread_mutex_lock(&b->lock);
	b->is_ended[line] = true;
	end_line(b, line);
	serve_all(b);
	(void)pthread_mutex_unlock(&b->lock);
}

/* Caller holds the lock.  End waits whose time is over, or is_over(). */
static void look_at_all(struct budget *b)
{
	uint64_t now_ns = clock_now_ns();
	bool asks = now_ns >= b->look_ns;
	struct budget_waiter *w, *next;

	b->wake_ns = WAIT_NEVER_NS;
	if (asks)
		b->look_ns = clock_after_ms(LOOK_AGAIN_MS);
	for (int line = 0; line < BUDGET_LINES; line++) {
		for (w = TAILQ_FIRST(&b->lines[line]); w != NULL; w = next) {
			next = TAILQ_NEXT(w, link);
			if ((w->until_ns > 0 && now_ns >= w->until_ns) ||
			    (asks && w->is_over(w)))
				end_wait(b, w, BUDGET_FULL);
			else
				wake_watch(b, w->until_ns);
		}
	}
	serve_all(b);
}

static void *run_watch(void *arg)
{
	struct budget *b = arg;

	(void)pthread_setname_np(pthread_self(), "memory");
	(void)pthread_mutex_lock(&b->lock);
	while (!b->stopping) {
		if (clock_now_ns() >= b->wake_ns)
			look_at_all(b);
		(void)wait_until(&b->sooner, &b->lock, b->wake_ns);
	}
	(void)pthread_mutex_unlock(&b->lock);
	return NULL;
}

bool budget_start_waiting(struct budget *b)
{
	b->has_watch = pthread_create(&b->watch, NULL, run_watch, b) == 0;
	return b->has_watch;
}

void budget_release(struct budget *b)
{
	assert(atomic_load(&b->waiting_count) == 0);
	if (b->has_watch) {
		(void)pthread_mutex_lock(&b->lock);
		b->stopping = true;
		(void)pthread_cond_signal(&b->sooner);
		(void)pthread_mutex_unlock(&b->lock);
		(void)pthread_join(b->watch, NULL);
	}
	(void)pthread_cond_destroy(&b->sooner);
	(void)pthread_mutex_destroy(&b->lock);
}

void budget_read(const struct budget *b, struct budget_stats *out)
{
	*out = (struct budget_stats){
		.limit_bytes = b->limit_bytes,
		.used_bytes = atomic_load(&b->used_bytes),
		.peak_bytes = atomic_load(&b->peak_bytes),
		.refused_count = atomic_load(&b->refused_count),
		.waiting_count = atomic_load(&b->waiting_count),
		.wait_count = atomic_load(&b->wait_count),
		.waited_ns = atomic_load(&b->waited_ns),
		.broken_wait_count = atomic_load(&b->broken_wait_count),
	};
}

void memory_estimate_init(struct memory_estimate *m)
{
	atomic_init(&m->body_bytes_mean, FIRST_BODY_BYTES);
	atomic_init(&m->picture_bytes_mean, FIRST_PICTURE_BYTES);
}

static void update_mean(_Atomic uint64_t *mean, uint64_t bytes)
{
	uint64_t m = atomic_load_explicit(mean, memory_order_relaxed);

	if (bytes > SAMPLE_MAX * m)
		bytes = SAMPLE_MAX * m;
	atomic_store_explicit(mean, m - m / WEIGHT + bytes / WEIGHT,
			      memory_order_relaxed);
}

void memory_estimate_learn(struct memory_estimate *m, uint64_t body_bytes,
			   uint64_t picture_bytes)
{
	update_mean(&m->body_bytes_mean, body_bytes);
	update_mean(&m->picture_bytes_mean, picture_bytes);
}

uint64_t memory_estimate_body(const struct memory_estimate *m)
{
	return atomic_load_explicit(&m->body_bytes_mean, memory_order_relaxed);
}

uint64_t memory_estimate_bytes(const struct memory_estimate *m,
			       uint64_t body_bytes)
{
	uint64_t body =
		atomic_load_explicit(&m->body_bytes_mean, memory_order_relaxed);
	uint64_t picture = atomic_load_explicit(&m->picture_bytes_mean,
						memory_order_relaxed);

	double times = (double)body_bytes / (double)(body + 1);

	return (uint64_t)(fmin(times, SAMPLE_MAX) * (double)picture);
}

static uint64_t slot_number(uint64_t now_ns)
{
	return now_ns >> SLOT_NS_LOG2;
}

void departures_begin(struct departures *d, uint64_t now_ns)
{
	atomic_store_explicit(&d->busy_since_ns, now_ns, memory_order_relaxed);
}

/*
 * A slot is one word: its number (slots since the clock's zero) in the upper
 * bits, and the count of departures in the lower bits.  A slot with an older
 * number starts again with a count of 1.
 */
void departures_count(struct departures *d, uint64_t now_ns)
{
	uint64_t number = slot_number(now_ns), next;
	_Atomic uint64_t *slot = &d->slots[number % DEPARTURE_SLOTS];
	uint64_t now = atomic_load_explicit(slot, memory_order_relaxed);

	do {
		next = now >> COUNT_BITS == number ? now + 1 :
						     number << COUNT_BITS | 1;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &now, next, memory_order_relaxed, memory_order_relaxed));
}

/* Departures since the beginning of the slot that contains `begin_ns`. */
static uint64_t departures_since(const struct departures *d, uint64_t begin_ns)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < DEPARTURE_SLOTS; i++) {
		uint64_t slot = atomic_load_explicit(&d->slots[i],
						     memory_order_relaxed);

		if (slot >> COUNT_BITS >= slot_number(begin_ns))
			count += slot & ((1 << COUNT_BITS) - 1);
	}
	return count;
}

uint32_t departures_retry_after_s(struct departures *d, uint32_t inside_count,
				  uint64_t now_ns)
{
	uint64_t begin_ns =
		atomic_load_explicit(&d->busy_since_ns, memory_order_relaxed);
	uint32_t turn = atomic_fetch_add_explicit(&d->answer_count, 1,
						  memory_order_relaxed);
	uint64_t ended, wait_s;
	uint32_t s;

	if (now_ns - begin_ns > WINDOW_NS)
		begin_ns = now_ns - WINDOW_NS;
	ended = departures_since(d, begin_ns);
	wait_s = inside_count * (now_ns - begin_ns) / (ended > 0 ? ended : 1) /
		 NS_PER_S;
	s = wait_s < WAIT_S_MAX ? (uint32_t)wait_s + 1 : WAIT_S_MAX;
	return s + turn % (s + 1);
}
