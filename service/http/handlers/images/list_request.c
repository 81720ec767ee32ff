/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/images: a page of the list of stored images, made in the store stage.
 */
#include "service/http/handlers/images/picture_request.h"
#include "service/http/head/params.h"
#include "service/http/head/urls.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/take.h"
#include "base/text.h"
#include "base/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT_DEFAULT = 100, TIME_CHARS = sizeof("2026-11-30T12:00:00Z") };

/* The `own` of a request for the list. */
struct list_request {
	struct picture_request picture; /* its task and deadline */
	struct list_query query;
	char *text; /* the reply; owned */
};

static struct list_request *list_of(const struct request *r)
{
	return r->own;
}

/* A parameter that is a number; *out stays if there is none. */
static bool read_number(struct request *r, const char *name, uint64_t least,
			uint64_t most, uint64_t *out)
{
	char shown[PARAMS_SHOWN_BYTES];
	const char *value = NULL;

	for (uint32_t i = 0; i < r->argument_count; i++)
		if (strcmp(r->arguments[i].name, name) == 0)
			value = r->arguments[i].value != NULL ?
					r->arguments[i].value :
					"";
	if (value == NULL || number_read_whole(value, least, most, out))
		return true;
	request_explain(r,
			"%s must be a number from %" PRIu64 " to %" PRIu64
			", not '%s'.",
			name, least, most, params_shown(shown, value));
	return false;
}

/* The same for a part of an id, or a whole one. */
static bool read_id(struct request *r, const char *name, bool is_whole,
		    char out[STORE_ID_BYTES])
{
	const char *value = request_argument(r, name);
	char shown[PARAMS_SHOWN_BYTES];

	if (value == NULL || value[0] == '\0')
		return true;
	if (is_whole ? store_is_key(value) : store_is_prefix(value)) {
		(void)strcpy(out, value);
		return true;
	}
	request_explain(r, "%s must be %s, not '%s'.", name,
			is_whole ? "the `next` of a page" :
				   "the begin of an id",
			params_shown(shown, value));
	return false;
}

static bool read_query(struct request *r)
{
	static const char *const names[] = { "limit", "after", "prefix",
					     "since", "until", NULL };
	struct list_query *q = &list_of(r)->query;
	uint64_t limit = LIMIT_DEFAULT;

	q->until_s = UINT32_MAX;
	if (!request_takes(r, names) ||
	    !read_number(r, "limit", 1, LIST_PAGE_MAX, &limit) ||
	    !read_number(r, "since", 0, UINT32_MAX, &q->since_s) ||
	    !read_number(r, "until", 0, UINT32_MAX, &q->until_s) ||
	    !read_id(r, "after", true, q->after) ||
	    !read_id(r, "prefix", false, q->prefix))
		return false;
	q->limit = (uint32_t)limit;
	return true;
}

static void add_image(struct json *j, const struct listed *l, const char *base)
{
	char url[URL_BASE_BYTES + sizeof(IMAGES_PATH) + STORE_ID_BYTES];
	char stored[TIME_CHARS];
	time_t s = (time_t)l->stored_s;
	struct tm utc;

	(void)snprintf(url, sizeof(url), "%s" IMAGES_PATH "/%s", base, l->id);
	(void)strftime(stored, sizeof(stored), "%Y-%m-%dT%H:%M:%SZ",
		       gmtime_r(&s, &utc));
	json_open_object(j, NULL);
	json_add_text(j, "id", l->id);
	json_add_text(j, "url", url);
	json_add_text(j, "stored", stored);
	json_close(j);
}

/* NULL: no memory. */
static char *print_page(struct request *r, const struct list_page *page)
{
	char base[URL_BASE_BYTES];
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	urls_base(base, r);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_open_array(&j, "images");
	for (uint32_t i = 0; i < page->count; i++)
		add_image(&j, &page->images[i], base);
	json_close(&j);
	if (page->next[0] != '\0')
		json_add_text(&j, "next", page->next);
	json_close(&j);
	(void)fputc('\n', out);
	return text_close(&text, out);
}

/* In the store stage. */
static void list_images(struct request *r)
{
	struct list_request *own = list_of(r);
	struct list_page *page = malloc(sizeof(*page));
	struct error why;

	r->problem = PROBLEM_OUT_OF_MEMORY;
	if (page == NULL)
		return;
	r->problem = images_store_problem(
		r,
		store_list_page(r->config->store, &own->query,
				own->picture.deadline_ns, page, &why),
		"listed", why.text);
	if (r->problem == PROBLEM_NONE)
		own->text = print_page(r, page);
	free(page);
}

static bool start_list(struct request *r)
{
	list_of(r)->picture.request = r;
	r->problem = r->config->store == NULL ? PROBLEM_NO_STORE :
		     read_query(r)            ? PROBLEM_NONE :
						PROBLEM_BAD_PARAMETER;
	if (r->problem != PROBLEM_NONE)
		return false;
	return store_is_remote(r->config->store) ?
		       images_begin_read(r, list_images) :
		       images_begin_work(r, list_images);
}

static bool reply_list(struct request *r)
{
	struct list_request *own = list_of(r);
	char *text = own->text;
	struct reply p;

	own->text = NULL;
	if (!reply_begin_text(r, &p, text))
		return false;
	reply_add_header(&p, "Cache-Control", "no-store");
	return reply_send(r, STATUS_OK, "application/json", &p);
}

static void release_list(struct request *r)
{
	free(list_of(r)->text);
}

const struct handler list_handler = {
	.state_bytes = sizeof(struct list_request),
	.start = start_list,
	.reply = reply_list,
	.release = release_list,
};
