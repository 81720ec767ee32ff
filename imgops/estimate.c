/* SPDX-License-Identifier: MIT */
/*
 * The estimates of all steps, added up.
 *
 * bench/estimate_fit.c fitted the nanoseconds of all terms on one AMD EPYC core
 * with AVX2, from 159 photos with eight settings.  In boxes of 200 to 640 and
 * without a box, plain or blurred, imgops_bench finds a median error of 4 to 5
 * % and a p90 of 16 to 21 %; with optimised tables, 10 and 24 %.  None of the
 * photos is arithmetic-coded, so the figure for arithmetic coding is a guess.
 * If a term is 0 ns, it always grows together with another term, and the fit
 * gave all the time to the other one.
 *
 * The photos do not have what hostile files have: blocks without bytes, noise,
 * profiles with tables, results of 80 megapixels.  The terms for those are
 * measured one by one; test/check_estimates.c compares.
 */
#include "imgops/estimate.h"

#include "imgops/colour/colour.h"
#include "imgops/formats/format.h"
#include "imgops/gainmap.h"
#include "imgops/image.h"
#include "imgops/pad.h"
#include "imgops/trim.h"

#include <assert.h>
#include <stdio.h>

/* The steps of img_retouch(). */
enum { RETOUCH_ESTIMATES = 3 };
static const struct step_estimate
	*const retouch_estimates[RETOUCH_ESTIMATES] = {
		&blur_estimate,
		&pad_estimate,
		&watermark_estimate,
	};

/*
 * True: the file's profile may not be sRGB, so its pixels will be converted,
 * unless the profile is kept.
 */
static bool has_other_profile(const struct img_header *h)
{
	return h->icc_bytes > 0 && h->profile != IMG_PROFILE_SRGB;
}

void workload_set_decoded(struct workload *w, uint32_t scale)
{
	const struct img_header *h = w->header;
	const struct img_codec *c = h->format->codec;
	struct img_size most = image_factors_max(h);

	w->scale = c->scale_used != NULL ? c->scale_used(h, scale) : scale;
	w->decoded = (struct image){ .plane_count = h->component_count,
				     .space = h->space };
	for (uint32_t i = 0; i < h->component_count; i++)
		w->decoded.planes[i] = image_plane_shape(
			h->stored, w->scale, h->h_factors[i], most.width_px,
			h->v_factors[i], most.height_px);
}

void workload_set_result(struct workload *w, const struct img_view *view,
			 const struct img_transform *transform)
{
	const struct img_header *h = w->header;
	enum img_space to = format_result_space(transform, h->space);
	bool keeps = colour_may_keep_profile(h->space, h->icc_bytes, transform);

	w->view = view;
	w->transform = transform;
	w->needs_pixels = h->space != to || (h->space != IMG_GREY &&
					     has_other_profile(h) && !keeps);
	w->uses_lcms = h->icc_bytes > 0 && h->icc_bytes <= PROFILE_BYTES_MAX &&
		       h->profile == IMG_PROFILE_UNKNOWN;
	w->keeps_profile = keeps;
	w->profile_bytes = keeps ? h->icc_bytes : 0;
	image_shape(&w->scaled, view->size, to, format_full_size(transform));
	image_shape(&w->pixels, view->size, h->space, true);
	w->result = w->scaled;
	if (pad_is_needed(view, transform))
		image_shape(&w->result, img_result_size(view),
			    format_padded_space(transform, to),
			    format_full_size(transform));
}

static const struct step_estimate *decode_of(const struct workload *w)
{
	return w->header->format->codec->decode_estimate;
}

static const struct step_estimate *encode_of(const struct workload *w)
{
	return format_of_result(w->transform)->encode_estimate;
}

/* Room for what encoded() makes. */
struct result {
	struct img_view view;
	struct img_transform transform;
};

/*
 * To encode a padded picture is to encode one of that size.  A quality that is
 * looked for is taken to be `quality`.
 */
static struct workload encoded(const struct workload *w, struct result *room,
			       int quality)
{
	struct workload e = *w;

	room->view = *w->view;
	room->view.size = img_result_size(w->view);
	room->transform = *w->transform;
	if (w->transform->score > 0)
		room->transform.quality = quality;
	e.view = &room->view;
	e.transform = &room->transform;
	e.scaled = w->result;
	return e;
}

