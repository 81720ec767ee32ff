/* SPDX-License-Identifier: MIT */
#include "service/hooks/protocol.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/uio.h>

bool hook_send(int socket, const struct hook_message *m, const char *body)
{
	struct hook_message copy = *m;
	struct iovec parts[] = { { &copy, sizeof(copy) },
				 { (void *)(uintptr_t)body,
				   body != NULL ? m->body_bytes : 0 } };
	const struct msghdr header = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t sent;

	copy.version = HOOK_VERSION;
	do
		sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

static bool is_text(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes) != NULL;
}

static bool is_message(const struct hook_message *m, size_t count)
{
	return count >= sizeof(*m) && m->version == HOOK_VERSION &&
	       m->kind < HOOK_KINDS && m->body_bytes == count - sizeof(*m) &&
	       m->body_bytes <= HOOK_BODY_BYTES &&
	       is_text(m->id, sizeof(m->id)) &&
	       is_text(m->url, sizeof(m->url)) &&
	       is_text(m->detail, sizeof(m->detail));
}

enum hook_received hook_receive(int socket, struct hook_message *m,
				char body[HOOK_BODY_BYTES])
{
	struct iovec parts[] = { { m, sizeof(*m) }, { body, HOOK_BODY_BYTES } };
	struct msghdr header = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t count;

	do
		count = recvmsg(socket, &header, MSG_DONTWAIT);
	while (count < 0 && errno == EINTR);
	if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return HOOK_NOTHING;
	if (count <= 0)
		return HOOK_END;
	return (header.msg_flags & MSG_TRUNC) == 0 &&
			       is_message(m, (size_t)count) ?
		       HOOK_RECEIVED :
		       HOOK_BAD;
}

/* Only printable ASCII that a URL may have, without a fragment. */
static bool is_plain(const char *url)
{
	for (const char *c = url; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"#<>\\^`{|}", *c) != NULL)
			return false;
	return true;
}

/* Has `host`, of `bytes`, a port?  Returns the bytes of the name before it. */
static size_t name_bytes(const char *host, size_t bytes)
{
	const char *end = NULL;

	if (host[0] == '[')
		end = memchr(host, ']', bytes);
	else
		end = memchr(host, ':', bytes);
	if (end == NULL)
		return host[0] == '[' ? 0 : bytes;
	return (size_t)(end - host) + (host[0] == '[');
}

/* 0: the text is no port. */
static uint32_t read_port(const char *text, size_t bytes)
{
	uint32_t port = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9' || port > UINT16_MAX)
			return 0;
		port = port * 10 + (uint32_t)(text[i] - '0');
	}
	return port <= UINT16_MAX ? port : 0;
}

static bool is_name(const char *name, size_t bytes)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	bool is_ipv6 = bytes > 2 && name[0] == '[';

	if (is_ipv6)
		return strspn(name + 1, "0123456789abcdefABCDEF:.") ==
		       bytes - 2;
	for (size_t i = 0; i < bytes; i++)
		if (strchr(letters, name[i]) == NULL &&
		    (strchr("._-", name[i]) == NULL || i == 0))
			return false;
	return bytes > 0;
}

bool hook_origin(const char *url, char origin[HOOK_ORIGIN_BYTES])
{
	bool is_https = strncasecmp(url, "https://", 8) == 0;
	const char *host = url + (is_https ? 8 : 7);
	size_t bytes, name;
	uint32_t port = is_https ? 443 : 80, usual = port;

	if ((!is_https && strncasecmp(url, "http://", 7) != 0) ||
	    strlen(url) >= HOOK_URL_BYTES || !is_plain(url))
		return false;
	bytes = strcspn(host, "/?");
	name = name_bytes(host, bytes);
	if (name > HOOK_ORIGIN_BYTES - 32 || !is_name(host, name))
		return false;
	if (name < bytes)
		port = host[name] == ':' ?
			       read_port(host + name + 1, bytes - name - 1) :
			       0;
	if (port == 0)
		return false;
	(void)snprintf(origin, HOOK_ORIGIN_BYTES, "http%s://%.*s",
		       is_https ? "s" : "", (int)name, host);
	if (port != usual)
		(void)snprintf(origin + strlen(origin), 16, ":%u", port);
	for (char *c = origin; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return true;
}

bool hook_next_origin(const char **at, char origin[HOOK_ORIGIN_BYTES])
{
	size_t bytes = strcspn(*at, ",");
	char text[HOOK_ORIGIN_BYTES];

	if (bytes == 0 || bytes >= sizeof(text))
		return false;
	(void)memcpy(text, *at, bytes);
	text[bytes] = '\0';
	if (!hook_origin(text, origin) || strcmp(text, origin) != 0)
		return false;
	*at += bytes;
	if (**at == ',' && (*at)[1] != '\0')
		(*at)++;
	return true;
}

bool hook_check_url(const char *url, const char **why)
{
	char origin[HOOK_ORIGIN_BYTES];

	*why = "give an absolute URL of http or https, of at most 1023 "
	       "printable ASCII characters, without a user, and without a "
	       "fragment";
	return hook_origin(url, origin);
}

bool hook_check_origins(const char *origins, const char **why)
{
	char origin[HOOK_ORIGIN_BYTES];
	uint32_t count = 0;

	*why = "give up to 64 origins such as https://shop.example, in lower "
	       "case, without a path or the usual port, with commas between "
	       "them";
	while (count < HOOK_ORIGINS_MAX && hook_next_origin(&origins, origin))
		count++;
	return count > 0 && *origins == '\0';
}
