/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops/metadata: a walk over an XML text in memory, with namespaces.
 *
 * A subset of XML 1.0 that XMP needs: UTF-8, without a document type, and so
 * without entities of its own.  Elements must be nested rightly.  What is not
 * so ends the walk.  Time is linear in the bytes, and nothing is allocated.
 */
#ifndef IMGOPS_METADATA_XML_H
#define IMGOPS_METADATA_XML_H

#include "imgops/metadata/metadata.h"

enum { XML_DEPTH_MAX = 32, XML_SPACES_MAX = 64 };

enum xml_kind {
	XML_END,
	XML_BAD,
	XML_OPEN,
	XML_EMPTY, /* an element without content, which has no XML_CLOSE */
	XML_CLOSE,
	XML_TEXT,
	XML_OTHER, /* comments, instructions, CDATA */
};

struct xml_token {
	enum xml_kind kind;
	const uint8_t *start, *end;
	struct metadata_span name;       /* of an element */
	struct metadata_span attributes; /* of XML_OPEN and XML_EMPTY */
};

struct xml {
	const uint8_t *at, *end;
	uint32_t depth; /* of the element of the token, which is open; or 0 */
	bool closes;    /* that element ends with the token */
	struct metadata_span open[XML_DEPTH_MAX];
	struct {
		struct metadata_span prefix, name;
		uint32_t depth;
	} spaces[XML_SPACES_MAX];
	uint32_t space_count;
};

void xml_begin(struct xml *x, struct metadata_span text);
void xml_next(struct xml *x, struct xml_token *t);

struct xml_attribute {
	const uint8_t *start, *end; /* with the space before it */
	struct metadata_span name, value;
};

/* The next of `left`, which moves behind it.  False: there is none. */
bool xml_attribute(struct xml_attribute *a, struct metadata_span *left);

/*
 * Does a name mean `local` in the namespace `space`?  NULL: any name of it, or
 * of a namespace that begins so.
 */
bool xml_is(const struct xml *x, struct metadata_span name, const char *space,
	    const char *local);

/*
 * A piece of text without references; returns its bytes.  *text moves behind
 * what is read, which ends where `to` is full.
 */
size_t xml_text(uint8_t *to, size_t room, struct metadata_span *text);

#endif
