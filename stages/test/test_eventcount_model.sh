#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Promise: no wake-up is lost and no event left behind, in any interleaving of
# eventcount.pml; and Spin would notice: it finds each mistake named there.
#
# Not all at once, which takes minutes and gigabytes: two senders with two
# workers, a stop with two stages, a stop with two senders.

set -eu
model=$1

for tool in spin cc; do
	if ! command -v "$tool" >/dev/null; then
		echo "skipped: no $tool"
		exit 77
	fi
done

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$model" "$dir/model.pml"
cd "$dir"

# verify DEFINES...: prints how many errors Spin finds, 0 or 1.
verify() {
	spin "$@" -a model.pml >spin.log
	cc -O2 -DSAFETY -o pan pan.c 2>cc.log
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
	found=$(verify "$@")
	if [ "$found" != "$wanted" ]; then
		cat pan.log
		echo "spin $*: errors: $found, not $wanted"
		exit 1
	fi
}

expect 0 -DSENDERS=2 -DWORKERS=2 -DSTAGES=1 -DSTOPS=0
expect 0 -DSENDERS=1 -DWORKERS=2 -DSTAGES=2 -DSTOPS=1
expect 0 -DSENDERS=2 -DWORKERS=1 -DSTAGES=1 -DSTOPS=1

expect 1 -DNO_SECOND_LOOK -DSTOPS=0
expect 1 -DLATE_TICKET -DSTOPS=0
expect 1 -DLATE_ENTRY -DSENDERS=1
expect 1 -DNO_LAST_WAKE -DSENDERS=1
