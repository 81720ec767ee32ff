#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A trial run measures the stage graph.  A partitioned server divides its stages
# by it, and divides them again at a signal, while uploads continue.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_partition.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about --balance partition"
dir=$1

load() {
	"$LOADGEN" --dataset "$dir" --connections 8 "$@" \
		"$url/?w=300&blur=2" >"$work/report" ||
		fail "$(cat "$work/report")"
}

# logged TEXT [COUNT]: wait until the log has COUNT lines with TEXT (default 1)
logged() {
	local _
	for _ in $patience; do
		[ "$(grep -cF -- "$1" "$work/log")" != "${2:-1}" ] || return 0
		sleep 0.05
	done
	fail "not logged ${2:-1} times: $1: $(cat "$work/log")"
}

test_trial_run_writes_a_graph() {
	start --save-graph "$work/graph"
	load --passes 2
	stop
	[ "$(jq '.stages | length == 4 and all(.[]; .service_ns > 0) and
		.decode.sent.scale > 0 and
		.blur.sent.encode == .scale.sent.blur and
		.encode.sent == {}' "$work/graph")" = true ] ||
		fail "$(cat "$work/graph")"
}

# A graph that cannot be written is refused before the trial run, not after it.
# A start that fails does not overwrite an older file.
test_graph_is_not_written_in_vain() {
	refuses --save-graph --save-graph "$work/none/graph"
	refuses --save-graph --save-graph "$work"
	refuses --save-graph --save-graph /graph
	refuses --save-graph --save-graph "$work/../../../../../../graph" \
		--check-config
	echo old >"$work/graph"
	refuses --listen --listen nowhere --save-graph "$work/graph"
	[ "$(cat "$work/graph")" = old ] || fail "the older graph is gone"
}

test_graph_divides_the_stages() {
	cat >"$work/graph" <<-'EOF'
		{ "stages": {
			"decode": { "service_ns": 10, "sent": { "scale": 5 } },
			"scale": { "service_ns": 10, "sent": { "blur": 5 } },
			"blur": { "service_ns": 10, "sent": { "encode": 5 } },
			"encode": { "service_ns": 30, "sent": { } } } }
	EOF
	start --cores 0,1 --balance partition --graph "$work/graph"
	grep -E 'part [01]: encode(;|$)' "$work/log" >"$work/found" ||
		fail "encode is not alone: $(cat "$work/log")"
	load
	check_drained
	stop
}

test_signal_divides_again() {
	local busy _
	start --cores 0,1 --balance partition=2
	grep -qF 'equally, without --graph: part 0: decode, scale; part 1: blur, encode' \
		"$work/log" || fail "not equal: $(cat "$work/log")"
	load --passes 12 &
	busy=$!
	for _ in $patience; do
		[ "$(stat_of .uploads.finished)" = 0 ] || break
		sleep 0.05
	done
	kill -HUP "$server"
	logged 'by what was measured'
	kill -HUP "$server"
	logged 'by what was measured' 2
	wait $busy || fail "an upload was lost"
	check_drained
	stop
}

# Print the last division into parts in the log.
parts() {
	sed -n 's/.*: \(part 0: .*\)/\1/p' "$work/log" | tail -n 1
}

# A signal divides by the same measurements as a trial run writes.
test_signal_divides_as_a_trial_run() {
	local by_signal
	start --cores 0,1 --balance partition --save-graph "$work/graph"
	load --passes 2
	check_drained
	kill -HUP "$server"
	logged 'by what was measured'
	by_signal=$(parts)
	stop
	start --cores 0,1 --balance partition --graph "$work/graph"
	[ "$(parts)" = "$by_signal" ] || fail "$(parts), not $by_signal"
	stop
}

test_signal_without_parts_is_told() {
	start
	kill -HUP "$server"
	logged 'SIGHUP: nothing to divide'
	load
	stop
}

test_bad_graphs_are_refused() {
	echo '{' >"$work/bad"
	refuses --graph --balance partition --cores 0,1 --graph "$work/bad"
	refuses "$work/none" --balance partition --cores 0,1 \
		--graph "$work/none"
	refuses --graph --graph "$work/graph"
}

test_trial_run_writes_a_graph
test_graph_is_not_written_in_vain
test_graph_divides_the_stages
test_signal_divides_again
test_signal_divides_as_a_trial_run
test_signal_without_parts_is_told
test_bad_graphs_are_refused
