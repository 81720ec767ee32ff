/* SPDX-License-Identifier: MIT */
#include "base/cgroup.h"
#include "base/error.h"
#include "service/store/remote/remote.h"
#include "service/config/options.h"

#include "base/clock.h"
#include "service/http/connection/acceptor.h"
#include "service/http/connection/clients.h"
#include "service/http/head/formats.h"
#include "service/http/head/query.h"

#include "stages/stage.h"
#include "stages/flags.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

enum { SOURCE_BYTES = 192 };

enum { THESIS_CORES = 4 };

/*
 * Threads of each stage with --policy pool-per-stage, without --pool, on that
 * many cores (Gordon, UCAM-CL-TR-781, table 4.2, which has none for scale and
 * statistics).
 */
static const uint32_t pool_threads[PIPELINE_STEPS] = {
	[PIPELINE_PARSE] = 1, [PIPELINE_DECODE] = 3, [PIPELINE_SCALE] = 1,
	[PIPELINE_BLUR] = 2,  [PIPELINE_ENCODE] = 3, [PIPELINE_STATISTICS] = 1,
};

/*
 * Default limits of one upload.  A phone's largest photo has 200 megapixels,
 * and a reduced decode of it costs less than many smaller photos in full size.
 * So the largest upload is larger than the largest result, and the work that
 * one upload may ask for follows from the result.  The CPU time of 100 ms per
 * megapixel is enough for any upload of that size: a progressive CMYK upload
 * that becomes a progressive JPEG in full chroma is estimated at 51 ms per
 * megapixel, and at 75 ms with the slowest filter.
 */
enum {
	RESULT_PIXELS = 100000000,
	/*
	 * The results of one upload together may have this many times
	 * --max-result-megapixels.
	 */
	OUTPUT_PICTURES = 2,
	PIXELS_PER_CPU_MS = 10000,
	CPU_PIXELS_MIN = 10000000,
};

/*
 * By default one address may have this part of all connections, but at least
 * ADDRESS_LEAST.
 */
enum { ADDRESS_PART = 8, ADDRESS_LEAST = 16 };

/*
 * The default is one I/O thread for this many workers:
 * docs/operations/configure.md.
 */
enum { WORKERS_PER_IO_THREAD = 8 };

static void print_query_help(FILE *out)
{
	char names[IMG_FORMAT_NAMES_CHARS];

	img_format_names(names, " or ", UINT32_MAX);
	(void)fprintf(out,
		      "POST / accepts a %s, raw or as multipart/form-data. "
		      "Query parameters:\n\n",
		      names);
	query_print_help(out);
}

