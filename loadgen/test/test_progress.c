/* SPDX-License-Identifier: MIT */
/* Progress is shown once a second at most, and nowhere if not asked for. */
#include "loadgen/clock.h"
#include "loadgen/progress.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void test_once_a_second(void)
{
	struct record r = { .request_count = 30,
			    .ok_count = 28,
			    .uploaded_bytes = 14000000 };
	char *text;
	size_t size;
	struct progress p = { .out = open_memstream(&text, &size),
			      .request_goal = 159 };

	assert(p.out != NULL);
	progress_show(&p, &r, NS_PER_S - 1);
	assert(ftell(p.out) == 0);
	progress_show(&p, &r, 2 * NS_PER_S);
	assert(strstr(text, "30/159 requests") != NULL);
	assert(strstr(text, "14.0 responses/s") != NULL);
	assert(strstr(text, "7.00 MB/s") != NULL);
	assert(strstr(text, "2 not 2xx") != NULL);
	r.request_count = 31;
	progress_show(&p, &r, 3 * NS_PER_S - 1);
	assert(strstr(text, "31/159") == NULL);
	progress_show(&p, &r, 3 * NS_PER_S);
	assert(strstr(text, "31/159") != NULL);
	fclose(p.out);
	free(text);
}

static void test_nowhere(void)
{
	struct record r = { 0 };
	struct progress p = { .out = NULL };

	progress_show(&p, &r, 5 * NS_PER_S);
	progress_clear(&p);
	assert(p.shown_ns == 0);
}

int main(void)
{
	test_once_a_second();
	test_nowhere();
	return 0;
}
