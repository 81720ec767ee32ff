#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# script/fleet makes a fleet and removes all of it: at the end, after an
# interrupt at any moment, after a SIGKILL, and when its folder was removed
# before.  Its test passes, so while parts fail no image and no ticket is lost, in
# whichever way the bodies come.  With TEST_ALL=1, that test is with Ceph, whose parts
# fail, too, and all nodes are restarted.  Skipped without root or namespaces, and
# with TEST_ALL=1 without a network to install Ceph from.
#
# usage: DARKROOM=PROGRAM test_fleet.sh SAMPLES_DIR SOURCE_DIR
. "$(dirname "$0")/../../../base/test/script.sh"
photo=$(realpath "$1/coral-day.jpg")
cd "$2"
chmod 711 "$work"
export FLEET=fleet-test-$$ FLEET_STATE=$work
job= # the script/fleet that runs in the background, if one does
at_end() {
	[ -z "$job" ] || kill -TERM "$job" 2>/dev/null || true
	[ -z "$job" ] || wait "$job" || true
	script/fleet down || status=1
}
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# fleet COMMAND OPTIONS...: with two nodes; its output is in $work/out
fleet() {
	local status=0
	# A signal ends `wait` at once, but no command in the foreground.
	timeout 400 script/fleet "$@" --nodes 2 --darkroom "$DARKROOM" \
		>"$work/out" 2>&1 &
	job=$!
	wait $job || status=$?
	job=
	[ $status != 3 ] || {
		cat "$work/out"
		exit 77
	}
	[ $status = 0 ] || fail "$1: status $status: $(cat "$work/out")"
}

# nothing_is_left AFTER-WHAT: no namespace, group, folder or process
nothing_is_left() {
	local path
	for path in "/run/netns/$FLEET".* /sys/fs/cgroup/{,*/}"$FLEET" \
		"$work/$FLEET"; do
		[ ! -e "$path" ] || fail "after $1, $path is left"
	done
	# All of them have a path of the fleet in their arguments.
	! grep -lsF "$work/$FLEET" /proc/[0-9]*/cmdline || fail "left after $1"
}

down() {
	script/fleet down || fail "down after $1"
	nothing_is_left "$1"
}

# begun STEP: has `up` printed that it began this step?
begun() {
	grep -q "^$1:" "$work/out"
}

# interrupted SIGNAL STEP: end `up` when it begins this step
interrupted() {
	local status=0 _
	: >"$work/out"
	env --default-signal=INT script/fleet up --engine folder --nodes 2 \
		--darkroom "$DARKROOM" >"$work/out" 2>&1 &
	job=$!
	for _ in $(seq 1200); do
		! begun "$2" || break
		sleep 0.05
	done
	begun "$2" || fail "$2 was not reached: $(cat "$work/out")"
	sleep 0.1
	kill "-$1" $job
	wait $job || status=$?
	job=
	[ $status -gt 128 ] || fail "$1 at $2: status $status"
}

test_up_and_down() {
	local id front=http://10.77.0.1:8080
	fleet up --engine folder
	! script/fleet up --engine folder --darkroom "$DARKROOM" \
		>"$work/out" 2>&1 || fail "is up twice"
	grep -q 'exists: script/fleet down' "$work/out" || fail "no advice"
	script/fleet run client curl -fsS --data-binary "@$photo" -D \
		"$work/head" -o "$work/json" "$front/v1/images?w=320" ||
		fail "is not stored"
	grep -q '^x-node: n[12]' "$work/head" || fail "which node?"
	id=$("$JSON_VALUE" .id <"$work/json")
	ls -d "$work/$FLEET"/store-n?/"${id:0:2}/$id" >/dev/null ||
		fail "$id is in no store"
	down 'up'
	down 'a second down'
}

test_interrupts() {
	local step _
	for step in ground nodes front; do
		interrupted INT $step
		nothing_is_left "SIGINT at $step"
	done
	interrupted KILL nodes
	down 'SIGKILL'
	interrupted KILL front
	# What the killed script has started may still write there.
	for _ in $(seq 600); do
		! rm -rf "${work:?}/$FLEET" 2>/dev/null || break
		sleep 0.1
	done
	down 'SIGKILL and without the folder'
}

test_its_test() {
	local faults=node=1,link=1,reload=1,front=1 count=4
	local options=(--engine folder --restart no)
	if [ -n "${TEST_ALL:-}" ]; then
		faults+=,osd=1,gateway=1 count=6
		options=(--engine ceph)
	fi
	fleet test "${options[@]}" --seconds 8 --rate 6 --faults $faults
	[ "$(grep -cE '^\| [a-z]+: 1 \| 0 \|$' "$work/out")" = $count ] ||
		fail "not all faults: $(cat "$work/out")"
	[ "$(grep -cE '^\| of these, by [a-z_]+ \| [1-9]' "$work/out")" = 6 ] ||
		fail "not in all ways: $(cat "$work/out")"
	nothing_is_left test
}

test_its_test
test_up_and_down
test_interrupts
