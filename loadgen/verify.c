/* SPDX-License-Identifier: MIT */
#include "loadgen/verify.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* As libjpeg-turbo scales without reading less. */
static const tjscalingfactor eighth = { 1, 8 };

struct verify {
	tjhandle decoder;
	unsigned char *pixels;
	size_t capacity;
};

bool verify_find(const char *name, enum verify_kind *kind)
{
	if (strcmp(name, "decode") == 0)
		*kind = VERIFY_DECODE;
	else if (strcmp(name, "size") == 0)
		*kind = VERIFY_SIZE;
	else
		return false;
	return true;
}

struct verify *verify_new(void)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->decoder = tjInitDecompress();
	if (v->decoder == NULL) {
		free(v);
		return NULL;
	}
	return v;
}

void verify_free(struct verify *v)
{
	if (v == NULL)
		return;
	tjDestroy(v->decoder);
	free(v->pixels);
	free(v);
}

static bool reserve(struct verify *v, size_t bytes)
{
	unsigned char *pixels;

	if (bytes <= v->capacity)
		return true;
	pixels = realloc(v->pixels, bytes);
	if (pixels == NULL)
		return false;
	v->pixels = pixels;
	v->capacity = bytes;
	return true;
}

static bool decode(struct verify *v, const void *bytes, size_t size,
		   int *width_px, int *height_px, struct error *why)
{
	int subsampling, colours, format, width, height;

	if (tjDecompressHeader3(v->decoder, bytes, size, width_px, height_px,
				&subsampling, &colours) != 0) {
		error_set(why, "not a JPEG: %s", tjGetErrorStr2(v->decoder));
		return false;
	}
	format = colours == TJCS_CMYK || colours == TJCS_YCCK ? TJPF_CMYK :
								TJPF_RGB;
	width = TJSCALED(*width_px, eighth);
	height = TJSCALED(*height_px, eighth);
	if (!reserve(v, (size_t)width * (size_t)height *
				(size_t)tjPixelSize[format])) {
		error_set(why, "%d x %d: out of memory", *width_px, *height_px);
		return false;
	}
	if (tjDecompress2(v->decoder, bytes, size, v->pixels, width, 0, height,
			  format, 0) != 0) {
		error_set(why, "does not decode: %s",
			  tjGetErrorStr2(v->decoder));
		return false;
	}
	return true;
}

bool verify_reply(struct verify *v, const void *bytes, size_t size,
		  const struct promise *promise, struct error *why)
{
	int width_px, height_px;

	if (size == 0) {
		error_set(why, "empty");
		return false;
	}
	if (!decode(v, bytes, size, &width_px, &height_px, why))
		return false;
	if (promise == NULL || promise_is_kept(promise, width_px, height_px))
		return true;
	error_set(why, "%d x %d instead of %.0f x %.0f", width_px, height_px,
		  promise->width_px, promise->height_px);
	return false;
}
