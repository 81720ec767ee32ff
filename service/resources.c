/* SPDX-License-Identifier: MIT */
#include "service/resources.h"

#include "service/http/connection/listen.h"
#include "service/pipeline/pipeline_graph.h"
#include "service/store/inbox.h"
#include "service/user.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

int resources_refuse(const struct options *o, int status, const char *flag,
		     const char *value, const char *why)
{
	char refusal[OPTIONS_REFUSAL_BYTES];

	options_refuse(o, flag, value, why, refusal);
	(void)fprintf(stderr, "darkroom: %s\n", refusal);
	return status;
}

enum { ANSWER_MS = 10000 }; /* the reader must answer within this time */

/* What the reader has read.  It is in memory that is shared with the server. */
struct answer {
	char refusal[OPTIONS_REFUSAL_BYTES]; /* "": no error */
	struct warnings warnings;
	char certificate[TLS_FILE_BYTES_MAX + 1];
	char key[TLS_FILE_BYTES_MAX + 1];
	unsigned char keys[]; /* see auth_pack(); then block_list_pack() */
};

/* Where the block list is in an answer, which begins with a page: aligned. */
static void *answer_blocks(struct answer *a)
{
	size_t at = offsetof(struct answer, keys) + auth_packed_bytes();

	return (unsigned char *)a + (at + 63) / 64 * 64;
}

struct reader {
	int ask[2], told[2]; /* pipes: one byte for each request and answer */
	struct answer *answer;
	size_t answer_bytes;
	bool has_ended;
};

static void warn_of_mode(struct warnings *w, const struct options *o,
			 const char *flag, const char *path)
{
	struct stat file;

	if (path == NULL || stat(path, &file) != 0)
		return;
	if ((file.st_mode & S_IROTH) != 0)
		options_refuse(o, flag, path,
			       "can be read by every user: chmod 640 it",
			       w->lines[w->count++]);
	if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		options_refuse(o, flag, path,
			       "can be written by others than its owner: chmod "
			       "go-w it",
			       w->lines[w->count++]);
}

/* Look at the modes of all files with keys. */
static void warn_of_modes(struct warnings *w, const struct options *o)
{
	w->count = 0;
	warn_of_mode(w, o, "api-key-file", o->api_key_file);
	warn_of_mode(w, o, "sign-key-file", o->sign_key_file);
	warn_of_mode(w, o, "metrics-key-file", o->metrics_key_file);
	warn_of_mode(w, o, "tls-key", o->tls_key);
	warn_of_mode(w, o, "s3-credentials-file", o->s3_credentials_file);
	warn_of_mode(w, o, "webhook-key-file", o->webhook_key_file);
}

/*
 * Why `path` cannot be used: `why`, or if this process has no right to read it,
 * whose it is, in `room`.
 */
static const char *explain_rights(const char *path, const char *why,
				  struct error *room)
{
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 || errno != EACCES)
		return why;
	file_explain(room, path, "", EACCES);
	return room->text;
}

typedef bool read_keys_fn(struct auth *a, const char *path,
			  char why[AUTH_WHY_BYTES]);

static bool read_keys(struct auth *a, read_keys_fn *read,
		      const struct options *o, const char *flag,
		      const char *path, char refusal[OPTIONS_REFUSAL_BYTES])
{
	char why[AUTH_WHY_BYTES];
	struct error rights;

	if (path == NULL || read(a, path, why))
		return true;
	options_refuse(o, flag, path, explain_rights(path, why, &rights),
		       refusal);
	return false;
}

static bool read_tls(struct tls *tls, const struct options *o,
		     char refusal[OPTIONS_REFUSAL_BYTES])
{
	const char *wrong = NULL, *why = NULL;
	bool is_certificate = true, ok = false;
	struct error rights;

	if (o->tls_cert == NULL && o->tls_key == NULL)
		return true;
	if (o->tls_key == NULL) {
		wrong = o->tls_cert;
		why = "it needs --tls-key too";
	} else if (o->tls_cert == NULL) {
		wrong = o->tls_key;
		why = "it needs --tls-cert too";
		is_certificate = false;
	} else {
		ok = tls_load(tls, o->tls_cert, o->tls_key, &wrong, &why);
		is_certificate = wrong == o->tls_cert;
	}
	if (!ok)
		options_refuse(o, is_certificate ? "tls-cert" : "tls-key",
			       wrong, explain_rights(wrong, why, &rights),
			       refusal);
	return ok;
}

