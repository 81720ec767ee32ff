#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The server survives when any allocation of a request fails, when no descriptor
# is free, and when the time of day jumps.  If any thread cannot be started, the
# server reports it and ends.
#
# usage: DARKROOM=PROGRAM FAULTS_LIBRARY=FILE CHECK_FAULTS=PROGRAM
#        PRINT_PROFILE=PROGRAM [SANITIZED=1] test_faults.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
faults=$work/faults

# The layout of faults.h: three numbers of 64 bits.
head -c 24 /dev/zero >"$faults"
cat >"$work/darkroom" <<EOF
#!/bin/sh
export LD_PRELOAD=$FAULTS_LIBRARY FAULTS=$faults
export ASAN_OPTIONS=verify_asan_link_order=0
exec "$DARKROOM" "\$@"
EOF
chmod +x "$work/darkroom"
DARKROOM=$work/darkroom

# fault allocations|threads|clock NUMBER: set this number of faults.h
fault() {
	local bytes= byte at i
	case $1 in
	allocations) at=0 ;;
	threads) at=8 ;;
	clock) at=16 ;;
	esac
	for i in 0 8 16 24 32 40 48 56; do
		printf -v byte '\\x%02x' $(($2 >> i & 255))
		bytes+=$byte
	done
	# shellcheck disable=SC2059
	printf "$bytes" | dd of="$faults" bs=1 seek=$at conv=notrunc status=none
}

# answers STATUS CURL-ARGUMENTS...: expect this status
answers() {
	local status=$1 got
	shift
	got=$(curl -sS -m 60 -o "$work/body" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] || fail "$got, not $status: $*"
}

# Make a small photo with a profile that only lcms2 can convert.
make_photo() {
	start
	answers 200 --data-binary "@$photo" "$url/?w=100"
	stop
	photo=$work/small.jpg
	cp "$work/body" "$photo"
	"$PRINT_PROFILE" >"$work/p3"
	with_profile "$work/p3" >"$work/p3.jpg"
	photo=$work/p3.jpg
}

test_every_allocation_may_fail() {
	local options=()
	if [[ $* = *thread-per-connection* ]] || ! needs workers; then
		options=(--no-workers)
	fi
	mkdir "$work/store"
	start --store "$work/store" --spool none "$@"
	"$CHECK_FAULTS" "$port" "$faults" "$photo" "${options[@]}" \
		>"$work/report" ||
		fail "$(cat "$work/report")"
	check_drained
	stop
	rm -r "$work/store"
	cat "$work/report"
}

# The start of each thread fails in turn: the server reports it and ends with
# status 1.
test_every_thread_may_fail_at_start() {
	local nth status
	complete --listen 127.0.0.1:0 "$@"
	for nth in $(seq 100); do
		status=0
		fault threads "$nth"
		: >"$work/log" # not the last server's lines
		"$DARKROOM" "${full_flags[@]}" 2>"$work/log" &
		server=$!
		while find_port 'listening on'; [ -z "$found_port" ] &&
			kill -0 $server 2>/dev/null; do
			sleep 0.05
		done
		[ -z "$found_port" ] || break
		wait $server || status=$?
		server=
		[ $status = 1 ] || fail "thread $nth: status $status"
		grep -q 'could not be started' "$work/log" ||
			fail "thread $nth: no reason"
	done
	[ "$nth" -ge 4 ] || fail "only $nth threads"
	fault threads 0
	stop
	echo "$*: $((nth - 1)) threads failed at start"
}

cpu_ticks() {
	awk '{ print $14 + $15 }' "/proc/$server/stat"
}

# Without a free descriptor, with and without open connections, new clients
# wait, open connections are served, and the server sleeps.
test_descriptors_run_out() {
	local limit before used open waiting line
	start "$@"
	answers 200 "$url/healthz"
	limit=$(awk '/^Max open files/ { print $4 }' "/proc/$server/limits")
	for open in no yes; do
		if [ $open = yes ]; then
			exec 8<>"/dev/tcp/127.0.0.1/$port"
			printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&8
			read -r -t 60 -u 8 line
		fi
		prlimit --pid "$server" --nofile=3:
		before=$(cpu_ticks)
		# accept() of a waiting thread may have taken a descriptor.
		exec 7<>"/dev/tcp/127.0.0.1/$port"
		exec 9<>"/dev/tcp/127.0.0.1/$port"
		printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n' >&9
		! read -r -t 2 -u 9 line || fail "a descriptor was left"
		used=$(($(cpu_ticks) - before))
		[ "$used" -lt 30 ] || fail "$* busy for $used ticks of 200"
		if [ $open = yes ]; then
			printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&8
			grep -q 'HTTP/1.1 200' <&8 || fail "not served"
			exec 8>&-
		fi
		prlimit --pid "$server" --nofile="$limit":
		read -r -t 60 -u 9 waiting || fail "does not accept again"
		[[ $waiting = *200* ]] || fail "$waiting"
		exec 7>&- 9>&-
	done
	answers 200 --data-binary "@$photo" "$url/?w=50"
	check_drained
	stop
	echo "$*: descriptors ran out"
}

# The clock jumps ten years ahead, then twenty back: no upload is late or timed
# out.
test_time_of_day_jumps() {
	mkdir "$work/store"
	start --deadline 20s --store "$work/store"
	exec 8<>"/dev/tcp/127.0.0.1/$port"
	for jump in 315360000 -315360000 0; do
		printf 'POST /?w=50 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' \
			"$(stat -c %s "$photo")" >&8
		head -c 100 "$photo" >&8
		fault clock "$jump"
		answers 200 --data-binary "@$photo" "$url/?w=50"
		answers 201 --data-binary "@$photo" \
			"$url/v1/images?w=$((50 + jump / 100000000))"
		answers 200 "$url$(jq -r '.variants[0].url' "$work/body")"
		tail -c +101 "$photo" >&8
		read -r -t 60 -u 8 line || fail "no answer after $jump seconds"
		[[ $line = *200* ]] || fail "after $jump seconds: $line"
		[ "$(stat_of '.uptime_s > 0 and .uptime_s < 1000')" = true ] ||
			fail "up for $(stat_of .uptime_s) s after $jump s"
		# Read the rest of the reply: its length is in its head.
		length=0
		while read -r -t 60 -u 8 line && [ "$line" != $'\r' ]; do
			[[ $line != Content-Length:* ]] ||
				length=$(tr -cd 0-9 <<<"$line")
		done
		head -c "$length" <&8 >"$work/body"
	done
	exec 8>&-
	[ "$(stat_of .uploads.late)" = 0 ] || fail "uploads were late"
	check_drained
	stop
}

make_photo
with_policies color test_every_allocation_may_fail
# With a thread for each connection, AddressSanitizer itself fails without
# memory.
[ -n "${SANITIZED:-}${TEST_POLICY:-}" ] ||
	test_every_allocation_may_fail --policy thread-per-connection
threads=(--admin-listen 127.0.0.1:0)
! needs workers || threads+=(--trace "$work/trace")
with_policies 'color pool-per-stage' test_every_thread_may_fail_at_start \
	"${threads[@]}"
with_policies 'color thread-per-connection' test_descriptors_run_out
test_time_of_day_jumps
