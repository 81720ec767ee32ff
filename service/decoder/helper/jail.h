/* SPDX-License-Identifier: MIT */
/*
 * Jail: what is left to a process that decodes.
 */
#ifndef SERVICE_DECODER_JAIL_H
#define SERVICE_DECODER_JAIL_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The priority that a process may give itself.  The lowest, 19, would leave it
 * a hundredth of a busy core, and one that only needs long would not end.
 */
enum { JAIL_SLOW_NICE = 15 };

/*
 * From now on this process can receive and send through `socket`, use its CPU
 * and at most `bytes_max` of memory in addition to what the program has, lower
 * its priority, and exit: no file, no other socket, no process.  Other system
 * calls fail.  When memory is short, the kernel ends it first.  False: it is
 * not possible.  Builds with sanitizers keep all rights: a sanitizer needs
 * them.
 */
MUST_CHECK bool jail_enter(int socket, uint64_t bytes_max);

/*
 * In the jail: run only while cores have nothing else to do, from now on.  This
 * cannot be taken back.
 */
void jail_be_idle(void);

#endif
