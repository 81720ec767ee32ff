/* SPDX-License-Identifier: MIT */
/*
 * Promises: a form has the same parts and the same fault, however it is divided
 * into pieces; forms as browsers, curl and libraries send them are read; a form
 * that two readers could understand differently is refused; a part function
 * can refuse a form.
 */
#include "service/http/handlers/multipart.h"

#include "base/test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 1 << 20 };

static bool is_exact; /* of the readers */

/* The parts that were reported, as "name|filename|data;". */
struct shown {
	char text[SHOWN_BYTES];
	size_t bytes;
	uint64_t next_offset; /* of the part */
	uint32_t calls_max;   /* refuse the call after these */
};

static void show(struct shown *s, const char *text, size_t bytes)
{
	CHECK_NUMBER(bytes, <, SHOWN_BYTES - s->bytes);
	memcpy(s->text + s->bytes, text, bytes);
	s->bytes += bytes;
	s->text[s->bytes] = '\0';
}

static bool on_part(void *arg, const char *name, const char *filename,
		    const char *data, uint64_t offset, size_t bytes)
{
	struct shown *s = arg;

	if (offset == 0) {
		show(s, ";", s->bytes > 0 ? 1 : 0);
		show(s, name != NULL ? name : "-", name ? strlen(name) : 1);
		show(s, "|", 1);
		show(s, filename != NULL ? filename : "-",
		     filename ? strlen(filename) : 1);
		show(s, "|", 1);
	} else {
		CHECK_NUMBER(offset, ==, s->next_offset);
		CHECK_NUMBER(bytes, >, 0);
	}
	show(s, data, bytes);
	s->next_offset = offset + bytes;
	return s->calls_max-- > 0;
}

static void clear(struct shown *s)
{
	s->bytes = 0;
	s->text[0] = '\0';
	s->calls_max = UINT32_MAX;
}

/* Read the form in three pieces, of which the first end at `a` and `b`. */
static enum multipart_fault read_form(struct shown *s, const char *type,
				      const char *body, size_t bytes, size_t a,
				      size_t b)
{
	struct multipart *m = multipart_new(type, is_exact, on_part, s);
	enum multipart_fault fault, read;

	CHECK(m != NULL);
	clear(s);
	fault = multipart_read(m, body, a);
	read = multipart_read(m, body + a, b - a);
	CHECK(fault == MULTIPART_OK || read == fault);
	read = multipart_read(m, body + b, bytes - b);
	fault = multipart_finish(m);
	CHECK(read == MULTIPART_OK || fault == read);
	CHECK_NUMBER(multipart_fault(m), ==, fault);
	multipart_free(m);
	return fault;
}

static enum multipart_fault read_bytewise(struct shown *s, const char *type,
					  const char *body, size_t bytes)
{
	struct multipart *m = multipart_new(type, is_exact, on_part, s);
	enum multipart_fault fault;

	CHECK(m != NULL);
	clear(s);
	for (size_t i = 0; i < bytes; i++) {
		/* A copy, so that AddressSanitizer sees what is read beyond. */
		char *piece = malloc(1);

		CHECK(piece != NULL);
		*piece = body[i];
		if (multipart_read(m, piece, 1) != MULTIPART_OK)
			i = bytes;
		free(piece);
	}
	fault = multipart_finish(m);
	multipart_free(m);
	return fault;
}

/*
 * However the form is divided into pieces, it has these parts and this fault.
 * The last part before a fault may lack its last bytes, if these could have
 * been the beginning of a delimiter.
 */
static void check_form(const char *type, const char *body, size_t bytes,
		       const char *parts, enum multipart_fault fault)
{
	static struct shown s;
	enum multipart_fault got = read_form(&s, type, body, bytes, 0, 0);

	if (got != fault || strcmp(s.text, parts) != 0) {
		fprintf(stderr, "%s\n%s\n%d, not %d: '%s', not '%s'\n", type,
			body, got, fault, s.text, parts);
		abort();
	}
	for (size_t a = 0; a <= bytes; a++)
		for (size_t b = a; b <= bytes; b++) {
			CHECK_NUMBER(read_form(&s, type, body, bytes, a, b), ==,
				     fault);
			CHECK_TEXT(s.text, parts);
		}
	CHECK_NUMBER(read_bytewise(&s, type, body, bytes), ==, fault);
	CHECK_TEXT(s.text, parts);
}

