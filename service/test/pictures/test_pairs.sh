#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A picture of each format gives a result of each format, of the right size, and
# with the same bytes under every policy.
#
# usage: DARKROOM=PROGRAM test_pairs.sh SAMPLES_DIR [HEIC_FILE]
. "$(dirname "$0")/../server.sh"
chooses_policies "it tries them all"
photo=$1/clownfish.jpg # 2000 x 1500
heic_file=${2:+$(realpath "$2")}
cd "$work"
mkdir uploads

# formats: the words that `format` takes, without auto
formats() {
	curl -sS "$url/?format=none" --data-binary "@$photo" |
		"$JSON_VALUE" .detail |
		sed 's/.*must be \(.*\) or auto.*/\1/; s/,//g'
}

# get FILE QUERY NAME: upload the file; the result is NAME
get() {
	local got
	got=$(curl -sS -o "$3" -w '%{http_code}' --data-binary "@$1" "$url/?$2")
	[ "$got" = 200 ] || fail "$1, $2: $got $(shown "$3")"
}

# Of each format that is written, and of those that only are read.
make_uploads() {
	local format
	for format in "${formats[@]}"; do
		get "$photo" "w=90&format=$format" "uploads/$format"
	done
	printf 'GIF89a\2\0\1\0\200\0\0\377\0\0\0\377\0,\0\0\0\0\2\0\1\0\0\2\2D\12\0;' \
		>uploads/gif
	curl -sS -o reply -w '%{http_code}' --data-binary @uploads/gif "$url/" |
		grep -qx 200 || rm uploads/gif # a build may lack it
	[ -z "$heic_file" ] || "$heic_file" plain >uploads/heic # 200 x 150
}

# Each upload in each format: UPLOAD.FORMAT in the folder $1.
make_results() {
	local upload format
	mkdir "$1"
	for upload in uploads/*; do
		for format in "${formats[@]}"; do
			cat <<-EOF
				next
				fail
				silent
				show-error
				url = "$url/?w=60&format=$format&blur=1"
				data-binary = "@$upload"
				output = "$1/${upload##*/}.$format"
			EOF
		done
	done | tail -n +2 >requests
	curl -K requests || fail "$1"
}

# has_sizes FOLDER: each result is 60 x 45, and those of the GIF 2 x 1
has_sizes() {
	local result size
	for result in "$1"/*; do
		get "$result" format=ppm plain
		size='60 45'
		[[ $result != */gif.* ]] || size='2 1'
		[ "$(sed -n 2p plain | tr -d '\0')" = "$size" ] ||
			fail "$result: $(head -c 20 plain)"
	done
}

start
mapfile -t formats < <(formats | tr ' ' '\n')
[ ${#formats[@]} -gt 1 ] || fail "formats: ${formats[*]}"
make_uploads
make_results first
has_sizes first
stop
for policy in $("$DARKROOM" --list-policies | awk '{print $1}'); do
	start --policy "$policy"
	make_results "$policy"
	stop
	diff -rq first "$policy" || fail "$policy: other bytes"
done
count=$(find first -type f | wc -l)
[ "$count" -ge 4 ] || fail "$count pairs"
echo "$count pairs"
