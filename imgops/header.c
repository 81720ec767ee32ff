/* SPDX-License-Identifier: MIT */
/*
 * The header by the markers alone.  What libjpeg would make of it, without
 * libjpeg: it copies and lists markers in time quadratic in their number.  The
 * order of the checks is libjpeg's, so that both give one error.
 */
#include "imgops/imgops.h"

#include "imgops/exif.h"
#include "imgops/markers.h"
#include "imgops/planes.h"

enum {
	FACTOR_MAX = 4,
	SCAN_COMPONENTS_MAX = 4,
	JFIF_BYTES = 14,
	ADOBE_BYTES = 12,
	ICC_HEAD_BYTES = 14,
	SCANS_AT_PIXELS_MAX = 16, /* 64 would be seconds for a kilobyte */
	/* Photos have some tens; eight millions would take 0.1 s. */
	MARKERS_MAX = 32768,
};

/* Transforms of an Adobe marker; all others are a Y'CbCr of some kind. */
enum { ADOBE_ABSENT = -1, ADOBE_PLAIN = 0 };

/* What the header's own fields do not hold. */
struct probe {
	struct img_header h;
	uint32_t precision; /* bits of a sample */
	uint8_t ids[IMG_PLANES_MAX];
	bool has_jfif;
	int adobe;             /* the transform, or ADOBE_ABSENT */
	uint32_t marker_count; /* a little over MARKERS_MAX at most */
};

static uint32_t read16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static bool is_sof(uint8_t code)
{
	return (code >= MARKER_SOF0 && code <= MARKER_SOF15 &&
		code != MARKER_DHT && code != MARKER_DAC) ||
	       code == MARKER_SOF55;
}

static bool is_known(uint8_t code)
{
	return code == MARKER_TEM || code == MARKER_DHT || code == MARKER_DAC ||
	       (code >= MARKER_RST0 && code <= MARKER_RST7) ||
	       (code >= MARKER_DQT && code <= MARKER_DRI) ||
	       (code >= MARKER_APP0 && code <= MARKER_APP15) ||
	       code == MARKER_COM;
}

static enum img_err read_sof(struct probe *p, const struct marker *m)
{
	struct img_header *h = &p->h;
	const uint8_t *d = m->data;

	h->is_progressive = m->code == MARKER_SOF2 || m->code == MARKER_SOF10;
	h->is_arithmetic = m->code == MARKER_SOF9 || m->code == MARKER_SOF10;
	if (m->code > MARKER_SOF2 && !h->is_arithmetic)
		return IMG_ERR_UNSUPPORTED;
	if (h->component_count != 0 || m->bytes < 6)
		return IMG_ERR_CORRUPT;
	p->precision = d[0];
	h->stored.height_px = read16(d + 1);
	h->stored.width_px = read16(d + 3);
	h->component_count = d[5];
	if (h->stored.height_px == 0 || h->stored.width_px == 0 ||
	    h->component_count == 0 || m->bytes != 6 + 3 * (size_t)d[5])
		return IMG_ERR_CORRUPT;
	for (uint32_t i = 0; i < IMG_PLANES_MAX && i < d[5]; i++) {
		p->ids[i] = d[6 + 3 * i];
		h->h_factors[i] = d[7 + 3 * i] >> 4;
		h->v_factors[i] = d[7 + 3 * i] & 15;
	}
	return IMG_OK;
}

static void read_app(struct probe *p, const struct marker *m)
{
	if (m->code == MARKER_APP0 && m->bytes >= JFIF_BYTES &&
	    marker_begins(m, "JFIF", 5))
		p->has_jfif = true;
	if (m->code == MARKER_APP1 && p->h.orientation == 0)
		p->h.orientation = exif_orientation(m->data, m->bytes);
	if (m->code == MARKER_APP2 && m->bytes >= ICC_HEAD_BYTES &&
	    marker_begins(m, "ICC_PROFILE", 12))
		p->h.icc_bytes += m->bytes - ICC_HEAD_BYTES;
	if (m->code == MARKER_APP14 && m->bytes >= ADOBE_BYTES &&
	    marker_begins(m, "Adobe", 5))
		p->adobe = m->data[ADOBE_BYTES - 1];
}

/* To the first SOS, which ends up in `m`. */
static enum img_err read_segments(struct probe *p, struct markers *w,
				  struct marker *m)
{
	while (markers_next(w, m)) {
		enum img_err err = IMG_OK;

		if (++p->marker_count > MARKERS_MAX)
			return IMG_ERR_CORRUPT;
		if (m->code == MARKER_SOS)
			return IMG_OK;
		if (is_sof(m->code))
			err = read_sof(p, m);
		else if (!is_known(m->code))
			err = IMG_ERR_CORRUPT; /* also EOI and another SOI */
		if (err != IMG_OK)
			return err;
		read_app(p, m);
	}
	return IMG_ERR_TRUNCATED;
}

