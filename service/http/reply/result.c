/* SPDX-License-Identifier: MIT */
/*
 * Multipart follows RFC 2046, 5.1.1.  The pictures are sent without being
 * copied.  JSON is written while it is sent, with the pictures in base64.
 */
#include "service/http/reply/result.h"
#include "service/http/head/field_values.h"

#include "base/json.h"
#include "base/text.h"
#include "base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <nettle/base16.h>
#include <nettle/base64.h>

enum {
	WARNINGS_MAX = 6, /* most warnings that a picture can have */
	WARNING_CHARS = 128,
	COLOUR_CHARS = 8, /* "#rrggbb" */
	FRAMES_CHARS = 11,
	PDQ_CHARS = 2 * IMG_PDQ_BYTES + 1,
	QUALITY_CHARS = 11,
};

/*
 * A sentence without its full stop; NULL: the variant does not have warning
 * `i`.
 */
static const char *warning_text(const struct variant *v, uint32_t i)
{
	static const struct {
		uint32_t note;
		const char *text;
	} table[WARNINGS_MAX] = {
		{ IMG_NOTE_DAMAGED,
		  "the file is damaged; some of the picture is missing" },
		{ IMG_NOTE_BAD_PROFILE,
		  "its ICC profile is broken and was ignored" },
		{ IMG_NOTE_HDR, "the picture is HDR: it looks wrong where its "
				"ICC profile is not used" },
		{ IMG_NOTE_NO_GAINMAP,
		  "its gain map is broken, or the result cannot have one" },
		{ IMG_NOTE_METADATA_LEFT_OUT,
		  "some of its metadata are left out: broken, over 64 KB, or "
		  "not for this format" },
		{ IMG_NOTE_MANIFEST_REMOVED,
		  "its C2PA manifest is removed, as the picture is changed" },
	};

	return v->notes & table[i].note ? table[i].text : NULL;
}

/*
 * The value of a Warning header (RFC 7234, 5.5).  False: the variant does not
 * have warning `i`.
 */
static bool print_warning(char out[WARNING_CHARS], const struct variant *v,
			  uint32_t i)
{
	const char *text = warning_text(v, i);

	if (text == NULL)
		return false;
	(void)snprintf(out, WARNING_CHARS, "199 darkroom \"%s\"", text);
	return true;
}

static void print_colour(char out[COLOUR_CHARS],
			 const struct img_placeholder *p)
{
	(void)snprintf(out, COLOUR_CHARS, "#%02x%02x%02x", p->dominant[0],
		       p->dominant[1], p->dominant[2]);
}

static void print_pdq(char out[PDQ_CHARS], const uint8_t hash[IMG_PDQ_BYTES])
{
	base16_encode_update(out, IMG_PDQ_BYTES, hash);
	out[PDQ_CHARS - 1] = '\0';
}

void result_add_upload(struct json *j, const struct upload *u)
{
	char colour[COLOUR_CHARS], pdq[PDQ_CHARS];

	json_open_object(j, "source");
	json_add_whole(j, "width", u->header.upright.width_px);
	json_add_whole(j, "height", u->header.upright.height_px);
	json_add_whole(j, "bytes", u->jpeg_bytes);
	if (u->header.frames > 1)
		json_add_whole(j, "frames", u->header.frames);
	json_close(j);
	if (u->wants.pdq) {
		print_pdq(pdq, u->pdq.upright);
		json_open_object(j, "pdq");
		json_add_text(j, "hash", pdq);
		json_add_whole(j, "quality", u->pdq.quality);
		json_close(j);
	}
	if (!u->wants.placeholder)
		return;
	print_colour(colour, &u->placeholder);
	json_open_object(j, "placeholder");
	json_add_text(j, "blurhash", u->placeholder.blurhash);
	json_add_text(j, "dominant_color", colour);
	json_close(j);
}

