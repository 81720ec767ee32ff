/* SPDX-License-Identifier: MIT */
/*
 * Image meta: the id of a stored image, and its meta.json.
 *
 * An image is all results of one upload, and those that were made later of its
 * original.  Its id is a hash of the bytes of the
 * upload and of all parameters in the table of params.c, so that a URL always
 * gives the same bytes.  An id lasts: a later release gives the same request
 * the same id; see params.h.
 */
#ifndef SERVICE_IMAGE_META_H
#define SERVICE_IMAGE_META_H

#include "service/http/http_config.h"
#include "service/http/head/query.h"
#include "service/store/store.h"

#define IMAGES_PATH "/v1/images"

enum {
	SHA256_TEXT_BYTES = 64 + 1,
	ETAG_BYTES = SHA256_TEXT_BYTES + 2,
	IMAGE_REQUEST_BYTES = QUERY_TEXT_BYTES + OWNER_BYTES + 32,
};

/*
 * Print a request as text: the owner and the parameters.  An id is the hash of
 * this text and of the upload's bytes.  The text is also kept in the spool:
 *
 *	darkroom 2
 *	owner=
 *	the lines of query_print()
 *	an empty line
 *
 * Returns the version of its id.
 */
uint32_t image_request_print(char out[IMAGE_REQUEST_BYTES],
			     const struct upload *u, const char *owner);

/*
 * The inverse of image_request_print().  `text` is modified, and the query
 * borrows it.  False: `text` is not such a text; `detail` says why.
 */
MUST_CHECK bool image_request_read(char *text, struct query *q,
				   char owner[OWNER_BYTES],
				   char detail[PARAMS_DETAIL_BYTES]);

/*
 * The id: SHA-256, in hexadecimal digits, of a request and of the upload's
 * bytes.  Equal uploads of one owner with equal parameters have equal ids, on
 * every server.  `version` is that of image_request_print(): above 1, it is
 * the last character of the id, as store_is_id() says.
 */
void image_id(char id[STORE_ID_BYTES], uint32_t version, const char *request,
	      const uint8_t *jpeg, size_t jpeg_bytes);

/* The files of an image in the store. */
struct image_files {
	char names[VARIANTS_MAX][STORE_FILE_NAME_BYTES];
	struct store_file files[VARIANTS_MAX + 1];
	uint32_t count;
};

/*
 * The files of an upload that has results; `meta` is from image_meta().  `f`
 * borrows from `u` and `meta`, and the files borrow their names from `f`.
 */
void image_files_init(struct image_files *f, const struct upload *u,
		      const char *meta);

/*
 * The text of meta.json, for an upload with results; the caller frees it.
 * NULL: no memory.
 */
char *image_meta(const char *id, const struct upload *u);

/*
 * The text of made.json, which replaces `meta` when variants were made of the
 * original: the same with the upload's variants.  The caller frees it.  NULL:
 * no memory.
 */
char *image_meta_add(const char *meta, const char *id, const struct upload *u);

/* The files to add to the image: the pictures, and then made.json. */
void image_files_add(struct image_files *f, const struct upload *u,
		     const char *made);

/*
 * The original of an image: the bytes of its upload, stored under a key of its
 * own (store_original_key()) as an image with one variant, `original`.
 */
#define ORIGINAL_NAME "original"
#define ORIGINALS_PATH "/v1/originals"

/*
 * In its place there may be a JPEG XL file from which it can be restored, and
 * its variant says so: "packed":{"bytes":...,"sha256":...}; see packer.h.
 */
#define PACKED_NAME "packed.jxl"

enum { META_BYTES_MAX = 64 << 10 };

/*
 * Put the upload's bytes into the store, if it keeps originals; one that is
 * packed stays so.  To be called before the image is put, so that an image that
 * was confirmed has its original, and with store_lock_original() until then.
 */
MUST_CHECK enum store_answer original_put(struct store *s, const char *id,
					  const struct upload *u,
					  struct error *why);

/*
 * Read the text about the original that is opened, in a folder; the caller
 * frees it.  NULL: it is missing or damaged.
 */
char *original_read_meta(const struct store_image *image, const char *key);

/* The id of the image of which this is the original.  False: damaged. */
MUST_CHECK bool original_read_id(char id[STORE_ID_BYTES], const char *meta);

/*
 * The text about an original that is not packed, changed to that of the same
 * when it is packed.  The caller frees it.  NULL: no memory.
 */
char *original_meta_packed(const char *meta, const void *packed,
			   size_t packed_bytes);

/*
 * The image was not put after all, or it was deleted meanwhile: remove its
 * original, unless there is the image, or it waits in the spool.
 */
void original_drop(struct store *s, const char *id, uint64_t deadline_ns);

/*
 * A copy of the meta, which is whole, with `base` before the path in each
 * `url`, and with its checksum made again; see urls.h.  The caller frees it.
 * NULL: no memory.
 */
char *image_meta_below(const char *meta, const char *base);

/*
 * The same for a webhook: without the checksum, with the id of the ticket,
 * unless it is NULL.
 */
char *image_meta_told(const char *meta, const char *base, const char *ticket);

/* Is the meta undamaged?  It contains a checksum of itself. */
MUST_CHECK bool image_meta_is_whole(const char *meta);

/* The SHA-256 in hexadecimal digits. */
void sha256_print(char text[SHA256_TEXT_BYTES], const void *bytes,
		  size_t count);

/*
 * The entity tag, with its quotes, of the meta with this base: the SHA-256 of
 * both.
 */
void image_meta_etag(char etag[ETAG_BYTES], const char *meta, const char *base);

/* A picture of a stored image. */
struct stored_picture {
	char sha256[SHA256_TEXT_BYTES];
	char media_type[sizeof("image/x-portable-anymap")];
	char file[STORE_FILE_NAME_BYTES];
	/* Of an original that is packed; 0 bytes: it is not. */
	uint64_t packed_bytes;
	char packed_sha256[SHA256_TEXT_BYTES];
	uint64_t bytes; /* set if it is packed */
};

/* How many variants has it? */
uint32_t image_meta_count(const char *meta);

/*
 * Find a variant in a meta.  Another version of the program may have stored it,
 * in a format that this one does not know: then its file ends as its media type
 * does, as "image/webp".  False: the meta has no such variant, or its format is
 * unknown and its media type is not of this form.
 */
MUST_CHECK bool image_meta_find(const char *meta, const char *name,
				struct stored_picture *picture);

#endif