/* As libjpeg guesses. */
static enum img_space guess_space(const struct probe *p)
{
	const uint8_t *ids = p->ids;

	if (p->h.component_count == 1)
		return IMG_GREY;
	if (p->h.component_count == 4) {
		bool plain =
			p->adobe == ADOBE_ABSENT || p->adobe == ADOBE_PLAIN;

		return plain ? IMG_CMYK : IMG_YCCK;
	}
	if (p->has_jfif)
		return IMG_YCBCR;
	if (p->adobe != ADOBE_ABSENT)
		return p->adobe == ADOBE_PLAIN ? IMG_RGB : IMG_YCBCR;
	if (ids[0] == 'R' && ids[1] == 'G' && ids[2] == 'B')
		return IMG_RGB;
	return IMG_YCBCR;
}

static enum img_err check_frame(const struct probe *p)
{
	const struct img_header *h = &p->h;

	if (h->stored.width_px > IMAGE_SIDE_PX_MAX ||
	    h->stored.height_px > IMAGE_SIDE_PX_MAX)
		return IMG_ERR_TOO_LARGE;
	if (p->precision != 8)
		return IMG_ERR_UNSUPPORTED;
	if (h->component_count != 1 && h->component_count != 3 &&
	    h->component_count != 4)
		return IMG_ERR_UNSUPPORTED;
	for (uint32_t i = 0; i < h->component_count; i++)
		if (h->h_factors[i] == 0 || h->h_factors[i] > FACTOR_MAX ||
		    h->v_factors[i] == 0 || h->v_factors[i] > FACTOR_MAX)
			return IMG_ERR_CORRUPT;
	return IMG_OK;
}

static enum img_err check_limits(struct img_size size,
				 const struct img_limits *limits)
{
	if (size.width_px > limits->side_px_max ||
	    size.height_px > limits->side_px_max ||
	    img_pixels(size) > limits->pixels_max)
		return IMG_ERR_TOO_LARGE;
	return IMG_OK;
}

/* Each scan of a progressive file may visit every block. */
static bool has_too_many_scans(const struct img_header *h,
			       const struct img_limits *limits)
{
	double pixels = (double)h->stored.width_px * h->stored.height_px;

	return h->scan_count > limits->scans_max ||
	       h->scan_count * pixels >
		       SCANS_AT_PIXELS_MAX * (double)limits->pixels_max;
}

/*
 * From the first SOS on.  For most files the walk ends here, without a look at
 * megabytes of entropy-coded data: one scan holds all.
 */
static uint32_t count_scans(struct probe *p, struct markers *w,
			    const struct marker *first)
{
	struct marker m;
	uint32_t count = 1;

	if (!p->h.is_progressive && first->data[0] == p->h.component_count)
		return count;
	while (p->marker_count <= MARKERS_MAX && markers_next(w, &m)) {
		p->marker_count++;
		count += m.code == MARKER_SOS;
	}
	return count;
}

static bool is_scan(const struct marker *sos)
{
	return sos->bytes >= 4 && sos->data[0] >= 1 &&
	       sos->data[0] <= SCAN_COMPONENTS_MAX &&
	       sos->bytes == 4 + 2 * (size_t)sos->data[0];
}

static void finish(struct probe *p, struct markers *w, const struct marker *sos)
{
	struct img_header *h = &p->h;

	h->space = guess_space(p);
	if (h->orientation == 0)
		h->orientation = 1;
	h->upright = h->stored;
	if (h->orientation >= 5)
		h->upright = (struct img_size){ h->stored.height_px,
						h->stored.width_px };
	h->scan_count = count_scans(p, w, sos);
}

enum img_err img_probe(struct img_header *header, const uint8_t *jpeg,
		       size_t jpeg_bytes, const struct img_limits *limits)
{
	struct probe p = { .adobe = ADOBE_ABSENT };
	struct markers w;
	struct marker sos;
	enum img_err err;

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return IMG_ERR_NOT_JPEG;
	err = read_segments(&p, &w, &sos);
	if (err == IMG_OK && (p.h.component_count == 0 || !is_scan(&sos)))
		err = IMG_ERR_CORRUPT;
	if (err == IMG_OK)
		err = check_frame(&p);
	if (err == IMG_OK)
		err = check_limits(p.h.stored, limits);
	if (err != IMG_OK)
		return err;
	finish(&p, &w, &sos);
	if (has_too_many_scans(&p.h, limits))
		return IMG_ERR_TOO_MANY_SCANS;
	if (p.marker_count > MARKERS_MAX)
		return IMG_ERR_CORRUPT;
	*header = p.h;
	return IMG_OK;
}
