/* SPDX-License-Identifier: MIT */
#include "service/http/connection/listen.h"

#include "base/take.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
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

uint16_t listen_port(int fd)
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
		*why = errno == EACCES ?
			       "Permission denied: ports below 1024 are for "
			       "root: start as root with --user NAME, or let "
			       "systemd open it" :
			       strerror(errno);
		result = errno == EACCES ? LISTEN_BAD_ADDRESS : LISTEN_FAILED;
	} else {
		*port = listen_port(*fd);
	}
	freeaddrinfo(found);
	return result;
}

const char *const listen_flags[LISTEN_USES] = { "listen", "admin-listen",
						"agent-listen" };

enum { FIRST_FD = 3, NAME_BYTES = 256 }; /* of sd_listen_fds(3) */

static bool has_option(int fd, int option, int value)
{
	int found = 0;
	socklen_t bytes = sizeof(found);

	return getsockopt(fd, SOL_SOCKET, option, &found, &bytes) == 0 &&
	       found == value;
}

/* Is it a TCP socket that listens? */
static bool is_listening(int fd)
{
	return (has_option(fd, SO_DOMAIN, AF_INET) ||
		has_option(fd, SO_DOMAIN, AF_INET6)) &&
	       has_option(fd, SO_TYPE, SOCK_STREAM) &&
	       has_option(fd, SO_ACCEPTCONN, 1);
}

/* As listen_on() takes it. */
static void print_address(int fd, char text[LISTEN_ADDRESS_BYTES])
{
	struct sockaddr_storage at = { 0 };
	socklen_t bytes = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";
	bool is_6;

	(void)getsockname(fd, (struct sockaddr *)&at, &bytes);
	is_6 = at.ss_family == AF_INET6;
	(void)inet_ntop(
		at.ss_family,
		is_6 ? (const void *)&((struct sockaddr_in6 *)&at)->sin6_addr :
		       (const void *)&((struct sockaddr_in *)&at)->sin_addr,
		host, sizeof(host));
	(void)snprintf(text, LISTEN_ADDRESS_BYTES, is_6 ? "[%s]:%u" : "%s:%u",
		       host, listen_port(fd));
}

/* Copy the name before the next ":" of *names, and move past it. */
static void cut_name(const char **names, char name[NAME_BYTES])
{
	size_t bytes = strcspn(*names, ":");

	(void)snprintf(name, NAME_BYTES, "%.*s",
		       bytes < NAME_BYTES ? (int)bytes : 0, *names);
	*names += bytes;
	*names += **names == ':';
}

/* LISTEN_USES: the name is none of those. */
static uint32_t find_use(const char *name)
{
	uint32_t use = 0;

	while (use < LISTEN_USES && strcmp(name, listen_flags[use]) != 0)
		use++;
	return use;
}

/* Take socket number `i` of `count`, with this name; NULL: it has none. */
static bool inherit_one(struct listen_inherited *out, uint32_t i,
			uint32_t count, const char *name, struct error *why)
{
	int fd = FIRST_FD + (int)i;
	uint32_t use = name != NULL ? find_use(name) : i;

	if (use == LISTEN_USES && count == 1)
		use = LISTEN_MAIN;
	if (use == LISTEN_USES)
		return error_fail(why,
				  "LISTEN_FDNAMES: '%.64s': with several "
				  "sockets, each is named listen, admin-listen "
				  "or agent-listen (FileDescriptorName=)",
				  name);
	if (out->fds[use] >= 0)
		return error_fail(why,
				  "LISTEN_FDNAMES: two sockets are named %s; "
				  "[::]:PORT serves IPv4 and IPv6",
				  listen_flags[use]);
	if (!is_listening(fd))
		return error_fail(why,
				  "LISTEN_FDS: descriptor %d is no TCP socket "
				  "that listens (ListenStream=, Accept=no)",
				  fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
	    fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) != 0)
		return error_fail(why, "LISTEN_FDS: descriptor %d: %s", fd,
				  strerror(errno));
	out->fds[use] = fd;
	print_address(fd, out->addresses[use]);
	return true;
}

bool listen_inherit(struct listen_inherited *out,
		    const struct listen_variables *v, struct error *why)
{
	const char *names = v->names;
	uint64_t pid, count;
	char name[NAME_BYTES];

	for (uint32_t use = 0; use < LISTEN_USES; use++)
		out->fds[use] = -1;
	/* What is for another process is ignored, as sd_listen_fds() does. */
	if (v->pid == NULL || v->fds == NULL ||
	    !number_read_whole(v->pid, 1, INT32_MAX, &pid) ||
	    pid != (uint64_t)getpid())
		return true;
	if (!number_read_whole(v->fds, 0, LISTEN_USES, &count))
		return error_fail(why,
				  "LISTEN_FDS: '%.32s': must be up to %d "
				  "sockets, named listen, admin-listen and "
				  "agent-listen",
				  v->fds, LISTEN_USES);
	for (uint32_t i = 0; i < count; i++) {
		if (names != NULL)
			cut_name(&names, name);
		if (!inherit_one(out, i, (uint32_t)count,
				 names != NULL ? name : NULL, why))
			return false;
	}
	return true;
}
