/* SPDX-License-Identifier: MIT */
/*
 * Encoding by libjxl, on one thread.  A lossy result is in XYB, and libjxl
 * converts it from its profile or from sRGB; a lossless one keeps its samples.
 * Alpha is always lossless.  There is no pause while libjxl works.
 *
 * A result is a codestream; one with metadata, or with a gain map, which is
 * encoded after it, is in boxes.
 */
#include "imgops/formats/jxl/jxl.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/stack.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

#include <jxl/encode.h>
#include <jxl/version.h>

struct job {
	const struct image *src;
	const struct img_transform *transform;
	double quality;
	const struct memory *memory;
	const uint8_t *pixels; /* interleaved */
	struct jxl_memory library;
	uint8_t *out; /* NULL: that has failed */
	size_t count, size;
};

/* --- The parameters --- */

enum { USUAL = 4, LOSSLESS_USUAL = 3, EFFORT_MOST = 9 };

/* Is the result, or a part of it? */
static bool has_lossless(enum img_space space, const struct img_transform *t)
{
	return t->lossless || space == IMG_RGBA;
}

/*
 * The same as libjxl's.  With 9, what is lossless, alpha too, takes up to 100
 * microseconds a pixel, for one per cent of the bytes.
 */
static int effort_of(enum img_space space, const struct img_transform *t)
{
	if (t->effort == 0)
		return t->lossless ? LOSSLESS_USUAL : USUAL;
	return t->effort == EFFORT_MOST && has_lossless(space, t) ?
		       EFFORT_MOST - 1 :
		       t->effort;
}

/* libjxl's distance, with USUAL: up to 15, which is what version 0.7 takes. */
const double jxl_qualities[FORMAT_QUALITIES] = { 15,   12,  6.3,  3.8, 2.55,
						 1.77, 1.1, 0.71, 0.1 };

static float distance_of(double quality)
{
	return (float)format_quality(jxl_qualities, quality);
}

static bool set_info(JxlEncoder *e, const struct job *j)
{
	JxlBasicInfo info;

	JxlEncoderInitBasicInfo(&info);
	info.xsize = j->src->planes[0].width;
	info.ysize = j->src->planes[0].height;
	info.bits_per_sample = 8;
	info.uses_original_profile = j->transform->lossless;
	info.num_color_channels = j->src->space == IMG_GREY ? 1 : 3;
	if (j->src->space == IMG_RGBA) {
		info.num_extra_channels = 1;
		info.alpha_bits = 8;
	}
	return JxlEncoderSetBasicInfo(e, &info) == JXL_ENC_SUCCESS;
}

static bool set_colours(JxlEncoder *e, const struct image *src)
{
	JxlColorEncoding srgb;

	if (src->profile_bytes > 0)
		return JxlEncoderSetICCProfile(e, src->profile,
					       src->profile_bytes) ==
		       JXL_ENC_SUCCESS;
	JxlColorEncodingSetToSRGB(&srgb, src->space == IMG_GREY);
	return JxlEncoderSetColorEncoding(e, &srgb) == JXL_ENC_SUCCESS;
}

static bool set_frame(JxlEncoderFrameSettings *f, const struct job *j)
{
	const struct img_transform *t = j->transform;

#if JPEGXL_NUMERIC_VERSION >= JPEGXL_COMPUTE_NUMERIC_VERSION(0, 8, 0)
	if (j->src->space == IMG_RGBA &&
	    JxlEncoderSetExtraChannelDistance(f, 0, 0) != JXL_ENC_SUCCESS)
		return false;
#endif
	if (JxlEncoderFrameSettingsSetOption(f, JXL_ENC_FRAME_SETTING_EFFORT,
					     effort_of(j->src->space, t)) !=
	    JXL_ENC_SUCCESS)
		return false;
	return (t->lossless ?
			JxlEncoderSetFrameLossless(f, JXL_TRUE) :
			JxlEncoderSetFrameDistance(
				f, distance_of(j->quality))) == JXL_ENC_SUCCESS;
}

/* --- In libjxl --- */

/* Room for as much again as there is.  False: no memory. */
static bool grow(struct job *j)
{
	enum { FIRST_BYTES = 64 << 10 };
	size_t size = j->size == 0 ? FIRST_BYTES : 2 * j->size;
	uint8_t *larger = memory_alloc(j->memory, size);

	if (larger == NULL)
		return false;
	if (j->count > 0)
		memcpy(larger, j->out, j->count);
	memory_free(j->memory, j->out);
	j->out = larger;
	j->size = size;
	return true;
}

