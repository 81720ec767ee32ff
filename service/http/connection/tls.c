/* SPDX-License-Identifier: MIT */
#include "service/http/connection/tls.h"

#include "base/clock.h"

#include "base/file.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/*
 * A pair that was replaced is kept for this time, because GnuTLS uses it until
 * the handshake is over, and does not report when that is.  A handshake takes
 * some milliseconds.  --header-timeout limits it to an hour at most, unless it
 * is 0 (no limit).
 */
#define KEPT_NS (UINT64_C(3600) * 1000000000)

/* A certificate with its chain and key, in use or retired. */
struct pair {
	gnutls_pcert_st *chain;
	unsigned int count;
	gnutls_privkey_t key;
	uint64_t retired_ns;
	struct pair *older;
};

/* GnuTLS passes no argument to its callback, so this is global. */
static _Atomic(struct pair *) current;

static gnutls_datum_t datum_of(char *text)
{
	return (gnutls_datum_t){
		.data = (unsigned char *)text,
		.size = (unsigned int)strlen(text),
	};
}

static int check_certificate(char *text)
{
	gnutls_datum_t pem = datum_of(text);
	gnutls_x509_crt_t *chain = NULL;
	unsigned int count = 0;
	int err = gnutls_x509_crt_list_import2(&chain, &count, &pem,
					       GNUTLS_X509_FMT_PEM, 0);

	for (unsigned int i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	return err < 0 ? err : 0;
}

/*
 * Do certificate and key belong together?  Returns an error of GnuTLS; 0: they
 * do.
 */
static int check_pair(const struct tls *tls)
{
	gnutls_datum_t certificate = datum_of(tls->certificate);
	gnutls_datum_t key = datum_of(tls->key);
	gnutls_certificate_credentials_t credentials;
	int err = gnutls_certificate_allocate_credentials(&credentials);

	if (err < 0)
		return err;
	err = gnutls_certificate_set_x509_key_mem(credentials, &certificate,
						  &key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	return err;
}

void tls_send(void *session, const char *text)
{
	(void)gnutls_record_send(session, text, strlen(text));
}

bool tls_load(struct tls *tls, const char *certificate, const char *key,
	      const char **wrong, const char **why)
{
	int err;

	*tls = (struct tls){ .certificate = NULL };
	*wrong = certificate;
	tls->certificate = file_read_text(certificate, TLS_FILE_BYTES_MAX, why);
	if (tls->certificate == NULL)
		return false;
	err = check_certificate(tls->certificate);
	if (err == 0) {
		*wrong = key;
		tls->key = file_read_text(key, TLS_FILE_BYTES_MAX, why);
		if (tls->key != NULL)
			err = check_pair(tls);
	}
	if (err == 0 && tls->key != NULL)
		return true;
	if (err < 0)
		*why = gnutls_strerror(err);
	tls_release(tls);
	return false;
}

void tls_release(struct tls *tls)
{
	if (tls->key != NULL)
		explicit_bzero(tls->key, strlen(tls->key));
	free(tls->key);
	free(tls->certificate);
	*tls = (struct tls){ .certificate = NULL };
}

/* NULL is fine. */
static void pair_free(struct pair *p)
{
	if (p == NULL)
		return;
	for (unsigned int i = 0; i < p->count; i++)
		gnutls_pcert_deinit(&p->chain[i]);
	free(p->chain);
	gnutls_privkey_deinit(p->key);
	free(p);
}

/* Returns an error of GnuTLS. */
static int import_chain(struct pair *p, const char *text)
{
	gnutls_datum_t pem = datum_of((char *)text);
	gnutls_x509_crt_t *chain = NULL;
	unsigned int count = 0;
	int err = gnutls_x509_crt_list_import2(&chain, &count, &pem,
					       GNUTLS_X509_FMT_PEM, 0);

	if (err < 0)
		return err;
	p->chain = calloc(count, sizeof(*p->chain));
	err = GNUTLS_E_MEMORY_ERROR;
	if (p->chain != NULL) {
		unsigned int imported = count;

		err = gnutls_pcert_import_x509_list(p->chain, chain, &imported,
						    GNUTLS_X509_CRT_LIST_SORT);
		p->count = err < 0 ? 0 : imported;
	}
	for (unsigned int i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	return err;
}

static struct pair *pair_new(const char *certificate, const char *key, int *err)
{
	struct pair *p = calloc(1, sizeof(*p));
	gnutls_datum_t pem = datum_of((char *)key);

	*err = GNUTLS_E_MEMORY_ERROR;
	if (p == NULL)
		return NULL;
	*err = gnutls_privkey_init(&p->key);
	if (*err < 0) {
		free(p);
		return NULL;
	}
	*err = gnutls_privkey_import_x509_raw(p->key, &pem, GNUTLS_X509_FMT_PEM,
					      NULL, 0);
	if (*err >= 0)
		*err = import_chain(p, certificate);
	if (*err >= 0)
		return p;
	pair_free(p);
	return NULL;
}

/* Free the pairs that were replaced at least KEPT_NS ago. */
static void free_old(struct pair *newest, uint64_t now_ns)
{
	struct pair **at = &newest->older;

	while (*at != NULL) {
		struct pair *p = *at;

		if (now_ns - p->retired_ns < KEPT_NS) {
			at = &p->older;
			continue;
		}
		*at = p->older;
		pair_free(p);
	}
}

bool tls_serve(const char *certificate, const char *key, const char **why)
{
	uint64_t now_ns = clock_now_ns();
	struct pair *old = atomic_load(&current);
	int err;
	struct pair *p = pair_new(certificate, key, &err);

	if (p == NULL) {
		*why = gnutls_strerror(err);
		return false;
	}
	p->older = old;
	if (old != NULL)
		old->retired_ns = now_ns;
	free_old(p, now_ns);
	atomic_store(&current, p);
	return true;
}

/* A gnutls_certificate_retrieve_function3. */
static int retrieve(gnutls_session_t session,
		    const struct gnutls_cert_retr_st *info,
		    gnutls_pcert_st **chain, unsigned int *count,
		    gnutls_ocsp_data_st **ocsp, unsigned int *ocsp_count,
		    gnutls_privkey_t *key, unsigned int *flags)
{
	struct pair *p = atomic_load(&current);

	(void)session;
	(void)info;
	*chain = p->chain;
	*count = p->count;
	*ocsp = NULL;
	*ocsp_count = 0;
	*key = p->key;
	*flags = 0; /* GnuTLS must not free anything */
	return 0;
}

const char tls_priorities[] =
	"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA";

void *tls_callback(void)
{
	return (void *)(uintptr_t)retrieve;
}

void tls_stop(void)
{
	struct pair *p = atomic_exchange(&current, NULL);

	while (p != NULL) {
		struct pair *older = p->older;

		pair_free(p);
		p = older;
	}
}
