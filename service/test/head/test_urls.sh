#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Location and every `url` begin with what leads to this server: --public-url,
# or what a trusted proxy says; otherwise they are paths.  No other client can
# choose them.
#
# usage: DARKROOM=PROGRAM test_urls.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
photo=$work/photo.jpg

# urls: the addresses in the reply in $work/head and $work/body, one in a line
urls() {
	sed -n 's/^Location: \(.*\)\r$/\1/Ip' "$work/head"
	grep -o '"url":"[^"]*"' "$work/body" | cut -d '"' -f 4
}

# begin_with BASE: all of them are BASE/v1/images/$id...
begin_with() {
	local line
	urls >"$work/urls"
	[ -s "$work/urls" ] || fail "no addresses: $(shown "$work/body")"
	while read -r line; do
		case $line in
		"$1/v1/images/$id" | "$1/v1/images/$id/a" | \
			"$1/v1/images/$id/b") ;;
		*) fail "$line does not begin with '$1'" ;;
		esac
	done <"$work/urls"
}

# asks BASE CURL-ARGUMENTS...: with these headers, the addresses in the replies
# to an upload, to one that is answered early, and to a GET begin with BASE
asks() {
	local base=$1
	shift
	curl -fsS -D "$work/head" -o "$work/body" "$@" --data-binary "@$photo" \
		"$url/v1/images?variant=a:w=20&variant=b:w=10" || fail "$*"
	id=$("$JSON_VALUE" .id <"$work/body")
	begin_with "$base"
	[ "$(wc -l <"$work/urls")" = 4 ] || fail "$(cat "$work/urls")"
	is_sealed
	curl -fsS -D "$work/head" -o "$work/body" "$@" "$url/v1/images/$id"
	begin_with "$base"
	[ "$(wc -l <"$work/urls")" = 3 ] || fail "$(cat "$work/urls")"
	is_sealed
	curl -fsS -D "$work/head" -o "$work/body" "$@" --data-binary "@$photo" \
		"$url/v1/images?variant=a:w=$((++width))&respond=decoded"
	id=$("$JSON_VALUE" .id <"$work/body")
	begin_with "$base"
}

# Its checksum is that of the text that was sent.
is_sealed() {
	local told
	told=$("$JSON_VALUE" .meta_sha256 <"$work/body")
	[ "$(sed 's/,"meta_sha256":.*//' "$work/body" | tr -d '\n' | sha256sum)" = \
		"$told  -" ] || fail "another checksum: $(shown "$work/body")"
}

test_paths() {
	start --store "$work/store" --trusted-proxies none
	asks ''
	# Not from a trusted proxy.
	asks '' -H 'X-Forwarded-Host: evil.example' \
		-H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Prefix: /x'
	stop
}

test_a_proxy_says_it() {
	local value
	start --store "$work/store" # the default trusts this machine
	asks ''
	asks /app -H 'X-Forwarded-Prefix: /app'
	asks /app/b -H 'X-Forwarded-Prefix: /app/b/'
	asks '' -H 'X-Forwarded-Prefix: /'
	asks http://photos.example -H 'X-Forwarded-Host: photos.example'
	asks https://photos.example:8443/app -H 'X-Forwarded-Proto: HTTPS' \
		-H 'X-Forwarded-Host: photos.example:8443' \
		-H 'X-Forwarded-Prefix: /app'
	# A chain of proxies: what the first one was asked for.
	asks https://photos.example -H 'X-Forwarded-Proto: https, http' \
		-H 'X-Forwarded-Host: photos.example, inner'
	asks '' -H 'X-Forwarded-Proto: https'
	# What is not valid is ignored.
	for value in //evil.example app '/a"b' '/a\b' '/a b' '/a<b' '/a?b' \
		"/$(printf 'a%.0s' {1..400})"; do
		asks '' -H "X-Forwarded-Prefix: $value"
	done
	for value in 'a"b' 'a/b' 'a@b' 'a b' 'a<b' ':80' '[::1' 'a:b:c]' '..' \
		'a..b' 'a:99999' 'a:' '[]' \
		"$(printf 'a%.0s' {1..400})"; do
		asks '' -H "X-Forwarded-Host: $value"
	done
	asks http://photos.example -H 'X-Forwarded-Host: photos.example' \
		-H 'X-Forwarded-Proto: javascript'
	stop
}

# told CURL-ARGUMENTS...: the ETag in the reply, whose body is then in
# $work/body
told() {
	curl -fsS -D - -o "$work/body" "$@" |
		sed -n 's/^ETag: \(.*\)\r$/\1/Ip'
}

# status CURL-ARGUMENTS...
status() {
	curl -sS -o "$work/body" -w '%{http_code}' "$@"
}

# A text with other addresses is another one, also for caches.
test_each_base_has_its_etag() {
	local here there app=(-H 'X-Forwarded-Prefix: /app')
	start --store "$work/store"
	# The 201 has the ETag that a GET with the same base has.
	there=$(told "${app[@]}" --data-binary "@$photo" \
		"$url/v1/images?w=$((++width))")
	id=$("$JSON_VALUE" .id <"$work/body")
	[ "$there" = "$(told "${app[@]}" "$url/v1/images/$id")" ] &&
		[ -n "$there" ] || fail "ETag: $there"
	here=$(told "$url/v1/images/$id")
	[ -n "$here" ] && [ "$here" != "$there" ] ||
		fail "one ETag for two texts: $here"
	[ "$(status -H "If-None-Match: $here" "$url/v1/images/$id")" = 304 ] ||
		fail "its own ETag is not known"
	[ "$(status -H "If-None-Match: $here" "${app[@]}" \
		"$url/v1/images/$id")" = 200 ] || fail "the other is not sent"
	[ "$(status -H "If-Match: $there" "${app[@]}" -X DELETE \
		"$url/v1/images/$id")" = 204 ] || fail "$(shown "$work/body")"
	stop
}

# --public-url has the last word, and its host is ours.
test_a_flag_says_it() {
	start --store "$work/store" --public-url https://photos.example/app/
	asks https://photos.example/app
	asks https://photos.example/app -H 'X-Forwarded-Host: evil.example' \
		-H 'X-Forwarded-Prefix: /x' -H 'Host: Photos.example:443'
	expect_problem 421 wrong_host -H 'Host: evil.example' "$url/stats"
	stop
	start --store "$work/store" --public-url /app
	asks /app
	expect_problem 421 wrong_host -H 'Host: app' -H 'Origin: http://app' \
		"$url/stats"
	stop
}

test_wrong_flags() {
	local value
	for value in '' photos.example ftp://photos.example https:// https:///a \
		https://photos.example?a=b https://photos.example/a#b //x.example \
		'https://photos.example/a b' "https://me@photos.example" \
		"https://photos.example/$(printf 'a%.0s' {1..300})"; do
		refuses --public-url --check-config --public-url "$value"
	done
	refuses --admin-url --check-config --admin-listen 127.0.0.1:0 \
		--admin-url /app
	refuses 'needs --admin-listen' --check-config \
		--admin-url http://localhost:19090
	"$DARKROOM" --check-config --public-url 'http://[::1]:8080' ||
		fail "an address is refused"
}

width=30
start
curl -fsS --data-binary "@$1/clownfish.jpg" "$url/?w=320" -o "$photo"
stop
mkdir "$work/store"
test_wrong_flags
test_paths
test_a_proxy_says_it
test_each_base_has_its_etag
test_a_flag_says_it