static bool take_output(struct job *j, JxlEncoder *e)
{
	JxlEncoderStatus status = JXL_ENC_NEED_MORE_OUTPUT;

	while (status == JXL_ENC_NEED_MORE_OUTPUT && grow(j)) {
		uint8_t *next = j->out + j->count;
		size_t left = j->size - j->count;

		status = JxlEncoderProcessOutput(e, &next, &left);
		j->count = j->size - left;
	}
	return status == JXL_ENC_SUCCESS;
}

static bool encode(struct job *j, JxlEncoder *e)
{
	const JxlPixelFormat format = { .num_channels = j->src->plane_count,
					.data_type = JXL_TYPE_UINT8 };
	size_t bytes = (size_t)j->src->planes[0].width *
		       j->src->planes[0].height * j->src->plane_count;
	JxlEncoderFrameSettings *f;

	if (!set_info(e, j) || !set_colours(e, j->src))
		return false;
	f = JxlEncoderFrameSettingsCreate(e, NULL);
	if (f == NULL || !set_frame(f, j) ||
	    JxlEncoderAddImageFrame(f, &format, j->pixels, bytes) !=
		    JXL_ENC_SUCCESS)
		return false;
	JxlEncoderCloseInput(e);
	return take_output(j, e);
}

static void run(void *arg)
{
	struct job *j = arg;
	JxlEncoder *e = JxlEncoderCreate(&j->library.manager);

	if (e == NULL || !encode(j, e)) {
		memory_free(j->memory, j->out);
		j->out = NULL;
	}
	if (e != NULL)
		JxlEncoderDestroy(e);
}

/* --- All --- */

static uint64_t pixels_bytes(const struct image *src)
{
	return (uint64_t)src->planes[0].width * src->planes[0].height *
	       src->plane_count;
}

/*
 * What libjxl allocates, at most, with the file: measured with photos and
 * noise, and version 0.7.0.  Version 0.11.2 takes 22 to 71 bytes a pixel, but
 * as much when it compares.
 */
static uint64_t library_bytes(const struct image *src,
			      const struct img_transform *t)
{
	enum { ONCE_BYTES = 8 << 20, EDGE_PX = 64, SLOW = 7 };
	enum { PIXEL_BYTES = 84, ALPHA_BYTES = 26, SLOW_BYTES = 30 };
	/* It compares results with the picture. */
	enum { COMPARES = 8, COMPARE_BYTES = 160 };
	uint64_t pixels = (uint64_t)(src->planes[0].width + EDGE_PX) *
			  (src->planes[0].height + EDGE_PX);
	uint64_t each = PIXEL_BYTES;

	each += src->space == IMG_RGBA ? ALPHA_BYTES : 0;
	each += effort_of(src->space, t) >= SLOW ? SLOW_BYTES : 0;
	if (!t->lossless && effort_of(src->space, t) >= COMPARES)
		each += COMPARE_BYTES;
	return ONCE_BYTES + pixels * each + 2 * src->profile_bytes;
}

/* The result is j->out.  NULL: no memory. */
static void encode_picture(struct job *j)
{
	const struct image *src = j->src;
	const struct memory *memory = j->memory;
	size_t row_bytes = (size_t)src->planes[0].width * src->plane_count;
	uint64_t library = library_bytes(src, j->transform);
	uint8_t *held = memory_alloc(memory, JXL_STACK_BYTES + (size_t)library);
	uint8_t *pixels = memory_alloc(memory, (size_t)pixels_bytes(src));

	assert(j->quality >= 1 && j->quality <= 100);
	if (held != NULL && pixels != NULL) {
		for (uint32_t y = 0; y < src->planes[0].height; y++) {
			colour_write_row(pixels + y * row_bytes, src, y);
			memory_pause(memory);
		}
		j->pixels = pixels;
		jxl_memory_init(&j->library, library);
		stack_call(run, j, held, JXL_STACK_BYTES);
	}
	memory_free(memory, pixels);
	memory_free(memory, held);
}

