/* SPDX-License-Identifier: MIT */
#include "loadgen/client/request.h"

#include "base/random.h"
#include "base/take.h"
#include "loadgen/dataset/lines.h"

#include <assert.h>
#include <errno.h>
#include <http_parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HTTP_PORT = 80, HTTPS_PORT = 443, URL_BYTES_MAX = UINT16_MAX };

static const double weight_min = 1e-6;
static const double weight_max = 1e6;

static bool url_has(const struct http_parser_url *parts, int field)
{
	return (parts->field_set & (1 << field)) != 0;
}

/* Returns a message about what is wrong with the URL `text`; NULL: nothing. */
static const char *url_find_fault(const char *text,
				  struct http_parser_url *parts)
{
	if (strncasecmp(text, "http://", 7) != 0 &&
	    strncasecmp(text, "https://", 8) != 0)
		return "it does not begin with http:// or https://";
	http_parser_url_init(parts);
	if (strlen(text) > URL_BYTES_MAX ||
	    http_parser_parse_url(text, strlen(text), false, parts) != 0 ||
	    (url_has(parts, UF_PORT) && parts->port == 0))
		return "malformed";
	if (url_has(parts, UF_USERINFO))
		return "no user name is sent: leave it out";
	return NULL;
}

static char *url_copy_part(const char *text,
			   const struct http_parser_url *parts, int field)
{
	return strndup(text + parts->field_data[field].off,
		       parts->field_data[field].len);
}

/*
 * Copy the target: all from the end of the authority to the fragment, which is
 * not sent.
 */
static char *url_copy_target(const char *rest)
{
	char *target;

	if (asprintf(&target, "%s%.*s", *rest == '/' ? "" : "/",
		     (int)strcspn(rest, "#"), rest) < 0)
		return NULL;
	return target;
}

bool url_parse(struct url *url, const char *text, struct error *error)
{
	struct http_parser_url parts;
	const char *fault = url_find_fault(text, &parts);
	const char *authority;
	size_t authority_bytes;
	struct url found;

	if (fault != NULL) {
		error_set(error, "URL '%s': %s", text, fault);
		return false;
	}
	found.is_tls = strncasecmp(text, "https", 5) == 0;
	authority = strstr(text, "://") + strlen("://");
	authority_bytes = strcspn(authority, "/?#");
	found.host = url_copy_part(text, &parts, UF_HOST);
	found.authority = strndup(authority, authority_bytes);
	found.target = url_copy_target(authority + authority_bytes);
	snprintf(found.port, sizeof(found.port), "%u",
		 url_has(&parts, UF_PORT) ? parts.port :
		 found.is_tls             ? HTTPS_PORT :
					    HTTP_PORT);
	if (found.host == NULL || found.authority == NULL ||
	    found.target == NULL) {
		error_set(error, "URL '%s': %s", text, strerror(ENOMEM));
		url_release(&found);
		return false;
	}
	*url = found;
	return true;
}

void url_release(struct url *url)
{
	free(url->host);
	free(url->authority);
	free(url->target);
	*url = (struct url){ 0 };
}

struct addrinfo *url_resolve(const struct url *url, struct error *error)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *addresses;
	int code = getaddrinfo(url->host, url->port, &hints, &addresses);

	if (code == 0)
		return addresses;
	error_set(error, "cannot find the host %s: %s", url->host,
		  code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
	return NULL;
}

/*
 * A key has only visible ASCII characters.  Others could end the header line.
 */
static bool is_clean_key(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

/* NULL: the key is wrong, and lines_fail() has set the error. */
static char *api_key_make_field(struct lines *lines, const char *key)
{
	char *field;

	if (!is_clean_key(key))
		lines_fail(lines, "not a key: only printable ASCII "
				  "characters without spaces are allowed");
	else if (asprintf(&field, "Authorization: Bearer %s\r\n", key) < 0)
		lines_fail(lines, "out of memory");
	else
		return field;
	return NULL;
}

/*
 * The header line with the first key of a file.  The caller frees it.  NULL:
 * `error` names the file.
 */
static char *api_key_read(const char *path, struct error *error)
{
	struct lines lines;
	char *field = NULL;
	const char *key;

	if (!lines_open(&lines, path, "a text file with a key in a line",
			error))
		return NULL;
	key = lines_next(&lines);
	if (key != NULL)
		field = api_key_make_field(&lines, key);
	if (lines_close(&lines) && field == NULL)
		error_set(error, "%s: no key in it", path);
	return field;
}

/*
 * Combined with the seed, so that the drawn queries are independent of the
 * order of files and of the arrival times.
 */
static const uint64_t params_stream =
	UINT64_C(0x706172616d730000); /* "params" */

static double weight_of_all(const struct params *p)
{
	return p->count == 0 ? 0 : p->all[p->count - 1].weight_up_to;
}

static bool params_add(struct params *p, const char *query, double weight)
{
	struct param *all = reallocarray(p->all, p->count + 1, sizeof(*all));

	assert(weight > 0);
	if (all == NULL)
		return false;
	p->all = all;
	all[p->count].query = strdup(query);
	if (all[p->count].query == NULL)
		return false;
	all[p->count].weight_up_to = weight_of_all(p) + weight;
	p->count++;
	return true;
}

static void params_release(struct params *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->all[i].query);
	free(p->all);
	*p = (struct params){ 0 };
}

