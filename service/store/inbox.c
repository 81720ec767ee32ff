/* SPDX-License-Identifier: MIT */
#include "service/store/inbox.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/wait.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	EXPIRES_DIGITS = 8, /* of a name: seconds since 1970, hexadecimal */
	RANDOM_BYTES = (STORE_ID_BYTES - 1 - EXPIRES_DIGITS) / 2,
	SWEEP_MS = 10000, /* between two looks for what has expired, at least */
	SWEEP_PART = 100, /* a look takes at most this part of the time */
	TELL_MS = 1000,   /* between two lines about failures */
	/*
	 * New tickets leave an 8th of the quota for parts, and parts leave a
	 * 16th for the claims and ends of uploads that have begun.
	 */
	LEFT_BY_TICKETS = 8,
	LEFT_BY_PARTS = 16,
};

static const char ticket_name[] = "ticket.json";
static const char data_name[] = "data.bin";
static const char claim_name[] = "claim.txt";
static const char end_name[] = "end.json";
static const char problem_name[] = "problem.json";

struct inbox {
	struct entries entries;
	struct entry_folder folder;
	pthread_mutex_t lock; /* of the members below */
	pthread_cond_t changed;
	struct inbox_hold *holds;
	bool is_stopping;

	pthread_t thread;
	bool has_thread;
	inbox_report_fn *report;
	void *report_arg;
	_Atomic uint64_t told_ns; /* when a failure was reported */
	_Atomic uint64_t made_count, ended_count, refused_count, expired_count;
	_Atomic uint64_t received_bytes;
};

/* Failures may be many, so only some are reported. */
static bool may_tell(struct inbox *b)
{
	uint64_t now_ns = clock_now_ns(), told_ns = atomic_load(&b->told_ns);

	return now_ns - told_ns >= TELL_MS * NS_PER_MS &&
	       atomic_compare_exchange_strong(&b->told_ns, &told_ns, now_ns);
}

/* An entries_failed_fn. */
static void tell_failed(void *arg, const char *file, int error)
{
	struct inbox *b = arg;
	char text[256];

	if (b->report == NULL || !may_tell(b))
		return;
	if (error == 0)
		(void)snprintf(text, sizeof(text),
			       "the inbox is full: the quota is reached "
			       "(--inbox-quota)");
	else
		(void)snprintf(text, sizeof(text), "%s (%s): %.160s in it",
			       strerror(error), errno_name(error), file);
	b->report(b->report_arg, text);
}

static uint64_t now_s(void)
{
	return clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
}

uint64_t inbox_expires_s(const char *id)
{
	char digits[EXPIRES_DIGITS + 1];

	(void)memcpy(digits, id, EXPIRES_DIGITS);
	digits[EXPIRES_DIGITS] = '\0';
	return strtoull(digits, NULL, 16);
}

bool inbox_has_expired(const char *id)
{
	return inbox_expires_s(id) <= now_s();
}