/* A block of the result's own size; `from` is freed. */
static uint8_t *take_result(struct job *from)
{
	uint8_t *out = memory_alloc(from->memory, from->count);

	if (out != NULL)
		memcpy(out, from->out, from->count);
	memory_free(from->memory, from->out);
	from->out = NULL;
	return out;
}

/* --- A file in boxes --- */

static uint8_t *put(uint8_t *at, const void *data, size_t bytes)
{
	memcpy(at, data, bytes);
	return at + bytes;
}

enum { BOX_HEAD_BYTES = 8 };

static uint8_t *put_box(uint8_t *at, const char *type, size_t bytes)
{
	size_t all = BOX_HEAD_BYTES + bytes;

	assert(all <= UINT32_MAX);
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (uint8_t)(all >> shift);
	return put(at, type, 4);
}

static const uint8_t exif_offset[4]; /* TIFF begins at once */

static size_t box_bytes(size_t data_bytes)
{
	return data_bytes == 0 ? 0 : BOX_HEAD_BYTES + data_bytes;
}

static size_t exif_bytes(const struct img_metadata *m)
{
	return m->exif.count == 0 ? 0 : sizeof(exif_offset) + m->exif.count;
}

static uint8_t *put_metadata(uint8_t *at, const struct img_metadata *m)
{
	if (m->exif.count > 0) {
		at = put_box(at, "Exif", exif_bytes(m));
		at = put(at, exif_offset, sizeof(exif_offset));
		at = put(at, m->exif.bytes, m->exif.count);
	}
	if (m->xmp.count > 0) {
		at = put_box(at, "xml ", m->xmp.count);
		at = put(at, m->xmp.bytes, m->xmp.count);
	}
	return at;
}

/* The file of a picture, and of its gain map or NULL.  NULL: no memory. */
static uint8_t *put_together(size_t *count, const struct job *picture,
			     const struct job *map)
{
	static const uint8_t kind[] = { 'j', 'x', 'l', ' ', 0,   0,
					0,   0,   'j', 'x', 'l', ' ' };
	static const struct img_metadata none = { .block = NULL };
	const struct img_metadata *m =
		picture->src->metadata != NULL ? picture->src->metadata : &none;
	uint8_t head[JXL_GAIN_HEAD_BYTES_MAX], *out, *at;
	size_t head_bytes = 0, map_bytes = 0;

	if (map != NULL) {
		head_bytes = jxl_write_gain_head(head, picture->src->gainmap);
		map_bytes = head_bytes + map->count;
	}
	*count = sizeof(jxl_container) + box_bytes(sizeof(kind)) +
		 box_bytes(exif_bytes(m)) + box_bytes(m->xmp.count) +
		 box_bytes(picture->count) + box_bytes(map_bytes);
	out = memory_alloc(picture->memory, *count);
	if (out == NULL)
		return NULL;
	at = put(out, jxl_container, sizeof(jxl_container));
	at = put(put_box(at, "ftyp", sizeof(kind)), kind, sizeof(kind));
	at = put_metadata(at, m);
	at = put_box(at, "jxlc", picture->count);
	at = put(at, picture->out, picture->count);
	if (map != NULL) {
		at = put_box(at, "jhgm", map_bytes);
		at = put(put(at, head, head_bytes), map->out, map->count);
	}
	assert(at == out + *count);
	return out;
}

/* The file of `picture`, which is encoded, and of its map. */
static uint8_t *add_gainmap(size_t *count, const struct job *picture)
{
	const struct img_gainmap *meaning = picture->src->gainmap;
	struct img_transform coding = gainmap_coding(picture->transform);
	struct image samples = meaning->image; /* numbers, not colours */
	struct job map = { .src = &samples,
			   .transform = &coding,
			   .quality = coding.quality,
			   .memory = picture->memory };
	uint8_t *file = NULL;

	samples.profile = NULL;
	samples.profile_bytes = 0;
	encode_picture(&map);
	if (map.out != NULL)
		file = put_together(count, picture, &map);
	memory_free(map.memory, map.out);
	return file;
}

/*
 * A picture that libjxl puts in boxes itself gets no others: it has more than
 * 2^28 pixels, for which nobody has the memory.
 */
static bool is_codestream(const struct job *picture)
{
	return picture->out[0] == 0xff;
}

