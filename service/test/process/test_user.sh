#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server that root starts prints a warning, or continues as another user: for
# good, in all its threads, with a store of that user, and with keys that only
# root may read, also when they change.
#
# usage: DARKROOM=PROGRAM [SANITIZED=1] test_user.sh SAMPLES_DIR
[ "$(id -u)" = 0 ] || {
	echo "skipped: needs root"
	exit 77
}
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
key=user-key-0123456789
chmod 711 "$work"

# ids PID FIELD: print the ids of all threads whose real, effective, saved and
# file system ids are equal
ids() {
	sed -n "s/^$2:[[:space:]]*\([0-9]*\)[[:space:]]\1[[:space:]]\1[[:space:]]\1$/\1/p" \
		/proc/"$1"/task/*/status | sort -u | tr '\n' ' '
}

groups_of() {
	sed -n 's/^Groups:[[:space:]]*//p' /proc/"$1"/task/*/status | sort -u |
		tr -s ' \n' ' '
}

uploads() {
	curl -fsS -o "$work/out" --data-binary "@$photo" \
		-H "Authorization: Bearer $key" "$url/?w=64" ||
		fail "does not take an upload"
}

test_root_is_warned_of() {
	start
	grep -q 'running as root.*--user' "$work/log" || fail "no warning"
	uploads
	stop
}

test_another_user() {
	start --user nobody
	! grep -q 'running as root' "$work/log" || fail "a warning"
	[ "$(ids "$server" Uid)" = "$(id -u nobody) " ] ||
		fail "is $(ids "$server" Uid)"
	[ "$(ids "$server" Gid)" = "$(id -g nobody) " ] ||
		fail "is of $(ids "$server" Gid)"
	[ "$(groups_of "$server")" = "$(id -G nobody) " ] ||
		fail "has groups $(groups_of "$server")"
	! grep -E '^Cap(Prm|Eff|Amb):.*[1-9a-f]' "/proc/$server/status" ||
		fail "has rights of root"
	uploads
	stop
	start --user nobody:daemon --policy thread-per-connection
	[ "$(ids "$server" Gid)" = "$(id -g daemon) " ] ||
		fail "is of $(ids "$server" Gid)"
	[ "$(groups_of "$server")" = "$(id -g daemon) " ] ||
		fail "has groups $(groups_of "$server")"
	uploads
	stop
	start --user 65533:65532
	[ "$(ids "$server" Uid)$(ids "$server" Gid)" = '65533 65532 ' ] ||
		fail "is $(ids "$server" Uid)$(ids "$server" Gid)"
	stop
}

test_wrong_users() {
	refuses "there is no user 'noone'" --check-config --user noone
	refuses "there is no user 'noone'" --listen 127.0.0.1:0 --user noone
	refuses "there is no group 'nogroups'" --check-config \
		--user nobody:nogroups
	refuses 'has no group' --check-config --user 65533
	refuses "'root': it is root" --check-config --user root
	refuses "'0:0': it is root" --check-config --user 0:0
	refuses 'not NAME' --check-config --user :daemon
	local status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$DARKROOM" \
		--check-config --user daemon 2>"$work/log" || status=$?
	[ $status = 2 ] && grep -q 'only root' "$work/log" ||
		fail "status $status: $(cat "$work/log")"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$DARKROOM" \
		--check-config --user nobody || fail "is nobody already"
}

# If the user may not write to the store, the server does not start.  Otherwise
# all files in it belong to the user.
test_the_store_is_the_users() {
	mkdir -m 700 "$work/store"
	ends_with 1 'as user nobody: Permission denied' --listen 127.0.0.1:0 \
		--user nobody --store "$work/store"
	[ -z "$(ls -A "$work/store")" ] || fail "root made files"
	chown nobody "$work/store"
	start --user nobody --store "$work/store"
	curl -fsS -o "$work/out" --data-binary "@$photo" \
		"$url/v1/images?w=64" || fail "is not stored"
	stop
	[ "$(find "$work/store" ! -user nobody | wc -l)" = 0 ] ||
		fail "files of others: $(find "$work/store" ! -user nobody)"
}

test_keys_of_root() {
	local child reader=
	(umask 077 && echo "$key" >"$work/keys")
	start --user nobody --api-key-file "$work/keys"
	uploads
	# Only the process that reads the keys still runs as root.
	for child in $(<"/proc/$server/task/$server/children"); do
		case $(<"/proc/$child/comm") in
		darkroom-decode* | darkroom-heif)
			[ "$(ids "$child" Uid)" = "$(id -u nobody) " ] ||
				fail "the decoder is root"
			;;
		*) reader+=$child ;;
		esac
	done
	[ "$(ids "$reader" Uid)" = '0 ' ] || fail "who reads keys?"
	[ "$(ids "$server" Uid)" = "$(id -u nobody) " ] || fail "is root"
	key=another-key-0123456789
	echo "$key" >"$work/keys"
	kill -HUP "$server"
	for _ in $patience; do
		! grep -q 'read again' "$work/log" || break
		sleep 0.05
	done
	uploads
	stop
}

test_root_is_warned_of
test_another_user
test_wrong_users
test_the_store_is_the_users
test_keys_of_root
