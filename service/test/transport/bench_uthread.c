/* SPDX-License-Identifier: MIT */
/*
 * What user-level threads of connections cost, in each model: a table.
 *
 *	bench_uthread [ROUNDS]
 *
 * Switch: two threads wake each other in turn and wait.  A switch is one return
 * of uthread_wait().  Memory: of 10,000 threads that wait, what is resident for
 * each; the kernel's own memory is not part of it.
 */
#include "base/error.h"
#include "service/direct/uthread.h"

#include "base/clock.h"
#include "base/quantiles.h"
#include "base/machine_usage.h"
#include "base/test/check.h"
#include "stages/stage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SWITCHES = 200000,
	PARKED = 10000,
	FILES_SPARE = 100, /* open besides those of parked threads */
	BUFFER_BYTES = 65536,
	ROUNDS_MAX = 99,
};

struct model {
	const char *name;
	struct thread_model model;
};

static const struct model models[] = {
	{ "1:1 sync", { .mapping = THREADS_1_TO_1, .io = THREADS_IO_SYNC } },
	{ "n:m sync", { .mapping = THREADS_N_TO_M, .io = THREADS_IO_SYNC } },
	{ "n:m async", { .mapping = THREADS_N_TO_M, .io = THREADS_IO_ASYNC } },
	{ "n:1 async", { .mapping = THREADS_N_TO_1, .io = THREADS_IO_ASYNC } },
};

enum figure {
	SWITCH_WALL_NS,
	SWITCH_CPU_NS,
	WAIT_BYTES,     /* threads in uthread_wait() */
	TRANSFER_BYTES, /* threads in uthread_transfer() */
	FIGURES
};

static const char *const titles[FIGURES] = {
	[SWITCH_WALL_NS] = "ns per switch",
	[SWITCH_CPU_NS] = "CPU ns per switch",
	[WAIT_BYTES] = "bytes per waiting thread",
	[TRANSFER_BYTES] = "bytes per thread at a socket",
};

static struct cores *cores;

static struct uthreads *start(const struct model *m, uint32_t threads_max)
{
	struct uthreads *u = uthreads_start(&(struct uthreads_config){
		.model = &m->model,
		.cores = cores,
		.threads_max = threads_max,
		.buffer_bytes = BUFFER_BYTES,
	});

	CHECK(u != NULL);
	return u;
}

static struct uthreads_counts read_counts(const struct uthreads *u)
{
	struct uthreads_counts c;

	uthreads_read(u, &c);
	return c;
}

/* --- Switches --- */

struct player {
	struct player *other;
	struct uthread *thread; /* written before it waits */
	bool is_first;
};

static void play(void *arg)
{
	struct player *p = arg;

	p->thread = uthread_self();
	uthread_wait();
	for (int i = 0; i < SWITCHES / 2; i++) {
		uthread_wake(p->other->thread);
		uthread_wait();
	}
	if (p->is_first)
		uthread_wake(p->other->thread);
}

static void measure_switches(const struct model *m, double out[FIGURES])
{
	static struct player players[2];
	struct uthreads *u = start(m, 2);
	uint64_t from_ns, from_cpu_ns;

	for (int i = 0; i < 2; i++) {
		players[i] = (struct player){ .other = &players[1 - i],
					      .is_first = i == 0 };
		CHECK(uthread_spawn(u, play, &players[i]));
	}
	while (read_counts(u).waiting_count < 2)
		(void)sched_yield();
	from_ns = clock_now_ns();
	from_cpu_ns = clock_cpu_ns();
	uthread_wake(players[0].thread);
	uthreads_stop(u);
	out[SWITCH_WALL_NS] = (double)(clock_now_ns() - from_ns) / SWITCHES;
	out[SWITCH_CPU_NS] = (double)(clock_cpu_ns() - from_cpu_ns) / SWITCHES;
}

/* --- Memory --- */

struct parked {
	struct uthread *thread;
	int fd; /* -1: it does not wait for a socket */
};

static struct parked parked[PARKED];

/* Until the other end is closed. */
static enum transfer_need read_end(void *arg, char *buffer, size_t bytes)
{
	const struct parked *p = arg;

	return recv(p->fd, buffer, bytes, 0) < 0 ? TRANSFER_NEEDS_INPUT :
						   TRANSFER_DONE;
}