/* False: lines_fail() has set the error. */
static bool params_add_line(struct params *p, struct lines *lines, char *line)
{
	const char *first = strsep(&line, "\t");
	const char *query = line == NULL ? first : line;
	double weight = 1;

	if (line != NULL &&
	    !number_read(first, weight_min, weight_max, &weight))
		lines_fail(lines, "'%s': not a weight from %g to %g", first,
			   weight_min, weight_max);
	else if (!query_is_clean(query))
		lines_fail(lines, "'%s': not a query", query);
	else if (!params_add(p, query, weight))
		lines_fail(lines, "out of memory");
	return !lines->failed;
}

/* Fill the empty `p`.  False: `error` names file and line; `p` is empty. */
static bool params_read(struct params *p, const char *path, struct error *error)
{
	struct lines lines;
	bool is_good;
	char *line;

	if (!lines_open(&lines, path, "a text file with a query in each line",
			error))
		return false;
	while ((line = lines_next(&lines)) != NULL)
		if (!params_add_line(p, &lines, line))
			break;
	is_good = lines_close(&lines);
	if (is_good && p->count == 0) {
		error_set(error, "%s: no query in it", path);
		is_good = false;
	}
	if (!is_good)
		params_release(p);
	return is_good;
}

/*
 * The index of the query that request number `request` draws.  There is at
 * least one query.
 */