#define TYPE "multipart/form-data; boundary=xyz"
#define NAMED(disposition) "Content-Disposition: " disposition "\r\n"
#define NAME_A NAMED("form-data; name=\"a\"")
#define PART(head, data) "--xyz\r\n" head "\r\n" data "\r\n"
#define END "--xyz--\r\n"

static void read_as(bool exact, const char *body, const char *parts,
		    enum multipart_fault fault)
{
	is_exact = exact;
	check_form(TYPE, body, strlen(body), parts, fault);
}

/* Exact readers and others accept it. */
static void accepts(const char *body, const char *parts)
{
	read_as(true, body, parts, MULTIPART_OK);
	read_as(false, body, parts, MULTIPART_OK);
}

/* Both refuse it. */
static void refuses(const char *body, const char *parts,
		    enum multipart_fault fault)
{
	read_as(true, body, parts, fault);
	read_as(false, body, parts, fault);
}

/* Only an exact reader refuses it. */
static void refuses_exactly(const char *body, const char *parts,
			    enum multipart_fault fault, const char *all_parts)
{
	read_as(true, body, parts, fault);
	read_as(false, body, all_parts, MULTIPART_OK);
}

/* Neither reader finds the boundary. */
static void lacks_boundary(const char *body, enum multipart_fault fault)
{
	read_as(true, body, "", fault);
	read_as(false, body, "", MULTIPART_LACKS_BOUNDARY);
}

/* These parameters of a Content-Disposition name a part like this. */
static void names(const char *parameters, const char *shown)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "--xyz\r\nContent-Disposition: form-data%s\r\n\r\nval"
		       "\r\n--xyz--\r\n",
		       parameters);
	accepts(body, shown);
}

static void names_nothing(const char *parameters)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "--xyz\r\nContent-Disposition: %s\r\n\r\nval\r\n"
		       "--xyz--\r\n",
		       parameters);
	refuses(body, "", MULTIPART_DISPOSITION);
}

static void test_parts_are_reported(void)
{
	accepts(PART(NAME_A, "val") END, "a|-|val");
	accepts(PART(NAME_A, "val")
			PART(NAMED("form-data; name=\"f\"; "
				   "filename=\"p.jpg\"") "Content-Type: "
							 "image/jpeg\r\n",
			     "\xff\xd8\r\n--") END,
		"a|-|val;f|p.jpg|\xff\xd8\r\n--");
	accepts(PART(NAME_A, "") PART(NAME_A, "") PART(NAME_A, "w") END,
		"a|-|;a|-|;a|-|w");
	accepts(PART(NAMED("form-data; name=\"f\"; filename=\"\""), "") END,
		"f||");
	accepts(END, "");
	accepts(PART(NAME_A, "val") "--xyz--", "a|-|val");
}

static void test_data_like_a_boundary_is_data(void)
{
	accepts(PART(NAME_A, "v\r\n--xy\r\nq") END, "a|-|v\r\n--xy\r\nq");
	accepts(PART(NAME_A, "v--xyz\r\nq") END, "a|-|v--xyz\r\nq");
	accepts(PART(NAME_A, "v\n--xyz\r\nq") END, "a|-|v\n--xyz\r\nq");
	accepts(PART(NAME_A, "v\r\r\n") END, "a|-|v\r\r\n");
	accepts(PART(NAME_A, "\r") END, "a|-|\r");
	accepts(PART(NAME_A, "\r\n") END, "a|-|\r\n");
	accepts(PART(NAME_A, "\r\n--") END, "a|-|\r\n--");
	accepts(PART(NAME_A, "--xy") END, "a|-|--xy");
	accepts(PART(NAME_A, "\r\n-\r\n--\r\n--x\r\n--xy\r\r\n") END,
		"a|-|\r\n-\r\n--\r\n--x\r\n--xy\r\r\n");
}

