/* SPDX-License-Identifier: MIT */
/*
 * Comparison: `loadgen compare`, from its command line to its exit status.
 *
 *	for each repetition: for each arm:
 *		start, warm up (one pass, checked), measure, stop
 *
 * First in closed loops; then, if the plan has them, in open loops, at shares
 * of the first arm's throughput.  The order of the arms is rotated by one in
 * each repetition, so that none is always first.  A repetition has the same
 * seed for all arms.
 *
 * Each run of loadgen is a process of its own, so that runs share nothing and
 * the figures are those of the command line.
 *
 * In an open loop, an arm gets no higher rate after one at which it needed
 * three times as long as the requests took to arrive.
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
