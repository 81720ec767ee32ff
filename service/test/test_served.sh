#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx, configured as in docs/operations.md, serves the pictures of a store
# itself, with the same answers as the server.  All other requests go to the
# server.
#
# usage: DARKROOM=PROGRAM test_served.sh SAMPLES_DIR DEPLOY_DIR OPERATIONS_MD
. "$(dirname "$0")/nobody.sh"
dir=$1
deploy=$2
document=$3
kind=nginx
. "$(dirname "$0")/proxy.sh"
mkdir "$work/store" "$work/deploy"

# Insert the document's lines into nginx.conf, and use one server.
sed -n '/^```nginx$/,/^```$/{/^```/!p}' "$document" |
	sed "s|/srv/photos|$work/store|" >"$work/block"
[ -s "$work/block" ] || fail "nothing for nginx in $document"
sed -e '/127\.0\.0\.1:8082/d' -e "/client_max_body_size/r $work/block" \
	"$deploy/nginx.conf" >"$work/deploy/nginx.conf"
deploy=$work/deploy

# get STATUS PATH [CURL-ARGUMENTS...]: expect this status
get() {
	local status=$1 path=$2 got
	shift 2
	got=$(curl -sS --path-as-is -o "$work/body" -D "$work/head" \
		-w '%{http_code}' "$@" "$front$path")
	[ "$got" = "$status" ] || fail "status $got, not $status: $path $*"
}

header_is() {
	grep -qixF "$1" <(tr -d '\r' <"$work/head") ||
		fail "not $1: $(cat "$work/head")"
}

by_nginx() {
	! grep -qi '^x-request-id' "$work/head" || fail "not by nginx"
}

free_ports
start_one 0 --store "$work/store"
start_nginx
proxy_answers

get 201 /v1/images?w=99 --data-binary "@$dir/clownfish.jpg"
image=$(jq -r .url "$work/body")
picture=$(jq -r '.variants[0].url' "$work/body")
sha256=$(jq -r '.variants[0].sha256' "$work/body")
get 200 "$picture"
by_nginx
[ "$(sha256sum <"$work/body")" = "$sha256  -" ] || fail "another picture"
header_is 'Content-Type: image/jpeg'
header_is 'Cache-Control: public, max-age=31536000, immutable'
etag=$(sed -n 's/^ETag: \(.*\)\r$/\1/Ip' "$work/head")
get 304 "$picture" -H "If-None-Match: $etag"
get 206 "$picture" -H 'Range: bytes=0-9'
get 200 "$picture" --head
by_nginx
get 403 "$picture" -X DELETE

get 200 "$image"
header_is 'Cache-Control: no-cache'
cp "$dir/clownfish.jpg" "$work/secret.jpg"
ln -s "$work/secret.jpg" "$work/store/${image:11:2}/${image#/v1/images/}/link.jpg"
for path in "$image/other" "$image/meta" "$image/../image" \
	"/v1/images/..${image:13}/image" /v1/images/tmp/image; do
	get 404 "$path"
	[ "$(jq -r .code "$work/body")" = not_found ] ||
		fail "$path: $(shown "$work/body")"
done
get 403 "$image/link"
get 204 "$image" -X DELETE
get 404 "$picture"
stop_one 0
kill -TERM "$proxy"
wait "$proxy" || true
