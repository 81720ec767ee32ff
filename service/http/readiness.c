/* SPDX-License-Identifier: MIT */
#include "service/http/readiness.h"

#include <stdlib.h>

/* Of `most`: at least 3/4; or, once that was so, still at least 1/2. */
static bool is_taken(uint64_t used, uint64_t most, bool was_full)
{
	uint64_t free_part = was_full ? most / 2 : most / 4;

	return used >= most - free_part;
}

enum readiness readiness_decide(bool *was_full, const struct readiness_view *v)
{
	const struct pipeline_load *l = &v->load;
	uint64_t forgotten_ns =
		v->refused_ns + READINESS_REFUSED_MS * UINT64_C(1000000);
	bool no_places =
		is_taken(l->in_flight_count, l->uploads_max, *was_full);
	bool no_memory = is_taken(l->used_bytes, l->limit_bytes, *was_full);

	*was_full = no_places || no_memory;
	if (v->is_stopping)
		return READINESS_STOPPING;
	if (no_places)
		return READINESS_PLACES_TAKEN;
	if (no_memory)
		return READINESS_MEMORY_TAKEN;
	if (v->refused_ns > 0 && v->now_ns < forgotten_ns)
		return READINESS_REFUSED;
	return READINESS_OK;
}

const char *readiness_reason(enum readiness readiness)
{
	switch (readiness) {
	case READINESS_OK:
		break;
	case READINESS_STOPPING:
		return "The server is shutting down.";
	case READINESS_PLACES_TAKEN:
		return "Uploads inside take most of --max-uploads.";
	case READINESS_MEMORY_TAKEN:
		return "Uploads inside take most of --memory.";
	case READINESS_REFUSED:
		return "An upload was refused in the last seconds.";
	}
	abort();
}
