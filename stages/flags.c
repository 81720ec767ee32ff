/* SPDX-License-Identifier: MIT */
/*
 * From the lists of choices.h the macros below make the `values` and `help` of
 * schedule_flags, and a table of struct choice; the words stand nowhere else.
 */
#include "stages/flags.h"

#include "base/error.h"
#include "base/take.h"
#include "base/util.h"
#include "stages/choices.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NO_NUMBER (-1.0)

struct choice {
	const char *word;
	enum number_form form;
	double most;     /* of the number */
	uint64_t factor; /* the number is multiplied by this */
	const char *meaning;
	const char *meaning_of_others; /* if stages have values of their own */
};

#define OF_OTHERS                                                              \
	" So it is at all stages but those that are named; these have values " \
	"of their own."

/* "|a|b=N": the first character is skipped. */
#define VALUE(index, word, form, number, most, factor, help, meaning)          \
	"|" word form
#define HELP(index, word, form, number, most, factor, help, meaning)           \
	"\n  " word ": " help
#define CHOICE(index, word, form, number, most, factor, help, meaning)         \
	[index] = { word, number, most, factor, meaning, meaning OF_OTHERS },

static const struct choice regimes[] = { REGIMES(CHOICE) };
static const struct choice looks[] = { LOOKS(CHOICE) };
static const struct choice idles[] = { IDLES(CHOICE) };
static const struct choice disciplines[] = { DISCIPLINES(CHOICE) };
static const struct choice balances[] = { BALANCES(CHOICE) };
static const struct choice sharings[] = { SHARINGS(CHOICE) };
static const struct choice distributes[] = { DISTRIBUTES(CHOICE) };
static const struct choice resource_rules[] = { RESOURCE_RULES(CHOICE) };
static const struct choice mappings[] = { MAPPINGS(CHOICE) };
static const struct choice thread_ios[] = { THREAD_IOS(CHOICE) };
static const struct choice transfer_rules[] = { TRANSFER_RULES(CHOICE) };

static const char *policy_word(uint32_t i)
{
	return policy_list()[i] != NULL ? policy_list()[i]->name : NULL;
}

