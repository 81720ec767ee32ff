/* SPDX-License-Identifier: MIT */
#include "service/secrets.h"

#include "service/http/listen.h"
#include "service/opened.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static void warn_of_mode(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return;
	if ((file.st_mode & S_IROTH) != 0)
		(void)fprintf(stderr,
			      "darkroom: '%s' can be read by every user\n",
			      path);
	if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		(void)fprintf(stderr,
			      "darkroom: '%s' can be written by others than "
			      "its owner\n",
			      path);
}

typedef bool read_keys_fn(struct auth *a, const char *path,
			  char why[AUTH_WHY_BYTES]);

static int read_keys(struct auth *a, read_keys_fn *read,
		     const struct options *o, const char *flag,
		     const char *path)
{
	char why[AUTH_WHY_BYTES];

	if (path == NULL)
		return EXIT_SUCCESS;
	if (!read(a, path, why))
		return opened_complain(o, EXIT_USAGE, flag, path, why);
	warn_of_mode(path);
	return EXIT_SUCCESS;
}

static int load_tls(struct tls *tls, const struct options *o)
{
	const char *wrong, *why;

	if (o->tls_cert == NULL && o->tls_key == NULL)
		return EXIT_SUCCESS;
	if (o->tls_key == NULL)
		return opened_complain(o, EXIT_USAGE, "tls-cert", o->tls_cert,
				       "it needs --tls-key, too");
	if (o->tls_cert == NULL)
		return opened_complain(o, EXIT_USAGE, "tls-key", o->tls_key,
				       "it needs --tls-cert, too");
	if (!tls_load(tls, o->tls_cert, o->tls_key, &wrong, &why))
		return opened_complain(o, EXIT_USAGE,
				       wrong == o->tls_cert ? "tls-cert" :
							      "tls-key",
				       wrong, why);
	warn_of_mode(o->tls_key);
	return EXIT_SUCCESS;
}

static int check_address(const struct secrets *s, const struct options *o,
			 const char *flag, const char *address)
{
	if (address == NULL || o->insecure || auth_is_on(s->auth) ||
	    listen_is_local(address))
		return EXIT_SUCCESS;
	return opened_complain(o, EXIT_USAGE, flag, address,
			       "others than this machine can reach it: give "
			       "--api-key-file or --sign-key-file, or "
			       "--insecure if all who can reach it may use it");
}

/* Nor may others of the same user trace the process, but for root. */
static void keep_out_of_core_dumps(const struct options *o)
{
	if (o->api_key_file != NULL || o->sign_key_file != NULL ||
	    o->tls_key != NULL)
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int secrets_load(struct secrets *s, const struct options *o)
{
	int status;

	keep_out_of_core_dumps(o);
	*s = (struct secrets){ .auth = auth_new() };
	if (s->auth == NULL) {
		(void)fprintf(stderr, "darkroom: no memory\n");
		return EXIT_FAILURE;
	}
	status = read_keys(s->auth, auth_read_api_keys, o, "api-key-file",
			   o->api_key_file);
	if (status == EXIT_SUCCESS)
		status = read_keys(s->auth, auth_read_sign_keys, o,
				   "sign-key-file", o->sign_key_file);
	if (status == EXIT_SUCCESS)
		status = load_tls(&s->tls, o);
	if (status == EXIT_SUCCESS)
		status = check_address(s, o, "listen", o->listen);
	if (status == EXIT_SUCCESS)
		status = check_address(s, o, "admin-listen", o->admin_listen);
	return status;
}

void secrets_release(struct secrets *s)
{
	auth_free(s->auth);
	s->auth = NULL;
	tls_release(&s->tls);
}
