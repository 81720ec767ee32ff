#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A build that fails says why.  Only the clang-format that made the sources checks
# them.  What only some tests use may be impossible to install.  script/test
# counts and names what was skipped; each test is one of --fast or of --slow.
# Packages of later commits have higher versions.  The scripts run in a tree of
# their own, and start programs that do what the test wants.
#
# usage: test_scripts.sh SOURCE_DIR
. "$(dirname "$0")/../../../base/test/script.sh"
source=$(realpath "$1")
log=$work/said
cp -r "$source/script" "$work/script"
cd "$work"

# only TOOL...: a folder bin, which has these programs and no others
only() {
	local tool
	rm -rf bin
	mkdir bin
	for tool; do
		ln -s "$(command -v "$tool")" bin
	done
}

# stub PROGRAM LINES...: put this program into bin
stub() {
	rm -f "bin/$1"
	printf '%s\n' '#!/bin/bash' "${@:2}" >"bin/$1"
	chmod 755 "bin/$1"
}

# run STATUS COMMAND...: it ends with this status, and its output is in `said`
run() {
	local wanted=$1 status=0
	shift
	"$@" >said 2>&1 || status=$?
	[ $status = "$wanted" ] || fail "$*: status $status, not $wanted"
}

says() {
	grep -qF -- "$1" said || fail "does not say: $1"
}

test_a_failed_build_says_why() {
	only bash dirname tail
	printf '#!/bin/sh\n' >script/bootstrap
	stub cmake '[ "$1" = --build ] || exit 0
		echo "[1/9] a step"
		echo "photo.c:7: the reason"
		echo "the last line"
		exit 3'
	run 3 env PATH="$work/bin" script/demo
	says 'photo.c:7: the reason'
	stub cmake 'echo "[1/9] a step"; echo "the last line"'
	run 0 env PATH="$work/bin" script/build --preset release
	[ "$(<said)" = 'the last line' ] || fail "not one line"
	cp "$source/script/bootstrap" script/bootstrap
}

# script/demo and others build no more than the server.
test_the_server_is_built_with_its_helpers() {
	local name build
	build=$(dirname "$DARKROOM")
	[ -f "$build/build.ninja" ] || return 0
	for name in darkroom-decoder darkroom-store darkroom-webhook; do
		ninja -C "$build" -t inputs darkroom >inputs
		grep -qx $name inputs ||
			fail "building darkroom does not build $name"
	done
}

test_format() {
	only bash dirname sed sort find xargs
	: >good.c
	stub clang-format 'echo "Debian clang-format version 19.1.7 (3)"'
	run 77 env PATH="$work/bin" script/format --check good.c
	says 'needs clang-format 14'
	run 77 env PATH="$work/bin" script/format good.c
	rm bin/clang-format
	run 77 env PATH="$work/bin" script/format --check good.c
	stub clang-format '[ "$1" != --version ] || {
			echo "Debian clang-format version 14.0.6"
			exit
		}
		echo "good.c:1:1: error: [-Wclang-format-violations]"'
	run 1 env PATH="$work/bin" script/format --check good.c
	says 'not formatted'
}

# bootstrap STATUS ARG...: as root, with the programs in bin; what was asked of
# apt is in `asked`
bootstrap() {
	: >asked
	run "$1" env PATH="$work/bin" script/bootstrap "${@:2}"
}

test_bootstrap() {
	only bash dirname sed
	stub id 'echo 0'
	stub pkg-config 'exit 0'
	stub dpkg-query '[ "${@: -1}" = "$(<absent)" ] || echo installed'
	stub apt-cache 'echo " a | version | here"'
	stub apt-get 'echo "$*" >>asked
		[[ " $* " != *" $(<impossible) "* ]]'
	ln -s "$(command -v cat)" bin
	stub clang-format-14
	: >absent
	: >impossible
	bootstrap 0
	[ ! -s asked ] || fail "asks for $(<asked)"

	echo cmake >absent
	bootstrap 0
	grep -q '^install .* cmake$' asked || fail "cmake: $(<asked)"
	echo cmake >impossible
	bootstrap 1
	echo update >impossible
	bootstrap 1

	: >absent
	bootstrap 0 --tests
	says 'what uses them is skipped'
	! grep -q '^install' asked || fail "installs: $(<asked)"
	echo chromium-headless-shell >impossible
	bootstrap 0 --tests
	says 'without chromium-headless-shell:'
	grep -q '^install .* slowhttptest$' asked || fail "slowhttptest: $(<asked)"
	bootstrap 2 --test
}

