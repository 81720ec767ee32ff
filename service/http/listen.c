/* SPDX-License-Identifier: MIT */
#include "service/http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HOST_BYTES = 256, BACKLOG = 1024, ACCEPT_PAUSE_US = 20000 };

/* getaddrinfo() takes names and cuts numbers to 16 bits. */
static bool is_port(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 5 &&
	       atoi(text) <= 65535;
}

/* "host:port" or "[host]:port".  False: neither, as *why says. */
static bool split(const char *address, char host[HOST_BYTES],
		  const char **service, const char **why)
{
	const char *colon = strrchr(address, ':');
	size_t bytes = colon != NULL ? (size_t)(colon - address) : 0;

	*why = "not ADDRESS:PORT, with a port up to 65535";
	if (bytes == 0 || bytes >= HOST_BYTES || colon[1] == '\0')
		return false;
	if (address[0] == '[' && address[bytes - 1] == ']') {
		address++;
		bytes -= 2;
	} else if (memchr(address, ':', bytes) != NULL) {
		return false;
	}
	memcpy(host, address, bytes);
	host[bytes] = '\0';
	*service = colon + 1;
	return is_port(*service);
}

bool listen_check(const char *address, const char **why)
{
	char host[HOST_BYTES];
	const char *service;

	return split(address, host, &service, why);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage at = { 0 };
	socklen_t bytes = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &bytes) != 0)
		return 0;
	if (at.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
	return ntohs(((struct sockaddr_in *)&at)->sin_port);
}

static int try_listen(const struct addrinfo *info)
{
	int on = 1;
	int fd = socket(info->ai_family,
			info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			info->ai_protocol);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, info->ai_addr, info->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;

	int saved = errno;

	(void)close(fd);
	errno = saved;
	return -1;
}

/* For freeaddrinfo().  NULL: *why says why not. */
static struct addrinfo *resolve(const char *address, const char **why)
{
	char host[HOST_BYTES];
	const char *service;
	struct addrinfo *found;
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};

	if (!split(address, host, &service, why))
		return NULL;
	int err = getaddrinfo(host, service, &hints, &found);

	if (err == 0)
		return found;
	*why = gai_strerror(err);
	return NULL;
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(
			&((const struct sockaddr_in6 *)address)->sin6_addr);
	return address->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >>
			       IN_CLASSA_NSHIFT ==
		       IN_LOOPBACKNET;
}

bool listen_is_local(const char *address)
{
	const char *why;
	struct addrinfo *found = resolve(address, &why);
	bool is_local = true;

	for (struct addrinfo *i = found; i != NULL; i = i->ai_next)
		is_local = is_local && is_loopback(i->ai_addr);
	if (found != NULL)
		freeaddrinfo(found);
	return is_local;
}

int listen_on(const char *address, uint16_t *port, const char **why)
{
	struct addrinfo *found = resolve(address, why);
	int fd = -1;

	if (found == NULL)
		return -1;
	for (struct addrinfo *i = found; i != NULL && fd < 0; i = i->ai_next)
		fd = try_listen(i);
	if (fd < 0)
		*why = strerror(errno);
	else
		*port = port_of(fd);
	freeaddrinfo(found);
	return fd;
}

/* The C library's, for all of this program: see listen.h. */
int accept4(int fd, __SOCKADDR_ARG from, socklen_t *restrict bytes, int flags)
{
	int accepted =
		(int)syscall(SYS_accept4, fd, from.__sockaddr__, bytes, flags);

	if (accepted < 0 && (errno == EMFILE || errno == ENFILE ||
			     errno == ENOBUFS || errno == ENOMEM)) {
		int error = errno;

		(void)usleep(ACCEPT_PAUSE_US);
		errno = error;
	}
	return accepted;
}
