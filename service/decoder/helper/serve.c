/* SPDX-License-Identifier: MIT */
/*
 *	keeper --fork--> forker --fork--> a process for each lane
 *
 * Each has one thread.  The forker waits: for a lane with a request and without
 * a process it forks; when a process has ended, it says which request was lost.
 * The keeper does nothing but start a new forker when that has ended, because
 * the server cannot start anything any more.  A process that is stopped
 * (SIGSTOP) is ended, too: nobody else would notice.
 */
#include "service/decoder/helper/serve.h"

#include "base/clock.h"
#include "base/take.h"
#include "base/util.h"
#include "service/decoder/helper/jail.h"
#include "service/decoder/protocol.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	/*
	 * After this part of its CPU time a file is no longer worth that others
	 * wait for it.
	 */
	SLOW_PART = 4,
	BLOCK_ALIGN = 64,
	FORK_PAUSE_MS = 20,
	/* A freed block of this size goes back to the system. */
	MALLOC_KEPT_BYTES = 1 << 20,
};

struct lane {
	int socket;
	int memory;
	struct decoder_shared *shared;
	size_t bytes; /* of the shared memory */
	pid_t process;
	uint64_t first; /* request of the process */
	uint64_t lost;  /* a request, if owes_lost */
	bool owes_lost;
	uint64_t ended; /* the last request that the server has ended */
};

/*
 * Memory for img_decode(): the shared memory after the file, from which the
 * server copies the planes.  Freed blocks are used again only for the next
 * file.
 */
struct blocks {
	uint8_t *next;
	size_t left_bytes;
};

static void *take_block(void *arg, size_t bytes)
{
	struct blocks *b = arg;
	size_t whole = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	uint8_t *block = b->next;

	if (whole < bytes || whole > b->left_bytes)
		return NULL;
	b->next += whole;
	b->left_bytes -= whole;
	return block;
}

static void leave_block(void *arg, void *block)
{
	(void)arg;
	(void)block;
}

static void describe(struct decoder_image *to, const struct image *img,
		     const uint8_t *shared)
{
	to->plane_count = img->plane_count;
	to->space = img->space;
	to->notes = img->notes;
	to->is_srgb = img->is_srgb;
	to->profile_bytes = img->profile_bytes;
	if (img->profile != NULL)
		to->profile_offset = (uint64_t)(img->profile - shared);
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		to->planes[i] = (struct decoder_plane){
			.offset = (uint64_t)(p->samples - shared),
			.stride_bytes = p->stride_bytes,
			.width = p->width,
			.height = p->height,
			.span_x = p->span_x,
			.span_y = p->span_y,
		};
	}
}

static void describe_gain(struct decoder_gain *to, const struct img_gain *gain)
{
	*to = (struct decoder_gain){
		.channel_count = gain->channel_count,
		.uses_base_colours = gain->uses_base_colours,
		.base_headroom = gain->base_headroom,
		.other_headroom = gain->other_headroom,
	};
	for (size_t i = 0; i < ARRAY_SIZE(to->channels); i++) {
		to->channels[i].min = gain->channels[i].min;
		to->channels[i].max = gain->channels[i].max;
		to->channels[i].gamma = gain->channels[i].gamma;
		to->channels[i].base_offset = gain->channels[i].base_offset;
		to->channels[i].other_offset = gain->channels[i].other_offset;
	}
}

static void describe_all(struct decoder_reply *reply, const struct image *img,
			 const uint8_t *shared)
{
	describe(&reply->image, img, shared);
	reply->has_map = img->gainmap != NULL;
	if (img->gainmap == NULL)
		return;
	describe(&reply->map, &img->gainmap->image, shared);
	describe_gain(&reply->gain, &img->gainmap->gain);
}

/* 0: no limit from now on. */
static void limit_cpu(uint64_t ns)
{
	const struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ns / 1000000000),
			      .tv_usec = (suseconds_t)(ns / 1000 % 1000000) },
	};

	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

static struct {
	uint64_t left_ns;              /* CPU time after the first part */
	volatile sig_atomic_t is_slow; /* the first part is over */
} slowness;

/* SIGPROF.  The next one ends the process. */
static void be_slow(int number)
{
	(void)signal(number, SIG_DFL);
	(void)setpriority(PRIO_PROCESS, 0, JAIL_SLOW_NICE);
	slowness.is_slow = 1;
	limit_cpu(slowness.left_ns);
}

