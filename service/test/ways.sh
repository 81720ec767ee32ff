# SPDX-License-Identifier: MIT
# For tests of what clients do with a body, and of faults while it arrives, which
# must hold in whichever way it arrives: source it after server.sh.  For all ways
# but the first two, the server needs a store.
#
#   length         POST, with Content-Length
#   chunks         POST, in chunks
#   ticket         PUT to a ticket
#   ticket_chunks  PUT to a ticket, in chunks
#   tus            PATCH of a ticket, all bytes in one part
#   tus_chunks     the same, in chunks
ways='length chunks ticket ticket_chunks tus tus_chunks'
way_key=() # what curl adds to make a ticket, such as a header

# aim WAY [QUERY [TARGET [TICKET]]]: the next body is sent in this way, for this
# result; POST goes to TARGET, "/" by default.  A ticket is made for it, or TICKET,
# the path of one, is used.  Sets $way_method, $way_target, $way_headers, and
# $way_done: the status if the body is good.
aim() {
	local way=$1 query=${2-w=64}
	way_headers=()
	way_method=POST way_target=${3:-/}?$query way_done=200
	[ "${3:-/}" = / ] || way_done=201
	case $way in
	ticket*) way_method=PUT way_done=201 ;;
	tus*)
		way_method=PATCH way_done=204
		way_headers=('Tus-Resumable: 1.0.0' 'Upload-Offset: 0'
			'Content-Type: application/offset+octet-stream')
		;;
	esac
	[ $way_method = POST ] || way_target=${4:-}
	[ -n "$way_target" ] ||
		way_target=$(curl -fsS "${way_key[@]}" -X POST \
			"$url/v1/uploads?$query" | "$JSON_VALUE" .url) ||
		fail "no ticket"
	case $way in
	*chunks) way_headers+=('Transfer-Encoding: chunked') ;;
	esac
}

# flags_by_way FILE [WHOLE]: set $way_flags, the arguments of curl to send FILE as
# aim has said, without the URL.  If a part is not all, WHOLE is the length of the
# upload.
flags_by_way() {
	local header
	way_flags=(-X "$way_method" --data-binary "@$1")
	for header in "${way_headers[@]}"; do
		way_flags+=(-H "$header")
	done
	[ "$way_method" != PATCH ] || way_flags+=(-H
		"Upload-Length: ${2:-$(stat -L -c %s "$1")}")
}

# Wait until no other request has the ticket: one that was refused may have it for
# a moment.
wait_for_ticket() {
	local _
	[ "$way_method" != POST ] || return 0
	for _ in $patience; do
		[ "$(curl -sS -I -H 'Tus-Resumable: 1.0.0' -o "$work/ticket" \
			-w '%{http_code}' "$url$way_target")" = 423 ] || return 0
		sleep 0.02
	done
	fail "the ticket is held: $way_target"
}

# send_by_way FILE [CURL-ARGUMENTS...]: send it as aim has said, and print the
# status; the reply is in $work/body and $work/head
send_by_way() {
	local file=$1
	shift
	wait_for_ticket
	flags_by_way "$file"
	curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' \
		"${way_flags[@]}" "$@" "$url$way_target"
}

# problem_by_way STATUS CODE FILE [CURL-ARGUMENTS...]: it is refused so
problem_by_way() {
	local status=$1 code=$2
	wait_for_ticket
	flags_by_way "$3"
	shift 3
	expect_problem "$status" "$code" "${way_flags[@]}" "$@" "$url$way_target"
}

# begin_by_way NAME FILE BYTES [WHOLE]: begin a body of this many bytes as aim has
# said, of which FILE is sent; the connection is ${NAME}, and stays open
begin_by_way() {
	local header
	exec {new}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf -v "$1" %s "$new"
	printf '%s %s HTTP/1.1\r\nHost: %s\r\n' "$way_method" "$way_target" \
		"${url#http://}" >&"$new"
	for header in "${way_headers[@]}"; do
		printf '%s\r\n' "$header" >&"$new"
	done
	[ "$way_method" != PATCH ] ||
		printf 'Upload-Length: %d\r\n' "${4:-$3}" >&"$new"
	if [[ ${way_headers[*]} = *chunked* ]]; then
		printf '\r\n%x\r\n' "$3" >&"$new"
	else
		printf 'Content-Length: %d\r\n\r\n' "$3" >&"$new"
	fi
	cat "$2" >&"$new"
}

# end_by_way FD FILE: the last bytes of the body, and its end
end_by_way() {
	cat "$2" >&"$1"
	[[ ${way_headers[*]} != *chunked* ]] || printf '\r\n0\r\n\r\n' >&"$1"
}

# state_by_way: the state of the ticket
state_by_way() {
	curl -fsS "$url$way_target" | "$JSON_VALUE" .state
}
