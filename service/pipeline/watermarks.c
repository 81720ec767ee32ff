/* SPDX-License-Identifier: MIT */
#include "service/pipeline/watermarks.h"

#include "base/file.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* As of variants: STORE_NAME_CHARS. */
static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

enum { ALIGN_BYTES = 64 };

static void *heap_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return aligned_alloc(ALIGN_BYTES, (bytes + ALIGN_BYTES - 1) /
						  ALIGN_BYTES * ALIGN_BYTES);
}

static void heap_free(void *arg, void *block)
{
	(void)arg;
	free(block);
}

/* Pictures that stay until the end. */
static const struct memory heap = { .alloc = heap_alloc, .free = heap_free };

static bool is_known(const struct watermarks *w, const char *name)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (strcmp(w->list[i].name, name) == 0)
			return true;
	return false;
}

/* "NAME=FILE", of `bytes` bytes. */
static bool read_one(struct watermarks *w, const char *text, size_t bytes,
		     struct error *error)
{
	size_t name_bytes = strspn(text, name_chars);
	char name[WATERMARK_NAME_BYTES];
	struct watermark *to = &w->list[w->count];

	if (name_bytes == 0 || name_bytes >= sizeof(name) ||
	    name_bytes + 1 >= bytes || text[name_bytes] != '=')
		return error_fail(error,
				  "each is NAME=FILE, with a NAME of 1 to %d "
				  "of a-z, 0-9, _ and -",
				  WATERMARK_NAME_BYTES - 1);
	(void)snprintf(name, sizeof(name), "%.*s", (int)name_bytes, text);
	if (strcmp(name, "none") == 0 || is_known(w, name))
		return error_fail(error, "the name %s is taken", name);
	if (w->count == WATERMARKS_MAX)
		return error_fail(error, "at most %d are taken",
				  WATERMARKS_MAX);
	(void)memcpy(to->name, name, sizeof(name));
	to->path = strndup(text + name_bytes + 1, bytes - name_bytes - 1);
	if (to->path == NULL)
		return error_fail(error, "out of memory");
	w->count++;
	return true;
}

bool watermarks_read(struct watermarks *w, const char *spec,
		     struct error *error)
{
	const char *at = spec;

	while (at != NULL) {
		size_t bytes = strcspn(at, ";");

		if (!read_one(w, at, bytes, error))
			return false;
		at = at[bytes] == ';' ? at + bytes + 1 : NULL;
	}
	return true;
}

static bool load_one(struct watermark *to, struct error *error)
{
	const char *why;
	enum img_err err;
	size_t bytes;
	char *file = file_read_bytes(to->path, WATERMARK_FILE_BYTES_MAX, &bytes,
				     &why);

	if (file == NULL)
		return error_fail(error, "%s: %s", to->path, why);
	err = img_watermark_load(&to->picture, (const uint8_t *)file, bytes,
				 &heap);
	free(file);
	if (err == IMG_ERR_TOO_LARGE)
		return error_fail(error, "%s: it has more than %d pixels",
				  to->path, IMG_WATERMARK_PIXELS_MAX);
	return err == IMG_OK ||
	       error_fail(error, "%s: %s", to->path, img_strerror(err));
}

bool watermarks_load(struct watermarks *w, struct error *error)
{
	for (uint32_t i = 0; i < w->count; i++)
		if (!load_one(&w->list[i], error))
			return false;
	return true;
}

void watermarks_release(struct watermarks *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		img_watermark_free(w->list[i].picture);
		free(w->list[i].path);
	}
	*w = (struct watermarks){ .count = 0 };
}

const struct img_watermark *watermarks_of(const struct watermarks *w,
					  const struct img_transform *transform)
{
	if (transform->watermark == 0)
		return NULL;
	assert(w != NULL && transform->watermark <= w->count);
	assert(w->list[transform->watermark - 1].picture != NULL);
	return w->list[transform->watermark - 1].picture;
}
