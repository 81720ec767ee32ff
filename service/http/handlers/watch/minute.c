/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/watch/minute.h"

#include <string.h>

static const uint64_t second_ns = 1000000000;

void minute_init(struct minute *m, minute_gauges_fn *read_gauges, void *arg,
		 uint64_t now_ns)
{
	memset(m, 0, sizeof(*m));
	m->read_gauges = read_gauges;
	m->arg = arg;
	m->start_ns = now_ns;
	(void)pthread_mutex_init(&m->lock, NULL);
}

void minute_release(struct minute *m)
{
	(void)pthread_mutex_destroy(&m->lock);
}

/*
 * Caller holds the lock.  NULL: the thread was delayed for so long that the
 * slot belongs to a later second.
 */
static struct minute_slot *slot_of(struct minute *m, uint64_t second)
{
	struct minute_slot *slot = &m->slots[second % MINUTE_KEPT];

	if (slot->second > second)
		return NULL;
	if (slot->second < second) {
		memset(slot, 0, sizeof(*slot));
		slot->second = second;
	}
	if (slot->gauges.at_ns == 0)
		m->read_gauges(m->arg, &slot->gauges);
	return slot;
}

static void count_in_slot(struct minute_slot *slot, unsigned int status,
			  uint64_t took_ns)
{
	if (status >= 500) {
		slot->replies.server_error_count++;
	} else if (status >= 400) {
		slot->replies.client_error_count++;
	} else {
		slot->replies.ok_count++;
		histogram_add(&slot->times, took_ns);
		if (slot->time_ns_max < took_ns)
			slot->time_ns_max = took_ns;
	}
}

void minute_count(struct minute *m, uint64_t now_ns, unsigned int status,
		  uint64_t took_ns)
{
	struct minute_slot *slot;

	(void)pthread_mutex_lock(&m->lock);
	slot = slot_of(m, now_ns / second_ns);
	if (slot != NULL)
		count_in_slot(slot, status, took_ns);
	(void)pthread_mutex_unlock(&m->lock);
}

void minute_look(struct minute *m, uint64_t now_ns)
{
	(void)pthread_mutex_lock(&m->lock);
	(void)slot_of(m, now_ns / second_ns);
	(void)pthread_mutex_unlock(&m->lock);
}

uint64_t minute_first(const struct minute *m, uint64_t now_ns, uint32_t count)
{
	uint64_t start = m->start_ns / second_ns, now = now_ns / second_ns;

	return now > start + count ? now - count : start;
}

/* Caller holds the lock.  NULL: there is no entry. */
static const struct minute_slot *find_slot(const struct minute *m,
					   uint64_t second)
{
	const struct minute_slot *slot = &m->slots[second % MINUTE_KEPT];

	return slot->second == second ? slot : NULL;
}

/* The cores used between two readings; < 0: not known. */
static double cores_used(const struct minute_gauges *from,
			 const struct minute_gauges *to)
{
	if (from->at_ns == 0 || to->at_ns <= from->at_ns)
		return -1;
	return (double)(to->cpu_ns - from->cpu_ns) /
	       (double)(to->at_ns - from->at_ns);
}

bool minute_read(struct minute *m, uint64_t second, struct minute_second *out)
{
	const struct minute_slot *slot, *next;

	(void)pthread_mutex_lock(&m->lock);
	slot = find_slot(m, second);
	if (slot != NULL) {
		next = find_slot(m, second + 1);
		*out = (struct minute_second){
			.second = second,
			.replies = slot->replies,
			.time_ns_max = slot->time_ns_max,
			.gauges = slot->gauges,
			.cores = next != NULL ? cores_used(&slot->gauges,
							   &next->gauges) :
						-1,
		};
		histogram_read(&slot->times, &out->times);
	}
	(void)pthread_mutex_unlock(&m->lock);
	return slot != NULL;
}

static void add_slot(struct minute_recent *to, const struct minute_slot *slot)
{
	to->replies.ok_count += slot->replies.ok_count;
	to->replies.client_error_count += slot->replies.client_error_count;
	to->replies.server_error_count += slot->replies.server_error_count;
	histogram_read(&slot->times, &to->times);
	if (to->time_ns_max < slot->time_ns_max)
		to->time_ns_max = slot->time_ns_max;
}

void minute_read_recent(struct minute *m, uint64_t now_ns,
			struct minute_recent *out)
{
	uint64_t first = minute_first(m, now_ns, MINUTE_RECENT_SECONDS);
	uint64_t begin_ns = first * second_ns;

	if (begin_ns < m->start_ns)
		begin_ns = m->start_ns;
	*out = (struct minute_recent){
		.duration_s = (double)(now_ns - begin_ns) / 1e9,
	};
	(void)pthread_mutex_lock(&m->lock);
	for (uint64_t s = first; s <= now_ns / second_ns; s++) {
		const struct minute_slot *slot = find_slot(m, s);

		if (slot != NULL)
			add_slot(out, slot);
	}
	(void)pthread_mutex_unlock(&m->lock);
}
