/* SPDX-License-Identifier: MIT */
#include "service/pipeline/pipeline_counts.h"

#include "service/clock.h"

/* What took its last step. */
static uint32_t last_stage(const struct upload *u)
{
	return u->is_express ? PIPELINE_EXPRESS : PIPELINE_ENCODE;
}

void pipeline_count_kept(struct pipeline_counts *c, const struct upload *u)
{
	atomic_fetch_add(&c->kept[last_stage(u)], 1);
}

static void count_result(struct pipeline_counts *c, const struct upload *u)
{
	uint64_t inside_ns = clock_now_ns() - u->variants[0].event.born_ns;
	uint64_t pixels_out = 0;

	for (uint32_t i = 0; i < u->variant_count; i++)
		pixels_out += img_pixels(u->variants[i].size);
	atomic_fetch_add(&c->pixels_in, img_pixels(u->header.stored));
	atomic_fetch_add(&c->pixels_out, pixels_out);
	atomic_fetch_add(&c->inside_ns, inside_ns);
	histogram_add(&c->inside, inside_ns);
}

void pipeline_count_end(struct pipeline_counts *c, const struct upload *u)
{
	if (atomic_load(&u->is_failed)) {
		atomic_fetch_add(&c->failed, 1);
		atomic_fetch_add(&c->late, u->end == UPLOAD_LATE);
		atomic_fetch_add(&c->gone, u->end == UPLOAD_GONE);
	} else {
		atomic_fetch_add(&c->finished, 1);
		atomic_fetch_add(&c->results[u->store != NULL ? PIPELINE_STORE :
								last_stage(u)],
				 1);
		count_result(c, u);
	}
}

void pipeline_counts_read(const struct pipeline_counts *c,
			  struct pipeline_stats *out)
{
	out->sent_count = atomic_load(&c->sent);
	out->refused_count = atomic_load(&c->refused);
	out->finished_count = atomic_load(&c->finished);
	out->failed_count = atomic_load(&c->failed);
	out->late_count = atomic_load(&c->late);
	out->gone_count = atomic_load(&c->gone);
	out->pixels_in = atomic_load(&c->pixels_in);
	out->pixels_out = atomic_load(&c->pixels_out);
	out->inside_ns = atomic_load(&c->inside_ns);
	histogram_read(&c->inside, &out->inside);
}
