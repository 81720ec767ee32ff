/* SPDX-License-Identifier: MIT */
#include "stages/test/each_policy.h"

#include "stages/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	STAGES = 5,
	BLIND_ROUND = 300, /* more than a table of MG1 */
	PICKS_CPU_S = 1,   /* all picks of a trial take milliseconds */
};

/* The one that the test is about; NULL: none. */
static const struct policy *current;

static void print(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
}

static void print_name(int signal_number)
{
	(void)signal_number;
	if (current == NULL)
		return;
	print("aborted while policy '");
	print(current->name);
	print("' was tested\n");
}

/* What `current` breaks. */
static void refuse(const char *what)
{
	print("policy '");
	print(current->name != NULL ? current->name : "");
	print("' breaks the contract of stages/policy.h: ");
	print(what);
	print("\n");
	_exit(EXIT_FAILURE);
}

static void refuse_endless_pick(int signal_number)
{
	(void)signal_number;
	refuse("pick() does not return");
}

/* Of CPU time, so a busy machine makes no difference. */
static void limit_cpu(time_t seconds)
{
	struct itimerval limit = { .it_value.tv_sec = seconds };

	(void)signal(SIGVTALRM, refuse_endless_pick);
	(void)setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/* The policy with the state and the view of one worker. */
struct sight {
	void *state;
	struct stage_view stages[STAGES];
	struct group_view view;
};

static void sight_init(struct sight *s, uint32_t stage_count)
{
	*s = (struct sight){ .state = calloc(1, current->state_bytes + 1) };
	s->view = (struct group_view){
		.stages = s->stages,
		.stage_count = stage_count,
	};
	if (s->state == NULL)
		abort();
}

static uint32_t pick(struct sight *s)
{
	uint32_t stage = current->pick(s->state, &s->view);

	if (stage != POLICY_IDLE && stage >= s->view.stage_count)
		refuse("pick() returns a stage that there is not");
	return stage;
}

/* Take the events of the stage that is named. */
static void visit(struct sight *s)
{
	uint32_t stage = pick(s);

	if (stage == POLICY_IDLE)
		refuse("pick() returns POLICY_IDLE, but a stage has events");
	if (s->stages[stage].queued_count == 0)
		refuse("pick() returns a stage without events, but another has "
		       "some");
	s->stages[stage].queued_count = 0;
}

static bool has_events(const struct sight *s)
{
	for (uint32_t i = 0; i < s->view.stage_count; i++)
		if (s->stages[i].queued_count > 0)
			return true;
	return false;
}

/* Every combination of empty and waiting stages, with one state. */
static void try_events(uint32_t stage_count)
{
	struct sight s;

	sight_init(&s, stage_count);
	for (uint32_t waiting = 0; waiting < 1u << stage_count; waiting++) {
		for (uint32_t i = 0; i < stage_count; i++)
			s.stages[i].queued_count = (waiting >> i & 1) * 3;
		while (has_events(&s))
			visit(&s);
		if (pick(&s) != POLICY_IDLE)
			refuse("pick() returns a stage, but none has events");
	}
	free(s.state);
}

/* However visits turn out, each stage is named again within a round. */
static void try_blind(uint32_t stage_count)
{
	bool named[STAGES] = { false };
	struct sight s;

	sight_init(&s, stage_count);
	s.view.is_blind = true;
	for (uint32_t i = 0; i < stage_count; i++)
		s.stages[i].queued_count = 1;
	for (uint32_t i = 0; i < BLIND_ROUND; i++) {
		uint32_t stage = pick(&s);

		if (stage == POLICY_IDLE)
			refuse("pick() returns POLICY_IDLE if it is blind");
		named[stage] = true;
	}
	for (uint32_t i = 0; i < stage_count; i++)
		if (!named[i])
			refuse("if it is blind, it does not come to each stage "
			       "again and again; a policy that needs the "
			       "lengths of queues sets needs_lengths");
	free(s.state);
}

static bool is_empty(const char *text)
{
	return text == NULL || text[0] == '\0';
}

static void check_members(void)
{
	bool picks = current->workers == POLICY_WORKERS_ROAM ||
		     current->workers == POLICY_WORKERS_STAY;
	bool has_threads = current->workers == POLICY_WORKERS_FIBRES;

	if (is_empty(current->name))
		refuse("it has no name");
	if (is_empty(current->summary) || strchr(current->summary, '\n'))
		refuse("its summary is not one line");
	if (is_empty(current->meaning))
		refuse("it has no meaning");
	if ((current->pick != NULL) != picks)
		refuse("it has a pick() and no workers that ask it, or the "
		       "other way round");
	if ((current->threads != NULL) != has_threads)
		refuse("it has a thread_policy and no threads, or the other "
		       "way round");
}

static void try_policy(const struct policy *p)
{
	/* A worker that stays sees one stage. */
	uint32_t most = p->workers == POLICY_WORKERS_STAY ? 1 : STAGES;

	current = p;
	check_members();
	if (p->pick == NULL)
		return;
	limit_cpu(PICKS_CPU_S);
	for (uint32_t count = 1; count <= most; count++) {
		try_events(count);
		if (!p->needs_lengths)
			try_blind(count);
	}
	limit_cpu(0);
}

static bool is_listed(const struct policy *p)
{
	const struct policy *const *q = policy_list();

	while (*q != NULL && *q != p)
		q++;
	return *q != NULL;
}

bool each_policy(const struct policy *p)
{
	static bool has_tried_all;

	(void)signal(SIGABRT, print_name);
	if (!has_tried_all)
		for (const struct policy *const *q = policy_list(); *q != NULL;
		     q++)
			try_policy(*q);
	has_tried_all = true;
	if (p != NULL && !is_listed(p))
		try_policy(p);
	current = p;
	return p != NULL;
}
