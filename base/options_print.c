/* SPDX-License-Identifier: MIT */
/* The help, the man page and the completion, from a table of flags. */
#include "base/options.h"

#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 79, FLAG_INDENT = 6, ITEM_INDENT = 2 };

/*
 * Where deploy/CMakeLists.txt installs what texts name.  DARKROOM_PROGRAMS,
 * DARKROOM_DOCS and DARKROOM_DATA are folders.
 */
static const struct {
	const char *in_sources, *installed;
} places[] = {
	{ "docs/loadgen.md", DARKROOM_DOCS "-loadgen/loadgen.md" },
	{ "docs/", DARKROOM_DOCS "/" },
	{ "loadgen/plans", DARKROOM_DATA "/plans" },
};

static bool is_installed(void)
{
	char path[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (bytes < 0)
		return false;
	path[bytes] = '\0';
	*strrchr(path, '/') = '\0';
	return strcmp(path, DARKROOM_PROGRAMS) == 0;
}

/*
 * The text with the paths of an installed program or, if not `installed`, as it
 * is.  The caller frees it.  NULL: out of memory.
 */
static char *place(const char *text, bool installed)
{
	struct text to;
	FILE *out = installed ? text_open(&to) : NULL;

	if (out == NULL)
		return installed ? NULL : strdup(text);
	while (*text != '\0') {
		size_t i = 0, bytes = 0;

		for (; i < ARRAY_SIZE(places); i++) {
			bytes = strlen(places[i].in_sources);
			if (strncmp(text, places[i].in_sources, bytes) == 0)
				break;
		}
		if (i < ARRAY_SIZE(places)) {
			(void)fputs(places[i].installed, out);
			text += bytes;
		} else {
			(void)fputc(*text++, out);
		}
	}
	return text_close(&to, out);
}

/* The lines of a text being wrapped. */
struct wrap {
	FILE *out;
	int indent, column;
};

static void wrap_break(struct wrap *w, int indent)
{
	(void)fprintf(w->out, "\n%*s", indent, "");
	w->column = indent;
}

static void wrap_word(struct wrap *w, const char *word, int length)
{
	bool is_first = w->column <= w->indent;

	if (!is_first && w->column + 1 + length > COLUMNS) {
		wrap_break(w, w->indent);
		is_first = true;
	}
	w->column +=
		fprintf(w->out, "%s%.*s", is_first ? "" : " ", length, word);
}

/* Does an item of a list begin after this line feed? */
static bool begins_item(const char *line_feed)
{
	return strncmp(line_feed, "\n  ", 3) == 0 && line_feed[3] != ' ';
}

/* Empty lines separate paragraphs; struct flag says what starts an item. */
static void wrap_text(FILE *out, const char *text, int indent)
{
	struct wrap w = { out, indent, indent };

	(void)fprintf(out, "%*s", indent, "");
	while (*text != '\0') {
		size_t length = strcspn(text, " \n");

		if (length > 0) {
			wrap_word(&w, text, (int)length);
			text += length;
		} else if (strncmp(text, "\n\n", 2) == 0) {
			w.indent = indent;
			(void)fputc('\n', out);
			wrap_break(&w, indent);
			text += 2;
		} else if (begins_item(text)) {
			wrap_break(&w, indent + ITEM_INDENT);
			w.indent = indent + 2 * ITEM_INDENT;
			text += 3;
		} else {
			text++;
		}
	}
	(void)fputc('\n', out);
}

/* The help being printed. */
struct help {
	FILE *out;
	bool is_installed;
};

static void print_wrapped(const struct help *h, const char *text, int indent)
{
	char *placed = place(text, h->is_installed);

	wrap_text(h->out, placed != NULL ? placed : text, indent);
	free(placed);
}

static bool is_listed(const struct flag *f)
{
	return !f->is_hidden && f->removed == NULL;
}

static void print_flag_help(const struct help *h, const char *dashes,
			    const struct flag *f)
{
	(void)fprintf(h->out, "  %s%s%s%s", dashes, f->name,
		      f->values != NULL ? " " : "",
		      f->values != NULL ? f->values : "");
	if (f->initial != NULL)
		(void)fprintf(h->out, "   (default %s)", f->initial);
	(void)fputc('\n', h->out);
	print_wrapped(h, f->help, FLAG_INDENT);
}

/* `dashes` stand before each name. */
static void print_groups(const struct help *h, const char *dashes,
			 const struct flag_group *g)
{
	for (; g->flags != NULL; g++) {
		(void)fputc('\n', h->out);
		if (g->title != NULL) {
			char *title = place(g->title, h->is_installed);

			(void)fprintf(h->out, "%s:\n",
				      title != NULL ? title : g->title);
			free(title);
		}
		if (g->about != NULL)
			print_wrapped(h, g->about, 0);
		if (g->title != NULL)
			(void)fputc('\n', h->out);
		for (const struct flag *f = g->flags; f->name != NULL; f++)
			if (is_listed(f))
				print_flag_help(h, dashes, f);
	}
}

static void print_help(const struct program *p, FILE *out)
{
	const struct help h = { out, is_installed() };

	(void)fprintf(out, "Usage: %s %s\n", p->name, p->usage);
	print_wrapped(&h, p->about, 0);
	print_groups(&h, "--", p->groups);
	if (p->keys != NULL)
		print_groups(&h, "", p->keys);
	if (p->notes != NULL) {
		(void)fputc('\n', out);
		print_wrapped(&h, p->notes, 0);
	}
	if (p->exit_status != NULL) {
		(void)fputs("\nExit status:\n", out);
		print_wrapped(&h, p->exit_status, 0);
	}
	if (p->print_more != NULL) {
		(void)fputc('\n', out);
		p->print_more(out);
	}
}

/*
 * Escape what is special in roff: a backslash, a minus, and a dot or a quote at
 * the beginning of a line.
 */
static void print_roff_char(FILE *out, char c, bool begins_line)
{
	if (begins_line && (c == '.' || c == '\''))
		(void)fputs("\\&", out);
	if (c == '\\')
		(void)fputs("\\e", out);
	else if (c == '-')
		(void)fputs("\\-", out);
	else
		(void)fputc(c, out);
}

static void print_roff_text(FILE *out, const char *text)
{
	bool begins_line = true;

	while (*text != '\0') {
		if (strncmp(text, "\n\n", 2) == 0) {
			(void)fputs("\n.PP\n", out);
			text += 2;
			begins_line = true;
		} else if (begins_item(text)) {
			(void)fputs("\n.br\n", out);
			text += 3;
			begins_line = true;
		} else if (isspace((unsigned char)*text)) {
			text += strspn(text, " \n");
			if (*text != '\0')
				(void)fputc(' ', out);
		} else {
			print_roff_char(out, *text++, begins_line);
			begins_line = false;
		}
	}
	(void)fputc('\n', out);
}

/* A man page is read where the program is installed. */
static void print_roff(FILE *out, const char *text)
{
	char *placed = place(text, true);

	print_roff_text(out, placed != NULL ? placed : text);
	free(placed);
}

static void print_roff_section(FILE *out, const char *title, const char *text)
{
	if (text == NULL)
		return;
	(void)fprintf(out, ".SH %s\n", title);
	print_roff(out, text);
}

static void print_roff_flag(FILE *out, const char *dashes, const struct flag *f)
{
	(void)fputs(".TP\n\\fB", out);
	for (; *dashes != '\0'; dashes++)
		print_roff_char(out, *dashes, false);
	for (const char *c = f->name; *c != '\0'; c++)
		print_roff_char(out, *c, false);
	(void)fputs("\\fR", out);
	if (f->values != NULL) {
		(void)fputs(" \\fI", out);
		for (const char *c = f->values; *c != '\0'; c++)
			print_roff_char(out, *c, false);
		(void)fputs("\\fR", out);
	}
	(void)fputc('\n', out);
	print_roff(out, f->help);
	if (f->initial == NULL)
		return;
	(void)fputs(".br\nDefault: ", out);
	print_roff(out, f->initial);
}

static void print_roff_groups(FILE *out, const char *dashes,
			      const struct flag_group *g)
{
	for (; g->flags != NULL; g++) {
		if (g->title != NULL) {
			(void)fputs(".SS ", out);
			print_roff(out, g->title);
		}
		if (g->about != NULL)
			print_roff(out, g->about);
		for (const struct flag *f = g->flags; f->name != NULL; f++)
			if (is_listed(f))
				print_roff_flag(out, dashes, f);
	}
}

/* Print what `print` prints, with its own line ends instead of wrapping. */
static void print_roff_lines(FILE *out, void (*print)(FILE *to))
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (to == NULL)
		return;
	print(to);
	(void)fclose(to);
	(void)fputs(".SH MORE\n.nf\n", out);
	for (size_t i = 0; i < bytes; i++)
		print_roff_char(out, text[i], i == 0 || text[i - 1] == '\n');
	(void)fputs(".fi\n", out);
	free(text);
}

