/* SPDX-License-Identifier: MIT */
/*
 * A boundary contains no CR, so in the delimiter CRLF "--" boundary, CR is only
 * the first byte.  If what follows does not continue a delimiter that has
 * begun, no later byte of it can begin another one: all of it is data.
 * Therefore nothing is kept of a piece but how many bytes of the delimiter
 * stand at its end.
 */
#include "service/http/handlers/multipart.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum state {
	BEGIN, /* before the first delimiter: a preamble, or nothing */
	AFTER, /* after a delimiter: CRLF, or "--" and the end */
	HEAD,  /* headers of a part */
	DATA,
	CLOSED, /* after the last delimiter: nothing, or CRLF and an epilogue */
	STATES
};

struct multipart {
	multipart_part_fn *fn;
	void *arg;
	bool is_exact;
	enum state state;
	enum multipart_fault fault;
	/*
	 * BEGIN, DATA: the bytes of the delimiter that were read, of which
	 * the first `assumed` were not there.  AFTER, CLOSED: the bytes read.
	 */
	size_t matched, assumed;
	size_t delimiter_bytes;
	char delimiter[sizeof("\r\n--") + MULTIPART_BOUNDARY_BYTES_MAX];
	char after; /* the first byte after the delimiter; '\0': none yet */
	uint32_t part_count;

	/* Of the part; the texts are in `head`. */
	const char *name, *filename;
	bool has_disposition, has_type, has_encoding;
	uint32_t header_count; /* and parameters of Content-Disposition */
	bool is_begun;
	uint64_t offset;
	size_t head_bytes, line_at;
	char head[MULTIPART_HEAD_BYTES];
};

_Static_assert(sizeof(struct multipart) <= MULTIPART_BYTES, "what it takes");

enum { CRLF_BYTES = 2 };

static bool is_token_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static char *skip_space(char *at)
{
	return at + strspn(at, " \t");
}

static char *skip_token(char *at)
{
	while (is_token_byte(*at))
		at++;
	return at;
}

/*
 * Is `at` a backslash before the byte that it escapes?  Only quotes and
 * backslashes can be escaped, because some clients send paths with single
 * backslashes.  A quote at the end of the header ends the text, because
 * browsers escape nothing by a backslash, and may send a name with one at its
 * end.
 */
static bool is_escape(const char *at)
{
	return at[0] == '\\' &&
	       (at[1] == '\\' || (at[1] == '"' && at[2] != '\0'));
}

/*
 * Unquote the text after the quote at `at`.  Returns the position after the
 * second quote; NULL: there is none.
 */
static char *unquote(char *at, char **text)
{
	char *to = ++at;

	*text = to;
	for (; *at != '"'; at++) {
		if (is_escape(at))
			at++;
		if (*at == '\0')
			return NULL;
		*to++ = *at;
	}
	*to = '\0';
	return at + 1;
}

/*
 * End the text at `end`, after which ";" or nothing follows.  Returns the
 * position after that; NULL: something else follows.
 */
static char *end_text(char *end)
{
	char *next = skip_space(end);

	if (*next == ';')
		next++;
	else if (*next != '\0')
		return NULL;
	*end = '\0';
	return next;
}

/* Take a text of bytes of a token and `more`; NULL: it is empty, or goes on. */
static char *take_text(char *at, const char *more, char **text)
{
	*text = at;
	while (is_token_byte(*at) || (*at != '\0' && strchr(more, *at) != NULL))
		at++;
	return at > *text ? end_text(at) : NULL;
}

/*
 * Take the next NAME=VALUE of a header's value, where *rest is after a ";".  If
 * the value is not quoted, it may have the bytes of a token and `more`.  *name
 * NULL: there is none.  False: it is malformed.
 */
static bool take_parameter(char **rest, const char *more, char **name,
			   char **value)
{
	char *at = skip_space(*rest);
	char *end = skip_token(at);

	*name = NULL;
	*rest = at;
	if (*at == '\0')
		return true;
	if (end == at || end[0] != '=')
		return false;
	if (end[1] == '"') {
		*rest = unquote(end + 1, value);
		if (*rest != NULL)
			*rest = end_text(*rest);
	} else {
		*rest = take_text(end + 1, more, value);
	}
	*end = '\0';
	*name = at;
	return *rest != NULL;
}

/* Set *to, of which there may be only one. */
static bool set_once(const char **to, const char *value)
{
	if (*to != NULL)
		return false;
	*to = value;
	return true;
}

/* CR must not be in it: see the top. */
static bool is_boundary(const char *text)
{
	size_t bytes = strlen(text);

	for (size_t i = 0; i < bytes; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '"' ||
		    text[i] == '\\')
			return false;
	return bytes > 0 && bytes <= MULTIPART_BOUNDARY_BYTES_MAX &&
	       text[bytes - 1] != ' ';
}