/*
 * Those of the file, of the result, and in its file, of which an encoder may
 * have two copies.
 */
static uint64_t metadata_bytes(const struct workload *w)
{
	enum { RECORDS_BYTES = 48 << 10, COPIES = 4 };

	if (w->transform->metadata == IMG_METADATA_STRIP)
		return 0;
	return RECORDS_BYTES + 3 * IMG_METADATA_PART_BYTES_MAX +
	       COPIES * img_metadata_bytes_max(w->header);
}

/* If there are several results, another one and what they are for, too. */
static uint64_t encode_bytes(const struct workload *w)
{
	struct result room;
	struct workload e = encoded(w, &room, 100);
	uint64_t bytes = encode_of(w)->bytes(&e) + metadata_bytes(w);
	uint64_t search = auto_quality_bytes(&e.scaled, w->transform);

	return w->transform->bytes_max > 0 || search > 0 ? 2 * bytes + search :
							   bytes;
}

/*
 * The ways of a group of estimates, of which each has one for each of its
 * terms, and one for a search.
 */
enum {
	WAYS_EACH = ESTIMATE_TERMS_MAX + 1,
	WAY_SEARCH = ESTIMATE_TERMS_MAX,
	WAYS_DECODE = 0,
	WAYS_SCALE = WAYS_DECODE + IMG_FORMATS * WAYS_EACH,
	WAYS_RETOUCH = WAYS_SCALE + WAYS_EACH,
	WAYS_ENCODE = WAYS_RETOUCH + RETOUCH_ESTIMATES * WAYS_EACH,
	WAYS_END = WAYS_ENCODE + IMG_RESULT_FORMATS * WAYS_EACH,
};
_Static_assert((int)IMG_WAYS == (int)WAYS_END, "imgops.h counts them, too");

struct step_cost {
	uint64_t ns;
	uint32_t way;
};

/* `ways`: the number of the first way of this estimate. */
static struct step_cost step_cost(const struct step_estimate *step,
				  const struct workload *w, uint32_t ways)
{
	double counts[ESTIMATE_TERMS_MAX] = { 0 }, sum = 0, most = 0;
	struct step_cost cost = { .way = ways };

	assert(step->term_count <= ESTIMATE_TERMS_MAX);
	step->count(counts, w);
	for (uint32_t i = 0; i < step->term_count; i++) {
		double ns = counts[i] * step->terms[i].ns;

		sum += ns;
		if (ns > most) {
			most = ns;
			cost.way = ways + i;
		}
	}
	cost.ns = (uint64_t)sum;
	return cost;
}

static struct step_cost decode_cost(const struct workload *w)
{
	uint32_t format = 0;

	while (img_formats[format] != w->header->format)
		format++;
	return step_cost(decode_of(w), w, WAYS_DECODE + format * WAYS_EACH);
}

static struct step_cost encode_cost(const struct workload *w)
{
	enum { USUAL_QUALITY = 75 };
	struct result room;
	struct workload e = encoded(w, &room, USUAL_QUALITY);
	uint32_t ways =
		WAYS_ENCODE + (uint32_t)w->transform->format * WAYS_EACH;
	struct step_cost cost = step_cost(encode_of(w), &e, ways);
	double once = (double)cost.ns;

	cost.ns = (uint64_t)(auto_quality_ns(&e.scaled, w->transform, once) +
			     (max_bytes_work(&e.scaled, w->transform) - 1) *
				     once);
	if (w->transform->score > 0 || w->transform->bytes_max > 0)
		cost.way = ways + WAY_SEARCH;
	return cost;
}

/* The time of img_retouch(): its way is that of what takes most of it. */
static struct step_cost retouch_cost(const struct workload *w)
{
	struct step_cost all = { .way = WAYS_RETOUCH };
	uint64_t most_ns = 0;

	for (uint32_t i = 0; i < RETOUCH_ESTIMATES; i++) {
		struct step_cost cost = step_cost(retouch_estimates[i], w,
						  WAYS_RETOUCH + i * WAYS_EACH);

		all.ns += cost.ns;
		if (cost.ns > most_ns) {
			most_ns = cost.ns;
			all.way = cost.way;
		}
	}
	return all;
}

