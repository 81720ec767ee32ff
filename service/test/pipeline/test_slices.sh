#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Results do not depend on pauses.  Large photos of all kinds (progressive, with
# a profile, cut off, with variants, filters, blur and every coding) are
# uploaded among many small ones.  They give the same bytes with --slice 0 (no
# pauses), 1000 and 50 (which does pause some), under several schedules.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM PRINT_PROFILE=PROGRAM SANITIZED=WORDS
#        test_slices.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about --slice"
dir=$1
smalls=20    # of each sample
max_turns=20 # of a run, until one pauses an upload

large_queries=(
	'w=640&h=640&blur=2'
	'w=1200&filter=mitchell&icc=keep&q=90'
	'w=500&progressive=1&blur=0.5'
	'optimize=1&chroma=444'
	'variant=a:w=200,h=200,fit=cover&variant=b:w=900&placeholder=1&w=640'
)

# made OUT QUERY: write $photo, changed by the server, to OUT
made() {
	curl -fsS --data-binary "@$photo" "$url/?$2" -o "$1"
}

# add LIST NAME FILE QUERY: add an upload to $work/LIST
add() {
	cp "$3" "$work/uploads/$2.jpg"
	printf 'uploads/%s.jpg\t%s\n' "$2" "$4" >>"$work/$1"
}

# Make the lists $work/large and $work/small; each upload has a query of its
# own.
make_uploads() {
	local number=0 i kind photos=("$dir"/*.jpg)
	[ -z "$SANITIZED" ] || photos=("${photos[@]:0:2}") # sanitizers are slow
	mkdir "$work/uploads"
	"$PRINT_PROFILE" >"$work/profile"
	for photo in "${photos[@]}"; do
		cp "$photo" "$work/plain"
		made "$work/progressive" 'progressive=1&q=90'
		with_profile "$work/profile" >"$work/profiled"
		head -c 400000 "$photo" >"$work/cut"
		for kind in plain progressive profiled cut; do
			i=$((number % ${#large_queries[@]}))
			add large "$kind-$number" "$work/$kind" \
				"${large_queries[i]}&strict=0"
			number=$((number + 1))
		done
		made "$work/tiny" w=160
		for i in $(seq $smalls); do
			add small "small-${photo##*/}-$i" "$work/tiny" w=100
		done
	done
}

# fix_boundary FILE: replace the boundary of a multipart reply, which is random
fix_boundary() {
	local first
	read -r first <"$1"
	LC_ALL=C sed -i "s/${first%$'\r'}/--/" "$1"
}

# upload LIST CONNECTIONS: send all uploads of $work/LIST; the replies are in
# $work/out/LIST
upload() {
	rm -rf "$work/out/$1"
	"$LOADGEN" --dataset "$work/$1" --connections "$2" --timeout 300 \
		--save "$work/out/$1" "$url/?" >"$work/report.$1" ||
		fail "$1: $(cat "$work/report.$1")"
	sort -o "$work/out/$1/status.tsv" "$work/out/$1/status.tsv"
}

# run FLAGS...: send the small uploads again and again, until all large ones are
# done.  $work/out has the replies, $paused the number of pauses.
run() {
	local large reply
	start --deadline 0 "$@"
	mkdir -p "$work/out"
	upload large 3 &
	large=$!
	upload small 8
	while kill -0 $large 2>/dev/null; do
		upload small 8
	done
	wait $large || fail "$*"
	check_drained
	paused=$(stat_of '[.stages[].paused] | add')
	[ "$(stat_of 'all(.stages[]; .visits == 0 or .cohort_mean >= 1)')" = \
		true ] || fail "$*: visits without an event"
	stop
	for reply in "$work"/out/large/*; do
		[ "$(head -c 2 "$reply")" != -- ] || fix_boundary "$reply"
	done
}

# same FLAGS...: run, and compare the replies with those of the first run
same() {
	run "$@"
	diff -rq "$work/first" "$work/out" >"$work/diff" ||
		fail "$*: $(head -n 5 "$work/diff")"
	echo "$*: $paused pauses"
}

pauses() {
	local _
	for _ in $(seq $max_turns); do
		same "$@"
		[ "$paused" = 0 ] || return 0
	done
	fail "no upload was paused: $*"
}

start
make_uploads
stop
run --policy color --discipline srpt=15 --slice 0
[ "$paused" = 0 ] || fail "$paused pauses with --slice 0"
statuses=$(cat "$work"/out/*/status.tsv)
[ "$(cut -f2 <<<"$statuses" | sort -u)" = 200 ] || fail "not all 200: $statuses"
mv "$work/out" "$work/first"
pauses --policy color --discipline lcfs --slice 50
[ -n "$SANITIZED" ] || {
	pauses --policy color --discipline srpt=15 --slice 50
	same --policy color --discipline srpt=15 --slice 1000
	same --policy thread-per-connection
	pauses --policy cohort --discipline srpt=15 --slice 50 \
		--balance replicate --steal --cores 0,1
	pauses --policy pool-per-stage --pool auto --discipline srpt=15 --slice 50
}
