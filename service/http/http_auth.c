/* SPDX-License-Identifier: MIT */
/* Who may: by the head of a request, before anything of its body is taken. */
#include "service/http/auth.h"
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include <time.h>

/* A query, as far as it may be signed. */
struct arguments {
	struct signature_parameter parameters[AUTH_PARAMETERS_MAX];
	uint32_t count;
	bool is_too_long;
};

static enum MHD_Result on_argument(void *cls, enum MHD_ValueKind kind,
				   const char *key, const char *value)
{
	struct arguments *q = cls;

	(void)kind;
	q->is_too_long = q->count == AUTH_PARAMETERS_MAX;
	if (q->is_too_long)
		return MHD_NO;
	q->parameters[q->count++] =
		(struct signature_parameter){ .key = key, .value = value };
	return MHD_YES;
}

static enum problem check_signature(const struct request *r, const char *path,
				    const char *method)
{
	struct arguments query = { .count = 0 };

	(void)MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND,
					on_argument, &query);
	if (query.is_too_long)
		return PROBLEM_BAD_SIGNATURE;
	return auth_check_signature(r->config->auth,
				    &(struct auth_request){
					    .method = method,
					    .path = path,
					    .parameters = query.parameters,
					    .count = query.count,
				    },
				    time(NULL));
}

static bool is_public(enum role role)
{
	return role == ROLE_PROBE || role == ROLE_IMAGE || role == ROLE_PAGE;
}

enum problem http_check_auth(const struct request *r, const char *path,
			     const char *method)
{
	const struct auth *auth = r->config->auth;

	if (is_public(r->route->role) || !auth_is_on(auth))
		return PROBLEM_NONE;

	enum problem problem = auth_check_key(
		auth,
		MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_AUTHORIZATION));

	if (problem == PROBLEM_NONE || r->route->role != ROLE_UPLOAD)
		return problem;

	enum problem signature = check_signature(r, path, method);

	/* Without a signature, what is wrong with the key. */
	return signature == PROBLEM_UNAUTHORIZED ? problem : signature;
}

/* RFC 6750, 3: why, unless no key was sent at all. */
void http_add_challenge(struct request *r, struct MHD_Response *response)
{
	if (problem_status(r->problem) != MHD_HTTP_UNAUTHORIZED)
		return;
	http_add_header(r, response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
			r->problem == PROBLEM_INVALID_KEY ?
				"Bearer realm=\"darkroom\", "
				"error=\"invalid_token\"" :
				"Bearer realm=\"darkroom\"");
}
