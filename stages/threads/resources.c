/* SPDX-License-Identifier: MIT */
#include "stages/threads/resources.h"

#include "base/clock.h"
#include "base/util.h"

#include <pthread.h>
#include <sys/resource.h>

enum {
	/* A window with fewer passages says little; it goes on. */
	PASSAGES_MIN = 32,
	/*
	 * A limit rises after a second without signs, so that it does not
	 * swing: memory that was swapped out takes about that long to return.
	 */
	CALM_WINDOWS = 10,
	/* A limit rises by this part of the capacity in a window, and ... */
	RISE_PART = 32,
	/* ... never falls below this part: something must always run. */
	LEAST_PART = 8,
	/*
	 * Fewer faults per second are not thrashing.  Reading a page takes 0.1
	 * ms to 10 ms, so this is 1 % of the time or more.
	 */
	FAULTS_MIN = 100,
};

/* A limit falls to this part of what is used. */
#define BELOW_USE 0.9
/* Signs of thrashing: overhead as a multiple of the usual one, ... */
#define OVERHEAD_JUMP 2.0
/* ... and productivity as a part of it. */
#define PRODUCTIVITY_DROP 0.9
/*
 * Weights of the newest window in what is usual.  What comes with signs of
 * thrashing becomes usual slowly: in 64 windows, about 6 seconds.
 */
#define CALM_WEIGHT (1.0 / 8)
#define SIGNS_WEIGHT (1.0 / 64)

static const char *const names[RESOURCES] = {
	[RESOURCE_MEMORY] = "memory",
	[RESOURCE_FILES] = "files",
	[RESOURCE_STACKS] = "stacks",
};

#define READ(member) atomic_load_explicit(&(member), memory_order_relaxed)
#define WRITE(member, value)                                                   \
	atomic_store_explicit(&(member), value, memory_order_relaxed)
#define ADD(member, value)                                                     \
	atomic_fetch_add_explicit(&(member), value, memory_order_relaxed)
#define TAKE_ALL(member)                                                       \
	atomic_exchange_explicit(&(member), 0, memory_order_relaxed)

void resources_init(struct resources *r, uint64_t (*read_faults)(void))
{
	*r = (struct resources){
		.read_faults = read_faults,
		.is_learning = ATOMIC_FLAG_INIT,
	};
	if (read_faults != NULL)
		r->faults = read_faults();
}

static uint64_t read_process_faults(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) == 0 ? (uint64_t)u.ru_majflt : 0;
}

static struct resources process;

static void init_process(void)
{
	resources_init(&process, read_process_faults);
}

struct resources *resources_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, init_process);
	return &process;
}

void resources_set_capacity(struct resources *r, enum resource which,
			    uint64_t capacity)
{
	WRITE(r->of[which].capacity, capacity);
	WRITE(r->of[which].limit, capacity);
}

void resources_add_capacity(struct resources *r, enum resource which,
			    int64_t amount)
{
	(void)ADD(r->of[which].capacity, (uint64_t)amount);
	(void)ADD(r->of[which].limit, (uint64_t)amount);
}

void resources_take(struct resources *r, enum resource which, int64_t amount)
{
	(void)ADD(r->of[which].used, amount);
}

/*
 * The sum can be below 0 for a moment: additions of several threads become
 * visible in any order.
 */
static uint64_t read_used(const struct resource_use *u)
{
	int64_t used = READ(u->used);

	return used > 0 ? (uint64_t)used : 0;
}

double resources_utilisation(const struct resources *r, enum resource which)
{
	const struct resource_use *u = &r->of[which];
	uint64_t limit = READ(u->limit);

	return limit > 0 ? (double)read_used(u) / (double)limit : 0;
}

void resources_count_work(struct resources *r,
			  const struct resource_work *since)
{
	(void)ADD(r->passage_count, since->passage_count);
	(void)ADD(r->passed_ns, since->passed_ns);
	(void)ADD(r->usual_ns, since->usual_ns);
	(void)ADD(r->ended_count, since->ended_count);
	(void)ADD(r->thread_count, since->begun_count);
}

/* What the steps of the limit, and its least value, are parts of. */
static uint64_t whole(const struct resource_use *u)
{
	uint64_t capacity = READ(u->capacity);

	return capacity > 0 ? capacity : u->used_most;
}

/* What a window showed. */
struct window {
	double productivity;
	double faults_per_s;
	double response_ns; /* 0: nothing ended */
};

