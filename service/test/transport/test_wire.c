/* SPDX-License-Identifier: MIT */
/*
 * Promises of a wire: it sends a file of a file system that has no sendfile().
 * With TLS, it knows whether it keeps a part of a record; an end does not wait
 * for a client that reads nothing; a client of TLS 1.2 that wants another
 * handshake is disconnected; and handshakes, with keys of either kind, leave
 * half of a fibre's stack free.
 */
#include "service/direct/wire.h"

#include "base/test/check.h"
#include "service/http/connection/tls.h"
#include "stages/test/watchdog.h"
#include "stages/threads/fibre.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum { DAY_S = 86400, ECDSA_BITS = 256, RSA_BITS = 4096 };

static const char tls_1_2[] = "NORMAL:-VERS-ALL:+VERS-TLS1.2";
static const char tls_1_3[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

/* A server's end, whose handshake is in a fibre, and a client's end. */
struct pair {
	struct wire ours;
	int result; /* of our handshake */
	struct fibre *fibre;
	const uint8_t *stack; /* where the fibre's stack begins, about */
	int theirs;
	gnutls_session_t client;
	gnutls_certificate_credentials_t credentials;
};

static void check(int result)
{
	if (result < 0)
		(void)fprintf(stderr, "%s\n", gnutls_strerror(result));
	CHECK_NUMBER(result, >=, 0);
}

/* From now on, this is the server's certificate. */
static void serve_new(gnutls_pk_algorithm_t kind, unsigned int bits)
{
	gnutls_datum_t certificate, key_text;
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	const char *why;

	check(gnutls_x509_privkey_init(&key));
	check(gnutls_x509_privkey_generate(key, kind, bits, 0));
	check(gnutls_x509_crt_init(&crt));
	check(gnutls_x509_crt_set_version(crt, 3));
	check(gnutls_x509_crt_set_serial(crt, "1", 1));
	check(gnutls_x509_crt_set_activation_time(crt, time(NULL) - DAY_S));
	check(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + DAY_S));
	check(gnutls_x509_crt_set_dn(crt, "CN=localhost", NULL));
	check(gnutls_x509_crt_set_key(crt, key));
	check(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0));
	check(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &certificate));
	check(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &key_text));
	CHECK(tls_serve((char *)certificate.data, (char *)key_text.data, &why));
	gnutls_free(certificate.data);
	gnutls_free(key_text.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

static void shake_hands(void *arg)
{
	struct pair *p = arg;

	p->stack = __builtin_frame_address(0);
	while ((p->result = wire_handshake(&p->ours)) == WIRE_AGAIN)
		fibre_pause(p->fibre);
}

/* Connect, in a fibre of this set. */
static void connect_pair(struct pair *p, const struct wire_tls *tls,
			 const char *version, struct fibres *set)
{
	bool is_over;
	int fds[2], result;

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
		     ==, 0);
	*p = (struct pair){ .fibre = fibres_take(set), .theirs = fds[1] };
	CHECK(wire_init(&p->ours, fds[0], false, tls));
	check(gnutls_init(&p->client, GNUTLS_CLIENT | GNUTLS_NONBLOCK));
	check(gnutls_certificate_allocate_credentials(&p->credentials));
	check(gnutls_credentials_set(p->client, GNUTLS_CRD_CERTIFICATE,
				     p->credentials));
	check(gnutls_priority_set_direct(p->client, version, NULL));
	gnutls_transport_set_int(p->client, p->theirs);
	result = gnutls_handshake(p->client);
	is_over = fibre_run(p->fibre, shake_hands, p);
	while (result < 0 || !is_over) {
		CHECK(result >= 0 || gnutls_error_is_fatal(result) == 0);
		if (result < 0)
			result = gnutls_handshake(p->client);
		if (!is_over)
			is_over = fibre_resume(p->fibre);
	}
	CHECK_NUMBER(p->result, ==, 1);
	fibres_give(set, p->fibre);
}

static void close_pair(struct pair *p)
{
	wire_release(&p->ours);
	gnutls_deinit(p->client);
	gnutls_certificate_free_credentials(p->credentials);
	CHECK_NUMBER(close(p->ours.fd), ==, 0);
	CHECK_NUMBER(close(p->theirs), ==, 0);
}

static void test_the_end_does_not_wait(const struct wire_tls *tls,
				       struct fibres *set)
{
	static const char zeros[65536];
	struct pair p;

	connect_pair(&p, tls, tls_1_3, set);
	while (send(p.ours.fd, zeros, sizeof(zeros), 0) > 0)
		;
	/* As with 1:1. */
	p.ours.blocks = true;
	CHECK_NUMBER(fcntl(p.ours.fd, F_SETFL, 0), ==, 0);
	wire_bye(&p.ours);
	close_pair(&p);
}

static void test_another_handshake_is_the_end(const struct wire_tls *tls,
					      struct fibres *set)
{
	struct pair p;
	char byte;

	connect_pair(&p, tls, tls_1_2, set);
	CHECK_NUMBER(gnutls_record_send(p.client, "x", 1), ==, 1);
	CHECK_NUMBER(wire_recv(&p.ours, &byte, 1), ==, 1);
	CHECK_NUMBER(byte, ==, 'x');
	CHECK_NUMBER(wire_recv(&p.ours, &byte, 1), ==, WIRE_AGAIN);
	CHECK_NUMBER(gnutls_handshake(p.client), ==, GNUTLS_E_AGAIN);
	CHECK_NUMBER(wire_recv(&p.ours, &byte, 1), ==, WIRE_END);
	close_pair(&p);
}

