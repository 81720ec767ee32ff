/* SPDX-License-Identifier: MIT */
/* What all kinds of stores have in common; checks of files that are read. */
#include "service/store/store.h"

#include "service/store/kind.h"

#include "base/clock.h"
#include "base/random.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

/*
 * Reading a file to its end only to check it costs as much as sending it.  So
 * the store remembers which files were intact, and those properties of them
 * that change when the file changes.  It does so only for a limited time,
 * because a disk can lose data.
 */
enum {
	SETS = 4096,
	WAYS = 4, /* files of a set */
	READ_BYTES = 64 << 10,
	KNOWN_BYTES = 8, /* bytes of a SHA-256 that are remembered */
	LOOK_MS = 1000,
	HANGING_MS = 5000, /* of a look, then the disk hangs */
	FAILED_MS = 30000, /* how long the failure of a put is remembered */
	TELL_MS = 1000,    /* between two lines about failures */
	ATTEMPTS_MAX = 20, /* of a change, beside those of other servers */
	PAUSE_MS = 10,     /* the longest between the first two */
};

#define REMEMBERED_NS (3600 * NS_PER_S)

struct known_file {
	uint64_t inode, bytes;
	uint64_t offset; /* of the part that was compared */
	/* Ctime: the system sets it, programs cannot. */
	struct timespec changed;
	uint8_t sha256[KNOWN_BYTES];
	uint64_t until_ns; /* valid until then; 0: no file */
};

struct checks {
	pthread_mutex_t lock;
	struct known_file files[SETS][WAYS];
};

bool store_init(struct store *s, const struct store_kind *kind,
		struct spool *spool)
{
	s->kind = kind;
	s->spool = spool;
	(void)pthread_mutex_init(&s->health.lock, NULL);
	s->checks = calloc(1, sizeof(*s->checks));
	if (s->checks == NULL)
		return false;
	(void)pthread_mutex_init(&s->checks->lock, NULL);
	for (uint32_t i = 0; i < ORIGINAL_LOCKS; i++)
		(void)pthread_mutex_init(&s->original_locks[i], NULL);
	return true;
}

void store_close(struct store *s)
{
	if (s == NULL)
		return;
	if (s->checks != NULL)
		(void)pthread_mutex_destroy(&s->checks->lock);
	for (uint32_t i = 0; s->checks != NULL && i < ORIGINAL_LOCKS; i++)
		(void)pthread_mutex_destroy(&s->original_locks[i]);
	free(s->checks);
	(void)pthread_mutex_destroy(&s->health.lock);
	s->kind->free(s);
}

bool store_start(struct store *s, store_report_fn *report, void *arg)
{
	s->report_arg = arg;
	s->report = report;
	return s->kind->start == NULL || s->kind->start(s);
}

static void tell(struct store *s, bool is_wrong, const char *text)
{
	if (s->report != NULL)
		s->report(s->report_arg, is_wrong, text);
}

/* Is it time for another line?  *count: the failures that had none. */
static bool may_tell(struct store_health *h, uint64_t *count)
{
	uint64_t now_ns = clock_now_ns();
	bool may;

	(void)pthread_mutex_lock(&h->lock);
	may = h->told_ns == 0 || now_ns - h->told_ns >= TELL_MS * NS_PER_MS;
	*count = h->untold_count;
	h->untold_count = may ? 0 : h->untold_count + 1;
	if (may)
		h->told_ns = now_ns;
	(void)pthread_mutex_unlock(&h->lock);
	return may;
}

void store_tell_failure(struct store *s, const char *format, ...)
{
	int saved = errno;
	struct error what;
	char text[sizeof(what.text) + 64];
	uint64_t count;
	va_list values;

	va_start(values, format);
	(void)vsnprintf(what.text, sizeof(what.text), format, values);
	va_end(values);
	if (may_tell(&s->health, &count)) {
		(void)snprintf(text, sizeof(text), "store: %s", what.text);
		if (count > 0)
			(void)snprintf(text, sizeof(text),
				       "store: %s; %" PRIu64
				       " failures before are not shown",
				       what.text, count);
		tell(s, true, text);
	}
	errno = saved;
}

