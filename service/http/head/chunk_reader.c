/* SPDX-License-Identifier: MIT */
#include "service/http/head/chunk_reader.h"

#include "base/util.h"

#include <assert.h>
#include <string.h>

enum {
	DIGITS_MAX = 16,
	/* The framing that is usual, for a chunk and for a byte of it. */
	USUAL_BYTES = 16,
	USUAL_BYTES_EACH = 2,
};

void chunk_reader_init(struct chunk_reader *c, uint64_t bytes_max)
{
	*c = (struct chunk_reader){ .bytes_max = bytes_max };
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* May it be in an extension, or in the value of a trailer? */
static bool is_text(char c)
{
	return (unsigned char)c >= ' ' ? c != '\x7f' : c == '\t';
}

static bool is_token(char c)
{
	return c > ' ' && c < '\x7f' &&
	       strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

static enum chunk_event fail(struct chunk_reader *c, enum chunk_fault fault)
{
	c->fault = fault;
	c->is_over = true;
	return CHUNK_BROKEN;
}

static enum chunk_event read_size(struct chunk_reader *c, char byte)
{
	int digit = digit_of(byte);

	if (digit >= 0) {
		if (c->digit_count++ == DIGITS_MAX)
			return fail(c, CHUNKS_BAD_SIZE);
		c->size = c->size << 4 | (uint64_t)digit;
		return CHUNK_MORE;
	}
	if (c->digit_count == 0 || (byte != '\r' && byte != ';'))
		return fail(c, CHUNKS_BAD_SIZE);
	c->state = byte == ';' ? CHUNK_AT_EXTENSION : CHUNK_AT_SIZE_LF;
	return CHUNK_MORE;
}

static enum chunk_event read_extension(struct chunk_reader *c, char byte)
{
	if (byte == '\r')
		c->state = CHUNK_AT_SIZE_LF;
	else if (!is_text(byte))
		return fail(c, CHUNKS_BAD_LINE);
	return CHUNK_MORE;
}

/* Is there too much beside the body? */
static bool has_excess(struct chunk_reader *c)
{
	uint64_t bytes = (uint64_t)c->excess_bytes + c->line_bytes;
	uint64_t usual =
		USUAL_BYTES + USUAL_BYTES_EACH * min_u64(c->size, bytes);

	c->excess_bytes = (uint32_t)(bytes > usual ? bytes - usual : 0);
	return c->excess_bytes > CHUNK_EXCESS_BYTES;
}

/* The line with the size was read. */
static enum chunk_event begin_chunk(struct chunk_reader *c, char byte)
{
	uint64_t size = c->size;

	if (byte != '\n')
		return fail(c, CHUNKS_BAD_LINE);
	if (has_excess(c))
		return fail(c, CHUNKS_MANY_EXTENSIONS);
	c->line_bytes = 0;
	c->digit_count = 0;
	c->size = 0;
	if (size == 0) {
		c->state = CHUNK_AT_TRAILER;
		return CHUNK_MORE;
	}
	if (size > c->bytes_max - c->bytes) {
		if (__builtin_add_overflow(c->bytes, size, &c->wanted_bytes))
			c->wanted_bytes = UINT64_MAX;
		return fail(c, CHUNKS_TOO_LARGE);
	}
	c->state = CHUNK_AT_DATA_CR;
	c->bytes += size;
	c->left_bytes = size;
	return CHUNK_BEGIN;
}

static enum chunk_event end_data(struct chunk_reader *c, char byte)
{
	bool is_cr = c->state == CHUNK_AT_DATA_CR;

	if (byte != (is_cr ? '\r' : '\n'))
		return fail(c, CHUNKS_BAD_DATA_END);
	c->state = is_cr ? CHUNK_AT_DATA_LF : CHUNK_AT_SIZE;
	return is_cr ? CHUNK_MORE : CHUNK_DATA_END;
}

/* A byte of the trailers, or of the empty line behind them. */
static enum chunk_event read_trailer(struct chunk_reader *c, char byte)
{
	bool is_valid = true;

	switch (c->state) {
	case CHUNK_AT_TRAILER:
		is_valid = byte == '\r' || is_token(byte);
		c->state =
			byte == '\r' ? CHUNK_AT_LAST_LF : CHUNK_AT_TRAILER_NAME;
		break;
	case CHUNK_AT_TRAILER_NAME:
		is_valid = byte == ':' || is_token(byte);
		if (byte == ':')
			c->state = CHUNK_AT_TRAILER_VALUE;
		break;
	case CHUNK_AT_TRAILER_VALUE:
		is_valid = byte == '\r' || is_text(byte);
		if (byte == '\r')
			c->state = CHUNK_AT_TRAILER_LF;
		break;
	case CHUNK_AT_TRAILER_LF:
		is_valid = byte == '\n';
		c->state = CHUNK_AT_TRAILER;
		break;
	default: /* CHUNK_AT_LAST_LF */
		is_valid = c->is_over = byte == '\n';
		break;
	}
	if (!is_valid)
		return fail(c, CHUNKS_BAD_TRAILER);
	return c->is_over ? CHUNK_END : CHUNK_MORE;
}

static enum chunk_event read_byte(struct chunk_reader *c, char byte)
{
	switch (c->state) {
	case CHUNK_AT_SIZE:
		return read_size(c, byte);
	case CHUNK_AT_EXTENSION:
		return read_extension(c, byte);
	case CHUNK_AT_SIZE_LF:
		return begin_chunk(c, byte);
	case CHUNK_AT_DATA_CR:
	case CHUNK_AT_DATA_LF:
		return end_data(c, byte);
	default:
		return read_trailer(c, byte);
	}
}

enum chunk_event chunk_read(struct chunk_reader *c, const char **at,
			    const char *end)
{
	enum chunk_event event = CHUNK_MORE;

	assert(c->left_bytes == 0 && !c->is_over);
	while (event == CHUNK_MORE && *at < end) {
		bool is_trailer = c->state >= CHUNK_AT_TRAILER;

		if (++c->line_bytes >
		    (is_trailer ? CHUNK_TRAILER_BYTES : CHUNK_LINE_BYTES))
			return fail(c, is_trailer ? CHUNKS_MANY_TRAILERS :
						    CHUNKS_MANY_EXTENSIONS);
		event = read_byte(c, *(*at)++);
	}
	return event;
}

void chunk_take(struct chunk_reader *c, uint64_t bytes)
{
	assert(bytes <= c->left_bytes);
	c->left_bytes -= bytes;
}

size_t chunks_decode(struct chunk_reader *c, char *bytes, size_t count,
		     size_t *used)
{
	const char *at = bytes, *end = bytes + count;
	size_t got = 0;

	while (at < end && !c->is_over) {
		size_t taken = min_u64(c->left_bytes, (uint64_t)(end - at));

		if (taken == 0) {
			(void)chunk_read(c, &at, end);
			continue;
		}
		if (bytes + got != at)
			memmove(bytes + got, at, taken);
		chunk_take(c, taken);
		got += taken;
		at += taken;
	}
	*used = (size_t)(at - bytes);
	return got;
}

const char *chunk_fault_text(enum chunk_fault fault)
{
	static const char *const texts[CHUNK_FAULTS] = {
		[CHUNKS_FINE] = "",
		[CHUNKS_BAD_SIZE] =
			"A chunk of the body has a size that is not 1 to 16 "
			"hexadecimal digits.",
		[CHUNKS_BAD_LINE] = "The line with the size of a chunk has a "
				    "control character, or does not end with "
				    "CR and LF.",
		[CHUNKS_BAD_DATA_END] =
			"A chunk of the body is not followed by CR and LF.",
		[CHUNKS_BAD_TRAILER] =
			"A trailer behind the body is not a header line.",
		[CHUNKS_MANY_EXTENSIONS] =
			"The chunks of the body have too long extensions.",
		[CHUNKS_MANY_TRAILERS] =
			"The trailers behind the body are too long.",
		[CHUNKS_TOO_LARGE] = "",
	};

	return texts[fault];
}
