#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# How a server stops: an upload whose head has arrived is processed if its body
# arrives fast enough, in whichever way; others are refused at once.  No slow
# sender delays the stop.  Uploads that are given up at the drain limit are counted, logged and
# shown by the exit status.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_stop.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$1/clownfish.jpg
trap '' PIPE # SIGPIPE comes when the server closes a connection

# connect NAME: open a connection, whose descriptor is ${NAME}
connect() {
	exec {new}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf -v "$1" %s "$new"
}

# begin_upload FD BYTES: send the head of an upload of this length
begin_upload() {
	printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n' \
		"$2" >&"$1"
}

# answer FD: read until the server closes the connection, into $work/answer
answer() {
	timeout 60 cat <&"$1" >"$work/answer" || [ $? != 124 ] ||
		fail "not answered, or not closed"
}

# answered FD STATUS [TEXT]: expect this status, and TEXT in the reply
answered() {
	answer "$1"
	grep -aq "^HTTP/1.1 $2 " "$work/answer" ||
		fail "not $2: $(shown "$work/answer")"
	grep -aqi "${3:-}" "$work/answer" || fail "no $3: $(shown "$work/answer")"
}

# received BYTES: wait until the server has read this number of bytes of bodies,
# of which up to 64 KiB may still wait in sockets
received() {
	local _
	for _ in $patience; do
		[ "$(curl -fsS "$admin/metrics" | sed -n \
			's/^darkroom_http_received_bytes_total{role="\(upload\|ticket\)"} //p' |
			paste -sd+ | bc)" -lt $(($1 - 65536)) ] || return 0
		sleep 0.05
	done
	fail "no $1 bytes were read"
}

# drip FD: send a few bytes again and again, too slowly
drip() {
	while printf xxxx >&"$1"; do sleep 0.1; done 2>/dev/null
}

# ends_with STATUS: expect that the server ends with this status, long before
# its drain limit
ends_with() {
	local status=0
	timeout 100 tail --pid="$server" -f /dev/null || fail "still not stopped"
	wait "$server" || status=$?
	server=
	[ "$status" = "$1" ] || fail "exit status $status, not $1"
}

test_slow_senders() {
	local dripping late bytes drips way fd last count=0
	local -A good silent done
	mkdir -p "$work/store"
	start --admin-listen 127.0.0.1:0 --drain-timeout 300s --min-rate 0 \
		--deadline 0 --store "$work/store" "$@"
	bytes=$(stat -c %s "$photo")
	head -c $((bytes / 2)) "$photo" >"$work/half"
	tail -c +$((bytes / 2 + 1)) "$photo" >"$work/rest"
	printf '\xff\xd8\xff' >"$work/begin"
	for way in $ways; do
		aim "$way"
		begin_by_way fd "$work/half" "$bytes"
		good[$way]=$fd
		done[$way]=$way_done
		count=$((count + 1))
		# Those of unknown length may take until the limit.
		[[ $way != *chunks ]] || continue
		aim "$way"
		begin_by_way fd "$work/begin" 30000000
		silent[$way]=$fd
		last=$way_target
	done
	connect dripping
	connect late
	printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$late"
	read -r -t 60 -u "$late"
	begin_upload "$dripping" 30000000
	printf '\xff\xd8\xff' >&"$dripping"
	drip "$dripping" &
	drips=$!
	received $((count * (bytes / 2 + 3 - 65536)))
	sleep 1.1 # until the server knows how slow they are
	kill -TERM "$server"
	answered "$dripping" 503 '^x-request-id: '
	exec {dripping}>&-
	grep -aq '"code":"stopping"' "$work/answer" || fail "no code"
	for fd in "${silent[@]}"; do
		answered "$fd" 503
		grep -aq '"code":"stopping"' "$work/answer" || fail "no code"
		exec {fd}>&-
	done
	kill $drips
	# This head arrives after the signal: the server does not wait for the
	# body.
	begin_upload "$late" 30000000
	answered "$late" 503 '^connection: close'
	grep -aq '"code":"stopping"' "$work/answer" || fail "no code"
	exec {late}>&-
	count=$((${#silent[@]} + 2))
	[ "$(stat_of ".uploads | .refused == $count and .abandoned == 0")" = \
		true ] || fail "not $count are counted as refused"
	for way in $ways; do
		fd=${good[$way]}
		aim "$way" '' '' none
		end_by_way "$fd" "$work/rest"
		answered "$fd" "${done[$way]}"
		exec {fd}>&-
	done
	ends_with 0
	[ "$(grep -c ' 503 P[A-Z]* .* stopping' "$work/log")" = $count ] ||
		fail "not $count are logged as refused"
	# What has arrived of the last part is there after a restart.
	start --store "$work/store"
	[ "$(curl -fsS "$url$last" | "$JSON_VALUE" .offset)" = 3 ] ||
		fail "lost: $(curl -fsS "$url$last")"
	stop
}

# Some uploads have no result yet when the drain limit is over.
test_abandoned_uploads() {
	local count=12 side=4000 i
	needs overlap || return 0
	[[ ${SANITIZED:-} != *thread* ]] || side=1600 # where all is slow
	start --drain-timeout 200ms --cores 0 --admin-listen 127.0.0.1:0 "$@"
	send $count "w=$side&h=$side&enlarge=1&progressive=1&chroma=444"
	taken $count
	kill -TERM "$server"
	wait "${clients[@]}" || true
	ends_with 3
	[ "$(got 503)" -gt 0 ] || fail "none is abandoned"
	[ $(($(got 200) + $(got 503))) = $count ] || fail "$(cat "$work"/code*)"
	[ "$(grep -c 'request .* is abandoned' "$work/log")" = "$(got 503)" ] ||
		fail "not each is logged"
	grep -q "$(got 503) uploads are abandoned" "$work/log" || fail "no sum"
	for i in $(seq $count); do
		[ "$(cat "$work/code$i")" = 503 ] || continue
		holds "$work/reply$i" '.code == "stopping"'
		grep -q "request $("$JSON_VALUE" .request_id <"$work/reply$i") is abandoned" \
			"$work/log" || fail "its id is not logged"
	done
}

with_policies 'default thread-per-connection' test_slow_senders
with_policies 'default thread-per-connection' test_abandoned_uploads
