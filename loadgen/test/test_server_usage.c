/* SPDX-License-Identifier: MIT */
/*
 * Processes are found by the address at which they listen, and the usage of
 * real child processes is measured.
 */
#include "loadgen/report/server_usage.h"

#include "base/test/check.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MEMORY_BYTES = 128 << 20, SLEEPS = 50 };

/*
 * In a child: a pipe whose other end the parent closes when the child must end.
 */
static int life_fd;

/*
 * A child that works when the parent tells it to, reports the end of the work,
 * and then waits until the parent ends it.
 */
struct child {
	pid_t pid;
	int tell; /* a byte starts the work, closing ends the child */
	int hear;
};

/* Wait until the parent tells this child to work or to end. */
static void await_parent(void)
{
	char byte;

	if (read(life_fd, &byte, 1) != 1)
		_exit(0);
}

static void start(struct child *c, void (*work)(void))
{
	int down[2], up[2];

	CHECK_NUMBER(pipe(down), ==, 0);
	CHECK_NUMBER(pipe(up), ==, 0);
	c->pid = fork();
	CHECK_NUMBER(c->pid, >=, 0);
	if (c->pid == 0) {
		close(down[1]);
		close(up[0]);
		life_fd = down[0];
		await_parent();
		work();
		CHECK_NUMBER(write(up[1], "", 1), ==, 1);
		for (;;)
			await_parent();
	}
	close(down[0]);
	close(up[1]);
	c->tell = down[1];
	c->hear = up[0];
}

static void let_work(const struct child *c)
{
	char byte;

	CHECK_NUMBER(write(c->tell, "", 1), ==, 1);
	CHECK_NUMBER(read(c->hear, &byte, 1), ==, 1);
}

static void stop(const struct child *c)
{
	close(c->tell);
	close(c->hear);
	CHECK_NUMBER(waitpid(c->pid, NULL, 0), ==, c->pid);
}

static struct server_usage usage_of(void (*work)(void))
{
	struct processes processes = { 0 };
	struct server_watch watch;
	struct server_usage usage;
	struct child c;

	start(&c, work);
	CHECK(processes_add_pid(&processes, c.pid));
	CHECK_NUMBER(processes.count, ==, 1);
	CHECK_NUMBER(processes.pids[0], ==, c.pid);
	server_watch_begin(&watch, &processes);
	let_work(&c);
	server_watch_end(&watch, &usage);
	stop(&c);
	CHECK_NUMBER(usage.processes.count, >=, 1);
	return usage;
}

static long cpu_ns(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return cpu.tv_sec * 1000000000L + cpu.tv_nsec;
}

/* Use 0.3 s of CPU time, half in user mode and half in the kernel. */
static void burn(void)
{
	while (cpu_ns() < 150000000)
		for (volatile int i = 0; i < 100000; i++)
			;
	while (cpu_ns() < 300000000)
		getppid();
}

static void burn_in_a_child(void)
{
	pid_t pid = fork();

	CHECK_NUMBER(pid, >=, 0);
	if (pid == 0) {
		burn();
		_exit(0);
	}
	CHECK_NUMBER(waitpid(pid, NULL, 0), ==, pid);
}

static void burn_in_a_child_that_stays(void)
{
	int done[2];
	char byte;

	CHECK_NUMBER(pipe(done), ==, 0);
	if (fork() == 0) {
		burn();
		CHECK_NUMBER(write(done[1], "", 1), ==, 1);
		await_parent();
	}
	CHECK_NUMBER(read(done[0], &byte, 1), ==, 1);
}

static void map_and_release(void)
{
	char *bytes = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(bytes != MAP_FAILED);
	memset(bytes, 1, MEMORY_BYTES);
	CHECK_NUMBER(munmap(bytes, MEMORY_BYTES), ==, 0);
}

static void do_nothing(void)
{
}

static void *sleep_often(void *slept)
{
	struct timespec nap = { .tv_nsec = 100000 };

	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&nap, NULL);
	CHECK_NUMBER(sem_post(slept), ==, 0);
	pause();
	return NULL;
}

