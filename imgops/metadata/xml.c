/* SPDX-License-Identifier: MIT */
#include "imgops/metadata/xml.h"

#include <string.h>

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_named(uint8_t c)
{
	return c > ' ' && strchr("=/<>\"'&", c) == NULL;
}

static bool is_same(struct metadata_span a, struct metadata_span b)
{
	return a.count == b.count && memcmp(a.bytes, b.bytes, a.count) == 0;
}

static bool begins(const uint8_t *at, const uint8_t *end, const char *text)
{
	size_t count = strlen(text);

	return (size_t)(end - at) >= count && memcmp(at, text, count) == 0;
}

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

static struct metadata_span take_name(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *from = *at;

	while (*at < end && is_named(**at))
		++*at;
	return (struct metadata_span){ from, (size_t)(*at - from) };
}

void xml_begin(struct xml *x, struct metadata_span text)
{
	*x = (struct xml){ .at = text.bytes, .end = text.bytes + text.count };
}

bool xml_attribute(struct xml_attribute *a, struct metadata_span *left)
{
	const uint8_t *at = left->bytes, *end = at + left->count, *from;

	a->start = at;
	at = skip_space(at, end);
	if (at == a->start)
		return false;
	a->name = take_name(&at, end);
	at = skip_space(at, end);
	if (a->name.count == 0 || at == end || *at++ != '=')
		return false;
	at = skip_space(at, end);
	if (at == end || (*at != '"' && *at != '\''))
		return false;
	from = at + 1;
	for (at = from; at < end && *at != from[-1]; at++)
		if (*at == '<')
			return false;
	if (at == end)
		return false;
	a->value = (struct metadata_span){ from, (size_t)(at - from) };
	a->end = at + 1;
	left->count -= (size_t)(a->end - left->bytes);
	left->bytes = a->end;
	return true;
}

/* --- Namespaces --- */

/* "prefix:local" or "local", which has the prefix "". */
static struct metadata_span prefix_of(struct metadata_span *name)
{
	struct metadata_span prefix = { name->bytes, 0 };
	const uint8_t *colon = memchr(name->bytes, ':', name->count);

	if (colon != NULL) {
		prefix.count = (size_t)(colon - name->bytes);
		name->bytes += prefix.count + 1;
		name->count -= prefix.count + 1;
	}
	return prefix;
}

/* The namespaces that a tag declares.  False: these are too many. */
static bool declare(struct xml *x, struct metadata_span attributes)
{
	static const struct metadata_span xmlns = { (const uint8_t *)"xmlns",
						    5 };
	struct xml_attribute a;

	while (xml_attribute(&a, &attributes)) {
		struct metadata_span local = a.name, prefix = prefix_of(&local);

		if (is_same(a.name, xmlns))
			local.count = 0;
		else if (!is_same(prefix, xmlns))
			continue;
		if (x->space_count == XML_SPACES_MAX)
			return false;
		x->spaces[x->space_count].prefix = local;
		x->spaces[x->space_count].name = a.value;
		x->spaces[x->space_count++].depth = x->depth;
	}
	return true;
}

bool xml_is(const struct xml *x, struct metadata_span name, const char *space,
	    const char *local)
{
	struct metadata_span prefix = prefix_of(&name);
	size_t chars = strlen(space);
	uint32_t i = x->space_count;

	while (i > 0 && !is_same(x->spaces[i - 1].prefix, prefix))
		i--;
	if (i == 0 || x->spaces[i - 1].name.count < chars ||
	    memcmp(x->spaces[i - 1].name.bytes, space, chars) != 0)
		return false;
	return local == NULL || (x->spaces[i - 1].name.count == chars &&
				 name.count == strlen(local) &&
				 memcmp(name.bytes, local, name.count) == 0);
}

/* --- Tokens --- */

/* A token that ends with `mark`. */
static enum xml_kind take_until(struct xml *x, const char *mark)
{
	while (x->at < x->end && !begins(x->at, x->end, mark))
		x->at++;
	if (x->at == x->end)
		return XML_BAD;
	x->at += strlen(mark);
	return XML_OTHER;
}

static enum xml_kind take_close(struct xml *x, struct xml_token *t)
{
	x->at += 2;
	t->name = take_name(&x->at, x->end);
	x->at = skip_space(x->at, x->end);
	if (x->at == x->end || *x->at++ != '>' || x->depth == 0 ||
	    !is_same(t->name, x->open[x->depth - 1]))
		return XML_BAD;
	x->closes = true;
	return XML_CLOSE;
}

