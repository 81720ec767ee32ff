/* SPDX-License-Identifier: MIT */
/*
 * Promises: charges are counted to the byte, also by several threads at once,
 * and never exceed the limit; a request that can never fit is distinguished
 * from one that does not fit now; a refused charge changes nothing.
 *
 * An estimate grows with the body's size, follows the memory of recent
 * pictures, and is a valid number after any of them.
 *
 * A charge has one slot at most, and no more slots are taken than there are.
 *
 * Of those that wait, uploads inside come first, and in each line the first one
 * first; nobody overtakes them; nobody waits while there is memory; a wait ends
 * at its time, when it is over and at the stop.  One that also waits for a slot
 * gets both or neither.  If only those that wait hold
 * memory, the largest goes on, and if it cannot, the newest is refused.
 *
 * Retry-After is the number of uploads inside, divided by the recent rate of
 * departures.  It is sensible before any upload has ended, after idle time and
 * when nothing moves; it is within 1 .. 60, and differs between clients that
 * are refused together.
 */
#include "service/pipeline/budget.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>

enum { LIMIT = 1000, SLOTS = 2, THREADS = 4, ROUNDS = 100000 };

static void check(const struct budget *b, uint64_t used, uint64_t peak,
		  uint64_t refused)
{
	struct budget_stats s;

	budget_read(b, &s);
	CHECK_NUMBER(s.limit_bytes, ==, LIMIT);
	CHECK_NUMBER(s.used_bytes, ==, used);
	CHECK_NUMBER(s.peak_bytes, ==, peak);
	CHECK_NUMBER(s.refused_count, ==, refused);
}

static void test_charges_add_up(void)
{
	struct budget b;

	budget_init(&b, LIMIT, SLOTS);

	struct charge one = { .budget = &b }, two = { .budget = &b };

	CHECK_NUMBER(budget_charge(&one, 600), ==, BUDGET_OK);
	CHECK_NUMBER(budget_charge(&two, 400), ==, BUDGET_OK);
	check(&b, 1000, 1000, 0);
	CHECK_NUMBER(budget_charge(&one, 601), ==, BUDGET_FULL);
	CHECK_NUMBER(one.bytes, ==, 600);
	CHECK_NUMBER(budget_charge(&one, 1001), ==, BUDGET_NEVER);
	CHECK_NUMBER(one.bytes, ==, 600);
	check(&b, 1000, 1000, 2);
	CHECK_NUMBER(budget_charge(&one, 100), ==, BUDGET_OK);
	CHECK_NUMBER(one.bytes, ==, 100);
	check(&b, 500, 1000, 2);
	CHECK_NUMBER(budget_charge(&two, 900), ==, BUDGET_OK);
	budget_lower(&two, 950); /* it is lower already */
	check(&b, 1000, 1000, 2);
	budget_lower(&two, 5);
	budget_lower(&one, 0);
	check(&b, 5, 1000, 2);
	budget_lower(&two, 0);
	check(&b, 0, 1000, 2);
}

static void test_a_charge_of_nothing_has_no_budget(void)
{
	struct charge none = { 0 };

	budget_lower(&none, 0);
	CHECK_NUMBER(none.bytes, ==, 0);
}

static void test_all_numbers_are_safe(void)
{
	struct budget b;

	budget_init(&b, UINT64_MAX, SLOTS);

	struct charge one = { .budget = &b }, two = { .budget = &b };

	CHECK_NUMBER(budget_charge(&one, UINT64_MAX - 1), ==, BUDGET_OK);
	CHECK_NUMBER(budget_charge(&two, 2), ==, BUDGET_FULL);
	CHECK_NUMBER(budget_charge(&two, UINT64_MAX), ==, BUDGET_FULL);
	CHECK_NUMBER(budget_charge(&two, 1), ==, BUDGET_OK);
	budget_lower(&one, 0);
	budget_lower(&two, 0);
	CHECK_NUMBER(b.used_bytes, ==, 0);
}

