#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises of --store s3://, with the real darkroom-store and a small S3 server:
# the API is that of a folder; 201 means stored, also when darkroom-store is
# killed meanwhile; while the store is away, storing uploads get 503
# store_unavailable, and others go on; SIGHUP changes keys, but not to wrong
# ones; the server has no keys; it stops in time, and leaves no process.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_s3.sh SAMPLES_DIR FAKE_S3
. "$(dirname "$0")/nobody.sh"
. "$(dirname "$0")/server.sh"
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
photo=$(realpath "$1/clownfish.jpg")
fake=$(realpath "$2")
cd "$work"
id=test:key secret=test/secret # those of the S3 server

"$fake" >port &
fake=$!
for _ in $(patience); do
	[ ! -s port ] || break
	sleep 0.05
done
s3=http://127.0.0.1:$(cat port)
s3_flags=(--store s3://photos/a/b --s3-endpoint "$s3" --s3-path-style)

# put_keys SECRET: write the file with the keys
put_keys() {
	(umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
		$id "$1" >keys.new)
	mv keys.new keys
}

# begin FLAGS...: start a server with the store
begin() {
	put_keys $secret
	start "${s3_flags[@]}" --s3-credentials-file keys "$@"
}

# the_child PID: print the only child of a process
the_child() {
	local children=()
	read -r -a children <"/proc/$1/task/$1/children" || true
	echo "${children[0]:-}"
}

# helper: print the process darkroom-store; "" while there is none
helper() {
	the_child "$(the_child "$server")"
}

# until_true COMMAND...: wait until the command succeeds
until_true() {
	local _
	for _ in $(patience); do
		! "$@" || return 0
		sleep 0.05
	done
	fail "does not become true: $*"
}

# post STATUS QUERY CURL-ARGUMENTS...: POST the photo; the reply is in body
post() {
	local status=$1 query=$2 got
	shift 2
	got=$(curl -sS -o body -w '%{http_code}' --data-binary "@$photo" "$@" \
		"$url/v1/images?w=64&$query")
	[ "$got" = "$status" ] || fail "$got, not $status: $(shown body)"
}

# get STATUS PATH CURL-ARGUMENTS...: the reply is in body, its head in head
get() {
	local status=$1 path=$2 got
	shift 2
	got=$(curl -sS -o body -D head -w '%{http_code}' "$@" "$url$path")
	[ "$got" = "$status" ] || fail "$got, not $status: $path $(shown body)"
}

test_refusals() {
	refuses store-quota --store s3://photos --store-quota 1G
	refuses spool --store s3://photos --spool store
	refuses s3-region --store "$work/folder" --s3-region x
	refuses store-cache --store-cache "$work/cache"
	refuses 'bucket' --store s3:///a
	refuses "'..'" --store s3://photos/a/../b
	refuses http:// --store s3://photos --s3-endpoint localhost
	"$DARKROOM" --check-config "${s3_flags[@]}" || fail "good flags"
}

test_api() {
	local image
	AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$secret \
		start "${s3_flags[@]}"
	! grep -qF $secret "/proc/$server/environ" || fail "has the keys"
	curl -fsS --data-binary "@$photo" -o direct "$url/?w=64"
	post 201 variant=small:w=64
	image=$(jq -r .url body)
	cp body meta
	post 201 variant=small:w=64
	cmp body meta || fail "another image"
	get 200 "$image"
	cmp body meta || fail "other metadata"
	get 200 "$image/small"
	cmp body direct || fail "another picture"
	get 200 "$image/small" --head
	grep -qi "^content-length: $(stat -c %s direct)" head || fail "no length"
	get 206 "$image/small" -H 'Range: bytes=10-29'
	cmp body <(tail -c +11 direct | head -c 20) || fail "another part"
	get 304 "$image/small" -H 'If-None-Match: *'
	get 404 "$image/other"
	get 404 "/v1/images/$(printf '%064d' 0)"
	get 204 "$image" -X DELETE
	get 404 "$image" -X DELETE
	get 404 "$image/small"
	[ "$(stat_of '[.store.stored, .store.same, .store.deleted] | @csv')" \
		= 1,1,1 ] || fail "other counts: $(stat_of .store)"
	check_drained
	stop
}

# gets: print how many GETs of objects the store has answered
gets() {
	curl -fsS "$s3/-/counts" | sed 's/.* get \([0-9]*\) .*/\1/'
}

# The metadata of an image that is larger than the first request, and then the
# picture with it.
test_requests_of_a_large_image() {
	local image before
	begin
	post 201 'variant=large:w=4000,h=4000,q=100'
	image=$(jq -r .url body)
	before=$(gets)
	get 200 "$image"
	[ $(($(gets) - before)) = 1 ] || fail "metadata: $(($(gets) - before)) GETs"
	get 200 "$image/large"
	[ "$(stat -c %s body)" -gt 65536 ] || fail "not large"
	[ $(($(gets) - before)) = 3 ] || fail "picture: $(($(gets) - before - 1)) GETs"
	stop
}

# A package that was damaged is not sent.
test_damage() {
	local image
	begin
	post 201 'variant=small:w=64&blur=1'
	image=$(jq -r .id body)
	curl -fsS -X PUT --data "flip 100 GET $image" "$s3/-/do"
	expect_problem 500 image_damaged "$url/v1/images/$image/small"
	stop
}

test_early_replies() {
	local image
	needs early_replies || return 0
	begin
	post 202 'respond=decoded&blur=2'
	holds body '.durable == false'
	image=$(jq -r .url body)
	is_stored() {
		[ "$(curl -sS -o body -w '%{http_code}' "$url$image")" = 200 ]
	}
	until_true is_stored
	stop
}

is_state() {
	[ "$(curl -sS -o body -w '%{http_code}' "$url/readyz?store=1")" = "$1" ]
}

test_the_store_is_away() {
	begin
	until_true is_state 200
	kill -STOP $fake
	post 503 blur=3 -H 'Request-Timeout: 3' -D head
	[ "$(jq -r .code body)" = store_unavailable ] || fail "$(shown body)"
	grep -qi '^retry-after: [1-9]' head || fail "no Retry-After"
	until_true is_state 503
	[ "$(jq -r .code body)" = store_unavailable ] || fail "$(shown body)"
	get 200 /readyz
	grep -q away body || fail "does not say so: $(shown body)"
	curl -fsS "$url/metrics" >body
	grep -qx 'darkroom_store_available 0' body ||
		fail "the metric says it is available"
	curl -fsS --data-binary "@$photo" -o body "$url/?w=64" # not stored
	kill -CONT $fake
	until_true is_state 200
	post 201 blur=3
	stop
}

# The deadline of a request counts from its arrival, not from its turn.
test_requests_wait_in_line() {
	local i clients=()
	begin --store-threads 1 --deadline 1s
	until_true is_state 200
	kill -STOP $fake
	# Each in its turn, they would take 24 s.
	for i in $(seq 24); do
		curl -sS -m 20 -o "reply$i" -w '%{http_code}\n' \
			"$url/v1/images/$(printf '%064d' "$i")" >"code$i" &
		clients+=($!)
	done
	wait "${clients[@]}" || true
	kill -CONT $fake
	for i in $(seq 24); do
		[ "$(cat "code$i")" = 503 ] || fail "late: $(cat "code$i")"
	done
	stop
}

test_the_helper_is_killed() {
	local i clients=() before
	begin
	until_true is_state 200
	for i in $(seq 12); do
		curl -sS -o "reply$i" -w '%{http_code}\n' --data-binary \
			"@$photo" "$url/v1/images?w=64&blur=4&q=$((i + 70))" \
			>"code$i" &
		clients+=($!)
	done
	for i in 1 2 3; do
		before=$(helper)
		[ -z "$before" ] || kill -KILL "$before" 2>/dev/null || true
		sleep 0.15
	done
	wait "${clients[@]}"
	for i in $(seq 12); do
		[ "$(cat "code$i")" = 201 ] || fail "$(shown "reply$i")"
		get 200 "$(jq -r .url "reply$i")"
	done
	grep -q 'ended by signal 9' log || fail "the log does not say so"
	stop
}

# A stopped helper is replaced, and requests go on.
test_the_helper_hangs() {
	local before
	begin
	until_true is_state 200
	before=$(helper)
	kill -STOP "$before"
	is_stored() {
		[ "$(curl -sS -o body -w '%{http_code}' --data-binary "@$photo" \
			"$url/v1/images?w=64&blur=9")" = 201 ]
	}
	until_true is_stored
	is_gone "$before" || fail "the helper that hangs is still there"
	grep -q 'did not answer, and was ended' log || fail "not in the log"
	stop
}

# reload TEXT: SIGHUP, and wait for this text in the log
reload() {
	kill -HUP "$server"
	until_true grep -qF -- "$1" log
}

test_new_keys() {
	local before
	begin
	until_true is_state 200
	before=$(helper)
	put_keys wrong-secret
	reload 'not accepted'
	post 201 blur=5
	[ "$(helper)" = "$before" ] || fail "wrong keys are in use"
	put_keys $secret
	reload 'keys of the store were read again'
	post 201 blur=6
	[ "$(helper)" != "$before" ] || fail "the old keys are in use"
	! grep -qF $secret log || fail "the log has a key"
	stop
}

is_gone() {
	[ ! -d "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"
}

is_storing() {
	[ "$(stat_of '.stages[] | select(.name == "store")
		| .started - .handled')" = 1 ]
}

# Uploads that wait for the store end with --drain-timeout.
test_stop() {
	local client keeper last
	begin --drain-timeout 500ms
	until_true is_state 200
	keeper=$(the_child "$server")
	last=$(helper)
	kill -STOP $fake
	curl -sS -o reply -w '%{http_code}' --data-binary "@$photo" \
		"$url/v1/images?w=64&blur=7" >code &
	client=$!
	until_true is_storing
	stop 3
	wait $client
	[ "$(cat code) $(jq -r .code reply)" = '503 stopping' ] ||
		fail "status $(cat code) $(shown reply)"
	until_true is_gone "$keeper"
	until_true is_gone "$last"
	kill -CONT $fake
}

# As the server ends, so does what it has started.
test_crash() {
	local keeper last
	begin
	until_true is_state 200
	keeper=$(the_child "$server")
	last=$(helper)
	kill -KILL "$server"
	wait "$server" 2>/dev/null || true
	server=
	until_true is_gone "$keeper"
	until_true is_gone "$last"
}

# Without a helper the server does not start; with one that always ends it
# does, and does what needs no store.
test_no_helper() {
	mkdir bin
	cp "$DARKROOM" bin/darkroom
	DARKROOM=$work/bin/darkroom ends_with 1 darkroom-store \
		--listen 127.0.0.1:0 "${s3_flags[@]}"
	printf '#!/bin/sh\nexit 1\n' >bin/darkroom-store
	chmod +x bin/darkroom-store
	DARKROOM=$work/bin/darkroom begin
	post 503 blur=8 -H 'Request-Timeout: 1'
	curl -fsS --data-binary "@$photo" -o body "$url/?w=64"
	stop
	grep -q 'ended with status 1' log || fail "the log does not say so"
}

test_refusals
test_api
test_requests_of_a_large_image
test_damage
test_early_replies
test_the_store_is_away
test_requests_wait_in_line
test_the_helper_is_killed
test_the_helper_hangs
test_new_keys
test_stop
test_crash
test_no_helper
