/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: forms as they arrive over a connection.
 *
 * The input is what follows "multipart/form-data;" in the Content-Type, then a
 * new line, then the body.  However a form is divided into pieces, the picture,
 * the fields and the problem are the same; picture and fields are no larger
 * than what was sent; and all memory is freed.
 */
#include "service/http/handlers/body.c"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 400 };

/* The result of one form. */
struct form {
	size_t length;
	enum problem problem;
	char detail[BODY_DETAIL_BYTES];
	uint8_t *picture;
	size_t picture_bytes;
	/* As body.c keeps them: names and values, each ended by a NUL. */
	char fields[BODY_FIELD_BYTES];
	size_t fields_bytes;
};

static size_t live_count; /* number of allocated blocks */

static void *count_alloc(void *arg, size_t bytes)
{
	(void)arg;
	live_count++;
	return malloc(bytes);
}

static void count_free(void *arg, void *block)
{
	(void)arg;
	live_count--;
	free(block);
}

static const struct memory memory = { .alloc = count_alloc,
				      .free = count_free };

/* Keep the names and values that body_next_field() gives. */
static void keep_fields(struct form *form, const struct body *b)
{
	const char *name, *value;
	uint32_t count = 0;
	size_t at = 0;

	assert(b->field_count <= BODY_FIELDS_MAX);
	while (body_next_field(b, &at, &name, &value)) {
		size_t bytes = strlen(name) + strlen(value) + 2;

		assert(name[0] != '\0' && value == name + strlen(name) + 1);
		assert(bytes <= sizeof(form->fields) - form->fields_bytes);
		memcpy(form->fields + form->fields_bytes, name, bytes);
		form->fields_bytes += bytes;
		count++;
	}
	assert(count == b->field_count && at == form->fields_bytes);
	assert(at <= form->length + 2 * (size_t)count);
}

static void keep_picture(struct form *form, const struct body *b)
{
	form->picture_bytes = b->count;
	form->picture = malloc(b->count + 1);
	assert(form->picture != NULL);
	memcpy(form->picture, b->bytes, b->count);
}

/* Each piece is a copy, so that AddressSanitizer sees what is read beyond. */
static enum problem append(struct body *b, const uint8_t *data, size_t bytes)
{
	char *piece = malloc(bytes);
	enum problem problem;

	assert(piece != NULL);
	memcpy(piece, data, bytes);
	problem = body_append(b, piece, bytes);
	free(piece);
	return problem;
}

/* Read a body in pieces. */
static void read_form(struct form *form, const char *type, const uint8_t *body,
		      size_t piece_bytes)
{
	struct body b = { .form_type = type };

	form->problem = body_init(&b, form->length, &memory);
	for (size_t at = 0; form->problem == PROBLEM_NONE && at < form->length;
	     at += piece_bytes) {
		size_t left = form->length - at;

		form->problem = append(&b, body + at,
				       left < piece_bytes ? left : piece_bytes);
	}
	if (form->problem == PROBLEM_NONE)
		form->problem = body_finish(&b);
	assert(b.count <= form->length);
	assert(memchr(b.detail, '\0', sizeof(b.detail)) != NULL);
	memcpy(form->detail, b.detail, sizeof(b.detail));
	keep_fields(form, &b);
	if (form->problem == PROBLEM_NONE)
		keep_picture(form, &b);
	body_release(&b);
	assert(live_count == 0);
}

static void check_as_whole(const struct form *whole, const char *type,
			   const uint8_t *body, size_t piece_bytes)
{
	struct form pieces = { .length = whole->length };

	read_form(&pieces, type, body, piece_bytes);
	assert(pieces.problem == whole->problem);
	assert(strcmp(pieces.detail, whole->detail) == 0);
	assert(pieces.picture_bytes == whole->picture_bytes);
	assert(pieces.fields_bytes == whole->fields_bytes);
	assert(memcmp(pieces.fields, whole->fields, whole->fields_bytes) == 0);
	assert(whole->picture_bytes == 0 ||
	       memcmp(pieces.picture, whole->picture, whole->picture_bytes) ==
		       0);
	free(pieces.picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char begin[] = "multipart/form-data;";
	const uint8_t *body = memchr(data, '\n', bytes);
	char type[sizeof(begin) + LINE_BYTES];
	struct form whole = { 0 };

	if (body == NULL || body - data >= LINE_BYTES ||
	    ++body == data + bytes || memchr(data, '\0', (size_t)(body - data)))
		return -1;
	(void)snprintf(type, sizeof(type), "%s%.*s", begin,
		       (int)(body - data - 1), (const char *)data);
	whole.length = (size_t)(data + bytes - body);
	read_form(&whole, type, body, whole.length);
	for (size_t piece = 1; piece < whole.length; piece += piece / 2 + 1)
		check_as_whole(&whole, type, body, piece);
	free(whole.picture);
	return 0;
}
