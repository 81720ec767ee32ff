/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the files of a ticket as a disk may have them: on the
 * first lines ticket.json, end.json, claim.txt and problem.json, of which an
 * empty one is missing, and after them the bytes of data.bin.
 *
 * For any input, the server finds the ticket, or says that it is damaged.  As
 * many bytes can be read as it finds, and no more; more are appended after
 * them; and another image can be made of them.
 */
#include "service/http/handlers/uploads/ticket_request.h"
#include "service/http/request.h"
#include "service/store/store.h"

#include "base/util.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char id[] =
	"ffffffff00000000000000000000000000000000000000000000000000000001";
static const char image[] =
	"aa00000000000000000000000000000000000000000000000000000000000001";

static struct http_config config;
/* In memory, because what is written is synced. */
static char path[] = "/dev/shm/fuzz_inbox.XXXXXX";
static int entry; /* the folder of the ticket */
static struct inbox_ticket found;

static void remove_folder(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", path);
	(void)!system(command);
}

static void open_config(void)
{
	char store[64], inbox[64], name[160];
	struct error why;

	assert(mkdtemp(path) != NULL);
	(void)atexit(remove_folder);
	(void)snprintf(store, sizeof(store), "%s/store", path);
	(void)snprintf(inbox, sizeof(inbox), "%s/inbox", path);
	assert(mkdir(store, 0700) == 0);
	config = (struct http_config){
		.inbox = inbox_open(inbox, 0, &why),
		.store = store_open(store, 0, &why),
	};
	assert(config.inbox != NULL && config.store != NULL);
	(void)snprintf(name, sizeof(name), "%s/%s", inbox, id);
	assert(mkdir(name, 0700) == 0);
	entry = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(entry >= 0);
}

/* An empty one is missing. */
static void write_file(const char *name, const void *bytes, size_t count)
{
	int fd;

	(void)unlinkat(entry, name, 0);
	if (count == 0)
		return;
	fd = openat(entry, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert(fd >= 0);
	assert(write(fd, bytes, count) == (ssize_t)count);
	(void)close(fd);
}

static void write_entry(const char *data, size_t bytes)
{
	static const char *const names[] = { "ticket.json", "end.json",
					     "claim.txt", "problem.json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *end = memchr(data, '\n', bytes);
		size_t count = end != NULL ? (size_t)(end - data) : bytes;

		write_file(names[i], data, count);
		count += end != NULL;
		data += count;
		bytes -= count;
	}
	write_file("data.bin", data, bytes);
}

/* As GET does it. */
static void get(void)
{
	struct request r = { .config = &config };

	(void)strcpy(r.segments[0], id);
	r.own = calloc(1, ticket_handler.state_bytes);
	assert(r.own != NULL);
	assert(!ticket_handler.start(&r));
	ticket_handler.release(&r);
	free(r.own);
	free(r.detail);
}

static void check_bytes(struct inbox_hold *h)
{
	uint64_t count = found.bytes;
	char *before = malloc(count + 4), *after = malloc(count + 4);

	assert(before != NULL && after != NULL);
	if (count > 0)
		assert(inbox_read(config.inbox, h, before, count) == STORE_OK);
	assert(inbox_read(config.inbox, h, after, count + 1) != STORE_OK);
	assert(inbox_append(config.inbox, h, count, "abc", 3) == STORE_OK);
	assert(inbox_find(config.inbox, id, &found) == STORE_OK);
	assert(found.bytes == count + 3);
	assert(inbox_read(config.inbox, h, after, count + 3) == STORE_OK);
	assert(memcmp(before, after, count) == 0);
	assert(memcmp(after + count, "abc", 3) == 0);
	free(before);
	free(after);
}

static void check_end(struct inbox_hold *h)
{
	if (inbox_claim(config.inbox, h, image) != STORE_OK)
		assert(inbox_claim_again(config.inbox, h, image) == STORE_OK);
	assert(inbox_end(config.inbox, h, "{\"bytes\":3}") == STORE_OK);
	assert(inbox_find(config.inbox, id, &found) == STORE_OK);
	assert(strcmp(found.claim, image) == 0);
	assert(strcmp(found.end, "{\"bytes\":3}") == 0 && found.bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct inbox_hold h = { .ask = NULL };

	if (config.inbox == NULL)
		open_config();
	write_entry((const char *)data, bytes);
	get();
	assert(inbox_hold(config.inbox, &h, id));
	if (inbox_find(config.inbox, id, &found) == STORE_OK) {
		check_bytes(&h);
		check_end(&h);
		get();
	}
	inbox_release(config.inbox, &h);
	return 0;
}
