#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A benchmark's run: every request of every arm is finished and every step of
# its path handled, once; every arm has its row; a wrong flag is refused.
#
# usage: STAGES_BENCH=PROGRAM test_bench.sh GRAPHS
. "$(dirname "$0")/../../../base/test/script.sh"
graphs=$1
others=
at_end() {
	[ -z "$others" ] || kill "$others"
}

# bench ARGUMENTS...: table and JSON
bench() {
	"$STAGES_BENCH" "$@" --json "$work/json" >"$work/table" \
		2>"$work/progress" || fail "$*: $(tail -n 5 "$work/progress")"
}

# holds EXPRESSION: of the JSON
holds() {
	[ "$(jq "$1" "$work/json")" = true ] ||
		fail "not so: $1: $(head -c 2000 "$work/json")"
}

# Nothing is lost and nothing done twice.
check_counts() {
	holds 'all(.runs[]; .steps > 0 and all(.stages[]; .arrived == .handled)
		and .steps == ([.stages[].handled] | add))'
}

# rows COUNT
check_rows() {
	sed '/^| schedule | pool/,$d' "$work/table" >"$work/main"
	[ "$(grep -c '^| `' "$work/main")" = "$1" ] ||
		fail "not $1 rows: $(cat "$work/table")"
	# As many cells in each line.
	[ "$(grep '^|' "$work/main" | tr -cd '|\n' | sort -u | wc -l)" = 1 ] ||
		fail "ragged: $(cat "$work/table")"
}

refuses() { # WORD ARGUMENTS...
	local word=$1 status=0
	shift
	"$STAGES_BENCH" "$@" >"$work/table" 2>"$work/progress" || status=$?
	[ $status = 2 ] || fail "status $status, not 2: $*"
	grep -qF -- "$word" "$work/progress" || fail "does not name $word: $*"
	[ ! -s "$work/table" ] || fail "ran all the same: $*"
}

image=(--graph "$graphs/image.json" --scale 0.01 --requests 40 --warmup 10)
first_cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' \
	/proc/self/status)
arms=(--arm '--policy cohort' --arm '--policy mg1 --regime n-gated=4'
	--arm '--policy srpt --discipline srpt'
	--arm "--policy dbr --cores $first_cpu"
	--arm '--policy color' --arm '--policy pool-per-stage --pool auto'
	--arm '--policy thread-per-connection')
[ "$(nproc)" = 1 ] ||
	arms+=(--arm '--policy=cohort --balance=replicate=2 --steal'
		--arm '--policy cohort --balance partition=2')
count=$((${#arms[@]} / 2))

bench "${image[@]}" "${arms[@]}" --memory 10000 --rounds 2 --seed 7
check_counts
check_rows "$count"
holds '.mode == "load" and (.runs | length) == '$((2 * count))
holds 'all(.runs[]; .finished == 50 and .figures.requests_per_s > 0)'
# The means of both halves are those of the whole.
holds 'all(.runs[]; (.half_means_ms | add / 2) / .figures.response_ms_mean |
	. > 0.999999 and . < 1.000001)'
# 40 response times are too few for a p90 or p99.
holds 'all(.runs[].figures; .response_ms_p50 > 0 and
	.response_ms_p90 == null and .response_ms_p99 == null)'
grep -q '^| `.* | - | - | ' "$work/table" || fail "$(cat "$work/table")"
holds '.runs[3].cores == 1 and .runs[0].cores >= 1'
# Pools that change by themselves have a table of their own; others have not.
holds 'all(.runs[]; (.arm | endswith("--pool auto")) as $is_auto |
	all(.stages[]; (.pool != null) == $is_auto))'
holds 'all(.runs[].stages[].pool | values; .threads_most >= .threads_last and
	.threads_last >= 1 and .threads_last >= 1 + .joined - .left)'
[ "$(sed '1,/^| schedule | pool/d' "$work/table" |
	grep -c '^| `--policy pool-per-stage --pool auto` | ')" = 4 ] ||
	fail "not a row for each pool: $(cat "$work/table")"
# The same requests for each arm, others in each round.
holds '[.runs[:'$count'][].stages | map(del(.pool))] | unique | length == 1'
# The order of the arms is another one in each round.
order() { # ROUND
	sed -n "s/^round $1, \\(.*\\): .*/\\1/p" "$work/progress"
}
[ "$(order 1)" != "$(order 2)" ] || fail "the same order: $(order 1)"
[ "$(order 1 | sort)" = "$(order 2 | sort)" ] || fail "not all arms: $(order 2)"
bench --graph "$graphs/search.json" --scale 0.01 --requests 1000 --rounds 2
check_counts
check_rows 1
holds '.runs[0].steps != .runs[1].steps'
holds 'all(.runs[].figures; .response_ms_p99 >= .response_ms_p90)'
! grep -q ' | - ' "$work/table" || fail "$(cat "$work/table")"

bench "${image[@]}" --rate 2000 --arm '--policy cohort' \
	--arm '--policy thread-per-connection' --clients 8
check_counts
holds 'all(.runs[]; .finished == 50)'
bench --graph "$graphs/one.json" --scale 0.01 --seconds 0.05 --disturbed 100
check_counts

