#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The largest photos of phones, of 108 and 200 megapixels and 25 to 60 MB, are
# taken by the default limits if little is asked of them, and are refused by
# their estimates of memory and CPU time, or by the size of the result, if not.
# The limits of what one upload may cost are those of smaller files.
#
# usage: DARKROOM=PROGRAM LARGE_PHOTO=PROGRAM test_large.sh
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"

# photo NAME WIDTH HEIGHT QUALITY: make it; it has 25 to 60 MB
photo() {
	"$LARGE_PHOTO" "$2" "$3" "$4" >"$work/$1"
	local bytes
	bytes=$(wc -c <"$work/$1")
	[ "$bytes" -ge 25000000 ] && [ "$bytes" -le 60000000 ] ||
		fail "$1 has $bytes bytes"
}

# gives SIZE FILE QUERY: the result has this size
gives() {
	local size
	curl -fsS -H 'Accept: application/json' --data-binary "@$work/$2" \
		"$url/?$3" -o "$work/body" || fail "$2 $3"
	size=$(jq -r '.variants[0] | "\(.width)x\(.height)"' "$work/body")
	[ "$size" = "$1" ] || fail "$2 $3 gives $size, not $1"
}

# refuses_photo CODE WORDS FILE QUERY: 413 with this code; the detail has WORDS
refuses_photo() {
	expect_problem 413 "$1" --data-binary "@$work/$3" "$url/?$4"
	"$JSON_VALUE" .detail <"$work/body" | has -F -- "$2" ||
		fail "$4: $(shown "$work/body")"
}

test_a_small_result() {
	gives 640x480 108mp 'w=640'
	gives 640x480 200mp 'w=640'
	# A small part of --memory: the body, and a decode at an eighth.
	[ "$(stats .memory.peak_bytes)" -lt 200000000 ] ||
		fail "took $(stats .memory.peak_bytes) bytes"
	check_drained
}

test_a_large_result() {
	local flag=--max-result-megapixels
	refuses_photo picture_too_large "$flag" 108mp ''
	refuses_photo picture_too_large "$flag" 200mp 'q=50'
	refuses_photo output_too_large --max-output-megapixels 200mp \
		'variant=a:w=11000&variant=b:w=11000&variant=c:w=11000'
	check_drained
}

# What the estimates say decides.
test_estimates() {
	start --max-cpu 2s --memory 1G
	gives 640x480 200mp 'w=640'
	refuses_photo too_much_cpu --max-cpu 200mp \
		'w=10000&progressive=1&chroma=444&q=95'
	stop
	start --memory 128M
	gives 640x480 200mp 'w=640'
	expect_problem 413 too_much_memory --data-binary "@$work/200mp" \
		"$url/?w=8000"
	check_drained
	stop
}

# A flag that was given before means what it meant.
test_a_given_limit_is_that_of_results() {
	start --max-megapixels 200
	"$DARKROOM" --max-megapixels 200 --print-config >"$work/config"
	[ "$(jq -c '[."max-result-megapixels", ."max-output-megapixels",
		."max-cpu"]' "$work/config")" = '[200,400,"20s"]' ] ||
		fail "$(cat "$work/config")"
	gives 12000x9000 108mp ''
	stop
}

# A header that lies costs no more than a header may.
test_lies() {
	head -c 200000 "$work/200mp" >"$work/cut"
	# It would be decoded in full, to find what is wrong, or its first rows.
	refuses_photo picture_too_large --max-result-megapixels cut 'w=640'
	refuses_photo picture_too_large --max-result-megapixels cut \
		'w=640&strict=0'
	# 16320 x 16320: above the limit for uploads.
	local at
	at=$(LC_ALL=C grep -obUaP '\xff\xc0' "$work/cut" | head -n 1)
	printf '\x3f\xc0' | dd of="$work/cut" bs=1 seek=$((${at%%:*} + 5)) \
		conv=notrunc status=none
	refuses_photo picture_too_large --max-megapixels cut 'w=640'
	check_drained
}

photo 108mp 12000 9000 90
photo 200mp 16320 12240 85
start
test_a_small_result
test_a_large_result
test_lies
stop
test_estimates
test_a_given_limit_is_that_of_results