# tests_run NAME...: script/test has run these tests, and no others
tests_run() {
	[ "$(sed -n 's/.* Test *#[0-9]*: \([a-z]*\) .*/\1/p' said | sort |
		tr '\n' ' ')" = "$* " ] || fail "others than $*: $(<said)"
}

# has_built NAME...: script/test has built these programs, and no others
has_built() {
	[ "$(cd build/release && echo *.built)" = "${*/%/.built}" ] ||
		fail "built: $(cd build/release && echo *.built), not $*"
	rm build/release/*.built
}

test_skips_are_counted() {
	cat >CMakePresets.json <<-'END'
		{ "version": 3,
		  "configurePresets": [ { "name": "release", "generator": "Ninja",
		    "binaryDir": "${sourceDir}/build/release" } ],
		  "buildPresets": [ { "name": "release", "configurePreset": "release" } ],
		  "testPresets": [ { "name": "release", "configurePreset": "release" } ] }
	END
	cat >CMakeLists.txt <<-'END'
		cmake_minimum_required(VERSION 3.25)
		project(small NONE)
		enable_testing()
		foreach(program quick long)
			add_custom_target(${program} ALL COMMAND touch ${program}.built)
		endforeach()
		add_test(NAME good COMMAND
			echo "nothing was skipped: all is here" ${CMAKE_BINARY_DIR}/quick)
		add_test(NAME whole COMMAND sh -c "echo skipped: no browser; exit 77")
		add_test(NAME mute COMMAND sh -c "exit 77")
		add_test(NAME part COMMAND sh -c "echo a; echo 'skipped: no <node>'; echo 'skipped: no <node>'; echo b")
		set_tests_properties(part PROPERTIES ENVIRONMENT "A=b;B=${CMAKE_BINARY_DIR}/long")
		set_tests_properties(whole mute PROPERTIES SKIP_RETURN_CODE 77)
		add_test(NAME again COMMAND echo "another build has it")
		set_tests_properties(part PROPERTIES LABELS slow)
		set_tests_properties(again PROPERTIES LABELS "slow;repeated")
		if(EXISTS ${CMAKE_SOURCE_DIR}/bad)
			add_test(NAME bad COMMAND false)
		endif()
	END
	printf '#!/bin/sh\necho "$*" >args\n' >script/bootstrap
	printf '#!/bin/sh\nexit 77\n' >script/format
	run 0 script/test release
	[ "$(<args)" = --tests ] || fail "bootstrap $(<args)"
	tail -n 5 said | sort >last
	diff - last <<-'END' || fail "the last lines"
		== skipped: 4
		formatting: there is no clang-format 14
		release: mute: no reason given
		release: part: no <node>
		release: whole: no browser
	END
	has_built long quick
	run 0 script/test --fast
	[ "$(<args)" = --fast-tests ] || fail "bootstrap $(<args)"
	tests_run good mute whole
	has_built quick
	run 0 script/test --slow release
	tests_run part
	has_built long
	: >bad
	run 1 script/test release
	tail -n 5 said | sort | diff last - || fail "the last lines of a failure"
	printf '#!/bin/sh\n' >script/format
	rm bad
	sed -i '/whole\|mute\|part/d' CMakeLists.txt
	run 0 script/test release
	[ "$(tail -n 1 said)" = '== skipped: 0' ] || fail "skipped: 0"
}

# package DIR ARG...: run script/package with these arguments in this folder
package() {
	local from=$1
	shift
	(cd "$from" && run 0 "$work/tree/script/package" "$@") || exit 1
	mv "$from/said" .
}

# has_package DIR: the folder has what was built, and nothing of it is left
# elsewhere
has_package() {
	local name=darkroom_1.2.3~git20010909014640.0123456789ab_all
	[ "$(cd "$1" && echo *)" = "$name.buildinfo $name.changes $name.deb" ] ||
		fail "$1: $(ls "$1")"
	says "$(realpath "$1")/$name.deb"
	[ -z "$(ls temporary)" ] || fail "left: $(ls temporary)"
	rm -r "$1"
}

# The command as documented, and with a folder that is given in any form, from
# any folder.  What was built is kept if it cannot be moved there.
test_packages_are_where_they_belong() {
	local PATH=$work/bin:$PATH TMPDIR=$work/temporary
	export PATH TMPDIR
	rm -rf bin
	mkdir -p bin temporary elsewhere tree/deploy/debian tree/script
	cp script/package script/help.sh tree/script
	printf '#!/bin/sh\n' >tree/script/bootstrap
	chmod 755 tree/script/bootstrap
	echo 'project(darkroom VERSION 1.2.3)' >tree/CMakeLists.txt
	echo 'Maintainer: Nobody <nobody@example.com>' \
		>tree/deploy/debian/control
	stub git 'case $1 in
		describe) echo 0123456789ab ;;
		log) echo 1000000000 ;;
		ls-files) find * -type f -print0 ;;
		merge-base) exit 1 ;;
		esac'
	stub dpkg-buildpackage '[ -s debian/control ] || exit 1
		version=$(sed -n "1s/.*(\(.*\)).*/\1/p" debian/changelog)
		for end in deb changes buildinfo; do
			echo built >"../darkroom_${version}_all.$end"
		done'
	package tree
	has_package tree/build/package
	# Those of an earlier commit are removed, and no other file.
	mkdir -p tree/build/package
	touch tree/build/package/darkroom_1.2.3~git1999.0_all.deb
	touch tree/build/package/darkroom-other.deb
	package tree
	rm tree/build/package/darkroom-other.deb
	has_package tree/build/package
	package elsewhere
	has_package tree/build/package
	package elsewhere --output here
	has_package elsewhere/here
	package tree --output "$work/elsewhere/there"
	has_package elsewhere/there
	stub mv '[[ ${!#} != */full ]] || exit 1
		exec '"$(command -v mv)"' "$@"'
	run 1 tree/script/package --output full
	says "the packages stay in $TMPDIR"
	[ "$(cat temporary/*/*.deb)" = built ] || fail "the packages are lost"
}

