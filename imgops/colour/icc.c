/* SPDX-License-Identifier: MIT */
/*
 * Each profile is opened in an lcms2 context of its own, so threads share
 * nothing, and no error handler is set.  The context's memory is an arena:
 * lcms2 frees nothing before the end, when everything is freed.
 */
#include "imgops/colour/icc.h"

#include "base/util.h"
#include "imgops/image.h"

#include <string.h>

#include <lcms2_plugin.h>

enum {
	VERSION = 2000,
	/*
	 * What lcms2 may take.  For 39 profiles of all kinds it took 0.2 to 0.5
	 * MB, and up to 2.9 times the profile: a copy, and each table in 16
	 * bits.
	 */
	BASE_BYTES = 1 << 20,
	BYTES_PER_BYTE = 4,
};

uint64_t icc_bytes_max(size_t profile_bytes)
{
	return BASE_BYTES + BYTES_PER_BYTE * (uint64_t)profile_bytes;
}

/* NULL: lcms2 is still making the context. */
static struct icc_context *context_of(cmsContext lcms)
{
	return cmsGetContextUserData(lcms);
}

/* What lcms2 gets has its size in front of it. */
static void *lcms_alloc(cmsContext lcms, cmsUInt32Number bytes)
{
	struct icc_context *c = context_of(lcms);
	size_t *block = NULL;

	if (c == NULL)
		return NULL;
	if (bytes > 0)
		block = arena_alloc(&c->arena, &c->account,
				    ARENA_ALIGN_BYTES + (size_t)bytes);
	if (block == NULL) {
		if (c->jumps && bytes > 0) {
			c->jumps = false;
			longjmp(c->failed, 1);
		}
		return NULL;
	}
	*block = bytes;
	return (uint8_t *)block + ARENA_ALIGN_BYTES;
}

static void lcms_free(cmsContext lcms, void *at)
{
	(void)lcms;
	(void)at;
}

static void *lcms_resize(cmsContext lcms, void *at, cmsUInt32Number bytes)
{
	void *moved = lcms_alloc(lcms, bytes);

	if (moved != NULL && at != NULL) {
		const size_t *had =
			(const size_t *)(const void *)((const uint8_t *)at -
						       ARENA_ALIGN_BYTES);

		memcpy(moved, at, *had < bytes ? *had : bytes);
	}
	return moved;
}

static void *lcms_lock_make(cmsContext lcms)
{
	return lcms; /* any address: NULL would mean failure */
}

static void lcms_lock_ignore(cmsContext lcms, void *lock)
{
	(void)lcms;
	(void)lock;
}

static cmsBool lcms_lock_take(cmsContext lcms, void *lock)
{
	lcms_lock_ignore(lcms, lock);
	return TRUE;
}

/*
 *	if (icc_context_init(&c, ...)) {
 *		if (setjmp(c.failed) == 0) {
 *			c.jumps = true;
 *			... calls of lcms2 in c.lcms ...
 *			c.jumps = false;
 *		}
 *		icc_context_release(&c);
 *	}
 *
 * A context has one thread, so there are no locks that a jump could leave
 * locked.  False: no memory.
 */
static bool icc_context_init(struct icc_context *c, uint64_t bytes_max,
			     const struct memory *m)
{
	cmsPluginMutex locks = {
		.base = { cmsPluginMagicNumber, VERSION, cmsPluginMutexSig,
			  NULL },
		.CreateMutexPtr = lcms_lock_make,
		.DestroyMutexPtr = lcms_lock_ignore,
		.LockMutexPtr = lcms_lock_take,
		.UnlockMutexPtr = lcms_lock_ignore,
	};
	cmsPluginMemHandler memory = {
		.base = { cmsPluginMagicNumber, VERSION, cmsPluginMemHandlerSig,
			  &locks.base },
		.MallocPtr = lcms_alloc,
		.FreePtr = lcms_free,
		.ReallocPtr = lcms_resize,
	};

	c->jumps = false;
	c->arena = (struct arena){ 0 };
	c->account =
		(struct arena_account){ .memory = m, .bytes_max = bytes_max };
	c->lcms = cmsCreateContext(&memory, c);
	if (c->lcms == NULL)
		arena_free(&c->arena, &c->account);
	return c->lcms != NULL;
}

/* Free the context and everything that lcms2 allocated in it. */
static void icc_context_release(struct icc_context *c)
{
	cmsDeleteContext(c->lcms);
	c->lcms = NULL;
	arena_free(&c->arena, &c->account);
}

