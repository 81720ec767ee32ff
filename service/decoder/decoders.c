/* SPDX-License-Identifier: MIT */
#include "service/decoder/decoders.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

struct decoders {
	struct decoder *list[IMG_FORMATS];
	uint32_t count;
	struct error left_out; /* "": no program */
};

static const char *program_of(uint32_t format)
{
	const char *program = img_formats[format]->program;

	return program != NULL ? program : DECODER_USUAL;
}

/* Those of `formats` that have the program of `format`. */
static uint32_t alike(uint32_t formats, uint32_t format)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		if (strcmp(program_of(i), program_of(format)) == 0)
			mask |= UINT32_C(1) << i;
	return formats & mask;
}

static bool has_program(uint32_t format)
{
	char path[PATH_MAX];

	return file_beside_program(path, program_of(format));
}

uint32_t decoders_installed(uint32_t formats)
{
	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		if (img_formats[i]->program != NULL && !has_program(i))
			formats &= ~(UINT32_C(1) << i);
	return formats;
}

bool decoders_check(uint32_t formats, struct error *error)
{
	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		if ((formats >> i & 1) != 0 && !has_program(i))
			return decoder_explain_missing(program_of(i), error);
	return true;
}

struct decoders *decoders_start(const struct decoder_config *c, bool needs_all,
				struct error *error)
{
	struct decoders *ds = calloc(1, sizeof(*ds));
	struct decoder_config own = *c;
	uint32_t left = c->formats;

	if (ds == NULL) {
		error_set(error, "no memory");
		return NULL;
	}
	for (uint32_t i = 0; i < IMG_FORMATS; i++) {
		if ((left >> i & 1) == 0)
			continue;
		own.formats = alike(c->formats, i);
		own.name = program_of(i);
		left &= ~own.formats;
		ds->list[ds->count] = decoder_start(&own, error);
		if (ds->list[ds->count] != NULL) {
			ds->count++;
		} else if (!needs_all && img_formats[i]->program != NULL) {
			error_set(&ds->left_out, "%s is not read: %s",
				  img_formats[i]->name, error->text);
		} else {
			decoders_free(ds);
			return NULL;
		}
	}
	return ds;
}

const char *decoders_left_out(const struct decoders *ds)
{
	return ds != NULL && ds->left_out.text[0] != '\0' ? ds->left_out.text :
							    NULL;
}

struct decoder *decoders_find(const struct decoders *ds,
			      const struct img_format *format)
{
	for (uint32_t i = 0; ds != NULL && i < ds->count; i++)
		if (decoder_takes(ds->list[i], format))
			return ds->list[i];
	return NULL;
}

bool decoders_take(const struct decoders *ds, const struct img_format *format)
{
	return format->program == NULL || decoders_find(ds, format) != NULL;
}

uint32_t decoders_formats(const struct decoders *ds)
{
	uint32_t formats = 0;

	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		if (decoders_take(ds, img_formats[i]))
			formats |= UINT32_C(1) << i;
	return formats;
}

uint32_t decoders_lanes(const struct decoders *ds)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; ds != NULL && i < ds->count; i++)
		lanes += decoder_lanes(ds->list[i]);
	return lanes;
}

bool decoders_are_up(const struct decoders *ds)
{
	bool are_up = true;

	for (uint32_t i = 0; ds != NULL && i < ds->count; i++)
		are_up &= decoder_is_up(ds->list[i]);
	return are_up;
}

void decoders_end_waits(const struct decoders *ds)
{
	for (uint32_t i = 0; ds != NULL && i < ds->count; i++)
		decoder_end_waits(ds->list[i]);
}

void decoders_read(const struct decoders *ds, struct decoder_stats *out)
{
	*out = (struct decoder_stats){ 0 };
	for (uint32_t i = 0; ds != NULL && i < ds->count; i++) {
		struct decoder_stats one;

		decoder_read(ds->list[i], &one);
		out->decoded_count += one.decoded_count;
		out->lost_count += one.lost_count;
		out->down_count += one.down_count;
	}
}

void decoders_free(struct decoders *ds)
{
	for (uint32_t i = 0; ds != NULL && i < ds->count; i++)
		decoder_free(ds->list[i]);
	free(ds);
}
