/* SPDX-License-Identifier: MIT */
/*
 * Is a text well-formed XML?  Only the parts of XML that our writers use are
 * known.
 */
#ifndef LOADGEN_COMPARE_TEST_XML_H
#define LOADGEN_COMPARE_TEST_XML_H

#include <stdbool.h>

/* Tags in pairs, attributes quoted, no bare & or <; one element is the root. */
bool xml_is_well_formed(const char *text);

#endif
