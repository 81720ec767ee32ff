#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: with --store-original, the bytes of an upload can be read again, and
# other pictures made of them, which are those that the upload would have given.
# They are kept with the image, made once for equal requests, and removed with
# it, also after a crash.
#
# usage: DARKROOM=PROGRAM test_originals.sh SAMPLES_DIR [FAKE_S3]
# In memory, because entries are synced, and this is slow on a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
photo=$(realpath "$1/clownfish.jpg")
shrink_photo
bytes=$(stat -c %s "$photo")
fake=${2:+$(realpath "$2")}
cd "$work"
printf 'back-end 0123456789abcdef\n' >keys
printf '0123456789abcdef0123456789abcdef\n' >sign
key='Authorization: Bearer 0123456789abcdef'
nothing=$(printf '%064d' 0)

start_again() {
	start --store store "$@"
	image=$url/v1/images/$id
}

# put QUERY: store the photo; the URL of its image is $image, its id $id
put() {
	ask 201 --data-binary "@$photo" "$url/v1/images?$1"
	id=$("$JSON_VALUE" .id <body)
	image=$url/v1/images/$id
}

# The reply is the picture that POST / gives.
is_picture_of() {
	curl -fsS --data-binary "@$photo" "$url/?$1" -o expected
	cmp expected body || fail "another picture: $1"
}

is_original() {
	ask 200 "$url/v1/originals/$id"
	cmp "$photo" body || fail "the original is not the upload"
}

names() {
	curl -fsS "$image" | jq -r '.variants[].name' | tr '\n' ' '
}

wait_until_stored() {
	local _
	for _ in $patience; do
		[ "$(curl -sS -o /dev/null -w '%{http_code}' "$image")" != 200 ] ||
			return 0
		sleep 0.05
	done
	fail "not stored: $(curl -sS "$image")"
}

test_the_original_is_the_upload_byte_for_byte() {
	start_empty --store-original
	put 'w=100'
	is_original
	[ "$(header Content-Type)" = image/jpeg ] || fail "$(cat head)"
	[[ $(header Cache-Control) = private,* ]] || fail "$(cat head)"
	ask 206 -H 'Range: bytes=10-19' "$url/v1/originals/$id"
	[ "$(wc -c <body)" = 10 ] || fail "not 10 bytes"
	ask 201 -F "image=@$photo" "$url/v1/images?w=101"
	id=$("$JSON_VALUE" .id <body)
	is_original
	# 202, or 201 if it is stored as soon
	id=$(curl -fsS --data-binary "@$photo" \
		"$url/v1/images?w=102&respond=decoded" | "$JSON_VALUE" .id)
	image=$url/v1/images/$id
	wait_until_stored
	is_original
	ask 201 -X POST "$url/v1/uploads?w=103"
	ask 201 -X PUT --data-binary "@$photo" "$url$(header Location)"
	id=$("$JSON_VALUE" .id <body)
	is_original
	stop
}

