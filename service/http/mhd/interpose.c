/* SPDX-License-Identifier: MIT */
#include "service/http/mhd/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <microhttpd.h>

enum { ACCEPT_PAUSE_US = 20000, FDS = 1 << 20 };

/*
 * With TLS, the bytes of a descriptor pass two of our functions: GnuTLS calls
 * recv(), and libmicrohttpd gnutls_record_recv().
 */
static struct {
	_Atomic(struct input *) plain, secure; /* NULL: nothing is changed */
} inputs[FDS];

static bool is_known(int fd)
{
	return fd >= 0 && fd < FDS;
}

bool interpose_begin(int fd, bool is_plain, struct input *in)
{
	if (!is_known(fd))
		return false;
	atomic_store(&inputs[fd].plain, is_plain ? in : NULL);
	atomic_store(&inputs[fd].secure, is_plain ? NULL : in);
	return true;
}

void interpose_end(int fd)
{
	if (!is_known(fd))
		return;
	atomic_store(&inputs[fd].plain, NULL);
	atomic_store(&inputs[fd].secure, NULL);
}

/* Of a struct input_source. */
static ssize_t receive_plain(void *arg, char *to, size_t bytes)
{
	const int *fd = arg;

	return recvfrom(*fd, to, bytes, 0, NULL, NULL);
}

/*
 * libmicrohttpd waits for an edge (EPOLLET) after it has got less than it has
 * asked for.  If the end of the connection had already come behind these bytes,
 * there is none, and it would not notice the end: make another one.  It changes
 * nothing else, because no bytes come behind an end: those that are here can
 * still be read, and a client that has only ended its sending gets its reply.
 */
static void show_end_again(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };

	if (poll(&end, 1, 0) > 0)
		(void)shutdown(fd, SHUT_RD);
}

ssize_t recv(int fd, void *bytes, size_t count, int flags)
{
	struct input *in = is_known(fd) && flags == 0 ?
				   atomic_load(&inputs[fd].plain) :
				   NULL;
	const struct input_source source = { receive_plain, &fd, true };
	ssize_t got;

	if (in == NULL)
		return recvfrom(fd, bytes, count, flags, NULL, NULL);
	got = input_read(in, bytes, count, &source);
	if ((got == INPUT_NONE || (got > 0 && (size_t)got < count)) &&
	    !input_has_ended(in))
		show_end_again(fd);
	if (got >= 0)
		return got;
	if (got == INPUT_NONE)
		errno = EAGAIN;
	if (got == INPUT_NO_MEMORY)
		errno = ENOMEM;
	return -1;
}

/* GnuTLS's own function, which is looked for once. */
static void *find_function(_Atomic(void *) *found, const char *name)
{
	void *function = atomic_load(found);

	if (function == NULL) {
		function = dlsym(RTLD_NEXT, name);
		atomic_store(found, function);
	}
	return function;
}

/* Of a struct input_source. */
static ssize_t receive_record(void *arg, char *to, size_t bytes)
{
	static _Atomic(void *) found;
	ssize_t (*function)(gnutls_session_t, void *, size_t);

	*(void **)&function = find_function(&found, "gnutls_record_recv");
	return function(arg, to, bytes);
}

/* NULL: nothing is changed. */
static struct input *input_of(gnutls_session_t session)
{
	int fd, from;

	/* To receive, direct/wire.c has no descriptor but a pointer. */
	gnutls_transport_get_int2(session, &from, &fd);
	return is_known(fd) ? atomic_load(&inputs[fd].secure) : NULL;
}

ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t count)
{
	const struct input_source source = { receive_record, session, false };
	struct input *in = input_of(session);
	ssize_t got;

	if (in == NULL)
		return receive_record(session, bytes, count);
	got = input_read(in, bytes, count, &source);
	if (got == INPUT_NONE)
		return GNUTLS_E_AGAIN;
	return got == INPUT_NO_MEMORY ? GNUTLS_E_MEMORY_ERROR : got;
}

size_t gnutls_record_check_pending(gnutls_session_t session)
{
	static _Atomic(void *) found;
	const struct input *in = input_of(session);
	size_t (*function)(gnutls_session_t);

	*(void **)&function =
		find_function(&found, "gnutls_record_check_pending");
	return function(session) + (in != NULL ? input_waiting(in) : 0);
}

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

ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes)
{
	ssize_t sent = syscall(SYS_sendfile, to, from, at, bytes);

	if (sent != 0 || bytes == 0)
		return sent;
	errno = EIO;
	return -1;
}

bool mhd_version_is_known(const char *version)
{
	unsigned int major, minor, patch;

	if (sscanf(version, "%u.%u.%u", &major, &minor, &patch) != 3)
		return false;
	return (major == 0 && minor == 9 && patch >= 75) ||
	       (major == 1 && minor == 0);
}

bool mhd_version_check(struct error *why)
{
	const char *version = MHD_get_version();

	if (mhd_version_is_known(version))
		return true;
	error_set(why,
		  "libmicrohttpd %s is not known to this program: it needs "
		  "0.9.75 or later, before 1.1",
		  version);
	return false;
}