/*
 * A store_put() has ended.  What it shows is not forgotten at once, because
 * some reasons, such as a damaged disk, are found only by writing.
 */
static void learn_put(struct store *s, enum store_answer answer, bool is_same,
		      const struct error *why)
{
	struct store_health *h = &s->health;
	bool is_bad = answer == STORE_FULL || answer == STORE_FAILED;

	/* An image that was there already shows nothing: none was written. */
	if (!is_bad && (answer != STORE_OK || is_same))
		return;
	(void)pthread_mutex_lock(&h->lock);
	h->failed_ns = is_bad ? clock_now_ns() : 0;
	h->failed_answer = answer;
	if (is_bad)
		h->failed_why = *why;
	(void)pthread_mutex_unlock(&h->lock);
}

/* There may be room again. */
static void forget_full(struct store_health *h)
{
	(void)pthread_mutex_lock(&h->lock);
	if (h->failed_answer == STORE_FULL)
		h->failed_ns = 0;
	(void)pthread_mutex_unlock(&h->lock);
}

/*
 * Caller holds the lock.  A look that began at `began_ns` has found `found`.
 * When a reason that looking has found is gone, a failure that it explains is
 * forgotten.
 */
static void publish_look(struct store_health *h, enum store_answer found,
			 const struct error *why, uint64_t began_ns)
{
	if (found == STORE_OK && h->is_explained && h->failed_ns <= began_ns)
		h->failed_ns = 0;
	h->is_explained = found != STORE_OK;
	h->looked_ns = began_ns;
	h->answer = found;
	h->why = *why;
	if (found != STORE_OK || h->failed_ns == 0 ||
	    (began_ns >= h->failed_ns &&
	     began_ns - h->failed_ns >= FAILED_MS * NS_PER_MS))
		return;
	h->answer = h->failed_answer;
	h->why = h->failed_why;
}

/*
 * Caller holds the lock, which is released meanwhile: a disk that hangs stops
 * only the thread that looks.
 */
static void look(struct store *s, uint64_t now_ns)
{
	struct store_health *h = &s->health;
	enum store_answer found;
	struct error why = { .text = "" };

	h->looking_ns = now_ns;
	(void)pthread_mutex_unlock(&h->lock);
	found = s->kind->look(s, &why);
	(void)pthread_mutex_lock(&h->lock);
	h->looking_ns = 0;
	publish_look(h, found, &why, now_ns);
}

static bool must_look(const struct store *s, uint64_t now_ns)
{
	const struct store_health *h = &s->health;

	if (s->kind->is_remote)
		return true;
	return h->looking_ns == 0 &&
	       (h->looked_ns == 0 || h->failed_ns > h->looked_ns ||
		now_ns - h->looked_ns >= LOOK_MS * NS_PER_MS);
}

/* Caller holds the lock.  Another thread looks, for longer than it should? */
static void notice_hanging(struct store_health *h, uint64_t now_ns)
{
	if (h->looking_ns == 0 || now_ns <= h->looking_ns ||
	    now_ns - h->looking_ns < HANGING_MS * NS_PER_MS)
		return;
	h->answer = STORE_FAILED;
	error_set(&h->why, "its disk does not answer");
}

enum store_answer store_look(struct store *s, struct error *why)
{
	struct store_health *h = &s->health;
	uint64_t now_ns = clock_now_ns();
	enum store_answer answer;
	bool was_good, is_news;
	char text[sizeof(why->text) + 64];

	(void)pthread_mutex_lock(&h->lock);
	if (must_look(s, now_ns))
		look(s, now_ns);
	else
		notice_hanging(h, now_ns);
	answer = h->answer;
	*why = h->why;
	was_good = !h->is_told_bad;
	h->is_told_bad = answer != STORE_OK;
	is_news = !s->kind->is_remote && was_good == h->is_told_bad;
	(void)pthread_mutex_unlock(&h->lock);
	if (!is_news)
		return answer;
	(void)snprintf(text, sizeof(text), "store: images cannot be stored: %s",
		       why->text);
	tell(s, answer != STORE_OK,
	     answer != STORE_OK ? text : "store: images can be stored again");
	return answer;
}

