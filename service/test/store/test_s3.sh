#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises of --store s3://, with the real darkroom-store and a small S3 server:
# the API is that of a folder; 201 means stored, also when darkroom-store is
# killed meanwhile; while the store is away, storing uploads get 503
# store_unavailable, and others go on; SIGHUP changes keys, but not to wrong
# ones; the server has no keys; it stops in time, and leaves no process.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_s3.sh SAMPLES_DIR FAKE_S3
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
dir=$(realpath "$1")
fake=$(realpath "$2")
cd "$work"
shrink 400
photo=$dir/clownfish.jpg
id=test:key secret=test/secret # those of the S3 server

"$fake" >port &
fake=$!
for _ in $patience; do
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
	for _ in $patience; do
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
	put_keys $secret
	"$DARKROOM" --check-config "${s3_flags[@]}" \
		--s3-credentials-file keys || fail "good flags"
}

# refuses_twice WORD FLAGS...: by --check-config, and at the start
refuses_twice() {
	refuses "$@" --check-config
	refuses "$@" --listen 127.0.0.1:0
}

# Without a connection, darkroom-store knows whether keys and endpoint are any
# good.
test_unusable_keys() {
	local flags=(--store s3://photos --s3-credentials-file wrong)
	refuses_twice '--s3-credentials-file: '"'wrong': No such file" \
		"${flags[@]}"
	printf '[other]\n' >wrong
	refuses_twice "'wrong': there is no profile [default]" "${flags[@]}"
	printf '[default]\naws_access_key_id = x\n' >wrong
	refuses_twice "'wrong': profile [default] has no aws_secret_access_key" \
		"${flags[@]}"
	DARKROOM_S3_CREDENTIALS_FILE=wrong refuses_twice \
		"DARKROOM_S3_CREDENTIALS_FILE: 'wrong': profile" \
		--store s3://photos
	put_keys $secret
	mv keys wrong
	chmod 000 wrong
	[ "$(id -u)" = 0 ] || refuses_twice "mode 0000; this process is $(id -un):" \
		"${flags[@]}"
	chmod 600 wrong
	refuses_twice "--store: 's3://photos': no keys: give" \
		--store s3://photos
	AWS_ACCESS_KEY_ID=x refuses_twice 'but not AWS_SECRET_ACCESS_KEY' \
		--store s3://photos
	refuses_twice "--s3-endpoint: 'http://s3.example/path': it is not http://" \
		"${flags[@]}" --s3-endpoint http://s3.example/path
	refuses_twice "--s3-region: 'x y'" "${flags[@]}" --s3-region 'x y'
	AWS_ENDPOINT_URL=nowhere/x refuses_twice "endpoint 'nowhere/x'" \
		"${flags[@]}"
	! grep -qF $secret log || fail "shows a key"
	# What can be mended later is no wrong flag.
	ends_with 1 "--store-cache: '$work/no/cache'" "${flags[@]}" \
		--listen 127.0.0.1:0 --store-cache "$work/no/cache"
	rm -f wrong
}

test_api() {
	local image
	AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$secret \
		start "${s3_flags[@]}"
	! grep -qF $secret "/proc/$server/environ" || fail "has the keys"
	curl -fsS --data-binary "@$photo" -o direct "$url/?w=64"
	post 201 variant=small:w=64
	image=$("$JSON_VALUE" .url <body)
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
	get 412 "$image/small" -H 'If-Match: "x"'
	get 206 "$image/small" -H 'If-Match: *' -H 'Range: bytes=10-29'
	get 412 "$image" -X DELETE -H 'If-Match: "x"'
	get 412 "$image" -X DELETE -H 'If-None-Match: *'
	get 304 "$image" -H "If-None-Match: \"$(sha256sum <meta | cut -d' ' -f1)\""
	get 404 "$image/other"
	get 404 "/v1/images/$(printf '%064d' 0)"
	get 204 "$image" -X DELETE \
		-H "If-Match: \"$(sha256sum <meta | cut -d' ' -f1)\""
	get 404 "$image" -X DELETE
	get 404 "$image" -X DELETE -H 'If-Match: *'
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
	post 201 'variant=large:w=800,enlarge=1,q=100'
	image=$("$JSON_VALUE" .url <body)
	before=$(gets)
	get 200 "$image"
	[ $(($(gets) - before)) = 1 ] || fail "metadata: $(($(gets) - before)) GETs"
	get 200 "$image/large"
	[ "$(stat -c %s body)" -gt 65536 ] || fail "not large"
	[ $(($(gets) - before)) = 3 ] || fail "picture: $(($(gets) - before - 1)) GETs"
	stop
}

# order TEXT: what the S3 server does next
order() {
	curl -fsS -X PUT --data "$1" "$s3/-/do"
}

# A package that was damaged, or is that of another image, is not sent; but what
# is wrong only once is read again.
test_damage() {
	local image other fault
	begin
	post 201 'variant=small:w=64&blur=1'
	image=$("$JSON_VALUE" .id <body)
	curl -fsS -o good "$url/v1/images/$image/small"
	post 201 'variant=small:w=64&blur=1&q=60'
	other=$("$JSON_VALUE" .id <body)
	[ "$image" != "$other" ] || fail "one image"
	for fault in flip other; do
		order "$fault 100 GET $image"
		expect_problem 500 image_damaged "$url/v1/images/$image/small"
		[ $fault = flip ] ||
			expect_problem 500 image_damaged "$url/v1/images/$image"
		order "none 1000 - $image"
		order "$fault 1 GET $image"
		get 200 "/v1/images/$image/small"
		cmp body good || fail "$fault: another picture"
	done
	stop
}

# A copy in the cache that was replaced by that of another image is not sent.
test_replaced_copy() {
	local ids=() q this
	begin --store-cache "$work/copies"
	for q in 71 72; do
		post 201 "variant=small:w=64&blur=1&q=$q"
		this=$("$JSON_VALUE" .id <body)
		ids+=("$this")
		curl -fsS -o "good$q" "$url/v1/images/$this/small"
	done
	this=${ids[0]}
	stop
	cp "copies/${ids[1]:0:2}/${ids[1]}" "copies/${this:0:2}/$this.new"
	mv "copies/${this:0:2}/$this.new" "copies/${this:0:2}/$this"
	begin --store-cache "$work/copies"
	get 200 "/v1/images/$this/small"
	cmp body good71 || fail "another picture"
	get 200 "/v1/images/$this"
	[ "$("$JSON_VALUE" .id <body)" = "$this" ] || fail "the text about another image"
	stop
}

# sum_held: print the bytes of memory that the server holds for pictures
sum_held() {
	local fd sum=0
	for fd in /proc/"$server"/fd/*; do
		case $(readlink "$fd") in
		/memfd:package*) sum=$((sum + $(stat -Lc %s "$fd"))) ;;
		esac
	done
	echo $sum
}

# With too little memory for a whole picture, it is sent in pieces: all of it or
# a part; a piece that is wrong only once is fetched again, and one that stays
# wrong is not sent.
# test_pieces POLICY
test_pieces() {
	local image bytes i gets_before skip
	begin
	post 201 'variant=large:w=1000,format=ppm,enlarge=1'
	image=$("$JSON_VALUE" .id <body)
	curl -fsS -o large "$url/v1/images/$image/large"
	bytes=$(stat -c %s large)
	[ "$bytes" -gt 2000000 ] || fail "$bytes bytes are not large"
	stop
	begin --policy "$1" --memory 16M # 2 MiB for pictures, in pieces of 16 KiB
	gets_before=$(gets)
	get 200 "/v1/images/$image/large"
	cmp body large || fail "another picture"
	skip=$(($(gets) - gets_before))
	[ $skip -gt 100 ] || fail "$skip GETs are no pieces"
	get 206 "/v1/images/$image/large" -H 'Range: bytes=131000-1131099'
	cmp body <(tail -c +131001 large | head -c 1000100) || fail "another part"
	# Only the begin of the object is fetched for a HEAD.
	gets_before=$(gets)
	get 200 "/v1/images/$image/large" --head
	grep -qi "^content-length: $bytes" head || fail "no length"
	[ $(($(gets) - gets_before)) = 1 ] ||
		fail "$(($(gets) - gets_before)) GETs for a HEAD"
	get 304 "/v1/images/$image/large" -H 'If-None-Match: *'
	order "flip 1 GET $image 3"
	get 200 "/v1/images/$image/large"
	cmp body large || fail "another picture after a wrong piece"
	# What is compared is right, and then a piece that is to be sent is
	# wrong.  It is compared in fewer GETs than it is sent.
	order "flip 1 GET $image $((skip - 10))"
	get 200 "/v1/images/$image/large"
	cmp body large || fail "another picture after a piece was wrong once"
	order "flip 1000000 GET $image $((skip - 10))"
	if curl -sS -o body "$url/v1/images/$image/large" 2>/dev/null; then
		fail "a wrong piece was sent"
	fi
	cmp body <(head -c "$(stat -c %s body)" large) || fail "wrong bytes"
	order "none 1000000 - $image"
	get 204 "/v1/images/$image" -X DELETE
	stop
}

# Clients that do not read hold little memory, and uploads and other GETs go on.
# The picture is larger than what the kernel takes from a sender.
test_slow_readers() {
	local image i reader status readers=()
	begin
	post 201 'variant=large:w=2400,format=ppm,enlarge=1'
	image=$("$JSON_VALUE" .id <body)
	curl -fsS -o large "$url/v1/images/$image/large"
	[ "$(stat -c %s large)" -gt 10000000 ] || fail "not large"
	stop
	begin --memory 256M --min-rate 0 --max-connections-per-address 0
	for i in $(seq 12); do
		exec {reader}<>"/dev/tcp/127.0.0.1/${url##*:}"
		printf 'GET /v1/images/%s/large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' \
			"$image" >&"$reader"
		readers+=("$reader")
	done
	for reader in "${readers[@]}"; do
		read -r _ status _ <&"$reader"
		[ "$status" = 200 ] || fail "a reader got $status"
	done
	[ "$(sum_held)" -le $((32 << 20)) ] || fail "$(sum_held) bytes are held"
	get 200 "/v1/images/$image/large"
	cmp body large || fail "another picture"
	post 201 'variant=small:w=64&blur=1&q=80'
	for reader in "${readers[@]}"; do
		exec {reader}>&-
	done
	holds_nothing() {
		[ "$(sum_held)" = 0 ]
	}
	until_true holds_nothing
	stop
}

# GETs that wait for the store have at most half of the connections: they cannot
# be closed for new ones meanwhile.
test_readers_and_connections() {
	local i clients=()
	begin --max-connections 40
	until_true is_state 200
	order 'hang 1000000 GET a/b/0'
	for i in $(seq 80); do
		curl -sS -o /dev/null "$url/v1/images/$(printf '%064d' "$i")" \
			2>/dev/null &
		clients+=($!)
	done
	are_waiting() {
		[ "$(stat_of '.stages[] | select(.name == "store")
			| .started - .handled')" = 20 ]
	}
	until_true are_waiting
	post 201 'blur=3&q=60' -H 'Request-Timeout: 25'
	get 503 "/v1/images/$(printf '%064d' 81)"
	grep -qF '20 reads wait' body || fail "another reason: $(shown body)"
	are_waiting || fail "the upload has waited for them"
	kill "${clients[@]}" 2>/dev/null || true
	wait "${clients[@]}" 2>/dev/null || true
	order 'none 1000000 GET'
	stop
}

# GETs that wait for a store which does not answer them keep no upload waiting.
test_readers_and_uploads() {
	local i clients=()
	begin
	until_true is_state 200
	order 'hang 1000000 GET a/b/0'
	for i in $(seq 100); do
		curl -sS -o /dev/null "$url/v1/images/$(printf '%064d' "$i")" &
		clients+=($!)
	done
	are_waiting() {
		[ "$(stat_of '.stages[] | select(.name == "store")
			| .started - .handled')" -ge 24 ]
	}
	until_true are_waiting
	for i in $(seq 8); do
		post 201 "blur=10&q=$((i + 70))" -H 'Request-Timeout: 25'
	done
	kill "${clients[@]}" 2>/dev/null || true
	wait "${clients[@]}" 2>/dev/null || true
	order 'none 1000000 GET'
	stop
}

# An unknown id is remembered, but not once it was uploaded.
test_unknown_ids() {
	local image
	begin
	post 201 'blur=11'
	image=$("$JSON_VALUE" .url <body)
	get 204 "$image" -X DELETE
	get 404 "$image"
	get 404 "$image"
	post 201 'blur=11'
	get 200 "$image"
	stop
}

test_early_replies() {
	local image
	needs early_replies || return 0
	begin
	post 202 'respond=decoded&blur=2'
	holds body '.durable == false'
	image=$("$JSON_VALUE" .url <body)
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
	[ "$("$JSON_VALUE" .code <body)" = store_unavailable ] || fail "$(shown body)"
	grep -qi '^retry-after: [1-9]' head || fail "no Retry-After"
	until_true is_state 503
	[ "$("$JSON_VALUE" .code <body)" = store_unavailable ] || fail "$(shown body)"
	get 200 /readyz
	grep -q "does not answer" body || fail "does not say so: $(shown body)"
	curl -fsS "$url/metrics" >body
	grep -qx 'darkroom_store_available 0' body ||
		fail "the metric says it is available"
	curl -fsS --data-binary "@$photo" -o body "$url/?w=64" # not stored
	kill -CONT $fake
	until_true is_state 200
	post 201 blur=3
	until_true is_told 2 "store: s3://photos/a/b at $s3 answers"
	is_told 1 "store: s3://photos/a/b at $s3 cannot be used: " ||
		fail "not once: $(cat log)"
	stop
}

# is_told COUNT TEXT: has the log so many lines with the text?
is_told() {
	[ "$(grep -cF -- "$2" log)" = "$1" ]
}

# One line at the start, and no more while it stays so.
test_a_store_that_was_never_there() {
	local nobody=http://127.0.0.1:1
	put_keys $secret
	start --store s3://photos --s3-endpoint $nobody --s3-credentials-file keys
	until_true is_told 1 "store: s3://photos at $nobody cannot be used: "
	post 503 blur=3 -H 'Request-Timeout: 3'
	is_told 1 "$nobody" || fail "not once: $(cat log)"
	stop
}

# It answers, but does not take images.
test_the_store_refuses() {
	begin
	until_true is_state 200
	order 'skew 1 PUT'
	post 500 blur=3.25
	[ "$("$JSON_VALUE" .code <body)" = store_failed ] || fail "$(shown body)"
	grep -qE 'store: image [0-9a-f]{64} could not be stored: .*clock' \
		"$work/log" || fail "the log does not say why"
	is_state 503 || fail "/readyz?store=1: $(shown body)"
	grep -q 'refuses images' body || fail "$(shown body)"
	get 200 /readyz
	grep -q 'refuses images' body || fail "does not say so: $(shown body)"
	post 201 blur=3.25
	until_true is_state 200
	stop
}

test_a_cache_that_cannot_be_written() {
	mkdir -m 555 "$work/locked"
	ends_with 1 'Permission denied' "${s3_flags[@]}" --listen 127.0.0.1:0 \
		--store-cache "$work/locked"
	grep -qF "'$work/locked' belongs to" "$work/log" ||
		fail "no owner: $(cat "$work/log")"
	ends_with 1 'No such file' "${s3_flags[@]}" --listen 127.0.0.1:0 \
		--store-cache "$work/none/cache"
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
	# The third time while a request waits would be its last.
	for i in 1 2; do
		before=$(helper)
		[ -z "$before" ] || kill -KILL "$before" 2>/dev/null || true
		sleep 0.15
	done
	wait "${clients[@]}"
	for i in $(seq 12); do
		[ "$(cat "code$i")" = 201 ] || fail "$(shown "reply$i")"
		get 200 "$("$JSON_VALUE" .url <"reply$i")"
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
	until_true grep -q 'did not answer, and was ended' log
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
	kill -KILL "$before" # the next one has the old keys, too
	until_true is_gone "$before"
	until_true is_state 200
	post 201 blur=7
	before=$(helper)
	put_keys $secret
	reload 'keys of the store were read again'
	post 201 blur=6
	[ "$(helper)" != "$before" ] || fail "the old keys are in use"
	put_keys wrong-secret
	before=$(helper)
	kill -KILL "$before"
	until_true is_gone "$before"
	post 201 blur=8
	! grep -qF $secret log || fail "the log has a key"
	stop
}

is_gone() {
	[ ! -d "/proc/$1" ] || has '^State:.*Z' "/proc/$1/status"
}

is_storing() {
	[ "$(stat_of '.stages[] | select(.name == "store")
		| .started - .handled')" = 1 ]
}

# status_on FD: print the status of the next reply
status_on() {
	local version status=none
	while read -r -t 120 -u "$1" version status _; do
		[ "$version" != HTTP/1.1 ] || break
	done
	echo "$status"
}

# test_making_is_not_idle FLAGS...: a connection whose thread makes an image after
# its 202 is not closed for a new one, and goes on when the image is stored
test_making_is_not_idle() {
	local fd
	begin --max-connections 1 --admin-listen 127.0.0.1:0 "$@"
	until_true is_state 200
	kill -STOP $fake
	exec {fd}<>"/dev/tcp/127.0.0.1/${url##*:}"
	{
		printf 'POST /v1/images?w=64&blur=12&respond=decoded HTTP/1.1\r\n'
		printf 'Host: 127.0.0.1\r\nContent-Length: %d\r\n\r\n' \
			"$(stat -c %s "$photo")"
		cat "$photo"
	} >&"$fd"
	[ "$(status_on "$fd")" = 202 ] || fail "no 202"
	until_true is_storing
	get 200 /healthz
	kill -CONT $fake
	check_drained
	# A subshell, which SIGPIPE may end.
	(printf 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' >&"$fd") ||
		fail "the connection is closed: $*"
	[ "$(status_on "$fd")" = 200 ] || fail "the connection was closed: $*"
	exec {fd}>&-
	stop
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
	[ "$(cat code) $("$JSON_VALUE" .code <reply)" = '503 stopping' ] ||
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
	DARKROOM=$work/bin/darkroom begin --isolate none
	post 503 blur=8 -H 'Request-Timeout: 1'
	curl -fsS --data-binary "@$photo" -o body "$url/?w=64"
	stop
	grep -q 'ended with status 1' log || fail "the log does not say so"
}

not_with_tsan test_refusals
not_with_tsan test_unusable_keys
test_api
not_with_tsan test_requests_of_a_large_image
not_with_tsan test_damage
not_with_tsan test_replaced_copy
test_pieces color
test_pieces thread-per-connection
test_pieces servlib
test_slow_readers
test_readers_and_uploads
test_readers_and_connections
not_with_tsan test_unknown_ids
test_early_replies
test_the_store_is_away
not_with_tsan test_a_store_that_was_never_there
test_the_store_refuses
not_with_tsan test_a_cache_that_cannot_be_written
test_requests_wait_in_line
test_the_helper_is_killed
test_the_helper_hangs
test_new_keys
[ -n "${TEST_POLICY:-}" ] || {
	test_making_is_not_idle --policy thread-per-connection
	test_making_is_not_idle --policy servlib --threads 1:1
}
test_stop
test_crash
not_with_tsan test_no_helper
