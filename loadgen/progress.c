/* SPDX-License-Identifier: MIT */
#include "loadgen/progress.h"

#include "loadgen/clock.h"
#include "loadgen/samples.h"

#include <inttypes.h>

#define LINE_CLEAR "\r\033[K"

enum { RECENT_S = 5 }; /* what is older is not of the p90 */

void progress_note(struct progress *p, const struct result *result)
{
	size_t place = p->reply_count % PROGRESS_RECENT;

	if (p->out == NULL || !result_is_ok(result))
		return;
	p->recent[place].ended_ns = result->ended_ns;
	p->recent[place].response_ns = result->response_ns;
	p->reply_count++;
}

/* False: there were no replies. */
static bool find_recent_p90(const struct progress *p, uint64_t now_ns,
			    double *ns)
{
	uint64_t run_ns = now_ns - p->began_ns;
	struct samples recent = { 0 };
	struct summary s;
	bool any;

	for (size_t i = 0; i < PROGRESS_RECENT && i < p->reply_count; i++)
		if (p->recent[i].ended_ns + RECENT_S * NS_PER_S >= run_ns &&
		    samples_reserve(&recent))
			samples_add(&recent, (double)p->recent[i].response_ns);
	any = samples_summarize(&recent, &s);
	if (any)
		*ns = s.figures[FIGURE_P90];
	samples_release(&recent);
	return any;
}

bool progress_is_due(const struct progress *p, uint64_t now_ns)
{
	return p->out != NULL && now_ns - p->shown_ns >= NS_PER_S;
}

void progress_show(struct progress *p, const struct record *r,
		   uint32_t in_flight_count, uint64_t now_ns)
{
	double s = (double)(now_ns - p->shown_ns) / (double)NS_PER_S;
	double p90_ns;

	fprintf(p->out, LINE_CLEAR "%" PRIu64 " s, %" PRIu64,
		(now_ns - p->began_ns) / NS_PER_S, r->request_count);
	if (p->request_goal != 0)
		fprintf(p->out, "/%" PRIu64, p->request_goal);
	fprintf(p->out,
		" requests, %.1f responses/s, %" PRIu32 " in flight, p90 ",
		(double)(r->ok_count - p->shown_ok_count) / s, in_flight_count);
	if (find_recent_p90(p, now_ns, &p90_ns))
		fprintf(p->out, "%.1f ms", p90_ns / (double)NS_PER_MS);
	else
		fprintf(p->out, "-");
	fprintf(p->out, ", %" PRIu64 " errors", r->request_count - r->ok_count);
	fflush(p->out);
	p->shown_ns = now_ns;
	p->shown_ok_count = r->ok_count;
}

void progress_clear(const struct progress *p)
{
	if (p->out == NULL)
		return;
	fputs(LINE_CLEAR, p->out);
	fflush(p->out);
}
