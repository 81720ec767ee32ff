#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mknull makes whole JPEG files of the sizes that their names say.
#
# usage: STATS=PROGRAM test_mknull.sh
. "$(dirname "$0")/../../base/test/script.sh"


"$(dirname "$0")/../mknull" "$work/out"
[ "$(find "$work/out" -type f | wc -l)" = 41 ] || fail "$(ls -a "$work/out")"
for file in "$work"/out/*.jpg; do
	bytes=${file##*-}
	[ "$(stat -c %s "$file")" = "${bytes%.jpg}" ] || fail "${file##*/}"
	[ "$(head -c 3 "$file" | xxd -p)$(tail -c 2 "$file" | xxd -p)" = \
		ffd8ffffd9 ] || fail "${file##*/} is no whole JPEG"
done
for bytes in 8192 262144; do
	ls "$work"/out/*-$bytes.jpg >/dev/null || fail "no file of $bytes bytes"
done
# Its reader of headers finds the picture behind the comments.
"$STATS" "$work/out" >"$work/said" || fail "$(cat "$work/said")"
grep -q '\b41\b' "$work/said" || fail "$(cat "$work/said")"
! "$(dirname "$0")/../mknull" "$work/out" 2>"$work/said" ||
	fail "it writes into a folder that exists"
