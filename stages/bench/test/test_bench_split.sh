#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Both kinds of stacks are measured, and a wrong number of fibres is refused.
#
# usage: STAGES_BENCH_SPLIT=PROGRAM test_bench_split.sh
. "$(dirname "$0")/../../../base/test/script.sh"

out=$("$STAGES_BENCH_SPLIT" 20) || fail "status $?"
# Three calls, and three kinds of fibres with six figures, none of them 0.
[ "$(grep -c '^| .*[1-9].* |$' <<<"$out")" = 7 ] || fail "$out"
figures=$(awk -F'|' '/^\| (nothing|32|snprintf)/ {
	for (i = 3; i < NF; i++) n += $i > 0 } END { print n }' <<<"$out")
[ "$figures" = 18 ] || fail "$figures figures: $out"
for count in 0 x 99999999; do
	status=0
	"$STAGES_BENCH_SPLIT" "$count" >/dev/null 2>&1 || status=$?
	[ "$status" = 2 ] || fail "status $status for $count fibres"
done