/* The most memory of img_retouch(). */
static uint64_t retouch_bytes(const struct workload *w)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < RETOUCH_ESTIMATES; i++)
		most = max_u64(most, retouch_estimates[i]->bytes(w));
	return most;
}

/*
 * The largest memory of all results together.  The decoded picture stays until
 * every result has been scaled; while the last one is being scaled, each other
 * result may be in the step that needs the most memory.
 */
struct peak {
	/* Sum over the results of the most memory that each needs. */
	uint64_t sum;
	/* Sum over the results of the memory to retouch or encode each. */
	uint64_t finish;
	/*
	 * The most memory that a result needs, less its memory for scaling: the
	 * least of these over the results.
	 */
	uint64_t gap_least;
	uint64_t search; /* the most memory of a search for a border */
};

/* The most memory of one result: to scale it, and to retouch and encode it. */
struct needs {
	uint64_t scale, finish;
};

static struct needs needs_of(const struct workload *w)
{
	return (struct needs){ scale_estimate.bytes(w),
			       max_u64(retouch_bytes(w), encode_bytes(w)) };
}

/*
 * If the samples decide which chroma the result has, the larger of both: mostly
 * that of 4:4:4.  For the time, 4:2:0 is assumed, as most pictures get it.
 */
static struct needs needs_at_most(const struct workload *w)
{
	struct needs needs = needs_of(w), other;
	struct img_transform full = *w->transform;
	struct workload with_full = *w;

	if (format_chroma(w->transform) != IMG_CHROMA_AUTO)
		return needs;
	full.chroma = IMG_CHROMA_444;
	workload_set_result(&with_full, w->view, &full);
	other = needs_of(&with_full);
	return (struct needs){ max_u64(needs.scale, other.scale),
			       max_u64(needs.finish, other.finish) };
}

static void add_to_peak(struct peak *peak, const struct workload *w)
{
	struct needs needs = needs_at_most(w);
	uint64_t gap = max_u64(needs.scale, needs.finish) - needs.scale;

	peak->sum += max_u64(needs.scale, needs.finish);
	peak->finish += needs.finish;
	if (gap < peak->gap_least)
		peak->gap_least = gap;
	peak->search = max_u64(peak->search, trim_estimate.bytes(w));
}

static uint64_t peak_bytes(const struct peak *peak, const struct workload *w)
{
	uint64_t decoded = image_bytes(&w->decoded) + w->header->icc_bytes;
	uint64_t scaling =
		decoded + peak->sum - min_u64(peak->gap_least, peak->sum);

	return max_u64(max_u64(scaling, peak->finish),
		       max_u64(decode_of(w)->bytes(w), decoded + peak->search));
}

/* The time to find the border of a part, unless an earlier one has the same. */
static uint64_t search_ns(const struct workload *w,
			  const struct img_cost_part *parts, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (trim_is_same(w->header, parts[i].transform,
				 parts[index].transform))
			return 0;
	return step_cost(&trim_estimate, w, 0).ns;
}

/* How a result treats a picture of the file: the first, or its gain map. */
static struct gainmap_result treatment(const struct workload *w,
				       const struct img_header *base,
				       const struct img_cost_part *part)
{
	struct gainmap_result r = { *part->view, *part->transform };

	if (w->header != base)
		gainmap_result(&r, &w->decoded, w->header->stored, base->stored,
			       part->view, part->transform);
	return r;
}

/* The way of several pictures is that of the first. */
static void add_step(uint64_t *ns, uint32_t *way, struct step_cost cost)
{
	if (*ns == 0)
		*way = cost.way;
	*ns += cost.ns;
}

/*
 * Add the cost of one picture of the file of `base`, decoded at `scale`: of the
 * first, or of its gain map, in the results that keep it.  Perhaps none does,
 * because their formats have none.
 */
static void add_cost(struct img_cost *all, const struct img_header *header,
		     const struct img_header *base, uint32_t scale,
		     struct img_cost_part *parts, uint32_t count)
{
	/* The picture of the file is the same for all results. */
	bool is_linear = parts[0].transform->light == IMG_LIGHT_LINEAR;
	struct workload w = {
		.header = header,
		.keeps_light = is_linear && header == base,
	};
	struct peak peak = { .gap_least = UINT64_MAX };

