/* SPDX-License-Identifier: MIT */
#include "imgops/test/gifs.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

enum { FILE_BYTES_MAX = 1 << 16, COLOURS = 16 };

static int append(GifFileType *gif, const GifByteType *from, int count)
{
	struct bytes *file = gif->UserData;

	CHECK(file->count + (size_t)count <= FILE_BYTES_MAX);
	memcpy(file->data + file->count, from, (size_t)count);
	file->count += (size_t)count;
	return count;
}

uint8_t gif_index(uint32_t x, uint32_t y)
{
	if (y >= 32)
		return (uint8_t)((x * 40503 ^ y * 30011) * 2654435761u >> 28);
	return (uint8_t)((x + 3 * y) % COLOURS);
}

uint8_t gif_level(uint32_t channel, uint32_t index, bool is_own)
{
	return (uint8_t)(index * (channel + 3) + (is_own ? 100 : 7));
}

static ColorMapObject *make_map(bool is_own)
{
	ColorMapObject *map = GifMakeMapObject(COLOURS, NULL);

	CHECK(map != NULL);
	for (uint32_t i = 0; i < COLOURS; i++)
		map->Colors[i] = (GifColorType){ gif_level(0, i, is_own),
						 gif_level(1, i, is_own),
						 gif_level(2, i, is_own) };
	return map;
}

static void write_picture(GifFileType *gif, const struct gif_spec *s)
{
	static const uint32_t firsts[] = { 0, 4, 2, 1 };
	static const uint32_t steps[] = { 8, 8, 4, 2 };
	ColorMapObject *own = s->has_own_colours ? make_map(true) : NULL;
	uint32_t passes = s->is_interlaced ? 4 : 1;
	GifPixelType row[256];

	CHECK_NUMBER(EGifPutImageDesc(gif, (int)s->left, (int)s->top,
				      (int)s->width, (int)s->height,
				      s->is_interlaced, own),
		     ==, GIF_OK);
	for (uint32_t pass = 0; pass < passes; pass++)
		for (uint32_t y = passes > 1 ? firsts[pass] : 0;
		     y<s->height; y += passes> 1 ? steps[pass] : 1) {
			for (uint32_t x = 0; x < s->width; x++)
				row[x] = gif_index(x, y);
			CHECK_NUMBER(EGifPutLine(gif, row, (int)s->width), ==,
				     GIF_OK);
		}
	GifFreeMapObject(own);
}

struct bytes gif_make(const struct gif_spec *s)
{
	struct bytes file = { malloc(FILE_BYTES_MAX), 0 };
	GraphicsControlBlock control = { .TransparentColor = s->clear_index };
	ColorMapObject *map = make_map(false);
	GifFileType *gif;
	uint8_t block[4];
	int why;

	CHECK(file.data != NULL);
	gif = EGifOpen(&file, append, &why);
	CHECK(gif != NULL);
	EGifSetGifVersion(gif, true);
	CHECK_NUMBER(EGifPutScreenDesc(gif, (int)s->screen.width_px,
				       (int)s->screen.height_px, 8, 0, map),
		     ==, GIF_OK);
	for (int i = 0; i < s->frames; i++) {
		(void)EGifGCBToExtension(&control, block);
		CHECK_NUMBER(
			EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, block),
			==, GIF_OK);
		write_picture(gif, s);
	}
	CHECK_NUMBER(EGifCloseFile(gif, &why), ==, GIF_OK);
	GifFreeMapObject(map);
	return file;
}