void result_add_variant(struct json *j, const struct variant *v,
			const char *name)
{
	json_add_text(j, "name", name);
	json_add_text(j, "type", variant_format(v)->media_type);
	json_add_whole(j, "width", v->size.width_px);
	json_add_whole(j, "height", v->size.height_px);
	json_add_whole(j, "bytes", v->jpeg_bytes);
	json_open_array(j, "warnings");
	for (uint32_t i = 0; i < WARNINGS_MAX; i++)
		if (warning_text(v, i) != NULL)
			json_add_text(j, NULL, warning_text(v, i));
	json_close(j);
}

/*
 * A piece of a text that is made while it is sent: characters, or bytes to be
 * encoded in base64 (RFC 4648).  So the encoded text takes no memory.
 */
struct base64_piece {
	const void *bytes; /* borrowed */
	size_t count;
	/* Encode in base64; if false, the bytes are sent unchanged. */
	bool is_encoded;
};

enum { GROUP_BYTES = 3, GROUP_CHARS = 4 };

static uint64_t base64_piece_chars(const struct base64_piece *p)
{
	return p->is_encoded ? BASE64_ENCODE_RAW_LENGTH((uint64_t)p->count) :
			       p->count;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Write one group of characters without the first `skipped`, as far as it fits.
 */
static size_t base64_read_group(const uint8_t *bytes, size_t count,
				size_t skipped, char *out, size_t max)
{
	char group[GROUP_CHARS];
	size_t taken = least(GROUP_CHARS - skipped, max);

	base64_encode_raw(group, least(count, GROUP_BYTES), bytes);
	memcpy(out, group + skipped, taken);
	return taken;
}

static size_t base64_read(const struct base64_piece *p, uint64_t offset,
			  char *out, size_t max)
{
	size_t from = (size_t)(offset / GROUP_CHARS) * GROUP_BYTES;
	size_t skipped = offset % GROUP_CHARS;
	const uint8_t *bytes = (const uint8_t *)p->bytes + from;
	size_t groups =
		least(max / GROUP_CHARS, (p->count - from) / GROUP_BYTES);

	if (skipped > 0 || groups == 0)
		return base64_read_group(bytes, p->count - from, skipped, out,
					 max);
	base64_encode_raw(out, groups * GROUP_BYTES, bytes);
	return groups * GROUP_CHARS;
}

static size_t base64_piece_read(const struct base64_piece *p, uint64_t offset,
				char *out, size_t max)
{
	size_t taken;

	if (p->is_encoded)
		return base64_read(p, offset, out, max);
	taken = least(p->count - (size_t)offset, max);
	memcpy(out, (const char *)p->bytes + offset, taken);
	return taken;
}

_Static_assert(REPLY_PIECES_MAX == 2 * VARIANTS_MAX + 1,
	       "a head for each picture, and the end");

enum { SENT_BYTES = 16 << 10 }; /* of JSON, made at once */

struct json_reply {
	struct base64_piece pieces[2 * VARIANTS_MAX + 1];
	uint32_t piece_count;
	char *text; /* the text of the pieces that are not pictures */
	uint64_t chars;
};

static void json_free(void *arg)
{
	struct json_reply *b = arg;

	if (b != NULL)
		free(b->text);
	free(b);
}

static void json_append_piece(struct json_reply *b, const void *bytes,
			      size_t count, bool is_encoded)
{
	struct base64_piece *p = &b->pieces[b->piece_count++];

	*p = (struct base64_piece){ bytes, count, is_encoded };
	b->chars += base64_piece_chars(p);
}

/* The read() of a reply. */
static ssize_t json_read(void *arg, uint64_t offset, char *out, size_t max)
{
	const struct json_reply *b = arg;
	size_t taken = 0;

	for (uint32_t i = 0; i < b->piece_count && taken < max; i++) {
		uint64_t chars = base64_piece_chars(&b->pieces[i]);

		while (offset < chars && taken < max) {
			size_t some =
				base64_piece_read(&b->pieces[i], offset,
						  out + taken, max - taken);

			offset += some;
			taken += some;
		}
		offset -= chars;
	}
	return taken > 0 ? (ssize_t)taken : REPLY_END;
}

/* The JSON text without the pictures; picture i belongs at cuts[i]. */
static char *json_print(const struct upload *u, size_t cuts[VARIANTS_MAX],
			size_t *count)
{
	struct text text;
	struct json j;
	FILE *out = text_open(&text);
	char *bytes;

	if (out == NULL)
		return NULL;
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	result_add_upload(&j, u);
	json_open_array(&j, "variants");
	for (uint32_t i = 0; i < u->variant_count; i++) {
		json_open_object(&j, NULL);
		result_add_variant(&j, &u->variants[i], u->variants[i].name);
		json_add_text(&j, "data", "");
		(void)fflush(out);        /* text_close() reports errors */
		cuts[i] = text.count - 1; /* before the last quote */
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	(void)fputc('\n', out);
	bytes = text_close(&text, out);
	*count = text.count;
	return bytes;
}

/* False: no memory. */
static bool json_init(struct json_reply *b, const struct upload *u)
{
	size_t cuts[VARIANTS_MAX], count, from = 0;

	b->text = json_print(u, cuts, &count);
	if (b->text == NULL)
		return false;
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		json_append_piece(b, b->text + from, cuts[i] - from, false);
		json_append_piece(b, v->jpeg, v->jpeg_bytes, true);
		from = cuts[i];
	}
	json_append_piece(b, b->text + from, count - from, false);
	return true;
}

static bool begin_json(struct reply *p, const struct upload *u)
{
	struct json_reply *b = calloc(1, sizeof(*b));

	if (b == NULL || !json_init(b, u)) {
		json_free(b);
		return false;
	}
	p->kind = REPLY_READ;
	p->bytes = b->chars;
	p->read = json_read;
	p->read_bytes = SENT_BYTES;
	p->arg = b;
	p->release = json_free;
	return true;
}

enum {
	/*
	 * Random, so that a client cannot guess the boundary and put it into a
	 * result (in its ICC profile).
	 */
	BOUNDARY_BYTES = 16,
	BOUNDARY_CHARS = 2 * BOUNDARY_BYTES,
	HEAD_CHARS = 1024,
};

static void multipart_make_boundary(char out[BOUNDARY_CHARS + 1])
{
	uint8_t bytes[BOUNDARY_BYTES] = { 0 };

	(void)getrandom(bytes, sizeof(bytes), GRND_NONBLOCK);
	base16_encode_update(out, sizeof(bytes), bytes);
	out[BOUNDARY_CHARS] = '\0';
}

/* The text before a picture: boundary and headers.  Returns its length. */
static size_t multipart_print_head(char *out, const struct variant *v,
				   const char *boundary, bool is_first)
{
	int at = snprintf(out, HEAD_CHARS,
			  "%s--%s\r\n"
			  "Content-Type: %s\r\n"
			  "Content-Length: %zu\r\n"
			  "Content-Disposition: attachment; name=\"%s\"; "
			  "filename=\"%s.%s\"\r\n",
			  is_first ? "" : "\r\n", boundary,
			  variant_format(v)->media_type, v->jpeg_bytes, v->name,
			  v->name, variant_format(v)->suffix);

	for (uint32_t i = 0; i < WARNINGS_MAX; i++) {
		char warning[WARNING_CHARS];

		if (print_warning(warning, v, i))
			at += snprintf(out + at, HEAD_CHARS - (size_t)at,
				       "Warning: %s\r\n", warning);
	}
	at += snprintf(out + at, HEAD_CHARS - (size_t)at, "\r\n");
	assert(at < HEAD_CHARS);
	return (size_t)at;
}

/* The results are not copied; `heads` is freed with the reply. */
static void add_parts(struct reply *p, const struct upload *u, char *heads,
		      const char *boundary)
{
	char *at = heads;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];
		size_t bytes = multipart_print_head(at, v, boundary, i == 0);

		reply_add_piece(p, at, bytes);
		reply_add_piece(p, v->jpeg, v->jpeg_bytes);
		at += bytes;
	}

	int last = snprintf(at, HEAD_CHARS, "\r\n--%s--\r\n", boundary);

	reply_add_piece(p, at, (size_t)last);
	p->release = free;
	p->arg = heads;
}

