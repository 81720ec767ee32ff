#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two servers behind a proxy, as deploy/ has it, are restarted in turn while
# clients upload: no upload is lost or refused.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_restart.sh SAMPLES_DIR DEPLOY_DIR
#        nginx|haproxy [RESTARTS]
. "$(dirname "$0")/server.sh"
dir=$1
deploy=$2
kind=$3
restarts=${4:-4}
pids=(0 0) # of the servers
proxy=
client=

PATH=$PATH:/usr/sbin
command -v "$kind" >/dev/null || exit 77
end() {
	local status=$? pid
	for pid in "${pids[@]}" $proxy $client; do
		[ "$pid" = 0 ] || kill -KILL "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
	exit $status
}
trap end EXIT

# start_one INDEX ADDRESS: a server, ready
start_one() {
	start --listen "$2" --shutdown-delay "$delay" --drain-timeout 60s
	pids[$1]=$server
	server=
	cp "$work/log" "$work/log$1"
}

# stop_one INDEX
stop_one() {
	local status=0
	kill -TERM "${pids[$1]}"
	wait "${pids[$1]}" || status=$?
	[ $status = 0 ] || fail "the server ended with status $status"
	pids[$1]=0
}

# as_here FILE: the file with the addresses of this test
as_here() {
	sed -e "s/127\.0\.0\.1:8081/${addresses[0]}/" \
		-e "s/127\.0\.0\.1:8082/${addresses[1]}/" \
		-e "s/listen 8080/listen ${front#http:\/\/}/" \
		-e "s/bind :8080/bind ${front#http:\/\/}/" "$1"
}

start_nginx() {
	local name temporary=
	chmod 711 "$work" # its workers may be another user
	for name in client_body proxy fastcgi uwsgi scgi; do
		temporary+="${name}_temp_path $work/$name; "
	done
	as_here "$deploy/nginx.conf" |
		sed "s|^http {|&\naccess_log off; $temporary|" >"$work/conf"
	nginx -p "$work" -c "$work/conf" -e "$work/proxylog" \
		-g "daemon off; pid $work/pid;" &
	proxy=$!
}

start_haproxy() {
	as_here "$deploy/haproxy.cfg" >"$work/conf"
	haproxy -db -f "$work/conf" >"$work/proxylog" 2>&1 &
	proxy=$!
}

proxy_answers() {
	local _
	for _ in $(seq 300); do
		curl -fsS -o "$work/out" --data-binary "@$dir/clownfish.jpg" \
			"$front/?w=64" 2>"$work/err" && return
		sleep 0.1
	done
	fail "$kind does not answer: $(tail -n 1 "$work/err" "$work/proxylog")"
}

# HAProxy looks twice a second who is ready, nginx tries.
case $kind in
nginx) delay=0s pause=0.2 ;;
haproxy) delay=3s pause=2 ;;
esac
# Three free ports.
for i in 0 1 2; do
	start
	addresses[i]=${url#http://}
	pids[i]=$server
	server=
done
for i in 0 1 2; do stop_one $i; done
unset 'pids[2]'
front=http://${addresses[2]}

start_one 0 "${addresses[0]}"
start_one 1 "${addresses[1]}"
"start_$kind"
proxy_answers
"$LOADGEN" --dataset "$dir" --connections 4 --duration 3600 --timeout 120 \
	--json "$work/json" "$front/?w=64" >"$work/report" 2>&1 &
client=$!
for n in $(seq "$restarts"); do
	i=$((n % 2))
	stop_one $i
	start_one $i "${addresses[i]}"
	sleep "$pause" # until the proxy knows
done
kill -INT $client
wait $client || true
client=
jq -c '{restarts: '"$restarts"', responses, transport_errors}' "$work/json"
[ "$(jq '.transport_errors == 0 and (.responses | keys == ["200"])' \
	"$work/json")" = true ] ||
	fail "$(jq -c '.responses, .transport_error_texts' "$work/json")" \
		"$(tail -n 5 "$work/proxylog")"
stop_one 0
stop_one 1
kill -TERM $proxy
wait $proxy || true
proxy=