const struct flag schedule_flags[] = {
	[SCHEDULE_POLICY] = {
		"policy", "NAME", "cohort",
		"which stage a free worker visits next; see --list-policies",
		.type = FLAG_OTHER, .word = policy_word,
	},
	[SCHEDULE_REGIME] = {
		"regime", &REGIMES(VALUE)[1], "exhaustive",
		"how long a worker's visit at a stage lasts; for one stage "
		"STAGE=VALUE, as in gated,encode=n-gated=8:"
		REGIMES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_LOOK] = {
		"look", &LOOKS(VALUE)[1], "lengths",
		"what a worker knows of the queues before it visits a stage:"
		LOOKS(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_IDLE] = {
		"idle", &IDLES(VALUE)[1], "wake",
		"what a worker does that has found nothing:"
		IDLES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_DISCIPLINE] = {
		"discipline", &DISCIPLINES(VALUE)[1], "fcfs",
		"which of the waiting events is handled first; for one stage "
		"STAGE=VALUE, as with --regime:"
		DISCIPLINES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_SLICE] = {
		"slice", "US", "0",
		"with lcfs, srpt or edf, pause an event that has run for US "
		"microseconds when the\n"
		"queue has one that comes before it; 0: pause none\n"
		"(darkroom with srpt or edf: 1000)",
		.type = FLAG_OTHER,
	},
	[SCHEDULE_BALANCE] = {
		"balance", &BALANCES(VALUE)[1], "shared",
		"how the cores share the stages (with --policy capriccio: "
		"replicate); of replicas, STAGE=shared: one queue of this "
		"stage for all, as in replicate,encode=shared, or "
		"STAGE=even[=N]:"
		BALANCES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_DISTRIBUTE] = {
		"distribute", &DISTRIBUTES(VALUE)[1], "round-robin",
		"with --balance replicate, the replica that a new event goes "
		"to\n"
		"(with --policy capriccio: least-loaded):"
		DISTRIBUTES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_STEAL] = {
		"steal", NULL, NULL,
		"with --balance replicate, a replica that has no work takes "
		"a share of the events that wait in another; with "
		"--distribute size, only smaller ones, and before its own",
		.type = FLAG_OTHER,
	},
	[SCHEDULE_POOL] = {
		"pool", "STAGE=THREADS,...|auto", NULL,
		"with --policy pool-per-stage, the number of threads of each "
		"stage; auto: a stage gets one more while its queue is long, "
		"and loses one that was idle for a second; with a policy "
		"whose workers visit stages, the number of user-level "
		"threads of a stage, whose events then wait without keeping "
		"a worker",
		.type = FLAG_OTHER,
	},
	[SCHEDULE_THRESHOLD] = {
		"threshold", "STAGE=LENGTH[:US],...", NULL,
		"a worker interrupts its visit at another stage when more "
		"than LENGTH events wait at STAGE (0: no such limit), or "
		"when events wait there and no worker has come for US "
		"microseconds",
		.type = FLAG_OTHER,
	},
	[SCHEDULE_ENOUGH] = {
		"enough", "STAGE=N,...", NULL,
		"while N or more events wait at STAGE, a worker that may enter "
		"it leaves the stages before it alone",
		.type = FLAG_OTHER,
	},
	[SCHEDULE_RESOURCES] = {
		"resources", &RESOURCE_RULES(VALUE)[1], "learn",
		"with --policy capriccio, which thread runs next:"
		RESOURCE_RULES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_THREADS] = {
		"threads", &MAPPINGS(VALUE)[1], "n:m",
		"with --policy servlib, the kernel threads that run the "
		"threads of connections:"
		MAPPINGS(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_IO] = {
		"io", &THREAD_IOS(VALUE)[1], "async",
		"with --policy servlib, what a call does that has to wait "
		"for a client (with --threads 1:1: sync):"
		THREAD_IOS(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_TRANSFERS] = {
		"transfers", &TRANSFER_RULES(VALUE)[1], "scheduler",
		"with --policy servlib, who goes on with a body that had to "
		"wait for its client:"
		TRANSFER_RULES(HELP),
		.type = FLAG_OTHER,
	},
	[SCHEDULE_QUANTUM] = {
		"quantum", "US", "0",
		"with --policy servlib, a connection's thread that has run "
		"for US microseconds lets others run; 0: it runs until it "
		"waits",
		.type = FLAG_OTHER,
	},
	{ 0 },
};

void policies_print(FILE *out)
{
	for (const struct policy *const *p = policy_list(); *p != NULL; p++)
		(void)fprintf(out, "%-22s %s\n", (*p)->name, (*p)->summary);
}

/* A value that was read, or is to be printed. */
struct value {
	uint32_t choice; /* in the table of choices */
	bool has_number;
	double number;
};

/* Read "=N" after the word. */
static bool read_choice_number(const struct choice *c, const char **at,
			       struct value *v)
{
	uint64_t whole;

	if (!take_word(at, "="))
		return c->form != NUMBER_NEEDED;
	v->has_number = true;
	if (c->form == NUMBER_NONE)
		return false;
	if (c->form == NUMBER_DECIMAL)
		return take_decimal(at, c->most, &v->number);
	if (!take_number(at, 1, (uint64_t)c->most, &whole))
		return false;
	v->number = (double)whole;
	return true;
}

/* Take a word with its number.  False: *at has not moved. */
static bool take_choice(const struct choice *choices, uint32_t count,
			const char **at, struct value *v)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *end = *at;

		*v = (struct value){ .choice = i };
		if (take_word(&end, choices[i].word) &&
		    read_choice_number(&choices[i], &end, v) &&
		    (take_end(end) || *end == ',')) {
			*at = end;
			return true;
		}
	}
	return false;
}

static bool read_choice(const struct choice *choices, uint32_t count,
			const char *text, struct value *v)
{
	return take_choice(choices, count, &text, v) && take_end(text);
}

enum { NAME_BYTES = 65 }; /* of a stage, in messages */

/* The names that flags may use which have values for stages. */
struct stage_names {
	const char *const *names;
	uint32_t count;
};

/* Read the text after "STAGE=". */
typedef bool read_entry_fn(struct schedule *s, const char **at, uint32_t stage);

/* Entries with commas between them; at most one for each stage. */
static bool read_entries(struct schedule *s, const char *at,
			 const struct stage_names *stages,
			 read_entry_fn *read_entry)
{
	uint32_t stage, seen = 0; /* bit i: stage i */

	do {
		if (!take_name(&at, stages->names, stages->count, &stage) ||
		    (seen >> stage & 1) || !read_entry(s, &at, stage))
			return false;
		seen |= UINT32_C(1) << stage;
	} while (take_word(&at, ","));
	return take_end(at);
}

static bool read_pool_entry(struct schedule *s, const char **at, uint32_t stage)
{
	uint64_t threads;

	if (!take_number(at, 1, THREADS_MAX, &threads))
		return false;
	s->pool_threads[stage] = (uint32_t)threads;
	return true;
}

static bool read_threshold_entry(struct schedule *s, const char **at,
				 uint32_t stage)
{
	uint64_t length, us = 0;

	if (!take_number(at, 0, (uint64_t)COUNT_MAX, &length) ||
	    (take_word(at, ":") && !take_number(at, 1, (uint64_t)US_MAX, &us)))
		return false;
	s->thresholds[stage] = (struct threshold){
		.queued_count = (uint32_t)length,
		.unvisited_ns = us * NS_PER_US,
	};
	return length > 0 || us > 0;
}

static bool read_enough_entry(struct schedule *s, const char **at,
			      uint32_t stage)
{
	uint64_t enough;

	if (!take_number(at, 1, (uint64_t)COUNT_MAX, &enough))
		return false;
	s->enough[stage] = (uint32_t)enough;
	return true;
}

static bool take_regime(const char **at, struct regime *out)
{
	struct value v;

	if (!take_choice(regimes, ARRAY_SIZE(regimes), at, &v))
		return false;
	*out = (struct regime){
		.kind = (enum regime_kind)v.choice,
		.limit = (uint64_t)v.number * regimes[v.choice].factor,
	};
	return true;
}

static bool read_regime_entry(struct schedule *s, const char **at,
			      uint32_t stage)
{
	if (!take_regime(at, &s->rules.regimes[stage]))
		return false;
	s->rules.own_regimes |= UINT32_C(1) << stage;
	return true;
}

static bool read_regimes(struct schedule *s, const char *at,
			 const struct stage_names *stages)
{
	if (take_regime(&at, &s->regime)) {
		s->rules.own_regimes = 0;
		if (!take_word(&at, ","))
			return true;
	}
	return read_entries(s, at, stages, read_regime_entry);
}

static bool take_discipline(const char **at, struct discipline *out)
{
	struct value v;

	if (!take_choice(disciplines, ARRAY_SIZE(disciplines), at, &v))
		return false;
	*out = (struct discipline){
		.kind = (enum discipline_kind)v.choice,
		.ageing = v.has_number ? v.number : SCHEDULE_AGEING,
		.follows_load = !v.has_number,
	};
	return true;
}

static bool read_discipline_entry(struct schedule *s, const char **at,
				  uint32_t stage)
{
	if (!take_discipline(at, &s->rules.disciplines[stage]))
		return false;
	s->rules.own_disciplines |= UINT32_C(1) << stage;
	return true;
}

static bool read_disciplines(struct schedule *s, const char *at,
			     const struct stage_names *stages)
{
	if (take_discipline(&at, &s->discipline)) {
		s->rules.own_disciplines = 0;
		if (!take_word(&at, ","))
			return true;
	}
	return read_entries(s, at, stages, read_discipline_entry);
}

static struct sharing make_sharing(enum sharing_kind kind,
				   const struct value *v)
{
	uint32_t below =
		v->has_number ? (uint32_t)v->number : SCHEDULE_EVEN_BELOW;

	return (struct sharing){
		.kind = kind,
		.even_below = kind == SHARING_EVEN ? below : 0,
	};
}

static bool read_sharing_entry(struct schedule *s, const char **at,
			       uint32_t stage)
{
	struct value v;

	if (!take_choice(sharings, ARRAY_SIZE(sharings), at, &v))
		return false;
	s->rules.sharings[stage] =
		make_sharing((enum sharing_kind)v.choice, &v);
	s->rules.own_sharings |= UINT32_C(1) << stage;
	s->rules.default_sharings &= ~(UINT32_C(1) << stage);
	return true;
}

static bool read_balance(struct schedule *s, const char *at,
			 const struct stage_names *stages)
{
	struct value v;

	if (take_choice(balances, ARRAY_SIZE(balances), &at, &v)) {
		bool is_even = v.choice == BALANCE_WORD_EVEN;

		s->balance =
			is_even ? BALANCE_REPLICATE : (enum balance)v.choice;
		s->part_count = is_even ? 0 : (uint32_t)v.number;
		s->sharing =
			make_sharing(is_even ? SHARING_EVEN : SHARING_NONE, &v);
		s->rules.own_sharings = s->rules.default_sharings;
		if (!take_word(&at, ","))
			return true;
	}
	return read_entries(s, at, stages, read_sharing_entry);
}

/* Read microseconds. */
static bool read_us(const char *at, uint64_t *out_ns)
{
	uint64_t us;

	if (!take_number(&at, 0, (uint64_t)US_MAX, &us) || !take_end(at))
		return false;
	*out_ns = us * NS_PER_US;
	return true;
}

#define READ(choices, text, value)                                             \
	read_choice(choices, ARRAY_SIZE(choices), text, value)

static const struct idle idle_wake = { .kind = IDLE_WAKE };

static const struct idle *const idle_rules[] = {
	[IDLE_WORD_WAKE] = &idle_wake,
	[IDLE_WORD_BACKOFF] = &idle_thesis,
	[IDLE_WORD_THESIS] = &idle_thesis,
	[IDLE_WORD_CODE_STEP] = &idle_code_step,
	[IDLE_WORD_CODE_PAUSE] = &idle_code_pause,
};

/* Take microseconds, of which at least 1 ns. */
static bool take_us(const char **at, uint64_t *out_ns)
{
	double us;

	if (!take_decimal(at, US_MAX, &us))
		return false;
	*out_ns = (uint64_t)llround(us * NS_PER_US);
	return *out_ns > 0;
}

/* "PATIENCE:FIRST:US[:linear]" */
static bool read_backoff(const char *at, struct idle *idle)
{
	uint64_t patience;

	*idle = (struct idle){ .kind = IDLE_BACKOFF };
	if (!take_number(&at, 0, (uint64_t)US_MAX, &patience))
		return false;
	if (take_word(&at, "us"))
		idle->patience_ns = patience * NS_PER_US;
	else if (patience <= (uint64_t)COUNT_MAX)
		idle->patience_misses = (uint32_t)patience;
	else
		return false;
	if (!take_word(&at, ":") || !take_us(&at, &idle->first_ns) ||
	    !take_word(&at, ":") || !take_us(&at, &idle->longest_ns))
		return false;
	idle->is_linear = take_word(&at, ":linear");
	return take_end(at);
}

static bool read_idle(const char *text, struct idle *idle)
{
	struct value v;

	if (READ(idles, text, &v)) {
		*idle = *idle_rules[v.choice];
		if (v.has_number)
			idle->longest_ns = (uint64_t)v.number * NS_PER_US;
		return true;
	}
	return take_word(&text, idles[IDLE_WORD_BACKOFF].word) &&
	       take_word(&text, "=") && read_backoff(text, idle);
}

/* The flags of struct thread_model.  False: `text` is no value of the flag. */
static bool read_thread_value(struct thread_model *m, uint32_t flag,
			      const char *text)
{
	struct value v;
	bool ok;

	switch (flag) {
	case SCHEDULE_THREADS:
		ok = READ(mappings, text, &v);
		if (ok)
			m->mapping = (enum thread_mapping)v.choice;
		return ok;
	case SCHEDULE_IO:
		ok = READ(thread_ios, text, &v);
		if (ok)
			m->io = (enum thread_io)v.choice;
		return ok;
	case SCHEDULE_TRANSFERS:
		ok = READ(transfer_rules, text, &v);
		if (ok)
			m->transfers = (enum thread_transfers)v.choice;
		return ok;
	default:
		return read_us(text, &m->quantum_ns);
	}
}

/* How events are divided among cores; or one of read_thread_value(). */
static bool read_balance_value(struct schedule *s, uint32_t flag,
			       const char *text,
			       const struct stage_names *stages)
{
	struct value v;
	bool ok;

	switch (flag) {
	case SCHEDULE_BALANCE:
		return read_balance(s, text, stages);
	case SCHEDULE_DISTRIBUTE:
		ok = READ(distributes, text, &v);
		if (ok)
			s->distribute = (enum distribute)v.choice;
		return ok;
	case SCHEDULE_STEAL:
		s->steal = true;
		return true;
	default:
		return read_thread_value(&s->threads, flag, text);
	}
}

/* False: `text` is not a value of the flag. */
static bool read_value(struct schedule *s, uint32_t flag, const char *text,
		       const struct stage_names *stages)
{
	struct value v;
	bool ok = true;

	switch (flag) {
	case SCHEDULE_POLICY:
		s->policy = policy_find(text);
		return s->policy != NULL;
	case SCHEDULE_REGIME:
		return read_regimes(s, text, stages);
	case SCHEDULE_LOOK:
		ok = READ(looks, text, &v);
		if (ok)
			s->look = (enum look)v.choice;
		return ok;
	case SCHEDULE_IDLE:
		return read_idle(text, &s->idle);
	case SCHEDULE_DISCIPLINE:
		return read_disciplines(s, text, stages);
	case SCHEDULE_SLICE:
		return read_us(text, &s->slice_ns);
	case SCHEDULE_RESOURCES:
		ok = READ(resource_rules, text, &v);
		if (ok)
			s->resource_rule = (enum resource_rule)v.choice;
		return ok;
	case SCHEDULE_POOL:
		s->pool_is_auto = strcmp(text, "auto") == 0;
		return s->pool_is_auto ||
		       read_entries(s, text, stages, read_pool_entry);
	case SCHEDULE_THRESHOLD:
		s->has_thresholds = true;
		return read_entries(s, text, stages, read_threshold_entry);
	case SCHEDULE_ENOUGH:
		s->has_enough = true;
		return read_entries(s, text, stages, read_enough_entry);
	default:
		return read_balance_value(s, flag, text, stages);
	}
}

static uint32_t find_flag(const char *name)
{
	uint32_t flag = 0;

	while (flag < SCHEDULE_CHOICES &&
	       strcmp(schedule_flags[flag].name, name) != 0)
		flag++;
	assert(flag < SCHEDULE_CHOICES);
	return flag;
}

bool schedule_set(struct schedule *s, const char *name, const char *text,
		  const char *const *stages, uint32_t stage_count)
{
	struct stage_names names = { .names = stages, .count = stage_count };
	uint32_t flag = find_flag(name);

	assert(stage_count <= STAGES_MAX);
	if ((text == NULL) != (schedule_flags[flag].values == NULL) ||
	    !read_value(s, flag, text, &names))
		return false;
	s->given |= 1u << flag;
	return true;
}

/*
 * The first name before a "=" of "STAGE=...,STAGE=..." that is no stage.
 * False: there is none.
 */
static bool find_no_stage(const char *text, const char *const *stages,
			  uint32_t stage_count, char name[NAME_BYTES])
{
	for (; text != NULL; text = strchr(text, ',')) {
		uint32_t i = 0;
		size_t bytes;

		text += *text == ',';
		bytes = strcspn(text, "=,");
		if (bytes == 0 || text[bytes] != '=')
			return false;
		while (i < stage_count && (strlen(stages[i]) != bytes ||
					   memcmp(stages[i], text, bytes) != 0))
			i++;
		if (i == stage_count) {
			(void)snprintf(name, NAME_BYTES, "%.*s", (int)bytes,
				       text);
			return true;
		}
	}
	return false;
}

/* What stands after the value of all stages; `text` if it has none. */
static const char *skip_choice(const struct choice *choices, uint32_t count,
			       const char *text)
{
	const char *at = text;
	struct value v;

	if (take_choice(choices, count, &at, &v))
		return *at == ',' ? at + 1 : NULL;
	for (uint32_t i = 0; i < count; i++)
		if (take_word(&at, choices[i].word))
			return NULL; /* its number is wrong */
	return text;
}

/* The part of the value that is about stages.  NULL: there is none. */
static const char *find_stages(uint32_t flag, const char *text)
{
	switch (flag) {
	case SCHEDULE_POOL:
	case SCHEDULE_THRESHOLD:
	case SCHEDULE_ENOUGH:
		return text;
	case SCHEDULE_REGIME:
		return skip_choice(regimes, ARRAY_SIZE(regimes), text);
	case SCHEDULE_DISCIPLINE:
		return skip_choice(disciplines, ARRAY_SIZE(disciplines), text);
	case SCHEDULE_BALANCE:
		return skip_choice(balances, ARRAY_SIZE(balances), text);
	default:
		return NULL;
	}
}

bool schedule_refuse(const char *name, const char *text,
		     const char *const *stages, uint32_t stage_count,
		     struct error *why)
{
	uint32_t flag = find_flag(name);
	char stage[NAME_BYTES];
	size_t at;

	if (find_no_stage(find_stages(flag, text), stages, stage_count, stage))
		return flags_refuse_name(stage, stages, stage_count, "stage",
					 why);
	if (flag != SCHEDULE_POLICY)
		return flag_refuse(&schedule_flags[flag], text, why);
	at = (size_t)snprintf(why->text, sizeof(why->text),
			      "'%.32s' is not a policy; there are", text);
	for (const struct policy *const *p = policy_list();
	     *p != NULL && at < sizeof(why->text); p++)
		at += (size_t)snprintf(why->text + at, sizeof(why->text) - at,
				       "%s %s", p == policy_list() ? "" : ",",
				       (*p)->name);
	return false;
}

struct word_list {
	struct schedule_word *words;
	uint32_t count;
};

/* Adds a word.  Returns its value, still empty, for word_print(). */
static char *word_add(struct word_list *l, uint32_t flag, const char *meaning)
{
	struct schedule_word *w = &l->words[l->count++];

	assert(l->count <= SCHEDULE_WORDS_MAX);
	w->flag = schedule_flags[flag].name;
	w->meaning = meaning;
	w->value[0] = '\0';
	return w->value;
}

__attribute__((format(printf, 2, 3))) static void
word_print(char value[SCHEDULE_VALUE_BYTES], const char *format, ...)
{
	size_t at = strlen(value), room = SCHEDULE_VALUE_BYTES - at;
	va_list list;
	int bytes;

	va_start(list, format);
	bytes = vsnprintf(value + at, room, format, list);
	va_end(list);
	assert(bytes >= 0 && (size_t)bytes < room);
}

/*
 * `number` is in the unit of struct schedule; it is ignored if the choice never
 * has a number.  NO_NUMBER: none is written.
 */
static void word_print_choice(char *value, const struct choice *c,
			      double number)
{
	word_print(value, "%s", c->word);
	if (c->form == NUMBER_NONE || number == NO_NUMBER)
		return;
	number /= (double)c->factor;
	word_print(value, "=%.*f", number == floor(number) ? 0 : 6, number);
}

static void word_add_choice(struct word_list *l, uint32_t flag,
			    const struct choice *c, double number)
{
	word_print_choice(word_add(l, flag, c->meaning), c, number);
}

static void word_add_regimes(struct word_list *l, const struct schedule *s,
			     const char *const *stages, uint32_t stage_count)
{
	const struct regime *r = &s->regime;
	const struct choice *c = &regimes[r->kind];
	char *value = word_add(
		l, SCHEDULE_REGIME,
		s->rules.own_regimes == 0 ? c->meaning : c->meaning_of_others);

	word_print_choice(value, c, (double)r->limit);
	for (uint32_t i = 0; i < stage_count; i++) {
		r = schedule_regime(s, i);
		if (r == &s->regime)
			continue;
		word_print(value, ",%s=", stages[i]);
		word_print_choice(value, &regimes[r->kind], (double)r->limit);
	}
}

static void word_add_pool(struct word_list *l, const struct schedule *s,
			  const char *const *stages, uint32_t stage_count)
{
	char *value;

	if (s->pool_is_auto) {
		word_print(word_add(l, SCHEDULE_POOL,
				    "A stage gets one more thread while its "
				    "queue is long, and loses a thread that "
				    "was idle for a second."),
			   "auto");
		return;
	}
	value = word_add(l, SCHEDULE_POOL,
			 s->policy->workers == POLICY_WORKERS_STAY ?
				 "The number of threads of each stage; if "
				 "there are replicas, in each of them." :
				 "The number of user-level threads of a stage, "
				 "in each replica: so many of its events may "
				 "run or wait at once, and one that waits "
				 "keeps no worker.");
	for (uint32_t i = 0; i < stage_count; i++)
		if (s->pool_threads[i] > 0)
			word_print(value, "%s%s=%" PRIu32,
				   value[0] != '\0' ? "," : "", stages[i],
				   s->pool_threads[i]);
}

static void word_add_thresholds(struct word_list *l, const struct schedule *s,
				const char *const *stages, uint32_t stage_count)
{
	char *value = word_add(
		l, SCHEDULE_THRESHOLD,
		"A worker interrupts its visit elsewhere, empties this stage "
		"and goes back, when more than this number of events wait "
		"here (0: no such limit), or, if there are two numbers, when "
		"events wait and no worker came for the second number of "
		"microseconds.");
	const char *before = "";

	for (uint32_t i = 0; i < stage_count; i++) {
		const struct threshold *t = &s->thresholds[i];

		if (t->queued_count == 0 && t->unvisited_ns == 0)
			continue;
		word_print(value, "%s%s=%" PRIu32, before, stages[i],
			   t->queued_count);
		if (t->unvisited_ns > 0)
			word_print(value, ":%" PRIu64,
				   t->unvisited_ns / NS_PER_US);
		before = ",";
	}
}

static void word_add_enough(struct word_list *l, const struct schedule *s,
			    const char *const *stages, uint32_t stage_count)
{
	char *value = word_add(
		l, SCHEDULE_ENOUGH,
		"While this number of events or more wait here, a worker that "
		"may enter leaves the stages before this one alone.");

	for (uint32_t i = 0; i < stage_count; i++)
		if (s->enough[i] > 0)
			word_print(value, "%s%s=%" PRIu32,
				   value[0] != '\0' ? "," : "", stages[i],
				   s->enough[i]);
}

static bool has_replicas(const struct schedule *s)
{
	return s->balance == BALANCE_REPLICATE && s->part_count > 1;
}

static void word_add_balance(struct word_list *l, const struct schedule *s,
			     const char *const *stages, uint32_t stage_count)
{
	bool is_even = s->sharing.kind == SHARING_EVEN;
	const struct choice *c =
		&balances[is_even ? BALANCE_WORD_EVEN : s->balance];
	char *value = word_add(
		l, SCHEDULE_BALANCE,
		s->rules.own_sharings == 0 ?
			c->meaning :
			"There are several replicas of the stage graph, each "
			"with its own queues and cores. The stages that are "
			"named as shared have one queue for all replicas; at "
			"those that are even, a core that finds fewer events "
			"than this number takes its share from others.");

	word_print_choice(value, c,
			  is_even ? s->sharing.even_below : s->part_count);
	for (uint32_t i = 0; i < stage_count; i++) {
		const struct sharing *own = schedule_sharing(s, i);

		if (own == &s->sharing)
			continue;
		word_print(value, ",%s=", stages[i]);
		word_print_choice(value, &sharings[own->kind], own->even_below);
	}
	if (has_replicas(s))
		word_add_choice(l, SCHEDULE_DISTRIBUTE,
				&distributes[s->distribute], 0);
}

static bool is_same_idle(const struct idle *a, const struct idle *b)
{
	return a->kind == b->kind && a->patience_misses == b->patience_misses &&
	       a->patience_ns == b->patience_ns && a->first_ns == b->first_ns &&
	       a->longest_ns == b->longest_ns && a->is_linear == b->is_linear;
}

/* Microseconds; a fraction only if there is one. */
static void word_print_us(char *value, const char *before, uint64_t ns)
{
	word_print(value, "%s%" PRIu64, before, ns / NS_PER_US);
	if (ns % NS_PER_US > 0)
		word_print(value, ".%03" PRIu64, ns % NS_PER_US);
}

static void word_add_idle(struct word_list *l, const struct idle *idle)
{
	struct idle short_one = idle_thesis;
	uint32_t word = ARRAY_SIZE(idles);
	char *value;

	while (--word > IDLE_WORD_BACKOFF)
		if (is_same_idle(idle, idle_rules[word]))
			break;
	if (idle->kind == IDLE_WAKE)
		word = IDLE_WORD_WAKE;
	value = word_add(l, SCHEDULE_IDLE, idles[word].meaning);
	word_print(value, "%s", idles[word].word);
	if (word != IDLE_WORD_BACKOFF)
		return;
	short_one.longest_ns = idle->longest_ns;
	if (idle->longest_ns % NS_PER_US != 0 ||
	    !is_same_idle(idle, &short_one)) {
		if (idle->patience_ns > 0)
			word_print(value, "=%" PRIu64 "us",
				   idle->patience_ns / NS_PER_US);
		else
			word_print(value, "=%" PRIu32, idle->patience_misses);
		word_print_us(value, ":", idle->first_ns);
		word_print_us(value, ":", idle->longest_ns);
		word_print(value, "%s", idle->is_linear ? ":linear" : "");
	} else {
		word_print_us(value, "=", idle->longest_ns);
	}
}

static void word_print_discipline(char *value, const struct discipline *d)
{
	word_print_choice(value, &disciplines[d->kind],
			  d->follows_load ? NO_NUMBER : d->ageing);
}

static void word_add_disciplines(struct word_list *l, const struct schedule *s,
				 const char *const *stages,
				 uint32_t stage_count)
{
	const struct choice *c = &disciplines[s->discipline.kind];
	char *value =
		word_add(l, SCHEDULE_DISCIPLINE,
			 s->rules.own_disciplines == 0 ? c->meaning :
							 c->meaning_of_others);

	word_print_discipline(value, &s->discipline);
	for (uint32_t i = 0; i < stage_count; i++) {
		const struct discipline *d = schedule_discipline(s, i);

		if (d == &s->discipline)
			continue;
		word_print(value, ",%s=", stages[i]);
		word_print_discipline(value, d);
	}
}

static void word_add_visits(struct word_list *l, const struct schedule *s)
{
	word_add_choice(l, SCHEDULE_LOOK, &looks[s->look], 0);
	word_add_idle(l, &s->idle);
}

static void word_add_threads(struct word_list *l, const struct thread_model *m)
{
	word_add_choice(l, SCHEDULE_THREADS, &mappings[m->mapping], 0);
	word_add_choice(l, SCHEDULE_IO, &thread_ios[m->io], 0);
	if (m->io == THREADS_IO_ASYNC)
		word_add_choice(l, SCHEDULE_TRANSFERS,
				&transfer_rules[m->transfers], 0);
	if (m->quantum_ns > 0)
		word_print(word_add(l, SCHEDULE_QUANTUM,
				    "A thread that has run for this number of "
				    "microseconds lets others run, if there "
				    "are any."),
			   "%" PRIu64, m->quantum_ns / NS_PER_US);
}

uint32_t schedule_words(const struct schedule *s, const char *const *stages,
			uint32_t stage_count,
			struct schedule_word out[SCHEDULE_WORDS_MAX])
{
	enum policy_workers workers = s->policy->workers;
	struct word_list l = { .words = out };

	word_print(word_add(&l, SCHEDULE_POLICY, s->policy->meaning), "%s",
		   s->policy->name);
	if (s->policy->has_thread_model)
		word_add_threads(&l, &s->threads);
	if (workers == POLICY_WORKERS_CALLER)
		return l.count;
	if (workers == POLICY_WORKERS_FIBRES) {
		word_add_choice(&l, SCHEDULE_RESOURCES,
				&resource_rules[s->resource_rule], 0);
		word_add_balance(&l, s, stages, stage_count);
		return l.count;
	}
	if (workers == POLICY_WORKERS_ROAM && !s->policy->has_central_queue) {
		word_add_regimes(&l, s, stages, stage_count);
		word_add_visits(&l, s);
	}
	word_add_disciplines(&l, s, stages, stage_count);
	if (schedule_has_ranks(s))
		word_print(word_add(&l, SCHEDULE_SLICE,
				    s->slice_ns == 0 ?
					    "No event is paused for another." :
					    "An event that has run for this "
					    "number of microseconds is paused "
					    "when another that waits comes "
					    "before it."),
			   "%" PRIu64, s->slice_ns / NS_PER_US);
	word_add_balance(&l, s, stages, stage_count);
	if (has_replicas(s) && s->steal)
		(void)word_add(
			&l, SCHEDULE_STEAL,
			s->distribute == DISTRIBUTE_SIZE ?
				"A core first takes events that wait in a "
				"replica of smaller sizes." :
				"A replica with nothing to do takes a share of "
				"the events that wait in another.");
	if (workers == POLICY_WORKERS_STAY ||
	    (s->given >> SCHEDULE_POOL & 1) != 0)
		word_add_pool(&l, s, stages, stage_count);
	if (s->has_thresholds)
		word_add_thresholds(&l, s, stages, stage_count);
	if (s->has_enough)
		word_add_enough(&l, s, stages, stage_count);
	return l.count;
}

void schedule_print(const struct schedule *s, const char *const *stages,
		    uint32_t stage_count, FILE *to)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count = schedule_words(s, stages, stage_count, words);

	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, "%s--%s%s%s", i > 0 ? " " : "", words[i].flag,
			      words[i].value[0] != '\0' ? " " : "",
			      words[i].value);
}
