#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With --counters, each stage of each run has what its visits took, and a table has
# it for one event.  Arms that could not count have none, instead of zeros, and are
# named.  Most machines have no counters, so one of the programs has its own.
#
# usage: STAGES_BENCH=PROGRAM STAGES_BENCH_COUNTED=PROGRAM test_bench_counters.sh GRAPHS
. "$(dirname "$0")/../../../base/test/script.sh"
graph=(--graph "$1/image.json" --scale 0.01)
refused='Hardware counters are not available with'

# bench PROGRAM ARGUMENTS...: table and JSON
bench() {
	"$1" "${graph[@]}" --requests 40 --warmup 10 --disturbed 100 "${@:2}" \
		--json "$work/json" >"$work/table" 2>"$work/progress" ||
		fail "$*: $(tail -n 5 "$work/progress")"
}

# holds EXPRESSION: of the JSON
holds() {
	[ "$(jq "$1" "$work/json")" = true ] ||
		fail "not so: $1: $(head -c 2000 "$work/json")"
}

test_each_stage_has_what_its_visits_took() {
	bench "$STAGES_BENCH_COUNTED" --counters --rounds 2 \
		--arm '--policy cohort' --arm '--policy color'
	holds '[.runs[].stages[].hardware] | length == 16 and all(.cycles > 0
		and .cache_misses > 0 and .instructions == 2 * .cycles)'
	[ "$(grep -c '^| `--policy co[a-z]*` | [a-z]* | .* | 0.50 (0.50 - 0.50) | ' \
		"$work/table")" = 8 ] || fail "not a row for each stage: $(<"$work/table")"
	! grep -qF "$refused" "$work/table" || fail "$(<"$work/table")"
}

# Also with user-level threads, which make no visits of their own, and with threads
# that only ever visit one stage.
test_each_stage_has_its_own_work_and_not_that_of_the_next() {
	local graph=(--graph "$work/graph.json")
	printf '%s' '{"stages": [
		{"name": "long", "service_us": 1000, "routes": {"short": 1}},
		{"name": "short", "service_us": 0}]}' >"$work/graph.json"
	bench "$STAGES_BENCH_COUNTED" --counters \
		--arm '--policy cohort' --arm '--policy color' \
		--arm '--policy pool-per-stage' --arm '--policy capriccio'
	holds '[.runs[] | [.stages[].hardware.cycles] | .[0] > .[1]] ==
		[true, true, true, true]'
}

test_who_cannot_count_has_no_numbers() {
	export COUNTERS=none
	bench "$STAGES_BENCH_COUNTED" --counters
	unset COUNTERS
	holds 'all(.runs[].stages[]; has("hardware") and .hardware == null)'
	grep -qF "$refused \`--policy cohort\`: this machine has none," "$work/table" ||
		fail "does not say so: $(<"$work/table")"
	! grep -q 'cycles per event' "$work/table" || fail "$(<"$work/table")"
}

test_a_policy_without_workers_is_named_beside_those_with() {
	bench "$STAGES_BENCH_COUNTED" --counters --arm '--policy cohort' \
		--arm '--policy thread-per-connection'
	holds '[.runs[] | .stages[0].hardware != null] == [true, false]'
	grep -qF "$refused \`--policy thread-per-connection\`: " "$work/table" ||
		fail "does not name it: $(<"$work/table")"
	grep -q '^| `--policy cohort` | decode | ' "$work/table" ||
		fail "no table of the others: $(<"$work/table")"
}

test_nothing_is_counted_unasked() {
	bench "$STAGES_BENCH_COUNTED"
	holds 'all(.runs[].stages[]; .hardware == null)'
	! grep -q 'Hardware\|cycles' "$work/table" || fail "$(<"$work/table")"
}

# On this machine, whether it has counters or not.
test_this_machine_counts_or_says_why_not() {
	bench "$STAGES_BENCH" --counters
	holds 'all(.runs[].stages[].hardware; . == null or
		.instructions > 0)'
	[ "$(jq '.runs[0].stages[0].hardware == null' "$work/json")" = \
		"$(grep -qF "$refused" "$work/table" && echo true || echo false)" ] ||
		fail "table and JSON differ: $(<"$work/table")"
}

test_user_level_threads_have_no_stages() {
	local status=0
	"$STAGES_BENCH" --fibres 4 --counters >"$work/table" 2>"$work/progress" ||
		status=$?
	[ $status = 2 ] && grep -q -- --counters "$work/progress" ||
		fail "status $status: $(<"$work/progress")"
}

test_each_stage_has_what_its_visits_took
test_each_stage_has_its_own_work_and_not_that_of_the_next
test_who_cannot_count_has_no_numbers
test_a_policy_without_workers_is_named_beside_those_with
test_nothing_is_counted_unasked
test_this_machine_counts_or_says_why_not
test_user_level_threads_have_no_stages
