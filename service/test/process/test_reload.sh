#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGHUP reads keys and certificates again, also in a sandbox.  A client whose
# key stays valid gets no wrong answer meanwhile.  Files with errors change
# nothing.  Connections stay open.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=1] test_reload.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
samples=$1
photo=$1/clownfish.jpg
sandbox=(--sandbox require)
[ -z "${SANITIZED:-}" ] || sandbox=()

first=first-key-0123456789
second=second-key-0123456789
wrong=wrong-key-0123456789

# put FILE LINE...: replace the file by a rename, as programs do
put() {
	(umask 077 && printf '%s\n' "${@:2}" >"$1.new")
	mv "$1.new" "$1"
}

# reload TEXT: send SIGHUP, and wait until the log has TEXT once more than
# before
reload() {
	local before _
	before=$(grep -cF -- "$1" "$work/log" || true)
	kill -HUP "$server"
	for _ in $patience; do
		[ "$(grep -cF -- "$1" "$work/log")" -le "$before" ] || return 0
		sleep 0.05
	done
	fail "does not say: $1"
}

again='keys and certificates were read again'
stay='keys and certificates stay as they were'

# gets STATUS KEY: a request with this key gets this status
gets() {
	local got
	got=$(curl -sS -o "$work/body" -w '%{http_code}' \
		-H "Authorization: Bearer $2" "$url/stats")
	[ "$got" = "$1" ] || fail "$got, not $1, with $2"
}

test_keys() {
	put "$work/keys" $first
	start --api-key-file "$work/keys" "${sandbox[@]}"
	gets 200 $first
	gets 401 $second
	put "$work/keys" $first $second
	gets 401 $second
	reload "$again"
	gets 200 $second
	gets 200 $first
	put "$work/keys" $second
	reload "$again"
	gets 401 $first
	gets 200 $second

	# A file with errors changes nothing, and the log gives the reason.
	put "$work/keys" short
	reload "$stay"
	grep -qF "'$work/keys': line 1" "$work/log" || fail "does not say why"
	gets 200 $second
	chmod 000 "$work/keys"
	if [ "$(id -u)" != 0 ]; then
		reload "$stay"
		grep -qF "mode 0000; this process is" "$work/log" ||
			fail "does not say whose it is"
	fi
	rm "$work/keys"
	reload "$stay"
	gets 200 $second
	! grep -q 'key-0123456789' "$work/log" || fail "a key is in the log"
	put "$work/keys" $first
	reload "$again"
	gets 200 $first
	gets 401 $second
	stop
}

# What everybody can read is told, at the start and when it is read again.
test_modes() {
	local told="--api-key-file: '$work/keys': can be read by every user: chmod 640 it"
	put "$work/keys" $first
	start --api-key-file "$work/keys" "${sandbox[@]}"
	! grep -qF 'can be read' "$work/log" || fail "0600 is told"
	chmod 644 "$work/keys"
	reload "$again"
	grep -qF -- "$told" "$work/log" || fail "is not told"
	chmod 640 "$work/keys"
	reload "$again"
	[ "$(grep -cF 'can be read' "$work/log")" = 1 ] || fail "told of 0640"
	stop
	chmod 666 "$work/keys"
	start --log json --api-key-file "$work/keys"
	stop
	[ "$(jq -r 'select(.level == "warn") | .message' "$work/log" |
		grep -c "^$told$\|can be written by others than its owner: chmod go-w it$")" = 2 ] ||
		fail "not in the form of the log"
	chmod 600 "$work/keys"
}

# The key file is a link into a folder that is replaced, as Kubernetes mounts a
# secret.
test_links() {
	mkdir "$work/one" "$work/two"
	put "$work/one/keys" $first
	put "$work/two/keys" $second
	ln -s one "$work/data"
	ln -s data/keys "$work/linked"
	start --api-key-file "$work/linked" "${sandbox[@]}"
	gets 200 $first
	ln -s two "$work/data.new"
	mv -T "$work/data.new" "$work/data"
	reload "$again"
	gets 200 $second
	gets 401 $first
	stop
}