test_a_picture_is_made_once_and_kept() {
	local sent etag
	start_empty --store-original
	put 'variant=thumb:w=50'
	ask 200 "$image?w=90&blur=2"
	is_picture_of 'w=90&blur=2'
	etag=$(header ETag)
	sent=$(stat_of .uploads.sent)
	ask 200 "$image?blur=2&w=90"
	cmp expected body
	[ "$(header ETag)" = "$etag" ] || fail "another ETag: $(cat head)"
	ask 304 -H "If-None-Match: $etag" "$image?w=90&blur=2"
	ask 200 -I "$image?w=90&blur=2"
	[ "$(header Content-Length)" = "$(wc -c <expected)" ] || fail "$(cat head)"
	ask 206 -H 'Range: bytes=0-9' "$image?w=90&blur=2"
	[ "$(stat_of .uploads.sent)" = "$sent" ] || fail "made again"
	# It is a variant of the image, which all can read.
	name=$(names)
	name=${name#thumb }
	ask 200 "$image/${name% }"
	cmp expected body
	ask 200 "$image?w=90&format=png"
	[ "$(header Content-Type)" = image/png ] || fail "$(cat head)"
	is_picture_of 'w=90&format=png'
	stop
	start_again # also by a server that keeps no originals
	ask 200 "$image?w=90&blur=2"
	is_picture_of 'w=90&blur=2'
	ask 200 "$image?w=91"
	is_picture_of 'w=91'
	stop
}

test_equal_requests_are_made_one_at_a_time() {
	local before pids=() i pid
	start_empty --store-original
	put 'w=50'
	before=$(stat_of .uploads.sent)
	for i in $(seq 20); do
		curl -fsS "$image?w=80" -o "made$i" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a request failed"
	done
	[ "$(stat_of .uploads.sent)" = $((before + 1)) ] ||
		fail "made $(($(stat_of .uploads.sent) - before)) times"
	for i in $(seq 2 20); do
		cmp made1 "made$i"
	done
	# Different ones at the same time are all kept.
	pids=()
	for i in $(seq 12); do
		curl -fsS "$image?w=$((20 + i))" -o /dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a request failed"
	done
	[ "$(names | wc -w)" = 14 ] || fail "not 14 variants: $(names)"
	check_drained
	stop
}

test_post_adds_variants_with_names() {
	start_empty --store-original --presets 'small:w=40;large:w=120'
	put 'variant=thumb:w=50'
	ask 201 -X POST "$image?variant=page:w=70,format=webp&variant=small"
	[ "$(jq -r '.variants | map(.name) | join(" ")' body)" = \
		'thumb page small' ] || fail "$(shown body)"
	[ "$(header Location)" = "/v1/images/$id" ] || fail "$(cat head)"
	ask 200 "$image/page"
	is_picture_of 'w=70&format=webp'
	ask 200 "$image/small"
	is_picture_of 'w=40'
	ask 201 -X POST "$image?variant=page:w=70,format=webp"
	expect_problem 409 variant_exists -X POST "$image?variant=page:w=71"
	expect_problem 400 bad_parameter -X POST "$image"
	expect_problem 400 bad_parameter -X POST "$image?w=70"
	expect_problem 400 bad_parameter -X POST "$image?variant=page:w=x"
	expect_problem 400 bad_parameter "$image?variant=page:w=70"
	expect_problem 400 bad_parameter "$image?w=70&nonsense=1"
	[ "$(names)" = 'thumb page small ' ] || fail "$(names)"
	# The same upload again does not remove them.
	put 'variant=thumb:w=50'
	[ "$(names)" = 'thumb page small ' ] || fail "$(names)"
	stop
}

test_a_name_of_get_is_not_for_post() {
	local made
	start_empty --store-original
	put 'w=50'
	ask 200 "$image?w=61"
	made=$(curl -fsS "$image" | jq -r '.variants[-1].name')
	put 'w=51'
	expect_problem 400 bad_parameter -X POST "$image?variant=$made:w=10"
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/v1/images?variant=$made:w=10"
	grep -q 'names of m and 31 hexadecimal digits' body || fail "$(shown body)"
	ask 200 "$image?w=61"
	is_picture_of 'w=61'
	stop
}

# Requests that wait for an equal one leave nothing in memory: see the leak
# checker of the build with sanitizers.
test_equal_posts_at_the_same_time() {
	local pids=() i pid
	start_empty --store-original
	put 'w=50'
	for i in $(seq 8); do
		curl -fsS -o /dev/null -X POST "$image?variant=a:w=70" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || fail "a request failed"
	done
	[ "$(names | wc -w)" = 2 ] || fail "$(names)"
	check_drained
	stop
}

test_what_cannot_be_made() {
	start_empty
	put 'w=50'
	expect_problem 404 no_original "$image?w=60"
	expect_problem 404 no_original -X POST "$image?variant=a:w=60"
	expect_problem 404 no_original "$url/v1/originals/$id"
	expect_problem 404 not_found "$url/v1/images/$nothing?w=60"
	expect_problem 404 no_original "$url/v1/originals/$nothing"
	expect_problem 404 not_found "$url/v1/originals/${id%?}z"
	expect_problem 404 not_found "$url/v1/images/${id%?}z"
	stop
	# An upload after a restart adds its original.
	start --store store --store-original
	put 'w=50'
	ask 200 "$image?w=60"
	is_picture_of 'w=60'
	expect_problem 404 not_found "$url/v1/images/${id%?}z"
	expect_problem 404 not_found "$url/v1/images/${id%?}z/original"
	stop
	start
	expect_problem 404 no_store "$url/v1/images/$id?w=60"
	stop
	refuses store-original --store-original
	refuses original-quota --original-quota 1M
}

test_delete_removes_all() {
	start_empty --store-original
	put 'w=50'
	ask 200 "$image?w=60"
	ask 204 -X DELETE "$image"
	ask 404 "$image?w=60"
	ask 404 "$url/v1/originals/$id"
	[ -z "$(find store -type f ! -name darkroom-store)" ] ||
		fail "left: $(find store -type f)"
	stop
}

# The original of an upload that was accepted does not come back.
test_delete_of_what_is_not_stored_yet() {
	local i
	start_empty --store-original
	for i in $(seq 20); do
		id=$(curl -fsS --data-binary "@$photo" \
			"$url/v1/images?w=$((1000 + i))&format=png&respond=decoded" |
			"$JSON_VALUE" .id)
		sleep "0.0$((i % 5 + 1))"
		curl -sS -o body -X DELETE "$url/v1/images/$id"
	done
	check_drained
	[ -z "$(find store -type f ! -name darkroom-store)" ] ||
		fail "left: $(find store -type f)"
	stop
}

test_a_full_store() {
	start_empty --store-original --original-quota $((bytes / 2))B
	expect_problem 507 store_full --data-binary "@$photo" "$url/v1/images?w=50"
	stop
	start_empty --store-original --store-quota 40K
	put 'w=50'
	# It is sent, but cannot be kept.
	ask 200 "$image?format=png"
	is_picture_of 'format=png'
	ask 200 "$image"
	[ "$(jq '.variants | length' body)" = 1 ] || fail "$(shown body)"
	expect_problem 507 store_full -X POST "$image?variant=a:format=png"
	# What is refused takes no space of the disk.
	expect_problem 507 store_full --data-binary "@$photo" \
		"$url/v1/images?format=png"
	[ "$(find store/originals -type f | wc -l)" = 2 ] ||
		fail "left: $(find store/originals)"
	[ "$(stat_of .store.stored)" = 1 ] || fail "not 1 image is stored"
	stop
}

test_too_many_variants() {
	local query='' n i
	start_empty --store-original
	put 'w=30'
	for n in 0 16 32; do
		query=''
		for i in $(seq 15); do
			query+="&variant=v$((n + i)):w=$((n + i))"
		done
		ask 201 -X POST "$image?${query#&}"
	done
	expect_problem 409 too_many_variants -X POST \
		"$image?variant=x:w=60&variant=y:w=61&variant=z:w=62"
	ask 200 "$image?w=63"
	ask 200 "$image?w=64"
	ask 200 "$image?w=65"
	is_picture_of 'w=65'
	[ "$(names | wc -w)" = 48 ] || fail "$(names)"
	stop
}

test_a_damaged_original_is_noticed() {
	local file
	start_empty --store-original
	put 'w=50'
	file=$(echo store/originals/*/*/original.jpg)
	printf x | dd of="$file" bs=1 seek=$((bytes / 2)) conv=notrunc 2>dd.log
	expect_problem 500 image_damaged "$image?w=60"
	expect_problem 500 image_damaged "$url/v1/originals/$id"
	ask 200 "$image"
	# The same upload mends it.
	put 'w=50'
	ask 200 "$image?w=60"
	is_picture_of 'w=60'
	stop
}

# list QUERY: the ids of a page, and `next`
list() {
	ask 200 "$admin/v1/images?$1"
	jq -r '.images[].id' body
}

test_the_list_of_images() {
	local i all paged='' next prefix
	start_empty --store-original --admin-listen 127.0.0.1:0
	for i in $(seq 25); do
		put "w=$((20 + i))"
	done
	all=$(list '')
	[ "$(wc -l <<<"$all")" = 25 ] || fail "$(shown body)"
	[ "$(sort <<<"$all")" = "$all" ] || fail "not in order"
	ask 200 "$url$(jq -r '.images[3].url' body)"
	list limit=10 >page
	while next=$(jq -r '.next // empty' body); [ -n "$next" ]; do
		paged+=$(<page)$'\n'
		list "limit=10&after=$next" >page
	done
	paged+=$(<page)
	[ "$paged" = "$all" ] || fail "pages have other images: $paged"
	prefix=$(head -c 1 <<<"$all")
	[ "$(list "prefix=$prefix")" = "$(grep "^$prefix" <<<"$all")" ] ||
		fail "prefix $prefix: $(shown body)"
	[ "$(list "prefix=$id")" = "$id" ] || fail "$(shown body)"
	touch -d @1000000000 "store/${id:0:2}/$id/meta.json"
	[ "$(list 'until=1000000000')" = "$id" ] || fail "$(shown body)"
	[ "$(jq -r '.images[0].stored' body)" = 2001-09-09T01:46:40Z ] ||
		fail "$(shown body)"
	[ "$(list 'since=1000000001' | wc -l)" = 24 ] || fail "$(shown body)"
	expect_problem 400 bad_parameter "$admin/v1/images?limit=0"
	expect_problem 400 bad_parameter "$admin/v1/images?limit=1001"
	expect_problem 400 bad_parameter "$admin/v1/images?after=x"
	expect_problem 400 bad_parameter "$admin/v1/images?prefix=../"
	expect_problem 400 bad_parameter "$admin/v1/images?since=x"
	expect_problem 400 bad_parameter "$admin/v1/images?w=1"
	# It is not for those who may upload.
	ask 405 "$url/v1/images"
	stop
}

# sign METHOD PATH QUERY-LINES: print the query with its signature
sign() {
	local lines=${3:+$3$'\n'}expires=9999999999 sorted
	sorted=$(sort <<<"$lines")
	printf '%s&signature=%s' "$(tr '\n' '&' <<<"$lines" | sed 's,&$,,')" \
		"$(printf '%s\n%s\n%s\n' "$1" "$2" "$sorted" |
			openssl dgst -sha256 -hmac "$(cat sign)" -r | cut -d' ' -f1)"
}

