#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --memory: uploads never get more memory than this.  An upload for which there
# is no memory is refused with 503.  All memory is given back in the end.  An
# upload that could never fit gets another error.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_memory.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$1
mib=$((1 << 20))
own_bytes=$((32 * mib)) # docs/operations/limits.md, 'Memory'
connection_bytes=$((152 << 10))

# Photos of 4 MB: bytes after the last pixel are ignored.
mkdir "$work/large"
for photo in "$dir"/*.jpg; do
	{ cat "$photo"; head -c 3500000 /dev/zero; } \
		>"$work/large/${photo##*/}"
done

# The client may have a reply before the server has counted its end.
check_all_given_back() {
	local _
	for _ in $patience; do
		[ "$(stat_of '.memory.used_bytes == 0 and
			.buffers.live_bytes == 0')" = true ] && return
		sleep 0.05
	done
	fail "still charged: $(curl -fsS "$url/stats" | jq -c .memory,.buffers)"
}

# test_overload_stays_within CONNECTIONS FLAGS...: each upload asks for a result
# of 12 megapixels or more
test_overload_stays_within() {
	local connections=$1 peak
	needs memory_refusals || return 0
	shift
	start --memory 128M "$@"
	"$LOADGEN" --dataset "$work/large" --connections "$connections" \
		--passes 64 --save "$work/saved" --json "$work/json" \
		"$url/?w=4000&enlarge=1" >"$work/report" 2>&1 || true
	[ "$(jq '.responses["503"] > 0 and .responses["200"] > 0 and
		.responses["200"] + .responses["503"] == .requests and
		.transport_errors == 0' "$work/json")" = true ] ||
		fail "$*: $(jq -c .responses "$work/json")"
	[ "$(stat_of '.memory.peak_bytes <= .memory.limit_bytes and
		.memory.limit_bytes <= 128 * 1048576 and
		.memory.peak_bytes > .memory.limit_bytes / 2')" = true ] ||
		fail "$*: $(curl -fsS "$url/stats" | jq -c .memory)"
	# No accepted upload was aborted: all refused uploads were refused for
	# lack of memory.
	[ "$(stat_of '"\(.memory.refused) \(.uploads.refused)"')" = \
		"$(jq -r '.responses["503"] | "\(.) \(.)"' "$work/json")" ] ||
		fail "$*: refused is not what clients saw"
	peak=$(stat_of .memory_peak_bytes)
	[ -n "${SANITIZED:-}" ] ||
		[ "$peak" -le $((128 * mib + own_bytes +
			connections * connection_bytes)) ] ||
		fail "$*: the process had $peak bytes"
	check_drained
	check_all_given_back
	# The server continues.
	curl -fsS --data-binary "@$dir/clownfish.jpg" "$url/?w=640" \
		-o "$work/out" || fail "$*: does not go on"
	check_all_given_back
	stop
}

test_what_never_fits_is_told_apart() {
	start --memory 8M
	head -c 9000000 /dev/zero >"$work/upload"
	expect_problem 413 too_much_memory --data-binary "@$work/upload" "$url/"
	expect_problem 413 too_much_memory -H 'Expect: 100-continue' \
		--data-binary "@$work/upload" "$url/"
	# The body fits into memory, but not together with its picture.
	expect_problem 413 too_much_memory \
		--data-binary "@$dir/clownfish.jpg" "$url/?w=4000&enlarge=1"
	check_all_given_back
	curl -fsS --data-binary "@$dir/clownfish.jpg" "$url/?w=300" \
		-o "$work/out" || fail "what fits is refused"
	[ "$(stat_of '.memory.refused == 3 and .uploads.refused == 3')" = \
		true ] || fail "refused"
	check_all_given_back
	stop
}

# send_part FD BYTES PART: send the head of an upload of BYTES, and PART bytes
# of its body
send_part() {
	local fd=$1 bytes=$2 part=$3
	printf 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' \
		"$bytes" >&"$fd"
	{ printf '\xff\xd8'; head -c "$part" /dev/zero; } >&"$fd"
}

# Half of one upload has arrived, so the other one does not find enough memory.
test_full_is_said_before_the_body() {
	local fd _
	needs memory_refusals || return 0
	start --memory 16M
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	send_part "$fd" $((9 * mib)) $((5 * mib))
	for _ in $patience; do
		[ "$(stat_of ".memory.used_bytes >= 9 * $mib")" != true ] ||
			break
		sleep 0.05
	done
	expect_problem 503 memory_full -H 'Expect: 100-continue' \
		-H "Content-Length: $((9 * mib))" --data-binary x "$url/"
	grep -qiE '^retry-after: [1-9][0-9]*' "$work/head" || fail "Retry-After"
	[ "$(stat_of .uploads.refused)" = 1 ] || fail "is not counted"
	# If a client disconnects before the body has arrived, all memory is
	# given back.
	exec {fd}>&-
	check_all_given_back
	stop
}

# A client that announces a large body and sends little of it takes little
# memory.
test_slow_bodies_leave_room() {
	local fd all=() count _
	needs memory_refusals || return 0
	start --memory 128M "$@"
	for count in $(seq 24); do
		exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
		all+=("$fd")
		send_part "$fd" $((30 * mib)) 50000
	done
	for _ in $patience; do
		[ "$(stat_of ".memory.used_bytes >= 24 * 65536")" != true ] ||
			break
		sleep 0.05
	done
	[ "$(stat_of ".memory.used_bytes < 4 * $mib")" = true ] ||
		fail "$*: slow bodies are charged $(stat_of .memory.used_bytes)"
	for _ in $(seq 8); do
		curl -fsS --data-binary "@$dir/clownfish.jpg" "$url/?w=640" \
			-o "$work/out" || fail "$*: slow bodies keep others out"
	done
	for fd in "${all[@]}"; do
		exec {fd}>&-
	done
	check_all_given_back
	stop
}

# However an upload ends, it gives all its memory back.
test_errors_give_all_back() {
	start --memory 64M
	head -c 300000 "$dir/clownfish.jpg" >"$work/half"
	expect_problem 422 truncated_jpeg --data-binary "@$work/half" "$url/"
	expect_problem 400 empty_body --data-binary '' "$url/"
	expect_problem 400 no_file -F note=hello "$url/"
	expect_problem 400 bad_form -H 'Content-Type: multipart/form-data' \
		--data-binary "@$work/half" "$url/"
	expect_problem 400 bad_parameter --data-binary "@$work/half" "$url/?w=0"
	expect_problem 415 not_a_jpeg --data-binary '%PDF-1.7' "$url/"
	curl -fsS -F "file=@$dir/clownfish.jpg" "$url/?w=640" -o "$work/out" ||
		fail "a form is refused"
	check_all_given_back
	stop
}

with_policies 'default thread-per-connection' test_overload_stays_within 64
test_what_never_fits_is_told_apart
test_full_is_said_before_the_body
with_policies 'default thread-per-connection' test_slow_bodies_leave_room
test_errors_give_all_back
