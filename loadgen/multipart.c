/* SPDX-License-Identifier: MIT */
#include "loadgen/multipart.h"

#include "loadgen/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct boundary multipart_boundary(uint64_t number)
{
	uint64_t state = number;
	struct boundary b;

	snprintf(b.text, sizeof(b.text), "----loadgen%016" PRIx64,
		 random_next(&state));
	return b;
}

bool multipart_has(const struct boundary *boundary, const void *bytes,
		   size_t size)
{
	return memmem(bytes, size, boundary->text, strlen(boundary->text)) !=
	       NULL;
}

/* As browsers do it: HTML standard, 4.10.21.8, multipart/form-data. */
static void print_quoted(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (*text == '"' || *text == '\r' || *text == '\n')
			fprintf(out, "%%%02X", (unsigned)*text);
		else
			putc(*text, out);
}

static void print_head(FILE *out, const struct boundary *boundary,
		       const char *field, const char *path)
{
	const char *slash = strrchr(path, '/');

	fprintf(out, "--%s\r\nContent-Disposition: form-data; name=\"",
		boundary->text);
	print_quoted(out, field);
	fputs("\"; filename=\"", out);
	print_quoted(out, slash == NULL ? path : slash + 1);
	fputs("\"\r\nContent-Type: image/jpeg\r\n\r\n", out);
}

bool multipart_wrap(struct multipart *out, const struct boundary *boundary,
		    const char *field, const char *path, const void *bytes,
		    size_t size)
{
	struct multipart m;
	FILE *body = open_memstream(&m.body, &m.body_bytes);
	bool written;

	if (body == NULL)
		return false;
	print_head(body, boundary, field, path);
	m.file_at = (size_t)ftell(body);
	fwrite(bytes, 1, size, body);
	fprintf(body, "\r\n--%s--\r\n", boundary->text);
	written = !ferror(body);
	if (fclose(body) != 0 || !written) {
		free(m.body);
		return false;
	}
	*out = m;
	return true;
}
