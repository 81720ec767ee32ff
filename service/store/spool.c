/* SPDX-License-Identifier: MIT */
#include "service/store/spool.h"

#include "base/util.h"
#include "service/store/store_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char upload_name[] = "upload.jpg";
static const char request_name[] = "request.txt";
static const char problem_name[] = "problem.json";

enum { BUCKETS = 256 };

/*
 * The holds on some ids, and a lock.  A thread that changes an entry keeps the
 * lock while it writes to the disk, so that an upload and a DELETE of the same
 * id do not mix.  Ids are spread evenly over the buckets, so threads with other
 * ids hardly ever wait.
 */
struct bucket {
	pthread_mutex_t lock;
	struct spool_hold *first;
};

struct spool {
	struct store *store;
	int folder, failed;
	struct bucket buckets[BUCKETS];
	_Atomic uint64_t waiting_count;
	_Atomic uint64_t written_count;
	_Atomic uint64_t finished_count;
	_Atomic uint64_t recovered_count;
	_Atomic uint64_t failed_count;
	_Atomic uint64_t damaged_count;
};

static struct bucket *bucket_lock(struct spool *s, const char *id)
{
	char digits[] = { id[0], id[1], '\0' };
	struct bucket *b;

	assert(store_is_id(id));
	b = &s->buckets[strtoul(digits, NULL, 16)];
	(void)pthread_mutex_lock(&b->lock);
	return b;
}

/* Keeps errno. */
static void bucket_unlock(struct bucket *b)
{
	(void)pthread_mutex_unlock(&b->lock);
}

/* Caller holds the lock, also for the next two. */
static void add_hold(struct bucket *b, struct spool_hold *h)
{
	h->next = b->first;
	b->first = h;
}

static void end_hold(struct bucket *b, struct spool_hold *h)
{
	struct spool_hold **at = &b->first;

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
}

static bool is_held(const struct bucket *b, const char *id)
{
	const struct spool_hold *h = b->first;

	while (h != NULL && strcmp(h->id, id) != 0)
		h = h->next;
	return h != NULL;
}