struct spool *store_spool(struct store *s)
{
	return s->spool;
}

bool store_is_remote(const struct store *s)
{
	return s->kind->is_remote;
}

/*
 * Count `answer`.  If it is a failure without a recorded reason, record errno.
 */
static enum store_answer store_end(struct store *s, enum store_answer answer,
				   struct error *why)
{
	int saved = errno;

	switch (answer) {
	case STORE_FULL:
		atomic_fetch_add(&s->full_count, 1);
		break;
	case STORE_FAILED:
		atomic_fetch_add(&s->failed_count, 1);
		break;
	case STORE_UNAVAILABLE:
		atomic_fetch_add(&s->unavailable_count, 1);
		break;
	default:
		return answer;
	}
	if (why->text[0] == '\0')
		error_set(why, "%s",
			  answer == STORE_FULL && saved == 0 ?
				  "the quota of the store is reached" :
				  strerror(saved));
	errno = saved;
	return answer;
}

bool store_try_again(uint32_t attempt, uint64_t deadline_ns)
{
	uint64_t random = clock_now_ns(), pause_ns;

	if (attempt >= ATTEMPTS_MAX)
		return false;
	pause_ns = random_next(&random) %
		   ((uint64_t)PAUSE_MS * NS_PER_MS << min_u32(attempt, 3));
	if (deadline_ns > 0 && clock_now_ns() + pause_ns >= deadline_ns)
		return false;
	(void)nanosleep(&(struct timespec){ .tv_nsec = (long)pause_ns }, NULL);
	return true;
}

/* What is to be replaced: *version as for put().  STORE_OK: go on. */
static enum store_answer find_version(struct store *s, const char *id,
				      const struct store_file *files,
				      uint32_t file_count, uint64_t deadline_ns,
				      char version[STORE_VERSION_BYTES],
				      const char **condition, bool *is_same,
				      struct error *why)
{
	struct store_image image;
	enum store_answer answer =
		s->kind->find(s, id, true, deadline_ns, &image, why);

	*condition = answer == STORE_NOT_FOUND ? "" : NULL;
	if (answer == STORE_NOT_FOUND || answer == STORE_DAMAGED)
		return STORE_OK;
	if (answer != STORE_OK)
		return answer;
	*is_same = package_has(&image.index, files, file_count);
	(void)memcpy(version, image.version, STORE_VERSION_BYTES);
	if (version[0] != '\0')
		*condition = version;
	store_close_image(&image);
	return STORE_OK;
}

/*
 * The image may have files of store_extend(), too: then it stays.  It is not
 * replaced if another server adds some in between.
 */
static enum store_answer put_beside_others(struct store *s, const char *id,
					   const struct store_file *files,
					   uint32_t file_count,
					   uint64_t deadline_ns, bool *is_same,
					   struct error *why)
{
	char version[STORE_VERSION_BYTES];
	const char *condition;
	enum store_answer answer;
	uint32_t attempt = 0;

	do {
		answer = find_version(s, id, files, file_count, deadline_ns,
				      version, &condition, is_same, why);
		if (answer == STORE_OK && !*is_same)
			answer = s->kind->put(s, id, files, file_count,
					      condition, deadline_ns, is_same,
					      why);
	} while (answer == STORE_CHANGED &&
		 store_try_again(attempt++, deadline_ns));
	if (answer != STORE_CHANGED)
		return answer;
	error_set(why, "other servers change it all the time");
	return STORE_UNAVAILABLE;
}

/* A folder keeps files of store_extend() itself. */
static bool may_have_more(const struct store *s, const char *id)
{
	return s->kind->extend == NULL && s->keeps_originals &&
	       !store_is_original(id);
}

