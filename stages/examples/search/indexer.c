/* SPDX-License-Identifier: MIT */
/*
 * search_index: make the index of the texts and man pages in some folders.
 *
 * A document is the beginning of a file: of a man page, its text without
 * requests of roff.  Its title is the name of the man page, or else the path
 * below the folder.
 */
#define _XOPEN_SOURCE 700 /* nftw() */
#include "index.h"

#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char usage[] =
	"usage: search_index [--bytes N] INDEX FOLDER...\n"
	"Make INDEX, a new file, of the texts and man pages in the folders; "
	"they "
	"may be\n"
	"compressed by gzip.\n"
	"  --bytes N   of each text, the first N; default 2000\n"
	"  --help      print this\n";

enum { FILE_BYTES = 65536, BYTES_MAX = FILE_BYTES, OPEN_FOLDERS = 20 };

/* nftw() passes no argument. */
static struct {
	struct index_writer *writer;
	size_t folder_length, bytes_max;
	size_t count, left_out;
	char why[WHY_BYTES];
	char raw[FILE_BYTES + 1], text[FILE_BYTES + 2];
} indexer;

/* --- Man pages. --- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Skip a name after \f, \* and the like: one letter, (two, or [many]. */
static const char *skip_name(const char *at)
{
	if (*at == '(')
		return at[1] != '\0' && at[2] != '\0' ? at + 3 : at + 1;
	if (*at == '[') {
		at += strcspn(at, "]\n");
		return *at == ']' ? at + 1 : at;
	}
	return *at == '\0' || *at == '\n' ? at : at + 1;
}

/* The characters of an escape sequence, whose backslash is before `at`. */
static const char *skip_escape(const char *at, char *character)
{
	*character = '\0';
	switch (*at) {
	case '-':
	case '\'':
	case '.':
		*character = *at;
		return at + 1;
	case 'e':
		*character = '\\';
		return at + 1;
	case '"':
		return at + strcspn(at, "\n");
	case '(':
	case '[':
		return skip_name(at);
	case 'f':
	case '*':
		return skip_name(at + 1);
	case 's':
		at++;
		if (*at == '+' || *at == '-')
			at++;
		return at + strspn(at, "0123456789");
	default:
		return *at == '\0' || *at == '\n' ? at : at + 1;
	}
}

/* Requests of roff have small letters; macros with text have large ones. */
static const char *begin_line(const char *at)
{
	if (*at != '.' && *at != '\'')
		return at;
	at++;
	at += strspn(at, " \t");
	if (!(*at >= 'A' && *at <= 'Z'))
		return at + strcspn(at, "\n");
	while (is_letter(*at))
		at++;
	return at;
}

/* `to` has room for all of `from`, and a newline. */
static size_t man_text(const char *from, char *to)
{
	char *first = to, *line, character;

	while (*from != '\0') {
		bool is_request = *from == '.' || *from == '\'';

		from = begin_line(from);
		from += strspn(from, " \t");
		line = to;
		while (*from != '\0' && *from != '\n') {
			if (*from == '\\') {
				from = skip_escape(from + 1, &character);
				if (character != '\0')
					*to++ = character;
			} else if (is_request && *from == '"') {
				from++;
			} else {
				*to++ = *from++;
			}
		}
		if (to > line)
			*to++ = '\n';
		if (*from == '\n')
			from++;
	}
	return (size_t)(to - first);
}

/* --- Files. --- */

/* Is the file in a folder such as man1? */
static bool is_man(const char *path, const struct FTW *at)
{
	const char *folder;

	if (at->base < 2)
		return false;
	for (folder = path + at->base - 1; folder > path && folder[-1] != '/';)
		folder--;
	return strncmp(folder, "man", 3) == 0 && folder[3] >= '0' &&
	       folder[3] <= '9';
}

static void make_title(const char *path, const struct FTW *at, bool is_man,
		       char title[TITLE_BYTES])
{
	const char *from = path + indexer.folder_length;
	char *dot;

	while (*from == '/')
		from++;
	snprintf(title, TITLE_BYTES, "%s", is_man ? path + at->base : from);
	dot = strrchr(title, '.');
	if (dot != NULL && strcmp(dot, ".gz") == 0)
		*dot = '\0';
	dot = strrchr(title, '.');
	if (is_man && dot != NULL && dot > title)
		*dot = '\0';
}

/* Returns the length, or 0 for a file that cannot be read. */
static size_t read_file(const char *path)
{
	gzFile file = gzopen(path, "rb");
	int length;

	if (file == NULL)
		return 0;
	length = gzread(file, indexer.raw, FILE_BYTES);
	gzclose_r(file);
	return length < 0 ? 0 : (size_t)length;
}

static int add_file(const char *path, const struct stat *st, int kind,
		    struct FTW *at)
{
	char title[TITLE_BYTES];
	const char *text = indexer.raw;
	size_t length;

	(void)st;
	if (kind != FTW_F)
		return 0;
	length = read_file(path);
	/* Neither an empty file nor a picture is a text. */
	if (length == 0 || memchr(indexer.raw, '\0', length) != NULL) {
		indexer.left_out++;
		return 0;
	}
	indexer.raw[length] = '\0';
	if (is_man(path, at)) {
		length = man_text(indexer.raw, indexer.text);
		text = indexer.text;
	}
	make_title(path, at, text == indexer.text, title);
	if (length > indexer.bytes_max)
		length = indexer.bytes_max;
	indexer.count++;
	return index_add(indexer.writer, title, text, length, indexer.why) ? 0 :
									     -1;
}

static bool add_folder(const char *folder)
{
	indexer.folder_length = strlen(folder);
	if (nftw(folder, add_file, OPEN_FOLDERS, FTW_PHYS) == 0)
		return true;
	if (indexer.why[0] == '\0')
		snprintf(indexer.why, sizeof(indexer.why), "%s: %s", folder,
			 strerror(errno));
	return false;
}

static size_t read_bytes(const char *text)
{
	char *rest;
	unsigned long n = strtoul(text, &rest, 10);

	if (*text < '0' || *text > '9' || *rest != '\0' || n == 0 ||
	    n > BYTES_MAX) {
		fprintf(stderr, "search_index: --bytes is from 1 to %d\n",
			BYTES_MAX);
		exit(2);
	}
	return n;
}

static void read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int id;

	indexer.bytes_max = 2000;
	while ((id = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (id == 'h')
			exit(fputs(usage, stdout) < 0 || fflush(stdout) != 0);
		if (id != 'b') {
			fputs(usage, stderr);
			exit(2);
		}
		indexer.bytes_max = read_bytes(optarg);
	}
	if (argc - optind < 2) {
		fputs(usage, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	bool ok;

	read_options(argc, argv);
	indexer.writer = index_create(argv[optind], indexer.why);
	ok = indexer.writer != NULL;
	for (int i = optind + 1; i < argc && ok; i++)
		ok = add_folder(argv[i]);
	ok = ok && index_finish(indexer.writer, indexer.why);
	index_writer_free(indexer.writer);
	if (!ok) {
		fprintf(stderr, "search_index: %s\n", indexer.why);
		return EXIT_FAILURE;
	}
	printf("documents %zu  left-out %zu\n", indexer.count,
	       indexer.left_out);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
