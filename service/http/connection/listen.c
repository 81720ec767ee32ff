/* SPDX-License-Identifier: MIT */
#include "service/http/connection/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

/* getaddrinfo() would also accept names, and cut numbers to 16 bits. */
static bool is_port(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0' && strlen(text) <= 5 &&
	       atoi(text) <= 65535;
}

/*
 * Split "host:port", "[host]:port" or ":port".  False: the address has none of
 * these forms.
 */
static bool split_address(const char *address, char host[HOST_BYTES],
			  const char **service, const char **why)
{
	const char *colon = strrchr(address, ':');
	size_t bytes = colon != NULL ? (size_t)(colon - address) : 0;

	*why = "not ADDRESS:PORT, with a port up to 65535";
	if (colon == NULL || bytes >= HOST_BYTES || colon[1] == '\0')
		return false;
	if (bytes > 0 && address[0] == '[' && address[bytes - 1] == ']') {
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

	return split_address(address, host, &service, why);
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

/* A socket on all addresses of IPv6 also serves IPv4. */
static bool set_socket_options(int fd, const struct sockaddr *address)
{
	int on = 1, off = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		return false;
	return address->sa_family != AF_INET6 ||
	       !IN6_IS_ADDR_UNSPECIFIED(
		       &((const struct sockaddr_in6 *)address)->sin6_addr) ||
	       setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) ==
		       0;
}

static int try_listen(const struct addrinfo *info)
{
	int fd = socket(info->ai_family,
			info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			info->ai_protocol);

	if (fd < 0)
		return -1;
	if (set_socket_options(fd, info->ai_addr) &&
	    bind(fd, info->ai_addr, info->ai_addrlen) == 0 &&
	    listen(fd, LISTEN_BACKLOG) == 0)
		return fd;

	int saved = errno;

	(void)close(fd);
	errno = saved;
	return -1;
}

/*
 * LISTEN_OK: the caller frees *found by freeaddrinfo().  Otherwise *why is the
 * reason.
 */
static enum listen_result
resolve_address(const char *address, struct addrinfo **found, const char **why)
{
	char host[HOST_BYTES];
	const char *service;
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};

	*found = NULL;
	if (!split_address(address, host, &service, why))
		return LISTEN_BAD_ADDRESS;
	int err = getaddrinfo(host[0] != '\0' ? host : NULL, service, &hints,
			      found);

	if (err == 0)
		return LISTEN_OK;
	*why = gai_strerror(err);
	return err == EAI_AGAIN || err == EAI_MEMORY || err == EAI_SYSTEM ?
		       LISTEN_FAILED :
		       LISTEN_BAD_ADDRESS;
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
	struct addrinfo *found;
	bool is_local = true;

	(void)resolve_address(address, &found, &why);
	for (struct addrinfo *i = found; i != NULL; i = i->ai_next)
		is_local = is_local && is_loopback(i->ai_addr);
	if (found != NULL)
		freeaddrinfo(found);
	return is_local;
}

/* A socket on the first address of the family that works.  -1: none. */
static int listen_first(const struct addrinfo *found, int family)
{
	int fd = -1;

	for (; found != NULL && fd < 0; found = found->ai_next)
		if (found->ai_family == family)
			fd = try_listen(found);
	return fd;
}

enum listen_result listen_on(const char *address, int *fd, uint16_t *port,
			     const char **why)
{
	struct addrinfo *found;
	enum listen_result result = resolve_address(address, &found, why);
	int first;

	if (result != LISTEN_OK)
		return result;
	/* If the host is empty, the socket of IPv6 serves both families. */
	first = address[0] == ':' ? AF_INET6 : found->ai_family;
	errno = EAFNOSUPPORT;
	*fd = listen_first(found, first);
	if (*fd < 0 && (address[0] != ':' || errno == EAFNOSUPPORT))
		*fd = listen_first(found,
				   first == AF_INET6 ? AF_INET : AF_INET6);
	if (*fd < 0) {
		*why = strerror(errno);
		result = errno == EACCES ? LISTEN_BAD_ADDRESS : LISTEN_FAILED;
	} else {
		*port = port_of(*fd);
	}
	freeaddrinfo(found);
	return result;
}