enum store_answer store_put(struct store *s, const char *id,
			    const struct store_file *files, uint32_t file_count,
			    uint64_t deadline_ns, struct error *why)
{
	bool is_same = false;
	enum store_answer answer;

	why->text[0] = '\0';
	if (may_have_more(s, id))
		answer = put_beside_others(s, id, files, file_count,
					   deadline_ns, &is_same, why);
	else
		answer = s->kind->put(s, id, files, file_count, NULL,
				      deadline_ns, &is_same, why);
	if (answer == STORE_OK && !store_is_original(id))
		atomic_fetch_add(is_same ? &s->same_count : &s->put_count, 1);
	(void)store_end(s, answer, why);
	learn_put(s, answer, is_same, why);
	/* A folder has told which file it was. */
	if (s->kind->is_remote &&
	    (answer == STORE_FULL || answer == STORE_FAILED))
		store_tell_failure(s, "image %s could not be stored: %s", id,
				   why->text);
	return answer;
}

bool store_keep_originals(struct store *s, uint64_t quota_bytes,
			  struct error *why)
{
	s->keeps_originals = true;
	return s->kind->keep_originals == NULL ||
	       s->kind->keep_originals(s, quota_bytes) ||
	       error_fail(why, "its folder of originals: %s", strerror(errno));
}

bool store_keeps_originals(const struct store *s)
{
	return s->keeps_originals;
}

bool store_has_originals(const struct store *s)
{
	DIR *list;

	if (s->keeps_originals || s->kind->list_originals == NULL)
		return s->keeps_originals;
	list = s->kind->list_originals((struct store *)s, 0);
	if (list != NULL)
		(void)closedir(list);
	return list != NULL;
}

/* NULL: none is needed. */
static pthread_mutex_t *original_lock(struct store *s, const char *id)
{
	char digits[] = { id[0], id[1], '\0' };

	return s->keeps_originals && s->kind->list_originals != NULL ?
		       &s->original_locks[strtoul(digits, NULL, 16)] :
		       NULL;
}

void store_lock_original(struct store *s, const char *id)
{
	pthread_mutex_t *lock = original_lock(s, id);

	if (lock != NULL)
		(void)pthread_mutex_lock(lock);
}

/* Does not change errno. */
void store_unlock_original(struct store *s, const char *id)
{
	pthread_mutex_t *lock = original_lock(s, id);

	if (lock != NULL)
		(void)pthread_mutex_unlock(lock);
}

DIR *store_list_originals(struct store *s, uint32_t shard)
{
	return s->kind->list_originals(s, shard);
}

/* Caller holds the lock of the original. */
static enum store_answer drop_orphan(struct store *s, const char *id,
				     const char *key, uint64_t age_s,
				     bool *is_young)
{
	struct store_image image;
	struct error why;
	enum store_answer answer;

	if (s->spool != NULL && spool_has(s->spool, id))
		return STORE_NOT_FOUND;
	answer = store_find(s, id, false, 0, &image, &why);
	if (answer == STORE_OK)
		store_close_image(&image);
	if (answer != STORE_NOT_FOUND)
		return answer == STORE_OK ? STORE_NOT_FOUND : answer;
	answer = store_find(s, key, false, 0, &image, &why);
	if (answer != STORE_OK)
		return answer;
	*is_young = entry_age_s(image.fd) < age_s;
	store_close_image(&image);
	return *is_young ? STORE_NOT_FOUND : store_delete(s, key, 0, &why);
}

enum store_answer store_drop_orphan(struct store *s, const char *id,
				    uint64_t age_s, bool *is_young)
{
	char key[STORE_ID_BYTES];
	enum store_answer answer;

	*is_young = false;
	store_original_key(key, id);
	store_lock_original(s, id);
	answer = drop_orphan(s, id, key, age_s, is_young);
	store_unlock_original(s, id);
	return answer;
}

/* As store_end(), but only what the store did not answer is counted. */
static enum store_answer end_read(struct store *s, enum store_answer answer,
				  struct error *why)
{
	if (answer == STORE_UNAVAILABLE)
		return store_end(s, answer, why);
	if (answer == STORE_FAILED && why->text[0] == '\0')
		error_set(why, "%s", strerror(errno));
	return answer;
}

enum store_answer store_find(struct store *s, const char *id, bool is_fresh,
			     uint64_t deadline_ns, struct store_image *image,
			     struct error *why)
{
	enum store_answer answer;

	why->text[0] = '\0';
	answer = s->kind->find(s, id, is_fresh, deadline_ns, image, why);
	return end_read(s, answer, why);
}

