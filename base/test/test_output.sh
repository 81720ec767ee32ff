#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program whose output cannot be written, to a full disk or to a closed stdout,
# says so, and its status is 1.
#
# usage: test_output.sh PROGRAM...
. "$(dirname "$0")/script.sh"

# check_lost STATUS TEXT WORDS...: this command has said that its output is lost
check_lost() {
	[ "$1" = 1 ] || fail "status $*"
	grep -qF 'the output could not be written' <<<"$2" ||
		fail "it does not say so: $*"
}

# lost WORDS...: run this command without a place for its output
lost() {
	local status=0 said
	said=$("$@" 2>&1 >/dev/full) || status=$?
	check_lost $status "$said" "$@"
	status=0
	said=$("$@" 2>&1 >&-) || status=$?
	check_lost $status "$said" "$@"
}

[ $# -gt 0 ]
for program in "$@"; do
	for flag in --help --version --man --completion; do
		lost "$program" $flag
	done
	case ${program##*/} in
	darkroom)
		lost "$program" --list-policies
		lost "$program" --print-config
		;;
	stages_sim | stages_bench)
		lost "$program" --list-policies
		;;
	loadgen)
		lost "$program" compare --help
		;;
	esac
done
