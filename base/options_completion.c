/* SPDX-License-Identifier: MIT */
/*
 * The completion for bash, from a table of flags.
 *
 * What may stand in place of a value follows from `values`: of the alternatives
 * between '|', one that begins with a small letter or a digit is a word, and
 * FILE and DIR are paths.  A word ends before a capital or a bracket; where the
 * user has to go on, as after "n-gated=" of "n-gated=N", no space follows.
 */
#include "base/options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The same in each program's script. */
static const char offer[] =
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
static const char begin[] =
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

/* What may stand in a place. */
struct place {
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
static struct place write_words(FILE *out, const char *values)
{
	struct place place = { .has_files = false };
	bool has_others = false;

	while (*values != '\0') {
		size_t bytes = strcspn(values, "|"), word = find_word(values);

		if (word > 0 && isalnum((unsigned char)values[0])) {
			(void)fprintf(out, "%.*s ", (int)word, values);
			if (is_path(values, word)) {
				place.before_path = values;
				place.before_path_bytes = word;
			}
		} else if (is_path(values, 0)) {
			place.has_folders |= values[0] == 'D';
			place.has_files |= values[0] == 'F';
		} else {
			has_others = true;
		}
		values += bytes + (values[bytes] == '|');
	}
	place.has_files |= place.has_folders && has_others;
	return place;
}

/* The call that offers `values`, and what `word` returns, or NULL. */
static void print_offer(FILE *out, const char *values,
			const char *(*word)(uint32_t i))
{
	char *words = NULL;
	size_t bytes;
	FILE *to = open_memstream(&words, &bytes);
	struct place place;
	const char *next;

	if (to == NULL)
		return;
	place = write_words(to, values);
	for (uint32_t i = 0; word != NULL && (next = word(i)) != NULL; i++)
		(void)fprintf(to, "%s ", next);
	(void)fclose(to);
	if (place.before_path != NULL) {
		int before = (int)place.before_path_bytes;

		(void)fprintf(out,
			      "\t\t[[ $word != %.*s* ]] ||\n"
			      "\t\t\t{ _darkroom_offer \"${word#%.*s}\" -f ''; "
			      "return; }\n",
			      before, place.before_path, before,
			      place.before_path);
	}
	(void)fprintf(out, "\t\t_darkroom_offer \"$word\" '%s' '%s'",
		      place.has_files   ? "-f" :
		      place.has_folders ? "-d" :
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

void program_print_completion(const struct program *p, FILE *out)
{
	(void)fprintf(out, "# bash completion for %s\n%s_", p->name, offer);
	for (const char *c = p->name; *c != '\0'; c++)
		(void)fputc(*c == ' ' ? '_' : *c, out);
	(void)fprintf(out, "()\n{\n%s", begin);
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
