#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The effect of each query parameter on a real photo, checked in the reply's
# bytes.
#
# usage: DARKROOM=PROGRAM PRINT_PROFILE=PROGRAM PRINT_GAINMAP=PROGRAM
#        test_recipe.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg # 2000 x 1500

# post QUERY [FILE]: upload the file; the reply is in $work/out, its head in
# $work/head
post() {
	local got
	got=$(curl -sS -o "$work/out" -D "$work/head" -w '%{http_code}' \
		--data-binary "@${2:-$photo}" "$url/?$1")
	[ "$got" = 200 ] || fail "status $got: $1 $(shown "$work/out")"
}

hex() {
	xxd -p "$1" | tr -d '\n'
}

# frame FILE: print its frame header, such as "baseline 640x480 4:2:0"
frame() {
	local kind=baseline chroma=4:2:0
	[[ $(xxd -p -l 8192 "$1" | tr -d '\n') =~ ff(c0|c2)001108(....)(....)0301(22|11) ]] ||
		fail "no frame header of three components"
	[ "${BASH_REMATCH[1]}" = c0 ] || kind=progressive
	[ "${BASH_REMATCH[4]}" = 22 ] || chroma=4:4:4
	echo "$kind $((16#${BASH_REMATCH[3]}))x$((16#${BASH_REMATCH[2]})) $chroma"
}

# gives FRAME QUERY [FILE]: the reply has this frame header
gives() {
	local got
	post "$2" "${3:-$photo}"
	got=$(frame "$work/out")
	[ "$got" = "$1" ] || fail "$2: $got, not $1"
}

# is_size SIZE QUERY [FILE]: the reply has this size
is_size() {
	gives "baseline $1 4:2:0" "$2" "${3:-$photo}"
}

has_profile() {
	hex "$work/out" | has "$(printf 'ICC_PROFILE\0\1\1' | xxd -p)${1:-}"
}

