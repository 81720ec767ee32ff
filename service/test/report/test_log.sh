#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each request is one line of the log, which says how the request ended, under
# every policy.  The server continues if its stderr is closed, full or not read.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_log.sh SAMPLES_DIR OPERATIONS_MD
. "$(dirname "$0")/../server.sh"
dir=$1
operations=$2
photo=$dir/clownfish.jpg
passes=8

# lines EXPRESSION: print the lines of requests for which the expression is
# true, by jq
lines() {
	jq -c "select(.event == \"request\") | select($1)" "$work/log"
}

# is EXPRESSION: wait until the expression is true of exactly one request.  It
# must have the id of the last reply, unless its status is null or 408, which
# has no id.
is() {
	local id= _
	[ -z "${1##*.status == [n4][u0][l8]*}" ] || id=$(sed -n \
		's/^x-request-id: \([0-9a-f-]*\).*/\1/Ip' "$work/head")
	for _ in $patience; do
		[ "$(lines "$1" | jq -r .id | grep -c "^$id")" != 1 ] || return 0
		sleep 0.05
	done
	fail "no line, or many, with $1 and id $id: $(cat "$work/log")"
}

get() {
	curl -sS -D "$work/head" -o "$work/body" "$@"
}

test_fields_are_right() {
	local in out queue='.queue_s >= 0'
	in=$(wc -c <"$photo")
	get --data-binary "@$photo" "$url/v1/process?w=640&blur=2"
	out=$(wc -c <"$work/body")
	is ".method == \"POST\" and .path == \"/v1/process\" and .status == 200
		and .code == null and .end == \"sent\" and .level == \"info\"
		and .bytes_in == $in and .bytes_out == $out and
		.pixels_in == 2000 * 1500 and .pixels_out == 640 * 480 and
		.variants == 1 and .policy == \"$policy_name\" and .slow == false"
	! needs queues || queue='.queue_s > 0'
	is '.decode_s > 0 and .scale_s > 0 and .blur_s > 0 and .encode_s > 0 and
		'"$queue"' and (has("timeline") | not) and
		.total_s > .decode_s + .scale_s + .blur_s + .encode_s'
	is '(.time | test("^20..-..-..T..:..:..[.]...Z$")) and
		((.time[:19] + "Z" | fromdate) - now | fabs < 3600)'
}

test_every_member_is_described() {
	local name
	for name in $(lines true | jq -r 'keys[]' | sort -u); do
		grep -qE "^\|[^|]*\`$name\`" "$operations" ||
			fail "$name: not in $operations"
	done
}

received() {
	curl -fsS "$url/metrics" | sed -n \
		's/^darkroom_http_received_bytes_total{role="upload"} //p'
}

# A client that disconnects when the server has received the first 1000 bytes of
# its photo.
leave_early() {
	local open before _
	before=$(received)
	exec {open}<>"/dev/tcp/127.0.0.1/$port"
	printf 'POST /?w=99 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n' \
		"$(wc -c <"$photo")" >&"$open"
	head -c 1000 "$photo" >&"$open"
	for _ in $patience; do
		[ "$(received)" -lt $((before + 1000)) ] || break
		sleep 0.05
	done
	[ "$(received)" = $((before + 1000)) ] || fail "$(received) bytes"
	exec {open}>&-
}

# No step begins before the end of the step before it, within jq's precision;
# together they take no longer than the request.
fitting='([.timeline[:-1], .timeline[1:]] | transpose |
		all(.[0].start_s + .[0].dur_s <= .[1].start_s + 1e-9)) and
	(.timeline | map(.dur_s) | add) <= .total_s + 1e-9 and
	.timeline[0].start_s == 0'

