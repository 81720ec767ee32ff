/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/probe.h"

#include "loadgen/url.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PROBE_S = 1 };

/* -1: nobody listens. */
static int connect_to(const struct url *url)
{
	struct timeval limit = { .tv_sec = PROBE_S };
	struct error ignored;
	struct addrinfo *addresses = url_resolve(url, &ignored);
	int fd = -1;

	for (struct addrinfo *a = addresses; a != NULL && fd < 0;
	     a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	if (addresses != NULL)
		freeaddrinfo(addresses);
	return fd;
}

static bool ask(int fd, const struct url *url)
{
	static const char beginning[] = "HTTP/";
	char reply[sizeof(beginning) - 1];

	dprintf(fd, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		url->target, url->authority);
	return recv(fd, reply, sizeof(reply), MSG_WAITALL) ==
		       (ssize_t)sizeof(reply) &&
	       memcmp(reply, beginning, sizeof(reply)) == 0;
}

bool probe_answers(const char *text)
{
	struct error ignored;
	struct url url;
	bool answered;
	int fd;

	if (!url_parse(&url, text, &ignored))
		return false;
	fd = connect_to(&url);
	answered = fd >= 0 && ask(fd, &url);
	if (fd >= 0)
		close(fd);
	url_release(&url);
	return answered;
}
