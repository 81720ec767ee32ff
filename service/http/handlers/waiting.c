/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/waiting.h"

#include "service/http/head/params.h"
#include "service/http/http_state.h"
#include "service/http/request.h"
#include "service/wait.h"

#include "base/take.h"

#include <pthread.h>
#include <stdlib.h>

TAILQ_HEAD(waiters, waiter);

enum { WAITING_PART = 4 }; /* of the connections may wait */

struct waiting {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct waiters waiters;
	uint32_t count, count_max;
	bool has_ended, is_stopping;
};

bool waiting_read(struct request *r, struct waiter *w)
{
	const char *text = request_argument(r, "wait");
	char shown[PARAMS_SHOWN_BYTES];
	double seconds;

	if (text == NULL)
		return true;
	if (number_read(text, 0, WAITING_S_MAX, &seconds)) {
		w->until_ns =
			clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S);
		return true;
	}
	request_explain(r,
			"wait must be a number of seconds from 0 to %d, not "
			"'%s'.",
			WAITING_S_MAX, params_shown(shown, text));
	return false;
}

static bool is_due(const struct waiter *x)
{
	return clock_now_ns() >= x->until_ns || x->is_over(x->request) ||
	       client_has_closed(x->request->connection->fd);
}

/* Caller holds the lock. */
static void let_go(struct waiting *w, struct waiter *x)
{
	TAILQ_REMOVE(&w->waiters, x, link);
	w->count--;
	x->until_ns = 0;
	request_resume(x->request);
}

static void *run_waiting(void *arg)
{
	struct waiting *w = arg;

	(void)pthread_setname_np(pthread_self(), "waiting");
	(void)pthread_mutex_lock(&w->lock);
	while (!w->is_stopping) {
		struct waiter *next;

		for (struct waiter *x = TAILQ_FIRST(&w->waiters); x != NULL;
		     x = next) {
			next = TAILQ_NEXT(x, link);
			if (w->has_ended || is_due(x))
				let_go(w, x);
		}
		(void)wait_until(&w->changed, &w->lock,
				 w->count > 0 ?
					 clock_after_ms(WAITING_LOOK_MS) :
					 WAIT_NEVER_NS);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct waiting *waiting_new(uint32_t connections)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	TAILQ_INIT(&w->waiters);
	w->count_max = connections / WAITING_PART + 1;
	(void)pthread_mutex_init(&w->lock, NULL);
	wait_init(&w->changed);
	if (pthread_create(&w->thread, NULL, run_waiting, w) == 0)
		return w;
	free(w);
	return NULL;
}

void waiting_end(struct waiting *w)
{
	(void)pthread_mutex_lock(&w->lock);
	w->has_ended = true;
	(void)pthread_cond_signal(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
}

void waiting_free(struct waiting *w)
{
	if (w == NULL)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->is_stopping = true;
	(void)pthread_cond_signal(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
	(void)pthread_join(w->thread, NULL);
	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_cond_destroy(&w->changed);
	free(w);
}

static bool has_ended(struct waiting *w)
{
	bool has;

	(void)pthread_mutex_lock(&w->lock);
	has = w->has_ended;
	(void)pthread_mutex_unlock(&w->lock);
	return has;
}

/* False: it does not wait. */
static bool add(struct waiting *w, struct waiter *x)
{
	bool is_added;

	(void)pthread_mutex_lock(&w->lock);
	is_added = !w->has_ended && w->count < w->count_max;
	if (is_added) {
		TAILQ_INSERT_TAIL(&w->waiters, x, link);
		w->count++;
		(void)pthread_cond_signal(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return is_added;
}

/* In a thread of the connection's own. */
static void wait_here(struct waiting *w, struct waiter *x)
{
	const struct timespec look =
		clock_timespec(WAITING_LOOK_MS * NS_PER_MS);

	while (!has_ended(w) && !is_due(x))
		(void)nanosleep(&look, NULL);
	x->until_ns = 0;
}

void waiting_count(struct request *r, struct waiter *x)
{
	if (x->begin_ns > 0)
		r->idle_ns = clock_now_ns() - x->begin_ns;
	x->begin_ns = 0;
}

bool waiting_start(struct request *r, struct waiter *x,
		   bool (*is_over)(const struct request *r))
{
	struct waiting *w = r->http->waiting;

	x->request = r;
	x->is_over = is_over;
	x->begin_ns = clock_now_ns();
	r->starts_again = x->until_ns > 0;
	if (x->until_ns == 0)
		return false;
	if (!request_suspend(r)) {
		wait_here(w, x);
		return false;
	}
	if (!add(w, x)) {
		x->until_ns = 0;
		request_resume(r);
	}
	return true;
}
