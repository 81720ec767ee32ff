#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# darkroom-store with a real object store: the tests of test_store_helper.c that
# need no fake; and while 32 requests at a time put images, a server of the store
# is frozen for some seconds, and another is killed: every image whose put was
# acknowledged can be read.
#
# Needs S3_ENDPOINT, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; otherwise it is
# skipped.  S3_BUCKET (darkroom-test) is made if it is missing, and must be empty.
# S3_FREEZE and S3_KILL: processes of the store; "" leaves that part out.
#
# usage: DARKROOM_STORE=PROGRAM STORE_HELPER_TEST=PROGRAM STORE_CHANGES_TEST=PROGRAM test_store_s3.sh
. "$(dirname "$0")/../../../base/test/script.sh"
[ -n "${S3_ENDPOINT:-}" ] || {
	echo "skipped: no S3_ENDPOINT"
	exit 77
}
export S3_BUCKET=${S3_BUCKET:-darkroom-test}
frozen=
at_end() {
	[ -z "$frozen" ] || kill -CONT "$frozen" || true
}
run() {
	"$STORE_HELPER_TEST" "$DARKROOM_STORE" "$@"
}

"$DARKROOM_STORE" create --bucket "$S3_BUCKET" --endpoint "$S3_ENDPOINT" \
	--path-style || fail "create"
run real || fail "the tests for real stores"
"$STORE_CHANGES_TEST" "$DARKROOM_STORE" real ||
	fail "changes of several servers"

# put_and FIRST COMMAND...: put 400 images from number FIRST on, and run the
# command meanwhile; then read those that were acknowledged.
put_and() {
	local first=$1 puts acknowledged
	shift
	run put "$first" 400 >"$work/acknowledged" 2>"$work/refused" &
	puts=$!
	while [ "$(wc -l <"$work/acknowledged")" -lt 40 ]; do
		kill -0 $puts 2>/dev/null || fail "no image was put"
		sleep 0.05
	done
	"$@"
	wait $puts || fail "put"
	acknowledged=$(wc -l <"$work/acknowledged")
	echo "$acknowledged of 400 acknowledged; $(wc -l <"$work/refused") not"
	sort "$work/refused" | uniq -c | head -n 3
	run read <"$work/acknowledged" || fail "an acknowledged image is lost"
}
freeze() {
	frozen=$1
	kill -STOP "$1"
	sleep 3
	kill -CONT "$1"
	frozen=
}
[ -z "${S3_FREEZE:-}" ] || put_and 1000 freeze "$S3_FREEZE"
[ -z "${S3_KILL:-}" ] || put_and 2000 kill -KILL "$S3_KILL"