/*
 * The boundary of a Content-Type, which is changed; NULL: none is valid.
 * Characters that must be quoted are accepted without quotes, too, because some
 * clients send them so.
 */
static const char *find_boundary(char *type)
{
	static const char more[] = "(),/:=?@<>[]{}";
	char *text, *rest = take_text(skip_space(type), "/", &text);
	char *name, *value;
	const char *boundary = NULL;

	if (rest == NULL || strcasecmp(text, "multipart/form-data") != 0)
		return NULL;
	while (take_parameter(&rest, more, &name, &value)) {
		if (name == NULL)
			return boundary != NULL && is_boundary(boundary) ?
				       boundary :
				       NULL;
		if (strcasecmp(name, "boundary") == 0 &&
		    !set_once(&boundary, value))
			return NULL;
	}
	return NULL;
}

/* False: malformed, or too many parameters. */
static bool take_disposition(struct multipart *m, char *text)
{
	char *type, *rest = take_text(text, "", &type), *name, *value;
	const char *coded = NULL;

	if (rest == NULL || strcasecmp(type, "form-data") != 0)
		return false;
	while (m->header_count <= MULTIPART_HEADERS_MAX &&
	       take_parameter(&rest, "", &name, &value)) {
		if (name == NULL) {
			if (m->filename == NULL)
				m->filename = coded;
			return true;
		}
		m->header_count++;
		if ((strcasecmp(name, "name") == 0 &&
		     !set_once(&m->name, value)) ||
		    (strcasecmp(name, "filename") == 0 &&
		     !set_once(&m->filename, value)) ||
		    (strcasecmp(name, "filename*") == 0 &&
		     !set_once(&coded, value)))
			return false;
	}
	return false;
}

/* A part is taken as it is, so it must not be encoded. */
static bool is_plain(const char *encoding)
{
	return strcasecmp(encoding, "binary") == 0 ||
	       strcasecmp(encoding, "8bit") == 0 ||
	       strcasecmp(encoding, "7bit") == 0;
}

static bool is_nested(const char *type)
{
	static const char begin[] = "multipart/";

	return strncasecmp(type, begin, sizeof(begin) - 1) == 0;
}

static enum multipart_fault take_header(struct multipart *m, const char *name,
					char *value)
{
	bool ignored = false, *has = &ignored;

	if (m->header_count++ == MULTIPART_HEADERS_MAX)
		return MULTIPART_MANY_HEADERS;
	if (strcasecmp(name, "Content-Disposition") == 0)
		has = &m->has_disposition;
	else if (strcasecmp(name, "Content-Type") == 0)
		has = &m->has_type;
	else if (strcasecmp(name, "Content-Transfer-Encoding") == 0)
		has = &m->has_encoding;
	if (*has)
		return MULTIPART_HEADER;
	*has = true;
	if (has == &m->has_disposition && !take_disposition(m, value))
		return m->header_count > MULTIPART_HEADERS_MAX ?
			       MULTIPART_MANY_HEADERS :
			       MULTIPART_DISPOSITION;
	if (has == &m->has_encoding && !is_plain(value))
		return MULTIPART_ENCODING;
	return has == &m->has_type && is_nested(value) ? MULTIPART_NESTED :
							 MULTIPART_OK;
}

/* No byte of a line but the tab is a control character. */
static bool is_text(const char *line, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') ||
		    line[i] == '\x7f')
			return false;
	return true;
}

static enum multipart_fault take_line(struct multipart *m, char *line,
				      size_t bytes)
{
	char *end = skip_token(line), *value;

	if (end == line || *end != ':' || !is_text(line, bytes))
		return MULTIPART_HEADER;
	*end = '\0';
	value = skip_space(end + 1);
	for (char *last = line + bytes;
	     last > value && (last[-1] == ' ' || last[-1] == '\t'); last--)
		last[-1] = '\0';
	return take_header(m, line, value);
}

static void begin_part(struct multipart *m)
{
	if (m->part_count++ == MULTIPART_PARTS_MAX) {
		m->fault = MULTIPART_MANY_PARTS;
		return;
	}
	m->state = HEAD;
	m->header_count = 0;
	m->name = m->filename = NULL;
	m->has_disposition = m->has_type = m->has_encoding = false;
	m->is_begun = false;
	m->offset = 0;
	m->head_bytes = m->line_at = 0;
}

/* Pass on data of the part. */
static void report(struct multipart *m, const char *data, size_t bytes)
{
	if (!m->fn(m->arg, m->name, m->filename, data, m->offset, bytes))
		m->fault = MULTIPART_REFUSED;
	m->is_begun = true;
	m->offset += bytes;
}

