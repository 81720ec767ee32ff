/* SPDX-License-Identifier: MIT */
#include "service/http/head/urls.h"

#include "service/http/head/field_values.h"
#include "service/http/head/hosts.h"
#include "service/http/http_state.h"
#include "service/http/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool has_only(struct text_part s, const char *more)
{
	static const char common[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-._";

	for (size_t i = 0; i < s.bytes; i++)
		if (s.text[i] == '\0' || (strchr(common, s.text[i]) == NULL &&
					  strchr(more, s.text[i]) == NULL))
			return false;
	return true;
}

static struct text_part after(struct text_part s, size_t bytes)
{
	return (struct text_part){ s.text + bytes, s.bytes - bytes };
}

/* Nothing, or a colon and a port. */
static bool is_port(struct text_part s)
{
	uint32_t port = 0;

	if (s.bytes == 0)
		return true;
	if (s.text[0] != ':' || s.bytes == 1 || s.bytes > 6)
		return false;
	for (size_t i = 1; i < s.bytes; i++) {
		if (s.text[i] < '0' || s.text[i] > '9')
			return false;
		port = port * 10 + (uint32_t)(s.text[i] - '0');
	}
	return port > 0 && port <= UINT16_MAX;
}

/* A name or an address, perhaps with a port. */
static bool is_authority(struct text_part s)
{
	bool is_ipv6 = s.bytes > 0 && s.text[0] == '[';
	const char *end = s.bytes == 0 ?
				  NULL :
				  memchr(s.text, is_ipv6 ? ']' : ':', s.bytes);
	size_t bytes = end == NULL ? s.bytes : (size_t)(end - s.text);
	struct text_part host = { s.text, bytes };

	if (is_ipv6) {
		host = (struct text_part){ s.text + 1, bytes - 1 };
		return end != NULL && bytes > 3 && has_only(host, ":") &&
		       is_port(after(s, bytes + 1));
	}
	if (bytes == 0 || host.text[0] == '.' || !has_only(host, ""))
		return false;
	for (size_t i = 1; i < bytes; i++)
		if (host.text[i] == '.' && host.text[i - 1] == '.')
			return false;
	return is_port(after(s, bytes));
}

/*
 * A path, or nothing.  After two slashes there would be a host: RFC 3986, 4.2.
 */
static bool is_path(struct text_part s)
{
	if (s.bytes == 0)
		return true;
	return s.text[0] == '/' && (s.bytes < 2 || s.text[1] != '/') &&
	       has_only(s, "/~!$&'()*+;=:@%");
}

static struct text_part without_slashes(struct text_part s)
{
	while (s.bytes > 0 && s.text[s.bytes - 1] == '/')
		s.bytes--;
	return s;
}

/* Both may be empty, but not both at once.  False: it is no URL. */
static bool split_url(const char *url, struct text_part *origin,
		      struct text_part *path)
{
	const char *host = strncasecmp(url, "http://", 7) == 0  ? url + 7 :
			   strncasecmp(url, "https://", 8) == 0 ? url + 8 :
								  NULL;
	size_t bytes = host != NULL ? strcspn(host, "/") : 0;
	const char *at = host != NULL ? host + bytes : url;

	*origin = (struct text_part){ url, (size_t)(at - url) };
	*path = (struct text_part){ at, strlen(at) };
	return strlen(url) < URL_BASE_BYTES && is_path(*path) &&
	       (host == NULL ? path->bytes > 0 :
			       is_authority((struct text_part){ host, bytes }));
}

bool urls_check_public(const char *url, const char **why)
{
	struct text_part origin, path;

	*why = "give a URL of fewer than 256 characters without a query, such "
	       "as https://photos.example/app, or only its path, such as /app";
	return split_url(url, &origin, &path);
}

bool urls_check_admin(const char *url, const char **why)
{
	struct text_part origin, path;

	*why = "give a URL of fewer than 256 characters without a query, such "
	       "as http://localhost:19090";
	return split_url(url, &origin, &path) && origin.bytes > 0;
}

static void print_url(char out[URL_BASE_BYTES], const char *url)
{
	struct text_part s = without_slashes(text_part_of(url));

	(void)snprintf(out, URL_BASE_BYTES, "%.*s", (int)s.bytes, s.text);
}

void urls_public_base(char out[URL_BASE_BYTES], const char *public_url)
{
	print_url(out, public_url != NULL ? public_url : "");
}

/* The value that the first proxy has set; others may have added theirs. */
static struct text_part first_value(const struct request *r, const char *name)
{
	struct field_list list = { .head = r->head, .name = name };

	if (!field_list_next(&list))
		return (struct text_part){ NULL, 0 };
	return list.item;
}

static const char *own_scheme(const struct request *r)
{
	return r->config->has_tls ? "https" : "http";
}

/* What is not valid is ignored. */
static void print_forwarded(char out[URL_BASE_BYTES], const struct request *r)
{
	struct text_part proto = first_value(r, "X-Forwarded-Proto");
	struct text_part host = first_value(r, "X-Forwarded-Host");
	struct text_part prefix =
		without_slashes(first_value(r, "X-Forwarded-Prefix"));
	const char *scheme = own_scheme(r);
	int at = 0;

	if (proto.bytes == 5 && strncasecmp(proto.text, "https", 5) == 0)
		scheme = "https";
	else if (proto.bytes == 4 && strncasecmp(proto.text, "http", 4) == 0)
		scheme = "http";
	if (prefix.bytes >= URL_BASE_BYTES / 2 || !is_path(prefix))
		prefix.bytes = 0;
	if (host.bytes < URL_BASE_BYTES / 4 && is_authority(host))
		at = snprintf(out, URL_BASE_BYTES, "%s://%.*s", scheme,
			      (int)host.bytes, host.text);
	(void)snprintf(out + at, URL_BASE_BYTES - (size_t)at, "%.*s",
		       (int)prefix.bytes, prefix.bytes > 0 ? prefix.text : "");
}

void urls_base(char out[URL_BASE_BYTES], const struct request *r)
{
	out[0] = '\0';
	if (r->config->public_url != NULL)
		print_url(out, r->config->public_url);
	else if (client_is_trusted(r->client))
		print_forwarded(out, r);
}

/* The host of "host:port"; empty: it is not valid. */
static struct text_part host_of(const char *authority)
{
	struct text_part s = text_part_of(authority);

	if (!host_cut_port(&s))
		s.bytes = 0;
	return s;
}

/* Of --listen: does the server listen on all addresses? */
static bool is_any(struct text_part host)
{
	return host.bytes == 0 || text_part_is(host, text_part_of("0.0.0.0")) ||
	       text_part_is(host, text_part_of("[::]"));
}

/*
 * The client reaches the port at `address` by the host in its request, if that
 * port listens on all addresses, or where this one does.  A client that has not
 * used a loopback address may be on another machine, whose own loopback is not
 * this server's.  `text` NULL: it is not known.
 */
static struct text_part reached_host(const struct request *r,
				     const char *address)
{
	static const struct text_part unknown;
	struct text_part host = host_of(address), of_client;

	if (r->host == NULL)
		return unknown;
	of_client = host_of(r->host);
	if (!is_authority(of_client))
		return unknown;
	if (is_any(host) || text_part_is(host, host_of(r->port->address)))
		return of_client;
	return host_is_loopback(host) && !host_is_loopback(of_client) ?
		       unknown :
		       host;
}

static bool print_reached(char out[URL_BASE_BYTES], const struct request *r,
			  const char *address, uint16_t port)
{
	struct text_part host = reached_host(r, address);
	uint16_t usual = r->config->has_tls ? 443 : 80;
	int at;

	if (host.text == NULL || host.bytes >= URL_BASE_BYTES / 2)
		return false;
	at = snprintf(out, URL_BASE_BYTES, "%s://%.*s", own_scheme(r),
		      (int)host.bytes, host.text);
	if (port != usual)
		(void)snprintf(out + at, URL_BASE_BYTES - (size_t)at, ":%u",
			       (unsigned int)port);
	return true;
}

bool urls_other_port(char out[URL_BASE_BYTES], const struct request *r)
{
	const struct http_config *c = r->config;
	bool is_main = r->port == &r->http->main;
	/* A path alone says nothing about ports. */
	const char *public = c->public_url != NULL && c->public_url[0] != '/' ?
				     c->public_url :
				     NULL;
	const char *given = is_main ? c->admin_url : public;

	if (c->admin_address == NULL)
		return false;
	/* The main port would not know the origin of uploads. */
	if (!is_main && public != NULL && c->admin_url == NULL)
		return false;
	if (given != NULL) {
		print_url(out, given);
		return true;
	}
	/* Clients of a proxy reach us in another way. */
	if (public != NULL || request_header(r, "X-Forwarded-For") ||
	    request_header(r, "X-Forwarded-Host"))
		return false;
	return is_main ?
		       print_reached(out, r, c->admin_address, c->admin_port) :
		       print_reached(out, r, c->listen_address, c->listen_port);
}
