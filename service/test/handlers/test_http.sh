#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The promises of the HTTP API, checked by curl on a real server.
#
# usage: DARKROOM=PROGRAM test_http.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg

test_picture_comes_back() {
	local got
	got=$(curl -sS -o "$work/out.jpg" -D "$work/head" -w '%{http_code}' \
		--data-binary "@$photo" "$url/?w=640&blur=2")
	[ "$got" = 200 ] || fail "status $got"
	grep -qi '^content-type: image/jpeg' "$work/head" || fail "type"
	grep -qi '^x-request-id: ..*' "$work/head" || fail "request id"
	# A baseline JPEG (FFC0) of 480 rows and 640 columns, 3 components.
	xxd -p "$work/out.jpg" | tr -d '\n' | has 'ffc0001108'01e00280'03' ||
		fail "not 640x480"
}

# Server-Timing has the steps in their order.  No step begins before the one
# before it has ended, up to rounding.
test_times_fit() {
	local names
	grep -i '^server-timing:' "$work/head" | tr -d ' \r' |
		cut -d: -f2 | tr ',' '\n' >"$work/times"
	names=$(cut -d';' -f1 "$work/times" | paste -sd ' ')
	[ "$names" = 'body queue decode scale blur encode total' ] ||
		fail "times are of $names"
	[ "$(grep -cE '^[a-z]+;dur=[0-9.]+;start=[0-9.]+$' "$work/times")" = 4 ] ||
		fail "not each step has its start: $(cat "$work/times")"
	awk -F'[;=]' '
		$4 == "start" && $5 < end - 0.002 { exit 1 }
		$4 == "start" { end = $5 + $3 }
		$1 == "body" { end = $3 }
		$1 == "total" && $3 < end - 0.002 { exit 1 }' "$work/times" ||
		fail "steps overlap: $(cat "$work/times")"
}

# A step that the request did not reach has no start.
test_a_failed_upload_has_times() {
	head -c 300000 "$photo" >"$work/half"
	curl -sS -D "$work/head" -o /dev/null --data-binary "@$work/half" "$url/"
	grep -qiE '^server-timing: body;.* decode;dur=[0-9.]+;start=[0-9.]+, scale;dur=0.000, .*total' \
		"$work/head" || fail "$(cat "$work/head")"
}

test_ways_in_agree() {
	curl -fsS --data-binary "@$photo" "$url/?w=200" -o "$work/raw"
	curl -fsS --data-binary "@$photo" "$url/v1/process?w=200" \
		-o "$work/alias"
	curl -fsS -F "anything=@$photo" "$url/?w=200" -o "$work/form"
	curl -fsS -F w=200 -F "image=<$photo" "$url/" \
		-o "$work/field"
	: >"$work/empty"
	curl -fsS -F "unused=@$work/empty;filename=" -F "file=@$photo" \
		"$url/?w=200" -o "$work/second"
	curl -fsS -H 'Expect: 100-continue' --data-binary "@$photo" \
		"$url/?w=200" -o "$work/expect"
	for way in alias form field second expect; do
		cmp "$work/raw" "$work/$way" || fail "$way differs"
	done
}

test_parameters_are_checked() {
	local query
	for query in w=0 w=16385 w=-1 w=1x w= w h=0 fit=crop blur=0.2 blur=101 \
		blur=nan blur=-1 q=0 q=101 width=1 'w=1&w=1' w=%ff; do
		expect_problem 400 bad_parameter --data-binary "@$photo" \
			"$url/?$query"
	done
}