/* `blocks` is NULL without --block-list. */
static bool read_blocks(struct block_list *blocks, const struct options *o,
			char refusal[OPTIONS_REFUSAL_BYTES])
{
	char why[BLOCK_WHY_BYTES];
	struct error rights;

	if (blocks == NULL || block_list_read(blocks, o->block_list, why))
		return true;
	options_refuse(o, "block-list", o->block_list,
		       explain_rights(o->block_list, why, &rights), refusal);
	return false;
}

/* Read all files that flags name.  False: `refusal` says what is wrong. */
static bool read_files(struct auth *auth, struct tls *tls,
		       struct block_list *blocks, const struct options *o,
		       char refusal[OPTIONS_REFUSAL_BYTES])
{
	return read_blocks(blocks, o, refusal) &&
	       read_keys(auth, auth_read_api_keys, o, "api-key-file",
			 o->api_key_file, refusal) &&
	       read_keys(auth, auth_read_sign_keys, o, "sign-key-file",
			 o->sign_key_file, refusal) &&
	       read_keys(auth, auth_read_metrics_keys, o, "metrics-key-file",
			 o->metrics_key_file, refusal) &&
	       read_tls(tls, o, refusal);
}

static bool has_files(const struct options *o)
{
	return o->api_key_file != NULL || o->sign_key_file != NULL ||
	       o->metrics_key_file != NULL || o->tls_key != NULL ||
	       o->block_list != NULL;
}

static int check_exposure(const struct secrets *s, const struct options *o,
			  const char *flag, const char *address)
{
	if (address == NULL || o->insecure || auth_is_on(s->auth) ||
	    listen_is_local(address))
		return EXIT_SUCCESS;
	return resources_refuse(
		o, EXIT_USAGE, flag, address,
		"other machines can reach it: give --api-key-file or "
		"--sign-key-file, or --insecure if everybody who can reach it "
		"may use it");
}

/*
 * Read the files that `o` names.  Returns an exit status; also after an error,
 * `s` must be released.
 */
static int secrets_load(struct secrets *s, const struct options *o)
{
	char refusal[OPTIONS_REFUSAL_BYTES];
	int status;

	/* Other processes of the same user must not trace this one. */
	if (has_files(o))
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	*s = (struct secrets){ .auth = auth_new() };
	if (o->block_list != NULL)
		s->blocks = block_list_new(o->block_distance);
	if (s->auth == NULL || (o->block_list != NULL && s->blocks == NULL)) {
		(void)fprintf(stderr, "darkroom: no memory\n");
		return EXIT_FAILURE;
	}
	if (!read_files(s->auth, &s->tls, s->blocks, o, refusal)) {
		(void)fprintf(stderr, "darkroom: %s\n", refusal);
		return EXIT_USAGE;
	}
	if (o->metrics_key_file != NULL && !auth_is_on(s->auth))
		return resources_refuse(
			o, EXIT_USAGE, "metrics-key-file", o->metrics_key_file,
			"without --api-key-file or --sign-key-file nobody "
			"needs a key to read /metrics");
	s->has_tls = s->tls.certificate != NULL;
	warn_of_modes(&s->warnings, o);
	status = check_exposure(s, o, "listen", o->listen);
	if (status == EXIT_SUCCESS)
		status = check_exposure(s, o, "admin-listen", o->admin_listen);
	if (status == EXIT_SUCCESS)
		status = check_exposure(s, o, "agent-listen", o->agent_listen);
	s->is_exposed = !auth_is_on(s->auth) && !listen_is_local(o->listen);
	return status;
}

/* In the reader: read all files again. */
static void reader_answer(struct answer *to, const struct options *o)
{
	struct auth *auth = auth_new();
	struct tls tls = { .certificate = NULL };
	struct block_list *blocks = NULL;

	to->refusal[0] = '\0';
	if (o->block_list != NULL)
		blocks = block_list_new(o->block_distance);
	if (auth == NULL || (o->block_list != NULL && blocks == NULL)) {
		(void)strcpy(to->refusal, "no memory");
	} else if (read_files(auth, &tls, blocks, o, to->refusal)) {
		auth_pack(auth, to->keys);
		if (blocks != NULL)
			block_list_pack(blocks, answer_blocks(to));
		warn_of_modes(&to->warnings, o);
		if (tls.certificate != NULL) {
			(void)strcpy(to->certificate, tls.certificate);
			(void)strcpy(to->key, tls.key);
		}
	}
	tls_release(&tls);
	block_list_free(blocks);
	auth_free(auth);
}

