#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# nginx, configured by deploy/nginx-store.conf, serves the pictures of a store
# over HTTPS, with the headers of the server's own replies: from the disk if it is
# in the server's group, as the file says, and else through the server.  Folder
# and files have the modes of the unit.  All other requests go to the server,
# which also says what is too large.  docs/operations/deploy.md has a location below a
# path for it.
#
# As root, the server and nginx's workers are different users; otherwise nginx can
# read all that the server can.
#
# usage: DARKROOM=PROGRAM test_served.sh SAMPLES_DIR DEPLOY_DIR
dir=$1
deploy=$2
kind=nginx
. "$(dirname "$0")/proxy.sh"
have openssl || exit 77
unit=$deploy/darkroom.service
conf=$deploy/nginx-store.conf
chmod 711 "$work"
mkdir "$work/store"

# of_unit KEY: print its value in the unit
of_unit() {
	sed -n "s/^$1=//p" "$unit"
}

# The server runs as the unit says.
chmod "$(of_unit StateDirectoryMode)" "$work/store"
as_user=()
if [ "$(id -u)" = 0 ]; then
	as_user=(setpriv --reuid nobody --regid games --clear-groups)
	"${as_user[@]}" test -x "$DARKROOM" ||
		fail "nobody may not run $DARKROOM, and root must not"
	chown nobody:games "$work/store"
fi
cat >"$work/as_unit" <<END
#!/bin/sh
umask $(of_unit UMask)
exec ${as_user[*]} "$DARKROOM" "\$@"
END
chmod 755 "$work/as_unit"
DARKROOM=$work/as_unit

# get STATUS PATH [CURL-ARGUMENTS...]: expect this status
get() {
	local status=$1 path=$2 got
	shift 2
	got=$(curl -sS --path-as-is -o "$work/body" -D "$work/head" \
		-w '%{http_code}' "$@" "$front$path")
	[ "$got" = "$status" ] || fail "status $got, not $status: $path $*"
}

# header NAME: print its value in the last reply
header() {
	sed -n "s/^$1: \(.*\)\r$/\1/Ip" "$work/head"
}

by_nginx() {
	[ -z "$(header X-Request-Id)" ] || fail "not by nginx"
}

by_darkroom() {
	[ -n "$(header X-Request-Id)" ] || fail "not by darkroom"
}

# What browsers and caches go by.
promises() {
	grep -iE '^(content-(type|security-policy|length)|cache-control|cross-|x-content-|accept-ranges)' \
		"$work/head" | tr 'A-Z' 'a-z' | sort
}

edits=() # of the configuration, for sed
# start_site USER GROUP: nginx with this configuration, its workers with these
# rights
start_site() {
	local name temporary='' user=''
	[ "$(id -u)" != 0 ] || user="user $1 $2;"
	for name in client_body proxy fastcgi uwsgi scgi; do
		temporary+="${name}_temp_path $work/$name; "
	done
	{
		echo "$user events {} http { access_log off; $temporary"
		sed -e "s/127\.0\.0\.1:8080/${addresses[0]}/" \
			-e '/listen \[::\]/d' \
			-e "s/listen 80;/listen ${addresses[1]};/" \
			-e "s/listen 443 ssl;/listen ${addresses[2]} ssl;/" \
			-e "s|/etc/letsencrypt/live/photos.example|$work|" \
			-e "s|/var/lib/darkroom|$work/store|" \
			-e "s|client_max_body_size .*;|client_max_body_size 2m;|" \
			-e "/ssl_protocols/r $work/below" "${edits[@]}" "$conf"
		echo "server { listen unix:$work/site;"
		cat "$work/below"
		echo '} }'
	} >"$work/conf"
	nginx -p "$work" -c "$work/conf" -e "$work/proxylog" \
		-g "daemon off; pid $work/pid;" &
	proxy=$!
	proxy_answers
}

stop_site() {
	kill -TERM "$proxy"
	wait "$proxy" || true
}

store_a_picture() {
	get 201 /v1/images?w=99 --data-binary "@$dir/clownfish.jpg"
	image=$("$JSON_VALUE" .url <"$work/body")
	picture=$(jq -r '.variants[0].url' "$work/body")
	sha256=$(jq -r '.variants[0].sha256' "$work/body")
}

is_the_picture() {
	get 200 "$picture"
	[ "$(sha256sum <"$work/body")" = "$sha256  -" ] || fail "another picture"
}

