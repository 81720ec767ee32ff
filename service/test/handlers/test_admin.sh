#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reports and probes have a port of their own.  It answers whatever uploads and
# their clients do, and says that the server is not ready before the server
# refuses an upload.
#
# usage: DARKROOM=PROGRAM test_admin.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg

# answers URL: expect an answer within a minute, which is long even on a busy
# machine
answers() {
	curl -fsS --max-time 60 -o "$work/body" "$1" || fail "no answer: $1"
}

test_each_port_has_its_own() {
	start --admin-listen 127.0.0.1:0
	answers "$url/healthz"
	answers "$url/readyz"
	answers "$admin/healthz"
	answers "$admin/readyz"
	answers "$admin/stats"
	! needs trace || answers "$admin/trace"
	expect_problem 404 not_found "$url/stats"
	expect_problem 404 not_found "$url/trace"
	expect_problem 404 not_found --data-binary "@$photo" "$admin/v1/process"
	grep -q 'send uploads.* to its main port' "$work/body" ||
		fail "does not say where: $(shown "$work/body")"
	expect_problem 405 method_not_allowed --data-binary "@$photo" \
		"$admin/?w=64"
	grep -q 'send uploads.* to its main port' "$work/body" ||
		fail "does not say where: $(shown "$work/body")"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/body"
	stop
}

test_without_one_the_main_port_tells_all() {
	start
	answers "$url/healthz"
	answers "$url/readyz"
	answers "$url/stats"
	! needs trace || answers "$url/trace"
	stop
}

# Takes some seconds on a core, and little memory.
heavy='w=8000&enlarge=1&progressive=1'

# arrived COUNT: wait until this number of uploads was accepted or refused
arrived() {
	local _
	for _ in $patience; do
		[ "$(stat_of '.uploads.sent + .uploads.refused')" != "$1" ] ||
			return 0
		sleep 0.02
	done
	fail "upload $1 did not arrive"
}

# begin COUNT: begin upload number COUNT, and wait until it is accepted or
# refused
begin() {
	curl -sS -o "$work/reply$1" -w '%{http_code}\n' \
		--data-binary "@$photo" "$url/?$heavy" >"$work/code$1" &
	clients+=($!)
	arrived "$1"
}

# Disconnect all clients.
hang_up() {
	local client
	for client in "${clients[@]}"; do
		kill "$client" 2>/dev/null || true
		wait "$client" || true
	done
}

# Called with a policy with I/O threads, and with a thread for each connection.
test_answers_when_all_connections_are_taken() {
	local first second _
	start "$@" --admin-listen 127.0.0.1:0 --max-connections 2 \
		--header-timeout 0 --idle-timeout 0
	exec {first}<>"/dev/tcp/127.0.0.1/${url##*:}"
	exec {second}<>"/dev/tcp/127.0.0.1/${url##*:}"
	for _ in $patience; do
		answers "$admin/metrics"
		! grep -qx 'darkroom_http_connections{port="main"} 2' \
			"$work/body" || break
		sleep 0.1
	done
	grep -qx 'darkroom_http_connections{port="main"} 2' "$work/body" ||
		fail "$*: not all taken"
	answers "$admin/healthz"
	exec {first}>&- {second}>&-
	stop
}

# Prints the status of /readyz.
readiness() {
	curl -sS --max-time 60 -o "$work/ready" -w '%{http_code}\n' \
		"$admin/readyz"
}

becomes_ready() {
	local _
	for _ in $patience; do
		[ "$(readiness)" != 200 ] || return 0
		sleep 0.1
	done
	fail "not ready again: $(shown "$work/ready")"
}