enum store_answer store_fetch(struct store *s, const char *id, uint64_t from,
			      uint64_t bytes, bool is_fresh,
			      uint64_t deadline_ns, struct store_part *part,
			      struct error *why)
{
	enum store_answer answer;

	why->text[0] = '\0';
	answer = s->kind->fetch(s, id, from, bytes, is_fresh, deadline_ns, part,
				why);
	return end_read(s, answer, why);
}

enum store_answer store_list_page(struct store *s, const struct list_query *q,
				  uint64_t deadline_ns, struct list_page *out,
				  struct error *why)
{
	why->text[0] = '\0';
	return end_read(s, s->kind->list(s, q, deadline_ns, out, why), why);
}

void store_close_image(struct store_image *image)
{
	(void)close(image->fd);
}

enum store_answer store_read(const struct store_image *image, const char *name,
			     struct store_part *part)
{
	const struct package_file *f;

	*part = (struct store_part){ .is_fetched = image->is_package &&
						   !image->is_copy };
	if (!image->is_package)
		return entry_read(image->fd, name, &part->fd, &part->bytes);
	f = package_find(&image->index, name);
	if (f == NULL)
		return STORE_NOT_FOUND;
	part->offset = f->offset;
	part->bytes = f->bytes;
	part->fd = -1;
	if (f->offset + f->bytes > image->here_bytes)
		return STORE_OK;
	part->fd = dup(image->fd); /* the sandbox forbids F_DUPFD_CLOEXEC */
	return part->fd >= 0 ? STORE_OK : STORE_FAILED;
}

/* The files of an image, read into memory. */
struct contents {
	struct store_file files[PACKAGE_FILES_MAX];
	void *bytes[PACKAGE_FILES_MAX]; /* owned */
	uint32_t count;
};

static void free_contents(struct contents *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		free(c->bytes[i]);
}

/* False: the text is not a SHA-256 in hexadecimal digits. */
static bool read_sha256(uint8_t out[SHA256_DIGEST_SIZE], const char *text)
{
	struct base16_decode_ctx ctx;
	size_t bytes = SHA256_DIGEST_SIZE;

	base16_decode_init(&ctx);
	return store_is_sha256(text) &&
	       base16_decode_update(&ctx, &bytes, out, STORE_ID_BYTES - 1,
				    text) &&
	       base16_decode_final(&ctx);
}

static bool has_sha256(const void *bytes, size_t count, const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE], found[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, count, bytes);
	sha256_digest(&ctx, sizeof(found), found);
	return read_sha256(expected, sha256) &&
	       memcmp(expected, found, sizeof(found)) == 0;
}

/*
 * Read a file of an image that is a package.  STORE_DAMAGED also if it is that
 * of another package, which was put since the index was read.
 */
static enum store_answer read_file(struct store *s, const char *id,
				   const struct store_image *image,
				   const struct package_file *f, void **bytes,
				   uint64_t deadline_ns, struct error *why)
{
	struct store_part part;
	enum store_answer answer = store_read(image, f->name, &part);
	ssize_t count;

	*bytes = NULL;
	if (answer == STORE_OK && part.fd < 0)
		answer = store_fetch(s, id, part.offset, part.bytes, true,
				     deadline_ns, &part, why);
	if (answer != STORE_OK)
		return answer;
	*bytes = malloc((size_t)part.bytes);
	count = *bytes == NULL ? -1 :
				 pread(part.fd, *bytes, (size_t)part.bytes,
				       (off_t)part.offset);
	(void)close(part.fd);
	if (count != (ssize_t)part.bytes)
		return STORE_FAILED;
	return has_sha256(*bytes, (size_t)count, f->sha256) ? STORE_OK :
							      STORE_DAMAGED;
}

/* False: there are too many. */
static bool add_file(struct contents *c, const struct store_file *f)
{
	uint32_t i = 0;

	while (i < c->count && strcmp(c->files[i].name, f->name) != 0)
		i++;
	if (i == PACKAGE_FILES_MAX)
		return false;
	c->files[i] = *f;
	if (i == c->count)
		c->bytes[c->count++] = NULL;
	return true;
}