static void test_slots_are_counted(void)
{
	struct budget b;

	budget_init(&b, LIMIT, SLOTS);

	struct charge one = { .budget = &b }, two = { .budget = &b },
		      three = { .budget = &b };

	CHECK(budget_take_slot(&one));
	CHECK(budget_take_slot(&one));
	CHECK_NUMBER(b.used_slots, ==, 1);
	CHECK(budget_has_slot(&b));
	CHECK(budget_take_slot(&two));
	CHECK(!budget_has_slot(&b));
	CHECK(!budget_take_slot(&three));
	CHECK(!three.has_slot);
	budget_give_slot(&three); /* it has none */
	CHECK_NUMBER(b.used_slots, ==, 2);
	budget_give_slot(&one);
	budget_give_slot(&one);
	CHECK_NUMBER(b.used_slots, ==, 1);
	CHECK(budget_take_slot(&three));
	budget_give_slot(&two);
	budget_give_slot(&three);
	CHECK_NUMBER(b.used_slots, ==, 0);
}

struct job {
	struct budget *budget;
	uint64_t seed;
	uint64_t refused_count;
};

/*
 * Each thread has two charges, which can exceed the limit even without other
 * threads.
 */
static void *charge_at_random(void *arg)
{
	struct job *job = arg;
	struct charge charges[2] = { { .budget = job->budget },
				     { .budget = job->budget } };

	for (int i = 0; i < ROUNDS; i++) {
		struct charge *c = &charges[i % 2];
		uint64_t before = c->bytes, bytes;

		job->seed = job->seed * 6364136223846793005u + 1;
		bytes = (job->seed >> 40) % (LIMIT * 2 / 3);
		switch (budget_charge(c, bytes)) {
		case BUDGET_OK:
			CHECK_NUMBER(c->bytes, ==, bytes);
			break;
		case BUDGET_FULL:
			CHECK_NUMBER(c->bytes, ==, before);
			job->refused_count++;
			break;
		case BUDGET_NEVER:
			CHECK(false);
		}
		CHECK_NUMBER(atomic_load(&job->budget->used_bytes), <=, LIMIT);
	}
	budget_lower(&charges[0], 0);
	budget_lower(&charges[1], 0);
	return NULL;
}

static void test_threads_never_pass_the_limit(void)
{
	struct budget b;
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	struct budget_stats s;
	uint64_t refused = 0;

	budget_init(&b, LIMIT, SLOTS);
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ &b, (uint64_t)i, 0 };
		int failed = pthread_create(&threads[i], NULL, charge_at_random,
					    &jobs[i]);

		CHECK_NUMBER(failed, ==, 0);
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		refused += jobs[i].refused_count;
	}
	budget_read(&b, &s);
	CHECK_NUMBER(s.used_bytes, ==, 0);
	CHECK_NUMBER(s.refused_count, ==, refused);
	CHECK_NUMBER(refused, >, 0);
	CHECK_NUMBER(s.peak_bytes, <=, LIMIT);
	CHECK_NUMBER(s.peak_bytes, >, 600);
}

/* Somebody who waits, with a charge of its own. */
struct patient {
	struct budget_waiter waiter;
	struct charge charge;
	_Atomic bool is_over;
	sem_t done;
};

static _Atomic uint32_t ask_count;

static bool ask_whether_over(const struct budget_waiter *w)
{
	atomic_fetch_add(&ask_count, 1);
	return atomic_load(&container_of(w, struct patient, waiter)->is_over);
}

static void post_done(struct budget_waiter *w)
{
	(void)sem_post(&container_of(w, struct patient, waiter)->done);
}

/* Begins with a charge of `held`, and wants `bytes`. */
static void patient_init(struct patient *p, struct budget *b,
			 enum budget_line line, uint64_t held, uint64_t bytes)
{
	p->charge = (struct charge){ .budget = b };
	CHECK_NUMBER(budget_charge(&p->charge, held), ==, BUDGET_OK);
	p->waiter = (struct budget_waiter){
		.line = line,
		.charge = &p->charge,
		.bytes = bytes,
		.held_bytes = held,
		.is_over = ask_whether_over,
		.done = post_done,
	};
	atomic_init(&p->is_over, false);
	(void)sem_init(&p->done, 0, 0);
}

static bool is_done(struct patient *p)
{
	return sem_trywait(&p->done) == 0;
}

static void init_waiting(struct budget *b)
{
	bool ok;

	budget_init(b, LIMIT, SLOTS);
	ok = budget_start_waiting(b);
	CHECK(ok);
}

