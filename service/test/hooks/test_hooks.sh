#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises of webhooks: each image that was answered 201 or 202 is told at least
# once, with the same webhook-id and a right signature each time: also if the
# receiver was away, or if the server, its helper darkroom-webhook or that one's
# keeper is killed.  A ticket can name another receiver, of an origin that is
# allowed.  A receiver that does not answer keeps no other waiting.  A full queue
# refuses uploads, and loses none.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_hooks.sh SAMPLES_DIR SOURCE_DIR
#        [FAKE_S3]
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
have python3 || exit 77
[ -n "${SANITIZED:-}" ] || export DARKROOM_SANDBOX=require
dir=$(realpath "$1")
source=$(realpath "$2")
fake=${3:+$(realpath "$3")}
receiver_program=$(realpath "$(dirname "$0")/receiver.py")
cd "$work"
shrink 400
photo=$dir/clownfish.jpg

# new_key: print a key
new_key() {
	echo "whsec_$(head -c 32 /dev/urandom | base64 -w 0)"
}

(umask 077 && new_key >key)

# receive NAME [PORT]: start a receiver with the folder NAME; its port is in
# NAME/port, its process in NAME/pid
receive() {
	local name=$1 _
	mkdir -p "$name"
	cp key "$name/keys"
	[ -s "$name/mode" ] || echo 200 >"$name/mode"
	touch "$name/told"
	: >"$name/port"
	python3 "$receiver_program" "$name" ${2:+"$2"} >"$name/port" &
	echo $! >"$name/pid"
	disown $! # the shell does not wait for it
	for _ in $patience; do
		[ ! -s "$name/port" ] || return 0
		sleep 0.02
	done
	fail "no receiver"
}

# end_receiver NAME
end_receiver() {
	kill -KILL "$(cat "$1/pid")"
	wait "$(cat "$1/pid")" 2>/dev/null || true
}

# forget NAME: what was told before does not count
forget() {
	: >"$1/told"
	echo 200 >"$1/mode"
}

# begin FLAGS...: start a server with an empty store, whose webhooks go to the
# receiver `main`; pauses are short
begin() {
	rm -rf store
	mkdir store
	again "$@"
}

# again FLAGS...: the same with the store as it is
again() {
	[[ " $* " = *" --webhook-retry "* ]] ||
		set -- --webhook-retry "100ms,200ms,500ms$(printf ',1s%.0s' {1..29})" "$@"
	start --store store --webhook-key-file key \
		--webhook "$(origin main)/all" "$@"
}

