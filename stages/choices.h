/* SPDX-License-Identifier: MIT */
/*
 * Choices: the words and the ranges of each choice of a schedule, once for all
 * who need them: flags.c (reading, --help, explanations) and schedule.c (checks
 * and complaints).  For these two files only.
 *
 * There is one list for each flag that is a choice among words.  A line has the
 * constant of a value, its word, the form of the number after the word, what
 * kind of number that is, its limit and its factor, the text of --help, and the
 * explanation.
 */
#ifndef STAGES_CHOICES_H
#define STAGES_CHOICES_H

#include "stages/stage.h"

#define COUNT_MAX 1e6       /* events of a visit or in a queue */
#define US_MAX 3600000000.0 /* an hour */
#define AGEING_MAX 1e6
enum {
	PARTS_MAX = 1024,
	THREADS_MAX = 1024, /* of a pool */
	NS_PER_US = 1000,
};

/* The number after a word. */
enum number_form {
	NUMBER_NONE,
	NUMBER_NEEDED,   /* "=N" */
	NUMBER_OPTIONAL, /* "[=N]" */
	NUMBER_DECIMAL,  /* "[=N]", with a fraction; may be 0 */
};

#define REGIMES(X)                                                             \
	X(REGIME_EXHAUSTIVE, "exhaustive", "", NUMBER_NONE, 0, 0,              \
	  "until no event waits at the stage",                                 \
	  "A visit lasts until no event waits at the stage. Events that "      \
	  "arrive during the visit are handled, too, so a busy stage can "     \
	  "keep a worker for long.")                                           \
	X(REGIME_GATED, "gated", "", NUMBER_NONE, 0, 0,                        \
	  "for as many events as waited when it began",                        \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began; later ones wait for the next visit.")                        \
	X(REGIME_N_GATED, "n-gated", "=N", NUMBER_NEEDED, COUNT_MAX, 1,        \
	  "as gated, but for N events at most",                                \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began, but at most this number. The smaller the number, the "       \
	  "more often a worker looks at the other stages.")                    \
	X(REGIME_TIME_GATED, "time-gated", "=US", NUMBER_NEEDED, US_MAX,       \
	  NS_PER_US,                                                           \
	  "until no event waits at the stage, or until US microseconds have "  \
	  "passed and the current event is done",                              \
	  "A visit lasts until no event waits at the stage, or until this "    \
	  "number of microseconds has passed and the current event is "        \
	  "done.")                                                             \
	X(REGIME_CUTOFF, "cutoff", "=US", NUMBER_NEEDED, US_MAX, NS_PER_US,    \
	  "as gated, but an event that has run for US microseconds is "        \
	  "paused; the next visit goes on with it after all others",           \
	  "A visit handles as many events as waited at the stage when it "     \
	  "began. It pauses an event that has run for this number of "         \
	  "microseconds; the next visit goes on with that event, after all "   \
	  "others.")

#define LOOKS(X)                                                               \
	X(LOOK_LENGTHS, "lengths", "", NUMBER_NONE, 0, 0,                      \
	  "the lengths of all queues",                                         \
	  "A worker knows how many events wait at each stage, so it visits "   \
	  "no stage where none waits.")                                        \
	X(LOOK_BLIND, "blind", "", NUMBER_NONE, 0, 0,                          \
	  "only whether its last visit found an event, as in the papers",      \
	  "A worker learns whether events wait at a stage only by a visit. "   \
	  "A visit that finds none costs time, too.")

/* The words of --idle: a rule of struct idle each. */
enum idle_word {
	IDLE_WORD_WAKE,
	IDLE_WORD_BACKOFF,
	IDLE_WORD_THESIS,
	IDLE_WORD_CODE_STEP,
	IDLE_WORD_CODE_PAUSE,
};