static void test_lines_are_served_in_order(void)
{
	struct budget b;
	struct patient out[2], in[2];

	init_waiting(&b);

	struct charge all = { .budget = &b };

	patient_init(&in[0], &b, BUDGET_INSIDE, 100, 300);
	patient_init(&in[1], &b, BUDGET_INSIDE, 100, 200);
	CHECK_NUMBER(budget_charge(&all, 800), ==, BUDGET_OK);
	for (int i = 0; i < 2; i++) {
		patient_init(&out[i], &b, BUDGET_OUTSIDE, 0, 250);
		CHECK(!budget_wait(&out[i].waiter));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!budget_wait(&in[i].waiter));
	/* 100 would do for the second, but it is not its turn. */
	budget_lower(&all, 700);
	CHECK(!is_done(&in[0]));
	CHECK(!is_done(&in[1]));
	/* Nor may others overtake. */
	struct charge other = { .budget = &b };

	CHECK(!budget_try(&other, 10));
	budget_lower(&all, 500);
	CHECK(is_done(&in[0]));
	CHECK(is_done(&in[1]));
	CHECK(!is_done(&out[0]));
	CHECK_NUMBER(in[0].charge.bytes, ==, 300);
	CHECK_NUMBER(in[0].waiter.answer, ==, BUDGET_OK);
	budget_lower(&all, 250);
	CHECK(is_done(&out[0]));
	CHECK(!is_done(&out[1]));
	budget_lower(&in[0].charge, 0);
	CHECK(is_done(&out[1]));
	CHECK_NUMBER(out[1].charge.bytes, ==, 250);
	CHECK(budget_try(&other, 10));
	budget_lower(&other, 0);
	budget_lower(&all, 0);
	for (int i = 0; i < 2; i++) {
		budget_lower(&in[i].charge, 0);
		budget_lower(&out[i].charge, 0);
	}
	CHECK_NUMBER(b.used_bytes, ==, 0);
	CHECK_NUMBER(b.waiting_count, ==, 0);
	CHECK_NUMBER(b.wait_count, ==, 4);
	budget_release(&b);
}

static void test_memory_and_slot_come_together(void)
{
	struct budget b;
	struct patient first, second, third;

	init_waiting(&b);

	struct charge all = { .budget = &b }, other = { .budget = &b };

	CHECK_NUMBER(budget_charge(&all, 800), ==, BUDGET_OK);
	CHECK(budget_take_slot(&all));
	CHECK(budget_take_slot(&other));
	patient_init(&first, &b, BUDGET_OUTSIDE, 0, 900);
	patient_init(&second, &b, BUDGET_OUTSIDE, 0, 300);
	first.waiter.wants_slot = second.waiter.wants_slot = true;
	CHECK(!budget_wait(&first.waiter));
	CHECK(!budget_wait(&second.waiter));
	/* There is memory, but no slot; meanwhile it is not taken. */
	budget_lower(&all, 0);
	CHECK(!is_done(&first));
	CHECK_NUMBER(b.used_bytes, ==, 0);
	CHECK_NUMBER(b.peak_bytes, ==, 800);
	budget_give_slot(&other);
	CHECK(is_done(&first));
	CHECK(first.charge.has_slot);
	CHECK_NUMBER(first.charge.bytes, ==, 900);
	CHECK_NUMBER(b.used_bytes, ==, 900);
	CHECK(!is_done(&second));
	CHECK(!second.charge.has_slot);
	/* There is a slot, but no memory; meanwhile it is not taken. */
	budget_give_slot(&all);
	CHECK(!is_done(&second));
	CHECK_NUMBER(b.used_slots, ==, 1);
	budget_lower(&first.charge, 300);
	CHECK(is_done(&second));
	CHECK(second.charge.has_slot);
	CHECK_NUMBER(b.used_bytes, ==, 600);
	CHECK_NUMBER(b.used_slots, ==, 2);
	/* A wait that ends otherwise brings neither. */
	patient_init(&third, &b, BUDGET_OUTSIDE, 0, 300);
	third.waiter.wants_slot = true;
	CHECK(!budget_wait(&third.waiter));
	budget_end_waits(&b, BUDGET_OUTSIDE);
	CHECK(is_done(&third));
	CHECK_NUMBER(third.waiter.answer, ==, BUDGET_FULL);
	CHECK(!third.charge.has_slot);
	CHECK_NUMBER(third.charge.bytes, ==, 0);
	budget_lower(&first.charge, 0);
	budget_give_slot(&first.charge);
	budget_lower(&second.charge, 0);
	budget_give_slot(&second.charge);
	CHECK_NUMBER(b.used_bytes, ==, 0);
	CHECK_NUMBER(b.used_slots, ==, 0);
	budget_release(&b);
}