test_problems_have_stable_codes() {
	expect_problem 404 not_found "$url/nothing"
	expect_problem 404 not_found --data-binary "@$photo" "$url/nothing"
	expect_problem 405 method_not_allowed "$url/v1/process"
	grep -qi '^allow: POST' "$work/head" || fail "no Allow"
	expect_problem 405 method_not_allowed -X DELETE "$url/"
	grep -qi '^allow: GET, HEAD, POST' "$work/head" || fail "no Allow"
	expect_problem 405 method_not_allowed --data-binary x "$url/stats"
	expect_problem 411 length_required -H 'Transfer-Encoding: gzip' \
		--data-binary x "$url/"
	grep -q 'Transfer-Encoding may only be' "$work/body" ||
		fail "no reason: $(shown "$work/body")"
	expect_problem 400 empty_body --data-binary '' "$url/"
	expect_problem 411 length_required -H 'Content-Length: 3' \
		-H 'Transfer-Encoding: chunked' --data-binary "@$photo" "$url/"
	expect_problem 400 no_file -F note=hello "$url/"
	expect_problem 400 empty_body -F 'image=' "$url/"
	expect_problem 400 bad_form -H 'Content-Type: multipart/form-data' \
		--data-binary "@$photo" "$url/"
	printf 'II*\0, perhaps' >"$work/text"
	expect_problem 415 not_a_jpeg --data-binary "@$work/text" "$url/"
	grep -q 'The file is a TIFF picture.*; only JPEG.* files are read.' \
		"$work/body" || fail "$(shown "$work/body")"
	head -c 300000 "$photo" >"$work/half"
	expect_problem 422 truncated_jpeg --data-binary "@$work/half" "$url/"
	{ head -c 300000 "$photo"; head -c 1000 /dev/zero | tr '\0' '\377'
		tail -c 300000 "$photo"; } >"$work/broken"
	expect_problem 422 corrupt_jpeg --data-binary "@$work/broken" "$url/"
	# Make a copy whose frame headers (FFC0) say 12 bits per sample.
	xxd -p "$photo" | tr -d '\n' | sed 's/ffc0001108/ffc000110c/g' |
		xxd -r -p >"$work/deep"
	expect_problem 415 unsupported_jpeg --data-binary "@$work/deep" "$url/"
}

test_connection_outlives_errors() {
	local got
	got=$(curl -sS -o /dev/null -o /dev/null -o /dev/null \
		-w '%{num_connects}' -H 'Expect:' --data-binary "@$photo" \
		"$url/?w=0" "$url/nothing" "$url/?w=50")
	[ "$got" = 100 ] || fail "new connections: $got"
}

# explained STATUS CODE TEXT CURL-ARGUMENTS...: expect this problem, with a detail
# that has the text
explained() {
	expect_problem "$1" "$2" "${@:4}"
	"$JSON_VALUE" .detail <"$work/body" | has -F -- "$3" ||
		fail "not '$3': $(shown "$work/body")"
}

# A wrong path, method or field: the problem has what was sent, and what to send
# instead.
test_problems_say_what_to_do() {
	set -- --data-binary "@$photo"
	explained 404 not_found \
		'There is nothing at /photo.jpg; uploads go to POST / or POST /v1/images.' \
		-T "$photo" "$url/photo.jpg"
	explained 404 not_found 'nothing at /a?b; uploads' "$@" "$url/a%09b"
	explained 404 not_found 'There is nothing at this path.' "$url/photo.jpg"
	explained 405 method_not_allowed 'This path takes POST, not GET.' \
		"$url/v1/process"
	explained 405 method_not_allowed \
		'This path takes GET, HEAD, POST, not PUT.' -X PUT "$url/"
	explained 400 bad_parameter "There is no parameter 'submit'." "$@" \
		"$url/?submit=Send"
	! grep -q button "$work/body" || fail "a button in a query"
	explained 400 bad_parameter 'respond is only for POST /v1/images.' "$@" \
		"$url/?respond=decoded"
	explained 404 no_store 'start it with --store' "$@" "$url/v1/images"
	explained 413 picture_too_large \
		'allows 100 megapixels. Ask for a smaller one with w or h.' "$@" \
		"$url/?w=16384&h=16384&fit=fill&enlarge=1"
}

