/* SPDX-License-Identifier: MIT */
/*
 * JPEGs as JPEG XL, and back, by libjxl on one thread.  Its memory is that of
 * malloc() and is not counted here: these run in a process that has a limit.
 */
#include "imgops/formats/jxl/jxl.h"

#include <jxl/decode.h>
#include <jxl/encode.h>

static bool add_jpeg(JxlEncoder *e, const uint8_t *jpeg, size_t count)
{
	JxlEncoderFrameSettings *settings =
		JxlEncoderFrameSettingsCreate(e, NULL);

	if (settings == NULL ||
	    JxlEncoderStoreJPEGMetadata(e, JXL_TRUE) != JXL_ENC_SUCCESS ||
	    JxlEncoderAddJPEGFrame(settings, jpeg, count) != JXL_ENC_SUCCESS)
		return false;
	JxlEncoderCloseInput(e);
	return true;
}

enum img_err jxl_pack(uint8_t *to, size_t room, size_t *count,
		      const uint8_t *jpeg, size_t jpeg_bytes)
{
	JxlEncoder *e = JxlEncoderCreate(NULL);
	enum img_err err = IMG_ERR_UNSUPPORTED;
	uint8_t *next = to;
	size_t left = room;

	if (e == NULL)
		return IMG_ERR_NO_MEMORY;
	if (add_jpeg(e, jpeg, jpeg_bytes)) {
		switch (JxlEncoderProcessOutput(e, &next, &left)) {
		case JXL_ENC_SUCCESS:
			err = IMG_OK;
			break;
		case JXL_ENC_NEED_MORE_OUTPUT:
			err = IMG_ERR_TOO_MANY_BYTES;
			break;
		default:
			break;
		}
	}
	JxlEncoderDestroy(e);
	*count = room - left;
	return err;
}

/* True: it goes on; else *err is the result. */
static bool restore_step(JxlDecoder *d, uint8_t *to, size_t room,
			 enum img_err *err)
{
	*err = IMG_ERR_CORRUPT;
	switch (JxlDecoderProcessInput(d)) {
	case JXL_DEC_JPEG_RECONSTRUCTION:
		return JxlDecoderSetJPEGBuffer(d, to, room) == JXL_DEC_SUCCESS;
	case JXL_DEC_JPEG_NEED_MORE_OUTPUT:
		*err = IMG_ERR_TOO_MANY_BYTES;
		return false;
	case JXL_DEC_NEED_IMAGE_OUT_BUFFER: /* it was no JPEG */
		*err = IMG_ERR_UNSUPPORTED;
		return false;
	case JXL_DEC_FULL_IMAGE:
	case JXL_DEC_SUCCESS:
		*err = IMG_OK;
		return false;
	case JXL_DEC_NEED_MORE_INPUT:
		*err = IMG_ERR_TRUNCATED;
		return false;
	default:
		return false;
	}
}

enum img_err jxl_restore(uint8_t *to, size_t room, size_t *count,
			 const uint8_t *jxl, size_t jxl_bytes)
{
	enum { EVENTS = JXL_DEC_JPEG_RECONSTRUCTION | JXL_DEC_FULL_IMAGE };
	JxlDecoder *d = JxlDecoderCreate(NULL);
	enum img_err err = IMG_ERR_UNSUPPORTED;

	if (d == NULL)
		return IMG_ERR_NO_MEMORY;
	*count = 0;
	if (JxlDecoderSubscribeEvents(d, EVENTS) == JXL_DEC_SUCCESS &&
	    JxlDecoderSetInput(d, jxl, jxl_bytes) == JXL_DEC_SUCCESS) {
		JxlDecoderCloseInput(d);
		while (restore_step(d, to, room, &err))
			;
		*count = room - JxlDecoderReleaseJPEGBuffer(d);
	}
	JxlDecoderDestroy(d);
	return err;
}
