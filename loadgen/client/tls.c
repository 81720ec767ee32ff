/* SPDX-License-Identifier: MIT */
#include "loadgen/client/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <gnutls/gnutls.h>

enum { RECORD_BYTES = 16 << 10 }; /* a record of TLS has at most this */

struct tls {
	gnutls_certificate_credentials_t credentials;
	bool is_insecure;
};

struct tls_session {
	gnutls_session_t session;
	bool has_record; /* given to GnuTLS, but not to the socket yet */
	int error;       /* of GnuTLS */
};

struct tls *tls_new(const char *ca_file, bool is_insecure, struct error *error)
{
	struct tls *t = calloc(1, sizeof(*t));
	int count = t == NULL ? GNUTLS_E_MEMORY_ERROR :
				gnutls_certificate_allocate_credentials(
					&t->credentials);

	if (count >= 0 && !is_insecure)
		count = ca_file == NULL ?
				gnutls_certificate_set_x509_system_trust(
					t->credentials) :
				gnutls_certificate_set_x509_trust_file(
					t->credentials, ca_file,
					GNUTLS_X509_FMT_PEM);
	if (count >= 0 && (count > 0 || is_insecure || ca_file == NULL)) {
		t->is_insecure = is_insecure;
		return t;
	}
	error_set(error, "--cacert %s: %s", ca_file != NULL ? ca_file : "",
		  count < 0 ? gnutls_strerror(count) : "it has no certificate");
	tls_free(t);
	return NULL;
}

void tls_free(struct tls *t)
{
	if (t == NULL)
		return;
	if (t->credentials != NULL)
		gnutls_certificate_free_credentials(t->credentials);
	free(t);
}

static bool is_address(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 ||
	       inet_pton(AF_INET6, host, bytes) == 1;
}

struct tls_session *tls_open(const struct tls *t, const char *host, int fd)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	if (gnutls_init(&s->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK |
					     GNUTLS_NO_SIGNAL) < 0) {
		free(s);
		return NULL;
	}
	if (gnutls_set_default_priority(s->session) < 0 ||
	    gnutls_credentials_set(s->session, GNUTLS_CRD_CERTIFICATE,
				   t->credentials) < 0 ||
	    (!is_address(host) &&
	     gnutls_server_name_set(s->session, GNUTLS_NAME_DNS, host,
				    strlen(host)) < 0)) {
		tls_close(s);
		return NULL;
	}
	if (!t->is_insecure)
		gnutls_session_set_verify_cert(s->session, host, 0);
	gnutls_transport_set_int(s->session, fd);
	gnutls_handshake_set_timeout(s->session, GNUTLS_INDEFINITE_TIMEOUT);
	return s;
}

void tls_close(struct tls_session *s)
{
	if (s == NULL)
		return;
	if (!s->has_record && s->error == 0)
		(void)gnutls_bye(s->session, GNUTLS_SHUT_WR);
	gnutls_deinit(s->session);
	free(s);
}

static int fail(struct tls_session *s, ssize_t error)
{
	if (error == GNUTLS_E_AGAIN) {
		errno = EAGAIN;
	} else {
		s->error = (int)error;
		errno = EPROTO;
	}
	return -1;
}

static bool goes_on(ssize_t error)
{
	return error < 0 && error != GNUTLS_E_AGAIN &&
	       gnutls_error_is_fatal((int)error) == 0;
}

int tls_handshake(struct tls_session *s)
{
	int error;

	do {
		error = gnutls_handshake(s->session);
	} while (goes_on(error));
	return error >= 0 ? 0 : fail(s, error);
}

/* A server that closes without a word has ended, as without TLS. */
ssize_t tls_recv(struct tls_session *s, void *to, size_t bytes)
{
	ssize_t got;

	do {
		got = gnutls_record_recv(s->session, to, bytes);
	} while (goes_on(got));
	return got >= 0                              ? got :
	       got == GNUTLS_E_PREMATURE_TERMINATION ? 0 :
						       fail(s, got);
}

/* The first of these bytes, at most a record. */
static size_t gather(char to[RECORD_BYTES], const struct iovec *parts,
		     size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t more = parts[i].iov_len;

		if (more > RECORD_BYTES - bytes)
			more = RECORD_BYTES - bytes;
		if (more > 0)
			memcpy(to + bytes, parts[i].iov_base, more);
		bytes += more;
	}
	return bytes;
}

ssize_t tls_send(struct tls_session *s, const struct iovec *parts, size_t count)
{
	char record[RECORD_BYTES];
	size_t bytes = s->has_record ? 0 : gather(record, parts, count);
	ssize_t sent;

	do {
		sent = gnutls_record_send(s->session, bytes > 0 ? record : NULL,
					  bytes);
		/* From now on GnuTLS has the record. */
		bytes = 0;
	} while (sent == GNUTLS_E_INTERRUPTED);
	s->has_record = sent == GNUTLS_E_AGAIN;
	return sent >= 0 ? sent : fail(s, sent);
}

const char *tls_why(const struct tls_session *s)
{
	return s->error == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR ?
		       "The server's certificate is not trusted" :
		       gnutls_strerror(s->error);
}
