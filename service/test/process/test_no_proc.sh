#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Without /proc, as in a chroot, the server starts, says what it does not know
# and which flags say it, and works.  Needs the right to mount.
#
# usage: DARKROOM=PROGRAM test_no_proc.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg

# A program that hides /proc and then becomes the server.
cat >"$work/hidden" <<'PROGRAM'
#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
	"$HIDDEN" "$@"
PROGRAM
chmod +x "$work/hidden"
export HIDDEN=$DARKROOM
JSON_VALUE=${JSON_VALUE:-$(dirname "$DARKROOM")/json_value}
DARKROOM=$work/hidden
HIDDEN=/bin/true "$DARKROOM" 2>/dev/null || {
	echo "skipped: no right to mount"
	exit 77
}

# works FLAGS...: a server with these flags
works() {
	start "$@"
	grep -q '/proc is not mounted.*--memory.*--cores' "$work/log" ||
		fail "does not say what it needs"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/out" ||
		fail "does not work: $*"
	curl -fsS "$url/metrics" >"$work/metrics"
	check_drained
	stop
}

works --cores 0 --memory 100M
works
DARKROOM=$HIDDEN
start
! grep -q /proc "$work/log" || fail "/proc is there"
stop
