#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: with --store-original=jxl, JPEGs are packed as JPEG XL, which takes
# less, and are sent as they were uploaded, byte for byte.  Pictures are made of
# them as of the upload.  What cannot be packed stays a JPEG, and is not tried
# again.  A crash of the server or of the process that packs loses nothing, and a
# damaged file is noticed.  Originals without an image are removed.
#
# usage: DARKROOM=PROGRAM test_packed.sh SAMPLES_DIR PLANTED [CORPUS]
# In memory, because entries are synced, and this is slow on a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
samples=$(realpath "$1")
photo=$work/photo.jpg
planted=$(realpath "$2")
corpus=${3:+$(realpath "$3")}
cd "$work"
if ! "$DARKROOM" --store "$work" --store-original jxl --print-config >/dev/null \
	2>refusal; then
	grep -q 'built without libjxl' refusal || fail "$(cat refusal)"
	echo "skipped: no libjxl in this build" >&2
	exit 77
fi

# On a busy machine, nothing would be packed for minutes.  So most tests have
# `planted`, which packs at once, as their darkroom-decoder.
mkdir programs
cp "$DARKROOM" programs/darkroom
cp "$planted" programs/darkroom-decoder
idle=$DARKROOM
DARKROOM=$work/programs/darkroom

# A large one takes a second to pack.
start
curl -fsS --data-binary "@$samples/clownfish.jpg" "$url/?w=900&q=90" -o "$photo"
stop

# put FILE QUERY: the id of its image is $id, the folder of its original $entry
put() {
	ask 201 --data-binary "@$1" "$url/v1/images?$2"
	id=$("$JSON_VALUE" .id <body)
	image=$url/v1/images/$id
	entry=$(echo "store/originals/${id:0:2}/${id%?}z")
}

# wait_for FILE...: until one of the files is there
wait_for() {
	local _ file
	for _ in $patience; do
		for file; do
			[ ! -e "$file" ] || return 0
		done
		sleep 0.05
	done
	fail "not there: $* $(find store/originals -type f)"
}

# is_original FILE
is_original() {
	ask 200 "$url/v1/originals/$id"
	cmp "$1" body || fail "the original is not the upload $1"
}

is_picture_of() {
	curl -fsS --data-binary "@$photo" "$url/?$1" -o expected
	cmp expected body || fail "another picture: $1"
}

