/* SPDX-License-Identifier: MIT */
/*
 * Inside stages: counting can be left out, to measure what it costs; see
 * DARKROOM_STATISTICS in CMakeLists.txt.
 */
#ifndef STAGES_COUNTING_H
#define STAGES_COUNTING_H

#ifdef DARKROOM_NO_STATISTICS
enum { COUNTING_IS_ON = 0 };
#else
enum { COUNTING_IS_ON = 1 };
#endif

#endif
