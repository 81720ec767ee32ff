#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every file of a corpus of odd and hostile JPEGs gets its answer, and the
# server survives them all.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_corpus.sh DIR
#   DIR/manifest.tsv: file, class, expected (accept: 200, reject: 4xx, either)
#
# A file listed in corpus_exceptions.tsv may be answered as it says there.
. "$(dirname "$0")/server.sh"
dir=$1
exceptions=$(dirname "$0")/corpus_exceptions.tsv

start
"$LOADGEN" --dataset "$dir" --all-files --connections 4 --save "$work/out" \
	"$url/?w=640&h=640&blur=2" >"$work/report" 2>&1 || true
check_drained
stop

awk -F'\t' '
FILENAME == ARGV[1] { if ($1 !~ /^#/) excepted[$1] = $2; next }
FILENAME == ARGV[2] { status[$1] = $2; next }
$1 == "file" { next }
{
	files++
	want = $1 in excepted ? excepted[$1] : $3
	got = status[$1]
	ok = want == "accept" ? got == 200 : got >= 400 && got < 500
	if (want == "either")
		ok = got == 200 || (got >= 400 && got < 500)
	if (!ok) {
		print $1 ": " want ", but status \"" got "\""
		wrong++
	}
}
END {
	print files " files, " wrong + 0 " wrong"
	exit wrong > 0 || files == 0
}' "$exceptions" "$work/out/status.tsv" "$dir/manifest.tsv" || fail "see above"
