#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: what `cmake --install` gives is enough to build a program of stages
# in an empty folder, with the shared and with the static library; each header
# can be included alone; the libraries have no names that the headers do not
# declare; and a policy of one's own runs in the simulator and in threads.
#
# usage: BUILD=FOLDER LIBRARIES=FILE:... STAGES_SIM=PROGRAM \
#	STAGES_BENCH=PROGRAM CC=COMPILER test_library.sh
. "$(dirname "$0")/../../../base/test/script.sh"

sources=$(cd "$(dirname "$0")/.." && pwd)
graphs=$(cd "$sources/../sim/graphs" && pwd)
cd "$work" || exit 1
# `script/test --fast` builds what a test names.
IFS=: read -ra built <<<"$LIBRARIES"
for file in "${built[@]}"; do
	[ -s "$file" ] || fail "$file was not built"
done
cmake --install "$BUILD" --component stages --prefix "$work/to" >/dev/null ||
	fail "cmake --install failed"
pc=$(find to -name stages.pc)
[ -n "$pc" ] || fail "there is no stages.pc"
export PKG_CONFIG_PATH=$work/${pc%/*}
lib=$(pkg-config --variable=libdir stages)
read -ra compile <<<"$CC -std=c11 -Wall -Wextra -Wpedantic -Werror \
$(pkg-config --cflags stages)"
read -ra shared <<<"$(pkg-config --libs stages)"
read -ra static <<<"$lib/libstages.a $(pkg-config --static --libs stages |
	sed 's/-lstages//')"

for header in stage policy stats; do
	echo "#include <stages/$header.h>" >only.c
	"${compile[@]}" -c only.c || fail "$header.h cannot be included alone"
done

"${compile[@]}" -o two_shared "$sources/two_stages.c" "${shared[@]}" ||
	fail "the example was not built with the shared library"
"${compile[@]}" -o two_static "$sources/two_stages.c" "${static[@]}" ||
	fail "the example was not built with the static library"
# The sum of the squares of 1 to 1000.
[ "$(LD_LIBRARY_PATH=$lib ./two_shared)" = 333833500 ] ||
	fail "the example with the shared library printed something else"
[ "$(./two_static)" = 333833500 ] ||
	fail "the example with the static library printed something else"
readelf -d two_shared | has 'libstages.so.0' ||
	fail "the example does not need libstages.so.0"
! readelf -d two_static | has libstages ||
	fail "the static example needs the shared library"
"${compile[@]}" -std=gnu11 -o pubsub "$sources"/pubsub/*.c "${shared[@]}" ||
	fail "pubsub was not built with the shared library"
LD_LIBRARY_PATH=$lib ./pubsub --check --subscriptions 100 --publications 20 \
	--attributes 4 --values 3 >/dev/null || fail "pubsub found wrong matches"
if pkg-config --exists lmdb zlib; then
	read -ra lmdb <<<"$(pkg-config --cflags --libs lmdb zlib)"
	"${compile[@]}" -std=gnu11 -o search_index \
		"$sources"/search/{indexer,index,words}.c "${lmdb[@]}" ||
		fail "search_index was not built"
	"${compile[@]}" -std=gnu11 -o search \
		"$sources"/search/{main,check,index,query,server,words,workload}.c \
		"${shared[@]}" "${lmdb[@]}" -lm ||
		fail "search was not built with the shared library"
	./search_index index "$sources" >/dev/null || fail "there is no index"
	LD_LIBRARY_PATH=$lib ./search --check --count 50 index >/dev/null ||
		fail "search gave wrong answers"
else
	echo "skipped: search: there is no liblmdb-dev or zlib1g-dev"
fi

# Every name is one of the headers, and both libraries have the same.
nm -D --defined-only "$lib/libstages.so" | awk '{ print $3 }' | sort >names
nm --extern-only --defined-only "$lib/libstages.a" | awk 'NF == 3 { print $3 }' |
	sort >static_names
cmp names static_names || fail "the libraries have different names"
[ -s names ] || fail "the library has no names"
while read -r name; do
	grep -qrw "$name" to/include || fail "no header declares $name"
done <names

"${compile[@]}" -shared -fPIC -o longest_queue.so "$sources/longest_queue.c" ||
	fail "the policy was not built"
"$STAGES_SIM" --graph "$graphs/image.json" --load 0.5 --requests 1000 \
	--warmup 10 --policy-file longest_queue.so --policy longest-queue \
	>sim.txt || fail "the policy does not run in the simulator"
has ^throughput <sim.txt || fail "the simulator's report: $(cat sim.txt)"
"$STAGES_BENCH" --graph "$graphs/image.json" --requests 200 --scale 0.01 \
	--policy-file ./longest_queue.so --policy longest-queue >bench.txt ||
	fail "the policy does not run in threads"
has longest-queue <bench.txt || fail "the benchmark's report: $(cat bench.txt)"

refused() {
	local because=$1

	shift
	if "$STAGES_SIM" --graph "$graphs/image.json" --load 0.5 "$@" \
		2>why.txt >/dev/null; then
		fail "$* was not refused"
	fi
	has "$because" <why.txt || fail "$*: '$(cat why.txt)'"
}
echo 'int nothing;' >nothing.c
"${compile[@]}" -shared -fPIC -o nothing.so nothing.c
sed 's/longest-queue/cohort/' "$sources/longest_queue.c" >taken.c
"${compile[@]}" -shared -fPIC -o taken.so taken.c
refused "missing.so" --policy-file missing.so
refused "has no STAGES_POLICY_FILE" --policy-file nothing.so
refused "the name of another" --policy-file taken.so
