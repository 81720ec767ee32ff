/* SPDX-License-Identifier: MIT */
/*
 * Promise: an upload of an earlier run that is refused for lack of memory is
 * tried again, and nothing is written to the disk meanwhile.  That a try begins
 * is noted once, before the pipeline works on it.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/images/spooler.h"
#include "service/log/log.h"
#include "service/test/pipeline/jobs.h"
#include "service/test/store/store_fixture.h"

#include <fcntl.h>

enum { REFUSALS = 4, ROOM_BYTES = 1 << 20, MEMORY_BYTES = 256 << 20 };

static _Atomic int refused_count, taken_count, noted_count;

bool __real_pipeline_submit(struct pipeline *p, struct upload *u);
bool __wrap_pipeline_submit(struct pipeline *p, struct upload *u);
enum store_answer __real_spool_set_attempts(struct spool *s, const char *id,
					    uint32_t count);
enum store_answer __wrap_spool_set_attempts(struct spool *s, const char *id,
					    uint32_t count);

bool __wrap_pipeline_submit(struct pipeline *p, struct upload *u)
{
	bool is_taken = __real_pipeline_submit(p, u);

	atomic_fetch_add(is_taken ? &taken_count : &refused_count, 1);
	return is_taken;
}

enum store_answer __wrap_spool_set_attempts(struct spool *s, const char *id,
					    uint32_t count)
{
	CHECK_NUMBER(count, ==, 1);
	CHECK_NUMBER(atomic_load(&taken_count), ==, 0);
	atomic_fetch_add(&noted_count, 1);
	return __real_spool_set_attempts(s, id, count);
}

/* The photo, as if an earlier run had accepted it. */
static void spool_photo(char id[STORE_ID_BYTES])
{
	struct variant v = { .name = "" };
	struct upload u = { .jpeg = photo,
			    .jpeg_bytes = photo_bytes,
			    .variants = &v,
			    .variant_count = 1 };
	struct store *s = open_store(0);
	char request[IMAGE_REQUEST_BYTES];
	struct spool_hold hold;
	struct params params;
	uint32_t version;

	params_init(&params);
	v.transform = params.transform;
	version = image_request_print(request, &u, "");
	image_id(hold.id, version, request, photo, photo_bytes);
	CHECK_NUMBER(
		spool_put(store_spool(s), &hold, request, photo, photo_bytes),
		==, STORE_OK);
	(void)memcpy(id, hold.id, STORE_ID_BYTES);
	store_close(s);
}

static void wait_for(struct spooler *s, const _Atomic int *count, int least)
{
	for (int i = 0; atomic_load(count) < least || !spooler_is_idle(s);
	     i++) {
		CHECK_NUMBER(i, <, 60000);
		(void)usleep(1000);
	}
}

static void test_no_memory_no_note(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct pipeline_config c = job_config(policy_find("cohort"), cores, 4);
	const struct log_config quiet = { .fd = open("/dev/null", O_WRONLY) };
	struct log *log = log_start(&quiet);
	struct charge others = { .bytes = 0 };
	_Atomic uint64_t number = 0;
	char id[STORE_ID_BYTES];
	struct spooler *spooler;
	struct pipeline *p;
	struct store *s;

	spool_photo(id);
	c.memory_bytes_max = MEMORY_BYTES;
	c.store_threads = 1;
	p = start_configured(&c);
	/* Room for the file, but not for its picture. */
	others.budget = pipeline_budget(p);
	CHECK_NUMBER(
		budget_charge(&others, others.budget->limit_bytes - ROOM_BYTES),
		==, BUDGET_OK);
	s = open_store(0);
	spooler = spooler_start(&(struct spooler_config){
		.pipeline = p,
		.store = s,
		.spool = store_spool(s),
		.log = log,
		.number = &number,
	});
	CHECK(spooler != NULL);
	wait_for(spooler, &refused_count, REFUSALS);
	CHECK_NUMBER(atomic_load(&noted_count), ==, 0);
	CHECK(spool_has(store_spool(s), id));
	budget_lower(&others, 0);
	wait_for(spooler, &taken_count, 1);
	CHECK_NUMBER(atomic_load(&noted_count), ==, 1);
	CHECK(!spool_has(store_spool(s), id));
	CHECK(!is_absent(s, id));
	spooler_leave(spooler);
	pipeline_stop(p);
	spooler_stop(spooler);
	pipeline_free(p);
	store_close(s);
	log_stop(log, 0);
	cores_free(cores);
}

int main(int argc, char **argv)
{
	static void (*const tests[])(void) = { test_no_memory_no_note };

	CHECK_NUMBER(argc, ==, 2);
	read_photo(argv[1]);
	run_tests(tests, ARRAY_SIZE(tests));
	free(photo);
	return 0;
}
