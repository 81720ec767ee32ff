/* SPDX-License-Identifier: MIT */
/*
 * A line is shorter than any send buffer, so writing it never waits, even if
 * the client does not read.  Then linger.h keeps the connection until the
 * client closes it: some clients send a line first, and a socket that is closed
 * with unread bytes would reset the connection, perhaps before the client has
 * read its answer.
 */
#include "service/http/handlers/watch/agent.h"

#include "service/http/connection/linger.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINE_BYTES = 8, INPUT_BYTES_MAX = 4096 };

struct agent {
	int fd, stop_fd; /* stop_fd becomes readable at the end */
	agent_weight_fn *weight;
	const void *arg;
	struct linger_list *answered;
	pthread_t thread;
};

static void answer(const struct agent *a, int fd)
{
	char line[LINE_BYTES];
	int bytes = snprintf(line, sizeof(line), "%u%%\n", a->weight(a->arg));

	if (send(fd, line, (size_t)bytes, MSG_NOSIGNAL) == bytes)
		(void)linger_add(a->answered, fd);
	(void)close(fd);
}

static void *run_agent(void *arg)
{
	struct agent *a = arg;
	struct pollfd waits[2] = {
		{ .fd = a->stop_fd, .events = POLLIN },
		{ .fd = a->fd, .events = POLLIN },
	};

	(void)pthread_setname_np(pthread_self(), "agent");
	for (;;) {
		(void)poll(waits, 2, -1);
		if (waits[0].revents != 0)
			return NULL;
		for (int i = 0; i < AGENT_TURN; i++) {
			int fd = accept4(a->fd, NULL, NULL,
					 SOCK_CLOEXEC | SOCK_NONBLOCK);

			if (fd < 0)
				break;
			answer(a, fd);
		}
		/* Also if there is no descriptor for a new connection. */
		(void)poll(waits, 1, AGENT_TURN_MS);
	}
}

static void agent_free(struct agent *a)
{
	linger_stop(a->answered);
	if (a->stop_fd >= 0)
		(void)close(a->stop_fd);
	free(a);
}

struct agent *agent_start(int fd, agent_weight_fn *weight, const void *arg)
{
	struct agent *a = malloc(sizeof(*a));

	if (a == NULL)
		return NULL;
	*a = (struct agent){
		.fd = fd,
		.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.weight = weight,
		.arg = arg,
		.answered = linger_start(&(struct linger_config){
			.count_max = AGENT_CONNECTIONS_MAX,
			.silent_ms = AGENT_OPEN_MS,
			.total_ms = AGENT_OPEN_MS,
			.bytes_max = INPUT_BYTES_MAX,
		}),
	};
	if (a->stop_fd >= 0 && a->answered != NULL &&
	    pthread_create(&a->thread, NULL, run_agent, a) == 0)
		return a;
	agent_free(a);
	return NULL;
}

void agent_stop(struct agent *a)
{
	const uint64_t one = 1;

	if (a == NULL)
		return;
	(void)!write(a->stop_fd, &one, sizeof(one));
	(void)pthread_join(a->thread, NULL);
	agent_free(a);
}
