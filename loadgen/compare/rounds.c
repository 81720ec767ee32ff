/* SPDX-License-Identifier: MIT */
/*
 * compare_rounds: the comparison of `loadgen compare` for figures of another
 * program.  Reads lines "ARM<tab>ROUND<tab>VALUE".  Prints for each arm, in the
 * order in which they came first, with tabs between:
 *
 *     arm, median, ratio to the baseline, low and high end of its interval
 *     (95 %), p of no difference, p of a difference of 2 % or more
 *
 * with a - for what does not exist, and then the sentence about the power.
 *
 * usage: compare_rounds BASELINE <LINES
 */
#include "loadgen/compare/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARMS_MAX = HOLM_TESTS_MAX, NAME_BYTES = 128 };

struct arm {
	char name[NAME_BYTES];
	struct sample sample;
};

static struct arm arms[ARMS_MAX];
static size_t arm_count;

/* NULL: too many arms, or the name is too long. */
static struct arm *find_or_add(const char *name)
{
	for (size_t i = 0; i < arm_count; i++)
		if (strcmp(arms[i].name, name) == 0)
			return &arms[i];
	if (arm_count == ARMS_MAX || strlen(name) >= NAME_BYTES)
		return NULL;
	strcpy(arms[arm_count].name, name);
	return &arms[arm_count++];
}

/* Changes the line. */
static bool add_line(char *line)
{
	char *round = strchr(line, '\t');
	char *value = round == NULL ? NULL : strchr(round + 1, '\t');
	char *end;

	if (value == NULL)
		return false;
	*round++ = *value++ = '\0';

	struct arm *arm = find_or_add(line);
	unsigned long block = strtoul(round, &end, 10);

	if (arm == NULL || end == round || *end != '\0' ||
	    arm->sample.count == SAMPLE_COUNT_MAX)
		return false;

	double number = strtod(value, &end);

	if (end == value || *end != '\n')
		return false;
	sample_add_block(&arm->sample, block, number);
	return true;
}

static void print_ratio(double value)
{
	if (isnan(value))
		printf("\t-");
	else
		printf("\t%.3f", value);
}

static void print_p(double value)
{
	if (isnan(value))
		printf("\t-");
	else
		printf("\t%.3g", value);
}

static void print_effect(const struct effect *e)
{
	printf("%s\t%.6g", e->name, sample_median(e->sample));
	if (e->other == NULL) {
		printf("\t1\t-\t-\t-\t-\n");
		return;
	}
	print_ratio(e->ratio.ratio);
	print_ratio(e->ratio.low);
	print_ratio(e->ratio.high);
	print_p(e->p);
	print_p(e->equivalence_p);
	printf("\n");
}

/* False: a line is wrong, and stderr says so. */
static bool read_lines(void)
{
	char line[512];

	for (size_t number = 1; fgets(line, sizeof(line), stdin) != NULL;
	     number++)
		if (!add_line(line)) {
			fprintf(stderr,
				"compare_rounds: line %zu is not ARM, ROUND "
				"and VALUE, or there are more than %d arms\n",
				number, ARMS_MAX);
			return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	struct effect effects[ARMS_MAX] = { 0 };

	if (argc != 2 || !read_lines())
		return 2;

	const struct arm *baseline = find_or_add(argv[1]);

	if (baseline == NULL || baseline->sample.count == 0) {
		fprintf(stderr, "compare_rounds: no line is of '%s'\n",
			argv[1]);
		return 2;
	}
	for (size_t i = 0; i < arm_count; i++) {
		effects[i].name = arms[i].name;
		effects[i].sample = &arms[i].sample;
		if (&arms[i] != baseline)
			effects[i].other = &baseline->sample;
	}
	effects_judge(effects, arm_count, false);
	for (size_t i = 0; i < arm_count; i++)
		print_effect(&effects[i]);
	if (effects_write_power(effects, arm_count, stdout))
		printf("\n");
	return 0;
}
