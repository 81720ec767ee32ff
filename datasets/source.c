/* SPDX-License-Identifier: MIT */
#include "datasets/source.h"

#include "base/file.h"
#include "datasets/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <jpeglib.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS_MAX = 100000000, SIDE_MIN = 32 };

struct errors {
	/* Must be the first member: libjpeg gets a pointer to it. */
	struct jpeg_error_mgr manager;
	jmp_buf give_up;
	char *reason;
};

/* Also called for warnings, because damaged photos are not used. */
static void give_up(j_common_ptr c)
{
	struct errors *e = (struct errors *)c->err;
	char text[JMSG_LENGTH_MAX];

	e->manager.format_message(c, text);
	snprintf(e->reason, REASON_BYTES, "%s", text);
	longjmp(e->give_up, 1);
}

static void stop_at_warning(j_common_ptr c, int level)
{
	if (level < 0)
		give_up(c);
}

static bool decode_photo(struct picture *out, const uint8_t *bytes,
			 size_t size_bytes, char *reason)
{
	struct jpeg_decompress_struct d;
	struct errors errors = { .reason = reason };

	d.err = jpeg_std_error(&errors.manager);
	errors.manager.error_exit = give_up;
	errors.manager.emit_message = stop_at_warning;
	*out = (struct picture){ 0 };
	jpeg_create_decompress(&d);
	if (setjmp(errors.give_up) != 0) {
		jpeg_destroy_decompress(&d);
		picture_release(out);
		return false;
	}
	jpeg_mem_src(&d, bytes, size_bytes);
	jpeg_read_header(&d, TRUE);
	d.out_color_space = JCS_RGB;
	jpeg_start_decompress(&d);
	picture_init(out, d.output_width, d.output_height);
	while (d.output_scanline < d.output_height) {
		JSAMPROW row =
			out->rgb + (size_t)d.output_scanline * out->width * 3;

		jpeg_read_scanlines(&d, &row, 1);
	}
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
	return true;
}

/* Turn a stored picture as a viewer does: the inverse of picture_turn(). */
static void make_upright(struct picture *p, int orientation)
{
	struct picture upright;

	if (orientation != 3 && orientation != 6 && orientation != 8)
		return;
	picture_turn(&upright, p,
		     orientation == 6 ? 8 :
		     orientation == 8 ? 6 :
					3);
	picture_release(p);
	*p = upright;
}

static bool load_upright(struct picture *out, const char *path, char *reason)
{
	const char *why;
	size_t size_bytes;
	char *file = file_read_bytes(path, SIZE_MAX / 4, &size_bytes, &why);
	const uint8_t *bytes = (const uint8_t *)file;
	struct jpeg_facts facts;
	bool is_usable = false;

	if (file == NULL) {
		snprintf(reason, REASON_BYTES, "%s", why);
		return false;
	}
	if (!jpeg_inspect(&facts, bytes, size_bytes))
		snprintf(reason, REASON_BYTES, "not a JPEG");
	else if ((uint64_t)facts.width * facts.height > PIXELS_MAX)
		snprintf(reason, REASON_BYTES, "more than 100 megapixels");
	else if (facts.width < SIDE_MIN || facts.height < SIDE_MIN)
		snprintf(reason, REASON_BYTES, "a side below %d pixels",
			 SIDE_MIN);
	else
		is_usable = decode_photo(out, bytes, size_bytes, reason);
	free(file);
	if (is_usable)
		make_upright(out, facts.orientation);
	return is_usable;
}

bool pyramid_load(struct pyramid *p, const char *path, char *reason)
{
	*p = (struct pyramid){ 0 };
	if (!load_upright(&p->levels[0], path, reason))
		return false;
	for (p->count = 1; p->count < PYRAMID_LEVELS_MAX; p->count++) {
		const struct picture *last = &p->levels[p->count - 1];

		if (last->width < 2 * SIDE_MIN || last->height < 2 * SIDE_MIN)
			break;
		picture_halve(&p->levels[p->count], last);
	}
	return true;
}

void pyramid_release(struct pyramid *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		picture_release(&p->levels[i]);
	p->count = 0;
}

bool source_survey(struct source *s, char *reason)
{
	const struct encoding best = { .quality = CAPACITY_QUALITY,
				       .sampling = SAMPLING_444 };
	struct picture photo;
	struct jpeg jpeg;

	if (!load_upright(&photo, s->path, reason))
		return false;
	jpeg_encode(&jpeg, &photo, &best);
	s->width = photo.width;
	s->height = photo.height;
	s->capacity_bytes = jpeg.size_bytes;
	jpeg_release(&jpeg);
	picture_release(&photo);
	return true;
}
