/* SPDX-License-Identifier: MIT */
/*
 * Options: the flags, read from the command line, the environment and a file.
 * --help is printed from the same table.
 */
#ifndef SERVICE_OPTIONS_H
#define SERVICE_OPTIONS_H

#include "base/error.h"
#include "base/options.h"
#include "service/http/connection/listen.h"
#include "service/http/http_config.h"
#include "service/log/log.h"
#include "service/pipeline/pipeline.h"
#include "service/sandbox.h"

struct cJSON;

enum { OPTIONS_REFUSAL_BYTES = 1024, OPTIONS_MAX = 128 };

/* The values of --spool, in this order. */
enum spool_mode { SPOOL_STORE, SPOOL_NONE };
/* The values of --split-decode and --early-decode, in this order. */
enum idle_cores { IDLE_CORES_AUTO, IDLE_CORES_OFF };
enum original_mode { ORIGINAL_NONE, ORIGINAL_RAW, ORIGINAL_JXL };

/* The last source that sets a value wins. */
enum options_source {
	OPTIONS_DEFAULT,
	OPTIONS_FILE,
	OPTIONS_ENVIRONMENT,
	OPTIONS_COMMAND_LINE
};

struct options {
	const char *commit; /* of the sources; set by the caller */
	const char *listen;
	const char *admin_listen; /* NULL: no admin port */
	const char *agent_listen; /* NULL: no agent */
	/*
	 * Sockets that take the place of these addresses, which are theirs
	 * then: options_inherit().
	 */
	struct listen_inherited inherited;
	/* Names of this server, see auth.h; NULL: none. */
	const char *host_names;
	const char *cors_origins; /* NULL: none */
	uint32_t cors_max_age_ms;
	const char *public_url, *admin_url; /* see urls.h; NULL: not given */
	bool insecure; /* listen beyond loopback without keys */
	/* The user to become; NULL: no change. */
	const char *user;
	const char *api_key_file; /* files; NULL: none */
	const char *sign_key_file;
	const char *metrics_key_file;
	const char *block_list;
	uint32_t block_distance;
	const char *tls_cert;
	const char *tls_key;
	enum stage_set stages;
	struct schedule schedule; /* schedule_complete() needs the cores */
	const char *cores;        /* NULL: default */
	uint32_t uploads_max;
	uint32_t connections_max;
	uint32_t per_address_max; /* connections of one address; 0: no limit */
	const char *trusted_proxies;
	uint32_t io_threads;       /* 0: see options_io_threads() */
	uint64_t requests_max;     /* requests on one connection; 0: no limit */
	uint32_t head_ms, idle_ms; /* 0: no limit */
	uint64_t rate_min;         /* bytes per s; 0: no limit */
	uint64_t body_bytes_max;
	uint64_t memory_bytes_max; /* default: by memory_budget_bytes() */
	struct img_limits limits;
	/* Of all results of one upload; 0: no limit. */
	uint64_t output_pixels_max;
	uint32_t cpu_ms_max;  /* of one upload; 0: no limit */
	uint32_t deadline_ms; /* 0: none */
	uint32_t drain_ms;
	uint32_t shutdown_delay_ms;
	uint32_t agent_half_ms;     /* see pipeline_weight_percent() */
	const char *store;          /* a folder, or s3://...; NULL: none */
	uint64_t store_quota_bytes; /* 0: none */
	uint32_t store_threads;
	/* Of s3://: see struct remote_config. */
	const char *s3_endpoint;
	const char *s3_region;
	bool s3_path_style;
	const char *s3_credentials_file;
	enum original_mode store_original;
	uint64_t original_quota_bytes; /* 0: none */
	const char *inbox; /* NULL: in the folder of the store, if any */
	uint64_t inbox_quota_bytes;
	uint32_t inbox_ms;
	const char *webhook; /* a URL; NULL: none */
	const char *webhook_allow;
	const char *webhook_key_file;
	uint32_t webhook_queue;
	const char *webhook_retry;
	const char *store_cache;
	uint64_t store_cache_quota_bytes;
	enum spool_mode spool;
	enum http_form form;
	enum sandbox_mode sandbox;
	const char *isolate; /* see options_isolated(); NULL: default */
	enum idle_cores split_decode, early_decode;
	bool counts_hardware;
	enum log_mode log_mode;
	uint32_t log_slow_ms;   /* 0: none is slow */
	const char *trace;      /* files; NULL: none */
	const char *graph;      /* file to read */
	const char *save_graph; /* file to write */
	const char *presets;    /* see query.h; NULL: none */
	const char *watermark;  /* see watermarks.h; NULL: none */
	const char *formats;    /* see formats.h; NULL: not given */
	struct flags_asked asked;
	bool wants_policies, wants_config, wants_check;
	const char *config; /* NULL: none */
	/* The contents of the file `config`; owned by this struct. */
	struct cJSON *file;
	/*
	 * The source of each flag's value, by the number of the flag in the
	 * tables.
	 */
	enum options_source sources[OPTIONS_MAX];
};

