#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With --policy servlib, over a slow link: a body of 256 KiB costs its thread two
# switches at most, one to read the head and one for the body, however many
# pieces arrive.  With --transfers thread it costs many.  Skipped where the link
# cannot be made slow.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_transfers.sh MKNULL
if [ "${2:-}" != slow ]; then
	for program in ip tc unshare; do
		command -v $program >/dev/null || {
			echo "skipped: there is no $program"
			exit 77
		}
	done
	unshare -n true 2>/dev/null || {
		echo "skipped: may not make a network"
		exit 77
	}
	exec unshare -n bash "$0" "$1" slow
fi
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about servlib"
unset TEST_IO_THREADS
passes=5

# Packets as on Ethernet; 10 Mbit/s, so that a busy machine is faster.
ip link set lo up mtu 1500
tc qdisc add dev lo root tbf rate 10mbit burst 16k latency 400ms || {
	echo "skipped: may not limit the rate of a network"
	exit 77
}
"$1" "$work/set"
mkdir "$work/one"
mv "$work"/set/*-262144.jpg "$work/one"

# switches_of FLAGS...: print the switches of threads for $passes bodies
switches_of() {
	local before
	start --policy servlib --admin-listen 127.0.0.1:0 "$@"
	before=$(stat_of .threads.switches)
	"$LOADGEN" --dataset "$work/one" --connections 1 --passes $passes \
		"$url/?w=64" >"$work/report" || fail "$(cat "$work/report")"
	[ "$(stat_of .uploads.finished)" = $passes ] || fail "$*: lost uploads"
	echo $(($(stat_of .threads.switches) - before))
	stop
}

for threads in n:m n:1; do
	count=$(switches_of --threads $threads)
	# The thread that accepts, and the end of the connection.
	[ "$count" -ge $passes ] && [ "$count" -le $((2 * passes + 3)) ] ||
		fail "$threads: $count switches for $passes bodies"
	count=$(switches_of --threads $threads --transfers thread)
	[ "$count" -ge $((5 * passes)) ] ||
		fail "$threads: only $count switches by threads"
done
