#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Flags that contradict each other are refused at the start, with the reason and
# status 2.
#
# usage: DARKROOM=PROGRAM test_flags.sh
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about wrong flags"

# senseless REASON FLAGS...: these flags are refused, for this reason
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
senseless 'needs --io async' --policy servlib --io sync --trace "$work/trace"
senseless 'no effect' --policy servlib --io-threads 2
senseless 'a kernel thread has nothing else to do' --policy servlib \
	--threads 1:1 --io async
senseless 'a visit is one event' --policy color --regime gated
senseless 'only pools of kernel threads grow' --pool auto
senseless 'there is no other to take from' --steal
senseless 'there is no other to choose' --distribute least-loaded
senseless '3 replicas, but there are 2 cores' --balance replicate=3
senseless 'only with --balance partition' --graph "$work/graph"

# Typing errors: a flag that is given twice, an unknown flag or policy.
refuses '--max-body is given twice' --max-body 1M --listen 127.0.0.1:0 \
	--max-body=2M
refuses 'there is no option' -x
refuses "there is no option '--polcy'; did you mean '--policy'?" --polcy srpt
DARKROOM_MAX_BODY=1M "$DARKROOM" --check-config --max-body 2M ||
	fail "a flag beside its variable is refused"
"$DARKROOM" --list-policies >"$work/policies"
while read -r name _; do
	refuses "$name" --policy foo
done <"$work/policies"
"$DARKROOM" -h >"$work/help" || fail "no help by -h"
"$DARKROOM" --help | cmp - "$work/help" || fail "-h is not --help"
# A text that is too long for a line is printed after an empty one.
! grep -n ' $' "$work/help" || fail "a parameter's help does not fit into a line"

# The server listens at all addresses of the machine, of IPv4 and IPv6; that
# needs keys or --insecure.
refuses --insecure --listen :0
start --listen :0 --insecure
curl -fsS "http://127.0.0.1:$port/healthz" >"$work/body" || fail "no IPv4"
[ ! -e /proc/net/if_inet6 ] || ! grep -qw lo /proc/net/if_inet6 ||
	curl -fsS "http://[::1]:$port/healthz" >"$work/body" || fail "no IPv6"
stop

# The message says what is needed, what there is, and what would be enough.
(
	ulimit -n 64
	refuses 'open files are needed, and the limit is 64 (ulimit -Hn)' \
		--check-config --cores 0
	grep -qE "'1024': 1[0-9]{3} open files" "$work/log" ||
		fail "does not tell how many are needed"
	! grep -q lower "$work/log" || fail "no number would do"
)
(
	ulimit -n 400
	refuses 'or lower --max-connections to ' --check-config --cores 0
	fitting=$(grep -oE '[0-9]+$' "$work/log")
	"$DARKROOM" --check-config --cores 0 --max-connections "$fitting" ||
		fail "$fitting do not fit"
	refuses "to $fitting" --check-config --cores 0 \
		--max-connections $((fitting + 1))
)
