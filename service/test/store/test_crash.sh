#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promise: an upload that was answered 201 or 202 is never lost.  While clients
# store images, the server is killed (SIGKILL) at a random moment and started
# again on the same folder.  Each image that was answered 201 is there, whole,
# with the SHA-256 of the answer.  Each that was answered 202 is there or being
# made, and later there.  No image is there in part, and no temporary file is
# left.  Of an upload to a ticket, or in parts, what was answered is there, too:
# the ticket, the bytes that have arrived, and the image; and the client can go on
# with each.
#
# The kernel's cache survives a kill.  So this does not test whether, and in
# which order, files are synced; test_store_faults does.
#
# usage: DARKROOM=PROGRAM [SANITIZED=1] test_crash.sh SAMPLES_DIR [ROUNDS STORES]
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
photo=$(realpath "$1/clownfish.jpg")
rounds=${2:-4}
stores=${3:-40}
client_ways=(length ticket length tus_chunks)
side=1800
[ -z "${SANITIZED:-}" ] || side=700
clients=4
cd "$work"
mkdir store

# Send a client's uploads, all different; the replies go to out/.  Every second
# upload is answered early (202), and takes some time after that.
upload() {
	local client=$1 i how
	[ "${client_ways[client]}" = length ] || {
		(upload_by_ticket "$client") 2>/dev/null || true
		return
	}
	for ((i = client; i < stores; i += clients)); do
		how=
		[ $((i / clients % 2)) = 0 ] ||
			how="&respond=decoded&enlarge=1&progressive=1&chroma=444"
		printf 'url = "%s/v1/images?w=%d&q=%d%s"\ndata-binary = "@%s"\n' \
			"$url" $((16 + i + (${#how} > 0 ? side : 0))) \
			$((1 + round % 100)) "$how" "$small"
		printf 'output = "out/%d"\nwrite-out = "%%{http_code} %d\\n"\n' \
			"$i" "$i"
		echo next
	done >"config$client"
	curl -sS --no-progress-meter -K "config$client" >"codes$client" \
		2>/dev/null || true
}

# The same by tickets.  What was answered last of each is in answers/: the ticket,
# a part, or all.
upload_by_ticket() {
	local client=$1 i got
	for ((i = client; i < stores; i += clients)); do
		aim "${client_ways[client]}" \
			"w=$((16 + i))&q=$((1 + round % 100))" || return
		flags_by_way "$small"
		echo ticket "$way_target" >"answers/$i"
		if [ "$way_method" = PATCH ]; then
			flags_by_way first "$(stat -c %s "$small")"
			status_is 204 || return
			echo part "$way_target" >"answers/$i"
			way_headers[1]="Upload-Offset: $(stat -c %s first)"
			flags_by_way rest "$(stat -c %s "$small")"
		fi
		status_is "$way_done" || return
		echo all "$way_target" >"answers/$i"
		: >"out/$i"
	done
}

status_is() {
	[ "$(curl -sS -o /dev/null -w '%{http_code}' "${way_flags[@]}" \
		"$url$way_target")" = "$1" ]
}

# After the restart, each ticket is there, with what was answered; and a client
# that has not got its last answer sends the upload again or goes on with it.
check_tickets() {
	local what path i got image bytes
	for i in answers/*; do
		[ -e "$i" ] || return 0
		read -r what path <"$i"
		curl -fsS -o ticket "$url$path" ||
			fail "round $round: a ticket is lost: $what $path"
		read -r -d '' got bytes < <("$JSON_VALUE" .state .offset <ticket) ||
			true
		case $what:$got in
		all:stored) answered=$((answered + 1)) ;;
		all:*) fail "round $round: an image is lost: $(<ticket)" ;;
		*:stored) ;;
		part:*)
			[ "$bytes" -ge "$(stat -c %s first)" ] ||
				fail "round $round: a part is lost: $(<ticket)"
			tail -c "+$((bytes + 1))" "$small" >left
			curl -fsS -X PATCH --data-binary @left "$url$path" \
				-H 'Tus-Resumable: 1.0.0' \
				-H "Upload-Offset: $bytes" \
				-H "Upload-Length: $(stat -c %s "$small")" \
				-H 'Content-Type: application/offset+octet-stream' ||
				fail "round $round: does not go on: $(<ticket)"
			parts=$((parts + 1))
			;;
		*) curl -fsS -o ticket -T "$small" "$url$path" ||
			fail "round $round: the ticket cannot be used: $(<ticket)" ;;
		esac
		curl -fsS -o ticket "$url$path"
		image=$("$JSON_VALUE" .image.id <ticket)
		[ -d "store/${image:0:2}/$image" ] ||
			fail "round $round: an image is lost: $(<ticket)"
	done
	[ -z "$(ls store/inbox/tmp)" ] || fail "left: $(ls store/inbox/tmp)"
}

# The entries made since `started` have exactly the files that their meta.json
# lists.
check_entries() {
	find store -mindepth 2 -maxdepth 2 -type d -newer started \
		-path 'store/[0-9a-f][0-9a-f]/*' >entries
	[ -s entries ] || return 0
	found=$((found + $(wc -l <entries)))
	sed 's|$|/meta.json|' entries | xargs jq -r '.id as $id | .variants[] |
		"\(.sha256)  store/\($id[:2])/\($id)/\(.name).jpg"' >sums ||
		fail "round $round: an entry without meta, or half of one"
	sha256sum --quiet --strict -c sums >&2 ||
		fail "round $round: not what was told"
	[ "$(xargs -a entries sh -c 'find "$@" -type f' - | wc -l)" = \
		$(($(wc -l <entries) + $(wc -l <sums))) ] ||
		fail "round $round: other files than told"
}

# Images that were answered 202 are known at once, and stored when the spool is
# empty.
check_promised() {
	local id status _
	cat codes* | sed -n 's|^202 |out/|p' | xargs -r jq -r .id >ids
	while read -r id; do
		status=$(curl -sS -o now -w '%{http_code}' "$url/v1/images/$id")
		[ "$status" = 200 ] || [ "$status" = 202 ] ||
			fail "round $round: a 202 is lost: $id $status"
	done <ids
	for _ in $patience; do
		[ -n "$(ls store/spool)" ] || break
		sleep 0.02
	done
	[ -z "$(ls store/spool store/failed | grep -v :)" ] ||
		fail "round $round: not finished: $(ls store/spool store/failed)"
	while read -r id; do
		[ -d "store/${id:0:2}/$id" ] ||
			fail "round $round: a 202 was lost: $id"
	done <ids
	promised=$((promised + $(wc -l <ids)))
	recovered=$((recovered + $(stat_of .spool.recovered)))
}

check_all() {
	local id
	check_promised
	check_tickets
	cat codes* | sed -n 's|^201 |out/|p' | xargs -r jq -r .id >ids
	while read -r id; do
		[ -d "store/${id:0:2}/$id" ] ||
			fail "round $round: a 201 is lost: $id"
	done <ids
	told=$((told + $(wc -l <ids)))
	check_entries
	[ -z "$(ls store/tmp)" ] || fail "left in tmp: $(ls store/tmp)"
}

told=0
promised=0
answered=0
parts=0
recovered=0
found=0
start --log off --store store
curl -sS --data-binary "@$photo" "$url/?w=160" -o small.jpg
small=$work/small.jpg
stop
head -c 1500 "$small" >first
tail -c +1501 "$small" >rest
for ((round = 0; round < rounds; round++)); do
	rm -rf out answers codes* && mkdir out answers
	touch -d '1 second ago' started
	start --log off --store store
	pids=()
	for ((k = 0; k < clients; k++)); do
		upload "$k" &
		pids+=($!)
	done
	# Kill the server at any time between the first store and the last.
	goal=$((RANDOM % stores))
	for _ in $patience; do
		[ "$(ls out | wc -l)" -lt "$goal" ] || break
		sleep 0.02
	done
	sleep "0.0$((RANDOM % 10))"
	kill -KILL "$server"
	wait "$server" 2>/dev/null || true
	server=
	wait "${pids[@]}"
	start --log off --store store
	check_all
	stop
done
echo "$rounds kills: of $((rounds * stores)) uploads $told were answered 201" \
	"and $promised 202; $recovered were made after the kill;" \
	"$answered tickets were stored, $parts went on after a part;" \
	"$found entries are there, all whole"
[ "$told" -gt 0 ] && [ "$answered" -gt 0 ] || fail "no store before any kill"
