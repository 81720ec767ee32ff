#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bodies in chunks, of unknown length, are taken as others are, from the programs
# that send them; and they have the same limits of size, memory and time.
#
# usage: DARKROOM=PROGRAM test_chunked.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
mib=$((1 << 20))
chunked='Transfer-Encoding: chunked'
trap '' PIPE # a server that closes early must not end the test

# uploads FLAGS...: start a server, and upload the photo in several ways
uploads() {
	mkdir "$work/store"
	start --store "$work/store" "$@"
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
	rm -r "$work/store"
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

# A client that would never stop is refused when it exceeds the limit.
test_a_body_has_a_limit() {
	start --max-body 1M
	expect_problem 413 body_too_large -H "$chunked" --data-binary "@$work/large" \
		"$url/"
	[ "$("$JSON_VALUE" .limit .unit <"$work/body")" = $'1048576\nbytes' ] ||
		fail "no limit: $(shown "$work/body")"
	[ "$("$JSON_VALUE" .value <"$work/body")" -gt 1048576 ] ||
		fail "no number: $(shown "$work/body")"
	[ "$({ cat "$photo"; yes; } 2>/dev/null | timeout 60 curl -sS -X POST -T - \
		"$url/" -o "$work/out" -w '%{http_code}' 2>/dev/null)" = 413 ] ||
		fail "no 413 for an endless body"
	# Also if the body is not needed, or was refused before that.
	[ "$(yes | timeout 60 curl -sS -X POST -T - "$url/nothing" -o "$work/out" \
		-w '%{http_code}' 2>/dev/null)" = 404 ] || fail "no 404"
	[ "$(yes | timeout 60 curl -sS -X POST -T - "$url/" -o "$work/out" \
		-w '%{http_code}' 2>/dev/null)" = 415 ] || fail "no 415"
	head -c $mib "$work/large" >"$work/most"
	curl -fsS -H "$chunked" --data-binary "@$work/most" "$url/?w=64" \
		-o "$work/out" || fail "what is not over the limit is refused"
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

# begin_upload NAME FILE [BYTES]: begin a body in chunks; ${NAME} is open
begin_upload() {
	exec {new}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf -v "$1" %s "$new"
	printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n' "$chunked" \
		>&"$new"
	printf '%x\r\n' "${3:-$(stat -c %s "$2")}" >&"$new"
	cat "$2" >&"$new"
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
	local fd bytes
	start
	for bytes in 10 1000 70000 300000; do
		head -c "$bytes" "$photo" >"$work/part"
		begin_upload fd "$work/part" 999999
		until_used 1
		exec {fd}>&-
		check_given_back
	done
	# Behind a chunk, and in the line of the next one.
	begin_upload fd "$work/part"
	printf '\r\n12' >&"$fd"
	until_used 1
	exec {fd}>&-
	check_given_back
	curl -fsS -H "$chunked" --data-binary "@$photo" "$url/?w=64" -o "$work/out"
	stop
}

# The end of a connection may come together with the last bytes.  Without a limit
# of time, an end that is not seen leaves its memory charged for ever.
test_who_closes_at_once_leaves_nothing() {
	local fd n
	start --min-rate 0 --max-connections-per-address 0
	for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
		head -c $((200000 + n * 7000)) "$photo" >"$work/part"
		begin_upload fd "$work/part" 999999
		exec {fd}>&-
		exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf 'POST /?w=64 HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n' \
			'Content-Length: 600000' >&"$fd"
		cat "$work/part" >&"$fd"
		exec {fd}>&-
	done
	check_given_back
	stop
}

# Each body needs a buffer of 8 MiB, and there is no memory for two.
test_memory_has_a_limit() {
	local fd
	needs memory_refusals || return 0
	start --memory 16M
	{ cat "$photo"; head -c $((4 * mib)) /dev/zero; } >"$work/body_4m"
	begin_upload fd "$work/body_4m"
	until_used $((8 * mib))
	expect_problem 503 memory_full -H "$chunked" \
		--data-binary "@$work/body_4m" "$url/?w=64"
	grep -qi '^retry-after: ' "$work/head" || fail "no Retry-After"
	[ "$(stats .memory.refused)" = 1 ] || fail "not counted"
	exec {fd}>&-
	check_given_back
	curl -fsS -H "$chunked" --data-binary "@$work/body_4m" "$url/?w=64" \
		-o "$work/out" || fail "does not go on"
	# No memory would be enough for this.
	expect_problem 413 too_much_memory -H "$chunked" \
		--data-binary "@$work/large" "$url/?w=64"
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
	local fd line sender
	start --min-rate 2K
	begin_upload fd /dev/null 1
	printf 'x\r\n1;' >&"$fd"
	{
		while printf a >&"$fd"; do sleep 0.05; done
	} 2>/dev/null &
	sender=$!
	read -r -t 60 -u "$fd" line || fail "not refused"
	[[ $line = 'HTTP/1.1 408 '* ]] || fail "not 408: $line"
	kill $sender 2>/dev/null || true
	wait $sender 2>/dev/null || true
	exec {fd}>&-
	check_given_back
	stop
}

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
