#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bodies in chunks, of unknown length, are taken as others are, from the programs
# that send them; and they have the same limits of size, memory and time, also if
# they are sent to a ticket, or as a part of an upload.
#
# usage: DARKROOM=PROGRAM test_chunked.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$1/clownfish.jpg
mib=$((1 << 20))
chunked='Transfer-Encoding: chunked'
trap '' PIPE # a server that closes early must not end the test

# uploads FLAGS...: start a server, and upload the photo in several ways
uploads() {
	start_empty "$@"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/expected"
	# From a pipe, of which curl does not know the length.
	cat "$photo" | curl -fsS -X POST -T - "$url/?w=64" -o "$work/out"
	cmp "$work/expected" "$work/out" || fail "another result"
	# Over one connection, as a form, and with "100 Continue".
	[ "$(curl -fsS -w '%{num_connects} ' \
		-H "$chunked" -F "file=@$photo" "$url/?w=64" -o "$work/out" \
		--next -fsS -w '%{num_connects} ' -H "$chunked" -F w=64 \
		-F "file=@$photo" -F q=85 "$url/" -o "$work/fields" \
		--next -fsS -w '%{num_connects} ' -H "$chunked" -D "$work/head" \
		-H 'Expect: 100-continue' --data-binary "@$photo" \
		"$url/?w=64" -o "$work/asked" \
		--next -fsS -w '%{num_connects} ' "$url/healthz" \
		-o "$work/ok")" = '1 0 0 0 ' ] || fail "the connection ended"
	cmp "$work/expected" "$work/out" || fail "another result of a form"
	[ -s "$work/fields" ] || fail "nothing of a form with fields"
	cmp "$work/expected" "$work/asked" || fail "another result after 100"
	grep -q '^HTTP/1.1 100' "$work/head" || fail "no 100 Continue"
	# A body without a picture that is sent, and one that is not needed.
	[ "$(printf '' | curl -sS -X POST -T - "$url/" -o "$work/out" \
		-w '%{http_code}')" = 400 ] || fail "no 400 for an empty body"
	curl -fsS -H "$chunked" --data-binary "@$photo" "$url/v1/images?w=64" \
		-o "$work/out"
	[ "$(cat "$photo" | curl -sS -X POST -T - "$url/v1/images?w=64&respond=decoded" \
		-o "$work/out" -w '%{http_code}')" -lt 300 ] || fail "not stored"
	check_drained
	stop
}

test_chunks_give_the_same() {
	uploads
}

