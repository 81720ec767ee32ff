#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many new connections per second that send nothing do not cause the server to
# close an upload that makes progress; nor, whatever they send, the connection of
# a client that sends its request a little later.  A flood of bodies that begin, each
# for a ticket of its own, keeps out neither good uploads nor probes, takes no more
# memory than allowed, and loses no ticket.  One address may have a limited number of
# connections, except the address of a proxy.
#
# usage: DARKROOM=PROGRAM test_crowd.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$(realpath "$1")/clownfish.jpg
here=$(realpath "$0")

# metric NAME: print its value
metric() {
	curl -fsS "$admin/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# arrive BYTES: wait until this number of bytes of uploads has arrived
arrive() {
	local name='darkroom_http_received_bytes_total{role="upload"}' _
	for _ in $patience; do
		[ "$(metric "$name")" -lt "$1" ] || return 0
		sleep 0.02
	done
	fail "uploads do not begin"
}

# flood COUNT: open this number of connections that send nothing, wait until all
# but the 20 of the server were closed for a later one, and end them
flood() {
	local at=127.0.0.1/${url##*:} open=() fd _
	local before evicted=darkroom_http_connections_evicted_total
	before=$(metric $evicted)
	for _ in $(seq "$1"); do
		exec {fd}<>"/dev/tcp/$at"
		open+=("$fd")
	done
	for _ in $patience; do
		[ "$(metric $evicted)" -lt $((before + $1 - 20)) ] || break
		sleep 0.02
	done
	[ "$(metric $evicted)" -ge $((before + $1 - 20)) ] ||
		fail "no flood: $before, then $(metric $evicted)"
	for fd in "${open[@]}"; do
		exec {fd}>&-
	done
}

# upload_slowly NUMBER: upload 8 KB a second as aim has said, until $work/enough
# exists
upload_slowly() {
	local fd bytes sent
	bytes=$(stat -c %s "$photo")
	begin_by_way fd /dev/null "$bytes"
	for ((sent = 0; sent + 4096 < bytes; sent += 4096)); do
		[ ! -e "$work/enough" ] || break
		dd if="$photo" bs=4096 skip=$((sent / 4096)) count=1 \
			status=none >&"$fd"
		sleep 0.5
	done
	tail -c +$((sent + 1)) "$photo" >"$work/last$1"
	end_by_way "$fd" "$work/last$1"
	head -n 1 <&"$fd" | tr -d '\r' >"$work/status$1"
}

# There are almost as many slow uploads as the server can have connections; none
# ends before the flood.
test_uploads_outlast_a_flood() {
	local i _ clients=() all=($ways)
	rm -rf "$work/enough" "$work"/status* "$work/store"
	mkdir "$work/store"
	start "$@" --max-connections 20 --admin-listen 127.0.0.1:0 \
		--store "$work/store"
	for i in $(seq 16); do
		aim "${all[i % ${#all[@]}]}"
		upload_slowly "$i" 2>"$work/err$i" &
		clients+=($!)
	done
	arrive 160000
	for _ in 1 2 3 4 5; do
		flood 100
	done
	! grep -qs . "$work"/status* || fail "an upload ended too early"
	touch "$work/enough"
	for i in "${clients[@]}"; do
		wait "$i" || true
	done
	[ "$(cat "$work"/status* | grep -cE ' 20[014] ')" = 16 ] ||
		fail "uploads: $(cat "$work"/status* "$work"/err* | xargs)"
	stop
}

# make_tickets COUNT: set `tickets` to the paths of new ones
make_tickets() {
	readarray -t tickets < <(curl -fsS --no-progress-meter -X POST \
		"$url/v1/uploads?w=64#[1-$1]" | grep -o '"url":"[^"]*' |
		cut -d '"' -f 4)
	[ ${#tickets[@]} = "$1" ] || fail "${#tickets[@]} tickets, not $1"
}

# begin_bodies WAY TICKET...: a body of 10 MB to each of the tickets, of which two bytes
# come; add the connections to `open`
begin_bodies() {
	local way=$1 ticket
	shift
	for ticket; do
		aim "$way" w=64 / "$ticket"
		begin_by_way new "$work/begin" 10000000
		open+=("$new")
	done 2>/dev/null
}

# are_served WAY: probes, and good uploads by POST and in this way
are_served() {
	local way got
	for way in "$admin/healthz" "$admin/metrics" "$url/healthz"; do
		curl -fsS --max-time 60 "$way" -o "$work/out" || fail "no answer: $way"
	done
	for way in length "$1"; do
		aim $way
		got=$(send_by_way "$photo" --max-time 60) || true
		[ "$got" = "$way_done" ] || fail "$way: $got $(shown "$work/body")"
	done
}

# There are four times as many as the server can have connections.
test_a_flood_of_bodies_to_tickets() {
	local open=() tickets all=(ticket ticket_chunks tus tus_chunks) i fd got
	local mib=$((1 << 20))
	needs memory_refusals || return 0
	rm -rf "$work/store"
	mkdir "$work/store"
	printf '\xff\xd8' >"$work/begin"
	start "$@" --max-connections 30 --memory 32M --admin-listen 127.0.0.1:0 \
		--store "$work/store"
	make_tickets 120
	for i in 0 1 2 3; do
		begin_bodies "${all[i]}" "${tickets[@]:i * 30:30}"
		are_served "${all[i]}"
	done
	[ "$(metric darkroom_http_connections_evicted_total)" -ge 60 ] ||
		fail "no flood"
	[ "$(stat_of '.memory.peak_bytes <= .memory.limit_bytes')" = true ] ||
		fail "$(stats .memory)"
	# What it has beside that: docs/operations/limits.md, 'Memory'.
	[ -n "${SANITIZED:-}" ] || [ "$(stats .memory_peak_bytes)" -le \
		$((32 * mib + 32 * mib + 30 * (152 << 10))) ] ||
		fail "the process had $(stats .memory_peak_bytes) bytes"
	for fd in "${open[@]}"; do
		exec {fd}>&-
	done
	check_drained
	# The first of each way was closed for another connection, or here.
	for i in 0 30 60 90; do
		aim ticket w=64 / "${tickets[i]}"
		got=$(send_by_way "$photo")
		[ "$got" = 201 ] || fail "a lost ticket: $got"
	done
	stop
}

# connect NAME: open a connection from 127.0.0.1, whose descriptor is ${NAME}
connect() {
	exec {new}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf -v "$1" %s "$new"
}

# ask FD: send a request, and print the first line of the answer, if there is
# one
ask() {
	printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&"$1" || true
	head -n 1 <&"$1" 2>/dev/null | tr -d '\r'
}

# begin_many COUNT TEXT: open this number of connections that send this text, and
# add them to `open`
begin_many() {
	local i
	for i in $(seq "$1"); do
		connect new
		printf '%b' "$2" >&"$new" || true
		open+=("$new")
	done 2>/dev/null
}

# is_served_later TEXT: while all connections have sent this text, connect, let
# more of them come, and when three others were closed for them, ask
is_served_later() {
	local open=() asking answer before fd _
	begin_many 50 "$1"
	before=$(metric $evicted)
	connect asking
	begin_many 4 "$1"
	for _ in $patience; do
		[ "$(metric $evicted)" -lt $((before + 3)) ] || break
		sleep 0.02
	done
	answer=$(ask "$asking" 2>/dev/null)
	for fd in "$asking" "${open[@]}"; do
		exec {fd}>&-
	done
	[ "$answer" = "HTTP/1.1 200 OK" ]
}

# All connections count as those of different clients, so each has the same time.
# On a busy machine, one may need too long once, but not always.
test_who_sends_later_is_served() {
	local evicted=darkroom_http_connections_evicted_total
	local text post='POST / HTTP/1.1\r\nHost: localhost\r\n'
	local body="${post}Content-Length: 100000\r\n\r\n\xff\xd8" i
	start "$@" --max-connections 32 --admin-listen 127.0.0.1:0
	for text in '' P "$post" "$body"; do
		for i in $(seq 30); do
			! is_served_later "$text" || break
			[ "$i" -lt 30 ] || fail "not served beside '$text'"
		done
	done
	stop
}

# closes_more COUNT: after this number of connections from 127.0.0.1, the server
# closes the next one
closes_more() {
	local i all=()
	for i in $(seq "$1"); do
		connect new
		[ "$(ask "$new")" = "HTTP/1.1 200 OK" ] || fail "number $i"
		all+=("$new")
	done
	connect new
	[ -z "$(ask "$new" 2>/dev/null)" ] || fail "one more is answered"
	exec {new}>&-
	curl -fsS --interface 127.0.0.2 "$url/healthz" -o "$work/out" ||
		fail "another address is refused"
	for new in "${all[@]}"; do
		exec {new}>&-
	done
}

test_an_address_has_its_share() {
	start --trusted-proxies none --max-connections 160 \
		--admin-listen 127.0.0.1:0
	closes_more 20 # an eighth of 160
	[ "$(metric darkroom_http_connections_refused_total)" = 1 ] ||
		fail "not counted"
	[ "$(grep -c -- --trusted-proxies "$work/log")" = 1 ] ||
		fail "nothing in the log"
	stop
	start --trusted-proxies 127.0.0.2,::1 --max-connections-per-address 3
	closes_more 3
	stop
}

# By default, all loopback addresses count as proxies.
test_a_proxy_may_have_all() {
	local i
	for flags in "" "--trusted-proxies 127.0.0.1"; do
		start $flags --max-connections 32 --max-connections-per-address 1
		exec {first}<>"/dev/tcp/127.0.0.1/${url##*:}"
		for i in 1 2 3; do
			curl -fsS "$url/healthz" -o "$work/out" || fail "refused"
		done
		exec {first}>&-
		stop
	done
}

test_flags_are_checked() {
	refuses "'10.0.0.1/8' has bits after" --trusted-proxies 10.0.0.1/8
	refuses "'proxy' is not an IPv4 or IPv6 address" \
		--trusted-proxies ::1,proxy
	[ "$("$DARKROOM" --max-connections 800 --print-config |
		jq -c '[."max-connections-per-address", ."trusted-proxies"]')" \
		= '[100,"127.0.0.0/8,::1"]' ] || fail "other defaults"
}

# Run in a network namespace of its own, where the test may use any address.
if [ "${2-}" = ipv6 ]; then
	ip link set lo up
	for host in 1::1 1::2 1:f::2 2::2; do
		ip -6 address add "2001:db8:0:$host/128" dev lo nodad
	done
	launch --listen '[2001:db8:0:1::1]:0' --insecure \
		--max-connections-per-address 1
	url="http://[2001:db8:0:1::1]:$port"
	exec {first}<>"/dev/tcp/2001:db8:0:1::1/$port"
	curl -fsS --interface 2001:db8:0:2::2 "$url/healthz" -o "$work/out" ||
		fail "another /64 is refused"
	for host in 2001:db8:0:1::2 2001:db8:0:1:f::2; do
		! curl -sS --interface $host "$url/healthz" \
			-o "$work/out" 2>"$work/err" ||
			fail "another address of the /64 is answered"
	done
	exec {first}>&-
	stop
	exit 0
fi

trap '' PIPE # SIGPIPE comes when the server closes a connection
test_flags_are_checked
test_an_address_has_its_share
test_a_proxy_may_have_all
with_policies 'default thread-per-connection' test_uploads_outlast_a_flood
test_a_flood_of_bodies_to_tickets
with_policies 'default servlib' test_who_sends_later_is_served
if command -v ip >/dev/null && unshare -n true 2>/dev/null; then
	unshare -n bash "$here" "$1" ipv6 || fail "IPv6"
else
	echo "skipped: IPv6, which needs a network of its own"
fi