static struct window end_window(struct resources *r, uint64_t now_ns)
{
	double span_ns = (double)(now_ns - r->window_began_ns);
	uint64_t faults = r->read_faults != NULL ? r->read_faults() : 0;
	uint64_t passed_ns = TAKE_ALL(r->passed_ns);
	uint64_t usual_ns = TAKE_ALL(r->usual_ns);
	uint64_t ended_count = TAKE_ALL(r->ended_count);
	struct window w = {
		.productivity = passed_ns == 0 ?
					1 :
					(double)usual_ns / (double)passed_ns,
		.faults_per_s =
			(double)(faults - r->faults) * NS_PER_S / span_ns,
		.response_ns = ended_count == 0 ?
				       0 :
				       (double)READ(r->thread_count) * span_ns /
					       (double)ended_count,
	};

	WRITE(r->passage_count, 0);
	r->faults = faults;
	r->window_began_ns = now_ns;
	return w;
}

static void lower_limit(struct resource_use *u)
{
	uint64_t now = READ(u->limit),
		 least = max_u64(whole(u) / LEAST_PART, 1);
	uint64_t limit = (uint64_t)(BELOW_USE * (double)read_used(u));

	u->calm_windows = 0;
	if (now > 0)
		limit = min_u64(limit, now);
	WRITE(u->limit, max_u64(limit, least));
}

/*
 * Only a limit that is in the way rises.  It already is where policies begin to
 * hold threads back: they keep the use below a limit, and then it would never
 * rise.
 */
static void raise_limit(struct resource_use *u)
{
	uint64_t limit = READ(u->limit), capacity = READ(u->capacity);
	uint64_t step = whole(u) / RISE_PART + 1;

	if (u->calm_windows < CALM_WINDOWS) {
		u->calm_windows++;
		return;
	}
	if (limit == 0 || limit == capacity ||
	    (double)read_used(u) < RESOURCES_PRESSURE_FROM * (double)limit)
		return;
	limit += step;
	WRITE(u->limit, capacity > 0 ? min_u64(limit, capacity) : limit);
}

/* `least`: overhead below this is no sign of anything. */
static void learn_limit(struct resource_use *u, bool is_slow, double overhead,
			double least)
{
	bool has_signs = is_slow && overhead >= least &&
			 overhead > OVERHEAD_JUMP * u->overhead_usual;
	double weight = has_signs ? SIGNS_WEIGHT : CALM_WEIGHT;

	u->used_most = max_u64(u->used_most, read_used(u));
	u->overhead_usual += weight * (overhead - u->overhead_usual);
	if (has_signs)
		lower_limit(u);
	else
		raise_limit(u);
}

static void learn(struct resources *r, uint64_t now_ns)
{
	bool is_first = r->productivity_usual == 0;
	struct window w = end_window(r, now_ns);
	bool is_slow =
		w.productivity < PRODUCTIVITY_DROP * r->productivity_usual;
	double weight = is_slow ? SIGNS_WEIGHT : CALM_WEIGHT;
	struct resource_use *files = &r->of[RESOURCE_FILES];

	if (is_first) {
		r->productivity_usual = w.productivity;
		files->overhead_usual = w.response_ns;
		return;
	}
	r->productivity_usual +=
		weight * (w.productivity - r->productivity_usual);
	learn_limit(&r->of[RESOURCE_MEMORY], is_slow, w.faults_per_s,
		    FAULTS_MIN);
	if (files->overhead_usual == 0)
		files->overhead_usual = w.response_ns;
	if (w.response_ns > 0)
		learn_limit(files, is_slow, w.response_ns, 0);
}

void resources_learn(struct resources *r, uint64_t now_ns)
{
	if (now_ns < READ(r->window_ends_ns) ||
	    /* Pair A with the clear below: what the last one to learn wrote. */
	    atomic_flag_test_and_set_explicit(&r->is_learning,
					      memory_order_acquire))
		return;
	if (READ(r->window_ends_ns) == 0)
		r->window_began_ns = now_ns;
	else if (READ(r->passage_count) >= PASSAGES_MIN &&
		 now_ns >= READ(r->window_ends_ns))
		learn(r, now_ns);
	if (r->window_began_ns == now_ns)
		WRITE(r->window_ends_ns, now_ns + RESOURCES_WINDOW_NS);
	atomic_flag_clear_explicit(&r->is_learning, memory_order_release);
}

void resources_read(const struct resources *r,
		    struct resource_state out[RESOURCES])
{
	for (uint32_t i = 0; i < RESOURCES; i++)
		out[i] = (struct resource_state){
			.name = names[i],
			.used = read_used(&r->of[i]),
			.limit = READ(r->of[i].limit),
			.capacity = READ(r->of[i].capacity),
		};
}
