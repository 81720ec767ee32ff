/* SPDX-License-Identifier: MIT */
/* The first failure is found, whatever stands in the cells. */
#include "loadgen/compare/first_failure.h"

#include "loadgen/test/scratch.h"

#include <assert.h>
#include <string.h>

#define NAMES "intended_s,start_s,sent_s,end_s,file,status,error,more\r\n"

static struct scratch scratch;

static bool find(const char *text, struct error *failure)
{
	char path[SCRATCH_PATH_BYTES];

	scratch_write(&scratch, "rows.csv", text, strlen(text));
	return first_failure_find(scratch_path(&scratch, "rows.csv", path),
				  failure);
}

int main(void)
{
	struct error failure;

	scratch_init(&scratch);
	assert(!find("", &failure));
	assert(!find(NAMES, &failure));
	assert(!find(NAMES ",1,2,3,a.jpg,200,,x\r\n", &failure));
	assert(find(NAMES ",1,2,3,a.jpg,200,,x\r\n,1,2,3,b.jpg,503,,x\r\n"
			  ",1,2,3,c.jpg,500,,x\r\n",
		    &failure));
	assert(strcmp(failure.text, "b.jpg: status 503") == 0);
	assert(find(NAMES ",1,2,3,\"a,\r\n\"\"b\"\".jpg\",,\"no, reply\",x\r\n",
		    &failure));
	assert(strcmp(failure.text, "a,\n\"b\".jpg: no, reply") == 0);
	assert(!first_failure_find("/no/such/file", &failure));
	scratch_release(&scratch);
	return 0;
}
