/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/test/xml.h"

#include <ctype.h>
#include <string.h>

enum { DEPTH_MAX = 16, NAME_MAX_BYTES = 32 };

struct parser {
	const char *at;
	char open[DEPTH_MAX][NAME_MAX_BYTES];
	int depth;
	int roots;
};

static bool take(struct parser *p, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(p->at, text, length) != 0)
		return false;
	p->at += length;
	return true;
}

static bool take_name(struct parser *p, char name[NAME_MAX_BYTES])
{
	size_t length = 0;

	while (isalnum((unsigned char)p->at[length]) || p->at[length] == '-' ||
	       p->at[length] == ':')
		length++;
	if (length == 0 || length >= NAME_MAX_BYTES)
		return false;
	memcpy(name, p->at, length);
	name[length] = '\0';
	p->at += length;
	return true;
}

static bool take_entity(struct parser *p)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;",
						"&quot;", "&#39;" };

	for (int i = 0; i < 5; i++)
		if (take(p, entities[i]))
			return true;
	return false;
}

/* Skip text up to one of the characters `ends`. */
static bool take_text(struct parser *p, const char *ends)
{
	while (*p->at != '\0' && strchr(ends, *p->at) == NULL) {
		if (*p->at == '<' || (unsigned char)*p->at < '\t')
			return false;
		if (*p->at != '&')
			p->at++;
		else if (!take_entity(p))
			return false;
	}
	return true;
}

static void skip_space(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool take_attributes(struct parser *p)
{
	char name[NAME_MAX_BYTES];
	char quote[2] = "";

	for (skip_space(p); *p->at != '/' && *p->at != '>'; skip_space(p)) {
		if (!take_name(p, name))
			return false;
		skip_space(p);
		if (!take(p, "="))
			return false;
		skip_space(p);
		*quote = *p->at;
		if (strchr("\"'", *quote) == NULL || !take(p, quote) ||
		    !take_text(p, quote) || !take(p, quote))
			return false;
	}
	return true;
}

static bool take_tag(struct parser *p)
{
	char name[NAME_MAX_BYTES];

	if (take(p, "/"))
		return take_name(p, name) && p->depth > 0 &&
		       strcmp(p->open[--p->depth], name) == 0 && take(p, ">");
	if (!take_name(p, name) || !take_attributes(p))
		return false;
	p->roots += p->depth == 0;
	if (take(p, "/>"))
		return true;
	if (p->depth == DEPTH_MAX)
		return false;
	strcpy(p->open[p->depth++], name);
	return take(p, ">");
}

bool xml_is_well_formed(const char *text)
{
	struct parser p = { .at = text };

	if (take(&p, "<?xml"))
		p.at = strstr(p.at, "?>") != NULL ? strstr(p.at, "?>") + 2 :
						    "<";
	while (*p.at != '\0') {
		bool taken = take(&p, "<") ? take_tag(&p) : take_text(&p, "<");

		if (!taken)
			return false;
	}
	return p.depth == 0 && p.roots == 1;
}
