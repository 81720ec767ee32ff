/* SPDX-License-Identifier: MIT */
/*
 * Decoders: which formats are decoded in other processes, and by which program.
 *
 * A format that names a program (struct img_format) is decoded by that one
 * alone; the others by darkroom-decoder, if --isolate lists them.
 */
#ifndef SERVICE_DECODER_DECODERS_H
#define SERVICE_DECODER_DECODERS_H

#include "service/decoder/decoder.h"

struct decoders;

/* Of these formats, those whose own program, if any, is beside this one. */
uint32_t decoders_installed(uint32_t formats);

/* Are the programs for these formats there?  False: `error` says which not. */
MUST_CHECK bool decoders_check(uint32_t formats, struct error *error);

/*
 * decoder_start() of each program that `c->formats` need, 0 for none;
 * c->name and c->program are NULL.  Unless `needs_all`, a format whose own
 * program does not start, such as one of another version, is not taken.
 */
MUST_CHECK struct decoders *decoders_start(const struct decoder_config *c,
					   bool needs_all, struct error *error);

/* `ds` may be NULL in all that follows: there are no programs. */

/* Which program has not started, and why; NULL: all have. */
const char *decoders_left_out(const struct decoders *ds);

/* What decodes files of this format.  NULL: img_decode(). */
struct decoder *decoders_find(const struct decoders *ds,
			      const struct img_format *format);

/* Are files of this format decoded at all? */
bool decoders_take(const struct decoders *ds, const struct img_format *format);

/* All that are taken, a bit for each enum img_format_number. */
uint32_t decoders_formats(const struct decoders *ds);

/* decoder_lanes() of all. */
uint32_t decoders_lanes(const struct decoders *ds);

/* As the functions of decoder.h, for all programs. */
bool decoders_are_up(const struct decoders *ds);
void decoders_end_waits(const struct decoders *ds);
void decoders_read(const struct decoders *ds, struct decoder_stats *out);
void decoders_free(struct decoders *ds);

#endif
