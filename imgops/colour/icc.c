/* SPDX-License-Identifier: MIT */
/*
 * Each profile is opened in an lcms2 context of its own, so threads share
 * nothing, and no error handler is set.
 */
#include "imgops/colour/icc.h"

#include "base/util.h"
#include "imgops/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lcms2_plugin.h>

enum { VERSION = 2000, BYTES_MAX = 512 << 20 }; /* the same limit as in lcms2 */

struct icc_block {
	_Alignas(max_align_t) LIST_ENTRY(icc_block) entry;
};

/* NULL: lcms2 is still making the context. */
static struct icc_context *context_of(cmsContext lcms)
{
	return cmsGetContextUserData(lcms);
}

static void *keep_block(struct icc_context *c, struct icc_block *b)
{
	if (b == NULL) {
		if (c != NULL && c->jumps) {
			c->jumps = false;
			longjmp(c->no_memory, 1);
		}
		return NULL;
	}
	if (c != NULL)
		LIST_INSERT_HEAD(&c->blocks, b, entry);
	else
		b->entry.le_prev = NULL;
	return b + 1;
}

static void forget_block(struct icc_block *b)
{
	if (b->entry.le_prev != NULL)
		LIST_REMOVE(b, entry);
}

/*
 * False: the profile is bad if it needs this many bytes, even if there is
 * memory.
 */
static bool is_sane(cmsUInt32Number bytes)
{
	return bytes > 0 && bytes <= BYTES_MAX;
}

static void *lcms_alloc(cmsContext lcms, cmsUInt32Number bytes)
{
	return is_sane(bytes) ?
		       keep_block(context_of(lcms),
				  malloc(sizeof(struct icc_block) + bytes)) :
		       NULL;
}

static void lcms_free(cmsContext lcms, void *at)
{
	struct icc_block *b = at;

	(void)lcms;
	if (at == NULL)
		return;
	forget_block(b - 1);
	free(b - 1);
}

