#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mkset and stats on the command line: results and errors.
#
# usage: MKSET=PROGRAM STATS=PROGRAM test_mkset.sh SAMPLES
. "$(dirname "$0")/../../base/test/script.sh"
samples=$1


# refuses STATUS WORDS COMMAND...: it exits with STATUS and prints WORDS
refuses() {
	local status=0 wanted=$1 words=$2
	shift 2
	"$@" >"$work/said" 2>&1 || status=$?
	[ "$status" = "$wanted" ] || fail "status $status: $*"
	grep -q -- "$words" "$work/said" || fail "no '$words' by $*"
}

# Damaged photos are left out by name; the others are used.
mkdir -p "$work/photos/deep/.hidden"
cp "$samples/lionfish.jpg" "$work/photos/deep/a photo.JPG"
cp "$samples/lionfish.jpg" "$work/photos/deep/.hidden/b.jpg"
head -c 100000 "$samples/lionfish.jpg" >"$work/photos/cut.jpg"
echo text >"$work/photos/text.jpg"
: >"$work/photos/empty.jpg"
"$MKSET" --profile avatar --scale 0.008 --photos "$work/photos" "$work/out" \
	>"$work/said" 2>&1
for name in cut text empty; do
	grep -q "left out .*/$name.jpg: " "$work/said" || fail "$name is used"
done
grep -q '^8 files of 1 photos' "$work/said" || fail "$(cat "$work/said")"
[ "$(cut -f5 "$work/out/manifest.tsv" | sort -u | grep -vx source)" = \
	"deep/a photo.JPG" ] || fail "sources in the manifest"

# The table counts the files, and the manifest has their sizes.
"$STATS" "$work/out" >"$work/table"
grep -q 'Files *8 ' "$work/table" || fail "stats counts otherwise"
while IFS=$'\t' read -r file bytes _; do
	[ "$file" = file ] || [ "$(stat -c %s "$work/out/$file")" = "$bytes" ] ||
		fail "$file has not $bytes bytes"
done <"$work/out/manifest.tsv"

# A set may replace a set of mkset, but no other folder.
touch "$work/out/note.txt"
"$MKSET" --profile avatar --scale 0.004 --photos "$work/photos" "$work/out" \
	>/dev/null 2>&1
[ "$(ls "$work/out")" = "$(printf '%s\n' 0000{0,1,2,3}.jpg LICENSES \
	manifest.tsv note.txt)" ] || fail "old files: $(ls "$work/out")"
refuses 1 'not made by mkset' "$MKSET" --photos "$samples" "$work/photos"
[ -e "$work/photos/text.jpg" ] || fail "a stranger's file is gone"

# Photos of the web: one size in pixels, upright or not.
"$MKSET" --profile web --scale 0.004 --photos "$work/photos" "$work/web" \
	>/dev/null 2>&1
[ "$(sed 1d "$work/web/manifest.tsv" | cut -f3,4 | tr '\t' x |
	grep -cxE '500x375|375x500')" = 4 ] || fail "$(cat "$work/web/manifest.tsv")"

# A set within the folder of photos is not used as photos when it is made
# again; nor can a set be the folder of photos.
"$MKSET" --profile avatar --scale 0.004 --photos "$work/photos" \
	"$work/photos/deep/out" >/dev/null 2>&1
cp "$work/photos/deep/out/manifest.tsv" "$work/first.tsv"
"$MKSET" --profile avatar --scale 0.004 --photos "$work/photos" \
	"$work/photos/deep/out" >"$work/said" 2>&1 ||
	fail "made again among its photos: $(cat "$work/said")"
cmp "$work/first.tsv" "$work/photos/deep/out/manifest.tsv" ||
	fail "a set is among the photos"
refuses 1 'no usable photos' "$MKSET" --photos "$work/out" "$work/out"
[ -e "$work/out/00000.jpg" ] || fail "the set is gone"
"$STATS" "$work/photos/deep" | has 'Files *5 ' ||
	fail "stats leaves sets out"

mkdir "$work/empty"
refuses 1 'no usable photos' "$MKSET" --photos "$work/empty" "$work/new"
refuses 1 'No such file' "$MKSET" --photos "$work/none" "$work/new"
[ ! -e "$work/new" ] || fail "a folder without a set"
refuses 2 'not thesis' "$MKSET" --profile x "$work/new"
refuses 2 'not a number' "$MKSET" --scale 0 "$work/new"
refuses 2 'not a whole number' "$MKSET" --jobs 2x "$work/new"
refuses 2 'not a whole number' "$MKSET" --seed 1.5 "$work/new"
refuses 2 'not a whole number' "$MKSET" --jobs 1.5 "$work/new"
refuses 2 'not a whole number' "$MKSET" --seed 9007199254740993 "$work/new"
refuses 2 'one folder' "$MKSET"
refuses 1 'No such file' "$STATS" "$work/none"
refuses 1 'no JPEGs' "$STATS" "$work/empty"
refuses 2 'DIR is missing' "$STATS"
