#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A viewer of the live page gets every event of the server, and never slows the
# server down, whether the viewer reads or not.  There can be eight viewers;
# when one leaves, another can come.  A server with viewers stops like one
# without.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=WORDS] test_live.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$1
key=api-key-0123456789-one
[ -z "${SANITIZED:-}" ] || shrink 700 # a sanitizer makes pixels slow

# watch NAME CURL-ARGUMENTS...: start a viewer in the background; its pid is in
# $viewer
watch() {
	local name=$1
	shift
	: >"$work/$name"
	curl -sSN "$@" "$admin/v1/live" >"$work/$name" 2>"$work/$name.err" &
	viewer=$!
}

# events NAME EVENT: print the data of each complete event of this kind
events() {
	awk -v wanted="$2" '/^event: / { event = $2 }
		/^data: / { data = substr($0, 7) }
		/^$/ { if (event == wanted) print data; event = "" }' "$work/$1"
}

# last NAME: print the newest complete frame
last() {
	tail -c 1000000 "$work/$1" | awk '
		/^data: / { data = substr($0, 7) }
		/^$/ { frame = data }
		END { print frame }'
}

# count NAME: print the number of complete frames
count() {
	events "$1" frame | wc -l
}

# sees NAME COUNT: wait until the viewer has this number of frames
sees() {
	local _
	for _ in $patience; do
		[ "$(count "$1")" -lt "$2" ] || return 0
		sleep 0.1
	done
	fail "$1 sees nothing: $(tail -c 300 "$work/$1")"
}

# sees_more NAME: wait for a frame that is made after this call.  The next one
# may be in the making, so wait for two.
sees_more() {
	sees "$1" $(($(count "$1") + 2))
}

hang_up() {
	local pid
	for pid in "$@"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" || true
	done
}

load() {
	"$LOADGEN" --dataset "$dir" --connections 8 --passes "$1" \
		"$url/?$2" >"$work/report" || fail "$(cat "$work/report")"
	! grep -q 'transport errors: [1-9]' "$work/report" ||
		fail "$(cat "$work/report")"
}

# flood: make many visits in little time, so that frames are large
flood() {
	mkdir -p "$work/tiny"
	curl -fsS --data-binary "@$dir/clownfish.jpg" "$url/?w=32" \
		-o "$work/tiny/photo.jpg"
	"$LOADGEN" --dataset "$work/tiny" --connections 8 --duration 1 \
		"$url/?w=16" >"$work/report" || fail "$(cat "$work/report")"
}

# become COUNT: wait until there is this number of viewers
become() {
	local _
	for _ in $patience; do
		! curl -fsS "$admin/metrics" >"$work/metrics" ||
			! grep -qx "darkroom_http_viewers $1" "$work/metrics" ||
			return 0
		sleep 0.1
	done
	fail "not $1 viewers, but $(grep ^darkroom_http_viewers "$work/metrics")"
}

