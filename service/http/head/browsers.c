/* SPDX-License-Identifier: MIT */
#include "service/http/head/browsers.h"

#include "service/http/head/hosts.h"
#include "service/http/http_state.h"
#include "service/http/head/params.h"
#include "service/http/request.h"
#include "service/http/head/urls.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	HOST_SHOWN_BYTES = 101, /* of a host or origin, in a problem */
	SCHEME_CHARS_MAX = 32,
};

static struct text_part next_name(const char **list)
{
	struct text_part p = { *list, strcspn(*list, ",") };

	*list += p.bytes;
	*list += **list == ',';
	return p;
}

bool browsers_check_names(const char *names, const char **why)
{
	*why = "give names without ports, with commas between them, or * for "
	       "any";
	if (strcmp(names, "*") == 0)
		return true;
	do {
		if (!host_is_name(next_name(&names)))
			return false;
	} while (*names != '\0');
	return names[-1] != ',';
}

static bool is_lower(struct text_part p)
{
	for (size_t i = 0; i < p.bytes; i++)
		if (p.text[i] >= 'A' && p.text[i] <= 'Z')
			return false;
	return true;
}

/* RFC 3986, 3.1, in lower case. */
static bool is_scheme(struct text_part p)
{
	return p.bytes > 0 && p.bytes <= SCHEME_CHARS_MAX && p.text[0] >= 'a' &&
	       p.text[0] <= 'z' &&
	       strspn(p.text, "abcdefghijklmnopqrstuvwxyz0123456789+-.") >=
		       p.bytes;
}

/* Browsers leave out the port that a scheme has anyway. */
static bool has_usual_port(struct text_part origin)
{
	static const char *const usual[][2] = { { "http://", ":80" },
						{ "https://", ":443" } };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		size_t begin = strlen(usual[i][0]), end = strlen(usual[i][1]);

		if (origin.bytes > begin + end &&
		    memcmp(origin.text, usual[i][0], begin) == 0 &&
		    memcmp(origin.text + origin.bytes - end, usual[i][1],
			   end) == 0)
			return true;
	}
	return false;
}

/* Has the host no port, or one from 1 to 65535 without zeros before it? */
static bool has_plain_port(struct text_part host)
{
	const char *end = host.text + host.bytes, *colon = end;
	uint32_t port = 0;

	while (colon > host.text && colon[-1] != ':' && colon[-1] != ']')
		colon--;
	if (colon == host.text || colon[-1] == ']')
		return true;
	for (const char *c = colon; c < end; c++) {
		if (*c < '0' || *c > '9' || port > UINT16_MAX)
			return false;
		port = port * 10 + (uint32_t)(*c - '0');
	}
	return colon < end && *colon != '0' && port <= UINT16_MAX;
}

/* Is it as a browser sends it in Origin? */
static bool is_origin(struct text_part p)
{
	struct text_part host = origin_host(p);
	struct text_part scheme = { p.text, strcspn(p.text, ":,") };

	return is_scheme(scheme) && is_lower(p) && host.bytes > 0 &&
	       has_plain_port(host) && !has_usual_port(p) &&
	       host_cut_port(&host) &&
	       (host_is_name(host) || host_is_address(host));
}

bool browsers_check_origins(const char *origins, const char **why)
{
	*why = "give origins as browsers send them, such as "
	       "https://shop.example, in lower case, without a path or the "
	       "usual port, with commas between them, or * for any";
	if (strcmp(origins, "*") == 0)
		return true;
	do {
		if (!is_origin(next_name(&origins)))
			return false;
	} while (*origins != '\0');
	return origins[-1] != ',';
}

static bool is_listed_origin(const char *origin, const char *origins)
{
	while (*origins != '\0')
		if (text_part_is(next_name(&origins), text_part_of(origin)))
			return true;
	return false;
}

/*
 * A name without a dot.  Some countries have given their own names an address,
 * such as http://ai/; these have two letters, or begin with xn--.
 */
