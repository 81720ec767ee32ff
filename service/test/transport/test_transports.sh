#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The transport over sockets of our own answers as the one over libmicrohttpd,
# byte for byte: valid requests, invalid ones, and those that two parsers may
# read differently, wherever their bytes are cut into packets.
#
# usage: DARKROOM=PROGRAM COMPARE_REPLIES=PROGRAM test_transports.sh SAMPLES_DIR
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm # no upload waits for a disk
. "$(dirname "$0")/../server.sh"
chooses_policies "it compares them"
photo=$1/clownfish.jpg

# begin NAME FLAGS...: start a server with a store, with a stored picture in it
begin() {
	local name=$1
	shift
	mkdir "$work/$name"
	start --store "$work/$name" "$@"
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o "$work/small.jpg"
	id=$(curl -fsS --data-binary "@$work/small.jpg" \
		"$url/v1/images?variant=thumb:w=32" | jq -r .id)
}

# compare_with FLAGS...: a server with these flags, and the first one; $random as
# the last argument of compare_replies
random=
compare_with() {
	begin "${*//[^a-z0-9]/}" "$@"
	"$COMPARE_REPLIES" "$first_port" "$port" "/v1/images/$id/thumb" \
		"$work/small.jpg" $random || fail "$*"
	check_drained
	stop
}

begin first
first=$server
first_port=$port
compare_with --policy servlib --threads 1:1 --io sync
compare_with --policy servlib --threads n:m --io async
random=random # heads are read by the same code
if [ -z "${SANITIZED:-}" ]; then
	compare_with --policy servlib --threads n:m --io sync
	compare_with --policy servlib --threads n:1 --io async
fi
server=$first
stop
