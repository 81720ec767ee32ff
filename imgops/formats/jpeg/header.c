/* SPDX-License-Identifier: MIT */
/*
 * The header is read from the markers without libjpeg: libjpeg copies markers
 * into a list, in a time that grows with the square of their number.  The order
 * of the checks is libjpeg's, so that both report the same error.
 */
#include "imgops/formats/jpeg/header.h"

#include "imgops/colour/icc_write.h"
#include "imgops/colour/matrix.h"
#include "imgops/formats/exif.h"
#include "imgops/formats/format.h"
#include "imgops/formats/jpeg/gain.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/markers.h"

#include <assert.h>
#include <string.h>

enum {
	ICC_NAME_BYTES = 12, /* "ICC_PROFILE" and its zero */
	/* The name, a number from 1, and a count. */
	ICC_HEAD_BYTES = ICC_NAME_BYTES + 2,
	ICC_CHUNKS_MAX = 255,
};

/* True: `m` is a piece of an ICC profile. */
static bool is_icc_chunk(const struct marker *m)
{
	return m->code == MARKER_APP2 && m->bytes >= ICC_HEAD_BYTES &&
	       marker_begins(m, "ICC_PROFILE", ICC_NAME_BYTES);
}

struct icc_chunks {
	struct marker
		/* The chunks by number; without data: not seen yet. */
		list[ICC_CHUNKS_MAX];
	/* The count in the first chunk; 0: no chunk yet. */
	uint32_t count;
	uint32_t seen_count;
	size_t bytes; /* sum over all chunks, without their heads */
};

/* False: the chunk contradicts those before it. */
static bool add_icc_chunk(struct icc_chunks *c, const struct marker *m)
{
	uint32_t number = m->data[ICC_NAME_BYTES],
		 count = m->data[ICC_NAME_BYTES + 1];

	if (c->seen_count == 0)
		c->count = count;
	if (number == 0 || number > count || count != c->count ||
	    c->list[number - 1].data != NULL)
		return false;
	c->list[number - 1] = *m;
	c->seen_count++;
	c->bytes += m->bytes - ICC_HEAD_BYTES;
	return true;
}

static enum profile_state
find_icc_chunks(struct icc_chunks *c, const uint8_t *jpeg, size_t jpeg_bytes)
{
	struct markers w;
	struct marker m;

	if (!markers_start(&w, jpeg, jpeg_bytes))
		return PROFILE_NONE;
	while (markers_next(&w, &m) && m.code != MARKER_SOS)
		if (is_icc_chunk(&m) && !add_icc_chunk(c, &m))
			return PROFILE_BROKEN;
	if (c->seen_count == 0)
		return PROFILE_NONE;
	if (c->seen_count != c->count || c->bytes == 0 ||
	    c->bytes > PROFILE_BYTES_MAX)
		return PROFILE_BROKEN;
	return PROFILE_READ;
}

enum profile_state profile_read(uint8_t **profile, size_t *bytes,
				const uint8_t *jpeg, size_t jpeg_bytes,
				const struct memory *memory)
{
	struct icc_chunks c = { 0 };
	enum profile_state state = find_icc_chunks(&c, jpeg, jpeg_bytes);
	uint8_t *to;

	if (state != PROFILE_READ)
		return state;
	to = memory->alloc(memory->arg, c.bytes);
	if (to == NULL)
		return PROFILE_NO_MEMORY;
	*profile = to;
	*bytes = c.bytes;
	for (uint32_t i = 0; i < c.count; i++) {
		size_t n = c.list[i].bytes - ICC_HEAD_BYTES;

		memcpy(to, c.list[i].data + ICC_HEAD_BYTES, n);
		to += n;
	}
	return PROFILE_READ;
}

enum {
	FACTOR_MAX = 4,
	SCAN_COMPONENTS_MAX = 4,
	JFIF_BYTES = 14,
	ADOBE_BYTES = 12,
};

/* Transforms of an Adobe marker; all other values mean a form of Y'CbCr. */
enum { ADOBE_ABSENT = -1, ADOBE_PLAIN = 0 };

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

