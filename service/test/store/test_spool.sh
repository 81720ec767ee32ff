#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: an upload that was answered with a durable 202 is stored in spite of
# a stop that takes too long, a crash (test_crash.sh) or a lack of memory.  It
# is stored once, unless a DELETE cancels it.  Without room in the spool there
# is no 202.  An entry that is damaged, cannot become an image, or ends the
# server, harms no other, and GET reports it.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_spool.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
needs early_replies || exit 77
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
photo=$(realpath "$1/clownfish.jpg")
cd "$work"
# Encoding takes long, so the upload is spooled before the encoding ends.
side=1600
# So many entries take longer than a client needs to connect.
many=60
case ${SANITIZED:-} in
'') ;;
*thread*) side=700 many=20 ;;
*) side=1200 ;;
esac
slow="progressive=1&chroma=444&q=97&enlarge=1&w=$side"

# begin FLAGS...: start a server with an empty store
begin() {
	rm -rf store
	mkdir store
	start --store store "$@"
}

# kill_it: kill the server
kill_it() {
	kill -KILL "$server"
	wait "$server" 2>/dev/null || true
	server=
}

# post_all COUNT [QUERY]: send this number of uploads at once, each with an id
# of its own.  The replies are in reply*, the ids of the 202s in ids.
post_all() {
	local count=$1 query=${2-$slow} pids=() i
	rm -f reply* code*
	for i in $(seq "$count"); do
		curl -sS -o "reply$i" -w '%{http_code}\n' --data-binary "@$photo" \
			"$url/v1/images?respond=decoded&blur=$i&$query" \
			>"code$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	: >ids
	for i in $(seq "$count"); do
		[ "$(cat "code$i")" = 202 ] || continue
		got=$("$JSON_VALUE" .durable .status .id <"reply$i" | xargs)
		[[ $got = 'true processing '* ]] || fail "$(shown "reply$i")"
		echo "${got##* }" >>ids
	done
}

# get_status ID: GET the image and print the status; the body is in body
get_status() {
	curl -sS -o body -w '%{http_code}' "$url/v1/images/$1"
}

# settled ID: wait until the image is stored or failed, and set $got to the
# status
settled() {
	local _
	for _ in $patience; do
		got=$(get_status "$1")
		[ "$got" = 202 ] || return 0
		[ "$("$JSON_VALUE" .status .durable <body | xargs)" = \
			'processing true' ] || fail "$1: $(shown body)"
		sleep 0.1
	done
	fail "processing for ever: $1"
}

# all_stored: expect that all images of ids are stored and whole, and that the
# spool is empty
all_stored() {
	local id
	settled "$(tail -n 1 ids)"
	while read -r id; do
		settled "$id"
		[ "$got" = 200 ] || fail "$id: $got $(shown body)"
		echo "$("$JSON_VALUE" '.variants[].sha256' <body)" \
			" store/${id:0:2}/$id/image.jpg"
	done <ids >sums
	sha256sum --quiet -c sums || fail "not whole"
	check_drained
	[ -z "$(ls store/spool store/tmp | grep -v :)" ] ||
		fail "left: $(ls store/spool store/tmp)"
	[ "$(stat_of .spool.waiting)" = 0 ] || fail "$(stat_of .spool)"
}

spooled() {
	find store/spool -mindepth 1 -maxdepth 1 | wc -l
}

# prepare COUNT: put this number of entries into the spool, and their ids into
# ids, without a server.  Their requests lack some parameters, like those of an
# older version.
prepare() {
	local count=$1 i request id
	begin
	stop
	: >ids
	for i in $(seq "$count"); do
		printf 'darkroom 2\nowner=\nstrict=1\nvariant=image:w=%d\n\n' \
			$((400 + i)) >request
		id=$(cat request "$photo" | sha256sum | cut -d' ' -f1)
		mkdir "store/spool/$id"
		cp request "store/spool/$id/request.txt"
		cp "$photo" "store/spool/$id/upload.jpg"
		echo "$id" >>ids
	done
}

