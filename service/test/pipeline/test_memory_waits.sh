#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A policy that lets uploads wait for memory: none is refused because the memory
# is full, the limit holds, and every wait ends: with memory, at its deadline,
# with its client, or at the stop.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=1] test_memory_waits.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about capriccio"
dir=$1
policy=${WAITING_POLICY:-capriccio}
mib=$((1 << 20))

# Bodies of 2 MB: the bytes after the last pixel are not read.
mkdir "$work/large"
passes=8
[ -z "${SANITIZED:-}" ] || passes=4 # a sanitizer makes pixels slow
for photo in "$dir"/*.jpg; do
	{ cat "$photo"; head -c 1500000 /dev/zero; } \
		>"$work/large/${photo##*/}"
done

# until_stat EXPRESSION: wait until jq finds it true for /stats
until_stat() {
	local _
	for _ in $patience; do
		[ "$(stat_of "$1")" != true ] || return 0
		sleep 0.05
	done
	fail "never true: $1: $(curl -fsS "$url/stats" | jq -c .memory)"
}

# send_head FD BYTES HEADER...: the head of an upload with so long a body
send_head() {
	local fd=$1 bytes=$2 header
	shift 2
	printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\n' >&"$fd"
	printf 'Content-Length: %d\r\n' "$bytes" >&"$fd"
	for header in "$@"; do
		printf '%s\r\n' "$header" >&"$fd"
	done
	printf '\r\n' >&"$fd"
}

# A server with 16 MB, and an upload that has reserved more than a half of it
# and goes on as long as $holder is open.  Programs in the background must not
# inherit it.
start_full() {
	start --policy "$policy" --memory 16M "$@"
	exec {holder}<>"/dev/tcp/127.0.0.1/${url##*:}"
	send_head "$holder" $((9 * mib))
	printf '\xff\xd8' >&"$holder"
	until_stat ".memory.used_bytes >= 9 * $mib"
}

# Results of several megabytes each, 16 at once, in 20 MB.
test_all_are_answered() {
	start --policy "$policy" --memory 20M "$@"
	"$LOADGEN" --dataset "$work/large" --connections 16 \
		--passes "$passes" --timeout 300 --json "$work/json" "$url/?w=1200" >"$work/report" ||
		fail "$*: $(jq -c .responses "$work/json")"
	[ "$(jq '.responses["200"] == .requests' "$work/json")" = true ] ||
		fail "$*: $(jq -c .responses "$work/json")"
	check_drained
	[ "$(stat_of '.memory.waits > 0 and .memory.waiting == 0 and
		.memory.broken_waits == 0 and .memory.refused == 0 and
		.memory.peak_bytes <= .memory.limit_bytes')" = true ] ||
		fail "$*: $(curl -fsS "$url/stats" | jq -c .memory)"
	stop
}

# The body is asked for when there is memory for it, not before.
test_waits_before_the_body() {
	local fd line
	start_full
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	send_head "$fd" $((9 * mib)) 'Expect: 100-continue'
	until_stat '.memory.waiting == 1'
	! read -r -t 0.5 -u "$fd" line || fail "was answered at once: $line"
	exec {holder}>&-
	read -r -t 60 -u "$fd" line || fail "is not served"
	[[ "$line" = 'HTTP/1.1 100 '* ]] || fail "not 100: $line"
	until_stat ".memory.waiting == 0 and .memory.used_bytes >= 9 * $mib"
	exec {fd}>&-
	check_drained
	stop
}

# Its body is there already when its turn comes.
test_goes_on_when_there_is_memory() {
	local client
	head -c $((9 * mib)) /dev/zero >"$work/zeros"
	start_full
	cat "$dir/clownfish.jpg" "$work/zeros" >"$work/upload"
	curl -sS -o "$work/out" -w '%{http_code}\n' -H 'Expect:' \
		--data-binary "@$work/upload" "$url/?w=64" >"$work/code" \
		{holder}>&- &
	client=$!
	until_stat '.memory.waiting == 1'
	exec {holder}>&-
	wait "$client" || fail "no answer"
	[ "$(cat "$work/code")" = 200 ] || fail "status $(cat "$work/code")"
	check_drained
	stop
}

# Memory for several comes at once, but there is one slot: each waits for it, and
# none is refused for lack of it.
test_waits_for_a_slot() {
	local fd i clients=()
	start_full --max-uploads 1
	# The first in the line, behind which small ones wait, too.
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	send_head "$fd" $((9 * mib))
	until_stat '.memory.waiting == 1'
	for i in 1 2 3 4 5 6; do
		curl -sS -o "$work/out.$i" -w '%{http_code}\n' --data-binary \
			"@$dir/clownfish.jpg" "$url/?w=1200" \
			>"$work/code.$i" {fd}>&- {holder}>&- &
		clients+=("$!")
	done
	until_stat '.memory.waiting == 7'
	exec {fd}>&- {holder}>&-
	for i in 1 2 3 4 5 6; do
		wait "${clients[i - 1]}" || fail "no answer"
		[ "$(cat "$work/code.$i")" = 200 ] ||
			fail "status $(cat "$work/code.$i")"
	done
	check_drained
	stop
}

test_waits_end_at_the_deadline() {
	start_full
	head -c $((9 * mib)) /dev/zero >"$work/upload"
	expect_problem 503 deadline_exceeded -H 'Request-Timeout: 2' \
		--data-binary "@$work/upload" "$url/"
	expect_problem 503 deadline_exceeded -H 'Request-Timeout: 2' \
		-H 'Expect:' --data-binary "@$work/upload" "$url/"
	[ "$(stat_of '.memory.waits == 2 and .memory.waiting == 0 and
		.memory.refused == 0')" = true ] || fail "waits"
	exec {holder}>&-
	check_drained
	stop
}

# Without any deadline, too.
test_lost_clients_do_not_wait() {
	local fd
	start_full --deadline 0
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	send_head "$fd" $((9 * mib))
	until_stat '.memory.waiting == 1'
	exec {fd}>&-
	until_stat '.memory.waiting == 0'
	[ "$(stat_of ".memory.used_bytes >= 9 * $mib")" = true ] ||
		fail "the other one is lost"
	exec {holder}>&-
	check_drained
	stop
}

test_what_never_fits_does_not_wait() {
	start_full
	head -c $((17 * mib)) /dev/zero >"$work/upload"
	expect_problem 413 too_much_memory -H 'Expect: 100-continue' \
		--data-binary "@$work/upload" "$url/"
	exec {holder}>&-
	check_drained
	stop
}

# A stop refuses those that wait for memory, and does not wait for them.
test_stop_ends_waits() {
	local client
	start_full --drain-timeout "$1"
	head -c $((9 * mib)) /dev/zero >"$work/upload"
	curl -sS -o "$work/out" -w '%{http_code}\n' --data-binary \
		"@$work/upload" "$url/" >"$work/code" {holder}>&- &
	client=$!
	until_stat '.memory.waiting == 1'
	kill -TERM "$server"
	wait "$client" || fail "no answer"
	[ "$(cat "$work/code")" = 503 ] || fail "status $(cat "$work/code")"
	[ "$("$JSON_VALUE" .code <"$work/out")" = stopping ] || fail "$(cat "$work/out")"
	exec {holder}>&-
	wait "$server" || fail "the server ended with status $?"
	server=
}

test_all_are_answered
test_all_are_answered --cores 0
test_waits_before_the_body
test_goes_on_when_there_is_memory
test_waits_for_a_slot
test_waits_end_at_the_deadline
test_lost_clients_do_not_wait
test_what_never_fits_does_not_wait
test_stop_ends_waits 30s
