/* SPDX-License-Identifier: MIT */
#include "service/http/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES_MAX = 253 };

struct text_part text_part_of(const char *text)
{
	return (struct text_part){ text, strlen(text) };
}

bool text_part_is(struct text_part a, struct text_part b)
{
	return a.bytes == b.bytes && strncasecmp(a.text, b.text, a.bytes) == 0;
}

bool host_cut_port(struct text_part *host)
{
	const char *colon = memrchr(host->text, ':', host->bytes);
	size_t bytes =
		colon != NULL ? (size_t)(colon - host->text) : host->bytes;

	/* The last colon of "[::1]" does not begin a port. */
	if (colon == NULL || memchr(colon, ']', host->bytes - bytes) != NULL)
		return true;
	for (size_t i = bytes + 1; i < host->bytes; i++)
		if (!isdigit((unsigned char)host->text[i]))
			return false;
	host->bytes = bytes;
	return true;
}

bool host_is_name(struct text_part host)
{
	for (size_t i = 0; i < host.bytes; i++)
		if (!isalnum((unsigned char)host.text[i]) &&
		    (host.text[i] == '\0' ||
		     strchr("-._", host.text[i]) == NULL))
			return false;
	return host.bytes > 0 && host.bytes <= NAME_BYTES_MAX;
}

bool host_is_address(struct text_part host)
{
	bool has_brackets = host.bytes >= 2 && host.text[0] == '[' &&
			    host.text[host.bytes - 1] == ']';
	struct in6_addr address;
	char text[INET6_ADDRSTRLEN];

	host.text += has_brackets;
	host.bytes -= has_brackets ? 2 : 0;
	if (host.bytes >= sizeof(text))
		return false;
	memcpy(text, host.text, host.bytes);
	text[host.bytes] = '\0';
	return inet_pton(has_brackets ? AF_INET6 : AF_INET, text, &address) ==
	       1;
}

struct text_part host_without_dot(struct text_part name)
{
	name.bytes -= name.bytes > 0 && name.text[name.bytes - 1] == '.';
	return name;
}

bool host_is_same(struct text_part a, struct text_part b)
{
	return text_part_is(host_without_dot(a), host_without_dot(b));
}

bool host_is_in_domain(struct text_part name, const char *domain)
{
	struct text_part end = text_part_of(domain);
	struct text_part p = host_without_dot(name);
	size_t before = p.bytes - end.bytes;

	if (p.bytes < end.bytes)
		return false;
	return text_part_is((struct text_part){ p.text + before, end.bytes },
			    end) &&
	       (before == 0 || p.text[before - 1] == '.');
}

bool host_is_localhost(struct text_part name)
{
	return host_is_in_domain(name, "localhost");
}

struct text_part url_origin(const char *url)
{
	const char *host = url[0] != '/' ? strstr(url, "://") : NULL;

	if (host == NULL)
		return (struct text_part){ url, 0 };
	host += strlen("://");
	return (struct text_part){ url,
				   (size_t)(host - url) + strcspn(host, "/") };
}

struct text_part origin_host(struct text_part origin)
{
	static const char mark[] = "://";
	const char *at = memmem(origin.text, origin.bytes, mark, strlen(mark));
	size_t before = at != NULL ? (size_t)(at - origin.text) + strlen(mark) :
				     origin.bytes;

	return (struct text_part){ origin.text + before,
				   origin.bytes - before };
}
