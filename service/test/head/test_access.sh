#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server without keys refuses requests that a page of another site made, and
# requests under a host name that is not its own.  It shows its reports to no
# other machine.  Each reply has headers that tell browsers what they may do
# with it.
#
# usage: DARKROOM=PROGRAM test_access.sh SAMPLES_DIR DEPLOY_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
deploy=$2
mkdir "$work/store"
echo access-key-0123456789 >"$work/keys"
chmod 600 "$work/keys"

# gets STATUS CURL-ARGUMENTS...: expect this status
gets() {
	local status=$1 got
	shift
	got=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] ||
		fail "$got, not $status: $* $(shown "$work/body")"
}

trace=/trace
needs trace || trace=

# Host names of others, whose DNS entry may point to this server.
test_host() {
	local host path
	for host in evil.example evil.example:8080 127.0.0.1.evil.example; do
		for path in / /stats /trace /web/app.js /v1/images/x; do
			expect_problem 421 wrong_host -H "Host: $host" "$url$path"
		done
		"$JSON_VALUE" .detail <"$work/body" | has -F -- "--host ${host%:*}." ||
			fail "does not say what to do: $(shown "$work/body")"
		expect_problem 421 wrong_host -H "Host: $host" \
			--data-binary "@$photo" "$url/?w=64"
		# Probes reveal nothing, so they are answered under any name.
		gets 200 -H "Host: $host" "$url/healthz"
		gets 200 -H "Host: $host" "$url/readyz"
	done
	# The host of a target in absolute form counts, and not Host.
	expect_problem 421 wrong_host --request-target http://evil.example/stats \
		-H 'Host: localhost' "$url"
	gets 200 --request-target http://localhost:80/stats \
		-H 'Host: evil.example' "$url"
	expect_problem 403 cross_site --request-target http://localhost:81/stats \
		-H 'Host: localhost:80' -H 'Origin: http://localhost:80' "$url"
	gets 200 --request-target http://localhost:81/stats \
		-H 'Origin: http://localhost:81' "$url"
	for host in localhost "localhost:$port" '[::1]' 192.0.2.7:8080; do
		gets 200 -H "Host: $host" --data-binary "@$photo" "$url/?w=64"
		gets 200 -H "Host: $host" "$url/stats"
		gets 200 -H "Host: $host "$'\t' "$url/stats"
	done
	gets 200 --http1.0 -H 'Host:' "$url/stats"
}

# A proxy may end TLS and forward targets in absolute form as they are; any other
# client has mistaken the port.
test_schemes() {
	start --trusted-proxies 127.0.0.1
	gets 200 --request-target https://localhost/stats "$url"
	expect_problem 421 wrong_host --request-target \
		https://evil.example/stats "$url"
	stop
	start --trusted-proxies none
	gets 200 --request-target http://localhost/stats "$url"
	expect_problem 421 wrong_host --request-target https://localhost/stats \
		"$url"
	"$JSON_VALUE" .detail <"$work/body" | has -F 'https://, but' ||
		fail "another reason: $(shown "$work/body")"
	stop
}

# Names of a private network, by which containers, Kubernetes and Prometheus
# call the server, need no flag.  What a page of such a name asks for is refused,
# as its name may have been that of another machine a moment ago.
test_private_names() {
	local host from
	for host in darkroom:8080 darkroom.default.svc nas.local:80 \
		darkroom.default.svc.cluster.local. photos.internal \
		app_darkroom-1:8080 nas.home.arpa x.test; do
		gets 200 -H "Host: $host" --data-binary "@$photo" "$url/?w=64"
		gets 200 -H "Host: $host" "$url/metrics"
		gets 200 -H "Host: $host" "$url/"
		page '' http://evil.example
		expect_problem 403 cross_site "${from[@]}" -H "Host: $host" \
			--data-binary "@$photo" "$url/?w=64"
		page cross-site ''
		expect_problem 403 cross_site "${from[@]}" -H "Host: $host" \
			"$url/stats"
		page '' "http://$host"
		expect_problem 421 wrong_host "${from[@]}" -H "Host: $host" \
			--data-binary "@$photo" "$url/?w=64"
		"$JSON_VALUE" .detail <"$work/body" | has -F -- '--host' ||
			fail "does not name --host: $(shown "$work/body")"
		expect_problem 421 wrong_host "${from[@]}" -H "Host: $host" \
			-X DELETE "$url/v1/images/x"
	done
	# A proxy has sent this name instead of that of its site.
	page same-origin https://photos.example
	gets 200 "${from[@]}" -H "Host: darkroom:8080" \
		--data-binary "@$photo" "$url/?w=64"
	for host in ai xn--p1ai evil.lan local.evil.example; do
		expect_problem 421 wrong_host -H "Host: $host" "$url/stats"
	done
}

