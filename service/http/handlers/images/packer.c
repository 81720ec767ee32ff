/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/packer.h"

#include "service/decoder/decoder.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/log/log.h"
#include "service/wait.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TOLD_MAX = 256, /* new originals; more cause a walk */
	WALK_S = 3600,  /* between the beginnings of two walks */
	/* Originals that are looked at, and a pause after them. */
	BATCH = 32,
	BATCH_PAUSE_MS = 50,
	BUSY_MS = 200, /* between two looks whether an upload is there */
	/* A file takes whole blocks, so less does not matter. */
	SAVED_BYTES_MIN = 4096,
	MEMORY_SHARE = 4,
	/* While others need the cores, a process waits for this long. */
	PATIENCE = 3,
	PATIENCE_MS = 20000,
};

static const char kept_name[] = "kept.json";

struct packer {
	struct packer_config config;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool leaving, stopping;
	/* A ring of ids, of which the oldest is at told_first. */
	char told[TOLD_MAX][STORE_ID_BYTES];
	uint32_t told_first, told_count;
	bool has_more; /* there may be something to do for a walk */

	/* The walk; used by the thread alone. */
	uint64_t walk_ns; /* when the next one may begin */
	bool is_walking;
	uint32_t shard; /* of STORE_SHARDS */
	DIR *list;      /* of the shard; NULL: not opened */

	_Atomic uint64_t packed_count, saved_bytes, kept_count, orphan_count;
};

/* An original that is being packed. */
struct packing {
	struct packer *packer;
	char key[STORE_ID_BYTES];
	char *meta;
	struct stored_picture picture;
	uint8_t *jpeg, *packed, *restored;
	size_t jpeg_bytes, packed_bytes;
	struct charge charge;
	const char *kept; /* why it stays; NULL: it may be tried again */
};

static bool is_leaving(struct packer *p)
{
	bool leaving;

	(void)pthread_mutex_lock(&p->lock);
	leaving = p->leaving;
	(void)pthread_mutex_unlock(&p->lock);
	return leaving;
}

/* False: the packer leaves. */
static bool sleep_ms(struct packer *p, uint32_t ms)
{
	uint64_t end_ns = clock_after_ms(ms);
	bool leaving;

	(void)pthread_mutex_lock(&p->lock);
	while (!p->leaving && clock_now_ns() < end_ns)
		(void)wait_until(&p->changed, &p->lock, end_ns);
	leaving = p->leaving;
	(void)pthread_mutex_unlock(&p->lock);
	return !leaving;
}

/* A later walk has to look again. */
static void want_walk(struct packer *p)
{
	(void)pthread_mutex_lock(&p->lock);
	p->has_more = true;
	(void)pthread_mutex_unlock(&p->lock);
}

/* Wait until no upload is in the pipeline.  False: the packer leaves. */
static bool wait_for_idle(struct packer *p)
{
	while (pipeline_load(p->config.pipeline).in_flight_count > 0)
		if (!sleep_ms(p, BUSY_MS))
			return false;
	return !is_leaving(p);
}

/* Has the entry this file? */
static bool has_file(const struct store_image *image, const char *name,
		     uint64_t *bytes)
{
	struct store_part part;

	if (store_read(image, name, &part) != STORE_OK)
		return false;
	(void)close(part.fd);
	*bytes = part.bytes;
	return true;
}

/* Read the JPEG.  False: it is not as its text says; *kept is not set. */
static bool read_jpeg(struct packing *g, const struct store_image *image)
{
	char sha256[SHA256_TEXT_BYTES];
	struct store_part part;
	bool ok;

	if (store_read(image, g->picture.file, &part) != STORE_OK)
		return false;
	g->jpeg_bytes = (size_t)part.bytes;
	g->jpeg = malloc(g->jpeg_bytes);
	ok = g->jpeg != NULL && file_read_all(part.fd, g->jpeg, g->jpeg_bytes);
	(void)close(part.fd);
	if (!ok)
		return false;
	sha256_print(sha256, g->jpeg, g->jpeg_bytes);
	return strcmp(sha256, g->picture.sha256) == 0;
}

