#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Promise: no wake-up is lost, no event left behind or handed over twice, nobody
# in an exclusive stage or on a fibre with another, no fibre lost, no user-level
# thread continued without its wake-up, in any interleaving of the models in the
# folders given; and, with TEST_ALL=1, in larger models, and Spin would
# notice: it finds each mistake named there.  Models seldom change, so
# without TEST_ALL each one is verified in one size.
#
# Not all at once, which takes minutes and gigabytes: so eventcount.pml with two
# senders and two workers, a stop with two stages, a stop with two senders;
# pause.pml with two stages, three events, two paused ones; visit.pml with two
# senders of blind workers at one exclusive stage; and scheduler.pml
# with two threads, a stop with two waits of one thread.

set -eu

for tool in spin cc; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool"
		exit 77
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for models in "$@"; do
	cp "$models"/*.pml "$dir"
done
cd "$dir"

# verify LEVEL MODEL DEFINES...: prints how many errors Spin finds, 0 or 1.
# What is small, or has a mistake that is found soon, takes less time than the
# compiler would to optimise it; and for large ones -O2 takes longer to compile
# than it saves.
verify() {
	level=$1
	model=$2.pml
	shift 2
	spin "$@" -a "$model" >spin.log
	cc "$level" -DSAFETY -o pan pan.c 2>cc.log
	./pan -m100000 >pan.log
	if grep -q "max search depth too small" pan.log; then
		echo "gave up"
	else
		sed -n 's/.*errors: //p' pan.log
	fi
}

expect() {
	wanted=$1
	shift
	[ "$wanted" = 0 ] || [ -n "${TEST_ALL:-}" ] || return 0
	level=-O0
	[ "$wanted" != 0 ] || [ -z "${TEST_ALL:-}" ] || level=-O1
	found=$(verify $level "$@")
	if [ "$found" != "$wanted" ]; then
		cat pan.log
		echo "$*: errors: $found, not $wanted"
		exit 1
	fi
}

# Other sizes and graphs.
expect_all() {
	[ -z "${TEST_ALL:-}" ] || expect "$@"
}

expect_all 0 eventcount -DSENDERS=2 -DWORKERS=2 -DSTAGES=1 -DSTOPS=0
expect_all 0 eventcount -DSENDERS=1 -DWORKERS=2 -DSTAGES=2 -DSTOPS=1
expect 0 eventcount -DSENDERS=2 -DWORKERS=1 -DSTAGES=1 -DSTOPS=1

expect 1 eventcount -DNO_SECOND_LOOK -DSTOPS=0
expect 1 eventcount -DLATE_TICKET -DSTOPS=0
expect 1 eventcount -DLATE_ENTRY -DSENDERS=1
expect 1 eventcount -DNO_LAST_WAKE -DSENDERS=1

for kind in PARTED STEAL KEYS SIZES COMMON; do
	expect_all 0 visit -DKIND=$kind
done
expect_all 0 visit -DKIND=EXCLUSIVE -DSTOPS=1 -DSENDERS=1
expect 0 visit -DKIND=PARTED -DSTOPS=1 -DSENDERS=1
expect_all 0 visit -DKIND=STEAL -DSTOPS=1 -DSENDERS=1
expect_all 0 visit -DKIND=COMMON -DSTOPS=1 -DSENDERS=1
expect 0 visit -DKIND=COMMON -DSENDERS=1

expect_all 0 visit -DBLIND -DKIND=KEYS
expect_all 0 visit -DBLIND -DKIND=COMMON -DSENDERS=1
expect_all 0 visit -DBLIND -DKIND=EXCLUSIVE -DSTOPS=1 -DSENDERS=1
expect_all 0 visit -DBLIND -DKIND=PARTED -DSENDERS=1
expect 0 visit -DBLIND -DKIND=EXCLUSIVE -DSENDERS=1

expect 1 visit -DKIND=PARTED -DNO_NOTE
expect 1 visit -DKIND=PARTED -DNO_LOOK_AGAIN
expect 1 visit -DKIND=PARTED -DEARLY_LOOK
expect 1 visit -DKIND=PARTED -DOWN_PART
expect 1 visit -DKIND=EXCLUSIVE -DNO_ENTRY
expect 1 visit -DKIND=STEAL -DWAKE_ONE
expect 1 visit -DKIND=KEYS -DWAKE_ONE
expect 1 visit -DKIND=SIZES -DWAKE_ONE
expect 1 visit -DKIND=STEAL -DOWN_WORK
expect 1 visit -DKIND=PARTED -DQUIET_STOP -DSTOPS=1 -DSENDERS=1
expect 1 visit -DBLIND -DKIND=KEYS -DLATE_EPOCH
expect 1 visit -DBLIND -DKIND=PARTED -DNO_LAST_LOOK

expect_all 0 queue -DSIZE=4
expect 0 queue -DSIZE=4 -DPRODUCERS=3 -DCONSUMERS=1 -DEVENTS=1

expect 1 queue -DLATE_STORE
expect 1 queue -DNO_TURN -DSIZE=4
expect 1 queue -DLATE_READ

expect_all 0 pause -DSTAGES=2 -DEVENTS=2
expect 0 pause -DSTAGES=1 -DEVENTS=3
expect_all 0 pause -DSTAGES=1 -DEVENTS=3 -DPAUSED=2

for mistake in EARLY_RETURN SENT_PAUSES LATE_CLEAR OLD_THREAD NO_NEXT NO_GIVE \
	DRAINED_EARLY; do
	expect 1 pause -D$mistake
done

expect_all 0 pool -DSTOPS=0 -DWAITERS=2
expect_all 0 pool -DSTOPS=0 -DTHREADS=2 -DROUNDS=2
expect_all 0 pool -DSTOPS=0 -DBLIND
expect_all 0 pool -DSTOPS=1
expect 0 pool -DSTOPS=0
expect 0 pool -DSTOPS=1 -DEVENTS=1

for mistake in EARLY_WAIT BLIND_WAIT BLIND_WAKE QUIET_WAKE QUIET_RETURN \
	NO_LIMIT NO_NOTE NO_LOOK_AGAIN EARLY_LOOK QUIET_GIVE; do
	expect 1 pool -D$mistake -DSTOPS=0
done
expect 1 pool -DEARLY_NOTE -DSTOPS=0 -DBLIND
expect 1 pool -DNO_RESET -DROUNDS=2 -DSTOPS=0
expect 1 pool -DDRAINED_EARLY

expect_all 0 closure
expect_all 0 closure -DCANCELS=0
expect 0 closure -DWORKERS=1

for mistake in NO_HOLD LATE_COUNT BLIND_CANCEL BLIND_RESUME LATE_LIST EARLY_LOOK
do
	expect 1 closure -D$mistake
done

expect_all 0 scheduler -DPOSTERS=2 -DROUNDS=1 -DSTOPS=0
expect 0 scheduler -DPOSTERS=1 -DROUNDS=2 -DSTOPS=1

for mistake in NO_SECOND_LOOK LATE_TICKET EARLY_WAKE BLIND_WAIT BLIND_WAKE \
	NO_RESET LATE_RESET; do
	expect 1 scheduler -D$mistake -DPOSTERS=1 -DROUNDS=2 -DSTOPS=0
done
for mistake in NO_LAST_WAKE LATE_ENTRY; do
	expect 1 scheduler -D$mistake -DPOSTERS=1
done

expect_all 0 uthread -DROUNDS=2 -DTRIMS=0
expect_all 0 uthread -DKERNELS=3 -DTRIMS=0
expect 0 uthread

for mistake in LATE_IDLE NO_WAKE LATE_CLEAR NO_RELAY EARLY_WAIT EARLY_ARM \
	BLIND_WAIT BLIND_WAKE NOT_ONCE BLIND_TRIM BLIND_RETURN QUIET_STOP \
	QUIET_END EARLY_CLOSE; do
	expect 1 uthread -D$mistake
done
