/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/body.h"

#include "base/util.h"
#include "service/http/head/params.h"
#include "service/pipeline/pipeline.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	ROOM_BYTES_MIN = 64 << 10, /* size of the first buffer, at least */
	ROOM_GROWTH = 4,
	/* Without a length: less, because the last buffer may be too large. */
	ROOM_GROWTH_UNKNOWN = 2,
	LIKELY_PART = 4, /* of the budget, for a body without a length */
};

/* `data`: the beginning of the part. */
static bool is_file_part(const char *name, const char *filename,
			 const char *data, size_t bytes)
{
	static const char *const names[] = { "file", "image", "media" };

	if (filename != NULL)
		return true;
	if (bytes > 0 && data[0] == '{')
		return false;
	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* False: there is no room for it. */
static bool append_to_picture(struct body *b, const char *data, size_t bytes)
{
	if (bytes > b->count_max - b->count)
		return false;
	/* `data` may be of the same buffer: see body_read_kept(). */
	memmove(b->bytes + b->count, data, bytes);
	b->count += bytes;
	return true;
}

/* Returns false.  `format` is a sentence about the form. */
__attribute__((format(printf, 3, 4))) static bool
refuse_part(struct body *b, enum problem problem, const char *format, ...)
{
	va_list args;

	b->problem = problem;
	va_start(args, format);
	(void)vsnprintf(b->detail, sizeof(b->detail), format, args);
	va_end(args);
	return false;
}

/* What is no parameter may be a file that was sent without a name. */
#define NAME_A_FILE                                                            \
	"it has no file name, so it is taken as a parameter. If it is the "    \
	"file, give its part a file name, or name it file, image or media."

static bool append_to_fields(struct body *b, size_t at, const char *data,
			     size_t bytes)
{
	char shown[PARAMS_SHOWN_BYTES];

	/* The NUL needs one byte more. */
	if (at >= BODY_FIELD_BYTES || bytes >= BODY_FIELD_BYTES - at) {
		b->excess = (struct excess){ NAN, BODY_FIELD_BYTES, "bytes" };
		return refuse_part(
			b, PROBLEM_BAD_FORM,
			"The fields of the form have more than %d KiB "
			"together. The last one is '%s'; " NAME_A_FILE,
			BODY_FIELD_BYTES >> 10,
			params_shown(shown, at == b->fields_end ?
						    data :
						    b->fields + b->fields_end));
	}
	memcpy(b->fields + at, data, bytes);
	b->fields[at + bytes] = '\0';
	return true;
}

/* Offset at which the value of the current field begins. */
static size_t field_value_at(const struct body *b)
{
	return b->fields_end + strlen(b->fields + b->fields_end) + 1;
}

static bool begin_field(struct body *b, const char *name)
{
	size_t bytes = name != NULL ? strlen(name) : 0;

	if (bytes == 0)
		return refuse_part(b, PROBLEM_BAD_FORM,
				   "A part of the form has no name=\"...\".");
	if (b->field_count == BODY_FIELDS_MAX) {
		b->excess = (struct excess){ NAN, BODY_FIELDS_MAX, "fields" };
		return refuse_part(b, PROBLEM_BAD_FORM,
				   "The form has more than %d fields.",
				   BODY_FIELDS_MAX);
	}
	if (b->fields == NULL)
		b->fields = malloc(BODY_FIELD_BYTES);
	if (b->fields == NULL)
		return refuse_part(b, PROBLEM_OUT_OF_MEMORY, "%s", "");
	return append_to_fields(b, b->fields_end, name, bytes) &&
	       append_to_fields(b, field_value_at(b), "", 0);
}

static bool end_field(struct body *b)
{
	char shown[PARAMS_SHOWN_BYTES];
	size_t at = field_value_at(b);

	if (strlen(b->fields + at) != b->part_bytes)
		return refuse_part(
			b, PROBLEM_BAD_FORM,
			"The field '%s' has a NUL byte; " NAME_A_FILE,
			params_shown(shown, b->fields + b->fields_end));
	b->fields_end = at + b->part_bytes + 1;
	b->field_count++;
	return true;
}

static bool end_part(struct body *b)
{
	bool ok = b->part != BODY_FIELD || end_field(b);

	/* Browsers send an empty file part for an unused field. */
	if (b->part == BODY_FILE && b->count > 0)
		b->has_file = true;
	b->part = BODY_NO_PART;
	b->part_bytes = 0;
	return ok;
}

static bool begin_part(struct body *b, const char *name, bool file)
{
	if (!end_part(b) || (!file && !begin_field(b, name)))
		return false;
	b->part = file ? BODY_FILE : BODY_FIELD;
	return true;
}

static bool append_to_part(struct body *b, const char *name, const char *data,
			   size_t bytes)
{
	char shown[PARAMS_SHOWN_BYTES];
	size_t at = b->part_bytes;

	b->part_bytes += bytes;
	if (b->part == BODY_FIELD)
		return append_to_fields(b, field_value_at(b) + at, data, bytes);
	if (b->has_file && bytes > 0)
		return refuse_part(
			b, PROBLEM_SECOND_FILE,
			"The form has a second file, in the field '%s'; "
			"send one with each request.",
			params_shown(shown, name != NULL ? name : ""));
	return append_to_picture(b, data, bytes);
}

/* A multipart_part_fn. */
static bool on_part(void *arg, const char *name, const char *filename,
		    const char *data, uint64_t offset, size_t bytes)
{
	struct body *b = arg;

	return (offset > 0 ||
		begin_part(b, name,
			   is_file_part(name, filename, data, bytes))) &&
	       append_to_part(b, name, data, bytes);
}

static bool is_form(const char *type)
{
	static const char form_type[] = "multipart/form-data";

	return type != NULL &&
	       strncasecmp(type, form_type, sizeof(form_type) - 1) == 0;
}

static size_t body_extra_bytes(const struct body *b)
{
	return b->form_type != NULL ? MULTIPART_BYTES + BODY_FIELD_BYTES : 0;
}

/* The limits of which a form with this fault has more. */
static const struct excess form_limits[MULTIPART_FAULTS] = {
	[MULTIPART_MANY_PARTS] = { NAN, MULTIPART_PARTS_MAX, "parts" },
	[MULTIPART_LONG_HEAD] = { NAN, MULTIPART_HEAD_BYTES, "bytes" },
	[MULTIPART_MANY_HEADERS] = { NAN, MULTIPART_HEADERS_MAX, "headers" },
};

/* The problem of a form with this fault, which is explained. */
static enum problem form_problem(struct body *b, enum multipart_fault fault)
{
	if (fault == MULTIPART_OK || fault == MULTIPART_REFUSED)
		return b->problem;
	b->excess = form_limits[fault];
	(void)refuse_part(b,
			  fault == MULTIPART_NESTED ? PROBLEM_SECOND_FILE :
						      PROBLEM_BAD_FORM,
			  "%s", multipart_fault_text(fault));
	return b->problem;
}

static enum problem body_init(struct body *b, size_t count_max,
			      const struct memory *memory)
{
	b->count_max = count_max;
	b->memory = memory;
	if (b->form_type != NULL) {
		enum problem problem;

		b->form = multipart_new(b->form_type, b->is_exact, on_part, b);
		if (b->form == NULL)
			return PROBLEM_OUT_OF_MEMORY;
		problem = form_problem(b, multipart_fault(b->form));
		if (problem != PROBLEM_NONE)
			return problem;
	}
	b->bytes = memory->alloc(memory->arg, count_max);
	return b->bytes != NULL ? PROBLEM_NONE : PROBLEM_OUT_OF_MEMORY;
}

static enum problem body_grow(struct body *b, size_t count_max)
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

static enum problem body_append(struct body *b, const char *data, size_t bytes)
{
	if (b->form == NULL || b->is_kept)
		return append_to_picture(b, data, bytes) ?
			       PROBLEM_NONE :
			       PROBLEM_BODY_TOO_LARGE;
	return form_problem(b, multipart_read(b->form, data, bytes));
}

/* The charge with a buffer of `room_bytes`, without a picture. */
static uint64_t charge_without_picture(const struct body *b,
				       uint64_t room_bytes)
{
	return memory_pool_charge(room_bytes) + b->extra_bytes;
}

/*
 * The memory that the picture in a body of this length will need, by estimate.
 * It is limited, so that the estimate alone does not refuse an upload that
 * would fit.
 */
static uint64_t estimate_picture(const struct body *b, uint64_t length_bytes)
{
	uint64_t bytes = pipeline_likely_bytes(b->pipeline, length_bytes);
	uint64_t whole = charge_without_picture(b, length_bytes);
	uint64_t most = b->charge->budget->limit_bytes / 2;
	uint64_t left = whole < most ? most - whole : 0;

	return bytes < left ? bytes : left;
}

/*
 * The charge with a part of the estimate for the picture.  The part grows with
 * the buffer: it is the whole estimate when the buffer has room for the whole
 * body.
 */
static uint64_t charge_with_picture(const struct body *b, uint64_t room_bytes)
{
	double part = (double)room_bytes / (double)(b->length_bytes + 1);
	uint64_t picture = b->has_length ?
				   (uint64_t)(part * (double)b->picture_bytes) :
				   estimate_picture(b, room_bytes);

	return charge_without_picture(b, room_bytes) + picture;
}

/* The size of the buffer for `bytes`, if the length is not known. */
static uint64_t unknown_room_for(const struct body *b, uint64_t bytes)
{
	uint64_t room = b->count_max > 0 ? b->count_max : b->first_bytes;

	while (room < bytes && room < b->length_bytes)
		room *= ROOM_GROWTH_UNKNOWN;
	return min_u64(room, b->length_bytes);
}

/*
 * The size of the buffer for `bytes`.  While the body is copied to a larger
 * buffer, both buffers exist.  If they do not both fit into the budget, the
 * first buffer has room for the whole body.
 */
static uint64_t room_for(const struct body *b, uint64_t bytes)
{
	uint64_t room = ROOM_BYTES_MIN;

	if (!b->has_length)
		return unknown_room_for(b, bytes);
	while (room < bytes)
		room *= ROOM_GROWTH;
	if (room >= b->length_bytes ||
	    memory_pool_charge(room) + b->whole_bytes >
		    b->charge->budget->limit_bytes)
		return b->length_bytes;
	return room;
}

static enum problem charge_body(struct body *b, uint64_t bytes)
{
	switch (budget_charge(b->charge, bytes)) {
	case BUDGET_OK:
		return PROBLEM_NONE;
	case BUDGET_FULL:
		return PROBLEM_MEMORY_FULL;
	case BUDGET_NEVER:
		b->excess = excess_explain_memory(
			b->detail, sizeof(b->detail), bytes,
			b->charge->budget->limit_bytes);
		return PROBLEM_TOO_MUCH_MEMORY;
	}
	abort();
}

/*
 * Without a length: the size of the first buffer.  If uploads wait for memory,
 * it is enough for most bodies, because others may be refused when they grow.
 */
static uint64_t first_room(const struct body *b)
{
	uint64_t most = b->charge->budget->limit_bytes / LIKELY_PART;
	uint64_t likely = 0, room = ROOM_BYTES_MIN;

	if (pipeline_waits_for_memory(b->pipeline))
		likely = 2 * pipeline_likely_body_bytes(b->pipeline);
	while (room < likely && 2 * room <= most)
		room *= 2;
	if (room < b->before)
		room = b->before;
	return min_u64(room, b->length_bytes);
}

void body_begin(struct body *b, const char *type, bool is_exact,
		struct body_length length, struct pipeline *p,
		struct charge *charge)
{
	charge->budget = pipeline_budget(p);
	*b = (struct body){
		.has_length = length.is_known,
		.length_bytes = length.bytes,
		.before = length.before,
		.count = (size_t)length.before,
		.received_bytes = length.before,
		.charge = charge,
		.pipeline = p,
		.form_type = is_form(type) ? type : NULL,
		.is_exact = is_exact,
	};
	b->is_kept = b->form_type != NULL && pipeline_parses(p);
	b->extra_bytes = body_extra_bytes(b);
	b->first_bytes = length.is_known ? length.bytes : first_room(b);
	b->whole_bytes = charge_without_picture(b, b->first_bytes);
	if (length.is_known)
		b->picture_bytes = estimate_picture(b, length.bytes);
}

uint64_t body_need_bytes(const struct body *b)
{
	return charge_with_picture(b, b->first_bytes);
}

/*
 * To be admitted, the whole body and its picture must fit into the budget now.
 * Afterwards the upload is charged only for what has arrived, unless it had
 * reserved all of it before.
 */
enum problem body_admit(struct body *b, struct pipeline *p)
{
	bool is_reserved = b->charge->bytes > 0;
	enum problem problem = charge_body(b, body_need_bytes(b));
	uint64_t room_bytes;

	if (problem != PROBLEM_NONE)
		return problem;
	room_bytes = is_reserved ? b->first_bytes : room_for(b, b->before);
	budget_lower(b->charge, is_reserved ?
					charge_with_picture(b, room_bytes) :
					charge_without_picture(b, room_bytes));
	return body_init(b, room_bytes, pipeline_memory(p));
}

/*
 * The charge while there are two buffers.  The picture is not decoded yet, so
 * they may use the memory that is charged for the picture.
 */
static uint64_t charge_while_moving(const struct body *b, uint64_t room_bytes)
{
	uint64_t both = charge_without_picture(b, room_bytes) +
			memory_pool_charge(b->count_max);

	return max_u64(both, charge_with_picture(b, room_bytes));
}

uint64_t body_move_bytes(const struct body *b, size_t bytes)
{
	uint64_t received = b->received_bytes + bytes;

	return received > b->count_max ?
		       charge_while_moving(b, room_for(b, received)) :
		       0;
}

static enum problem make_room(struct body *b)
{
	uint64_t room_bytes = room_for(b, b->received_bytes);
	enum problem problem =
		charge_body(b, charge_while_moving(b, room_bytes));

	if (problem != PROBLEM_NONE)
		return problem;
	problem = body_grow(b, room_bytes);
	if (!b->has_length)
		b->whole_bytes = charge_without_picture(b, room_bytes);
	budget_lower(b->charge, charge_with_picture(b, room_bytes));
	return problem;
}

enum problem body_receive(struct body *b, const char *data, size_t bytes)
{
	enum problem problem = PROBLEM_NONE;

	b->received_bytes += bytes;
	if (b->received_bytes > b->count_max)
		problem = make_room(b);
	return problem == PROBLEM_NONE ? body_append(b, data, bytes) : problem;
}

/*
 * The picture's bytes are behind the head of their part, so they only move to
 * where the reader has been.
 */
enum problem body_read_kept(struct body *b)
{
	size_t form_bytes = b->count;

	b->is_kept = false;
	b->count = 0;
	return body_append(b, (const char *)b->bytes, form_bytes);
}

static void free_form(struct body *b)
{
	multipart_free(b->form);
	b->form = NULL;
}

static enum problem finish_form(struct body *b)
{
	enum problem problem = form_problem(b, multipart_finish(b->form));
	bool ends_in_file = b->part == BODY_FILE;

	free_form(b);
	if (problem != PROBLEM_NONE || !end_part(b))
		return b->problem;
	return b->has_file || ends_in_file ? PROBLEM_NONE : PROBLEM_NO_FILE;
}

enum problem body_finish(struct body *b)
{
	enum problem problem = b->form != NULL ? finish_form(b) : PROBLEM_NONE;

	if (problem != PROBLEM_NONE)
		return problem;
	return b->count > 0 ? PROBLEM_NONE : PROBLEM_EMPTY_BODY;
}

bool body_next_field(const struct body *b, size_t *at, const char **name,
		     const char **value)
{
	if (*at >= b->fields_end)
		return false;
	*name = b->fields + *at;
	*value = *name + strlen(*name) + 1;
	*at = (size_t)(*value + strlen(*value) + 1 - b->fields);
	return true;
}

void body_free_picture(struct body *b)
{
	if (b->bytes != NULL)
		b->memory->free(b->memory->arg, b->bytes);
	b->bytes = NULL;
}

void body_release(struct body *b)
{
	free_form(b);
	body_free_picture(b);
	free(b->fields);
	*b = (struct body){ 0 };
}