/* Charge memory for all that packing takes.  False: there is none, or never. */
static bool charge(struct packing *g, const struct img_repack_estimate *e)
{
	struct budget *budget = pipeline_budget(g->packer->config.pipeline);
	/* Three files here, and two in the process. */
	uint64_t bytes = e->memory_bytes + 5 * (uint64_t)g->jpeg_bytes;

	g->charge.budget = budget;
	if (bytes > budget->limit_bytes / MEMORY_SHARE) {
		g->kept = "it takes more memory than packing may use";
		return false;
	}
	return budget_try(&g->charge, bytes);
}

/*
 * Run a process.  Not IMG_OK: g->kept says why the JPEG stays, unless the
 * process had too little of a core, or there is none.
 */
static enum img_err run(struct packing *g, struct decoder_repack *work,
			size_t *count)
{
	uint64_t ms = work->cpu_ns / NS_PER_MS * PATIENCE + PATIENCE_MS;
	enum img_err err;

	work->is_idle = true;
	work->end_ns = clock_after_ms((uint32_t)min_u64(ms, UINT32_MAX));
	err = decoder_repack(g->packer->config.repacker, work, count);
	if (err == IMG_ERR_NO_DECODER || is_leaving(g->packer) ||
	    (err == IMG_ERR_LOST && clock_now_ns() >= work->end_ns))
		return err;
	if (err == IMG_ERR_TOO_MANY_BYTES)
		g->kept = "it would not be smaller";
	else if (err == IMG_ERR_LOST)
		g->kept = "the process ended";
	else if (err != IMG_OK)
		g->kept = "libjxl does not take it";
	return err;
}

static bool pack(struct packing *g, const struct img_repack_estimate *e)
{
	struct decoder_repack work = {
		.what = IMG_PACK,
		.bytes = g->jpeg,
		.count = g->jpeg_bytes,
		.room = g->jpeg_bytes - SAVED_BYTES_MIN,
		.cpu_ns = e->cpu_ns_max,
	};

	g->packed = work.to = malloc(work.room);
	return g->packed != NULL && run(g, &work, &g->packed_bytes) == IMG_OK;
}

/* Is the JPEG what is restored of the packed file? */
static bool comes_back(struct packing *g)
{
	struct img_repack_estimate e;
	struct decoder_repack work = {
		.what = IMG_RESTORE,
		.bytes = g->packed,
		.count = g->packed_bytes,
		.room = g->jpeg_bytes,
	};
	size_t count;

	g->restored = work.to = malloc(g->jpeg_bytes);
	if (g->restored == NULL)
		return false;
	g->kept = "it is not restored as it was";
	if (!img_estimate_repack(&e, IMG_RESTORE, work.bytes, work.count))
		return false;
	g->kept = NULL;
	work.cpu_ns = e.cpu_ns_max;
	if (run(g, &work, &count) != IMG_OK)
		return false;
	if (count == g->jpeg_bytes && memcmp(g->jpeg, g->restored, count) == 0)
		return true;
	g->kept = "it is not restored as it was";
	return false;
}

/* Put the packed file in the JPEG's place. */
static void replace(struct packing *g)
{
	struct packer *p = g->packer;
	char *meta = original_meta_packed(g->meta, g->packed, g->packed_bytes);
	struct store_file files[] = {
		{ "meta.json", meta, 0 },
		{ PACKED_NAME, g->packed, g->packed_bytes },
	};
	struct error why;

	if (meta == NULL)
		return;
	files[0].count = strlen(meta);
	switch (store_replace(p->config.store, g->key, files, ARRAY_SIZE(files),
			      &why)) {
	case STORE_OK:
		atomic_fetch_add(&p->packed_count, 1);
		atomic_fetch_add(&p->saved_bytes,
				 g->jpeg_bytes - g->packed_bytes);
		break;
	case STORE_NOT_FOUND: /* deleted meanwhile */
		break;
	default:
		want_walk(p);
	}
	free(meta);
}