/*
 * The reader process.  Signals are blocked as in the server, so it ends only
 * when the server does: then read() finds the other end of `ask` closed.
 */
static _Noreturn void read_when_asked(struct reader *r, const struct options *o)
{
	int null = open("/dev/null", O_RDWR);
	char byte;

	remote_forget_keys(); /* they are not for this process */
	(void)prctl(PR_SET_NAME, "reader", 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	for (uint32_t use = 0; use < LISTEN_USES; use++)
		if (o->inherited.fds[use] >= 0)
			(void)close(o->inherited.fds[use]);
	(void)close(r->ask[1]);
	(void)close(r->told[0]);
	while (read(r->ask[0], &byte, 1) == 1) {
		reader_answer(r->answer, o);
		if (write(r->told[1], &byte, 1) != 1)
			break;
	}
	_exit(EXIT_SUCCESS);
}

static void close_pipe(int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			(void)close(ends[i]);
}

static void reader_free(struct reader *r)
{
	if (r == NULL)
		return;
	close_pipe(r->ask);
	close_pipe(r->told);
	if (r->answer != MAP_FAILED)
		(void)munmap(r->answer, r->answer_bytes);
	free(r);
}

/* NULL: errno says why. */
static struct reader *reader_start(const struct options *o)
{
	struct reader *r = malloc(sizeof(*r));
	pid_t pid = -1;

	if (r == NULL)
		return NULL;
	*r = (struct reader){
		.ask = { -1, -1 },
		.told = { -1, -1 },
		.answer_bytes = sizeof(*r->answer) + auth_packed_bytes(),
	};
	if (o->block_list != NULL)
		r->answer_bytes += 64 + block_list_packed_bytes();
	r->answer = mmap(NULL, r->answer_bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r->answer != MAP_FAILED && pipe2(r->ask, O_CLOEXEC) == 0 &&
	    pipe2(r->told, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		read_when_asked(r, o);
	if (pid > 0) {
		(void)close(r->ask[0]);
		(void)close(r->told[1]);
		r->ask[0] = r->told[1] = -1;
		return r;
	}
	reader_free(r);
	return NULL;
}

/*
 * Give the certificate to TLS and start the reader, before there are threads, a
 * sandbox or listening sockets.  Returns an exit status.
 */
static int secrets_use(struct secrets *s, const struct options *o)
{
	const char *why;

	if (!has_files(o))
		return EXIT_SUCCESS;
	if (s->has_tls && !tls_serve(s->tls.certificate, s->tls.key, &why))
		return resources_refuse(o, EXIT_FAILURE, "tls-cert",
					o->tls_cert, why);
	tls_release(&s->tls);
	s->reader = reader_start(o);
	if (s->reader != NULL)
		return EXIT_SUCCESS;
	(void)fprintf(stderr,
		      "darkroom: the process that reads keys could not be "
		      "started: %s\n",
		      strerror(errno));
	return EXIT_FAILURE;
}

/* Send a request and wait for the answer.  False: there is none. */
static bool reader_ask(struct reader *r)
{
	struct pollfd told = { .fd = r->told[0], .events = POLLIN };
	char byte = 0;

	r->has_ended = r->has_ended || write(r->ask[1], &byte, 1) != 1 ||
		       poll(&told, 1, ANSWER_MS) != 1 ||
		       read(r->told[0], &byte, 1) != 1;
	return !r->has_ended;
}

static bool apply_answer(struct secrets *s, struct answer *a,
			 char refusal[OPTIONS_REFUSAL_BYTES])
{
	const char *why;

	(void)memcpy(refusal, a->refusal, OPTIONS_REFUSAL_BYTES);
	refusal[OPTIONS_REFUSAL_BYTES - 1] = '\0';
	if (refusal[0] != '\0')
		return false;
	if (s->has_tls && !tls_serve(a->certificate, a->key, &why)) {
		(void)snprintf(refusal, OPTIONS_REFUSAL_BYTES, "TLS: %s", why);
		return false;
	}
	auth_unpack(s->auth, a->keys);
	if (s->blocks != NULL)
		block_list_unpack(s->blocks, answer_blocks(a));
	s->warnings = a->warnings;
	return true;
}

bool server_resources_reload_secrets(struct secrets *s,
				     char refusal[OPTIONS_REFUSAL_BYTES])
{
	struct reader *r = s->reader;
	bool ok;

	if (!reader_ask(r)) {
		(void)snprintf(refusal, OPTIONS_REFUSAL_BYTES,
			       "the process that reads files has ended, or "
			       "took longer than %d s; restart the server",
			       ANSWER_MS / 1000);
		return false;
	}
	ok = apply_answer(s, r->answer, refusal);
	explicit_bzero(r->answer, r->answer_bytes);
	return ok;
}

static void secrets_release(struct secrets *s)
{
	reader_free(s->reader);
	s->reader = NULL;
	auth_free(s->auth);
	s->auth = NULL;
	block_list_free(s->blocks);
	s->blocks = NULL;
	tls_release(&s->tls);
	tls_stop();
}

int resources_check_secrets(const struct options *o)
{
	struct secrets secrets;
	int status = secrets_load(&secrets, o);

	for (uint32_t i = 0; i < secrets.warnings.count; i++)
		(void)fprintf(stderr, "darkroom: %s\n",
			      secrets.warnings.lines[i]);
	secrets_release(&secrets);
	return status;
}

static int load_graph(struct server_resources *r, const struct options *o)
{
	struct error why;

	if (o->schedule.balance != BALANCE_PARTITION ||
	    pipeline_graph_load(&r->graph, o->stages, o->graph, &why))
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_USAGE, "graph", o->graph, why.text);
}

/* Is the file's folder the root folder?  `path` may be any path to it. */
static bool is_in_root(const char *path)
{
	char *copy = strdup(path);
	struct stat folder, root;
	bool is =
		copy == NULL ||
		(stat(dirname(copy), &folder) == 0 && stat("/", &root) == 0 &&
		 folder.st_dev == root.st_dev && folder.st_ino == root.st_ino);

	free(copy);
	return is;
}

bool resources_can_save_graph(const struct options *o, struct error *why)
{
	if (o->sandbox != SANDBOX_OFF && is_in_root(o->save_graph))
		return error_fail(why, "the sandbox leaves its folder open: "
				       "give it one of its own");
	return graph_can_be_saved(o->save_graph, why);
}

/*
 * Checked at the start, because an error at the end would lose the measured
 * graph.
 */
static int check_save_graph(const struct options *o)
{
	struct error why;

	if (o->save_graph == NULL || resources_can_save_graph(o, &why))
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_USAGE, "save-graph", o->save_graph,
				why.text);
}

/*
 * LISTEN_FAILED is not a usage error: the address may not exist yet (at boot)
 * or may still be in use, so a later start may succeed.
 */
static int open_listener(const struct options *o, enum listen_use use,
			 const char *address, int *fd, uint16_t *port)
{
	const char *flag = listen_flags[use], *why;

	if (address == NULL)
		return EXIT_SUCCESS;
	if (o->inherited.fds[use] >= 0) {
		*fd = o->inherited.fds[use];
		*port = listen_port(*fd);
		return EXIT_SUCCESS;
	}
	switch (listen_on(address, fd, port, &why)) {
	case LISTEN_OK:
		return EXIT_SUCCESS;
	case LISTEN_BAD_ADDRESS:
		return resources_refuse(o, EXIT_USAGE, flag, address, why);
	case LISTEN_FAILED:
		return resources_refuse(o, EXIT_FAILURE, flag, address, why);
	}
	abort();
}

bool resources_read_store_url(const struct options *o, struct remote_config *c,
			      struct error *error)
{
	*c = (struct remote_config){
		.endpoint = o->s3_endpoint,
		.region = o->s3_region,
		.uses_path_style = o->s3_path_style,
		.credentials_file = o->s3_credentials_file,
		.cache = o->store_cache,
		.cache_quota_bytes = o->store_cache_quota_bytes,
	};
	return remote_read_url(c, o->store, error);
}

static struct store *open_remote_store(const struct options *o,
				       struct error *error)
{
	struct remote_config c;

	return resources_read_store_url(o, &c, error) ? remote_open(&c, error) :
							NULL;
}

/* What --store or one of its flags names cannot be used by this user. */
static int refuse_as_user(const struct options *o, int status, const char *flag,
			  const char *value, const char *why)
{
	struct error as_user;

	error_set(&as_user, "%.480s", why);
	if (o->user != NULL && !o->wants_check)
		error_set(&as_user, "as user %.64s: %.400s", o->user, why);
	return resources_refuse(o, status, flag, value, as_user.text);
}

/*
 * The helper's error begins with what is wrong, such as "endpoint 'VALUE': ":
 * name the flag that has given it.
 */
static int refuse_remote(const struct options *o, int status, const char *why)
{
	const struct {
		const char *flag, *before, *value, *after;
	} flags[] = {
		{ "s3-endpoint", "endpoint '", o->s3_endpoint, "': " },
		{ "s3-region", "region '", o->s3_region, "': " },
		{ "s3-credentials-file", "", o->s3_credentials_file, ": " },
	};
	char begin[sizeof(((struct error *)NULL)->text)];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		int n = snprintf(begin, sizeof(begin), "%s%s%s",
				 flags[i].before,
				 flags[i].value != NULL ? flags[i].value : "",
				 flags[i].after);

		if (flags[i].value != NULL && n > 0 &&
		    (size_t)n < sizeof(begin) &&
		    strncmp(why, begin, (size_t)n) == 0)
			return refuse_as_user(o, status, flags[i].flag,
					      flags[i].value, why + n);
	}
	return refuse_as_user(o, status, "store", o->store, why);
}

