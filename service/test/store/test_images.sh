#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: an image that POST /v1/images answered 201 can be fetched, as a
# whole and in part, with its SHA-256 as ETag, until it is deleted.  A damaged
# file is not sent, and the same upload repairs it.  If the disk fails in any
# way, the request gets an error and the server continues.  No file outside the
# store can be reached.
#
# usage: DARKROOM=PROGRAM CHECK_SIZES=PROGRAM [SANITIZED=1]
#        test_images.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
photo=$(realpath "$1/clownfish.jpg")
photo2=$(realpath "$1/lionfish.jpg")
cd "$work" # where expect_problem puts `body` and `head`, too
mkdir store

# post QUERY [CURL-ARGUMENTS...]: upload an image to store.  Sets $id and
# $status; the reply is in body and head.
post() {
	local query=$1
	shift
	status=$(curl -sS -o body -D head -w '%{http_code}' \
		--data-binary "@$photo" "$@" "$url/v1/images?$query")
	id=$("$JSON_VALUE" .id <body)
}

stored() {
	post "$@"
	[ "$status" = 201 ] || fail "status $status: $1 $(shown body)"
}

# get STATUS PATH [CURL-ARGUMENTS...]: expect this status
get() {
	local status=$1 path=$2 got
	shift 2
	: >body # if there is no body, curl does not write the file
	got=$(curl -sS --path-as-is -o body -D head -w '%{http_code}' "$@" \
		"$url$path")
	[ "$got" = "$status" ] || fail "status $got, not $status: $path $*"
}

header_is() {
	local got
	got=$(sed -n "s/^$1: \(.*\)\r$/\1/Ip" head)
	[ "$got" = "$2" ] || fail "$1 is '$got', not '$2'"
}

files_of() {
	find "store/${1:0:2}/$1" -type f -printf '%f\n' | sort | xargs
}

# check_whole REPLY: all variants in this reply can be fetched, with the SHA-256
# and size that it gives
check_whole() {
	local meta=$1 name sha bytes path
	jq -r '.variants[] | "\(.name) \(.sha256) \(.bytes) \(.url)"' "$meta" \
		>list
	[ -s list ] || fail "no variants in $(shown "$meta")"
	while read -r name sha bytes path; do
		get 200 "$path"
		[ "$(sha256sum <body)" = "$sha  -" ] ||
			fail "$path has not the SHA-256 told"
		[ "$(wc -c <body)" = "$bytes" ] || fail "$path is of another size"
		header_is ETag "\"$sha\""
		header_is Content-Type image/jpeg
	done <list
}

test_stored_can_be_got() {
	stored 'variant=thumb:w=100,h=100,fit=cover&variant=page:w=640&placeholder=1'
	header_is Location "/v1/images/$id"
	grep -qiE '^server-timing: .*store;dur=[0-9.]*[1-9][0-9.]*;start=[0-9.]+' head ||
		fail "no time of the store: $(cat head)"
	[[ $id =~ ^[0-9a-f]{64}$ ]] || fail "id $id"
	[ "$(jq -c '[.source.width, .source.height,
		(.variants[] | .name, .width, .height),
		(.placeholder.blurhash | length)]' body)" = \
		'[2000,1500,"thumb",100,100,"page",640,480,28]' ] ||
		fail "$(shown body)"
	cp body meta
	check_whole meta
	get 200 "/v1/images/$id"
	cmp -s body meta || fail "GET tells something else than POST"
	[ "$(files_of "$id")" = "meta.json page.jpg thumb.jpg" ] ||
		fail "the store has $(files_of "$id")"
	# The stored picture is the same as in the reply to a plain request.
	curl -sS --data-binary "@$photo" "$url/?w=640" -o plain
	get 200 "/v1/images/$id/page"
	cmp -s body plain || fail "stored is another picture than sent"
	stored w=200
	[ "$(jq -r '.variants[].name' body)" = image ] || fail "no name: image"
}

