/* SPDX-License-Identifier: MIT */
/*
 * Results as multipart/mixed (RFC 2046, 5.1.1), sent from where they lie.
 */
#include "service/http/http_result.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
	BOUNDARY_BYTES = 16, /* random: a result may hold a client's profile */
	BOUNDARY_CHARS = 2 * BOUNDARY_BYTES,
	HEAD_CHARS = 512,
};

static void make_boundary(char out[BOUNDARY_CHARS + 1])
{
	uint8_t bytes[BOUNDARY_BYTES] = { 0 };

	(void)getrandom(bytes, sizeof(bytes), GRND_NONBLOCK);
	for (uint32_t i = 0; i < BOUNDARY_BYTES; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* All between two pictures.  Its length. */
static size_t print_part_head(char *out, const struct variant *v,
			      const char *boundary, bool is_first)
{
	int at = snprintf(out, HEAD_CHARS,
			  "%s--%s\r\n"
			  "Content-Type: %s\r\n"
			  "Content-Length: %zu\r\n"
			  "Content-Disposition: attachment; name=\"%s\"; "
			  "filename=\"%s.jpg\"\r\n",
			  is_first ? "" : "\r\n", boundary, RESULT_TYPE,
			  v->jpeg_bytes, v->name, v->name);

	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		char warning[RESULT_WARNING_CHARS];

		if (result_warning(warning, v, i))
			at += snprintf(out + at, HEAD_CHARS - (size_t)at,
				       "Warning: %s\r\n", warning);
	}
	at += snprintf(out + at, HEAD_CHARS - (size_t)at, "\r\n");
	assert(at < HEAD_CHARS);
	return (size_t)at;
}

/* The results stay where they are; `heads` becomes the response's. */
static struct MHD_Response *join(const struct upload *u, char *heads,
				 const char *boundary)
{
	struct MHD_IoVec pieces[2 * VARIANTS_MAX + 1];
	unsigned int count = 0;
	char *at = heads;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];
		size_t bytes = print_part_head(at, v, boundary, i == 0);

		pieces[count++] = (struct MHD_IoVec){ at, bytes };
		pieces[count++] = (struct MHD_IoVec){ v->jpeg, v->jpeg_bytes };
		at += bytes;
	}

	int last = snprintf(at, HEAD_CHARS, "\r\n--%s--\r\n", boundary);

	pieces[count++] = (struct MHD_IoVec){ at, (size_t)last };
	return MHD_create_response_from_iovec(pieces, count, free, heads);
}

struct MHD_Response *result_parts(const struct upload *u,
				  char type[RESULT_PARTS_TYPE_CHARS])
{
	char *heads = malloc((u->variant_count + 1) * (size_t)HEAD_CHARS);
	char boundary[BOUNDARY_CHARS + 1];
	struct MHD_Response *response;

	if (heads == NULL)
		return NULL;
	make_boundary(boundary);
	(void)snprintf(type, RESULT_PARTS_TYPE_CHARS,
		       "multipart/mixed; boundary=%s", boundary);
	response = join(u, heads, boundary);
	if (response == NULL)
		free(heads);
	return response;
}
