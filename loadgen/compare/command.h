/* SPDX-License-Identifier: MIT */
/* Command: `loadgen compare`, from its command line to its exit status. */
#ifndef LOADGEN_COMPARE_COMMAND_H
#define LOADGEN_COMPARE_COMMAND_H

/*
 * `argv[0]` is "compare".  Prints to standard output and error.  Returns 0:
 * done; 1: an arm failed or a file could not be written; 2: wrong usage or
 * plan; 130: interrupted.
 */
int compare_command(int argc, char **argv);

#endif
