/* SPDX-License-Identifier: MIT */
#include "imgops/cost.h"

#include "imgops/cost_plan.h"

struct img_cost img_cost(const struct img_header *header, const uint8_t *jpeg,
			 size_t jpeg_bytes, const struct img_view *view,
			 const struct img_recipe *recipe)
{
	struct plan p = plan_make(header, jpeg, jpeg_bytes, view, recipe);

	struct img_cost cost = cost_cpu(&p);

	cost.bytes = cost_bytes(&p);
	return cost;
}