/* Note why the JPEG stays. */
static void keep(struct packing *g)
{
	struct packer *p = g->packer;
	struct store_file file = { .name = kept_name };
	struct text text;
	struct json j;
	struct error why;
	FILE *out = text_open(&text);
	char *note;

	if (out == NULL)
		return;
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "why", g->kept);
	json_close(&j);
	(void)fputc('\n', out);
	note = text_close(&text, out);
	if (note == NULL)
		return;
	file.bytes = note;
	file.count = strlen(note);
	if (store_extend(p->config.store, g->key, "", &file, 1, 0, &why) ==
	    STORE_OK)
		atomic_fetch_add(&p->kept_count, 1);
	free(note);
}

/* With the JPEG in memory. */
static void pack_jpeg(struct packing *g)
{
	struct img_repack_estimate e;

	if (!img_estimate_repack(&e, IMG_PACK, g->jpeg, g->jpeg_bytes))
		g->kept = "its header cannot be read";
	else if (charge(g, &e) && pack(g, &e) && comes_back(g)) {
		replace(g);
		return;
	}
	if (g->kept != NULL)
		keep(g);
	else
		want_walk(g->packer);
}

/* Is the entry a JPEG that is to be packed? */
static bool is_to_pack(struct packing *g, const struct store_image *image)
{
	uint64_t bytes;

	return g->packer->config.repacker != NULL &&
	       image_meta_find(g->meta, ORIGINAL_NAME, &g->picture) &&
	       strcmp(g->picture.media_type, "image/jpeg") == 0 &&
	       g->picture.packed_bytes == 0 &&
	       !has_file(image, kept_name, &bytes) &&
	       has_file(image, g->picture.file, &bytes) &&
	       bytes > 2 * SAVED_BYTES_MIN && bytes <= PACKED_JPEG_BYTES_MAX;
}

static void release(struct packing *g)
{
	budget_lower(&g->charge, 0);
	free(g->jpeg);
	free(g->packed);
	free(g->restored);
	free(g->meta);
}

/* An original that has a text. */
static void look_after(struct packing *g, const struct store_image *image)
{
	struct packer *p = g->packer;
	char id[STORE_ID_BYTES];
	bool is_young = false;

	if (original_read_id(id, g->meta) &&
	    store_drop_orphan(p->config.store, id, ORPHAN_S, &is_young) ==
		    STORE_OK) {
		log_message(p->config.log, LOG_LEVEL_INFO,
			    "originals: that of image %s was removed: there is "
			    "no such image",
			    id);
		atomic_fetch_add(&p->orphan_count, 1);
		return;
	}
	if (is_young)
		want_walk(p);
	if (is_to_pack(g, image) && wait_for_idle(p) && read_jpeg(g, image))
		pack_jpeg(g);
}

static void look_at(struct packer *p, const char *key)
{
	struct packing g = { .packer = p };
	struct store_image image;
	struct error why;

	(void)memcpy(g.key, key, STORE_ID_BYTES);
	if (store_find(p->config.store, key, false, 0, &image, &why) !=
	    STORE_OK)
		return;
	g.meta = original_read_meta(&image, key);
	if (g.meta != NULL)
		look_after(&g, &image);
	store_close_image(&image);
	release(&g);
}

/* --- Which originals --- */

/* The next one of the walk; NULL: the walk is over. */
static const char *next_of_walk(struct packer *p)
{
	const char *name;

	for (; p->shard < STORE_SHARDS; p->shard++) {
		if (p->list == NULL)
			p->list =
				store_list_originals(p->config.store, p->shard);
		while (p->list != NULL && (name = folder_next(p->list)) != NULL)
			if (store_is_key(name) && store_is_original(name))
				return name;
		if (p->list != NULL)
			(void)closedir(p->list);
		p->list = NULL;
	}
	p->is_walking = false;
	return NULL;
}