static void limit_cpu_in_parts(uint64_t ns)
{
	slowness.left_ns = ns - ns / SLOW_PART;
	(void)signal(SIGPROF, be_slow);
	limit_cpu(ns / SLOW_PART);
}

static void decode(struct decoder_reply *reply, struct decoder_request *q,
		   const struct lane *l, decode_fn *run)
{
	uint8_t *shared = (uint8_t *)l->shared;
	size_t blocks_at = DECODER_FILE_AT + (size_t)q->file_bytes_max;
	struct blocks blocks = { shared + blocks_at, l->bytes - blocks_at };
	const struct memory memory = { .alloc = take_block,
				       .free = leave_block,
				       .arg = &blocks };
	struct image img = { 0 };

	q->header.format = img_formats[q->format];
	reply->err =
		run(&img, shared + DECODER_FILE_AT, (size_t)q->file_bytes,
		    &q->header, &q->view, &q->transform, &q->limits, &memory);
	if (reply->err == IMG_OK)
		describe_all(reply, &img, shared);
}

/* The result is where the planes of a picture would be. */
static void repack(struct decoder_reply *reply, const struct decoder_request *q,
		   const struct lane *l, repack_fn *run)
{
	uint8_t *shared = (uint8_t *)l->shared;
	size_t at = DECODER_FILE_AT + (size_t)q->file_bytes_max, count = 0;
	size_t room = (size_t)min_u64(q->result_bytes_max, l->bytes - at);

	reply->err = IMG_ERR_UNSUPPORTED;
	if (run != NULL)
		reply->err = run(
			q->operation == DECODER_PACK ? IMG_PACK : IMG_RESTORE,
			shared + at, room, &count, shared + DECODER_FILE_AT,
			(size_t)q->file_bytes);
	reply->result_bytes = count;
}

static void answer(struct decoder_reply *reply, struct decoder_request *q,
		   const struct lane *l, const struct decoder_work *work)
{
	*reply = (struct decoder_reply){ .number = q->number };
	if (q->is_idle && !work->is_prompt)
		jail_be_idle();
	limit_cpu_in_parts(q->cpu_ns);
	reply->cpu_ns = clock_cpu_ns();
	if (q->operation == DECODER_DECODE)
		decode(reply, q, l, work->decode);
	else
		repack(reply, q, l, work->repack);
	reply->cpu_ns = clock_cpu_ns() - reply->cpu_ns;
	limit_cpu(0);
}

/*
 * The next request.  False: the server has ended.  `taken` is set first, so
 * that no request is lost without the parent knowing which.
 */
static bool take(struct decoder_request *q, const struct lane *l)
{
	ssize_t n;

	do {
		n = recv(l->socket, q, sizeof(*q), MSG_PEEK);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*q))
		return false;
	atomic_store(&l->shared->taken, q->number);
	return recv(l->socket, q, sizeof(*q), 0) == (ssize_t)sizeof(*q);
}

/* In the new process. */
static _Noreturn void decode_files(struct lane *lanes, uint32_t count,
				   const struct lane *own, pid_t parent,
				   uint64_t bytes_max,
				   const struct decoder_work *work)
{
	struct decoder_request request;
	struct decoder_reply reply;
	sigset_t none;
	bool is_jailed;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent) /* it had ended before */
		_exit(EXIT_FAILURE);
	for (uint32_t i = 0; i < count; i++)
		if (&lanes[i] != own)
			(void)munmap(lanes[i].shared, lanes[i].bytes);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)mallopt(M_MMAP_THRESHOLD, MALLOC_KEPT_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, MALLOC_KEPT_BYTES);
	is_jailed = jail_enter(own->socket, bytes_max);
	while (take(&request, own)) {
		if (is_jailed)
			answer(&reply, &request, own, work);
		else
			reply = (struct decoder_reply){ .number =
								request.number,
							.err = IMG_ERR_LOST };
		/* Its priority cannot be raised again. */
		if (send(own->socket, &reply, sizeof(reply), MSG_NOSIGNAL) <
			    0 ||
		    slowness.is_slow || request.is_idle)
			break;
	}
	_exit(EXIT_SUCCESS);
}