static void test_names_are_read(void)
{
	names("; name=\"a\"; filename=\"b\"", "a|b|val");
	names("; filename=\"b\"; name=\"a\"", "a|b|val");
	names(";name=\"a\";filename=\"b\";", "a|b|val");
	names(" ;\tname=\"a\" ; NAME2=\"x\" ; ", "a|-|val");
	names("; NAME=\"a\"; FileName=\"b\"", "a|b|val");
	/* .NET. */
	names("; name=a; filename=b.jpg; filename*=utf-8''b.jpg",
	      "a|b.jpg|val");
	/* urllib3 1. */
	names("; name=\"a\"; filename*=utf-8''%e2%82%ac.jpg",
	      "a|utf-8''%e2%82%ac.jpg|val");
	/* curl before 7.81, and those that quote as HTTP does. */
	names("; name=\"a\"; filename=\"x\\\"y\\\\z\"", "a|x\"y\\z|val");
	names("; name=\"a\\\"; filename=\\\"b\"", "a\"; filename=\"b|-|val");
	/* Browsers, and later versions of curl. */
	names("; name=\"a%22\"; filename=\"%0D%0A%22\"", "a%22|%0D%0A%22|val");
	names("; name=\"a\"; filename=\"C:\\dir\\b\"", "a|C:\\dir\\b|val");
	names("; name=\"a\"; filename=\"b\\\"", "a|b\\|val");
	names("; name=\"a\"; filename=\"b\\\\\\\"", "a|b\\\\|val");
	names("; name=\"a; name=b\"; filename=\"; name=c\"",
	      "a; name=b|; name=c|val");
	names("; name=\"\xc3\xa9\"", "\xc3\xa9|-|val");
	names("; name=\"\"", "|-|val");
	names("; filename=\"b\"", "-|b|val");
	names("", "-|-|val");
	accepts(PART("", "val") END, "-|-|val");
	accepts(PART("Content-Type: image/jpeg\r\n", "val") END, "-|-|val");
}

static void test_headers_are_read(void)
{
	accepts(PART("CONTENT-disposition:FORM-DATA; name=\"a\" \t\r\n", "val")
			END,
		"a|-|val");
	accepts(PART("Content-Type: image/jpeg\r\nX-Empty:\r\n" NAME_A
		     "Content-Transfer-Encoding: Binary\r\nX-Empty:\r\n",
		     "val") END,
		"a|-|val");
}

static void test_form_begins_with_its_boundary(void)
{
	accepts("\r\n" PART(NAME_A, "val") END, "a|-|val");
	/* The part is text before the first boundary, which is the last. */
	refuses_exactly("\n" PART(NAME_A, "val") END, "", MULTIPART_NO_BOUNDARY,
			"");
	refuses_exactly("--" PART(NAME_A, "val") END, "", MULTIPART_NO_BOUNDARY,
			"");
	lacks_boundary("", MULTIPART_NO_BOUNDARY);
	lacks_boundary("\r\n", MULTIPART_NO_BOUNDARY);
	lacks_boundary("\r\r\n--xy\r\n", MULTIPART_NO_BOUNDARY);
	lacks_boundary("--xy", MULTIPART_NO_BOUNDARY);
	lacks_boundary("--abc\r\n" NAME_A "\r\nval\r\n--abc--\r\n",
		       MULTIPART_NO_BOUNDARY);
	refuses("--xyz", "", MULTIPART_CUT_SHORT);
}

/* RFC 2046, 5.1.1: a preamble, an epilogue, and padding. */
static void test_what_stands_around_parts_is_skipped(void)
{
	static const char form[] = PART(NAME_A, "v") END;

	refuses_exactly("\r\n\r\n" PART(NAME_A, "v") END, "",
			MULTIPART_NO_BOUNDARY, "a|-|v");
	refuses_exactly("Hello\r\n" PART(NAME_A, "v") END, "",
			MULTIPART_NO_BOUNDARY, "a|-|v");
	refuses_exactly("--xy\r\n--xy\r\r\n" PART(NAME_A, "v") END, "",
			MULTIPART_NO_BOUNDARY, "a|-|v");
	refuses_exactly("--xyz \t\r\n" NAME_A "\r\nv\r\n" END, "",
			MULTIPART_AFTER, "a|-|v");
	refuses_exactly(PART(NAME_A, "v") "--xyz-- \r\n", "a|-|v",
			MULTIPART_EPILOGUE, "a|-|v");
	refuses_exactly(PART(NAME_A, "v") "--xyz-- ", "a|-|v",
			MULTIPART_EPILOGUE, "a|-|v");
	refuses_exactly(PART(NAME_A, "v") END "\r\n", "a|-|v",
			MULTIPART_EPILOGUE, "a|-|v");
	refuses_exactly(PART(NAME_A, "v") END PART(NAME_A, "w") END, "a|-|v",
			MULTIPART_EPILOGUE, "a|-|v");
	is_exact = false;
	/* Its last NUL, too. */
	check_form(TYPE, form, sizeof(form), "a|-|v", MULTIPART_OK);
}