# curl --data removes all NUL, CR and LF.
test_curl_data_is_explained() {
	local file hint="curl's --data removes these bytes; use --data-binary."
	for file in "$photo" "$1"/*.jpg; do
		curl -sS -o "$work/body" --data "@$file" "$url/?w=64"
		[[ $("$JSON_VALUE" .status <"$work/body") = 4?? ]] &&
			"$JSON_VALUE" .detail <"$work/body" | has -F "$hint" ||
			fail "$file: $(shown "$work/body")"
	done
	printf '\x89PNG\r\n\x1a\n%0100d' 0 >"$work/png"
	explained 415 not_a_jpeg "$hint" --data "@$work/png" "$url/"
	printf 'II*\0%0100d' 0 >"$work/tiff"
	explained 415 not_a_jpeg 'The file is a TIFF picture' \
		--data-binary "@$work/tiff" "$url/"
	# Text has no such bytes anyway.
	explained 415 not_a_jpeg 'The file is text' \
		--data "$(printf 'x%.0s' {1..100}) naïve" "$url/"
	head -c 300000 "$photo" >"$work/half"
	explained 422 truncated_jpeg 'ends before its last pixel' \
		--data-binary "@$work/half" "$url/"
}

# spans_of CURL-ARGUMENTS...: print trace, span and flags of the reply's
# traceparent, if there is one
spans_of() {
	curl -sS -o /dev/null -D - "$@" | tr -d '\r' |
		sed -nE 's/^traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-(0[01])$/\1 \2 \3/p'
}

test_traces_are_joined() {
	local trace=4bf92f3577b34da6a3ce929d0e0e4736 parent=00f067aa0ba902b7
	local given="traceparent: 00-$trace-$parent-01" target got first=
	for target in '/?w=64' '/?w=0' /nothing; do
		got=$(spans_of -H "$given" --data-binary "@$photo" "$url$target")
		[[ $got = "$trace "*' 01' ]] || fail "$target is of '$got'"
		[[ $got != *"$parent"* ]] || fail "$target has no span of its own"
		[ "$got" != "$first" ] || fail "two requests are the same span"
		first=$got
	done
	got=$(spans_of -H "TraceParent:  ${given#*: } " "$url/healthz")
	[[ $got = "$trace "* ]] || fail "neither case nor blanks matter"
	got=$(spans_of -H "${given/%01/00}" "$url/healthz")
	[[ $got = *' 00' ]] || fail "the caller did not sample: '$got'"
	got=$(spans_of -H "$given" -H 'Transfer-Encoding: gzip' -d x "$url/")
	[[ $got = "$trace "* ]] || fail "not of a reply before the body"
}

test_no_trace_is_no_error() {
	local given='traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
	curl -fsS -D "$work/head" -o /dev/null "$url/healthz" \
		-H "$given" -H "$given" \
		--next -fsS -D - -o /dev/null "$url/healthz" \
		--next -fsS -D - -o /dev/null "$url/healthz" \
		-H "${given/00-/ff-}" -H 'tracestate: a=1' >>"$work/head"
	[ "$(grep -c '^HTTP/1.1 200' "$work/head")" = 3 ] ||
		fail "not three replies: $(cat "$work/head")"
	! grep -i '^trace' "$work/head" || fail "a trace of nobody"
}

# is_over VALUE LIMIT UNIT DETAIL: the last problem has these members
is_over() {
	[ "$(jq -c '[.value, .limit, .unit, .detail]' "$work/body")" = \
		"$(jq -nc --arg unit "$3" --arg detail "$4" "[$1, $2, \$unit, \$detail]")" ] ||
		fail "not $*: $(shown "$work/body")"
}

test_limits_are_kept() {
	head -c 1100000 /dev/zero >"$work/large"
	expect_problem 413 body_too_large --data-binary "@$work/large" "$url/"
	# The body is only announced, because sending to a connection that
	# closes may fail.
	expect_problem 413 body_too_large -H 'Expect:' \
		-H 'Content-Length: 1100000' --data-binary x "$url/"
	is_over 1100000 1048576 bytes \
		'The body has 1.05 MiB; --max-body allows 1 MiB.'
	expect_problem 413 picture_too_large --data-binary "@$photo" "$url/"
	is_over 3000000 2000000 pixels \
		'The picture has 2000 x 1500 pixels, 3 megapixels; --max-megapixels allows 2 megapixels.'
	expect_problem 414 target_too_long "$url/$(printf '%020000d' 0)"
	is_over 20001 16384 bytes 'The target has 19.5 KiB; at most 16 KiB are taken.'
	expect_problem 414 target_too_long "$url/?$(printf 'x&%.0s' {1..64})x"
	is_over 65 64 parameters \
		'The query has 65 parameters; at most 64 parameters are taken.'
	expect_problem 431 headers_too_large -H "X: $(printf '%070000d' 0)" "$url/"
	[[ $("$JSON_VALUE" .detail <"$work/body") = 'The head has 68.'*' KiB; at most 64 KiB are taken.' ]] ||
		fail "$(shown "$work/body")"
	expect_problem 400 bad_parameter --data-binary "@$photo" "$url/?w=0"
	holds "$work/body" 'has("limit") or has("unit") | not'
}

test_other_limits_are_told() {
	start --max-side 1999 --max-scans 3
	expect_problem 413 picture_too_large --data-binary "@$photo" "$url/"
	is_over 2000 1999 'pixels per side' \
		'The picture has 2000 x 1500 pixels; --max-side allows 1999.'
	stop
	start --max-scans 3 --max-cpu 1ms
	expect_problem 413 too_much_cpu --data-binary "@$photo" "$url/?w=2000"
	holds "$work/body" '.limit == 0.001 and .value > .limit and
		.unit == "seconds"'
	[[ $("$JSON_VALUE" .detail <"$work/body") = *' s of CPU time; --max-cpu allows 0.001 s.' ]] ||
		fail "$(shown "$work/body")"
	stop
	start
	curl -fsS --data-binary "@$photo" "$url/?w=300&progressive=1" \
		-o "$work/scans.jpg"
	stop
	start --max-scans 3 --memory 8M
	expect_problem 422 too_many_scans --data-binary "@$work/scans.jpg" "$url/"
	is_over null 3 scans \
		'The JPEG of 300 x 225 pixels has more scans than --max-scans allows for its size, 3.'
	expect_problem 413 too_much_memory --data-binary "@$photo" \
		"$url/?w=4000&enlarge=1"
	holds "$work/body" '.unit == "bytes" and .value > .limit'
	[[ $("$JSON_VALUE" .detail <"$work/body") = 'The upload and its results need '*' MiB of memory; --memory leaves 7.5 MiB for all uploads.' ]] ||
		fail "$(shown "$work/body")"
	stop
}

# Clients that disconnect while they send, and while their upload is in the
# stages.
test_lost_clients_do_no_harm() {
	local _
	for _ in 1 2 3 4; do
		timeout 0.05 curl -sS --limit-rate 2M --data-binary "@$photo" \
			"$url/?w=640" -o /dev/null || true
		timeout 0.1 curl -sS --data-binary "@$photo" \
			"$url/?blur=8" -o /dev/null || true
	done
	curl -fsS "$url/healthz" | has ok || fail "not healthy"
}

test_bad_flags_refuse_to_start() {
	refuses --frobnicate --frobnicate
	refuses fifo --policy fifo
	refuses 127.0.0.1 --listen 127.0.0.1
	refuses 99999 --listen 127.0.0.1:99999
	refuses 192.0.2.1:80 --listen 192.0.2.1:80
	# These addresses are in use or do not exist.  A later start may
	# succeed, so the status is 1, not 2.
	ends_with 1 "${url#http://}" --listen "${url#http://}"
	ends_with 1 192.0.2.1:8080 --insecure --listen 192.0.2.1:8080
	ends_with 1 192.0.2.1:8080 --listen 127.0.0.1:0 --insecure \
		--admin-listen 192.0.2.1:8080
	refuses 4095 --cores 4095
	refuses 1023 --balance replicate=1023
	refuses 1000000 --max-connections 1000000
}

start --max-uploads 64
test_picture_comes_back
test_times_fit
test_a_failed_upload_has_times
test_ways_in_agree
test_parameters_are_checked
test_problems_have_stable_codes
test_connection_outlives_errors
test_problems_say_what_to_do
test_curl_data_is_explained "$1"
test_traces_are_joined
test_no_trace_is_no_error
test_lost_clients_do_no_harm
test_bad_flags_refuse_to_start
check_drained
stop

start --max-body 1 --max-megapixels 2
test_limits_are_kept
stop
test_other_limits_are_told
