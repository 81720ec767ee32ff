# SPDX-License-Identifier: MIT
# For test scripts: start and stop a darkroom, and fail with a reason.
#
# Needs $DARKROOM, the program.  $TEST_IO_THREADS, if set, is the number of I/O
# threads of each server, except of those with a thread for each connection.
# Sets $url, $server (the process) and $work (a folder that is removed at the
# end), and $admin: the URL of the admin port, or $url if there is none.
set -euo pipefail

# A server here has the flags that its test gives it.
unset "${!DARKROOM_@}"

# end_tree PID...: kill these and all that they have started
end_tree() {
	local pid children
	for pid in "$@"; do
		children=()
		kill -STOP "$pid" 2>/dev/null || continue
		read -r -a children <"/proc/$pid/task/$pid/children" || true
		kill -KILL "$pid" 2>/dev/null || true
		end_tree "${children[@]}"
	done
}

# Whatever a failure leaves behind.
end() {
	local status=$? children=()
	read -r -a children <"/proc/$BASHPID/task/$BASHPID/children" || true
	exec 2>/dev/null # the shell tells of each
	end_tree "${children[@]}"
	rm -rf "$work"
	exit $status
}

work=$(mktemp -d)
server=
trap end EXIT

# For a subshell that has servers of its own.
apart() {
	work=$(mktemp -d -p "$work")
	server=
	trap end EXIT
}

fail() {
	echo "FAIL: $*" >&2
	[ ! -s "$work/log" ] || tail -n 20 "$work/log" >&2
	exit 1
}

# The beginning of a file, safe for a terminal.
shown() {
	head -c 300 "$1" | tr -cd '[:print:]'
}

# port_after WORDS: the port that the start line names after them, if it does
port_after() {
	sed -n "/$1/{
		s/.*$1 [^ ]* (port \([0-9]*\)).*/\1/p
		q
	}" "$work/log"
}

# launch FLAGS...: with its --listen
launch() {
	local _
	[ -z "${TEST_IO_THREADS:-}" ] ||
		[[ " $* " = *" thread-per-connection "* ]] ||
		set -- --io-threads "$TEST_IO_THREADS" "$@"
	port=
	: >"$work/log" # not the last server's port
	DARKROOM_LOG=${DARKROOM_LOG:-text} "$DARKROOM" "$@" 2>"$work/log" &
	server=$!
	for _ in $(seq 300); do
		port=$(port_after 'listening on')
		[ -z "$port" ] || return 0
		kill -0 "$server" 2>/dev/null || fail "did not start: $*"
		sleep 0.1
	done
	fail "did not start in time: $*"
}

# start FLAGS...: on a free port, unless they say where
start() {
	[[ " $* " = *" --listen "* ]] || set -- --listen 127.0.0.1:0 "$@"
	launch "$@"
	url=http://127.0.0.1:$port
	admin=$(port_after 'admin on')
	admin=${admin:+http://127.0.0.1:$admin}
	admin=${admin:-$url}
}

# stop [STATUS]: SIGTERM must end the server with status 0, or this one: no crash,
# leak or race
stop() {
	local status=0
	kill -TERM "$server"
	wait "$server" || status=$?
	server=
	[ $status = "${1:-0}" ] || fail "the server ended with status $status"
}

# stat EXPRESSION: one value of /stats, by jq
stat_of() {
	curl -fsS "$admin/stats" | jq -r "$1"
}

# Nothing is left inside, everything that went in came out, and nothing is
# charged any more.  A worker may still be about to count what its client has
# already got, and a connection about to give back what it has sent.
check_drained() {
	local _
	for _ in $(seq 600); do
		[ "$(stat_of '.uploads.in_flight == 0 and
			.uploads.sent == .uploads.finished + .uploads.failed and
			all(.stages[]; .queued == 0 and .arrived == .handled)
			and .memory.used_bytes == 0')" \
			= true ] && return
		sleep 0.05
	done
	fail "not drained: $(curl -fsS "$admin/stats")"
}

# send_folder DIR: every file of it four times, by eight connections.  Needs
# $LOADGEN, too.
send_folder() {
	"$LOADGEN" --dataset "$1" --connections 8 --passes 4 \
		"$url/?w=300&blur=2" >"$work/report" ||
		fail "$(cat "$work/report")"
	check_drained
}

# holds FILE EXPRESSION: jq finds it true
holds() {
	[ "$(jq "$2" "$1")" = true ] || fail "not true: $2 $(head -c 2000 "$1")"
}

# send COUNT QUERY: so many uploads of $photo at once, in the background.  Their
# pids are in $clients, statuses in $work/code*, replies in $work/reply*.
send() {
	local count=$1 query=$2 i
	clients=()
	rm -f "$work"/code*
	for i in $(seq "$count"); do
		curl -sS -o "$work/reply$i" -w '%{http_code}\n' --data-binary \
			"@$photo" "$url/?$query" >"$work/code$i" &
		clients+=($!)
	done
}

# taken COUNT: wait until the server has taken so many uploads.
taken() {
	local count=$1 _
	for _ in $(seq 3000); do
		[ "$(stat_of .uploads.sent)" != "$count" ] || return 0
		sleep 0.02
	done
	fail "$count uploads were sent, but $(stat_of .uploads.sent) taken"
}

# got STATUS: how many of them got it
got() {
	cat "$work"/code* | grep -cx "$1" || true
}

# ends_with STATUS WORD FLAGS...: does not start, ends so, and names WORD
ends_with() {
	local expected=$1 word=$2 status=0
	shift 2
	timeout 20 "$DARKROOM" "$@" >"$work/log" 2>&1 || status=$?
	[ $status = "$expected" ] || fail "status $status, not $expected: $*"
	grep -qF -- "$word" "$work/log" || fail "does not name $word: $*"
}

# refuses WORD FLAGS...: as a mistake in its flags, which no other start mends
refuses() {
	ends_with 2 "$@"
}

# expect STATUS CODE CURL-ARGUMENTS...: a problem reply of that kind
expect_problem() {
	local status=$1 code=$2 got
	shift 2
	got=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] ||
		fail "status $got, not $status: $* $(shown "$work/body")"
	[ "$(jq -r .code "$work/body")" = "$code" ] ||
		fail "code is not $code: $* $(shown "$work/body")"
	[ "$(jq -r .status "$work/body")" = "$status" ] ||
		fail "status member is not $status: $*"
	grep -qi '^content-type: application/problem+json' "$work/head" ||
		fail "not problem+json: $*"
	grep -qi '^x-request-id: ..*' "$work/head" || fail "no request id: $*"
}

# insert MARKER PAYLOAD-FILE: $photo with a segment behind its SOI
insert() {
	head -c 2 "$photo"
	printf '%s%04x' "$1" $(($(stat -c %s "$2") + 2)) | xxd -r -p
	cat "$2"
	tail -c +3 "$photo"
}

# with_profile PROFILE-FILE: $photo with that, whole or broken, in one chunk
with_profile() {
	{ printf 'ICC_PROFILE\0\1\1'; cat "$1"; } >"$work/chunk"
	insert ffe2 "$work/chunk"
}
