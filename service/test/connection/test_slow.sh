#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Connections of slow, greedy and stalled clients are closed, and no others, in
# whichever way they send.
#
# usage: DARKROOM=PROGRAM test_slow.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$1/clownfish.jpg
head='GET /healthz HTTP/1.1\r\nHost: localhost\r\n'

# connect NAME: open a connection, whose descriptor is ${NAME}
connect() {
	exec {new}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf -v "$1" %s "$new"
}

# ask FD: send a whole request, and read the reply; the connection stays open
ask() {
	printf '%b\r\n' "$head" >&"$1"
	[ "$(answer_of "$1")" = 200 ] || fail "not answered"
	read -r -t 60 -u "$1" -n 3 # the body, "ok"
}

# answer_of FD: print the status of the reply, and read its head into $work/head
answer_of() {
	local line status=
	: >"$work/head"
	while read -r -t 60 -u "$1" line; do
		line=${line%$'\r'}
		[ -n "$line" ] || break
		[ -n "$status" ] || status=${line#HTTP/1.1 }
		echo "$line" >>"$work/head"
	done
	echo "${status%% *}"
}

# ended FD: wait until the server closes it, at most a minute
ended() {
	local fd=$1
	timeout 60 cat <&"$fd" >"$work/rest" || [ $? != 124 ] ||
		fail "still open: ${FUNCNAME[1]}"
	exec {fd}>&-
}

# is_open FD: is it open, as far as the client knows now?
is_open() {
	local status=0
	read -r -t 0.01 -u "$1" || status=$?
	[ "$status" -gt 128 ]
}

test_silence_ends() {
	local silent line
	connect silent
	connect line
	printf '%bX-Slow: ' "$head" >&"$line"
	[ "$(answer_of "$line")" = 408 ] || fail "no 408"
	grep -q '"code":"request_timeout"' <&"$line" || fail "no code"
	ended "$silent"
	[ ! -s "$work/rest" ] || fail "an answer to nothing"
	logged_408 '? ? request_timeout shut, 0 B'
	exec {line}>&-
}

# logged_408 WHAT: log and metrics report one 408
logged_408() {
	local _ metric='^darkroom_http_problems_total{code="request_timeout",status="408"} '
	for _ in $patience; do
		! grep -qF " 408 $1" "$work/log" ||
			! curl -fsS "$admin/metrics" |
				grep "${metric}[1-9]" >/dev/null || return 0
		sleep 0.05
	done
	fail "408 is not logged, or not counted"
}

# A client that sends a byte now and then is not silent, but too slow.  The page
# of the admin port may read that, unless no byte came within 250 ms after the
# refusal, as may be on a busy machine: then the reply is prepared, and knows
# nothing of the request.
test_drops_do_not_help() {
	local line way body bytes bodies=() left _
	local -A files # of each connection, from which it takes its bytes
	connect line
	printf '%b' "$head" >&"$line"
	for way in $ways; do
		aim "$way"
		[ $way_method != POST ] || way_headers+=("Origin: $admin")
		begin_by_way body /dev/null 9999
		bodies+=("$body")
		exec {bytes}<"$photo"
		files[$body]=$bytes
	done
	for _ in $patience; do
		left=0
		read -r -t 0 -u "$line" || {
			left=1
			printf 'X: y\r\n' >&"$line" || true
		}
		for body in "${bodies[@]}"; do
			! read -r -t 0 -u "$body" || continue
			left=1
			head -c 1 <&"${files[$body]}" >&"$body" || true
		done
		[ $left = 1 ] || break
		sleep 0.05
	done 2>/dev/null
	[ "$(answer_of "$line")" = 408 ] || fail "the header goes on"
	for body in "${bodies[@]}"; do
		[ "$(answer_of "$body")" = 408 ] ||
			fail "the body goes on: $(cat "$work/head")"
		# The first two are of the page of the admin port.
		[ "$body" -gt "${bodies[1]}" ] ||
			! grep -q '^X-Request-Id: ' "$work/head" ||
			grep -qx "Access-Control-Allow-Origin: $admin" \
				"$work/head" ||
			fail "the page may not read it: $(cat "$work/head")"
		bytes=${files[$body]}
		exec {body}>&- {bytes}<&-
	done
	logged_408 'POST / request_timeout shut, '
	logged_408 'PUT /v1/uploads/{id} request_timeout shut, '
	logged_408 'PATCH /v1/uploads/{id} request_timeout shut, '
	exec {line}>&-
}

test_idle_connections_end() {
	local idle
	connect idle
	ask "$idle"
	ended "$idle"
	[ ! -s "$work/rest" ] || fail "more than was asked for"
}

# The clients were in time, but the server was stopped (SIGSTOP): their
# connections stay open.
test_a_stopped_server_blames_nobody() {
	local idle head_only
	connect idle
	ask "$idle"
	connect head_only
	printf '%b' "$head" >&"$head_only"
	kill -STOP "$server"
	printf '%b\r\n' "$head" >&"$idle"
	printf '\r\n' >&"$head_only"
	sleep 5 # longer than both may take
	kill -CONT "$server"
	[ "$(answer_of "$idle")" = 200 ] || fail "idle was closed"
	[ "$(answer_of "$head_only")" = 200 ] || fail "the head was closed"
	exec {idle}>&- {head_only}>&-
}

# Without a minimum rate, the deadline ends a silent upload, and its memory is
# free.
test_silent_bodies_end() {
	local body bodies=() way
	head -c 5 "$photo" >"$work/begin"
	for way in $ways; do
		aim "$way"
		begin_by_way body "$work/begin" 9999
		bodies+=("$body")
	done
	for body in "${bodies[@]}"; do
		[ "$(answer_of "$body")" = 408 ] || fail "a silent body goes on"
		ended "$body"
	done
	# The last upload goes on behind what has arrived.
	[ "$(curl -fsS "$url$way_target" | "$JSON_VALUE" .offset)" = 5 ] ||
		fail "it has lost what had arrived"
	for _ in $patience; do
		[ "$(stat_of .memory.used_bytes)" != 0 ] || return 0
		sleep 0.05
	done
	fail "still charged"
}

test_requests_are_limited() {
	local open
	connect open
	ask "$open"
	printf '%b\r\n' "$head" >&"$open"
	timeout 60 cat <&"$open" >"$work/rest" || fail "not closed"
	grep -qi '^connection: close' "$work/rest" || fail "does not say so"
	grep -q ok "$work/rest" || fail "the last is not answered"
	exec {open}>&-
}

test_addresses_are_limited() {
	local i all=()
	for i in 1 2 3; do
		connect new
		all+=("$new")
		ask "$new"
	done
	connect new
	ended "$new"
	ask "${all[0]}"
	exec {all[0]}>&-
	curl -fsS --retry 20 --retry-delay 1 --retry-all-errors \
		"$url/healthz" >/dev/null || fail "none is free"
	for i in 1 2; do
		exec {all[i]}>&-
	done
}

# Idle connections take all that the server may have, and more clients come.
test_new_clients_find_room() {
	local i all=()
	for i in $(seq 24); do
		connect new
		all+=("$new")
		curl -fsS --max-time 60 --data-binary "@$photo" "$url/?w=64" \
			-o "$work/out" || fail "no room behind $i others"
	done
	! is_open "${all[0]}" || fail "the first is still there"
	ask "${all[23]}"
	for new in "${all[@]}"; do
		exec {new}>&-
	done
}

# keeps: ask over a new connection: does the reply say that it stays?
keeps() {
	connect new
	printf '%b\r\n' "$head" >&"$new"
	[ "$(answer_of "$new")" = 200 ] || fail "not answered"
	! grep -qix 'connection: close' "$work/head" || {
		ended "$new"
		return 1
	}
	exec {new}>&-
}

# Uploads that make progress have all connections.  A reply over one more says
# that it is the last, because that connection is the first to be closed.
test_one_too_many_learns_it() {
	local i _ all=() bytes
	bytes=$(stat -c %s "$photo")
	for i in $(seq 8); do
		connect new
		all+=("$new")
		printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\n%s: %d\r\n\r\n' \
			Content-Length "$bytes" >&"$new"
		head -c -1 "$photo" >&"$new"
	done
	for _ in $patience; do # until all are accepted
		keeps || break
		sleep 0.02
	done
	! keeps || fail "the reply promises more requests"
	for new in "${all[@]}"; do
		tail -c 1 "$photo" >&"$new"
		[ "$(answer_of "$new")" = 200 ] || fail "an upload was closed"
		exec {new}>&-
	done
	for _ in $patience; do
		! keeps || return 0
		sleep 0.02
	done
	fail "all replies are the last"
}

test_all() (
	apart
	mkdir "$work/store"
	trap '' PIPE # SIGPIPE comes when the server closes a connection
	start --admin-listen 127.0.0.1:0 --header-timeout 3s --idle-timeout 3s \
		--store "$work/store" "$@"
	test_silence_ends
	test_drops_do_not_help
	test_idle_connections_end
	test_a_stopped_server_blames_nobody
	stop
	start --min-rate 0 --deadline 1s --store "$work/store" "$@"
	test_silent_bodies_end
	stop
	start --max-requests 2 --header-timeout 0 --idle-timeout 0 "$@"
	test_requests_are_limited
	stop
	start --max-connections-per-address 3 --trusted-proxies none "$@"
	test_addresses_are_limited
	stop
	start --max-connections 8 "$@"
	test_new_clients_find_room
	stop
	start --max-connections 8 "$@"
	test_one_too_many_learns_it
	stop
)

# All at once, because they mostly wait.
in_background() {
	test_all "$@" &
	running+=($!)
}

running=()
with_policies 'default thread-per-connection' in_background
for pid in "${running[@]}"; do
	wait "$pid"
done
