/* SPDX-License-Identifier: MIT */
#include "service/decoder/decoder.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/decoder/protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	START_MS = 10000, /* for the program's first message */
	/*
	 * CPU time has a limit, and waiting for it another one, because a
	 * process may also be stopped, or wait for the CPU itself.
	 */
	PATIENCE = 3,
	PATIENCE_MS = 30000,
	END_MS = 2000,       /* for a process to end */
	KEPT_BYTES = 1 << 20 /* of each lane's shared memory */
};

struct lane {
	uint32_t number;
	int socket;
	int memory; /* a file; -1 once the program has it */
	uint8_t *shared;
	size_t bytes;
	uint64_t request; /* the number of the last one */
};

struct decoder {
	uint32_t formats;
	size_t file_bytes;
	int control;
	int over; /* an eventfd: readable after decoder_end_waits() */
	const char *name;
	void (*on_down)(void *arg, const char *name);
	void *arg;
	pid_t program; /* 0: not started */
	struct lane lanes[DECODER_LANES_MAX];
	uint32_t lane_count;

	pthread_mutex_t lock;
	pthread_cond_t lane_is_free;
	struct lane *free[DECODER_LANES_MAX];
	uint32_t free_count;

	_Atomic bool is_down;
	_Atomic uint64_t decoded_count, lost_count, down_count;
};

/* --- Start and end --- */

/* The other end of its socket is *theirs. */
static bool lane_open(struct lane *l, uint32_t number, size_t bytes,
		      int *theirs)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int ends[2];

	*l = (struct lane){ .number = number, .socket = -1, .bytes = bytes };
	l->memory = memfd_create("decoder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (l->memory < 0 || ftruncate(l->memory, (off_t)bytes) != 0 ||
	    fcntl(l->memory, F_ADD_SEALS, seals) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	l->socket = ends[0];
	*theirs = ends[1];
	l->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, l->memory, 0);
	return l->shared != MAP_FAILED;
}

static void lane_close(struct lane *l)
{
	if (l->socket >= 0)
		(void)close(l->socket);
	if (l->memory >= 0)
		(void)close(l->memory);
	if (l->shared != NULL && l->shared != MAP_FAILED)
		(void)munmap(l->shared, l->bytes);
}

/* The descriptors of the program, from DECODER_CONTROL on. */
enum { DESCRIPTORS_MAX = 1 + 2 * DECODER_LANES_MAX };

/*
 * In the new process.  It gets no environment: that may hold keys.  Returns
 * only if it fails.
 */
