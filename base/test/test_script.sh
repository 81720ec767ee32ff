#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A test script that fails says where, and leaves no folder behind.
. "$(dirname "$0")/script.sh"
shared=$(realpath "$(dirname "$0")/script.sh")

# ends STATUS LINE...: a script of these lines, after the first, ends so; what it
# prints is in $said
ends() {
	local wanted=$1 status=0
	shift
	printf '%s\n' ". '$shared'" "$@" >"$work/tried.sh"
	mkdir "$work/tmp"
	said=$(TMPDIR=$work/tmp bash "$work/tried.sh" 2>&1) || status=$?
	[ $status = "$wanted" ] || fail "status $status: $* $said"
	rmdir "$work/tmp" || fail "a folder is left: $*"
}

# says TEXT: it printed this
says() {
	has -F "$1" <<<"$said" || fail "not printed: $1 in: $said"
}

ends 0 'true'
[ -z "$said" ] || fail "$said"
ends 1 'tried() {' '	fail "no luck"' '}' '' 'tried'
says 'FAIL: no luck'
says 'at tried.sh:3 in tried(), tried.sh:6'
ends 3 'tried() {' '	true' '	(exit 3)' '}' 'tried'
says 'FAIL: status 3 of: ( exit 3 )'
says 'at tried.sh:4 in tried(), tried.sh:6'
ends 1 'true' 'printf "a\n" | has b'
says 'at tried.sh:3'
ends 1 'true' 'text=$(false)'
says 'at tried.sh:3'
ends 77 'exit 77'
[ -z "$said" ] || fail "$said"

# A step at the end that fails changes nothing.
ends 0 'at_end() {' '	false' '}'
ends 1 'at_end() {' '	false' '}' 'fail "no luck"'
ends 5 'at_end() {' '	status=5' '	false' '}'
