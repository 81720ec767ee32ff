#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A store that the server cannot write is refused at the start, with its path,
# owner and mode.  If it happens later, /readyz and /metrics say so, and the log
# names the file and the error; what is stored can still be read, and the server
# is ready again when the store is.  A full store is taken, because its images can
# be read and removed.
#
# The server runs as nobody.  As root, the test also has folders of another owner,
# and file systems of its own: read-only, full, or gone.
#
# usage: DARKROOM=PROGRAM test_writable.sh SAMPLES_DIR
if [ "$(id -u)" = 0 ] && [ -z "${APART:-}" ] &&
	unshare --mount true 2>/dev/null; then
	APART=1 exec unshare --mount "$0" "$@"
fi
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
photo=$(realpath "$1/clownfish.jpg")
store=$work/store
chmod 711 "$work"
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${as[@]}" test -x "$DARKROOM" ||
		fail "nobody may not run $DARKROOM, and root must not"
fi
program=$DARKROOM
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${as[*]}" "$program" >"$work/as_nobody"
chmod 755 "$work/as_nobody"
DARKROOM=$work/as_nobody

# new_store: an empty folder that belongs to the server's user
new_store() {
	rm -rf "$store"
	mkdir "$store"
	[ "$(id -u)" != 0 ] || chown 65534:65534 "$store"
}

# used_store: a store with an image, $image
used_store() {
	new_store
	start --store "$store" "$@"
	post 201 w=64
	image=$("$JSON_VALUE" .url <"$work/body")
	stop
}

post() {
	local got
	got=$(curl -sS -o "$work/body" -w '%{http_code}' --data-binary \
		"@$photo" "$url/v1/images?$2")
	[ "$got" = "$1" ] || fail "POST: $got, not $1: $(shown "$work/body")"
}

