/* SPDX-License-Identifier: MIT */
/* Is a text well-formed XML, as far as our writers use it? */
#ifndef LOADGEN_COMPARE_TEST_XML_H
#define LOADGEN_COMPARE_TEST_XML_H

#include <stdbool.h>

/* Tags in pairs, attributes quoted, no bare & or <; one element is the root. */
bool xml_is_well_formed(const char *text);

#endif
