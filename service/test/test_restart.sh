#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two servers behind a proxy, as deploy/ has it, are restarted in turn while
# clients upload: no upload is lost or refused.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_restart.sh SAMPLES_DIR DEPLOY_DIR
#        nginx|haproxy [RESTARTS]
dir=$1
deploy=$2
kind=$3
restarts=${4:-4}
. "$(dirname "$0")/proxy.sh"

# HAProxy looks twice a second who is ready, nginx tries.
case $kind in
nginx) delay=0s pause=0.2 ;;
haproxy) delay=3s pause=2 ;;
esac
flags=(--shutdown-delay "$delay" --drain-timeout 60s)
start_both "${flags[@]}"
"$LOADGEN" --dataset "$dir" --connections 4 --duration 3600 --timeout 120 \
	--json "$work/json" "$front/?w=64" >"$work/report" 2>&1 &
client=$!
for n in $(seq "$restarts"); do
	i=$((n % 2))
	stop_one $i
	start_one $i "${flags[@]}"
	sleep "$pause" # until the proxy knows
done
kill -INT $client
wait $client || true
jq -c '{restarts: '"$restarts"', responses, transport_errors}' "$work/json"
[ "$(jq '.transport_errors == 0 and (.responses | keys == ["200"])' \
	"$work/json")" = true ] ||
	fail "$(jq -c '.responses, .transport_error_texts' "$work/json")" \
		"$(tail -n 5 "$work/proxylog")"
stop_both