test_who_may_make_pictures() {
	have openssl || return 0
	start_empty --store-original --api-key-file keys --sign-key-file sign
	ask 201 -H "$key" --data-binary "@$photo" "$url/v1/images?w=50"
	id=$("$JSON_VALUE" .id <body)
	image=$url/v1/images/$id
	expect_problem 401 unauthorized "$image?w=60"
	expect_problem 401 unauthorized -X POST "$image?variant=a:w=60"
	expect_problem 401 unauthorized "$url/v1/originals/$id"
	ask 200 -H "$key" "$image?w=60"
	[[ $(header Cache-Control) = private,* ]] || fail "$(cat head)"
	query=$(sign GET "/v1/images/$id" w=61)
	ask 200 "$image?$query"
	[[ $(header Cache-Control) = public,* ]] || fail "$(cat head)"
	ask 200 -I "$image?$query"
	# A page of another site may show it, as it may show stored pictures.
	ask 200 -H 'Sec-Fetch-Site: cross-site' "$image?$query"
	[ "$(header Cross-Origin-Resource-Policy)" = cross-origin ] ||
		fail "$(cat head)"
	expect_problem 403 bad_signature "$image?${query/61/62}"
	ask 200 -H "$key" "$url/v1/originals/$id"
	ask 200 "$url/v1/originals/$id?$(sign GET "/v1/originals/$id" '')"
	stop
}

