/* SPDX-License-Identifier: MIT */
/* Promise: a schedule is written as the flags that give it again. */
#include "stages/schedule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 3, CORES = 4 };

static const char *const stages[STAGES] = { "cut", "sew", "iron" };

/* A complete schedule from "--flag value --flag ...". */
static struct schedule read_flags(const char *line)
{
	static const char prefix[] = "--";
	char error[SCHEDULE_ERROR_BYTES];
	char *text = strdup(line), *rest = text, *word;
	struct schedule s;
	bool ok;

	assert(text != NULL);
	schedule_init(&s);
	while ((word = strsep(&rest, " ")) != NULL) {
		const char *name = word + strlen(prefix);
		bool has_value = rest != NULL && strncmp(rest, prefix, 2) != 0;

		ok = schedule_set(&s, name,
				  has_value ? strsep(&rest, " ") : NULL, stages,
				  STAGES);
		assert(ok);
	}
	ok = schedule_complete(&s, STAGES, CORES, error);
	assert(ok);
	free(text);
	return s;
}

/* What is printed of `line`, for the caller to free(). */
static char *printed(const char *line)
{
	struct schedule s = read_flags(line);
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert(f != NULL);
	schedule_print(&s, stages, STAGES, f);
	(void)fclose(f);
	return text;
}

static void test_each_flag_is_written_as_it_is_read(void)
{
	static const char *const lines[] = {
		"--policy thread-per-connection",
		"--policy color --discipline lcfs --balance shared",
		"--policy cohort --regime exhaustive --discipline fcfs "
		"--balance shared",
		"--policy mg1 --regime gated --discipline stack "
		"--balance partition=2",
		"--policy dbr --regime n-gated=8 --discipline srpt=20 "
		"--balance replicate=4 --distribute round-robin",
		"--policy srpt --regime time-gated=1500 "
		"--discipline srpt=0.500000 "
		"--balance replicate=2 --distribute least-loaded --steal",
		"--policy cohort --regime cutoff=250 --discipline srpt=1000000 "
		"--balance shared --threshold cut=3,iron=0:900",
		"--policy pool-per-stage --discipline lcfs --balance shared "
		"--pool cut=1,sew=7,iron=2",
		"--policy pool-per-stage --discipline fcfs "
		"--balance replicate=2 --distribute round-robin --pool auto",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = printed(lines[i]);

		assert(strcmp(text, lines[i]) == 0);
		free(text);
	}
}

static void test_defaults_are_written(void)
{
	char *text = printed("--policy srpt --balance replicate");

	assert(strcmp(text, "--policy srpt --regime exhaustive "
			    "--discipline fcfs --balance replicate=4 "
			    "--distribute round-robin") == 0);
	free(text);
}

int main(void)
{
	test_each_flag_is_written_as_it_is_read();
	test_defaults_are_written();
	return 0;
}