static void test_nobody_waits_if_it_fits(void)
{
	struct budget b;
	struct patient p;

	init_waiting(&b);
	patient_init(&p, &b, BUDGET_OUTSIDE, 0, LIMIT);
	CHECK(budget_wait(&p.waiter));
	CHECK_NUMBER(p.waiter.answer, ==, BUDGET_OK);
	CHECK_NUMBER(p.charge.bytes, ==, LIMIT);
	CHECK(!is_done(&p));
	CHECK_NUMBER(b.wait_count, ==, 0);
	budget_lower(&p.charge, 0);
	budget_release(&b);
}

/* What is not in use is given back while its owner waits. */
static void test_reservations_do_not_block_each_other(void)
{
	struct budget b;
	struct patient one, two;

	init_waiting(&b);
	patient_init(&one, &b, BUDGET_INSIDE, 500, 900);
	patient_init(&two, &b, BUDGET_INSIDE, 500, 600);
	one.waiter.held_bytes = two.waiter.held_bytes = 100;
	CHECK(!budget_wait(&one.waiter));
	CHECK(!is_done(&one));
	CHECK(!budget_wait(&two.waiter));
	CHECK(is_done(&one));
	CHECK_NUMBER(one.charge.bytes, ==, 900);
	CHECK(!is_done(&two));
	CHECK_NUMBER(two.charge.bytes, ==, 100);
	budget_lower(&one.charge, 0);
	CHECK(is_done(&two));
	CHECK_NUMBER(two.charge.bytes, ==, 600);
	budget_lower(&two.charge, 0);
	CHECK_NUMBER(b.broken_wait_count, ==, 0);
	budget_release(&b);
}

static void test_a_standstill_is_broken(void)
{
	struct budget b;
	struct patient small, large, newest;

	init_waiting(&b);
	patient_init(&small, &b, BUDGET_INSIDE, 200, 500);
	patient_init(&large, &b, BUDGET_INSIDE, 400, 700);
	patient_init(&newest, &b, BUDGET_INSIDE, 300, 900);
	CHECK(!budget_wait(&small.waiter));
	CHECK(!budget_wait(&large.waiter));
	CHECK(!is_done(&small));
	CHECK(!is_done(&large));
	/* None fits into the 100 that are left. */
	CHECK(!budget_wait(&newest.waiter));
	CHECK(is_done(&newest));
	CHECK_NUMBER(newest.waiter.answer, ==, BUDGET_FULL);
	CHECK_NUMBER(newest.charge.bytes, ==, 300);
	CHECK_NUMBER(b.broken_wait_count, ==, 1);
	CHECK(!is_done(&small));
	CHECK(!is_done(&large));
	/* Then the first one fits, and after it the second. */
	budget_lower(&newest.charge, 0);
	CHECK(is_done(&small));
	CHECK_NUMBER(small.waiter.answer, ==, BUDGET_OK);
	CHECK(!is_done(&large));
	budget_lower(&small.charge, 0);
	CHECK(is_done(&large));
	CHECK_NUMBER(large.charge.bytes, ==, 700);
	budget_lower(&large.charge, 0);
	check(&b, 0, 900, 1);
	budget_release(&b);
}

/* The first one needs too much, so the largest holder goes on before it. */
static void test_the_largest_holder_ends_a_standstill(void)
{
	struct budget b;
	struct patient first, large;

	init_waiting(&b);
	patient_init(&first, &b, BUDGET_INSIDE, 200, 900);
	patient_init(&large, &b, BUDGET_INSIDE, 600, 700);
	CHECK(!budget_wait(&first.waiter));
	CHECK(!budget_wait(&large.waiter));
	CHECK(is_done(&large));
	CHECK_NUMBER(large.waiter.answer, ==, BUDGET_OK);
	CHECK(!is_done(&first));
	CHECK_NUMBER(b.broken_wait_count, ==, 0);
	budget_lower(&large.charge, 0);
	CHECK(is_done(&first));
	CHECK_NUMBER(first.charge.bytes, ==, 900);
	budget_lower(&first.charge, 0);
	budget_release(&b);
}

