#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Work that is of no use any more is not done: late uploads are told so, those
# of clients that are gone are dropped, and the server goes on.
#
# usage: DARKROOM=PROGRAM test_deadline.sh SAMPLES_DIR
. "$(dirname "$0")/server.sh"
photo=$1/clownfish.jpg
slow='w=4000&enlarge=1&blur=30' # some tenths of a second each
[ -z "${SANITIZED:-}" ] || slow='w=1600&blur=5' # where all is slow

test_late_uploads_are_told_so() {
	local late client reply
	start "$@" --deadline 200ms
	send 16 "$slow"
	for client in "${clients[@]}"; do
		wait "$client" || fail "$*: a client got no reply"
	done
	late=$(got 503)
	[ "$late" -ge 1 ] || fail "$*: none was late"
	[ $((late + $(got 200))) = 16 ] || fail "$*: $(cat "$work"/code*)"
	for reply in $(grep -lx 503 "$work"/code*); do
		[ "$(jq -r .code "$work/reply${reply#"$work/code"}")" = \
			deadline_exceeded ] || fail "$*: code"
	done
	check_drained
	# Those whose body came too late were not even taken.
	[ "$(stat_of '.uploads | .late == .failed and
		.finished == '"$(got 200)")" = true ] ||
		fail "$*: $(curl -fsS "$url/stats" | jq -c .uploads)"
	curl -fsS --retry 20 --data-binary "@$photo" "$url/?w=64" \
		-o "$work/out" || fail "$*: does not go on"
	stop
}

# Its time runs from the head on.
test_slow_body_is_late() {
	start --deadline 100ms
	expect_problem 503 deadline_exceeded --limit-rate 1M -H 'Expect:' \
		--data-binary "@$photo" "$url/"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" || fail "Retry-After"
	[ "$(stat_of .uploads.sent)" = 0 ] || fail "was decoded all the same"
	check_drained
	stop
}

test_nobody_waits_so_nothing_is_done() {
	local client
	start "$@"
	send 8 "$slow"
	taken 8
	kill "${clients[@]}" 2>/dev/null || true
	for client in "${clients[@]}"; do
		wait "$client" || true
	done
	check_drained
	[ "$(stat_of '.uploads.gone >= 1 and .uploads.gone == .uploads.failed
		and .uploads.gone + .uploads.finished == 8')" = true ] ||
		fail "$*: $(curl -fsS "$url/stats" | jq -c .uploads)"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/out" ||
		fail "$*: does not go on"
	stop
}

test_late_uploads_are_told_so --cores 0
test_late_uploads_are_told_so --policy thread-per-connection
test_slow_body_is_late
test_nobody_waits_so_nothing_is_done --cores 0
test_nobody_waits_so_nothing_is_done --policy thread-per-connection