# remove_image ID: delete the image, unless another is meant, and expect that it
# is gone
remove_image() {
	[ "$(curl -sS -o body -w '%{http_code}' -X DELETE \
		-H 'If-Match: "x"' "$url/v1/images/$1")" = 412 ] ||
		fail "If-Match: $(shown body)"
	[ "$(curl -sS -o body -w '%{http_code}' -X DELETE \
		"$url/v1/images/$1")" = 204 ] || fail "$(shown body)"
	[ "$(get_status "$1")" = 404 ] || fail "deleted, but $(shown body)"
}

# reserve FD: send the head of an upload that needs more than half of 16 MB
reserve() {
	printf 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' \
		$((9 << 20)) >&"$1"
}

until_stat() { # EXPRESSION
	local _
	for _ in $patience; do
		[ "$(stat_of "$1")" != true ] || return 0
		sleep 0.05
	done
	fail "never true: $1: $(curl -fsS "$url/stats" | jq -c .memory)"
}

# Entries of the spool do not overtake uploads that wait for memory.
test_entries_wait_for_memory_in_turn() {
	local holder waiter
	prepare $many
	start --store store --policy capriccio --memory 16M
	exec {holder}<>"/dev/tcp/127.0.0.1/${url##*:}"
	reserve "$holder"
	until_stat ".memory.used_bytes >= $((9 << 20))"
	exec {waiter}<>"/dev/tcp/127.0.0.1/${url##*:}"
	reserve "$waiter"
	until_stat '.memory.waiting == 2 and .spool.waiting > 0'
	exec {holder}>&- {waiter}>&-
	all_stored
	stop
	# A stop does not wait for one that waits.
	prepare $many
	start --store store --policy capriccio --memory 16M --drain-timeout 1s
	exec {holder}<>"/dev/tcp/127.0.0.1/${url##*:}"
	reserve "$holder"
	until_stat ".memory.used_bytes >= $((9 << 20))"
	exec {waiter}<>"/dev/tcp/127.0.0.1/${url##*:}"
	reserve "$waiter"
	until_stat '.memory.waiting == 2 and .spool.waiting > 0'
	stop
	exec {holder}>&- {waiter}>&-
	[ "$(spooled)" -gt 0 ] || fail "nothing is left"
	start --store store
	all_stored
	stop
}

# This setup once lost 111 uploads: the drain limit is shorter than the time
# that the accepted uploads need.
test_left_by_a_stop() {
	local left=0 id more
	for more in 0 8 16 24; do
		# A policy that begins all before it ends some.
		begin --policy cohort --drain-timeout 10ms
		post_all $((8 + more)) "${slow%w=*}w=$((side + 50 * more))"
		stop
		left=$(spooled)
		# Otherwise the server was faster than its clients: try more and
		# larger uploads.
		[ "$left" = 0 ] || break
	done
	[ "$left" -gt 0 ] || fail "all was always done in time"
	grep -q "$left uploads are left in the spool" log ||
		fail "it does not tell of $left that are left"
	for id in $(ls store/spool); do
		grep -q "$id is not stored yet: stopping; left in the spool" log ||
			fail "$id is not told of"
	done
	start --store store
	all_stored
	[ "$(stat_of '.spool | .recovered, .finished, .written' | xargs)" = \
		"$left $left 0" ] || fail "$left: $(stat_of .spool)"
	stop
}

# The store has room for the upload, but not for its image.  The server tries
# again until there is room.
test_full_store() {
	local id _ h
	begin --store-quota 1M
	for h in $(seq 1400 1420); do
		post_all 1 "q=100&chroma=444&progressive=1&h=$h"
		[ ! -s ids ] || break
		# The image was encoded before the upload was spooled.
		[ "$(cat code1)" = 507 ] || fail "$(shown reply1)"
	done
	id=$(cat ids)
	for _ in $patience; do
		[ "$(stat_of .store.full)" -lt 2 ] || break
		sleep 0.02
	done
	[ "$(stat_of .store.full)" -ge 2 ] || fail "not tried again"
	[ "$(get_status "$id")" = 202 ] || fail "$(shown body)"
	grep -q "image $id is not stored yet: store_full" log || fail "not told"
	kill_it
	start --store store
	all_stored
	stop
}

