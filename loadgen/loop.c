/* SPDX-License-Identifier: MIT */
#include "loadgen/loop.h"

#include "loadgen/clock.h"

#include <errno.h>
#include <unistd.h>

#define WAIT_NS_MAX (100 * NS_PER_MS)

enum { EVENTS_MAX = 64 };

bool loop_init(struct loop *l)
{
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll_fd >= 0;
}

void loop_release(struct loop *l)
{
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
}

bool loop_watch(struct loop *l, int fd, void *source)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = source,
	};

	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static struct timespec wait_until(uint64_t wake_ns)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t wait_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;

	if (wait_ns > WAIT_NS_MAX)
		wait_ns = WAIT_NS_MAX;
	return (struct timespec){ .tv_nsec = (long)wait_ns };
}

bool loop_step(struct loop *l, uint64_t wake_ns, loop_ready_fn *ready,
	       void *arg)
{
	struct epoll_event events[EVENTS_MAX];
	struct timespec wait = wait_until(wake_ns);
	int count = epoll_pwait2(l->epoll_fd, events, EVENTS_MAX, &wait, NULL);

	if (count < 0)
		return errno == EINTR;
	for (int i = 0; i < count; i++)
		ready(events[i].data.ptr, events[i].events, arg);
	return true;
}