# A run is judged if it is long enough, and made again if others disturbed it.
holds '.runs_made_again == 0 and .runs_not_judged == ([.runs[] |
	select(.machine.disturbed_percent == null)] | length)'
bench --graph "$graphs/one.json" --scale 0.01 --seconds 0.6 --disturbed 100
holds '.runs_not_judged == 0 and .runs_made_again == 0'
holds 'all(.runs[]; .attempts == 1 and (.machine | .disturbed_percent >= 0 and
	.load_average >= 0 and has("core_mhz")))'
[ -n "$(grep -m 1 '^| `--policy cohort` ' "$work/table")" ] ||
	fail "an arm without flags has no name: $(cat "$work/table")"
! grep -q Disturbed "$work/table" || fail "nothing was disturbed"
while :; do :; done &
others=$!
bench --graph "$graphs/one.json" --scale 0.01 --seconds 0.6 --disturbed 0.1
kill "$others"
others=
holds '.runs_made_again == 2 and .runs_disturbed_each_time == 1'
holds 'all(.runs[]; .attempts == 3 and .machine.disturbed_percent > 0.1)'
[[ $(head -n 1 "$work/table") = '**Disturbed**: in 1 of 1 runs, '* ]] ||
	fail "does not say so first: $(cat "$work/table")"
grep -q 'Runs made again: 2; disturbed each time: 1;' "$work/table" ||
	fail "$(cat "$work/table")"
[ "$(grep -c 'of the cores; again' "$work/progress")" = 2 ] ||
	fail "$(cat "$work/progress")"

bench --graph "$graphs/image.json" --empty --requests 2 --warmup 1 \
	--clients 2 "${arms[@]}"
check_counts
check_rows "$count"
holds 'all(.runs[]; .steps == .finished * 10000 * 4 and
	.figures.event_cpu_ns > 0)'
bench --graph "$graphs/image.json" --wake --requests 20 --arm '--policy cohort'
check_counts
check_rows 1
holds 'all(.runs[].figures; .start_us_p50 > 0 and .start_us_p99 == null)'

# Every user-level thread ends, and all but ten wait if few are runnable.
bench --fibres 4,100 --cores "$first_cpu" --requests 1000 --rounds 2
check_rows 6
holds '.mode == "fibres" and (.runs | length) == 12'
holds 'all(.runs[]; .attempts >= 1 and has("machine"))'
holds 'all(.runs[]; .ended == .threads and .switches == 1000 and
	.figures.switch_ns > 0 and .figures.pick_ns > 0 and
	.figures.stack_ns > 0)'
holds 'all(.runs[]; .waited ==
	if .all_runnable then 0 else ([.threads - 10, 0] | max) end)'

# The figures as JSON, instead of the table.
"$STAGES_BENCH" "${image[@]}" --json - 2>"$work/progress" |
	jq -e '.runs[0].arm == "--policy cohort"' >"$work/table" ||
	fail "--json -: $(cat "$work/progress")"
refuses /nowhere/json "${image[@]}" --json /nowhere/json

refuses user-level --fibres 10 --policy cohort --cores "$first_cpu"
refuses fibres --fibres 10,x
refuses fibres --fibres 0
refuses fibres --fibres 10 --wake
[ "$(nproc)" = 1 ] || refuses 'one core' --fibres 10
refuses graph --policy cohort
refuses /nowhere --graph /nowhere
refuses nonsense "${image[@]}" --nonsense 1
refuses nonsense "${image[@]}" nonsense
refuses requests "${image[@]}" --requests 1.5
refuses disturbed "${image[@]}" --disturbed 0
refuses requests "${image[@]}" --requests
refuses policy "${image[@]}" --policy nonsense
refuses regime "${image[@]}" --arm '--policy cohort --regime nonsense'
refuses clients "${image[@]}" --arm '--clients 3'
refuses steal "${image[@]}" --arm '--steal=yes'
refuses steal "${image[@]}" --arm '--balance shared --steal'
refuses cores "${image[@]}" --cores "$first_cpu,$first_cpu"
refuses wake "${image[@]}" --empty --wake

# Forks: children and continuations are steps, too.
bench --graph "$graphs/shards.json" --requests 40 --warmup 10 --scale 0.1 \
	--memory 10000 --clients 5 "${arms[@]}" --arm '--policy capriccio' \
	--arm '--policy cohort --balance replicate=1 --regime cutoff=20'
check_counts
holds 'all(.runs[]; .finished == 50 and .steps == 50 * 12)'
bench --graph "$graphs/shards.json" --empty --requests 2 --warmup 1
check_counts

# Stages of other types.
cat >"$work/types.json" <<'END'
{"stages": [{"name": "a", "service_us": 9, "routes": {"b": 1}},
	{"name": "b", "service_us": 9, "routes": {"d": 1}, "type": "exclusive"},
	{"name": "d", "service_us": 9, "routes": {"c": 1},
		"type": "pass-through"},
	{"name": "c", "service_us": 9, "type": "partitioned"}]}
END
bench --graph "$work/types.json" --requests 40 --warmup 10 \
	--arm '--policy cohort' --arm '--policy color' --arm '--policy capriccio' \
	--arm '--policy pool-per-stage --pool auto' \
	--arm '--policy thread-per-connection'
check_counts
refuses "stage 'c' is divided by keys" --graph "$work/types.json" \
	--arm '--balance partition'