# commit: a commit at the next second
commit() {
	date=$((date + 1))
	GIT_COMMITTER_DATE="@$date +0000" git -C tree -c user.name=nobody \
		-c user.email=nobody@example.com commit -q --allow-empty -m x
}

# newer: the version of the package is higher than the last one
newer() {
	local before=${version:-0}
	version=$(tree/script/package --version)
	dpkg --compare-versions "$version" gt "$before" ||
		fail "$version is not after $before"
}

# apt takes the package of a later commit for a newer one, before a release, the
# release itself, and after it.
test_package_versions() {
	local date=1000000000 version=
	command -v git >/dev/null && command -v dpkg >/dev/null || {
		echo "skipped: no git, or no dpkg"
		return
	}
	rm -rf bin tree
	mkdir -p tree/script
	cp script/package script/help.sh tree/script
	echo 'project(darkroom VERSION 1.2.3)' >tree/CMakeLists.txt
	git init -q tree
	git -C tree add .
	commit
	newer
	[[ $version = 1.2.3~git20010909014641.* ]] || fail "$version"
	commit
	newer
	echo >>tree/CMakeLists.txt
	newer
	[[ $version = *.dirty ]] || fail "$version"
	git -C tree checkout -q CMakeLists.txt
	commit
	newer
	git -C tree tag v1.2.3
	newer
	[ "$version" = 1.2.3 ] || fail "the release is $version"
	commit
	newer
	[[ $version = 1.2.3+git20010909014644.* ]] || fail "$version"
	commit
	newer
}

# Neither the start of the program counts, nor what another caller asks of the
# function of a step; L2 and L3 are the last caches of two runs.
test_misses_are_those_of_an_event_of_a_step() {
	only bash
	stub lscpu 'printf "%s 32768 8 64\n" L1d L1i
		echo "L2 1000000 8 64"
		echo "L3 9000000 16 64"'
	stub valgrind 'while [ $# -gt 0 ]; do
			case $1 in
			--LL=1000000,8,64) ll=5 ;;
			--LL=9000000,16,64) ll=1 ;;
			--callgrind-out-file=*) file=${1#*=} ;;
			--count) n=$2 ;;
			esac
			shift
		done
		echo "stage decode  handled 20  wait-us 1  cohort 8.0"
		exec >"$file"
		echo "fn=query_step"
		echo "cfn=decode"
		echo "calls=$n 1"
		echo "2 $((100 * n)) 0 0 $((2 * n + 9000)) $((3 * n)) $n $((ll * n + 9000))"
		for name in deflate_page titles tokens stopwords spelling sounds stems \
			reader_list cache lists combine contents format; do
			[ "$name" != "$(<missing)" ] || continue
			echo "cfn=$name"
			echo "calls=$((n / 4)) 1"
			echo "2 $n"
		done
		echo "fn=others"
		echo "cfn=decode"
		echo "calls=$n 1"
		echo "2 $((1000 * n))"
		echo "totals: $((2000 * n + 90000)) 0 0 $((8 * n + 9000)) $((9 * n)) 0 $((ll * n))"'
	: >missing
	run 0 env PATH="$work/bin:$PATH" script/lab/bench-caches --index none search
	says '| mean cohort | 8.0 | 8.0 | 8.0 | 8.0 | 8.0 | - | - |'
	says '| **instructions** | 2000 | '
	says '| I1 decode | 1.00 | 2.0 | '
	says '| D1 decode | 1.00 | 4.0 | '
	says '| L2 decode | 1.00 | 5.0 | '
	says '| L3 decode | 1.00 | 1.0 | '
	says '| I1 deflate | 0.25 | 0.0 | '
	says '| I1 others | 1.00 | 6.0 | '
	run 0 env PATH="$work/bin:$PATH" script/lab/bench-caches --index none \
		--arms 'limit 4,one thread' --latencies '0 0 1000' search
	says '| each query | limit 4 | one thread |'
	says '| misses cost at most, us | 1.0 | 1.0 |'
	# A function that was renamed would be missed in silence.
	echo lists >missing
	run 1 env PATH="$work/bin:$PATH" script/lab/bench-caches --index none search
	says 'query_step calls no function of lists'
	run 2 script/lab/bench-caches nonsense
}