/* A preamble is skipped. */
static void pass_on(struct multipart *m, const char *data, size_t bytes)
{
	if (bytes > 0 && m->state == DATA)
		report(m, data, bytes);
}

static void end_data(struct multipart *m)
{
	if (m->state == DATA && m->assumed > 0)
		m->fault = MULTIPART_NO_EMPTY_LINE;
	else if (m->state == DATA && !m->is_begun)
		report(m, "", 0);
	m->state = AFTER;
	m->after = '\0';
	m->matched = m->assumed = 0;
}

/*
 * A delimiter may begin here, without its CRLF.  At the begin of the form it
 * then counts as one; at the begin of data it is refused, because some readers
 * take it for the end of an empty part, and others for data.
 */
static void assume_crlf(struct multipart *m)
{
	m->matched = m->assumed = CRLF_BYTES;
}

/* The functions read_...() return how many bytes they have read. */

static size_t read_head(struct multipart *m, const char *data, size_t bytes)
{
	const char *lf = memchr(data, '\n', bytes);
	size_t count = lf != NULL ? (size_t)(lf + 1 - data) : bytes;
	char *line = m->head + m->line_at;

	if (count > sizeof(m->head) - m->head_bytes) {
		m->fault = MULTIPART_LONG_HEAD;
		return bytes;
	}
	memcpy(m->head + m->head_bytes, data, count);
	m->head_bytes += count;
	if (lf == NULL)
		return count;
	bytes = m->head_bytes - m->line_at;
	if (bytes < CRLF_BYTES || line[bytes - CRLF_BYTES] != '\r') {
		m->fault = MULTIPART_HEADER;
		return count;
	}
	m->line_at = m->head_bytes;
	line[bytes - CRLF_BYTES] = '\0';
	if (bytes > CRLF_BYTES) {
		m->fault = take_line(m, line, bytes - CRLF_BYTES);
	} else {
		m->state = DATA;
		assume_crlf(m);
	}
	return count;
}

/*
 * The delimiter has begun, but what follows does not continue it.  For an exact
 * reader there can only be a CRLF before the first one.
 */
static void take_back(struct multipart *m)
{
	size_t matched = m->matched, assumed = m->assumed;

	m->matched = m->assumed = 0;
	pass_on(m, m->delimiter + assumed, matched - assumed);
	if (m->state == BEGIN && m->is_exact &&
	    (assumed == 0 || matched > assumed))
		m->fault = MULTIPART_NO_BOUNDARY;
}

/* A delimiter begins here, or has begun at the end of the piece before. */
static size_t read_delimiter(struct multipart *m, const char *data,
			     size_t bytes)
{
	size_t left = m->delimiter_bytes - m->matched;
	size_t count = bytes < left ? bytes : left;

	if (memcmp(m->delimiter + m->matched, data, count) != 0) {
		take_back(m);
		return 0;
	}
	m->matched += count;
	if (count == left)
		end_data(m);
	return count;
}

/* Where a delimiter begins that the piece does not contain to its end. */
static const char *find_begin(const struct multipart *m, const char *data,
			      size_t bytes)
{
	size_t most = m->delimiter_bytes - 1;
	size_t tail = bytes < most ? bytes : most;
	const char *end = data + bytes, *cr = memrchr(end - tail, '\r', tail);

	return cr != NULL && memcmp(m->delimiter, cr, (size_t)(end - cr)) == 0 ?
		       cr :
		       end;
}

static size_t read_data(struct multipart *m, const char *data, size_t bytes)
{
	const char *at;

	if (m->matched > 0)
		return read_delimiter(m, data, bytes);
	at = memmem(data, bytes, m->delimiter, m->delimiter_bytes);
	if (at == NULL)
		at = find_begin(m, data, bytes);
	pass_on(m, data, (size_t)(at - data));
	if (m->fault != MULTIPART_OK || at == data + bytes)
		return bytes;
	return (size_t)(at - data) +
	       read_delimiter(m, at, (size_t)(data + bytes - at));
}

static size_t read_begin(struct multipart *m, const char *data, size_t bytes)
{
	return m->is_exact ? read_delimiter(m, data, bytes) :
			     read_data(m, data, bytes);
}

/* White space after a boundary. */
static bool is_padding(const struct multipart *m, char c)
{
	return !m->is_exact && (c == ' ' || c == '\t');
}

static size_t read_after(struct multipart *m, const char *data, size_t bytes)
{
	(void)bytes;
	if (m->matched == 0 && is_padding(m, *data)) {
		m->after = ' ';
	} else if (m->matched == 0 &&
		   (*data == '\r' || (*data == '-' && m->after == '\0'))) {
		m->after = *data;
		m->matched = 1;
	} else if (m->matched == 1 && m->after == '\r' && *data == '\n') {
		begin_part(m);
	} else if (m->matched == 1 && m->after == '-' && *data == '-') {
		m->state = CLOSED;
		m->matched = 0;
	} else {
		m->fault = MULTIPART_AFTER;
	}
	return 1;
}

