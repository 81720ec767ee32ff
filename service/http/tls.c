/* SPDX-License-Identifier: MIT */
#include "service/http/tls.h"

#include "stages/text_file.h"

#include <stdlib.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum { FILE_BYTES_MAX = 1 << 20 };

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

/* As the server will use them: do they go together? */
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

bool tls_load(struct tls *tls, const char *certificate, const char *key,
	      const char **wrong, const char **why)
{
	int err;

	*tls = (struct tls){ .certificate = NULL };
	*wrong = certificate;
	tls->certificate = text_file_read(certificate, FILE_BYTES_MAX, why);
	if (tls->certificate == NULL)
		return false;
	err = check_certificate(tls->certificate);
	if (err == 0) {
		*wrong = key;
		tls->key = text_file_read(key, FILE_BYTES_MAX, why);
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
