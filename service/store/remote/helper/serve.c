/* SPDX-License-Identifier: MIT */
#include "service/store/remote/helper/serve.h"

#include "service/keeper.h"
#include "service/store/remote/helper/listing.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	REQUESTS_MAX = 512, /* then messages wait in the socket */
	RECEIVE_MAX = 64,   /* messages in one turn */
	TURN_MS = 1000,
	PROBE_MS = 3000,
	REFUSED_MAX = 8,  /* then PUTs have no condition any more */
	FORMS_MAX = 4,    /* of an ETag that are tried: see end_match() */
	REMOVALS_MAX = 5, /* of one object, while it is there again */
	DAMAGED_MAX = 1,  /* times that a damaged object is fetched again */
	READS_MAX = REQUESTS_MAX / 2, /* further ones are refused at once */
	/* More than the socket holds, which is what can be sent twice. */
	RECENT_MAX = 4096,
	LIST_BYTES_MAX = 8 << 20, /* of the object store's reply */
};

LIST_HEAD(requests, request);

struct request {
	struct server *server;
	struct message message;
	struct s3_call call;
	char query[S3_QUERY_BYTES]; /* LIST */
	struct listing listing;
	char md5[S3_MD5_BYTES]; /* PUT, when it is known */
	bool is_second_try;     /* PUT, after 501; without a condition */
	uint32_t form_count;    /* PUT with an ETag: see end_match() */
	uint32_t removal_count; /* DELETE */
	int fd; /* PUT: the package.  READ: the answer, without a cache */
	/* READ, with a cache. */
	struct cache_draft draft;
	bool is_fetch; /* into the cache; others may follow it */
	bool is_stale; /* the object was put or deleted since its fetch began */
	struct requests followers;
	LIST_ENTRY(request) follower_link;
	uint32_t damaged_count;
	LIST_ENTRY(request) link;
};

struct server {
	struct s3 *s3;
	struct cache *cache;
	struct requests all;
	uint32_t request_count, read_count;
	/* PUTs that were taken only without a condition, in a row. */
	uint32_t refused_conditions;
	struct match {
		enum {
			MATCH_UNKNOWN,
			MATCH_GOOD,
			MATCH_IGNORED,
			MATCH_REFUSED
		} state;
		uint32_t refused_count; /* 501, in a row */
		bool is_proven;         /* a PUT with an ETag was carried out */
		bool is_bare; /* the store compares ETags without quotes */
	} match;
	uint64_t hits, misses;
	uint64_t recent[RECENT_MAX]; /* numbers of requests received */
	uint64_t received_count;
};

/* -- Answers -- */

static void read_figures(const struct server *h, struct store_figures *f)
{
	*f = *s3_figures(h->s3);
	f->cache_hits = h->hits;
	f->cache_misses = h->misses;
	f->now.lacks_conditions = h->match.state == MATCH_IGNORED ||
				  h->match.state == MATCH_REFUSED ||
				  h->match.refused_count > 0;
	if (h->cache == NULL)
		return;
	cache_read(h->cache, f);
}

static void free_request(struct request *r)
{
	if (r->fd >= 0)
		(void)close(r->fd);
	if (r->draft.is_begun)
		cache_drop(r->server->cache, &r->draft);
	LIST_REMOVE(r, link);
	r->server->request_count--;
	r->server->read_count -= r->message.kind == MESSAGE_READ;
	free(r);
}

/* Answer the request, and free it.  `fd` is the caller's. */
static void answer_with(struct request *r, enum store_answer answer,
			const char *detail, int fd, uint64_t bytes)
{
	struct message m = r->message;

	m.kind = MESSAGE_ANSWER;
	m.answer = answer;
	m.bytes = bytes;
	(void)snprintf(m.detail, sizeof(m.detail), "%s", detail);
	read_figures(r->server, &m.figures);
	/* If this fails, the server has ended, which the loop will notice. */
	(void)!message_send(KEEPER_SOCKET, &m, fd);
	free_request(r);
}

/* Answer a READ with a copy that the cache has, or could not keep. */
static void answer_copy(struct request *r, int fd, uint64_t bytes)
{
	r->message.is_copy = true;
	r->message.from = 0;
	answer_with(r, STORE_OK, "", fd, bytes);
}

/* Whether READ's answer is about the object that this GET has found. */
static void keep_etag(struct request *r, const struct s3_call *c)
{
	(void)snprintf(r->message.etag, sizeof(r->message.etag), "%s",
		       s3_is_strong(c->etag) ? c->etag : "");
}

