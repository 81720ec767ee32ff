#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: the example of two stages handles every event, and it is linked with
# the core of stages alone: neither with cJSON nor METIS, and without the flags
# of schedules and the files of graphs.
#
# usage: TWO_STAGES=PROGRAM test_examples.sh
. "$(dirname "$0")/../../../base/test/script.sh"

# The sum of the squares of 1 to 1000.
out=$("$TWO_STAGES")
[ "$out" = 333833500 ] ||
	fail "two_stages printed '$out', not 333833500"

needed=$(readelf -d "$TWO_STAGES" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "$needed" | has hwloc ||
	fail "not even hwloc is linked: readelf -d says '$needed'"
! echo "$needed" | grep -vE '^(lib(c|m|ck|hwloc|pthread|rt|asan|ubsan|tsan)|ld-linux.*)\.so' ||
	fail "two_stages needs these libraries; a program of stages must not"
nm "$TWO_STAGES" | has ' group_start$' ||
	fail "nm shows no symbols of two_stages"
! nm "$TWO_STAGES" | grep -E ' (schedule_(set|flags|words)|flags_read|graph_|cJSON|METIS)' ||
	fail "two_stages has this code; a program of stages must not need it"
