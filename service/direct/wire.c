/* SPDX-License-Identifier: MIT */
/*
 * recvfrom() is called instead of recv(), which http/mhd/interpose.c replaces.
 * It also replaces gnutls_record_recv(), but changes only what is received over
 * the connections of libmicrohttpd.
 */
#include "service/direct/wire.h"

#include "base/util.h"
#include "service/http/connection/tls.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

enum {
	RECORD_BYTES = 16 * 1024, /* a record of TLS has at most this */
	/*
	 * GnuTLS ends a handshake at each warning and interruption, and is
	 * called again.  After this number in a step the connection ends.
	 */
	ROUNDS_MAX = 16,
};

struct wire_tls {
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priorities;
};

struct wire_tls *wire_tls_new(void)
{
	struct wire_tls *tls = calloc(1, sizeof(*tls));

	if (tls == NULL)
		return NULL;
	if (gnutls_certificate_allocate_credentials(&tls->credentials) < 0) {
		free(tls);
		return NULL;
	}
	gnutls_certificate_set_retrieve_function3(
		tls->credentials,
		(gnutls_certificate_retrieve_function3 *)(uintptr_t)
			tls_callback());
	if (gnutls_priority_init(&tls->priorities, tls_priorities, NULL) >= 0)
		return tls;
	gnutls_certificate_free_credentials(tls->credentials);
	free(tls);
	return NULL;
}

void wire_tls_free(struct wire_tls *tls)
{
	if (tls == NULL)
		return;
	gnutls_priority_deinit(tls->priorities);
	gnutls_certificate_free_credentials(tls->credentials);
	free(tls);
}

/*
 * See where the records in these bytes end: a record of TLS has a header of
 * type, version and length (RFC 8446, section 5.1), and as many bytes as that
 * says.
 */
static void follow_records(struct wire *w, const unsigned char *bytes,
			   size_t count)
{
	for (size_t i = 0; i < count;) {
		uint32_t taken;

		if (w->left_count > 0) {
			taken = (uint32_t)min_u64(w->left_count, count - i);
			w->left_count -= taken;
			i += taken;
			continue;
		}
		w->header[w->header_count++] = bytes[i++];
		if (w->header_count < sizeof(w->header))
			continue;
		w->header_count = 0;
		w->left_count = (uint32_t)w->header[3] << 8 | w->header[4];
	}
}

/* GnuTLS receives by this function. */
static ssize_t pull(void *wire, void *to, size_t bytes)
{
	struct wire *w = wire;
	ssize_t got = recvfrom(w->fd, to, bytes, 0, NULL, NULL);

	if (got < 0)
		gnutls_transport_set_errno(w->session, errno);
	else
		follow_records(w, to, (size_t)got);
	return got;
}

static int await_input(void *wire, unsigned int ms)
{
	struct pollfd wait = { .fd = ((struct wire *)wire)->fd,
			       .events = POLLIN };

	return poll(&wait, 1, ms == GNUTLS_INDEFINITE_TIMEOUT ? -1 : (int)ms);
}

bool wire_is_empty(const struct wire *w)
{
	return w->header_count == 0 && w->left_count == 0;
}

/* False: no memory. */
static bool init_session(struct wire *w, const struct wire_tls *tls)
{
	unsigned int flags = GNUTLS_SERVER | GNUTLS_NO_SIGNAL;

	if (!w->blocks)
		flags |= GNUTLS_NONBLOCK;
	if (gnutls_init(&w->session, flags) < 0)
		return false;
	gnutls_transport_set_ptr2(w->session, w,
				  (gnutls_transport_ptr_t)(intptr_t)w->fd);
	gnutls_transport_set_pull_function(w->session, pull);
	gnutls_transport_set_pull_timeout_function(w->session, await_input);
	gnutls_handshake_set_timeout(w->session, GNUTLS_INDEFINITE_TIMEOUT);
	return gnutls_priority_set(w->session, tls->priorities) >= 0 &&
	       gnutls_credentials_set(w->session, GNUTLS_CRD_CERTIFICATE,
				      tls->credentials) >= 0;
}

bool wire_init(struct wire *w, int fd, bool blocks, const struct wire_tls *tls)
{
	*w = (struct wire){ .fd = fd, .blocks = blocks };
	if (tls == NULL || init_session(w, tls))
		return true;
	wire_release(w);
	return false;
}

void wire_release(struct wire *w)
{
	if (w->session != NULL)
		gnutls_deinit(w->session);
	w->session = NULL;
}

/* WIRE_AGAIN or WIRE_END, after -1. */
static ssize_t plain_failed(struct wire *w, enum transfer_need need)
{
	if (errno != EAGAIN)
		return WIRE_END;
	w->need = need;
	return WIRE_AGAIN;
}

/* WIRE_AGAIN or WIRE_END. */
static ssize_t tls_failed(struct wire *w, ssize_t error)
{
	if (error != GNUTLS_E_AGAIN)
		return WIRE_END;
	w->need = gnutls_record_get_direction(w->session) == 0 ?
			  TRANSFER_NEEDS_INPUT :
			  TRANSFER_NEEDS_OUTPUT;
	return WIRE_AGAIN;
}