/* The server may have to read other messages first, if a process sent many. */
static void tell_lost(struct lane *l)
{
	const struct decoder_reply lost = {
		.number = l->lost,
		.err = IMG_ERR_LOST,
	};

	l->owes_lost = send(l->socket, &lost, sizeof(lost),
			    MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
		       (errno == EAGAIN || errno == EINTR);
}

/* The number of the request that waits, or 0. */
static uint64_t waiting(const struct lane *l)
{
	struct decoder_request q;

	return recv(l->socket, &q, sizeof(q), MSG_PEEK | MSG_DONTWAIT) ==
			       (ssize_t)sizeof(q) ?
		       q.number :
		       0;
}

/*
 * Remove the requests that wait and that the server has ended.  True: the last
 * one that it ended was among them.
 */
static bool remove_ended(const struct lane *l)
{
	struct decoder_request q;
	uint64_t number, last = 0;

	while ((number = waiting(l)) != 0 && number <= l->ended) {
		(void)!recv(l->socket, &q, sizeof(q), MSG_DONTWAIT);
		last = number;
	}
	return last != 0 && last == l->ended;
}

/* Its process has ended, perhaps before it took the request that was ended. */
static void lose(struct lane *l)
{
	l->process = 0;
	l->lost = remove_ended(l) ? l->ended : atomic_load(&l->shared->taken);
	tell_lost(l);
}

static void collect(struct lane *lanes, uint32_t count)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			(void)kill(pid, SIGKILL);
			continue;
		}
		for (uint32_t i = 0; i < count; i++)
			if (lanes[i].process == pid)
				lose(&lanes[i]);
	}
}

/* Without a process, because none can be made, the request waits. */
static void end_request(struct lane *l, uint64_t number)
{
	l->ended = number;
	if (l->process > 0 && number >= l->first) {
		(void)kill(l->process, SIGKILL);
	} else if (l->process <= 0 && remove_ended(l)) {
		l->lost = number;
		tell_lost(l);
	}
}

/* False: the server has ended. */
static bool take_control(struct lane *lanes, uint32_t count)
{
	struct decoder_end ends[DECODER_LANES_MAX];
	ssize_t n = read(DECODER_CONTROL, ends, sizeof(ends));

	for (ssize_t i = 0; i < n / (ssize_t)sizeof(ends[0]); i++)
		if (ends[i].lane < count)
			end_request(&lanes[ends[i].lane], ends[i].number);
	return n > 0 || (n < 0 && errno == EINTR);
}

static bool lane_open(struct lane *l, uint32_t number)
{
	struct stat file;

	*l = (struct lane){ .socket = DECODER_LANES + 2 * (int)number,
			    .memory = DECODER_LANES + 2 * (int)number + 1 };
	if (fstat(l->memory, &file) != 0)
		return false;
	l->bytes = (size_t)file.st_size;
	l->shared = mmap(NULL, l->bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_NORESERVE, l->memory, 0);
	return l->shared != MAP_FAILED;
}

/* -1: it cannot be made. */
static int open_signals(void)
{
	sigset_t child;

	/* Whatever the server was started with. */
	(void)signal(SIGCHLD, SIG_DFL);
	(void)signal(SIGPROF, SIG_DFL);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void wait_and_fork(struct lane *lanes, uint32_t count, int signals,
			  uint64_t bytes_max, const struct decoder_work *work)
{
	struct pollfd waits[2 + DECODER_LANES_MAX] = {
		{ .fd = DECODER_CONTROL, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	struct signalfd_siginfo ignored;
	pid_t parent = getpid();

	for (bool is_over = false; !is_over;) {
		for (uint32_t i = 0; i < count; i++)
			waits[2 + i] = (struct pollfd){
				.fd = lanes[i].process > 0 ? -1 :
							     lanes[i].socket,
				.events = lanes[i].owes_lost ? POLLOUT : POLLIN,
			};
		(void)poll(waits, 2 + count, -1);
		if (waits[1].revents != 0)
			(void)!read(signals, &ignored, sizeof(ignored));
		collect(lanes, count);
		if (waits[0].revents != 0)
			is_over = !take_control(lanes, count);
		for (uint32_t i = 0; i < count; i++) {
			if (lanes[i].process > 0 || waits[2 + i].revents == 0)
				continue;
			if (lanes[i].owes_lost) {
				tell_lost(&lanes[i]);
				continue;
			}
			lanes[i].first = waiting(&lanes[i]);
			lanes[i].process = fork();
			if (lanes[i].process < 0) /* there are too many */
				(void)poll(NULL, 0, FORK_PAUSE_MS);
			if (lanes[i].process == 0)
				decode_files(lanes, count, &lanes[i], parent,
					     bytes_max, work);
		}
	}
}

/* In the new process. */
static _Noreturn void be_forker(struct lane *lanes, uint32_t count,
				pid_t keeper, uint64_t bytes_max,
				const struct decoder_work *work)
{
	int signals = open_signals();

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "decoder-forker", 0, 0, 0);
	if (signals < 0 || getppid() != keeper)
		_exit(EXIT_FAILURE);
	wait_and_fork(lanes, count, signals, bytes_max, work);
	for (uint32_t i = 0; i < count; i++)
		if (lanes[i].process > 0)
			(void)kill(lanes[i].process, SIGKILL);
	_exit(EXIT_SUCCESS);
}

/*
 * Until the forker and all of its processes have ended.  True: because the
 * server has.
 */
static bool wait_for_forker(pid_t forker)
{
	bool is_over = false;
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WUNTRACED)) > 0 || errno == EINTR) {
		if (pid > 0 && WIFSTOPPED(status))
			(void)kill(pid, SIGKILL);
		else if (pid == forker)
			is_over = WIFEXITED(status) &&
				  WEXITSTATUS(status) == EXIT_SUCCESS;
	}
	return is_over;
}

