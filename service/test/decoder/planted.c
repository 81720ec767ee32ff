/* SPDX-License-Identifier: MIT */
/*
 * darkroom-decoder with faults that files ask for: PPM files whose comment is
 * #crash, #loop, #wild, #large (planes that the file does not have), #outside
 * (planes outside of the shared memory), #open (a file, a process), #memory,
 * #shared (memory that RLIMIT_DATA does not count), #again (what the format
 * never asks for), #flood (replies to no request, for ever), #sleep (for ever)
 * or #fill (replies to no request, then its end).  Of JPEGs to pack: #crash,
 * #loop and #lie (a result that is larger than it may be).
 */
#include "service/decoder/helper/serve.h"

#include "base/take.h"
#include "service/decoder/protocol.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HELD_BYTES = 1 << 20 };

static void *volatile nowhere;

static bool asks_for(const uint8_t *bytes, size_t count, const char *what)
{
	size_t chars = strlen(what);

	return count > 3 + chars && memcmp(bytes + 3, what, chars) == 0;
}

/* All memory that there is; what is touched is really taken. */
static void take_memory(void)
{
	for (volatile char *block; (block = malloc(HELD_BYTES)) != NULL;)
		for (size_t i = 0; i < HELD_BYTES; i += 4096)
			block[i] = 1;
}

static bool can_map(int flags)
{
	return mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE,
		    MAP_ANONYMOUS | flags, -1, 0) != MAP_FAILED;
}

/* Of the only lane; nobody ends this process by its CPU time. */
static void flood(void)
{
	const struct decoder_reply reply = { .number = UINT64_MAX };

	(void)signal(SIGPROF, SIG_IGN);
	while (send(DECODER_LANES, &reply, sizeof(reply), MSG_NOSIGNAL) > 0)
		;
}

/* Of the only lane: also to requests that others will have. */
static void answer_ahead(void)
{
	struct decoder_reply reply = { .err = IMG_ERR_TOO_LARGE };

	while (++reply.number <= 20)
		(void)!send(DECODER_LANES, &reply, sizeof(reply), MSG_NOSIGNAL);
	_exit(1);
}

/* Of atomic steps, because ThreadSanitizer delivers signals between such. */
static void loop_for_ever(void)
{
	for (atomic_int i = 0;;)
		(void)atomic_fetch_add(&i, 1);
}

/* Without using CPU. */
static void sleep_for_ever(void)
{
	uint32_t word = 0;

	for (;;)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/* Of the only lane: what is sent next must wait. */
static void fill(void)
{
	const struct decoder_reply reply = { .number = 0 };

	for (int i = 0; i < 100000; i++)
		(void)!send(DECODER_LANES, &reply, sizeof(reply),
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	while (send(DECODER_LANES, &reply, sizeof(reply),
		    MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	_exit(1);
}

static enum img_err decode(struct image *dst, const uint8_t *bytes,
			   size_t count, const struct img_header *header,
			   const struct img_view *view,
			   const struct img_transform *transform,
			   const struct img_limits *limits,
			   const struct memory *memory)
{
	enum img_err err;

	if (asks_for(bytes, count, "#crash"))
		abort();
	if (asks_for(bytes, count, "#loop"))
		loop_for_ever();
	if (asks_for(bytes, count, "#wild")) {
		/* A sanitizer would report what is wanted here. */
		(void)signal(SIGSEGV, SIG_DFL);
		*(volatile int *)nowhere = 1;
	}
	if (asks_for(bytes, count, "#open") &&
	    (open("/proc/self/maps", O_RDONLY) >= 0 || fork() >= 0 ||
	     kill(getppid(), 0) == 0))
		abort();
	if (asks_for(bytes, count, "#memory")) {
		take_memory();
		return IMG_ERR_NO_MEMORY;
	}
	if (asks_for(bytes, count, "#shared") &&
	    (can_map(MAP_SHARED) || can_map(MAP_PRIVATE | MAP_GROWSDOWN)))
		abort();
	if (asks_for(bytes, count, "#again"))
		return IMG_ERR_TEXTURE;
	if (asks_for(bytes, count, "#flood"))
		flood();
	if (asks_for(bytes, count, "#ahead"))
		answer_ahead();
	if (asks_for(bytes, count, "#sleep"))
		sleep_for_ever();
	if (asks_for(bytes, count, "#fill"))
		fill();
	err = img_decode(dst, bytes, count, header, view, transform, limits,
			 memory);
	if (asks_for(bytes, count, "#large"))
		dst->planes[0].width = dst->planes[0].height = 60000;
	if (asks_for(bytes, count, "#outside"))
		dst->planes[0].samples += UINT64_C(1) << 40;
	return err;
}

/* The same faults of JPEGs, by the bytes after their first marker. */
static enum img_err repack(enum img_repack what, uint8_t *to, size_t room,
			   size_t *count, const uint8_t *bytes,
			   size_t byte_count)
{
	static const char lie[] = "#lie", crash[] = "#crash", loop[] = "#loop";
	enum img_err err;

	if (memmem(bytes, byte_count, crash, sizeof(crash) - 1) != NULL)
		abort();
	if (memmem(bytes, byte_count, loop, sizeof(loop) - 1) != NULL)
		loop_for_ever();
	err = img_repack(what, to, room, count, bytes, byte_count);
	if (memmem(bytes, byte_count, lie, sizeof(lie) - 1) != NULL)
		*count = room + 1;
	return err;
}

int main(int argc, char **argv)
{
	static const struct decoder_work work = { .decode = decode,
						  .repack = repack,
						  .is_prompt = true };
	char version[DECODER_VERSION_CHARS];
	uint64_t lanes, bytes_max;

	decoder_version(version);
	if (argc != 4 || strcmp(argv[1], version) != 0 ||
	    !number_read_whole(argv[2], 1, DECODER_LANES_MAX, &lanes) ||
	    !number_read_whole(argv[3], 1, UINT64_MAX, &bytes_max))
		return 2;
	return decoder_serve((uint32_t)lanes, bytes_max, &work);
}