static void test_waits_end_in_time(void)
{
	struct budget b;
	struct patient late, gone, stopped, behind;

	init_waiting(&b);

	struct charge all = { .budget = &b };

	CHECK_NUMBER(budget_charge(&all, LIMIT - 10), ==, BUDGET_OK);
	patient_init(&late, &b, BUDGET_OUTSIDE, 0, 100);
	late.waiter.until_ns = clock_after_ms(20);
	patient_init(&gone, &b, BUDGET_OUTSIDE, 0, 100);
	patient_init(&behind, &b, BUDGET_OUTSIDE, 0, 10);
	patient_init(&stopped, &b, BUDGET_OUTSIDE, 0, 100);
	CHECK(!budget_wait(&late.waiter));
	CHECK(!budget_wait(&gone.waiter));
	CHECK(!budget_wait(&behind.waiter));
	CHECK(!budget_wait(&stopped.waiter));
	(void)sem_wait(&late.done);
	CHECK_NUMBER(clock_now_ns(), >=, late.waiter.until_ns);
	atomic_store(&gone.is_over, true);
	(void)sem_wait(&gone.done);
	/* Its turn has come, because those before it have ended. */
	(void)sem_wait(&behind.done);
	CHECK_NUMBER(behind.waiter.answer, ==, BUDGET_OK);
	budget_end_waits(&b, BUDGET_OUTSIDE);
	CHECK(is_done(&stopped));
	CHECK_NUMBER(late.waiter.answer, ==, BUDGET_FULL);
	CHECK_NUMBER(gone.waiter.answer, ==, BUDGET_FULL);
	CHECK_NUMBER(stopped.waiter.answer, ==, BUDGET_FULL);
	CHECK(budget_wait(&late.waiter));
	CHECK_NUMBER(late.waiter.answer, ==, BUDGET_FULL);
	budget_lower(&behind.charge, 0);
	budget_lower(&all, 0);
	check(&b, 0, LIMIT, 0);
	budget_release(&b);
}

/* One wait that ends in time is no reason to ask all the others. */
static void test_ends_of_waits_ask_nobody(void)
{
	enum { LATE = 30, LOOK_MS = 250 };
	struct budget b;
	struct patient late[LATE];
	uint64_t begun_ns = clock_now_ns(), looks_max;

	init_waiting(&b);
	atomic_store(&ask_count, 0);

	struct charge all = { .budget = &b };

	CHECK_NUMBER(budget_charge(&all, LIMIT), ==, BUDGET_OK);
	for (int i = 0; i < LATE; i++) {
		patient_init(&late[i], &b, BUDGET_OUTSIDE, 0, 100);
		late[i].waiter.until_ns = clock_after_ms(10 + 2 * (uint64_t)i);
		CHECK(!budget_wait(&late[i].waiter));
	}
	for (int i = 0; i < LATE; i++)
		(void)sem_wait(&late[i].done);
	looks_max = (clock_now_ns() - begun_ns) / (LOOK_MS * 1000000) + 2;
	CHECK_NUMBER(atomic_load(&ask_count), <=, looks_max * LATE);
	budget_lower(&all, 0);
	budget_release(&b);
}

/* Every wait is served, and the limit holds. */
static void *wait_at_random(void *arg)
{
	struct job *job = arg;
	struct patient p;

	for (int i = 0; i < ROUNDS / 10; i++) {
		bool is_inside;

		job->seed = job->seed * 6364136223846793005u + 1;
		is_inside = job->seed >> 63;
		patient_init(&p, job->budget,
			     is_inside ? BUDGET_INSIDE : BUDGET_OUTSIDE, 0,
			     1 + (job->seed >> 40) % LIMIT);
		/* THREADS of them fit. */
		if (is_inside && budget_try(&p.charge, LIMIT / THREADS)) {
			p.waiter.held_bytes = p.charge.bytes / 2;
			if (p.waiter.bytes < p.charge.bytes)
				p.waiter.bytes = p.charge.bytes;
		}
		p.waiter.wants_slot = !is_inside;
		/* Now and then others lack a slot that they have just seen. */
		if (is_inside && budget_take_slot(&p.charge))
			(void)sched_yield();
		if (!budget_wait(&p.waiter))
			(void)sem_wait(&p.done);
		if (p.waiter.answer == BUDGET_OK) {
			CHECK_NUMBER(p.charge.bytes, ==, p.waiter.bytes);
			CHECK(p.charge.has_slot || is_inside);
		} else {
			job->refused_count++;
		}
		CHECK_NUMBER(atomic_load(&job->budget->used_bytes), <=, LIMIT);
		CHECK_NUMBER(atomic_load(&job->budget->used_slots), <=, SLOTS);
		(void)sched_yield(); /* so that others have to wait */
		budget_lower(&p.charge, p.charge.bytes / 3);
		budget_lower(&p.charge, 0);
		budget_give_slot(&p.charge);
		(void)sem_destroy(&p.done);
	}
	return NULL;
}

