/* SPDX-License-Identifier: MIT */
#include "service/http/http_body.h"

#include <string.h>
#include <strings.h>

#include <microhttpd.h>

enum { FORM_BUFFER_BYTES = 64 * 1024 };

static bool is_file(const char *name, const char *filename)
{
	static const char *const names[] = { "file", "image", "media" };

	if (filename != NULL)
		return true;
	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* False: more than there is room for. */
static bool take(struct body *b, const char *data, size_t bytes)
{
	if (bytes > b->count_max - b->count)
		return false;
	memcpy(b->bytes + b->count, data, bytes);
	b->count += bytes;
	return true;
}

/* A piece of a part; `offset` 0: a new part begins. */
static enum MHD_Result on_part(void *cls, enum MHD_ValueKind kind,
			       const char *name, const char *filename,
			       const char *type, const char *encoding,
			       const char *data, uint64_t offset, size_t bytes)
{
	struct body *b = cls;

	(void)kind;
	(void)type;
	(void)encoding;
	if (offset == 0) {
		/* Browsers send a file part of no bytes for an unused field. */
		if (b->place == BODY_IN_FILE)
			b->place =
				b->count > 0 ? BODY_AFTER_FILE : BODY_NO_FILE;
		if (b->place == BODY_NO_FILE && is_file(name, filename))
			b->place = BODY_IN_FILE;
	}
	if (b->place == BODY_IN_FILE && !take(b, data, bytes))
		return MHD_NO;
	return MHD_YES;
}

static bool is_form(struct MHD_Connection *connection)
{
	static const char form_type[] = "multipart/form-data";
	const char *type = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);

	return type != NULL &&
	       strncasecmp(type, form_type, sizeof(form_type) - 1) == 0;
}

size_t body_extra_bytes(struct MHD_Connection *connection)
{
	return is_form(connection) ? FORM_BUFFER_BYTES : 0;
}

enum problem body_init(struct body *b, struct MHD_Connection *connection,
		       size_t count_max, const struct img_memory *memory)
{
	*b = (struct body){ .count_max = count_max, .memory = memory };
	if (is_form(connection)) {
		b->form = MHD_create_post_processor(
			connection, FORM_BUFFER_BYTES, on_part, b);
		/* No memory, or (likelier) no boundary. */
		if (b->form == NULL)
			return PROBLEM_BAD_FORM;
	}
	b->bytes = memory->alloc(memory->arg, count_max);
	return b->bytes != NULL ? PROBLEM_NONE : PROBLEM_OUT_OF_MEMORY;
}

enum problem body_grow(struct body *b, size_t count_max)
{
	uint8_t *bytes = b->memory->alloc(b->memory->arg, count_max);

	if (bytes == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	memcpy(bytes, b->bytes, b->count);
	b->memory->free(b->memory->arg, b->bytes);
	b->bytes = bytes;
	b->count_max = count_max;
	return PROBLEM_NONE;
}

enum problem body_append(struct body *b, const char *data, size_t bytes)
{
	if (b->form != NULL)
		return MHD_post_process(b->form, data, bytes) == MHD_YES ?
			       PROBLEM_NONE :
			       PROBLEM_BAD_FORM;
	return take(b, data, bytes) ? PROBLEM_NONE : PROBLEM_BODY_TOO_LARGE;
}

enum problem body_finish(struct body *b)
{
	if (b->form != NULL) {
		enum MHD_Result whole = MHD_destroy_post_processor(b->form);

		b->form = NULL;
		if (whole != MHD_YES)
			return PROBLEM_BAD_FORM;
		if (b->place == BODY_NO_FILE)
			return PROBLEM_NO_FILE;
	}
	return b->count > 0 ? PROBLEM_NONE : PROBLEM_EMPTY_BODY;
}

void body_release(struct body *b)
{
	if (b->form != NULL)
		(void)MHD_destroy_post_processor(b->form);
	if (b->bytes != NULL)
		b->memory->free(b->memory->arg, b->bytes);
	*b = (struct body){ 0 };
}
