/* SPDX-License-Identifier: MIT */
/* For tests of the store: a folder, and an entry to put into it. */
#ifndef SERVICE_TEST_STORE_FIXTURE_H
#define SERVICE_TEST_STORE_FIXTURE_H

#include "service/store/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_A "aa00000000000000000000000000000000000000000000000000000000000001"
/* An id of version 2. */
#define ID_2 "aa0000000000000000000000000000000000000000000000000000000000000g"
#define ID_B "bb00000000000000000000000000000000000000000000000000000000000002"

enum { FILE_COUNT = 3 };

extern const struct store_file files[FILE_COUNT];

/* Run the tests, each with an empty folder, and none as root. */
void run_tests(void (*const *tests)(void), size_t count);

/* The folder in which open_store() opens a store. */
extern char folder[];

/* Open the store of `folder`; this must succeed. */
struct store *open_store(uint64_t quota_bytes);
/* Put the files as the image `id`; remove it. */
enum store_answer put_files(struct store *s, const char *id);
enum store_answer delete_image(struct store *s, const char *id);

/* The folder of an image; the caller closes it. */
enum store_answer find_entry(struct store *s, const char *id, int *entry);

/* store_check() and store_is_checked() of a whole file. */
enum store_answer check_sha256(struct store *s, int fd, const char *sha256);
bool is_checked(struct store *s, int fd, const char *sha256);

struct store_stats stats_of(struct store *s);

/* Run a shell command in the folder; it must succeed. */
void run(const char *command);

void check_file(int entry, const struct store_file *f);
void check_whole(struct store *s, const char *id);
bool is_absent(struct store *s, const char *id);
void check_nothing_is_left(void);

/* The disk space that aa/, bb/ and tmp/ take, in whole blocks. */
uint64_t bytes_on_disk(void);

#endif