# Tables of raw figures: ratios are of the same round, scores are between the two
# nearest results, over the logarithm of bytes, and a picture that an arm lacks is
# left out.
test_tables_of_the_public_comparison() {
	mkdir raw
	tr ' ' '\t' >raw/costs.tsv <<-EOF
		all 640 ours 1 10 0.9 0.1 20480 1000
		all 640 other 1 10 3.5 0.5 40960 1100
		largest 640 ours 1 1 0.1 0 10240 100
		largest 640 other 1 1 0.1 0 40960 110
		all 640 ours 2 10 1.9 0.1 20480 1000
		all 640 other 2 10 3.9 0.1 40960 1100
	EOF
	tr ' ' '\t' <<-EOF | gzip >raw/scores.tsv.gz
		photos-640 ours 640 72 a.jpg 900 60 50
		photos-640 ours 640 80 a.jpg 1000 70 60
		photos-640 ours 640 80 b.jpg 1000 70 60
		photos-640 other 640 72 a.jpg 500 62 50
		photos-640 other 640 88 a.jpg 2000 82 70
		photos-640 other 640 72 b.jpg 500 62 50
	EOF
	jq -n '{runs: [{arm: "Darkroom", load: "warm-up", result: {}},
		{arm: "Darkroom", load: "closed", result: {responses_per_s: 100,
		makespan_s: 10, response_ms: {p50: 1.5, p90: 2, p99: null},
		server: {cpu_s: 5, peak_memory_bytes: 1048576}}}]}' \
		>raw/server-jpeg.json
	run 0 script/lab/bench-public --tables raw
	says '10 photos, 2 rounds'
	says '| Darkroom | 7.5 (5 - 10) | 1 (1 - 1) |'
	says '| other | 2.5 (2.5 - 2.5) | 3 (2 - 4) |'
	says '| other | 40 (40 - 40) | 1.1 |'
	says '| box of 640 | other | 1 | 72.0 | 2.0 to 2.0 | 1 | 60.0 | 0.0 to 0.0 | 0 |'
	says '| jpeg | Darkroom | 100 (100 - 100) | 5 (5 - 5) | 1.5 (1.5 - 1.5) | 2 (2 - 2) | - | 1 (1 - 1) |'
	rm raw/*
	run 0 script/lab/bench-public --tables raw
	[ ! -s said ] || fail "tables of nothing: $(<said)"
	run 2 script/lab/bench-public --tables raw --part nonsense
	run 2 script/lab/bench-public --dataset raw
	run 2 script/lab/bench-public nonsense
}

# --help prints what the script is for, does nothing else, and is no error.
test_help() {
	local file count=0
	only bash dirname awk
	stub cmake 'echo "starts a build" >&2'
	for file in "$source"/script/{,lab/}* "$source"/datasets/{fetch,mknull}; do
		[ -f "$file" ] && grep -q '^# usage: ' "$file" || continue
		count=$((count + 1))
		for word in --help -h; do
			PATH=$work/bin "$file" $word >said 2>errors ||
				fail "$file $word: status $?"
			[ ! -s errors ] || fail "$file $word: $(<errors)"
			says 'usage: '
			! grep -q '^set ' said || fail "$file $word: prints code"
		done
	done
	[ $count -ge 30 ] || fail "only $count scripts"
	PATH=$work/bin "$source/script/reproduce" thesis --help >said ||
		fail "reproduce thesis --help: status $?"
	says 'usage: script/reproduce'
	# The words of a command that a script runs are not its own.
	run 2 env PATH="$work/bin:$PATH" "$source/script/in-debian" 1! ls --help
}

test_the_server_is_built_with_its_helpers
test_a_failed_build_says_why
test_help
test_format
test_bootstrap
test_skips_are_counted
test_packages_are_where_they_belong
test_package_versions
test_misses_are_those_of_an_event_of_a_step
test_tables_of_the_public_comparison
