/* SPDX-License-Identifier: MIT */
#include "loadgen/compare/reports.h"

#include "loadgen/compare/charts.h"
#include "loadgen/compare/document.h"
#include "loadgen/compare/figures.h"
#include "loadgen/compare/json_file.h"
#include "loadgen/compare/findings.h"
#include "loadgen/compare/output_file.h"
#include "loadgen/compare/plan.h"
#include "loadgen/compare/results.h"
#include "loadgen/compare/tables.h"

#include <inttypes.h>
#include <stdio.h>

static const char *text(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(object, key);

	return cJSON_IsString(item) ? item->valuestring : "-";
}

/* What was done, where and with what. */
static void describe(const struct document *d, const struct plan *plan,
		     const cJSON *results)
{
	const cJSON *machine = cJSON_GetObjectItem(results, "machine");
	const struct closed_loop *closed = &plan->closed;
	char length[48];

	if (closed->passes > 0)
		snprintf(length, sizeof(length), "%" PRIu64 " passes",
			 closed->passes);
	else
		snprintf(length, sizeof(length), "%g s", closed->duration_s);
	document_paragraph(
		d,
		"Closed loop: %" PRIu64 " connections where an arm has no "
		"number of its own, %s over the files of %s, after a pass to "
		"warm up%s; query %s. Arms in turns, a server started anew for "
		"each; repetitions: %.0f.",
		closed->connections, length, plan->dataset,
		plan->verify != NULL ? " in which every reply was checked" : "",
		*plan->query != '\0' ? plan->query : "none",
		json_number(results, "repetitions", 0));
	document_paragraph(
		d,
		"%s, %.0f cores, %.1f GiB of memory, %s; server and client "
		"share it where an arm's URL is local. Begun %s, commit %s.",
		text(machine, "cpu"), json_number(machine, "cores", 0),
		json_number(machine, "memory_bytes", 0) / (1 << 30),
		text(machine, "kernel"), text(results, "began"),
		text(results, "commit"));
}

/* The command in one line, as it is in the plan. */
static void join(const struct arm *arm, char *line, size_t line_bytes)
{
	size_t length = 0;

	snprintf(line, line_bytes, "%s, not started here", arm->url);
	for (size_t i = 0; arm->command[i] != NULL && length < line_bytes; i++)
		length += (size_t)snprintf(line + length, line_bytes - length,
					   "%s%s", i > 0 ? " " : "",
					   arm->command[i]);
}

static void describe_arm(const struct document *d, const struct arm *arm,
			 const struct plan *plan)
{
	char line[512];
	char open[48] = "";

	join(arm, line, sizeof(line));
	if (plan->open.rate_count > 0)
		snprintf(open, sizeof(open), ", %" PRIu64 " in the open loop",
			 plan_connections(arm, plan->open.connections));
	document_item(d, "%s, %" PRIu64 " connections%s: %s", arm->name,
		      plan_connections(arm, plan->closed.connections), open,
		      line);
}

static void describe_arms(const struct document *d, const struct plan *plan,
			  const struct figures *f)
{
	document_heading(d, "Configurations");
	document_list_begin(d);
	for (size_t i = 0; i < f->arm_count; i++)
		describe_arm(d, &plan->arms[f->arms[i].number], plan);
	document_list_end(d);
}

static bool write_closed(const struct document *d, const struct figures *f,
			 const char *folder, struct error *error)
{
	document_heading(d, "Throughput (the thesis's table 4.4)");
	tables_throughput(d, f);
	findings_compare(d, f);
	document_heading(d, "What clients see (table 4.5)");
	tables_client(d, f);
	document_paragraph(d, "Response times, compared as throughput is:");
	tables_response_time(d, f);
	document_heading(d, "What it costs the server (table 4.6)");
	tables_server(d, f);
	document_paragraph(d, "CPU time, compared as throughput is:");
	tables_cpu(d, f);
	document_paragraph(
		d,
		"Figures are means of all runs unless they say median. "
		"Difference in mean: of the best, in per cent of it; the "
		"thesis divides by the mean of the two, which makes large "
		"differences larger. Rows in the order of the first table. "
		"Uploads: bytes of the files, credited when they are answered; "
		"the thesis measured its network interface.");
	document_heading(d, "Plots");
	if (!charts_boxes(d, f, folder, error))
		return false;
	document_paragraph(
		d,
		"The curve of an arm has only points that all its runs have.");
	return charts_response_times(d, f, folder, error);
}

/* Has an arm that was measured a number of connections of its own? */
static bool any_bound(const struct figures *f, const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		if (plan->arms[f->arms[i].number].connections != 0)
			return true;
	return false;
}

static bool write_open(const struct document *d, const struct figures *f,
		       const struct plan *plan, const char *folder,
		       struct error *error)
{
	document_heading(d, "Open loop");
	document_paragraph(
		d,
		"Requests at random times (Poisson), %g s for each load, at "
		"the same rates for all: shares of the median of %s above; "
		"%" PRIu64 " connections where an arm has no number of its "
		"own. Response times count from when a request was to be sent.",
		plan->open.duration_s, f->arms[0].name, plan->open.connections);
	document_paragraph(
		d,
		"Medians of the runs. Where a rate took a server three times "
		"as long, higher ones were left out of that run: where Runs "
		"tells fewer than all, the figures are those of an arm's best "
		"runs. Its curves have only points that all its runs have.");
	if (any_bound(f, plan))
		document_paragraph(
			d,
			"An arm with a number of connections of its own never "
			"has more requests at its server: further ones wait in "
			"the client, which counts as response time.");
	tables_open_loop(d, f, plan);
	return charts_open_loop(d, f, plan, folder, error);
}

static bool has_open(const struct figures *f, const struct plan *plan)
{
	for (size_t i = 0; i < f->arm_count; i++)
		for (size_t k = 0; k < plan->open.rate_count; k++)
			if (f->arms[i].open[k][OPEN_RATE_PER_S].count > 0)
				return true;
	return false;
}

static bool write_document(const struct document *d, const struct figures *f,
			   const struct plan *plan, const cJSON *results,
			   const char *folder, struct error *error)
{
	bool written = true;

	document_begin(d, plan->title);
	describe(d, plan, results);
	if (f->arm_count == 0) {
		document_paragraph(d, "Nothing was measured.");
	} else {
		findings_warn(d, f, plan);
		written = write_closed(d, f, folder, error);
		if (written && has_open(f, plan))
			written = write_open(d, f, plan, folder, error);
		describe_arms(d, plan, f);
	}
	document_end(d);
	return written;
}

static bool write_files(const struct figures *f, const struct plan *plan,
			const cJSON *results, const char *folder,
			struct error *error)
{
	struct output_file markdown = { 0 };
	struct output_file html = { 0 };
	bool written = false;

	if (output_file_open(&markdown, folder, "report.md", error) &&
	    output_file_open(&html, folder, "report.html", error)) {
		struct document document = { markdown.out, html.out };

		written = write_document(&document, f, plan, results, folder,
					 error) &&
			  output_file_finish(&html, error) &&
			  output_file_finish(&markdown, error);
	}
	output_file_drop(&html);
	output_file_drop(&markdown);
	return written;
}

bool reports_write(const char *folder, const cJSON *results,
		   struct error *error)
{
	struct figures figures = { 0 };
	struct plan plan = { 0 };
	bool written = false;

	if (results_read_plan(results, &plan, error)) {
		if (figures_init(&figures, &plan, results))
			written = write_files(&figures, &plan, results, folder,
					      error);
		else
			error_set(error, "out of memory");
	}
	figures_release(&figures);
	plan_release(&plan);
	return written;
}
