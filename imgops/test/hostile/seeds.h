/* SPDX-License-Identifier: MIT */
/*
 * The files that check_hostile starts from and that are kept in seeds/, because
 * another version of the library would make others.
 */
#ifndef IMGOPS_TEST_HOSTILE_SEEDS_H
#define IMGOPS_TEST_HOSTILE_SEEDS_H

enum { SEED_BYTES_MAX = 16 << 10 };

/* Write those of a format into DIR/seeds.  The exit status of the program. */
int seeds_write(const char *word, const char *dir);

#endif
