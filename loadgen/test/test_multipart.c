/* SPDX-License-Identifier: MIT */
/* A form is as RFC 7578 has it, and its boundary is in no file. */
#include "loadgen/dataset.h"
#include "loadgen/multipart.h"
#include "loadgen/test/scratch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void test_known_form(void)
{
	static const char expected[] =
		"--bb\r\n"
		"Content-Disposition: form-data; name=\"file\"; "
		"filename=\"a b.jpg\"\r\n"
		"Content-Type: image/jpeg\r\n"
		"\r\n"
		"ph\0to\r\n"
		"--bb--\r\n";
	struct boundary boundary = { "bb" };
	struct multipart m;

	assert(multipart_wrap(&m, &boundary, "file", "sub/a b.jpg", "ph\0to",
			      5));
	assert(m.body_bytes == sizeof(expected) - 1);
	assert(memcmp(m.body, expected, m.body_bytes) == 0);
	assert(memcmp(m.body + m.file_at, "ph\0to", 5) == 0);
	free(m.body);
}

static void test_names_cannot_end_their_quotes(void)
{
	struct boundary boundary = { "bb" };
	struct multipart m;

	assert(multipart_wrap(&m, &boundary, "f\"x", "a\"\r\nb", "", 0));
	assert(strstr(m.body, "name=\"f%22x\"") != NULL);
	assert(strstr(m.body, "filename=\"a%22%0D%0Ab\"") != NULL);
	free(m.body);
}

static void test_boundaries(void)
{
	struct boundary first = multipart_boundary(0);
	struct boundary second = multipart_boundary(1);

	assert(strcmp(first.text, second.text) != 0);
	assert(strlen(first.text) <= 70); /* RFC 2046, 5.1.1 */
	assert(multipart_has(&first, first.text, strlen(first.text)));
	assert(!multipart_has(&first, first.text, strlen(first.text) - 1));
	assert(!multipart_has(&first, second.text, strlen(second.text)));
}

/* The first two boundaries are in files; the second in the first file. */
static void test_dataset_finds_a_free_boundary(void)
{
	struct boundary taken[] = { multipart_boundary(0),
				    multipart_boundary(1) };
	struct boundary free_one = multipart_boundary(2);
	struct scratch s;
	struct dataset d = { 0 };
	struct error error;

	scratch_init(&s);
	scratch_write(&s, "a.jpg", taken[1].text, strlen(taken[1].text));
	scratch_write(&s, "b.jpg", taken[0].text, strlen(taken[0].text));
	scratch_write(&s, "c.jpg", "", 0);
	assert(dataset_load(&d, s.dir, false, DATASET_BYTES_MAX, &error));
	assert(strcmp(d.content_type, "image/jpeg") == 0);
	assert(dataset_wrap(&d, "file", &error));
	assert(strstr(d.content_type, free_one.text) != NULL);
	for (uint32_t i = 0; i < d.count; i++) {
		const struct dataset_file *f = &d.files[i];

		assert(memmem(f->body, f->body_bytes, free_one.text,
			      strlen(free_one.text)) != NULL);
		assert(strstr(f->body, f->path) != NULL);
		assert(f->body_bytes > f->size_bytes);
	}
	assert(d.files[0].size_bytes == strlen(taken[1].text));
	assert(memcmp(d.files[0].bytes, taken[1].text, d.files[0].size_bytes) ==
	       0);
	assert(d.files[2].size_bytes == 0);
	dataset_release(&d);
	scratch_release(&s);
}

int main(void)
{
	test_known_form();
	test_names_cannot_end_their_quotes();
	test_boundaries();
	test_dataset_finds_a_free_boundary();
	return 0;
}