static void *lcms_resize(cmsContext lcms, void *at, cmsUInt32Number bytes)
{
	struct icc_block *b = at, *moved;

	if (at == NULL)
		return lcms_alloc(lcms, bytes);
	if (!is_sane(bytes))
		return NULL;
	forget_block(b - 1);
	moved = realloc(b - 1, sizeof(*b) + bytes);
	if (moved == NULL)
		(void)keep_block(context_of(lcms), b - 1);
	return keep_block(context_of(lcms), moved);
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
 *	if (icc_context_init(&c)) {
 *		if (setjmp(c.no_memory) == 0) {
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
static bool icc_context_init(struct icc_context *c)
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
	LIST_INIT(&c->blocks);
	c->lcms = cmsCreateContext(&memory, c);
	return c->lcms != NULL;
}

/* Free the context and everything that lcms2 allocated in it. */
static void icc_context_release(struct icc_context *c)
{
	struct icc_block *b;

	cmsDeleteContext(c->lcms);
	c->lcms = NULL;
	/* If a jump left lcms2, some of its blocks were not freed. */
	while ((b = LIST_FIRST(&c->blocks)) != NULL) {
		LIST_REMOVE(b, entry);
		free(b);
	}
}

enum {
	CHANNELS = 3,
	TRIAL_STEP = 51,
	TRIALS = 255 / TRIAL_STEP + 1,
	/*
	 * Profiles called sRGB differ from sRGB by up to 1.4 levels, because
	 * they are rounded.  Of profiles that mean something else, the nearest
	 * differs by 8 levels.
	 */
	SRGB_LEVELS_MAX = 2,
};

typedef int32_t index_vector __attribute__((vector_size(16)));

double srgb_encode(double light)
{
	if (light <= 0.0031308)
		return 12.92 * fmax(0, light);
	return 1.055 * pow(fmin(1, light), 1 / 2.4) - 0.055;
}

double srgb_decode(double level)
{
	if (level <= 0.04045)
		return level / 12.92;
	return pow((level + 0.055) / 1.055, 2.4);
}

static const cmsToneCurve *curve_of(cmsHPROFILE profile, int channel)
{
	static const cmsTagSignature tags[] = {
		cmsSigRedTRCTag,
		cmsSigGreenTRCTag,
		cmsSigBlueTRCTag,
	};

	return cmsReadTag(profile, tags[channel]);
}

static const cmsCIEXYZ *colour_of(cmsHPROFILE profile, int channel)
{
	static const cmsTagSignature tags[] = {
		cmsSigRedColorantTag,
		cmsSigGreenColorantTag,
		cmsSigBlueColorantTag,
	};

	return cmsReadTag(profile, tags[channel]);
}

static float light_of(const cmsToneCurve *curve, int level)
{
	return cmsEvalToneCurveFloat(curve, (float)level / 255);
}

/* False: `profile` is of another kind, or lacks a part. */
static bool is_matrix_profile(cmsHPROFILE profile)
{
	if (cmsGetColorSpace(profile) != cmsSigRgbData ||
	    cmsGetPCS(profile) != cmsSigXYZData ||
	    cmsIsTag(
		    profile,
		    cmsSigAToB0Tag)) /* would take precedence over the matrix */
		return false;
	for (int c = 0; c < CHANNELS; c++) {
		const cmsToneCurve *curve = curve_of(profile, c);

		/* lcms2 may change a black that is not 0. */
		if (colour_of(profile, c) == NULL || curve == NULL ||
		    !(fabsf(light_of(curve, 0)) < 1e-4f))
			return false;
	}
	return true;
}

static void matrix_of(float matrix[CHANNELS][CHANNELS], cmsHPROFILE profile)
{
	/* IEC 61966-2-1, adapted to D50 by Bradford's matrix. */
	static const double from_xyz[CHANNELS][CHANNELS] = {
		{ 3.1338561, -1.6168667, -0.4906146 },
		{ -0.9787684, 1.9161415, 0.0334540 },
		{ 0.0719453, -0.2289914, 1.4052427 },
	};

	for (int c = 0; c < CHANNELS; c++) {
		const cmsCIEXYZ *xyz = colour_of(profile, c);

		for (int i = 0; i < CHANNELS; i++)
			matrix[i][c] = (float)(from_xyz[i][0] * xyz->X +
					       from_xyz[i][1] * xyz->Y +
					       from_xyz[i][2] * xyz->Z);
	}
}

/* True: a matrix profile differs from sRGB only by rounding. */
static bool matrix_is_srgb(cmsHPROFILE profile)
{
	float matrix[CHANNELS][CHANNELS], light[CHANNELS][TRIALS];

	matrix_of(matrix, profile);
	for (int c = 0; c < CHANNELS; c++)
		for (int i = 0; i < TRIALS; i++)
			light[c][i] =
				light_of(curve_of(profile, c), i * TRIAL_STEP);
	for (int i = 0; i < TRIALS * TRIALS * TRIALS; i++) {
		int rgb[] = { i % TRIALS, i / TRIALS % TRIALS,
			      i / TRIALS / TRIALS };

		for (int c = 0; c < CHANNELS; c++) {
			const float *m = matrix[c];
			float sum = m[0] * light[0][rgb[0]] +
				    m[1] * light[1][rgb[1]] +
				    m[2] * light[2][rgb[2]];
			double error = 255 * srgb_encode((double)sum) -
				       rgb[c] * TRIAL_STEP;

			/* Written in this way, a NaN is not sRGB. */
			if (!(fabs(error) <= SRGB_LEVELS_MAX))
				return false;
		}
	}
	return true;
}

/*
 * Each amount of light gets the nearest level: level n ends at the light of n +
 * 0.5.
 */
static void fill_levels(uint8_t levels[LEVEL_ENTRIES])
{
	int next = 0;

	for (int level = 0; level < 256; level++) {
		double end = srgb_decode((level + 0.5) / 255);
		int first = next;

		next = level == 255 ? LEVEL_ENTRIES :
				      (int)ceil(end * (LEVEL_ENTRIES - 1));
		memset(levels + first, level, (size_t)(next - first));
	}
}

static void matrix_init(struct matrix_profile *s, cmsHPROFILE profile)
{
	const float top = LEVEL_ENTRIES - 1;
	float matrix[CHANNELS][CHANNELS];

	matrix_of(matrix, profile);
	for (int c = 0; c < CHANNELS; c++) {
		const cmsToneCurve *curve = curve_of(profile, c);
		light_vector whole = { top * matrix[0][c], top * matrix[1][c],
				       top * matrix[2][c] };
		float rounding = c == 0 ? 0.5f : 0;

		for (int level = 0; level < 256; level++)
			s->parts[c][level] =
				light_of(curve, level) * whole + rounding;
	}
	fill_levels(s->levels);
}

/*
 * Indices within matrix_profile.levels, computed so that a NaN becomes black.
 */
static inline index_vector indices_of(light_vector sum)
{
	const light_vector none = { 0 };
	const light_vector all = none + (LEVEL_ENTRIES - 1);
	index_vector is_light = sum > none, is_less = sum < all;
	index_vector bits = (index_vector)sum & is_light;

	bits = (bits & is_less) | ((index_vector)all & is_light & ~is_less);
	return __builtin_convertvector((light_vector)bits, index_vector);
}

/* Convert a row of RGB planes to sRGB. */
static void matrix_convert(const struct matrix_profile *s,
			   uint8_t *const srgb[3], const uint8_t *const rgb[3],
			   size_t width)
{
	const uint8_t *restrict r = rgb[0], *restrict g = rgb[1],
				*restrict b = rgb[2];

	for (size_t x = 0; x < width; x++) {
		index_vector indices =
			indices_of(s->parts[0][r[x]] + s->parts[1][g[x]] +
				   s->parts[2][b[x]]);

		for (int c = 0; c < CHANNELS; c++)
			srgb[c][x] = s->levels[indices[c]];
	}
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
static cmsUInt32Number table_flags(uint32_t channels, uint64_t pixels)
{
	uint64_t steps = channels == 4 ? 11 : 33;
	uint64_t entries = steps * steps * steps * (channels == 4 ? steps : 1);

	if (pixels < entries)
		return cmsFLAGS_NOOPTIMIZE;
	return (cmsUInt32Number)cmsFLAGS_GRIDPOINTS(steps);
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
	if (!is_matrix_profile(profile))
		return transform_open(icc, profile, type, pixels);
	if (matrix_is_srgb(profile))
		return ICC_SRGB;
	matrix_init(&icc->matrix, profile);
	return ICC_OTHER;
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

enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
			  size_t profile_bytes, enum img_space space,
			  uint64_t pixels)
{
	enum icc_verdict verdict;

	icc_init(icc);
	if (profile_bytes > PROFILE_BYTES_MAX)
		return ICC_BAD;
	if (!icc_context_init(&icc->context))
		return ICC_NO_MEMORY;
	if (setjmp(icc->context.no_memory) == 0) {
		icc->context.jumps = true;
		verdict =
			judge_bytes(icc, profile, profile_bytes, space, pixels);
		icc->context.jumps = false;
	} else {
		verdict = ICC_NO_MEMORY;
		icc->to_srgb = NULL; /* freed with the context */
	}
	if (verdict != ICC_OTHER)
		icc_close(icc);
	return verdict;
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