static void print_roff_environment(const struct program *p, FILE *out)
{
	char text[512], variable[FLAG_VARIABLE_BYTES];
	const char *example = p->groups->flags->name;

	if (p->prefix == NULL)
		return;
	flag_print_variable(p, example, variable);
	(void)snprintf(text, sizeof(text),
		       "A flag that the command line does not give is read "
		       "from a variable, such as %s for --%s. A switch has the "
		       "value true or false.",
		       variable, example);
	print_roff_section(out, "ENVIRONMENT", text);
}

/*
 * The page has no date, so that the same sources always give the same page.
 * The page of "loadgen compare" is called loadgen-compare.
 */
static void print_man(const struct program *p, FILE *out)
{
	(void)fputs(".TH ", out);
	for (const char *c = p->name; *c != '\0'; c++)
		(void)fputc(*c == ' ' ? '-' : toupper((unsigned char)*c), out);
	(void)fputs(" 1 \"\" \"darkroom " DARKROOM_VERSION
		    "\" \"User Commands\"\n.SH NAME\n",
		    out);
	for (const char *c = p->name; *c != '\0'; c++)
		print_roff_char(out, *c == ' ' ? '-' : *c, false);
	(void)fputs(" \\- ", out);
	print_roff(out, p->summary);
	(void)fprintf(out, ".SH SYNOPSIS\n.B %s\n", p->name);
	print_roff(out, p->usage);
	print_roff_section(out, "DESCRIPTION", p->about);
	(void)fputs(".SH OPTIONS\n", out);
	print_roff_groups(out, "--", p->groups);
	if (p->keys != NULL) {
		(void)fputs(".SH FILE FORMAT\n", out);
		print_roff_groups(out, "", p->keys);
	}
	print_roff_section(out, "NOTES", p->notes);
	if (p->print_more != NULL)
		print_roff_lines(out, p->print_more);
	print_roff_environment(p, out);
	print_roff_section(out, "EXIT STATUS", p->exit_status);
	print_roff_section(out, "SEE ALSO", p->see_also);
}