another_prefix_is_not_in_the_list() {
	local i next=
	start "${s3[@]/%photos/photos/archive}"
	for i in 1 2 3 4; do put "w=$((30 + i))"; done
	stop
	start "${s3[@]}"
	for i in $(seq 16); do
		put "w=$((100 + i))"
		echo "$id"
	done | sort >all
	: >page
	for i in $(seq 40); do
		list "limit=2&after=$next" >>page
		next=$(jq -r '.next // empty' body)
		[ -n "$next" ] || break
	done
	[ -z "$(comm -23 all page)" ] || fail "not in pages: $(comm -23 all page)"
	stop
}

a_deleted_image_stays_deleted() {
	local i pid_of_get
	start "${s3[@]}" --store-original
	for i in $(seq 10); do
		put w=33
		curl -sS "$image?w=34" -o /dev/null &
		pid_of_get=$!
		sleep "0.0$((i % 5 + 1))"
		ask 204 -X DELETE "$image"
		wait "$pid_of_get" || fail "no answer"
		ask 404 "$image"
		ask 404 "$url/v1/originals/$id"
	done
	stop
}

# The same in an object store, where other programs may list, too.
test_with_an_object_store() {
	local _ s3 pid first
	[ -n "$fake" ] || return 0
	"$fake" >port &
	pid=$!
	for _ in $patience; do
		[ ! -s port ] || break
		sleep 0.05
	done
	s3=(--store s3://photos --s3-endpoint "http://127.0.0.1:$(cat port)"
		--s3-path-style --s3-credentials-file credentials)
	(umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
		test:key test/secret >credentials)
	start "${s3[@]}" --store-original
	put 'variant=thumb:w=50'
	first=$id
	ask 200 "$image?w=80&blur=2"
	is_picture_of 'w=80&blur=2'
	ask 200 "$image?w=80&blur=2"
	cmp expected body
	ask 201 -X POST "$image?variant=page:w=81"
	ask 200 "$image/page"
	is_picture_of w=81
	is_original
	put 'variant=thumb:w=50' # it has its other variants still
	[ "$(names | wc -w)" = 3 ] || fail "$(names)"
	put w=60
	put w=61
	list '' >all
	[ "$(sort <all)" = "$(cat all)" ] && [ "$(wc -l <all)" = 3 ] ||
		fail "$(shown body)"
	list "prefix=$id" >one
	[ "$(cat one)" = "$id" ] || fail "$(shown body)"
	list limit=1 >page
	while next=$(jq -r '.next // empty' body); [ -n "$next" ]; do
		list "limit=1&after=$next" >>page
	done
	cmp all page || fail "$(cat page)"
	stop
	# Another server, with a cache that does not know what is added.
	start "${s3[@]}" --store-cache cached
	ask 200 "$url/v1/images/$first/thumb"
	stop
	start "${s3[@]}" --store-original
	ask 201 -X POST "$url/v1/images/$first?variant=late:w=82"
	stop
	start "${s3[@]}" --store-cache cached
	ask 200 "$url/v1/images/$first/late"
	is_picture_of w=82
	ask 204 -X DELETE "$url/v1/images/$first"
	ask 404 "$url/v1/originals/$first"
	ask 404 "$url/v1/images/$first?w=80"
	stop
	another_prefix_is_not_in_the_list
	a_deleted_image_stays_deleted
	kill $pid
}