/* Sleep in a thread that then stays alive. */
static void sleep_in_a_thread(void)
{
	static sem_t slept;
	pthread_t thread;

	CHECK_NUMBER(sem_init(&slept, 0, 0), ==, 0);
	CHECK_NUMBER(pthread_create(&thread, NULL, sleep_often, &slept), ==, 0);
	CHECK_NUMBER(sem_wait(&slept), ==, 0);
}

/* Parent and child compete for one core. */
static void compete(void)
{
	cpu_set_t all, one;
	int cpu = 0;
	pid_t pid;

	CHECK_NUMBER(sched_getaffinity(0, sizeof(all), &all), ==, 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_NUMBER(sched_setaffinity(0, sizeof(one), &one), ==, 0);
	pid = fork();
	if (pid == 0) {
		burn();
		_exit(0);
	}
	burn();
	CHECK_NUMBER(waitpid(pid, NULL, 0), ==, pid);
}

/* Expect about 0.3 s of CPU time, which the kernel counts in ticks of 10 ms. */
static void expect_burnt(void (*work)(void))
{
	double s = usage_of(work).cpu_s;

	CHECK_NUMBER(s, >=, 0.27);
	CHECK_NUMBER(s, <=, 0.4);
}

static void test_cpu_time(void)
{
	expect_burnt(burn);
	expect_burnt(burn_in_a_child);
	expect_burnt(burn_in_a_child_that_stays);
	CHECK_NUMBER(usage_of(do_nothing).cpu_s, <=, 0.02);
}

static void test_peak_memory(void)
{
	CHECK_NUMBER(usage_of(map_and_release).peak_memory_bytes, >=,
		     MEMORY_BYTES);
	CHECK_NUMBER(usage_of(do_nothing).peak_memory_bytes, >, 0);
}

/* Usage before the run does not count, if the kernel allows a reset. */
static void test_peak_is_of_the_run(void)
{
	struct processes processes = { 0 };
	struct server_watch watch;
	struct server_usage usage;
	struct child c;

	start(&c, map_and_release);
	CHECK(processes_add_pid(&processes, c.pid));
	let_work(&c);
	server_watch_begin(&watch, &processes);
	server_watch_end(&watch, &usage);
	stop(&c);
	CHECK_NUMBER(usage.peak_was_reset, ==,
		     (usage.peak_memory_bytes < MEMORY_BYTES));
}

static void test_context_switches(void)
{
	/* A few may be preempted just before they sleep. */
	CHECK_NUMBER(usage_of(sleep_in_a_thread).voluntary_switches, >=,
		     SLEEPS * 9 / 10);
	CHECK_NUMBER(usage_of(do_nothing).voluntary_switches, <, SLEEPS / 2);
	CHECK_NUMBER(usage_of(compete).involuntary_switches, >, 0);
}

/* A server may end during the run, or before it. */
static void test_ended(void)
{
	struct processes processes = { 0 };
	struct server_watch watch;
	struct server_usage usage;
	struct child c;

	start(&c, burn);
	CHECK(processes_add_pid(&processes, c.pid));
	let_work(&c);
	server_watch_begin(&watch, &processes);
	stop(&c);
	server_watch_end(&watch, &usage);
	CHECK_NUMBER(usage.cpu_s, ==, 0);
	CHECK_NUMBER(usage.voluntary_switches, ==, 0);
	processes = (struct processes){ 0 };
	CHECK(!processes_add_pid(&processes, c.pid));
	CHECK_NUMBER(processes.count, ==, 0);
}

/* A socket that listens at `address`; writes its port. */
static int listen_at(int family, uint32_t address, uint16_t *port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(address) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 }; /* any address */
	bool is_v4 = family == AF_INET;
	struct sockaddr *own = is_v4 ? (void *)&v4 : (void *)&v6;
	socklen_t size = is_v4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	CHECK_NUMBER(bind(fd, own, size), ==, 0);
	CHECK_NUMBER(listen(fd, 1), ==, 0);
	CHECK_NUMBER(getsockname(fd, own, &size), ==, 0);
	*port = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
	return fd;
}

static size_t listeners_at(const char *host, uint16_t port)
{
	struct processes processes = { 0 };

	processes_add_listeners(&processes, host, port);
	return processes.count;
}

static void fork_twice(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			await_parent();
}

