/* SPDX-License-Identifier: MIT */
#include "loadgen/report/server_usage.h"

#include "base/util.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PATH_BYTES = 64,
	LINE_BYTES = 512,
	INODES_MAX = 64,
	TCP_LISTEN_STATE = 0x0a,
};

/* From /proc/PID/stat, as proc(5) describes it. */
struct process_stat {
	pid_t parent; /* 0: none, or outside of this process's container */

	/* User and system time, including that of children that ended. */
	uint64_t cpu_ticks;
};

/* "pid (name) state parent ..", where a name may contain ')' too. */
static bool process_stat_parse(const char *line, struct process_stat *out)
{
	uint64_t user, system, user_children, system_children;
	const char *name_end = strrchr(line, ')');
	int parent;

	if (name_end == NULL ||
	    sscanf(name_end,
		   ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &parent, &user, &system, &user_children,
		   &system_children) != 5)
		return false;
	*out = (struct process_stat){
		.parent = parent,
		.cpu_ticks = user + system + user_children + system_children,
	};
	return true;
}

/* False: this process sees no such process, and `out` is untouched. */
static bool process_stat_read(pid_t pid, struct process_stat *out)
{
	char path[PATH_BYTES];
	char line[LINE_BYTES];
	bool is_read;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	in = fopen(path, "re");
	if (in == NULL)
		return false;
	is_read = fgets(line, sizeof(line), in) != NULL &&
		  process_stat_parse(line, out);
	fclose(in);
	return is_read;
}

/* The inodes of listening sockets. */
struct inodes {
	uint64_t inodes[INODES_MAX];
	size_t count;
};

static bool processes_has(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->pids[i] == pid)
			return true;
	return false;
}

/* False: `p` has it already, is full, or it is this process. */
static bool processes_add(struct processes *p, pid_t pid)
{
	if (pid == getpid() || p->count == PROCESSES_MAX ||
	    processes_has(p, pid))
		return false;
	p->pids[p->count++] = pid;
	return true;
}

/* Call `visit` with each process in /proc. */
static void walk_processes(void (*visit)(pid_t pid, void *arg), void *arg)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (proc == NULL)
		return;
	while ((entry = readdir(proc)) != NULL) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			visit((pid_t)pid, arg);
	}
	closedir(proc);
}

struct descent {
	struct processes *processes;
	bool has_grown;
};

static void add_child(pid_t pid, void *arg)
{
	struct descent *d = arg;
	struct process_stat stat;

	if (!processes_has(d->processes, pid) &&
	    process_stat_read(pid, &stat) &&
	    processes_has(d->processes, stat.parent))
		d->has_grown |= processes_add(d->processes, pid);
}

/* Add the descendants of the processes in `p`. */
static void processes_add_descendants(struct processes *p)
{
	struct descent d = { .processes = p, .has_grown = p->count > 0 };

	while (d.has_grown) {
		d.has_grown = false;
		walk_processes(add_child, &d);
	}
}