enum img_err jxl_encode(uint8_t **bytes, size_t *count, struct image *src,
			const struct img_transform *transform, double quality,
			const struct memory *memory)
{
	struct job j = { .src = src,
			 .transform = transform,
			 .quality = quality,
			 .memory = memory };

	encode_picture(&j);
	if (j.out == NULL)
		return IMG_ERR_NO_MEMORY;
	*count = j.count;
	if (src->gainmap != NULL && is_codestream(&j))
		*bytes = add_gainmap(count, &j);
	else if (src->metadata != NULL && is_codestream(&j))
		*bytes = put_together(count, &j, NULL);
	else
		*bytes = take_result(&j);
	memory_free(memory, j.out);
	return *bytes != NULL ? IMG_OK : IMG_ERR_NO_MEMORY;
}

/* --- Estimate --- */

/*
 * Measured with photos of 640 and 3840 pixels, and noise, on an Intel Xeon that
 * took 2 times as long for a JPEG as estimate.c says; these are the times
 * divided by that.
 */
enum {
	TERM_RESULTS,
	TERM_EFFORT, /* 1..EFFORT_MOST */
	TERM_LOSSLESS = TERM_EFFORT + EFFORT_MOST,
	TERM_ALPHA = TERM_LOSSLESS + EFFORT_MOST,
	TERM_COUNT,
};

#define LOSSY "pixel of a lossy result, effort "
#define LOSSLESS "pixel of a lossless result, effort "

static const struct estimate_term encode_terms[TERM_COUNT] = {
	[TERM_RESULTS] = { "result", 1000000 },
	[TERM_EFFORT + 0] = { LOSSY "1", 70 },
	[TERM_EFFORT + 1] = { LOSSY "2", 70 },
	[TERM_EFFORT + 2] = { LOSSY "3", 70 },
	[TERM_EFFORT + 3] = { LOSSY "4", 75 },
	[TERM_EFFORT + 4] = { LOSSY "5", 250 },
	[TERM_EFFORT + 5] = { LOSSY "6", 350 },
	[TERM_EFFORT + 6] = { LOSSY "7", 400 },
	[TERM_EFFORT + 7] = { LOSSY "8", 2400 },
	[TERM_EFFORT + 8] = { LOSSY "9", 3400 },
	[TERM_LOSSLESS + 0] = { LOSSLESS "1", 90 },
	[TERM_LOSSLESS + 1] = { LOSSLESS "2", 100 },
	[TERM_LOSSLESS + 2] = { LOSSLESS "3", 210 },
	[TERM_LOSSLESS + 3] = { LOSSLESS "4", 1430 },
	[TERM_LOSSLESS + 4] = { LOSSLESS "5", 1500 },
	[TERM_LOSSLESS + 5] = { LOSSLESS "6", 1730 },
	[TERM_LOSSLESS + 6] = { LOSSLESS "7", 2500 },
	[TERM_LOSSLESS + 7] = { LOSSLESS "8", 5000 },
	[TERM_ALPHA] = { "pixel with alpha", 150 },
};

static void encode_count(double *counts, const struct workload *w)
{
	enum { BLOCK_PX = 8 };
	const struct img_transform *t = w->transform;
	int effort = effort_of(w->scaled.space, t) - 1;
	double pixels =
		samples_in_groups(w->view->size.width_px,
				  w->view->size.height_px, BLOCK_PX, BLOCK_PX);

	counts[TERM_RESULTS] = 1;
	counts[(t->lossless ? TERM_LOSSLESS : TERM_EFFORT) + effort] = pixels;
	if (w->scaled.space == IMG_RGBA)
		counts[TERM_ALPHA] = pixels;
}

static uint64_t encode_bytes(const struct workload *w)
{
	enum { ONCE_BYTES = 128 << 10, PIXEL_BYTES = 5 }; /* of a file */
	uint64_t file = ONCE_BYTES + w->profile_bytes +
			img_pixels(w->view->size) * PIXEL_BYTES;

	/* While `out` grows, and when it is copied, it is there twice. */
	return image_bytes(&w->scaled) + w->profile_bytes * 2 +
	       JXL_STACK_BYTES + library_bytes(&w->scaled, w->transform) +
	       pixels_bytes(&w->scaled) + 3 * file;
}

const struct step_estimate jxl_encode_estimate = { "encode", encode_terms,
						   TERM_COUNT, encode_count,
						   encode_bytes };