test_chunks_over_tls() {
	have openssl || return 0
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
		-keyout "$work/key.pem" -out "$work/cert.pem" -days 2 \
		-subj /CN=localhost 2>/dev/null
	start --tls-cert "$work/cert.pem" --tls-key "$work/key.pem" --max-body 1M
	url=https${url#http} admin=$url
	curl -kfsS --data-binary "@$photo" "$url/?w=64" -o "$work/expected"
	[ "$(curl -kfsS -w '%{num_connects} ' -H "$chunked" \
		--data-binary "@$photo" "$url/?w=64" -o "$work/out" \
		--next -kfsS -w '%{num_connects} ' "$url/healthz" \
		-o "$work/ok")" = '1 0 ' ] || fail "the connection ended"
	cmp "$work/expected" "$work/out" || fail "another result"
	expect_problem 413 body_too_large -k -H "$chunked" \
		--data-binary "@$work/large" "$url/"
	expect_problem 400 empty_body -k -H "$chunked" -d '' "$url/"
	stop
}

# Streams of Node, which has no length for them; the second over the connection
# of the first.
test_streams_of_node() {
	have node || return 0
	cat >"$work/stream.mjs" <<'END'
import { createReadStream } from "node:fs";
import { Agent, request } from "node:http";
import { Readable } from "node:stream";
const [, , url, photo] = process.argv;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const send = (body) => new Promise((resolve, reject) => {
	const r = request(url, { method: "POST", agent }, (reply) => {
		let bytes = 0;
		reply.on("data", (data) => (bytes += data.length));
		reply.on("end", () => resolve(
			`${reply.statusCode} ${r.reusedSocket} ${bytes > 100}`));
	});
	r.on("error", reject);
	body.pipe(r);
});
console.log(await send(createReadStream(photo)));
/* Chunks of a few bytes. */
console.log(await send(createReadStream(photo, { highWaterMark: 100 })));
const reply = await fetch(url, {
	method: "POST", duplex: "half",
	body: Readable.toWeb(createReadStream(photo)),
});
console.log(reply.status);
agent.destroy();
END
	start
	timeout 120 node "$work/stream.mjs" "$url/?w=64" "$photo" >"$work/out"
	[ "$(paste -sd ' ' "$work/out")" = '200 false true 200 true true 200' ] ||
		fail "$(shown "$work/out")"
	stop
}

chunk_ways='chunks ticket_chunks tus_chunks'

# endless STATUS COMMAND...: this body, which never ends, is refused so
endless() {
	local status=$1 headers=() header
	shift
	wait_for_ticket
	for header in "${way_headers[@]}"; do
		headers+=(-H "$header")
	done
	[ "$("$@" 2>/dev/null | timeout 60 curl -sS -X "$way_method" -T - \
		"${headers[@]}" "$url$way_target" -o "$work/out" \
		-w '%{http_code}' 2>/dev/null)" = "$status" ] ||
		fail "$way_method: no $status for an endless body"
}

photo_and_more() {
	cat "$photo"
	yes
}

# A client that would never stop is refused when it exceeds the limit.
test_a_body_has_a_limit() {
	local way limit=1048576
	start_empty --max-body 1M
	head -c $mib "$work/large" >"$work/most"
	for way in $chunk_ways; do
		aim $way
		problem_by_way 413 body_too_large "$work/large"
		[ "$("$JSON_VALUE" .limit .unit <"$work/body")" = \
			$'1048576\nbytes' ] || fail "no limit: $(shown "$work/body")"
		[ "$("$JSON_VALUE" .value <"$work/body")" -gt $limit ] ||
			fail "no number: $(shown "$work/body")"
		endless 413 photo_and_more
		# Also if it was refused before that.
		endless 415 yes
		[ "$(send_by_way "$work/most")" = $way_done ] ||
			fail "$way: what is not over the limit is refused"
	done
	# Or is not needed.
	aim chunks '' /nothing
	endless 404 yes
	# The limit of a ticket is lower.
	for way in ticket_chunks tus_chunks; do
		aim $way 'w=64&max_body=1000'
		problem_by_way 413 body_too_large "$photo"
		[ "$("$JSON_VALUE" .limit <"$work/body")" = 1000 ] ||
			fail "no limit: $(shown "$work/body")"
		endless 413 photo_and_more
	done
	check_given_back
	stop
}

check_given_back() {
	local _
	for _ in $patience; do
		[ "$(stats .memory.used_bytes)$(stats .buffers.live_bytes)" != 00 ] ||
			return 0
		sleep 0.05
	done
	fail "still charged: $(stats .memory .buffers)"
}

# until_used BYTES: wait until at least so much memory is charged
until_used() {
	local _
	for _ in $patience; do
		[ "$(stats .memory.used_bytes)" -lt "$1" ] || return 0
		sleep 0.05
	done
	fail "never charged: $(stats .memory)"
}

test_who_disconnects_in_a_chunk_leaves_nothing() {
	local fd bytes way
	local -A sizes=([chunks]='10 1000 70000 300000' [ticket_chunks]=70000
		[tus_chunks]=1000)
	start_empty
	for way in $chunk_ways; do
		for bytes in ${sizes[$way]}; do
			head -c "$bytes" "$photo" >"$work/part"
			aim $way
			begin_by_way fd "$work/part" 999999
			until_used 1
			exec {fd}>&-
			check_given_back
		done
		# Behind a chunk, and in the line of the next one.
		head -c 300000 "$photo" >"$work/part"
		aim $way
		begin_by_way fd "$work/part" 300000 "$(stat -c %s "$photo")"
		printf '\r\n12' >&"$fd"
		until_used 1
		exec {fd}>&-
		check_given_back
		# Nor does it use up a ticket.
		[ $way = chunks ] || way_done_after_all $way
	done
	stop
}

# way_done_after_all WAY: the photo may follow by the same ticket
way_done_after_all() {
	local _ got
	case $1 in
	tus*) # what has arrived is kept
		for _ in $patience; do
			got=$(curl -fsS "$url$way_target" | "$JSON_VALUE" .offset)
			[ "$got" != 300000 ] || break
			sleep 0.05
		done
		[ "$got" = 300000 ] || fail "kept: $got"
		wait_for_ticket
		curl -fsS -X PATCH -H "${way_headers[0]}" -H "${way_headers[2]}" \
			-H 'Upload-Offset: 300000' \
			--data-binary "@$work/rest" "$url$way_target" \
			-H "Upload-Length: $(stat -c %s "$photo")" ||
			fail "the rest is refused"
		;;
	*) [ "$(send_by_way "$photo")" = 201 ] || fail "refused" ;;
	esac
	[ "$(state_by_way)" = stored ] || fail "$1: $(state_by_way)"
}