/* Before the next try.  True: the server has ended. */
static bool pause_for_fork(void)
{
	struct pollfd control = { .fd = DECODER_CONTROL };

	return poll(&control, 1, FORK_PAUSE_MS) > 0;
}

/*
 * A process that decodes nothing.  It is tried at the start, so that files are
 * not blamed.
 */
static bool can_jail(int socket, uint64_t bytes_max)
{
	pid_t pid = fork(), ended;
	int status = 0;

	if (pid == 0) {
		bool ok = jail_enter(socket, bytes_max);

		_exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	do {
		ended = pid > 0 ? waitpid(pid, &status, 0) : -1;
	} while (ended < 0 && pid > 0 && errno == EINTR);
	if (pid > 0 && ended == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) == EXIT_SUCCESS)
		return true;
	(void)fprintf(stderr,
		      "%s: a process cannot give up its rights: does the "
		      "system allow seccomp?  Without it: --isolate none\n",
		      program_invocation_short_name);
	return false;
}

int decoder_serve(uint32_t count, uint64_t bytes_max,
		  const struct decoder_work *work)
{
	const struct decoder_reply ready = { .number = 0 };
	struct lane lanes[DECODER_LANES_MAX];
	int signals = open_signals();
	pid_t keeper = getpid(), forker;

	for (uint32_t i = 0; i < count; i++)
		if (!lane_open(&lanes[i], i))
			return EXIT_FAILURE;
	if (signals < 0 || close(signals) != 0 ||
	    !can_jail(lanes[0].socket, bytes_max) ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
	    send(lanes[0].socket, &ready, sizeof(ready), MSG_NOSIGNAL) < 0)
		return EXIT_FAILURE;
	do {
		forker = fork();
		if (forker == 0)
			be_forker(lanes, count, keeper, bytes_max, work);
		if (forker > 0 && wait_for_forker(forker))
			break;
		for (uint32_t i = 0; forker > 0 && i < count; i++)
			lose(&lanes[i]);
	} while (!pause_for_fork());
	return EXIT_SUCCESS;
}

int decoder_main(int argc, char **argv, const struct decoder_work *work)
{
	char version[DECODER_VERSION_CHARS];
	uint64_t lanes, bytes_max;

	decoder_version(version);
	if (argc == 4 && strcmp(argv[1], version) != 0 &&
	    send(DECODER_LANES, version, strlen(version), MSG_NOSIGNAL) > 0)
		return 2;
	if (argc != 4 || strcmp(argv[1], version) != 0 ||
	    !number_read_whole(argv[2], 1, DECODER_LANES_MAX, &lanes) ||
	    !number_read_whole(argv[3], 1, UINT64_MAX, &bytes_max)) {
		(void)fprintf(stderr,
			      "%s is started by a darkroom that is built alike "
			      "(%s), and by nobody else\n",
			      program_invocation_short_name, version);
		return 2;
	}
	return decoder_serve((uint32_t)lanes, bytes_max, work);
}
