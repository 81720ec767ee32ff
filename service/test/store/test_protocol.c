/* SPDX-License-Identifier: MIT */
/* Messages of the store helper: what was sent comes, or it is refused. */
#include "service/store/remote/protocol.h"

#include "base/test/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static const char id[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static int ends[2];

static uint32_t open_count(void)
{
	DIR *list = opendir("/proc/self/fd");
	uint32_t count = 0;

	CHECK(list != NULL);
	while (readdir(list) != NULL)
		count++;
	(void)closedir(list);
	return count;
}

static struct message request(enum message_kind kind)
{
	struct message m = { .version = MESSAGE_VERSION,
			     .kind = kind,
			     .number = 7,
			     .bytes = 5,
			     .deadline_ns = 99 };

	(void)strcpy(m.id, id);
	return m;
}

static void test_a_message_comes_whole_with_its_descriptor(void)
{
	struct message m = request(MESSAGE_PUT), got;
	int fd = memfd_create("package", MFD_CLOEXEC), other;
	char byte = 'x';

	CHECK_NUMBER(write(fd, "y", 1), ==, 1);
	CHECK(message_send(ends[0], &m, fd));
	CHECK_NUMBER(message_receive(ends[1], &got, &other), ==, MESSAGE_OK);
	CHECK(memcmp(&m, &got, sizeof(m)) == 0);
	CHECK_NUMBER(other, >=, 0);
	CHECK_NUMBER(other, !=, fd);
	CHECK_NUMBER(pread(other, &byte, 1, 0), ==, 1);
	CHECK_NUMBER(byte, ==, 'y');
	CHECK_NUMBER((fcntl(other, F_GETFD) & FD_CLOEXEC), !=, 0);
	(void)close(other);
	(void)close(fd);
	CHECK(message_send(ends[0], &m, -1));
	CHECK_NUMBER(message_receive(ends[1], &got, &other), ==, MESSAGE_OK);
	CHECK_NUMBER(other, ==, -1);
}

/* `count` bytes as they are, with `fd_count` descriptors. */
static void send_raw(const void *bytes, size_t count, uint32_t fd_count)
{
	union {
		char bytes[CMSG_SPACE(8 * sizeof(int))];
		struct cmsghdr aligned;
	} control = { .bytes = { 0 } };
	struct iovec iov = { (void *)bytes, count };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd_count > 0) {
		struct cmsghdr *c = &control.aligned;

		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		for (uint32_t i = 0; i < fd_count; i++)
			((int *)CMSG_DATA(c))[i] = ends[0];
	}
	CHECK_NUMBER(sendmsg(ends[0], &header, MSG_NOSIGNAL), ==,
		     (ssize_t)count);
}

static void must_be_refused(const struct message *m, size_t bytes,
			    uint32_t fd_count)
{
	uint32_t before = open_count();
	struct message got;
	int fd = 0;

	send_raw(m, bytes, fd_count);
	CHECK_NUMBER(message_receive(ends[1], &got, &fd), ==, MESSAGE_BAD);
	CHECK_NUMBER(fd, ==, -1);
	CHECK_NUMBER(open_count(), ==, before);
}

static void test_other_messages_are_refused(void)
{
	char large[sizeof(struct message) + 1] = { 0 };
	struct message m = request(MESSAGE_PUT);

	(void)memcpy(large, &m, sizeof(m));
	must_be_refused((void *)large, sizeof(large), 0);
	must_be_refused(&m, sizeof(m) - 1, 1);
	must_be_refused(&m, 1, 0);
	must_be_refused(&m, sizeof(m), 2);
	must_be_refused(&m, sizeof(m), 8);
	m.version++;
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_KINDS);
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_ANSWER);
	m.answer = STORE_ANSWERS;
	must_be_refused(&m, sizeof(m), 1);
	m = request(MESSAGE_ANSWER);
	(void)memset(m.detail, 'x', sizeof(m.detail));
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_READ);
	(void)memset(m.id, 'x', sizeof(m.id));
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_READ);
	m.bytes = 0;
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_DELETE);
	m.id[3] = '/';
	must_be_refused(&m, sizeof(m), 0);
	m = request(MESSAGE_PUT);
	m.bytes = 0;
	must_be_refused(&m, sizeof(m), 0);
}

static void test_the_other_end_closes(void)
{
	struct message m = request(MESSAGE_PUT), got;
	int fd;

	CHECK_NUMBER(fcntl(ends[1], F_SETFL, O_NONBLOCK), ==, 0);
	CHECK_NUMBER(message_receive(ends[1], &got, &fd), ==, MESSAGE_BAD);
	CHECK_NUMBER(errno, ==, EAGAIN);
	(void)close(ends[0]);
	CHECK_NUMBER(message_receive(ends[1], &got, &fd), ==, MESSAGE_END);
	CHECK(!message_send(ends[1], &m, -1));
	CHECK_NUMBER(errno, ==, EPIPE);
	(void)close(ends[1]);
}

int main(void)
{
	CHECK_NUMBER(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), ==,
		0);
	test_a_message_comes_whole_with_its_descriptor();
	test_other_messages_are_refused();
	test_the_other_end_closes();
	return 0;
}
