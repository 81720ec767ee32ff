#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A flood: clients send three times as many uploads as the server can process.
# It processes as many as without the flood, in time; the others get a 503.
# After the flood, no upload and no memory is left in use.
#
# Prints what was measured.  With PERCENT, the uploads that were done in time
# must be at least this share of the peak; times count only then, and need a
# machine that does nothing else.  For a queue of 10 s, CONNECTIONS and
# --max-uploads must be more than 3 * peak * 10.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [CONNECTIONS=1500]
#        test_flood.sh PHOTOS_DIR
#        [SECONDS [PERCENT [FLAGS...]]]
. "$(dirname "$0")/../server.sh"
dir=$1
seconds=${2:-3}
percent=${3:-0}
flags=("${@:4}")
query='w=640&h=640'
deadline_s=10
connections=${CONNECTIONS:-1500}
ulimit -n "$(ulimit -Hn)"
[ -z "${SANITIZED:-}" ] || shrink 700 # a sanitizer makes pixels slow

# load NAME ARGS...: run loadgen; allowed are the replies 200 and 503
load() {
	"$LOADGEN" --dataset "$dir" --json "$work/$1" --csv "$work/$1.csv" \
		--duration "$seconds" --timeout 120 "${@:2}" "$url/?$query" >"$work/report" 2>&1 ||
		true
	[ -s "$work/$1" ] || fail "no report: $(cat "$work/report")"
	[ "$(jq '.transport_errors == 0 and (.responses | keys -
		["200", "503"]) == [] and .responses["200"] > 0' \
		"$work/$1")" = true ] || fail "$1: $(jq -c \
		'.responses, .transport_error_texts' "$work/$1")"
}

# Prints the resident memory in KB, after that of pictures was given back.
resident_kb() {
	local _
	for _ in $patience; do
		[ "$(stat_of '.uploads.in_flight + .buffers.kept_bytes')" != 0 ] ||
			break
		sleep 0.1
	done
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status"
}

# slowest_report PID: print the slowest answer of the admin port, in ms, while
# the process runs
slowest_report() {
	while kill -0 "$1" 2>/dev/null; do
		curl -fsS -o "$work/health" -w '%{time_total}\n' \
			-o "$work/metrics" "$admin/healthz" "$admin/metrics" ||
			fail "no answer of the admin port"
		sleep 0.2
	done | sort -n | tail -n 1 | awk '{ printf "%.1f", $1 * 1000 }'
}

start --admin-listen 127.0.0.1:0 --deadline ${deadline_s}s \
	--max-connections $((connections + 500)) "${flags[@]}"
load warm --connections 16
load peak --connections 16
peak=$(jq .responses_per_s "$work/peak")
before=$(resident_kb)
# At least 50 requests/s, to fill the server during the flood even on a slow
# machine.
load flood --rate "$(jq -n "[3 * $peak, 50] | max")" \
	--connections "$connections" &
flood=$!
report_ms=$(slowest_report $flood)
wait $flood
check_drained
after=$(resident_kb)
# All uploads that were answered count, because they began during these seconds.
done=$(jq .responses_per_s "$work/flood")
# Uploads that were answered 200 in time and before the end of the flood, per
# second; and their MB/s.
in_time=$(awk -F, -v s="$seconds" -v ms=${deadline_s}000 'NR > 1 &&
	$6 == 200 && $10 <= ms && $4 <= s { n++; b += $8 }
	END { printf "%.1f/s (%.1f MB/s)", n / s, b / s / 1e6 }' \
	"$work/flood.csv")
p99_ms=$(jq .response_ms.p99 "$work/flood")
echo "peak $peak/s ($(jq '.bytes_per_s / 1e6' "$work/peak") MB/s); flood:" \
	"$done/s, in time $in_time, $(jq -c .responses "$work/flood")," \
	"p99 $p99_ms ms, /healthz, /metrics $report_ms ms at most," \
	"RSS $before -> $after kB"
jq -r '"CPU of server \(.server.cpu_s) s, of client \(.client_cpu_s) s," +
	" schedule lag p99 \(.schedule_lag_ms.p99) ms"' "$work/flood"
! needs overlap || [ "$(jq '.responses["503"] > 0' "$work/flood")" = true ] ||
	fail "no flood"
[ "$(stat_of 'all(.stages[]; .refused == 0)')" = true ] ||
	fail "a queue was full before the server was"
[ "$percent" = 0 ] || {
	[ "$(jq -n "${in_time%%/*} >= $peak * $percent / 100")" = true ] ||
		fail "slow"
	[ "$after" -le $((before * 11 / 10)) ] || fail "memory is kept"
}
stop