static enum store_answer read_contents(struct store *s, const char *id,
				       struct store_image *image,
				       struct contents *c, uint64_t deadline_ns,
				       struct error *why)
{
	enum store_answer answer = STORE_OK;

	for (uint32_t i = 0; i < image->index.file_count; i++) {
		const struct package_file *f = &image->index.files[i];

		answer = read_file(s, id, image, f, &c->bytes[i], deadline_ns,
				   why);
		c->files[i] = (struct store_file){ f->name, c->bytes[i],
						   (size_t)f->bytes };
		c->count = i + 1;
		if (answer != STORE_OK)
			break;
	}
	return answer;
}

/* Is the image another one than when it was opened? */
static bool is_replaced(struct store *s, const char *id,
			const struct store_image *image, uint64_t deadline_ns)
{
	struct store_image now;
	struct error why;
	bool is;

	if (store_find(s, id, true, deadline_ns, &now, &why) != STORE_OK)
		return false;
	is = strcmp(now.version, image->version) != 0;
	store_close_image(&now);
	return is;
}

/* Read all of the image, and put it again with more files. */
static enum store_answer put_again(struct store *s, const char *id,
				   const char *version,
				   const struct store_file *files,
				   uint32_t file_count, uint64_t deadline_ns,
				   struct error *why)
{
	struct store_image image;
	struct contents c = { .count = 0 };
	enum store_answer answer =
		store_find(s, id, true, deadline_ns, &image, why);
	bool is_same;

	if (answer != STORE_OK)
		return answer;
	answer = version[0] != '\0' && strcmp(version, image.version) != 0 ?
			 STORE_CHANGED :
			 read_contents(s, id, &image, &c, deadline_ns, why);
	if (answer == STORE_DAMAGED && is_replaced(s, id, &image, deadline_ns))
		answer = STORE_CHANGED;
	for (uint32_t i = 0; answer == STORE_OK && i < file_count; i++)
		if (!add_file(&c, &files[i])) {
			errno = E2BIG;
			answer = STORE_FAILED;
		}
	if (answer == STORE_OK)
		answer = s->kind->put(s, id, c.files, c.count,
				      version[0] != '\0' ? version : NULL,
				      deadline_ns, &is_same, why);
	free_contents(&c);
	store_close_image(&image);
	return answer;
}

enum store_answer store_extend(struct store *s, const char *id,
			       const char *version,
			       const struct store_file *files,
			       uint32_t file_count, uint64_t deadline_ns,
			       struct error *why)
{
	enum store_answer answer;

	why->text[0] = '\0';
	answer = s->kind->extend != NULL ?
			 s->kind->extend(s, id, files, file_count, why) :
			 put_again(s, id, version, files, file_count,
				   deadline_ns, why);
	return store_end(s, answer, why);
}

enum store_answer store_replace(struct store *s, const char *id,
				const struct store_file *files,
				uint32_t file_count, struct error *why)
{
	enum store_answer answer;

	why->text[0] = '\0';
	answer = s->kind->replace(s, id, files, file_count, why);
	return answer == STORE_FAILED ? store_end(s, answer, why) : answer;
}

enum store_answer store_delete(struct store *s, const char *id,
			       uint64_t deadline_ns, struct error *why)
{
	enum store_answer answer;

	why->text[0] = '\0';
	answer = s->kind->remove(s, id, deadline_ns, why);
	if (answer == STORE_OK && !store_is_original(id))
		atomic_fetch_add(&s->deleted_count, 1);
	(void)store_end(s, answer, why);
	if (answer == STORE_OK)
		forget_full(&s->health);
	if (s->kind->is_remote && answer == STORE_FAILED)
		store_tell_failure(s, "image %s could not be removed: %s", id,
				   why->text);
	return answer;
}

void store_abandon(struct store *s)
{
	if (s->kind->abandon != NULL)
		s->kind->abandon(s);
}

void store_stop(struct store *s)
{
	if (s != NULL && s->kind->stop != NULL)
		s->kind->stop(s);
}

