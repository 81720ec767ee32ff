/* SPDX-License-Identifier: MIT */
/* Promise: the first failure is found, for any text in the cells. */
#include "loadgen/compare/comparison.c"

#include "base/test/scratch.h"

#include <assert.h>
#include <string.h>

#define NAMES "intended_s,start_s,sent_s,end_s,file,status,error,more\r\n"

static struct scratch scratch;

/* What is said of the first failure in `text`, without what joins it. */
static const char *find(const char *text)
{
	static struct error failure;
	static const char joint[] = "; the first: ";
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "rows.csv", text, strlen(text));
	failure = find_first_failure(scratch_path(&scratch, "rows.csv", path));
	if (*failure.text == '\0')
		return NULL;
	assert(strncmp(failure.text, joint, strlen(joint)) == 0);
	return failure.text + strlen(joint);
}

int main(void)
{
	scratch_init(&scratch);
	assert(find("") == NULL);
	assert(find(NAMES) == NULL);
	assert(find(NAMES ",1,2,3,a.jpg,200,,x\r\n") == NULL);
	assert(strcmp(find(NAMES
			   ",1,2,3,a.jpg,200,,x\r\n,1,2,3,b.jpg,503,,x\r\n"
			   ",1,2,3,c.jpg,500,,x\r\n"),
		      "b.jpg: status 503") == 0);
	assert(strcmp(find(NAMES ",1,2,3,\"a,\r\n\"\"b\"\".jpg\",,"
				 "\"no, reply\",x\r\n"),
		      "a,\n\"b\".jpg: no, reply") == 0);
	assert(*find_first_failure("/no/such/file").text == '\0');
	scratch_release(&scratch);
	return 0;
}
