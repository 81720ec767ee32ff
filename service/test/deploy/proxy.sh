# SPDX-License-Identifier: MIT
# For test scripts, to be sourced instead of server.sh: two servers behind a
# proxy, configured by the files in deploy/.  The third server of these files does
# not exist here.
#
# Needs $dir, $deploy, and $kind: nginx or haproxy.  If that program is missing,
# the test is skipped (status 77).  Sets $front, the proxy's URL, and
# $addresses, those of the servers.
. "$(dirname "$0")/../server.sh"

PATH=$PATH:/usr/sbin
have "$kind" || exit 77
pids=(0 0) # of the two servers
agents=(0 0) # ports of their agents; 0: any
proxy=

# start_one INDEX FLAGS...: start one of the two servers; each has a store
start_one() {
	mkdir -p "$work/store$1"
	DARKROOM_STORE=$work/store$1 start --listen "${addresses[$1]}" \
		--agent-listen "127.0.0.1:${agents[$1]}" "${@:2}"
	pids[$1]=$server
	agents[$1]=$agent
	server=
	cp "$work/log" "$work/log$1"
}

# stop_one INDEX: stop one of the two servers
stop_one() {
	local status=0
	kill -TERM "${pids[$1]}"
	wait "${pids[$1]}" || status=$?
	[ $status = 0 ] || fail "the server ended with status $status"
	pids[$1]=0
}

# as_here FILE: print the file with the addresses of this test
as_here() {
	sed -e "s/127\.0\.0\.1:8081/${addresses[0]}/" \
		-e "s/127\.0\.0\.1:8082/${addresses[1]}/" \
		-e '/127\.0\.0\.1:8083/d' \
		-e 's/nbsrv(darkroom) lt 3/nbsrv(darkroom) lt 2/' \
		-e "s/28081/${agents[0]}/; s/28082/${agents[1]}/" \
		-e "s|/run/haproxy/admin.sock|$work/socket|" \
		-e "s|bind 127\.0\.0\.1:8404|bind unix@$work/metrics|" \
		-e '/listen \[::\]/d; /bind :::/d' \
		-e "s/listen 80;/listen ${front#http:\/\/};/" \
		-e "s/bind :80$/bind ${front#http:\/\/}/" "$1"
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
	for _ in $patience; do
		curl -fsS -o "$work/out" --data-binary "@$dir/clownfish.jpg" \
			"$front/?w=64" 2>"$work/err" && return
		sleep 0.1
	done
	fail "$kind does not answer: $(tail -n 1 "$work/err" "$work/proxylog")"
}

# Find three free ports: of both servers and of the proxy.
free_ports() {
	local i started=()
	for i in 0 1 2; do
		start
		addresses[i]=${url#http://}
		started+=("$server")
	done
	for server in "${started[@]}"; do stop; done
	front=http://${addresses[2]}
}

# Clients of the proxy cannot see the page and the reports of the servers.
inside_stays_inside() {
	local path how status
	for path in / /?w=64 // /web/app.js /stats /metrics /trace /readyz \
		/v1/live /v1/%6cive /v1/load /v1/%6coad /v1/estimates /v1/blocking-graph \
		/v1/blocking%2dgraph /v1/images /v1/images?limit=1 \
		/v1/%69mages; do
		for how in --get --head; do
			status=$(curl -s --path-as-is -o "$work/out" \
				$how -w '%{http_code}' "$front$path")
			[ "$status" = 404 ] ||
				fail "$kind: $status of $how $path"
		done
	done
}

# Clients of the proxy cannot choose what the URLs in replies begin with.
clients_choose_no_urls() {
	local told
	curl -fsS -H 'X-Forwarded-Host: evil.example' \
		-H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Prefix: /evil' \
		-H 'Host: localhost' -o "$work/out" -D "$work/told" \
		--data-binary "@$dir/clownfish.jpg" "$front/v1/images?w=9"
	told=$(jq -r '.. | .url? // empty' "$work/out"
		sed -n 's/^Location: \(.*\)\r$/\1/Ip' "$work/told")
	[ "$(grep -c '^/v1/images/' <<<"$told")" = 3 ] ||
		fail "$kind passes them on: $told"
}

# start_both FLAGS...: start both servers with these flags, and the proxy, and
# wait until it answers
start_both() {
	free_ports
	start_one 0 "$@"
	start_one 1 "$@"
	"start_$kind"
	proxy_answers
	inside_stays_inside
	clients_choose_no_urls
}

stop_both() {
	stop_one 0
	stop_one 1
	kill -TERM $proxy
	wait $proxy || true
}
