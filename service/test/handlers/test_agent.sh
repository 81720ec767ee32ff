#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent tells a balancer how many uploads to send here: fewer while large
# ones are inside, none while the server stops.  It answers whatever other
# clients of its port do.  HAProxy, if there is one, uses what it says.
#
# usage: DARKROOM=PROGRAM test_agent.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "all policies count the work that is left in the same place"
photo=$1/clownfish.jpg
# Each takes some tenths of a second of CPU time.
large='w=3000&enlarge=1&progressive=1'

# told: print what the agent says until it closes
told() {
	local all
	exec {peer}<>"/dev/tcp/127.0.0.1/$agent"
	all=$(timeout 60 cat <&"$peer") || fail "the agent does not close"
	exec {peer}>&-
	printf '%s\n' "$all"
}

# told_until EXPRESSION: wait until the weight is such, such as "< 50"
told_until() {
	local _ weight
	for _ in $patience; do
		weight=$(told)
		[[ $weight =~ ^[0-9]+%$ ]] || fail "no weight: $weight"
		((${weight%\%} $1)) && return
		sleep 0.02
	done
	fail "the weight is $weight, not $1: $(curl -sS "$admin/v1/load")"
}

serve() {
	start --cores 0 --admin-listen 127.0.0.1:0 --agent-listen 127.0.0.1:0 \
		--agent-half 100ms "$@"
	[ -n "$agent" ] || fail "names no port of its agent"
}

test_weight_follows_the_load() {
	serve
	[ "$(told)" = 100% ] || fail "an empty server: $(told)"
	send 3 "$large"
	told_until '< 50'
	curl -fsS "$admin/v1/load" >"$work/load"
	holds "$work/load" '.weight <= 100 and .weight >= 1 and .cores == 1 and
		.left_per_core_ms == .left_ms and .uploads.limit == 256 and
		.uploads.waiting <= .uploads.in_flight and
		.memory.used_bytes <= .memory.limit_bytes and
		(.stopping | not) and .connections.limit == 1024'
	wait "${clients[@]}"
	[ "$(got 200)" = 3 ] || fail "not three pictures"
	told_until '== 100'
	curl -fsS "$admin/v1/load" >"$work/load"
	holds "$work/load" '.weight == 100 and .left_ms == 0 and
		.uploads.in_flight == 0 and .uploads.waiting == 0 and .pace > 0'
	curl -fsS "$admin/v1/estimates" >"$work/estimates"
	holds "$work/estimates" '.error.uploads == 3 and .error.p50 >= 0 and
		.error.p90 >= .error.p50 and (.ways | length) >= 3 and
		all(.ways[]; .times > 0 and .steps == 3) and
		any(.ways[]; .way | startswith("decode jpeg: "))'
	# Nothing is known of steps that others have interrupted; now there are none.
	send 1 "$large"
	wait "${clients[@]}"
	told_until '== 100'
	curl -fsS "$admin/v1/load" >"$work/load"
	holds "$work/load" '.pace > 0 and .pace != 1'
	expect_problem 404 not_found "$url/v1/load"
	expect_problem 404 not_found "$url/v1/estimates"
	stop
}

files() {
	find "/proc/$server/fd" -mindepth 1 | wc -l
}

# Clients that say nothing, never read, or say too much are closed; until then
# others are answered.
test_others_cannot_stop_it() {
	local before i fd fds=() _
	serve
	before=$(files)
	for i in $(seq 200); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$agent"
		fds+=("$fd")
	done
	[ "$(told)" = 100% ] || fail "does not answer beside silent clients"
	[ "$(files)" -le $((before + 80)) ] ||
		fail "$(files) files are open, $before before"
	for i in 0 1 2; do
		head -c 100000 /dev/zero >&"${fds[i]}" 2>/dev/null || true
	done
	for _ in $patience; do
		[ "$(files)" -gt "$before" ] || break
		sleep 0.1
	done
	[ "$(files)" -le "$before" ] || fail "$(files) files are still open"
	# They were answered, too.
	for i in 100 199; do
		[ "$(timeout 60 cat <&"${fds[i]}")" = 100% ] ||
			fail "client $i was not answered"
	done
	for fd in "${fds[@]}"; do exec {fd}>&-; done
	# A client may say something first, as HAProxy does with agent-send.
	exec {fd}<>"/dev/tcp/127.0.0.1/$agent"
	printf 'drain ready 7%%\n' >&"$fd"
	[ "$(timeout 60 cat <&"$fd")" = 100% ] || fail "is confused"
	exec {fd}>&-
	[ "$(told)" = 100% ] || fail "is confused"
	stop
}

# During --shutdown-delay the server still takes uploads, but asks for none.
test_stopping_server_wants_no_uploads() {
	serve --shutdown-delay 2s
	kill -TERM "$server"
	told_until '== 0'
	[ "$(curl -sS "$admin/v1/load" | jq -c '[.weight, .stopping]')" = \
		'[0,true]' ] || fail "/v1/load says something else"
	wait "$server" || fail "did not stop well"
	server=
}

test_exposure() {
	refuses 'other machines can reach it' --listen 127.0.0.1:0 \
		--agent-listen 0.0.0.0:0
	refuses agent-listen --check-config --agent-listen nonsense
	"$DARKROOM" --check-config --insecure --agent-listen 0.0.0.0:28081 ||
		fail "refused with --insecure"
}

# weighs EXPRESSION: wait until HAProxy's weight fulfils EXPRESSION
weighs() {
	local _ weight
	for _ in $patience; do
		weight=$(curl -sS --unix-socket "$work/front" \
			'http://front/stats;csv' 2>"$work/err" |
			awk -F, '$1 == "back" && $2 == "a" { print $19 }') ||
			true
		[ -z "$weight" ] || ! ((weight $1)) || return 0
		sleep 0.02
	done
	fail "HAProxy has weight $weight, not $1: $(cat "$work/proxylog")"
}

test_haproxy_uses_it() {
	PATH=$PATH:/usr/sbin
	have haproxy || return 0
	serve --shutdown-delay 2s
	cat >"$work/conf" <<-END
		defaults
		    mode http
		    timeout connect 60s
		    timeout client 60s
		    timeout server 60s
		frontend front
		    bind unix@$work/front
		    stats uri /stats
		    default_backend back
		backend back
		    balance leastconn
		    server a 127.0.0.1:$port weight 100 agent-check agent-inter 50ms agent-port $agent
	END
	haproxy -db -f "$work/conf" >"$work/proxylog" 2>&1 &
	proxy=$!
	weighs '== 100' # also waits for its start
	send 3 "$large"
	weighs '< 50'
	wait "${clients[@]}"
	weighs '== 100'
	[ "$(curl -sS --unix-socket "$work/front" -o "$work/out" \
		-w '%{http_code}' --data-binary "@$photo" \
		'http://localhost/?w=64')" = 200 ] || fail "not through HAProxy"
	kill -TERM "$server"
	weighs '== 0'
	wait "$server" || fail "did not stop well"
	server=
	kill -TERM "$proxy"
	wait "$proxy" || true
}

test_weight_follows_the_load
test_others_cannot_stop_it
test_stopping_server_wants_no_uploads
test_exposure
test_haproxy_uses_it
