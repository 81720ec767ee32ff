#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An idle server is never woken.  Under every policy, after it has served some
# photos, nobody watches it any more and its pools have shrunk, strace sees no
# system call of any thread begin or end for ten seconds.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_idle.sh DIR
#   skipped (77) where strace is missing or may not look
. "$(dirname "$0")/../server.sh"
chooses_policies "it tries them all"
dir=$1
settle_s=6 # until each thread of a pool but the first has parked, one after
           # the other, and unused buffers are freed
watch_s=10

skip() {
	echo "skipped: $*"
	exit 77
}

command -v strace >/dev/null || skip "no strace"
sleep 5 &
said=$(timeout -s INT 1 strace -o /dev/null -p $! 2>&1) || true
[[ $said = *attached* ]] || skip "$said"

arms() {
	local policy
	for policy in $("$DARKROOM" --list-policies | awk '{print $1}'); do
		echo "--policy $policy"
	done
	echo "--policy pool-per-stage --pool auto"
	echo "--policy cohort --balance replicate --steal"
}

# watch FLAGS...: no thread of an idle server with these flags wakes, although a
# connection is open
watch() (
	apart
	start "$@"
	curl -sSN -o "$work/seen" "$url/v1/live" &
	viewer=$!
	for _ in $patience; do
		! grep -qs '^event: frame' "$work/seen" || break
		sleep 0.1
	done
	kill "$viewer"
	wait "$viewer" || true
	grep -q '^event: frame' "$work/seen" || fail "$*: nothing to see"
	"$LOADGEN" --dataset "$dir" --connections 16 "$url/?w=64" >"$work/report" ||
		fail "$*: $(cat "$work/report")"
	exec {open}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$open"
	check_drained
	sleep "$settle_s"
	# Attaching strace interrupts the system calls of all threads, so each
	# thread may wake once.
	timeout -s INT 600 strace -f -p "$server" -o "$work/calls" \
		2>"$work/strace" &
	tracer=$!
	for _ in $patience; do
		[ ! -s "$work/calls" ] || break
		sleep 0.1
	done
	sleep 2
	before=$(wc -c <"$work/calls")
	[ "$before" -gt 0 ] || fail "$*: $(cat "$work/strace")"
	sleep "$watch_s"
	tail -c "+$((before + 1))" "$work/calls" >"$work/woken"
	kill -INT "$tracer"
	wait "$tracer" || true
	[ ! -s "$work/woken" ] || fail "$*: $(head -n 20 "$work/woken")"
	stop
	echo "$*: all asleep"
)

# All servers at once, because they are idle.
watchers=()
while read -r -a flags; do
	watch "${flags[@]}" &
	watchers+=($!)
done < <(arms)
[ ${#watchers[@]} -gt 2 ]
bad=0
for watcher in "${watchers[@]}"; do
	wait "$watcher" || bad=1
done
exit $bad