static char record[256];
static size_t record_bytes;

/* What the client would send. */
static ssize_t keep_record(void *arg, const void *data, size_t bytes)
{
	(void)arg;
	CHECK_NUMBER(bytes, <=, sizeof(record));
	(void)memcpy(record, data, bytes);
	record_bytes = bytes;
	return (ssize_t)bytes;
}

/* However a record is cut, a part of it is noticed, and the whole is read. */
static void test_a_part_of_a_record_is_noticed(const struct wire_tls *tls,
					       const char *version,
					       struct fibres *set)
{
	struct pair p;
	char text[16];

	connect_pair(&p, tls, version, set);
	CHECK_NUMBER(wire_recv(&p.ours, text, sizeof(text)), ==, WIRE_AGAIN);
	CHECK(wire_is_empty(&p.ours));
	gnutls_transport_set_push_function(p.client, keep_record);
	CHECK_NUMBER(gnutls_record_send(p.client, "hello", 5), ==, 5);
	for (size_t cut = 1; cut < record_bytes; cut++) {
		if (cut > 1)
			CHECK_NUMBER(gnutls_record_send(p.client, "hello", 5),
				     ==, 5);
		CHECK_NUMBER(send(p.theirs, record, cut, 0), ==, (ssize_t)cut);
		CHECK_NUMBER(wire_recv(&p.ours, text, sizeof(text)), ==,
			     WIRE_AGAIN);
		CHECK(!wire_is_empty(&p.ours));
		CHECK_NUMBER(
			send(p.theirs, record + cut, record_bytes - cut, 0), ==,
			(ssize_t)(record_bytes - cut));
		CHECK_NUMBER(wire_recv(&p.ours, text, sizeof(text)), ==, 5);
		CHECK(memcmp(text, "hello", 5) == 0);
		CHECK_NUMBER(wire_recv(&p.ours, text, sizeof(text)), ==,
			     WIRE_AGAIN);
		CHECK(wire_is_empty(&p.ours));
	}
	close_pair(&p);
}

/*
 * Bytes of the stack that were written.  Those that were not are 0.  It begins
 * at its end; what is far below that is not looked at.
 */
static size_t stack_used(const struct pair *p)
{
	size_t most = fibres_stack_bytes() / 4 * 3, unused = 0;

	while (unused < most && *(p->stack - most + unused) == 0)
		unused++;
	return most - unused;
}

static void test_the_stack_is_large_enough(const struct wire_tls *tls,
					   struct fibres *set)
{
	size_t used;
	struct pair p;

	for (int i = 0; i < 4; i++) {
		if (i == 0)
			serve_new(GNUTLS_PK_ECDSA, ECDSA_BITS);
		else if (i == 2)
			serve_new(GNUTLS_PK_RSA, RSA_BITS);
		connect_pair(&p, tls, i % 2 == 0 ? tls_1_2 : tls_1_3, set);
		close_pair(&p);
		used = stack_used(&p);
		(void)printf("%s, %s: %zu bytes of stack at most\n",
			     i < 2 ? "ECDSA" : "RSA",
			     i % 2 == 0 ? "TLS 1.2" : "TLS 1.3", used);
		CHECK_NUMBER(used, >, 0);
		CHECK_NUMBER(used, <=, fibres_stack_bytes() / 2);
	}
}

/* Since Linux 5.10, most files of /proc have none. */
static void test_a_file_without_sendfile(void)
{
	const char *path = "/proc/self/maps";
	char buffer[64], want[200], got[200];
	size_t done = 0;
	int fds[2], file = open(path, O_RDONLY | O_CLOEXEC);
	struct wire w;

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	CHECK_NUMBER(file, >=, 0);
	CHECK_NUMBER(pread(file, want, sizeof(want), 0), ==, sizeof(want));
	CHECK(wire_init(&w, fds[0], true, NULL));
	while (done < sizeof(want)) {
		ssize_t sent =
			wire_send_file(&w, file, done, sizeof(want) - done,
				       buffer, sizeof(buffer));

		CHECK_NUMBER(sent, >, 0);
		done += (size_t)sent;
	}
	CHECK_NUMBER(recv(fds[1], got, sizeof(got), MSG_WAITALL), ==,
		     sizeof(got));
	CHECK(memcmp(got, want, sizeof(got)) == 0);
	CHECK_NUMBER(
		wire_send_file(&w, file, UINT32_MAX, 1, buffer, sizeof(buffer)),
		==, WIRE_END);
	wire_release(&w);
	CHECK_NUMBER(close(fds[0]), ==, 0);
	CHECK_NUMBER(close(fds[1]), ==, 0);
	CHECK_NUMBER(close(file), ==, 0);
}

int main(void)
{
	struct fibres *set = fibres_new(&(struct fibre_stacks){ .count = 1 });
	struct wire_tls *tls = wire_tls_new();

	watchdog_start();
	CHECK(set != NULL);
	CHECK(tls != NULL);
	test_a_file_without_sendfile();
	test_the_stack_is_large_enough(tls, set);
	test_the_end_does_not_wait(tls, set);
	test_another_handshake_is_the_end(tls, set);
	test_a_part_of_a_record_is_noticed(tls, tls_1_2, set);
	test_a_part_of_a_record_is_noticed(tls, tls_1_3, set);
	wire_tls_free(tls);
	tls_stop();
	fibres_free(set);
	return 0;
}
