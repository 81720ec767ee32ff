/* SPDX-License-Identifier: MIT */
#include "service/report/metrics.h"

#include "service/report/metrics_parts.h"
#include "service/text.h"

#include "stages/schedule_words.h"

#include <stdlib.h>

static const struct metric_field pipeline_fields[] = {
	{ { "darkroom_uploads_sent_total", METRIC_COUNTER, METRIC_ONE,
	    "Uploads that the stages took." },
	  METRIC_FIELD(struct pipeline_stats, sent_count) },
	{ { "darkroom_uploads_finished_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those, ended with a result." },
	  METRIC_FIELD(struct pipeline_stats, finished_count) },
	{ { "darkroom_uploads_failed_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those, ended without one." },
	  METRIC_FIELD(struct pipeline_stats, failed_count) },
	{ { "darkroom_uploads_late_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those that failed: their deadline had passed." },
	  METRIC_FIELD(struct pipeline_stats, late_count) },
	{ { "darkroom_uploads_gone_total", METRIC_COUNTER, METRIC_ONE,
	    "Of those that failed: their client was gone." },
	  METRIC_FIELD(struct pipeline_stats, gone_count) },
	{ { "darkroom_uploads_in_flight", METRIC_GAUGE, METRIC_ONE,
	    "Uploads inside now." },
	  METRIC_FIELD(struct pipeline_stats, in_flight_count) },
	{ { "darkroom_memory_limit_bytes", METRIC_GAUGE, METRIC_ONE,
	    "What uploads may be charged together." },
	  METRIC_FIELD(struct pipeline_stats, memory.limit_bytes) },
	{ { "darkroom_memory_used_bytes", METRIC_GAUGE, METRIC_ONE,
	    "What they are charged now." },
	  METRIC_FIELD(struct pipeline_stats, memory.used_bytes) },
	{ { "darkroom_memory_refused_total", METRIC_COUNTER, METRIC_ONE,
	    "Uploads that were over it." },
	  METRIC_FIELD(struct pipeline_stats, memory.refused_count) },
	{ { "darkroom_buffers_live_bytes", METRIC_GAUGE, METRIC_ONE,
	    "Memory of pictures in use." },
	  METRIC_FIELD(struct pipeline_stats, buffers.live_bytes) },
	{ { "darkroom_buffers_kept_bytes", METRIC_GAUGE, METRIC_ONE,
	    "Memory of pictures kept for the next." },
	  METRIC_FIELD(struct pipeline_stats, buffers.kept_bytes) },
	{ { "darkroom_buffers_mapped_total", METRIC_COUNTER, METRIC_ONE,
	    "Blocks for pictures ever taken from the system." },
	  METRIC_FIELD(struct pipeline_stats, buffers.mapped_count) },
};

/* The names that Prometheus' own clients use. */
static const struct metric_field process_fields[] = {
	{ { "process_start_time_seconds", METRIC_GAUGE, METRIC_SECONDS,
	    "When it was started, since 1970." },
	  METRIC_FIELD(struct process_stats, started_unix_ns) },
	{ { "process_cpu_seconds_total", METRIC_COUNTER, METRIC_SECONDS,
	    "CPU time, of user and system." },
	  METRIC_FIELD(struct process_stats, cpu_ns) },
	{ { "process_resident_memory_bytes", METRIC_GAUGE, METRIC_ONE,
	    "Resident size." },
	  METRIC_FIELD(struct process_stats, resident_bytes) },
	{ { "process_virtual_memory_bytes", METRIC_GAUGE, METRIC_ONE,
	    "Virtual size." },
	  METRIC_FIELD(struct process_stats, virtual_bytes) },
	{ { "process_open_fds", METRIC_GAUGE, METRIC_ONE, "Open files." },
	  METRIC_FIELD(struct process_stats, file_count) },
	{ { "process_max_fds", METRIC_GAUGE, METRIC_ONE,
	    "How many may be open." },
	  METRIC_FIELD(struct process_stats, file_count_max) },
};

/* {version="0.1.0",policy="cohort",regime="gated" ... */
static void print_build(FILE *to, const struct schedule *s)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count =
		schedule_words(s, pipeline_step_names, PIPELINE_STEPS, words);

	metric_head(to, &(struct metric){
				.name = "darkroom_build_info",
				.type = METRIC_GAUGE,
				.help = "What runs; always 1.",
			});
	(void)fprintf(to,
		      "darkroom_build_info{version=\"" DARKROOM_VERSION "\"");
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, ",%s=\"%s\"", words[i].flag,
			      words[i].value[0] != '\0' ? words[i].value :
							  "on");
	(void)fprintf(to, "} 1\n");
}

static void print_pixels(FILE *to, const struct pipeline_stats *p)
{
	static const struct metric metric = {
		"darkroom_pixels_total", METRIC_COUNTER, METRIC_ONE,
		"Pixels of pictures uploaded, and of all that was made of "
		"them; of uploads that finished."
	};

	metric_head(to, &metric);
	metric_sample(to, &metric, "direction=\"in\"", p->pixels_in);
	metric_sample(to, &metric, "direction=\"out\"", p->pixels_out);
}

/* False: no memory. */
static bool print_all(FILE *to, struct stats_source *source,
		      const struct http_report *http)
{
	static const struct metric limit = { "darkroom_uploads_limit",
					     METRIC_GAUGE, METRIC_ONE,
					     "How many may be inside." };
	static const struct metric inside = {
		"darkroom_upload_seconds", METRIC_HISTOGRAM, METRIC_SECONDS,
		"Time inside of uploads that finished, from their first queue "
		"to their result."
	};
	struct pipeline_stats pipeline;
	struct process_stats process;

	pipeline_read(source->pipeline, &pipeline);
	stats_read_process(source, &process);

	print_build(to, &source->config->schedule);
	metrics_print_http(to, http);
	metric_single(to, &limit, source->config->uploads_max);
	metric_singles(to, pipeline_fields, METRICS_COUNT(pipeline_fields),
		       &pipeline);
	print_pixels(to, &pipeline);
	metric_head(to, &inside);
	metric_histogram(to, &inside, "", &pipeline.inside, pipeline.inside_ns);
	metrics_print_stages(to, &pipeline);
	metric_singles(to, process_fields, METRICS_COUNT(process_fields),
		       &process);
	return metrics_print_workers(to, pipeline_group(source->pipeline));
}

char *metrics_text(struct stats_source *source, const struct http_report *http)
{
	struct text text;
	FILE *to = text_open(&text);

	if (to == NULL)
		return NULL;

	bool is_whole = print_all(to, source, http);
	char *bytes = text_close(&text, to);

	if (is_whole)
		return bytes;
	free(bytes);
	return NULL;
}
