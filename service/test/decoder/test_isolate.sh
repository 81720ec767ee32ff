#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With --isolate, replies are the same; a file that crashes its decoder, or that
# never ends, costs one request, also beside others and again and again; killed
# decoders cost no other upload than theirs; waits for one end at the deadline and
# when the server stops; no process is left.
#
# usage: DARKROOM=PROGRAM PRINT_GAINMAP=PROGRAM test_isolate.sh SAMPLES_DIR PLANTED
. "$(dirname "$0")/isolated.sh"
. "$(dirname "$0")/../ways.sh"
samples=$1
planted=$(realpath "$2")
cd "$work"

# programs_of PARENT: the processes that it has started
programs_of() {
	local children
	read -r -a children <"/proc/$1/task/$1/children" || true
	echo "${children[*]}"
}

# decoder: the program that the server has started
decoder() {
	local pid
	for pid in $(programs_of "$server"); do
		[ "$(<"/proc/$pid/comm")" != darkroom-decode ] || echo "$pid"
	done
}

# forker, lanes: the process that forks those that decode, and those
forker() {
	programs_of "$(decoder)"
}
lanes() {
	local pid
	for pid in $(forker); do
		programs_of "$pid"
	done
}

test_replies_are_the_same() {
	local file query
	start --isolate jpeg,ppm
	for file in ppm "$samples"/*.jpg; do
		for query in w=100 'w=40&h=40&fit=cover' 'strict=0&w=300'; do
			curl -fsS --data-binary "@$file" -o there "$url/?$query"
			curl -fsS --data-binary "@$file" -o here "$plain/?$query"
			cmp here there || fail "$file, $query"
		done
		head -c 5000 "$file" >cut
		[ "$(curl -sS --data-binary @cut "$url/" | "$JSON_VALUE" .code)" = \
			"$(curl -sS --data-binary @cut "$plain/" |
				"$JSON_VALUE" .code)" ] || fail "cut $file"
	done
	"$PRINT_GAINMAP" >gain.jpg
	curl -fsS --data-binary @gain.jpg -o there "$url/?w=100&gainmap=keep"
	curl -fsS --data-binary @gain.jpg -o here "$plain/?w=100&gainmap=keep"
	has -aF hdrgm:GainMapMax <here || fail "the map is not kept"
	cmp here there || fail "the map"
	[ "$(number decoded)" -gt 0 ] || fail "nothing was decoded there"
	[ "$(number lost)" = 0 ] || fail "lost: $(number lost)"
	stop
}

test_jpeg_xl_is_isolated_by_default() {
	local codes
	start
	# A build may lack it.
	if curl -fsS --data-binary @ppm "$url/?format=jxl" -o file.jxl \
		2>/dev/null; then
		curl -fsS --data-binary @file.jxl "$url/?format=ppm" -o there
		[ "$(number decoded)" = 1 ] || fail "it was decoded here"
		curl -fsS --data-binary @ppm "$url/?format=jxl&lossless=1" \
			-o exact.jxl
		curl -fsS --data-binary @exact.jxl "$url/?format=ppm" -o there
		cmp <(tail -c 12288 ppm) <(tail -c 12288 there) ||
			fail "it was not exact"
		head -c 20 file.jxl >cut
		codes=$(curl -sS --data-binary @cut "$url/" |
			"$JSON_VALUE" .code)
		[ "$codes" = truncated_picture ] || fail "$codes"
		[ "$(number lost)" = 0 ] || fail "lost: $(number lost)"
	fi
	stop
}

# upload NAME TIMES FILE [WAY]: write the statuses of the replies to NAME.codes;
# that of a good picture is 200, whichever way it is sent
upload() {
	local i got
	[ -z "${4:-}" ] || {
		for ((i = 0; i < $2; i++)); do
			aim "$4" w=50
			got=$(flags_by_way "$3" && curl -sS -o "$1.body" \
				-w '%{http_code}' "${way_flags[@]}" "$url$way_target")
			echo "${got/#$way_done/200}"
		done >"$1.codes"
		return
	}
	for ((i = 0; i < $2; i++)); do
		curl -sS -o "$1.body" -w '%{http_code}\n' --data-binary "@$3" \
			"$url/?w=50" || echo gone
	done >"$1.codes"
}

# only STATUS TIMES NAME...
only() {
	local status=$1 times=$2 name
	shift 2
	for name; do
		[ "$(sort "$name.codes" | uniq -c | tr -s ' ')" = \
			" $times $status" ] ||
			fail "$name: $(sort "$name.codes" | uniq -c)"
	done
}

test_faults_cost_their_own_request() {
	local jobs=()
	plant
	mkdir store
	DARKROOM=programs/darkroom start --isolate ppm --store store
	upload crash 8 crash &
	jobs+=($!)
	upload loop 1 loop &
	jobs+=($!)
	upload good 30 ppm &
	jobs+=($!)
	upload jpeg 30 "$samples/clownfish.jpg" &
	jobs+=($!)
	upload ticket 4 crash ticket &
	jobs+=($!)
	upload part 4 crash tus_chunks &
	jobs+=($!)
	wait "${jobs[@]}"
	only 422 8 crash
	only 422 4 ticket part
	only 422 1 loop
	only 200 30 good jpeg
	[ "$("$JSON_VALUE" .code <crash.body)" = decoder_lost ] ||
		fail "$(shown crash.body)"
	[ "$(number lost)" = 17 ] || fail "lost: $(number lost)"
	# It does not use up the ticket.
	for way in ticket tus; do
		aim $way w=50
		[ "$(send_by_way crash)" = 422 ] || fail "$way: $(shown body)"
		[ "$(state_by_way)" = refused ] || fail "$way: $(state_by_way)"
		[ "$(send_by_way as_long)" = $way_done ] || fail "$way: $(shown body)"
		[ "$(state_by_way)" = stored ] || fail "$way: $(state_by_way)"
	done
}

# Uploads go on; each death costs at most the file in it.
test_killed_decoders() {
	local i pid pids killed=0 refused uploads beside tickets
	upload killed 120 large &
	uploads=$!
	upload tickets 30 large ticket_chunks &
	tickets=$!
	upload beside 60 "$samples/clownfish.jpg" &
	beside=$!
	for ((i = 0; i < 40; i++)); do
		pids=$(lanes)
		# In turn those that decode, and that which forks them.
		[ $((i % 4)) != 3 ] || pids=$(forker)
		for pid in $pids; do
			kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
		done
		sleep 0.02
	done
	wait $uploads $beside $tickets
	cat tickets.codes >>killed.codes
	only 200 60 beside
	refused=$(grep -vc 200 killed.codes || true)
	[ "$refused" -le "$killed" ] || fail "$refused of $killed"
	! grep -vqE '200|422' killed.codes || fail "$(sort killed.codes | uniq -c)"
	curl -fsS --data-binary @ppm -o body "$url/?w=50"
}

# gone PID: wait until it has ended
gone() {
	local _
	for _ in $patience; do
		[ -e "/proc/$1" ] || return 0
		sleep 0.02
	done
	fail "process $1 is left"
}

# stopped PID: SIGSTOP, and wait until it has been ended
stopped() {
	kill -STOP "$1"
	gone "$1"
}

# Nobody waits for a process that is only stopped.
test_stopped_processes() {
	local pid
	for pid in $(lanes) $(forker); do
		stopped "$pid"
	done
	upload after 3 ppm
	! grep -vqE '200|422' after.codes || fail "$(<after.codes)"
	curl -fsS --data-binary @ppm -o body "$url/?w=50"
}

test_no_process_is_left() {
	local program lane
	program=$(decoder)
	lane="$(forker) $(lanes)"
	stop
	gone "$program"
	for pid in $lane; do
		gone "$pid"
	done
	start --isolate ppm
	curl -fsS --data-binary @ppm -o body "$url/?w=50"
	program=$(decoder)
	lane=$(lanes)
	[ -n "$lane" ] || fail "no process decodes"
	kill -KILL "$server"
	gone "$program"
	gone "$lane"
}

# A process that sleeps, without using CPU, delays nothing longer than that.
test_deadline_and_stop() {
	local upload
	DARKROOM=programs/darkroom start --isolate ppm --drain-timeout 500ms
	expect_problem 503 deadline_exceeded --data-binary @sleep \
		-H 'Request-Timeout: 1' "$url/?w=50"
	curl -fsS --data-binary @ppm -o body "$url/?w=50"
	curl -sS -o sleep.body --data-binary @sleep "$url/?w=50" &
	upload=$!
	in_flight 1
	stop 3
	wait $upload || true
	[ "$("$JSON_VALUE" .code <sleep.body)" = stopping ] ||
		fail "$(shown sleep.body)"
}

# The server cannot start darkroom-decoder again.  It says so, and does the rest.
test_without_the_program() {
	local program pids pid
	start --isolate ppm
	program=$(decoder)
	curl -fsS --data-binary @ppm -o body "$url/?w=50"
	curl -fsS -o body "$url/readyz"
	pids="$(forker) $(lanes)"
	kill -KILL "$program"
	for pid in $pids; do
		gone "$pid"
	done
	expect_problem 503 decoder_down --data-binary @ppm "$url/?w=50"
	expect_problem 503 not_ready "$url/readyz"
	curl -fsS --data-binary "@$samples/clownfish.jpg" -o body "$url/?w=50"
	[ "$(number down)" = 1 ] || fail "down: $(number down)"
	[ "$(number lost)" = 0 ] || fail "lost: $(number lost)"
	[ "$(grep -c 'darkroom-decoder has ended: ' log)" = 1 ] ||
		fail "the log does not say so"
	stop
}

test_what_is_wrong_is_named() {
	"$DARKROOM" --isolate ppm,bmp >out 2>&1 && fail "it started"
	grep -q -- "--isolate.*'bmp' is not built in" out || fail "$(cat out)"
	mkdir alone
	cp "$DARKROOM" alone/darkroom
	alone/darkroom --listen 127.0.0.1:0 --isolate ppm >out 2>&1 &&
		fail "it started"
	grep -q 'darkroom-decoder is not beside' out || fail "$(cat out)"
	alone/darkroom --isolate ppm --check-config >out 2>&1 &&
		fail "--check-config finds nothing"
	grep -q 'darkroom-decoder is not beside' out || fail "$(cat out)"
	"$DARKROOM" --isolate ppm --check-config
	start --isolate none
	[ -z "$(decoder)" ] || fail "a decoder runs"
	stop
}

ppm ppm good 64
ppm crash crash 64
ppm as_long whole 64
ppm loop loop 64
ppm large good 600
ppm sleep sleep 64
start
plain=$url plain_server=$server
test_replies_are_the_same
test_jpeg_xl_is_isolated_by_default
test_faults_cost_their_own_request
test_killed_decoders
test_stopped_processes
test_no_process_is_left
test_deadline_and_stop
test_without_the_program
test_what_is_wrong_is_named
server=$plain_server
stop