static void answer(struct request *r, enum store_answer answer,
		   const char *detail)
{
	answer_with(r, answer, detail, -1, 0);
}

static enum store_answer to_answer(enum s3_result result)
{
	switch (result) {
	case S3_OK:
		return STORE_OK;
	case S3_NOT_FOUND:
		return STORE_NOT_FOUND;
	case S3_BAD_RANGE:
		return STORE_DAMAGED;
	case S3_FULL:
		return STORE_FULL;
	case S3_UNAVAILABLE:
		return STORE_UNAVAILABLE;
	default:
		return STORE_FAILED;
	}
}

static void answer_call(struct request *r)
{
	answer(r, to_answer(r->call.result), r->call.detail);
}

/* -- Calls -- */

/* Make the request's call new; its deadline is that of the message. */
static struct s3_call *prepare(struct request *r, enum s3_method method,
			       void (*done)(struct s3_call *))
{
	struct s3_call *c = &r->call;

	(void)memset(c, 0, sizeof(*c));
	c->method = method;
	c->deadline_ns = r->message.deadline_ns;
	c->done = done;
	c->owner = r;
	s3_print_key(r->server->s3, r->message.id, c->key);
	return c;
}

static void send_call(struct request *r)
{
	s3_send(r->server->s3, &r->call);
}

/*
 * The object was put or deleted: what is being fetched may be the old one.  It
 * is for those who wait for it already, but not for others, nor for the cache.
 */
static void object_changed(struct server *h, const char *id)
{
	struct request *r;

	if (h->cache == NULL)
		return;
	cache_remove(h->cache, id);
	LIST_FOREACH(r, &h->all, link)
	if (r->is_fetch && strcmp(r->message.id, id) == 0) {
		r->is_fetch = false;
		r->is_stale = true;
	}
}

/* -- PUT -- */

static void begin_put(struct request *r, bool must_be_new);

/*
 * Is the object that HEAD has found the package that was to be put?  A weak
 * ETag does not say that all bytes are the same.
 */
static bool is_same_object(const struct request *r, const struct s3_call *c)
{
	char md5[S3_MD5_BYTES];

	return !c->is_removed && c->object_bytes == r->message.bytes &&
	       strncmp(c->etag, "W/", 2) != 0 && s3_read_md5(c->etag, md5) &&
	       strcmp(md5, r->md5) == 0;
}

static void compare_put(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_OK && c->result != S3_NOT_FOUND) {
		answer_call(r);
	} else if (c->result == S3_OK && is_same_object(r, c)) {
		object_changed(r->server, r->message.id);
		r->message.is_same = true;
		answer(r, STORE_OK, "");
	} else {
		begin_put(r, false);
	}
}

static void end_put(struct s3_call *c)
{
	struct request *r = c->owner;

	if ((c->result == S3_OK || c->result == S3_EXISTS) && c->must_be_new)
		r->server->refused_conditions = 0;
	if (c->result == S3_EXISTS && r->message.must_be_new) {
		answer(r, STORE_CHANGED, "");
		return;
	}
	if (c->result == S3_EXISTS && c->must_be_new) {
		(void)memcpy(r->md5, c->md5, sizeof(r->md5));
		(void)prepare(r, S3_HEAD, compare_put);
		send_call(r);
		return;
	}
	if (c->result == S3_NOT_SUPPORTED && c->must_be_new) {
		r->is_second_try = true;
		begin_put(r, false);
		return;
	}
	if (c->result == S3_OK && r->is_second_try)
		r->server->refused_conditions++;
	object_changed(r->server, r->message.id);
	answer_call(r);
}

static void begin_put(struct request *r, bool must_be_new)
{
	struct s3_call *c = prepare(r, S3_PUT, end_put);

	c->body = r->fd;
	c->body_bytes = r->message.bytes;
	c->must_be_new = must_be_new;
	send_call(r);
}

/* -- PUT in place of a certain object -- */

/*
 * Whether a store compares an ETag at all, and with or without its quotes (Ceph
 * 16 does not take them off), is found out:
 *
 *	1. Before the first of these PUTs, a PUT to a key of its own, where
 *	   there is no object, with an ETag that no object has.  If it is
 *	   carried out, conditions are ignored; what it has put is removed.
 *	2. While none of them was carried out, a HEAD follows one that was
 *	   refused.  If the object still has the ETag, the other form is next.
 *	   When both were refused twice, the condition is not sent any more.
 */