test_names_can_be_given() {
	start --host photos.example,darkroom
	gets 200 -H 'Host: Photos.example:80' "$url/stats"
	gets 200 -H 'Host: darkroom' "$url/stats"
	page '' http://darkroom
	gets 200 "${from[@]}" -H 'Host: darkroom' --data-binary "@$photo" \
		"$url/?w=64"
	expect_problem 421 wrong_host -H 'Host: x.example' "$url/stats"
	stop
	DARKROOM_HOST='*' start
	gets 200 -H 'Host: any.example' "$url/stats"
	stop
	refuses "--host: 'a b'" --check-config --host 'a b'
}

# page SITE ORIGIN: the headers of a request that a page of this origin makes
page() {
	from=()
	[ -z "$1" ] || from+=(-H "Sec-Fetch-Site: $1")
	[ -z "$2" ] || from+=(-H "Origin: $2")
}

# from_elsewhere SITE ORIGIN: requests of such a page are refused
from_elsewhere() {
	local path
	page "$@"
	for path in '/?w=64' '/v1/process?w=64' '/v1/images?w=64'; do
		expect_problem 403 cross_site "${from[@]}" \
			--data-binary "@$photo" "$url$path"
		expect_problem 403 cross_site "${from[@]}" -F "file=@$photo" \
			"$url$path"
	done
	expect_problem 403 cross_site "${from[@]}" -X DELETE "$url$image"
	for path in /stats /metrics /trace /v1/live /v1/load \
		/v1/estimates /v1/blocking-graph; do
		expect_problem 403 cross_site "${from[@]}" "$url$path"
	done
	# Allowed are links to the page, and pictures that other sites show.
	gets 200 "${from[@]}" -H 'Sec-Fetch-Mode: navigate' "$url/"
	gets 200 "${from[@]}" "$url$image/image"
	gets 200 "${from[@]}" "$url$image"
}

# Our own page, whose proxy sends its own Host: the problem has both names, and
# says what to change.
test_a_proxy_changes_host() {
	local from names
	page '' http://10.9.9.9:3000
	expect_problem 403 cross_site "${from[@]}" -H 'Host: 127.0.0.1:8080' \
		--data-binary "@$photo" "$url/?w=64"
	for names in 'origin is http://10.9.9.9:3000,' 'Host is 127.0.0.1:8080.' \
		'proxy_set_header Host $http_host' --cors-origin; do
		"$JSON_VALUE" .detail <"$work/body" | has -F -- "$names" ||
			fail "lacks $names: $(shown "$work/body")"
	done
	# What the client has sent is bounded, and printable.
	page '' "http://$(printf 'a\tb%.0s' {1..300})"
	expect_problem 403 cross_site "${from[@]}" --data-binary "@$photo" "$url/"
	[ "$("$JSON_VALUE" .detail <"$work/body" | tr -d '\n' | wc -c)" -lt 500 ] &&
		! "$JSON_VALUE" .detail <"$work/body" | has $'\t' ||
		fail "$(shown "$work/body")"
	# The browser knows that it is another page, so it is no proxy.
	page cross-site http://evil.example
	expect_problem 403 cross_site "${from[@]}" --data-binary "@$photo" "$url/"
	! "$JSON_VALUE" .detail <"$work/body" | has proxy ||
		fail "$(shown "$work/body")"
}

