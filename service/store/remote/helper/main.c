/* SPDX-License-Identifier: MIT */
/*
 * darkroom-store: the process of a server that has the connections to an object
 * store, and the store's keys.  It also has commands for people.
 *
 * Only this file prints, reads the environment and ends the program.
 * (credentials.c reads the keys in the environment.)
 */
#include "service/keeper.h"
#include "service/kept.h"
#include "service/store/remote/helper/cache.h"
#include "service/store/remote/helper/credentials.h"
#include "service/store/remote/helper/listing.h"
#include "service/store/remote/helper/s3.h"
#include "service/store/remote/helper/serve.h"

#include "base/file.h"
#include "base/options.h"
#include "version.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum exit_code { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

struct helper_options {
	const char *command;
	const char *bucket, *prefix, *endpoint, *region;
	bool path_style;
	const char *credentials_file, *profile;
	bool keep_keys;
	const char *cache;
	uint64_t cache_quota_bytes;
	struct flags_asked asked;
};

static const struct flag flags[] = {
	{ "bucket", "NAME", NULL, "the bucket; it must exist",
	  FLAG_FIELD(struct helper_options, bucket) },
	{ "prefix", "TEXT", NULL, "begin of all keys, without / at its ends",
	  FLAG_FIELD(struct helper_options, prefix) },
	{ "endpoint", "URL", NULL,
	  "http://HOST[:PORT] or https://HOST[:PORT] of the store; otherwise "
	  "AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's of the region",
	  FLAG_FIELD(struct helper_options, endpoint) },
	{ "region", "NAME", NULL,
	  "for the signature; otherwise AWS_REGION, AWS_DEFAULT_REGION, or "
	  "us-east-1",
	  FLAG_FIELD(struct helper_options, region) },
	{ "path-style", NULL, NULL,
	  "put the bucket into the path, not before the host's name; always so "
	  "if the host is an address",
	  FLAG_FIELD(struct helper_options, path_style) },
	{ "credentials-file", "FILE", NULL,
	  "file with the keys, as Amazon's tools write it",
	  FLAG_FIELD(struct helper_options, credentials_file) },
	{ "profile", "NAME", NULL,
	  "section of that file; otherwise AWS_PROFILE, or default",
	  FLAG_FIELD(struct helper_options, profile) },
	{ "keep-keys", NULL, NULL,
	  "serve, check: keep the keys in the anonymous file that is "
	  "descriptor 4; serve takes those that are in it",
	  FLAG_FIELD(struct helper_options, keep_keys) },
	{ "cache", "DIR", NULL, "serve: folder for copies of objects",
	  FLAG_FIELD(struct helper_options, cache) },
	{ "cache-quota", "SIZE", "1G", "serve: most bytes of these copies",
	  FLAG_FIELD(struct helper_options, cache_quota_bytes),
	  .unit = FLAG_SIZE, .least = 1 << 20, .most = 0x1p50 },
	FLAGS_ASKED(struct helper_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program program = {
	.name = "darkroom-store",
	.summary = "Darkroom's connection to an S3 object store",
	.usage = "serve|check|create|list|verify|flags --bucket NAME "
		 "[OPTION]...",
	.about = "The server darkroom starts \"darkroom-store serve\" for "
		 "--store s3://BUCKET, and speaks with it over descriptor 3.  "
		 "The other commands are for people.\n\n"
		 "flags: check flags, keys and endpoint, without a connection; "
		 "the server starts it first.\n\n"
		 "check: say whether the bucket can be used.\n\n"
		 "create: make the bucket.\n\n"
		 "list: print id, bytes and time of each image.\n\n"
		 "verify: fetch every image and check its SHA-256; print those "
		 "that are damaged.",
	.groups = groups,
	.notes = "Keys come from --credentials-file, or from "
		 "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
		 "AWS_SESSION_TOKEN, or from the file of "
		 "AWS_SHARED_CREDENTIALS_FILE.  Certificates are checked with "
		 "those of the system, or with the file of SSL_CERT_FILE or "
		 "CURL_CA_BUNDLE.",
	.exit_status = "0 good, 1 the store cannot be used, an image is "
		       "damaged, or the output could not be written, 2 wrong "
		       "usage.",
	.see_also = "darkroom(1)",
	.operand = "serve|check|create|list|verify|flags",
	.follows_getopt = true,
};

/* A flag_take_fn. */
static bool take_argument(void *arg, const struct flag *f, const char *value,
			  struct error *why)
{
	static const char *const commands[] = { "serve", "check",  "create",
						"list",  "verify", "flags" };
	struct helper_options *o = arg;

	if (f != NULL)
		return flag_set(f, value, o, why);
	if (o->command != NULL)
		return error_fail(why, "'%s': one command is enough", value);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(value, commands[i]) == 0)
			o->command = value;
	return o->command != NULL ||
	       error_fail(why,
			  "'%s': the commands are serve, check, create, list, "
			  "verify and flags",
			  value);
}

/* The first of these variables that is set and not empty; else `initial`. */
static const char *from_environment(const char *a, const char *b,
				    const char *initial)
{
	const char *text = getenv(a);

	if (text == NULL || *text == '\0')
		text = getenv(b);
	return text != NULL && *text != '\0' ? text : initial;
}

static bool read_options(struct helper_options *o, int argc, char **argv,
			 struct error *error)
{
	flags_init(flags, o);
	if (!flags_read(&program, argv + 1, (uint32_t)argc - 1, take_argument,
			o, error))
		return false;
	if (flags_is_asked(&o->asked))
		return true;
	if (o->command == NULL)
		return error_fail(error, "COMMAND is missing");
	if (o->bucket == NULL)
		return error_fail(error, "--bucket NAME is missing");
	if (o->endpoint == NULL || *o->endpoint == '\0')
		o->endpoint = from_environment("AWS_ENDPOINT_URL_S3",
					       "AWS_ENDPOINT_URL", NULL);
	if (o->region == NULL || *o->region == '\0')
		o->region = from_environment("AWS_REGION", "AWS_DEFAULT_REGION",
					     "us-east-1");
	return true;
}

static enum exit_code print_error(enum exit_code code,
				  const struct error *error)
{
	fprintf(stderr, "darkroom-store: %s\n", error->text);
	return code;
}

static enum exit_code serve_command(const struct helper_options *o,
				    struct s3 *s3, struct error *error)
{
	struct cache *cache = NULL;

	if (o->cache != NULL && *o->cache != '\0') {
		cache = cache_open(o->cache, o->cache_quota_bytes, error);
		if (cache == NULL)
			return print_error(EXIT_USAGE, error);
	}
	serve(s3, cache);
	cache_free(cache);
	return EXIT_GOOD;
}

static enum exit_code verify_command(struct s3 *s3, struct error *error)
{
	struct verified v;

	if (!store_verify(s3, stdout, &v, error))
		return print_error(EXIT_BAD, error);
	printf("%" PRIu64 " images of %" PRIu64 " bytes are good, %" PRIu64
	       " are not; %" PRIu64 " were removed meanwhile; %" PRIu64
	       " other objects\n",
	       v.good, v.bytes, v.bad, v.removed, v.others);
	return v.bad == 0 ? EXIT_GOOD : EXIT_BAD;
}

static enum exit_code run_command(const struct helper_options *o, struct s3 *s3)
{
	struct error error;

	if (strcmp(o->command, "flags") == 0)
		return EXIT_GOOD;
	if (strcmp(o->command, "serve") == 0)
		return serve_command(o, s3, &error);
	if (strcmp(o->command, "verify") == 0)
		return verify_command(s3, &error);
	if (strcmp(o->command, "list") == 0)
		return store_list(s3, stdout, &error) ?
			       EXIT_GOOD :
			       print_error(EXIT_BAD, &error);
	if (strcmp(o->command, "create") == 0 && !store_create(s3, &error))
		return print_error(EXIT_BAD, &error);
	if (!store_check(s3, &error))
		return print_error(EXIT_BAD, &error);
	printf("the bucket %s can be used\n", o->bucket);
	return EXIT_GOOD;
}

/*
 * The keeper (service/keeper.h) has the same file for each `serve`, and another
 * one for a `check`, in which its keys are if they are accepted.
 */
static bool read_keys(struct credentials *c, const struct helper_options *o,
		      struct error *error)
{
	bool is_read;

	if (!o->keep_keys)
		return credentials_read(c, o->credentials_file, o->profile,
					error);
	if (strcmp(o->command, "serve") == 0 && kept_is_there(KEEPER_KEYS))
		is_read = credentials_read_kept(c, KEEPER_KEYS, error);
	else
		is_read = credentials_read(c, o->credentials_file, o->profile,
					   error) &&
			  credentials_keep(c, KEEPER_KEYS, error);
	(void)close(KEEPER_KEYS);
	return is_read;
}

static enum exit_code run(const struct helper_options *o)
{
	static struct credentials credentials;
	struct s3_config config = {
		.endpoint = o->endpoint,
		.region = o->region,
		.bucket = o->bucket,
		.prefix = o->prefix != NULL ? o->prefix : "",
		.path_style = o->path_style,
		.ca_file = from_environment("SSL_CERT_FILE", "CURL_CA_BUNDLE",
					    NULL),
		.credentials = &credentials,
	};
	struct s3 *s3;
	struct error error;
	enum exit_code code;

	if (!read_keys(&credentials, o, &error))
		return print_error(EXIT_USAGE, &error);
	s3 = s3_new(&config, &error);
	explicit_bzero(&credentials, sizeof(credentials));
	if (s3 == NULL)
		return print_error(EXIT_USAGE, &error);
	code = run_command(o, s3);
	s3_free(s3);
	return code;
}

/*
 * The keys are in this process: others of the same user must not read its
 * memory, and no program that it might start may have more rights.
 */
static void protect(void)
{
	struct rlimit files;

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	/* A request may have a descriptor, and a connection. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

int main(int argc, char **argv)
{
	struct helper_options options = { 0 };
	struct error error;
	enum exit_code code = EXIT_GOOD;

	file_fill_standard();
	protect();
	if (!read_options(&options, argc, argv, &error)) {
		code = print_error(EXIT_USAGE, &error);
		fprintf(stderr, "Try 'darkroom-store --help'.\n");
	} else if (!program_answer(&program, &options.asked, DARKROOM_COMMIT,
				   stdout)) {
		code = run(&options);
	}
	/* Otherwise there is another error already. */
	if (code == EXIT_GOOD)
		return program_finish(&program, code);
	return code;
}