test_packed_and_restored_byte_for_byte() {
	local file small DARKROOM=$DARKROOM
	start_empty --store-original jxl
	for file in "$samples"/*.jpg; do
		put "$file" 'w=40'
		wait_for "$entry/packed.jxl"
		[ ! -e "$entry/original.jpg" ] || fail "the JPEG is still there"
		[ "$(stat -c %s "$entry/packed.jxl")" -lt \
			"$(stat -c %s "$file")" ] || fail "not smaller: $file"
		is_original "$file"
	done
	[ "$(stat_of .originals.packed)" -gt 0 ] || fail "not counted"
	[ "$(stat_of .originals.saved_bytes)" -gt 0 ] || fail "not counted"
	stop
	# The same by the program that waits for idle cores: one small file.
	DARKROOM=$idle
	small=$samples/$(ls -S "$samples" | grep 'jpg$' | tail -1)
	start_empty --store-original jxl
	put "$small" 'w=40'
	wait_for "$entry/packed.jxl"
	is_original "$small"
	stop
}

test_replies_are_those_of_a_jpeg() {
	local sha256 bytes
	start_empty --store-original jxl
	put "$photo" 'w=40'
	wait_for "$entry/packed.jxl"
	is_original "$photo"
	sha256=$(sha256sum <"$photo")
	bytes=$(stat -c %s "$photo")
	[ "$(header Content-Type)" = image/jpeg ] || fail "$(cat head)"
	[ "$(header ETag)" = "\"${sha256%% *}\"" ] || fail "$(cat head)"
	ask 206 -H 'Range: bytes=1000-1099' "$url/v1/originals/$id"
	cmp <(tail -c +1001 "$photo" | head -c 100) body
	ask 416 -H "Range: bytes=$bytes-" "$url/v1/originals/$id"
	ask 304 -H "If-None-Match: \"${sha256%% *}\"" "$url/v1/originals/$id"
	ask 200 -I "$url/v1/originals/$id"
	[ "$(header Content-Length)" = "$bytes" ] || fail "$(cat head)"
	ask 200 "$image?w=90&blur=2"
	is_picture_of 'w=90&blur=2'
	ask 201 -X POST "$image?variant=page:w=70,format=png"
	ask 200 "$image/page"
	is_picture_of 'w=70&format=png'
	check_drained
	[ "$(stat_of .memory.used_bytes)" = 0 ] || fail "memory is still charged"
	ask 204 -X DELETE "$image"
	[ ! -e "$entry" ] || fail "still there: $entry"
	stop
}

test_a_server_without_the_flag_reads_both() {
	start_empty --store-original raw
	put "$photo" 'w=41'
	raw=$id
	stop
	# What is there at the start is packed, too.
	start --store store --store-original jxl
	wait_for "store/originals/${raw:0:2}/${raw%?}z/packed.jxl"
	put "$photo" 'w=40'
	wait_for "$entry/packed.jxl"
	stop
	for flags in '' '--store-original raw' '--isolate none'; do
		# shellcheck disable=SC2086
		start --store store $flags
		is_original "$photo"
		ask 200 "$url/v1/images/$id?w=77"
		is_picture_of 'w=77'
		stop
	done
	start --store store --store-original raw
	put "$photo" 'w=43'
	sleep 0.5
	[ -e "$entry/original.jpg" ] || fail "packed without the flag"
	stop
}

test_a_second_upload_leaves_it_packed() {
	start_empty --store-original jxl
	put "$photo" 'w=40'
	wait_for "$entry/packed.jxl"
	put "$photo" 'w=40'
	[ -e "$entry/packed.jxl" ] && [ ! -e "$entry/original.jpg" ] ||
		fail "$(ls "$entry")"
	stop
	start --store store --store-original raw
	put "$photo" 'w=40'
	[ -e "$entry/packed.jxl" ] && [ ! -e "$entry/original.jpg" ] ||
		fail "$(ls "$entry")"
	stop
}

test_damage_is_noticed_and_mended() {
	local file
	start_empty --store-original jxl
	put "$photo" 'w=40'
	file=$entry/packed.jxl
	wait_for "$file"
	stop
	start --store store --store-original raw
	printf x | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) \
		conv=notrunc 2>dd.log
	expect_problem 500 image_damaged "$url/v1/originals/$id"
	expect_problem 500 image_damaged "$url/v1/images/$id?w=60"
	ask 500 -I "$url/v1/originals/$id"
	truncate -s 100 "$file"
	expect_problem 500 image_damaged "$url/v1/originals/$id"
	rm "$file"
	expect_problem 500 image_damaged "$url/v1/originals/$id"
	[ "$(stat_of .memory.used_bytes)" = 0 ] || fail "memory is still charged"
	put "$photo" 'w=40'
	is_original "$photo"
	stop
}

# comment FILE TEXT: the photo with a comment
comment() {
	{
		head -c 2 "$photo"
		printf '\xff\xfe\0\x0a%-8s' "$2"
		tail -c +3 "$photo"
	} >"$1"
}

# A process that crashes, does not end or lies costs its own file.
test_faults_leave_the_jpeg() {
	local fault
	start_empty --store-original jxl
	for fault in crash lie good; do
		comment "$fault.jpg" "#$fault"
		put "$fault.jpg" 'w=40'
		wait_for "$entry/kept.json" "$entry/packed.jxl"
		is_original "$fault.jpg"
		[ "$fault" = good ] || [ -e "$entry/original.jpg" ] ||
			fail "packed: $fault"
	done
	[ -e "$entry/packed.jxl" ] || fail "a good file after the faults: $(ls "$entry")"
	[ "$(stat_of .originals.kept_raw)" = 2 ] || fail "$(curl -s "$url/stats")"
	stop
	# They are not tried again.
	start --store store --store-original jxl
	put "$photo" 'w=44'
	wait_for "$entry/packed.jxl"
	sleep 1
	[ "$(stat_of .originals.kept_raw)" = 0 ] || fail "tried again"
	stop
}

test_odd_files_come_back() {
	local file n=0 packed
	[ -n "$corpus" ] || {
		echo "skipped: no corpus" >&2
		return 0
	}
	start_empty --store-original jxl
	: >list
	# Larger ones are in imgops_repack.
	for file in $(find "$corpus" -name '*.jpg' -size -64k -size +8k | sort |
		awk 'NR % 8 == 1'); do
		[ "$(curl -sS -o body -w '%{http_code}' --data-binary "@$file" \
			"$url/v1/images?w=40")" = 201 ] || continue
		id=$("$JSON_VALUE" .id <body)
		echo "$id $file" >>list
		n=$((n + 1))
	done
	for _ in $patience; do
		packed=$(($(stat_of .originals.packed) + \
			$(stat_of .originals.kept_raw)))
		[ "$packed" -lt $((n * 9 / 10)) ] || break
		sleep 0.1
	done
	[ "$(stat_of .originals.packed)" -gt 0 ] || fail "none packed of $n"
	while read -r id file; do
		is_original "$file"
	done <list
	stop
}

# The server is killed while it packs: each original is whole, and packed later.
test_a_crash_loses_nothing() {
	local round n files=()
	start_empty --store-original jxl
	for round in 1 2 3 4; do
		for n in 1 2 3; do
			comment "crash$round$n.jpg" "c $round$n"
			put "crash$round$n.jpg" 'w=40'
			files+=("$id:crash$round$n.jpg")
		done
		sleep "0.$((round * 7 % 10))"
		kill -9 "$server"
		wait "$server" 2>/dev/null || true
		start --store store --store-original jxl
		for n in "${files[@]}"; do
			id=${n%:*}
			is_original "${n#*:}"
		done
	done
	for n in "${files[@]}"; do
		id=${n%:*}
		wait_for "store/originals/${id:0:2}/${id%?}z/packed.jxl"
		is_original "${n#*:}"
	done
	[ -z "$(ls store/tmp store/originals/tmp | grep -v :)" ] ||
		fail "left: $(ls store/tmp store/originals/tmp)"
	stop
}

test_orphans_are_removed() {
	start_empty --store-original raw
	put "$photo" 'w=40'
	old=$entry
	rm -r "store/${id:0:2}/$id"
	put "$photo" 'w=41'
	young=$entry
	rm -r "store/${id:0:2}/$id"
	put "$photo" 'w=42'
	stop
	touch -d '2 hours ago' "$old" "$entry"
	start --store store --store-original raw
	for _ in $patience; do
		[ -e "$old" ] || break
		sleep 0.05
	done
	[ ! -e "$old" ] || fail "an orphan is still there"
	[ -e "$young" ] || fail "a young one was removed"
	is_original "$photo"
	for _ in $patience; do
		[ "$(stat_of .originals.orphans)" != 1 ] || break
		sleep 0.05
	done
	[ "$(stat_of .originals.orphans)" = 1 ] || fail "not counted"
	stop
}

test_where_it_is_refused() {
	refuses store-original --store-original jxl
	refuses store-original --store s3://photos --store-original jxl
}

test_packed_and_restored_byte_for_byte
test_replies_are_those_of_a_jpeg
test_a_server_without_the_flag_reads_both
test_a_second_upload_leaves_it_packed
test_damage_is_noticed_and_mended
test_faults_leave_the_jpeg
test_odd_files_come_back
test_a_crash_loses_nothing
test_orphans_are_removed
test_where_it_is_refused