static const struct flag own_flags[] = {
	{ "listen", "ADDRESS:PORT", "127.0.0.1:8080",
	  "address for connections; :8080 means all addresses;\n"
	  "port 0: any free port",
	  FLAG_FIELD(struct options, listen) },
	{ "admin-listen", "ADDRESS:PORT", NULL,
	  "a second port for reports (/metrics, /stats, /trace, /v1/live)\n"
	  "and probes; default: they are at --listen, but there are no "
	  "reports\n"
	  "if others can reach it without keys",
	  FLAG_FIELD(struct options, admin_listen) },
	{ "agent-listen", "ADDRESS:PORT", NULL,
	  "a port that tells HAProxy's agent-check how many uploads to send\n"
	  "here, such as 75%; default: none",
	  FLAG_FIELD(struct options, agent_listen) },
	{ "host", "NAME,...|*", NULL,
	  "names by which clients may call this server, in addition to its\n"
	  "addresses, localhost and names of private networks; checked only\n"
	  "without keys and TLS; *: any name",
	  FLAG_FIELD(struct options, host_names) },
	{ "public-url", "URL", NULL,
	  "how clients reach this server through a proxy, such as\n"
	  "https://photos.example/app: begins the URLs in replies",
	  FLAG_FIELD(struct options, public_url) },
	{ "admin-url", "URL", NULL,
	  "how browsers reach --admin-listen, for the page's link; default:\n"
	  "the same host with the port of --admin-listen",
	  FLAG_FIELD(struct options, admin_url) },
	{ "cors-origin", "ORIGIN,...|*", NULL,
	  "origins such as https://shop.example whose pages may use this\n"
	  "server from a browser, with keys or without; *: any page",
	  FLAG_FIELD(struct options, cors_origins) },
	{ "cors-max-age", "TIME", "7200s",
	  "how long a browser may remember that a page is allowed",
	  FLAG_FIELD(struct options, cors_max_age_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "insecure", NULL, NULL,
	  "let other machines use the server without keys",
	  FLAG_FIELD(struct options, insecure) },
	{ "user", "NAME[:GROUP]", NULL,
	  "if root starts the server: become this user after ports, keys and\n"
	  "certificates are open",
	  FLAG_FIELD(struct options, user) },
	{ "api-key-file", "FILE", NULL,
	  "file with one key per line; a client with a key may do everything",
	  FLAG_FIELD(struct options, api_key_file) },
	{ "sign-key-file", "FILE", NULL,
	  "file with keys for signed URLs, see docs/http-api.md",
	  FLAG_FIELD(struct options, sign_key_file) },
	{ "metrics-key-file", "FILE", NULL,
	  "file with keys for monitoring; a client with one may read /metrics\n"
	  "and nothing else",
	  FLAG_FIELD(struct options, metrics_key_file) },
	{ "block-list", "FILE", NULL,
	  "file with PDQ hashes, one per line: pictures that look like theirs\n"
	  "are refused",
	  FLAG_FIELD(struct options, block_list) },
	{ "block-distance", "BITS", "31",
	  "how many bits of a hash may differ, if --block-list does not say it",
	  FLAG_FIELD(struct options, block_distance), .most = 64 },
	{ "tls-cert", "FILE", NULL,
	  "serve only HTTPS, with this certificate and its chain (PEM)",
	  FLAG_FIELD(struct options, tls_cert) },
	{ "tls-key", "FILE", NULL, "the certificate's private key (PEM)",
	  FLAG_FIELD(struct options, tls_key) },
	{ "cores", "LIST", NULL,
	  "CPUs that run the stages, such as 0,2,4-7; default: all allowed\n"
	  "ones, physical cores first, as many as the cgroup's CPU quota;\n"
	  "threads of --policy thread-per-connection, and of servlib with\n"
	  "--threads 1:1, are not bound",
	  FLAG_FIELD(struct options, cores) },
	{ "max-uploads", "N", "256",
	  "accepted uploads that are not finished; more get a 503",
	  FLAG_FIELD(struct options, uploads_max), .least = 1,
	  .most = 1000000 },
	{ "max-connections", "N", "1024",
	  "open connections; one more closes an idle or stalled one",
	  FLAG_FIELD(struct options, connections_max), .least = 1,
	  .most = 1000000 },
	{ "max-connections-per-address", "N", NULL,
	  "open connections of one client address (or IPv6 /64); 0: no\n"
	  "limit; default: an eighth of --max-connections, at least 16",
	  FLAG_FIELD(struct options, per_address_max), .most = 1000000 },
	{ "trusted-proxies", "LIST", "127.0.0.0/8,::1",
	  "addresses and networks to which --max-connections-per-address does\n"
	  "not apply; or none",
	  FLAG_FIELD(struct options, trusted_proxies) },
	{ "io-threads", "N|auto", "auto",
	  "threads that read requests and send replies; auto: one for each\n"
	  "eight workers, at least 1; --policy thread-per-connection and\n"
	  "servlib have none",
	  FLAG_FIELD(struct options, io_threads), .least = 1,
	  .most = ACCEPTOR_THREADS_MAX, .zero = "auto" },
	{ "max-requests", "N", "0",
	  "requests on one connection, before it is closed; 0: no limit",
	  FLAG_FIELD(struct options, requests_max), .most = 1e9 },
	{ "header-timeout", "TIME", "10s",
	  "time until a new connection's request line, and then until the\n"
	  "end of its header; 0: no limit",
	  FLAG_FIELD(struct options, head_ms), .unit = FLAG_TIME,
	  .most = 3600000 },
	{ "idle-timeout", "TIME", "30s",
	  "time that a connection may wait for its next request; 0: no limit",
	  FLAG_FIELD(struct options, idle_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "min-rate", "SIZE", "1K",
	  "bytes per second at which a client must send a body and read a\n"
	  "reply; 0: any",
	  FLAG_FIELD(struct options, rate_min), .unit = FLAG_SIZE,
	  .most = 1 << 30 },
	{ "max-body", "SIZE", "64M",
	  "size of a request's body, such as 1.5G, 64M or 100K; a plain "
	  "number\n"
	  "is in M",
	  FLAG_FIELD(struct options, body_bytes_max), .unit = FLAG_SIZE,
	  .least = 1 << 10, .most = UINT64_C(4095) << 20 },
	{ "memory", "SIZE", NULL,
	  "memory of all uploads together, with their results; default: by\n"
	  "the limit of the cgroup or machine, see docs/operations/limits.md",
	  FLAG_FIELD(struct options, memory_bytes_max), .unit = FLAG_SIZE,
	  .least = 1 << 20, .most = UINT64_C(1) << 50 },
	{ "max-side", "PIXELS", TEXT_OF(IMG_SIDE_PX_MAX),
	  "width and height of an uploaded picture",
	  FLAG_FIELD(struct options, limits.side_px_max), .least = 1,
	  .most = IMG_SIDE_PX_MAX },
	{ "max-megapixels", "N", "250",
	  "millions of pixels of an uploaded picture",
	  FLAG_FIELD(struct options, limits.pixels_max), .unit = FLAG_MILLIONS,
	  .least = 1e6, .most = 4290e6 },
	{ "max-result-megapixels", "N", NULL,
	  "millions of pixels of each result; default: 100, or that of\n"
	  "--max-megapixels if it is given",
	  FLAG_FIELD(struct options, limits.result_pixels_max),
	  .unit = FLAG_MILLIONS, .least = 1e6, .most = 4290e6 },
	{ "max-output-megapixels", "N", NULL,
	  "millions of pixels of all results of one upload together; 0: no\n"
	  "limit; default: twice --max-result-megapixels",
	  FLAG_FIELD(struct options, output_pixels_max), .unit = FLAG_MILLIONS,
	  .most = 100000e6 },
	{ "max-cpu", "TIME", NULL,
	  "CPU time of one upload, estimated from its header; 0: no limit;\n"
	  "default: 100ms for each of --max-result-megapixels, at least 1s",
	  FLAG_FIELD(struct options, cpu_ms_max), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "max-scans", "N", "64",
	  "scans of a progressive JPEG; fewer for large ones, 16 at\n"
	  "--max-result-megapixels",
	  FLAG_FIELD(struct options, limits.scans_max), .least = 1,
	  .most = 1000 },
	{ "max-decode-memory", "SIZE", "512M", "memory to decode one picture",
	  FLAG_FIELD(struct options, limits.decode_bytes_max),
	  .unit = FLAG_SIZE, .least = 1 << 20, .most = UINT64_C(65536) << 20 },
	{ "deadline", "TIME", "60s",
	  "time of an upload, from its head to the start of its last step;\n"
	  "a late one gets a 503; 0: no limit",
	  FLAG_FIELD(struct options, deadline_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "shutdown-delay", "TIME", "0s",
	  "on SIGTERM, continue for this time with /readyz answering 503, so\n"
	  "that balancers notice",
	  FLAG_FIELD(struct options, shutdown_delay_ms), .unit = FLAG_TIME,
	  .most = 600000 },
	{ "drain-timeout", "TIME", "8s",
	  "on SIGTERM, time to finish the uploads that have begun; those\n"
	  "left are abandoned, and the exit status is 3; such as 500ms or 8s;\n"
	  "a plain number is in seconds",
	  FLAG_FIELD(struct options, drain_ms), .unit = FLAG_TIME,
	  .most = 3600000 },
	{ "agent-half", "TIME", "1s",
	  "work left of each core, by estimate, at which balancers are told\n"
	  "to send half as many uploads as to an empty server",
	  FLAG_FIELD(struct options, agent_half_ms), .unit = FLAG_TIME,
	  .least = 1, .most = 3600000 },
	{ "sandbox", "auto|require|off", "auto",
	  "take away rights that the server does not need; auto: as far as\n"
	  "the kernel supports it; require: do not start if a part is\n"
	  "missing; off: none",
	  FLAG_CHOICE_FIELD(struct options, sandbox) },
	{ "isolate", "FORMATS", NULL,
	  "decode uploads of these formats in processes of their own, so that\n"
	  "a file which crashes its decoder ends nothing else: words with\n"
	  "commas between them, as of format=; or none; default: all whose\n"
	  "decoders are not made for hostile files.  HEIC is read only if it\n"
	  "is one of them and the program darkroom-heif is installed",
	  FLAG_FIELD(struct options, isolate) },
	{ "split-decode", "auto|off", "auto",
	  "decode a large JPEG on several cores; auto: while cores have\n"
	  "nothing else to do",
	  FLAG_CHOICE_FIELD(struct options, split_decode) },
	{ "early-decode", "auto|off", "auto",
	  "decode a large JPEG while it arrives; auto: while cores have\n"
	  "nothing else to do",
	  FLAG_CHOICE_FIELD(struct options, early_decode) },
	{ "hardware-counters", NULL, NULL,
	  "count cycles, instructions and cache misses of each stage for\n"
	  "/stats, if the system allows it; the sandbox then allows it too",
	  FLAG_FIELD(struct options, counts_hardware) },
	{ "presets", "SPEC", NULL,
	  "variants that uploads may request by name, such as\n"
	  "'thumb:w=320,h=320,fit=cover;page:w=1280'",
	  FLAG_FIELD(struct options, presets) },
	{ "watermark", "NAME=FILE;...", NULL,
	  "pictures that results may have drawn over them (watermark=NAME),\n"
	  "in any format, with transparency; up to 4 megapixels",
	  FLAG_FIELD(struct options, watermark) },
	{ "formats", "FORMATS", NULL,
	  "formats of which an upload with format=auto gets the one that its\n"
	  "Accept prefers, at equal weight the first; if this flag is given,\n"
	  "uploads without `format` are such uploads, too; default: webp,\n"
	  "jxl, avif and jpeg, as far as they are built in",
	  FLAG_FIELD(struct options, formats) },
	{ "form", "lenient|strict", "lenient",
	  "fields of a form that are no parameters, and text around its\n"
	  "parts: ignored, or the upload is refused",
	  FLAG_CHOICE_FIELD(struct options, form) },
	{ "log", "auto|json|text|off", "auto",
	  "a line on stderr for each request; auto: text on a terminal, else\n"
	  "JSON",
	  FLAG_CHOICE_FIELD(struct options, log_mode) },
	{ "log-slow", "TIME", "1s",
	  "mark requests that take at least this time, from head to reply;\n"
	  "0: none",
	  FLAG_FIELD(struct options, log_slow_ms), .unit = FLAG_TIME,
	  .most = 86400000 },
	{ "store", "DIR|s3://BUCKET", NULL,
	  "where the images of POST /v1/images are: a folder, which must be\n"
	  "empty or a store, or an object store (s3://BUCKET[/PREFIX])",
	  FLAG_FIELD(struct options, store) },
	{ "s3-endpoint", "URL", NULL,
	  "address of the object store, such as https://s3.example:9000;\n"
	  "default: AWS_ENDPOINT_URL_S3, or Amazon's",
	  FLAG_FIELD(struct options, s3_endpoint) },
	{ "s3-region", "REGION", NULL,
	  "region of the object store; default: AWS_REGION, or us-east-1",
	  FLAG_FIELD(struct options, s3_region) },
	{ "s3-path-style", NULL, NULL,
	  "name the bucket in the path, and not in the host name",
	  FLAG_FIELD(struct options, s3_path_style) },
	{ "s3-credentials-file", "FILE", NULL,
	  "the keys of the object store, as in ~/.aws/credentials; default:\n"
	  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
	  FLAG_FIELD(struct options, s3_credentials_file) },
	{ "store-cache", "DIR", NULL,
	  "keep images of the object store that were read lately in this\n"
	  "folder",
	  FLAG_FIELD(struct options, store_cache) },
	{ "store-cache-quota", "SIZE", "1G", "disk space of --store-cache",
	  FLAG_FIELD(struct options, store_cache_quota_bytes),
	  .unit = FLAG_SIZE, .least = 1 << 20, .most = UINT64_C(1) << 60 },
	{ "store-quota", "SIZE", "0", "disk space of the store; 0: no limit",
	  FLAG_FIELD(struct options, store_quota_bytes), .unit = FLAG_SIZE,
	  .most = UINT64_C(1) << 60 },
	{ "store-original", "none|raw|jxl", "none",
	  "keep each upload, byte for byte, too: other pictures can be made\n"
	  "of it later; jxl: pack JPEGs without loss while cores are idle",
	  FLAG_CHOICE_FIELD(struct options, store_original), .alone = "raw" },
	{ "original-quota", "SIZE", "0", "disk space of originals; 0: no limit",
	  FLAG_FIELD(struct options, original_quota_bytes), .unit = FLAG_SIZE,
	  .most = UINT64_C(1) << 60 },
	{ "inbox", "DIR", NULL,
	  "keep uploads by ticket or in parts (/v1/uploads) in this folder\n"
	  "until they are complete; default: in the store's, or nowhere with\n"
	  "s3://",
	  FLAG_FIELD(struct options, inbox) },
	{ "inbox-quota", "SIZE", "4G", "disk space of the inbox; 0: no limit",
	  FLAG_FIELD(struct options, inbox_quota_bytes), .unit = FLAG_SIZE,
	  .most = UINT64_C(1) << 60 },
	{ "inbox-time", "TIME", "24h",
	  "the longest time that a ticket or a resumable upload is kept",
	  FLAG_FIELD(struct options, inbox_ms), .unit = FLAG_TIME,
	  .least = 1000, .most = 30 * 86400000.0 },
	{ "webhook", "URL", NULL,
	  "tell this URL, by a signed POST, of every image that is stored",
	  FLAG_FIELD(struct options, webhook) },
	{ "webhook-allow", "ORIGIN,...", NULL,
	  "origins, such as https://shop.example, of URLs that a ticket may\n"
	  "name as its own webhook; default: none",
	  FLAG_FIELD(struct options, webhook_allow) },
	{ "webhook-key-file", "FILE", NULL,
	  "the keys that sign webhooks, whsec_BASE64, one in each line",
	  FLAG_FIELD(struct options, webhook_key_file) },
	{ "webhook-queue", "N", "100000",
	  "most events of webhooks that wait; then uploads to be stored get a\n"
	  "503",
	  FLAG_FIELD(struct options, webhook_queue), .least = 1,
	  .most = 10000000 },
	{ "webhook-retry", "TIME,...", "5s,5m,30m,2h,5h,10h,14h,20h,24h",
	  "pauses before the attempts after the first; a fifth is added by\n"
	  "chance",
	  FLAG_FIELD(struct options, webhook_retry) },
	{ "spool", "store|none", "store",
	  "where an upload is written before it is answered 202: to the\n"
	  "store, so that it survives a restart or a crash, or nowhere",
	  FLAG_CHOICE_FIELD(struct options, spool) },
	{ "store-threads", "N", NULL,
	  "threads that wait for the store; default: 4, or 32 with s3://",
	  FLAG_FIELD(struct options, store_threads), .least = 1, .most = 1000 },
	{ "express",
	  .removed = "it was removed; --slice pauses large uploads, so that "
		     "small ones need no thread of their own" },
	{ "stages", "image|thesis", "image",
	  "the stages that uploads pass: decode, scale, blur and encode; or,\n"
	  "as in M. E. Gordon's thesis, before them parse, where forms are\n"
	  "read, and after them statistics",
	  FLAG_CHOICE_FIELD(struct options, stages) },
	{ "trace", "FILE", NULL,
	  "write every visit of a worker, for Perfetto or chrome://tracing",
	  FLAG_FIELD(struct options, trace) },
	{ "save-graph", "FILE", NULL,
	  "on SIGTERM, write the measured stage graph to this file",
	  FLAG_FIELD(struct options, save_graph) },
	{ "graph", "FILE", NULL,
	  "with --balance partition: divide the stages by this file",
	  FLAG_FIELD(struct options, graph) },
	{ 0 },
};

static const struct flag file_flags[] = {
	{ "config", "FILE", NULL,
	  "read flags from this JSON file; the command line and variables\n"
	  "such as DARKROOM_MAX_BODY override it",
	  FLAG_FIELD(struct options, config) },
	{ 0 },
};

/* Flags for actions that replace serving; only on the command line. */
static const struct flag action_flags[] = {
	{ "check-config", NULL, NULL,
	  "check everything that can be checked without starting, and exit",
	  FLAG_FIELD(struct options, wants_check) },
	{ "print-config", NULL, NULL,
	  "print the values of all flags, as a file for --config, and exit",
	  FLAG_FIELD(struct options, wants_config) },
	{ "list-policies", NULL, NULL, "list the policies and exit",
	  FLAG_FIELD(struct options, wants_policies) },
	FLAGS_ASKED(struct options, asked),
	{ 0 },
};

enum { ANYWHERE = FLAGS_IN_ENVIRONMENT | FLAGS_IN_FILE };

/* The schedule that was fastest in measurements: docs/scheduling.md. */
#define BEST_POLICY "color"
#define BEST_DISCIPLINE "srpt"
#define BEST_SLICE_US "1000"

static const struct flag_group groups[] = {
	{ .flags = own_flags, .sources = ANYWHERE },
	{ .flags = file_flags, .sources = FLAGS_IN_ENVIRONMENT },
	{ .flags = action_flags },
	{ .flags = schedule_flags,
	  .sources = ANYWHERE,
	  .title = "How stages get the CPU (docs/scheduling.md)",
	  .about = "Without any of these flags: --policy " BEST_POLICY
		   " --discipline " BEST_DISCIPLINE " --slice " BEST_SLICE_US
		   ". If one of them is given, the others have the defaults "
		   "below." },
	{ 0 },
};

static void print_built_with(FILE *out)
{
	(void)fputs("formats:", out);
	for (uint32_t i = 0; i < IMG_FORMATS; i++)
		(void)fprintf(out, " %s%s", img_formats[i]->word,
			      i < IMG_RESULT_FORMATS ? "" : " (read only)");
	(void)fputs("\ngain maps of results:", out);
	for (uint32_t i = 0; i < IMG_RESULT_FORMATS; i++)
		if (img_formats[i]->holds_gainmap)
			(void)fprintf(out, " %s", img_formats[i]->word);
	(void)fputs("\n", out);
}

const struct program options_program = {
	.name = "darkroom",
	.summary = "an image upload service",
	.usage = "[OPTION]...",
	.about = "Accept pictures over HTTP, scale, blur and encode them, and "
		 "return or store the results. The stages of this work share "
		 "the CPU by a schedule.",
	.groups = groups,
	.exit_status = "0 stopped or done, 1 failed, 2 wrong usage, 3 uploads "
		       "were abandoned at --drain-timeout.",
	.see_also = "loadgen(1)",
	.print_built_with = print_built_with,
	.prefix = "DARKROOM_",
	.print_more = print_query_help,
};

static uint32_t place_of(const char *flag)
{
	uint32_t place = 0;

	for (const struct flag_group *g = groups; g->flags != NULL; g++)
		for (const struct flag *f = g->flags; f->name != NULL;
		     f++, place++)
			if (strcmp(f->name, flag) == 0)
				return place;
	abort();
}

/* A source being read. */
struct reading {
	struct options *options;
	/*
	 * Receives values of flags that a source of higher precedence has set
	 * already: these values are checked, then ignored.
	 */
	struct options overruled;
	enum options_source source;
};

static bool take_flag(void *reading, const struct flag *f, const char *value,
		      struct error *why)
{
	struct reading *r = reading;
	struct options *o = r->options;
	struct pipeline_steps steps = pipeline_steps(o->stages);
	uint32_t place = place_of(f->name);

	assert(place < OPTIONS_MAX);
	if (o->sources[place] > r->source)
		o = &r->overruled;
	o->sources[place] = r->source;
	if (f->values == NULL && value != NULL)
		return true; /* switches are off by default */
	if (f->type != FLAG_OTHER)
		return flag_set(f, value, o, why);
	return schedule_set(&o->schedule, f->name, value, steps.names,
			    steps.count) ||
	       schedule_refuse(f->name, value, steps.names, steps.count, why);
}

/* Read the values of all flags, except of those of the schedule. */
static bool take_own_flag(void *reading, const struct flag *f,
			  const char *value, struct error *why)
{
	return f->type == FLAG_OTHER || take_flag(reading, f, value, why);
}

/*
 * The best schedule is used only if no scheduling flag is given.  If one is
 * given, the others have the defaults of the papers.
 */
static void set_best(struct options *o)
{
	o->schedule.policy = policy_find(BEST_POLICY);
	o->schedule.discipline.kind = DISCIPLINE_SRPT;
}

bool options_drop_best(const struct options *o,
		       char dropped[OPTIONS_DROPPED_BYTES])
{
	enum policy_workers workers = o->schedule.policy->workers;
	bool has_queues = workers == POLICY_WORKERS_ROAM ||
			  workers == POLICY_WORKERS_STAY;
	bool policy = !options_is_given(o, "policy");
	bool discipline = has_queues && !options_is_given(o, "discipline");
	bool slice = discipline && !options_is_given(o, "slice");

	if (o->schedule.given == 0 || !(policy || discipline))
		return false;
	(void)snprintf(
		dropped, OPTIONS_DROPPED_BYTES,
		"one scheduling flag drops the other defaults, here%s%s%s",
		policy ? " --policy " BEST_POLICY : "",
		discipline ? " --discipline " BEST_DISCIPLINE : "",
		slice ? " --slice " BEST_SLICE_US : "");
	return true;
}

/* Memory that is reserved for the program itself, not for uploads. */
enum {
	MEMORY_OWN_BYTES = 32 << 20, /* code, heap, touched parts of stacks */
	/* libmicrohttpd's buffers, the request and the head of its reply. */
	MEMORY_CONNECTION_BYTES = 152 << 10,
};

/* "max" is not a number and sets no limit. */
static void lower_limit(void *arg, const char *dir)
{
	uint64_t *limit = arg;
	long long bytes;

	if ((cgroup_read_numbers(dir, "memory.max", &bytes, 1) ||
	     cgroup_read_numbers(dir, "memory.limit_in_bytes", &bytes, 1)) &&
	    bytes > 0 && (uint64_t)bytes < *limit)
		*limit = (uint64_t)bytes;
}

/*
 * The least memory limit of this process's control groups, by /proc and /sys
 * below `root`.  UINT64_MAX: they set none.
 */
static uint64_t memory_limit_of_groups(const char *root)
{
	uint64_t limit = UINT64_MAX;

	cgroup_visit(root, "memory", lower_limit, &limit);
	return limit;
}

/*
 * The memory that this process may use: the least of these limits and the
 * machine's memory.
 */
static uint64_t memory_limit_bytes(void)
{
	uint64_t of_groups = memory_limit_of_groups("");
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			   (uint64_t)sysconf(_SC_PAGESIZE);

	return of_groups < machine ? of_groups : machine;
}

/*
 * The part of the memory for uploads: seven eighths of the limit, minus what
 * the program and its connections may take; but at least a quarter of the
 * limit.
 */
static uint64_t memory_budget_bytes(uint64_t limit_bytes,
				    uint32_t connections_max)
{
	uint64_t most = limit_bytes / 8 * 7;
	uint64_t own = MEMORY_OWN_BYTES +
		       (uint64_t)connections_max * MEMORY_CONNECTION_BYTES;
	uint64_t left = most > own ? most - own : 0;

	return left > limit_bytes / 4 ? left : limit_bytes / 4;
}

static uint32_t default_per_address(uint32_t connections_max)
{
	uint32_t part = connections_max / ADDRESS_PART;

	return part > ADDRESS_LEAST ? part : ADDRESS_LEAST;
}

/* Threads of a remote store only wait. */
enum {
	STORE_THREADS_FOLDER = 4,
	STORE_THREADS_REMOTE = 32,
	READ_SHARE = 8, /* this part of the memory */
};

static bool is_remote(const struct options *o)
{
	return o->store != NULL && remote_is_url(o->store);
}

uint64_t options_read_bytes(const struct options *o)
{
	return is_remote(o) ? o->memory_bytes_max / READ_SHARE : 0;
}

bool options_isolated(const struct options *o, uint32_t *isolated,
		      struct error *error)
{
	char why[FORMATS_WHY_BYTES];
	struct formats formats = { .count = 0 };

	*isolated = 0;
	for (uint32_t i = 0; o->isolate == NULL && i < IMG_FORMATS; i++)
		if (img_formats[i]->is_fragile)
			*isolated |= UINT32_C(1) << i;
	if (o->isolate == NULL || strcmp(o->isolate, "none") == 0)
		return true;
	if (!formats_read(&formats, o->isolate, IMG_FORMATS, why))
		return error_fail(error, "%s", why);
	for (uint32_t i = 0; i < formats.count; i++)
		*isolated |= UINT32_C(1) << formats.list[i];
	return true;
}

/* Set the limits of one upload whose default depends on others. */
static void set_derived_limits(struct options *o)
{
	uint64_t pixels = o->limits.result_pixels_max;

	if (!options_is_given(o, "max-result-megapixels"))
		pixels = options_is_given(o, "max-megapixels") ?
				 o->limits.pixels_max :
				 RESULT_PIXELS;
	o->limits.result_pixels_max = pixels;
	if (!options_is_given(o, "max-output-megapixels"))
		o->output_pixels_max = OUTPUT_PICTURES * pixels;
	if (!options_is_given(o, "max-cpu"))
		o->cpu_ms_max = pixels < CPU_PIXELS_MIN ?
					CPU_PIXELS_MIN / PIXELS_PER_CPU_MS :
					pixels / PIXELS_PER_CPU_MS;
}

/* Set the flags whose default depends on other flags. */
static void set_derived(struct options *o)
{
	set_derived_limits(o);
	if (!options_is_given(o, "max-connections-per-address"))
		o->per_address_max = default_per_address(o->connections_max);
	if (o->store_threads == 0)
		o->store_threads = is_remote(o) ? STORE_THREADS_REMOTE :
						  STORE_THREADS_FOLDER;
	if (o->memory_bytes_max == 0)
		o->memory_bytes_max =
			memory_budget_bytes(memory_limit_bytes(),
					    clients_slots(o->connections_max));
}

/* If help or the version is asked for, only the command line. */
static bool read_sources(struct options *o, int argc, char *const *argv,
			 char *const *environment, flag_take_fn *take,
			 struct error *error)
{
	const struct program *p = &options_program;
	struct reading r = { .options = o, .overruled.stages = o->stages };

	r.source = OPTIONS_COMMAND_LINE;
	if (!flags_read(p, argv + 1, (uint32_t)argc - 1, take, &r, error))
		return false;
	if (flags_is_asked(&o->asked) || o->wants_policies)
		return true;
	r.source = OPTIONS_ENVIRONMENT;
	if (!flags_read_environment(p, environment, take, &r, error))
		return false;
	r.source = OPTIONS_FILE;
	return o->config == NULL ||
	       flags_read_file(p, o->config, &o->file, take, &r, error);
}

/*
 * The stages, by whatever source: the flags of the schedule name them.  What is
 * wrong with the sources is said when they are read again, but for the file,
 * which is kept.
 */
static void find_stages(struct options *o, int argc, char *const *argv,
			char *const *environment)
{
	struct options first = { .stages = STAGES_IMAGE };
	struct error ignored;

	flags_init(own_flags, &first);
	(void)!read_sources(&first, argc, argv, environment, take_own_flag,
			    &ignored);
	o->stages = first.stages;
	o->file = first.file;
}

bool options_parse(struct options *o, int argc, char *const *argv,
		   char *const *environment, struct error *error)
{
	*o = (struct options){ .inherited.fds = { -1, -1, -1 } };
	schedule_init(&o->schedule);
	flags_init(own_flags, o);
	find_stages(o, argc, argv, environment);
	if (!read_sources(o, argc, argv, environment, take_flag, error))
		return false;
	if (flags_is_asked(&o->asked) || o->wants_policies)
		return true;
	if (o->schedule.given == 0)
		set_best(o);
	set_derived(o);
	return true;
}

bool options_inherit(struct options *o, const struct listen_variables *v,
		     struct error *error)
{
	const char **addresses[LISTEN_USES] = {
		[LISTEN_MAIN] = &o->listen,
		[LISTEN_ADMIN] = &o->admin_listen,
		[LISTEN_AGENT] = &o->agent_listen,
	};

	if (!listen_inherit(&o->inherited, v, error))
		return false;
	for (uint32_t use = 0; use < LISTEN_USES; use++)
		if (o->inherited.fds[use] >= 0)
			*addresses[use] = o->inherited.addresses[use];
	return true;
}

void options_release(struct options *o)
{
	cJSON_Delete(o->file);
}

bool options_is_given(const struct options *o, const char *flag)
{
	return o->sources[place_of(flag)] != OPTIONS_DEFAULT;
}

bool options_is_changed(const struct options *o, const char *flag,
			char value[FLAG_NUMBER_BYTES])
{
	const struct flag *f = flags_find(groups, flag);
	struct options initial = { .listen = NULL };
	char unchanged[FLAG_NUMBER_BYTES];

	flags_init(own_flags, &initial);
	set_derived(&initial);
	flag_print(f, &initial, unchanged);
	flag_print(f, o, value);
	return strcmp(value, unchanged) != 0;
}

void options_fit_pools(struct schedule *s, enum stage_set stages,
		       uint32_t core_count)
{
	struct pipeline_steps steps = pipeline_steps(stages);
	uint32_t cores = core_count / s->part_count;

	for (uint32_t i = 0; i < steps.count; i++)
		if (s->pool_threads[i] == 0)
			s->pool_threads[i] =
				(pool_threads[steps.first + i] * cores +
				 THESIS_CORES - 1) /
				THESIS_CORES;
}

void options_choose_slice(const struct options *o, struct schedule *s)
{
	struct pipeline_steps steps = pipeline_steps(o->stages);
	bool is_by_what_is_left = false;

	for (uint32_t i = 0; i < steps.count; i++) {
		enum discipline_kind kind = schedule_discipline(s, i)->kind;

		is_by_what_is_left |=
			kind == DISCIPLINE_SRPT || kind == DISCIPLINE_EDF;
	}
	if (is_by_what_is_left && !options_is_given(o, "slice"))
		s->slice_ns = NS_PER_MS;
}

uint32_t options_io_threads(const struct options *o, uint32_t worker_count)
{
	uint32_t count = o->io_threads;

	if (worker_count == 0)
		return 0;
	if (count == 0)
		count = worker_count / WORKERS_PER_IO_THREAD;
	if (count == 0)
		return 1;
	return count < ACCEPTOR_THREADS_MAX ? count : ACCEPTOR_THREADS_MAX;
}

static void print_source(const struct options *o, const char *flag,
			 char name[SOURCE_BYTES])
{
	switch (o->sources[place_of(flag)]) {
	case OPTIONS_FILE:
		(void)snprintf(name, SOURCE_BYTES, "%.100s: %s", o->config,
			       flag);
		break;
	case OPTIONS_ENVIRONMENT:
		flag_print_variable(&options_program, flag, name);
		break;
	default:
		(void)snprintf(name, SOURCE_BYTES, "--%s", flag);
	}
}

void options_refuse(const struct options *o, const char *flag,
		    const char *value, const char *why,
		    char refusal[OPTIONS_REFUSAL_BYTES])
{
	char name[SOURCE_BYTES];

	print_source(o, flag, name);
	(void)snprintf(refusal, OPTIONS_REFUSAL_BYTES, "%s: '%.500s': %s", name,
		       value, why);
}

/* The flags of a schedule; a flag that it does not use is null. */
static void add_schedule(struct json *j, const struct schedule *s,
			 enum stage_set stages)
{
	struct pipeline_steps steps = pipeline_steps(stages);
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count = schedule_words(s, steps.names, steps.count, words);

	for (uint32_t i = 0; i < count; i++)
		if (words[i].value[0] != '\0')
			json_add_text(j, words[i].flag, words[i].value);
		else
			json_add_bool(j, words[i].flag, true);
	for (const struct flag *f = schedule_flags; f->name != NULL; f++) {
		bool is_used = false;

		for (uint32_t i = 0; i < count; i++)
			is_used =
				is_used || strcmp(words[i].flag, f->name) == 0;
		if (!is_used)
			json_add_null(j, f->name);
	}
}

bool options_print(const struct options *o, const struct schedule *s, FILE *to)
{
	struct json j;

	json_begin(&j, to, JSON_INDENTED);
	json_open_object(&j, NULL);
	flags_add_values(own_flags, o, &j);
	add_schedule(&j, s, o->stages);
	json_close(&j);
	return fputc('\n', to) != EOF && fflush(to) == 0 && !ferror(to);
}
