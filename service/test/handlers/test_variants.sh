#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One upload becomes several pictures, as multipart and as JSON, on a real
# server.
#
# usage: DARKROOM=PROGRAM test_variants.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg # 2000 x 1500
export LC_ALL=C

# post QUERY CURL-ARGUMENTS...: upload the photo; the reply is in $work/out, its
# head in $work/head
post() {
	local query=$1 got
	shift
	got=$(curl -sS -o "$work/out" -D "$work/head" -w '%{http_code}' \
		--data-binary "@$photo" "$@" "$url/?$query")
	[ "$got" = 200 ] || fail "status $got: $query $(shown "$work/out")"
}

# head_of NAME FILE: print a header's value
head_of() {
	tr -d '\r' <"$2" | sed -n "s/^$1: //Ip"
}

# split_parts: write each part of $work/out to $work/parts/N.head and N.body;
# the boundary separates them (RFC 2046, 5.1.1)
split_parts() {
	local boundary i from to at
	rm -rf "$work/parts"
	mkdir "$work/parts"
	boundary=$(head_of content-type "$work/head" |
		sed -n 's/^multipart\/mixed; boundary=\([0-9a-f]*\)$/\1/p')
	[ "${#boundary}" -ge 16 ] || fail "no boundary: $(cat "$work/head")"
	mapfile -t at < <(grep -abo -- "--$boundary" "$work/out" | cut -d: -f1)
	[ "${at[0]}" = 0 ] || fail "something before the first part"
	[ "$(tail -c +$((at[-1] + 1)) "$work/out")" = "--$boundary--"$'\r' ] ||
		fail "the last boundary is not the end"
	for ((i = 0; i + 1 < ${#at[@]}; i++)); do
		# A part is between the boundary's line and the line end before
		# the next boundary.
		from=$((at[i] + ${#boundary} + 4))
		to=$((at[i + 1] - 2))
		head -c "$to" "$work/out" | tail -c $((to - from)) >"$work/part"
		from=$(grep -abm1 $'^\r$' "$work/part" | cut -d: -f1)
		head -c "$from" "$work/part" >"$work/parts/$i.head"
		tail -c +$((from + 3)) "$work/part" >"$work/parts/$i.body"
	done
}

test_parts_are_the_pictures_in_order() {
	local i names=(large thumb small)
	# All variants are decoded at full DCT scale, so each equals the picture
	# of a request of its own.
	post 'q=70&variant=large:w=1000&variant=thumb:w=1000,h=500,fit=cover,blur=2&variant=small:w=960,q=30,progressive=1'
	[ "$(head_of content-length "$work/head")" = \
		"$(stat -c %s "$work/out")" ] || fail "length"
	[ -n "$(head_of server-timing "$work/head")" ] || fail "no timing"
	split_parts
	[ "$(find "$work/parts" -name '*.body' | wc -l)" = 3 ] || fail "parts"
	for i in 0 1 2; do
		[ "$(head_of content-type "$work/parts/$i.head")" = \
			image/jpeg ] || fail "type of part $i"
		[ "$(head_of content-length "$work/parts/$i.head")" = \
			"$(stat -c %s "$work/parts/$i.body")" ] ||
			fail "length of part $i"
		[ "$(head_of content-disposition "$work/parts/$i.head")" = \
			"attachment; name=\"${names[i]}\"; filename=\"${names[i]}.jpg\"" ] ||
			fail "name of part $i"
	done
	post 'w=1000&q=70'
	cmp "$work/out" "$work/parts/0.body" || fail "large"
	post 'w=1000&h=500&fit=cover&blur=2&q=70'
	cmp "$work/out" "$work/parts/1.body" || fail "thumb"
	post 'w=960&q=30&progressive=1'
	cmp "$work/out" "$work/parts/2.body" || fail "small"
}

test_one_variant_is_a_picture() {
	post variant=page
	[ "$(head_of content-type "$work/head")" = image/jpeg ] || fail "type"
	mv "$work/out" "$work/page"
	post w=1280
	cmp "$work/out" "$work/page" || fail "the preset differs"
}

json=(-H 'Accept: text/html, application/json;q=0.9')

# data I: print the picture of variant I of $work/out
data() {
	jq -r ".variants[$1].data" "$work/out" | base64 -d
}

test_json_has_the_same_pictures() {
	local query='variant=page&q=60&variant=thumb&variant=b:w=99,h=42,fit=fill'
	post "$query"
	split_parts
	post "$query" "${json[@]}"
	[ "$(head_of content-type "$work/head")" = application/json ] ||
		fail "type"
	[ "$(head_of content-length "$work/head")" = \
		"$(stat -c %s "$work/out")" ] || fail "length"
	for i in 0 1 2; do
		data "$i" | cmp - "$work/parts/$i.body" || fail "picture $i"
	done
	jq -e --argjson bytes "$(stat -c %s "$photo")" '
		.source == {width: 2000, height: 1500, bytes: $bytes} and
		has("placeholder") == false and
		([.variants[] | [.name, .width, .height]] ==
			[["page", 1280, 960], ["thumb", 320, 320],
			["b", 99, 42]]) and
		all(.variants[]; .type == "image/jpeg" and .warnings == [] and
			.bytes == (.data | rtrimstr("=") | rtrimstr("=") |
				length * 3 / 4 | floor))' \
		"$work/out" >/dev/null || fail "$(jq 'del(.variants[].data)' "$work/out")"
	post w=640 "${json[@]}"
	jq -e '[.variants[] | [.name, .width, .height]] == [["", 640, 480]]' \
		"$work/out" >/dev/null || fail "without a name"
}

# answered_as TYPE ACCEPT...: with these Accept headers, the reply to $query has
# this type
answered_as() {
	local type=$1 lines=() line got
	shift
	for line in "$@"; do
		lines+=(-H "Accept: $line")
	done
	post "$query" "${lines[@]}"
	got=$(head_of content-type "$work/head")
	[ "${got%%;*}" = "$type" ] || fail "not $type, but $got: $*"
}

test_json_is_for_who_prefers_it() {
	local query=w=9
	answered_as application/json application/json
	answered_as application/json 'Application/JSON ; q=0.001'
	answered_as application/json 'application/json;x=y;q=1'
	answered_as application/json 'application/*'
	answered_as application/json 'image/jpeg;q=0,application/json'
	answered_as application/json 'application/json, image/*;q=0.9'
	answered_as application/json 'application/json, */*;q=0.1'
	answered_as application/json 'image/*;q=0.3' \
		'text/plain, application/json;q=0.4'
	answered_as image/jpeg '*/*'
	answered_as image/jpeg application/json-seq
	answered_as image/jpeg 'application/json;q=0'
	answered_as image/jpeg 'application/json;q=0.1, image/*'
	answered_as image/jpeg 'text/html, application/json ; x=y ; Q=0.000, */*'
	answered_as image/jpeg 'application/json;q=0' '*/*;q=1'
	# These say that they want both as much: axios, and jQuery.
	answered_as image/jpeg 'application/json, text/plain, */*'
	answered_as image/jpeg 'application/json, text/javascript, */*; q=1'
	answered_as image/jpeg image/jpeg application/json
	# What is preferred to several results is preferred to both of their types.
	query='variant=a:w=9&variant=b:w=8'
	answered_as application/json application/json
	answered_as application/json 'multipart/mixed;q=0.5, application/json'
	answered_as multipart/mixed 'application/json, text/plain, */*'
	answered_as multipart/mixed 'application/json;q=0.5, multipart/mixed'
	answered_as multipart/mixed 'application/json;q=0.5, image/*'
	answered_as multipart/mixed text/html
}

test_warnings_are_told_of_each() {
	local missing='the file is damaged; some of the picture is missing'
	local whole=$photo
	head -c 300000 "$photo" >"$work/cut.jpg"
	photo=$work/cut.jpg
	post 'strict=0&variant=a:w=64&variant=b:w=128'
	! grep -qi '^warning:' "$work/head" || fail "of all"
	split_parts
	for i in 0 1; do
		[ "$(head_of warning "$work/parts/$i.head")" = \
			"199 darkroom \"$missing\"" ] || fail "part $i"
	done
	post 'strict=0&variant=a:w=64&variant=b:w=128' "${json[@]}"
	jq -e --arg text "$missing" 'all(.variants[]; .warnings == [$text])' \
		"$work/out" >/dev/null || fail "$(shown "$work/out")"
	# The damage affects all variants.  It is found when some of them might
	# already have been made.
	expect_problem 422 truncated_jpeg --data-binary "@$photo" \
		"$url/?variant=a:w=64&variant=b:w=128"
	photo=$whole
}

test_placeholder() {
	local hash colour
	post 'w=320&placeholder=1'
	hash=$(head_of x-blurhash "$work/head")
	colour=$(head_of x-dominant-color "$work/head")
	[ "${#hash}" = 28 ] || fail "hash: $hash"
	[[ $colour =~ ^#[0-9a-f]{6}$ ]] || fail "colour: $colour"
	# The placeholder is made of the smallest variant before it is blurred,
	# at any position in the query.
	post 'placeholder=1&variant=a:w=320,blur=50&variant=b:w=400'
	[ "$(head_of x-blurhash "$work/head")" = "$hash" ] || fail "smallest"
	post 'placeholder=1&variant=b:w=400&variant=a:w=320,blur=50' \
		"${json[@]}"
	jq -e --arg hash "$hash" --arg colour "$colour" '.placeholder ==
		{blurhash: $hash, dominant_color: $colour}' "$work/out" \
		>/dev/null || fail "$(jq -c .placeholder "$work/out")"
	post 'w=320&placeholder=0'
	! grep -qi '^x-blurhash\|^x-dominant' "$work/head" || fail "unasked"
}

# detail_has TEXT: expect TEXT in the detail of the last problem
detail_has() {
	"$JSON_VALUE" .detail <"$work/body" | has -F -- "$1" ||
		fail "detail: $("$JSON_VALUE" .detail <"$work/body")"
}

# detail TEXT QUERY: the query is refused, with TEXT as the detail
detail() {
	expect_problem 400 bad_parameter --data-binary "@$photo" "$url/?$2"
	detail_has "$1"
}

test_bad_ones_are_named() {
	detail "variant thumb: q must be a whole number from 1 to 100, or auto, not '0'." \
		'variant=page&variant=thumb:q=0'
	detail "There is no preset 'none'" variant=none
	detail 'variant page is given twice.' 'variant=page&variant=page'
	expect_problem 413 picture_too_large --data-binary "@$photo" \
		"$url/?variant=a:w=64&variant=b:w=16384,enlarge=1"
	detail_has 'A result asked for has 16384 x 12288 pixels'
}

# A small file must not cause an unlimited amount of work.
test_all_results_together_are_bounded() {
	local i query='enlarge=1&fit=fill&w=5477&h=5477&blur=100'
	for i in $(seq 16); do
		query+="&variant=v$i:q=$i"
	done
	expect_problem 413 output_too_large --data-binary "@$photo" \
		"$url/?$query"
	detail_has 'The results asked for have 480 megapixels together'
	detail_has '; --max-output-megapixels allows 200 megapixels.'
	holds "$work/body" '.limit == 200e6 and .value == 479960464 and
		.unit == "pixels"'
}

test_bad_presets_refuse_to_start() {
	refuses --presets --presets 'thumb:w=320;page:w=0'
	refuses 'variant page: w must be' --presets 'thumb:w=320;page:w=0'
	refuses 'variant page: w must be' --check-config \
		--presets 'thumb:w=320;page:w=0'
	refuses "not '0'" --presets 'thumb:w=320;page:w=0'
	refuses 'given twice' --presets 'a:w=320;a:w=10'
}

# Some clients disconnect; others stay.
test_lost_clients_do_no_harm() {
	local i many='blur=1'
	for i in $(seq 16); do many+="&variant=v$i:w=$((i * 16))"; done
	for i in $(seq 6); do
		timeout "0.0$((i * 9))" curl -sS --data-binary "@$photo" \
			"$url/?$many" -o /dev/null || true
	done
	send 4 "$many"
	wait "${clients[@]}"
	[ "$(got 200)" = 4 ] || fail "$(cat "$work"/code*)"
	cmp -s <(tail -c +50 "$work/reply1" | wc -c) \
		<(tail -c +50 "$work/reply4" | wc -c) || fail "differ in size"
}

start --deadline 0 --presets 'thumb:w=320,h=320,fit=cover;page:w=1280'
test_parts_are_the_pictures_in_order
test_one_variant_is_a_picture
test_json_has_the_same_pictures
test_json_is_for_who_prefers_it
test_warnings_are_told_of_each
test_placeholder
test_bad_ones_are_named
test_all_results_together_are_bounded
test_bad_presets_refuse_to_start
test_lost_clients_do_no_harm
check_drained
stop

# With a thread for each connection, which runs the stages itself.
start --policy thread-per-connection --deadline 0 \
	--presets 'thumb:w=320,h=320,fit=cover;page:w=1280'
test_json_has_the_same_pictures
stop
