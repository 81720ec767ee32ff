/* SPDX-License-Identifier: MIT */
#include "service/store/remote/protocol.h"

#include "service/store/list.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Room for more descriptors than the one that is allowed, to close them. */
enum { DESCRIPTORS_MAX = 8 };

union control {
	char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	struct cmsghdr aligned;
};

static void add_descriptor(struct msghdr *header, union control *control,
			   int fd)
{
	struct cmsghdr *c;

	*control = (union control){ .bytes = { 0 } };
	header->msg_control = control->bytes;
	header->msg_controllen = CMSG_SPACE(sizeof(fd));
	c = CMSG_FIRSTHDR(header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	(void)memcpy(CMSG_DATA(c), &fd, sizeof(fd));
}

bool message_send(int socket, const struct message *m, int fd)
{
	union control control;
	struct message copy = *m;
	struct iovec bytes = { &copy, sizeof(copy) };
	struct msghdr header = { .msg_iov = &bytes, .msg_iovlen = 1 };
	ssize_t sent;

	copy.version = MESSAGE_VERSION;
	if (fd >= 0)
		add_descriptor(&header, &control, fd);
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(copy);
}

/* Keep the only descriptor; close them all if there are more. */
static bool take_descriptor(struct msghdr *header, int *fd)
{
	int fds[DESCRIPTORS_MAX];
	size_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL;
	     c = CMSG_NXTHDR(header, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (bytes > sizeof(fds) - count * sizeof(int))
			bytes = sizeof(fds) - count * sizeof(int);
		(void)memcpy(fds + count, CMSG_DATA(c), bytes);
		count += bytes / sizeof(int);
	}
	if (count == 1) {
		*fd = fds[0];
		return true;
	}
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	return count == 0;
}

static bool is_text(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) != NULL;
}

static bool is_request(const struct message *m)
{
	switch (m->kind) {
	case MESSAGE_PUT:
		return store_is_key(m->id) && m->bytes > 0;
	case MESSAGE_READ:
		return store_is_key(m->id) && m->bytes > 0;
	case MESSAGE_DELETE:
		return store_is_key(m->id);
	case MESSAGE_LIST:
		return (m->id[0] == '\0' || store_is_key(m->id)) &&
		       store_is_prefix(m->detail) && m->bytes > 0 &&
		       m->bytes <= LIST_PAGE_MAX;
	default:
		return true;
	}
}

static bool is_message(const struct message *m, ssize_t count)
{
	return count == (ssize_t)sizeof(*m) && m->version == MESSAGE_VERSION &&
	       m->kind < MESSAGE_KINDS && is_text(m->id, sizeof(m->id)) &&
	       is_text(m->etag, sizeof(m->etag)) &&
	       is_text(m->detail, sizeof(m->detail)) &&
	       m->answer < STORE_ANSWERS && is_request(m);
}

enum message_result message_receive(int socket, struct message *m, int *fd)
{
	union control control;
	struct iovec bytes = { m, sizeof(*m) };
	struct msghdr header = {
		.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t count;
	*fd = -1;
	do
		count = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return errno == ECONNRESET ? MESSAGE_END : MESSAGE_BAD;
	if (count == 0)
		return MESSAGE_END;
	/* MSG_CTRUNC: this process has no descriptor left, but the message. */
	if (take_descriptor(&header, fd) &&
	    (header.msg_flags & MSG_TRUNC) == 0 && is_message(m, count))
		return MESSAGE_OK;
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = EBADMSG;
	return MESSAGE_BAD;
}