static const char nobody[] = "\"00000000000000000000000000000000\"";

static void send_match(struct request *r);

/* As with must_be_new, a single 501 may have another reason. */
static void send_unmatched(struct request *r)
{
	struct match *m = &r->server->match;

	r->form_count = FORMS_MAX;
	if (++m->refused_count == REFUSED_MAX)
		m->state = MATCH_REFUSED;
	send_match(r);
}

static void end_match_head(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_OK && c->result != S3_NOT_FOUND) {
		answer_call(r);
	} else if (c->result == S3_NOT_FOUND || c->is_removed ||
		   strcmp(c->etag, r->message.etag) != 0) {
		answer(r, STORE_CHANGED, "");
	} else {
		if (++r->form_count == FORMS_MAX)
			r->server->match.state = MATCH_REFUSED;
		send_match(r);
	}
}

static void end_match(struct s3_call *c)
{
	struct request *r = c->owner;
	struct match *m = &r->server->match;
	bool has_match = c->match[0] != '\0';

	if (c->result == S3_EXISTS && has_match && m->is_proven) {
		answer(r, STORE_CHANGED, "");
		return;
	}
	if (c->result == S3_EXISTS && has_match) {
		(void)prepare(r, S3_HEAD, end_match_head);
		send_call(r);
		return;
	}
	if (c->result == S3_NOT_SUPPORTED && has_match) {
		send_unmatched(r);
		return;
	}
	if (c->result == S3_OK && has_match) {
		m->is_proven = true;
		m->refused_count = 0;
		m->is_bare = c->match[0] != '"';
	}
	object_changed(r->server, r->message.id);
	answer_call(r);
}

static void send_match(struct request *r)
{
	struct s3_call *c = prepare(r, S3_PUT, end_match);
	const struct match *m = &r->server->match;
	bool is_bare = m->is_bare != (r->form_count % 2 == 1);

	c->body = r->fd;
	c->body_bytes = r->message.bytes;
	if (m->state != MATCH_REFUSED && r->form_count < FORMS_MAX)
		s3_print_etag(c->match, r->message.etag, !is_bare);
	send_call(r);
}

/* The object of the first PUT is removed, or could not be. */
static void end_trial_removal(struct s3_call *c)
{
	send_match(c->owner);
}

static void end_trial(struct s3_call *c)
{
	struct request *r = c->owner;
	struct match *m = &r->server->match;

	switch (c->result) {
	case S3_EXISTS:
		m->state = MATCH_GOOD;
		m->refused_count = 0;
		send_match(r);
		break;
	case S3_NOT_SUPPORTED:
		send_unmatched(r);
		break;
	case S3_OK:
		m->state = MATCH_IGNORED;
		c = prepare(r, S3_DELETE, end_trial_removal);
		s3_print_trial_key(r->server->s3, c->key);
		send_call(r);
		break;
	default:
		answer_call(r);
	}
}

static void begin_match(struct request *r)
{
	struct s3_call *c;

	if (r->server->match.state != MATCH_UNKNOWN) {
		send_match(r);
		return;
	}
	c = prepare(r, S3_PUT, end_trial);
	s3_print_trial_key(r->server->s3, c->key);
	c->body = r->fd;
	c->body_bytes = 1;
	s3_print_etag(c->match, nobody, true);
	send_call(r);
}

static void receive_put(struct request *r)
{
	struct stat file;

	r->message.is_same = false;
	if (r->fd < 0 || fstat(r->fd, &file) != 0 || !S_ISREG(file.st_mode) ||
	    (uint64_t)file.st_size < r->message.bytes ||
	    r->message.bytes > PACKAGE_BYTES_MAX)
		answer(r, STORE_FAILED, "the message has no such package");
	else if (r->message.etag[0] != '\0')
		begin_match(r);
	else
		begin_put(r, r->server->refused_conditions < REFUSED_MAX);
}

/* -- READ without a cache -- */

static int sink_direct(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->object_bytes == UINT64_MAX) {
		(void)snprintf(c->detail, sizeof(c->detail),
			       "the store does not say how long the object is");
		return -1;
	}
	/* An earlier attempt may have left bytes. */
	return ftruncate(r->fd, 0) == 0 ? r->fd : -1;
}

/* The fetched bytes are all that was asked for and exists. */
static bool is_complete(const struct s3_call *c)
{
	return c->object_bytes > c->from &&
	       c->object_bytes <= PACKAGE_BYTES_MAX &&
	       c->kept_bytes == min_u64(c->to + 1, c->object_bytes) - c->from;
}

