#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A large JPEG that arrives slowly is decoded meanwhile, whichever way its body
# comes, and the results are the same as with --early-decode off; also if its
# client disconnects, or the server stops.
#
# usage: DARKROOM=PROGRAM test_early_decode.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about cores that have nothing to do"
dir=$1
queries=('w=640&h=640&blur=2' 'w=200' 'w=1280&q=90' 'w=400&light=linear'
	'w=200&variant=a:w=900&strict=0' 'format=png&w=300')
rate=3M # bytes a second

max_turns=20 # until a thread is in time

# The largest photos.
mapfile -t photos < <(find "$dir" -name '*.jpg' -size +128k -printf '%s %p\n' |
	sort -rn | sed 's/^[0-9]* //' | head -2)
[ ${#photos[@]} -gt 0 ] || fail "no photo is large enough"

early_parts() {
	stat_of .uploads.early_parts
}

# comes FILE CURL_ARGUMENT...: FILE is the result of a photo that comes slowly; if
# $is_early, of one of which a part was decoded early
comes() {
	local to=$1 before turn=0
	shift
	before=$(early_parts)
	while
		curl -fsS --limit-rate $rate "$@" -o "$to" || fail "$*"
		$is_early && [ "$(early_parts)" = "$before" ]
	do
		turn=$((turn + 1))
		[ $turn -lt $max_turns ] || fail "not decoded early: $*"
	done
}

# make_results FOLDER: what the server makes of photos that come slowly: as bodies
# with and without a length, and in forms with parameters before and after the
# file
make_results() {
	local photo query number=0
	mkdir -p "$1"
	for photo in "${photos[@]}"; do
		number=$((number + 1))
		comes "$1/$number.plain" --data-binary "@$photo" "$url/?w=640"
		comes "$1/$number.chunked" --data-binary "@$photo" \
			-H 'Transfer-Encoding: chunked' "$url/?w=640"
		comes "$1/$number.before" -F w=640 -F "file=@$photo" "$url/"
		comes "$1/$number.after" -F "file=@$photo" -F w=300 "$url/?h=600"
		for query in "${queries[@]}"; do
			curl -fsS --limit-rate $rate --data-binary "@$photo" \
				"$url/?$query" -o "$1/$number.$query" ||
				fail "$photo with $query"
		done
	done
}

test_results_are_the_same() {
	local is_early=true
	start --admin-listen 127.0.0.1:0
	make_results "$work/early"
	stop
	is_early=false
	start --admin-listen 127.0.0.1:0 --early-decode off
	make_results "$work/off"
	[ "$(early_parts)" = 0 ] || fail "something was decoded early"
	stop
	diff -r "$work/early" "$work/off" >/dev/null ||
		fail "the results differ"
}

# Most of a body comes when a part is decoded already: then the whole is decoded
# with the help of another core, not the rest without it.
test_most_comes_at_once() {
	local photo=${photos[0]} count=100000 turn=0 helped early
	[ "$(nproc)" -gt 1 ] || return 0
	start --admin-listen 127.0.0.1:0
	curl -fsS --data-binary "@$photo" "$url/?w=640" -o "$work/whole"
	helped=$(stat_of .uploads.helped_parts)
	early=$(early_parts)
	while [ "$(stat_of .uploads.helped_parts)" = "$helped" ] ||
		[ "$(early_parts)" = "$early" ]; do
		turn=$((turn + 1))
		[ $turn -lt $max_turns ] || fail "no core has helped"
		{
			head -c $count "$photo"
			sleep 0.05
			tail -c +$((count + 1)) "$photo"
		} | curl -fsS -T - -X POST "$url/?w=640" -o "$work/most"
		cmp "$work/whole" "$work/most" || fail "another result"
	done
	stop
}

# begin_slowly: a client whose body is not complete soon; its process is $client
begin_slowly() {
	local _
	curl -sS --limit-rate 100k --data-binary "@${photos[0]}" \
		"$url/?w=640" -o "$work/slow" 2>/dev/null &
	client=$!
	for _ in $patience; do
		[ "$(early_parts)" = 0 ] || return 0
		sleep 0.05
	done
	fail "nothing was decoded early"
}

test_clients_that_disconnect() {
	start --admin-listen 127.0.0.1:0
	begin_slowly
	kill $client
	wait $client || true
	check_drained
	stop
}

test_server_stops() {
	start --admin-listen 127.0.0.1:0 --drain-timeout 500ms
	begin_slowly
	stop
	wait $client || true
}

test_results_are_the_same
test_most_comes_at_once
test_clients_that_disconnect
test_server_stops