# from_here SITE ORIGIN: requests of such a page are answered
from_here() {
	page "$@"
	gets 200 "${from[@]}" --data-binary "@$photo" "$url/?w=64"
	gets 200 "${from[@]}" "$url/stats"
}

test_pages() {
	image=$(curl -fsS --data-binary "@$photo" "$url/v1/images?w=64" |
		jq -r .url)
	from_elsewhere cross-site ''
	from_elsewhere same-site http://localhost:1
	from_elsewhere '' http://evil.example
	from_elsewhere '' null
	from_elsewhere '' "http://127.0.0.1:1"
	from_here same-origin "$url"
	from_here none ''
	from_here '' "$url"
	from_here '' ''
	gets 200 "$url$image" # it was not removed
}

# protects NAME: the last reply tells browsers not to guess its type or run
# scripts in it
protects() {
	local head
	head=$(tr -d '\r' <"$work/head")
	grep -qixF 'X-Content-Type-Options: nosniff' <<<"$head" &&
		grep -qiE "^Content-Security-Policy: default-src 'none';" \
			<<<"$head" || fail "$*: $head"
}

# The page of the admin port may upload to the main port, read what comes of it,
# and do nothing else there.
test_the_page_of_the_admin_port() {
	local origin site
	start --store "$work/store" --admin-listen 127.0.0.1:0
	origin=$admin
	for site in same-site cross-site ''; do
		page "$site" "$origin"
		gets 200 "${from[@]}" --data-binary "@$photo" "$url/?w=64"
		grep -qixF "Access-Control-Allow-Origin: $origin" \
			<(tr -d '\r' <"$work/head") || fail "may not be read"
		expect_problem 415 not_a_jpeg "${from[@]}" --data-binary "@$0" \
			"$url/?w=64"
		grep -qi '^access-control-allow-origin: ' "$work/head" ||
			fail "no reason"
		expect_problem 403 cross_site "${from[@]}" \
			--data-binary "@$photo" "$url/v1/images?w=64"
		expect_problem 403 cross_site "${from[@]}" -X DELETE \
			"$url/v1/images/x"
		# Under another name it is another page.
		expect_problem 403 cross_site "${from[@]}" -H "Host: localhost" \
			--data-binary "@$photo" "$url/?w=64"
	done
	# Through a proxy it is not known where the admin port is.
	for site in X-Forwarded-For X-Forwarded-Host; do
		page same-site "$origin"
		expect_problem 403 cross_site "${from[@]}" -H "$site: x" \
			--data-binary "@$photo" "$url/?w=64"
	done
	page '' "http://nas.local:${admin##*:}"
	expect_problem 403 cross_site "${from[@]}" -H 'Host: nas.local' \
		--data-binary "@$photo" "$url/?w=64"
	for site in "$origin/" http: http:// "${origin%?}" "${origin}0"; do
		page '' "$site"
		expect_problem 403 cross_site "${from[@]}" \
			--data-binary "@$photo" "$url/?w=64"
	done
	gets 200 --data-binary "@$photo" "$url/?w=64"
	! grep -qi '^access-control' "$work/head" || fail "everybody may read"
	stop
}

# told_why STATUS CODE CURL-ARGUMENTS...: the page of the admin port gets this
# refusal of an upload, and may read it
told_why() {
	expect_problem "$@" -m 60 "${from[@]}"
	[ "$(tr -d '\r' <"$work/head" | grep -icxF \
		-e "Access-Control-Allow-Origin: $admin" -e 'Vary: Accept, Origin' -e 'Vary: Origin')" = 2 ] &&
		grep -qi '^access-control-expose-headers: .*retry-after' \
			"$work/head" || fail "$2 cannot be read: $(cat "$work/head")"
}

