/* SPDX-License-Identifier: MIT */
#include "service/web/web.h"

#include <string.h>

/* The assembler includes each, as no C of today can. */
#define WEB_FILE(symbol, file, media_type)                                     \
	extern const char web_##symbol[], web_##symbol##_end[];                \
	__asm__(".pushsection .rodata\n"                                       \
		"web_" #symbol ": .incbin \"" WEB_FOLDER "/" file "\"\n"       \
		"web_" #symbol "_end: .byte 0\n"                               \
		".popsection\n");
#include "service/web/files.def"
#undef WEB_FILE

struct part {
	struct web_file file;
	const char *end;
};

static const struct part parts[] = {
#define WEB_FILE(symbol, file, media_type)                                     \
	{ { file, media_type "; charset=utf-8", web_##symbol, 0 },             \
	  web_##symbol##_end },
#include "service/web/files.def"
#undef WEB_FILE
};

bool web_find(const char *name, struct web_file *out)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].file.name, name) != 0)
			continue;
		*out = parts[i].file;
		out->count = (size_t)(parts[i].end - out->bytes);
		return true;
	}
	return false;
}
