#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the server tells of itself has a port of its own, which answers whatever
# uploads and their clients do.
#
# usage: DARKROOM=PROGRAM test_admin.sh SAMPLES_DIR
. "$(dirname "$0")/server.sh"
photo=$1/clownfish.jpg

# answers URL: within a time that is long for a busy machine, but an end
answers() {
	curl -fsS --max-time 60 -o "$work/body" "$1" || fail "no answer: $1"
}

# holds_connections COUNT: open and silent, in $held
hold_connections() {
	local fd _
	held=()
	for _ in $(seq "$1"); do
		exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
		held+=("$fd")
	done
}

drop_connections() {
	local fd
	for fd in "${held[@]}"; do
		exec {fd}>&-
	done
}

test_each_port_has_its_own() {
	start --admin-listen 127.0.0.1:0
	answers "$url/healthz"
	answers "$admin/healthz"
	answers "$admin/stats"
	answers "$admin/trace"
	expect_problem 404 not_found "$url/stats"
	expect_problem 404 not_found "$url/trace"
	expect_problem 404 not_found --data-binary "@$photo" "$admin/?w=64"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/body"
	stop
}

test_without_one_the_main_port_tells_all() {
	start
	answers "$url/healthz"
	answers "$url/stats"
	answers "$url/trace"
	stop
}

# Under a policy: both that of one I/O thread, and that of one per connection.
test_answers_when_all_connections_are_taken() {
	start "$@" --admin-listen 127.0.0.1:0 --max-connections 3
	hold_connections 3
	if curl -fsS --max-time 2 "$url/healthz" -o "$work/body" 2>"$work/err"
	then
		fail "$*: a connection is left"
	fi
	answers "$admin/healthz"
	answers "$admin/stats"
	drop_connections
	stop
}

test_bad_addresses_refuse_to_start() {
	refuses --admin-listen --admin-listen nowhere
	refuses --admin-listen --check-config --admin-listen nowhere
	refuses --admin-listen --listen 127.0.0.1:0 --admin-listen 192.0.2.1:80
}

test_each_port_has_its_own
test_without_one_the_main_port_tells_all
test_answers_when_all_connections_are_taken --policy cohort
test_answers_when_all_connections_are_taken --policy thread-per-connection
test_bad_addresses_refuse_to_start