static void end_direct(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_OK) {
		answer_call(r);
		return;
	}
	if (!is_complete(c)) {
		answer(r, STORE_DAMAGED, "the object is too short");
		return;
	}
	/* The server may map it. */
	(void)fcntl(r->fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	keep_etag(r, c);
	answer_with(r, STORE_OK, "", r->fd, c->object_bytes);
}

static void begin_direct(struct request *r)
{
	struct s3_call *c = prepare(r, S3_GET, end_direct);

	r->fd = memfd_create("package", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd < 0) {
		answer(r, STORE_FAILED, strerror(errno));
		return;
	}
	c->is_read = true;
	c->has_range = true;
	c->from = r->message.from;
	c->to = r->message.from + r->message.bytes - 1;
	c->reply_bytes_max = PACKAGE_BYTES_MAX;
	c->sink = sink_direct;
	send_call(r);
}

/* -- READ through the cache -- */

static void begin_fetch(struct request *r);
static void lead_fetch(struct request *r);

static int sink_cache(struct s3_call *c)
{
	struct request *r = c->owner;
	struct cache *cache = r->server->cache;

	r->is_stale |= r->draft.is_stale;
	cache_drop(cache, &r->draft); /* of an earlier attempt */
	if (c->object_bytes == UINT64_MAX ||
	    !cache_begin(cache, &r->draft, r->message.id, c->object_bytes))
		return -1;
	return r->draft.fd;
}

/* Answer one of those who wait for this image.  `fd` -1: there is none. */
static void answer_one(struct request *r, enum store_answer value,
		       const char *detail, int fd, uint64_t bytes)
{
	if (fd >= 0)
		answer_copy(r, fd, bytes);
	else
		answer(r, value, detail);
}

static void answer_fetch(struct request *r, enum store_answer value,
			 const char *text, int fd, uint64_t bytes)
{
	char detail[MESSAGE_DETAIL_BYTES];
	struct request *f;

	(void)snprintf(detail, sizeof(detail), "%s", text);
	while ((f = LIST_FIRST(&r->followers)) != NULL) {
		LIST_REMOVE(f, follower_link);
		(void)memcpy(f->message.etag, r->message.etag,
			     sizeof(f->message.etag));
		/* It may have more time than the first. */
		if (value == STORE_UNAVAILABLE)
			begin_fetch(f);
		else
			answer_one(f, value, detail, fd, bytes);
	}
	answer_one(r, value, detail, fd, bytes);
}

/* The cache does not take it: each gets only what it wants. */
static void go_direct(struct request *r)
{
	struct request *f;

	r->is_fetch = false;
	while ((f = LIST_FIRST(&r->followers)) != NULL) {
		LIST_REMOVE(f, follower_link);
		begin_direct(f);
	}
	begin_direct(r);
}

static void end_fetch_well(struct request *r)
{
	struct cache *cache = r->server->cache;
	uint64_t bytes = r->draft.bytes;
	enum store_answer checked =
		r->draft.is_begun ?
			package_check(r->draft.fd, bytes, r->message.id) :
			STORE_DAMAGED;
	int fd;

	if (checked == STORE_OK) {
		r->draft.is_stale |= r->is_stale;
		fd = cache_commit(cache, &r->draft);
		if (fd < 0) {
			go_direct(r);
			return;
		}
		answer_fetch(r, STORE_OK, "", fd, bytes);
		(void)close(fd);
		return;
	}
	cache_drop(cache, &r->draft);
	if (r->damaged_count++ < DAMAGED_MAX)
		lead_fetch(r);
	else
		answer_fetch(r, checked, "the object is damaged", -1, 0);
}

static void end_fetch(struct s3_call *c)
{
	struct request *r = c->owner;

	r->is_fetch = false;
	if (c->result == S3_OK) {
		keep_etag(r, c);
		end_fetch_well(r);
		return;
	}
	/* cache_begin() has counted its own failures. */
	if (c->result == S3_NO_SINK && r->draft.is_begun && !c->is_too_long)
		cache_fail(r->server->cache, c->sink_errno);
	cache_drop(r->server->cache, &r->draft);
	if (c->result == S3_NO_SINK)
		go_direct(r);
	else
		answer_fetch(r, to_answer(c->result), c->detail, -1, 0);
}

static struct request *find_fetch(const struct server *h, const char *id)
{
	struct request *r;