enum { CHUNK = 256 }; /* pixels for lcms2 at a time */

void icc_init(struct icc *icc)
{
	icc->context.lcms = NULL;
	icc->to_srgb = NULL;
	icc->channels = 0;
}

/*
 * lcms2's type of the pixels that `profile` is for; 0: it is not for such a
 * picture.
 */
static cmsUInt32Number device_type(cmsHPROFILE profile, enum img_space space)
{
	bool is_cmyk = space == IMG_CMYK || space == IMG_YCCK;

	switch (cmsGetDeviceClass(profile)) {
	case cmsSigInputClass:
	case cmsSigDisplayClass:
	case cmsSigOutputClass:
	case cmsSigColorSpaceClass:
		break;
	default:
		return 0;
	}
	switch (cmsGetColorSpace(profile)) {
	case cmsSigGrayData:
		return space == IMG_GREY ? TYPE_GRAY_8 : 0;
	case cmsSigRgbData:
		return is_cmyk ? 0 : TYPE_RGB_8;
	case cmsSigCmykData:
		return is_cmyk ? TYPE_CMYK_8 : 0;
	default:
		return 0;
	}
}

/*
 * The floating-point versions of a profile's tables may be chains of any number
 * of steps, all computed for each pixel.  They are removed, and the profile is
 * used without them.
 */
static void drop_chains(cmsHPROFILE profile)
{
	static const cmsTagSignature tags[] = {
		cmsSigDToB0Tag,
		cmsSigDToB1Tag,
		cmsSigDToB2Tag,
		cmsSigDToB3Tag,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
		if (cmsIsTag(profile, tags[i]))
			(void)cmsWriteTag(profile, tags[i], NULL);
}

/*
 * lcms2 can make a table of the whole conversion before the first pixel, so
 * that each pixel costs little.  Measurements show that this is faster if there
 * are more pixels than entries.  For four inks lcms2 would make a table of 17
 * steps for each ink, which takes 24 ms.  A table of 11 steps takes 5 ms, and
 * the mean delta-E to the exact conversion is 0.4 instead of 0.3.
 */
static uint32_t table_steps(uint32_t channels)
{
	return channels == 4 ? 11 : 33;
}

uint64_t icc_table_entries(uint32_t channels, uint64_t pixels)
{
	uint64_t steps = table_steps(channels), entries = steps * steps * steps;

	if (channels == 4)
		entries *= steps;
	return pixels < entries ? 0 : entries;
}

static cmsUInt32Number table_flags(uint32_t channels, uint64_t pixels)
{
	if (icc_table_entries(channels, pixels) == 0)
		return cmsFLAGS_NOOPTIMIZE;
	return (cmsUInt32Number)cmsFLAGS_GRIDPOINTS(table_steps(channels));
}

static enum icc_verdict transform_open(struct icc *icc, cmsHPROFILE profile,
				       cmsUInt32Number type, uint64_t pixels)
{
	cmsHPROFILE srgb = cmsCreate_sRGBProfileTHR(icc->context.lcms);

	if (srgb == NULL)
		return ICC_BAD;
	drop_chains(profile);
	icc->to_srgb = cmsCreateTransformTHR(
		icc->context.lcms, profile, type, srgb, TYPE_RGB_8,
		INTENT_PERCEPTUAL, table_flags(icc->channels, pixels));
	(void)cmsCloseProfile(srgb);
	return icc->to_srgb != NULL ? ICC_OTHER : ICC_BAD;
}

static enum icc_verdict judge_handle(struct icc *icc, cmsHPROFILE profile,
				     enum img_space space, uint64_t pixels)
{
	cmsUInt32Number type = device_type(profile, space);

	if (type == 0)
		return ICC_BAD;
	icc->channels = T_CHANNELS(type);
	return transform_open(icc, profile, type, pixels);
}

static enum icc_verdict judge_bytes(struct icc *icc, const uint8_t *profile,
				    size_t profile_bytes, enum img_space space,
				    uint64_t pixels)
{
	enum icc_verdict verdict;
	cmsHPROFILE handle = cmsOpenProfileFromMemTHR(
		icc->context.lcms, profile, (cmsUInt32Number)profile_bytes);

	if (handle == NULL)
		return ICC_BAD;
	verdict = judge_handle(icc, handle, space, pixels);
	(void)cmsCloseProfile(handle);
	return verdict;
}

static enum icc_verdict open_by_lcms(struct icc *icc, const uint8_t *profile,
				     size_t profile_bytes, enum img_space space,
				     uint64_t pixels,
				     const struct memory *memory)
{
	struct icc_context *c = &icc->context;
	enum icc_verdict verdict;

	if (!icc_context_init(c, icc_bytes_max(profile_bytes), memory))
		return ICC_NO_MEMORY;
	if (setjmp(c->failed) == 0) {
		c->jumps = true;
		verdict =
			judge_bytes(icc, profile, profile_bytes, space, pixels);
		c->jumps = false;
	} else {
		verdict = c->account.over_limit ? ICC_BAD : ICC_NO_MEMORY;
		icc->to_srgb = NULL; /* freed with the context */
	}
	return verdict;
}

static enum icc_verdict open_matrix(struct icc *icc,
				    const struct matrix_tags *tags,
				    enum img_space space)
{
	if (space == IMG_CMYK || space == IMG_YCCK)
		return ICC_BAD;
	if (matrix_is_srgb(tags))
		return ICC_SRGB;
	matrix_init(&icc->matrix, tags);
	icc->channels = MATRIX_CHANNELS;
	return ICC_OTHER;
}

enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
			  size_t profile_bytes, enum img_space space,
			  uint64_t pixels, const struct memory *memory)
{
	struct matrix_tags tags;
	enum icc_verdict verdict;

	icc_init(icc);
	if (profile_bytes > PROFILE_BYTES_MAX)
		return ICC_BAD;
	if (matrix_read(&tags, profile, profile_bytes))
		verdict = open_matrix(icc, &tags, space);
	else
		verdict = open_by_lcms(icc, profile, profile_bytes, space,
				       pixels, memory);
	if (verdict != ICC_OTHER)
		icc_close(icc);
	return verdict;
}

