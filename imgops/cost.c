/* SPDX-License-Identifier: MIT */
#include "imgops/cost.h"

#include "imgops/cost_plan.h"

#include <assert.h>

/*
 * Memory of parts at one time.  What is decoded is there as long as one of them
 * has not got beyond scaling; of the others each may be where it needs most.
 */
struct peak {
	uint64_t sum;       /* of what each needs at most */
	uint64_t finish;    /* of what each needs to be finished */
	uint64_t gap_least; /* between a part's most and its scaling's need */
};

static void peak_add(struct peak *peak, const struct step_bytes *b)
{
	uint64_t most = b->scale > b->finish ? b->scale : b->finish;
	uint64_t gap = most - b->scale;

	peak->sum += most;
	peak->finish += b->finish;
	if (gap < peak->gap_least)
		peak->gap_least = gap;
}

static uint64_t peak_bytes(const struct peak *peak, const struct step_bytes *b)
{
	uint64_t scaling = b->decoded + peak->sum - peak->gap_least;
	uint64_t most = scaling > peak->finish ? scaling : peak->finish;

	return most > b->decode ? most : b->decode;
}

struct img_cost img_cost_parts(const struct img_header *header,
			       const uint8_t *jpeg, size_t jpeg_bytes,
			       uint32_t eighths, struct img_cost_part *parts,
			       uint32_t count)
{
	struct plan p = plan_make(header, jpeg, jpeg_bytes, eighths);
	struct peak peak = { .gap_least = UINT64_MAX };
	struct step_bytes bytes = { 0 };
	struct img_cost all = { 0 };

	assert(count >= 1);
	for (uint32_t i = 0; i < count; i++) {
		plan_picture(&p, parts[i].view, parts[i].recipe);

		struct img_cost one = cost_cpu(&p);

		bytes = cost_bytes(&p);
		peak_add(&peak, &bytes);
		parts[i].scale_ns = one.scale_ns;
		parts[i].blur_ns = one.blur_ns;
		parts[i].encode_ns = one.encode_ns;
		all.decode_ns = one.decode_ns;
		all.scale_ns += one.scale_ns;
		all.blur_ns += one.blur_ns;
		all.encode_ns += one.encode_ns;
	}
	all.cpu_ns = all.decode_ns + all.scale_ns + all.blur_ns + all.encode_ns;
	all.bytes = peak_bytes(&peak, &bytes);
	return all;
}

struct img_cost img_cost(const struct img_header *header, const uint8_t *jpeg,
			 size_t jpeg_bytes, const struct img_view *view,
			 const struct img_recipe *recipe)
{
	struct img_cost_part part = { .view = view, .recipe = recipe };

	return img_cost_parts(header, jpeg, jpeg_bytes,
			      img_eighths(header, view, recipe), &part, 1);
}