/* What stands in front of a missing end may be the begin of a delimiter. */
static void test_end_must_be_there(void)
{
	refuses(PART(NAME_A, "val"), "a|-|val", MULTIPART_CUT_SHORT);
	refuses(PART(NAME_A, "val") "--xyz", "a|-|val", MULTIPART_CUT_SHORT);
	refuses(PART(NAME_A, "val") "--xyz-", "a|-|val", MULTIPART_CUT_SHORT);
	refuses(PART(NAME_A, "val") "--xyz\r\n", "a|-|val",
		MULTIPART_CUT_SHORT);
	refuses("--xyz\r\n" NAME_A "\r\nval", "a|-|val", MULTIPART_CUT_SHORT);
	refuses("--xyz\r\n" NAME_A "\r\n", "", MULTIPART_CUT_SHORT);
	refuses("--xyz\r\n" NAME_A, "", MULTIPART_CUT_SHORT);
	refuses("--xyz\r\nContent-Dis", "", MULTIPART_CUT_SHORT);
	refuses(PART(NAME_A, "val") "--xyz--\r", "a|-|val",
		MULTIPART_CUT_SHORT);
}

static void test_ambiguous_boundaries_are_refused(void)
{
	refuses("--xyz\n" NAME_A "\r\nval\r\n" END, "", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v\r\n--xyzw\r\nq") END, "a|-|v", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v") "--xyz-x\r\n", "a|-|v", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v") "--xyz\r\r\n", "a|-|v", MULTIPART_AFTER);
	refuses("--xyz \n" NAME_A "\r\nval\r\n" END, "", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v") "--xyz --\r\n", "a|-|v", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v") "--xyz- -\r\n", "a|-|v", MULTIPART_AFTER);
	refuses(PART(NAME_A, "v") "--xyz--x\r\n", "a|-|v", MULTIPART_EPILOGUE);
	refuses("--xyz\r\n" NAME_A "\r\n" END, "", MULTIPART_NO_EMPTY_LINE);
	refuses(PART(NAME_A, "v") "--xyz--\n", "a|-|v", MULTIPART_EPILOGUE);
}

static void test_ambiguous_headers_are_refused(void)
{
	refuses("--xyz\r\n" NAME_A END, "", MULTIPART_HEADER);
	refuses("--xyz\r\nContent-Disposition: form-data; name=\"a\"\n\n", "",
		MULTIPART_HEADER);
	refuses("--xyz\r\n\nval\r\n" END, "", MULTIPART_HEADER);
	refuses(PART(NAMED("form-data;\r\n name=\"a\""), "val") END, "",
		MULTIPART_HEADER);
	refuses(PART(NAME_A " filename=\"b\"\r\n", "val") END, "",
		MULTIPART_HEADER);
	refuses(PART(NAMED("form-data; name=\"a\rb\""), "val") END, "",
		MULTIPART_HEADER);
	refuses(PART("Content-Disposition : form-data; name=\"a\"\r\n", "val")
			END,
		"", MULTIPART_HEADER);
	refuses(PART("hello\r\n" NAME_A, "val") END, "", MULTIPART_HEADER);
	refuses(PART(": hello\r\n" NAME_A, "val") END, "", MULTIPART_HEADER);
	refuses(PART(NAME_A NAME_A, "val") END, "", MULTIPART_HEADER);
	refuses(PART("Content-Type: a/b\r\ncontent-type: a/b\r\n", "val") END,
		"", MULTIPART_HEADER);
}