static enum img_err read_sof(struct img_header *h, const struct marker *m)
{
	struct jpeg_own *own = jpeg_own_change(h);
	const uint8_t *d = m->data;

	h->is_progressive = m->code == MARKER_SOF2 || m->code == MARKER_SOF10;
	own->is_arithmetic = m->code == MARKER_SOF9 || m->code == MARKER_SOF10;
	if (m->code > MARKER_SOF2 && !own->is_arithmetic)
		return IMG_ERR_UNSUPPORTED;
	if (h->component_count != 0 || m->bytes < 6)
		return IMG_ERR_CORRUPT;
	own->walk.precision = d[0];
	h->stored.height_px = read16(d + 1);
	h->stored.width_px = read16(d + 3);
	h->component_count = d[5];
	if (h->stored.height_px == 0 || h->stored.width_px == 0 ||
	    h->component_count == 0 || m->bytes != 6 + 3 * (size_t)d[5])
		return IMG_ERR_CORRUPT;
	for (uint32_t i = 0; i < IMG_PLANES_MAX && i < d[5]; i++) {
		own->walk.ids[i] = d[6 + 3 * i];
		h->h_factors[i] = d[7 + 3 * i] >> 4;
		h->v_factors[i] = d[7 + 3 * i] & 15;
	}
	return IMG_OK;
}

static void read_icc_chunk(struct img_header *h, const struct marker *m,
			   const uint8_t *jpeg)
{
	struct jpeg_own *own = jpeg_own_change(h);
	size_t bytes = m->bytes - ICC_HEAD_BYTES;

	h->icc_bytes += bytes;
	if (bytes <= own->walk.icc_largest_bytes)
		return;
	own->walk.icc_largest_bytes = bytes;
	own->walk.icc_offset = (size_t)(m->data - jpeg) + ICC_HEAD_BYTES;
}

static void read_app(struct img_header *h, const struct marker *m,
		     const uint8_t *jpeg)
{
	struct jpeg_own *own = jpeg_own_change(h);
	if (m->code == MARKER_APP0 && m->bytes >= JFIF_BYTES &&
	    marker_begins(m, "JFIF", 5))
		own->walk.has_jfif = true;
	if (m->code == MARKER_APP1 && h->orientation == 0)
		h->orientation = exif_app1_orientation(m->data, m->bytes);
	if (m->code == MARKER_APP1 && exif_app1_is_adobe_rgb(m->data, m->bytes))
		own->walk.is_adobe_rgb = true;
	if (is_icc_chunk(m))
		read_icc_chunk(h, m, jpeg);
	gain_read_index(&own->pictures, m, jpeg);
	if (m->code == MARKER_APP14 && m->bytes >= ADOBE_BYTES &&
	    marker_begins(m, "Adobe", 5))
		own->walk.adobe = m->data[ADOBE_BYTES - 1];
}

/*
 * The next marker.  False: the file has ended; or the marker has not arrived
 * yet, and the position stays unchanged.
 */
static bool next_marker(struct img_header *h, struct marker *m,
			const uint8_t *jpeg)
{
	struct jpeg_own *own = jpeg_own_change(h);
	struct markers w = { .at = jpeg + own->walk.offset,
			     .end = jpeg + h->bytes,
			     .in_scan = own->walk.in_scan };

	if (own->walk.has_ended || !markers_next(&w, m))
		return false;
	own->walk.marker_count++;
	if (!own->has_one_scan)
		scans_add(&own->scans, m, jpeg,
			  own->walk.in_scan ||
				  m->start == jpeg + own->walk.offset);
	own->walk.offset = (size_t)(w.at - jpeg);
	own->walk.in_scan = w.in_scan;
	own->walk.has_ended = m->code == MARKER_EOI;
	return true;
}

