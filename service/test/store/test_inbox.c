/* SPDX-License-Identifier: MIT */
/*
 * Promises: bytes of an upload count only when all of them are on the disk,
 * also if a call fails or a crash leaves half of them; a ticket becomes one
 * image; one request uses it at a time; the quota counts what is on the disk;
 * what has expired is removed.
 */
#include "service/store/inbox.h"

#include "base/test/check.h"
#include "base/util.h"
#include "service/test/store/store_fixture.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

static int fails_at = -1; /* this call of fdatasync() fails; -1: none */
static int sync_count;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	if (sync_count++ != fails_at)
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}

static struct inbox_ticket found;

static struct inbox *open_inbox(uint64_t quota_bytes)
{
	struct error why;
	struct inbox *b = inbox_open(folder, quota_bytes, &why);

	if (b == NULL)
		(void)fprintf(stderr, "%s\n", why.text);
	assert(b != NULL);
	return b;
}

static void make(struct inbox *b, struct inbox_hold *h)
{
	*h = (struct inbox_hold){ .ask = NULL };
	inbox_name(b, h, 3600);
	CHECK(inbox_make(b, h, "{\"w\":1}") == STORE_OK);
}

static uint64_t arrived(struct inbox *b, const char *id)
{
	CHECK(inbox_find(b, id, &found) == STORE_OK);
	return found.bytes;
}

static uint64_t used(const struct inbox *b)
{
	struct inbox_stats stats;

	inbox_read_stats(b, &stats);
	return stats.used_bytes;
}

static void test_bytes_arrive_in_parts(void)
{
	struct inbox *b = open_inbox(0);
	struct inbox_hold h;
	char bytes[11] = "";

	make(b, &h);
	CHECK(arrived(b, h.id) == 0);
	CHECK(inbox_append(b, &h, 0, "hello ", 6) == STORE_OK);
	CHECK(inbox_append(b, &h, 6, "world", 5) == STORE_OK);
	CHECK(arrived(b, h.id) == 11);
	CHECK(strcmp(found.text, "{\"w\":1}") == 0);
	CHECK(inbox_read(b, &h, bytes, 11) == STORE_OK);
	CHECK(memcmp(bytes, "hello world", 11) == 0);
	CHECK(inbox_read(b, &h, bytes, 12) == STORE_DAMAGED);
	/* After a restart, too. */
	inbox_release(b, &h);
	inbox_close(b);
	b = open_inbox(0);
	CHECK(arrived(b, h.id) == 11);
	inbox_close(b);
}

/* Each of the two calls that sync may fail, and the bytes do not count. */
static void test_bytes_that_are_not_synced_do_not_count(void)
{
	struct inbox *b = open_inbox(1 << 20);
	struct inbox_hold h;

	make(b, &h);
	CHECK(inbox_append(b, &h, 0, "first", 5) == STORE_OK);
	for (int call = 0; call < 2; call++) {
		sync_count = 0;
		fails_at = call;
		CHECK(inbox_append(b, &h, 5, "second", 6) == STORE_FAILED);
		fails_at = -1;
		if (call == 0)
			CHECK(arrived(b, h.id) == 5);
		CHECK(inbox_append(b, &h, 5, "other!", 6) == STORE_OK);
		CHECK(arrived(b, h.id) == 11);
	}
	inbox_release(b, &h);
	inbox_close(b);
}

/* A crash left bytes behind the last number, or no number at all. */
static void test_what_a_crash_leaves_does_not_count(void)
{
	struct inbox *b = open_inbox(0);
	struct inbox_hold h;
	char command[256], bytes[5];

	make(b, &h);
	CHECK(inbox_append(b, &h, 0, "first", 5) == STORE_OK);
	(void)snprintf(command, sizeof(command), "printf torn >>%s/data.bin",
		       h.id);
	run(command);
	CHECK(arrived(b, h.id) == 5);
	CHECK(inbox_read(b, &h, bytes, 5) == STORE_OK);
	CHECK(memcmp(bytes, "first", 5) == 0);
	(void)snprintf(command, sizeof(command), "printf abc >%s/data.bin",
		       h.id);
	run(command);
	CHECK(arrived(b, h.id) == 0);
	/* A number that is larger than the file. */
	(void)snprintf(command, sizeof(command),
		       "printf 'aaaaaaaaxyz' >%s/data.bin", h.id);
	run(command);
	CHECK(arrived(b, h.id) == 0);
	CHECK(inbox_append(b, &h, 0, "again", 5) == STORE_OK);
	CHECK(arrived(b, h.id) == 5);
	inbox_release(b, &h);
	inbox_close(b);
}

static void test_a_ticket_becomes_one_image(void)
{
	struct inbox *b = open_inbox(0);
	struct inbox_hold h;

	make(b, &h);
	CHECK(inbox_append(b, &h, 0, "picture", 7) == STORE_OK);
	CHECK(inbox_claim(b, &h, ID_A) == STORE_OK);
	CHECK(inbox_claim(b, &h, ID_A) == STORE_OK);
	CHECK(inbox_claim(b, &h, ID_B) == STORE_DAMAGED);
	CHECK(arrived(b, h.id) == 7);
	CHECK(strcmp(found.claim, ID_A) == 0 && found.end[0] == '\0');
	CHECK(inbox_end(b, &h, "{}") == STORE_OK);
	CHECK(arrived(b, h.id) == 0);
	CHECK(strcmp(found.end, "{}") == 0);
	inbox_release(b, &h);
	inbox_close(b);
}

