/* SPDX-License-Identifier: MIT */
/*
 * Ranked queues: bounded, lowest rank first, any number of threads; a binary
 * heap under a lock that is held for a push or a pop.
 *
 * The rest as in queue.h, which is how the other files use it.
 */
#ifndef STAGES_RANKED_H
#define STAGES_RANKED_H

#include "stages/discipline.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct ranked;

struct ranked *ranked_new(uint32_t slots, const struct discipline *discipline);
void ranked_free(struct ranked *r);
bool ranked_push(struct ranked *r, struct event *ev);
struct event *ranked_pop(struct ranked *r);
uint32_t ranked_count(const struct ranked *r);

#endif