static void park(void *arg)
{
	struct parked *p = arg;

	p->thread = uthread_self();
	if (p->fd < 0) {
		uthread_wait();
		return;
	}
	uthread_transfer(p->fd, read_end, p);
	(void)close(p->fd);
}

static double measure_parked(const struct model *m, int fd)
{
	double bytes = machine_resident_bytes();
	struct uthreads *u = start(m, PARKED);
	struct uthreads_counts c;

	for (int i = 0; i < PARKED; i++) {
		parked[i].fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
		CHECK(fd < 0 || parked[i].fd >= 0);
		CHECK(uthread_spawn(u, park, &parked[i]));
	}
	do {
		(void)usleep(10000);
		c = read_counts(u);
	} while (c.waiting_count + c.transferring_count < PARKED);
	(void)usleep(100000); /* the last ones still go to sleep */
	bytes = (machine_resident_bytes() - bytes) / PARKED;
	for (int i = 0; i < PARKED && fd < 0; i++)
		uthread_wake(parked[i].thread);
	if (fd >= 0)
		(void)shutdown(fd, SHUT_RDWR);
	uthreads_stop(u);
	return bytes;
}

static double measure_waiting(const struct model *m)
{
	return measure_parked(m, -1);
}

static double measure_at_socket(const struct model *m)
{
	bool blocks = m->model.mapping == THREADS_1_TO_1;
	int fds[2];

	CHECK_NUMBER(socketpair(AF_UNIX,
				SOCK_STREAM | (blocks ? 0 : SOCK_NONBLOCK), 0,
				fds),
		     ==, 0);
	return measure_parked(m, fds[0]);
}

static double measure_apart(double (*measure)(const struct model *),
			    const struct model *m)
{
	double value = 0;
	int fds[2], status;
	pid_t child;

	CHECK_NUMBER(pipe(fds), ==, 0);
	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		value = measure(m);
		_exit(write(fds[1], &value, sizeof(value)) != sizeof(value));
	}
	CHECK_NUMBER(child, >, 0);
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	CHECK_NUMBER(status, ==, 0);
	CHECK_NUMBER(read(fds[0], &value, sizeof(value)), ==, sizeof(value));
	(void)close(fds[0]);
	(void)close(fds[1]);
	return value;
}

/* --- The table --- */

static void run_model(const struct model *m, uint32_t round_count)
{
	static double values[FIGURES][ROUNDS_MAX];

	for (uint32_t i = 0; i < round_count; i++) {
		double out[FIGURES];

		measure_switches(m, out);
		out[WAIT_BYTES] = measure_apart(measure_waiting, m);
		out[TRANSFER_BYTES] = measure_apart(measure_at_socket, m);
		for (int k = 0; k < FIGURES; k++)
			values[k][i] = out[k];
	}
	(void)printf("| %s ", m->name);
	for (int k = 0; k < FIGURES; k++) {
		quantiles_sort(values[k], round_count);
		(void)printf("| %.0f (%.0f - %.0f) ",
			     quantile_between(values[k], round_count, 0.5),
			     values[k][0], values[k][round_count - 1]);
	}
	(void)printf("|\n");
}

int main(int argc, char **argv)
{
	uint32_t round_count = argc > 1 ? (uint32_t)atoi(argv[1]) : 5;
	struct rlimit files = { 0 };
	struct error why;

	if (round_count < 1 || round_count > ROUNDS_MAX) {
		(void)fprintf(stderr, "usage: bench_uthread [ROUNDS]\n");
		return 2;
	}
	(void)getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = PARKED + FILES_SPARE;
	cores = cores_new(NULL, why.text);
	if (cores == NULL || setrlimit(RLIMIT_NOFILE, &files) != 0) {
		(void)fprintf(stderr, "bench_uthread: no cores or files\n");
		return 1;
	}
	(void)printf("%" PRIu32 " cores; medians of %" PRIu32
		     " runs (least - most)\n\n| model ",
		     cores_count(cores), round_count);
	for (int k = 0; k < FIGURES; k++)
		(void)printf("| %s ", titles[k]);
	(void)printf("|\n|---");
	for (int k = 0; k < FIGURES; k++)
		(void)printf("|--:");
	(void)printf("|\n");
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		run_model(&models[i], round_count);
	cores_free(cores);
	return 0;
}