int resources_check_remote(const struct options *o)
{
	struct remote_config c;
	struct error error;

	if (o->store == NULL || !remote_is_url(o->store))
		return EXIT_SUCCESS;
	if (!resources_read_store_url(o, &c, &error))
		return resources_refuse(o, EXIT_USAGE, "store", o->store,
					error.text);
	switch (remote_check_flags(&c, &error)) {
	case KEEPER_OK:
		return EXIT_SUCCESS;
	case KEEPER_WRONG:
		return refuse_remote(o, EXIT_USAGE, error.text);
	case KEEPER_FAILED:
		break;
	}
	/* A server starts without the helper, and the keeper tries again. */
	return o->wants_check ? refuse_remote(o, EXIT_FAILURE, error.text) :
				EXIT_SUCCESS;
}

static int open_store(struct server_resources *r, const struct options *o)
{
	struct error error;
	int status;

	if (o->store == NULL)
		return EXIT_SUCCESS;
	/*
	 * A folder is no usage error: it may not be mounted yet, or may still
	 * be in use.
	 */
	if (o->store_cache != NULL &&
	    !remote_check_cache(o->store_cache, &error))
		return refuse_as_user(o, EXIT_FAILURE, "store-cache",
				      o->store_cache, error.text);
	status = resources_check_remote(o);
	if (status != EXIT_SUCCESS)
		return status;
	if (remote_is_url(o->store))
		r->store = open_remote_store(o, &error);
	else
		r->store = store_open(o->store, o->store_quota_bytes, &error);
	if (r->store != NULL &&
	    (o->store_original == ORIGINAL_NONE ||
	     store_keep_originals(r->store, o->original_quota_bytes, &error)))
		return EXIT_SUCCESS;
	return refuse_as_user(o, EXIT_FAILURE, "store", o->store, error.text);
}