/* This process holds the socket too, but is never part of a server. */
static void test_listeners_and_their_children(void)
{
	uint16_t port;
	int fd = listen_at(AF_INET, INADDR_LOOPBACK, &port);
	struct child c;

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(listeners_at("127.0.0.1", port), ==, 0);
	start(&c, fork_twice);
	CHECK_NUMBER(listeners_at("127.0.0.1", port), ==, 1);
	let_work(&c);
	CHECK_NUMBER(listeners_at("127.0.0.1", port), ==, 3);
	CHECK_NUMBER(listeners_at("localhost", port), ==, 3);
	CHECK_NUMBER(listeners_at("127.0.0.2", port), ==, 0);
	CHECK_NUMBER(listeners_at("192.0.2.1", port), ==, 0);
	CHECK_NUMBER(listeners_at("127.0.0.1", 1), ==, 0);
	stop(&c);
	close(fd);
}

static void be_a_forwarder(void)
{
	CHECK_NUMBER(prctl(PR_SET_NAME, "docker-proxy"), ==, 0);
}

/* It is not the server, so neither it nor its children are measured. */
static void test_forwarders_are_named(void)
{
	struct processes processes = { 0 };
	uint16_t port;
	int fd = listen_at(AF_INET, INADDR_LOOPBACK, &port);
	struct child c;

	CHECK_NUMBER(fd, >=, 0);
	CHECK_NUMBER(prctl(PR_SET_NAME, "some server"), ==, 0);
	start(&c, be_a_forwarder);
	processes_add_listeners(&processes, "127.0.0.1", port);
	CHECK_NUMBER(processes.count, ==, 1);
	CHECK_NUMBER(processes.forwarder[0], ==, '\0');
	CHECK_TEXT(processes.name, "some server");
	let_work(&c);
	processes = (struct processes){ 0 };
	processes_add_listeners(&processes, "127.0.0.1", port);
	CHECK_NUMBER(processes.count, ==, 0);
	CHECK_TEXT(processes.forwarder, "docker-proxy");
	/* By its number it is measured, as the user wishes. */
	CHECK(processes_add_pid(&processes, c.pid));
	CHECK_NUMBER(processes.count, ==, 1);
	CHECK_TEXT(processes.name, "docker-proxy");
	stop(&c);
	close(fd);
}

static void test_listeners_at_any_address(int family)
{
	uint16_t port;
	int fd = listen_at(family, INADDR_ANY, &port);
	struct child c;

	if (fd < 0)
		return; /* this machine has no IPv6 */
	start(&c, do_nothing);
	CHECK_NUMBER(listeners_at("127.0.0.1", port), ==, 1);
	CHECK_NUMBER(listeners_at("127.0.0.2", port), ==, 1);
	CHECK_NUMBER(listeners_at("192.0.2.1", port), ==, 0);
	stop(&c);
	close(fd);
}

/* Children and grandchildren count, also those that start later. */
static void test_children_of_a_pid(void)
{
	struct processes processes = { 0 };
	struct child c;

	start(&c, fork_twice);
	CHECK(processes_add_pid(&processes, c.pid));
	CHECK_NUMBER(processes.count, ==, 1);
	let_work(&c);
	/* Adding it again is no error. */
	CHECK(processes_add_pid(&processes, c.pid));
	CHECK_NUMBER(processes.count, ==, 3);
	stop(&c);
}

/*
 * If it is added by its number, process 1 can be a server, as in a container.
 */
static void test_process_1(void)
{
	struct processes processes = { 0 };

	if (access("/proc/1/stat", R_OK) != 0)
		return; /* processes of other users are hidden here */
	CHECK(processes_add_pid(&processes, 1));
	CHECK_NUMBER(processes.count, >=, 1);
	CHECK_NUMBER(processes.pids[0], ==, 1);
	for (size_t i = 0; i < processes.count; i++)
		CHECK_NUMBER(processes.pids[i], !=, getpid());
}

int main(void)
{
	test_cpu_time();
	test_peak_memory();
	test_peak_is_of_the_run();
	test_context_switches();
	test_ended();
	test_listeners_and_their_children();
	test_forwarders_are_named();
	test_listeners_at_any_address(AF_INET);
	test_listeners_at_any_address(AF_INET6);
	test_children_of_a_pid();
	test_process_1();
	return 0;
}