/* The name of the program, of at most 15 bytes; "": not known. */
static void read_name(pid_t pid, char name[PROCESS_NAME_BYTES])
{
	char path[PATH_BYTES];
	FILE *in;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	in = fopen(path, "re");
	if (in == NULL)
		return;
	if (fgets(name, PROCESS_NAME_BYTES, in) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(in);
}

/*
 * Programs that pass connections on to a server in another container, machine
 * or process, by the names that read_name() returns.
 */
static bool is_forwarder(const char *name)
{
	static const char *const names[] = {
		/* of containers and virtual machines */
		"docker-proxy", "rootlesskit", "rootlesskit-doc",
		"rootlessport", "slirp4netns", "pasta", "pasta.avx2", "passt",
		"passt.avx2", "conmon", "gvproxy", "vpnkit-bridge", "limactl",
		"minikube", "kubectl", "kube-proxy", "oc",
		/* of connections */
		"ssh", "sshd", "sshd-session", "socat", "rinetd", "redir",
		"systemd-socket-"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* If one of the processes is a forwarder, remove all of them. */
static void drop_forwarder(struct processes *p)
{
	for (size_t i = 0; i < p->count; i++) {
		read_name(p->pids[i], p->forwarder);
		if (is_forwarder(p->forwarder)) {
			p->count = 0;
			return;
		}
	}
	p->forwarder[0] = '\0';
}

static void name_first(struct processes *p)
{
	p->name[0] = '\0';
	if (p->count > 0)
		read_name(p->pids[0], p->name);
}

bool processes_add_pid(struct processes *p, pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(pid, &stat))
		return false;
	processes_add(p, pid);
	processes_add_descendants(p);
	name_first(p);
	return true;
}

/* The IPv4 address as an IPv6 address, so that one type is enough for both. */
static struct in6_addr to_ipv6(struct in_addr address)
{
	struct in6_addr all = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&all.s6_addr[12], &address, sizeof(address));
	return all;
}

/*
 * Is it an address of this machine?  A socket can be bound only to such a one.
 */
static bool is_own(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_bound = fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0;

	if (fd >= 0)
		close(fd);
	return is_bound;
}

/* One line of /proc/net/tcp or tcp6. */
struct listener {
	struct in6_addr address;
	bool is_any; /* bound to all addresses of its family */
	unsigned port;
	uint64_t inode;
};

/* False: the socket does not listen, or the line is not as in proc(5). */
static bool read_listener(const char *line, int family, struct listener *out)
{
	static const uint32_t nowhere[4];
	uint32_t words[4] = { 0 }; /* the kernel prints them in network order */
	size_t count = family == AF_INET ? 1 : 4;
	char address[33];
	unsigned state;

	if (sscanf(line,
		   " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x "
		   "%*x %*u %*u %" SCNu64,
		   address, &out->port, &state, &out->inode) != 4 ||
	    state != TCP_LISTEN_STATE || strlen(address) != 8 * count)
		return false;
	for (size_t i = count; i-- > 0;) {
		words[i] = (uint32_t)strtoul(address + 8 * i, NULL, 16);
		address[8 * i] = '\0';
	}
	out->is_any = memcmp(words, nowhere, 4 * count) == 0;
	if (family == AF_INET)
		out->address = to_ipv6((struct in_addr){ words[0] });
	else
		memcpy(&out->address, words, sizeof(words));
	return true;
}

static bool is_heard_at(const struct listener *l, int family,
			const struct in6_addr *address)
{
	if (l->is_any)
		return family == AF_INET6 || IN6_IS_ADDR_V4MAPPED(address);
	return memcmp(&l->address, address, sizeof(*address)) == 0;
}

static void find_inodes(struct inodes *found, const char *table, int family,
			const struct in6_addr *address, unsigned port)
{
	FILE *in = fopen(table, "re");
	struct listener l;
	char line[LINE_BYTES];

	if (in == NULL)
		return;
	while (found->count < INODES_MAX && fgets(line, sizeof(line), in))
		if (read_listener(line, family, &l) && l.port == port &&
		    is_heard_at(&l, family, address))
			found->inodes[found->count++] = l.inode;
	fclose(in);
}

struct holder_search {
	const struct inodes *inodes;
	struct processes *processes;
};

static bool is_wanted(const struct inodes *wanted, const char *link)
{
	uint64_t inode;

	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
		return false;
	for (size_t i = 0; i < wanted->count; i++)
		if (wanted->inodes[i] == inode)
			return true;
	return false;
}

static void add_holder(pid_t pid, void *arg)
{
	struct holder_search *s = arg;
	struct dirent *entry;
	char path[PATH_BYTES];
	DIR *files;

	if (pid == 1)
		return;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	files = opendir(path);
	if (files == NULL)
		return;
	while ((entry = readdir(files)) != NULL) {
		char link[64];
		ssize_t length = readlinkat(dirfd(files), entry->d_name, link,
					    sizeof(link) - 1);

		if (length < 0)
			continue;
		link[length] = '\0';
		if (is_wanted(s->inodes, link)) {
			processes_add(s->processes, pid);
			break;
		}
	}
	closedir(files);
}

void processes_add_listeners(struct processes *p, const char *host,
			     uint16_t port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct inodes inodes = { .count = 0 };
	struct addrinfo *all = NULL;

	if (getaddrinfo(host, NULL, &hints, &all) != 0)
		return;
	for (const struct addrinfo *a = all; a != NULL; a = a->ai_next) {
		struct in6_addr address;

		if (!is_own(a))
			continue;
		if (a->ai_family == AF_INET)
			address = to_ipv6(
				((struct sockaddr_in *)a->ai_addr)->sin_addr);
		else
			address =
				((struct sockaddr_in6 *)a->ai_addr)->sin6_addr;
		find_inodes(&inodes, "/proc/net/tcp", AF_INET, &address, port);
		find_inodes(&inodes, "/proc/net/tcp6", AF_INET6, &address,
			    port);
	}
	freeaddrinfo(all);
	if (inodes.count > 0)
		walk_processes(add_holder,
			       &(struct holder_search){ &inodes, p });
	drop_forwarder(p);
	processes_add_descendants(p);
	name_first(p);
}

/*
 * CPU time of the process and of its children that ended. 0: no such process.
 */
static double process_cpu_s(pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(pid, &stat))
		return 0;
	return (double)stat.cpu_ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Numbers from a status file in /proc; 0 if the file lacks one. */
struct status {
	uint64_t peak_kb;
	uint64_t voluntary;
	uint64_t involuntary;
};

static struct status read_status(const char *path)
{
	struct status s = { 0 };
	char line[LINE_BYTES];
	FILE *in = fopen(path, "re");

	if (in == NULL)
		return s; /* the process has ended */
	while (fgets(line, sizeof(line), in) != NULL) {
		sscanf(line, "VmHWM: %" SCNu64, &s.peak_kb);
		sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &s.voluntary);
		sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64,
		       &s.involuntary);
	}
	fclose(in);
	return s;
}

