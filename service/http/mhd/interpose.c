/* SPDX-License-Identifier: MIT */
#include "service/http/mhd/interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gnutls/gnutls.h>

/* How far a head has been read; 0: not in a head, so nothing is changed. */
typedef uint8_t input_state;

/* States of a head.  IN_NAME + n: n characters of the name are as in `name`. */
enum {
	NO_HEAD,
	FIRST_LINE,   /* in the request line, or in empty lines before it */
	OTHER_LINE,   /* another header */
	EMPTY_LINE,   /* its CR was read */
	BEFORE_VALUE, /* after the colon */
	IN_VALUE,
	AFTER_VALUE, /* in white space after the value; it is removed */
	IN_NAME,
};

/* Descriptors from FDS on have no state, and nothing is changed for them. */
enum { ACCEPT_PAUSE_US = 20000, FDS = 1 << 20 };

static const char name[] = "content-length";

struct level {
	_Atomic input_state state;
	_Atomic uint64_t count; /* bytes passed on since the head began */
};

/*
 * Each descriptor has two levels, because with TLS its bytes pass two of our
 * functions: GnuTLS calls recv(), and libmicrohttpd gnutls_record_recv().
 */
static struct {
	struct level plain, secure;
} levels[FDS];

/* A value that no request's size has. */
static const uint64_t lost = UINT64_MAX / 2;

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next state in the name of a header; `c` is not a line feed. */
static input_state next_state_in_name(input_state state, char c)
{
	size_t at = state - IN_NAME;

	if (at == 0 && c == '\r')
		return EMPTY_LINE;
	if (at == sizeof(name) - 1)
		return c == ':' ? BEFORE_VALUE : OTHER_LINE;
	return strncasecmp(&name[at], &c, 1) == 0 ? state + 1 : OTHER_LINE;
}

static input_state next_state(input_state state, char c)
{
	if (state == FIRST_LINE)
		return c == '\r' || c == '\n' ? FIRST_LINE : OTHER_LINE;
	if (c == '\n')
		return state == EMPTY_LINE || state == IN_NAME ? NO_HEAD :
								 IN_NAME;
	if (state >= IN_NAME)
		return next_state_in_name(state, c);
	if (state == BEFORE_VALUE && is_blank(c))
		return BEFORE_VALUE;
	if ((state == BEFORE_VALUE || state == IN_VALUE) && is_digit(c))
		return IN_VALUE;
	if ((state == IN_VALUE || state == AFTER_VALUE) && is_blank(c))
		return AFTER_VALUE;
	return OTHER_LINE;
}

/*
 * libmicrohttpd would take a NUL for the end of a line, and a line that begins
 * with a colon for the end of the head.
 */
static char replace(input_state state, char c)
{
	return c == '\0' || (c == ':' && state == IN_NAME) ? '\1' : c;
}

/*
 * Remove white space after the value.  Returns how many of the `count` bytes
 * are left.  If the white space is followed by something other than the end of
 * the line, the head must stay invalid: a space is put back; if there is no
 * room for it, it replaces the next character.
 */
static size_t input_trim(input_state *state, char *bytes, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		char c = bytes[i];
		bool was_after = *state == AFTER_VALUE;

		if (*state == NO_HEAD && kept == i)
			return count;
		if (*state != NO_HEAD) {
			c = replace(*state, c);
			*state = next_state(*state, c);
		}
		if (*state == AFTER_VALUE)
			continue;
		if (was_after && c != '\r' && c != '\n') {
			bytes[kept++] = ' ';
			if (kept > i)
				continue;
		}
		bytes[kept++] = c;
	}
	return kept;
}

static void set_level(struct level *level, input_state state, uint64_t count)
{
	atomic_store(&level->state, state);
	atomic_store(&level->count, count);
}

void input_begin(int fd, bool is_plain)
{
	if (fd < 0 || fd >= FDS)
		return;
	set_level(&levels[fd].plain, is_plain ? FIRST_LINE : NO_HEAD, 0);
	set_level(&levels[fd].secure, is_plain ? NO_HEAD : FIRST_LINE, 0);
}

void input_begin_next(int fd, bool is_plain, uint64_t bytes)
{
	struct level *level;

	if (fd < 0 || fd >= FDS)
		return;
	level = is_plain ? &levels[fd].plain : &levels[fd].secure;
	if (atomic_load(&level->count) == bytes)
		set_level(level, FIRST_LINE, 0);
	else
		set_level(level, NO_HEAD, lost);
}

void input_end(int fd)
{
	if (fd < 0 || fd >= FDS)
		return;
	set_level(&levels[fd].plain, NO_HEAD, lost);
	set_level(&levels[fd].secure, NO_HEAD, lost);
}

/* Returns how many bytes are left; 0: the caller must read again. */
static ssize_t trim_level(struct level *level, void *bytes, ssize_t count)
{
	input_state state =
		atomic_load_explicit(&level->state, memory_order_relaxed);

	if (state != NO_HEAD) {
		count = (ssize_t)input_trim(&state, bytes, (size_t)count);
		atomic_store_explicit(&level->state, state,
				      memory_order_relaxed);
	}
	atomic_fetch_add_explicit(&level->count, (uint64_t)count,
				  memory_order_relaxed);
	return count;
}

ssize_t recv(int fd, void *bytes, size_t count, int flags)
{
	bool is_head =
		fd >= 0 && fd < FDS && (flags & (MSG_PEEK | MSG_TRUNC)) == 0;
	ssize_t got, left = 0;

	do {
		got = recvfrom(fd, bytes, count, flags, NULL, NULL);
		if (got <= 0 || !is_head)
			return got;
		left = trim_level(&levels[fd].plain, bytes, got);
	} while (left == 0);
	return left;
}

ssize_t gnutls_record_recv(gnutls_session_t session, void *bytes, size_t count)
{
	static ssize_t (*_Atomic next)(gnutls_session_t, void *, size_t);
	int fd, from;
	ssize_t (*read)(gnutls_session_t, void *, size_t) = atomic_load(&next);
	ssize_t got, left = 0;

	/* To receive, direct/wire.c has no descriptor but a pointer. */
	gnutls_transport_get_int2(session, &from, &fd);
	if (read == NULL) {
		*(void **)&read = dlsym(RTLD_NEXT, "gnutls_record_recv");
		atomic_store(&next, read);
	}
	do {
		got = read(session, bytes, count);
		if (got <= 0 || fd < 0 || fd >= FDS)
			return got;
		left = trim_level(&levels[fd].secure, bytes, got);
	} while (left == 0);
	return left;
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
