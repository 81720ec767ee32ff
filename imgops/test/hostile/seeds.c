/* SPDX-License-Identifier: MIT */
#include "imgops/test/hostile/seeds.h"

#include "base/test/check.h"
#include "imgops/test/support.h"
#ifdef IMG_AVIF
#include "imgops/test/avifs.h"
#endif
#ifdef IMG_JXL
#include "imgops/test/jxls.h"
#endif
#ifdef IMG_WEBP
#include "imgops/test/webps.h"
#endif

#include <stdlib.h>
#include <string.h>

struct folder {
	const char *word, *dir;
};

#if defined(IMG_WEBP) || defined(IMG_AVIF) || defined(IMG_JXL)

/* Frees the file. */
static void put(const struct folder *to, const char *name, struct bytes file)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/seeds/%s.%s", to->dir, name,
		       to->word);
	CHECK_NUMBER(file.count, <, SEED_BYTES_MAX);
	f = fopen(path, "wb");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	(void)fwrite(file.data, 1, file.count, f);
	(void)fclose(f);
	free(file.data);
}

#endif

#ifdef IMG_WEBP

static void put_webps(const struct folder *to)
{
	put(to, "lossy", webp_make(40, 24, false, false));
	put(to, "alpha", webp_make(40, 24, false, true));
	put(to, "lossless", webp_make(21, 13, true, false));
	put(to, "extended", webp_with_all(false, false));
	put(to, "animation", webp_animation(80, 60, 2, 4, true, true, 2));
}

#endif

#ifdef IMG_AVIF

static void put_avifs(const struct folder *to)
{
	const struct avif_spec specs[] = {
		{ .width = 32, .height = 24, .format = 420 },
		{ .width = 24, .height = 16, .has_alpha = true },
		{ .width = 64, .height = 64, .format = 420, .columns = 2 },
		{ .width = 32, .height = 24, .format = 420, .frames = 2 },
		{ .width = 32,
		  .height = 24,
		  .format = 422,
		  .depth = 10,
		  .is_turned = true,
		  .angle = 1,
		  .is_mirrored = true,
		  .is_cut = true,
		  .aperture = { 20, 1, 16, 1, 0, 1, 0, 1 } },
	};
	static const char *const names[] = { "plain", "alpha", "grid",
					     "sequence", "turned" };

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		put(to, names[i], avif_make(&specs[i]));
}

#endif

#ifdef IMG_JXL

static void put_jxls(const struct folder *to)
{
	const struct jxl_spec specs[] = {
		{ .width = 21, .height = 13 },
		{ .width = 40, .height = 24, .is_lossy = true },
		{ .width = 21,
		  .height = 13,
		  .has_alpha = true,
		  .in_boxes = true,
		  .parts = 3 },
		{ .width = 21, .height = 13, .frames = 3 },
		{ .width = 21, .height = 13, .layers = 3, .is_lossy = true },
	};
	static const char *const names[] = { "lossless", "lossy", "boxes",
					     "animation", "layers" };

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		put(to, names[i], jxl_make(&specs[i]));
}

#endif

int seeds_write(const char *word, const char *dir)
{
	const struct folder to = { word, dir };

#ifdef IMG_WEBP
	if (strcmp(word, "webp") == 0)
		put_webps(&to);
#endif
#ifdef IMG_AVIF
	if (strcmp(word, "avif") == 0)
		put_avifs(&to);
#endif
#ifdef IMG_JXL
	if (strcmp(word, "jxl") == 0)
		put_jxls(&to);
#endif
	(void)to;
	return 0;
}