static void add_switches(struct server_usage *u, pid_t pid)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	threads = opendir(path);
	if (threads == NULL)
		return;
	while ((entry = readdir(threads)) != NULL) {
		long thread = strtol(entry->d_name, NULL, 10);
		struct status s;

		if (thread <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%ld/status",
			 (int)pid, thread);
		s = read_status(path);
		u->voluntary_switches += s.voluntary;
		u->involuntary_switches += s.involuntary;
	}
	closedir(threads);
}

/* Fill in the usage since the processes started. */
static void read_usage(struct server_usage *u)
{
	for (size_t i = 0; i < u->processes.count; i++) {
		char path[PATH_BYTES];
		pid_t pid = u->processes.pids[i];

		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		u->peak_memory_bytes += read_status(path).peak_kb * 1024;
		u->cpu_s += process_cpu_s(pid);
		add_switches(u, pid);
	}
}

static bool reset_peak(pid_t pid)
{
	char path[PATH_BYTES];
	FILE *out;
	bool written;

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)pid);
	out = fopen(path, "we");
	if (out == NULL)
		return false;
	written = fputs("5", out) >= 0;
	return fclose(out) == 0 && written;
}

void server_watch_begin(struct server_watch *w,
			const struct processes *processes)
{
	*w = (struct server_watch){ .before = { .processes = *processes } };
	w->before.peak_was_reset = true;
	for (size_t i = 0; i < processes->count; i++)
		w->before.peak_was_reset &= reset_peak(processes->pids[i]);
	read_usage(&w->before);
}

/* The counters of threads that have ended are lost, so a sum may decrease. */
static uint64_t counter_growth(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

void server_watch_end(const struct server_watch *w, struct server_usage *out)
{
	const struct server_usage *before = &w->before;

	*out = (struct server_usage){
		.processes = before->processes,
		.peak_was_reset = before->peak_was_reset,
	};
	processes_add_descendants(&out->processes);
	read_usage(out);
	out->cpu_s -= before->cpu_s;
	if (out->cpu_s < 0)
		out->cpu_s = 0;
	out->voluntary_switches = counter_growth(before->voluntary_switches,
						 out->voluntary_switches);
	out->involuntary_switches = counter_growth(before->involuntary_switches,
						   out->involuntary_switches);
}
