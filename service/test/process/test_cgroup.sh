#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server with --memory 128M in a control group of 160 MB, and 64 clients with
# photos of 12 and 24 megapixels: the kernel never kills it, its memory never
# reaches the group's limit, and all answers are 200 or 503.  Prints the peaks.
# Skipped where no group can be made.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_cgroup.sh SAMPLES_DIR
#        [SECONDS [FLAGS...]]
. "$(dirname "$0")/../server.sh"
dir=$1
seconds=${2:-4}
flags=("${@:3}")
mib=$((1 << 20))
limit=$((160 * mib))

# The names of the files in version 1 and 2 of control groups.
if [ -d /sys/fs/cgroup/memory ]; then
	group=/sys/fs/cgroup/memory/darkroom-test-$$
	limit_file=memory.limit_in_bytes
	peak_file=memory.max_usage_in_bytes
	kills_file=memory.oom_control
else
	group=/sys/fs/cgroup/darkroom-test-$$
	limit_file=memory.max
	peak_file=memory.peak
	kills_file=memory.events
fi
mkdir "$group" 2>/dev/null || {
	echo "skipped: no control group can be made"
	exit 77
}
at_end() {
	[ -z "$server" ] || kill -KILL "$server" || true
	for _ in 1 2 3 4 5; do rmdir "$group" && break || sleep 1; done
}
echo $limit >"$group/$limit_file" || {
	echo "skipped: the group's memory cannot be limited"
	exit 77
}
# Version 1 counts the memory of sockets separately, and only if it has a limit.
sockets_peak=$group/memory.kmem.tcp.max_usage_in_bytes
[ ! -f "$sockets_peak" ] ||
	echo $((1024 * mib)) >"$group/memory.kmem.tcp.limit_in_bytes"

# Make photos of a camera's size from the samples.
mkdir "$work/photos"
start
for photo in "$dir"/*.jpg; do
	for size in w=4000\&h=3000 w=5664\&h=4248; do
		curl -fsS --data-binary "@$photo" -o \
			"$work/photos/${size%&*}-${photo##*/}" \
			"$url/?$size&fit=fill&enlarge=1&q=90"
	done
done
stop
printf '%s\n' 'w=640&h=640' 'w=1600&h=1600&blur=1' 'q=90' >"$work/queries"

cat >"$work/inside" <<EOF
#!/bin/sh
echo \$\$ >'$group/cgroup.procs' && exec '$DARKROOM' "\$@"
EOF
chmod +x "$work/inside"
DARKROOM=$work/inside
start --memory 128M --max-connections 72 --max-connections-per-address 72 \
	"${flags[@]}"
grep -qx "$server" "$group/cgroup.procs" || fail "not in the group"
"$LOADGEN" --dataset "$work/photos" --params "$work/queries" --connections 64 \
	--duration "$seconds" --timeout 300 --json "$work/json" "$url/" \
	>"$work/report" 2>&1 || true
kill -0 "$server" 2>/dev/null || fail "the server was killed"
peak=$(cat "$group/$peak_file")
sockets=$(cat "$sockets_peak" 2>/dev/null || echo 0)
resident_kb=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status")
jq -c '.responses' "$work/json"
echo "group at most $((peak / 1024)) kB of $((limit / 1024))," \
	"sockets $((sockets / 1024)) kB, process $resident_kb kB," \
	"$(stat_of '.memory | "charged \(.peak_bytes) of \(.limit_bytes)"')"
[ "$(jq '.transport_errors == 0 and (.responses | keys - ["200", "503"]) == []
	and .responses["200"] > 0 and .responses["503"] > 0' "$work/json")" = \
	true ] || fail "$(jq -c '.responses, .transport_error_texts' "$work/json")"
# What is not read meanwhile stays in sockets.
! needs overlap || [ $((peak + sockets)) -lt $limit ] ||
	fail "at the group's limit"
grep -q '^oom_kill [1-9]' "$group/$kills_file" && fail "killed"
check_drained
stop
