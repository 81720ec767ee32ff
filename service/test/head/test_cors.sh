#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CORS: pages of the origins in --cors-origin may use the main port from a
# browser and read its replies; what pages of other origins send is refused
# before it is processed, also with a signature.
#
# usage: DARKROOM=PROGRAM test_cors.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg

shop=https://shop.example
evil=https://evil.example
key=api-key-0123456789
sign_key=sign-key-0123456789
printf '%s\n' "$key" >"$work/api.keys"
printf '%s\n' "$sign_key" >"$work/sign.keys"
chmod 600 "$work"/*.keys
mkdir "$work/store"

# header NAME: its values in the last reply, each on a line
header() {
	tr -d '\r' <"$work/head" | sed -n "s/^$1: //Ip"
}

# answers STATUS CURL-ARGUMENTS...
answers() {
	local status wanted=$1
	shift
	status=$(curl -sS -m 60 -D "$work/head" -o "$work/body" \
		-w '%{http_code}' "$@")
	[ "$status" = "$wanted" ] ||
		fail "$* gets $status, not $wanted: $(shown "$work/body")"
}

# may_read ORIGIN: the last reply says that pages of this origin may read it
may_read() {
	[ "$(header Access-Control-Allow-Origin)" = "$1" ] ||
		fail "not for $1: $(cat "$work/head")"
	header Access-Control-Expose-Headers | has Location &&
		header Access-Control-Expose-Headers | has Server-Timing ||
		fail "headers are hidden"
	! header Access-Control-Allow-Credentials | has . || fail "credentials"
}

# nobody_may_read: the last reply is for no page of another origin
nobody_may_read() {
	! grep -qi '^access-control' "$work/head" ||
		fail "may be read: $(cat "$work/head")"
}

# preflight STATUS ORIGIN PATH: as a browser asks whether it may POST
preflight() {
	answers "$1" -X OPTIONS -H "Origin: $2" \
		-H 'Access-Control-Request-Method: POST' \
		-H 'Access-Control-Request-Headers: authorization,content-type' \
		-H 'Sec-Fetch-Mode: cors' -H 'Sec-Fetch-Site: cross-site' "$url$3"
}

# uploads_sent: how many have reached the pipeline
uploads_sent() {
	curl -fsS ${1+-H "Authorization: Bearer $1"} "$url/stats" |
		jq .uploads.sent
}

# signed PATH: this path with a signature of a POST
signed() {
	local expires=$(($(date +%s) + 600))
	printf '%s?expires=%s&w=64&signature=%s' "$1" "$expires" \
		"$(printf 'POST\n%s\nexpires=%s\nw=64\n' "$1" "$expires" |
			openssl dgst -sha256 -hmac "$sign_key" -r | cut -d' ' -f1)"
}

test_without_the_flag_no_page_of_another_origin_may() {
	start --store "$work/store"
	preflight 403 $shop /
	nobody_may_read
	answers 403 -H "Origin: $shop" --data-binary "@$photo" "$url/?w=64"
	nobody_may_read
	answers 200 --data-binary "@$photo" "$url/?w=64"
	nobody_may_read
	stop
}

test_options_names_the_methods_of_a_path() {
	start --store "$work/store"
	answers 204 -X OPTIONS "$url/"
	[ "$(header Allow)" = 'GET, HEAD, POST, OPTIONS' ] ||
		fail "$(header Allow)"
	[ ! -s "$work/body" ] || fail "a body: $(shown "$work/body")"
	answers 204 -X OPTIONS "$url/v1/images/x"
	[ "$(header Allow)" = 'GET, HEAD, POST, DELETE, OPTIONS' ] ||
		fail "$(header Allow)"
	answers 404 -X OPTIONS "$url/v2"
	answers 405 -X PUT --data x "$url/"
	[ "$(header Allow)" = 'GET, HEAD, POST, OPTIONS' ] ||
		fail "$(header Allow)"
	stop
}

test_pages_of_the_list_may() {
	local image origin
	start --store "$work/store" --cors-max-age 600s \
		--cors-origin "$shop,http://other.example:8080"
	for origin in $shop http://other.example:8080; do
		preflight 204 $origin /v1/images
		may_read $origin
		[ "$(header Access-Control-Max-Age)" = 600 ] || fail "remembered"
		header Access-Control-Allow-Methods | has POST || fail "methods"
		# As * is not Authorization.
		[ "$(header Access-Control-Allow-Headers)" = \
			'*, Authorization' ] || fail "headers"
		answers 200 -H "Origin: $origin" -H 'Sec-Fetch-Site: cross-site' \
			--data-binary "@$photo" "$url/?w=64"
		may_read $origin
		[ "$(header Vary)" = 'Accept, Origin' ] || fail "$(header Vary)"
		answers 201 -H "Origin: $origin" -H 'Sec-Fetch-Site: same-site' \
			-F "file=@$photo" "$url/v1/images?w=64"
		may_read $origin
		image=$("$JSON_VALUE" .url <"$work/body")
		answers 200 -H "Origin: $origin" "$url$image/image"
		may_read $origin
		# Refusals, too: of the head, of the picture, of the path.
		answers 400 -H "Origin: $origin" --data-binary "@$photo" \
			"$url/?w=x"
		may_read $origin
		answers 415 -H "Origin: $origin" --data-binary "@$0" "$url/"
		may_read $origin
		answers 404 -H "Origin: $origin" "$url/v2"
		may_read $origin
		answers 414 -H "Origin: $origin" --data-binary "@$photo" \
			"$url/?w=$(printf '1%.0s' {1..20000})"
		may_read $origin
		answers 204 -H "Origin: $origin" -X DELETE "$url$image"
		may_read $origin
	done
	# A cache must not give a page what was made for no page, or for another.
	answers 404 "$url/v1/images/x/image"
	[ "$(header Vary)" = Origin ] || fail "$(header Vary)"
	nobody_may_read
	stop
}

test_other_pages_may_not() {
	local origin sent
	start --store "$work/store" --cors-origin $shop
	sent=$(uploads_sent)
	for origin in $evil null $shop.evil.example http://shop.example \
		$shop:8443; do
		preflight 403 "$origin" /
		nobody_may_read
		"$JSON_VALUE" .detail <"$work/body" | has -F -- --cors-origin ||
			fail "no hint: $(shown "$work/body")"
		answers 403 -H "Origin: $origin" --data-binary "@$photo" \
			"$url/?w=64"
		nobody_may_read
		answers 403 -H "Origin: $origin" -X DELETE "$url/v1/images/x"
	done
	[ "$(uploads_sent)" = "$sent" ] || fail "an upload was processed"
	answers 400 -H "Origin: $shop" -H "Origin: $evil" \
		--data-binary "@$photo" "$url/?w=64"
	nobody_may_read
	# Reports are for no page but our own.
	for origin in $evil $shop; do
		answers 403 -H "Origin: $origin" "$url/stats"
		nobody_may_read
	done
	preflight 403 $shop /stats
	nobody_may_read
	answers 204 -X OPTIONS "$url/stats"
	# Nor a name that was made to point here.
	answers 421 -H "Origin: $shop" -H 'Host: evil.example' \
		--data-binary "@$photo" "$url/?w=64"
	stop
}

test_with_keys() {
	local sent target
	start --cors-origin $shop --api-key-file "$work/api.keys" \
		--sign-key-file "$work/sign.keys"
	sent=$(uploads_sent $key)
	preflight 204 $shop / # browsers send no key with it
	may_read $shop
	answers 401 -H "Origin: $shop" --data-binary "@$photo" "$url/?w=64"
	may_read $shop
	answers 200 -H "Origin: $shop" -H "Authorization: Bearer $key" \
		--data-binary "@$photo" "$url/?w=64"
	may_read $shop
	target=$(signed /)
	answers 200 -H "Origin: $shop" --data-binary "@$photo" "$url$target"
	may_read $shop
	answers 200 --data-binary "@$photo" "$url$target"
	answers 200 -H "Origin: $url" --data-binary "@$photo" "$url$target"
	[ "$(uploads_sent $key)" = $((sent + 4)) ] || fail "not all were sent"
	# A browser sends this without asking: it is refused here.
	answers 403 -H "Origin: $evil" -F "file=@$photo" "$url$target"
	nobody_may_read
	[ "$("$JSON_VALUE" .code <"$work/body")" = cross_site ] || fail "the code"
	answers 403 -H 'Sec-Fetch-Site: cross-site' -F "file=@$photo" \
		"$url$target"
	[ "$(uploads_sent $key)" = $((sent + 4)) ] || fail "one was processed"
	stop
}

test_pages_of_any_origin() {
	start --store "$work/store" --cors-origin '*'
	preflight 204 $evil /
	may_read '*'
	answers 200 -H "Origin: $evil" --data-binary "@$photo" "$url/?w=64"
	may_read '*'
	# Also without Origin: a cache may give it to any page.
	answers 404 "$url/v1/images/x/image"
	may_read '*'
	! header Vary | has Origin || fail "$(header Vary)"
	stop
}

test_wrong_lists_are_refused() {
	local list
	for list in null shop.example $shop/ $shop:443 "$shop, $evil" "$shop,"; do
		refuses "--cors-origin: '$list'" --check-config \
			--cors-origin "$list"
	done
}

test_wrong_lists_are_refused
test_without_the_flag_no_page_of_another_origin_may
test_options_names_the_methods_of_a_path
test_pages_of_the_list_may
test_other_pages_may_not
test_with_keys
test_pages_of_any_origin
