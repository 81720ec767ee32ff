/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/path.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/entropy.h"

static bool can_be_ours(const struct img_header *h, uint32_t scan_count)
{
	const struct jpeg_own *own = jpeg_own(h);
	if (h->is_irregular || own->is_arithmetic)
		return false;
	if (h->is_progressive)
		return own->scans.is_complete &&
		       scan_count <= PROGRESSIVE_SCANS_MAX;
	return own->has_one_scan && own->has_huffman_tables;
}

/*
 * The scans that are enough at 1/8 or 2/8.  Those with much energy have light.
 */
static enum scans_set find_set(const struct img_header *h, uint32_t dct_scale,
			       bool keeps_light)
{
	if (keeps_light)
		return SCANS_AT_2_TEXTURE;
	if (dct_scale == 1)
		return SCANS_AT_1;
	return h->texture == IMG_TEXTURE_UNKNOWN ? SCANS_AT_2_TEXTURE :
						   SCANS_AT_2;
}

/*
 * If blocks are cut, scans are dropped only if edge_is_plain() can say
 * afterwards whether hidden samples show.
 */
static bool can_drop_scans(const struct img_header *h, uint32_t dct_scale,
			   enum scans_set set)
{
	const struct jpeg_own *own = jpeg_own(h);
	uint32_t count = 0;

	if (h->is_progressive && !own->needs_all_scans &&
	    dct_scale <= SCANS_DCT_SCALE_MAX)
		count = scans_pieces_scans(&own->scans, set);
	if (count == 0 || edge_cut_blocks(h) == 0)
		return count > 0;
	return can_be_ours(h, count) && edge_has_neighbours(h);
}

struct path path_of(const struct img_header *h, uint32_t dct_scale,
		    bool keeps_light)
{
	enum scans_set set = find_set(h, dct_scale, keeps_light);
	const struct jpeg_own *own = jpeg_own(h);
	struct path p = {
		.keeps_coefficients = !own->has_one_scan,
		.drops_scans = can_drop_scans(h, dct_scale, set),
		.set = set,
		.dct_scale = dct_scale,
		.scan_bytes = h->bytes - own->scan_offset,
		.scan_count = own->scan_count,
	};
	uint64_t kept = 0;

	if (p.drops_scans) {
		p.scan_count = scans_pieces_scans(&own->scans, p.set);
		kept = scans_pieces_bytes(&own->scans, p.set);
	}
	p.kept_bytes = p.scan_bytes;
	/* Leave out the header, with which the first piece begins. */
	if (kept > 0)
		p.kept_bytes =
			kept > own->scan_offset ? kept - own->scan_offset : 0;
	if (can_be_ours(h, p.scan_count)) {
		p.is_ours = true;
		p.keeps_coefficients = false;
	} else if (!p.keeps_coefficients) {
		p.dct_scale = DECODE_SCALE_FULL;
	}
	return p;
}
