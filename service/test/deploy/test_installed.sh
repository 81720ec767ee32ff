#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What `cmake --install` makes fits together: the man pages, plans and documents
# name only files that are installed, by the paths at which they are.  A build
# for it makes nothing else.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_installed.sh CMAKE
. "$(dirname "$0")/../server.sh"
chooses_policies "it starts no server"
cmake=$1
source=$(realpath "$(dirname "$0")/../../..")
build=$(realpath "$(dirname "$DARKROOM")")
root=$work/root
for component in darkroom loadgen; do
	DESTDIR=$root "$cmake" --install "$build" --component $component \
		>"$work/log" 2>&1 || fail "cmake --install"
done
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")

# expect_there FILE: standard input has paths; all are installed
expect_there() {
	local path count=0
	while read -r path; do
		[ -e "$root$path" ] || fail "$1 names $path"
		count=$((count + 1))
	done
	echo $count
}

test_man_pages() {
	local page named=0
	for page in "$root$prefix"/share/man/man1/*.1; do
		# Without roff's escapes.
		sed 's/\\//g' "$page" >"$work/page"
		! grep -E '(^|[ (])(docs|loadgen|stages|script)/' "$work/page" ||
			fail "$page names a file of the sources"
		grep -oE "$prefix/[A-Za-z0-9/._-]*[A-Za-z0-9]" "$work/page" |
			sort -u >"$work/paths" || true
		named=$((named + $(expect_there "$page" <"$work/paths")))
	done
	[ $named -ge 5 ] || fail "only $named paths"
	grep -q 'percent_of_capacity' \
		"$root$prefix/share/man/man1/loadgen-compare.1" ||
		fail "no keys of a plan"
}

test_plans() {
	local plan plans=("$root$prefix"/share/darkroom/plans/*.json)
	[ ${#plans[@]} -ge 5 ] || fail "${#plans[@]} plans"
	for plan in "${plans[@]}"; do
		jq -r '.. | strings' "$plan" >"$work/strings"
		! grep -E '(^|[ /])(build|script|loadgen)/' "$work/strings" ||
			fail "$plan uses the sources"
		grep "^$prefix" "$work/strings" | sort -u >"$work/paths" ||
			fail "$plan starts nothing"
		expect_there "$plan" <"$work/paths" >"$work/log"
		# Each arm starts an installed program, and there are two to
		# compare.
		jq -e --arg program "$prefix/bin/darkroom" '(.arms | length) > 1
			and all(.arms[]; .command | index($program))' "$plan" \
			>"$work/log" || fail "arms of $plan"
		# loadgen reads it, up to the arm that is missing.
		! "$LOADGEN" compare "$plan" --dataset "$work" --arms none \
			--output "$work/out" 2>"$work/log" || fail "no such arm"
		grep -q "the plan has no arm 'none'" "$work/log" ||
			fail "$plan is refused"
	done
}

# Each link of a document leads to an installed file, and each document that is
# linked has the headings that are named.
test_documents() {
	local file link count=0
	for file in "$root$prefix"/share/doc/darkroom*/{,operations/}*.md; do
		[ -e "$file" ] || continue # a pattern without files
		! grep -nE '<(img|picture)|\]\((\.\./)*(deploy|docs|service|results)/' \
			"$file" || fail "$file links to the sources"
		grep -oE '\]\([^)# ]+' "$file" | sed 's/^](//' | sort -u \
			>"$work/links" || true
		while read -r link; do
			[[ $link != http* ]] || continue
			[ -e "$(dirname "$file")/$link" ] ||
				fail "${file##*/}: no $link"
			count=$((count + 1))
		done <"$work/links"
		# Nothing else has changed.
		[ "$(wc -w <"$file")" -gt "$(($(wc -w \
			<"$source/docs/${file#*/share/doc/darkroom*/}") * 9 / 10))" ] ||
			fail "${file##*/} has lost text"
	done
	[ $count -ge 20 ] || fail "only $count links"
}

# Without the laboratory, a build makes what users run, and what that is made with.
test_without_lab() {
	local programs
	"$cmake" -G Ninja -S "$source" -B "$work/build" -DDARKROOM_LAB=OFF \
		-DCMAKE_BUILD_TYPE=Release >"$work/log" 2>&1 ||
		fail "cmake -DDARKROOM_LAB=OFF"
	ninja -C "$work/build" -t targets all >"$work/targets"
	programs=$(sed -n 's/.*: C_EXECUTABLE_LINKER__\(.*\)_Release$/\1/p' \
		"$work/targets" | sort | paste -sd ' ')
	# A build may leave HEIC out.
	[ "${programs/ darkroom-heif/}" = "darkroom darkroom-decoder darkroom-store darkroom-webhook loadgen print_parameters" ] ||
		fail "-DDARKROOM_LAB=OFF makes: $programs"
}

test_man_pages
test_plans
test_documents
test_without_lab