/* The fault of `count` texts between `begin` and `end`. */
static enum multipart_fault fault_of(const char *begin, const char *text,
				     int count, const char *end)
{
	static struct shown s;
	size_t bytes = strlen(text), at = strlen(begin);
	char *body = malloc(at + bytes * (size_t)count + strlen(end) + 1);
	enum multipart_fault fault;

	CHECK(body != NULL);
	memcpy(body, begin, at);
	for (int i = 0; i < count; i++, at += bytes)
		memcpy(body + at, text, bytes);
	memcpy(body + at, end, strlen(end));
	at += strlen(end);
	fault = read_form(&s, TYPE, body, at, at / 3, at / 2);
	CHECK_NUMBER(read_bytewise(&s, TYPE, body, at), ==, fault);
	free(body);
	return fault;
}

/* Parts without bytes count, too, and so do unknown headers and parameters. */
static void test_parts_and_headers_are_bounded(void)
{
	static const char part[] = PART(NAMED("form-data; filename=\"\""), "");
	static const char begin[] = "--xyz\r\nContent-Disposition: form-data";
	static const char end[] = "\r\nX:\r\n\r\nval\r\n" END;
	static const char head_end[] = "\r\nval\r\n" END;

	CHECK_NUMBER(fault_of("", part, 128, END), ==, MULTIPART_OK);
	CHECK_NUMBER(fault_of("", part, 129, END), ==, MULTIPART_MANY_PARTS);
	CHECK_NUMBER(fault_of("--xyz\r\n", "X:\r\n", 64, head_end), ==,
		     MULTIPART_OK);
	CHECK_NUMBER(fault_of("--xyz\r\n", "X:\r\n", 65, head_end), ==,
		     MULTIPART_MANY_HEADERS);
	CHECK_NUMBER(fault_of(begin, ";a=b", 62, end), ==, MULTIPART_OK);
	CHECK_NUMBER(fault_of(begin, ";a=b", 63, end), ==,
		     MULTIPART_MANY_HEADERS);
	CHECK_NUMBER(fault_of(begin, ";a=b", 64, end), ==,
		     MULTIPART_MANY_HEADERS);
	CHECK_NUMBER(fault_of(begin, ";a=b", 4000, end), ==,
		     MULTIPART_MANY_HEADERS);
}

static void test_nul_is_refused_outside_data(void)
{
	static const char form[] =
		"--xyz\r\nContent-Disposition: form-data; name=\"a\0b\"\r\n\r\n"
		"v\r\n--xyz--\r\n";
	static const char after[] = END "\0";
	static const char fine[] = PART(NAME_A, "v\0\0w") END;
	struct shown *s = malloc(sizeof(*s));

	CHECK(s != NULL);
	check_form(TYPE, form, sizeof(form) - 1, "", MULTIPART_HEADER);
	is_exact = true;
	check_form(TYPE, after, sizeof(after) - 1, "", MULTIPART_EPILOGUE);
	CHECK_NUMBER(read_form(s, TYPE, fine, sizeof(fine) - 1, 0, 60), ==,
		     MULTIPART_OK);
	CHECK_NUMBER(s->bytes, ==, 8);
	CHECK(memcmp(s->text, "a|-|v\0\0w", 8) == 0);
	free(s);
}

static void test_bad_dispositions_are_refused(void)
{
	names_nothing("");
	names_nothing("attachment; name=\"a\"");
	names_nothing("name=\"a\"");
	names_nothing("form-data, name=\"a\"");
	names_nothing("form-data; name=\"a\"; name=\"b\"");
	names_nothing("form-data; filename=\"a\"; FILENAME=\"b\"");
	names_nothing("form-data; filename*=a; filename*=b");
	names_nothing("form-data; name=\"a");
	names_nothing("form-data; name=\"a\\\"; filename=\"b\"");
	names_nothing("form-data; name=\"a\\\";");
	names_nothing("form-data; name=\"a\"x");
	names_nothing("form-data; name=\"a\" filename=\"b\"");
	names_nothing("form-data; name=a b");
	names_nothing("form-data; name=a\"b\"");
	names_nothing("form-data; name = \"a\"");
	names_nothing("form-data; name=a/b");
	names_nothing("form-data; name==a");
	names_nothing("form-data; name=\xc3\xa9");
	names_nothing("form-data; name=");
	names_nothing("form-data; name=; filename=\"b\"");
	names_nothing("form-data; name");
	names_nothing("form-data;; name=\"a\"");
	names_nothing("form-data; =\"a\"");
}