static bool begin_parts(struct reply *p, const struct upload *u,
			char type[RESULT_TYPE_CHARS])
{
	char *heads = malloc((u->variant_count + 1) * (size_t)HEAD_CHARS);
	char boundary[BOUNDARY_CHARS + 1];

	if (heads == NULL)
		return false;
	multipart_make_boundary(boundary);
	(void)snprintf(type, RESULT_TYPE_CHARS, "multipart/mixed; boundary=%s",
		       boundary);
	add_parts(p, u, heads, boundary);
	return true;
}

/*
 * Does the client want JSON more than pictures?  One that wants both as much,
 * such as axios, gets pictures.
 */
static bool prefers_json(const struct request_head *head,
			 const struct upload *u)
{
	uint32_t pictures = 0;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct img_format *f = variant_format(&u->variants[i]);

		pictures = (uint32_t)max_u64(
			pictures, field_quality(head, f->media_type));
	}
	if (u->variant_count > 1)
		pictures = (uint32_t)max_u64(
			pictures, field_quality(head, "multipart/mixed"));
	return field_quality(head, "application/json") > pictures;
}

/* Add Warning headers to a reply that is one picture. */
static void add_warnings(struct reply *p, const struct variant *v)
{
	char text[WARNING_CHARS];

	for (uint32_t i = 0; i < WARNINGS_MAX; i++)
		if (print_warning(text, v, i))
			reply_add_header(p, "Warning", text);
}