test_id_is_of_what_is_asked_for() {
	local first second
	stored 'variant=a:w=100'
	first=$id
	stored 'variant=a:w=100,q=80'
	[ "$id" = "$first" ] || fail "two ids of the same"
	for second in 'variant=b:w=100' 'variant=a:w=101' 'variant=a:w=100,q=81' \
		'variant=a:w=100,orient=0' 'variant=a:w=100&placeholder=1' \
		'variant=a:w=100&variant=b:w=50' 'variant=a:w=100,blur=0.5'; do
		stored "$second"
		[ "$id" != "$first" ] || fail "one id with $second"
	done
	stored 'variant=a:w=100' --data-binary "@$photo2"
	[ "$id" != "$first" ] || fail "one id of two photos"
	cp body meta
	curl -sS -F "file=@$photo" "$url/v1/images?variant=a:w=100" -o body
	[ "$("$JSON_VALUE" .id <body)" = "$first" ] || fail "a form has another id"
}

test_conditions_and_ranges() {
	local path etag
	stored w=300
	path=$(jq -r '.variants[0].url' body)
	get 200 "$path"
	cp body whole
	etag=\"$(sha256sum <whole | cut -d' ' -f1)\"
	header_is Cache-Control "public, max-age=31536000, immutable"
	get 304 "$path" -H "If-None-Match: \"x\", W/$etag"
	[ ! -s body ] || fail "a 304 with a body"
	header_is ETag "$etag"
	get 304 "$path" -H 'If-None-Match: *'
	get 200 "$path" -H 'If-None-Match: "x"'
	get 304 "$path" -H 'If-None-Match: "x"' -H "If-None-Match: $etag "
	get 200 "$path" -H 'If-None-Match: "x", *'

	get 200 "$path" -H "If-Match: $etag"
	get 200 "$path" -H 'If-Match: *'
	get 200 "$path" -H 'If-Match: "x"' -H "If-Match: \"y,z\", $etag"
	get 200 "$path" --head -H "If-Match: $etag"
	expect_problem 412 precondition_failed -H 'If-Match: "x"' "$url$path"
	get 412 "$path" --head -H 'If-Match: "x"'
	get 412 "$path" -H "If-Match: W/$etag" # the comparison is strong
	get 412 "$path" -H 'If-Match;'
	# If-Match comes first, then If-None-Match, and then Range.
	get 412 "$path" -H 'If-Match: "x"' -H 'If-None-Match: *'
	get 304 "$path" -H 'If-Match: *' -H "If-None-Match: $etag" \
		-H 'Range: bytes=0-0'
	get 206 "$path" -H "If-Match: $etag" -H 'If-None-Match: "x"' \
		-H 'Range: bytes=0-0'
	# What is not there has no conditions.
	get 404 "${path}s" -H 'If-Match: *'

	get 206 "$path" -H 'Range: bytes=10-19'
	cmp -s body <(tail -c +11 whole | head -c 10) || fail "bytes 10-19"
	header_is Content-Range "bytes 10-19/$(wc -c <whole)"
	get 206 "$path" -H 'Range: bytes=-7'
	cmp -s body <(tail -c 7 whole) || fail "the last 7 bytes"
	get 206 "$path" -H 'Range: bytes=100-'
	cmp -s body <(tail -c +101 whole) || fail "bytes 100-"
	get 206 "$path" -H 'Range: bytes=0-999999999999999999999'
	cmp -s body whole || fail "a range that is longer"
	for range in bytes=1-2,5-6 bytes=5-4 bytes=x-1 lines=1-2 'bytes=1-2x'; do
		get 200 "$path" -H "Range: $range"
		cmp -s body whole || fail "all, for $range"
	done
	expect_problem 416 bad_range -H 'Range: bytes=99999999-' "$url$path"
	header_is Content-Range "bytes */$(wc -c <whole)"
	get 206 "$path" -H "If-Range: $etag" -H 'Range: bytes=0-0'
	get 200 "$path" -H 'If-Range: "x"' -H 'Range: bytes=0-0'
	get 200 "$path" -H 'Range: bytes=0-0' --head
	header_is Content-Length "$(wc -c <whole)"
}