/*
 * The completion for bash.
 *
 * What may stand in place of a value follows from `values`: of the alternatives
 * between '|', one that begins with a small letter or a digit is a word, and
 * FILE and DIR are paths.  A word ends before a capital or a bracket; where the
 * user has to go on, as after "n-gated=" of "n-gated=N", no space follows.
 */

/* The same in each program's script. */
static const char completion_offer[] =
	"# _darkroom_offer WORD PATHS WORDS: complete WORD by these words\n"
	"# and, if PATHS is -f or -d, by files or folders.  Bash itself keeps\n"
	"# what stands before the last = or :, because it splits words there.\n"
	"# A word that goes on, as n-gated=, gets no space.\n"
	"_darkroom_offer()\n"
	"{\n"
	"\tlocal word=${1//\\\\/} breaks=${COMP_WORDBREAKS//[^=:]/} kept=\n"
	"\tmapfile -t COMPREPLY < <(\n"
	"\t\tcompgen -W \"$3\" -- \"$word\" || :\n"
	"\t\t[ -z \"$2\" ] || compgen \"$2\" -- \"$word\")\n"
	"\t[ -z \"$2\" ] || compopt -o filenames\n"
	"\t[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=/:] ]] ||\n"
	"\t\tcompopt -o nospace\n"
	"\t[ -z \"$breaks\" ] || kept=${word%\"${word##*[$breaks]}\"}\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$kept\"}\")\n"
	"}\n";

