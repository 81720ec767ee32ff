#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# format=auto: the format of a result is by the Accept of its upload, and from
# then on it is as if the upload had named that format.  --formats is the list,
# and makes auto the default.  PPM, which is always built in, stands for formats
# that not all clients can show.
#
# usage: DARKROOM=PROGRAM test_accept.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
export LC_ALL=C
photo=small.jpg
ppm=image/x-portable-anymap
cd "$work"

# post ACCEPT PATH CURL-ARGUMENTS...: upload the photo; the reply is in `body`,
# its status and type in $got.  ACCEPT '': the header is not sent.
post() {
	local accept=$1 path=$2
	shift 2
	[ $# -gt 0 ] || set -- --data-binary "@$photo"
	got=$(curl -sS -o body -D head -w '%{http_code} %{content_type}' \
		-H "Accept:${accept:+ $accept}" "$@" "$url$path")
}

# gets TYPE ACCEPT PATH CURL-ARGUMENTS...: the reply is 200 and of this type, and
# depends on Accept, as it says
gets() {
	local type=$1
	shift
	post "$@"
	[ "$got" = "200 $type" ] || fail "$*: $got, not $type: $(shown body)"
	says_vary
}

says_vary() {
	[ "$(tr -d '\r' <head | grep -ci '^vary:')" = 1 ] &&
		tr -d '\r' <head | grep -qix 'vary: accept' ||
		fail "Vary: $(cat head)"
}

# store ACCEPT QUERY: $id is that of the stored image
store() {
	post "$1" "/v1/images?$2"
	[ "$got" = '201 application/json' ] || fail "$*: $got $(shown body)"
	says_vary
	id=$("$JSON_VALUE" .id <body)
}

test_without_a_list() {
	gets image/jpeg '*/*' '/?w=20&format=auto'
	gets image/jpeg '' '/?w=20&format=auto'
	gets image/jpeg 'text/html' '/v1/process?w=20&format=auto'
	# Of formats that are not in the usual list none is chosen.
	gets image/jpeg "$ppm" '/?w=20&format=auto'
	# Nobody has asked for auto.
	gets image/jpeg "$ppm,image/webp" '/?w=20'
	gets "$ppm" 'image/jpeg' '/?w=20&format=ppm'
	if "$PRINT_PARAMETERS" list | grep '^format.*\bwebp\b' >/dev/null; then
		gets image/webp 'image/webp,*/*' '/?w=20&format=auto'
		gets image/jpeg 'image/webp;q=0,*/*' '/?w=20&format=auto'
		gets image/jpeg 'image/webp' '/?w=20'
	fi
	if "$PRINT_PARAMETERS" list | grep '^format.*\bjxl\b' >/dev/null; then
		gets image/jxl 'image/jxl,*/*' '/?w=20&format=auto'
		gets image/jpeg 'image/jxl;q=0,*/*' '/?w=20&format=auto'
		gets image/jpeg 'image/*' '/?w=20&format=auto'
	fi
}

test_a_list_makes_auto_the_default() {
	gets "$ppm" "$ppm,*/*" '/?w=20'
	gets "$ppm" "$ppm" '/?w=20&format=auto'
	gets image/jpeg '*/*' '/?w=20'
	gets image/jpeg 'image/*' '/?w=20'
	gets image/jpeg '' '/?w=20'
	gets image/jpeg "$ppm;q=0.5,image/jpeg;q=0.6" '/?w=20'
	gets image/jpeg "$ppm;q=0,*/*" '/?w=20'
	gets image/jpeg "$ppm" '/?w=20&format=jpeg'
	gets "$ppm" '*/*' '/?w=20&format=ppm'
	# A field of a form comes after the head.
	gets "$ppm" "$ppm" '/' -F "file=@$photo" -F w=20
	gets "$ppm" "$ppm" '/' -F "file=@$photo" -F w=20 -F format=auto
	gets image/jpeg "$ppm" '/' -F "file=@$photo" -F w=20 -F format=jpeg
}

test_several_results() {
	local query='w=20&variant=a:format=auto&variant=b:format=jpeg'
	gets application/json "application/json,$ppm;q=0.5" "/?$query"
	grep -q "\"type\":\"$ppm\".*\"type\":\"image/jpeg\"" body ||
		fail "$(shown body)"
	gets application/json 'application/json' "/?$query"
	! grep -q "$ppm" body || fail "$(shown body)"
	post "$ppm" "/?$query"
	[[ $got = '200 multipart/mixed;'* ]] || fail "$got"
	grep -aq 'name="a"; filename="a.ppm"' body || fail "no a.ppm"
	grep -aq 'name="b"; filename="b.jpg"' body || fail "no b.jpg"
}

test_presets() {
	gets "$ppm" "$ppm" '/?variant=any'
	gets image/jpeg '*/*' '/?variant=any'
	gets image/jpeg "$ppm" '/?variant=plain'
	# It is as all other variants of the upload.
	gets "$ppm" "$ppm" '/?variant=small'
	gets image/jpeg "$ppm" '/?variant=small&format=jpeg'
}

# What is refused may depend on the format.
test_refusals_vary_too() {
	expect_problem 415 not_a_jpeg --data-binary 'some text' "$url/?format=auto"
	says_vary
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?format=Auto"
	says_vary
}

# An image has one id, whoever has chosen its format; reading it depends on
# nothing.
test_ids_are_those_of_the_format() {
	local of_ppm of_jpeg
	store '*/*' w=40\&format=ppm
	of_ppm=$id
	store '*/*' w=40\&format=jpeg
	of_jpeg=$id
	[ "$of_ppm" != "$of_jpeg" ] || fail "the format does not change the id"
	store "$ppm" w=40
	[ "$id" = "$of_ppm" ] || fail "another id of a PPM: $id"
	store "$ppm" w=40\&format=auto
	[ "$id" = "$of_ppm" ] || fail "another id of a PPM: $id"
	store '*/*' w=40
	[ "$id" = "$of_jpeg" ] || fail "another id of a JPEG: $id"
	got=$(curl -sS -o body -D head -w '%{http_code} %{content_type}' \
		-H 'Accept: image/jpeg' "$url/v1/images/$of_ppm/image")
	[ "$got" = "200 $ppm" ] || fail "$got"
	! grep -qi '^vary' head || fail "$(cat head)"
	# A server without the list finds what this one has stored.
	stop
	start --store store
	store "$ppm" w=40
	[ "$id" = "$of_jpeg" ] || fail "another id of a JPEG: $id"
	stop
}

# The upload may be written to the spool, and made from there.
test_accepted_uploads_keep_their_format() {
	local _
	post "$ppm" '/v1/images?variant=a:w=41&respond=decoded'
	id=$("$JSON_VALUE" .id <body)
	for _ in $patience; do
		got=$(curl -sS -o body -w '%{http_code} %{content_type}' \
			"$url/v1/images/$id/a")
		[[ $got = 404* || $got = 202* ]] || break
	done
	[ "$got" = "200 $ppm" ] || fail "$got $(shown body)"
}

# sign PARAMETER...: print the signed query for POST /
sign() {
	local expires=$(($(date +%s) + 3600)) signature IFS
	signature=$({
		printf 'POST\n/\n'
		printf '%s\n' "$@" "expires=$expires" | sort
	} | openssl dgst -sha256 -hmac sign-key-0123456789-one -r |
		cut -d' ' -f1)
	IFS='&'
	printf '%s' "$*&expires=$expires&signature=$signature"
}

# Accept is not signed, so each client may have a format of its own; but only
# what is signed says that it may.
test_a_signed_query_may_say_auto() {
	local query
	(umask 077 && echo sign-key-0123456789-one >sign.keys)
	start --formats ppm,jpeg --sign-key-file sign.keys
	query=$(sign w=20 format=auto)
	gets "$ppm" "$ppm" "/?$query"
	gets image/jpeg '*/*' "/?$query"
	post "$ppm" "/?${query/format=auto/format=ppm}"
	[ "${got%% *}" = 403 ] || fail "changed, and $got"
	post "$ppm" "/?${query/&format=auto/}"
	[ "${got%% *}" = 403 ] || fail "left out, and $got"
	query=$(sign w=20 format=jpeg)
	gets image/jpeg "$ppm" "/?$query"
	post "$ppm" "/?$query" -F "file=@$photo" -F format=auto
	[ "${got%% *}" = 403 ] || fail "a field, and $got"
	stop
}

test_bad_lists_refuse_to_start() {
	refuses "--formats: 'jpeg,tga': 'tga' is not built in; those that are: jpeg, " \
		--listen 127.0.0.1:0 --formats jpeg,tga
	refuses 'ppm' --check-config --formats tga
	refuses 'jpeg is given twice' --check-config --formats jpeg,ppm,jpeg
	refuses "'' is not built in" --check-config --formats jpeg,
	DARKROOM_FORMATS=auto refuses "DARKROOM_FORMATS: 'auto'" --check-config
	echo '{"formats": "ppm,gif"}' >config
	refuses "config: formats: 'ppm,gif'" --check-config --config config
}

test_a_list_from_a_file_or_variable() {
	echo '{"formats": "ppm,jpeg"}' >config
	start --config config
	gets "$ppm" "$ppm" '/?w=20'
	stop
	DARKROOM_FORMATS=ppm start
	# It is the only one.
	gets "$ppm" 'image/jpeg' '/?w=20'
	gets image/jpeg 'image/jpeg' '/?w=20&format=jpeg'
	stop
}

mkdir store
test_bad_lists_refuse_to_start
start
curl -fsS --data-binary "@$1/clownfish.jpg" -o $photo "$url/?w=64"
test_without_a_list
stop
start --formats ppm,jpeg --store store \
	--presets 'any:w=20,format=auto;plain:w=20,format=jpeg;small:w=20'
test_a_list_makes_auto_the_default
test_several_results
test_presets
test_refusals_vary_too
test_accepted_uploads_keep_their_format
stop
start --formats ppm,jpeg --store store
test_ids_are_those_of_the_format
test_a_signed_query_may_say_auto
test_a_list_from_a_file_or_variable