# origin NAME: of this receiver
origin() {
	echo "http://127.0.0.1:$(cat "$1/port")"
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

# told NAME EXPRESSION: how many requests of this receiver make it true, by jq
told() {
	jq -c "select($2)" "$1/told" | wc -l
}

is_told() {
	[ "$(told "$1" "$2")" -ge 1 ]
}

# nothing_waits: the queue is empty, and all was right
nothing_waits() {
	[ "$(stat_of .webhooks.waiting)" = 0 ]
}

# settle: wait for an empty queue, and check all signatures
settle() {
	until_true nothing_waits
	[ "$(jq -c 'select(.valid < 1 or .type != "application/json")' */told |
		wc -l)" = 0 ] || fail "a wrong request: $(cat ./*/told)"
	[ -z "$(ls store/hooks/events store/hooks/tmp | grep -v :)" ] ||
		fail "left: $(ls store/hooks/*)"
}

# post STATUS QUERY: POST the photo, scaled to 32 if the query does not begin
# with another size; the reply is in body
post() {
	local got query=$2
	[[ $query = w=* ]] || query="w=32&$query"
	got=$(curl -sS -o body -w '%{http_code}' --data-binary "@$photo" \
		"$url/v1/images?$query")
	[ "$got" = "$1" ] || fail "$got, not $1: $(shown body)"
}

# make_ticket QUERY: its path is in $path, its id in $ticket
make_ticket() {
	curl -fsS -o ticket.json -X POST "$url/v1/uploads?w=32&$1"
	path=$("$JSON_VALUE" .url <ticket.json)
	ticket=$("$JSON_VALUE" .id <ticket.json)
}

# put STATUS: PUT the photo to the ticket
put() {
	local got
	got=$(curl -sS -o body -w '%{http_code}' --upload-file "$photo" \
		"$url$path")
	[ "$got" = "$1" ] || fail "$got, not $1: $(shown body)"
}

test_flags() {
	local good=(--listen 127.0.0.1:0 --store store --webhook-key-file key)
	mkdir -p store
	refuses "--webhook: 'ftp://x/': give an absolute URL" "${good[@]}" \
		--webhook ftp://x/
	refuses --webhook: "${good[@]}" --webhook http://user@x/
	refuses --webhook: "${good[@]}" --webhook 'http://x/#a'
	refuses --webhook: "${good[@]}" --webhook 'http://x:0/'
	refuses --webhook: "${good[@]}" --webhook "http://$(printf %2000s | tr ' ' x)/"
	refuses "--webhook-allow: 'http://x/': give up to" "${good[@]}" \
		--webhook-allow http://x/
	refuses --webhook-allow: "${good[@]}" --webhook-allow http://x:80
	refuses --webhook-allow: "${good[@]}" --webhook-allow http://x,
	refuses --webhook-allow: "${good[@]}" --webhook-allow '*'
	refuses --webhook-retry: "${good[@]}" --webhook http://x/ \
		--webhook-retry 5s,1d
	refuses --webhook-retry: "${good[@]}" --webhook http://x/ \
		--webhook-retry 49h
	refuses "it needs --webhook-key-file" --store store --webhook http://x/
	refuses "it needs --store" --webhook-key-file key --webhook http://x/
	refuses "it needs --webhook or" --store store --webhook-key-file key
	refuses "it needs --inbox" --store s3://photos --webhook-key-file key \
		--webhook http://x/
}

# refuses_key WORD: by --check-config and at the start
refuses_key() {
	local flags=(--store store --webhook http://x/ --webhook-key-file wrong)
	refuses "--webhook-key-file: 'wrong': $1" "${flags[@]}" --check-config
	refuses "--webhook-key-file: 'wrong': $1" "${flags[@]}" \
		--listen 127.0.0.1:0
}

test_keys() {
	mkdir -p store
	rm -f wrong
	refuses_key 'No such file'
	(umask 077 && : >wrong)
	refuses_key 'it has no key'
	echo "whsec_$(head -c 23 /dev/urandom | base64 -w 0)" >wrong
	refuses_key 'line 1 is not whsec_'
	echo "whsec_$(head -c 65 /dev/urandom | base64 -w 0)" >wrong
	refuses_key 'line 1 is not whsec_'
	printf '# a comment\n\nwhsec_%s\n' "$(printf %32s | tr ' ' '*')" >wrong
	refuses_key 'line 3 is not whsec_'
	head -c 32 /dev/urandom | base64 -w 0 >wrong
	refuses_key 'line 1 is not whsec_'
	seq 9 | while read -r _; do new_key; done >wrong
	refuses_key 'it has more than 8 keys'
	! grep -qF "$(tail -n 1 wrong)" log || fail "shows a key"
}

# What was stored is told, with what GET replies.
test_stored() {
	forget main
	begin --public-url https://photos.example/app
	post 201 "placeholder=1"
	settle
	jq 'del(.meta_sha256)' body >expected
	jq '.event.data' main/told | cmp - expected ||
		fail "not the same: $(cat main/told)"
	holds main/told '.path == "/all" and .event.type == "image.stored" and
		(.event.data.url | startswith("https://photos.example/app/v1/"))
		and (.id | test("^msg_[0-9a-f]{64}$"))
		and (.event.timestamp | fromdate > 1700000000)'
	# The same upload is stored once more: that is another event.
	post 201 "placeholder=1"
	settle
	[ "$(jq -r .id main/told | sort -u | wc -l)" = 2 ] || fail "not two"
	[ "$(stats .webhooks.delivered .webhooks.failed .webhooks.queued |
		xargs)" = "2 0 2" ] || fail "$(stats .webhooks)"
	# What is not stored is not told.
	curl -fsS --data-binary "@$photo" -o body "$url/?w=32"
	[ "$(stat_of .webhooks.queued)" = 2 ] || fail "$(stats .webhooks)"
	curl -fsS "$url/metrics" | has '^darkroom_webhook_delivered_total 2$' ||
		fail "no metric"
	stop
}

test_tickets() {
	forget main
	forget other
	begin --webhook-allow "http://127.0.0.1:9,$(origin other)"
	make_ticket "webhook=$(origin other)/mine?a=b"
	stop
	again --webhook-allow "$(origin other)" # it is kept with the ticket
	put 201
	settle
	[ "$(told main ".event.data.ticket == \"$ticket\"")" = 1 ] ||
		fail "$(cat main/told)"
	[ "$(told other ".event.data.ticket == \"$ticket\" and
		.path == \"/mine?a=b\" and .event.data.id == $(jq .id body)")" = 1 ] ||
		fail "$(cat other/told)"
	expect_problem 403 webhook_not_allowed -X POST \
		"$url/v1/uploads?w=32&webhook=http://127.0.0.1:10/"
	expect_problem 403 webhook_not_allowed -X POST \
		"$url/v1/uploads?w=32&webhook=$(origin main)/" # not for tickets
	expect_problem 400 bad_parameter -X POST \
		"$url/v1/uploads?w=32&webhook=http://a@127.0.0.1/"
	expect_problem 400 bad_parameter -X POST "$url/v1/uploads?w=32&webhook"
	# An origin that is allowed no more is not told.
	make_ticket "webhook=$(origin other)/late"
	stop
	again --webhook-allow http://127.0.0.1:9
	put 201
	settle
	is_told main ".event.data.ticket == \"$ticket\"" || fail "not told"
	! is_told other '.path == "/late"' || fail "told"
	stop
	start --store store
	expect_problem 403 webhook_not_allowed -X POST \
		"$url/v1/uploads?w=32&webhook=$(origin other)/"
	[ "$(stat_of '.webhooks == null')" = true ] || fail "there are figures"
	stop
}

test_resumable_upload() {
	local bytes half place
	forget main
	begin
	bytes=$(stat -c %s "$photo")
	half=$((bytes / 2))
	place=$(curl -fsS -D - -o ticket.json -X POST -H 'Tus-Resumable: 1.0.0' \
		-H "Upload-Length: $bytes" "$url/v1/uploads?w=32" |
		tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
	head -c $half "$photo" >part
	curl -fsS -X PATCH -H 'Tus-Resumable: 1.0.0' -H 'Upload-Offset: 0' \
		-H 'Content-Type: application/offset+octet-stream' \
		--data-binary @part "$url$place"
	[ "$(stat_of .webhooks.queued)" = 0 ] || fail "told before its end"
	tail -c +$((half + 1)) "$photo" >part
	curl -fsS -X PATCH -H 'Tus-Resumable: 1.0.0' -H "Upload-Offset: $half" \
		-H 'Content-Type: application/offset+octet-stream' \
		--data-binary @part "$url$place"
	settle
	is_told main ".event.data.ticket == $(jq .id ticket.json)" ||
		fail "$(cat main/told)"
	stop
}

# Uploads that were answered 202: one becomes an image, one cannot.
test_accepted() {
	local good bad slow="w=1500&progressive=1&chroma=444&enlarge=1"
	needs early_replies || return 0
	forget main
	begin
	post 202 "$slow&respond=decoded"
	good=$("$JSON_VALUE" .id <body)
	post 202 "$slow&respond=decoded&max_bytes=400"
	bad=$("$JSON_VALUE" .id <body)
	until_true is_told main ".event.data.id == \"$good\""
	until_true is_told main ".event.data.id == \"$bad\""
	settle
	[ "$(told main ".event.type == \"image.stored\" and
		.event.data.variants[0].width == 1500 and
		.event.data.id == \"$good\"")" = 1 ] || fail "$(cat main/told)"
	[ "$(told main ".event.type == \"image.failed\" and
		.event.data.problem.code == \"max_bytes_too_small\" and
		.event.data.id == \"$bad\"")" = 1 ] || fail "$(cat main/told)"
	stop
	forget main
	begin --spool none
	post 202 "$slow&respond=decoded&max_bytes=400"
	until_true is_told main ".event.type == \"image.failed\""
	settle
	stop
}

# The receiver is away, and comes back; the server is restarted meanwhile.
test_away() {
	local at i # start() sets $port
	forget main
	begin
	at=$(cat main/port)
	end_receiver main
	for i in 1 2 3 4 5; do
		post 201 "q=$i"
		"$JSON_VALUE" .id <body
	done >ids
	ls store/hooks/events >names
	until_true eval '[ "$(stat_of .webhooks.failed)" -gt 5 ]'
	[ "$(stat_of .webhooks.waiting)" = 5 ] || fail "$(stats .webhooks)"
	grep -q "http://127.0.0.1:$at takes no events: " log ||
		fail "no line in the log"
	stop
	again
	until_true eval '[ "$(stat_of .webhooks.failed)" -gt 0 ]'
	receive main "$at"
	settle
	jq -r .event.data.id main/told | sort -u | diff - <(sort ids) ||
		fail "not those"
	jq -r .id main/told | sort -u | diff - <(sed 's/^/msg_/' names) ||
		fail "other ids"
	grep -q "answers again" log || fail "no line in the log"
	stop
}

test_statuses() {
	local mode
	forget main
	begin
	for mode in "503 1" 302 500 404 long; do
		forget main
		echo "$mode" >main/mode
		post 201 q=10
		until_true is_told main true
		echo 200 >main/mode
		settle
		[ "$(jq -r .id main/told | sort -u | wc -l)" = 1 ] ||
			fail "$mode: $(cat main/told)"
		[ "$(jq -r .path main/told | sort -u)" = /all ] ||
			fail "$mode is followed"
		[ "$mode" != long ] || [ "$(wc -l <main/told)" = 1 ] ||
			fail "long: $(cat main/told)"
	done
	[ "$(stat_of .webhooks.given_up)" = 0 ] || fail "$(stats .webhooks)"
	# It asks for more time than there would be between two attempts.
	forget main
	echo "503 3" >main/mode
	post 201 q=10
	until_true is_told main true
	echo 200 >main/mode
	sleep 1 # the next ones would have been after 0.1 s and 0.3 s
	[ "$(wc -l <main/told)" = 1 ] || fail "too soon: $(cat main/told)"
	settle
	# It is gone for good.
	forget main
	echo 410 >main/mode
	post 201 q=10
	settle
	[ "$(wc -l <main/told)" = 1 ] || fail "$(cat main/told)"
	[ "$(stats .webhooks.given_up .webhooks.kept | xargs)" = "1 1" ] ||
		fail "$(stats .webhooks)"
	[ -s "store/hooks/failed/$(jq -r .id main/told | cut -c 5-)/event.txt" ] ||
		fail "$(ls store/hooks/failed)"
	grep -q "$(jq -r .id main/told) .* is given up: it answered 410" log ||
		fail "no line in the log"
	stop
}

# After the last attempt an event is in failed/; moved back, it is told.
test_given_up() {
	forget main
	echo 500 >main/mode
	begin --webhook-retry 10ms,10ms
	post 201 q=10
	settle
	[ "$(jq -r .id main/told | uniq -c | awk '{ print $1 }')" = 3 ] ||
		fail "not three attempts: $(cat main/told)"
	stop
	forget main
	mv store/hooks/failed/* store/hooks/events/
	again
	settle
	[ "$(wc -l <main/told)" = 1 ] || fail "$(cat main/told)"
	stop
}

# Many events for a receiver that does not answer do not keep others waiting.
test_silent() {
	local i at
	forget main
	forget other
	echo silent >main/mode
	begin --webhook-allow "$(origin other)"
	for i in $(seq 40); do
		post 201 "q=$i"
	done
	make_ticket "webhook=$(origin other)/mine"
	put 201
	until_true is_told other true
	[ "$(stat_of .webhooks.waiting)" -ge 41 ] || fail "$(stats .webhooks)"
	# What is on its way does not delay a stop.
	stop
	at=$(cat main/port)
	end_receiver main
	forget main
	receive main "$at"
	again --webhook-allow "$(origin other)"
	settle
	[ "$(jq -r .id main/told | sort -u | wc -l)" = 41 ] ||
		fail "$(wc -l <main/told)"
	stop
}

test_full() {
	local at
	forget main
	at=$(cat main/port)
	end_receiver main
	begin --webhook-queue 2
	post 201 q=1
	post 201 q=2
	expect_problem 503 webhooks_full --data-binary "@$photo" \
		"$url/v1/images?w=32&q=3"
	grep -qi '^retry-after: 30' head || fail "$(cat head)"
	curl -fsS --data-binary "@$photo" -o body "$url/?w=32"
	[ "$(stats .webhooks.waiting .webhooks.waiting_max | xargs)" = "2 2" ] ||
		fail "$(stats .webhooks)"
	receive main "$at"
	settle
	post 201 q=3
	settle
	[ "$(jq -r .id main/told | sort -u | wc -l)" = 3 ] ||
		fail "$(cat main/told)"
	stop
}

# SIGHUP: a second key makes a second signature; a wrong file changes nothing,
# not even if the helper is started again.
test_new_keys() {
	forget main
	begin
	post 201 q=1
	settle
	(umask 077 && cat key <(new_key) >key.new && cat key.new >key)
	cp key main/keys
	kill -HUP "$server"
	until_true grep -q 'the keys of webhooks were read again' log
	post 201 q=2
	settle
	[ "$(jq -c '[.valid, .signatures]' main/told | xargs)" = "[1,1] [2,2]" ] ||
		fail "$(cat main/told)"
	echo wrong >key
	kill -HUP "$server"
	until_true grep -q 'the new keys of webhooks are not accepted' log
	kill -KILL "$(helper)"
	post 201 q=3
	settle
	is_told main '.valid == 2 and .signatures == 2' || fail "other keys"
	stop
	cp main/keys key
}

# the_child PID NAME: the child of a process that has this name
the_child() {
	local children=() child
	read -r -a children <"/proc/$1/task/$1/children" || true
	for child in "${children[@]}"; do
		[ "$(cat "/proc/$child/comm" 2>/dev/null)" != "$2" ] || echo "$child"
	done
}

keeper() {
	the_child "$server" webhook-keeper
}

helper() {
	the_child "$(keeper)" darkroom-webhoo
}

has_helper() {
	[ -n "$(helper)" ]
}

# Clients upload while the helper is killed again and again: all is told.
test_killed_helper() {
	local i
	forget main
	begin
	for i in $(seq 20); do
		post 201 "q=$i"
		"$JSON_VALUE" .id <body
		[ $((i % 5)) != 0 ] || {
			until_true has_helper
			kill -KILL "$(helper)"
		}
	done >ids
	settle
	jq -r .event.data.id main/told | sort -u | diff - <(sort ids) ||
		fail "not those"
	[ "$(jq -r .id main/told | sort -u | wc -l)" = 20 ] || fail "other ids"
	until_true eval '[ "$(stat_of .webhooks.helper_starts)" -ge 5 ]'
	stop
}

# Without a keeper events wait on the disk; the next start tells them.
test_killed_keeper() {
	local last
	forget main
	begin
	until_true has_helper
	last=$(helper)
	kill -KILL "$(keeper)"
	until_true grep -q 'the process that starts the webhook helper has' log
	until_true eval '! kill -0 $last 2>/dev/null'
	post 201 q=1
	[ "$(stat_of .webhooks.waiting)" = 1 ] || fail "$(stats .webhooks)"
	stop
	again
	settle
	[ "$(wc -l <main/told)" = 1 ] || fail "$(cat main/told)"
	stop
}

# Clients upload to tickets, and wait for no reply, while the server is killed:
# what was answered 201 is told; each ticket has one webhook-id, however often
# it is told.  So has each upload that was answered 202.
test_killed_server() {
	local round i last goal _
	forget main
	begin
	: >told.ids
	for round in 1 2 3 4; do
		for i in 1 2 3 4 5 6; do
			make_ticket "q=$round$i"
			echo "$path" >"path$i"
		done
		rm -f code[1-6] early_code[1-6]
		for i in 1 2 3 4 5 6; do
			curl -sS -o "reply$i" -w '%{http_code}\n' --upload-file \
				"$photo" "$url$(cat "path$i")" >"code$i" 2>/dev/null &
			curl -sS -o "early$i" -w '%{http_code}\n' --data-binary \
				"@$photo" "$url/v1/images?w=400&blur=9&enlarge=1&respond=decoded&q=$round$i" \
				>"early_code$i" 2>/dev/null &
		done
		# Kill it at any time between the first answer and the last.
		goal=$((RANDOM % 10))
		for _ in $patience; do
			[ "$(cat code[1-6] early_code[1-6] 2>/dev/null |
				wc -l)" -lt $goal ] || break
			sleep 0.01
		done
		last=$(keeper)
		kill -KILL "$server"
		wait "$server" 2>/dev/null || true
		wait # for the clients
		server=
		until_true eval '! kill -0 $last 2>/dev/null'
		for i in 1 2 3 4 5 6; do
			[ "$(cat "code$i")" != 201 ] || jq -r .id "reply$i"
			[[ $(cat "early_code$i") != 20[12] ]] || jq -r .id "early$i"
		done >>told.ids
		again
		# A client that has no reply sends the file again.
		for i in 1 2 3 4 5 6; do
			[ "$(cat "code$i")" = 201 ] || {
				path=$(cat "path$i")
				curl -sS -o body --upload-file "$photo" "$url$path"
			}
		done
	done
	until_true eval '[ "$(stat_of .spool.waiting)" = 0 ]'
	settle
	jq -r .event.data.id main/told | sort -u >all.ids
	sort -u told.ids | comm -23 - all.ids >lost
	[ ! -s lost ] || fail "not told: $(cat lost)"
	[ "$(jq -r 'select(.event.data.ticket).event.data.ticket' main/told |
		sort -u | wc -l)" = 24 ] || fail "a ticket is not told"
	jq -r 'select(.event.data.ticket) | "\(.event.data.ticket) \(.id)"' \
		main/told | sort -u | cut -d ' ' -f 1 | uniq -d >twice
	[ ! -s twice ] || fail "two ids of a ticket: $(cat twice)"
	echo "$(wc -l <told.ids) answers, $(wc -l <main/told) requests"
	stop
}

# With an object store the queue is in the folder of the inbox.
test_object_store() {
	[ -n "$fake" ] || return 0
	rm -rf inbox s3.port
	mkdir inbox
	"$fake" >s3.port &
	disown $!
	until_true test -s s3.port
	forget main
	forget other
	(umask 077 && printf '[default]\naws_access_key_id = test:key\naws_secret_access_key = test/secret\n' >s3.keys)
	start --store s3://photos/a --s3-endpoint "http://127.0.0.1:$(cat s3.port)" \
		--s3-path-style --s3-credentials-file s3.keys --inbox inbox \
		--webhook-key-file key --webhook "$(origin main)/all" \
		--webhook-allow "$(origin other)" --webhook-retry 1s
	post 201 q=1
	make_ticket "webhook=$(origin other)/mine"
	put 201
	until_true nothing_waits
	[ "$(wc -l <main/told) $(wc -l <other/told)" = "2 1" ] ||
		fail "$(cat ./*/told)"
	[ "$(ls inbox/hooks)" = $'events\nfailed\ntmp' ] || fail "$(ls inbox/hooks)"
	needs early_replies || {
		stop
		return
	}
	post 202 "w=1500&progressive=1&enlarge=1&respond=decoded&max_bytes=400"
	until_true is_told main '.event.type == "image.failed"'
	stop
}

# node_receives PROGRAM: tell this receiver, which prints its port, then a line
# for each image, of one image with a ticket; the lines are in lines
node_receives() {
	local at
	rm -f lines
	HOOK_KEYS=$(<key) node "$1" >lines &
	disown $!
	until_true test -s lines
	at=$(head -n 1 lines)
	rm -rf store
	mkdir store
	start --store store --webhook-key-file key --webhook-retry 1s \
		--webhook "http://127.0.0.1:$at/"
	make_ticket q=50
	put 201
	until_true nothing_waits
	[ "$(tail -n +2 lines)" = "$ticket: $("$JSON_VALUE" .url <body)" ] ||
		fail "not that line: $(cat lines)"
	[ "$(curl -sS -o /dev/null -w '%{http_code}' -d '{}' \
		-H "webhook-id: msg_1" -H "webhook-timestamp: $(date +%s)" \
		-H 'webhook-signature: v1,AAAA' "http://127.0.0.1:$at/")" = 401 ] ||
		fail "a wrong signature is accepted"
	[ "$(curl -sS -o /dev/null -w '%{http_code}' -d '{}' \
		"http://127.0.0.1:$at/")" = 401 ] || fail "none is accepted"
	stop
}

# The receiver of docs/uploads.md.
test_documented_receiver() {
	have node || return 0
	awk '/^## A receiver of webhooks/ { is_here = 1 }
		is_code && /^```$/ { exit }
		is_code
		is_here && /^```js$/ { is_code = 1 }' "$source/docs/uploads.md" |
		sed 's/^receiver.listen(9000);/receiver.listen(0, "127.0.0.1", () => console.log(receiver.address().port));/' \
		>receiver.mjs
	grep -q 'address().port' receiver.mjs || fail "no receiver in the document"
	node_receives receiver.mjs
}

# The library of Standard Webhooks.
test_library() {
	local modules=$source/service/test/browser/node_modules
	have node || return 0
	[ -d "$modules/standardwebhooks" ] || {
		echo "skipped: no standardwebhooks in node_modules: npm install" >&2
		return 0
	}
	cat >receiver.cjs <<-END
		const { Webhook } = require("$modules/standardwebhooks");
		const webhook = new Webhook(
			process.env.HOOK_KEYS.trim().split("\n")[0]);
		const receiver = require("node:http").createServer(
			async (request, reply) => {
			try {
				const { data } = webhook.verify(Buffer.concat(
					await request.toArray()).toString(),
				request.headers);
				console.log(\`\${data.ticket}: \${data.url}\`);
				reply.writeHead(204).end();
			} catch {
				reply.writeHead(401).end();
			}
		}).listen(0, "127.0.0.1",
			() => console.log(receiver.address().port));
	END
	node_receives receiver.cjs
}

receive main
receive other
not_with_tsan test_flags
not_with_tsan test_keys
test_stored
test_tickets
not_with_tsan test_resumable_upload
test_accepted
test_away
test_statuses
not_with_tsan test_given_up
test_silent
test_full
test_new_keys
test_killed_helper
not_with_tsan test_killed_keeper
test_killed_server
not_with_tsan test_object_store
not_with_tsan test_documented_receiver
not_with_tsan test_library