static bool is_single_label(struct text_part name)
{
	struct text_part p = host_without_dot(name);

	return p.bytes > 2 && memchr(p.text, '.', p.bytes) == NULL &&
	       strncasecmp(p.text, "xn--", 4) != 0;
}

/*
 * A name that no public DNS server can give to anybody (RFC 6761, 6762, 8375;
 * ICANN's resolution of 2024 on "internal"; Kubernetes uses "svc" and
 * "cluster.local", and there is no such domain).
 */
static bool is_private_name(struct text_part p)
{
	static const char *const domains[] = {
		"local", "internal", "svc", "home.arpa", "test",
	};

	if (!host_is_name(p))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(domains); i++)
		if (host_is_in_domain(p, domains[i]))
			return true;
	return is_single_label(p);
}

static bool is_listed_name(struct text_part name, const char *names)
{
	while (*names != '\0') {
		struct text_part p = next_name(&names);

		if (host_cut_port(&p) && host_is_same(name, p))
			return true;
	}
	return false;
}

/* What the name in Host says about where a request comes from. */
enum host_kind {
	HOST_FOREIGN, /* perhaps the name of a foreign page */
	HOST_PRIVATE, /* perhaps the name of a page in the private network */
	HOST_OWN,     /* an address, or a name that was given to us */
};

/* `names` is a list of our names, or NULL. */
static enum host_kind judge_host(const char *host, const char *names)
{
	struct text_part p = text_part_of(host);

	if (names != NULL && strcmp(names, "*") == 0)
		return HOST_OWN;
	if (!host_cut_port(&p))
		return HOST_FOREIGN;
	if (host_is_address(p) || host_is_localhost(p) ||
	    (names != NULL && host_is_name(p) && is_listed_name(p, names)))
		return HOST_OWN;
	return is_private_name(p) ? HOST_PRIVATE : HOST_FOREIGN;
}

/* Is it the host of --public-url, which may be NULL, or only a path? */
static bool is_public_host(const char *host, const char *url)
{
	struct text_part p = text_part_of(host), own;

	if (url == NULL)
		return false;
	own = origin_host(url_origin(url));
	return own.bytes > 0 && host_cut_port(&own) && host_cut_port(&p) &&
	       host_is_same(p, own);
}

static bool origin_is_foreign(const char *fetch_site, const char *origin,
			      const char *host)
{
	struct text_part own;

	/* Sec-Fetch-Site is right even if a proxy ends TLS or changes Host. */
	if (fetch_site != NULL)
		return strcmp(fetch_site, "same-origin") != 0 &&
		       strcmp(fetch_site, "none") != 0;
	if (origin == NULL)
		return false;
	own = origin_host(text_part_of(origin));
	return own.bytes == 0 || host == NULL ||
	       !text_part_is(own, text_part_of(host));
}

/*
 * These are not checked: probes, because they reveal nothing; HTTPS, because
 * the certificate contains our names; and requests without Host, because every
 * browser sends Host.
 */
static enum host_kind host_of(const struct request *r)
{
	const struct http_config *c = r->config;

	if (r->route->role == ROLE_PROBE || r->host == NULL || c->has_tls)
		return HOST_OWN;
	if (judge_host(r->host, c->host_names) == HOST_OWN ||
	    is_public_host(r->host, c->public_url))
		return HOST_OWN;
	return judge_host(r->host, r->port->address);
}

/*
 * Does the request come from a page, and not say by Sec-Fetch-Site that the
 * browser knows whose page it is?
 */
static bool is_of_plain_page(const struct request *r)
{
	return request_header(r, "Origin") != NULL &&
	       request_header(r, "Sec-Fetch-Site") == NULL;
}

/*
 * Does the page of our admin port upload a picture, for its results?  Its
 * origin has the name in Host and the port of --admin-listen, or is that of
 * --admin-url.
 */
static bool is_admin_page(const struct request *r)
{
	const char *origin = request_header(r, "Origin");
	char admin[URL_BASE_BYTES];

	return origin != NULL && r->route != NULL &&
	       r->route->handler == &upload_handler &&
	       urls_other_port(admin, r) &&
	       text_part_is(url_origin(admin), text_part_of(origin));
}