bool icc_is_hdr(const struct icc *icc)
{
	return icc->channels == MATRIX_CHANNELS && icc->to_srgb == NULL &&
	       icc->matrix.hdr.curve != HDR_NONE;
}

/* Interleave planes to pixels of 1, 3 or 4 bytes, each flipped by XOR. */
static void interleave(uint8_t *pixels, const uint8_t *const *planes,
		       const uint8_t *flip, uint32_t channels, size_t width)
{
	for (uint32_t c = 0; c < channels; c++)
		for (size_t x = 0; x < width; x++)
			pixels[x * channels + c] = planes[c][x] ^ flip[c];
}

/* Split pixels of 3 bytes into planes. */
static void deinterleave(uint8_t *const rgb[3], const uint8_t *pixels,
			 size_t width)
{
	uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
			  *restrict b = rgb[2];

	for (size_t x = 0; x < width; x++) {
		r[x] = pixels[3 * x];
		g[x] = pixels[3 * x + 1];
		b[x] = pixels[3 * x + 2];
	}
}

static void convert_by_lcms(const struct icc *icc, uint8_t *const srgb[3],
			    const uint8_t *const *device, const uint8_t *flip,
			    uint32_t width)
{
	uint8_t in[CHUNK * IMG_PLANES_MAX], out[CHUNK * 3];

	for (uint32_t x = 0; x < width; x += CHUNK) {
		uint32_t count = width - x < CHUNK ? width - x : CHUNK;
		uint8_t *const to[] = { srgb[0] + x, srgb[1] + x, srgb[2] + x };
		const uint8_t *from[IMG_PLANES_MAX];

		for (uint32_t i = 0; i < icc->channels; i++)
			from[i] = device[i] + x;
		interleave(in, from, flip, icc->channels, count);
		cmsDoTransform(icc->to_srgb, in, out, count);
		deinterleave(to, out, count);
	}
}

void icc_convert(const struct icc *icc, uint8_t *const srgb[3],
		 const uint8_t *const *device, const uint8_t *flip,
		 uint32_t width)
{
	if (icc->to_srgb != NULL)
		convert_by_lcms(icc, srgb, device, flip, width);
	else
		matrix_convert(&icc->matrix, srgb, device, width);
}

void icc_close(struct icc *icc)
{
	if (icc->to_srgb != NULL)
		cmsDeleteTransform(icc->to_srgb);
	if (icc->context.lcms != NULL)
		icc_context_release(&icc->context);
	icc_init(icc);
}
