/* SPDX-License-Identifier: MIT */
/*
 * For test scripts: is each reply a whole JPEG of the promised size?
 *
 * usage: check_sizes PHOTOS_DIR REPLIES_DIR W H
 *
 * loadgen --save has written REPLIES_DIR.  Folders in PHOTOS_DIR are ignored.
 */
#include "imgops/imgops.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct img_limits limits = { 65500, 1000000000, 1000,
					  UINT64_C(1) << 40, 0 };

static void *count_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return malloc(bytes);
}

static void count_free(void *arg, void *block)
{
	(void)arg;
	free(block);
}

static const struct memory memory = { .alloc = count_alloc,
				      .free = count_free };

/* Read DIR/NAME and its header; decode it all if `whole`. */
static enum img_err probe(struct img_header *h, const char *dir,
			  const char *name, bool whole)
{
	char path[4096];
	struct image img = { 0 };

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");

	if (f == NULL)
		return IMG_ERR_UNKNOWN_FORMAT;
	(void)fseek(f, 0, SEEK_END);
	size_t bytes = (size_t)ftell(f);
	uint8_t *data = malloc(bytes + 1);

	rewind(f);
	if (data == NULL || fread(data, 1, bytes, f) != bytes)
		abort();
	(void)fclose(f);
	enum img_err err = img_probe(h, data, bytes, &limits);

	if (err == IMG_OK && whole)
		err = img_decode_any(
			&img, data, bytes, h,
			&(struct img_view){ .width = 1,
					    .height = 1,
					    .size = h->upright,
					    .orientation = h->orientation },
			&(struct img_transform){ 0 }, &limits, &memory);
	img_release(&img);
	free(data);
	return err;
}

/*
 * The right size is the largest one with the photo's aspect that fits into the
 * box, rounded, and not larger than the photo.
 */
static bool is_right(struct img_size photo, struct img_size reply, double w,
		     double h)
{
	double ratio = fmin(1, fmin(w / photo.width_px, h / photo.height_px));
	double wide = fmax(1, round(photo.width_px * ratio));
	double high = fmax(1, round(photo.height_px * ratio));

	return reply.width_px == (uint32_t)wide &&
	       reply.height_px == (uint32_t)high;
}

int main(int argc, char **argv)
{
	int checked = 0, wrong = 0;
	struct dirent *entry;
	DIR *dir = argc == 5 ? opendir(argv[1]) : NULL;

	if (dir == NULL)
		return 2;
	while ((entry = readdir(dir)) != NULL) {
		const char *dot = strrchr(entry->d_name, '.');
		struct img_header photo, reply;

		if (dot == NULL || (strcasecmp(dot, ".jpg") != 0 &&
				    strcasecmp(dot, ".jpeg") != 0))
			continue;
		checked++;
		if (probe(&photo, argv[1], entry->d_name, false) == IMG_OK &&
		    probe(&reply, argv[2], entry->d_name, true) == IMG_OK &&
		    is_right(photo.upright, reply.upright, atof(argv[3]),
			     atof(argv[4])))
			continue;
		(void)fprintf(stderr, "wrong: %s\n", entry->d_name);
		wrong++;
	}
	(void)closedir(dir);
	return checked == 0 || wrong > 0;
}
