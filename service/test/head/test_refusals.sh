#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A request is refused before all of it has arrived.  Every client gets the
# reply: also one that sends all of its body before it reads, such as Python's
# urllib, and one that reports a failed write first, such as Node's fetch.
#
# usage: DARKROOM=PROGRAM test_refusals.sh
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
tries=10
bytes=$((24 << 20)) # more than sockets hold
head -c "$bytes" /dev/zero >"$work/body"

# refused STATUS HEAD: send the whole request before reading, and expect this
# status
refused() {
	local open line
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	{ printf '%b\r\n' "$2"; cat "$work/body"; } >&"$open" ||
		fail "not all could be sent before the $1"
	read -r -t 60 -u "$open" line || fail "no $1, but a reset"
	[[ $line = "HTTP/1.1 $1 "* ]] || fail "not $1: $line"
	exec {open}>&-
}

test_who_sends_all_first() {
	local head='POST / HTTP/1.1\r\nHost: localhost\r\n' i way
	local -A chunk=([ticket_chunks]='\r\nfffffff' [tus_chunks]='\r\nfffffff')
	for i in $(seq "$tries"); do
		refused 413 "${head}Content-Length: $bytes\\r\\n"
		refused 411 "${head}Transfer-Encoding: gzip\\r\\n\\r\\n"
		refused 401 "${head}Transfer-Encoding: chunked\\r\\n\\r\\nffffffff"
		refused 401 "${head}Transfer-Encoding: chunked\\r\\n\\r\\n-1"
		refused 400 "${head}Host: y\\r\\nContent-Length: $bytes\\r\\n"
		refused 401 "${head}Expect: 100-continue\\r\\nContent-Length: 9000000\\r\\n"
	done
	# A ticket can be used again at once, each time.
	for way in ticket ticket_chunks tus tus_chunks; do
		aim $way max_body=1000
		printf -v head '%s\\r\\n' "$way_method $way_target HTTP/1.1" \
			'Host: localhost' 'Content-Length: 9000000' \
			"${way_headers[@]}"
		[[ $way != *chunks ]] || head=${head/Content-Length: 9000000/X: y}
		for i in 1 2 3; do
			refused 413 "$head${chunk[$way]:-}"
		done
		[ "$(state_by_way)" = waiting ] || fail "$(state_by_way)"
	done
}

# These are refused before they end: the body is one endless header or request
# line.
test_endless_heads() {
	tr '\0' x <"$work/body" >"$work/text"
	mv "$work/text" "$work/body"
	refused 431 'GET / HTTP/1.1\r\nHost: localhost\r\nX: x'
	refused 414 ''
	head -c "$bytes" /dev/zero >"$work/body"
}

# by_urllib STATUS [CHUNKED]: Python's urllib gets this status
by_urllib() {
	TRIES=$tries BYTES=$bytes timeout 300 python3 - "$url/" "$@" <<'EOF'
import os, sys, urllib.error, urllib.request
url, status, is_chunked = sys.argv[1], int(sys.argv[2]), len(sys.argv) > 3
piece = bytes(65536)
count = int(os.environ["BYTES"]) // len(piece)
for _ in range(int(os.environ["TRIES"])):
    body = (piece for _ in range(count)) if is_chunked else piece * count
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, method="POST"))
        sys.exit("not refused")
    except urllib.error.HTTPError as e:
        assert e.code == status and b'"code"' in e.read(), e.code
EOF
}

# by_fetch STATUS [CHUNKED]: Node's fetch gets this status
by_fetch() {
	cat >"$work/fetch.mjs" <<'EOF'
const [, , url, status, chunked] = process.argv;
const piece = new Uint8Array(65536);
const count = process.env.BYTES / piece.length;
for (let i = 0; i < process.env.TRIES; i++) {
	let left = count;
	const stream = () => new ReadableStream({
		pull: (to) => (left-- > 0 ? to.enqueue(piece) : to.close()),
	});
	const reply = await fetch(url, {
		method: "POST",
		body: chunked ? stream() : new Uint8Array(count * piece.length),
		duplex: "half",
	});
	if (reply.status !== Number(status) || !(await reply.json()).code)
		throw new Error(reply.status);
}
EOF
	TRIES=$tries BYTES=$bytes timeout 300 node "$work/fetch.mjs" "$url/" "$@"
}

test_libraries() {
	if have python3; then
		by_urllib 413 || fail "urllib, 413"
		by_urllib 401 chunked || fail "urllib, 401"
	fi
	if have node; then
		by_fetch 413 || fail "fetch, 413"
		by_fetch 401 chunked || fail "fetch, 401"
	fi
}

begin() {
	rm -rf "$work/store"
	mkdir "$work/store"
	start --max-body 16M --api-key-file "$work/keys" --store "$work/store" "$@"
}

way_key=(-H 'Authorization: Bearer 0123456789abcdef')
(umask 77; echo 0123456789abcdef >"$work/keys")
begin
test_who_sends_all_first
test_endless_heads
tries=15
test_libraries
stop

tries=5
[ -n "${TEST_POLICY:-}" ] || {
	begin --policy thread-per-connection
	test_who_sends_all_first
	test_endless_heads
	stop
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
	-days 2 -subj /CN=x -addext 'subjectAltName=IP:127.0.0.1' \
	-keyout "$work/tls.key" -out "$work/tls.pem" 2>"$work/log"
export NODE_EXTRA_CA_CERTS=$work/tls.pem SSL_CERT_FILE=$work/tls.pem
begin --tls-cert "$work/tls.pem" --tls-key "$work/tls.key"
url=https${url#http}
test_libraries
stop
