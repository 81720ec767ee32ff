#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two servers behind a proxy that is configured as in deploy/ are restarted in
# turn while clients upload: no upload is lost or refused.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_restart.sh SAMPLES_DIR DEPLOY_DIR
#        nginx|haproxy [RESTARTS]
dir=$1
deploy=$2
kind=$3
restarts=${4:-4}
. "$(dirname "$0")/proxy.sh"

# HAProxy checks twice a second which servers are ready; nginx tries them.
case $kind in
nginx) delay=0s ;;
haproxy) delay=6s ;;
esac
flags=(--shutdown-delay "$delay" --drain-timeout 60s --host photos.example
	--max-body 1M)

# asks STATUS HEADER...: a browser's upload with these headers gets this status
asks() {
	local status=$1 got headers=() header
	shift
	for header in "$@"; do headers+=(-H "$header"); done
	got=$(curl -sS -o "$work/out" -w '%{http_code}' "${headers[@]}" \
		--data-binary "@$dir/clownfish.jpg" "$front/?w=64")
	[ "$got" = "$status" ] || fail "$kind: $got, not $status: $*"
}

# The proxy passes Host on unchanged, so that the server recognises pages of its
# own site.
start_both "${flags[@]}"
asks 200 'Host: photos.example:8080' 'Origin: http://photos.example:8080'
asks 403 'Host: photos.example:8080' 'Origin: http://photos.example:8081'
asks 403 'Host: photos.example' 'Origin: http://evil.example'
asks 421 'Host: evil.example' 'Origin: http://evil.example'
# What is too large gets the server's own answer.
head -c 1100000 /dev/zero >"$work/large"
expect_problem 413 body_too_large --data-binary "@$work/large" "$front/?w=64"
expect_problem 414 target_too_long --data-binary "@$dir/clownfish.jpg" \
	"$front/?w=64&$(printf 'a%.0s' {1..17000})"
"$LOADGEN" --dataset "$dir" --connections 4 --duration 3600 --timeout 120 \
	--json "$work/json" "$front/?w=64" >"$work/report" 2>&1 &
client=$!
for n in $(seq "$restarts"); do
	i=$((n % 2))
	stop_one $i
	start_one $i "${flags[@]}"
	for _ in $patience; do # until the proxy uses it again
		[ "$(stat_of .uploads.finished)" = 0 ] || break
		sleep 0.05
	done
done
kill -INT $client
wait $client || true
jq -c '{restarts: '"$restarts"', responses, transport_errors}' "$work/json"
[ "$(jq '.transport_errors == 0 and (.responses | keys == ["200"])' \
	"$work/json")" = true ] ||
	fail "$(jq -c '.responses, .transport_error_texts' "$work/json")" \
		"$(tail -n 5 "$work/proxylog")"
stop_both