# announce_upload: send the head of an upload and, if it is accepted, most of
# the body.  The upload stays open, with its descriptor in $held.  Sets $status
# to that of the first answer, or to "waits" if the upload waits for memory.
announce_upload() {
	local fd _
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n%s' \
		$'Expect: 100-continue\r\n\r\n' >&"$fd"
	held+=("$fd")
	for _ in $patience; do
		! read -r -t 0 -u "$fd" || break
		status=waits
		[ "$(stat_of .memory.waiting)" = 0 ] || return 0
		sleep 0.02
	done
	read -r -t 60 -u "$fd" _ status _ || fail "no answer to an upload"
	[ "$status" = 100 ] || return 0
	{ printf '\xff\xd8'; head -c 1500000 /dev/zero; } >&"$fd"
	for _ in $patience; do
		[ "$(stat_of .memory.used_bytes)" -lt \
			$((${#held[@]} * 2000000)) ] || return 0
		sleep 0.05
	done
	fail "a body that has come is not charged"
}

# Memory is charged while bodies arrive.
test_not_ready_comes_before_memory_is_full() {
	local ready=200 ready_count=0 status=100 refusal=503 fd
	needs memory_refusals || refusal=waits
	start --admin-listen 127.0.0.1:0 --memory 64M
	held=()
	while [ $status = 100 ]; do
		[ ${#held[@]} -lt 100 ] || fail "never full"
		announce_upload
		[ "$status" != 100 ] || ready=$(readiness)
		[ "$ready" != 200 ] || ready_count=$((ready_count + 1))
	done
	[ "$status" = "$refusal" ] || fail "refused with $status"
	[ "$ready" = 503 ] || fail "ready until the first refusal"
	[ $ready_count -gt 4 ] || fail "ready for $ready_count uploads only"
	expect_problem 503 not_ready "$admin/readyz"
	grep -q memory "$work/body" || fail "reason: $(shown "$work/body")"
	for fd in "${held[@]}"; do
		exec {fd}>&-
	done
	becomes_ready
	stop
}

# Processing an upload takes longer than sending it, so uploads pile up.
test_not_ready_comes_before_places_are_taken() {
	local ready=200 count=0
	needs overlap || return 0
	start --admin-listen 127.0.0.1:0 --max-uploads 8 --cores 0 \
		--memory 64G
	clients=()
	while ! grep -qsx 503 "$work"/code*; do
		[ $((count++)) -lt 100 ] || fail "never full"
		[ "$(stat_of .uploads.refused)" != 0 ] || ready=$(readiness)
		begin $count
	done
	[ "$ready" = 503 ] || fail "ready until the first refusal"
	expect_problem 503 not_ready "$admin/readyz"
	grep -q uploads "$work/body" || fail "reason: $(shown "$work/body")"
	hang_up
	becomes_ready
	rm -f "$work"/code*
	stop
}

# A stopping server says so until all accepted uploads, and then the server,
# have ended.
test_stopping_is_told_to_the_end() {
	local told=0 status=0
	start --admin-listen 127.0.0.1:0 --cores 0 --drain-timeout 120 \
		--memory 64G
	[ "$(readiness)" = 200 ] || fail "not ready: $(shown "$work/ready")"
	send 2 'w=6000&enlarge=1&progressive=1'
	taken 2
	kill -TERM "$server"
	while curl -fsS --max-time 60 -o "$work/body" "$admin/healthz" \
		2>"$work/err"; do
		# The server may end between the two requests.
		status=$(readiness 2>"$work/err") || break
		[ "$status" != 503 ] || told=1
		[ "$told$status" != 1200 ] || fail "ready once more"
		sleep 0.05
	done
	status=0
	wait "$server" || status=$?
	server=
	[ $status = 0 ] || fail "the server ended with status $status"
	[ $told = 1 ] || fail "never said that it was stopping"
	[ "$("$JSON_VALUE" .detail <"$work/ready")" = "The server is shutting down." ] ||
		fail "reason: $(shown "$work/ready")"
	wait "${clients[@]}"
	[ "$(got 200)" = 2 ] || fail "lost: $(cat "$work"/code*)"
}

test_bad_addresses_refuse_to_start() {
	refuses --admin-listen --admin-listen nowhere
	refuses --admin-listen --check-config --admin-listen nowhere
	refuses --admin-listen --listen 127.0.0.1:0 --admin-listen 192.0.2.1:80
}

test_each_port_has_its_own
test_without_one_the_main_port_tells_all
with_policies 'cohort thread-per-connection' \
	test_answers_when_all_connections_are_taken
test_bad_addresses_refuse_to_start
test_not_ready_comes_before_memory_is_full
test_not_ready_comes_before_places_are_taken
test_stopping_is_told_to_the_end
