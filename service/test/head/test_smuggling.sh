#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Requests that two HTTP parsers may read differently are refused, and no bytes
# after them are read as a request.  Whole requests are answered, wherever their
# bytes are cut into packets.  A client may disconnect after any byte.  A ticket
# takes a good upload after each of these.
#
# usage: DARKROOM=PROGRAM test_smuggling.sh SAMPLES_DIR
# In memory, because each image is synced, and this is slow on a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$1/clownfish.jpg
trap '' PIPE # a server that closes early must not end the test
last_get='GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
behind='GET /healthz HTTP/1.1\r\nHost: canary\r\n\r\n'

# raw FORMAT: send the output of printf, and write all that the server sends
# before it closes to $work/raw
raw() {
	local open
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	# The server may refuse and close before it has received all.
	printf "$1" >&"$open" 2>/dev/null || true
	timeout 60 cat <&"$open" >"$work/raw" 2>/dev/null || [ $? != 124 ] ||
		fail "not closed: $1"
	exec {open}>&-
}

# Print the number of answers.  Lines are not enough, because problems do not
# end in a line end.
answers() {
	grep -ao 'HTTP/1\.1 [1-5][0-9][0-9]' "$work/raw" | wc -l
}

# refused STATUSES FORMAT: the request gets one of these statuses, by a problem
# that has a code and is sent once, and the request after it no answer.  There are
# hundreds of them, so no program is started for one.
refused() {
	local open reply got status=0
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	# The server may refuse and close before it has received all.
	printf "$2$behind" >&"$open" 2>/dev/null || true
	# 0: up to a NUL, 1: up to the end, more: after a minute
	IFS= read -r -d '' -t 60 -u "$open" reply 2>/dev/null || status=$?
	[ $status = 1 ] || fail "a NUL, or not closed: $2"
	exec {open}>&-
	printf %s "$reply" >"$work/raw"
	got=${reply:0:12}
	got=${got#HTTP/1.1 }
	[[ $got =~ ^[0-9]{3}$ && $1 = *$got* ]] ||
		fail "${got:-nothing}, not $1: $2"
	[[ $reply =~ '"code":"'[a-z_]*'"' ]] || fail "no code: $2"
	[[ ! ${reply:12} =~ 'HTTP/1.1 '[1-5][0-9][0-9] ]] ||
		fail "$(answers) answers: $2"
	[[ ! $reply$'\n' =~ 'ok'$'\n' ]] ||
		fail "what is behind it was answered: $2"
}

# coded CODE: the answer is a problem with this code
coded() {
	[[ $(<"$work/raw") = *"\"code\":\"$1\""* ]] ||
		fail "not $1: $(shown "$work/raw")"
}

# post HEADERS: print a POST with these headers
post() {
	echo "POST / HTTP/1.1\\r\\nHost: localhost\\r\\n$1\\r\\n\\r\\n"
}

get() {
	echo "GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n$1\\r\\n\\r\\n"
}

# make_tickets COUNT: new tickets for head_to, made by one program
make_tickets() {
	curl -fsS --no-progress-meter -X POST "$url/v1/uploads?w=8#[1-$1]" |
		grep -o '"url":"[^"]*' | cut -d '"' -f 4 >"$work/tickets"
	exec {tickets}<"$work/tickets"
}

# head_to WAY HEADERS: aim, with a new ticket if the way needs one, and set $head to
# the head of a body with these headers, as a format.  A part is one of 11 bytes.
head_to() {
	local ticket=
	[ "$1" = length ] || read -r -u "$tickets" ticket || fail "no ticket"
	aim "$1" w=8 / "$ticket"
	[ "$1" != tus ] || way_headers+=('Upload-Length: 11')
	printf -v head '%s\\r\\n' "$way_method $way_target HTTP/1.1" \
		'Host: localhost' "${way_headers[@]}" "$2" ''
}

# take_good_ones TICKET...: each takes a picture, as soon as no request has it that
# has ended.  They are asked in turn, because this may last a moment for each.
take_good_ones() {
	local left=("$@") held ticket open line _
	for _ in $patience; do
		held=()
		for ticket in "${left[@]}"; do
			aim ticket w=8 / "$ticket"
			begin_by_way open "$work/small.jpg" "$small_bytes"
			read -r -t 60 -u "$open" line || fail "no answer: $ticket"
			exec {open}>&-
			case $line in
			'HTTP/1.1 201 '*) ;;
			'HTTP/1.1 423 '*) held+=("$ticket") ;;
			*) fail "a good upload gets $line" ;;
			esac
		done
		left=("${held[@]}")
		[ ${#left[@]} != 0 ] || return 0
		sleep 0.02
	done
	fail "held: ${left[*]}"
}

# refused_by_ticket WAY STATUSES HEADERS BODY: a body in this way is refused so, and
# its ticket takes a good one
refused_by_ticket() {
	local head
	head_to "$1" "$3"
	refused "$2" "$head$4"
	take_good_ones "$way_target"
}

test_lengths() {
	local value
	refused 411 "$(post 'Content-Length: 0\r\nContent-Length: 0')"
	refused 411 "$(post 'Content-Length: 0\r\nContent-Length: 5')"
	refused 411 "$(post 'Content-Length: 5\r\nContent-Length: 0')"
	refused 411 "$(get 'Content-Length: 0\r\ncontent-length: 9')"
	for value in -1 +1 0x5 '1 2' '5,5' '5 5' 1e3 '5 \\t6' '' , ' ' 5.0 '\v5'; do
		refused 400 "$(post "Content-Length: $value")"
		refused 400 "$(get "Content-Length: $value")"
	done
	refused 413 "$(post 'Content-Length: 18446744073709551616')"
	refused 413 "$(post 'Content-Length: 99999999999999999999999')"
	refused 413 "$(post 'Content-Length: 18446744073709551615')"
	refused 413 "$(post 'Content-Length: 9223372036854775808')"
}

# White space after a value is not a part of it (RFC 9110, 5.5).
test_white_space_behind_a_value() {
	local last='GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
	for value in 'Host: localhost \t' 'Host: localhost\r\nExpect: 100-continue ' \
		'Host: localhost\r\nConnection: keep-alive\t'; do
		raw "POST /?w=0 HTTP/1.1\\r\\n$value\\r\\nContent-Length: 5\\r\\n\\r\\nhello$last"
		grep -aq '^HTTP/1.1 400' "$work/raw" ||
			fail "'$value': $(shown "$work/raw")"
	done
	for value in '5 ' '5\t' '5  \t ' '\t5 ' '05 '; do
		raw "$(post "Content-Length: $value")hello$last"
		grep -aq '^HTTP/1.1 415' "$work/raw" ||
			fail "refused: '$value' $(shown "$work/raw")"
		[ "$(answers)" = 2 ] || fail "not 2 answers: '$value'"
	done
	refused 411 "$(post 'Content-Length: 5 \r\nContent-Length: 5 ')"
	refused 411 "$(post 'Content-Length: 5 \r\nTransfer-Encoding: chunked')"
	refused 413 "$(post 'Content-Length: 18446744073709551616 ')"
}

test_codings() {
	local value
	for value in Chunked xchunked 'chunked, identity' identity 'chunked,' \
		'gzip, chunked' 'chunked, chunked' '\tchunked' 'chunked ' ' chunked' '' \
		'\vchunked' 'chunked\v' '"chunked"' 'chunked;x' \
		'chunked\r\nTransfer-Encoding: identity' \
		'chunked\r\nTransfer-Encoding: chunked' \
		'chunked\r\ntransfer-encoding:' 'chunked\r\nContent-Length: 5' \
		'chunked\r\nContent-Length:'; do
		for length in '' 'Content-Length: 0\r\n' 'Content-Length: 5\r\n'; do
			refused '411 400' \
				"$(post "${length}Transfer-Encoding: $value")0\r\n\r\n"
			refused '411 400' \
				"$(get "${length}Transfer-Encoding: $value")0\r\n\r\n"
		done
	done
	for value in 'Transfer-Encoding : chunked' 'Transfer-Encoding\t: chunked' \
		' Transfer-Encoding: chunked' 'Transfer-Encoding:\r\n chunked' \
		'X: y\r\n Transfer-Encoding: chunked' 'Transfer\0-Encoding: chunked' \
		'X: y\rTransfer-Encoding: chunked' 'Transfer_Encoding\v: chunked' \
		'X: y\nTransfer-Encoding: chunked' 'X: y\0\0Transfer-Encoding: chunked'; do
		refused '411 400' \
			"$(post "Content-Length: 5\\r\\n$value")0\r\n\r\n"
		refused '411 400' "$(get "$value")0\r\n\r\n"
	done
	for length in 0 5; do
		refused 411 "$(post "Content-Length: $length\r\nTransfer-Encoding: chunked")0\r\n\r\n"
		refused 411 "$(get "Transfer-Encoding: chunked\r\nContent-Length: $length")0\r\n\r\n"
	done
	refused 411 'POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
	refused 411 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
}

# Framing that two parsers may read differently ends the connection, with a
# route that takes a body and with one that ignores it.
test_chunks() {
	local value head
	for value in '' + - 0x ' ' '\t' ';' x '\0' 0000000000000000 '\n' '\r\n'; do
		refused 400 "$(post 'Transfer-Encoding: chunked')${value}5\r\nhello\r\n0x\r\n\r\n"
	done
	for value in '5 \r\nhello' '5\t\r\nhello' '5,\r\nhello' '5h\r\nhello' \
		'5\nhello' '5\rhello' '5\0\r\nhello' '5;a\nhello' '5;a\rhello' \
		'5;x="\n"\r\nhello' '5;\0\r\nhello' '5\r\r\nhello' \
		'5\r\nhello\r\n5 ;a\r\nhello' '5\r\nhello\r\n\r\n'; do
		refused 400 "$(post 'Transfer-Encoding: chunked')$value\r\n0\r\n\r\n"
		refused 400 "$(get 'Transfer-Encoding: chunked')$value\r\n0\r\n\r\n"
		coded bad_request
	done
	# 2^64 + 5 and others are too large, or have too many digits.
	for value in 10000000000000005 fffffffffffffffff; do
		refused 400 "$(post 'Transfer-Encoding: chunked')$value\r\nhello\r\n0\r\n\r\n"
	done
	for value in ffffffffffffffff 8000000000000000 7fffffffffffffff FFFFFFFF; do
		refused 413 "$(post 'Transfer-Encoding: chunked')$value\r\nhello\r\n0\r\n\r\n"
		refused 413 "$(get 'Transfer-Encoding: chunked')1\r\nx\r\n$value\r\nhello\r\n0\r\n\r\n"
		coded body_too_large
	done
	# Nothing, or not a line's end, behind the bytes.
	for value in '' '\n' '\r' '\r\r\n' ' \r\n' 'x\r\n' '\0\r\n'; do
		refused 400 "$(post 'Transfer-Encoding: chunked')5\r\nhello${value}0\r\n\r\n"
		refused 400 "$(get 'Transfer-Encoding: chunked')5\r\nhello${value}0\r\n\r\n"
	done
	# Without the empty line, the next request is a trailer that is none.
	for value in '' 'X\r\n' 'X : y\r\n' ' X: y\r\n' 'X: y\r\n z\r\n' ': y\r\n' \
		'X: \0\r\n' 'X: y\n' 'X: y\rz\r\n' '\n' '\r' 'Content-Length : 5\r\n'; do
		refused 400 "$(post 'Transfer-Encoding: chunked')5\r\nhello\r\n0\r\n$value"
		refused 400 "$(get 'Transfer-Encoding: chunked')0\r\n$value"
	done
	# Endless.
	head=$(post 'Transfer-Encoding: chunked')
	value=$(head -c 5000 /dev/zero | tr '\0' a)
	refused 400 "${head}5;$value"
	refused 400 "${head}0\r\nX: $value$value"
	refused 400 "${head}0\r\n$(printf 'X: y\\r\\n%.0s' {1..2000})"
	# Or the file is refused before that.
	refused '400 415' "$head$(printf "1;${value:0:100}\\\\r\\\\nx\\\\r\\\\n%.0s" {1..400})"
}

# Each kind of these, in a body that is sent to a ticket, and in a part.
test_tickets() {
	local way value chunked='Transfer-Encoding: chunked'
	make_tickets 80
	for way in ticket tus; do
		for value in '5\r\nContent-Length: 5' '0\r\nContent-Length: 5' \
			"5\r\n$chunked" '5 \r\nContent-Length: 5 '; do
			refused_by_ticket $way 411 "Content-Length: $value" hello
		done
		for value in -1 0x5 5,5 '' '5\r\nX : y' '5\r\nX: a\r\n b' \
			'5\r\nX: a\rb' '5\r\nX: a\nY: b' '5\r\nX: a\0b'; do
			refused_by_ticket $way 400 "Content-Length: $value" hello
		done
		for value in 18446744073709551616 9223372036854775808; do
			refused_by_ticket $way 413 "Content-Length: $value" hello
			coded body_too_large
		done
		for value in 'g: gzip, chunked' 'g: chunked, chunked' 'g: xchunked' \
			'g: chunked\r\nTransfer-Encoding: identity' 'g : chunked' \
			'g:\r\n chunked' 'g: chunked\r\nContent-Length: 5'; do
			refused_by_ticket $way '411 400' \
				"Transfer-Encodin$value" '5\r\nhello\r\n0\r\n\r\n'
		done
		# A size, the end of its line, that of the bytes, and trailers.
		for value in '0x5\r\nhello\r\n0' '5 \r\nhello\r\n0' '5\nhello\r\n0' \
			'5;a\nhello\r\n0' '5\r\nhello0' '5\r\nhello\n0' \
			'fffffffffffffffff\r\nhello\r\n0' '5\r\nhello\r\n0x' \
			'5\r\nhello\r\n0\r\nX : y' '5\r\nhello\r\n0\r\nX: y\n'; do
			refused_by_ticket $way 400 "$chunked" "$value\r\n\r\n"
			coded bad_request
		done
		refused_by_ticket $way 413 "$chunked" 'ffffffffffffffff\r\nhello'
		coded body_too_large
	done
	check_drained
}

# Whole requests are read to their end, and trailers are no part of the head.
test_good_chunks() {
	local value
	for value in '5\r\nhello\r\n0\r\n\r\n' '0005;a="b"\r\nhello\r\n00;c\r\n\r\n' \
		'1\r\nh\r\n4\r\nello\r\n0\r\n\r\n' \
		'5\r\nhello\r\n0\r\nConnection: close\r\nHost: evil.example\r\nContent-Length: 99\r\nTransfer-Encoding: gzip\r\n\r\n'; do
		raw "$(post 'Transfer-Encoding: chunked')$value$(post 'transfer-encoding:chunked')$value$(get 'Transfer-Encoding: chunked')$value$last_get"
		[ "$(grep -ao 'HTTP/1\.1 [1-5][0-9][0-9]' "$work/raw" |
			cut -c 10- | paste -sd ' ')" = '415 415 200 200' ] ||
			fail "$value: $(shown "$work/raw")"
	done
	raw "$(post 'Transfer-Encoding: chunked')0\r\n\r\n$last_get"
	grep -aq '"code":"empty_body"' "$work/raw" || fail "no empty body"
	[ "$(answers)" = 2 ] || fail "not 2 answers: $(shown "$work/raw")"
	# With a 100 or without, as the packets come.
	raw "$(post 'Transfer-Encoding: chunked\r\nExpect: 100-continue')5\r\nhello\r\n0\r\n\r\n$last_get"
	[ "$(grep -ao 'HTTP/1\.1 [2-5][0-9][0-9]' "$work/raw" |
		cut -c 10- | paste -sd ' ')" = '415 200' ] ||
		fail "$(shown "$work/raw")"
}

# A body in chunks, cut into two packets at any byte, is read; and a client may
# disconnect after any byte.
test_cut_chunks() {
	local way head request count cut open line tickets_cut=()
	local body='0a;a="b"\r\n0123456789\r\n1\r\nx\r\n0\r\nX: y\r\n\r\n'
	printf -v request "$body"
	count=${#request}
	make_tickets 200
	for way in length ticket tus; do
		for ((cut = 1; cut < count; cut++)); do
			head_to $way 'Transfer-Encoding: chunked'
			printf -v request "$head$body"
			exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
			printf %s "${request:0:-cut}" >&"$open"
			((cut % 5)) || sleep 0.02 # packets of their own
			printf %s "${request: -cut}" >&"$open"
			read -r -t 60 -u "$open" line || fail "no answer, cut at -$cut"
			[[ $line = 'HTTP/1.1 415 '* ]] || fail "$way, cut at -$cut: $line"
			exec {open}>&-
			head_to $way 'Transfer-Encoding: chunked'
			printf -v request "$head$body"
			exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
			printf %s "${request:0:-cut}" >&"$open"
			exec {open}>&-
			[ $way = length ] || tickets_cut+=("$way_target")
		done
	done
	take_good_ones "${tickets_cut[@]}"
	check_drained
}

test_headers() {
	local line
	for line in 'X : y' 'X\t: y' ' X: y' ': y' 'X' 'X y: z' 'X: a\r\n b' \
		'X: a\r\n\tb' 'X: a\rb' 'X: a\nY: b' 'X: a\0b' 'X\0: a' 'X: \0' \
		'X: a\0\0b' 'X: a\0\0' 'X: a\0: b' 'X: \x01' 'X: a\x7f' 'X(y): z' \
		'Host: localhost' 'Host: y' 'X: a\n' 'X: a\r\r' \
		':\nX: a' '\0\nX: a' ':\n' '\0\n' ':' '\0' 'X: a\0\n'; do
		refused 400 "$(get "$line")"
	done
	refused 400 'GET /healthz HTTP/1.1\r\n\r\n'
	refused 400 'GET /healthz HTTP/1.1\nHost: localhost\n\n'
	refused 400 'GET /healthz HTTP/1.1\r\nHost: localhost\n\r\n'
	refused 400 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\n'
	refused 400 'GET /healthz HTTP/1.1\nHost: localhost\r\n\r\n'
}

test_request_lines() {
	local line
	for line in 'GET  /healthz HTTP/1.1' 'GET /healthz  HTTP/1.1' \
		'GET /healthz HTTP/1.1 ' ' GET /healthz HTTP/1.1' \
		'GET /health z HTTP/1.1' 'GET /healthz\tx HTTP/1.1' \
		'GET\t/healthz HTTP/1.1' 'GET /healthz\0x HTTP/1.1' \
		'GET /healthz%%00x HTTP/1.1' 'GET\0 /healthz HTTP/1.1' \
		'GET /healthz?x=%%00 HTTP/1.1' 'GET /?x%%00y=z HTTP/1.1' \
		'POST /?w=64%%00junk HTTP/1.1' 'GET /trace?ms=9%%00 HTTP/1.1' \
		'GET http:/healthz HTTP/1.1' 'GET http:///healthz HTTP/1.1' \
		'GET http://u@localhost/healthz HTTP/1.1' \
		'GET ftp://localhost/healthz HTTP/1.1' \
		'GET http://localhost/healthz%%00 HTTP/1.1' \
		'GET localhost/healthz HTTP/1.1' 'GET healthz HTTP/1.1' \
		'OPTIONS * HTTP/1.1' 'CONNECT x:80 HTTP/1.1' 'GET ? HTTP/1.1' \
		'G(T /healthz HTTP/1.1' 'GET /healthz HTTP/1.1\0' \
		'GET /healthz http/1.1' 'GET /healthz HTTP/11' 'GET /healthz' \
		'GET /healthz HTTP/0.9' 'GET /healthz HTTP/2.0' 'GET' 'x' \
		'GET /healthz HTTP/1.1\x01'; do
		refused '400 505' "$line\\r\\nHost: localhost\\r\\n\\r\\n"
	done
	# HTTP/2 without an upgrade, and TLS.
	refused 505 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0'
	refused 400 '\x16\3\1\0\4\1\0\0\0\r\n'
}

# A target in absolute form is one of ours (RFC 9112, 3.2.2).
test_absolute_targets() {
	local target
	for target in 'GET http://localhost/healthz' 'GET HTTP://x:8080/healthz?&' \
		'HEAD http://localhost?w=1' 'POST http://localhost?&w=9'; do
		raw "$target HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 5\\r\\n\\r\\nhello$last_get"
		[ "$(answers)" = 2 ] || fail "not 2 answers: $target"
		[ "$(head -c 12 "$work/raw")" = "HTTP/1.1 $(
			[[ $target = POST* ]] && echo 415 || echo 200)" ] ||
			fail "$target: $(shown "$work/raw")"
	done
	refused 400 'GET http://localhost/healthz HTTP/1.1\r\n\r\n'
}

test_large_heads() {
	local a
	a=$(head -c 140000 /dev/zero | tr '\0' a)
	refused 414 "GET /$a HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
	coded target_too_long
	refused 431 "$(get "X: $a")"
	coded headers_too_large
	refused 431 "$(get "$a: X")"
	for a in 20000 66000 130700; do
		a=$(head -c $a /dev/zero | tr '\0' a)
		refused 414 "GET /$a HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
		coded target_too_long
		refused 414 "POST /?w=$a HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"
		coded target_too_long
		[ ${#a} -gt 60000 ] || continue
		refused 431 "$(get "X: $a")"
		coded headers_too_large
	done
	for a in 65 2000 2500 10000; do
		a=$(seq -f 'x%.0f' -s '&' $a)
		refused 414 "POST /?$a HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 5\\r\\n\\r\\nhello"
		coded target_too_long
	done
	refused 431 "$(get "$(seq -f 'x%.0f: y' -s '\r\n' 300)")"
	coded headers_too_large
	grep -aq ' header lines; at most .*"limit":256,"value":30[0-9],"unit":"header lines"' \
		"$work/raw" || fail "no numbers: $(shown "$work/raw")"
	a=$(seq -f 'x%.0f:' -s '\r\n' 20000)
	refused 431 "$(get "$a")"
}

test_expectations() {
	local value
	refused 417 "$(post 'Content-Length: 5\r\nExpect: 200-ok')hello"
	refused 417 "$(post 'Expect: 100-continue\r\nExpect: x
Content-Length: 5' | sed ':a;N;s/\n/\\r\\n/;ta')hello"
	refused 417 "$(post 'Content-Length: 5\r\nExpect: 100-continue, x')hello"
	# Without a value it says nothing; several lines are one list.
	for value in 'Expect:' 'Expect: ' 'Expect: ,' 'Expect:\r\nExpect: \t' \
		'Expect: 100-continue ' 'Expect: 100-continue, 100-continue' \
		'Expect:\r\nExpect: 100-Continue'; do
		raw "$(post "Content-Length: 5\r\n$value")hello$last_get"
		grep -aq '^HTTP/1.1 415' "$work/raw" ||
			fail "'$value': $(shown "$work/raw")"
	done
	# Only accepted uploads get "100 Continue".
	raw "$(post 'Content-Length: 99999999999\r\nExpect: 100-continue')"
	! grep -aq '^HTTP/1.1 100' "$work/raw" || fail "100 for a refused body"
	grep -aq '^HTTP/1.1 413' "$work/raw" || fail "no 413"
	local open line
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf "$(post 'Content-Length: 5\r\nConnection: close\r\nExpect: 100-continue')" >&"$open"
	read -r -t 60 -u "$open" line && [[ $line = 'HTTP/1.1 100 '* ]] ||
		fail "no 100: $line"
	printf hello >&"$open"
	timeout 60 cat <&"$open" >"$work/raw" || fail "not closed after 100"
	exec {open}>&-
	grep -aq '^HTTP/1.1 415' "$work/raw" || fail "no 415"
}

# Requests without a body get no "100 Continue", and each gets its answer.
test_expectations_without_a_body() {
	local one
	one=$(get 'Expect: 100-continue')
	raw "$one$one$(get 'Expect: 100-continue\r\nConnection: close')"
	[ "$(answers)" = 3 ] || fail "$(answers) answers, not 3"
	! grep -aq '^HTTP/1.1 100' "$work/raw" || fail "100 without a body"
}

# Requests that follow each other without waiting for the replies.
test_pipelined_requests() {
	local last='GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
	raw "$(post 'Content-Length: 5')hello$(post 'Content-Length: 0')$last"
	[ "$(answers)" = 3 ] ||
		fail "not 3 answers: $(shown "$work/raw")"
	grep -aq 'ok$' "$work/raw" || fail "the last was not answered"
	# Garbage after the body is not read as a request.
	raw "$(post 'Content-Length: 5')hello, world\\r\\n\\r\\n$last"
	[ "$(answers)" -le 2 ] || fail "garbage was answered"
	! grep -aq 'ok$' "$work/raw" || fail "what is behind garbage was"
}

# A client that sends very many requests without reading gets an answer to each,
# or, over libmicrohttpd, to the first of them, of which the last says so.
test_many_pipelined_requests() {
	local one count=600 got
	one=$(get 'X: y')
	raw "$(printf "%s" "${one//%/%%}" | awk -v n=$count '
		{ for (i = 0; i < n; i++) printf "%s", $0 }')$last_get"
	got=$(grep -ao 'HTTP/1\.1 200' "$work/raw" | wc -l)
	[ "$got" = "$(answers)" ] || fail "not all 200: $got of $(answers)"
	[ "$got" -ge 100 ] || fail "only $got answers"
	[ "$(grep -ac '^Connection: close' "$work/raw")" = 1 ] ||
		fail "closed without a word after $got answers"
}

# A head arrives together with the request before it.  Its body is passed on
# unchanged, even if it looks like a head with white space to trim.
test_bodies_after_pipelined_heads() {
	local open body=$'x\r\nContent-Length: 5        \r\n\r\n'
	local first=$'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
	local second=$'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: '
	local last=$'GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'
	local head=$second${#body}$'\r\n\r\n' cut
	for cut in 0 1 2 3 4; do
		exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf %s "$first${head:0:${#head}-cut}" >&"$open"
		sleep 0.1
		printf %s "${head:${#head}-cut}$body" >&"$open"
		sleep 0.1
		printf %s "$last" >&"$open"
		timeout 60 cat <&"$open" >"$work/raw" || fail "cut $cut: not closed"
		exec {open}>&-
		[ "$(grep -ao 'HTTP/1\.1 [1-5][0-9][0-9]' "$work/raw" |
			cut -c 10- | paste -sd ' ')" = '200 415 404' ] ||
			fail "cut $cut: $(shown "$work/raw")"
	done
}

# test_early_ends STEP: a client may disconnect after any byte up to the photo's
# last; of its bytes every STEPth is tried, and the last.  A request that is sent in
# two parts, cut at any byte, is answered 200.
test_early_ends() {
	local step=$1 bytes open count head
	printf -v head 'POST /?w=8 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n' \
		"$(stat -c %s "$work/small.jpg")"
	{ printf %s "$head"; cat "$work/small.jpg"; } >"$work/request"
	count=$(stat -c %s "$work/request")
	for ((bytes = 0; bytes < ${#head}; bytes++)); do
		exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf %s "${head:0:bytes}" >&"$open"
		exec {open}>&-
	done
	for bytes in $(seq ${#head} "$step" "$count") "$count"; do
		exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
		head -c "$bytes" "$work/request" >&"$open"
		exec {open}>&-
	done
	check_drained
	for bytes in $(seq 1 $((step * 17)) "$count"); do
		exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
		head -c "$bytes" "$work/request" >&"$open"
		tail -c "+$((bytes + 1))" "$work/request" >&"$open"
		timeout 60 head -n 1 <&"$open" >"$work/raw"
		grep -aq '^HTTP/1.1 200' "$work/raw" || fail "cut at $bytes"
		exec {open}>&-
	done
	check_drained
}

# A ticket is not lost if the client disconnects within the head or the picture.
test_early_ends_by_tickets() {
	local way bytes open count head tickets_cut=()
	make_tickets 200
	for way in ticket tus; do
		for ((bytes = 1; ; bytes += 29)); do
			head_to $way "Content-Length: $small_bytes"
			head=${head/Upload-Length: 11/Upload-Length: $small_bytes}
			{ printf "$head"; cat "$work/small.jpg"; } >"$work/request"
			count=$(stat -c %s "$work/request")
			[ $bytes -lt "$count" ] || break
			exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
			head -c $bytes "$work/request" >&"$open"
			exec {open}>&-
			tickets_cut+=("$way_target")
		done
	done
	take_good_ones "${tickets_cut[@]}"
	check_drained
}

begin() {
	rm -rf "$work/store"
	mkdir "$work/store"
	start --store "$work/store" "$@"
	curl -fsS --data-binary "@$photo" "$url/?w=8&q=10" -o "$work/small.jpg"
	small_bytes=$(stat -c %s "$work/small.jpg")
}

begin
test_lengths
test_white_space_behind_a_value
test_codings
test_chunks
test_tickets
test_good_chunks
test_cut_chunks
test_headers
test_request_lines
test_absolute_targets
test_large_heads
test_expectations
test_expectations_without_a_body
test_pipelined_requests
test_many_pipelined_requests
test_bodies_after_pipelined_heads
# Each byte is a connection, which takes long.
step=7
[ -z "${TEST_ALL:-}" ] || step=1
test_early_ends $step
test_early_ends_by_tickets
stop

[ -z "${TEST_POLICY:-}" ] || exit 0
# The same code reads heads, but other code ends connections.
begin --policy thread-per-connection
test_lengths
test_white_space_behind_a_value
test_chunks
test_tickets
test_good_chunks
test_cut_chunks
test_expectations
test_expectations_without_a_body
test_pipelined_requests
test_many_pipelined_requests
test_bodies_after_pipelined_heads
test_early_ends 7
test_early_ends_by_tickets
stop