void store_stats(struct store *s, struct store_stats *out)
{
	struct error ignored;

	*out = (struct store_stats){
		.put_count = atomic_load(&s->put_count),
		.same_count = atomic_load(&s->same_count),
		.deleted_count = atomic_load(&s->deleted_count),
		.full_count = atomic_load(&s->full_count),
		.failed_count = atomic_load(&s->failed_count),
		.unavailable_count = atomic_load(&s->unavailable_count),
	};
	out->is_writable = store_look(s, &ignored) == STORE_OK;
	s->kind->stats(s, out);
}

/* Fill *f for an open file.  False: failed, see errno. */
static bool describe_file(struct known_file *f, const struct store_part *part,
			  const uint8_t sha256[SHA256_DIGEST_SIZE])
{
	struct stat file;

	if (fstat(part->fd, &file) != 0)
		return false;
	*f = (struct known_file){ .inode = file.st_ino,
				  .bytes = (uint64_t)file.st_size,
				  .offset = part->offset,
				  .changed = file.st_ctim };
	(void)memcpy(f->sha256, sha256, KNOWN_BYTES);
	return true;
}

static bool is_same(const struct known_file *a, const struct known_file *b)
{
	return a->inode == b->inode && a->bytes == b->bytes &&
	       a->offset == b->offset &&
	       a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec &&
	       memcmp(a->sha256, b->sha256, KNOWN_BYTES) == 0;
}

static struct known_file *set_of(struct checks *c, uint64_t inode)
{
	return c->files[inode * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

_Static_assert(SETS == 1 << (64 - 52), "set_of() returns one of 2^12 sets");

static bool checks_knows(struct checks *c, const struct known_file *f)
{
	const struct known_file *set = set_of(c, f->inode);
	uint64_t now_ns = clock_now_ns();
	bool found = false;

	(void)pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < WAYS; i++)
		found |= set[i].until_ns > now_ns && is_same(&set[i], f);
	(void)pthread_mutex_unlock(&c->lock);
	return found;
}

/* Remember `f` in place of the file of its set that would expire first. */
static void checks_remember(struct checks *c, const struct known_file *f)
{
	struct known_file *set = set_of(c, f->inode), *oldest = &set[0];

	(void)pthread_mutex_lock(&c->lock);
	for (uint32_t i = 1; i < WAYS; i++)
		if (set[i].until_ns < oldest->until_ns)
			oldest = &set[i];
	*oldest = *f;
	oldest->until_ns = clock_now_ns() + REMEMBERED_NS;
	(void)pthread_mutex_unlock(&c->lock);
}

/* False: it cannot be read, see errno. */
static bool hash_part(const struct store_part *part,
		      uint8_t sha256[SHA256_DIGEST_SIZE])
{
	uint8_t piece[READ_BYTES];
	struct sha256_ctx ctx;
	uint64_t done = 0;

	sha256_init(&ctx);
	while (done < part->bytes) {
		ssize_t n = pread(
			part->fd, piece,
			(size_t)min_u64(sizeof(piece), part->bytes - done),
			(off_t)(part->offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		sha256_update(&ctx, (size_t)n, piece);
		done += (uint64_t)n;
	}
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, sha256);
	return true;
}

bool store_is_checked(struct store *s, const struct store_part *part,
		      const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE];
	struct known_file file;

	return !part->is_fetched && read_sha256(expected, sha256) &&
	       describe_file(&file, part, expected) &&
	       checks_knows(s->checks, &file);
}

enum store_answer store_check(struct store *s, const struct store_part *part,
			      const char *sha256)
{
	uint8_t expected[SHA256_DIGEST_SIZE], found[SHA256_DIGEST_SIZE];
	struct known_file file;

	if (!read_sha256(expected, sha256))
		return STORE_DAMAGED;
	/*
	 * Done before reading, so that a change while reading is noticed later.
	 */
	if (!describe_file(&file, part, expected))
		return STORE_FAILED;
	if (!hash_part(part, found))
		/* EIO: the disk has lost a block. */
		return errno == EIO ? STORE_DAMAGED : STORE_FAILED;
	if (memcmp(found, expected, sizeof(found)) != 0)
		return STORE_DAMAGED;
	if (!part->is_fetched)
		checks_remember(s->checks, &file);
	return STORE_OK;
}
