#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a server tells of itself: /stats and its table on SIGUSR1 agree and are
# described; traces hold every visit, and open elsewhere.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_report.sh SAMPLES_DIR README
. "$(dirname "$0")/server.sh"
dir=$1
readme=$2

load() {
	"$LOADGEN" --dataset "$dir" --connections 8 --passes 4 \
		"$url/?w=300&blur=2" >"$work/report" ||
		fail "$(cat "$work/report")"
	check_drained
}

# holds FILE EXPRESSION: jq finds it true
holds() {
	[ "$(jq "$2" "$1")" = true ] || fail "not true: $2 $(head -c 2000 "$1")"
}

# Also those that are not in a server's answer here.
test_every_figure_is_described() {
	local name
	for name in $(jq -r '[paths | .[-1] | strings] | unique[]' "$1") \
		cycles instructions cache_misses; do
		grep -qE "[\`.]$name\`" "$readme" || fail "$name: not in $readme"
	done
}

test_figures_fit_together() {
	holds "$1" '.stages | length == 4 and .[0].name == "decode"'
	holds "$1" 'all(.stages[]; .arrived > 0 and .started == .handled and
		.queued_max >= 1 and .queued_mean > 0 and
		.visits > 0 and .visits_empty <= .visits and
		.cohort_mean >= 1 and .cohort_max >= .cohort_mean and
		.service_ms_mean > 0 and .services_per_s > 0 and
		.arrivals_per_s > 0 and .load > 0)'
	holds "$1" 'all(.stages[] | [
		[.wait_ms_p50, .wait_ms_p90, .wait_ms_p99, .wait_ms_max],
		[.service_ms_p50, .service_ms_p90, .service_ms_p99,
			.service_ms_max],
		[.total_ms_p50, .total_ms_p90, .total_ms_p99, .total_ms_max]
		][]; . == sort)'
	holds "$1" 'all(.stages[].hardware; . == "not available" or
		.instructions > 0)'
	holds "$1" '(.workers | length > 0) and
		([.workers[].handled] | add) == ([.stages[].handled] | add) and
		([.workers[].visits] | add) == ([.stages[].visits] | add) and
		all(.workers[]; .sleeps > 0 and .busy > 0 and .stolen == 0)'
}

# The schedule is told as flags, and those start the same server.
test_schedule_can_be_given_again() {
	local told again
	told=$(stat_of .schedule)
	stop
	# shellcheck disable=SC2086
	start $told
	again=$(stat_of .schedule)
	[ "$told" = "$again" ] || fail "'$told' became '$again'"
	grep -qF -- "$told" "$work/log" || fail "not at the start: $told"
}

# figure NAME COLUMN: of the table in the log
figure() {
	awk -v name="$1" -v column="$2" '
		$1 == "stage" || $1 == "worker" {
			at = 0
			for (i = 2; i <= NF; i++)
				if ($i == column)
					at = i
		}
		at && $1 == name { print $at; exit }' "$work/log"
}

test_signal_prints_the_same() {
	local stage _
	kill -USR1 "$server"
	for _ in $(seq 100); do
		! grep -q '^worker' "$work/log" || break
		sleep 0.05
	done
	for stage in decode scale blur encode; do
		[ "$(figure $stage handled)" = "$(stat_of \
			".stages[] | select(.name == \"$stage\") | .handled")" ] ||
			fail "$stage: $(cat "$work/log")"
	done
	[ -n "$(figure "$(stat_of '.workers[0].name')" sleeps)" ] ||
		fail "no workers: $(cat "$work/log")"
}

# Of each stage's visits, as many events as the server's figures say; those of
# one worker lie apart or within each other.
check_trace() { # TRACE STATS
	holds "$1" 'all(.[]; .pid == 1 and (.ph == "X" or .ph == "M"))'
	jq -s '(.[0] | map(select(.ph == "X")) | group_by(.name) |
			map([.[0].name, (map(.args.events) | add), length])) ==
		(.[1].stages | map([.name, .handled, .visits]) | sort)' \
		"$1" "$2" >"$work/agree"
	grep -qx true "$work/agree" || fail "other events than in /stats"
	holds "$1" '[.[] | select(.ph == "X")] | group_by(.tid) | all(
		map([(.ts * 1000 | round), ((.ts + .dur) * 1000 | round)]) |
		sort_by([.[0], -.[1]]) |
		reduce .[] as [$from, $to]
			({ open: [], ok: true };
			.open |= map(select(. > $from)) |
			.ok = (.ok and all(.open[]; . >= $to)) |
			.open += [$to]) | .ok)'
	holds "$1" '([.[] | select(.ph == "X") | .tid] | unique) -
		[.[] | select(.name == "thread_name") | .tid] == []'
}

test_trace_of_the_last_while() {
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	curl -fsS "$url/stats" >"$work/stats"
	check_trace "$work/trace" "$work/stats"
	sleep 0.1
	curl -fsS "$url/trace?ms=1" >"$work/trace"
	holds "$work/trace" 'map(select(.ph == "X")) | length == 0'
	expect_problem 400 bad_parameter "$url/trace?ms=0"
	expect_problem 400 bad_parameter "$url/trace?ms=60001"
	expect_problem 400 bad_parameter "$url/trace?ms=1s"
	expect_problem 405 method_not_allowed -d x "$url/trace"
}

test_trace_in_a_file() {
	start --trace "$work/file" "$@"
	load
	sleep 0.5
	# What is there of a run that goes on is whole but for its end.
	(cat "$work/file" && echo ']') >"$work/part"
	holds "$work/part" 'map(select(.ph == "X")) | length > 0'
	load
	curl -fsS "$url/stats" >"$work/stats"
	stop
	check_trace "$work/file" "$work/stats"
	! grep -q 'left out' "$work/log" || fail "$(cat "$work/log")"
}

test_no_workers_no_trace() {
	start --policy thread-per-connection
	load
	expect_problem 404 no_trace "$url/trace"
	[ "$(stat_of '.workers | length')" = 0 ] ||
		fail "workers where there are none"
	stop
	refuses --trace --policy thread-per-connection --trace "$work/file"
	refuses --trace --trace /nowhere/file
}

start --balance replicate=1
load
curl -fsS "$url/stats" >"$work/stats"
test_every_figure_is_described "$work/stats"
test_figures_fit_together "$work/stats"
test_signal_prints_the_same
test_trace_of_the_last_while
test_schedule_can_be_given_again
stop
test_trace_in_a_file --policy cohort --threshold encode=1
test_trace_in_a_file --policy color
test_no_workers_no_trace
