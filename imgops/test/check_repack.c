/* SPDX-License-Identifier: MIT */
/*
 * usage: check_repack EVERY FILE-OR-FOLDER...
 *   EVERY: of the files of a folder, every EVERYth
 *
 * Promises: files are packed, and restored byte for byte; a file takes no more
 * memory and CPU time than estimated.  How many files libjxl does not pack, or
 * does not restore, is counted; the server keeps them as they are.
 *
 * Prints the sizes, and the CPU time for a million of bytes of the JPEGs.
 */
#include "imgops/repack.h"

#include "base/file.h"
#include "base/test/check.h"
#include "base/util.h"
#include "imgops/test/support.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 16 << 20, FDS = 16 };

/* Shared with the processes. */
struct result {
	enum img_err err;
	size_t count;
	uint8_t bytes[ROOM];
};

static struct result *results[2]; /* of each enum img_repack */

static struct {
	uint32_t packed, refused, larger, unlike, lost;
	uint64_t jpeg_bytes, packed_bytes; /* of those that were packed */
	double seconds[2];
} sum;

static double last_s[2];

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* In a process of its own.  False: it has ended. */
static bool run(enum img_repack what, struct bytes file, size_t room)
{
	struct result *r = results[what];
	struct img_repack_estimate e;
	struct rusage before, after;
	int status;
	pid_t pid = fork();
	double kib;

	CHECK(pid >= 0);
	if (pid == 0) {
		/* libjxl tells what it finds wrong. */
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(4);
		(void)getrusage(RUSAGE_SELF, &before);
		r->err = img_repack(what, r->bytes, room, &r->count, file.data,
				    file.count);
		(void)getrusage(RUSAGE_SELF, &after);
		kib = (double)(after.ru_maxrss - before.ru_maxrss);
		if (!HAS_SANITIZERS && r->err == IMG_OK &&
		    img_estimate_repack(&e, what, file.data, file.count) &&
		    kib * 1024 >
			    (double)(e.memory_bytes + r->count + file.count))
			_exit(3);
		_exit(0);
	}
	CHECK(wait4(pid, &status, 0, &after) == pid);
	if (!WIFEXITED(status))
		return false;
	CHECK_NUMBER(WEXITSTATUS(status), ==, 0);
	if (r->err == IMG_OK) {
		double s =
			seconds_of(after.ru_utime) + seconds_of(after.ru_stime);

		CHECK(img_estimate_repack(&e, what, file.data, file.count));
		if (!HAS_SANITIZERS)
			CHECK_NUMBER(s * 1e9, <, (double)e.cpu_ns_max);
		last_s[what] = s;
	}
	return true;
}

static struct bytes read_file(const char *path)
{
	struct bytes file = { .count = 0 };
	const char *why;

	file.data = (uint8_t *)file_read_bytes(path, ROOM, &file.count, &why);
	CHECK(file.data != NULL);
	return file;
}

static void check_file(const char *path)
{
	struct bytes file = read_file(path), packed;
	struct result *p = results[IMG_PACK], *j = results[IMG_RESTORE];
	struct img_repack_estimate e;

	check_case("%s", path);
	if (!img_estimate_repack(&e, IMG_PACK, file.data, file.count)) {
		sum.refused++;
	} else if (!run(IMG_PACK, file, file.count)) {
		sum.lost++;
	} else if (p->err == IMG_ERR_TOO_MANY_BYTES) {
		sum.larger++;
	} else if (p->err != IMG_OK) {
		sum.refused++;
	} else {
		packed = (struct bytes){ p->bytes, p->count };
		if (!run(IMG_RESTORE, packed, file.count) || j->err != IMG_OK ||
		    j->count != file.count ||
		    memcmp(j->bytes, file.data, file.count) != 0) {
			sum.unlike++;
			free(file.data);
			return;
		}
		sum.packed++;
		sum.jpeg_bytes += file.count;
		sum.packed_bytes += p->count;
		for (int i = 0; i < 2; i++)
			sum.seconds[i] += last_s[i];
	}
	free(file.data);
}

static uint32_t every, visited;

static int visit(const char *path, const struct stat *s, int kind,
		 struct FTW *ftw)
{
	const char *end = strrchr(path, '.');

	(void)s;
	if (kind == FTW_F && end != NULL &&
	    (strcasecmp(end, ".jpg") == 0 || strcasecmp(end, ".jpeg") == 0 ||
	     strcasecmp(end, ".mpo") == 0) &&
	    (ftw->level == 0 || visited++ % every == 0))
		check_file(path);
	return 0;
}

int main(int argc, char **argv)
{
	double million;

	if (!img_can_repack())
		return 77;
	for (int i = 0; i < 2; i++) {
		results[i] = mmap(
			NULL, sizeof(struct result), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK(results[i] != MAP_FAILED);
	}
	CHECK(argc > 2);
	every = (uint32_t)strtoul(argv[1], NULL, 10);
	CHECK_NUMBER(every, >, 0);
	for (int i = 2; i < argc; i++)
		CHECK_NUMBER(nftw(argv[i], visit, FDS, FTW_PHYS), ==, 0);
	million = (double)sum.jpeg_bytes / 1e6;
	(void)printf("%u packed, %u refused, %u would be larger, %u not "
		     "restored, %u lost\n",
		     sum.packed, sum.refused, sum.larger, sum.unlike, sum.lost);
	(void)printf("%.1f MB, packed %.1f %% smaller; CPU: packing %.3f s/MB, "
		     "restoring %.3f s/MB\n",
		     million, 100 - (double)sum.packed_bytes / 1e4 / million,
		     sum.seconds[IMG_PACK] / million,
		     sum.seconds[IMG_RESTORE] / million);
	CHECK(sum.packed > 0);
	return 0;
}