int wire_handshake(struct wire *w)
{
	int error, rounds = 0;

	if (w->session == NULL)
		return 1;
	do {
		error = gnutls_handshake(w->session);
	} while (error < 0 && error != GNUTLS_E_AGAIN &&
		 gnutls_error_is_fatal(error) == 0 && ++rounds < ROUNDS_MAX);
	return error >= 0 ? 1 : (int)tls_failed(w, error);
}

void wire_bye(struct wire *w)
{
	int on = 1;

	if (w->session == NULL || w->has_record)
		return;
	/* The client may read nothing any more. */
	(void)ioctl(w->fd, FIONBIO, &on);
	(void)gnutls_bye(w->session, GNUTLS_SHUT_WR);
}

ssize_t wire_recv(struct wire *w, char *to, size_t bytes)
{
	ssize_t got;

	if (w->session != NULL) {
		do {
			got = gnutls_record_recv(w->session, to, bytes);
		} while (got == GNUTLS_E_INTERRUPTED);
		return got >= 0 ? got : tls_failed(w, got);
	}
	do {
		got = recvfrom(w->fd, to, bytes, 0, NULL, NULL);
	} while (got < 0 && errno == EINTR);
	return got >= 0 ? got : plain_failed(w, TRANSFER_NEEDS_INPUT);
}

/* The next bytes, at most `bytes_max`; returns how many. */
static size_t copy_pieces(char *to, size_t bytes_max,
			  const struct iovec *pieces, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < count && at < bytes_max; i++) {
		size_t bytes = pieces[i].iov_len;

		if (bytes > bytes_max - at)
			bytes = bytes_max - at;
		memcpy(to + at, pieces[i].iov_base, bytes);
		at += bytes;
	}
	return at;
}

/* Send these bytes as a record, or go on with the record that was begun. */
static ssize_t send_record(struct wire *w, const char *data, size_t bytes)
{
	ssize_t sent = w->has_record ?
			       gnutls_record_send(w->session, NULL, 0) :
			       gnutls_record_send(w->session, data, bytes);

	while (sent == GNUTLS_E_INTERRUPTED)
		sent = gnutls_record_send(w->session, NULL, 0);
	w->has_record = sent == GNUTLS_E_AGAIN;
	return sent > 0 ? sent : tls_failed(w, sent);
}

static size_t record_bytes(size_t buffer_bytes)
{
	return buffer_bytes < RECORD_BYTES ? buffer_bytes : RECORD_BYTES;
}

ssize_t wire_send(struct wire *w, struct iovec *pieces, size_t count, bool more,
		  char *buffer, size_t buffer_bytes)
{
	const struct msghdr message = {
		.msg_iov = pieces,
		.msg_iovlen = count < IOV_MAX ? count : IOV_MAX,
	};
	ssize_t sent;

	if (w->session != NULL) {
		size_t bytes = 0;

		if (!w->has_record)
			bytes = copy_pieces(buffer, record_bytes(buffer_bytes),
					    pieces, count);
		return send_record(w, buffer, bytes);
	}
	do {
		sent = sendmsg(w->fd, &message,
			       MSG_NOSIGNAL | (more ? MSG_MORE : 0));
	} while (sent < 0 && errno == EINTR);
	return sent > 0 ? sent : plain_failed(w, TRANSFER_NEEDS_OUTPUT);
}

/* For a file system that has no sendfile(). */
static ssize_t send_copy(struct wire *w, int file_fd, off_t at, size_t bytes,
			 char *buffer, size_t buffer_bytes)
{
	ssize_t got = pread(file_fd, buffer,
			    bytes < buffer_bytes ? bytes : buffer_bytes, at);
	struct iovec piece = { .iov_base = buffer, .iov_len = (size_t)got };

	return got <= 0 ? WIRE_END :
			  wire_send(w, &piece, 1, false, buffer, buffer_bytes);
}

ssize_t wire_send_file(struct wire *w, int file_fd, uint64_t offset,
		       size_t bytes, char *buffer, size_t buffer_bytes)
{
	off_t at = (off_t)offset;
	ssize_t sent, got = 0;

	if (w->session != NULL) {
		size_t max = record_bytes(buffer_bytes);

		if (!w->has_record)
			got = pread(file_fd, buffer, bytes < max ? bytes : max,
				    at);
		if (!w->has_record && got <= 0)
			return WIRE_END;
		return send_record(w, buffer, (size_t)got);
	}
	do {
		sent = sendfile(w->fd, file_fd, &at, bytes);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0 && (errno == EINVAL || errno == ENOSYS))
		return send_copy(w, file_fd, at, bytes, buffer, buffer_bytes);
	return sent > 0	 ? sent :
	       sent == 0 ? WIRE_END : /* the file is shorter than it was */
				 plain_failed(w, TRANSFER_NEEDS_OUTPUT);
}
