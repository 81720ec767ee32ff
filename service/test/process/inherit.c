/* SPDX-License-Identifier: MIT */
/*
 * Opens sockets as a service manager does, and runs a program with them:
 *
 *	inherit ADDRESS... -- PROGRAM [ARGUMENT]...
 *
 * An ADDRESS is of the form of --listen, or "udp" or "pair" for a socket that
 * cannot be used.  The sockets are descriptors 3 and up; their ports are in the
 * variable PORTS.  LISTEN_PID is for the program to set, for the server that it
 * starts.
 */
#include "service/http/connection/listen.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST_FD = 3 };

static int open_socket(const char *address, uint16_t *port)
{
	const char *why = "no socket";
	int fds[2] = { -1, -1 };

	*port = 0;
	if (strcmp(address, "udp") == 0)
		fds[0] = socket(AF_INET, SOCK_DGRAM, 0);
	else if (strcmp(address, "pair") == 0)
		(void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
	else if (listen_on(address, &fds[0], port, &why) != LISTEN_OK)
		fds[0] = -1;
	if (fds[0] < 0) {
		(void)fprintf(stderr, "inherit: %s: %s\n", address, why);
		exit(EXIT_FAILURE);
	}
	return fds[0];
}

int main(int argc, char **argv)
{
	char ports[256] = "";
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		uint16_t port;
		int fd = open_socket(argv[at], &port), to = FIRST_FD + at - 1;
		size_t used = strlen(ports);

		if (fd != to && dup2(fd, to) == to)
			(void)close(fd);
		(void)fcntl(to, F_SETFD, 0); /* it survives exec */
		(void)snprintf(ports + used, sizeof(ports) - used, "%s%u",
			       used > 0 ? " " : "", port);
	}
	if (at + 1 >= argc || setenv("PORTS", ports, 1) != 0)
		return EXIT_FAILURE;
	(void)execvp(argv[at + 1], argv + at + 1);
	perror(argv[at + 1]);
	return EXIT_FAILURE;
}