test_deleted_is_not_made() {
	local id method
	# An image that is being made,
	begin
	post_all 3
	[ -s ids ] || post_all 6
	id=$(tail -n 1 ids)
	remove_image "$id"
	check_drained
	[ "$(get_status "$id")" = 404 ] || fail "deleted, and made after that"
	sed -i '$d' ids
	all_stored
	stop
	# and an image that waits.
	prepare 3
	start --store store --store-quota 1K
	id=$(head -n 1 ids)
	[ "$(get_status "$id")" = 202 ] || fail "$(shown body)"
	# It is not an image yet, so not even * means it.
	for method in GET DELETE; do
		[ "$(curl -sS -o body -w '%{http_code}' -X $method \
			-H 'If-Match: *' "$url/v1/images/$id")" = 412 ] ||
			fail "$method: $(shown body)"
	done
	[ "$(get_status "$id")" = 202 ] || fail "removed: $(shown body)"
	remove_image "$id"
	sed -i 1d ids
	stop
	start --store store
	all_stored
	[ "$(get_status "$id")" = 404 ] || fail "made after its DELETE"
	stop
}

# Recovery uses as much memory as is allowed, and no more.
test_recovery_within_memory() {
	prepare 6
	start --store store --memory 12M
	all_stored
	holds <(curl -fsS "$admin/stats") \
		'.memory.peak_bytes <= .memory.limit_bytes and
		.memory.peak_bytes > 0 and .spool.failed == 0'
	stop
}

# damage ID NUMBER: damage the entry in one of six ways
damage() {
	local entry=store/spool/$1
	case $2 in
	0) truncate -s 1000 "$entry/upload.jpg" ;;
	1) printf X | dd of="$entry/upload.jpg" bs=1 seek=5000 conv=notrunc \
		status=none ;;
	2) rm "$entry/request.txt" ;;
	3) echo garbage >"$entry/request.txt" ;;
	4) rm -r "$entry" && mkdir "$entry" ;;
	5) rm -r "$entry" && echo a file >"$entry" ;;
	esac
}

test_damaged_entries() {
	local id i=0
	prepare 8
	head -n 6 ids >damaged
	sed -i 1,6d ids
	while read -r id; do
		damage "$id" $((i++))
	done <damaged
	mkdir store/spool/other && touch store/spool/other/precious
	start --store store
	while read -r id; do
		settled "$id"
	done <damaged
	rm -r store/spool/other
	all_stored
	while read -r id; do
		[ "$(get_status "$id")" = 500 ] || [ "$id" = "$(tail -n 1 \
			damaged)" ] || fail "$id: $(shown body)"
		grep -q "image $id cannot be made: store_failed" log ||
			fail "the log does not tell of $id"
	done <damaged
	[ "$(stat_of '.spool | .failed, .damaged' | xargs)" = "5 6" ] ||
		fail "$(stat_of .spool)"
	[ "$(ls store/failed | wc -l)" = 5 ] || fail "$(ls store/failed)"
	remove_image "$(head -n 1 damaged)"
	stop
}

