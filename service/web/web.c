/* SPDX-License-Identifier: MIT */
#include "service/web/web.h"

#include "base/embed.h"
#include "base/util.h"

#include <string.h>

#define WEB_FILE(symbol, file, media_type) EMBED_TEXT(web_##symbol, file)
#include "service/web/files.def"
#undef WEB_FILE

struct embedded_file {
	struct web_file file;
	const char *end;
};

static const struct embedded_file files[] = {
#define WEB_FILE(symbol, file, media_type)                                     \
	{ { file, media_type "; charset=utf-8", web_##symbol, 0 },             \
	  web_##symbol##_end },
#include "service/web/files.def"
#undef WEB_FILE
};

bool web_find(const char *name, struct web_file *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].file.name, name) != 0)
			continue;
		*out = files[i].file;
		out->count = (size_t)(files[i].end - out->bytes);
		return true;
	}
	return false;
}
