#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promise: a 201 is never lost.  The server is killed (SIGKILL) at a random
# moment of many stores and started again on the same folder; then everything
# that it answered 201 for is there, whole, with the SHA-256 told, nothing is
# there in part, and of what was being made nothing is left.
#
# The content of the system's cache survives a kill: that all was synced before,
# and in which order, is test_store_faults' to show.
#
# usage: DARKROOM=PROGRAM test_crash.sh SAMPLES_DIR [ROUNDS STORES]
. "$(dirname "$0")/nobody.sh"
. "$(dirname "$0")/server.sh"
photo=$(realpath "$1/clownfish.jpg")
rounds=${2:-4}
stores=${3:-60}
clients=4
cd "$work"
mkdir store

# A client's uploads, each other than all before: replies go to out/.
upload() {
	local client=$1 i
	for ((i = client; i < stores; i += clients)); do
		printf 'url = "%s/v1/images?w=%d&q=%d"\ndata-binary = "@%s"\n' \
			"$url" $((16 + i)) $((1 + round % 100)) "$small"
		printf 'output = "out/%d"\nwrite-out = "%%{http_code} %d\\n"\n' \
			"$i" "$i"
		echo next
	done >"config$client"
	curl -sS --no-progress-meter -K "config$client" >"codes$client" \
		2>/dev/null || true
}

# Files of an entry are what its meta says, no more and no less.
check_entry() {
	local entry=$1 name sha
	[ -s "$entry/meta.json" ] || fail "an entry without meta: $entry"
	jq -r '.variants[] | "\(.sha256)  \(.name).jpg"' "$entry/meta.json" \
		>sums || fail "no meta: $entry"
	[ "$(find "$entry" -type f | wc -l)" = $(($(wc -l <sums) + 1)) ] ||
		fail "other files than told: $entry"
	(cd "$entry" && sha256sum --quiet --strict -c "$work/sums") >&2 ||
		fail "not what was told: $entry"
}

check_all() {
	local i code path
	while read -r code i; do
		[ "$code" = 201 ] || continue
		path=$(jq -r '.id' "out/$i")
		told=$((told + 1))
		[ -d "store/${path:0:2}/$path" ] ||
			fail "round $round: a 201 is lost: $path"
	done < <(cat codes*)
	for path in $(find store -mindepth 2 -maxdepth 2 -type d \
		-newer started -path 'store/[0-9a-f][0-9a-f]/*'); do
		check_entry "$path"
		found=$((found + 1))
	done
	[ -z "$(ls store/tmp)" ] || fail "left in tmp: $(ls store/tmp)"
}

told=0
found=0
start --log off --store store
curl -sS --data-binary "@$photo" "$url/?w=160" -o small.jpg
small=$work/small.jpg
stop
for ((round = 0; round < rounds; round++)); do
	rm -rf out codes* && mkdir out
	touch -d '1 second ago' started
	start --log off --store store
	pids=()
	for ((k = 0; k < clients; k++)); do
		upload "$k" &
		pids+=($!)
	done
	# Anywhere from the first store to the last.
	goal=$((RANDOM % stores))
	for _ in $(seq 3000); do
		[ "$(ls out | wc -l)" -lt "$goal" ] || break
		sleep 0.01
	done
	sleep "0.0$((RANDOM % 10))"
	kill -KILL "$server"
	wait "$server" 2>/dev/null || true
	server=
	wait "${pids[@]}"
	start --log off --store store
	check_all
	stop
done
echo "$rounds kills: $told of $((rounds * stores)) stores were told," \
	"$found entries are there, all whole"
[ "$told" -gt 0 ] || fail "no store before any kill"
