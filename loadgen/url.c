/* SPDX-License-Identifier: MIT */
#include "loadgen/url.h"

#include <errno.h>
#include <http_parser.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum { HTTP_PORT = 80, URL_BYTES_MAX = UINT16_MAX };

static bool has(const struct http_parser_url *parts, int field)
{
	return (parts->field_set & (1 << field)) != 0;
}

/* What is wrong with it, or NULL. */
static const char *find_fault(const char *text, struct http_parser_url *parts)
{
	if (strncasecmp(text, "https://", 8) == 0)
		return "only plain HTTP is spoken here, no TLS: use http://";
	if (strncasecmp(text, "http://", 7) != 0)
		return "it does not begin with http://";
	http_parser_url_init(parts);
	if (strlen(text) > URL_BYTES_MAX ||
	    http_parser_parse_url(text, strlen(text), false, parts) != 0 ||
	    (has(parts, UF_PORT) && parts->port == 0))
		return "malformed";
	if (has(parts, UF_USERINFO))
		return "no user name is sent: leave it out";
	return NULL;
}

static char *copy_part(const char *text, const struct http_parser_url *parts,
		       int field)
{
	return strndup(text + parts->field_data[field].off,
		       parts->field_data[field].len);
}

/* From the end of the authority up to the fragment, which stays here. */
static char *copy_target(const char *rest)
{
	char *target;

	if (asprintf(&target, "%s%.*s", *rest == '/' ? "" : "/",
		     (int)strcspn(rest, "#"), rest) < 0)
		return NULL;
	return target;
}

bool url_parse(struct url *url, const char *text, struct error *error)
{
	struct http_parser_url parts;
	const char *fault = find_fault(text, &parts);
	const char *authority = text + strlen("http://");
	size_t authority_bytes;
	struct url found;

	if (fault != NULL) {
		error_set(error, "URL '%s': %s", text, fault);
		return false;
	}
	authority_bytes = strcspn(authority, "/?#");
	found.host = copy_part(text, &parts, UF_HOST);
	found.authority = strndup(authority, authority_bytes);
	found.target = copy_target(authority + authority_bytes);
	snprintf(found.port, sizeof(found.port), "%u",
		 has(&parts, UF_PORT) ? parts.port : HTTP_PORT);
	if (found.host == NULL || found.authority == NULL ||
	    found.target == NULL) {
		error_set(error, "URL '%s': %s", text, strerror(ENOMEM));
		url_release(&found);
		return false;
	}
	*url = found;
	return true;
}

void url_release(struct url *url)
{
	free(url->host);
	free(url->authority);
	free(url->target);
	*url = (struct url){ 0 };
}

struct addrinfo *url_resolve(const struct url *url, struct error *error)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *addresses;
	int code = getaddrinfo(url->host, url->port, &hints, &addresses);

	if (code == 0)
		return addresses;
	error_set(error, "cannot find the host %s: %s", url->host,
		  code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
	return NULL;
}
