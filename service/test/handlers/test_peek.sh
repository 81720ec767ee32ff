#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# If a picture is refused because of its header, the server notices this while
# the body still arrives.  From then on its memory is free.  The answer is the
# same as after a whole body, and the connection can be used again.
#
# usage: DARKROOM=PROGRAM test_peek.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
header_bytes=14599 # of it

form_around() {
	printf -- '--frontier\r\n'
	printf 'Content-Disposition: form-data; name="q"\r\n\r\n80\r\n'
	printf -- '--frontier\r\nContent-Disposition: form-data; name="file"; '
	printf 'filename="a.jpg"\r\n\r\n'
	cat "$1"
	printf '\r\n--frontier--\r\n'
}

used_becomes() {
	local _
	for _ in $patience; do
		[ "$(stat_of ".memory.used_bytes $1")" != true ] || return 0
		sleep 0.05
	done
	fail "memory in use is not $1: $(stat_of .memory.used_bytes)"
}

# begin BODY TYPE QUERY: send the head of a request, and the first byte of its
# body
begin() {
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'POST /?%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n' \
		"$3" "$2" >&"$fd"
	printf 'Content-Length: %d\r\n\r\n' "$(stat -c %s "$1")" >&"$fd"
	head -c 1 "$1" >&"$fd"
}

# finish: send one more request, which closes the connection, and write both
# replies to $work/replies
finish() {
	printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' \
		>&"$fd"
	cat <&"$fd" >"$work/replies"
	exec {fd}>&-
	tail -c 3 "$work/replies" | has ok || fail "connection lost"
}

# Send the header byte by byte, so that it may end in any piece.  Then send
# 16,000 more bytes, because the server searches for the end of the header each
# time the bytes have doubled.
refused_early() {
	local status=$1 code=$2 body=$3
	begin "$body" "$4" "$5"
	used_becomes '> 0'
	{ dd bs=1 skip=1 count=$header_bytes <"$body"
		dd bs=1000 skip=$((header_bytes + 1)) iflag=skip_bytes count=16 \
			<"$body"; } 2>"$work/dd" >&"$fd"
	used_becomes '== 0'
	tail -c +$((header_bytes + 16002)) "$body" >&"$fd"
	finish
	grep -q "^HTTP/1.1 $status " "$work/replies" ||
		fail "not $status: $(shown "$work/replies")"
	grep -q "\"$code\"" "$work/replies" ||
		fail "not $code: $(shown "$work/replies")"
}

test_refused_while_it_comes() {
	form_around "$photo" >"$work/form"
	head -c 300000 /dev/zero >"$work/zeros"
	start "$@" --max-megapixels 2
	refused_early 413 picture_too_large "$photo" image/jpeg w=64
	refused_early 413 picture_too_large "$work/form" \
		'multipart/form-data; boundary=frontier' w=64
	# A field before the file is also refused early.
	sed 's/name="q"/name="w"/' "$work/form" >"$work/wrong"
	refused_early 400 bad_parameter "$work/wrong" \
		'multipart/form-data; boundary=frontier' w=64
	refused_early 415 not_a_jpeg "$work/zeros" image/jpeg w=64
	[ "$(stat_of .uploads.sent)" = 0 ] || fail "the pipeline had it"
	stop
	start "$@" --max-output-megapixels 2.9 --max-cpu 1ms
	refused_early 413 output_too_large "$photo" image/jpeg ''
	refused_early 413 too_much_cpu "$photo" image/jpeg w=1000
	stop
	start "$@" --memory 8M
	refused_early 413 too_much_memory "$photo" image/jpeg \
		'w=4000&enlarge=1'
	[ "$(stat_of '.memory.refused == 1 and .uploads.refused == 1')" = \
		true ] || fail "is not counted"
	stop
}

test_others_are_not() {
	start
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/expected"
	begin "$photo" image/jpeg w=64
	dd bs=1 skip=1 count=$((2 * header_bytes)) <"$photo" 2>"$work/dd" >&"$fd"
	tail -c +$((2 * header_bytes + 2)) "$photo" >&"$fd"
	finish
	LC_ALL=C sed '1,/^\r$/d' "$work/replies" |
		head -c "$(stat -c %s "$work/expected")" |
		cmp - "$work/expected" || fail "$(shown "$work/replies")"
	stop
}

with_policies 'default thread-per-connection' test_refused_while_it_comes
test_others_are_not