# Keys change ten times under load; one of them stays valid.
test_no_wrong_answer_under_load() {
	local client i _
	put "$work/keys" $first
	start --api-key-file "$work/keys" "${sandbox[@]}" "$@"
	put "$work/own" $first
	"$LOADGEN" --dataset "$samples" --connections 8 --rate 20 --duration 60 \
		--api-key-file "$work/own" --json "$work/json" \
		"$url/?w=64" >"$work/report" 2>&1 &
	client=$!
	for i in $(seq 10); do
		put "$work/keys" "$first" "another-key-number-$i"
		reload "$again"
		gets 200 "another-key-number-$i"
		put "$work/keys" nonsense
		reload "$stay"
	done
	# With a sanitizer, the first photo may take longer than all this.
	for _ in $patience; do
		! grep -q ' 200 POST /' "$work/log" || break
		sleep 0.1
	done
	kill -INT $client
	wait $client || true
	[ "$(jq '.transport_errors == 0 and .responses["200"] > 0 and
		(.responses | keys == ["200"])' "$work/json")" = true ] ||
		fail "$* $(jq -c '.responses' "$work/json")"
	gets 401 $wrong
	stop
}

# make NAME: a certificate NAME.pem and its key NAME.key
make() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj "/CN=$1" -addext \
		'subjectAltName=DNS:localhost,IP:127.0.0.1' \
		-keyout "$work/$1.key" -out "$work/$1.pem" 2>"$work/log" ||
		fail "openssl"
}

# shows NAME: a new connection gets this certificate
shows() {
	openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null |
		grep -qE "subject=.*CN ?= ?$1\$" || fail "does not show $1"
}

# live NAME: replace the links to certificate and key, one after the other, as
# certbot does
live() {
	ln -sf "../$1.pem" "$work/live/chain.pem"
	ln -sf "../$1.key" "$work/live/key.pem"
}

test_certificates() {
	local open client
	make one
	make two
	mkdir "$work/live"
	live one
	start --tls-cert "$work/live/chain.pem" --tls-key "$work/live/key.pem" \
		"${sandbox[@]}" "$@"
	shows one
	# A connection that was opened before stays open.
	mkfifo "$work/requests"
	openssl s_client -quiet -connect "127.0.0.1:$port" <"$work/requests" \
		>"$work/replies" 2>/dev/null &
	client=$!
	exec {open}>"$work/requests"
	answered 1
	live two
	shows one
	reload "$again"
	shows two
	answered 2
	# Certificate and key do not match.
	ln -sf ../one.pem "$work/live/chain.pem"
	reload "$stay"
	grep -qF -- '--tls-key' "$work/log" || fail "does not say why"
	shows two
	live one
	reload "$again"
	shows one
	answered 3
	exec {open}>&-
	kill $client
	wait $client || true
	rm -r "$work/live" "$work/requests"
	curl -fsS --cacert "$work/one.pem" --data-binary "@$photo" \
		-o "$work/out" "https://127.0.0.1:$port/?w=64"
	stop
}

# answered COUNT: send one more request through $open, and wait until there are
# COUNT replies
answered() {
	local _
	printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$open"
	for _ in $patience; do
		[ "$(grep -ac '^HTTP/1.1 200' "$work/replies")" -lt "$1" ] ||
			return 0
		sleep 0.05
	done
	fail "reply $1 did not come"
}

# readers: print the number of child processes of $server, which read its keys
readers() {
	local children=()
	read -r -a children <"/proc/$server/task/$server/children" || true
	echo ${#children[@]}
}

# The process that reads keys exists only if there are keys or certificates.  It
# ends with the server, however the server ends.
test_the_reader_ends() {
	local reader _
	# No other children.
	start --isolate none
	[ "$(readers)" = 0 ] || fail "a process to read nothing"
	reload 'no keys or certificates'
	stop
	start --isolate none --api-key-file "$work/keys"
	[ "$(readers)" = 1 ] || fail "no process that reads keys"
	read -r reader <"/proc/$server/task/$server/children" || true
	kill -TERM "$reader" # as a service manager does
	reload "$again"
	kill -KILL "$server"
	wait "$server" || true
	server=
	for _ in $patience; do
		[ -d "/proc/$reader" ] && ! grep -q '^State:.*Z' \
			"/proc/$reader/status" || return 0
		sleep 0.05
	done
	fail "the reader lives on"
}

test_a_dead_reader_is_told() {
	local reader
	start --isolate none --api-key-file "$work/keys"
	read -r reader <"/proc/$server/task/$server/children" || true
	kill -KILL "$reader"
	reload "$stay"
	gets 200 $first
	stop
}

test_keys
test_modes
test_links
with_policies 'color thread-per-connection' test_no_wrong_answer_under_load
with_policies 'color thread-per-connection' test_certificates
put "$work/keys" $first
test_the_reader_ends
test_a_dead_reader_is_told
