#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: who has a ticket of POST /v1/uploads, and no key, can make one image
# by it, of the kind that was asked for: by PUT, by a form, or in parts (tus 1.0)
# with interruptions, also if the server is killed between.  What is wrong is
# refused, and another picture may follow.
#
# usage: DARKROOM=PROGRAM test_tickets.sh SAMPLES_DIR [FAKE_S3]
# In memory, because each part is synced, and this is slow on a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
photo=$(realpath "$1/clownfish.jpg")
other=$(realpath "$1/lionfish.jpg")
shrink_photo
bytes=$(stat -c %s "$photo")
fake=${2:+$(realpath "$2")}
cd "$work"
tus='Tus-Resumable: 1.0.0'
part_type='Content-Type: application/offset+octet-stream'
printf 'back-end 0123456789abcdef\n' >keys
key='Authorization: Bearer 0123456789abcdef'

header_is() {
	[ "$(header "$1")" = "$2" ] || fail "$1 is '$(header "$1")', not '$2'"
}

problem_is() {
	[ "$("$JSON_VALUE" .code <body)" = "$1" ] || fail "no $1: $(shown body)"
}

# make QUERY [CURL-ARGUMENTS...]: a ticket; its URL is $ticket
make() {
	local query=$1
	shift
	ask 201 -H "$key" -X POST "$@" "$url/v1/uploads?$query"
	ticket=$url$(header Location)
}

# patch STATUS OFFSET FILE [CURL-ARGUMENTS...]: send a part to $ticket
patch() {
	local status=$1 offset=$2 file=$3
	shift 3
	ask "$status" -X PATCH -H "$tus" -H "$part_type" \
		-H "Upload-Offset: $offset" --data-binary "@$file" "$@" "$ticket"
}

# The state of $ticket.
state() {
	ask 200 "$ticket"
	"$JSON_VALUE" .state <body
}

image_of_ticket() {
	curl -fsS "$ticket" | "$JSON_VALUE" .image.url
}

# The picture that the ticket has become is the one that POST / gives.
is_expected() {
	curl -fsS "$url$(image_of_ticket)/image" -o got
	cmp expected got || fail "another picture"
}

start_ready() {
	start_empty "$@"
	curl -fsS -H "$key" --data-binary "@$photo" "$url/?w=64" -o expected
}

kill_server() {
	kill -KILL "$server"
	{ wait "$server" || true; } 2>/dev/null
}