static void become_program(const char *program, char *const *arguments,
			   int *fds, int count)
{
	static char *const environment[] = { NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* First above all final numbers, then to these. */
	for (int i = 0; i < count; i++)
		fds[i] =
			fcntl(fds[i], F_DUPFD_CLOEXEC, DECODER_CONTROL + count);
	for (int i = 0; i < count; i++)
		if (dup2(fds[i], DECODER_CONTROL + i) < 0)
			return;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return;
	(void)close_range((unsigned)(DECODER_CONTROL + count), ~0U,
			  CLOSE_RANGE_CLOEXEC);
	(void)execve(program, arguments, environment);
}

static bool start_program(struct decoder *d, const struct decoder_config *c,
			  const char *program, int *fds, struct error *error)
{
	char version[DECODER_VERSION_CHARS], lanes[16], bytes_max[32];
	char *const arguments[] = { (char *)d->name, version, lanes, bytes_max,
				    NULL };
	int ends[2];
	pid_t pid;

	decoder_version(version);
	(void)snprintf(lanes, sizeof(lanes), "%" PRIu32, d->lane_count);
	(void)snprintf(bytes_max, sizeof(bytes_max), "%" PRIu64, c->bytes_max);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_fail(error, "%s", strerror(errno));
	d->control = ends[1];
	fds[0] = ends[0];
	pid = fork();
	if (pid == 0) {
		become_program(program, arguments, fds,
			       1 + 2 * (int)d->lane_count);
		_exit(127);
	}
	if (pid < 0)
		error_set(error, "%s", strerror(errno));
	(void)close(ends[0]);
	d->program = pid > 0 ? pid : 0;
	return pid > 0;
}

/* False also after decoder_end_waits(). */
static bool wait_for(const struct decoder *d, const struct lane *l,
		     uint64_t end_ns)
{
	struct pollfd waits[] = { { .fd = l->socket, .events = POLLIN },
				  { .fd = d->over, .events = POLLIN } };
	uint64_t now, ms;
	int n;

	do {
		now = clock_now_ns();
		ms = now < end_ns ? (end_ns - now) / NS_PER_MS + 1 : 0;
		n = poll(waits, 2, (int)min_u64(ms, INT_MAX));
	} while (n < 0 && errno == EINTR);
	return n > 0 && waits[0].revents != 0;
}

/* The program has started, and is of this version. */
static bool is_ready(const struct decoder *d, const char *program,
		     struct error *error)
{
	const struct lane *first = &d->lanes[0];
	union {
		struct decoder_reply reply;
		char version[DECODER_VERSION_CHARS];
	} message;
	char version[DECODER_VERSION_CHARS];
	ssize_t bytes = 0;

	if (wait_for(d, first, clock_after_ms(START_MS)))
		bytes = recv(first->socket, &message, sizeof(message), 0);
	if (bytes == sizeof(message.reply))
		return true;
	if (bytes <= 0 || bytes > DECODER_VERSION_CHARS)
		return error_fail(
			error, "%s does not start; it may have said why above",
			program);
	decoder_version(version);
	return error_fail(error,
			  "%s is of another version: it has \"%.*s\", and this "
			  "program \"%s\"",
			  program, (int)bytes, message.version, version);
}

bool decoder_explain_missing(const char *name, struct error *error)
{
	return error_fail(error,
			  "the program %s is not beside this program; without "
			  "it: %s",
			  name,
			  strcmp(name, DECODER_USUAL) == 0 ?
				  "--isolate none" :
				  "--isolate without its formats");
}

static bool start(struct decoder *d, const struct decoder_config *c,
		  struct error *error)
{
	size_t bytes = DECODER_FILE_AT + d->file_bytes + c->bytes_max;
	char path[PATH_MAX];
	const char *program = c->program;
	int fds[DESCRIPTORS_MAX];
	uint32_t opened = 0;
	bool ok;

	if (program == NULL && !file_beside_program(path, d->name))
		return decoder_explain_missing(d->name, error);
	if (program == NULL)
		program = path;
	d->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ok = d->over >= 0;
	for (; ok && opened < d->lane_count; opened += ok) {
		int *own = &fds[1 + 2 * opened];

		ok = lane_open(&d->lanes[opened], opened, bytes, &own[0]);
		own[1] = d->lanes[opened].memory;
	}
	if (!ok)
		error_set(error, "%s", strerror(errno));
	ok = ok && start_program(d, c, program, fds, error);
	for (uint32_t i = 0; i < opened; i++) {
		(void)close(fds[1 + 2 * i]);
		(void)close(d->lanes[i].memory);
		d->lanes[i].memory = -1;
	}
	return ok && is_ready(d, program, error);
}

struct decoder *decoder_start(const struct decoder_config *c,
			      struct error *error)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		error_set(error, "no memory");
		return NULL;
	}
	d->formats = c->formats;
	d->file_bytes = (c->file_bytes + DECODER_FILE_AT - 1) /
			DECODER_FILE_AT * DECODER_FILE_AT;
	d->lane_count = min_u32(c->lanes, DECODER_LANES_MAX);
	d->control = d->over = -1;
	d->name = c->name != NULL ? c->name : DECODER_USUAL;
	d->on_down = c->on_down;
	d->arg = c->arg;
	assert(d->lane_count > 0);
	for (uint32_t i = 0; i < d->lane_count; i++)
		d->lanes[i].socket = d->lanes[i].memory = -1;
	(void)pthread_mutex_init(&d->lock, NULL);
	(void)pthread_cond_init(&d->lane_is_free, NULL);
	if (!start(d, c, error)) {
		decoder_free(d);
		return NULL;
	}
	for (uint32_t i = d->lane_count; i > 0; i--)
		d->free[d->free_count++] = &d->lanes[i - 1];
	return d;
}