static void test_threads_wait_for_each_other(void)
{
	struct budget b;
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	uint64_t refused = 0;

	init_waiting(&b);
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ &b, (uint64_t)i, 0 };
		int failed = pthread_create(&threads[i], NULL, wait_at_random,
					    &jobs[i]);

		CHECK_NUMBER(failed, ==, 0);
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		refused += jobs[i].refused_count;
	}
	CHECK_NUMBER(b.used_bytes, ==, 0);
	CHECK_NUMBER(b.waiting_count, ==, 0);
	CHECK_NUMBER(b.wait_count, >, 0);
	CHECK_NUMBER(b.used_slots, ==, 0);
	CHECK_NUMBER(b.broken_wait_count, ==, refused);
	CHECK_NUMBER(b.refused_count, ==, refused);
	budget_release(&b);
}

static void learn_often(struct memory_estimate *m, uint64_t body,
			uint64_t picture)
{
	for (int i = 0; i < 100; i++)
		memory_estimate_learn(m, body, picture);
}

static bool is_about(uint64_t a, uint64_t b)
{
	return a <= b + b / 50 + 64 && b <= a + a / 50 + 64;
}

static void test_follows_the_last_pictures(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	CHECK_NUMBER(memory_estimate_bytes(&m, 1 << 20), >, 1 << 20);
	learn_often(&m, 1 << 20, 10 << 20);
	CHECK(is_about(memory_estimate_bytes(&m, 1 << 20), 10 << 20));
	CHECK(is_about(memory_estimate_bytes(&m, 1 << 10), 10 << 10));
	CHECK(is_about(memory_estimate_bytes(&m, 1 << 30), 40 << 20));
	learn_often(&m, 4 << 20, 2 << 20);
	CHECK(is_about(memory_estimate_bytes(&m, 4 << 20), 2 << 20));
	CHECK_NUMBER(memory_estimate_bytes(&m, 0), ==, 0);
}

/*
 * A small upload with a giant picture changes the estimate for the next ones
 * only a little.
 */
static void test_one_alone_changes_little(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	learn_often(&m, 1 << 20, 4 << 20);
	memory_estimate_learn(&m, 665, UINT64_C(1) << 40);
	CHECK_NUMBER(memory_estimate_bytes(&m, 1 << 20), <, 8 << 20);
	learn_often(&m, 1 << 20, 4 << 20);
	memory_estimate_learn(&m, UINT64_C(1) << 40, 4 << 20);
	CHECK_NUMBER(memory_estimate_bytes(&m, 1 << 20), >, 2 << 20);
}

/* A few large bodies count more than the same number of small ones. */
static void test_small_bodies_do_not_spoil_it(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	for (int i = 0; i < 100; i++) {
		memory_estimate_learn(&m, 4 << 20, 8 << 20);
		memory_estimate_learn(&m, 100, 300000);
	}
	CHECK_NUMBER(memory_estimate_bytes(&m, 4 << 20), <, 10 << 20);
}

/* Tiny bodies with large results, and then an ordinary one. */
static void test_the_estimate_is_near_the_mean(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	learn_often(&m, 155, 25 << 20);
	CHECK_NUMBER(memory_estimate_bytes(&m, 342480), <=,
		     UINT64_C(100) << 20);
}

static void test_extremes_are_numbers(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	learn_often(&m, 0, 0);
	CHECK_NUMBER(memory_estimate_bytes(&m, UINT32_MAX), <,
		     UINT64_C(1) << 40);
	learn_often(&m, 0, UINT64_C(1) << 40);
	CHECK_NUMBER(memory_estimate_bytes(&m, 1 << 10), >, 0);
}

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

