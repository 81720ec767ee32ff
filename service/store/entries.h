/* SPDX-License-Identifier: MIT */
/*
 * Entry: a folder with a small set of files, which is on the disk completely or
 * not at all.
 *
 * An entry is written to tmp/, and its files and folder are synced to the disk.
 * Then one rename moves it to its place, and the folder there is synced too.
 * To remove an entry, it is renamed back to tmp/ first.
 *
 * A folder of entries is a struct entry_folder; an open entry is a descriptor.
 * Links are not followed.  A failed call sets errno.  The functions
 * entry_...() that write also tell entries.failed which file it was, unless the
 * entry is only missing; entries_open(), entries_count() and entries_try(),
 * which are for the start, do not.
 *
 * Used by folder.c, which knows the folders and what their entries mean.  Other
 * files need only the part of this header up to entry_read().
 *
 * Threads    One thread calls entries_open() and entries_count().  Any number
 *            of threads may call the others at the same time.
 * Limits     The quota counts the disk blocks of entries and of their folders,
 *            also while they are being made.
 */
#ifndef SERVICE_ENTRIES_H
#define SERVICE_ENTRIES_H

#include "base/error.h"
#include "base/util.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_-"

enum {
	STORE_ID_BYTES = 64 + 1,   /* see store_is_id() */
	STORE_ID_VERSIONS = 20,    /* a hexadecimal digit, g to y */
	STORE_NAME_BYTES = 32 + 1, /* STORE_NAME_CHARS, without ".jpg" */
	STORE_ENDING_CHARS = 4,    /* at most, of a file, without the dot */
	STORE_FILE_NAME_BYTES = STORE_NAME_BYTES + 1 + STORE_ENDING_CHARS,
	STORE_CALL_FILES = 3, /* most descriptors that one call uses */
	STORE_VERSION_BYTES = 80
};

/* Folders of entries, by the first two digits of their keys. */
enum { STORE_SHARDS = 256 };

enum store_answer {
	STORE_OK,
	STORE_NOT_FOUND,
	STORE_FULL,    /* over the quota, or the disk is full */
	STORE_FAILED,  /* see errno */
	STORE_DAMAGED, /* the bytes are not those that were stored */
	/* A store beyond the network: it does not answer, or not in time. */
	STORE_UNAVAILABLE,
	/* The image is not the one that was to be replaced; nothing is done. */
	STORE_CHANGED,
};

enum { STORE_ANSWERS = STORE_CHANGED + 1 };

/* A file of an entry, named NAME.json or as its format ends; not empty. */
struct store_file {
	const char *name;
	const void *bytes;
	size_t count;
};

/*
 * Is it an id: 64 characters, of which the first 63 are lower-case hexadecimal
 * digits?  The last one says the id's version: another such digit: 1; g: 2; h:
 * 3; and so on to y.
 */
bool store_is_id(const char *text);
uint32_t store_id_version(const char *id);

/*
 * The key under which the original of the image `id` is stored: its last
 * character is z, so it is no id.  A key is an id or such a key.
 */
void store_original_key(char key[STORE_ID_BYTES], const char *id);
bool store_is_original(const char *key);
bool store_is_key(const char *text);

/* Can ids begin so? */
bool store_is_prefix(const char *text);

/* A SHA-256: 64 such digits, as an id of version 1 has. */
bool store_is_sha256(const char *text);
bool store_is_name(const char *text);

/* Is it the name of a file of an entry, with its ending? */
bool store_is_file_name(const char *text);

/* Is a part of this path, between two "/" or at an end, "." or ".."? */
bool store_has_dots(const char *path);

/* Open a file of an open entry for reading; the caller closes *fd. */
MUST_CHECK enum store_answer entry_read(int entry, const char *name, int *fd,
					uint64_t *bytes);

/* -1: failed. */
int folder_open(int parent, const char *name);

/*
 * The same, but STORE_NOT_FOUND distinguishes a folder that does not exist from
 * other errors.
 */
MUST_CHECK enum store_answer folder_find(int parent, const char *name, int *fd);

/*
 * The answer, from errno, after a call that writes has failed: STORE_FULL or
 * STORE_FAILED.
 */
enum store_answer store_write_error(void);

/* Close `fd` without changing errno. */
void folder_close(int fd);

/* Open a folder for folder_next(); closedir() closes it.  NULL: failed. */
DIR *folder_list(int parent, const char *name);