# Also if the head alone is refused, before anything else is looked at.
test_the_page_of_the_admin_port_is_told_why() {
	local from long
	long=$(printf 'a%.0s' {1..20000})
	start --admin-listen 127.0.0.1:0 --max-body 100K
	page same-site "$admin"
	told_why 413 body_too_large --data-binary "@$photo" "$url/?w=64"
	told_why 411 length_required -d x -H 'Transfer-Encoding: gzip' \
		"$url/?w=64"
	told_why 414 target_too_long -d x "$url/?w=$long"
	told_why 431 headers_too_large -d x -H "A: $long" -H "B: $long" \
		-H "C: $long" -H "D: $long" "$url/?w=64"
	told_why 417 expectation_failed -d x -H 'Expect: more' "$url/?w=64"
	told_why 400 bad_parameter -d x "$url/?w=0"
	page same-site http://evil.example
	expect_problem 413 body_too_large "${from[@]}" --data-binary "@$photo" \
		"$url/?w=64"
	! grep -qi '^access-control' "$work/head" || fail "everybody may read"
	stop
	# With keys, the page sends no uploads.
	start --admin-listen 127.0.0.1:0 --max-body 100K \
		--api-key-file "$work/keys"
	page same-site "$admin"
	expect_problem 413 body_too_large "${from[@]}" --data-binary "@$photo" \
		"$url/?w=64"
	! grep -qi '^access-control' "$work/head" || fail "with keys, too"
	stop
}

# other_port PORT-URL HEADER CURL-ARGUMENTS...: what the page's reply at this
# port says of the other one
other_port() {
	local at=$1 header=$2
	shift 2
	curl -fsS -I "$@" "$at/" | sed -n "s/^$header: \(.*\)\r$/\1/Ip"
}