	LIST_FOREACH(r, &h->all, link)
	if (r->is_fetch && strcmp(r->message.id, id) == 0)
		return r;
	return NULL;
}

/* Others may follow it already. */
static void lead_fetch(struct request *r)
{
	struct s3_call *c = prepare(r, S3_GET, end_fetch);

	r->is_fetch = !r->is_stale;
	c->is_read = true;
	c->reply_bytes_max = PACKAGE_BYTES_MAX;
	c->sink = sink_cache;
	send_call(r);
}

static void begin_fetch(struct request *r)
{
	struct request *leader = find_fetch(r->server, r->message.id);

	if (leader != NULL)
		LIST_INSERT_HEAD(&leader->followers, r, follower_link);
	else
		lead_fetch(r);
}

static void receive_read(struct request *r)
{
	struct server *h = r->server;
	uint64_t bytes;
	int fd;

	r->message.etag[0] = '\0';
	if (r->message.from > PACKAGE_BYTES_MAX ||
	    r->message.bytes > PACKAGE_BYTES_MAX) {
		answer(r, STORE_FAILED, "the message asks for too many bytes");
		return;
	}
	if (h->read_count > READS_MAX) {
		answer(r, STORE_UNAVAILABLE,
		       "too many reads wait for the store");
		return;
	}
	if (h->cache == NULL) {
		begin_direct(r);
		return;
	}
	if (r->message.is_fresh)
		cache_remove(h->cache, r->message.id);
	fd = cache_find(h->cache, r->message.id, &bytes);
	if (fd < 0) {
		h->misses++;
		begin_fetch(r);
		return;
	}
	h->hits++;
	answer_copy(r, fd, bytes);
	(void)close(fd);
}

/* -- DELETE and PROBE -- */

static void begin_delete(struct request *r);

static void end_last_look(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result == S3_OK && !c->is_removed) {
		begin_delete(r);
		return;
	}
	if (c->result == S3_NOT_FOUND || c->result == S3_OK)
		answer(r, STORE_OK, "");
	else
		answer_call(r);
}

/*
 * Is it gone?  Ceph answers 204 also if a PUT was faster, which was a change of
 * the image that was to be removed, and does nothing then.
 */
static void end_delete(struct s3_call *c)
{
	struct request *r = c->owner;

	object_changed(r->server, r->message.id);
	/* Another node may have been faster. */
	if (c->result != S3_OK && c->result != S3_NOT_FOUND) {
		answer_call(r);
		return;
	}
	(void)prepare(r, S3_HEAD, end_last_look);
	send_call(r);
}

static void begin_delete(struct request *r)
{
	if (r->removal_count++ == REMOVALS_MAX) {
		answer(r, STORE_UNAVAILABLE,
		       "the image is put again all the time");
		return;
	}
	(void)prepare(r, S3_DELETE, end_delete);
	send_call(r);
}

/* The object is there if its first byte is, or if it has none. */
static void end_first_byte(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_OK && c->result != S3_BAD_RANGE) {
		answer_call(r);
		return;
	}
	begin_delete(r);
}

static void end_look(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_NOT_FOUND) {
		end_first_byte(c);
		return;
	}
	/* HEAD has no body that would say what is not found.  This has. */
	c = prepare(r, S3_GET, end_first_byte);
	c->has_range = true;
	send_call(r);
}

static void receive_delete(struct request *r)
{
	object_changed(r->server, r->message.id);
	(void)prepare(r, S3_HEAD, end_look);
	send_call(r);
}

static void prepare_probe(struct request *r, enum s3_method method,
			  void (*done)(struct s3_call *))
{
	struct s3_call *c = prepare(r, method, done);
	uint64_t end_ns = clock_after_ms(PROBE_MS);

	c->key[0] = '\0';
	c->is_urgent = c->is_single = true;
	c->deadline_ns =
		c->deadline_ns == 0 ? end_ns : min_u64(c->deadline_ns, end_ns);
}

static void end_probe(struct s3_call *c)
{
	answer_call(c->owner);
}

static void end_bucket(struct s3_call *c)
{
	struct request *r = c->owner;

	if (c->result != S3_FAILED) {
		answer_call(r);
		return;
	}
	/* HEAD has no body that would tell why.  This has. */
	prepare_probe(r, S3_GET, end_probe);
	c->query = "list-type=2&max-keys=1";
	send_call(r);
}