/*
 * Opened after the store in whose folder it may be, which no other server has
 * then.
 */
static int open_inbox(struct server_resources *r, const struct options *o)
{
	struct error error;
	char *path = NULL;

	if (o->inbox != NULL)
		path = strdup(o->inbox);
	else if (o->store == NULL || remote_is_url(o->store))
		return EXIT_SUCCESS;
	else if (asprintf(&path, "%s/inbox", o->store) < 0)
		path = NULL;
	error_set(&error, "no memory");
	if (path != NULL)
		r->inbox = inbox_open(path, o->inbox_quota_bytes, &error);
	free(path);
	if (r->inbox != NULL)
		return EXIT_SUCCESS;
	return refuse_as_user(
		o, EXIT_FAILURE, o->inbox != NULL ? "inbox" : "store",
		o->inbox != NULL ? o->inbox : o->store, error.text);
}

/*
 * The flags of webhooks; `path` is where their queue is.  False: there are no
 * webhooks.
 */
static bool read_hooks(struct hooks_config *c, const struct options *o,
		       const char *path)
{
	struct error ignored; /* main.c has checked the schedule */

	*c = (struct hooks_config){
		.path = path,
		.url = o->webhook,
		.allowed = o->webhook_allow,
		.key_file = o->webhook_key_file,
		.events_max = o->webhook_queue,
	};
	return (o->webhook != NULL || o->webhook_allow != NULL) &&
	       hooks_read_schedule(&c->schedule, o->webhook_retry, &ignored);
}