/*
 * Without Sec-Fetch-Site, it may be our own page, and a proxy has changed Host.
 */
enum problem browsers_refuse(struct request *r)
{
	char origin[HOST_SHOWN_BYTES], host[HOST_SHOWN_BYTES];
	const char *own = request_header(r, "Origin");

	if (is_of_plain_page(r) && r->host != NULL)
		request_explain(
			r,
			"The page's origin is %s, but the request's Host is "
			"%s. If a proxy is between them, let it pass on the "
			"client's Host with its port (nginx: proxy_set_header "
			"Host $http_host); pages of other origins need "
			"--cors-origin.",
			params_show(origin, sizeof(origin), own),
			params_show(host, sizeof(host), r->host));
	else if (own != NULL)
		request_explain(r,
				"The page's origin is %s; --cors-origin names "
				"the origins whose pages may use this server.",
				params_show(origin, sizeof(origin), own));
	return PROBLEM_CROSS_SITE;
}

/* Do pages of --cors-origin have access to the path? */
static bool is_shared(const struct request *r)
{
	if (r->config->cors_origins == NULL || r->port != &r->http->main)
		return false;
	switch (request_role(r)) {
	case ROLE_NONE:
	case ROLE_UPLOAD:
	case ROLE_TICKET:
	case ROLE_IMAGE:
	case ROLE_REMOVAL:
	case ROLE_PREFLIGHT:
		return true;
	case ROLE_PROBE:
	case ROLE_PAGE:
	case ROLE_REPORT:
	case ROLES:
		break;
	}
	return false;
}

static bool is_any(const char *origins)
{
	return strcmp(origins, "*") == 0;
}

const char *browsers_reader(const struct request *r)
{
	const char *origin = request_header(r, "Origin");
	const char *allowed = r->config->cors_origins;

	if (is_shared(r)) {
		if (is_any(allowed))
			return allowed;
		if (origin != NULL && is_listed_origin(origin, allowed))
			return origin;
	}
	return NULL;
}

bool browsers_is_admin_page(const struct request *r)
{
	return is_admin_page(r) && host_of(r) == HOST_OWN;
}

bool browsers_reader_varies(const struct request *r)
{
	return r->reader_origin != NULL ?
		       !is_any(r->reader_origin) :
		       is_shared(r) && !is_any(r->config->cors_origins);
}

static enum problem refuse_host(struct request *r)
{
	char shown[HOST_SHOWN_BYTES];
	struct text_part name = text_part_of(r->host);

	if (host_cut_port(&name) && host_is_name(name))
		request_explain(
			r,
			"The Host header has the name '%s', which this "
			"server does not know; if it is its own, give it "
			"by --host %.*s.",
			params_show(shown, sizeof(shown), r->host),
			(int)name.bytes, name.text);
	return PROBLEM_WRONG_HOST;
}

/* Does it come from a page of another origin that is not allowed to? */
static bool is_of_foreign_page(const struct request *r)
{
	return r->reader_origin == NULL &&
	       origin_is_foreign(request_header(r, "Sec-Fetch-Site"),
				 request_header(r, "Origin"), r->host);
}

enum problem browsers_check_origin(struct request *r)
{
	return is_of_foreign_page(r) ? browsers_refuse(r) : PROBLEM_NONE;
}

enum problem browsers_check_page(struct request *r, bool is_public)
{
	enum host_kind kind = host_of(r);

	if (kind == HOST_FOREIGN)
		return refuse_host(r);
	if (is_public || r->reader_origin != NULL)
		return PROBLEM_NONE;
	if (is_of_foreign_page(r))
		return browsers_refuse(r);
	if (kind == HOST_OWN || !is_of_plain_page(r))
		return PROBLEM_NONE;
	request_explain(r,
			"The page has the name of a private network, for which "
			"other machines may answer; give the name by --host.");
	return PROBLEM_WRONG_HOST;
}