static enum xml_kind take_open(struct xml *x, struct xml_token *t)
{
	struct metadata_span left;
	struct xml_attribute a;

	x->at++;
	t->name = take_name(&x->at, x->end);
	if (t->name.count == 0 || x->depth == XML_DEPTH_MAX)
		return XML_BAD;
	left = (struct metadata_span){ x->at, (size_t)(x->end - x->at) };
	while (xml_attribute(&a, &left))
		;
	t->attributes =
		(struct metadata_span){ x->at, (size_t)(left.bytes - x->at) };
	x->at = skip_space(left.bytes, x->end);
	x->open[x->depth++] = t->name;
	if (!declare(x, t->attributes))
		return XML_BAD;
	x->closes = begins(x->at, x->end, "/>");
	x->at += x->closes;
	if (x->at == x->end || *x->at++ != '>')
		return XML_BAD;
	return x->closes ? XML_EMPTY : XML_OPEN;
}

static void close_element(struct xml *x)
{
	x->depth--;
	while (x->space_count > 0 &&
	       x->spaces[x->space_count - 1].depth > x->depth)
		x->space_count--;
	x->closes = false;
}

void xml_next(struct xml *x, struct xml_token *t)
{
	if (x->closes)
		close_element(x);
	*t = (struct xml_token){ .start = x->at };
	if (x->at == x->end) {
		t->kind = x->depth == 0 ? XML_END : XML_BAD;
	} else if (*x->at != '<') {
		while (x->at < x->end && *x->at != '<')
			x->at++;
		t->kind = XML_TEXT;
	} else if (begins(x->at, x->end, "<?")) {
		t->kind = take_until(x, "?>");
	} else if (begins(x->at, x->end, "<!--")) {
		t->kind = take_until(x, "-->");
	} else if (begins(x->at, x->end, "<![CDATA[")) {
		t->kind = take_until(x, "]]>");
	} else if (begins(x->at, x->end, "</")) {
		t->kind = take_close(x, t);
	} else {
		t->kind = take_open(x, t); /* "<!" has no name */
	}
	t->end = x->at;
}

/* --- Text --- */

/* The bytes of a character in UTF-8. */
static size_t put_character(uint8_t to[4], uint32_t code)
{
	if (code < 0x80) {
		to[0] = (uint8_t)code;
		return 1;
	}
	for (uint32_t bytes = 2;; bytes++) {
		if (bytes < 4 && code >> (5 * bytes + 1) != 0)
			continue;
		for (uint32_t i = bytes; i-- > 1; code >>= 6)
			to[i] = (uint8_t)(0x80 | (code & 0x3f));
		to[0] = (uint8_t)((0xf00u >> bytes) | code);
		return bytes;
	}
}

/* The character of a reference such as "lt" or "#xe9"; 0: none. */
static uint32_t reference(const uint8_t *name, size_t count)
{
	static const struct {
		char name[5], character;
	} known[] = { { "lt", '<' },
		      { "gt", '>' },
		      { "amp", '&' },
		      { "quot", '"' },
		      { "apos", '\'' } };
	uint32_t base = count > 1 && name[1] == 'x' ? 16 : 10, code = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].name) == count &&
		    memcmp(known[i].name, name, count) == 0)
			return (uint8_t)known[i].character;
	if (count < 2 || name[0] != '#')
		return 0;
	for (size_t i = base == 16 ? 2 : 1; i < count; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, name[i] | 32);

		if (digit == NULL || digit - digits >= (ptrdiff_t)base ||
		    code > 0x10ffff)
			return 0;
		code = code * base + (uint32_t)(digit - digits);
	}
	return code > 0x10ffff ? 0 : code;
}

size_t xml_text(uint8_t *to, size_t room, struct metadata_span *text)
{
	enum { REFERENCE_CHARS_MAX = 12, CHARACTER_BYTES = 4 };
	size_t at = 0;

	while (text->count > 0 && room - at >= CHARACTER_BYTES) {
		const uint8_t *from = text->bytes;
		size_t count = 1, most = text->count;

		if (*from == '&') {
			if (most > REFERENCE_CHARS_MAX)
				most = REFERENCE_CHARS_MAX;
			while (count < most && from[count] != ';')
				count++;
			if (count == most)
				return at;
			at += put_character(to + at,
					    reference(from + 1, count - 1));
			count++;
		} else {
			to[at++] = *from;
		}
		text->bytes += count;
		text->count -= count;
	}
	return at;
}
