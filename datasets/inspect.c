/* SPDX-License-Identifier: MIT */
#include "datasets/inspect.h"

#include <string.h>

/* Part of a file.  Reading beyond its end gives zeros. */
struct span {
	const uint8_t *bytes;
	size_t size;
	bool big_endian;
};

static uint32_t get(const struct span *s, size_t at, int bytes)
{
	uint32_t value = 0;

	if (at > s->size || s->size - at < (size_t)bytes)
		return 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 |
			s->bytes[at + (s->big_endian ? i : bytes - 1 - i)];
	return value;
}

static void read_exif(struct facts *f, const uint8_t *bytes, size_t size)
{
	struct span s = { bytes + 6, size - 6, bytes[6] == 'M' };
	size_t directory = get(&s, 4, 4);
	uint32_t count = get(&s, directory, 2);

	f->exif = true;
	for (uint32_t i = 0; i < count; i++) {
		size_t entry = directory + 2 + (size_t)i * 12;

		if (get(&s, entry, 2) == 0x0112)
			f->orientation = (int)get(&s, entry + 8, 2);
	}
	f->thumbnail = get(&s, directory + 2 + (size_t)count * 12, 4) != 0;
}

static const char *name_sampling(const struct span *frame)
{
	static const struct {
		uint32_t factors;
		const char *name;
	} known[] = { { 0x11, "4:4:4" },
		      { 0x21, "4:2:2" },
		      { 0x22, "4:2:0" },
		      { 0x12, "4:4:0" },
		      { 0x41, "4:1:1" } };

	if (get(frame, 5, 1) == 1)
		return "grey";
	if (get(frame, 5, 1) != 3 || get(frame, 10, 1) != 0x11 ||
	    get(frame, 13, 1) != 0x11)
		return "other";
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (get(frame, 7, 1) == known[i].factors)
			return known[i].name;
	return "other";
}

/* SOF0 to SOF15, but for DHT, JPG and DAC, which are among them. */
static bool is_frame(int marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
	       marker != 0xc8 && marker != 0xcc;
}

static void read_frame(struct facts *f, int marker, const struct span *frame)
{
	f->progressive = marker == 0xc2 || marker == 0xc6 || marker == 0xca ||
			 marker == 0xce;
	f->height = get(frame, 1, 2);
	f->width = get(frame, 3, 2);
	f->sampling = name_sampling(frame);
}

bool inspect(struct facts *f, const uint8_t *bytes, size_t size_bytes)
{
	struct span file = { bytes, size_bytes, true };
	struct facts seen = { 0 };
	size_t at = 2;

	if (get(&file, 0, 2) != 0xffd8)
		return false;
	while (get(&file, at, 1) == 0xff) {
		int marker = (int)get(&file, at + 1, 1);
		size_t length = get(&file, at + 2, 2);

		if (marker == 0xff) { /* fill */
			at++;
			continue;
		}
		if (length < 2 || length > size_bytes - at - 2)
			return false;

		const uint8_t *body = bytes + at + 4;
		struct span segment = { body, length - 2, true };

		if (is_frame(marker)) {
			read_frame(&seen, marker, &segment);
			*f = seen;
			return true;
		}
		if (marker == 0xe1 && segment.size > 14 &&
		    memcmp(body, "Exif\0", 6) == 0)
			read_exif(&seen, body, segment.size);
		if (marker == 0xe2 && segment.size > 14 &&
		    memcmp(body, "ICC_PROFILE", 12) == 0)
			seen.icc_bytes += segment.size - 14;
		at += 2 + length;
	}
	return false;
}