# A frame equals /stats while the server is idle.
same='.[0] as $f | .[1] as $s | $f.uploads == $s.uploads and
	$f.memory_used_bytes == $s.memory.used_bytes and
	[$f.stages[] | [.arrived, .handled, .refused, .visits, .visits_empty,
		.queued, .wait_ms.total // [0, 0], .service_ms.total // [0, 0]]]
	== [$s.stages[] | [.arrived, .handled, .refused, .visits, .visits_empty,
		.queued, [.wait_ms_p50, .wait_ms_p90],
		[.service_ms_p50, .service_ms_p90]]]'

# The stages never used more CPU time than the process.
cpu_adds_up='[.[] | select(.cpu != null)] | length > 0 and
	all(.[]; ([.stages[].cpu] | add) <= .cpu + 0.0001)'

# A late viewer gets the last minute, with one upload that was refused.
minute='.history | .to - .from <= 60 and
	([.seconds[].client_errors] | add) == 1 and
	all(.seconds[]; .ok == 0 or .ms[0] <= .ms[2])'

# The flows into a stage add up to its arrivals; those out of the last stages,
# to the finished uploads.
flows='. as $f | all(range(.stages | length); . as $i |
	([$f.edges[] | select(.[1] == $i)[2]] | add) == $f.stages[$i].arrived)
	and ([$f.edges[] | select(.[1] == -1)[2]] | add) == .uploads.finished'

# all_hold EXPRESSION FILE...: expect that the expression is true of an array of
# these files, by jq
all_hold() {
	local expression=$1
	shift
	[ "$(jq -s "$expression" "$@")" = true ] || fail "not true: $expression"
}

# Store two images and remove one: both kinds of requests to the store.
keep() {
	local id
	curl -fsS --data-binary "@$dir/clownfish.jpg" -o "$work/image" \
		"$url/v1/images?w=32"
	curl -fsS --data-binary "@$dir/lionfish.jpg" -o "$work/image" \
		"$url/v1/images?w=32"
	id=$("$JSON_VALUE" .id <"$work/image")
	curl -fsS -X DELETE "$url/v1/images/$id"
}

test_figures_are_those_of_stats() {
	load 2 'w=300&blur=2'
	load 2 'w=64&variant=a:h=32&variant=b:q=50'
	head -c 9999 "$dir/clownfish.jpg" >"$work/half" # not a whole JPEG
	expect_problem 422 truncated_jpeg --data-binary "@$work/half" "$url/"
	[ "$(stat_of 'any(.stages[]; .name == "store")')" = false ] || keep
	check_drained
	sees_more all
	last all >"$work/frame"
	curl -fsS "$admin/stats" >"$work/stats"
	all_hold "$same" "$work/frame" "$work/stats"
	all_hold ".[0] | $flows" "$work/frame"
	all_hold '.[0] as $f | .[1] as $s |
		($f.threads | type) == ($s.threads | type) and
		($f.threads // {} | keys) == ($s.threads // {} | keys) and
		$f.threads.begun? == $s.threads.begun?' "$work/frame" \
		"$work/stats"
	all_hold '.[0] | .uploads.finished > 0 and .cpu_s > 0 and
		all(.stages[:4][]; .load >= 0 and .wait_ms.total != null and
			.cohort.total >= 1)' "$work/frame"
	events all frame >"$work/frames"
	all_hold "$cpu_adds_up" "$work/frames"
	first=$viewer
	watch late
	sees late 1
	hang_up "$viewer"
	viewer=$first
	events late hello >"$work/hello"
	all_hold ".[0] | $minute" "$work/hello"
	events all hello >"$work/hello"
	all_hold '.[0] as $h | .[1] as $s | $h.policy == $s.policy and
		$h.schedule == $s.schedule and $h.interval_ms == 500 and
		$h.stages == [$s.stages[].name] and $h.parts == $s.parts and
		$h.memory_limit_bytes == $s.memory.limit_bytes and
		$h.words[0].flag == "policy" and
		[$h.workers[] | select(.lane == "workers").name] ==
		[$s.workers[].name]' "$work/hello" "$work/stats"
}

# While uploads arrive, the figures of a frame lie between those of /stats
# before and after.
test_figures_keep_up() {
	local loading
	load 4 'w=300' &
	loading=$!
	sees_more all
	curl -fsS "$admin/stats" >"$work/before"
	sees_more all
	last all >"$work/frame"
	curl -fsS "$admin/stats" >"$work/after"
	all_hold 'map([.uploads.sent, .uploads.finished, .stages[].handled]) |
		transpose | all(.[]; . == sort)' \
		"$work/before" "$work/frame" "$work/after"
	wait "$loading"
	check_drained
}

# A viewer that was there from the beginning and missed no frame gets every
# visit once.
are_all='.[0] | [range(length)] == [.[].number - .[0].number] and
	([.[].missed] | add) == 0'
every_visit='.[0] as $frames | .[1] as $s |
	([$frames[].spans[] | select(.[1] >= 0)] | group_by(.[1]) |
		map([.[0][1], length, (map(.[4]) | add)])) ==
	([$s.stages | to_entries[] | select(.value.visits > 0) |
		[.key, .value.visits, .value.handled]])'

test_every_visit_is_seen_once() {
	local try
	for try in 1 2 3 4; do
		[ "$try" -lt 4 ] || fail "$*: frames were missed"
		start "$@"
		watch all
		sees all 1
		load 2 'w=64'
		check_drained
		sees_more all
		curl -fsS "$admin/stats" >"$work/stats"
		events all frame | jq -s . >"$work/frames"
		stop
		wait "$viewer" || fail "a viewer: $(cat "$work/all.err")"
		# On a busy machine the viewer may have missed a frame.
		[ "$(jq -s "$are_all" "$work/frames")" != true ] || break
	done
	all_hold "$every_visit" "$work/frames" "$work/stats"
	jq -s '.[0] | map({spans, workers}) | [.[].spans[] | select(.[1] < 0)] |
		length > 0' "$work/frames" | has -x true || fail "no sleeps"
}

# When a viewer leaves, in any way, another can take its place.
test_there_is_room_for_eight() {
	local pids=() i
	for i in $(seq 8); do
		watch "view$i"
		pids+=("$viewer")
	done
	become 8
	expect_problem 503 too_many_viewers "$admin/v1/live"
	grep -qi '^retry-after: [1-9]' "$work/head" || fail "no Retry-After"
	kill -KILL "${pids[0]}"
	wait "${pids[0]}" 2>/dev/null || true # the shell prints a line about it
	become 7
	watch view9
	pids+=("$viewer")
	sees view9 1
	sees_more view8
	hang_up "${pids[@]:1}"
	become 0
}

# A viewer that reads nothing is disconnected; other viewers are not.  Uploads
# arrive meanwhile, because they make frames larger.
test_who_reads_nothing_goes() {
	local lazy reading _
	watch reads
	reading=$viewer
	exec {lazy}<>"/dev/tcp/127.0.0.1/${admin##*:}"
	printf 'GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$lazy"
	become 2
	for _ in $(seq 100); do
		flood
		curl -fsS "$admin/metrics" >"$work/metrics"
		! grep -qx 'darkroom_http_viewers 1' "$work/metrics" || break
	done
	become 1
	sees_more reads
	exec {lazy}>&-
	hang_up "$reading"
	become 0
}

# HEAD gets no body, and HTTP/1.0 no chunks; both replies forbid caching.
test_other_ways_to_ask() {
	curl -fsSI --max-time 60 "$admin/v1/live" >"$work/head"
	grep -qi '^content-type: text/event-stream' "$work/head" ||
		fail "HEAD: $(cat "$work/head")"
	watch old --http1.0 -D "$work/head"
	sees_more old
	hang_up "$viewer"
	! grep -qi chunked "$work/head" || fail "chunks for HTTP/1.0"
	grep -qi '^cache-control: no-store' "$work/head" ||
		fail "may be stored: $(cat "$work/head")"
	expect_problem 405 method_not_allowed -d x "$admin/v1/live"
	become 0
}

# Viewers that read get their stream to its end.  The server does not wait for a
# viewer that does not read.
test_viewers_do_not_hold_up_the_end() {
	local lazy reading
	watch reads
	reading=$viewer
	exec {lazy}<>"/dev/tcp/127.0.0.1/${admin##*:}"
	printf 'GET /v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$lazy"
	become 2
	flood
	SECONDS=0
	stop
	[ $SECONDS -lt 60 ] || fail "$SECONDS s to stop"
	! grep -q 'not all could be answered' "$work/log" ||
		fail "viewers were waited for"
	if [ "$admin" = "$url" ]; then
		wait "$reading" || fail "cut off: $(cat "$work/reads.err")"
	else
		wait "$reading" || true
	fi
	exec {lazy}>&-
}

test_keys_are_asked_for() {
	echo "$key" >"$work/keys"
	start --api-key-file "$work/keys" "$@"
	expect_problem 401 unauthorized "$admin/v1/live"
	watch known -H "Authorization: Bearer $key"
	sees_more known
	stop
	wait "$viewer" || fail "cut off: $(cat "$work/known.err")"
}

test_tls() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj /CN=x -addext 'subjectAltName=IP:127.0.0.1' \
		-keyout "$work/key" -out "$work/pem" 2>"$work/log"
	start --tls-cert "$work/pem" --tls-key "$work/key"
	admin=https${admin#http}
	watch secret --cacert "$work/pem"
	sees_more secret
	stop
	wait "$viewer" || fail "cut off: $(cat "$work/secret.err")"
}

# Each test has a server of its own, in the background.

figures_of() {
	(
		apart
		mkdir "$work/photos"
		start --idle-timeout 5s --drain-timeout 120 \
			--store "$work/photos" "$@"
		watch all
		become 1
		test_figures_are_those_of_stats
		[[ $* = *--policy*thread* ]] || test_figures_keep_up
		hang_up "$viewer"
		become 0
		test_viewers_do_not_hold_up_the_end
	) &
	tests+=($!)
}

viewers_of() {
	(
		apart
		start --idle-timeout 5s "$@"
		test_there_is_room_for_eight
		[[ $* = *--policy*thread* ]] || test_who_reads_nothing_goes
		test_other_ways_to_ask
		stop
	) &
	tests+=($!)
}

every_visit_of() {
	(
		apart
		test_every_visit_is_seen_once "$@"
	) &
	tests+=($!)
}

mkdir "$work/kept"
tests=()
[ -n "${TEST_POLICY:-}" ] || {
	every_visit_of --policy cohort --threshold encode=1
	every_visit_of --policy color --store "$work/kept"
	figures_of --policy cohort --balance replicate=2 \
		--admin-listen 127.0.0.1:0
	figures_of --policy servlib --admin-listen 127.0.0.1:0
}
# Requests at a port of servlib change the counts of its threads.
apart_from=()
[ "$policy_name" != servlib ] || apart_from=(--admin-listen 127.0.0.1:0)
with_policies 'color thread-per-connection' figures_of "${apart_from[@]}"
with_policies 'color thread-per-connection' viewers_of
test_keys_are_asked_for
test_tls
for pid in "${tests[@]}"; do
	wait "$pid" || fail "see above"
done