test_slow_ones_have_a_timeline() {
	head -c 300000 "$photo" >"$work/half"
	get --data-binary "@$photo" "$url/?w=640&blur=2"
	is "$fitting and (.timeline | map(.step)) ==
			[\"body\", \"decode\", \"scale\", \"blur\", \"encode\", \"reply\"] and
		.decode_s == .timeline[1].dur_s and .slow"
	get --data-binary "@$photo" "$url/v1/images?w=640"
	is "$fitting and (.timeline | map(.step))[3:] ==
		[\"encode\", \"store\", \"reply\"]"
	test_every_member_is_described
	get --data-binary "@$work/half" "$url/?w=640"
	is "$fitting and (.timeline | map(.step)) ==
		[\"body\", \"decode\", \"reply\"]"
	get --limit-rate 4M --data-binary "@$photo" "$url/?w=0"
	is "$fitting and (.timeline | map(.step)) == [\"body\", \"reply\"]"
	needs early_replies || return 0
	# This timeline ends with the 202.
	get --data-binary "@$photo" "$url/v1/images?w=641&respond=decoded"
	is "$fitting and (.timeline | map(.step)) == [\"body\", \"reply\"]"
	leave_early
	is "$fitting and .status == null and
		(.timeline | map(.step)) == [\"body\"]"
}

test_errors_have_their_code() {
	get --data-binary "@$photo" "$url/?w=0"
	is '.status == 400 and .code == "bad_parameter" and .path == "/" and
		.variants == 0 and .pixels_in == 0 and .decode_s == 0'
	get "$url/nothing?secret=1"
	is '.status == 404 and .code == "not_found" and .path == null and
		.method == "GET"'
	get -X 'EVIL' "$url/"
	is '.status == 405 and .method == "other"'
	get -X 'EV"IL' "$url/"
	is '.status == 400 and .method == "other"'
	head -c 300000 "$photo" >"$work/half"
	get --data-binary "@$work/half" "$url/"
	is '.status == 422 and .code == "truncated_jpeg" and
		.bytes_in == 300000 and .pixels_in == 3000000 and .variants == 0
		and .pixels_out == 0'
	head -c 3000000 /dev/zero >"$work/large"
	get -H 'Expect: 100-continue' --data-binary "@$work/large" "$url/"
	is '.status == 413 and .code == "body_too_large" and .path == "/" and
		.bytes_in == 0'
	get -H 'Transfer-Encoding: gzip' --data-binary x "$url/"
	is '.status == 411'
	# Without the framing of its chunks.
	get -H 'Transfer-Encoding: chunked' --data-binary hello "$url/"
	is '.status == 415 and .bytes_in == 5'
}

test_traces_are_told() {
	local trace=4bf92f3577b34da6a3ce929d0e0e4736 parent=00f067aa0ba902b7 span
	get -H "traceparent: 00-$trace-$parent-01" "$url/nothing"
	span=$(sed -n "s/^traceparent: 00-$trace-\([0-9a-f]*\)-01.*/\1/p" \
		"$work/head")
	[ ${#span} = 16 ] || fail "no span: $(cat "$work/head")"
	is ".trace == \"$trace\" and .span == \"$span\" and
		.parent_span == \"$parent\""
	get -H "traceparent: 00-$trace-evil\"-01" "$url/nothing"
	is '.trace == null and .span == null and .parent_span == null'
}

test_reports_are_told_if_they_fail() {
	get "$url/healthz"
	get "$url/stats"
	get -X POST -d x "$url/stats"
	is '.status == 405 and .path == "/stats"'
	! needs trace || {
		get -I "$url/trace?ms=0"
		is '.status == 400 and .method == "HEAD" and .bytes_out == 0'
	}
	[ -z "$(lines '.path == "/healthz" or .path == "/stats" and
		.status == 200')" ] || fail "a report is told"
}

test_a_lost_client_is_told() {
	leave_early
	is '.end == "gone" and .status == null and .code == null and
		.bytes_in == 1000'
}

# The only connection is taken by a client that stops sending.
test_a_client_that_is_shut_is_told() {
	local open _
	exec {open}<>"/dev/tcp/127.0.0.1/$port"
	printf 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nslow' \
		>&"$open"
	for _ in $patience; do
		get "$url/healthz" || true
		[ -z "$(lines true)" ] || break
		sleep 0.1
	done
	exec {open}>&-
	is '.end == "shut" and .status == 408 and .bytes_in == 4 and
		.code == "request_timeout"'
}

test_nothing_personal() {
	get -A 'agent-sentinel' -H 'Cookie: cookie-sentinel' \
		-F 'file=@'"$photo"';filename=name-sentinel.jpg' \
		"$url/?w=77&blur=3.25"
	is '.status == 200 and .variants == 1'
	! grep -iE 'sentinel|secret|EV.IL|evil|w=|\b3\.25\b|127\.0\.0\.1:[1-9]' \
		"$work/log" || fail "the client's own words"
}

# The server can accept one upload at a time.
test_refusals_are_told() {
	send 12 blur=50
	wait "${clients[@]}"
	[ "$(got 503)" -gt 0 ] || fail "none was refused"
	stop
	[ "$(lines '.status == 503 and .code == "overloaded" and
		.level == "warn"' | wc -l)" = "$(got 503)" ] ||
		fail "not each refusal is told"
	[ "$(lines '.status == 200' | wc -l)" = "$(got 200)" ] ||
		fail "not each upload is told"
}

# Every id has one line.  Other messages are JSON, too.
test_each_request_is_one_line() {
	local count
	start --log json "$@"
	"$LOADGEN" --dataset "$work/shrunk" --connections 16 \
		--passes "$passes" "$url/?w=64" >"$work/report" ||
		fail "$(cat "$work/report")"
	kill -USR1 "$server"
	stop
	count=$(($(find "$work/shrunk" -name '*.jpg' | wc -l) * passes))
	[ "$(lines '.status == 200 and .variants == 1 and
		.policy == "'"${2:-$policy_name}"'"' | jq .id | sort -u | wc -l)" = \
		"$count" ] || fail "$*: not $count lines"
	[ "$(lines true | wc -l)" = "$count" ] || fail "$*: too many lines"
	[ "$(jq -r .event "$work/log" | grep -v request | uniq |
		paste -sd ' ')" = 'message stats message' ] || fail "$*: messages"
}

# stick: start a server whose stderr is a pipe that nobody reads, and cause more
# lines than pipe and buffers can hold
stick() {
	local line=
	rm -f "$work/pipe"
	mkfifo "$work/pipe"
	exec {reader}<>"$work/pipe"
	complete --listen 127.0.0.1:0
	DARKROOM_LOG=json "$DARKROOM" "${full_flags[@]}" 2>"$work/pipe" &
	server=$!
	while [[ $line != *'listening on'* ]]; do
		read -r -t 60 line <&"$reader" || fail "not started"
	done
	url=http://127.0.0.1:$(sed 's/.*(port \([0-9]*\)).*/\1/' <<<"$line")
	seq -f "$url/nothing?%.0f" 3000 | xargs curl -sS >/dev/null
	get --data-binary "@$photo" "$url/?w=64" || fail "no longer served"
}

test_a_stuck_pipe_does_not_outlive_the_server() {
	stick
	stop
	exec {reader}>&-
}

# When somebody reads again, a line gives the number of dropped lines.
test_a_stuck_pipe_is_told_of() {
	local count missing cat _
	stick
	cat <&"$reader" >"$work/log" &
	cat=$!
	stop
	exec {reader}>&-
	for _ in $patience; do
		! grep -q '"stopping"' "$work/log" || break
		sleep 0.05
	done
	kill "$cat"
	count=$(lines true | wc -l)
	missing=$(jq -s 'map(select(.event == "dropped").lines) | add' \
		"$work/log")
	[ "$missing" -gt 0 ] || fail "nothing is missing"
	[ $((count + missing)) = 3001 ] || fail "$count and $missing lines"
}

# stderr is closed, full, or a pipe whose reader has ended.
test_any_stderr_will_do() {
	local to
	start # find a free port, while stderr can be read
	stop
	complete --listen "127.0.0.1:$port"
	for to in '2>&-' '2>/dev/full' '2> >(:)'; do
		eval "\"\$DARKROOM\" \"\${full_flags[@]}\" $to &"
		server=$!
		curl -s --retry 100 --retry-connrefused --retry-delay 1 \
			"$url/healthz" >/dev/null || fail "$to: not started"
		get --data-binary "@$photo" "$url/?w=64"
		get "$url/nothing"
		stop
	done
}

test_text_and_off() {
	local trace=4bf92f3577b34da6a3ce929d0e0e4736
	start --log text --log-slow 1ms
	get --data-binary "@$photo" "$url/?w=64"
	get -H "traceparent: 00-$trace-00f067aa0ba902b7-01" "$url/nothing"
	stop
	grep -qE '^..:..:..[.]... 200 POST /, [0-9]+ B 3.00 MP to [0-9]+ B 0.00 MP in [0-9.]+ ms: (queue|decode) .*encode [0-9.]+; [0-9a-f-]+ SLOW: body [0-9.]+ at 0.0, decode [0-9.]+ at [0-9.]+, .*, reply [0-9.]+ at [0-9.]+$' \
		"$work/log" || fail "no line for people"
	grep -q "; [0-9a-f-]* of trace $trace" "$work/log" || fail "no trace"
	start --log off
	get --data-binary "@$photo" "$url/?w=64"
	stop
	grep -q '^darkroom: stopping$' "$work/log" || fail "no messages"
	! grep -v '^darkroom: ' "$work/log" || fail "not off"
}

start --log json --max-body 2M --log-slow 0
test_fields_are_right
test_every_member_is_described
test_errors_have_their_code
test_traces_are_told
test_reports_are_told_if_they_fail
test_a_lost_client_is_told
test_nothing_personal
stop
mkdir "$work/store"
start --log json --log-slow 1ms --store "$work/store" \
	--spool none
test_slow_ones_have_a_timeline
stop
start --log json --max-connections 1
test_a_client_that_is_shut_is_told
stop
start --log json --max-uploads 1
test_refusals_are_told
(shrink 200) # $dir stays as it is
with_policies 'color cohort pool-per-stage thread-per-connection' \
	test_each_request_is_one_line
test_a_stuck_pipe_does_not_outlive_the_server
test_a_stuck_pipe_is_told_of
test_any_stderr_will_do
test_text_and_off
