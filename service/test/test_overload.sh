#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A full server refuses at once and loses nothing; a stopping one answers what
# it has taken.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_overload.sh SAMPLES_DIR
. "$(dirname "$0")/server.sh"
dir=$1

# load JSON FLAGS...: run loadgen, whatever becomes of the requests
load() {
	local json=$1
	shift
	"$LOADGEN" --dataset "$dir" --json "$json" "$@" "$url/?w=1200&blur=1" \
		>"$work/report" 2>&1 || true
	[ -s "$json" ] || fail "no report: $(cat "$work/report")"
}

test_full_refuses_and_loses_nothing() {
	start --max-uploads 1
	load "$work/json" --connections 16 --passes 8
	[ "$(jq '.responses["503"] > 0 and .responses["200"] > 0 and
		.responses["200"] + .responses["503"] == .requests and
		.transport_errors == 0' "$work/json")" = true ] ||
		fail "unexpected: $(jq -c .responses "$work/json")"
	[ "$(stat_of .uploads.refused)" = \
		"$(jq '.responses["503"]' "$work/json")" ] ||
		fail "refused is not what clients saw"
	[ "$(stat_of .uploads.finished)" = \
		"$(jq '.responses["200"]' "$work/json")" ] ||
		fail "finished is not what clients saw"
	check_drained
	stop
}

test_refusal_says_when_to_retry() {
	local slow
	start --max-uploads 1
	curl -sS -o /dev/null --data-binary "@$dir/clownfish.jpg" \
		"$url/?blur=10" &
	slow=$!
	until [ "$(stat_of .uploads.in_flight)" = 1 ]; do
		kill -0 $slow || fail "the slow upload was too fast"
	done
	expect_problem 503 overloaded --data-binary "@$dir/clownfish.jpg" "$url/"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" ||
		fail "no Retry-After: $(cat "$work/head")"
	wait $slow || fail "the slow upload was lost"
	stop
}

# Whatever was taken before SIGTERM is answered, to the last byte.
test_stop_answers_what_was_taken() {
	local flags=("$@") clients=() client i
	start "${flags[@]}" --drain-timeout 120
	for i in 1 2 3 4 5 6; do
		curl -sS -o "$work/out$i" -w '%{http_code}\n' --data-binary \
			"@$dir/clownfish.jpg" "$url/?blur=4" >"$work/code$i" &
		clients+=($!)
	done
	until [ "$(stat_of .uploads.sent)" = 6 ]; do sleep 0.02; done
	stop
	for client in "${clients[@]}"; do
		wait "$client" || fail "${flags[*]}: a reply was cut off"
	done
	for i in 1 2 3 4 5 6; do
		grep -q 200 "$work/code$i" ||
			fail "${flags[*]}: status $(cat "$work/code$i")"
	done
}

test_full_refuses_and_loses_nothing
test_refusal_says_when_to_retry
test_stop_answers_what_was_taken --policy cohort
test_stop_answers_what_was_taken --policy pool-per-stage
test_stop_answers_what_was_taken --policy thread-per-connection
