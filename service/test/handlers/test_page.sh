#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program contains the page.  Every file of the page's folder is served
# unchanged, to everybody, at both ports, with headers that forbid the page to
# load anything else.  The page requests no file that does not exist.
#
# usage: DARKROOM=PROGRAM test_page.sh WEB_DIR PARAMETERS_JS
. "$(dirname "$0")/../server.sh"
web=$(realpath "$1")
parameters=$(realpath "$2") # made by the build

# header NAME: print this header of the reply in $work/head
header() {
	sed -n "s/^$1: \(.*\)\r$/\1/Ip" "$work/head"
}

get() {
	curl -fsS -D "$work/head" -o "$work/body" "$@" || fail "$*"
}

# check PATH FILE TYPE: PATH serves FILE, which is a path or in the folder of
# the page
check() {
	local file
	file=$(cd "$web" && realpath "$2")
	get "$url$1"
	cmp "$work/body" "$file" || fail "$1 is not $2"
	[ "$(header content-type)" = "$3; charset=utf-8" ] || fail "type of $1"
	[[ $(header content-security-policy) = "default-src 'none';"* ]] ||
		fail "$1 may load anything"
	get -I "$url$1"
	[ "$(header content-length)" = "$(stat -c %s "$file")" ] ||
		fail "HEAD $1"
}

test_files() {
	local file
	check / index.html text/html
	for file in "$web"/*.{html,css,js}; do
		case $file in
		*.html) type=text/html ;;
		*.css) type=text/css ;;
		*.js) type=text/javascript ;;
		esac
		check "/web/${file##*/}" "${file##*/}" $type
	done
	check /web/parameters.js "$parameters" text/javascript
}

# Every file of the page that its files name, in quotes, exists.
test_names() {
	local name
	grep -rhoE '["./][a-z_]+\.(css|js)"' "$web" | tr -d '"./' |
		sed -E 's/(css|js)$/.\1/' | sort -u >"$work/names"
	[ -s "$work/names" ] || fail "the page names no file"
	while read -r name; do
		[ -e "$web/$name" ] || [ "$name" = parameters.js ] ||
			fail "$name is not there"
	done <"$work/names"
	! grep -rnE '(src|href)="(https?:)?//' "$web" || fail "from elsewhere"
}

test_unknown() {
	local path status
	for path in /web/ /web/none.js /web/..%2findex.html /web/files.def; do
		status=$(curl -s --path-as-is -o "$work/body" \
			-w '%{http_code}' "$url$path")
		[ "$status" = 404 ] || fail "$path: $status"
	done
}

test_names
start
test_files
test_unknown
stop

echo secret-of-16-bytes >"$work/keys"
chmod 600 "$work/keys"
start --api-key-file "$work/keys" --admin-listen 127.0.0.1:0
check / index.html text/html
url=$admin check / index.html text/html
stop
