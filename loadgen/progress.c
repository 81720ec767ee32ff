/* SPDX-License-Identifier: MIT */
#include "loadgen/progress.h"

#include "loadgen/clock.h"

#include <inttypes.h>

#define LINE_CLEAR "\r\033[K"

void progress_show(struct progress *p, const struct record *r, uint64_t now_ns)
{
	double s = (double)(now_ns - p->began_ns) / (double)NS_PER_S;

	if (p->out == NULL || now_ns - p->shown_ns < NS_PER_S)
		return;
	p->shown_ns = now_ns;
	fprintf(p->out, LINE_CLEAR "%" PRIu64, r->request_count);
	if (p->request_goal != 0)
		fprintf(p->out, "/%" PRIu64, p->request_goal);
	fprintf(p->out,
		" requests, %.0f s, %.1f responses/s, %.2f MB/s, "
		"%" PRIu64 " not 2xx",
		s, (double)r->ok_count / s, (double)r->uploaded_bytes / s / 1e6,
		r->request_count - r->ok_count);
	fflush(p->out);
}

void progress_clear(const struct progress *p)
{
	if (p->out == NULL)
		return;
	fputs(LINE_CLEAR, p->out);
	fflush(p->out);
}
