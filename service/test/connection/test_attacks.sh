#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# slowhttptest attacks with a thousand clients that send or read slowly.
# Meanwhile every other upload is answered, on kept connections and on new ones.
# So are a thousand connections at once without an attack.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_attacks.sh SAMPLES_DIR
#   skipped (77) where slowhttptest is missing
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
dir=$1
attack_s=1

have slowhttptest || exit 77

# all_answered CONNECTIONS FLAGS...: all uploads of loadgen are answered 200
all_answered() {
	timeout 120 "$LOADGEN" --dataset "$dir" --connections "$@" --json "$work/json" \
		>"$work/report" 2>&1 || fail "$(cat "$work/report")"
	[ "$(jq '.responses["200"] == .requests and .requests > 0 and
		.transport_errors == 0' "$work/json")" = true ] ||
		fail "$(jq -c '[.responses, .transport_errors]' "$work/json")"
}

# begins: wait until all clients of slowhttptest are connected, or were closed
# again; it says so every 5 seconds
begins() {
	local _
	for _ in $patience; do
		! awk '
		/^initializing:/ { waiting = $2 }
		/^pending:/ { waiting += $2 }
		/^connected:/ { connected = $2 }
		/^closed:/ && !waiting && connected + $2 == 1000 { all = 1 }
		END { exit !all }' < <(sed 's/\x1b\[[0-9;]*m//g' "$work/attack") ||
			return 0
		sleep 0.1
	done
	fail "slowhttptest: $(tail -n 20 "$work/attack")"
}

# attack NAME FLAGS...: an attack by slowhttptest, on a server with
# $server_flags; of the name "ticket", on a ticket
attack() (
	apart
	name=$1
	shift
	mkdir "$work/store"
	start $server_flags --store "$work/store"
	[ "$name" != ticket ] || {
		aim ticket
		name=${way_target#/}
	}
	timeout 300 slowhttptest -c 1000 -r 500 -l 300 -p 10 "$@" \
		-u "$url/$name" >"$work/attack" 2>&1 &
	attacker=$!
	begins
	all_answered 2 --duration "$attack_s" "$url/?w=64" &
	kept=$!
	while kill -0 "$kept" 2>/dev/null; do
		curl -fsS --max-time 120 --data-binary "@$dir/clownfish.jpg" \
			"$url/?w=64" -o "$work/out" || fail "no answer: $*"
	done
	wait "$kept" || exit 1
	# It has ended if its clients have read all that they asked for.
	kill "$attacker" 2>/dev/null || true
	wait "$attacker" || true
	stop
	echo "$server_flags against $*: all answered"
)

# thousand FLAGS...: a thousand connections upload at the same time, and all are
# answered
thousand() (
	apart
	start --max-uploads 1000 "$@"
	mkdir "$work/small"
	for i in $(seq 10); do
		curl -fsS --data-binary "@$dir/clownfish.jpg" "$url/?w=$i" \
			-o "$work/small/$i.jpg"
	done
	dir=$work/small
	all_answered 1000 --passes 300 "$url/?w=8"
	[ "$(stat_of .uploads.finished)" = 3010 ] || fail "lost some"
	stop
	echo "1000 connections: all answered"
)

# attacks FLAGS...: four attacks on servers with these flags
attacks() {
	local server_flags=$* job
	attack healthz -H -i 2 -x 24 &
	attack '?w=64' -B -i 2 -x 24 -s 1000000 &
	attack ticket -B -t PUT -i 2 -x 24 -s 1000000 &
	attack stats -X -k 5 -w 1 -y 10 -n 2 -z 5 &
	for job in $(jobs -p); do
		wait "$job" || exit 1
	done
}

with_policies 'default thread-per-connection' thousand
attacks
# Without timeouts, the attackers occupy all connections that the server does
# not free for other clients.
crowded="--max-connections 256 --header-timeout 0 --idle-timeout 0 --min-rate 0"
attacks $crowded