# The page's links work for the address by which it was opened, and through a
# map of ports that --admin-url and --public-url describe.
test_the_other_port() {
	local a host
	start --listen 0.0.0.0:0 --insecure --admin-listen :0
	a=${admin##*:}
	[ "$(other_port "$url" x-live-views)" = "http://127.0.0.1:$a" ] &&
		[ "$(other_port "$admin" x-uploads)" = "$url" ] &&
		[ "$(other_port "$url" x-live-views -H 'Host: [::1]:8080')" = \
			"http://[::1]:$a" ] &&
		[ "$(other_port "$url" x-live-views -H 'Host: localhost')" = \
			"http://localhost:$a" ] || fail "$(curl -sI "$url/")"
	[ -z "$(other_port "$url" x-live-views -H \
		'X-Forwarded-For: 192.0.2.7')" ] || fail "behind a proxy"
	curl -sI "$admin/" | has -i "connect-src 'self' $url;" ||
		fail "$(curl -sI "$admin/")"
	curl -sI "$url/" | has -i "connect-src 'self';" || fail "main"
	stop
	start --listen 0.0.0.0:0 --insecure --admin-listen 127.0.0.1:0
	for host in 127.0.0.2 localhost:80 a.localhost '[::1]' \
		'[::ffff:127.0.0.1]:80'; do
		[ "$(other_port "$url" x-live-views -H "Host: $host")" = \
			"$admin" ] || fail "$host: not where it listens"
	done
	# Others have a loopback of their own, and perhaps a server there, whose
	# page is not ours.
	page same-site "$admin"
	for host in 192.0.2.7:80 '[2001:db8::1]' darkroom:80; do
		[ -z "$(other_port "$url" x-live-views -H "Host: $host")" ] ||
			fail "$host: somebody else's loopback"
		expect_problem 403 cross_site "${from[@]}" -H "Host: $host" \
			--data-binary "@$photo" "$url/?w=64"
	done
	gets 200 "${from[@]}" -H "Host: localhost" --data-binary "@$photo" \
		"$url/?w=64"
	stop
	start --listen 127.0.0.1:0 --admin-listen 0.0.0.0:0 --insecure
	[ -z "$(other_port "$admin" x-uploads -H 'Host: 192.0.2.7')" ] ||
		fail "sends photos to the visitor's own machine"
	stop
	# Without --admin-url, uploads from behind a map of ports are refused.
	start --admin-listen 127.0.0.1:0 --public-url http://localhost:18080
	[ -z "$(other_port "$admin" x-uploads)" ] || fail "not possible"
	stop
	# A path says nothing about ports.
	start --admin-listen 127.0.0.1:0 --public-url /photos
	[ "$(other_port "$url" x-live-views)" = "$admin" ] &&
		[ "$(other_port "$admin" x-uploads)" = "$url" ] ||
		fail "not known with a path: $(curl -sI "$admin/")"
	page same-site "$admin"
	gets 200 "${from[@]}" --data-binary "@$photo" "$url/?w=64"
	[ -z "$(other_port "$url" x-live-views -H 'X-Forwarded-For: x')" ] ||
		fail "through the proxy"
	stop
	start --admin-listen 127.0.0.1:0 --admin-url http://localhost:19090 \
		--public-url /photos
	[ "$(other_port "$url" x-live-views)" = http://localhost:19090 ] &&
		[ "$(other_port "$admin" x-uploads)" = "$url" ] ||
		fail "not as given: $(curl -sI "$admin/")"
	stop
	start --admin-listen 127.0.0.1:0 --admin-url http://localhost:19090/ \
		--public-url http://localhost:18080/app
	[ "$(other_port "$url" x-live-views)" = http://localhost:19090 ] &&
		[ "$(other_port "$admin" x-uploads)" = \
			http://localhost:18080/app ] || fail "not as given"
	curl -sI "$admin/" | has -i "connect-src 'self' http://localhost:18080;" ||
		fail "$(curl -sI "$admin/")"
	page same-site http://localhost:19090
	gets 200 "${from[@]}" -H 'Host: localhost:18080' \
		--data-binary "@$photo" "$url/?w=64"
	stop
	start
	[ -z "$(other_port "$url" 'x-[luv].*')" ] || fail "there is no other"
	stop
}

test_every_reply_protects() {
	local image
	gets 200 --data-binary "@$photo" "$url/?w=64"
	protects picture
	grep -qi '^content-security-policy: .*sandbox' "$work/head" ||
		fail "a picture may run scripts"
	gets 200 --data-binary "@$photo" "$url/?variant=a:w=9&variant=b:w=8"
	protects parts
	gets 200 -H 'Accept: application/json' --data-binary "@$photo" "$url/"
	protects json
	for path in / /web/app.js /healthz /readyz /metrics /stats $trace; do
		gets 200 "$url$path"
		protects $path
	done
	gets 404 "$url/none"
	protects none
	gets 405 -X PUT "$url/"
	protects 405
	gets 415 --data-binary "@$0" "$url/"
	protects 415
	gets 201 --data-binary "@$photo" "$url/v1/images?w=64"
	protects stored
	image=$("$JSON_VALUE" .url <"$work/body")
	gets 200 "$url$image/image"
	protects image
	grep -qi '^cross-origin-resource-policy: cross-origin' "$work/head" ||
		fail "other sites may not show a picture: $(cat "$work/head")"
	gets 200 "$url/stats"
	grep -qi '^cross-origin-resource-policy: same-origin' "$work/head" ||
		fail "other sites may load reports: $(cat "$work/head")"
	gets 204 -X DELETE "$url$image"
	protects 204
}

test_a_timeout_protects() {
	local open
	start --header-timeout 200ms
	exec {open}<>"/dev/tcp/127.0.0.1/$port"
	printf 'GET / HTTP/1.1\r\nHost: localhost\r\n' >&"$open"
	timeout 60 cat <&"$open" >"$work/head" || fail "is not closed"
	exec {open}>&-
	grep -aq '^HTTP/1.1 408 ' "$work/head" || fail "no 408"
	protects 408
	stop
}

# told WHERE FLAGS...: a server with these flags has its reports only at that
# port
told() {
	local where=$1 path
	shift
	start "$@"
	[ "$where" = main ] || for path in /stats /metrics /trace /v1/live /v1/load \
		/v1/estimates /v1/blocking-graph; do
		expect_problem 404 not_found "$url$path"
		"$JSON_VALUE" .detail <"$work/body" | has -F -- --admin-listen ||
			fail "does not say where: $(shown "$work/body")"
	done
	[ "$where" = nowhere ] || for path in /stats /metrics $trace; do
		gets 200 "$admin$path"
	done
	gets 200 "$url/healthz"
	gets 200 --data-binary "@$photo" "$url/?w=64"
	stop
}

test_reports_are_not_for_strangers() {
	told main
	told main --insecure
	told nowhere --listen 0.0.0.0:0 --insecure
	told admin --listen 0.0.0.0:0 --insecure --admin-listen 127.0.0.1:0
	told admin --admin-listen 127.0.0.1:0
	start --listen 0.0.0.0:0 --api-key-file "$work/keys"
	gets 200 -H "Authorization: Bearer $(cat "$work/keys")" "$url/stats"
	gets 404 "$url/none"
	[ "$("$JSON_VALUE" .detail <"$work/body")" = "There is nothing at this path." ] ||
		fail "$(shown "$work/body")"
	stop
}

# With a key, host name and page do not matter.
test_keys_need_none_of_it() {
	start --api-key-file "$work/keys"
	gets 200 -H 'Host: evil.example' -H 'Sec-Fetch-Site: cross-site' \
		-H "Authorization: Bearer $(cat "$work/keys")" \
		--data-binary "@$photo" "$url/?w=64"
	expect_problem 401 unauthorized -H 'Sec-Fetch-Site: cross-site' \
		--data-binary "@$photo" "$url/?w=64"
	stop
}

# in_container FUNCTION FLAGS...: run the function beside a server that has the
# environment of the image
in_container() {
	local run=$1
	shift
	mapfile -t variables < <(sed -n '/^ENV/,/[^\\]$/p' "$deploy/../Dockerfile" |
		grep -oE 'DARKROOM_[A-Z_]+=[^ ]+' | sed 's/:[0-9]*$/:0/')
	[ ${#variables[@]} -ge 3 ] || fail "${variables[@]}"
	(
		export "${variables[@]}"
		apart
		launch "$@"
		url=http://127.0.0.1:$port
		find_port 'admin on'
		admin=http://127.0.0.1:$found_port
		$run
		stop
	)
}

test_the_image() {
	gets 200 "$url/healthz"
	gets 404 "$url/stats"
	gets 200 "$admin/stats"
	gets 200 --data-binary "@$photo" "http://localhost:$port/?w=64"
}

# As other containers and Prometheus call it: by the names of services.
test_the_services() {
	local target targets count=0
	targets=$(grep -oE '"[a-z.]+:9090"' "$deploy/prometheus.yml" | tr -d '"')
	for target in $targets; do
		gets 200 --connect-to "$target:${admin#http://}" \
			"http://$target/metrics"
		gets 200 --connect-to "${target%:*}:8080:${url#http://}" \
			--data-binary "@$photo" "http://${target%:*}:8080/?w=64"
		gets 201 --connect-to "${target%:*}:8080:${url#http://}" \
			--data-binary "@$photo" \
			"http://${target%:*}:8080/v1/images?w=64"
		count=$((count + 1))
	done
	[ $count = 2 ] || fail "other targets: $targets"
}

test_the_container() {
	local flags volume=$work/volume
	mkdir "$volume"
	in_container test_the_image
	mapfile -t flags < <(sed -n 's/^    command: \[\(.*\)\]$/\1/p' \
		"$deploy/compose.yaml" | sed "s|/var/lib/darkroom|$volume|" |
		tr -d ' ' | tr , '\n')
	[ "${flags[0]}" = --store ] || fail "flags ${flags[*]}"
	in_container test_the_services "${flags[@]}"
}

start --store "$work/store"
test_host
test_private_names
test_pages
test_a_proxy_changes_host
test_every_reply_protects
stop
test_names_can_be_given
test_schemes
test_a_timeout_protects
test_reports_are_not_for_strangers
test_the_page_of_the_admin_port
test_the_page_of_the_admin_port_is_told_why
test_the_other_port
test_keys_need_none_of_it
test_the_container
