/* SPDX-License-Identifier: MIT */
#include "loadgen/verify.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* As libjpeg-turbo scales without reading less. */
static const tjscalingfactor eighth = { 1, 8 };

static const double megapixels_max = 100;

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

struct header {
	int width_px;
	int height_px;
	int colours;
};

static bool read_header(struct verify *v, const void *bytes, size_t size,
			struct header *h, struct error *why)
{
	int subsampling;

	if (size == 0)
		error_set(why, "empty");
	else if (tjDecompressHeader3(v->decoder, bytes, size, &h->width_px,
				     &h->height_px, &subsampling,
				     &h->colours) != 0)
		error_set(why, "not a JPEG: %s", tjGetErrorStr2(v->decoder));
	else
		return true;
	return false;
}

/* A reply of a few KB may say that it is of 4 gigapixels. */
static bool check_size(const struct header *h, const struct promise *promise,
		       struct error *why)
{
	double megapixels = (double)h->width_px * h->height_px / 1e6;

	if (promise != NULL &&
	    !promise_is_kept(promise, h->width_px, h->height_px))
		error_set(why, "%d x %d instead of %.0f x %.0f", h->width_px,
			  h->height_px, promise->width_px, promise->height_px);
	else if (megapixels > megapixels_max)
		error_set(why, "%d x %d: more than %g megapixels", h->width_px,
			  h->height_px, megapixels_max);
	else
		return true;
	return false;
}

static bool decode(struct verify *v, const void *bytes, size_t size,
		   const struct header *h, struct error *why)
{
	int format = h->colours == TJCS_CMYK || h->colours == TJCS_YCCK ?
			     TJPF_CMYK :
			     TJPF_RGB;
	int width = TJSCALED(h->width_px, eighth);
	int height = TJSCALED(h->height_px, eighth);

	if (!reserve(v, (size_t)width * (size_t)height *
				(size_t)tjPixelSize[format])) {
		error_set(why, "%d x %d: out of memory", h->width_px,
			  h->height_px);
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
	struct header header;

	return read_header(v, bytes, size, &header, why) &&
	       check_size(&header, promise, why) &&
	       decode(v, bytes, size, &header, why);
}
