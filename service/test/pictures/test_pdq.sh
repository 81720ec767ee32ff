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

# reload TEXT: send SIGHUP, and wait until the log has TEXT once more than before
reload() {
	local before _
	before=$(grep -cF -- "$1" log || true)
	kill -HUP "$server"
	for _ in $patience; do
		[ "$(grep -cF -- "$1" log)" -le "$before" ] || return 0
		sleep 0.05
	done
	fail "does not say: $1"
}
# status QUERY: of the photo
status() {
	curl -sS -o body -w '%{http_code}' --data-binary "@$photo" "$url/?$1"
}

# flipped HASH BITS: so many of its bits are others
flipped() {
	local i out=
	for ((i = 0; i < 64; i++)); do
		if [ $((i * 4)) -lt "$2" ]; then
			out+=$(printf %x $((15 - 16#${1:i:1})))
		else
			out+=${1:i:1}
		fi
	done
	echo "$out"
}

test_what_looks_like_the_list_is_refused() {
	local whole near other
	start
	whole=$(hash_of "$photo" w=300)
	other=$(hash_of "$samples/lionfish.jpg" w=300)
	stop
	near=$(flipped "$whole" 28)
	printf '# a comment\n\n%s\n' "$other" >list
	mkdir store
	start --block-list list --store store --log json "${sandbox[@]}"
	[ "$(status w=300)" = 200 ] || fail "$(shown body)"
	printf '%s\r\n%s a comment\n' "$other" "${near^^}" >list
	reload 'block list was read again: 2 hashes'
	[ "$(status w=300)" = 422 ] || fail "not refused: $(shown body)"
	[ "$("$JSON_VALUE" .code <body)" = blocked ] || fail "$(shown body)"
	! has -iF "$near" <body || fail "the reply names the entry"
	jq -e -c 'select(.code == "blocked") | .blocked_by == "'"$near"'" and
		.blocked_distance >= 20 and .pdq != null' log >found ||
		fail "the log does not name it"
	has -x true <found || fail "the log does not name it: $(tail -1 log)"
	# also cut, in another format, and if it is to be stored
	[ "$(status 'w=64&crop=0,0,99,99&format=png')" = 422 ] || fail cut
	expect_problem 422 blocked --data-binary "@$photo" \
		"$url/v1/images?w=200"
	expect_problem 422 blocked --data-binary "@$photo" \
		"$url/v1/images?w=200&respond=decoded"
	# a distance of its own
	printf '%s,12\n' "$near" >list
	reload '1 hashes'
	[ "$(status w=300)" = 200 ] || fail "$(shown body)"
	printf '%s,40\n' "$near" >list
	reload '1 hashes'
	[ "$(status w=300)" = 422 ] || fail "$(shown body)"
	# what is broken changes nothing
	for line in "${near}0" "${near%?}" "$near,65" "$near," "$near,4x"; do
		printf '%s\n%s\n' "$other" "$line" >list
		reload 'line 2 '
		[ "$(status w=300)" = 422 ] || fail "the list is lost"
	done
	rm list
	reload 'so does the block list'
	[ "$(status w=300)" = 422 ] || fail "the list is lost"
	check_drained
	stop
}

test_a_wrong_list_prevents_the_start() {
	echo "not a hash" >wrong
	! "$DARKROOM" --listen 127.0.0.1:0 --block-list wrong 2>err ||
		fail "it starts"
	has 'line 1 ' <err || fail "$(shown err)"
	! "$DARKROOM" --listen 127.0.0.1:0 --block-list missing 2>err ||
		fail "it starts"
	has missing <err || fail "$(shown err)"
}

start
test_a_picture_keeps_its_hash
test_it_is_in_json_and_in_the_log
check_drained
stop
test_what_looks_like_the_list_is_refused
test_a_wrong_list_prevents_the_start
