#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Under every policy and balance, at several connection counts: every photo of
# a folder comes back whole, in the right size, with the same bytes; nothing is
# lost; an idle server sleeps; SIGTERM ends it cleanly.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM CHECK_SIZES=PROGRAM
#        test_policies.sh DIR CONNECTIONS...
. "$(dirname "$0")/server.sh"
dir=$1
shift

# Every registered policy, with each balance it takes.
arms() {
	local policy
	for policy in $("$DARKROOM" --list-policies | awk '{print $1}'); do
		if [ "$policy" = thread-per-connection ]; then
			echo "--policy $policy"
		else
			echo "--policy $policy --balance replicate"
			echo "--policy $policy --balance shared"
		fi
	done
}

# The CPU seconds that the server burns in two seconds without requests stay
# far below what one spinning thread would; a bound loose enough never to fail
# on a busy machine.
check_sleeps() {
	local before after
	before=$(stat_of .cpu_s)
	sleep 2
	after=$(stat_of .cpu_s)
	[ "$(jq -n "$after - $before < 0.2")" = true ] ||
		fail "busy while idle: $before to $after CPU seconds"
}

first=
while read -r -a flags; do
	start "${flags[@]}" --max-uploads 256
	for connections in "$@"; do
		out=$work/out
		rm -rf "$out"
		"$LOADGEN" --dataset "$dir" --connections "$connections" \
			--seed "$connections" --save "$out" \
			"$url/?w=640&h=640&blur=2" >"$work/report" ||
			fail "${flags[*]} $connections: $(cat "$work/report")"
		sort -o "$out/status.tsv" "$out/status.tsv"
		if [ -z "$first" ]; then
			first=$work/first
			"$CHECK_SIZES" "$dir" "$out" 640 640 ||
				fail "a reply has the wrong size"
			cp -r "$out" "$first"
		fi
		diff -rq "$first" "$out" >"$work/diff" ||
			fail "${flags[*]} $connections: $(head -n 5 "$work/diff")"
		check_drained
	done
	check_sleeps
	stop
	echo "${flags[*]}: $(wc -l <"$first/status.tsv") photos, connections $*"
done < <(arms)
[ -n "$first" ] || fail "no policy was tried"
