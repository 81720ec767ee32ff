#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two servers behind a proxy that is configured as in deploy/: each ticket, and
# each upload in parts, reaches the server that has made it, and the bytes of a
# part that is cut off do, too.
#
# usage: DARKROOM=PROGRAM test_tickets_behind.sh SAMPLES_DIR DEPLOY_DIR
#        nginx|haproxy
dir=$1
deploy=$2
kind=$3
. "$(dirname "$0")/proxy.sh"
photo=$dir/clownfish.jpg
bytes=$(stat -c %s "$photo")
tus='Tus-Resumable: 1.0.0'
head -c 50000 "$photo" >"$work/first"
tail -c +50001 "$photo" >"$work/rest"

# made INDEX: how many tickets this server has made
made() {
	"$JSON_VALUE" "http://${addresses[$1]}/stats" .inbox.made
}

# url_of [CURL-ARGUMENTS...]: make a ticket
url_of() {
	curl -fsS -X POST "$@" "$front/v1/uploads?w=64" | "$JSON_VALUE" .url
}

# part URL OFFSET FILE
part() {
	curl -fsS -X PATCH -H "$tus" -H "Upload-Offset: $2" \
		-H 'Content-Type: application/offset+octet-stream' \
		--data-binary "@$3" "$front$1"
}

offset_of() {
	curl -sS -I -H "$tus" "$front$1" |
		sed -n 's/^Upload-Offset: \(.*\)\r$/\1/Ip'
}

state_of() {
	curl -sS "$front$1" | "$JSON_VALUE" .state
}

# new_proxy: another process, which knows nothing of the last one
new_proxy() {
	kill "$proxy"
	wait "$proxy" || true
	"start_$kind"
	proxy_answers
}

start_both --host localhost
for n in 1 2 3 4 5 6; do
	tickets[n]=$(url_of)
	parts[n]=$(url_of -H "$tus" -H "Upload-Length: $bytes")
done
for n in 1 2 3 4 5 6; do
	curl -fsS -T "$photo" "$front${tickets[n]}" -o "$work/out" ||
		fail "$kind: a ticket"
	part "${parts[n]}" 0 "$work/first" || fail "$kind: a part"
done
for n in 1 2 3 4 5 6; do
	[ "$(offset_of "${parts[n]}")" = 50000 ] || fail "$kind: lost a part"
	part "${parts[n]}" 50000 "$work/rest" || fail "$kind: the last part"
	[ "$(curl -fsS "$front${parts[n]}" | "$JSON_VALUE" .state)" = stored ] ||
		fail "$kind: not stored"
done
[ $(($(made 0) + $(made 1))) = 12 ] || fail "$kind: $(made 0), $(made 1)"
[ "$kind" = nginx ] || [ "$(made 0)" != 0 ] || fail "only one is used"
[ "$kind" = nginx ] || [ "$(made 1)" != 0 ] || fail "only one is used"

# While its server is away, the client is told to come again.
if [ "$kind" = haproxy ]; then
	for n in 1 2 3 4; do
		parts[n]=$(url_of -H "$tus" -H "Upload-Length: $bytes")
		part "${parts[n]}" 0 "$work/first" || fail "$kind: a part"
	done
	stop_one 0
	for n in 1 2 3 4; do
		status=$(curl -sS -I -H "$tus" -o "$work/out" -w '%{http_code}' \
			"$front${parts[n]}")
		[ "$status" != 404 ] || fail "another server was asked"
	done
	start_one 0 --host localhost
	for n in 1 2 3 4; do
		for _ in $patience; do
			[ "$(offset_of "${parts[n]}")" != 50000 ] || break
			sleep 0.05
		done
		part "${parts[n]}" 50000 "$work/rest" || fail "lost in a restart"
	done
fi

# HAProxy has lost its table: each is found again, and not given up while a server
# is away.
if [ "$kind" = haproxy ]; then
	for n in 1 2 3 4; do
		parts[n]=$(url_of -H "$tus" -H "Upload-Length: $bytes")
		part "${parts[n]}" 0 "$work/first" || fail "$kind: a part"
	done
	new_proxy
	for n in 1 2 3 4; do
		curl -fsS -X OPTIONS "$front${parts[n]}" -o "$work/out"
		[ "$(offset_of "${parts[n]}")" = 50000 ] || fail "not found"
	done
	stop_one 0
	new_proxy
	for n in 1 2 3 4; do
		part "${parts[n]}" 50000 "$work/rest" 2>"$work/err" ||
			has 'error: 503$' "$work/err" ||
			fail "not there: $(cat "$work/err")"
	done
	start_one 0 --host localhost
	for n in 1 2 3 4; do
		for _ in $patience; do
			[ "$(state_of "${parts[n]}")" != stored ] || break
			part "${parts[n]}" 50000 "$work/rest" 2>"$work/err" ||
				sleep 0.05
		done
		[ "$(state_of "${parts[n]}")" = stored ] || fail "lost"
	done
fi

cut=$(url_of -H "$tus" -H "Upload-Length: $bytes")
exec {fd}<>"/dev/tcp/127.0.0.1/${front##*:}"
printf 'PATCH %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n' "$cut" "$tus" >&"$fd"
printf 'Content-Type: application/offset+octet-stream\r\n' >&"$fd"
printf 'Upload-Offset: 0\r\nContent-Length: %s\r\n\r\n' "$bytes" >&"$fd"
cat "$work/first" >&"$fd"
sleep 0.3 # the proxy has read them
exec {fd}>&-
for _ in $patience; do
	[ "$(offset_of "$cut")" != 50000 ] || break
	sleep 0.05
done
[ "$(offset_of "$cut")" = 50000 ] || fail "$kind: offset $(offset_of "$cut")"
stop_both