# warns TEXT...: the reply has these warnings and no others
warns() {
	local text
	[ "$(grep -ci '^warning:' "$work/head" || true)" = $# ] ||
		fail "not $# warnings: $(grep -i '^warning' "$work/head")"
	for text; do
		grep -qixF "warning: 199 darkroom \"$text\""$'\r' "$work/head" ||
			fail "no warning: $text"
	done
}

test_fits() {
	is_size 640x480 w=640
	is_size 400x300 h=300
	is_size 400x300 'w=640&h=300'
	is_size 400x300 'w=640&h=300&fit=inside'
	is_size 640x300 'w=640&h=300&fit=cover'
	is_size 300x300 'w=300&h=300&fit=cover'
	is_size 1x700 'w=1&h=700&fit=cover'
	is_size 640x300 'w=640&h=300&fit=fill'
	# With only w or h, every fit acts like inside.
	is_size 640x480 'w=640&fit=cover'
	is_size 400x300 'h=300&fit=fill'
}

test_enlarges_only_when_asked() {
	is_size 2000x1500 'w=3000&h=3000'
	is_size 2000x1500 w=3000
	is_size 2000x500 'w=4000&h=1000&fit=cover'
	is_size 2000x100 'w=3000&h=100&fit=fill'
	is_size 3000x2250 'w=3000&h=3000&enlarge=1'
	is_size 3000x2250 'w=3000&enlarge=1'
	is_size 3000x1000 'w=3000&h=1000&fit=cover&enlarge=1'
	is_size 3000x100 'w=3000&h=100&fit=fill&enlarge=1'
	is_size 2000x500 'w=4000&h=1000&fit=cover&enlarge=0'
	is_size 2000x1500 enlarge=1
}

# cuts SIZE GROUP...: gravities of one group (names joined by "=") give the same
# picture, those of different groups do not
cuts() {
	local size=$1 group name sum sums=
	shift
	for group; do
		sum=
		for name in ${group//=/ }; do
			is_size "$size" "w=${size%x*}&h=${size#*x}&fit=cover&gravity=$name"
			[ "${sum:-$(md5sum <"$work/out")}" = \
				"$(md5sum <"$work/out")" ] || fail "$name differs"
			sum=$(md5sum <"$work/out")
		done
		[[ $sums != *$sum* ]] || fail "$group is like another"
		sums+=$sum
	done
}

test_gravity_chooses_the_cut() {
	cuts 400x50 north=northeast=northwest centre=center=east=west \
		south=southeast=southwest
	cuts 50x400 west=northwest=southwest centre=center=north=south \
		east=northeast=southeast
}

test_orientation() {
	# EXIF in little-endian order, one entry: orientation 6.
	printf 'Exif\0\0II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0' \
		>"$work/exif"
	insert ffe1 "$work/exif" >"$work/turned.jpg"
	is_size 480x640 h=640 "$work/turned.jpg"
	is_size 480x640 'h=640&orient=1' "$work/turned.jpg"
	is_size 640x480 'w=640&orient=0' "$work/turned.jpg"
	cp "$work/out" "$work/stored"
	post w=640
	cmp "$work/stored" "$work/out" || fail "not as stored"
	# w and h are those of the displayed picture.
	is_size 240x320 'w=320&h=320' "$work/turned.jpg"
	is_size 300x100 'w=300&h=100&fit=cover' "$work/turned.jpg"
}

# Each filter makes another picture of the same size, alone or as a variant.
test_filters() {
	local name seen=
	for name in lanczos3 box triangle bspline catmull-rom mitchell; do
		is_size 640x480 "w=640&filter=$name"
		cp "$work/out" "$work/alone"
		post "variant=a:w=640,filter=$name"
		cmp "$work/alone" "$work/out" || fail "$name: not as alone"
		seen+=$(sha256sum <"$work/out")$'\n'
	done
	[ "$(sort -u <<<"$seen" | grep -c .)" = 6 ] || fail "some are the same"
	post w=640
	cp "$work/out" "$work/alone"
	post 'w=640&filter=lanczos3'
	cmp "$work/alone" "$work/out" || fail "lanczos3 is not the default"
	# A picture whose size does not change, also that of its colour planes,
	# is not resampled.
	post ''
	cp "$work/out" "$work/small.jpg"
	post '' "$work/small.jpg"
	cp "$work/out" "$work/alone"
	post filter=bspline "$work/small.jpg"
	cmp "$work/alone" "$work/out" || fail "a picture that keeps its size"
}

# Another picture of the same size, also as a variant; of the whole upload.
test_light() {
	post w=320
	cp "$work/out" "$work/gamma"
	is_size 320x240 'w=320&light=linear'
	! cmp -s "$work/gamma" "$work/out" || fail "light=linear changes nothing"
	cp "$work/out" "$work/alone"
	post 'light=linear&variant=a:w=320'
	cmp "$work/alone" "$work/out" || fail "not as alone"
	post 'w=320&light=gamma'
	cmp "$work/gamma" "$work/out" || fail "gamma is not the default"
}

test_encoder() {
	local plain optimized
	gives 'baseline 640x480 4:4:4' 'w=640&chroma=444'
	gives 'progressive 640x480 4:2:0' 'w=640&progressive=1'
	gives 'progressive 640x480 4:4:4' \
		'w=640&progressive=1&chroma=444&optimize=1&blur=2&q=95'
	post 'w=640&progressive=0&optimize=0&chroma=420'
	plain=$(stat -c %s "$work/out")
	is_size 640x480 'w=640&optimize=1'
	optimized=$(stat -c %s "$work/out")
	[ "$optimized" -lt "$plain" ] || fail "optimize saves nothing"
}

# Results of a grainy picture that is looked at more closely have more bytes,
# in each format.
test_target() {
	local format low high
	for format in jpeg webp; do
		post "w=320&target=ssimulacra2:50&format=$format"
		low=$(stat -c %s "$work/out")
		post "w=320&target=ssimulacra2:85&format=$format"
		high=$(stat -c %s "$work/out")
		[ "$low" -lt "$high" ] ||
			fail "$format: $low bytes for 50, $high for 85"
	done
	post 'w=320&q=auto'
	cp "$work/out" "$work/auto"
	post 'w=320&target=ssimulacra2:75&q=30'
	cmp "$work/auto" "$work/out" || fail "q=auto is not the target 75"
	post 'w=320&q=30'
	! cmp -s "$work/auto" "$work/out" || fail "the target changes nothing"
	cp "$work/out" "$work/alone"
	post 'w=320&q=auto&variant=a:q=30'
	cmp "$work/alone" "$work/out" || fail "the variant's q does not count"
}

# write_text FILE: strokes of red on blue, as a PPM of 64 x 64
write_text() {
	local x y
	{
		printf 'P6\n64 64\n255\n'
		for ((y = 0; y < 64; y++)); do
			for ((x = 0; x < 64; x++)); do
				if (((x / 2 * 7 + y / 3 * 5) % 3)); then
					printf '\0\0\377'
				else
					printf '\377\0\0'
				fi
			done
		done
	} >"$1"
}

test_chroma_is_chosen_by_the_picture() {
	post 'w=640&chroma=420'
	cp "$work/out" "$work/half"
	gives 'baseline 640x480 4:2:0' 'w=640&chroma=auto'
	cmp "$work/half" "$work/out" || fail "a photo changes"
	write_text "$work/text.ppm"
	gives 'baseline 64x64 4:2:0' '' "$work/text.ppm"
	post chroma=444 "$work/text.ppm"
	cp "$work/out" "$work/full"
	gives 'baseline 64x64 4:4:4' chroma=auto "$work/text.ppm"
	cmp "$work/full" "$work/out" || fail "text differs from chroma=444"
	gives 'baseline 64x64 4:4:4' variant=a:chroma=auto "$work/text.ppm"
}

test_profile_is_applied_or_kept() {
	local profile_bytes
	"$PRINT_PROFILE" >"$work/p3"
	profile_bytes=$(stat -c %s "$work/p3")
	with_profile "$work/p3" >"$work/p3.jpg"
	post w=320
	cp "$work/out" "$work/unlabelled"
	post w=320 "$work/p3.jpg"
	! has_profile || fail "the profile is in the reply"
	! cmp -s "$work/unlabelled" "$work/out" || fail "not converted"
	cp "$work/out" "$work/converted"
	post 'w=320&icc=srgb' "$work/p3.jpg"
	cmp "$work/converted" "$work/out" || fail "srgb is not the default"
	# If the profile is kept, the samples after it are the same as without
	# it.
	post 'w=320&icc=keep&blur=0' "$work/p3.jpg"
	has_profile "$(hex "$work/p3")" || fail "the profile is not kept"
	[ "$(stat -c %s "$work/out")" = $((18 + profile_bytes + \
		$(stat -c %s "$work/unlabelled"))) ] || fail "size"
	cmp <(tail -c 10000 "$work/unlabelled") <(tail -c 10000 "$work/out") ||
		fail "samples were changed"
	post 'w=320&icc=keep&blur=2' "$work/p3.jpg"
	has_profile "$(hex "$work/p3")" || fail "blur loses the profile"
	warns
}

# has_gainmap: the reply has an index, and a map with metadata
has_gainmap() {
	hex "$work/out" | has "$(printf 'MPF\0MM\0*' | xxd -p)" &&
		has -aF '<hdrgm:GainMapMax>3<' <"$work/out"
}

test_gain_map_is_left_out_or_kept() {
	local left_out='its gain map is broken, or the result cannot have one'
	"$PRINT_GAINMAP" >"$work/gain.jpg"
	post w=200 "$work/gain.jpg"
	warns
	! has_gainmap || fail "the map is in the reply"
	cp "$work/out" "$work/stripped"
	post 'w=200&gainmap=strip' "$work/gain.jpg"
	cmp "$work/stripped" "$work/out" || fail "strip is not the default"
	post 'w=200&gainmap=keep' "$work/gain.jpg"
	warns
	has_gainmap || fail "the map is not kept"
	is_size 200x120 'w=200&gainmap=keep&blur=2' "$work/gain.jpg"
	has_gainmap || fail "blur loses the map"
	# Of the stored photo there is no map to keep or to miss.
	post 'w=200&gainmap=keep'
	warns
	! has_gainmap || fail "a map from nowhere"
	post 'w=200&gainmap=keep&format=ppm' "$work/gain.jpg"
	warns "$left_out"
	# Each of several results has its own answer, whichever is larger.
	post 'variant=a:w=100,gainmap=keep&variant=b:w=300,format=ppm' \
		"$work/gain.jpg"
	has_gainmap || fail "a larger result without a map loses it"
	! has -aiF warning: <"$work/out" || fail "a warning nobody asked for"
	head -c -500 "$work/gain.jpg" >"$work/cut.jpg"
	post 'w=200&gainmap=keep' "$work/cut.jpg"
	warns "$left_out"
	cmp "$work/stripped" "$work/out" || fail "half a map does harm"
}

test_strict_and_lenient() {
	local missing='the file is damaged; some of the picture is missing'
	local ignored='its ICC profile is broken and was ignored'
	head -c 300000 "$photo" >"$work/cut.jpg"
	expect_problem 422 truncated_jpeg --data-binary "@$work/cut.jpg" \
		"$url/?strict=1"
	is_size 640x480 'w=640&strict=0' "$work/cut.jpg"
	warns "$missing"
	post 'w=640&strict=0&blur=2&chroma=444' "$work/cut.jpg"
	warns "$missing"
	# For a whole file, strict makes no difference.
	post w=640
	warns
	cp "$work/out" "$work/strict"
	post 'w=640&strict=0'
	warns
	cmp "$work/strict" "$work/out" || fail "lenient changes a whole file"
	expect_problem 415 not_a_jpeg --data-binary "%PDF-1.7" "$url/?strict=0"
	# A file with a broken profile is not refused.
	head -c 200 /dev/zero >"$work/zeros"
	with_profile "$work/zeros" >"$work/odd.jpg"
	post w=640 "$work/odd.jpg"
	warns "$ignored"
	cmp "$work/strict" "$work/out" || fail "a broken profile does harm"
	post 'w=640&icc=keep' "$work/odd.jpg"
	warns "$ignored"
	! has_profile || fail "a broken profile is kept"
	head -c 300000 "$work/odd.jpg" >"$work/odd-cut.jpg"
	post 'w=640&strict=0' "$work/odd-cut.jpg"
	warns "$missing" "$ignored"
}

test_too_large_a_result_is_refused() {
	expect_problem 413 picture_too_large --data-binary "@$photo" \
		"$url/?w=16384&h=16384&fit=fill&enlarge=1"
	"$JSON_VALUE" .detail <"$work/body" | has -F 'A result asked for has 16384 x 16384 pixels, 268 megapixels; --max-result-megapixels allows 100 megapixels.' ||
		fail "detail: $("$JSON_VALUE" .detail <"$work/body")"
	is_size 2000x1500 'w=16384&h=16384&fit=fill'
}

# bad KEY VALUE: the parameter is refused, and the detail names both
bad() {
	expect_problem 400 bad_parameter --data-binary "@$photo" "$url/?$1=$2"
	"$JSON_VALUE" .detail <"$work/body" | has -E "^$1 must be .*, not '$2'\.$" ||
		fail "detail: $("$JSON_VALUE" .detail <"$work/body")"
}

test_bad_values_are_named() {
	bad fit crop
	bad gravity up
	bad filter lanczos2
	bad enlarge 2
	bad orient 6
	bad icc drop
	bad chroma 422
	bad progressive yes
	bad optimize ''
	bad strict -1
	bad target 75
}

start
test_fits
test_enlarges_only_when_asked
test_gravity_chooses_the_cut
test_filters
test_light
test_orientation
test_encoder
test_target
test_chroma_is_chosen_by_the_picture
test_profile_is_applied_or_kept
test_gain_map_is_left_out_or_kept
test_strict_and_lenient
test_too_large_a_result_is_refused
test_bad_values_are_named
check_drained
stop