/*
 * Bash splits words at '=' and ':', so "--flag=a:b" is five words; they are put
 * together again.
 */
static const char completion_begin[] =
	"\tlocal at=$COMP_CWORD word=${COMP_WORDS[COMP_CWORD]} flag\n"
	"\twhile [ $at -gt 1 ] && [[ ${COMP_WORDS[at]} =~ ^[=:]+$ ||\n"
	"\t\t${COMP_WORDS[at - 1]} =~ ^[=:]+$ ]]; do\n"
	"\t\tword=${COMP_WORDS[--at]}$word\n"
	"\tdone\n"
	"\tflag=${COMP_WORDS[at - 1]}\n"
	"\tif [[ $word = --*=* ]]; then\n"
	"\t\tflag=${word%%=*}\n"
	"\t\tword=${word#*=}\n"
	"\tfi\n"
	"\tcase $flag in\n";

/* What may stand at one place of a command line. */
struct slot {
	bool has_files, has_folders;
	/* The begin of a word after which a path stands, "trace="; or NULL. */
	const char *before_path;
	size_t before_path_bytes;
};

/* Does a path follow `word_bytes` bytes of the alternative? */
static bool is_path(const char *alternative, size_t word_bytes)
{
	const char *rest = alternative + word_bytes;

	return strncmp(rest, "FILE", 4) == 0 || strncmp(rest, "DIR", 3) == 0;
}

/* How many bytes of the alternative are the same in each value? */
static size_t find_word(const char *alternative)
{
	size_t bytes = 0;

	while (alternative[bytes] != '\0' &&
	       strchr("|[,", alternative[bytes]) == NULL &&
	       !isupper((unsigned char)alternative[bytes]))
		bytes++;
	return bytes;
}

/*
 * Read "a|b=N|c[=N]|FILE" and write its words, each with a space after it.
 * Other paths than folders may be a LIST of files.
 */
static struct slot write_words(FILE *out, const char *values)
{
	struct slot slot = { .has_files = false };
	bool has_others = false;

	while (*values != '\0') {
		size_t bytes = strcspn(values, "|"), word = find_word(values);

		if (word > 0 && isalnum((unsigned char)values[0])) {
			(void)fprintf(out, "%.*s ", (int)word, values);
			if (is_path(values, word)) {
				slot.before_path = values;
				slot.before_path_bytes = word;
			}
		} else if (is_path(values, 0)) {
			slot.has_folders |= values[0] == 'D';
			slot.has_files |= values[0] == 'F';
		} else {
			has_others = true;
		}
		values += bytes + (values[bytes] == '|');
	}
	slot.has_files |= slot.has_folders && has_others;
	return slot;
}

/* The call that offers `values`, and what `word` returns, or NULL. */
static void print_offer(FILE *out, const char *values,
			const char *(*word)(uint32_t i))
{
	char *words = NULL;
	size_t bytes;
	FILE *to = open_memstream(&words, &bytes);
	struct slot slot;
	const char *next;

	if (to == NULL)
		return;
	slot = write_words(to, values);
	for (uint32_t i = 0; word != NULL && (next = word(i)) != NULL; i++)
		(void)fprintf(to, "%s ", next);
	(void)fclose(to);
	if (slot.before_path != NULL) {
		int before = (int)slot.before_path_bytes;

		(void)fprintf(out,
			      "\t\t[[ $word != %.*s* ]] ||\n"
			      "\t\t\t{ _darkroom_offer \"${word#%.*s}\" -f ''; "
			      "return; }\n",
			      before, slot.before_path, before,
			      slot.before_path);
	}
	(void)fprintf(out, "\t\t_darkroom_offer \"$word\" '%s' '%s'",
		      slot.has_files   ? "-f" :
		      slot.has_folders ? "-d" :
					 "",
		      words);
	free(words);
}