static void print_name(char id[STORE_ID_BYTES], uint64_t expires_s)
{
	uint8_t bytes[RANDOM_BYTES];
	int at =
		snprintf(id, STORE_ID_BYTES, "%08" PRIx32, (uint32_t)expires_s);

	/* It cannot fail: at most 256 bytes, after the system has started. */
	while (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		;
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += snprintf(id + at, STORE_ID_BYTES - (size_t)at, "%02x",
			       bytes[i]);
}

/* Caller holds the lock.  NULL: nobody holds it. */
static struct inbox_hold *find_hold(struct inbox *b, const char *id)
{
	struct inbox_hold *h = b->holds;

	while (h != NULL && strcmp(h->id, id) != 0)
		h = h->next;
	return h;
}

/* Caller holds the lock. */
static void add_hold(struct inbox *b, struct inbox_hold *h)
{
	h->next = b->holds;
	h->is_held = true;
	b->holds = h;
}

void inbox_name(struct inbox *b, struct inbox_hold *h, uint32_t seconds)
{
	print_name(h->id, now_s() + seconds);
	(void)pthread_mutex_lock(&b->lock);
	add_hold(b, h);
	(void)pthread_mutex_unlock(&b->lock);
}

bool inbox_hold(struct inbox *b, struct inbox_hold *h, const char *id)
{
	struct inbox_hold *other;

	assert(store_is_id(id));
	(void)memcpy(h->id, id, STORE_ID_BYTES);
	(void)pthread_mutex_lock(&b->lock);
	other = find_hold(b, id);
	if (other == NULL)
		add_hold(b, h);
	else if (other->ask != NULL)
		other->ask(other);
	(void)pthread_mutex_unlock(&b->lock);
	return other == NULL;
}

void inbox_ignore(struct inbox *b, struct inbox_hold *h)
{
	(void)pthread_mutex_lock(&b->lock);
	h->ask = NULL;
	(void)pthread_mutex_unlock(&b->lock);
}

void inbox_release(struct inbox *b, struct inbox_hold *h)
{
	struct inbox_hold **at;

	if (!h->is_held)
		return;
	(void)pthread_mutex_lock(&b->lock);
	at = &b->holds;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	(void)pthread_mutex_unlock(&b->lock);
	h->is_held = false;
}

/* Read a small file of an entry, and append a NUL. */
static enum store_answer read_text(int entry, const char *name, char *text,
				   size_t bytes_max)
{
	uint64_t bytes;
	int fd;
	enum store_answer answer = entry_read(entry, name, &fd, &bytes);

	text[0] = '\0';
	if (answer != STORE_OK)
		return answer;
	if (bytes >= bytes_max)
		answer = STORE_DAMAGED;
	else if (read(fd, text, (size_t)bytes) != (ssize_t)bytes)
		answer = STORE_FAILED;
	text[answer == STORE_OK ? bytes : 0] = '\0';
	folder_close(fd);
	return answer;
}

/*
 * Read the id of the image that has claimed the entry.  "": there is none, or
 * the file is damaged, so that it names none.
 */
static enum store_answer read_claim(int entry, char claim[STORE_ID_BYTES])
{
	enum store_answer answer =
		read_text(entry, claim_name, claim, STORE_ID_BYTES);

	if (!store_is_id(claim))
		claim[0] = '\0';
	return answer == STORE_FAILED ? STORE_FAILED : STORE_OK;
}

static enum store_answer read_ticket(int entry, struct inbox_ticket *out)
{
	enum store_answer answer =
		read_text(entry, ticket_name, out->text, sizeof(out->text));
	int fd;

	if (answer != STORE_OK)
		return answer;
	(void)!read_text(entry, end_name, out->end, sizeof(out->end));
	(void)!read_claim(entry, out->claim);
	(void)!read_text(entry, problem_name, out->problem,
			 sizeof(out->problem));
	answer = entry_read_appended(entry, data_name, &fd, &out->bytes);
	if (answer == STORE_OK)
		folder_close(fd);
	else
		out->bytes = 0;
	return answer == STORE_NOT_FOUND ? STORE_OK : answer;
}

enum store_answer inbox_find(struct inbox *b, const char *id,
			     struct inbox_ticket *out)
{
	int entry;
	enum store_answer answer = STORE_NOT_FOUND;

	if (store_is_id(id) && !inbox_has_expired(id))
		answer = folder_find(b->folder.fd, id, &entry);
	if (answer != STORE_OK)
		return answer;
	answer = read_ticket(entry, out);
	folder_close(entry);
	return answer;
}

bool inbox_is_settled(struct inbox *b, const char *id)
{
	static const char *const names[] = { end_name, problem_name };
	int entry;
	bool is_settled = false;
	struct stat file;

	if (!store_is_id(id) || inbox_has_expired(id) ||
	    folder_find(b->folder.fd, id, &entry) != STORE_OK)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_settled |= fstatat(entry, names[i], &file,
				      AT_SYMLINK_NOFOLLOW) == 0;
	folder_close(entry);
	return is_settled;
}

static enum store_answer write_text(struct inbox *b, const struct inbox_hold *h,
				    const char *name, const char *text)
{
	const struct store_file file = { name, text, strlen(text) };

	return entry_extend(&b->entries, &b->folder, h->id, &file);
}

static enum store_answer
remove_file(struct inbox *b, const struct inbox_hold *h, const char *name)
{
	return entry_reduce(&b->entries, &b->folder, h->id, name);
}

/* Would the quota have this part left?  False: told, and errno is 0. */
static bool leaves(struct inbox *b, uint64_t bytes, uint32_t part)
{
	uint64_t quota = b->entries.quota_bytes;

	if (quota == 0 ||
	    atomic_load(&b->entries.used_bytes) + bytes <= quota - quota / part)
		return true;
	tell_failed(b, "", 0);
	errno = 0;
	return false;
}

enum store_answer inbox_make(struct inbox *b, const struct inbox_hold *h,
			     const char *text)
{
	const struct store_file file = { ticket_name, text, strlen(text) };
	enum store_answer answer;
	bool moved;

	if (!leaves(b, 0, LEFT_BY_TICKETS))
		return STORE_FULL;
	answer = entry_put(&b->entries, &b->folder, h->id, &file, 1, &moved);
	atomic_fetch_add(&b->made_count, answer == STORE_OK);
	return answer;
}

enum store_answer inbox_change(struct inbox *b, const struct inbox_hold *h,
			       const char *text)
{
	return write_text(b, h, ticket_name, text);
}

enum store_answer inbox_restart(struct inbox *b, const struct inbox_hold *h,
				const char *text)
{
	enum store_answer answer = remove_file(b, h, data_name);

	return answer == STORE_OK ? inbox_change(b, h, text) : answer;
}

enum store_answer inbox_append(struct inbox *b, const struct inbox_hold *h,
			       uint64_t offset, const void *bytes, size_t count)
{
	enum store_answer answer;

	if (!leaves(b, count, LEFT_BY_PARTS))
		return STORE_FULL;
	answer = entry_append(&b->entries, &b->folder, h->id, data_name, offset,
			      bytes, count);
	if (answer == STORE_OK)
		atomic_fetch_add(&b->received_bytes, count);
	return answer;
}

enum store_answer inbox_read(struct inbox *b, const struct inbox_hold *h,
			     void *to, size_t count)
{
	int entry, fd;
	uint64_t bytes;
	enum store_answer answer = folder_find(b->folder.fd, h->id, &entry);

	if (answer != STORE_OK)
		return answer;
	answer = entry_read_appended(entry, data_name, &fd, &bytes);
	folder_close(entry);
	if (answer != STORE_OK)
		return answer;
	if (bytes < count)
		answer = STORE_DAMAGED;
	else if (!file_read_all(fd, to, count))
		answer = STORE_FAILED;
	folder_close(fd);
	return answer;
}

enum store_answer inbox_claim(struct inbox *b, const struct inbox_hold *h,
			      const char *image)
{
	char claim[STORE_ID_BYTES];
	int entry;
	enum store_answer answer = folder_find(b->folder.fd, h->id, &entry);

	if (answer != STORE_OK)
		return answer;
	answer = read_claim(entry, claim);
	folder_close(entry);
	if (answer != STORE_OK)
		return answer;
	if (claim[0] == '\0')
		return write_text(b, h, claim_name, image);
	return strcmp(claim, image) == 0 ? STORE_OK : STORE_DAMAGED;
}

enum store_answer inbox_claim_again(struct inbox *b, const struct inbox_hold *h,
				    const char *image)
{
	return write_text(b, h, claim_name, image);
}

enum store_answer inbox_end(struct inbox *b, const struct inbox_hold *h,
			    const char *text)
{
	enum store_answer answer = write_text(b, h, end_name, text);

	if (answer != STORE_OK)
		return answer;
	atomic_fetch_add(&b->ended_count, 1);
	(void)remove_file(b, h, data_name);
	return STORE_OK;
}

enum store_answer inbox_refuse(struct inbox *b, const struct inbox_hold *h,
			       const char *problem)
{
	enum store_answer answer = write_text(b, h, problem_name, problem);

	if (answer != STORE_OK)
		return answer;
	atomic_fetch_add(&b->refused_count, 1);
	return remove_file(b, h, data_name);
}

enum store_answer inbox_remove(struct inbox *b, const struct inbox_hold *h)
{
	return entry_remove(&b->entries, &b->folder, h->id);
}

void inbox_read_stats(const struct inbox *b, struct inbox_stats *out)
{
	*out = (struct inbox_stats){
		.used_bytes = atomic_load(&b->entries.used_bytes),
		.quota_bytes = b->entries.quota_bytes,
		.made_count = atomic_load(&b->made_count),
		.ended_count = atomic_load(&b->ended_count),
		.refused_count = atomic_load(&b->refused_count),
		.expired_count = atomic_load(&b->expired_count),
		.received_bytes = atomic_load(&b->received_bytes),
	};
}

static bool is_stopping(struct inbox *b)
{
	bool is;

	(void)pthread_mutex_lock(&b->lock);
	is = b->is_stopping;
	(void)pthread_mutex_unlock(&b->lock);
	return is;
}

/*
 * An expired ticket that a request holds is removed by a later sweep; so is one
 * that a crash brings back.
 */
static void expire(struct inbox *b, const char *id)
{
	struct inbox_hold h = { .is_held = false };

	if (!inbox_hold(b, &h, id))
		return;
	if (entry_drop(&b->entries, &b->folder, id) == STORE_OK)
		atomic_fetch_add(&b->expired_count, 1);
	inbox_release(b, &h);
}

/*
 * Returns the time that it took, without that of the removals: however many
 * there were, the next sweep is not later.
 */
static uint64_t sweep(struct inbox *b)
{
	DIR *list = folder_list(b->folder.fd, ".");
	uint64_t begin_ns = clock_now_ns();
	const char *id;

	if (list == NULL)
		return 0;
	while (!is_stopping(b) && (id = folder_next(list)) != NULL)
		if (store_is_id(id) && inbox_has_expired(id)) {
			uint64_t found_ns = clock_now_ns();

			expire(b, id);
			begin_ns += clock_now_ns() - found_ns;
		}
	(void)closedir(list);
	return clock_now_ns() - begin_ns;
}

static void *run_inbox(void *arg)
{
	struct inbox *b = arg;

	(void)pthread_setname_np(pthread_self(), "inbox");
	(void)pthread_mutex_lock(&b->lock);
	while (!b->is_stopping) {
		uint64_t next_ns;

		(void)pthread_mutex_unlock(&b->lock);
		next_ns = max_u64(SWEEP_MS * NS_PER_MS, SWEEP_PART * sweep(b));
		next_ns += clock_now_ns();
		(void)pthread_mutex_lock(&b->lock);
		while (!b->is_stopping &&
		       wait_until(&b->changed, &b->lock, next_ns))
			;
	}
	(void)pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* False: errno says why, or *text. */
static bool open_folder(struct inbox *b, const char *path, uint64_t quota_bytes,
			const char **text)
{
	int fd;

	if (mkdir(path, 0777) != 0 && errno != EEXIST)
		return false;
	fd = b->folder.fd = folder_open(AT_FDCWD, path);
	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			*text = "is in use by another server";
		return false;
	}
	if (mkdirat(fd, "tmp", 0777) != 0 && errno != EEXIST)
		return false;
	return entries_open(&b->entries, fd, quota_bytes) &&
	       entries_count(&b->entries, fd, ".");
}

struct inbox *inbox_open(const char *path, uint64_t quota_bytes,
			 struct error *why)
{
	struct inbox *b = calloc(1, sizeof(*b));
	const char *text = NULL;

	error_set(why, "%s", strerror(ENOMEM));
	if (b == NULL)
		return NULL;
	b->entries.tmp = -1;
	b->entries.failed = tell_failed;
	b->entries.failed_arg = b;
	(void)snprintf(b->folder.name, sizeof(b->folder.name), "inbox");
	(void)pthread_mutex_init(&b->lock, NULL);
	wait_init(&b->changed);
	if (open_folder(b, path, quota_bytes, &text))
		return b;
	if (text != NULL)
		error_set(why, "%s", text);
	else
		file_explain(why, path, "", errno);
	inbox_close(b);
	return NULL;
}

bool inbox_start(struct inbox *b, inbox_report_fn *report, void *arg)
{
	b->report = report;
	b->report_arg = arg;
	b->has_thread = pthread_create(&b->thread, NULL, run_inbox, b) == 0;
	return b->has_thread;
}

void inbox_stop(struct inbox *b)
{
	if (b == NULL || !b->has_thread)
		return;
	(void)pthread_mutex_lock(&b->lock);
	b->is_stopping = true;
	(void)pthread_cond_signal(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
	(void)pthread_join(b->thread, NULL);
	b->has_thread = false;
}

void inbox_close(struct inbox *b)
{
	if (b == NULL)
		return;
	inbox_stop(b);
	if (b->folder.fd >= 0)
		(void)close(b->folder.fd);
	if (b->entries.tmp >= 0)
		(void)close(b->entries.tmp);
	(void)pthread_mutex_destroy(&b->lock);
	(void)pthread_cond_destroy(&b->changed);
	free(b);
}
