/* SPDX-License-Identifier: MIT */
/*
 * Each profile is opened in a context of its own, so that nothing is shared
 * between threads and lcms2 has nobody to tell about errors.
 */
#include "imgops/icc.h"

#include "imgops/colour_rows.h"
#include "imgops/profile.h"

enum { CHUNK = 256 }; /* pixels for lcms2 at a time */

void icc_init(struct icc *icc)
{
	icc->context.lcms = NULL;
	icc->to_srgb = NULL;
	icc->channels = 0;
}

/* lcms2's type of the pixels that `profile` is for; 0: of no such picture. */
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
 * The floating-point versions of the tables may be chains of any length, of
 * which each pixel would have to see every link.  Readers must do without.
 */
static void drop_chains(cmsHPROFILE profile)
{
	static const cmsTagSignature tags[] = {
		cmsSigDToB0Tag,
		cmsSigDToB1Tag,
		cmsSigDToB2Tag,
		cmsSigDToB3Tag,
	};

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (cmsIsTag(profile, tags[i]))
			(void)cmsWriteTag(profile, tags[i], NULL);
}

/*
 * lcms2 can table the whole conversion before the first pixel, so that each
 * pixel costs little.  That pays, as measured, from about as many pixels as
 * entries.  Its own 17 steps for each of four inks take 24 ms; 11 take 5, at a
 * mean delta-E to the exact conversion of 0.4 instead of 0.3.
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

static enum icc_verdict judge(struct icc *icc, cmsHPROFILE profile,
			      enum img_space space, uint64_t pixels)
{
	cmsUInt32Number type = device_type(profile, space);

	if (type == 0)
		return ICC_BAD;
	icc->channels = T_CHANNELS(type);
	if (!shaper_fits(profile))
		return transform_open(icc, profile, type, pixels);
	if (shaper_is_srgb(profile))
		return ICC_SRGB;
	shaper_init(&icc->shaper, profile);
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
	verdict = judge(icc, handle, space, pixels);
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

static void transform(const struct icc *icc, uint8_t *const srgb[3],
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
		colour_interleave(in, from, flip, icc->channels, count);
		cmsDoTransform(icc->to_srgb, in, out, count);
		colour_deinterleave(to, out, count);
	}
}

void icc_convert(const struct icc *icc, uint8_t *const srgb[3],
		 const uint8_t *const *device, const uint8_t *flip,
		 uint32_t width)
{
	if (icc->to_srgb != NULL)
		transform(icc, srgb, device, flip, width);
	else
		shaper_convert(&icc->shaper, srgb, device, width);
}

void icc_close(struct icc *icc)
{
	if (icc->to_srgb != NULL)
		cmsDeleteTransform(icc->to_srgb);
	if (icc->context.lcms != NULL)
		icc_context_release(&icc->context);
	icc_init(icc);
}