static void add_upload(struct reply *p, const struct upload *u)
{
	char colour[COLOUR_CHARS], frames[FRAMES_CHARS], pdq[PDQ_CHARS];
	char quality[QUALITY_CHARS];

	if (u->header.frames > 1) {
		(void)snprintf(frames, sizeof(frames), "%" PRIu32,
			       u->header.frames);
		reply_add_header(p, "X-Frames", frames);
	}
	if (u->wants.pdq) {
		print_pdq(pdq, u->pdq.upright);
		(void)snprintf(quality, sizeof(quality), "%" PRIu32,
			       u->pdq.quality);
		reply_add_header(p, "X-PDQ", pdq);
		reply_add_header(p, "X-PDQ-Quality", quality);
	}
	if (!u->wants.placeholder)
		return;
	print_colour(colour, &u->placeholder);
	reply_add_header(p, "X-Blurhash", u->placeholder.blurhash);
	reply_add_header(p, "X-Dominant-Color", colour);
}

void result_begin_picture(struct reply *p, const struct upload *u,
			  char type[RESULT_TYPE_CHARS])
{
	const struct variant *first = &u->variants[0];

	reply_init(p);
	(void)snprintf(type, RESULT_TYPE_CHARS, "%s",
		       variant_format(first)->media_type);
	reply_add_piece(p, first->jpeg, first->jpeg_bytes);
	add_warnings(p, first);
}

bool result_begin_reply(struct reply *p, const struct request_head *head,
			const struct upload *u, char type[RESULT_TYPE_CHARS])
{
	reply_init(p);
	if (prefers_json(head, u)) {
		(void)strcpy(type, "application/json");
		if (!begin_json(p, u))
			return false;
	} else if (u->variant_count > 1) {
		if (!begin_parts(p, u, type))
			return false;
	} else {
		result_begin_picture(p, u, type);
	}
	add_upload(p, u);
	return true;
}
