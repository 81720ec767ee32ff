#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server takes the sockets that the service manager has opened (sd_listen_fds(3)).
# When one server ends and the next one starts with the same sockets, no client is
# refused or disconnected: those that come in between wait.  Sockets that cannot
# be used are refused.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM INHERIT=PROGRAM test_sockets.sh
#        SAMPLES_DIR
[ -n "${PORTS:-}" ] ||
	exec "$INHERIT" 127.0.0.1:0 127.0.0.1:0 -- "$0" "$@"
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
chooses_policies "it starts servers of several kinds"
dir=$1
photo=$dir/clownfish.jpg
read -r main_port admin_port <<<"$PORTS"
program=$DARKROOM

# The server's own process id is known only in it.
cat >"$work/with_sockets" <<END
#!/bin/sh
[ -z "\${LISTEN_FDS:-}" ] || export LISTEN_PID=\${SOCKETS_OF:-\$\$}
exec "$program" "\$@"
END
chmod 755 "$work/with_sockets"
DARKROOM=$work/with_sockets
export LISTEN_FDS=2 LISTEN_FDNAMES=listen:admin-listen

# start_here FLAGS...: start a server with both sockets
start_here() {
	start --listen 127.0.0.1:1 --shutdown-delay 2s "$@"
	[ "$port" = "$main_port" ] && [ "$admin" = "http://127.0.0.1:$admin_port" ] ||
		fail "listens at $url and $admin: $*"
}

test_sockets_take_the_place_of_addresses() {
	start_here
	grep -q 'service manager.* --listen, --admin-listen$' "$work/log" ||
		fail "does not say so"
	curl -fsS -o "$work/out" --data-binary "@$photo" "$url/?w=64"
	curl -fsS -o "$work/out" "$admin/stats"
	expect_problem 404 not_found "$url/stats"
	stop
	LISTEN_FDNAMES=admin-listen:listen start --listen 127.0.0.1:1
	[ "$port" = "$admin_port" ] || fail "names mean nothing"
	stop
	(
		unset LISTEN_FDNAMES
		start
		[ "$port $admin" = "$main_port http://127.0.0.1:$admin_port" ] ||
			fail "not in order: $port $admin"
		stop
	)
	# As systemd calls it without FileDescriptorName=.
	LISTEN_FDS=1 LISTEN_FDNAMES=darkroom.socket start
	[ "$port $admin" = "$main_port $url" ] || fail "$port $admin"
	stop
}

test_those_of_others_are_ignored() {
	SOCKETS_OF=$$ start
	[ "$port" != "$main_port" ] || fail "takes the sockets of another process"
	stop
}

# Who can reach the server is known by the address of the socket.
test_access_is_that_of_the_address() {
	unset LISTEN_FDNAMES
	! LISTEN_FDS=1 timeout 300 "$INHERIT" 0.0.0.0:0 -- "$DARKROOM" \
		>"$work/log" 2>&1 || fail "serves everybody"
	grep -q "0\.0\.0\.0:.*--insecure" "$work/log" || fail "says not why"
	export LISTEN_FDNAMES=listen:admin-listen
}

test_bad_sockets_are_refused() {
	LISTEN_FDS=4 refuses "LISTEN_FDS: '4'"
	LISTEN_FDS=x refuses "LISTEN_FDS: 'x'"
	LISTEN_FDS=3 LISTEN_FDNAMES=listen:admin-listen:agent-listen \
		refuses 'descriptor 5'
	LISTEN_FDNAMES=listen:other refuses "'other'"
	LISTEN_FDNAMES=listen refuses "LISTEN_FDNAMES: ''"
	LISTEN_FDNAMES=listen:listen refuses 'two sockets are named listen'
	local kind status
	for kind in udp pair; do
		status=0
		LISTEN_FDS=1 LISTEN_FDNAMES=listen "$INHERIT" $kind -- \
			"$DARKROOM" >"$work/log" 2>&1 || status=$?
		[ $status = 2 ] && grep -q 'descriptor 3 is no TCP' "$work/log" ||
			fail "$kind: status $status"
	done
}

