#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An upload of any format gives a result of any format: as a reply, among
# variants, and stored.  Its type and ending are those of its format.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_formats.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
export LC_ALL=C
photo=$1/clownfish.jpg # 2000 x 1500
ppm_type=image/x-portable-anymap
cd "$work"

# post QUERY CURL-ARGUMENTS...: the reply is in `body`, its type in $type
post() {
	local query=$1 got
	shift
	got=$(curl -sS -o body -w '%{http_code} %{content_type}' "$@" \
		"$url/?$query")
	[ "${got%% *}" = 200 ] || fail "$query: $got $(shown body)"
	type=${got#* }
}

# is_ppm SIZE FILE: a whole P6 of this size, such as '32 24'
is_ppm() {
	local header=$'P6\n'$1$'\n255\n' pixels=$((${1/ / * }))
	[ "$(head -c ${#header} "$2" | tr '\n' :)" = "$(tr '\n' : <<<"$header" |
		head -c ${#header})" ] || fail "not P6 $1: $(head -c 20 "$2")"
	[ "$(wc -c <"$2")" = $((${#header} + 3 * pixels)) ] ||
		fail "a P6 of $(wc -c <"$2") bytes"
}

is_jpeg() {
	[ "$(head -c 3 "$1" | od -An -tx1)" = ' ff d8 ff' ] || fail "no JPEG: $1"
}

test_each_to_each() {
	local from file
	for from in photo.ppm "$photo"; do
		post 'w=32' --data-binary "@$from"
		[ "$type" = image/jpeg ] || fail "$type"
		is_jpeg body
		post 'w=32&format=jpeg' --data-binary "@$from"
		is_jpeg body
		post 'w=32&format=ppm' --data-binary "@$from"
		[ "$type" = "$ppm_type" ] || fail "$type"
		is_ppm '32 24' body
	done
	post 'w=32&format=ppm' -F "file=@photo.ppm;type=text/plain"
	is_ppm '32 24' body
	# At its own size, the colours are those of before, within rounding.
	post 'format=ppm' --data-binary @photo.ppm
	is_ppm '64 48' body
	for file in body photo.ppm; do
		tail -c 9216 "$file" | od -An -v -tu1 -w1 >"$file.samples"
	done
	paste body.samples photo.ppm.samples |
		awk '$1 - $2 > 2 || $2 - $1 > 2 { exit 1 }' ||
		fail "other colours than in the upload"
	expect_problem 400 bad_parameter --data-binary @photo.ppm \
		"$url/?format=tiff"
	grep -q "format must be jpeg, .*ppm or auto, not 'tiff'" "$work/body" || fail "$(shown body)"
	# A new format is named here, and in no other test.
	expect_problem 415 not_a_jpeg --data-binary 'some text' "$url/"
	grep -q 'only JPEG.*PPM.* files are read' "$work/body" ||
		fail "$(shown body)"
}

# is_png SIZE FILE: a PNG of this size, such as '32 24', from signature to end
is_png() {
	local head
	head=$(printf '89504e470d0a1a0a0000000d49484452%08x%08x' ${1})
	[ "$(head -c 24 "$2" | xxd -p | tr -d '\n')" = "$head" ] ||
		fail "not a PNG of $1: $(head -c 24 "$2" | xxd -p)"
	[ "$(tail -c 8 "$2" | xxd -p)" = 49454e44ae426082 ] || fail "no IEND"
}

# A build may leave the format out.
test_png() {
	local half
	expect_problem 400 bad_parameter --data-binary @photo.ppm \
		"$url/?format=tiff"
	grep -q png "$work/body" || return 0
	post 'format=png' --data-binary @photo.ppm
	[ "$type" = image/png ] || fail "$type"
	is_png '64 48' body
	mv body photo.png
	# It has exactly the colours of the upload.
	post 'format=ppm' --data-binary @photo.png
	cmp -s <(tail -c 9216 body) <(tail -c 9216 photo.ppm) ||
		fail "other colours than in the upload"
	post 'w=32&format=png' --data-binary @photo.png
	is_png '32 24' body
	post 'w=32' --data-binary @photo.png
	is_jpeg body
	post 'w=200&format=png' --data-binary "@$photo"
	mv body photo.png
	half=$(($(wc -c <photo.png) / 2))
	head -c $half photo.png >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
	post 'strict=0' --data-binary @half
	{ cat half && printf '\0\0\0' && tail -c +$((half + 4)) photo.png; } >bad
	expect_problem 422 corrupt_picture --data-binary @bad "$url/"
	printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0' >huge
	printf '\10\2\0\0\0crc.' >>huge
	expect_problem 413 picture_too_large --data-binary @huge "$url/"
}

test_webp() {
	local query
	expect_problem 400 bad_parameter --data-binary @photo.ppm \
		"$url/?format=tiff"
	grep -q webp "$work/body" || return 0
	for query in format=webp 'format=webp&lossless=1' \
		'format=webp&effort=1&q=30'; do
		post "w=32&$query" --data-binary "@$photo"
		[ "$type" = image/webp ] || fail "$type"
		[ "$(head -c 4 body)$(tail -c +9 body | head -c 7)" = RIFFWEBPVP8 ] ||
			fail "$(head -c 16 body | xxd)"
		cp body small.webp
		post format=ppm --data-binary @small.webp
		is_ppm '32 24' body
	done
	post 'w=500&h=400&enlarge=1&fit=fill' --data-binary @small.webp
	[ "$type" = image/jpeg ] || fail "$type"
	# WebP cannot be larger.
	expect_problem 413 picture_too_large --data-binary "@$photo" \
		"$url/?format=webp&w=16384&h=9&fit=fill&enlarge=1"
	grep -q 'WebP allows 16383' "$work/body" || fail "$(shown body)"
	head -c 100 small.webp >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
}

# A GIF of two pictures, 1 x 1: red, then green.
test_gif() {
	local colours='\377\0\0\0\377\0' control='!\371\4\0\0\0\0\0'
	local red=',\0\0\0\0\1\0\1\0\0\2\2D\1\0'
	local green=',\0\0\0\0\1\0\1\0\0\2\2L\1\0'
	printf "GIF89a\1\0\1\0\200\0\0$colours$control$red$green;" >two.gif
	curl -sS -D head -o body --data-binary @two.gif "$url/?format=ppm"
	tr -d '\r' <head >plain
	grep -qi '^content-type: '"$ppm_type" plain || return 0 # left out
	is_ppm '1 1' body
	[ "$(tail -c 3 body | xxd -p)" = ff0000 ] || fail "$(xxd body)"
	grep -qix 'x-frames: 2' plain || fail "$(cat plain)"
	curl -sS -H 'Accept: application/json' -o body --data-binary @two.gif \
		"$url/"
	[ "$("$JSON_VALUE" .source.frames <body)" = 2 ] || fail "$(shown body)"
	curl -sS -D head -o body --data-binary @photo.ppm "$url/"
	! grep -qi '^x-frames' head || fail "$(cat head)"
	expect_problem 400 bad_parameter --data-binary @two.gif "$url/?format=gif"
}

test_avif() {
	local query
	expect_problem 400 bad_parameter --data-binary @photo.ppm \
		"$url/?format=tiff"
	grep -q avif "$work/body" || return 0
	for query in format=avif 'format=avif&lossless=1' \
		'format=avif&effort=1&q=30&chroma=444'; do
		post "w=32&$query" --data-binary "@$photo"
		[ "$type" = image/avif ] || fail "$type"
		[ "$(head -c 12 body | tail -c 8)" = ftypavif ] ||
			fail "$(head -c 16 body | xxd)"
		cp body small.avif
		post format=ppm --data-binary @small.avif
		is_ppm '32 24' body
	done
	post 'w=500&h=400&enlarge=1&fit=fill' --data-binary @small.avif
	[ "$type" = image/jpeg ] || fail "$type"
	head -c 100 small.avif >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
	head -c $(($(wc -c <small.avif) - 9)) small.avif >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
}

test_jxl() {
	local query
	expect_problem 400 bad_parameter --data-binary @photo.ppm \
		"$url/?format=tiff"
	grep -q jxl "$work/body" || return 0
	for query in format=jxl 'format=jxl&lossless=1' \
		'format=jxl&effort=7&q=30'; do
		post "w=32&$query" --data-binary "@$photo"
		[ "$type" = image/jxl ] || fail "$type"
		[ "$(head -c 2 body | xxd -p)" = ff0a ] ||
			fail "$(head -c 16 body | xxd)"
		cp body small.jxl
		post format=ppm --data-binary @small.jxl
		is_ppm '32 24' body
	done
	post 'w=500&h=400&enlarge=1&fit=fill' --data-binary @small.jxl
	[ "$type" = image/jpeg ] || fail "$type"
	head -c $(($(wc -c <small.jxl) / 2)) small.jxl >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
	# In boxes.
	{
		printf '\0\0\0\014JXL \r\n\207\n'
		printf '\0\0\0\024ftypjxl \0\0\0\0jxl '
		printf '\0\0\0\0jxlc'
		cat small.jxl
	} >boxed.jxl
	post format=ppm --data-binary @boxed.jxl
	is_ppm '32 24' body
}

test_variants_have_their_types() {
	local query='variant=a:w=20,format=ppm&variant=b:w=24'
	post "$query" -H 'Accept: application/json' --data-binary "@$photo"
	grep -q "\"type\":\"$ppm_type\".*\"type\":\"image/jpeg\"" body ||
		fail "$(shown body)"
	post "$query" --data-binary "@$photo"
	grep -a -A3 "^Content-Type: $ppm_type" body |
		grep -aq 'name="a"; filename="a.ppm"' || fail "$(head -c 300 body)"
	grep -aq 'name="b"; filename="b.jpg"' body || fail "no b.jpg"
}

test_what_is_wrong_is_named() {
	head -c 5000 photo.ppm >half
	expect_problem 422 truncated_picture --data-binary @half "$url/"
	post 'strict=0' --data-binary @half
	printf 'P6 0 3 255 ' >zero
	expect_problem 422 corrupt_picture --data-binary @zero "$url/"
	printf 'P6 60000 60000 255 x' >huge
	printf P6 >short
	expect_problem 415 not_a_jpeg --data-binary @short "$url/"
	expect_problem 413 picture_too_large --data-binary @huge "$url/"
	expect_problem 415 not_a_jpeg --data-binary 'P3 1 1 255 1 2 3' "$url/"
}

# store QUERY FILE: $id is that of the stored image
store() {
	local got
	got=$(curl -sS -o body -w '%{http_code}' --data-binary "@$2" \
		"$url/v1/images?$1")
	[ "$got" = 201 ] || fail "$1: $got $(shown body)"
	id=$("$JSON_VALUE" .id <body)
}

# fetch PATH TYPE: the stored picture, which has this type, is in `body`
fetch() {
	local got
	got=$(curl -sS -o body -w '%{http_code} %{content_type}' "$url$1")
	[ "$got" = "200 $2" ] || fail "$1: $got"
}

test_stored_pictures_have_their_types() {
	local jpeg ppm
	store w=40 "$photo"
	jpeg=$id
	store 'w=40&format=jpeg' "$photo"
	[ "$id" = "$jpeg" ] || fail "the default changes the id"
	store 'w=40&format=ppm' "$photo"
	ppm=$id
	[ "$ppm" != "$jpeg" ] || fail "the format does not change the id"
	[ -s "store/${ppm:0:2}/$ppm/image.ppm" ] || fail "$(find store)"
	[ -s "store/${jpeg:0:2}/$jpeg/image.jpg" ] || fail "$(find store)"
	stop
	start --store store
	fetch "/v1/images/$ppm/image" "$ppm_type"
	is_ppm '40 30' body
	fetch "/v1/images/$jpeg/image" image/jpeg
	is_jpeg body
	curl -fsS -X DELETE "$url/v1/images/$ppm" || fail "not deleted"
	[ ! -e "store/${ppm:0:2}/$ppm" ] || fail "left: $(find store)"
}

test_loadgen_verifies_them() {
	local query
	mkdir set
	cp photo.ppm set
	curl -sS --data-binary "@$photo" -o set/small.jpg "$url/?w=300"
	for query in w=32 'w=32&format=ppm' 'w=10&h=10&fit=cover&format=ppm'; do
		"$LOADGEN" --dataset set --passes 4 --verify size \
			"$url/?$query" >report || fail "$query: $(cat report)"
	done
}

{
	printf 'P6\n# a comment\n64 48\n255\n'
	for ((y = 0; y < 48; y++)); do
		for ((x = 0; x < 64; x++)); do
			printf '\\0%03o\\0%03o\\0%03o' $((100 + x)) $((90 + y)) \
				$((120 + (x + y) / 2))
		done
	done | printf '%b' "$(cat)"
} >photo.ppm
[ "$(wc -c <photo.ppm)" = $((25 + 64 * 48 * 3)) ] ||
	fail "photo.ppm has $(wc -c <photo.ppm) bytes"
mkdir store
start --store store
test_each_to_each
test_png
test_webp
test_gif
test_avif
test_jxl
test_variants_have_their_types
test_what_is_wrong_is_named
test_stored_pictures_have_their_types
test_loadgen_verifies_them
stop