/*
 * Read all sources; if help or the version is asked for, only the command line.
 * False: `error` is a sentence that names the flag, variable or key, and its
 * value.  Strings in `o` point into `argv`, `environment` and o->file.  In both
 * cases the caller releases `o` by options_release().
 */
MUST_CHECK bool options_parse(struct options *o, int argc, char *const *argv,
			      char *const *environment, struct error *error);
void options_release(struct options *o);

/*
 * Take the sockets that the service manager has opened, in place of the
 * addresses of flags.  False: `error` says what is wrong with them.
 */
MUST_CHECK bool options_inherit(struct options *o,
				const struct listen_variables *v,
				struct error *error);

/*
 * The formats of --isolate, a bit for each enum img_format_number.  False: one
 * is not known; `error` says which are.
 */
MUST_CHECK bool options_isolated(const struct options *o, uint32_t *isolated,
				 struct error *error);

/* Does any source set the flag? */
bool options_is_given(const struct options *o, const char *flag);

/*
 * A scheduling flag is given, so others do not have the values of the default
 * schedule.  Writes a sentence that names these values to `dropped`.  False:
 * there are none.
 */
enum { OPTIONS_DROPPED_BYTES = 128 };
bool options_drop_best(const struct options *o,
		       char dropped[OPTIONS_DROPPED_BYTES]);

/*
 * Is the value of the flag, a number or a choice, another one than if no flag
 * were given?  If so, `value` is its text.
 */
bool options_is_changed(const struct options *o, const char *flag,
			char value[FLAG_NUMBER_BYTES]);

/*
 * The threads of pools that --pool does not name: as many for each core as in
 * the thesis, rounded up.  `s` is complete.
 */
void options_fit_pools(struct schedule *s, enum stage_set stages,
		       uint32_t core_count);

/*
 * Without --slice, `s` has slices of 1 ms if its discipline orders uploads by
 * what is left of their work or time: srpt, edf.  `s` is complete.
 */
void options_choose_slice(const struct options *o, struct schedule *s);

/*
 * The part of --memory that is for images which are read from a remote store;
 * 0: there is no such store.
 */
uint64_t options_read_bytes(const struct options *o);

/* The number of I/O threads for this number of workers, which may be 0. */
uint32_t options_io_threads(const struct options *o, uint32_t worker_count);

/*
 * Set `error` to why a flag's value is refused, beginning with its source:
 * "--cores: '99': WHY", or with DARKROOM_CORES or "FILE: cores".
 */
void options_refuse(const struct options *o, const char *flag,
		    const char *value, const char *why,
		    char refusal[OPTIONS_REFUSAL_BYTES]);

/*
 * Write the options, with a complete schedule, as a file for --config.  False:
 * no memory, or the file cannot be written.
 */
MUST_CHECK bool options_print(const struct options *o, const struct schedule *s,
			      FILE *to);

/* All flags of darkroom, for its help. */
extern const struct program options_program;

#endif
