#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Clients that request probes, pages, reports, or what is answered by an error, as
# fast as they can are limited to a rate, whatever they request.  Meanwhile uploads and a probe are answered.
# A server with waiting requests stops as usual.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=1] test_control.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$(realpath "$1")
per_s=200 probes_per_s=200 preflights_per_s=500
at_once=100

# loop PATH FLAGS...: start three clients that send this request again and again,
# with these flags of curl; their pids are in $loops
loop() {
	local _ path=$1
	shift
	loops=()
	for _ in 1 2 3; do
		curl -s -o /dev/null --max-time 60 "$@" \
			"$url$path#[1-1000000]" &
		loops+=($!)
	done
}

# Some of these clients disconnect while their request waits.
end_loops() {
	kill -KILL "${loops[@]}"
	wait "${loops[@]}" 2>/dev/null || true
}

# replies: print the number of replies, except those to valid uploads
replies() {
	curl -fsS "$admin/metrics" | awk '
		/^darkroom_http_replies_total/ && !/{role="upload",status="2/ {
			n += $2 }
		END { print n + 0 }'
}

# test_loops_have_a_rate PATH RATE FLAGS...: the measured time includes all of the
# counting, so it is never too short
test_loops_have_a_rate() {
	local begin before after most
	begin=$EPOCHREALTIME
	before=$(replies)
	loop "$1" "${@:3}"
	"$LOADGEN" --dataset "$dir" --connections 2 --duration 0.3 \
		--json "$work/json" "$url/?w=64" >"$work/report" ||
		fail "$1: $(cat "$work/report")"
	curl -fsS --max-time 60 "$url/healthz" -o "$work/out" ||
		fail "$1: no probe"
	after=$(replies)
	most=$(awk "BEGIN { print int(($EPOCHREALTIME - $begin) * $2) + \
		2 * $at_once }")
	end_loops
	[ $((after - before)) -le "$most" ] ||
		fail "$1: $((after - before)) replies, not $most at most"
	[ $((after - before)) -gt 2 ] || fail "$1: no loop"
}

# Requests for some seconds are waiting, but the server stops at once, with
# status 0.
test_the_end_waits_for_nobody() {
	local i all=() fd
	for i in $(seq 40); do
		exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n%.0s' \
			$(seq 20) >&"$fd"
		printf 'GET /trace?ms=%s HTTP/1.1\r\nHost: localhost\r\n\r\n' \
			60000 >&"$fd"
		all+=("$fd")
	done
	[ "$(curl -fsS "$admin/metrics" | awk \
		'$1 == "darkroom_http_held_total" { print $2 }')" -gt 0 ] ||
		fail "nobody was held"
	stop
	for fd in "${all[@]}"; do
		exec {fd}>&-
	done
}

test_all() {
	start "$@"
	test_loops_have_a_rate /healthz "$probes_per_s"
	for path in '/trace?ms=60000' /stats /nothing; do
		test_loops_have_a_rate "$path" "$per_s"
	done
	test_loops_have_a_rate / "$preflights_per_s" -X OPTIONS
	# Whatever is answered by an error without work.
	test_loops_have_a_rate /v1/images/nothing "$per_s"
	test_loops_have_a_rate / "$per_s" --data-binary ''
	test_loops_have_a_rate / "$per_s" -H 'Host: x' -H 'Host: y'
	check_drained
	test_the_end_waits_for_nobody
}

# An image that a store does not have is found missing only when it is read.
test_unknown_images_have_a_rate() {
	mkdir "$work/store"
	start --store "$work/store" "$@"
	test_loops_have_a_rate "/v1/images/$(printf %064d 0)" "$per_s"
	test_loops_have_a_rate "/v1/images/$(printf %064d 0)/thumb" "$per_s"
	test_loops_have_a_rate "/v1/images/$(printf %064d 0)" "$per_s" -X DELETE
	stop
	rm -r "$work/store"
}

# Each loop takes all cores, so a sanitizer sees them once.
policies='default thread-per-connection'
[ -z "${SANITIZED:-}" ] || policies=default
with_policies "$policies" test_all
[ -n "${SANITIZED:-}" ] || test_all --admin-listen 127.0.0.1:0
with_policies "$policies" test_unknown_images_have_a_rate