test_deleted_is_gone() {
	stored w=301
	get 204 "/v1/images/$id" -X DELETE
	! grep -qi '^content-length' head || fail "a 204 with a length"
	expect_problem 404 not_found "$url/v1/images/$id"
	expect_problem 404 not_found "$url/v1/images/$id/image"
	expect_problem 404 not_found -X DELETE "$url/v1/images/$id"
	expect_problem 405 method_not_allowed -X PUT "$url/v1/images/$id"
	grep -qi '^allow: GET, HEAD, POST, DELETE, OPTIONS.$' head || fail "Allow"
	expect_problem 405 method_not_allowed -X PUT "$url/v1/images"
	[ ! -e "store/${id:0:2}/$id" ] || fail "there are files"
	stored w=301
	check_whole body
}

# The text about an image has an ETag, too, and conditions can protect an image
# from a DELETE that is meant for another one.
test_conditions_of_an_image() {
	local path etag file
	stored w=303
	path=/v1/images/$id
	etag=\"$(sha256sum <body | cut -d' ' -f1)\"
	header_is ETag "$etag"
	cp body meta
	get 200 "$path" -H "If-Match: $etag" -H 'If-None-Match: "x"'
	cmp -s body meta || fail "another text"
	header_is ETag "$etag"
	get 304 "$path" -H "If-None-Match: W/$etag"
	[ ! -s body ] || fail "a 304 with a body"
	get 412 "$path" -H 'If-Match: "x"'
	for condition in 'If-Match: "x"' "If-Match: W/$etag" 'If-Match;' \
		"If-None-Match: $etag" 'If-None-Match: *'; do
		expect_problem 412 precondition_failed -X DELETE \
			-H "$condition" "$url$path"
		check_whole meta
	done
	get 204 "$path" -X DELETE -H 'If-Match: "x"' -H "If-Match: $etag " \
		-H 'If-None-Match: "x"'
	for condition in "If-Match: $etag" 'If-Match: *' 'If-None-Match: *'; do
		get 404 "$path" -X DELETE -H "$condition"
		get 404 "$path" -H "$condition"
	done
	# A damaged one is there, but has no ETag.
	stored w=303
	file=store/${id:0:2}/$id/meta.json
	sed -i 's/"width":303/"width":304/' "$file"
	get 412 "$path" -X DELETE -H "If-Match: $etag"
	[ -e "$file" ] || fail "was removed"
	get 204 "$path" -X DELETE -H 'If-Match: *'
}

# As with POST, a parameter that does not exist is an error.
test_unknown_parameters() {
	local path query
	stored w=304
	cp body meta
	path=/v1/images/$id
	for query in 'x' '&download=1' '=1'; do
		expect_problem 400 bad_parameter "$url$path/image?$query"
		expect_problem 400 bad_parameter "$url$path?$query"
		expect_problem 400 bad_parameter -X DELETE "$url$path?$query"
		get 400 "$path/image?$query" --head
	done
	expect_problem 400 bad_parameter "$url$path/image?w=100"
	[ "$("$JSON_VALUE" .detail <body)" = "There is no parameter 'w' for this path." ] ||
		fail "$(shown body)"
	get 200 "$path/image?"
	get 200 "$path/image?&&"
	check_whole meta
}

