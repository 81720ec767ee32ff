#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With 1, 2 and 4 I/O threads: results are the same, and connections are spread
# evenly.  The limits of connections, of connections per address and of uploads
# are exact.  The counts add up.  After a stop, each thread answers the uploads
# that it has accepted.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=WORDS] test_io_threads.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$1
photo=$dir/clownfish.jpg
unset TEST_IO_THREADS
needs io_threads || exit 77
shrink 700 # $photo stays as it is

# patient FLAGS...: start a server without time limits, for slow machines
patient() {
	start --deadline 0 --header-timeout 0 --drain-timeout 600s \
		--admin-listen 127.0.0.1:0 "$@"
}

# metric NAME: print its value
metric() {
	curl -fsS "$admin/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# sum NAME: print the sum of this metric over all labels, for uploads
sum() {
	curl -fsS "$admin/metrics" | awk -v name="$1{" '
		index($1, name) == 1 && /role="upload"/ { sum += $2 }
		END { print sum + 0 }'
}

# open_idle COUNT: open connections that send nothing; their descriptors are in
# $open
open_idle() {
	local fd
	open=()
	while [ ${#open[@]} -lt "$1" ]; do
		exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
		open+=("$fd")
	done
}

close_idle() {
	local fd
	for fd in "${open[@]}"; do
		exec {fd}>&-
	done
}

# until_metric NAME VALUE: wait until the metric has this value
until_metric() {
	local _
	for _ in $patience; do
		[ "$(metric "$1")" != "$2" ] || return 0
		sleep 0.05
	done
	fail "$1 is $(metric "$1"), not $2"
}

# connections_of_threads: print the number of connections of each I/O thread,
# lowest first.  An I/O thread waits with an epoll descriptor for its
# connections and for one event.  Other threads, such as that of the admin port,
# have no connection.
connections_of_threads() {
	local fd count
	for fd in /proc/"$server"/fd/*; do
		[ "$(readlink "$fd")" = 'anon_inode:[eventpoll]' ] || continue
		count=$(grep -c '^tfd:' "/proc/$server/fdinfo/${fd##*/}")
		[ "$count" -lt 9 ] || echo $((count - 1))
	done | sort -n | tr '\n' ' '
}

test_the_number_is_shown() {
	[ "$(stat_of .io_threads)" = "$1" ] ||
		fail "$(stat_of .io_threads) I/O threads, not $1"
}

test_results_are_the_same() {
	curl -fsS --data-binary "@$photo" "$url/?w=200&blur=1" \
		-o "$work/result$1"
	cmp "$work/result1" "$work/result$1" || fail "$1: another result"
}

# There are sixty open connections and, with one thread, also the listening
# socket.
test_connections_are_spread() {
	local expected
	open_idle 60
	until_metric 'darkroom_http_connections{port="main"}' 60
	case $1 in
	1) expected='61 ' ;;
	2) expected='30 30 ' ;;
	4) expected='15 15 15 15 ' ;;
	esac
	[ "$(connections_of_threads)" = "$expected" ] ||
		fail "$1: connections: $(connections_of_threads)"
	close_idle
	until_metric 'darkroom_http_connections{port="main"}' 0
}

test_counts_add_up() {
	local sent before after passes=4
	before=$(sum darkroom_http_replies_total)
	"$LOADGEN" --dataset "$dir" --connections 32 --passes $passes \
		"$url/?w=64" --json "$work/load" >"$work/report" ||
		fail "$(cat "$work/report")"
	sent=$(jq '[.responses[]] | add' "$work/load")
	after=$(sum darkroom_http_replies_total)
	[ $((after - before)) = "$sent" ] ||
		fail "$1: $sent were sent, $((after - before)) counted"
	[ "$sent" = $((passes * 4)) ] || fail "$1: $sent were sent"
	check_drained
}

# There are a hundred idle connections; twenty may stay, and the others are
# closed.
test_connections_have_a_limit() {
	patient --io-threads "$1" --max-connections 20
	open_idle 100
	until_metric darkroom_http_connections_evicted_total 80
	until_metric 'darkroom_http_connections{port="main"}' 20
	close_idle
	stop
}

# A hundred connections come at once from one address, which may have seven.
test_an_address_has_a_limit() {
	local open_count
	patient --io-threads "$1" --max-connections-per-address 7 \
		--trusted-proxies none
	open_idle 100
	until_metric darkroom_http_connections_refused_total 93
	until_metric 'darkroom_http_connections{port="main"}' 7
	close_idle
	stop
}

# More uploads than --max-uploads at once: each is answered 200 or 503, and
# there are never more than three in the server.
test_uploads_have_a_limit() {
	local ok refused
	patient --io-threads "$1" --max-uploads 3
	"$LOADGEN" --dataset "$dir" --connections 32 --passes 20 \
		"$url/?w=640" --json "$work/load" >"$work/report" || true
	ok=$(jq '.responses["200"]' "$work/load")
	refused=$(jq '.responses["503"]' "$work/load")
	[ $((ok + refused)) = 80 ] || fail "$(jq -c .responses "$work/load")"
	[ "$(stat_of .uploads.finished)" = "$ok" ] || fail "finished, not 200"
	[ "$(stat_of .uploads.refused)" = "$refused" ] || fail "not refused"
	check_drained
	stop
}

# When the stop comes, the server has accepted uploads of 24 connections.
test_a_stop_drains_all_threads() {
	patient --io-threads "$1"
	send 24 "w=$drained_px&blur=1"
	taken 24
	stop
	wait "${clients[@]}"
	[ "$(got 200)" = 24 ] || fail "$1: $(got 200) of 24 were answered"
}

counts=(1 2 4)
drained_px=800
# What one thread does, ThreadSanitizer sees in other tests; and with it, small
# pictures take long enough for a stop to come before their end.
[[ ${SANITIZED:-} != *thread* ]] || counts=(1 4) drained_px=300
for count in "${counts[@]}"; do
	patient --io-threads $count
	test_the_number_is_shown $count
	test_results_are_the_same $count
	test_connections_are_spread $count
	test_counts_add_up $count
	stop
	test_connections_have_a_limit $count
	test_an_address_has_a_limit $count
	test_uploads_have_a_limit $count
	test_a_stop_drains_all_threads $count
done

# With two workers there is one I/O thread; with a thread for each connection
# there is none.
start --cores 0
test_the_number_is_shown 1
stop
start --policy thread-per-connection
test_the_number_is_shown 0
stop
refuses 'each connection has a thread' --policy thread-per-connection \
	--io-threads 2
refuses 'from 1 to 64, or auto' --io-threads 65