void decoder_free(struct decoder *d)
{
	if (d == NULL)
		return;
	if (d->control >= 0)
		(void)close(d->control);
	if (d->over >= 0)
		(void)close(d->over);
	/* A server cannot wait for processes any more, in its sandbox. */
	if (d->program > 0 && kill(d->program, SIGKILL) == 0)
		(void)waitpid(d->program, NULL, 0);
	for (uint32_t i = 0; i < d->lane_count; i++)
		lane_close(&d->lanes[i]);
	(void)pthread_cond_destroy(&d->lane_is_free);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

/* --- A file --- */

static uint32_t number_of(const struct img_format *format)
{
	uint32_t i = 0;

	while (img_formats[i] != format)
		i++;
	return i;
}

bool decoder_takes(const struct decoder *d, const struct img_format *format)
{
	return d != NULL && format != NULL &&
	       (d->formats >> number_of(format) & 1) != 0;
}

uint32_t decoder_lanes(const struct decoder *d)
{
	return d->lane_count;
}

static struct lane *lane_take(struct decoder *d)
{
	struct lane *l;

	(void)pthread_mutex_lock(&d->lock);
	while (d->free_count == 0)
		(void)pthread_cond_wait(&d->lane_is_free, &d->lock);
	l = d->free[--d->free_count];
	(void)pthread_mutex_unlock(&d->lock);
	return l;
}

static void lane_give(struct decoder *d, struct lane *l)
{
	(void)pthread_mutex_lock(&d->lock);
	d->free[d->free_count++] = l;
	(void)pthread_cond_signal(&d->lane_is_free);
	(void)pthread_mutex_unlock(&d->lock);
}

static void be_down(struct decoder *d)
{
	if (!atomic_exchange(&d->is_down, true) && d->on_down != NULL)
		d->on_down(d->arg, d->name);
}

/*
 * The next one, of whatever number.  False: none has come in time, or none can
 * come any more.
 */
static bool receive(struct decoder *d, const struct lane *l, uint64_t end_ns,
		    struct decoder_reply *reply)
{
	ssize_t n;

	if (clock_now_ns() >= end_ns || !wait_for(d, l, end_ns))
		return false;
	n = recv(l->socket, reply, sizeof(*reply), MSG_DONTWAIT);
	if (n == 0)
		be_down(d);
	return n == (ssize_t)sizeof(*reply);
}

/* End the lane's process.  What it has sent until then is forgotten. */
static void end_process(struct decoder *d, const struct lane *l)
{
	const struct decoder_end end = { l->number, l->request };
	uint64_t end_ns = clock_after_ms(END_MS);
	struct decoder_reply reply;

	(void)!write(d->control, &end, sizeof(end));
	while (receive(d, l, end_ns, &reply) &&
	       (reply.number != l->request || reply.err != IMG_ERR_LOST))
		;
}

/*
 * Wait for as long as the request may take.  A process that replies to a
 * request which it cannot have is not to be trusted.
 */
static bool wait_for_reply(struct decoder *d, const struct lane *l,
			   uint64_t cpu_ns, uint64_t end_ns,
			   struct decoder_reply *reply)
{
	uint64_t patient_ns =
		clock_after_ms(cpu_ns / NS_PER_MS * PATIENCE + PATIENCE_MS);
	bool ok;

	end_ns = end_ns == 0 ? patient_ns : min_u64(end_ns, patient_ns);
	do {
		ok = receive(d, l, end_ns, reply) &&
		     reply->number <= l->request;
	} while (ok && reply->number != l->request);
	if (!ok)
		end_process(d, l);
	return ok;
}

/* `bytes` at `offset` lie in the lane's memory, behind the file. */
static bool is_inside(const struct decoder *d, const struct lane *l,
		      uint64_t offset, uint64_t bytes)
{
	return offset >= DECODER_FILE_AT + d->file_bytes &&
	       offset <= l->bytes && bytes <= l->bytes - offset;
}

/* False: a plane is outside of the memory, or larger than in the file. */
static bool read_plane(struct img_plane *to, const struct decoder_plane *p,
		       const struct decoder *d, const struct lane *l,
		       struct img_size stored)
{
	*to = (struct img_plane){
		.samples = l->shared + p->offset,
		.width = p->width,
		.height = p->height,
		.stride_bytes = (size_t)p->stride_bytes,
		.span_x = p->span_x,
		.span_y = p->span_y,
	};
	return p->width <= stored.width_px && p->height <= stored.height_px &&
	       p->stride_bytes >= p->width && p->stride_bytes <= l->bytes &&
	       is_inside(d, l, p->offset, p->stride_bytes * p->height);
}

/* False: it is larger than it can be, or outside of the memory. */
static bool read_image(struct image *to, const struct decoder_image *from,
		       const struct decoder *d, const struct lane *l,
		       struct img_size stored, size_t profile_bytes_max)
{
	*to = (struct image){
		.plane_count = from->plane_count,
		.space = (enum img_space)from->space,
		.notes = from->notes,
		.is_srgb = from->is_srgb != 0,
	};
	if (from->plane_count > IMG_PLANES_MAX)
		return false;
	for (uint32_t i = 0; i < from->plane_count; i++)
		if (!read_plane(&to->planes[i], &from->planes[i], d, l, stored))
			return false;
	if (from->profile_bytes == 0)
		return true;
	to->profile = l->shared + from->profile_offset;
	to->profile_bytes = (size_t)from->profile_bytes;
	return from->profile_bytes <= profile_bytes_max &&
	       is_inside(d, l, from->profile_offset, from->profile_bytes);
}

static struct img_gain read_gain(const struct decoder_gain *from)
{
	struct img_gain gain = {
		.channel_count = from->channel_count,
		.uses_base_colours = from->uses_base_colours != 0,
		.base_headroom = from->base_headroom,
		.other_headroom = from->other_headroom,
	};

	for (size_t i = 0; i < ARRAY_SIZE(from->channels); i++) {
		gain.channels[i].min = from->channels[i].min;
		gain.channels[i].max = from->channels[i].max;
		gain.channels[i].gamma = from->channels[i].gamma;
		gain.channels[i].base_offset = from->channels[i].base_offset;
		gain.channels[i].other_offset = from->channels[i].other_offset;
	}
	return gain;
}

/* Copy the picture, and its map if it has one, out of the shared memory. */
static enum img_err take_image(struct image *dst,
			       const struct decoder_reply *reply,
			       const struct decoder *d, const struct lane *l,
			       const struct img_header *header,
			       bool may_have_map, const struct memory *memory)
{
	struct img_gainmap map;
	struct img_header map_header;
	struct image src;

	if (!read_image(&src, &reply->image, d, l, header->stored,
			header->icc_bytes))
		return IMG_ERR_LOST;
	if (reply->has_map != 0) {
		if (!may_have_map || !img_gainmap_header(&map_header, header) ||
		    !read_image(&map.image, &reply->map, d, l,
				map_header.stored,
				IMG_GAINMAP_PROFILE_BYTES_MAX))
			return IMG_ERR_LOST;
		map.gain = read_gain(&reply->gain);
		map.stored = map_header.stored;
		map.base_stored = header->stored;
		src.gainmap = &map;
	}
	return img_copy(dst, &src, memory);
}

/* Give what the lane has used back to the system. */
static void empty(const struct decoder *d, const struct lane *l)
{
	size_t at = DECODER_FILE_AT + d->file_bytes;

	(void)madvise(l->shared + DECODER_FILE_AT, d->file_bytes, MADV_REMOVE);
	if (l->bytes > at + KEPT_BYTES)
		(void)madvise(l->shared + at + KEPT_BYTES,
			      l->bytes - at - KEPT_BYTES, MADV_REMOVE);
}

/* False: the format never has this error, or has had it before. */
static bool is_possible(enum img_err err, const struct img_header *header)
{
	struct img_header copy = *header;

	switch (err) {
	case IMG_ERR_IRREGULAR:
	case IMG_ERR_NEEDS_ALL_SCANS:
	case IMG_ERR_TEXTURE:
		return img_decode_again(&copy, err);
	default:
		return true;
	}
}

bool decoder_is_up(struct decoder *d)
{
	struct pollfd wait;

	if (d == NULL)
		return true;
	wait = (struct pollfd){ .fd = d->lanes[0].socket };
	if (!atomic_load(&d->is_down) && poll(&wait, 1, 0) > 0 &&
	    (wait.revents & POLLHUP) != 0)
		be_down(d);
	return !atomic_load(&d->is_down);
}

void decoder_end_waits(struct decoder *d)
{
	const uint64_t one = 1;

	if (d != NULL)
		(void)!write(d->over, &one, sizeof(one));
}

/* Replies to requests that were not made: of a process that has ended. */
static void forget_replies(const struct lane *l)
{
	struct decoder_reply reply;

	while (recv(l->socket, &reply, sizeof(reply), MSG_DONTWAIT) > 0)
		;
}

/* Send the request, and wait for its reply.  Its lane was waited for. */
static enum img_err ask(struct decoder *d, struct lane *l,
			struct decoder_request *request, uint64_t end_ns,
			struct decoder_reply *reply)
{
	if (end_ns != 0 && clock_now_ns() >= end_ns)
		return IMG_ERR_LOST;
	forget_replies(l);
	request->number = ++l->request;
	request->file_bytes_max = d->file_bytes;
	if (send(l->socket, request, sizeof(*request), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(*request) ||
	    !wait_for_reply(d, l, request->cpu_ns, end_ns, reply) ||
	    reply->err > IMG_ERR_LOST)
		return IMG_ERR_LOST;
	return (enum img_err)reply->err;
}

static enum img_err
ask_for_image(struct decoder *d, struct lane *l, struct image *dst,
	      struct decoder_request *request, struct decoder_time *time,
	      const struct img_header *header, const struct memory *memory)
{
	struct decoder_reply reply;
	uint64_t start_ns, took_ns;
	enum img_err err;

	request->format = number_of(header->format);
	start_ns = clock_now_ns();
	err = ask(d, l, request, time->end_ns, &reply);
	took_ns = clock_now_ns() - start_ns;
	if (err != IMG_OK)
		return is_possible(err, header) ? err : IMG_ERR_LOST;
	err = take_image(dst, &reply, d, l, header,
			 request->transform.keep_gainmap, memory);
	/* It is not more, whatever the process says. */
	time->cpu_ns = err == IMG_OK ? min_u64(reply.cpu_ns, took_ns) : 0;
	return err;
}

/* Copy the result out of the shared memory. */
static enum img_err ask_for_result(struct decoder *d, struct lane *l,
				   const struct decoder_repack *r,
				   size_t *count)
{
	struct decoder_request request = {
		.operation =
			r->what == IMG_PACK ? DECODER_PACK : DECODER_RESTORE,
		.is_idle = r->is_idle,
		.cpu_ns = r->cpu_ns,
		.file_bytes = r->count,
		.result_bytes_max = r->room,
	};
	uint64_t at = DECODER_FILE_AT + d->file_bytes;
	struct decoder_reply reply;
	enum img_err err = ask(d, l, &request, r->end_ns, &reply);

	if (err != IMG_OK)
		return err;
	if (reply.result_bytes > r->room ||
	    !is_inside(d, l, at, reply.result_bytes))
		return IMG_ERR_LOST;
	*count = (size_t)reply.result_bytes;
	(void)memcpy(r->to, l->shared + at, *count);
	return IMG_OK;
}

/* A lane with the file in its shared memory. */
static struct lane *begin(struct decoder *d, const uint8_t *bytes, size_t count)
{
	struct lane *l = lane_take(d);

	(void)memcpy(l->shared + DECODER_FILE_AT, bytes, count);
	return l;
}

/* Give the lane back, and count.  Returns what `err` means. */
static enum img_err end(struct decoder *d, struct lane *l, enum img_err err)
{
	if (err == IMG_ERR_LOST && !decoder_is_up(d))
		err = IMG_ERR_NO_DECODER;
	empty(d, l);
	lane_give(d, l);
	atomic_fetch_add(&d->decoded_count, 1);
	if (err == IMG_ERR_LOST)
		atomic_fetch_add(&d->lost_count, 1);
	if (err == IMG_ERR_NO_DECODER)
		atomic_fetch_add(&d->down_count, 1);
	return err;
}

enum img_err decoder_decode(struct decoder *d, struct image *dst,
			    const uint8_t *bytes, size_t count,
			    const struct img_header *header,
			    const struct img_view *view,
			    const struct img_transform *transform,
			    const struct img_limits *limits,
			    struct decoder_time *time,
			    const struct memory *memory)
{
	struct decoder_request request = {
		.operation = DECODER_DECODE,
		.cpu_ns = time->cpu_ns_max,
		.file_bytes = count,
		.header = *header,
		.view = *view,
		.transform = *transform,
		.limits = *limits,
	};
	/* Who pauses with a lane may wait for those who wait for lanes. */
	struct memory unpaused = *memory;
	struct lane *l;
	enum img_err err;
	unpaused.pause = NULL;
	time->cpu_ns = 0;
	if (count > d->file_bytes)
		return IMG_ERR_TOO_LARGE;
	request.header.format = NULL;
	l = begin(d, bytes, count);
	err = decoder_is_up(d) ? ask_for_image(d, l, dst, &request, time,
					       header, &unpaused) :
				 IMG_ERR_NO_DECODER;
	err = end(d, l, err);
	if (err == IMG_OK)
		dst->memory = memory;
	memory_pause(memory);
	return err;
}

enum img_err decoder_repack(struct decoder *d, const struct decoder_repack *r,
			    size_t *count)
{
	struct lane *l;

	*count = 0;
	if (r->count > d->file_bytes)
		return IMG_ERR_TOO_LARGE;
	l = begin(d, r->bytes, r->count);
	return end(d, l,
		   decoder_is_up(d) ? ask_for_result(d, l, r, count) :
				      IMG_ERR_NO_DECODER);
}

uint64_t decoder_extra_bytes(size_t file_bytes, uint64_t decode_bytes)
{
	/* The shared planes, and what the process allocates for them. */
	return file_bytes + 2 * decode_bytes;
}

void decoder_read(const struct decoder *d, struct decoder_stats *out)
{
	*out = (struct decoder_stats){
		.decoded_count = atomic_load(&d->decoded_count),
		.lost_count = atomic_load(&d->lost_count),
		.down_count = atomic_load(&d->down_count),
	};
}