#define IDLES(X)                                                               \
	X(IDLE_WORD_WAKE, "wake", "", NUMBER_NONE, 0, 0,                       \
	  "sleep until an event arrives at any stage",                         \
	  "A worker that finds nothing sleeps until an event arrives at any "  \
	  "stage.")                                                            \
	X(IDLE_WORD_BACKOFF, "backoff", "[=[PATIENCE:FIRST:]US[:linear]]",     \
	  NUMBER_OPTIONAL, US_MAX, NS_PER_US,                                  \
	  "after PATIENCE visits in vain (500us: after this time), each "      \
	  "further one waits for an event at its stage, for FIRST "            \
	  "microseconds, the next one twice as long, or, linear, FIRST "       \
	  "longer, but US at most; numbers that are not given are those of "   \
	  "thesis",                                                            \
	  "A worker that finds nothing waits for an event at the stage that "  \
	  "it visits, then visits the next, and waits longer each time, up "   \
	  "to the last of these numbers of microseconds. If there are three "  \
	  "numbers, the first is how many visits in vain it makes without a "  \
	  "wait, or for how long, and the second the first wait.")             \
	X(IDLE_WORD_THESIS, "thesis", "", NUMBER_NONE, 0, 0,                   \
	  "backoff=64:1:1000: as the thesis has it in words; the numbers "     \
	  "are ours",                                                          \
	  "A worker that has found nothing in 64 visits waits for an event "   \
	  "at the stage that it visits then, for 1 us, then visits the next; " \
	  "each time twice as long, up to 1 ms.")                              \
	X(IDLE_WORD_CODE_STEP, "code-step", "", NUMBER_NONE, 0, 0,             \
	  "backoff=1:0.001:1000:linear: as the thesis's author programmed it", \
	  "A worker that has found nothing waits for an event at the stage "   \
	  "that it visits next, for 1 ns, then visits the next; each time "    \
	  "1 ns longer, up to 1 ms.")                                          \
	X(IDLE_WORD_CODE_PAUSE, "code-pause", "", NUMBER_NONE, 0, 0,           \
	  "backoff=200000us:1000:20000:linear: as the author did before that", \
	  "A worker that has found nothing for 200 ms waits for an event at "  \
	  "the stage that it visits then, for 1 ms, then visits the next; "    \
	  "each time 1 ms longer, up to 20 ms.")

#define DISCIPLINES(X)                                                         \
	X(DISCIPLINE_FCFS, "fcfs", "", NUMBER_NONE, 0, 0,                      \
	  "the one that arrived first",                                        \
	  "First come, first served: of the waiting events, the one that "     \
	  "has waited longest is handled first.")                              \
	X(DISCIPLINE_LCFS, "lcfs", "", NUMBER_NONE, 0, 0,                      \
	  "the one that arrived last",                                         \
	  "Last come, first served: of the waiting events, the newest is "     \
	  "handled first. Old events wait for as long as new ones arrive.")    \
	X(DISCIPLINE_STACK, "stack", "", NUMBER_NONE, 0, 0,                    \
	  "the newest of those that the worker itself sent to the stage; if "  \
	  "there are none, as fcfs",                                           \
	  "A worker first handles the events that it sent to the stage "       \
	  "itself, newest first, because they are probably still in its "      \
	  "core's cache; then all others, first come, first served.")          \
	X(DISCIPLINE_SRPT, "srpt", "[=AGEING]", NUMBER_DECIMAL, AGEING_MAX, 1, \
	  "the one with the smallest time of arrival + AGEING x predicted "    \
	  "work left; without AGEING, 30, and less while clients that wait "   \
	  "for their replies keep the server busy",                            \
	  "The event with the least predicted work left is handled first; "    \
	  "1 ns of work counts as a number of ns of waiting. Small events "    \
	  "overtake large ones, but not for ever.")                            \
	X(DISCIPLINE_EDF, "edf", "", NUMBER_NONE, 0, 0,                        \
	  "the one with the earliest deadline; those without one are last",    \
	  "Earliest deadline first: of the waiting events, the one whose "     \
	  "deadline is nearest is handled first, and those without a "         \
	  "deadline last.")

/* The word of --balance that has no constant in enum balance. */
enum { BALANCE_WORD_EVEN = BALANCE_PARTITION + 1 };

#define BALANCES(X)                                                            \
	X(BALANCE_SHARED, "shared", "", NUMBER_NONE, 0, 0,                     \
	  "all cores serve one stage graph",                                   \
	  "There is one stage graph, and all cores serve it.")                 \
	X(BALANCE_REPLICATE, "replicate", "[=N]", NUMBER_OPTIONAL, PARTS_MAX,  \
	  1,                                                                   \
	  "N replicas of the stage graph, each with its own queues and "       \
	  "cores; without N, one for each core",                               \
	  "There are several replicas of the stage graph, each with its "      \
	  "own queues and cores. They share little, but one can be idle "      \
	  "while events wait in another.")                                     \
	X(BALANCE_PARTITION, "partition", "[=P]", NUMBER_OPTIONAL, PARTS_MAX,  \
	  1,                                                                   \
	  "the stages are divided among P groups of cores; without P, as "     \
	  "many groups as there can be",                                       \
	  "The stages are divided among groups of cores. The code and "        \
	  "tables of a stage stay with its cores; events move from group "     \
	  "to group.")                                                         \
	X(BALANCE_WORD_EVEN, "even", "[=N]", NUMBER_OPTIONAL, COUNT_MAX, 1,    \
	  "a replica for each core, which takes its share of the events of "   \
	  "others if it comes to a stage where fewer than N (4) wait",         \
	  "Each core has a replica of the stage graph. If fewer than this "    \
	  "number of events wait where it begins a visit, it takes others "    \
	  "from the longest queues of this stage, until it has its share.")