# ask_admin: ask for /healthz again and again, until the file `end` is there.  A
# server that ends closes a connection whose request does not come; on a busy
# machine it may come too late, and is sent again (52: no reply).
ask_admin() {
	local asked=0 status
	while [ ! -e "$work/end" ]; do
		status=0
		curl -fsS -m 300 -o "$work/health" \
			"http://127.0.0.1:$admin_port/healthz" 2>"$work/error" ||
			status=$?
		[ $status = 0 ] || [ $status = 52 ] ||
			cat "$work/error" >>"$work/errors"
		asked=$((asked + 1))
	done
	echo $asked >"$work/asked"
}

# test_restarts COUNT FLAGS...: so many servers follow each other while clients
# upload; none fails
test_restarts() {
	local count=$1 load asking before
	shift
	rm -f "$work/end"
	: >"$work/errors"
	start_here "$@"
	"$LOADGEN" --dataset "$dir" --connections 4 --duration 3600 \
		--timeout 300 --json "$work/json" "$url/?w=64" \
		>"$work/report" 2>&1 &
	load=$!
	ask_admin &
	asking=$!
	for _ in $(seq "$count"); do
		stop
		start_here "$@"
		before=0
		for _ in $patience; do # until it has answered some
			before=$(stat_of .uploads.finished)
			[ "$before" -lt 8 ] || break
			sleep 0.02
		done
	done
	: >"$work/end"
	wait $asking
	kill -INT $load
	wait $load || true
	stop
	[ ! -s "$work/errors" ] || fail "$*: /healthz: $(cat "$work/errors")"
	[ "$(<"$work/asked")" -gt 1 ] || fail "$*: /healthz was not asked"
	jq -e '.transport_errors == 0 and (.responses | keys == ["200"]) and
		.responses["200"] >= 8' "$work/json" >"$work/out" ||
		fail "$*: $(jq -c '.responses, .transport_error_texts' \
			"$work/json")"
	echo "$*: $count restarts, $(jq -c .responses "$work/json")"
}

# activate: let systemd-socket-activate start the server at a port that was free
# a moment ago, and post a photo there; false: something else has the port by now
activate() {
	local free _
	(
		unset LISTEN_FDS LISTEN_FDNAMES
		start
		echo "$port" >"$work/free"
		stop
	) || exit
	free=$(<"$work/free")
	env -u LISTEN_FDS -u LISTEN_FDNAMES systemd-socket-activate \
		--listen "127.0.0.1:$free" --fdname listen "$program" \
		>"$work/log" 2>&1 &
	server=$!
	for _ in $patience; do
		! grep -q '^Listening on' "$work/log" || break
		! grep -q 'Address already in use' "$work/log" || return 1
		sleep 0.02
	done
	for _ in $patience; do
		! curl -fsS -o "$work/out" --data-binary "@$photo" \
			"http://127.0.0.1:$free/?w=64" 2>"$work/err" || break
		sleep 0.1
	done
}

# systemd's own program passes them as the service manager does.
test_systemd_starts_it() {
	have systemd-socket-activate || return 0
	activate || activate || activate ||
		fail "three ports are taken: $(cat "$work/log")"
	grep -q 'opened the sockets of --listen' "$work/log" ||
		fail "systemd-socket-activate: $(cat "$work/err")"
	stop
}

test_sockets_take_the_place_of_addresses
test_those_of_others_are_ignored
test_access_is_that_of_the_address
test_bad_sockets_are_refused
test_restarts 2
test_restarts 1 --io-threads 2
test_restarts 1 --policy thread-per-connection
test_restarts 1 --policy servlib
test_restarts 1 --policy servlib --threads 1:1
test_restarts 1 --policy servlib --threads n:m --io sync
test_systemd_starts_it