static void receive_probe(struct request *r)
{
	prepare_probe(r, S3_HEAD, end_bucket);
	send_call(r);
}

/* -- LIST -- */

static void send_list(struct request *r);

static void end_list(struct s3_call *c)
{
	struct request *r = c->owner;
	struct error error;

	if (c->result != S3_OK) {
		answer_call(r);
		return;
	}
	if (!listing_convert(r->server->s3, &r->message, r->fd,
			     c->received_bytes, &r->listing, &error)) {
		answer(r, STORE_FAILED, error.text);
		return;
	}
	if (r->listing.token[0] != '\0') {
		send_list(r);
		return;
	}
	r->message.from = r->listing.has_more;
	answer_with(r, STORE_OK, "", r->fd, 0);
}

static int sink_list(struct s3_call *c)
{
	const struct request *r = c->owner;

	/* An earlier attempt may have left bytes. */
	return ftruncate(r->fd, 0) == 0 ? r->fd : -1;
}

static void send_list(struct request *r)
{
	struct s3_call *c = prepare(r, S3_GET, end_list);

	if (r->fd < 0 || !listing_print_query(r->server->s3, &r->message,
					      &r->listing, r->query)) {
		answer(r, STORE_FAILED, "the list cannot be asked for");
		return;
	}
	c->key[0] = '\0';
	c->query = r->query;
	c->reply_bytes_max = LIST_BYTES_MAX;
	c->sink = sink_list;
	send_call(r);
}

static void receive_list(struct request *r)
{
	r->fd = memfd_create("list", MFD_CLOEXEC);
	send_list(r);
}

/* -- The loop -- */

/*
 * The same request again: the helper before this one left it unread in the
 * socket, and the server has sent it once more.  Done twice, it could come
 * after a request that follows the first answer: a DELETE after the next PUT.
 */
static bool is_received_already(struct server *h, const struct message *m)
{
	if (m->kind == MESSAGE_PROBE) /* all have one number */
		return false;
	for (uint64_t i = 0; i < RECENT_MAX && i < h->received_count; i++)
		if (h->recent[i] == m->number)
			return true;
	h->recent[h->received_count++ % RECENT_MAX] = m->number;
	return false;
}

static void begin_request(struct server *h, const struct message *m, int fd)
{
	struct request *r =
		is_received_already(h, m) ? NULL : calloc(1, sizeof(*r));

	if (r == NULL) { /* out of memory: the server's deadline will pass */
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	r->server = h;
	r->message = *m;
	r->message.is_copy = false;
	r->fd = fd;
	LIST_INIT(&r->followers);
	LIST_INSERT_HEAD(&h->all, r, link);
	h->request_count++;
	h->read_count += m->kind == MESSAGE_READ;
	if (m->kind != MESSAGE_PUT && fd >= 0) {
		(void)close(fd);
		r->fd = -1;
	}
	switch (m->kind) {
	case MESSAGE_PUT:
		receive_put(r);
		break;
	case MESSAGE_READ:
		receive_read(r);
		break;
	case MESSAGE_DELETE:
		receive_delete(r);
		break;
	case MESSAGE_LIST:
		receive_list(r);
		break;
	case MESSAGE_PROBE:
		receive_probe(r);
		break;
	default:
		free_request(r);
	}
}

/* Receive what is there.  False: the other end is closed. */
static bool receive(struct server *h)
{
	struct pollfd wait = { .fd = KEEPER_SOCKET, .events = POLLIN };
	struct message m;

	for (uint32_t i = 0; i < RECEIVE_MAX; i++) {
		int fd;

		if (h->request_count >= REQUESTS_MAX || poll(&wait, 1, 0) <= 0)
			return true;
		switch (message_receive(KEEPER_SOCKET, &m, &fd)) {
		case MESSAGE_OK:
			begin_request(h, &m, fd);
			break;
		case MESSAGE_BAD:
			break;
		case MESSAGE_END:
			return false;
		}
	}
	return true;
}

void serve(struct s3 *s3, struct cache *cache)
{
	struct server h = {
		.s3 = s3,
		.cache = cache,
	};
	bool is_open = true;

	LIST_INIT(&h.all);
	while (is_open) {
		bool has_room = h.request_count < REQUESTS_MAX;

		if (s3_turn(s3, has_room ? KEEPER_SOCKET : -1, TURN_MS))
			is_open = receive(&h);
	}
	s3_drop(s3);
	while (!LIST_EMPTY(&h.all))
		free_request(LIST_FIRST(&h.all));
}
