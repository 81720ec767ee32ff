#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A core that has nothing else to do decodes a part of a large JPEG, and the
# result is the same as with --split-decode off, where none does.
#
# usage: DARKROOM=PROGRAM test_split_decode.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about cores that have nothing to do"
dir=$1
queries=('w=640&h=640&blur=2' 'w=200' 'w=1280&q=90' 'w=200&variant=a:w=900&strict=0')
max_turns=50 # until a thread is in time to help

# make_results FOLDER: what the server makes of all photos
make_results() {
	local photo query number=0
	mkdir -p "$1"
	for photo in "$dir"/*.jpg; do
		for query in "${queries[@]}"; do
			curl -fsS --data-binary "@$photo" "$url/?$query" \
				-o "$1/$number" || fail "$photo with $query"
			number=$((number + 1))
		done
	done
}

test_results_are_the_same() {
	local turn=0
	[ "$(nproc)" -gt 1 ] || {
		echo "skipped: a second core"
		exit 77
	}
	start --admin-listen 127.0.0.1:0
	while make_results "$work/split" && [ "$(stat_of .uploads.helped_parts)" = 0 ]; do
		turn=$((turn + 1))
		[ $turn -lt $max_turns ] || fail "no core has helped"
	done
	stop
	start --admin-listen 127.0.0.1:0 --split-decode off
	make_results "$work/off"
	[ "$(stat_of .uploads.helped_parts)" = 0 ] || fail "a core has helped"
	stop
	diff -r "$work/split" "$work/off" >/dev/null ||
		fail "the results differ"
}

test_results_are_the_same