/* Read up to the first SOS, which is then in `m`. */
static enum img_err read_segments(struct img_header *h, struct marker *m,
				  const uint8_t *jpeg)
{
	struct jpeg_own *own = jpeg_own_change(h);
	while (next_marker(h, m, jpeg)) {
		enum img_err err = IMG_OK;

		if (own->walk.marker_count > JPEG_MARKERS_MAX)
			return IMG_ERR_CORRUPT;
		if (m->code == MARKER_SOS)
			return IMG_OK;
		if (is_sof(m->code))
			err = read_sof(h, m);
		else if (!is_known(m->code))
			err = IMG_ERR_CORRUPT; /* also EOI and another SOI */
		if (err != IMG_OK)
			return err;
		if (m->code == MARKER_DHT)
			own->has_huffman_tables = true;
		read_app(h, m, jpeg);
	}
	return IMG_ERR_TRUNCATED;
}

/* Guesses the colour space as libjpeg does. */
static enum img_space guess_space(const struct img_header *h)
{
	const struct jpeg_own *own = jpeg_own(h);
	const uint8_t *ids = own->walk.ids;
	int adobe = own->walk.adobe;

	if (h->component_count == 1)
		return IMG_GREY;
	if (h->component_count == 4)
		return adobe == ADOBE_ABSENT || adobe == ADOBE_PLAIN ?
			       IMG_CMYK :
			       IMG_YCCK;
	if (own->walk.has_jfif)
		return IMG_YCBCR;
	if (adobe != ADOBE_ABSENT)
		return adobe == ADOBE_PLAIN ? IMG_RGB : IMG_YCBCR;
	if (ids[0] == 'R' && ids[1] == 'G' && ids[2] == 'B')
		return IMG_RGB;
	return IMG_YCBCR;
}

