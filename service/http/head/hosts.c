/* SPDX-License-Identifier: MIT */
#include "service/http/head/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>

enum { NAME_BYTES_MAX = 253 };

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

/* AF_INET, AF_INET6, or AF_UNSPEC: it is no address. */
static int read_address(struct text_part host, struct in6_addr *six,
			struct in_addr *four)
{
	bool has_brackets = host.bytes >= 2 && host.text[0] == '[' &&
			    host.text[host.bytes - 1] == ']';
	char text[INET6_ADDRSTRLEN];

	host.text += has_brackets;
	host.bytes -= has_brackets ? 2 : 0;
	if (host.bytes >= sizeof(text))
		return AF_UNSPEC;
	memcpy(text, host.text, host.bytes);
	text[host.bytes] = '\0';
	if (has_brackets)
		return inet_pton(AF_INET6, text, six) == 1 ? AF_INET6 :
							     AF_UNSPEC;
	return inet_pton(AF_INET, text, four) == 1 ? AF_INET : AF_UNSPEC;
}

bool host_is_address(struct text_part host)
{
	struct in6_addr six;
	struct in_addr four;

	return read_address(host, &six, &four) != AF_UNSPEC;
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

bool host_is_loopback(struct text_part host)
{
	struct in6_addr six;
	struct in_addr four;

	switch (read_address(host, &six, &four)) {
	case AF_INET:
		return ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&six) ||
		       (IN6_IS_ADDR_V4MAPPED(&six) &&
			six.s6_addr[12] == IN_LOOPBACKNET);
	default:
		return host_is_localhost(host);
	}
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
