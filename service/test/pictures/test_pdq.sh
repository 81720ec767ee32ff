#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pdq=1: the hash of an upload hardly depends on its size, format and quality, nor
# on what is asked for; it is in the reply, in JSON and in the log.
# --block-list: a picture whose hash is near to one of the list is refused, also
# after SIGHUP and in a sandbox; a broken list changes nothing.
#
# usage: DARKROOM=PROGRAM [SANITIZED=1] test_pdq.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
samples=$(realpath "$1")
photo=$samples/clownfish.jpg # 2000 x 1500
sandbox=(--sandbox require)
[ -z "${SANITIZED:-}" ] || sandbox=()
cd "$work"

# hash_of FILE QUERY
hash_of() {
	curl -fsS -o result -D head --data-binary "@$1" "$url/?pdq=1&$2" ||
		fail "$1 $2"
	tr -d '\r' <head | sed -n 's/^[Xx]-[Pp][Dd][Qq]: //p'
}
# distance A B: bits that differ
distance() {
	local i bits=0 x
	for ((i = 0; i < 64; i++)); do
		x=$((16#${1:i:1} ^ 16#${2:i:1}))
		bits=$((bits + (x & 1) + (x >> 1 & 1) + (x >> 2 & 1) + (x >> 3)))
	done
	echo $bits
}
# near A B
near() {
	[ "$(distance "$1" "$2")" -le 20 ] || fail "$(distance "$1" "$2") bits: $1 $2"
}

test_a_picture_keeps_its_hash() {
	local whole format other
	whole=$(hash_of "$photo" '')
	[ ${#whole} = 64 ] || fail "no hash: $(shown head)"
	[ "$(distance "$whole" "$(hash_of "$samples/lionfish.jpg" '')")" -ge 60 ] ||
		fail "another photo has nearly the same hash"
	for query in w=16 'crop=0,0,100,100&w=50' 'rotate=90&grayscale=1'; do
		near "$whole" "$(hash_of "$photo" "$query")"
	done
	for format in $(stat_of .formats | tr '[]",' ' '); do
		case $format in gif | heic) continue ;; esac
		curl -fsS --data-binary "@$photo" -o copy \
			"$url/?w=500&q=50&format=$format"
		near "$whole" "$(hash_of copy w=20)"
	done
	# a picture that EXIF turns has the hash of what is seen
	{
		printf '\xff\xd8\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\10\0\1'
		printf '\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0'
		curl -fsS --data-binary "@$photo" "$url/" | tail -c +3
	} >stored.jpg
	curl -fsS --data-binary @stored.jpg -o turned "$url/"
	other=$(hash_of turned '')
	[ "$(distance "$whole" "$other")" -ge 60 ] || fail "it is not turned"
	near "$other" "$(hash_of stored.jpg '')"
}

test_it_is_in_json_and_in_the_log() {
	local whole
	whole=$(hash_of "$photo" w=300)
	curl -fsS -H 'Accept: application/json' --data-binary "@$photo" \
		"$url/?w=300&pdq=1" >json
	[ "$(jq -r .pdq.hash json)" = "$whole" ] || fail "$(jq -c .pdq json)"
	[ "$(jq .pdq.quality json)" -ge 50 ] || fail "$(jq -c .pdq json)"
	has -F "$whole" <log || fail "not in the log"
	curl -fsS -D head --data-binary "@$photo" "$url/?w=300" -o result
	! has -i x-pdq <head || fail "nobody asked for it"
}

start
test_a_picture_keeps_its_hash
test_it_is_in_json_and_in_the_log
check_drained
stop
