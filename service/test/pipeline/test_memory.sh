#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --memory: uploads never get more memory than this.  An upload for which there
# is no memory is refused with 503.  All memory is given back in the end.  An
# upload that could never fit gets another error.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_memory.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
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

# The same with 40 bodies at once, half of them to tickets and half as parts, in
# chunks: all that were not refused become images.
test_overload_by_tickets() {
	local way i photo=$work/large/clownfish.jpg header refused
	needs memory_refusals || return 0
	mkdir "$work/store"
	start --memory 128M --store "$work/store" "$@"
	for i in $(seq 20); do
		for way in ticket_chunks tus_chunks; do
			aim $way "w=$((1500 + i))&enlarge=1"
			printf '%s = "%s"\n' url "$url$way_target" \
				request "$way_method" data-binary "@$photo" \
				output "$work/out" write-out '%{http_code}\n' \
				header "Upload-Length: $(stat -c %s "$photo")"
			for header in "${way_headers[@]}"; do
				printf 'header = "%s"\n' "$header"
			done
			echo next
		done
	done | sed '$d' >"$work/config"
	curl -sS -Z --no-progress-meter --parallel-max 40 --parallel-immediate \
		-K "$work/config" >"$work/codes"
	refused=$(grep -c 503 "$work/codes")
	[ "$refused" -gt 0 ] && ! grep -vE '^(201|204|503)$' "$work/codes" ||
		fail "$(sort "$work/codes" | uniq -c)"
	[ "$(stats .inbox.ended)" = $((40 - refused)) ] ||
		fail "$refused refused, but $(stats .inbox)"
	[ "$(stat_of '.memory.peak_bytes <= .memory.limit_bytes')" = true ] ||
		fail "$(stats .memory)"
	[ -n "${SANITIZED:-}" ] || [ "$(stats .memory_peak_bytes)" -le \
		$((128 * mib + own_bytes + 40 * connection_bytes)) ] ||
		fail "the process had $(stats .memory_peak_bytes) bytes"
	check_drained
	check_all_given_back
	stop
	rm -r "$work/store"
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
	local fd all=() way _
	needs memory_refusals || return 0
	mkdir "$work/store"
	start --memory 128M --store "$work/store" "$@"
	{ printf '\xff\xd8'; head -c 50000 /dev/zero; } >"$work/part"
	for way in $ways $ways $ways $ways; do
		aim "$way"
		begin_by_way fd "$work/part" $((30 * mib))
		all+=("$fd")
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
	rm -r "$work/store"
}

# However an upload ends, it gives all its memory back.
test_errors_give_all_back() {
	local way
	mkdir "$work/store"
	start --memory 64M --store "$work/store"
	head -c 300000 "$dir/clownfish.jpg" >"$work/half"
	: >"$work/empty"
	printf '%%PDF-1.7' >"$work/pdf"
	for way in $ways; do
		aim "$way"
		problem_by_way 422 truncated_jpeg "$work/half"
		aim "$way"
		problem_by_way 400 empty_body "$work/empty"
		problem_by_way 415 not_a_jpeg "$work/pdf"
	done
	expect_problem 400 no_file -F note=hello "$url/"
	expect_problem 400 bad_form -H 'Content-Type: multipart/form-data' \
		--data-binary "@$work/half" "$url/"
	expect_problem 400 bad_parameter --data-binary "@$work/half" "$url/?w=0"
	curl -fsS -F "file=@$dir/clownfish.jpg" "$url/?w=640" -o "$work/out" ||
		fail "a form is refused"
	check_all_given_back
	stop
}

with_policies 'default thread-per-connection' test_overload_stays_within 64
test_overload_by_tickets
test_what_never_fits_is_told_apart
test_full_is_said_before_the_body
with_policies 'default thread-per-connection' test_slow_bodies_leave_room
test_errors_give_all_back