/* The name of the next file or folder in it; NULL: there is none. */
const char *folder_next(DIR *list);

/* A folder of the store that contains entries, open. */
struct entry_folder {
	int fd;
	char name[8]; /* in the store, such as "ab" or "spool" */
};

/*
 * Called when a file could not be written, moved or removed, by any thread.
 * `file` is its path in the store.  `error` is an errno; 0: the quota.
 */
typedef void entries_failed_fn(void *arg, const char *file, int error);

/* How entries are made and removed, and the disk space that they take. */
struct entries {
	entries_failed_fn *failed; /* set by folder.c */
	void *failed_arg;
	int tmp; /* descriptor of tmp/, which folder.c closes */
	uint64_t quota_bytes;
	uint64_t block_bytes; /* block size of the file system */
	uint64_t opened_ns;   /* names in tmp/ begin with it */
	_Atomic uint64_t used_bytes;
	_Atomic uint64_t temporary_next;
};

/*
 * Open tmp/, a folder of `root`, and remove what a crash left in it.  With a
 * quota (not 0), the space of entries is counted.  False: failed.
 */
MUST_CHECK bool entries_open(struct entries *e, int root, uint64_t quota_bytes);

/*
 * Count the space of all entries of a folder.  False: the folder is not
 * readable.
 */
MUST_CHECK bool entries_count(struct entries *e, int root, const char *folder);

/*
 * Write an entry into tmp/, sync and remove it: can entries be made?  False:
 * `file` is the path in the store that errno is about.
 */
enum { ENTRIES_PATH_BYTES = 160 };
MUST_CHECK bool entries_try(struct entries *e, char file[ENTRIES_PATH_BYTES]);

/*
 * Make the entry `id` of `folder`.  An existing entry with the same names and
 * bytes stays; any other is replaced.  After STORE_OK, *moved is true if this
 * call made the entry.  After any other answer nothing has changed, with one
 * exception: if the last sync failed, the entry may exist, and *moved is true.
 */
MUST_CHECK enum store_answer
entry_put(struct entries *e, const struct entry_folder *folder, const char *id,
	  const struct store_file *files, uint32_t file_count, bool *moved);

/*
 * The same, but only in place of an entry that exists; STORE_NOT_FOUND: there
 * is none.  At each moment there is the old one or the new one.
 */
MUST_CHECK enum store_answer entry_replace(struct entries *e,
					   const struct entry_folder *folder,
					   const char *id,
					   const struct store_file *files,
					   uint32_t file_count);

/* For how long has an open entry not changed?  0 also if that is not known. */
uint64_t entry_age_s(int entry);

/* Remove an entry, or anything else with its name. */
enum store_answer entry_remove(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id);

/* The same, but not synced: after a crash, the entry may be there again. */
enum store_answer entry_drop(struct entries *e,
			     const struct entry_folder *folder, const char *id);

/*
 * Add a file to an entry, or replace the file with the same name, and sync it.
 * At each moment the entry has the old file or the new one; if the result is
 * not STORE_OK, it has the old one, unless the last sync failed.  The quota
 * counts only what the new one needs in addition.
 */
MUST_CHECK enum store_answer entry_extend(struct entries *e,
					  const struct entry_folder *folder,
					  const char *id,
					  const struct store_file *file);

/*
 * Append to a file of an entry, which is made by the first call: `offset` bytes
 * have been appended before.  They are synced before they count, so a crash
 * leaves either what was there or more.  After any other answer than STORE_OK,
 * those before are still there.
 */
MUST_CHECK enum store_answer entry_append(struct entries *e,
					  const struct entry_folder *folder,
					  const char *id, const char *name,
					  uint64_t offset, const void *bytes,
					  size_t count);

/*
 * Open a file of entry_append(), of an open entry, at the first byte that was
 * appended; the caller closes *fd.  *bytes is their number.
 */
MUST_CHECK enum store_answer entry_read_appended(int entry, const char *name,
						 int *fd, uint64_t *bytes);

/* Remove a file of an entry, if it has it, and sync that. */
enum store_answer entry_reduce(struct entries *e,
			       const struct entry_folder *folder,
			       const char *id, const char *name);

/* Move an entry to another folder; it replaces what has its name there. */
MUST_CHECK enum store_answer entry_move(struct entries *e,
					const struct entry_folder *from,
					const struct entry_folder *to,
					const char *id);

#endif