static size_t read_closed(struct multipart *m, const char *data, size_t bytes)
{
	if (m->matched == CRLF_BYTES && !m->is_exact)
		return bytes;
	if (m->matched == 0 && is_padding(m, *data))
		return 1;
	if (m->matched == CRLF_BYTES || *data != "\r\n"[m->matched])
		m->fault = MULTIPART_EPILOGUE;
	m->matched++;
	return 1;
}

enum multipart_fault multipart_read(struct multipart *m, const char *data,
				    size_t bytes)
{
	static size_t (*const steps[STATES])(struct multipart *, const char *,
					     size_t) = {
		[BEGIN] = read_begin,   [AFTER] = read_after,
		[HEAD] = read_head,     [DATA] = read_data,
		[CLOSED] = read_closed,
	};

	while (bytes > 0 && m->fault == MULTIPART_OK) {
		size_t count = steps[m->state](m, data, bytes);

		data += count;
		bytes -= count;
	}
	return m->fault;
}

enum multipart_fault multipart_finish(struct multipart *m)
{
	if (m->fault == MULTIPART_OK && m->state == BEGIN)
		m->fault = m->is_exact ? MULTIPART_NO_BOUNDARY :
					 MULTIPART_LACKS_BOUNDARY;
	else if (m->fault == MULTIPART_OK &&
		 (m->state != CLOSED || m->matched == 1))
		m->fault = MULTIPART_CUT_SHORT;
	return m->fault;
}

enum multipart_fault multipart_fault(const struct multipart *m)
{
	return m->fault;
}

/* The type is copied to `head`, which no part uses yet. */
static void read_type(struct multipart *m, const char *type)
{
	const char *boundary = NULL;
	size_t bytes = strlen(type) + 1;

	if (bytes <= sizeof(m->head)) {
		memcpy(m->head, type, bytes);
		boundary = find_boundary(m->head);
	}
	if (boundary == NULL) {
		m->fault = MULTIPART_TYPE;
		return;
	}
	memcpy(m->delimiter, "\r\n--", 4);
	bytes = strlen(boundary);
	memcpy(m->delimiter + 4, boundary, bytes);
	m->delimiter_bytes = bytes + 4;
}

struct multipart *multipart_new(const char *type, bool is_exact,
				multipart_part_fn *fn, void *arg)
{
	struct multipart *m = malloc(sizeof(*m));

	if (m == NULL)
		return NULL;
	/* `head` is written before it is read, and large. */
	memset(m, 0, offsetof(struct multipart, head));
	m->fn = fn;
	m->arg = arg;
	m->is_exact = is_exact;
	assume_crlf(m);
	read_type(m, type);
	return m;
}

void multipart_free(struct multipart *m)
{
	free(m);
}

const char *multipart_fault_text(enum multipart_fault fault)
{
	static const char *const texts[MULTIPART_FAULTS] = {
		[MULTIPART_OK] = "",
		[MULTIPART_REFUSED] = "",
		[MULTIPART_TYPE] = "The Content-Type must have one boundary of "
				   "1 to 70 characters.",
		[MULTIPART_NO_BOUNDARY] =
			"The body must begin with the boundary that the "
			"Content-Type has.",
		[MULTIPART_LACKS_BOUNDARY] =
			"The body does not have the boundary that the "
			"Content-Type has.",
		[MULTIPART_AFTER] =
			"In the body, only CR LF or -- can follow a boundary.",
		[MULTIPART_MANY_PARTS] = "The form has more than 128 parts.",
		[MULTIPART_LONG_HEAD] = "The headers of a part of the form "
					"have more than 16 KiB.",
		[MULTIPART_MANY_HEADERS] =
			"A part of the form has more than 64 headers and "
			"parameters.",
		[MULTIPART_HEADER] = "A header of a part of the form is "
				     "malformed, or there twice.",
		[MULTIPART_DISPOSITION] =
			"A Content-Disposition in the form must be form-data; "
			"name=\"...\", with each parameter once.",
		[MULTIPART_ENCODING] =
			"A part of the form has a Content-Transfer-Encoding; "
			"send its bytes as they are.",
		[MULTIPART_NESTED] = "A field of the form has several files; "
				     "send one with each request.",
		[MULTIPART_NO_EMPTY_LINE] =
			"A part of the form has no line end between its "
			"headers and the boundary after it.",
		[MULTIPART_CUT_SHORT] =
			"The form ends before its last boundary, which has -- "
			"at its end.",
		[MULTIPART_EPILOGUE] = "More bytes follow the form's last "
				       "boundary.",
	};

	return texts[fault];
}
