#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Small uploads are sent while photos of 24 megapixels keep every worker busy.
# All are answered.  With TIMES, the 90th percentile of their response times is
# at most TIMES as long as without load; times count only then, and need a
# machine that does nothing else, and 8 seconds for enough samples.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_small.sh SAMPLES_DIR
#        [SECONDS [TIMES [FLAGS...]]]
. "$(dirname "$0")/../server.sh"
chooses_policies "its flags are a schedule"
dir=$1
seconds=${2:-2}
times=${3:-0}
start "${@:4}"

# resized FOLDER QUERY: write the samples, changed by this query, to the folder
resized() {
	mkdir "$work/$1"
	for photo in "$dir"/*.jpg; do
		curl -fsS --data-binary "@$photo" "$url/?$2" \
			-o "$work/$1/${photo##*/}"
	done
}
resized large 'w=5664&h=4248&fit=fill&enlarge=1&q=90'
resized small 'w=320&h=320&q=75' # some 20 KB

# load NAME FOLDER ARGS...: run loadgen; all replies must be 200
load() {
	"$LOADGEN" --dataset "$work/$2" --timeout 300 --json "$work/$1.json" \
		"${@:3}" "$url/?w=640&h=640" >"$work/report" 2>&1 ||
		fail "$1: $(head -c 300 "$work/report")"
}

load warm small --duration 1
load alone small --rate 20 --duration "$seconds"
# Send large photos over twice as many connections as there are cores.
load large large --connections $((2 * $(nproc))) --duration $((seconds + 2)) &
large=$!
sleep 1
load beside small --rate 20 --duration "$seconds"
wait $large
alone=$(jq .response_ms.p90 "$work/alone.json")
beside=$(jq .response_ms.p90 "$work/beside.json")
echo "p90 of small uploads: alone $alone ms, beside large ones $beside ms;" \
	"large: $(jq .responses_per_s "$work/large.json")/s"
jq -c '{response_ms, schedule_lag_ms}' "$work/beside.json"
[ "$times" = 0 ] || [ "$(jq -n "$beside <= $times * $alone")" = true ] ||
	fail "more than $times times as long"
check_drained
stop