# A server that is killed while it makes pictures leaves an image that is whole,
# and goes on to make them.
test_a_crash_leaves_a_whole_image() {
	local round i
	start_empty --store-original
	put 'variant=thumb:w=50'
	for round in 1 2 3; do
		for i in 1 2 3 4; do
			curl -s "$image?w=$((60 + 4 * round + i))" -o /dev/null &
		done
		sleep 0.0$((3 * round))
		kill -9 "$server"
		wait "$server" 2>/dev/null || true
		wait
		start_again --store-original
		ask 200 "$image"
		for name in $(names); do
			ask 200 "$image/$name"
		done
		ask 200 "$image?w=$((61 + 4 * round))"
		is_picture_of "w=$((61 + 4 * round))"
	done
	stop
}

test_the_original_is_the_upload_byte_for_byte
test_a_picture_is_made_once_and_kept
test_equal_requests_are_made_one_at_a_time
test_post_adds_variants_with_names
test_a_name_of_get_is_not_for_post
test_equal_posts_at_the_same_time
test_what_cannot_be_made
test_delete_removes_all
test_delete_of_what_is_not_stored_yet
test_a_full_store
test_too_many_variants
test_a_damaged_original_is_noticed
test_the_list_of_images
test_who_may_make_pictures
test_with_an_object_store
test_a_crash_leaves_a_whole_image