static void print_flag_values(FILE *out, const struct flag *f)
{
	if (f->values == NULL || f->removed != NULL)
		return;
	(void)fprintf(out, "\t--%s)\n", f->name);
	print_offer(out, f->values, f->word);
	(void)fputs("\n\t\treturn ;;\n", out);
}

/*
 * The last lines of a completion script: they name the program that it
 * completes.  The script of "loadgen compare" extends that of loadgen: the
 * shell must read that of loadgen before it.
 */
static void print_end(FILE *out, const char *name)
{
	int bytes = (int)strcspn(name, " ");
	const char *command = name + bytes;

	if (*command == '\0') {
		(void)fprintf(out, "complete -F _%s %s\n", name, name);
		return;
	}
	(void)fprintf(out,
		      "_%.*s_or_%s()\n{\n"
		      "\tif [ \"${COMP_WORDS[1]}\" = %s ] && "
		      "[ \"$COMP_CWORD\" -gt 1 ]; then\n"
		      "\t\t_%.*s_%s\n\telse\n\t\t_%.*s\n\tfi\n}\n"
		      "complete -F _%.*s_or_%s %.*s\n",
		      bytes, name, command + 1, command + 1, bytes, name,
		      command + 1, bytes, name, bytes, name, command + 1, bytes,
		      name);
}

static void print_completion(const struct program *p, FILE *out)
{
	(void)fprintf(out, "# bash completion for %s\n%s_", p->name,
		      completion_offer);
	for (const char *c = p->name; *c != '\0'; c++)
		(void)fputc(*c == ' ' ? '_' : *c, out);
	(void)fprintf(out, "()\n{\n%s", completion_begin);
	for (const struct flag_group *g = p->groups; g->flags != NULL; g++)
		for (const struct flag *f = g->flags; f->name != NULL; f++)
			print_flag_values(out, f);
	(void)fputs("\tesac\n\tcase $word in\n\t-*)\n"
		    "\t\t_darkroom_offer \"$word\" '' '",
		    out);
	for (const struct flag_group *g = p->groups; g->flags != NULL; g++)
		for (const struct flag *f = g->flags; f->name != NULL; f++)
			if (!f->is_hidden && f->removed == NULL)
				(void)fprintf(out, "--%s ", f->name);
	(void)fputs("' ;;\n", out);
	if (p->operand != NULL) {
		(void)fputs("\t*)\n", out);
		print_offer(out, p->operand, NULL);
		(void)fputs(" ;;\n", out);
	}
	(void)fputs("\tesac\n}\n", out);
	print_end(out, p->name);
}

static void print_version(const struct program *p, const char *commit,
			  FILE *out)
{
	(void)fprintf(out, "%s " DARKROOM_VERSION " (commit %s)\n", p->name,
		      commit);
	if (p->print_built_with != NULL)
		p->print_built_with(out);
}

bool program_answer(const struct program *p, const struct flags_asked *asked,
		    const char *commit, FILE *out)
{
	if (asked->help)
		print_help(p, out);
	else if (asked->version)
		print_version(p, commit, out);
	else if (asked->man)
		print_man(p, out);
	else if (asked->completion)
		print_completion(p, out);
	else
		return false;
	return true;
}

int program_finish(const struct program *p, int status)
{
	struct error error;

	if (file_finish(stdout, &error))
		return status;
	(void)fprintf(stderr, "%s: %s\n", p->name, error.text);
	return status != 0 ? status : 1;
}