	workload_set_decoded(&w, scale);
	add_step(&all->decode_ns, &all->decode_way, decode_cost(&w));
	for (uint32_t i = 0; i < count; i++) {
		struct img_cost_part *part = &parts[i];
		struct gainmap_result r = treatment(&w, base, part);

		if (header != base && !img_keeps_gainmap(part->transform))
			continue;
		workload_set_result(&w, &r.view, &r.transform);
		w.watermark = part->watermark;
		if (header != base)
			w.profile_bytes = IMG_GAINMAP_PROFILE_BYTES_MAX;
		else
			all->decode_ns += search_ns(&w, parts, i);
		add_to_peak(&peak, &w);
		add_step(&part->scale_ns, &part->scale_way,
			 step_cost(&scale_estimate, &w, WAYS_SCALE));
		add_step(&part->blur_ns, &part->blur_way, retouch_cost(&w));
		add_step(&part->encode_ns, &part->encode_way, encode_cost(&w));
	}
	all->bytes += peak_bytes(&peak, &w);
}

/* True: the file has a gain map, and it is decoded; its header is *map. */
static bool find_gainmap(struct img_header *map,
			 const struct img_header *header,
			 const struct img_cost_part *parts, uint32_t count)
{
	bool keeps = false;

	for (uint32_t i = 0; i < count; i++)
		keeps |= parts[i].transform->keep_gainmap;
	return keeps && img_gainmap_header(map, header);
}

struct img_cost img_cost_parts(const struct img_header *header, uint32_t scale,
			       struct img_cost_part *parts, uint32_t count)
{
	struct img_cost all = { 0 };
	struct img_header map;

	assert(count >= 1);
	for (uint32_t i = 0; i < count; i++)
		parts[i].scale_ns = parts[i].blur_ns = parts[i].encode_ns = 0;
	add_cost(&all, header, header, scale, parts, count);
	if (find_gainmap(&map, header, parts, count)) {
		add_cost(&all, &map, header,
			 gainmap_decode_scale(&map, header, scale), parts,
			 count);
		/* Those of the decoded map. */
		all.bytes += sizeof(struct img_gainmap) * (1 + count) +
			     IMG_GAINMAP_PROFILE_BYTES_MAX;
	}
	for (uint32_t i = 0; i < count; i++) {
		all.scale_ns += parts[i].scale_ns;
		all.blur_ns += parts[i].blur_ns;
		all.encode_ns += parts[i].encode_ns;
	}
	all.cpu_ns = all.decode_ns + all.scale_ns + all.blur_ns + all.encode_ns;
	return all;
}

/* The estimate of which `way` is a way, and the step. */
static const struct step_estimate *estimate_of_way(uint32_t way, char *step,
						   size_t bytes)
{
	uint32_t index = way / WAYS_EACH;

	if (way < WAYS_SCALE) {
		(void)snprintf(step, bytes, "decode %s",
			       img_formats[index]->word);
		return img_formats[index]->codec->decode_estimate;
	}
	if (way >= WAYS_ENCODE) {
		index -= WAYS_ENCODE / WAYS_EACH;
		(void)snprintf(step, bytes, "encode %s",
			       img_formats[index]->word);
		return img_formats[index]->codec->encode_estimate;
	}
	(void)snprintf(step, bytes, "%s",
		       way < WAYS_RETOUCH ? "scale" : "retouch");
	return way < WAYS_RETOUCH ?
		       &scale_estimate :
		       retouch_estimates[index - WAYS_RETOUCH / WAYS_EACH];
}

void img_way_name(uint32_t way, char *text, size_t bytes)
{
	char step[32];
	const struct step_estimate *e;
	uint32_t term = way % WAYS_EACH;

	assert(way < IMG_WAYS);
	e = estimate_of_way(way, step, sizeof(step));
	(void)snprintf(text, bytes, "%s: %s", step,
		       term < e->term_count ? e->terms[term].name :
					      "search for a quality");
}

struct img_cost img_cost(const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform)
{
	struct img_cost_part part = { .view = view, .transform = transform };

	return img_cost_parts(header, img_decode_scale(header, view, transform),
			      &part, 1);
}
