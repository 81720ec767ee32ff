#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A connection whose client has ended it is closed at once, wherever in a request
# the end is, and also if it came together with the last bytes.  No limit of time
# is needed for it: here they are all longer than the test waits.  Who has only
# ended its sending still gets its replies.
#
# usage: DARKROOM=PROGRAM test_ends.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
host='Host: localhost\r\n'
post="POST /?w=64 HTTP/1.1\r\n$host"
chunks="${post}Transfer-Encoding: chunked\r\n\r\n"
length="${post}Content-Length: 99999\r\n\r\n"
get="GET /healthz HTTP/1.1\r\n$host\r\n"

# What clients send before they end the connection.  The bytes of a chunk and of a
# body are those of a photo.
chunk=3e8
printf -v bytes '\\x%s' $(head -c 1000 "$photo" | xxd -p -c 1)
ends=(
	'PO' "$post" "${post}Us"                                     # a head
	"$length" "$length$bytes"                                    # a body
	"$chunks" "${chunks}3" "${chunks}3e8;a=" "${chunks}3e8\r"    # a line of chunks
	"$chunks$chunk\r\n" "$chunks$chunk\r\n${bytes:0:400}"        # a chunk
	"$chunks$chunk\r\n$bytes" "$chunks$chunk\r\n$bytes\r\n"      # behind it
	"$chunks$chunk\r\n$bytes\r\n0\r\n" "$chunks$chunk\r\n$bytes\r\n0\r\nX: y" # a trailer
	"${post}Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n"
	"${post}Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
	"$get" "${get}POS" "$get$length$bytes" # behind a request
)

begin() {
	DARKROOM_HEADER_TIMEOUT=3600s start --admin-listen 127.0.0.1:0 \
		--min-rate 0 --idle-timeout 3600s --deadline 3600s \
		--max-connections-per-address 0 "$@"
}

# has COUNT: wait until the main port has this number of connections
has() {
	local _ count
	for _ in $patience; do
		count=$(curl -fsS "$admin/metrics" | sed -n \
			's/^darkroom_http_connections{port="main"} //p')
		[ "$count" != "$1" ] || return 0
		sleep 0.05
	done
	fail "$count connections, not $1"
}

# While the server is stopped, what clients send and the end come together.
test_an_end_with_the_last_bytes_is_noticed() {
	local fd text
	begin
	kill -STOP "$server"
	for text in "${ends[@]}" "${ends[@]}"; do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port"
		printf "$text" >&"$fd"
		exec {fd}>&-
	done
	kill -CONT "$server"
	has 0
	stop
}

# The same, but the server has read the first bytes before.
test_an_end_with_later_bytes_is_noticed() {
	local i fds=()
	begin
	for i in "${!ends[@]}"; do
		exec {fds[i]}<>"/dev/tcp/127.0.0.1/$port"
		printf PO >&"${fds[i]}"
	done
	has ${#ends[@]}
	kill -STOP "$server"
	for i in "${!ends[@]}"; do
		printf "${ends[i]/#[PG][OE]/}" >&"${fds[i]}"
		exec {fds[i]}>&-
	done
	kill -CONT "$server"
	has 0
	stop
}

# So does an end that comes after everything was read.
test_a_later_end_is_noticed() {
	local i fds=()
	begin
	for i in "${!ends[@]}"; do
		exec {fds[i]}<>"/dev/tcp/127.0.0.1/$port"
		printf "${ends[i]}" >&"${fds[i]}"
	done
	has ${#ends[@]}
	for i in "${!ends[@]}"; do
		exec {fds[i]}>&-
	done
	has 0
	stop
}

# replies TEXT: send it, end sending, and print the statuses of the replies, and
# "end" when the server has closed the connection
replies() {
	python3 - "$port" "$(printf "$1" | xxd -p | tr -d '\n')" <<-'END'
		import re, socket, sys
		s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		s.sendall(bytes.fromhex(sys.argv[2]))
		s.shutdown(socket.SHUT_WR)
		s.settimeout(120)
		got = b""
		while piece := s.recv(65536):
		    got += piece
		print(*re.findall(r"HTTP/1.1 (\d+)", got.decode()), "end")
	END
}

test_who_ends_sending_gets_the_replies() {
	local got
	have python3 || return 0
	begin
	while read -r expected text; do
		got=$(replies "$text") || fail "no end: $text"
		[ "$got" = "${expected//,/ }" ] || fail "$got: $text"
	done <<-END
		200,end $get
		200,200,end $get$get
		200,end ${get}GET /he
		404,end POST /no HTTP/1.1\r\n${host}Content-Length: 2\r\n\r\nab
		end $length$bytes
	END
	stop
}

test_an_end_with_the_last_bytes_is_noticed
test_an_end_with_later_bytes_is_noticed
test_a_later_end_is_noticed
test_who_ends_sending_gets_the_replies
