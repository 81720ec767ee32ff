/* SPDX-License-Identifier: MIT */
#include "loadgen/processes.h"

#include "loadgen/process_stat.h"

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

enum { INODES_MAX = 64, TCP_LISTEN_STATE = 0x0a };

/* Sockets that listen, as the kernel numbers them. */
struct inodes {
	uint64_t inodes[INODES_MAX];
	size_t count;
};

static bool has(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->pids[i] == pid)
			return true;
	return false;
}

/* False: it is in already, or never is. */
static bool add(struct processes *p, pid_t pid)
{
	if (pid == getpid() || p->count == PROCESSES_MAX || has(p, pid))
		return false;
	p->pids[p->count++] = pid;
	return true;
}

/* Call `visit` with each process there is. */
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

	if (!has(d->processes, pid) && process_stat_read(pid, &stat) &&
	    has(d->processes, stat.parent))
		d->has_grown |= add(d->processes, pid);
}

void processes_add_descendants(struct processes *p)
{
	struct descent d = { .processes = p, .has_grown = p->count > 0 };

	while (d.has_grown) {
		d.has_grown = false;
		walk_processes(add_child, &d);
	}
}

bool processes_add_pid(struct processes *p, pid_t pid)
{
	struct process_stat stat;

	if (!process_stat_read(pid, &stat))
		return false;
	add(p, pid);
	processes_add_descendants(p);
	return true;
}

/* An IPv4 address as a part of IPv6, so that there is one kind. */
static struct in6_addr mapped(struct in_addr address)
{
	struct in6_addr all = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&all.s6_addr[12], &address, sizeof(address));
	return all;
}

/* What can be bound to is an address of this machine. */
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
	bool is_any; /* of its family */
	unsigned port;
	uint64_t inode;
};

/* False: not of a socket that listens, or not as proc(5) has it. */
static bool read_listener(const char *line, int family, struct listener *out)
{
	static const uint32_t nowhere[4];
	uint32_t words[4] = { 0 }; /* in network order, as they are printed */
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
		out->address = mapped((struct in_addr){ words[0] });
	else
		memcpy(&out->address, words, sizeof(words));
	return true;
}

static bool hears(const struct listener *l, int family,
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
	char line[512];

	if (in == NULL)
		return;
	while (found->count < INODES_MAX && fgets(line, sizeof(line), in))
		if (read_listener(line, family, &l) && l.port == port &&
		    hears(&l, family, address))
			found->inodes[found->count++] = l.inode;
	fclose(in);
}

struct search {
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
	struct search *s = arg;
	struct dirent *entry;
	char path[64];
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
			add(s->processes, pid);
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
			address = mapped(
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
		walk_processes(add_holder, &(struct search){ &inodes, p });
	processes_add_descendants(p);
}