static enum img_err check_frame(const struct img_header *h)
{
	if (h->stored.width_px > IMG_SIDE_PX_MAX ||
	    h->stored.height_px > IMG_SIDE_PX_MAX)
		return IMG_ERR_TOO_LARGE;
	if (jpeg_own(h)->walk.precision != 8)
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

static bool is_scan(const struct marker *sos)
{
	return sos->bytes >= 4 && sos->data[0] >= 1 &&
	       sos->data[0] <= SCAN_COMPONENTS_MAX &&
	       sos->bytes == 4 + 2 * (size_t)sos->data[0];
}

/*
 * Of several components with one id, libjpeg takes any; here they all count.
 */
static void count_scan(struct img_header *h, const struct marker *sos)
{
	struct jpeg_own *own = jpeg_own_change(h);
	own->scan_count++;
	for (size_t k = 1; is_scan(sos) && k <= 2 * (size_t)sos->data[0];
	     k += 2)
		for (uint32_t i = 0; i < h->component_count; i++)
			own->component_scans[i] +=
				own->walk.ids[i] == sos->data[k];
}

/*
 * Note which Huffman tables the first scan uses; in a progressive file it uses
 * only those for DC.
 */
static void read_tables(struct img_header *h, const struct marker *sos)
{
	struct jpeg_own *own = jpeg_own_change(h);
	for (size_t i = 2; i + 3 < sos->bytes; i += 2) {
		own->dc_tables |= (uint8_t)(1u << (sos->data[i] >> 4 & 3));
		if (!h->is_progressive)
			own->ac_tables |= (uint8_t)(1u << (sos->data[i] & 3));
	}
}

enum profile_state profile_adobe_rgb(uint8_t **profile, size_t *bytes,
				     const struct memory *memory)
{
	uint8_t *to = memory->alloc(memory->arg, ICC_WRITTEN_BYTES);

	if (to == NULL)
		return PROFILE_NO_MEMORY;
	*profile = to;
	*bytes = icc_write(to, &icc_adobe_rgb);
	assert(*bytes == ICC_WRITTEN_BYTES);
	return PROFILE_READ;
}

/*
 * Judge a matrix profile that is in one piece; this needs no memory.  Others
 * are judged when the picture is scaled, because that takes long.
 */
static enum img_profile judge_profile(const struct img_header *h,
				      const uint8_t *jpeg)
{
	const struct jpeg_own *own = jpeg_own(h);
	struct matrix_tags tags;

	if (h->space == IMG_CMYK || h->space == IMG_YCCK || h->icc_bytes == 0 ||
	    h->icc_bytes != own->walk.icc_largest_bytes ||
	    !matrix_read(&tags, jpeg + own->walk.icc_offset, h->icc_bytes))
		return IMG_PROFILE_UNKNOWN;
	return matrix_is_srgb(&tags) ? IMG_PROFILE_SRGB : IMG_PROFILE_MATRIX;
}

/* Set the fields that depend on all segments up to the first SOS. */
static enum img_err finish_header(struct img_header *h,
				  const struct marker *sos, const uint8_t *jpeg,
				  const struct img_limits *limits)
{
	struct jpeg_own *own = jpeg_own_change(h);
	enum img_err err = IMG_OK;

	if (h->component_count == 0 || !is_scan(sos))
		err = IMG_ERR_CORRUPT;
	if (err == IMG_OK)
		err = check_frame(h);
	if (err == IMG_OK)
		err = format_check_size(h->stored, limits);
	if (err != IMG_OK)
		return err;
	own->walk.has_header = true;
	own->scan_offset = (size_t)(sos->start - jpeg);
	count_scan(h, sos);
	own->has_one_scan =
		!h->is_progressive && sos->data[0] == h->component_count;
	h->space = guess_space(h);
	format_set_upright(h);
	read_tables(h, sos);
	/* A profile says it better; and a grey picture is none of RGB. */
	own->walk.is_adobe_rgb &= h->icc_bytes == 0 && (h->space == IMG_YCBCR ||
							h->space == IMG_RGB);
	if (own->walk.is_adobe_rgb) {
		h->icc_bytes = ICC_WRITTEN_BYTES;
		h->profile = IMG_PROFILE_MATRIX;
	} else {
		h->profile = judge_profile(h, jpeg);
	}
	return IMG_OK;
}

bool jpeg_recognise(const uint8_t *bytes, size_t count)
{
	struct markers w;

	return markers_start(&w, bytes, count);
}

enum img_err jpeg_probe_picture(struct img_header *h, const uint8_t *jpeg,
				const struct img_limits *limits)
{
	struct jpeg_own *own = jpeg_own_change(h);
	struct marker m;
	enum img_err err;

	if (own->walk.offset == 0) {
		own->walk.offset = JPEG_MAGIC_BYTES;
		own->walk.adobe = ADOBE_ABSENT;
	}
	if (!own->walk.has_header) {
		err = read_segments(h, &m, jpeg);
		if (err == IMG_OK)
			err = finish_header(h, &m, jpeg, limits);
		if (err != IMG_OK)
			return err;
	}
	/*
	 * In most files one scan contains everything, so the walk ends here,
	 * without reading megabytes of entropy-coded data.
	 */
	while (!own->has_one_scan &&
	       own->walk.marker_count <= JPEG_MARKERS_MAX &&
	       next_marker(h, &m, jpeg))
		if (m.code == MARKER_SOS)
			count_scan(h, &m);
	if (own->scan_count > img_scans_max(h->stored, limits))
		return IMG_ERR_TOO_MANY_SCANS;
	return own->walk.marker_count > JPEG_MARKERS_MAX ? IMG_ERR_CORRUPT :
							   IMG_OK;
}

enum img_err jpeg_probe_more(struct img_header *h, const uint8_t *jpeg,
			     const struct img_limits *limits)
{
	enum img_err err = jpeg_probe_picture(h, jpeg, limits);

	if (err == IMG_OK)
		gain_find(h, jpeg, limits);
	return err;
}

struct img_size header_blocks(const struct img_header *h, uint32_t i)
{
	struct img_size most = image_factors_max(h);

	return (struct img_size){
		blocks_along(h->stored.width_px, h->h_factors[i],
			     most.width_px),
		blocks_along(h->stored.height_px, h->v_factors[i],
			     most.height_px),
	};
}