/* Caller holds the lock. */
static bool begins_walk(struct packer *p)
{
	uint64_t now_ns = clock_now_ns();

	if (p->is_walking || !p->has_more || now_ns < p->walk_ns)
		return p->is_walking;
	p->has_more = false;
	p->is_walking = true;
	p->shard = 0;
	p->walk_ns = now_ns + WALK_S * NS_PER_S;
	return true;
}

/* Go on with the walk, and then pause. */
static void walk(struct packer *p)
{
	const char *key = "";

	for (int i = 0; i < BATCH && !is_leaving(p) && key != NULL; i++) {
		key = next_of_walk(p);
		if (key != NULL)
			look_at(p, key);
	}
	if (key != NULL)
		(void)sleep_ms(p, BATCH_PAUSE_MS);
}

/* Caller holds the lock.  False: there is none. */
static bool take_told(struct packer *p, char key[STORE_ID_BYTES])
{
	if (p->told_count == 0)
		return false;
	store_original_key(key, p->told[p->told_first]);
	p->told_first = (p->told_first + 1) % TOLD_MAX;
	p->told_count--;
	return true;
}

static void *run_packer(void *arg)
{
	struct packer *p = arg;
	char key[STORE_ID_BYTES];

	(void)pthread_setname_np(pthread_self(), "packer");
	(void)pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		bool is_told = !p->leaving && take_told(p, key);

		if (!is_told && (p->leaving || !begins_walk(p))) {
			(void)wait_until(&p->changed, &p->lock,
					 p->has_more && !p->leaving ?
						 p->walk_ns :
						 WAIT_NEVER_NS);
			continue;
		}
		(void)pthread_mutex_unlock(&p->lock);
		if (is_told)
			look_at(p, key);
		else
			walk(p);
		(void)pthread_mutex_lock(&p->lock);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void packer_free(struct packer *p)
{
	if (p->list != NULL)
		(void)closedir(p->list);
	(void)pthread_mutex_destroy(&p->lock);
	(void)pthread_cond_destroy(&p->changed);
	free(p);
}

struct packer *packer_start(const struct packer_config *config)
{
	struct packer *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->config = *config;
	p->has_more = true;
	(void)pthread_mutex_init(&p->lock, NULL);
	wait_init(&p->changed);
	if (pthread_create(&p->thread, NULL, run_packer, p) == 0)
		return p;
	packer_free(p);
	return NULL;
}

void packer_tell(struct packer *p, const char *id)
{
	uint32_t at;

	if (p == NULL)
		return;
	(void)pthread_mutex_lock(&p->lock);
	if (p->told_count < TOLD_MAX) {
		at = (p->told_first + p->told_count++) % TOLD_MAX;
		(void)memcpy(p->told[at], id, STORE_ID_BYTES);
	} else {
		p->has_more = true;
	}
	(void)pthread_cond_signal(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
}

void packer_leave(struct packer *p)
{
	if (p == NULL)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->leaving = true;
	(void)pthread_cond_signal(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
}

void packer_stop(struct packer *p)
{
	if (p == NULL)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->leaving = p->stopping = true;
	(void)pthread_cond_signal(&p->changed);
	(void)pthread_mutex_unlock(&p->lock);
	(void)pthread_join(p->thread, NULL);
	packer_free(p);
}

void packer_read(const struct packer *p, struct packer_stats *out)
{
	*out = (struct packer_stats){
		.packed_count = atomic_load(&p->packed_count),
		.saved_bytes = atomic_load(&p->saved_bytes),
		.kept_count = atomic_load(&p->kept_count),
		.orphan_count = atomic_load(&p->orphan_count),
	};
}
