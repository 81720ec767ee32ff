#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server does no useless work.  Uploads that are late, or cannot be in time,
# get an error that says so.  Uploads of clients that have disconnected are
# dropped.  A client may ask for an earlier deadline.
#
# usage: DARKROOM=PROGRAM test_deadline.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
slow='w=4000&enlarge=1&blur=30' # some tenths of a second each
[ -z "${SANITIZED:-}" ] || slow='w=1600&blur=5' # where all is slow

test_late_uploads_are_told_so() {
	local late client reply time=200ms
	[ -z "${SANITIZED:-}" ] || time=250ms
	start "$@" --deadline $time
	send 16 "$slow"
	for client in "${clients[@]}"; do
		wait "$client" || fail "$*: a client got no reply"
	done
	late=$(got 503)
	[ "$late" -ge 1 ] || fail "$*: none was late"
	[ $((late + $(got 200))) = 16 ] || fail "$*: $(cat "$work"/code*)"
	for reply in $(grep -lx 503 "$work"/code*); do
		case $("$JSON_VALUE" .code <"$work/reply${reply#"$work/code"}") in
		deadline_exceeded | deadline_unreachable) ;;
		*) fail "$*: code" ;;
		esac
	done
	check_drained
	# Uploads whose body arrived too late were not even accepted.
	[ "$(stat_of '.uploads | .late + .unreachable == .failed and
		.finished == '"$(got 200)")" = true ] ||
		fail "$*: $(curl -fsS "$url/stats" | jq -c .uploads)"
	curl -fsS "$url/healthz" -o "$work/out" || fail "$*: does not go on"
	stop
}

# The time of an upload counts from its head.
test_slow_body_is_late() {
	start --deadline 100ms
	expect_problem 503 deadline_exceeded --limit-rate 1M -H 'Expect:' \
		--data-binary "@$photo" "$url/"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" || fail "Retry-After"
	[ "$(stat_of .uploads.sent)" = 0 ] || fail "was decoded all the same"
	check_drained
	stop
}

# If the client's own time limit has passed while its body arrives, the memory of
# the body is freed when the next bytes arrive, however few they are.
test_memory_of_a_slow_body() {
	local open _
	start --min-rate 0 --deadline 600s
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'POST / HTTP/1.1\r\nHost: localhost\r\n%s: 0.3\r\n%s: 999999\r\n\r\n' \
		Request-Timeout Content-Length >&"$open"
	head -c 50000 "$photo" >&"$open"
	for _ in $patience; do
		printf x >&"$open"
		sleep 0.1
		[ "$(stat_of .memory.used_bytes)" != 0 ] || break
	done
	check_drained
	exec {open}>&-
	stop
}

test_bad_timeouts_are_refused() {
	local time
	start
	for time in 0 -1 1s 1e3 inf 86401 '1, 2' 'x"<'; do
		expect_problem 400 bad_timeout -H "Request-Timeout: $time" \
			--data-binary "@$photo" "$url/"
		jq -e '.detail | test("above 0 and up to 86400")' \
			"$work/body" >"$work/out" || fail "$time: no numbers"
	done
	expect_problem 400 bad_timeout -H 'Request-Timeout: 1' \
		-H 'Request-Timeout: 1' --data-binary "@$photo" "$url/"
	# Requests that process nothing ignore it.
	curl -fsS -H 'Request-Timeout: x' "$url/healthz" -o "$work/out" ||
		fail "read by a probe"
	stop
}

# An upload is refused at once if its timeout is too short for the work.  A long
# timeout changes nothing.
test_timeout_of_a_request() {
	local all _
	start --cores 0 "$@"
	# This takes much more than a second, by any estimate.
	all='w=9000&h=9000&enlarge=1&progressive=1&chroma=444&q=100'
	# On a busy machine the second may be over before the body has come.
	for _ in $patience; do
		curl -sS -D "$work/head" -o "$work/body" --data-binary "@$photo" \
			-H 'Request-Timeout: 1.0' "$url/?$all"
		[ "$("$JSON_VALUE" .code <"$work/body")" = deadline_exceeded ] || break
		sleep 0.1
	done
	grep -q '^HTTP/1.1 503' "$work/head" || fail "$(shown "$work/head")"
	[ "$("$JSON_VALUE" .code <"$work/body")" = deadline_unreachable ] ||
		fail "$(shown "$work/body")"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" || fail "Retry-After"
	jq -e '.detail | test("estimated .* s are left")' "$work/body" \
		>"$work/out" || fail "$("$JSON_VALUE" .detail <"$work/body")"
	[ "$(stat_of '.uploads.unreachable == 1 and
		all(.stages[]; .handled == 0)')" = true ] ||
		fail "$*: it cost CPU time"
	curl -fsS -H 'Request-Timeout: 86400' --data-binary "@$photo" \
		"$url/?w=64" -o "$work/out" || fail "$*: was not served"

	stop
}

# Other uploads keep the only worker busy.  The upload can wait for less than 1
# ms longer than its own work takes.
test_timeout_ends_in_a_queue() {
	local status
	needs queues || return 0
	start --cores 0 "$@"
	send 6 "$slow"
	taken 6
	status=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' \
		-H 'Request-Timeout: 0.005' --data-binary "@$photo" "$url/?w=64")
	[ "$status" = 503 ] || fail "status $status after others"
	case $("$JSON_VALUE" .code <"$work/body") in
	deadline_exceeded | deadline_unreachable) ;;
	*) fail "$(cat "$work/body")" ;;
	esac
	# The reply has no timing if the time was over before the body had
	# arrived.
	! grep -qiE 'decode;dur=[0-9.]*[1-9]' "$work/head" ||
		fail "it cost CPU time: $(cat "$work/head")"
	wait "${clients[@]}" || fail "a client got no reply"
	[ "$(got 200)" = 6 ] || fail "$(cat "$work"/code*)"
	stop
}

# A client's timeout cannot be longer than the server's.
test_timeout_does_not_lengthen() {
	start --deadline 100ms
	expect_problem 503 deadline_exceeded --limit-rate 1M -H 'Expect:' \
		-H 'Request-Timeout: 60' --data-binary "@$photo" "$url/"
	stop
	start --deadline 0
	expect_problem 503 deadline_exceeded --limit-rate 1M -H 'Expect:' \
		-H 'Request-Timeout: 0.1' --data-binary "@$photo" "$url/"
	stop
}

test_nobody_waits_so_nothing_is_done() {
	local client
	needs overlap || return 0
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
with_policies thread-per-connection test_late_uploads_are_told_so
test_late_uploads_are_told_so --cores 0 --policy color --discipline edf
test_slow_body_is_late
test_memory_of_a_slow_body
test_bad_timeouts_are_refused
test_timeout_of_a_request --policy color --discipline edf
with_policies thread-per-connection test_timeout_of_a_request
with_policies cohort test_timeout_ends_in_a_queue
test_timeout_does_not_lengthen
test_nobody_waits_so_nothing_is_done --cores 0
with_policies thread-per-connection test_nobody_waits_so_nothing_is_done
