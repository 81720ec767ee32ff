#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: the publish-subscribe example finds, for each publication, exactly the
# subscriptions that match when they are compared one by one: in stages, with
# every kind of cohort and on one core, and in threads; also if there are more
# stages than attributes, and if no subscription has a predicate with `=`, or
# every predicate.
#
# usage: PUBSUB=PROGRAM test_pubsub.sh
. "$(dirname "$0")/../../../base/test/script.sh"

# field NAME OUTPUT
field() {
	sed -n "s/.*\b$1 \+\([^ ]*\).*/\1/p" <<<"$2"
}

# matches_are_right FLAGS...: sets $sum
matches_are_right() {
	local out
	out=$("$PUBSUB" --check --publications 400 "$@" 2>"$log") ||
		fail "pubsub --check $* printed '$out'"
	[ "$(field wrong "$out")" = 0 ] && [ "$(field publications "$out")" = 400 ] ||
		fail "pubsub --check $* printed '$out'"
	[ "$(field matches "$out")" != 0.00 ] ||
		fail "no subscription matches any publication: $*"
	sum=$(field sum "$out")
}

# all_servers_agree FLAGS...
all_servers_agree() {
	local first='' server
	for server in '' '--cohort 1' '--cohort 4' --shared "--cores $cpu" \
		--threads '--threads --under-way 1'; do
		# shellcheck disable=SC2086 # several flags
		matches_are_right "$@" $server
		[ "${first:=$sum}" = "$sum" ] ||
			fail "other matches with '$server' than in stages: $*"
	done
}

cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
all_servers_agree --subscriptions 2000 --attributes 12 --values 7
matches_are_right --subscriptions 500 --attributes 3 --values 4 --equal 3 \
	--unequal 4 --subsets 7 --seed 2
matches_are_right --subscriptions 500 --attributes 6 --values 9 --equal 0 \
	--unequal 3 --seed 3
matches_are_right --subscriptions 500 --attributes 64 --values 2 --equal 7 \
	--unequal 0 --subsets 30 --under-way 1 --seed 4
for flags in '--cohort 0' '--subsets 31' '--equal 4 --unequal 4' --none more; do
	status=0
	# shellcheck disable=SC2086 # several flags
	"$PUBSUB" $flags >"$work/out" 2>"$log" || status=$?
	[ $status = 2 ] || fail "pubsub $flags has status $status, not 2"
done