static void test_encoded_and_nested_parts_are_refused(void)
{
	refuses(PART(NAME_A "Content-Transfer-Encoding: base64\r\n", "dmFs")
			END,
		"", MULTIPART_ENCODING);
	refuses(PART(NAME_A "Content-Transfer-Encoding: quoted-printable\r\n",
		     "=41") END,
		"", MULTIPART_ENCODING);
	refuses(PART(NAME_A "Content-Type: Multipart/mixed; boundary=i\r\n",
		     "--i\r\n\r\n1\r\n--i--\r\n") END,
		"", MULTIPART_NESTED);
}

static void has_boundary(const char *type, const char *boundary)
{
	char body[256];

	(void)snprintf(body, sizeof(body), "--%s\r\n" NAME_A "\r\nv\r\n--%s--",
		       boundary, boundary);
	check_form(type, body, strlen(body), "a|-|v", MULTIPART_OK);
}

static void has_no_boundary(const char *type)
{
	check_form(type, "--xyz--", 7, "", MULTIPART_TYPE);
}

#define TEN "0123456789"
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN

static void test_boundary_is_read(void)
{
	has_boundary(TYPE, "xyz");
	has_boundary("multipart/form-data;boundary=xyz", "xyz");
	has_boundary("  Multipart/Form-Data ; Boundary=\"xyz\" ", "xyz");
	has_boundary("multipart/form-data; charset=utf-8; boundary=xyz", "xyz");
	has_boundary("multipart/form-data; boundary=xyz; charset=utf-8", "xyz");
	has_boundary("multipart/form-data; a=\"; boundary=q\"; boundary=xyz",
		     "xyz");
	has_boundary("multipart/form-data; boundary=\"a;b c\"", "a;b c");
	has_boundary("multipart/form-data; boundary='()+_,-./:=?*{}",
		     "'()+_,-./:=?*{}");
	has_boundary("multipart/form-data; boundary=-", "-");
	has_boundary("multipart/form-data; boundary=----", "----");
	has_boundary("multipart/form-data; boundary=" SEVENTY, SEVENTY);
	has_no_boundary("multipart/form-data");
	has_no_boundary("multipart/form-data;");
	has_no_boundary("multipart/form-data boundary=xyz");
	has_no_boundary("multipart/form-data; boundary=");
	has_no_boundary("multipart/form-data; boundary=\"\"");
	has_no_boundary("multipart/form-data; boundary=\"xyz");
	has_no_boundary("multipart/form-data; boundary=\"xyz \"");
	has_no_boundary("multipart/form-data; boundary=\"x\\\"yz\"");
	has_no_boundary("multipart/form-data; boundary=x yz");
	has_no_boundary("multipart/form-data; boundary=\xc3\xa9");
	has_no_boundary("multipart/form-data; boundary=xyz; boundary=xyz");
	has_no_boundary("multipart/form-data; xboundary=xyz");
	has_no_boundary("multipart/form-data; boundary=" SEVENTY "0");
	has_no_boundary("multipart/form-dataX; boundary=xyz");
	has_no_boundary("multipart/mixed; boundary=xyz");
	has_no_boundary("");
}

/* A part with `bytes` of headers, the empty line included. */
static enum multipart_fault read_long_head(size_t bytes, size_t line_bytes)
{
	struct shown *s = malloc(sizeof(*s));
	char *body = malloc(bytes + 100);
	enum multipart_fault fault;
	size_t at = 7, end = at + bytes - 2;

	CHECK(s != NULL);
	CHECK(body != NULL);
	memcpy(body, "--xyz\r\n", 7);
	while (at < end) {
		size_t left = end - at < 2 * line_bytes ? end - at : line_bytes;

		memset(body + at, 'x', left);
		body[at + 1] = ':';
		memcpy(body + at + left - 2, "\r\n", 2);
		at += left;
	}
	memcpy(body + at, "\r\nv\r\n--xyz--", 13);
	fault = read_form(s, TYPE, body, at + 12, at / 2, at);
	CHECK(fault != MULTIPART_OK || strcmp(s->text, "-|-|v") == 0);
	free(body);
	free(s);
	return fault;
}

