#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With --sandbox require every thread is confined, and everything that a server
# does still works.  With auto it uses what the kernel has, and reports that.
# With sanitizers there is no sandbox.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM LACKING=PROGRAM [SANITIZED=1]
#        test_sandbox.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
dir=$1
photo=$dir/clownfish.jpg

# each_thread FILE: print this file of each thread in /proc.  Threads that end
# meanwhile, such as those of connections, are skipped.
each_thread() {
	cat "/proc/$server"/task/*/"$1" 2>/dev/null || true
}

# every_thread FIELD VALUE: every thread has this value in /proc/*/status
every_thread() {
	each_thread status >"$work/status"
	grep -q "^$1:" "$work/status" || fail "no thread tells $1"
	! grep "^$1:" "$work/status" | has -vx "$1:[[:space:]]*$2" ||
		fail "$1 is not $2: $(grep -E "^(Name|$1):" "$work/status")"
}

# in_force NO_NEW_PRIVILEGES LANDLOCK SECCOMP: /stats reports these as on (true)
# or off
in_force() {
	[ "$(stat_of '.sandbox | [.no_new_privileges, .landlock_abi > 0,
		.seccomp] | join(" ")')" = "$*" ] ||
		fail "not $*: $(stat_of .sandbox)"
}

# answers STATUS CURL-ARGUMENTS...: expect this status
answers() {
	local status=$1 got
	shift
	got=$(curl -sS -o "$work/body" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] || fail "$got, not $status: $*"
}

test_all_works() {
	start --sandbox require --save-graph "$work/graph" "$@"
	in_force true true true
	answers 200 "$url/healthz"
	answers 200 --data-binary "@$photo" "$url/?w=200&blur=2&icc=keep"
	answers 200 -F "file=@$photo" "$url/?w=200&fit=cover&h=200&progressive=1"
	answers 415 --data-binary "@$0" "$url/"
	answers 404 "$url/nowhere"
	"$LOADGEN" --dataset "$dir" --connections 32 --passes 8 \
		"$url/?w=300&blur=2" >"$work/report" ||
		fail "$* $(cat "$work/report")"
	case "${TEST_POLICY:-} $*" in
	*thread-per-connection* | *1:1*) answers 404 "$url/trace" ;;
	*) answers 200 "$url/trace" ;;
	esac
	every_thread NoNewPrivs 1
	every_thread Seccomp 2
	[ "$(stat_of '.memory_peak_bytes > 1000000')" = true ] ||
		fail "$* tells no memory"
	# Wait until the idle server gives buffers back to the system.
	for _ in $patience; do
		[ "$(stat_of .buffers.kept_bytes)" != 0 ] || break
		sleep 0.1
	done
	kill -USR2 "$server" # this signal is ignored
	kill -USR1 "$server"
	kill -HUP "$server"
	for _ in $patience; do
		! grep -Eq 'by what was measured|nothing to divide' \
			"$work/log" || ! grep -q '^uploads' "$work/log" || break
		sleep 0.05
	done
	grep -Eq 'by what was measured|nothing to divide' "$work/log" ||
		fail "no answer to SIGHUP"
	grep -q '^uploads' "$work/log" || fail "no answer to SIGUSR1"
	each_thread comm >"$work/names"
	grep -qx trim "$work/names" || fail "no name: $(cat "$work/names")"
	stop
	jq -e '.stages | length > 0' "$work/graph" >"$work/length" ||
		fail "no graph: $(cat "$work/graph")"
	rm "$work/graph"
	echo "$*: all works"
}

# The server runs whether the machine has hardware counters or not; many have
# none.
test_counters_are_asked_for() {
	start --sandbox require
	answers 200 --data-binary "@$photo" "$url/?w=200"
	[ "$(stat_of '.stages[0].hardware')" = 'not available' ] ||
		fail "counts without being asked: $(stat_of '.stages[0]')"
	stop
	start --sandbox require --hardware-counters
	answers 200 --data-binary "@$photo" "$url/?w=200"
	echo "counters: $(stat_of '.stages[0].hardware')"
	stop
}

test_trace_is_written() {
	needs workers || return 0
	start --sandbox require --trace "$work/trace"
	answers 200 --data-binary "@$photo" "$url/?w=200"
	each_thread comm >"$work/names"
	grep -qx trace "$work/names" || fail "no name: $(cat "$work/names")"
	stop
	[ "$(jq 'map(select(.ph == "X")) | length' "$work/trace")" -ge 4 ] ||
		fail "no visits in the trace"
}

test_https_works() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj /CN=localhost -keyout "$work/key" \
		-out "$work/certificate" 2>"$work/log" || fail "openssl"
	start --sandbox require --tls-cert "$work/certificate" \
		--tls-key "$work/key"
	answers 200 --insecure --data-binary "@$photo" \
		"https://127.0.0.1:$port/?variant=a:w=99&variant=b:w=200"
	answers 200 --insecure -F "file=@$photo" "https://127.0.0.1:$port/"
	stop
}

test_off_is_off() {
	start --sandbox off
	in_force false false false
	grep -qx 'darkroom: sandbox: none' "$work/log" || fail "does not say so"
	stop
}

# lacks WHAT WHY LINE IN-FORCE...: on a kernel without WHAT, the log has LINE, the
# other protections are on, and with `require` the server says WHY it does not
# start
lacks() {
	local what=$1 why=$2 line=$3 program=$DARKROOM
	shift 3
	printf '#!/bin/sh\nexec "%s" %s "%s" "$@"\n' "$LACKING" "$what" \
		"$program" >"$work/lacking"
	chmod +x "$work/lacking"
	DARKROOM=$work/lacking
	start --isolate none --save-graph "$work/graph"
	in_force "$@"
	if [ "$what" = landlock ]; then
		grep -q 'can open any file' "$work/log" || fail "no warning"
	else
		! grep -q 'can open any file' "$work/log" || fail "a warning"
	fi
	grep -qE "^darkroom: sandbox: $line\$" "$work/log" ||
		fail "does not say: $line"
	answers 200 --data-binary "@$photo" "$url/?w=200"
	stop
	refuses "--sandbox: 'require': $why" --listen 127.0.0.1:0 \
		--isolate none --sandbox require
	# Decoders need seccomp, and files would be blamed.
	[ "$what" = landlock ] || ends_with 1 \
		'cannot give up its rights' --listen 127.0.0.1:0 --isolate jpeg
	DARKROOM=$program
}

test_off_is_off
refuses --sandbox --sandbox on
if [ -n "${SANITIZED:-}" ]; then
	start
	in_force false false false
	stop
	refuses "--sandbox: 'require': builds with sanitizers have no sandbox" \
		--listen 127.0.0.1:0 --sandbox require
	exit 0
fi
with_policies 'color thread-per-connection servlib' test_all_works
[ -n "${TEST_POLICY:-}" ] || {
	test_all_works --policy cohort --balance partition=2
	test_all_works --policy pool-per-stage --pool auto
	test_all_works --policy servlib --threads 1:1
}
test_counters_are_asked_for
test_trace_is_written
test_https_works
lacks landlock 'the kernel has no Landlock (Function not implemented)' \
	'no new privileges, seccomp' true false true
lacks seccomp 'the kernel refuses a seccomp filter (' \
	'no new privileges, Landlock \(ABI [0-9]+\)' true true false
