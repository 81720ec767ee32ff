#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stages_sim writes its report as --json says, and says first when the cores
# cannot do the work.
#
# usage: STAGES_SIM=PROGRAM test_sim_program.sh GRAPHS
. "$(dirname "$0")/../../../base/test/script.sh"

# sim ARGUMENTS...: the output is in `said`
sim() {
	"$STAGES_SIM" "${graph[@]}" "$@" >"$work/said" 2>"$work/errors" ||
		fail "$*: $(cat "$work/errors")"
}

graph=(--graph "$1/one.json" --requests 300 --warmup 0)

# What --help of --policy names.
sim --list-policies
[ "$(cut -d ' ' -f 1 "$work/said" | head -n 2 | tr '\n' ' ')" = "cohort mg1 " ] ||
	fail "--list-policies: $(cat "$work/said")"

# Requests of a graph without sizes are classed by their work; equal ones are
# one class.
printf '%s\n' '{"stages": [{"name": "a", "service_us": 5}]}' >"$work/equal.json"
graph[1]=$work/equal.json
sim --load 0.5
graph[1]=$1/one.json
[ "$(sed -n '/^response by work, us /,$p' "$work/said" | sed -n '2s/ .*//p')" = all ] ||
	fail "classes: $(cat "$work/said")"

# As with every program: to a file, too, or to standard output instead.
sim --load 0.5
cp "$work/said" "$work/text"
sim --load 0.5 --json "$work/json"
cmp "$work/said" "$work/text" || fail "--json FILE: no text"
jq -e .stages "$work/json" >"$work/said" || fail "--json FILE: no JSON"
for dash in '--json -' '--json=-'; do
	# shellcheck disable=SC2086 # a flag and its value
	sim --load 0.5 $dash
	cmp "$work/said" "$work/json" || fail "$dash: not the JSON"
done
# Without a value, as in earlier versions.
sim --load 0.5 --json
cmp "$work/said" "$work/json" || fail "--json at the end"
sim --json --load 0.5
cmp "$work/said" "$work/json" || fail "--json before a flag"
status=0
"$STAGES_SIM" "${graph[@]}" --load 0.5 --json /nowhere/x >"$work/said" \
	2>"$work/errors" || status=$?
[ $status = 2 ] || fail "/nowhere/x: status $status"
grep -q "json /nowhere/x: No such file" "$work/errors" ||
	fail "does not name the file"

jq -e '.offered_load - 0.5 | fabs < 0.001' "$work/json" >"$work/said" ||
	fail "offered_load: $(jq .offered_load "$work/json")"
! grep -q OVERLOAD "$work/text" || fail "0.5 is no overload"
sim --load 1.5 --json "$work/json"
[[ $(head -n 1 "$work/said") = 'OVERLOAD: the requests bring 150 % '* ]] ||
	fail "overload is not said first: $(cat "$work/said")"
jq -e '.offered_load - 1.5 | fabs < 0.001' "$work/json" >"$work/said" ||
	fail "offered_load: $(jq .offered_load "$work/json")"
sim --clients 9 --json -
jq -e '.offered_load == null' "$work/said" >"$work/text" ||
	fail "clients that wait have no such load"
# A request every 0.1 ms, with 1 ms of work.
echo 0.0001 >"$work/gaps"
sim --gaps "$work/gaps"
[[ $(head -n 1 "$work/said") = OVERLOAD* ]] || fail "gaps: no overload"

# A stage of the graph has rules of its own, as with flags.
stage='"service_us": {"kind": "exponential", "mean": 5}'
write_graph() { # KEYS of the second stage
	printf '%s\n' "{\"stages\": [{\"name\": \"a\", $stage, \"routes\": {\"b\": 1}},
		{\"name\": \"b\", $stage$1}]}" >"$work/rules.json"
	graph[1]=$work/rules.json
}

# FLAGS: they have another effect than no flags; leaves their report
expect_effect() {
	write_graph ""
	sim --clients 9
	cp "$work/said" "$work/plain"
	# shellcheck disable=SC2086 # words
	sim --clients 9 $1
	cp "$work/said" "$work/with_flags"
	! cmp -s "$work/plain" "$work/with_flags" || fail "$1: no effect"
}

expect_effect '--regime b=n-gated=1'
write_graph ', "regime": "n-gated=1"'
sim --clients 9
cmp "$work/said" "$work/with_flags" || fail "regime: not as by a flag"
sim --clients 9 --regime a=exhaustive
cmp "$work/said" "$work/with_flags" || fail "another stage's flag drops it"
sim --clients 9 --regime exhaustive
cmp "$work/said" "$work/plain" || fail "regime: a flag for all does not count"

expect_effect '--discipline b=srpt=1000'
write_graph ', "discipline": "srpt=1000"'
sim --clients 9
cmp "$work/said" "$work/with_flags" || fail "discipline: not as by a flag"
sim --clients 9 --discipline fcfs
cmp "$work/said" "$work/plain" || fail "discipline: a flag for all does not count"

# How replicas share it stays with any number of them, and gives way without.
write_graph ""
for b in shared even=9; do
	sim --clients 9 --cores 2 --balance replicate,b=$b
	cp "$work/said" "$work/with_flags"
	sim --clients 9 --cores 2 --balance replicate
	! cmp -s "$work/said" "$work/with_flags" || fail "b=$b: no effect"
	write_graph ", \"balance\": \"$b\""
	sim --clients 9 --cores 2 --balance replicate
	cmp "$work/said" "$work/with_flags" || fail "balance: not as by a flag"
	sim --clients 9 --balance replicate,b=replicate
	sim --clients 9
	cmp "$work/said" "$work/plain" || fail "balance: it counts on one core"
	sim --clients 9 --cores 2 --balance replicate --policy pool-per-stage
	write_graph ""
done

# What makes no sense with its discipline leaves the discipline.
write_graph ', "discipline": "srpt=1000"'
sim --clients 9 --cores 2 --balance replicate
cp "$work/said" "$work/plain"
write_graph ', "discipline": "srpt=1000", "balance": "even=9"'
sim --clients 9 --cores 2 --balance replicate
cmp "$work/said" "$work/plain" || fail "balance: it changes the discipline"

# They give way to a policy with one queue, and visits of one event.
write_graph ', "discipline": "srpt=1000", "regime": "n-gated=1"'
sim --clients 9 --policy color

# Stages of other types; keys cannot follow a stage to some of the cores.
write_graph ', "type": "partitioned"'
sim --clients 9 --cores 2
! "$STAGES_SIM" "${graph[@]}" --clients 9 --cores 2 --balance partition >"$work/said" \
	2>"$work/errors" || fail "partition: accepted"
grep -q "stage 'b' is divided by keys" "$work/errors" ||
	fail "partition: $(cat "$work/errors")"

# The load has the work of children, too.
graph[1]=$1/shards.json
sim --load 0.5 --cores 4 --json "$work/json"
jq -e '.offered_load - 0.5 | fabs < 0.001' "$work/json" >"$work/said" ||
	fail "forks: offered_load $(jq .offered_load "$work/json")"
jq -e '(.stages[0].handled - 2 * .stages[3].handled | fabs) < 30' "$work/json" \
	>"$work/said" || fail "forks: $(jq .stages "$work/json")"
