/* SPDX-License-Identifier: MIT */
/*
 * Comparison: `loadgen compare`, from its command line to its exit status.
 *
 *	for each repetition:
 *		start all servers, and warm each up (one pass, checked);
 *		for each slice: wake, measure and pause each server in turn, in
 *			closed loops;
 *		for each rate of the plan's open loops, if it has any: the same,
 *			in open loops;
 *		stop all servers
 *
 * The rates are percentages of the first arm's throughput in the closed loops
 * of the same repetition: if the machine becomes slower, they fall with it.
 * The order of the arms in each round is random, and the same each time that
 * the comparison is made.  Within a repetition all arms have the same seed.
 *
 * A run that others have disturbed is made again (plan.h).  results.json has
 * both.
 *
 * Each run of loadgen is a process of its own, so that runs share nothing and
 * the figures are those of the command line.
 *
 * The rates of an open loop rise.  If an arm needs three times as long to
 * answer the requests as they took to arrive, its higher rates are skipped.
 *
 * results.json is written after every run.
 */
#ifndef LOADGEN_COMPARE_COMPARISON_H
#define LOADGEN_COMPARE_COMPARISON_H

/*
 * `argv[0]` is "compare".  Prints to standard output and error.  Returns 0:
 * done; 1: an arm failed or a file could not be written; 2: wrong usage or
 * plan; 130: interrupted.  No process that it started is left.
 */
int compare_command(int argc, char **argv);

#endif