static void test_head_is_bounded(void)
{
	CHECK_NUMBER(read_long_head(1000, 1000), ==, MULTIPART_OK);
	for (size_t line = 300; line <= 30000; line *= 10) {
		CHECK_NUMBER(read_long_head(MULTIPART_HEAD_BYTES, line), ==,
			     MULTIPART_OK);
		CHECK_NUMBER(read_long_head(MULTIPART_HEAD_BYTES + 1, line), ==,
			     MULTIPART_LONG_HEAD);
	}
}

static void test_long_type_is_refused(void)
{
	char *type = malloc(MULTIPART_HEAD_BYTES + 100);
	struct multipart *m;

	CHECK(type != NULL);
	memset(type, ' ', MULTIPART_HEAD_BYTES);
	(void)strcpy(type + MULTIPART_HEAD_BYTES, TYPE);
	m = multipart_new(type, true, on_part, NULL);
	CHECK(m != NULL);
	CHECK_NUMBER(multipart_fault(m), ==, MULTIPART_TYPE);
	CHECK_NUMBER(multipart_read(m, END, sizeof(END) - 1), ==,
		     MULTIPART_TYPE);
	multipart_free(m);
	free(type);
}

/* After a refusal, the part function is not called any more. */
static void test_part_function_can_refuse(void)
{
	static const char form[] = PART(NAME_A, "val") PART(NAME_A, "") END;
	static struct shown s;

	for (uint32_t calls = 0; calls < 2; calls++) {
		struct multipart *m = multipart_new(TYPE, true, on_part, &s);

		CHECK(m != NULL);
		clear(&s);
		s.calls_max = calls;
		CHECK_NUMBER(multipart_read(m, form, sizeof(form) - 1), ==,
			     MULTIPART_REFUSED);
		CHECK_NUMBER(s.calls_max, ==, UINT32_MAX); /* one call more */
		CHECK_NUMBER(multipart_read(m, END, 5), ==, MULTIPART_REFUSED);
		CHECK_NUMBER(multipart_finish(m), ==, MULTIPART_REFUSED);
		CHECK_NUMBER(s.calls_max, ==, UINT32_MAX);
		multipart_free(m);
	}
}

/* A part that is in one piece is passed on in one, from there. */
static bool keep_data(void *arg, const char *name, const char *filename,
		      const char *data, uint64_t offset, size_t bytes)
{
	(void)name;
	(void)filename;
	CHECK_NUMBER(offset, ==, 0);
	CHECK_NUMBER(bytes, ==, 9);
	*(const char **)arg = data;
	return true;
}

static void test_data_is_not_copied(void)
{
	static const char form[] = PART(NAME_A, "\r\n--data\r") END;
	const char *data = NULL;
	struct multipart *m = multipart_new(TYPE, true, keep_data, &data);

	CHECK(m != NULL);
	CHECK_NUMBER(multipart_read(m, form, sizeof(form) - 1), ==,
		     MULTIPART_OK);
	CHECK_NUMBER(multipart_finish(m), ==, MULTIPART_OK);
	CHECK_NUMBER(data, ==, strstr(form, "\r\n--data"));
	multipart_free(m);
}

static void test_faults_are_explained(void)
{
	for (enum multipart_fault f = 0; f < MULTIPART_FAULTS; f++)
		CHECK_NUMBER((multipart_fault_text(f)[0] != '\0'), ==,
			     (f > MULTIPART_REFUSED));
}

int main(void)
{
	test_parts_are_reported();
	test_data_like_a_boundary_is_data();
	test_names_are_read();
	test_headers_are_read();
	test_form_begins_with_its_boundary();
	test_what_stands_around_parts_is_skipped();
	test_end_must_be_there();
	test_ambiguous_boundaries_are_refused();
	test_ambiguous_headers_are_refused();
	test_parts_and_headers_are_bounded();
	test_nul_is_refused_outside_data();
	test_bad_dispositions_are_refused();
	test_encoded_and_nested_parts_are_refused();
	test_boundary_is_read();
	test_head_is_bounded();
	test_long_type_is_refused();
	test_part_function_can_refuse();
	test_data_is_not_copied();
	test_faults_are_explained();
	return 0;
}
