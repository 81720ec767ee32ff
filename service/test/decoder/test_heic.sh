#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# HEIC is read by darkroom-heif: as phones write it, to any format.  Broken
# files and killed processes cost their own request.  Without the program, and
# with an --isolate that lacks it, a HEIC is named and not read; and so it is if
# the program is of another version, which the log says.
#
# usage: DARKROOM=PROGRAM test_heic.sh HEIC_FILE
. "$(dirname "$0")/isolated.sh"
heic_file=$(realpath "$1")
cd "$work"
printf 'P6\n1 1\n255\nabc' >ppm

# status FILE QUERY: the reply is in `body`
status() {
	curl -sS -o body -w '%{http_code}' --data-binary "@$1" "$url/?$2"
}

# has_size FILE SIZE: as a PPM
has_size() {
	[ "$(status "$1" format=ppm)" = 200 ] || fail "$1: $(shown body)"
	[ "$(sed -n 2p body | tr -d '\0')" = "$2" ] || fail "$1 is no $2"
}

# processes NAME PARENT...: children of these processes with this name
processes() {
	local name=$1 parent pid
	shift
	for parent; do
		for pid in $(cat "/proc/$parent/task/$parent/children"); do
			[ "$(<"/proc/$pid/comm")" != "$name" ] || echo "$pid"
		done
	done
}
program() {
	processes darkroom-heif "$server"
}

test_phones_files_are_read() {
	local kind format
	for kind in plain phone alpha wide; do
		"$heic_file" "$kind" >"$kind.heic"
	done
	stat_of .formats | grep -q heic || fail "/stats: $(stat_of .formats)"
	has_size plain.heic '200 150'
	has_size phone.heic '378 504'
	has_size alpha.heic '200 150'
	has_size wide.heic '200 150'
	for format in $(stat_of .formats | tr '[]",' ' '); do
		case $format in
		gif | heic) ;;
		*) [ "$(status phone.heic "w=90&format=$format")" = 200 ] ||
			fail "$format: $(shown body)" ;;
		esac
	done
	[ "$(status phone.heic 'w=90&gainmap=keep')" = 200 ] ||
		fail "a phone's gain map: $(shown body)"
	has -aF hdrgm:GainMapMax <body || fail "the gain map is lost"
	[ "$(number lost)" = 0 ] || fail "lost: $(number lost)"
}

test_broken_files_are_refused() {
	local at code
	head -c 9000 plain.heic >cut.heic
	expect_problem 422 truncated_picture --data-binary @cut.heic "$url/"
	for at in 60 200 700 1500 9000 30000; do
		{ head -c $at phone.heic; printf '%040d' 0
			tail -c +$((at + 41)) phone.heic; } >broken.heic
		code=$(status broken.heic w=50)
		[[ $code == @(200|415|422) ]] || fail "$at: $code"
	done
	has_size plain.heic '200 150'
}

test_killed_processes_cost_their_files() {
	local i pid forker killed=0 refused
	for ((i = 0; i < 100; i++)); do
		echo "$(status phone.heic w=50)"
	done >codes &
	for ((i = 0; i < 40; i++)); do
		forker=$(processes decoder-forker $(program))
		for pid in $(processes decoder-lane $forker) \
			$([ $((i % 4)) != 3 ] || echo "$forker"); do
			kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
		done
		sleep 0.02
	done
	wait $!
	! grep -vqE '200|422' codes || fail "$(sort codes | uniq -c)"
	refused=$(grep -vc 200 codes || true)
	[ "$refused" -le "$killed" ] || fail "$refused of $killed"
	has_size plain.heic '200 150'
}

test_without_the_program_others_are_read() {
	kill -KILL "$(program)"
	expect_problem 503 decoder_down --data-binary @plain.heic "$url/"
	[ "$(status ppm format=ppm)" = 200 ] || fail "$(shown body)"
	grep -q 'darkroom-heif has ended: ' log || fail "the log does not say so"
}

# refused: HEIC is named, and not among what is read
refused() {
	expect_problem 415 not_a_jpeg --data-binary @plain.heic "$url/"
	"$JSON_VALUE" .detail <body >detail
	grep -q 'is a HEIC picture; only JPEG' detail || fail "$(cat detail)"
	! grep -q 'HEIC files' detail || fail "$(cat detail)"
	! stat_of .formats | grep -q heic || fail "/stats: $(stat_of .formats)"
}

test_not_installed() {
	local folder
	folder=$(dirname "$DARKROOM")
	mkdir without
	cp "$DARKROOM" "$folder/darkroom-decoder" without/
	without/darkroom --check-config
	DARKROOM=without/darkroom start
	refused
	stop
	without/darkroom --listen 127.0.0.1:0 --isolate heic >out 2>&1 &&
		fail "it started"
	grep -q 'darkroom-heif is not beside' out || fail "$(cat out)"
	start --isolate none
	refused
	stop
}

# put_program LINE: a folder whose darkroom-heif is a script of this line
put_program() {
	mkdir -p other
	cp "$DARKROOM" "$(dirname "$DARKROOM")/darkroom-decoder" other/
	printf '#!/bin/sh\n%s\n' "$1" >other/darkroom-heif
	chmod +x other/darkroom-heif
}

# left_out TEXT: the server starts without it, and the log says why
left_out() {
	DARKROOM=other/darkroom start
	grep -q "HEIC is not read: .*other/darkroom-heif $1" log ||
		fail "$(cat log)"
	refused
	stop
	other/darkroom --listen 127.0.0.1:0 --isolate heic >out 2>&1 &&
		fail "it started"
	grep -q "isolate: 'heic': .*other/darkroom-heif $1" out || fail "$(cat out)"
}

test_other_programs_are_left_out() {
	local program
	program=$(dirname "$DARKROOM")/darkroom-heif
	put_program "exec $program other \"\$2\" \"\$3\""
	left_out 'is of another version: it has .*protocol .*, and this program'
	put_program 'exit 1'
	left_out 'does not start'
}

start
test_phones_files_are_read
test_broken_files_are_refused
test_killed_processes_cost_their_files
test_without_the_program_others_are_read
stop
test_not_installed
test_other_programs_are_left_out
