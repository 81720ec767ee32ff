/* SPDX-License-Identifier: MIT */
/*
 * libcurl's socket interface over epoll: libcurl says which sockets it waits
 * for (watch_socket) and when it wants to be called at the latest (set_timer).
 *
 * curl_multi_perform() would be shorter, but it looks at every transfer each
 * time, and asks the kernel about every one of their sockets.
 */
#include "loadgen/loop.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { WAIT_MS_MAX = 100, EVENTS_MAX = 64 };

struct loop {
	CURLM *multi;
	int epoll_fd;
	int wake_fd;       /* a timer: epoll's own time-out has whole ms only */
	uint64_t wake_ns;  /* what it is set to */
	uint64_t timer_ns; /* when libcurl wants a call, or LOOP_NEVER */
	loop_done_fn *done;
	void *arg;
};

/* `known` is not NULL when the socket is in the epoll set already. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg,
			void *known)
{
	struct loop *l = arg;
	struct epoll_event event = { .data.fd = fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		event.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		event.events |= EPOLLOUT;
	if (known != NULL)
		return epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, fd, &event);
	curl_multi_assign(l->multi, fd, l);
	return epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static int set_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct loop *l = arg;

	(void)multi;
	l->timer_ns = timeout_ms < 0 ?
			      LOOP_NEVER :
			      clock_now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	return 0;
}

/* Edge-triggered: nobody has to read the timer, only to set it anew. */
static bool make_wake(struct loop *l)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	l->wake_ns = LOOP_NEVER;
	l->wake_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	event.data.fd = l->wake_fd;
	return l->wake_fd >= 0 &&
	       epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &event) == 0;
}

static bool set_wake(struct loop *l, uint64_t wake_ns)
{
	struct itimerspec at = { 0 }; /* disarmed */

	if (wake_ns == l->wake_ns)
		return true;
	l->wake_ns = wake_ns;
	if (wake_ns != LOOP_NEVER) {
		at.it_value.tv_sec = (time_t)(wake_ns / NS_PER_S);
		at.it_value.tv_nsec = (long)(wake_ns % NS_PER_S);
	}
	return timerfd_settime(l->wake_fd, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

struct loop *loop_new(long connections, loop_done_fn *done, void *arg)
{
	struct loop *l = calloc(1, sizeof(*l));

	assert(connections > 0 && done != NULL);
	if (l == NULL)
		return NULL;
	l->timer_ns = LOOP_NEVER;
	l->done = done;
	l->arg = arg;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->multi = curl_multi_init();
	if (!make_wake(l) || l->multi == NULL) {
		loop_free(l);
		return NULL;
	}
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, connections);
	return l;
}

void loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	curl_multi_cleanup(l->multi);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	if (l->wake_fd >= 0)
		close(l->wake_fd);
	free(l);
}

bool loop_add(struct loop *l, CURL *easy)
{
	return curl_multi_add_handle(l->multi, easy) == CURLM_OK;
}

void loop_remove(struct loop *l, CURL *easy)
{
	curl_multi_remove_handle(l->multi, easy);
}

/* Let libcurl act on `fd`, and report the transfers that this ended. */
static bool act(struct loop *l, curl_socket_t fd, int ready)
{
	CURLMsg *message;
	int count;

	if (curl_multi_socket_action(l->multi, fd, ready, &count) != CURLM_OK)
		return false;
	while ((message = curl_multi_info_read(l->multi, &count)) != NULL) {
		CURL *easy = message->easy_handle;
		CURLcode outcome = message->data.result;

		assert(message->msg == CURLMSG_DONE);
		loop_remove(l, easy); /* `message` is gone after this */
		l->done(easy, outcome, l->arg);
	}
	return true;
}

/* Transfers added by `done` begin here: libcurl wants a call at once. */
static bool act_on_timer(struct loop *l)
{
	if (l->timer_ns > clock_now_ns())
		return true;
	l->timer_ns = LOOP_NEVER;
	return act(l, CURL_SOCKET_TIMEOUT, 0);
}

static int wait_ms(const struct loop *l)
{
	uint64_t now_ns = clock_now_ns();

	if (l->timer_ns <= now_ns || l->wake_ns <= now_ns)
		return 0;
	if (l->timer_ns - now_ns > WAIT_MS_MAX * NS_PER_MS)
		return WAIT_MS_MAX;
	return (int)((l->timer_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

bool loop_step(struct loop *l, uint64_t wake_ns)
{
	struct epoll_event events[EVENTS_MAX];
	int count;

	if (!set_wake(l, wake_ns))
		return false;
	count = epoll_wait(l->epoll_fd, events, EVENTS_MAX, wait_ms(l));
	if (count < 0)
		return errno == EINTR;
	for (int i = 0; i < count; i++) {
		int ready = 0;

		if (events[i].data.fd == l->wake_fd)
			continue;
		if (events[i].events & EPOLLIN)
			ready |= CURL_CSELECT_IN;
		if (events[i].events & EPOLLOUT)
			ready |= CURL_CSELECT_OUT;
		if (events[i].events & (EPOLLERR | EPOLLHUP))
			ready |= CURL_CSELECT_ERR;
		if (!act(l, events[i].data.fd, ready) || !act_on_timer(l))
			return false;
	}
	return act_on_timer(l);
}
