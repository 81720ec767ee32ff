#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A full server refuses uploads at once and loses none that it has accepted.  A
# stopping server answers the uploads that it has accepted.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_overload.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$1
photo=$dir/clownfish.jpg
long='blur=4' # an upload that takes a while
[ -z "${SANITIZED:-}" ] || long='w=700&blur=4'

# load JSON FLAGS...: run loadgen; requests may fail
load() {
	local json=$1
	shift
	"$LOADGEN" --dataset "$dir" --json "$json" "$@" "$url/?w=1200&blur=1" \
		>"$work/report" 2>&1 || true
	[ -s "$json" ] || fail "no report: $(cat "$work/report")"
}

test_full_refuses_and_loses_nothing() {
	needs overlap || return 0
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
	local busy got _
	needs overlap || return 0
	start --max-uploads 1
	"$LOADGEN" --dataset "$dir" --connections 4 --duration 60 \
		"$url/?blur=2" >"$work/report" 2>&1 &
	busy=$!
	for _ in $(seq 200); do
		got=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' \
			--data-binary "@$dir/clownfish.jpg" "$url/")
		[ "$got" != 503 ] || break
	done
	kill -INT $busy
	wait $busy || true
	[ "$got" = 503 ] || fail "never full in 200 tries"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" ||
		fail "no Retry-After: $(cat "$work/head")"
	[ "$("$JSON_VALUE" .code <"$work/body")" = overloaded ] || fail "code"
	stop
}

# A full server refuses an upload before the client sends the body.
test_full_is_said_before_the_body() {
	local slow='w=8000&enlarge=1&q=100&chroma=444&progressive=1&blur=9'
	[ -z "${SANITIZED:-}" ] || slow='w=2000&enlarge=1&blur=9'
	needs overlap || return 0
	start --cores 0 --max-uploads 1
	send 1 "$slow"
	taken 1
	expect_problem 503 overloaded -H 'Expect: 100-continue' \
		-H 'Content-Length: 1000000' --data-binary x "$url/"
	[ "$(stat_of .uploads.refused)" = 1 ] || fail "is not counted"
	kill "${clients[@]}" 2>/dev/null || true # it may have ended already
	wait "${clients[@]}" || true
	check_drained
	stop
}

# Every client has received its whole reply.
check_received() {
	local client
	for client in "${clients[@]}"; do
		wait "$client" || fail "a reply was cut off"
	done
}

# Uploads that were accepted before SIGTERM are answered, to the last byte.
test_stop_answers_what_was_taken() {
	start "$@" --drain-timeout 600s --deadline 0
	send 6 "$long"
	taken 6
	stop
	check_received
	[ "$(got 200)" = 6 ] || fail "$*: $(cat "$work"/code*)"
}

# An upload whose body still arrives at SIGTERM is finished.
test_stop_answers_what_comes_late() {
	local flags=("$@") late _
	start "${flags[@]}" --drain-timeout 600s
	curl -sS -o "$work/body" -w '%{http_code}\n' --limit-rate 400k \
		--data-binary "@$dir/clownfish.jpg" -H 'Expect:' "$url/?w=64" \
		>"$work/code" &
	late=$!
	for _ in $patience; do
		[ "$(stat_of .memory.used_bytes)" = 0 ] || break
		sleep 0.02
	done
	stop
	wait $late || fail "${flags[*]}: a late upload was cut off"
	[ "$(cat "$work/code")" = 200 ] || fail "status $(cat "$work/code")"
}

# Load balancers have time to notice that the server will stop.
test_stop_is_told_before() {
	start "$@" --shutdown-delay 600s
	kill -TERM "$server"
	for _ in $patience; do
		curl -fsS "$url/readyz" -o "$work/body" 2>"$work/err" || break
		sleep 0.05
	done
	expect_problem 503 stopping "$url/readyz"
	curl -fsS -D "$work/head" --data-binary "@$photo" "$url/?w=64" \
		-o "$work/body" || fail "$*: refuses what it could take"
	grep -qi '^connection: close' "$work/head" || fail "$*: goes on"
	# A second signal ends the delay.
	kill -TERM "$server"
	wait "$server" && fail "$*: the second signal was not heard"
	server=
	start "$@" --shutdown-delay 100ms
	stop
}

# After the drain limit, uploads that have not run yet are given up, with an
# answer.
test_stop_ends_in_time() {
	needs overlap || return 0
	start --cores 0 --drain-timeout 0
	send 8 blur=30
	taken 8
	stop 3
	check_received
	[ "$(got 503)" -ge 1 ] || fail "nothing was given up"
	[ $(($(got 503) + $(got 200))) = 8 ] || fail "$(cat "$work"/code*)"
}

test_full_refuses_and_loses_nothing
test_refusal_says_when_to_retry
test_full_is_said_before_the_body
with_policies 'cohort pool-per-stage thread-per-connection' \
	test_stop_answers_what_was_taken
with_policies 'cohort thread-per-connection' test_stop_answers_what_comes_late
test_stop_ends_in_time
with_policies 'default thread-per-connection' test_stop_is_told_before