/* Of one stage. */
#define SHARINGS(X)                                                            \
	X(SHARING_NONE, "replicate", "", NUMBER_NONE, 0, 0, "", "")            \
	X(SHARING_ALL, "shared", "", NUMBER_NONE, 0, 0, "", "")                \
	X(SHARING_EVEN, "even", "[=N]", NUMBER_OPTIONAL, COUNT_MAX, 1, "", "")

#define DISTRIBUTES(X)                                                         \
	X(DISTRIBUTE_ROUND_ROBIN, "round-robin", "", NUMBER_NONE, 0, 0,        \
	  "each in turn",                                                      \
	  "New events go to each replica in turn, however busy it is.")        \
	X(DISTRIBUTE_LEAST_LOADED, "least-loaded", "", NUMBER_NONE, 0, 0,      \
	  "the one with the fewest unfinished events",                         \
	  "A new event goes to the replica that has the fewest unfinished "    \
	  "events.")                                                           \
	X(DISTRIBUTE_SIZE, "size", "", NUMBER_NONE, 0, 0,                      \
	  "the one for its size, by predicted work; each gets sizes that "     \
	  "make up its cores' share of the work",                              \
	  "Each replica gets new events of its own interval of sizes, by "     \
	  "predicted work. The intervals follow the recent events, so that "   \
	  "the work is divided evenly.")

#define RESOURCE_RULES(X)                                                      \
	X(RESOURCES_LEARN, "learn", "", NUMBER_NONE, 0, 0,                     \
	  "threads that will give back what is nearly used up run first, "     \
	  "and those that will take it get fewer turns",                       \
	  "What threads take and give back is learned for each place where "   \
	  "they let others run. The less is left of a resource, the fewer "    \
	  "turns get those that will take it.")                                \
	X(RESOURCES_IGNORE, "ignore", "", NUMBER_NONE, 0, 0,                   \
	  "first come, first served",                                          \
	  "Threads run first come, first served, whatever they will use.")

#define MAPPINGS(X)                                                            \
	X(THREADS_1_TO_1, "1:1", "", NUMBER_NONE, 0, 0,                        \
	  "a kernel thread for each connection",                               \
	  "Each connection has a kernel thread. The kernel chooses who "       \
	  "runs, and a thread that waits costs a switch to another.")          \
	X(THREADS_N_TO_1, "n:1", "", NUMBER_NONE, 0, 0,                        \
	  "one kernel thread runs all connections",                            \
	  "One kernel thread runs the threads of all connections, so one "     \
	  "core does all the work.")                                           \
	X(THREADS_N_TO_M, "n:m", "", NUMBER_NONE, 0, 0,                        \
	  "one kernel thread per core runs them, from one queue",              \
	  "One kernel thread per core runs the threads of connections, from "  \
	  "one queue for all. A thread changes its core only where it "        \
	  "waits.")

#define THREAD_IOS(X)                                                          \
	X(THREADS_IO_SYNC, "sync", "", NUMBER_NONE, 0, 0,                      \
	  "it blocks its kernel thread",                                       \
	  "A call that has to wait for a client blocks its kernel thread, as " \
	  "an ordinary read() or write() does.")                               \
	X(THREADS_IO_ASYNC, "async", "", NUMBER_NONE, 0, 0,                    \
	  "it blocks the connection's thread only",                            \
	  "A call that has to wait for a client blocks the thread of this "    \
	  "connection only; its kernel thread goes on with others.")

#define TRANSFER_RULES(X)                                                      \
	X(TRANSFERS_BY_SCHEDULER, "scheduler", "", NUMBER_NONE, 0, 0,          \
	  "the scheduler, without a switch for each piece",                    \
	  "When more of a body can be read or written, the scheduler does it " \
	  "itself. The connection's thread goes on when the whole transfer "   \
	  "is over, so a body of any size costs it one wait.")                 \
	X(TRANSFERS_BY_THREAD, "thread", "", NUMBER_NONE, 0, 0,                \
	  "the connection's thread",                                           \
	  "The connection's thread is woken each time that a piece of a body " \
	  "can be read or written.")

#endif