test_nginx_serves_pictures() {
	local etag path
	store_a_picture
	is_the_picture
	by_nginx
	promises >"$work/promises"
	curl -sS -D "$work/head" -o "$work/body" "http://${addresses[0]}$picture"
	promises | diff "$work/promises" - ||
		fail "< nginx, > darkroom: other headers"
	[ "$(wc -l <"$work/promises")" = 7 ] || fail "$(cat "$work/promises")"
	get 200 "$picture"
	etag=$(header ETag)
	get 304 "$picture" -H "If-None-Match: $etag"
	get 206 "$picture" -H 'Range: bytes=0-9'
	get 200 "$picture" --head
	by_nginx
	get 405 "$picture" -X DELETE
	by_darkroom

	get 200 "$image"
	by_darkroom
	cp "$dir/clownfish.jpg" "$work/secret.jpg"
	chmod 644 "$work/secret.jpg"
	ln -s "$work/secret.jpg" \
		"$work/store/${image:11:2}/${image#/v1/images/}/link.jpg"
	for path in "$image/other" "$image/link" "$image/meta" \
		"$image/../image" "/v1/images/..${image:13}/image" \
		/v1/images/tmp/image; do
		get 404 "$path"
		[ "$("$JSON_VALUE" .code <"$work/body")" = not_found ] ||
			fail "$path: $(shown "$work/body")"
	done
	get 204 "$image" -X DELETE
	get 404 "$picture"
	by_darkroom
}

test_darkroom_says_what_is_too_large() {
	local size
	for size in 1100000 2200000; do
		head -c $size /dev/zero >"$work/large"
		get 413 '/?w=9' --data-binary "@$work/large"
		[ "$(header Content-Type)" = application/problem+json ] &&
			[ "$("$JSON_VALUE" .code <"$work/body")" = body_too_large ] ||
			fail "$size: $(shown "$work/body")"
		[ $size -gt 2000000 ] || by_darkroom
	done
	get 414 "/?w=9&$(printf 'a%.0s' {1..17000})" --data-binary x
	by_darkroom
}

test_http_leads_to_https() {
	local got
	got=$(curl -sS -o "$work/body" -w '%{http_code} %{redirect_url}' \
		"http://${addresses[1]}/v1/images?w=9" --data x)
	[ "$got" = '308 https://photos.example/v1/images?w=9' ] || fail "$got"
}

# The location below a path that docs/operations/deploy.md shows.
test_below_a_path() {
	get 201 /photos/v1/images?w=98 --data-binary "@$dir/clownfish.jpg" \
		-H 'X-Forwarded-Host: evil.example' -H 'X-Forwarded-Prefix: /x'
	image=$("$JSON_VALUE" .url <"$work/body")
	[[ $image == /photos/v1/images/* ]] || fail "not below: $image"
	get 200 "$image"
	get 421 "$image" -H 'Host: evil.example'
	get 204 "$image" -X DELETE
}

# The same location in a site that has nothing else, as of a LAN: nginx's own
# limits do not come first, and the page's origin is Host.
test_below_a_path_of_any_site() {
	local front=http://10.9.9.9:3000 site=(--unix-socket "$work/site")
	head -c 1100000 /dev/zero >"$work/large"
	get 413 /photos/?w=9 "${site[@]}" --data-binary "@$work/large"
	by_darkroom
	get 200 /photos/?w=9 "${site[@]}" -H "Origin: $front" \
		--data-binary "@$dir/clownfish.jpg"
}

# With the line for sites without keys, images stay.
test_nobody_deletes() {
	store_a_picture
	get 403 "$image" -X DELETE
	get 403 "$image?w=9" -X DELETE
	get 405 "$picture" -X DELETE
	is_the_picture
}

# If nginx may not read the files, clients still get them.
test_pictures_come_anyway() {
	store_a_picture
	is_the_picture
	by_darkroom
	get 206 "$picture" -H 'Range: bytes=0-9'
	get 405 "$picture" -X DELETE
	! "${as_user[@]}" find "$work/store" -perm /007 | grep . ||
		fail "everybody may read the store"
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
	-subj /CN=photos.example -addext 'subjectAltName=IP:127.0.0.1' \
	-keyout "$work/privkey.pem" -out "$work/fullchain.pem" \
	>"$work/openssl" 2>&1 || fail "$(cat "$work/openssl")"
export CURL_CA_BUNDLE=$work/fullchain.pem
sed -n '/^location \/photos\/ {$/,/^}$/p' "$deploy/../docs/operations/deploy.md" \
	>"$work/below"
free_ports
front=https://${addresses[2]}
start_one 0 --store "$work/store" --max-body 1M
start_site daemon games
test_nginx_serves_pictures
test_darkroom_says_what_is_too_large
test_http_leads_to_https
inside_stays_inside
clients_choose_no_urls
test_below_a_path
test_below_a_path_of_any_site
stop_site
edits=(-e 's/#\(if ($request_method = DELETE)\)/\1/')
start_site daemon games
test_nobody_deletes
stop_site
edits=()
if [ "$(id -u)" = 0 ]; then
	start_site daemon daemon
	test_pictures_come_anyway
	stop_site
else
	echo "skipped: needs root for a proxy that may not read the store"
fi
stop_one 0