# The end of a connection may come together with the last bytes.  Without a limit
# of time, an end that is not seen leaves its memory charged for ever.
test_who_closes_at_once_leaves_nothing() {
	local fd n way
	start_empty --min-rate 0 --max-connections-per-address 0
	for n in 1 2 3 4 5 6; do
		head -c $((200000 + n * 7000)) "$photo" >"$work/part"
		for way in $ways; do
			aim $way
			begin_by_way fd "$work/part" 600000
			exec {fd}>&-
		done
	done
	check_given_back
	stop
}

# Each body needs a buffer of 8 MiB, and there is no memory for two.
test_memory_has_a_limit() {
	local fd way refused=0
	needs memory_refusals || return 0
	start_empty --memory 16M
	for way in chunks ticket_chunks; do
		aim $way
		begin_by_way fd "$work/body_4m" 4999999
		until_used $((8 * mib))
		aim $way
		problem_by_way 503 memory_full "$work/body_4m"
		grep -qi '^retry-after: ' "$work/head" || fail "no Retry-After"
		refused=$((refused + 1))
		[ "$(stats .memory.refused)" = $refused ] || fail "not counted"
		exec {fd}>&-
		check_given_back
		[ "$(send_by_way "$work/body_4m")" = $way_done ] ||
			fail "$way does not go on: $(shown "$work/body")"
	done
	# No memory would be enough for this.
	aim chunks
	problem_by_way 413 too_much_memory "$work/large"
	check_given_back
	stop
}

# With capriccio an upload waits before its body is read.
test_waits_for_memory() {
	local fd client
	start --policy capriccio --memory 16M
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' \
		$((12 * mib)) >&"$fd"
	printf '\xff\xd8' >&"$fd"
	until_used $((12 * mib))
	curl -sS -H "$chunked" --data-binary "@$photo" "$url/?w=64" -o "$work/out" \
		-w '%{http_code}' >"$work/code" {fd}>&- &
	client=$!
	for _ in $patience; do
		[ "$(stats .memory.waiting)" != 1 ] || break
		sleep 0.05
	done
	[ "$(stats .memory.waiting)" = 1 ] || fail "does not wait"
	[ ! -s "$work/code" ] || fail "was answered: $(cat "$work/code")"
	exec {fd}>&-
	wait "$client"
	[ "$(cat "$work/code")" = 200 ] || fail "status $(cat "$work/code")"
	# An empty body waits, too.
	[ "$(printf '' | curl -sS -X POST -T - "$url/" -o "$work/out" \
		-w '%{http_code}')" = 400 ] || fail "no 400 for an empty body"
	check_given_back
	stop
}

# What is no body is no progress: the client is as slow as one that sends nothing.
test_extensions_are_no_progress() {
	local fd line way all=() senders=()
	start_empty --min-rate 2K
	for way in $chunk_ways; do
		aim $way
		begin_by_way fd "$work/one" 1
		printf '\r\n1;' >&"$fd"
		{
			while printf a >&"$fd"; do sleep 0.05; done
		} 2>/dev/null &
		senders+=($!)
		all+=("$fd")
	done
	for fd in "${all[@]}"; do
		read -r -t 60 -u "$fd" line || fail "not refused"
		[[ $line = 'HTTP/1.1 408 '* ]] || fail "not 408: $line"
	done
	kill "${senders[@]}" 2>/dev/null || true
	wait "${senders[@]}" 2>/dev/null || true
	for fd in "${all[@]}"; do
		exec {fd}>&-
	done
	check_given_back
	stop
}

printf x >"$work/one"
{ cat "$photo"; head -c $((4 * mib)) /dev/zero; } >"$work/body_4m"
tail -c +300001 "$photo" >"$work/rest"
{ cat "$photo"; head -c $((24 * mib)) /dev/zero; } >"$work/large"
test_chunks_give_the_same
test_chunks_over_tls
test_streams_of_node
test_a_body_has_a_limit
test_who_disconnects_in_a_chunk_leaves_nothing
test_who_closes_at_once_leaves_nothing
test_memory_has_a_limit
test_extensions_are_no_progress
[ -z "${TEST_POLICY:-}" ] || exit 0
test_waits_for_memory
uploads --policy thread-per-connection