/* Does the folder contain an entry of that id, or anything with that name? */
static bool folder_contains(int folder, const char *id)
{
	struct stat entry;

	return fstatat(folder, id, &entry, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum store_answer spool_take_out(struct spool *s, const char *id)
{
	enum store_answer answer = store_take_out(s->store, s->folder, id);

	/* STORE_FAILED: it may have been removed, but not synced. */
	if (answer == STORE_OK ||
	    (answer == STORE_FAILED && !folder_contains(s->folder, id)))
		atomic_fetch_sub(&s->waiting_count, 1);
	return answer;
}

static bool count_one(void *arg, const char *id)
{
	struct spool *s = arg;

	(void)id;
	atomic_fetch_add(&s->waiting_count, 1);
	return true;
}

struct spool *spool_open(struct store *store)
{
	struct spool *s = calloc(1, sizeof(*s));
	int root = store_root(store);

	if (s == NULL)
		return NULL;
	s->store = store;
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_init(&s->buckets[i].lock, NULL);
	s->folder = folder_open(root, SPOOL_FOLDER);
	s->failed =
		s->folder >= 0 ? folder_open(root, SPOOL_FAILED_FOLDER) : -1;
	if (s->failed >= 0 && spool_list(s, count_one, s))
		return s;

	int saved = errno;

	spool_close(s);
	errno = saved;
	return NULL;
}

void spool_close(struct spool *s)
{
	if (s == NULL)
		return;
	if (s->folder >= 0)
		(void)close(s->folder);
	if (s->failed >= 0)
		(void)close(s->failed);
	for (uint32_t i = 0; i < BUCKETS; i++)
		(void)pthread_mutex_destroy(&s->buckets[i].lock);
	free(s);
}

bool spool_list(const struct spool *s, bool (*take)(void *arg, const char *id),
		void *arg)
{
	DIR *list = folder_list(s->folder, ".");
	const char *id = "";
	bool ok = list != NULL;

	while (ok && (id = folder_next(list)) != NULL)
		ok = !store_is_id(id) || take(arg, id);
	if (list != NULL)
		(void)closedir(list);
	return ok;
}

bool spool_has(const struct spool *s, const char *id)
{
	return folder_contains(s->folder, id);
}

/* Read a small file and append a NUL. */
static enum store_answer read_text(int entry, const char *name,
				   char text[SPOOL_TEXT_BYTES])
{
	uint64_t bytes;
	int fd;
	enum store_answer answer = store_read(entry, name, &fd, &bytes);

	if (answer != STORE_OK)
		return answer;
	if (bytes >= SPOOL_TEXT_BYTES)
		answer = STORE_NOT_FOUND;
	else if (read(fd, text, (size_t)bytes) != (ssize_t)bytes)
		answer = STORE_FAILED;
	if (answer == STORE_OK)
		text[bytes] = '\0';
	folder_close(fd);
	return answer;
}

enum store_answer spool_find_failed(const struct spool *s, const char *id,
				    char text[SPOOL_TEXT_BYTES])
{
	int entry = folder_open(s->failed, id);
	enum store_answer answer;

	if (entry < 0)
		return STORE_NOT_FOUND;
	answer = read_text(entry, problem_name, text);
	(void)close(entry);
	return answer;
}

enum store_answer spool_put(struct spool *s, struct spool_hold *h,
			    const char *request, const void *jpeg,
			    size_t jpeg_bytes)
{
	const struct store_file files[] = {
		{ upload_name, jpeg, jpeg_bytes },
		{ request_name, request, strlen(request) },
	};
	struct bucket *b = bucket_lock(s, h->id);
	bool was_there = folder_contains(s->folder, h->id), moved;
	/* This replaces a damaged entry of an earlier run. */
	enum store_answer answer = store_place(
		s->store, s->folder, h->id, files, ARRAY_SIZE(files), &moved);

	atomic_fetch_add(&s->waiting_count, moved && !was_there);
	if (answer == STORE_OK) {
		atomic_fetch_add(&s->written_count, moved);
		add_hold(b, h);
	} else if (moved && !is_held(b, h->id)) {
		/* It could not be synced. */
		(void)spool_take_out(s, h->id);
	}
	bucket_unlock(b);
	return answer;
}

void spool_hold(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	add_hold(b, h);
	bucket_unlock(b);
}

void spool_release(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	end_hold(b, h);
	bucket_unlock(b);
}

void spool_drop(struct spool *s, struct spool_hold *h)
{
	struct bucket *b = bucket_lock(s, h->id);

	end_hold(b, h);
	if (!is_held(b, h->id))
		(void)spool_take_out(s, h->id);
	bucket_unlock(b);
}

enum store_answer spool_read(const struct spool *s, const char *id,
			     struct spool_entry *out)
{
	int entry = folder_open(s->folder, id);
	enum store_answer answer;

	if (entry < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
			       STORE_NOT_FOUND :
			       STORE_FAILED;
	answer = read_text(entry, request_name, out->request);
	if (answer == STORE_OK)
		answer = store_read(entry, upload_name, &out->fd, &out->bytes);
	folder_close(entry);
	return answer;
}

enum store_answer spool_finish(struct spool *s, struct spool_hold *h,
			       const struct store_file *files,
			       uint32_t file_count)
{
	struct bucket *b = bucket_lock(s, h->id);
	enum store_answer answer =
		folder_contains(s->folder, h->id) ?
			store_put(s->store, h->id, files, file_count) :
			STORE_NOT_FOUND;

	if (answer == STORE_OK || answer == STORE_NOT_FOUND)
		end_hold(b, h);
	if (answer == STORE_OK) {
		/* If that fails, a later run stores the same image again. */
		(void)spool_take_out(s, h->id);
		if (folder_contains(s->failed, h->id))
			(void)store_take_out(s->store, s->failed, h->id);
		atomic_fetch_add(&s->finished_count, 1);
	}
	bucket_unlock(b);
	return answer;
}

enum store_answer spool_fail(struct spool *s, struct spool_hold *h,
			     const char *problem, bool is_damaged)
{
	const struct store_file file = { problem_name, problem,
					 strlen(problem) };
	struct bucket *b = bucket_lock(s, h->id);
	enum store_answer answer =
		store_extend(s->store, s->folder, h->id, &file);

	if (answer == STORE_OK)
		answer = store_move(s->store, s->folder, s->failed, h->id);
	/* Moved but not synced: after a power loss it may be tried again. */
	if (answer == STORE_FAILED && !folder_contains(s->folder, h->id))
		answer = STORE_OK;
	if (answer == STORE_OK) {
		atomic_fetch_sub(&s->waiting_count, 1);
		atomic_fetch_add(&s->failed_count, 1);
		atomic_fetch_add(&s->damaged_count, is_damaged);
	} else if (answer == STORE_NOT_FOUND && is_damaged) {
		/* It is not a folder, so problem.json cannot be added. */
		atomic_fetch_add(&s->damaged_count,
				 spool_take_out(s, h->id) == STORE_OK);
	}
	if (answer == STORE_OK || answer == STORE_NOT_FOUND)
		end_hold(b, h);
	bucket_unlock(b);
	return answer;
}

/* STORE_FAILED if either is; else the first that is not STORE_NOT_FOUND. */
static enum store_answer worst_answer(enum store_answer a, enum store_answer b)
{
	if (a == STORE_FAILED || b == STORE_NOT_FOUND)
		return a;
	return b;
}

enum store_answer spool_delete(struct spool *s, const char *id)
{
	struct bucket *b = bucket_lock(s, id);
	enum store_answer answer = spool_take_out(s, id);

	if (answer != STORE_FAILED)
		answer = worst_answer(answer,
				      store_take_out(s->store, s->failed, id));
	if (answer != STORE_FAILED)
		answer = worst_answer(answer, store_delete(s->store, id));
	bucket_unlock(b);
	return answer;
}

void spool_count_recovered(struct spool *s)
{
	atomic_fetch_add(&s->recovered_count, 1);
}

void spool_stats(const struct spool *s, struct spool_stats *out)
{
	*out = (struct spool_stats){
		.waiting_count = atomic_load(&s->waiting_count),
		.written_count = atomic_load(&s->written_count),
		.finished_count = atomic_load(&s->finished_count),
		.recovered_count = atomic_load(&s->recovered_count),
		.failed_count = atomic_load(&s->failed_count),
		.damaged_count = atomic_load(&s->damaged_count),
	};
}