/* The helper's error may begin with the path of the file of keys. */
static int refuse_hooks(const struct options *o, int status, const char *why)
{
	size_t n = strlen(o->webhook_key_file);

	if (strncmp(why, o->webhook_key_file, n) == 0 &&
	    strncmp(why + n, ": ", 2) == 0)
		why += n + 2;
	return refuse_as_user(o, status, "webhook-key-file",
			      o->webhook_key_file, why);
}

int resources_check_hooks(const struct options *o)
{
	struct hooks_config c;
	struct error error;

	if (!read_hooks(&c, o, NULL))
		return EXIT_SUCCESS;
	switch (hooks_check_flags(&c, &error)) {
	case KEEPER_OK:
		return EXIT_SUCCESS;
	case KEEPER_WRONG:
		return refuse_hooks(o, EXIT_USAGE, error.text);
	case KEEPER_FAILED:
		break;
	}
	/* A server starts without the helper, and the keeper tries again. */
	return o->wants_check ? refuse_hooks(o, EXIT_FAILURE, error.text) :
				EXIT_SUCCESS;
}

/* In the folder of the inbox, if there is one, else in that of the store. */
static int open_hooks(struct server_resources *r, const struct options *o)
{
	const char *folder = o->inbox != NULL ? o->inbox : o->store;
	const char *flag = o->webhook != NULL ? "webhook" : "webhook-allow";
	struct hooks_config c;
	struct error error;
	int status;

	if (!read_hooks(&c, o, NULL))
		return EXIT_SUCCESS;
	status = resources_check_hooks(o);
	if (status != EXIT_SUCCESS)
		return status;
	error_set(&error, "no memory");
	if (asprintf(&r->hooks_path, "%s/hooks", folder) < 0)
		r->hooks_path = NULL;
	c.path = r->hooks_path;
	if (c.path != NULL)
		r->hooks = hooks_open(&c, &error);
	if (r->hooks != NULL)
		return EXIT_SUCCESS;
	return refuse_as_user(
		o, EXIT_FAILURE, flag,
		o->webhook != NULL ? o->webhook : o->webhook_allow, error.text);
}

static int open_trace(struct server_resources *r, const struct options *o)
{
	if (o->trace == NULL)
		return EXIT_SUCCESS;
	r->trace = fopen(o->trace, "we");
	if (r->trace != NULL)
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_USAGE, "trace", o->trace,
				strerror(errno));
}

/*
 * Called before other files are opened, so that the new user owns the files
 * that are made.
 */
static int change_user(const struct options *o)
{
	struct error why;

	if (o->user == NULL || user_become(o->user, &why))
		return EXIT_SUCCESS;
	return resources_refuse(o, EXIT_USAGE, "user", o->user, why.text);
}

int server_resources_init(struct server_resources *r, const struct options *o)
{
	*r = (struct server_resources){
		.listen_fd = -1,
		.admin_fd = -1,
		.agent_fd = -1,
	};

	int status = secrets_load(&r->secrets, o);

	if (status == EXIT_SUCCESS)
		status = secrets_use(&r->secrets, o);
	if (status == EXIT_SUCCESS)
		status = load_graph(r, o);
	if (status == EXIT_SUCCESS)
		status = open_listener(o, LISTEN_MAIN, o->listen, &r->listen_fd,
				       &r->port);
	if (status == EXIT_SUCCESS)
		status = open_listener(o, LISTEN_ADMIN, o->admin_listen,
				       &r->admin_fd, &r->admin_port);
	if (status == EXIT_SUCCESS)
		status = open_listener(o, LISTEN_AGENT, o->agent_listen,
				       &r->agent_fd, &r->agent_port);
	if (status == EXIT_SUCCESS)
		status = change_user(o);
	if (status == EXIT_SUCCESS)
		status = check_save_graph(o);
	if (status == EXIT_SUCCESS)
		status = open_store(r, o);
	if (status == EXIT_SUCCESS)
		status = open_inbox(r, o);
	if (status == EXIT_SUCCESS)
		status = open_hooks(r, o);
	if (status == EXIT_SUCCESS)
		status = open_trace(r, o);
	return status;
}

void server_resources_release(struct server_resources *r)
{
	if (r->listen_fd >= 0)
		(void)close(r->listen_fd);
	if (r->admin_fd >= 0)
		(void)close(r->admin_fd);
	if (r->agent_fd >= 0)
		(void)close(r->agent_fd);
	hooks_close(r->hooks);
	free(r->hooks_path);
	inbox_close(r->inbox);
	store_close(r->store);
	if (r->trace != NULL)
		(void)fclose(r->trace);
	secrets_release(&r->secrets);
}