# start_again FLAGS...: after a crash; $ticket has the new URL
start_again() {
	kill_server
	start --store store "$@"
	ticket=$url/v1/uploads/${ticket##*/}
}

test_who_may() {
	start_ready --api-key-file keys
	ask 401 -X POST "$url/v1/uploads?w=64"
	make w=64
	ask 201 -T "$photo" "$ticket"
	ask 200 "$ticket"
	stop
}

test_one_image_by_put() {
	start_ready "$@"
	make w=64
	[ "$(state)" = waiting ] || fail "not waiting: $(shown body)"
	ask 201 -T "$photo" "$ticket"
	[ "$("$JSON_VALUE" .id <body)" = \
		"$(image_of_ticket | cut -d/ -f4)" ] || fail "another id"
	[ "$(state)" = stored ] || fail "not stored: $(shown body)"
	is_expected
	# Once, also after a restart.
	ask 410 -T "$photo" "$ticket"
	problem_is upload_ended
	start_again "$@"
	ask 410 -T "$photo" "$ticket"
	[ "$(state)" = stored ] || fail "forgotten: $(shown body)"
	check_drained
	stop
}

test_form_and_chunks() {
	start_ready
	make w=64
	# What the ticket is for cannot be changed by a field.
	ask 201 -F "w=9" -F "caption=fish" -F "file=@$photo" "$ticket"
	[ -n "$(header Warning)" ] || fail "no warning"
	is_expected
	make w=64
	ask 201 -X PUT -H 'Transfer-Encoding: chunked' \
		--data-binary "@$photo" "$ticket"
	is_expected
	stop
}

test_digests() {
	local md5 sha256
	md5=$(openssl dgst -md5 -binary "$photo" | base64)
	sha256=$(openssl dgst -sha256 -binary "$photo" | base64)
	start_ready
	for digest in "Content-MD5: $md5" "Repr-Digest: sha-256=:$sha256:" \
		"Content-Digest: unixsum=:AAAA:, sha-256=:$sha256:"; do
		make w=64
		ask 201 -H "$digest" -T "$photo" "$ticket"
	done
	make w=64
	ask 400 -H "Content-MD5: $(head -c 16 /dev/zero | base64)" \
		-T "$photo" "$ticket"
	problem_is digest_mismatch
	ask 400 -H 'Content-MD5: short' -T "$photo" "$ticket"
	problem_is bad_digest
	ask 400 -H 'Repr-Digest: crc32c=:AAAA:' -T "$photo" "$ticket"
	problem_is bad_digest
	ask 201 -H "Content-MD5: $md5" -T "$photo" "$ticket"
	# Other uploads are checked, too.
	ask 400 -H "$key" -H "Content-MD5: $(head -c 16 /dev/zero | base64)" \
		--data-binary "@$photo" "$url/?w=64"
	problem_is digest_mismatch
	stop
}

# A wrong file is refused, GET says why, and the right one may follow.
test_another_picture_may_follow() {
	start_ready
	make w=64
	head -c 3000 "$photo" >cut.jpg
	ask 422 -T cut.jpg "$ticket"
	problem_is truncated_jpeg
	[ "$(state)" = refused ] || fail "not refused: $(shown body)"
	[ "$("$JSON_VALUE" .problem.code <body)" = truncated_jpeg ] ||
		fail "no reason: $(shown body)"
	ask 415 -T keys "$ticket"
	ask 201 -T "$photo" "$ticket"
	is_expected
	stop
}

test_limits_of_a_ticket() {
	start_ready --inbox-time 100s
	ask 400 -H "$key" -X POST "$url/v1/uploads?lifetime=101"
	ask 400 -H "$key" -X POST "$url/v1/uploads?max_body=0"
	ask 400 -H "$key" -X POST "$url/v1/uploads?w=none"
	ask 400 -H "$key" -X POST "$url/v1/uploads?respond=decoded"
	ask 400 -H "$key" -X POST -H "$tus" -H 'Upload-Length: 9' \
		-H "Upload-Metadata: name $(printf '%02000d' 0)" \
		"$url/v1/uploads?w=$(printf '%015000d' 64)"
	problem_is bad_upload # above what a ticket can keep
	make "w=64&max_body=1000"
	ask 413 -T "$photo" "$ticket"
	problem_is body_too_large
	[ "$("$JSON_VALUE" .limit <body)" = 1000 ] || fail "$(shown body)"
	ask 413 -X PUT -H 'Transfer-Encoding: chunked' \
		--data-binary "@$photo" "$ticket"
	[ "$("$JSON_VALUE" .limit <body)" = 1000 ] || fail "$(shown body)"
	make "w=64&lifetime=1"
	sleep 2
	ask 410 -T "$photo" "$ticket"
	problem_is upload_expired
	ask 410 "$ticket"
	ask 404 "$url/v1/uploads/ffffffff${ticket: -56}"
	ask 404 "$url/v1/uploads/x"
	ask 400 "$ticket?w=1"
	stop
}

# The limit of the server counts, also if it is lower than when the ticket was made.
test_a_lower_limit_later() {
	start_ready
	make w=64
	head -c 20000 "$photo" >first
	patch 204 0 first
	start_again --max-body 30K
	head -c 20000 "$photo" >second
	patch 413 20000 second
	problem_is body_too_large
	[ "$("$JSON_VALUE" .limit <body)" = 30720 ] || fail "$(shown body)"
	stop
}

# flood STATUSES TARGET CURL-ARGUMENTS...: 300 requests, 30 at a time, of which each
# gets one of these statuses
flood() {
	local statuses=$1 target=$2
	shift 2
	curl -sS -Z --no-progress-meter --parallel-max 30 -o /dev/null -w '%{http_code}\n' "$@" \
		"$target#[1-300]" | sort | uniq -c >codes
	[ "$(awk '{ n += $1 } END { print n }' codes)" = 300 ] ||
		fail "not all are answered: $(<codes)"
	! grep -vE " ($statuses)\$" codes || fail "not $statuses: $(<codes)"
}

# Many requests at once for one ticket, and for new ones, cost neither the bytes
# that have arrived nor memory, and the upload goes on.
test_floods() {
	local before after
	split_photo
	cat second third >rest
	start_ready --inbox-quota 1M
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	patch 204 0 first
	before=$(stats .memory_peak_bytes)
	flood '200|423' "$ticket" -I -H "$tus"
	flood '409|423' "$ticket" -X PATCH -H "$tus" -H "$part_type" \
		-H 'Upload-Offset: 1' --data-binary @rest
	flood '400|423' "$ticket" -X PATCH -H "$tus" -H "$part_type" \
		-H 'Upload-Offset: x' --data-binary @rest
	offset_becomes 20000
	patch 204 20000 rest
	[ "$(state)" = stored ] || fail "not stored: $(shown body)"
	flood '409|423' "$ticket" -X PATCH -H "$tus" -H "$part_type" \
		-H 'Upload-Offset: 20000' --data-binary @rest
	flood '410|423' "$ticket" -X PUT --data-binary "@$photo"
	flood '201|507' "$url/v1/uploads?w=64" -X POST -H "$key"
	grep -q 507 codes || fail "no quota: $(<codes)"
	[ "$(stats .inbox.used_bytes)" -le 1048576 ] || fail "$(stats .inbox)"
	after=$(stats .memory_peak_bytes)
	[ -n "${SANITIZED:-}" ] || [ $((after - before)) -lt $((16 << 20)) ] ||
		fail "memory: $before, then $after"
	check_drained
	stop
}

split_photo() {
	head -c 20000 "$photo" >first
	dd if="$photo" of=second bs=10000 skip=2 count=3 status=none
	tail -c +50001 "$photo" >third
}

test_parts() {
	split_photo
	start_ready "$@"
	ask 204 -X OPTIONS "$url/v1/uploads"
	header_is Tus-Version 1.0.0
	header Tus-Extension | grep -q creation-with-upload || fail "no extension"
	make w=64 -H "$tus" -H "Upload-Length: $bytes" \
		-H 'Upload-Metadata: filename Zmlz'
	patch 204 0 first
	header_is Upload-Offset 20000
	patch 409 0 first
	problem_is wrong_offset
	# A hash that is wrong takes nothing.
	patch 460 20000 second -H "Upload-Checksum: sha1 $(openssl dgst -sha1 \
		-binary first | base64)"
	patch 204 20000 second -H "Upload-Checksum: sha1 $(openssl dgst -sha1 \
		-binary second | base64)"
	# The server is killed between.
	start_again "$@"
	ask 200 -I -H "$tus" "$ticket"
	header_is Upload-Offset 50000
	header_is Upload-Length "$bytes"
	header_is Upload-Metadata 'filename Zmlz'
	header_is Cache-Control no-store
	patch 204 50000 third
	header_is Upload-Offset "$bytes"
	[ "$(header Content-Location)" = "$(image_of_ticket)" ] ||
		fail "no image: $(shown head)"
	is_expected
	patch 409 "$bytes" third
	stop
}

# Each way to begin, and each way to say the length.
test_beginnings() {
	split_photo
	start_ready
	# With all bytes, with some, and by a ticket without a length.
	make w=64 -H "$tus" -H "Upload-Length: $bytes" -H "$part_type" \
		--data-binary "@$photo"
	header_is Upload-Offset "$bytes"
	is_expected
	make w=64 -H "$tus" -H "Upload-Length: $bytes" -H "$part_type" \
		--data-binary @first
	header_is Upload-Offset 20000
	cat second third >rest
	patch 204 20000 rest
	is_expected
	make w=64
	ask 201 -X POST -H "$tus" -H "Upload-Length: $bytes" "$ticket"
	[ "$url$(header Location)" = "$ticket" ] || fail "another place"
	patch 204 0 first
	# Once more from the beginning.
	ask 201 -X POST -H "$tus" -H "Upload-Length: $bytes" "$ticket"
	header_is Upload-Offset 0
	patch 204 0 "$photo"
	is_expected
	make w=64 -H "$tus" -H 'Upload-Length: 1000'
	ask 201 -X POST -H "$tus" -H 'Upload-Defer-Length: 1' "$ticket"
	header_is Upload-Length ''
	patch 204 0 first
	make w=64 -H "$tus" -H 'Upload-Defer-Length: 1'
	patch 204 0 first
	patch 204 20000 rest -H "Upload-Length: $bytes"
	is_expected
	# A client that cannot send PATCH, and a body in chunks.
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	ask 204 -X POST -H 'X-HTTP-Method-Override: PATCH' -H "$tus" \
		-H "$part_type" -H 'Upload-Offset: 0' \
		-H 'Transfer-Encoding: chunked' --data-binary @first "$ticket"
	ask 204 -X PATCH -H "$tus" -H "$part_type" -H 'Upload-Offset: 20000' \
		-H 'Transfer-Encoding: chunked' --data-binary @rest "$ticket"
	is_expected
	stop
}

# The length of an upload may be said late, but not below what has arrived; and
# a body of unknown length cannot pass it, nor the limit of a ticket.
test_a_late_length() {
	start_ready
	make w=64 -H "$tus" -H 'Upload-Defer-Length: 1'
	patch 204 0 "$photo"
	patch 413 "$bytes" "$photo" -H 'Upload-Length: 500' \
		-H 'Transfer-Encoding: chunked'
	problem_is body_too_large
	ask 413 -X PATCH -H "$tus" -H "$part_type" -H "Upload-Offset: $bytes" \
		-H 'Upload-Length: 500' "$ticket"
	# All has arrived already; there is neither a body nor a length of one.
	ask 204 -X PATCH -H "$tus" -H "$part_type" -H "Upload-Offset: $bytes" \
		-H "Upload-Length: $bytes" "$ticket"
	is_expected
	make "w=64&max_body=$bytes" -H "$tus" -H 'Upload-Defer-Length: 1'
	patch 204 0 "$photo"
	patch 413 "$bytes" "$photo" -H 'Transfer-Encoding: chunked'
	stop
}

# If the length is said when all bytes have arrived, and then the image cannot be
# stored, the upload must not look as if it had ended.
test_a_late_length_and_a_full_store() {
	start_ready --store-quota 4K
	make w=64 -H "$tus" -H 'Upload-Defer-Length: 1'
	patch 204 0 "$photo"
	patch 507 "$bytes" /dev/null -H "Upload-Length: $bytes"
	start_again
	ask 200 -I -H "$tus" "$ticket"
	header_is Upload-Length ''
	header_is Upload-Offset "$bytes"
	patch 204 "$bytes" /dev/null -H "Upload-Length: $bytes"
	is_expected
	stop
}

test_wrong_parts() {
	split_photo
	start_ready
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	ask 412 -X PATCH -H 'Tus-Resumable: 0.2.2' -H "$part_type" \
		-H 'Upload-Offset: 0' --data-binary @first "$ticket"
	header_is Tus-Version 1.0.0
	ask 400 -X PATCH -H "$tus" -H 'Upload-Offset: 0' --data-binary @first \
		"$ticket"
	ask 400 -X PATCH -H "$tus" -H "$part_type" --data-binary @first "$ticket"
	ask 400 -X PATCH -H "$tus" -H "$part_type" -H 'Upload-Offset: x' \
		--data-binary @first "$ticket"
	patch 400 0 first -H 'Upload-Length: 5'
	cat "$photo" first >more
	patch 413 0 more
	ask 413 -H "$key" -X POST -H "$tus" -H 'Upload-Length: 999999999' \
		"$url/v1/uploads"
	ask 400 -H "$key" -X POST -H "$tus" -H 'Upload-Length: 0' \
		"$url/v1/uploads"
	# A part of a picture that is sent by several uploads at once.
	ask 400 -H "$key" -X POST -H "$tus" -H 'Upload-Length: 9' \
		-H 'Upload-Concat: partial' "$url/v1/uploads"
	problem_is bad_upload
	# A part of another protocol is not taken as a whole file.
	ask 400 -T first -H 'Upload-Complete: ?0' "$ticket"
	problem_is bad_upload
	# No picture: refused at its first bytes, and at its end.
	head -c 20000 /dev/zero >zero
	patch 415 0 zero
	patch 204 0 first
	head -c "$((bytes - 20000))" /dev/zero >zero
	patch 422 20000 zero
	ask 200 -I -H "$tus" "$ticket"
	header_is Upload-Offset 0
	patch 204 0 "$photo"
	is_expected
	# Ended by its client.
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	patch 204 0 first
	ask 412 -I -H 'Tus-Resumable: 0.2.2' "$ticket"
	ask 412 -X DELETE -H 'Tus-Resumable: 0.2.2' "$ticket"
	ask 204 -X DELETE -H "$tus" "$ticket"
	ask 404 "$ticket"
	stop
}

# begin_part OFFSET FILE LENGTH [HEADER]: a part of which only FILE is sent; $fd is
# open
begin_part() {
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	printf 'PATCH %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s\r\n' \
		"${ticket#"$url"}" "$tus" "$part_type" >&"$fd"
	[ $# = 3 ] || printf '%s\r\n' "$4" >&"$fd"
	printf 'Upload-Offset: %s\r\nContent-Length: %s\r\n\r\n' "$1" "$3" >&"$fd"
	cat "$2" >&"$fd"
}

offset_becomes() {
	local _ got=
	for _ in $patience; do
		got=$(curl -sS -I -H "$tus" -o head -w '%{http_code}' "$ticket")
		[ "$got $(header Upload-Offset)" != "200 $1" ] || return 0
		sleep 0.05
	done
	fail "$got, offset '$(header Upload-Offset)', not $1"
}

# What has arrived of a part counts, if its connection is lost, and if it stays
# open but the client comes by another one.
test_lost_connections() {
	local fd
	split_photo
	start_ready "$@"
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	begin_part 0 first "$bytes"
	exec {fd}>&-
	offset_becomes 20000
	begin_part 20000 second "$((bytes - 20000))"
	offset_becomes 50000
	exec {fd}>&-
	patch 204 50000 third
	is_expected
	check_drained
	stop
}

# Bytes that were not compared with the hash of their part do not count.
test_lost_part_with_hash() {
	local fd _ got
	split_photo
	start_ready
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	patch 204 0 first
	begin_part 20000 second 40000 "Upload-Checksum: sha1 $(openssl dgst -sha1 \
		-binary second | base64)"
	for _ in $patience; do
		got=$(curl -sS -I -H "$tus" -o head -w '%{http_code}' "$ticket")
		[ "$got" != 423 ] || break
		sleep 0.05
	done
	[ "$got" = 423 ] || fail "the part is not noticed: $got"
	exec {fd}>&-
	offset_becomes 20000
	stop
}

# A file that could not be stored does not use up the ticket, also for another.
test_another_after_a_full_store() {
	start_ready --store-quota 4K
	make w=64
	ask 507 -T "$photo" "$ticket"
	start_again
	ask 201 -T "$other" "$ticket"
	ask 410 -T "$photo" "$ticket"
	# The length that a tus client has said is not that of a form.
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	ask 201 -F "file=@$photo" "$ticket"
	is_expected
	stop
}

# If there is no room for the image, the bytes of the last part are kept, but
# not the last one, so that the client comes again.
test_a_full_store() {
	split_photo
	start_ready --store-quota 4K
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	cat second third >rest
	patch 204 0 first
	patch 507 20000 rest
	problem_is store_full
	start_again
	offset_becomes $((bytes - 1))
	tail -c 1 "$photo" >last
	patch 204 $((bytes - 1)) last
	is_expected
	stop
}

test_quota_of_the_inbox() {
	start_ready --inbox-quota 64K
	local n=0
	head -c 20000 "$photo" >first
	while make w=64 -H "$tus" -H "Upload-Length: $bytes" &&
		[ "$(curl -sS -o body -w '%{http_code}' -X PATCH -H "$tus" \
			-H "$part_type" -H 'Upload-Offset: 0' \
			--data-binary @first "$ticket")" = 204 ]; do
		n=$((n + 1))
		[ $n -lt 9 ] || fail "no limit"
	done
	problem_is store_full
	[ $n -gt 0 ] || fail "not even one: $(shown body)"
	# Other uploads have room.
	ask 201 -H "$key" --data-binary "@$photo" "$url/v1/images?w=64"
	[ "$(stats .inbox.used_bytes)" -le 65536 ] || fail "$(stats .inbox)"
	stop
}

test_without_a_store() {
	start
	ask 404 -X POST "$url/v1/uploads"
	problem_is no_store
	stop
	[ "$("$DARKROOM" --inbox here 2>&1 | grep -c 'needs --store')" = 1 ] ||
		fail "--inbox without --store is accepted"
}

# The image is in the object store, and what is incomplete in a folder.
test_with_an_object_store() {
	local _ s3 pid
	[ -n "$fake" ] || return 0
	"$fake" >port &
	pid=$!
	for _ in $patience; do
		[ ! -s port ] || break
		sleep 0.05
	done
	s3=(--store s3://photos --s3-endpoint "http://127.0.0.1:$(cat port)"
		--s3-path-style --s3-credentials-file credentials)
	(umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
		test:key test/secret >credentials)
	split_photo
	start "${s3[@]}"
	ask 404 -X POST "$url/v1/uploads?w=64"
	problem_is no_inbox
	stop
	mkdir inboxes
	start "${s3[@]}" --inbox inboxes/a
	curl -fsS --data-binary "@$photo" "$url/?w=64" -o expected
	make w=64
	ask 201 -T "$photo" "$ticket"
	is_expected
	make w=64 -H "$tus" -H "Upload-Length: $bytes"
	patch 204 0 first
	cat second third >rest
	patch 204 20000 rest
	is_expected
	stop
	kill $pid
	{ wait $pid || true; } 2>/dev/null
}

# GET with `wait` is answered when there is news, or when the time is over.
test_waiting() {
	local pid begin
	rm -f waited
	start_ready "$@"
	make w=64
	ask 400 "$ticket?wait=61"
	ask 400 "$ticket?wait=x"
	curl -fsS "$ticket?wait=60" -o waited &
	pid=$!
	begin=$SECONDS
	ask 200 "$ticket?wait=1"
	[ "$("$JSON_VALUE" .state <body)" = waiting ] || fail "$(shown body)"
	[ ! -s waited ] || fail "answered without news: $(shown waited)"
	ask 201 -T "$photo" "$ticket"
	wait $pid || fail "not answered"
	[ "$("$JSON_VALUE" .state <waited)" = stored ] || fail "$(shown waited)"
	[ $((SECONDS - begin)) -lt 50 ] || fail "it was not woken"
	! grep -q "GET .*SLOW" "$work/log" || fail "a wait is logged as slow"
	# What is stored is answered at once, and a stop ends all waits.
	ask 200 "$ticket?wait=60"
	ask 201 --data-binary "@$photo" "$url/v1/images?w=65"
	ask 200 "$url$("$JSON_VALUE" .url <body)?wait=60"
	make w=64
	curl -sS "$ticket?wait=60" -o waited &
	pid=$!
	sleep 0.3
	stop
	wait $pid || true
	[ $((SECONDS - begin)) -lt 50 ] || fail "the stop has waited"
}

# Pages of other sites have no use of a ticket.
test_pages_of_other_origins() {
	start_ready --cors-origin https://shop.example
	make w=64
	ask 403 -H 'Origin: https://evil.example' -T "$photo" "$ticket"
	problem_is cross_site
	ask 204 -X OPTIONS -H 'Origin: https://shop.example' \
		-H 'Access-Control-Request-Method: PATCH' "$ticket"
	header Access-Control-Allow-Methods | grep -q PATCH || fail "no PATCH"
	ask 201 -H 'Origin: https://shop.example' -T "$photo" "$ticket"
	header Access-Control-Expose-Headers | grep -q Upload-Offset ||
		fail "not exposed"
	stop
}

test_who_may
with_policies 'default servlib capriccio thread-per-connection' \
	test_one_image_by_put
with_policies 'default servlib capriccio thread-per-connection' test_parts
with_policies 'default servlib' test_lost_connections
with_policies 'default servlib thread-per-connection' test_waiting
test_form_and_chunks
test_digests
test_another_picture_may_follow
test_limits_of_a_ticket
test_a_lower_limit_later
test_floods
test_beginnings
test_a_late_length
test_a_late_length_and_a_full_store
test_wrong_parts
test_lost_part_with_hash
test_a_full_store
test_another_after_a_full_store
test_quota_of_the_inbox
test_without_a_store
test_with_an_object_store
test_pages_of_other_origins
