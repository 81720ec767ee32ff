#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Flags that make no sense together are refused at start, with the reason, and
# status 2.
#
# usage: DARKROOM=PROGRAM test_flags.sh
. "$(dirname "$0")/server.sh"

# senseless REASON FLAGS...
senseless() {
	local reason=$1
	shift
	refuses "$reason" --listen 127.0.0.1:0 --cores 0,1 "$@"
}

connections='--policy thread-per-connection'
pool='--policy pool-per-stage'
# shellcheck disable=SC2086
{
	senseless 'it has no queues' $connections --discipline lcfs
	senseless 'it has no workers' $connections --balance partition
	senseless 'this policy has no workers' $connections --trace "$work/trace"
	senseless 'its threads stay at a stage' $pool --regime gated
	senseless 'its threads stay at a stage' $pool --threshold blur=1
	senseless 'its threads belong to stages' $pool --balance partition
}
senseless 'a visit is one event' --policy color --regime gated
senseless 'it has one thread per core' --pool auto
senseless 'there is no other to take from' --steal
senseless 'there is no other to choose' --distribute least-loaded
senseless '3 replicas, but there are 2 cores' --balance replicate=3
senseless 'is for --balance partition' --graph "$work/graph"