# Paths that are not an id and a name are not found.
test_nothing_else_is_reached() {
	local path before
	stored w=302
	cp "$photo" secret.jpg
	ln -s ../../../secret.jpg "store/${id:0:2}/$id/link.jpg"
	before=$(find . -path ./store -prune -o -type f -print | sort)
	for path in "/v1/images/../../secret" "/v1/images/$id/../../../secret" \
		"/v1/images/$id/..%2f..%2f..%2fsecret" "/v1/images/$id/link" \
		"/v1/images/$id/meta" "/v1/images/$id/image.jpg" \
		"/v1/images/$id/" "/v1/images/$id//image" "/v1/images/.." \
		"/v1/images/tmp" "/v1/images/darkroom-store" "/v1/images/" \
		"/v1/images/${id^^}" "/v1/images/${id:0:63}" \
		"/v1/images/$(printf 'f%.0s' {1..64})" "/v1/images/%2e%2e/image" \
		"/v1/images/$id/$(printf 'a%.0s' {1..33})"; do
		expect_problem 404 not_found --path-as-is "$url$path"
		case $path in
		*/*/*/*/*) ;;
		*) expect_problem 404 not_found --path-as-is -X DELETE "$url$path" ;;
		esac
	done
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/v1/images?variant=..%2f..%2fx:w=10"
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/v1/images?respond=later"
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?respond=decoded"
	get 400 "/v1/images/$id%00x"
	[ "$(find . -path ./store -prune -o -type f -print | sort)" = \
		"$(sort -u <(echo "$before") <(printf './body\n./head\n'))" ] ||
		fail "other files have come: $(find . -maxdepth 1)"
}

# settled: after a 202, wait until the image is stored or failed, and set $got
# to the status
settled() {
	local _
	for _ in $patience; do
		got=$(curl -sS -o body -w '%{http_code}' "$url/v1/images/$id")
		[ "$got" = 202 ] || return 0
		[ "$("$JSON_VALUE" .status <body)" = processing ] || fail "$(shown body)"
		sleep 0.02
	done
	fail "processing for ever"
}

# With --spool none, every upload with respond=decoded is answered 202;
# test_spool.sh tests the spool.
test_promises_are_kept() {
	needs early_replies || return 0
	stop
	start --store store --spool none
	post 'w=310&respond=decoded'
	[ "$status" = 202 ] || fail "status $status: $(shown body)"
	[ "$(jq .durable body)" = false ] || fail "durable: $(shown body)"
	header_is Location "/v1/images/$id"
	settled
	[ "$got" = 200 ] || fail "not stored: $(shown body)"
	cp body meta
	check_whole meta
	# An upload that cannot be decoded gets no 202.
	head -c 20000 "$photo" >half.jpg
	expect_problem 422 truncated_jpeg --data-binary @half.jpg \
		"$url/v1/images?respond=decoded"
	check_drained
}

# damaged WHAT: requests for the picture and its meta.json are answered $picture
# and $meta, and the same upload repairs both
damaged() {
	local what=$1
	[ "$picture" = 200 ] || expect_problem "$picture" image_damaged \
		"$url/v1/images/$id/image"
	[ "$meta" = 200 ] || expect_problem "$meta" image_damaged \
		"$url/v1/images/$id"
	get "$picture" "/v1/images/$id/image"
	get "$picture" "/v1/images/$id/image" --head
	get "$meta" "/v1/images/$id"
	stored w=340
	cmp -s body whole || fail "$what: another reply than before"
	check_whole whole
}

test_damage_is_noticed_and_mended() {
	local file counted
	stored w=340
	cp body whole
	check_whole whole
	file=store/${id:0:2}/$id/image.jpg
	counted=$(curl -sS "$admin/metrics" |
		sed -n 's/^darkroom_http_problems_total{code="image_damaged".* //p')
	[ "$counted" = 0 ] || fail "there is damage already: $counted"
	picture=500 meta=200
	# Change one byte, but not the times of the file.
	touch -r "$file" times
	printf '\x55' | dd of="$file" bs=1 seek=700 conv=notrunc status=none
	touch -r times "$file"
	get 304 "/v1/images/$id/image" -H 'If-None-Match: *'
	damaged "one byte"
	grep -q "image.jpg of the stored image $id is damaged" log ||
		fail "not in the log"
	truncate -s 1000 "$file"
	damaged "cut short"
	truncate -s 0 "$file"
	damaged empty
	rm "$file"
	damaged missing
	ln -sf ../../../secret.jpg "$file"
	damaged "a link"
	picture=500 meta=500
	file=store/${id:0:2}/$id/meta.json
	sed -i 's/"meta_sha256"/"meta_sha257"/' "$file"
	damaged "meta: the name of its checksum"
	sed -i 's/"meta_sha257"/"meta_sha256"/; s/"width":340/"width":341/' \
		"$file"
	damaged "meta: a digit"
	truncate -s 200 "$file"
	damaged "meta: cut short"
	truncate -s 0 "$file"
	damaged "meta: empty"
	head -c 100000 /dev/zero >"$file"
	damaged "meta: zeros"
	rm "$file"
	damaged "meta: missing"
	counted=$(curl -sS "$admin/metrics" |
		sed -n 's/^darkroom_http_problems_total{code="image_damaged".* //p')
	[ "$counted" -ge 20 ] || fail "not counted: $counted"
	check_drained
}

# Another version has stored a picture in a format that this one cannot make.
test_pictures_of_a_later_format() {
	local entry text
	stored w=90
	local image=/v1/images/$id
	entry=store/${id:0:2}/$id
	mv "$entry/image.jpg" "$entry/image.webp"
	text=$(sed 's|,"meta_sha256".*||; s|image/jpeg|image/webp|g' \
		"$entry/meta.json")
	printf '%s,"meta_sha256":"%s"}\n' "$text" \
		"$(printf %s "$text" | sha256sum | cut -d ' ' -f 1)" \
		>"$entry/meta.json"
	get 200 "$image/image"
	header_is Content-Type image/webp
	cmp -s body "$entry/image.webp" || fail "another picture"
	get 200 "$image"
}

# A picture whose file becomes shorter while it is sent: the connection is closed
# before the end, the log says so once, and the server continues.
test_shortened_while_it_is_sent() {
	local bytes left file path reader
	mkdir shortened
	start --store shortened "$@"
	# More than the buffers of the sockets take.
	stored 'w=4000&enlarge=1&q=100&chroma=444'
	path=$(jq -r '.variants[0].url' body)
	for left in 0 1000000; do
		# The same upload repairs it.
		stored 'w=4000&enlarge=1&q=100&chroma=444'
		get 200 "$path"
		file=shortened/${id:0:2}/$id/image.jpg
		bytes=$(stat -c %s "$file")
		exec {reader}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$path" \
			>&"$reader"
		head -c 1 <&"$reader" >/dev/null
		truncate -s $left "$file"
		timeout 300 cat <&"$reader" >part ||
			fail "the connection stays open: $(wc -c <part)"
		exec {reader}>&-
		[ "$(wc -c <part)" -lt "$bytes" ] ||
			fail "all was sent before the file was shorter"
		expect_problem 500 image_damaged "$url$path"
	done
	check_drained
	stop
	[ "$(grep -c "picture of the stored image $id could not be sent to its end: .* shorter" \
		log)" = 2 ] || fail "not told once each time"
	[ "$(grep -c ' damaged, 0 B to' log)" = 2 ] || fail "$(cat log)"
	rm -r shortened
}

# The server's user may not write to the store.
test_store_that_cannot_be_written() {
	chmod a-w store/tmp
	expect_problem 500 store_failed --data-binary "@$photo" \
		"$url/v1/images?w=320"
	grep -q 'Permission denied' body || fail "$(shown body)"
	needs early_replies || {
		chmod u+w store/tmp
		stored w=320
		return 0
	}
	post 'w=321&respond=decoded'
	[ "$status" = 202 ] || fail "status $status: $(shown body)"
	settled
	[ "$got" = 500 ] || fail "status $got: $(shown body)"
	[ "$("$JSON_VALUE" .code <body)" = store_failed ] || fail "$(shown body)"
	chmod u+w store/tmp
	stored w=320
	post 'w=321&respond=decoded'
	settled
	[ "$got" = 200 ] || fail "not stored after all: $(shown body)"
	check_drained
}

test_sigterm_waits_for_promises() {
	local ids=() i
	needs early_replies || return 0
	for i in $(seq 400 419); do
		post "w=$i&respond=decoded"
		[ "$status" = 202 ] || fail "status $status"
		ids+=("$id")
	done
	stop
	start --store store
	for id in "${ids[@]}"; do
		get 200 "/v1/images/$id"
		cp body meta
		check_whole meta
	done
}

test_quota() {
	start --store store --store-quota 100K --presets 'a:w=150;b:w=100'
	stored ''
	[ "$(jq -r '[.variants[].name] | join(" ")' body)" = "a b" ] ||
		fail "not the presets: $(shown body)"
	check_whole body
	stored variant=b
	[ "$(jq -r '[.variants[].name] | join(" ")' body)" = b ] ||
		fail "all presets, although one was named"
	expect_problem 507 store_full --data-binary "@$photo" \
		"$url/v1/images?variant=big:w=1600"
	get 204 "/v1/images/$id" -X DELETE
	expect_problem 507 store_full --data-binary "@$photo" \
		"$url/v1/images?variant=big:w=1600"
	check_drained
	# Each picture is read once to see that it is whole.
	[ "$(stat_of '.stages[] | select(.name == "store") | .handled')" = 7 ] ||
		fail "the store's stage has not 4 uploads, 2 checks and a DELETE"
	stop
}

test_no_store() {
	start
	expect_problem 404 no_store --data-binary "@$photo" "$url/v1/images"
	expect_problem 404 no_store "$url/v1/images/$id"
	expect_problem 404 no_store -X DELETE "$url/v1/images/$id"
	[ "$(stat_of 'any(.stages[]; .name == "store")')" = false ] ||
		fail "a stage without a store"
	stop
	mkdir other && touch other/precious
	ends_with 1 other --listen 127.0.0.1:0 --store other
	ends_with 1 missing --listen 127.0.0.1:0 --store missing
	start --store store
	ends_with 1 'another server' --listen 127.0.0.1:0 --store store
	stop
}

# One thread runs all steps of an upload, also the store, and sends a 202 in
# between.
test_without_workers() {
	local spool
	for spool in store none; do
		start --store store --spool $spool "$@"
		stored w=330
		check_whole body
		post 'w=1000&enlarge=1&blur=20&progressive=1&respond=decoded'
		[ "$status" = 202 ] || fail "status $status"
		settled
		[ "$got" = 200 ] || fail "status $got: $(shown body)"
		cp body meta
		check_whole meta
		check_drained
		[ "$(stat_of '[.stages[:-1][].handled] | join(" ")')" = '2 2 1 2' ] ||
			fail "handled: $(stat_of '.stages[].handled')"
		get 204 "/v1/images/$id" -X DELETE
		# A stop waits for what the thread still makes.
		post 'w=1000&enlarge=1&blur=20&progressive=1&respond=decoded'
		[ "$status" = 202 ] || fail "status $status"
		stop
		start --store store "$@"
		get 200 "/v1/images/$id"
		get 204 "/v1/images/$id" -X DELETE
		stop
	done
}

# A file system without room, in a mount namespace of its own, if that is
# allowed.
test_small_disk() {
	mkdir small
	if ! unshare -Urm bash -c 'mount -t tmpfs none small' 2>/dev/null; then
		echo "no mount namespaces here: a full disk is not tried"
		return
	fi
	cat >in_small <<-END
		#!/bin/bash
		exec unshare -Urm bash -c 'mount -t tmpfs -o size=1200k none \\
			small && exec "\$0" "\$@"' "$DARKROOM" "\$@"
	END
	chmod +x in_small
	DARKROOM=./in_small start --store small
	stored w=100
	cp body meta
	expect_problem 507 store_full --data-binary "@$large" \
		"$url/v1/images?w=2000&q=100"
	check_whole meta
	stored w=101
	check_drained
	nsenter -t "$server" -U -m --preserve-credentials \
		mount -o remount,bind,ro "$work/small" || fail "not to be remounted"
	expect_problem 500 store_failed --data-binary "@$photo" \
		"$url/v1/images?w=102"
	expect_problem 500 store_failed -X DELETE "$url/v1/images/$id"
	check_whole meta
	stop
}

start --store store
test_stored_can_be_got
# The rest only takes longer with a larger one.
curl -fsS --data-binary "@$photo" "$url/?w=800&q=90" -o "$work/shrunk.jpg"
large=$photo
photo=$work/shrunk.jpg
test_id_is_of_what_is_asked_for
test_conditions_and_ranges
test_conditions_of_an_image
test_unknown_parameters
test_deleted_is_gone
test_nothing_else_is_reached
test_promises_are_kept
test_damage_is_noticed_and_mended
test_pictures_of_a_later_format
test_store_that_cannot_be_written
test_sigterm_waits_for_promises
stop
rm -r store && mkdir store
test_quota
test_no_store
test_without_workers --policy thread-per-connection
test_without_workers --policy servlib --threads 1:1
test_small_disk
with_policies "color capriccio servlib thread-per-connection" \
	test_shortened_while_it_is_sent
