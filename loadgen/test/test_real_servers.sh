#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# loadgen against servers of others: nginx and node receive every upload whole,
# and every upload is answered 2xx.
#
# usage: LOADGEN=PROGRAM test_real_servers.sh
#   skipped (77) where nginx or node is missing
. "$(dirname "$0")/../../base/test/script.sh"

for program in nginx node; do
	PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
		{ echo "skipped: no $program"; exit 77; }
done

servers=()
at_end() {
	kill "${servers[@]}" 2>/dev/null || true
}

# From empty to more than a socket takes at once.
mkdir "$work/photos" "$work/kept"
for size in 0 1 1000 70000 1000000 9000000; do
	head -c "$size" /dev/urandom >"$work/photos/$size.jpg"
done

# Says its port, and answers with the length and the checksum of each upload.
node -e '
	const crypto = require("crypto")
	const server = require("http").createServer((request, reply) => {
		const hash = crypto.createHash("sha256")
		let length = 0
		request.on("data", (part) => { length += part.length; hash.update(part) })
		request.on("end", () => reply.end(`${length} ${hash.digest("hex")}\n`))
	}).listen(0, "127.0.0.1", () => console.log(server.address().port))
' >"$work/node.port" &
servers+=($!)

# Passes uploads on to node, in front of it a place that answers at once.
start_nginx() { # NODE_PORT
	local port
	for port in $(shuf -i 20000-29999 -n 20); do
		cat >"$work/nginx.conf" <<-END
			daemon off; master_process off; pid $work/nginx.pid;
			error_log $work/nginx.log;
			events { worker_connections 256; }
			http {
				access_log off; client_max_body_size 0;
				client_body_temp_path $work/body;
				proxy_temp_path $work/proxy;
				server {
					listen 127.0.0.1:$port;
					location / { proxy_pass http://127.0.0.1:$1; }
					location /at-once { return 200 "ok\n"; }
					location /small { client_max_body_size 2000; proxy_pass http://127.0.0.1:$1; }
				}
			}
		END
		PATH=$PATH:/usr/sbin nginx -p "$work" -e "$work/nginx.log" \
			-c "$work/nginx.conf" 2>/dev/null &
		servers+=($!)
		nginx_url=http://127.0.0.1:$port
		for _ in $(seq 600); do
			kill -0 $! 2>/dev/null || continue 2
			! curl -fs "$nginx_url/at-once" >/dev/null || return 0
			sleep 0.1
		done
	done
	fail "nginx does not start: $(cat "$work/nginx.log")"
}

# upload URL: all at once, each three times, and every checksum is right
upload() {
	local photo
	rm -rf "$work/kept"
	"$LOADGEN" --dataset "$work/photos" --connections 4 --passes 3 \
		--save "$work/kept" "$1" >"$work/out" 2>&1 ||
		fail "$1: $(cat "$work/out")"
	for photo in "$work"/photos/*; do
		echo "$(stat -c %s "$photo") $(sha256sum <"$photo" | cut -d' ' -f1)" |
			cmp - "$work/kept/${photo##*/}" || fail "$1: ${photo##*/}"
	done
}

for _ in $(seq 600); do
	[ ! -s "$work/node.port" ] || break
	sleep 0.1
done
node_port=$(cat "$work/node.port")
start_nginx "$node_port"
upload "http://127.0.0.1:$node_port/"
upload "$nginx_url/"

# Answered before the upload is read, which is sent all the same.
"$LOADGEN" --dataset "$work/photos" --connections 4 --passes 20 \
	"$nginx_url/at-once" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q '200: 120' "$work/out" || fail "at once: $(cat "$work/out")"

# Refused before the upload is read: a status, not a broken connection.
"$LOADGEN" --dataset "$work/photos" --connections 4 --passes 20 \
	"$nginx_url/small" >"$work/out" 2>&1 && fail "too large, but taken"
grep -q '413: 60' "$work/out" && grep -q '200: 60' "$work/out" ||
	fail "too large: $(cat "$work/out")"