static uint32_t params_draw(const struct params *p, uint64_t seed,
			    uint64_t request)
{
	uint64_t state = seed ^ params_stream;
	double drawn;
	uint32_t first = 0;
	uint32_t last = p->count - 1;

	assert(p->count > 0);
	state = random_next(&state) + request;
	drawn = random_fraction(&state) * weight_of_all(p);
	while (first < last) { /* find the first sum above `drawn` */
		uint32_t middle = first + (last - first) / 2;

		if (p->all[middle].weight_up_to > drawn)
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

/* `target` followed by `query`, which may be NULL.  NULL: out of memory. */
static char *add_query(const char *target, const char *query)
{
	const char *mark = strchr(target, '?');
	const char *joint = "?";
	char *longer;

	if (query == NULL)
		return strdup(target);
	if (mark != NULL)
		joint = mark[1] == '\0' ? "" : "&";
	return asprintf(&longer, "%s%s%s", target, joint, query) < 0 ? NULL :
								       longer;
}

static char *make_target(const char *base, const char *file_query,
			 const char *drawn_query)
{
	char *with_file = add_query(base, file_query);
	char *whole;

	if (with_file == NULL)
		return NULL;
	whole = add_query(with_file, drawn_query);
	free(with_file);
	return whole;
}

static bool dataset_has_queries(const struct dataset *dataset)
{
	for (uint32_t i = 0; i < dataset->count; i++)
		if (dataset->files[i].query != NULL)
			return true;
	return false;
}

static bool targets_make_texts(struct targets *t, const char *base,
			       const struct dataset *dataset,
			       const struct params *params)
{
	size_t made = 0;

	t->texts = calloc((size_t)t->file_count * t->param_count,
			  sizeof(*t->texts));
	if (t->texts == NULL)
		return false;
	for (uint32_t file = 0; file < t->file_count; file++)
		for (uint32_t param = 0; param < t->param_count; param++) {
			const char *drawn = params->count == 0 ?
						    NULL :
						    params->all[param].query;

			t->texts[made] = make_target(
				base, dataset->files[file].query, drawn);
			if (t->texts[made++] == NULL)
				return false;
		}
	return true;
}

static void targets_release(struct targets *t)
{
	size_t count = (size_t)t->file_count * t->param_count;

	for (size_t i = 0; t->texts != NULL && i < count; i++)
		free(t->texts[i]);
	free(t->texts);
	*t = (struct targets){ 0 };
}

/*
 * Fill the empty `t`; `base` is the URL's target.  False: `error` says why not.
 */
static bool targets_init(struct targets *t, const char *base,
			 const struct dataset *dataset,
			 const struct params *params, struct error *error)
{
	*t = (struct targets){
		.file_count = dataset_has_queries(dataset) ? dataset->count : 1,
		.param_count = params->count == 0 ? 1 : params->count,
	};
	if ((uint64_t)t->file_count * t->param_count > TARGETS_MAX) {
		error_set(error,
			  "%u files with queries of their own, times %u: more "
			  "than %d different requests",
			  t->file_count, t->param_count, TARGETS_MAX);
		*t = (struct targets){ 0 };
		return false;
	}
	if (targets_make_texts(t, base, dataset, params))
		return true;
	error_set(error, "%s", strerror(ENOMEM));
	targets_release(t);
	return false;
}

/* `param` is the index of the drawn query, or 0 if nothing is drawn. */
static const char *targets_find(const struct targets *t, uint32_t file,
				uint32_t param)
{
	assert(param < t->param_count);
	if (t->file_count == 1)
		file = 0;
	assert(file < t->file_count);
	return t->texts[(size_t)file * t->param_count + param];
}

/*
 * A random number from 0 to n - 1.  The probabilities of the numbers differ by
 * less than n / 2^32 of their mean.
 */
static uint32_t order_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(((random_next(state) >> 32) * n) >> 32);
}

/*
 * Fisher-Yates shuffle.  It begins with the sorted order, so that a pass does
 * not depend on the passes before it.
 */
static void order_shuffle(struct order *o)
{
	uint64_t state = o->seed;

	state = random_next(&state) + o->pass;
	for (uint32_t i = 0; i < o->file_count; i++)
		o->files[i] = i;
	for (uint32_t left = o->file_count; left > 1; left--) {
		uint32_t pick = order_below(&state, left);
		uint32_t last = o->files[left - 1];

		o->files[left - 1] = o->files[pick];
		o->files[pick] = last;
	}
}

/* Fill the empty `o`.  False: out of memory, and `o` is still empty. */
static bool order_init(struct order *o, uint32_t file_count, uint64_t passes,
		       uint64_t seed)
{
	uint32_t *files = calloc(file_count, sizeof(*files));

	assert(file_count > 0);
	if (files == NULL)
		return false;
	*o = (struct order){
		.files = files,
		.file_count = file_count,
		.next = file_count, /* the first call begins a pass */
		.passes = passes,
		.seed = seed,
	};
	return true;
}

/* The next file.  False: all passes are over. */
static bool order_next(struct order *o, uint32_t *file)
{
	if (o->next == o->file_count) {
		if (o->passes != 0 && o->pass == o->passes)
			return false;
		order_shuffle(o);
		o->pass++;
		o->next = 0;
	}
	*file = o->files[o->next++];
	return true;
}

static void order_release(struct order *o)
{
	free(o->files);
	*o = (struct order){ 0 };
}

/* Prepend the option's name to the error. */
static bool source_fail(struct error *error, const char *option)
{
	struct error why = *error;

	error_set(error, "--%s: %s", option, why.text);
	return false;
}

bool request_source_init(struct request_source *s,
			 const struct dataset *dataset, const char *url,
			 const char *params_file, const char *api_key_file,
			 struct error *error)
{
	struct url parts = { 0 };
	bool is_good;

	s->dataset = dataset;
	if (api_key_file != NULL) {
		s->api_key = api_key_read(api_key_file, error);
		if (s->api_key == NULL)
			return source_fail(error, "api-key-file");
	}
	if (params_file != NULL && !params_read(&s->params, params_file, error))
		return source_fail(error, "params");
	is_good = url_parse(&parts, url, error) &&
		  targets_init(&s->targets, parts.target, dataset, &s->params,
			       error);
	url_release(&parts);
	return is_good;
}

void request_source_release(struct request_source *s)
{
	targets_release(&s->targets);
	params_release(&s->params);
	free(s->api_key);
	*s = (struct request_source){ 0 };
}

bool requests_begin(struct requests *r)
{
	r->count = 0;
	return order_init(&r->order, r->source->dataset->count, r->passes,
			  r->seed);
}

bool requests_next(struct requests *r, struct request *request)
{
	const struct request_source *s = r->source;
	const struct dataset_file *file;
	uint32_t param = 0;
	uint32_t index;

	if (!order_next(&r->order, &index))
		return false;
	if (s->params.count > 0)
		param = params_draw(&s->params, r->seed, r->count);
	r->count++;
	file = &s->dataset->files[index];
	*request = (struct request){
		.file = index,
		.file_bytes = file->size_bytes,
		.target = targets_find(&s->targets, index, param),
		.content_type = file->content_type != NULL ?
					file->content_type :
					s->dataset->content_type,
		.fields = s->api_key,
		.body = file->body,
		.body_bytes = file->body_bytes,
	};
	return true;
}

void requests_end(struct requests *r)
{
	order_release(&r->order);
}
