#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two full servers behind a proxy that is configured as in deploy/: every upload
# gets a 200 or the refusal of a server, never an error of the proxy itself.
#
# Prints what was measured.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_full_pair.sh SAMPLES_DIR
#        DEPLOY_DIR nginx|haproxy [SECONDS [LOADGEN_FLAGS...]]
dir=$1
deploy=$2
kind=$3
seconds=${4:-3}
load=("${@:5}")
[ ${#load[@]} -gt 0 ] || load=(--connections 32)
. "$(dirname "$0")/proxy.sh"
needs overlap || exit 77

# total METRIC: print its sum over both servers
total() {
	local address
	for address in "${addresses[@]:0:2}"; do
		curl -fsS "http://$address/metrics"
	done | awk -v name="$1" 'index($0, name) == 1 { n += $NF } END { print n + 0 }'
}

start_both --max-uploads 4
finished=$(total darkroom_uploads_finished_total)
timeout 300 "$LOADGEN" --dataset "$dir" --duration "$seconds" --timeout 120 \
	"${load[@]}" --json "$work/json" "$front/?w=640&blur=1" \
	>"$work/report" 2>&1 || true # its status is 1 because of refusals
[ -s "$work/json" ] || fail "no report: $(cat "$work/report")"
finished=$(($(total darkroom_uploads_finished_total) - finished))
refused=$(total 'darkroom_http_problems_total{code="overloaded"')
jq -c '{responses, responses_per_s, transport_errors}' "$work/json"
echo "finished $finished, refused $refused"
[ "$(jq '.transport_errors == 0 and .responses["503"] > 0 and
	(.responses | keys == ["200", "503"])' "$work/json")" = true ] ||
	fail "$(jq -c '.transport_error_texts' "$work/json")"
[ "$(jq '.responses["200"]' "$work/json")" = "$finished" ] ||
	fail "finished are not those that clients got"
# If a server refuses an upload, nginx tries the other one.
[ "$(jq ".responses[\"503\"] <= $refused" "$work/json")" = true ] ||
	fail "refusals that no server sent"
stop_both