# An entry beyond the limits is refused, but not lost: it is stored when the
# limits allow it.
test_limits_were_lowered() {
	local id
	prepare 2
	start --store store --max-megapixels 1
	while read -r id; do
		settled "$id"
		[ "$got" = 413 ] || fail "$got: $(shown body)"
		holds body '.code == "picture_too_large"'
	done <ids
	stop
	start --store store
	[ "$(get_status "$(head -n 1 ids)")" = 413 ] || fail "$(shown body)"
	stop
	mv store/failed/* store/spool/
	start --store store
	all_stored
	stop
}

# The code in failed/ID/problem.json is used only if an upload can fail by it.
# Others have no place in a reply to GET, or none at all: a 405 has an Allow.
test_a_strange_problem() {
	local id code
	prepare 1
	id=$(cat ids)
	mkdir -p "store/failed/$id"
	rm -r "store/spool/$id"
	start --store store
	for code in method_not_allowed unauthorized not_found no_such_code; do
		printf '{"code":"%s","detail":"Strange."}' "$code" \
			>"store/failed/$id/problem.json"
		[ "$(get_status "$id")" = 500 ] || fail "$code: $(shown body)"
		holds body '.code == "store_failed" and .detail == "Strange."'
	done
	echo '{"code":"corrupt_jpeg"}' >"store/failed/$id/problem.json"
	[ "$(get_status "$id")" = 422 ] || fail "$(shown body)"
	remove_image "$id"
	stop
}

# An upload without room in the spool is answered when it is stored, or refused.
test_no_room_no_202() {
	begin --store-quota 300K
	post_all 3 'progressive=1&w=400'
	[ ! -s ids ] || fail "a 202 without the spool"
	[ "$(cat code1)" = 201 ] || fail "$(cat code1) $(shown reply1)"
	post_all 3 'q=100&w=1900'
	[ "$(cat code1 code2 code3 | xargs)" = '507 507 507' ] ||
		fail "$(cat code1 code2 code3 | xargs) $(shown reply1)"
	check_drained
	[ "$(spooled)" = 0 ] || fail "left: $(ls store/spool)"
	stop
	# A limit of the file size acts like a full disk.
	rm -rf store && mkdir store
	(
		ulimit -f 300
		apart
		# Decoders need files, too, and are refused at the start.
		start --store store --isolate none
		post_all 3 'progressive=1&w=400'
		[ ! -s ids ] || fail "a 202 over the limit of a file's size"
		stop
	)
}

# at_work ID NUMBER: wait until the server works on this entry, on nothing else,
# and has noted that as attempt NUMBER
at_work() {
	local _ number entries
	for _ in $patience; do
		number=
		entries=(store/spool/*)
		read -r number 2>/dev/null <"store/spool/$1/attempts.txt" || true
		[ "${#entries[*]}:$number" != "1:$2" ] || return 0
		sleep 0.02
	done
	fail "attempt $2 is not noted, but '$number': ${entries[*]}"
}

# An upload at whose processing the server ends three times after a start is put
# aside, and the others are stored.  A server that is stopped does not count.
test_an_upload_that_ends_the_server() {
	local id i query="${slow%w=*}w=$((2 * side))"
	prepare 3
	# It takes so long that the others are done before it.
	printf 'darkroom 2\nowner=\nstrict=1\nvariant=image:%s\n\n' \
		"${query//&/,}" >request
	id=$(cat request "$photo" | sha256sum | cut -d' ' -f1)
	mkdir "store/spool/$id"
	cp request "store/spool/$id/request.txt"
	cp "$photo" "store/spool/$id/upload.jpg"
	start --store store --drain-timeout 10ms
	at_work "$id" 1
	stop
	for i in 1 2 3; do
		start --store store
		at_work "$id" $i
		kill_it
	done
	# The others were stored although the server ended.
	start --store store
	all_stored
	settled "$id"
	[ "$got" = 500 ] || fail "$got: $(shown body)"
	holds body '.code == "process_ended"'
	grep -q "image $id cannot be made: process_ended" log || fail "not told"
	[ "$(stat_of '.spool | .failed, .damaged' | xargs)" = "1 0" ] ||
		fail "$(stat_of .spool)"
	# Whoever moves it back has it tried again.
	stop
	mv "store/failed/$id" store/spool/
	start --store store
	echo "$id" >ids
	all_stored
	stop
}

# A server with --spool none still stores the entries of an earlier server.
test_none() {
	prepare 2
	start --store store --spool none
	all_stored
	[ "$(curl -sS -o body -w '%{http_code}' --data-binary "@$photo" \
		"$url/v1/images?respond=decoded&$slow&blur=99")" = 202 ] ||
		fail "$(shown body)"
	holds body '.durable == false'
	[ "$(spooled)" = 0 ] || fail "spooled all the same"
	[ "$(get_status "$("$JSON_VALUE" .id <body)")" != 404 ] || fail "$(shown body)"
	check_drained
	stop
}

test_left_by_a_stop
test_deleted_is_not_made
test_recovery_within_memory
test_entries_wait_for_memory_in_turn
# What the others do is the same with fewer threads.
[[ ${SANITIZED:-} != *thread* ]] || exit 0
test_full_store
test_damaged_entries
test_limits_were_lowered
test_a_strange_problem
test_no_room_no_202
test_an_upload_that_ends_the_server
test_none
