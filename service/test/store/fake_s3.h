/* SPDX-License-Identifier: MIT */
/*
 * A small S3 server for tests: one bucket, in memory, on a free port of
 * 127.0.0.1.  It checks signatures with a key and secret of its own, and can
 * be told to misbehave:
 *
 *	PUT /-/do        body "BEHAVIOUR COUNT [METHOD [KEY [SKIP]]]": the next
 *	                 COUNT requests of this method, for keys that contain
 *	                 KEY, get this answer ("-": any method); SKIP of them
 *	                 come before
 *	PUT /-/object/KEY
 *	                 the body is an object from now on, as if another
 *	                 program had put it
 *	GET /-/counts    "put 3 get 1 head 0 delete 0 list 0 stored 3\n"
 *
 *	503 500 501 429 507
 *	                 this status; 503 says SlowDown
 *	skew             403 RequestTimeTooSkewed, and a Date of an hour ago
 *	quota            403 QuotaExceeded
 *	noconditions     501 NotImplemented to If-None-Match and If-Match
 *	ignoresmatch     If-Match is ignored
 *	barematch        it compares If-Match with the ETag without its quotes
 *	wrongmatch       no If-Match is true
 *	redirect         307 to another host
 *	hugeerror        500 with a body of 1 MiB
 *	hang             nothing, until the client gives up
 *	late             what was asked is done 50 ms later
 *	cut              close the connection without an answer, having done
 *	                 what was asked
 *	truncate         half of the body, then close
 *	flip             one bit of the body is another
 *	badrange         a wrong Content-Range
 *	norange          200 and the whole object
 *	slow             the body in ten pieces, 20 ms apart
 *	chunked          the body without a Content-Length
 *	trailer          chunked, and a trailer that looks like a status line
 *	etag noetag      another ETag; none
 *	twoetags         another ETag, and then the right one
 *	etagtrailer      the ETag not in the head, but in a trailer
 *	weaketag         another ETag, which is a weak one
 *	emptyetag emptyweaketag quoteetag
 *	                 an ETag without characters: "", W/"" and "
 *	weak             the right ETag, but a weak one
 *	shorter          a byte less than the object has
 *	marker           a header says that it is the marker of a removal
 *	kms              another ETag, and the header that says why
 *	kmsother         another ETag, and a header that does not say why
 *	404              this status without a body
 *	noversion denied404
 *	                 404 with another code than that of a missing object
 *	202 204 206      this status, and nothing is done
 *	errorbody        200 with an error as its body, and nothing is done
 *	lateerror        the same, with 4,200 bytes before the error
 *	utf16error       the same, in UTF-16
 *	page             200 with a web page, and nothing is done
 *	other            the bytes of another object, which is whole
 *	control          a list whose times have control characters
 *
 * Threads    Any thread may call these functions.
 */
#ifndef SERVICE_TEST_FAKE_S3_H
#define SERVICE_TEST_FAKE_S3_H

#define FAKE_S3_BUCKET "photos"
#define FAKE_S3_KEY "test:key"
#define FAKE_S3_SECRET "test/secret"

struct fake_s3;

struct fake_s3 *fake_s3_start(unsigned *port);
void fake_s3_stop(struct fake_s3 *f);

/* The same as PUT /-/do. */
void fake_s3_do(struct fake_s3 *f, const char *text);

struct fake_s3_counts {
	unsigned put, get, head, delete, list; /* with a good signature */
	unsigned stored;                       /* objects, now */
};

struct fake_s3_counts fake_s3_count(struct fake_s3 *f);

/* Change a byte in the middle of every object. */
void fake_s3_damage(struct fake_s3 *f);

#endif
