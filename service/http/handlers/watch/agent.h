/* SPDX-License-Identifier: MIT */
/*
 * Agent: tells a balancer how many uploads to send here, by the agent-check
 * protocol of HAProxy.  Each connection gets one line, such as "75%\n", and
 * then nothing.  Nothing that arrives is interpreted.
 *
 * The answer never has another word.  To HAProxy, "ready" would cancel a drain
 * that an operator began, and "drain", "maint" and "down" would stay in force
 * until "ready".  A weight of 0 % stops uploads too, and ends with the next
 * weight.
 *
 * Threads    One thread calls both functions.  A thread of this module answers.
 *            It does not share the queues of uploads and connections, and needs
 *            some microseconds for an answer, so it also answers at once while
 *            all workers are busy.
 * Limits     AGENT_CONNECTIONS_MAX connections stay open, each for
 *            AGENT_OPEN_MS, until their clients close them; one more closes the
 *            oldest.  At most AGENT_TURN connections are answered in
 *            AGENT_TURN_MS; others wait to be accepted.
 */
#ifndef SERVICE_AGENT_H
#define SERVICE_AGENT_H

#include <stdint.h>

enum {
	AGENT_CONNECTIONS_MAX = 64,
	AGENT_OPEN_MS = 1000,
	AGENT_TURN = 4,
	AGENT_TURN_MS = 5,
	/* Descriptors in use at the same time, without the listening socket. */
	AGENT_FILES = AGENT_CONNECTIONS_MAX + 4,
};

struct agent;

/* 0 .. 100.  Called by the agent's thread; must not wait. */
typedef uint32_t agent_weight_fn(const void *arg);

/*
 * `fd` listens and does not block; it stays the caller's, who closes it after
 * agent_stop().  NULL: no memory, no descriptors, or no thread.
 */
struct agent *agent_start(int fd, agent_weight_fn *weight, const void *arg);

/* Close all connections.  NULL is fine. */
void agent_stop(struct agent *a);

#endif
