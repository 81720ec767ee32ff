/* SPDX-License-Identifier: MIT */
/* Replies are golden if every byte is. */
#include "loadgen/golden.h"

#include "loadgen/test/scratch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_BYTES = 100000 };

static void expect_wrong(const char *dir, const char *path, const void *bytes,
			 size_t size, const char *part)
{
	struct error why;

	assert(!golden_compare(dir, path, bytes, size, &why));
	assert(strstr(why.text, part) != NULL);
}

int main(void)
{
	struct scratch scratch;
	struct error why;
	char *large = malloc(LARGE_BYTES);

	assert(large != NULL);
	memset(large, 'x', LARGE_BYTES);
	scratch_init(&scratch);
	scratch_write(&scratch, "sub__a.jpg", "golden", 6);
	scratch_write(&scratch, "large.jpg", large, LARGE_BYTES);
	scratch_write(&scratch, "empty.jpg", "", 0);
	assert(golden_compare(scratch.dir, "sub/a.jpg", "golden", 6, &why));
	assert(golden_compare(scratch.dir, "large.jpg", large, LARGE_BYTES,
			      &why));
	assert(golden_compare(scratch.dir, "empty.jpg", "", 0, &why));
	expect_wrong(scratch.dir, "sub/a.jpg", "gilden", 6, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "golden!", 7, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "gold", 4, "other bytes");
	expect_wrong(scratch.dir, "sub/a.jpg", "", 0, "other bytes");
	expect_wrong(scratch.dir, "empty.jpg", "x", 1, "other bytes");
	large[LARGE_BYTES - 1] = 'y';
	expect_wrong(scratch.dir, "large.jpg", large, LARGE_BYTES,
		     "large.jpg: other bytes");
	expect_wrong(scratch.dir, "b.jpg", "golden", 6, "No such file");
	expect_wrong("/no/such/folder", "b.jpg", "golden", 6, "No such file");
	scratch_release(&scratch);
	free(large);
	return 0;
}