/* What a disk has damaged must not be taken for the name of an image. */
static void test_a_damaged_claim_names_no_image(void)
{
	static const char *const damaged[] = { "../etc", "AA", ID_A "0" };
	struct inbox *b = open_inbox(0);
	struct inbox_hold h;
	char command[256];

	make(b, &h);
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		(void)snprintf(command, sizeof(command),
			       "printf %s >%s/claim.txt", damaged[i], h.id);
		run(command);
		CHECK(inbox_find(b, h.id, &found) == STORE_OK);
		CHECK_TEXT(found.claim, "");
		CHECK(inbox_claim(b, &h, ID_B) == STORE_OK);
		CHECK(inbox_find(b, h.id, &found) == STORE_OK);
		CHECK_TEXT(found.claim, ID_B);
	}
	inbox_release(b, &h);
	inbox_close(b);
}

static void test_a_refused_picture_leaves_room_for_another(void)
{
	struct inbox *b = open_inbox(0);
	struct inbox_hold h;

	make(b, &h);
	CHECK(inbox_append(b, &h, 0, "text", 4) == STORE_OK);
	CHECK(inbox_refuse(b, &h, "{\"status\":415}") == STORE_OK);
	CHECK(arrived(b, h.id) == 0);
	CHECK(strcmp(found.problem, "{\"status\":415}") == 0);
	CHECK(inbox_append(b, &h, 0, "jpeg", 4) == STORE_OK);
	CHECK(arrived(b, h.id) == 4);
	CHECK(inbox_restart(b, &h, "{\"w\":2}") == STORE_OK);
	CHECK(arrived(b, h.id) == 0);
	CHECK(strcmp(found.text, "{\"w\":2}") == 0);
	inbox_release(b, &h);
	inbox_close(b);
}

static int asked;

static void note_ask(struct inbox_hold *h)
{
	(void)h;
	asked++;
}

static void test_one_request_uses_it_at_a_time(void)
{
	struct inbox *b = open_inbox(0);
	struct inbox_hold h, other = { .ask = NULL };

	make(b, &h);
	h.ask = note_ask;
	CHECK(!inbox_hold(b, &other, h.id));
	CHECK(asked == 1);
	inbox_ignore(b, &h);
	CHECK(!inbox_hold(b, &other, h.id));
	CHECK(asked == 1);
	inbox_release(b, &h);
	CHECK(inbox_hold(b, &other, h.id));
	inbox_release(b, &other);
	inbox_close(b);
}

static void test_the_quota_counts_what_is_on_the_disk(void)
{
	enum { BYTES = 20000, QUOTA = 128 << 10 };
	static const char bytes[BYTES];
	struct inbox *b = open_inbox(QUOTA);
	struct inbox_hold h, other;
	uint64_t offset = 0, empty, full;

	make(b, &h);
	empty = used(b);
	CHECK(empty > 0);
	while (inbox_append(b, &h, offset, bytes, BYTES) == STORE_OK)
		offset += BYTES;
	CHECK(offset >= 3 * BYTES);
	CHECK(used(b) > empty && used(b) <= QUOTA);
	CHECK(arrived(b, h.id) == offset);
	/*
	 * There is no room for another one, but for the end of this; and a
	 * restart counts the same.
	 */
	while (inbox_append(b, &h, offset, bytes, 1000) == STORE_OK)
		offset += 1000;
	CHECK(inbox_claim(b, &h, ID_A) == STORE_OK);
	full = used(b);
	inbox_release(b, &h);
	other = (struct inbox_hold){ .ask = NULL };
	inbox_name(b, &other, 3600);
	CHECK(inbox_make(b, &other, "{}") == STORE_FULL);
	inbox_release(b, &other);
	inbox_close(b);
	b = open_inbox(QUOTA);
	CHECK(used(b) == full);
	CHECK(inbox_hold(b, &h, h.id));
	CHECK(inbox_remove(b, &h) == STORE_OK);
	inbox_release(b, &h);
	CHECK(used(b) == 0);
	inbox_close(b);
}

static void test_nobody_else_has_it_open(void)
{
	struct inbox *b = open_inbox(0);
	struct error why;

	CHECK(inbox_open(folder, 0, &why) == NULL);
	CHECK(strstr(why.text, "in use") != NULL);
	inbox_close(b);
}

static void report_nothing(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static uint64_t expired(const struct inbox *b)
{
	struct inbox_stats stats;

	inbox_read_stats(b, &stats);
	return stats.expired_count;
}

static void test_what_has_expired_is_removed(void)
{
	struct inbox *b = open_inbox(1 << 20);
	struct inbox_hold h = { .ask = NULL };
	char id[STORE_ID_BYTES];

	inbox_name(b, &h, 1);
	CHECK(inbox_make(b, &h, "{}") == STORE_OK);
	(void)memcpy(id, h.id, sizeof(id));
	inbox_release(b, &h);
	while (!inbox_has_expired(id))
		(void)usleep(10000);
	CHECK(inbox_find(b, id, &found) == STORE_NOT_FOUND);
	CHECK(inbox_start(b, report_nothing, NULL));
	while (expired(b) == 0) /* the test's time is limited */
		(void)usleep(10000);
	CHECK(used(b) == 0);
	inbox_stop(b);
	inbox_close(b);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_bytes_arrive_in_parts,
		test_bytes_that_are_not_synced_do_not_count,
		test_what_a_crash_leaves_does_not_count,
		test_a_ticket_becomes_one_image,
		test_a_damaged_claim_names_no_image,
		test_a_refused_picture_leaves_room_for_another,
		test_one_request_uses_it_at_a_time,
		test_the_quota_counts_what_is_on_the_disk,
		test_nobody_else_has_it_open,
		test_what_has_expired_is_removed,
	};

	run_tests(tests, ARRAY_SIZE(tests));
	return 0;
}
