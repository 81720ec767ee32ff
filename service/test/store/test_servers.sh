#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises of two servers with one object store: what both add to an image at the
# same time is there in the end; an image that one removes while the other adds
# to it stays removed; the list has each image once, whatever other programs have
# put into the bucket.
#
# usage: DARKROOM=PROGRAM test_servers.sh SAMPLES_DIR FAKE_S3
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
photo=$(realpath "$1/clownfish.jpg")
cd "$work"
(umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
	test:key test/secret >credentials)
"$2" >port &
fake=$!
for _ in $patience; do
	[ ! -s port ] || break
	sleep 0.05
done
bucket=http://127.0.0.1:$(cat port)
s3=(--store s3://photos --s3-endpoint "$bucket" --s3-path-style
	--s3-credentials-file credentials)

start_two() {
	start "${s3[@]}" --store-original "$@"
	first=$server a=$url
	mkdir -p "$work/other"
	work=$work/other start "${s3[@]}" --store-original "$@"
	second=$server b=$url
}

stop_two() {
	stop
	server=$first
	stop
}

# put QUERY: store the photo by the first server; the path of the image is $image
put() {
	ask 201 --data-binary "@$photo" "$a/v1/images?$1"
	id=$("$JSON_VALUE" .id <body)
	image=/v1/images/$id
}

names() {
	curl -fsS "$a$image" | jq -r '.variants[].name' | sort
}

# add SERVER NUMBER FILE: add a variant; its name is in the file if that was
# acknowledged
add() {
	curl -fsS -o /dev/null -X POST "$1$image?variant=$3$2:w=$((30 + $2))" &&
		echo "$3$2" >>"$3"
}

# puts_are BEHAVIOUR: of the store, see fake_s3.h; `late` lets changes meet
puts_are() {
	curl -fsS -X PUT -d "$1 1000000 PUT" "$bucket/-/do"
}

# Every picture of the image has the SHA-256 that its JSON says.
check_pictures() {
	local name sha256
	curl -fsS "$b$image" | jq -r '.variants[] | .name + " " + .sha256' >all
	while read -r name sha256; do
		curl -fsS "$b$image/$name" | sha256sum | grep -q "^$sha256" ||
			fail "$name is another picture"
	done <all
}

test_all_additions_are_kept() {
	local i pids pid
	start_two
	put 'variant=thumb:w=50'
	: >of_a
	: >of_b
	for i in $(seq 15); do
		add "$a" "$i" of_a & pids=($!)
		add "$b" "$i" of_b & pids+=($!)
		curl -fsS -o /dev/null "$a$image?w=$((100 + i % 4))" & pids+=($!)
		curl -fsS -o /dev/null "$b$image?w=$((104 + i % 4))" & pids+=($!)
		for pid in "${pids[@]}"; do
			wait "$pid" || fail "a request failed"
		done
	done
	[ "$(cat of_a of_b | wc -l)" = 30 ] || fail "$(cat of_a of_b)"
	[ -z "$(sort of_a of_b | comm -23 - <(names))" ] ||
		fail "lost: $(sort of_a of_b | comm -23 - <(names))"
	[ "$(names | wc -l)" = 39 ] || fail "$(names)"
	check_pictures
	stop_two
}

test_a_removed_image_stays_removed() {
	local i pid
	start_two
	puts_are late
	for i in $(seq 20); do
		put 'variant=thumb:w=52'
		curl -sS -o /dev/null -X POST "$b$image?variant=x:w=40" &
		pid=$!
		sleep "$(printf '0.%03d' $((2 * i)))"
		ask 204 -X DELETE "$a$image"
		wait $pid || fail "no answer"
		ask 404 "$a$image"
		ask 404 "$b$image"
		ask 404 "$b/v1/originals/$id"
	done
	stop_two
	puts_are none
}

# Changes are made, and the log says what may be lost.
test_a_store_without_conditions() {
	puts_are noconditions
	start_two
	put 'variant=thumb:w=53'
	ask 201 -X POST "$b$image?variant=x:w=40"
	[ "$(names | wc -l)" = 2 ] || fail "$(names)"
	grep -q 'it has no conditional writes' "$work/other/log" ||
		fail "the log does not say it"
	stop_two
	puts_are none
}

# foreign KEY: another program puts an object into the bucket
foreign() {
	curl -fsS -o /dev/null -X PUT -d other "$bucket/-/object/$1"
}

# pages LIMIT: the ids of all pages, in this order
pages() {
	local next='' ids _
	for _ in $(seq 200); do
		ask 200 "$a/v1/images?limit=$1&after=$next"
		{
			read -r -a ids
			read -r next
		} < <("$JSON_VALUE" '.images[].id' .next <body)
		[ ${#ids[@]} = 0 ] || printf '%s\n' "${ids[@]}"
		[ "$next" != null ] || return 0
	done
	fail "the list has no end"
}

test_the_list_has_each_image_once() {
	local i limit shard
	start "${s3[@]}"
	a=$url
	for i in $(seq 6); do
		put "w=$((200 + i))"
		shard=${id:0:2}
		# Before it, behind it, and at both ends of its folder.
		foreign "$shard/${id:0:63}"
		foreign "$shard/${id:0:40}"
		foreign "$shard/$id.bak"
		foreign "$shard/$id/x"
		foreign "$shard/!"
		foreign "$shard/zzz"
		foreign "$shard"
	done
	foreign zz/last
	pages 1000 | sort -u >all
	[ "$(wc -l <all)" -ge 6 ] || fail "$(cat all)"
	for limit in 1 2 3 5 1000; do
		pages $limit >page
		cmp all page || fail "limit=$limit: $(diff all page)"
	done
	stop
}

test_all_additions_are_kept
test_a_removed_image_stays_removed
test_a_store_without_conditions
test_the_list_has_each_image_once
kill $fake
