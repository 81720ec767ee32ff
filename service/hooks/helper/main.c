/* SPDX-License-Identifier: MIT */
/*
 * darkroom-webhook: the process of a server that sends its webhooks, and has
 * the keys that sign them.
 *
 * Only this file prints, reads the environment and ends the program.
 */
#include "service/hooks/helper/deliver.h"
#include "service/hooks/helper/secrets.h"
#include "service/hooks/protocol.h"
#include "service/keeper.h"
#include "service/kept.h"

#include "base/file.h"
#include "base/options.h"
#include "version.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum exit_code { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2 };

struct helper_options {
	const char *command;
	const char *key_file;
	const char *allowed;
	bool keep_keys;
	struct flags_asked asked;
};

static const struct flag flags[] = {
	{ "key-file", "FILE", NULL,
	  "file with the keys that sign, whsec_BASE64, one in each line",
	  FLAG_FIELD(struct helper_options, key_file) },
	{ "allow", "ORIGIN,...", NULL,
	  "origins that webhooks may go to, such as https://shop.example",
	  FLAG_FIELD(struct helper_options, allowed) },
	{ "keep-keys", NULL, NULL,
	  "serve, check: keep the keys in the anonymous file that is "
	  "descriptor 4; serve takes those that are in it",
	  FLAG_FIELD(struct helper_options, keep_keys) },
	FLAGS_ASKED(struct helper_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program program = {
	.name = "darkroom-webhook",
	.summary = "sends the webhooks of Darkroom",
	.usage = "serve|check|flags --key-file FILE --allow ORIGIN,... "
		 "[OPTION]...",
	.about = "The server darkroom starts \"darkroom-webhook serve\" for "
		 "--webhook and --webhook-allow, and speaks with it over "
		 "descriptor 3.  It starts the other commands, too.\n\n"
		 "flags, check: check flags and keys.",
	.groups = groups,
	.notes = "Certificates are checked with those of the system, or with "
		 "the file of SSL_CERT_FILE or CURL_CA_BUNDLE.",
	.exit_status = "0 good, 1 it could not serve, or the output could not "
		       "be written, 2 wrong usage.",
	.see_also = "darkroom(1)",
	.operand = "serve|check|flags",
	.follows_getopt = true,
};

/* A flag_take_fn. */
static bool take_argument(void *arg, const struct flag *f, const char *value,
			  struct error *why)
{
	static const char *const commands[] = { "serve", "check", "flags" };
	struct helper_options *o = arg;

	if (f != NULL)
		return flag_set(f, value, o, why);
	if (o->command != NULL)
		return error_fail(why, "'%s': one command is enough", value);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(value, commands[i]) == 0)
			o->command = value;
	return o->command != NULL ||
	       error_fail(why, "'%s': the commands are serve, check and flags",
			  value);
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
	if (o->key_file == NULL)
		return error_fail(error, "--key-file FILE is missing");
	if (o->allowed == NULL)
		return error_fail(error, "--allow ORIGIN,... is missing");
	return true;
}

static enum exit_code print_error(enum exit_code code,
				  const struct error *error)
{
	fprintf(stderr, "darkroom-webhook: %s\n", error->text);
	return code;
}

/* The text of the file of keys; the caller frees it.  NULL: `error`. */
static char *read_file(const char *path, struct error *error)
{
	struct error whose;
	const char *why;
	char *text = file_read_text(path, SECRETS_FILE_BYTES_MAX, &why);

	if (text != NULL)
		return text;
	error_set(&whose, "%s", why);
	if (errno == EACCES)
		file_explain(&whose, path, "", errno);
	error_set(error, "%s: %.400s", path, whose.text);
	return NULL;
}

static bool take_file(struct secrets *s, const struct helper_options *o,
		      struct error *error)
{
	char *text = read_file(o->key_file, error);
	struct error why;
	bool is_good;

	if (text == NULL)
		return false;
	is_good = secrets_read(s, text, &why);
	if (!is_good)
		error_set(error, "%s: %.400s", o->key_file, why.text);
	else if (o->keep_keys)
		is_good = kept_write(KEEPER_KEYS, text, strlen(text), error);
	explicit_bzero(text, strlen(text));
	free(text);
	return is_good;
}

static bool take_kept(struct secrets *s, struct error *error)
{
	char text[SECRETS_FILE_BYTES_MAX + 1];
	bool is_good;

	kept_read(KEEPER_KEYS, text, sizeof(text));
	is_good = secrets_read(s, text, error);
	explicit_bzero(text, sizeof(text));
	return is_good;
}

/*
 * The keeper (service/keeper.h) has the same file for each `serve`, and another
 * one for a `check`, in which its keys are if they are accepted.
 */
static bool take_keys(struct secrets *s, const struct helper_options *o,
		      struct error *error)
{
	bool is_kept = o->keep_keys && strcmp(o->command, "serve") == 0 &&
		       kept_is_there(KEEPER_KEYS);
	bool is_good = is_kept ? take_kept(s, error) : take_file(s, o, error);

	if (o->keep_keys)
		(void)close(KEEPER_KEYS);
	return is_good;
}

static const char *ca_file(void)
{
	const char *text = getenv("SSL_CERT_FILE");

	if (text == NULL || *text == '\0')
		text = getenv("CURL_CA_BUNDLE");
	return text != NULL && *text != '\0' ? text : NULL;
}

static enum exit_code run(const struct helper_options *o)
{
	static struct secrets secrets;
	const struct deliver_config config = {
		.secrets = &secrets,
		.allowed = o->allowed,
		.ca_file = ca_file(),
	};
	struct error error;
	const char *why;

	if (!hook_check_origins(o->allowed, &why)) {
		error_set(&error, "--allow: '%.200s': %s", o->allowed, why);
		return print_error(EXIT_USAGE, &error);
	}
	if (!take_keys(&secrets, o, &error))
		return print_error(EXIT_USAGE, &error);
	if (strcmp(o->command, "serve") != 0 || deliver(&config))
		return EXIT_GOOD;
	error_set(&error, "libcurl could not be started");
	return print_error(EXIT_BAD, &error);
}

/*
 * The keys are in this process: others of the same user must not read its
 * memory, and no program that it might start may have more rights.
 */
static void protect(void)
{
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)signal(SIGPIPE, SIG_IGN);
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
		fprintf(stderr, "Try 'darkroom-webhook --help'.\n");
	} else if (!program_answer(&program, &options.asked, DARKROOM_COMMIT,
				   stdout)) {
		code = run(&options);
	}
	/* Otherwise there is another error already. */
	if (code == EXIT_GOOD)
		return program_finish(&program, code);
	return code;
}