# The photo in each other way than post(), for an image of its own; with tickets
# that were made while the store could be written.
other_ways=${ways#length }
declare -A tickets
make_tickets() {
	local way width=70
	for way in $other_ways; do
		aim "$way" "w=$width" /v1/images
		tickets[$way]=$way_target
		width=$((width + 1))
	done
}

# post_others STATUS: of each; "done": all are taken, and stored
post_others() {
	local way got
	for way in $other_ways; do
		aim "$way" '' '' "${tickets[$way]}"
		[ "$way_method" != POST ] || {
			way_target=${tickets[$way]}
			way_done=201
		}
		got=$(send_by_way "$photo")
		[ "$got" = "${1/done/$way_done}" ] ||
			fail "$way: $got, not $1: $(shown "$work/body")"
		[ "$way_method" = POST ] || {
			got=$(state_by_way)
			[ "$1:$got" = done:stored ] || [ "$1:$got" = "$1:waiting" ] ||
				fail "$way: $got after $1"
		}
	done
}

get() {
	local got
	got=$(curl -sS -o "$work/body" -w '%{http_code}' "${@:3}" "$url$2")
	[ "$got" = "$1" ] || fail "$2: $got, not $1: $(shown "$work/body")"
}

# refused WORD...: a server with this store ends with status 1 and says these
# words, and the path
refused() {
	local word
	ends_with 1 "--store: '$store'" --listen 127.0.0.1:0 --store "$store" \
		"${refused_flags[@]}"
	for word; do
		grep -qF -- "$word" "$work/log" || fail "does not say $word"
	done
}
refused_flags=()

# becomes STATUS [WORD]: /readyz is answered so, and has the word; the server
# looks at the disk once per second at most
becomes() {
	local got='' _
	for _ in $patience; do
		got=$(curl -sS -o "$work/ready" -w '%{http_code}' "$url/readyz")
		[ "$got" != "$1" ] || break
		sleep 0.1
	done
	[ "$got" = "$1" ] && grep -qF -- "${2:-ready}" "$work/ready" ||
		fail "/readyz is $got: $(shown "$work/ready")"
	[ "$got" = 200 ] || [ "$("$JSON_VALUE" .code <"$work/ready")" = not_ready ] ||
		fail "/readyz: $(shown "$work/ready")"
	! grep -qF "$work" "$work/ready" || fail "shows a path to everybody"
	curl -fsS "$url/metrics" |
		grep -E '^darkroom_(ready|store_writable) ' >"$work/metric"
	[ "$(tr -cd '01' <"$work/metric")" = "$(($1 == 200))$(($1 == 200))" ] ||
		fail "$(cat "$work/metric") with /readyz $1"
}

# logged TEXT: the log has this text, in time
logged() {
	local _
	for _ in $patience; do
		! grep -qF -- "$1" "$work/log" || return 0
		sleep 0.05
	done
	fail "the log does not say $1"
}

test_modes_at_the_start() {
	local name
	new_store
	chmod 555 "$store"
	refused 'Permission denied' "'$store' belongs to" 'mode 0555'
	chmod 755 "$store"
	used_store
	for name in tmp spool failed 00 7f ff; do
		chmod 555 "$store/$name"
		refused 'Permission denied' "'$store/$name' belongs to" \
			'mode 0555'
		chmod 755 "$store/$name"
	done
	rm -rf "$store"
	refused 'there is no such folder' "install -d -o $("${as[@]}" id -un) -g" \
		"-m 750 $store"
	used_store
	start --store "$store"
	logged ", store '$store', "
	becomes 200
	stop
}

test_modes_later() {
	used_store
	start --store "$store"
	becomes 200
	chmod 555 "$store/tmp"
	becomes 503 'cannot be written: tmp: Permission denied'
	logged 'images cannot be stored: tmp: Permission denied'
	post 500 w=65
	[ "$("$JSON_VALUE" .code <"$work/body")" = store_failed ] ||
		fail "$(shown "$work/body")"
	! grep -qF "$work" "$work/body" || fail "shows a path to the client"
	logged "'$store/tmp/"
	logged 'Permission denied (EACCES)'
	get 200 "$image/image"
	curl -fsS --data-binary "@$photo" -o "$work/body" "$url/?w=64"
	chmod 755 "$store/tmp"
	becomes 200
	logged 'images can be stored again'
	post 201 w=65
	# One of the folders of images.
	chmod 555 "$store/00"
	becomes 503 'cannot be written: 00: Permission denied'
	chmod 755 "$store/00"
	becomes 200
	stop
}

test_the_folder_is_gone() {
	used_store
	start --store "$store"
	mv "$store" "$work/elsewhere"
	becomes 503 'its folder was moved, removed or unmounted'
	mv "$work/elsewhere" "$store"
	becomes 200
	rm -rf "$store"
	becomes 503 'its folder was moved, removed or unmounted'
	post 500 w=66
	logged "its folder was moved, removed or unmounted: '$store'"
	stop
}

# What cannot be found by looking is known from the last upload.
test_the_last_upload_is_remembered() {
	local id entry
	used_store
	id=${image##*/}
	entry=$store/${id:0:2}/$id
	start --store "$store"
	rm -r "$entry"
	ln -s nowhere "$entry"
	post 500 w=64
	logged "Not a directory (ENOTDIR): '$entry'"
	becomes 503 'The store cannot be written: Not a directory'
	post 201 w=69
	becomes 200
	stop
}

test_the_quota() {
	used_store
	start --store "$store" --store-quota 1M
	becomes 200
	stop
	# An image takes 8 or 12 KiB; the next one has no room.
	start --store "$store" --store-quota 16K
	becomes 503 'The store is full'
	post 507 w=200
	logged '--store-quota'
	get 204 "$image" -X DELETE
	becomes 200
	stop
}

test_once_as_root() {
	new_store
	chown root:root "$store"
	(
		DARKROOM=$program
		start --store "$store"
		post 201 w=64
		stop
	)
	refused 'Permission denied' "'$store/00' belongs to root:root (0:0)" \
		'mode 0755' 'nobody:'
	refused_flags=(--user nobody)
	DARKROOM=$program refused 'as user nobody: Permission denied' \
		"'$store/00' belongs to root:root (0:0) and has mode 0755"
	refused_flags=()
	DARKROOM=$work/as_nobody
	chown -R 65534:65534 "$store"
	start --store "$store"
	becomes 200
	# An image that root has stored cannot be removed.
	post 201 w=64
	image=$("$JSON_VALUE" .url <"$work/body")
	chown -R root:root "$store/${image:11:2}/${image##*/}"
	chmod 755 "$store/${image:11:2}/${image##*/}"
	get 500 "$image" -X DELETE
	logged "Permission denied (EACCES): '$store/${image:11:2}/${image##*/}'"
	stop
}

test_read_only() {
	used_store
	mount --bind "$store" "$store"
	mount -o remount,bind,ro "$store"
	refused 'Read-only file system' "'$store/00' belongs to nobody:"
	mount -o remount,bind,rw "$store"
	start --store "$store"
	becomes 200
	make_tickets
	mount -o remount,bind,ro "$store"
	becomes 503 'Read-only file system'
	post_others 500
	expect_problem 500 store_failed -X POST "$url/v1/uploads?w=64"
	post 500 w=67
	logged 'Read-only file system (EROFS)'
	get 200 "$image/image"
	mount -o remount,bind,rw "$store"
	becomes 200
	post 201 w=67
	post_others done
	stop
	umount "$store"
}

rest=$store/lost+found/rest
fill() {
	head -c 8M /dev/zero >"$rest" 2>"$work/err" || true
}

test_a_full_disk() {
	new_store
	mount -t tmpfs -o "size=4m,mode=755,uid=65534,gid=65534" none "$store"
	mkdir "$store/lost+found"
	fill
	refused 'No space left on device'
	rm "$rest"
	start --store "$store"
	post 201 w=64
	image=$("$JSON_VALUE" .url <"$work/body")
	becomes 200
	make_tickets
	fill
	becomes 503 'The store is full'
	post_others 507
	expect_problem 507 store_full -X POST "$url/v1/uploads?w=64"
	post 507 w=68
	logged "'$store/tmp/"
	logged 'No space left on device (ENOSPC)'
	stop
	start --store "$store"
	becomes 503 'The store is full'
	get 200 "$image/image"
	get 204 "$image" -X DELETE
	rm "$rest"
	becomes 200
	post 201 w=68
	post_others done
	stop
	umount "$store"
}

test_modes_at_the_start
test_modes_later
test_the_folder_is_gone
test_the_last_upload_is_remembered
test_the_quota
if [ "$(id -u)" = 0 ]; then
	test_once_as_root
else
	echo "skipped: needs root for a store of another owner"
fi
if [ -n "${APART:-}" ]; then
	test_read_only
	test_a_full_disk
else
	echo "skipped: may not mount, for read-only and full file systems"
fi
