#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reports: /stats and the table that SIGUSR1 prints agree, and all their figures
# are documented.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_report.sh SAMPLES_DIR README
. "$(dirname "$0")/../server.sh"
dir=$1
readme=$2

# Also the figures that this server does not have.
test_every_figure_is_described() {
	local name
	for name in $(jq -r '[paths | .[-1] | strings] | unique[]' "$1") \
		cycles instructions cache_misses; do
		grep -qE "[\`.]$name\`" "$readme" || fail "figure $name is not in $readme: has script/tables run?" \
				"What is not in figures.def is in the table by hand."
	done
}

test_figures_fit_together() {
	needs queues || return 0
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

# /stats gives the schedule as flags.  A server that starts with these flags has
# the same schedule.
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

# figure NAME COLUMN: print this figure of the table in the log
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
	local stage last=worker _
	needs workers || last=hardware
	kill -USR1 "$server"
	for _ in $patience; do
		! grep -q "^$last" "$work/log" || break
		sleep 0.05
	done
	for stage in decode scale blur encode; do
		[ "$(figure $stage handled)" = "$(stat_of \
			".stages[] | select(.name == \"$stage\") | .handled")" ] ||
			fail "$stage: $(cat "$work/log")"
	done
	[ $last != worker ] || [ -n "$(figure "$(stat_of '.workers[0].name')" sleeps)" ] ||
		fail "no workers: $(cat "$work/log")"
}

test_threads_are_described() {
	start --policy capriccio
	curl -fsS "$url/stats" >"$work/stats"
	holds "$work/stats" '.fibres | type == "object"'
	test_every_figure_is_described "$work/stats"
	stop
	start --policy servlib --admin-listen 127.0.0.1:0
	send_folder "$dir"
	curl -fsS "$admin/stats" >"$work/stats"
	holds "$work/stats" '.threads | .begun == 1 + 8 and .now >= 1 and
		.peak <= .begun and .ready == 0 and .kernel_threads >= 1 and
		.switches >= .begun and .transfers > 8 and .steps >= .transfers'
	test_every_figure_is_described "$work/stats"
	stop
}

flags=(--balance replicate=1)
[ -z "${TEST_POLICY:-}" ] || flags=()
start "${flags[@]}"
send_folder "$dir"
curl -fsS "$url/stats" >"$work/stats"
test_every_figure_is_described "$work/stats"
test_figures_fit_together "$work/stats"
test_signal_prints_the_same
test_schedule_can_be_given_again
stop
test_threads_are_described