enum { ANSWERS = 240 };

/* The clock of a machine that has run for days. */
static const uint64_t start_ns = 86400 * SECOND * 3 + 123456789;

/*
 * Uploads end evenly, with this rate and for this time.  Returns the time at
 * the end.
 */
static uint64_t run(struct departures *d, uint64_t from_ns, uint32_t per_s,
		    uint32_t seconds)
{
	for (uint32_t i = 0; i < per_s * seconds; i++)
		departures_count(d, from_ns + i * SECOND / per_s);
	return from_ns + seconds * SECOND;
}

/* All answers are between `s` and twice `s`, and both of these values occur. */
static bool answers(struct departures *d, uint32_t inside, uint64_t now_ns,
		    uint32_t s)
{
	bool least = false, most = false;

	for (int i = 0; i < ANSWERS; i++) {
		uint32_t answer = departures_retry_after_s(d, inside, now_ns);

		if (answer < s || answer > 2 * s)
			return false;
		least = least || answer == s;
		most = most || answer == 2 * s;
	}
	return least && most;
}

static void test_goes_by_the_rate_of_late(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 30);
	CHECK(answers(&d, 1, now, 1));
	CHECK(answers(&d, 750, now, 8));
	/*
	 * Departures become ten times slower; after some seconds only the new
	 * rate counts.
	 */
	now = run(&d, now, 10, 10);
	CHECK(answers(&d, 75, now, 8));
	now = run(&d, now, 1000, 10);
	CHECK(answers(&d, 7500, now, 8));
}

static void test_nothing_is_known_at_start(void)
{
	struct departures d = { 0 };

	CHECK(answers(&d, 0, start_ns, 1));
	departures_begin(&d, start_ns);
	CHECK(answers(&d, 256, start_ns, 1));
	CHECK(answers(&d, 64, start_ns + 50 * MS, 4));
}

/* After an idle hour, a burst of uploads does not find the server slow. */
static void test_idle_time_does_not_count(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10) + 3600 * SECOND;
	departures_begin(&d, now);
	now = run(&d, now, 100, 1);
	CHECK(answers(&d, 250, now, 3));
}

static void test_a_standstill_counts(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10);
	CHECK(answers(&d, 50, now, 1));
	/*
	 * As the recent departures get older, fewer of them count, and the time
	 * grows.
	 */
	CHECK_NUMBER(departures_retry_after_s(&d, 50, now + 7 * SECOND), >=, 2);
	CHECK(answers(&d, 50, now + 60 * SECOND, 30));
	/* Any number of uploads, after any time. */
	CHECK(answers(&d, UINT32_MAX, now + 1000000 * SECOND, 30));
}

/* The ends of a burst are separated by seconds of other work. */
static void test_bursts_are_averaged(void)
{
	struct departures d = { 0 };
	uint64_t now = start_ns;

	departures_begin(&d, now);
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 100; j++)
			departures_count(&d, now);
		now += 2 * SECOND;
		uint32_t s = departures_retry_after_s(&d, 250, now);

		CHECK_NUMBER(s, >=, 3);
		CHECK_NUMBER(s, <=, 2 * 9);
	}
}

int main(void)
{
	test_charges_add_up();
	test_a_charge_of_nothing_has_no_budget();
	test_all_numbers_are_safe();
	test_threads_never_pass_the_limit();
	test_slots_are_counted();
	test_memory_and_slot_come_together();
	test_nobody_waits_if_it_fits();
	test_lines_are_served_in_order();
	test_reservations_do_not_block_each_other();
	test_a_standstill_is_broken();
	test_the_largest_holder_ends_a_standstill();
	test_waits_end_in_time();
	test_ends_of_waits_ask_nobody();
	test_threads_wait_for_each_other();
	test_follows_the_last_pictures();
	test_one_alone_changes_little();
	test_small_bodies_do_not_spoil_it();
	test_the_estimate_is_near_the_mean();
	test_extremes_are_numbers();
	test_goes_by_the_rate_of_late();
	test_nothing_is_known_at_start();
	test_idle_time_does_not_count();
	test_a_standstill_counts();
	test_bursts_are_averaged();
	return 0;
}
