#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Access control.  A server listens for other machines only with keys or
# --insecure.  With keys, a request needs a key or a signed query; only stored
# images may be fetched by everybody.  A key cannot remove an image that another
# key has stored, even if both images are equal.  A metrics key may only read
# /metrics.  No key appears in any output.
#
# usage: DARKROOM=PROGRAM test_auth.sh SAMPLES_DIR HTTP_API_MD
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
api=$2

api_key=api-key-0123456789-one
other_key=api-key-0123456789-two
sign_key=sign-key-0123456789-one
old_key=api-key-0123456789-old
new_key=api-key-0123456789-new
metrics_key=metrics-key-0123456789
printf '# ours\n%s\n\n%s\nshop %s\nshop %s\n' $api_key $other_key \
	$old_key $new_key >"$work/api.keys"
printf '%s\n' another-sign-key-0123 "shop $sign_key" >"$work/sign.keys"
printf '%s\n' another-metrics-key-0 "prometheus $metrics_key" \
	>"$work/metrics.keys"
chmod 600 "$work"/*.keys

# accepts FLAGS...: a server may start with these flags
accepts() {
	"$DARKROOM" --check-config "$@" >"$work/log" 2>&1 || fail "refused: $*"
	[ ! -s "$work/log" ] || fail "not silent: $*"
}

test_others_are_not_listened_to_unasked() {
	local address
	for address in 0.0.0.0:0 '[::]:0' 192.0.2.1:80 '[2001:db8::1]:80' \
		'[::ffff:127.0.0.1]:80'; do
		refuses --insecure --listen "$address"
		grep -qF "'$address'" "$work/log" || fail "not named: $address"
		refuses --api-key-file --check-config --listen "$address"
		refuses --admin-listen --check-config --admin-listen "$address"
		accepts --listen "$address" --insecure
		accepts --listen "$address" --api-key-file "$work/api.keys"
		accepts --listen "$address" --sign-key-file "$work/sign.keys"
		DARKROOM_INSECURE=1 accepts --listen "$address"
	done
	for address in 127.0.0.1:0 127.8.9.10:80 '[::1]:0' localhost:80; do
		accepts --listen "$address" --admin-listen "${address%:*}:0"
	done
}

test_wrong_files_are_refused_and_not_shown() {
	echo short-secret >"$work/bad"
	refuses "--api-key-file: '$work/bad': line 1" --check-config \
		--api-key-file "$work/bad"
	! grep -q short-secret "$work/log" || fail "$(cat "$work/log")"
	refuses "--sign-key-file: '$work/none'" --listen 127.0.0.1:0 \
		--sign-key-file "$work/none"
	DARKROOM_API_KEY_FILE=$work/none refuses DARKROOM_API_KEY_FILE \
		--listen 127.0.0.1:0
	chmod 644 "$work/sign.keys"
	"$DARKROOM" --check-config --sign-key-file "$work/sign.keys" \
		2>"$work/log" || fail "mode 644 is refused"
	grep -qF -- "--sign-key-file: '$work/sign.keys': can be read by every user: chmod 640 it" \
		"$work/log" ||
		fail "no warning of mode 644"
	! grep -q written "$work/log" || fail "a warning that is wrong"
	for mode in 620 602; do
		chmod "$mode" "$work/sign.keys"
		"$DARKROOM" --check-config --sign-key-file "$work/sign.keys" \
			2>"$work/log" || fail "mode $mode is refused"
		grep -qF "'$work/sign.keys': can be written" "$work/log" ||
			fail "no warning of mode $mode"
	done
	chmod 600 "$work/sign.keys"
}

# upload CURL-ARGUMENTS...: upload the photo and print the status
upload() {
	curl -sS -o "$work/body" -w '%{http_code}' --data-binary "@$photo" "$@"
}

bearer() {
	echo "Authorization: Bearer $1"
}

# challenge TEXT: the last reply 401 had this WWW-Authenticate
challenge() {
	grep -qixF "WWW-Authenticate: $1" <(tr -d '\r' <"$work/head") ||
		fail "not $1: $(cat "$work/head")"
}

test_a_key_is_needed() {
	local path bad
	for path in '/?w=99' /stats /trace; do
		expect_problem 401 unauthorized "$url$path" \
			-X "$([ "$path" = '/?w=99' ] && echo POST || echo GET)"
		challenge 'Bearer realm="darkroom"'
	done
	for bad in ${api_key}x "${api_key%?}" "$sign_key" '# ours'; do
		expect_problem 401 invalid_key -H "$(bearer "$bad")" \
			--data-binary "@$photo" "$url/?w=99"
		challenge 'Bearer realm="darkroom", error="invalid_token"'
		expect_problem 401 invalid_key -H "$(bearer "$bad")" "$url/stats"
	done
	expect_problem 401 unauthorized -u "$api_key:" "$url/stats"
	expect_problem 401 unauthorized -H 'Authorization: Bearer ' "$url/stats"
	# White space around a value does not belong to it.
	for key in "  $api_key" "$api_key " "$api_key"$'\t \t'; do
		[ "$(upload -H "$(bearer "$key")" "$url/?w=9")" = 200 ] ||
			fail "'$key': $(shown "$work/body")"
	done
	for path in healthz readyz; do
		curl -fsS "$url/$path" >/dev/null || fail "$path needs a key"
	done
	# A signature is a parameter like any other.
	expect_problem 400 bad_parameter -H "$(bearer $api_key)" \
		--data-binary "@$photo" "$url/?expires=2000000000"
	for key in $api_key $other_key; do
		[ "$(upload -H "$(bearer $key)" "$url/v1/process?w=99")" = 200 ] ||
			fail "$key: $(shown "$work/body")"
	done
	curl -fsS -H "$(bearer $other_key)" "$url/stats" >"$work/stats"
	[ "$(jq .uploads.sent "$work/stats")" = 5 ] || fail "who was let in?"
}

# A request without a key gets no "100 Continue", and no memory for the body
# that it announces.
test_no_body_is_asked_for() {
	expect_problem 401 invalid_key -H 'Expect: 100-continue' \
		-H "$(bearer nobody)" --data-binary "@$photo" "$url/"
	! grep -q '^HTTP/1.1 100' "$work/head" || fail "$(cat "$work/head")"
	upload -H 'Expect: 100-continue' -H "$(bearer $api_key)" \
		-D "$work/head" "$url/" >"$work/code"
	grep -q '^HTTP/1.1 100' "$work/head" || fail "no 100: $(cat "$work/head")"
}

# If the client sends the body anyway, it is read and dropped, and the
# connection stays open.
test_the_connection_can_be_used_again() {
	curl -sS -o "$work/one" --data-binary "@$photo" "$url/" --next \
		-sS -o "$work/two" -w '%{num_connects} %{http_code}' \
		-H "$(bearer $api_key)" "$url/stats" >"$work/code"
	[ "$(cat "$work/code")" = '0 200' ] || fail "$(cat "$work/code")"
}

test_no_key_is_shown() {
	local last=worker _
	needs workers || last=hardware
	"$DARKROOM" --print-config --api-key-file "$work/api.keys" \
		--sign-key-file "$work/sign.keys" >"$work/config"
	jq -e --arg file "$work/api.keys" '.["api-key-file"] == $file' \
		"$work/config" >/dev/null || fail "$(cat "$work/config")"
	curl -fsS -H "$(bearer $api_key)" "$url/stats" >"$work/stats"
	kill -USR1 "$server"
	for _ in $patience; do
		! grep -q "^$last" "$work/log" || break
		sleep 0.05
	done
	grep -q "^$last" "$work/log" || fail "no answer to SIGUSR1"
	! grep -lE -- '-key-0123456789' "$work/config" "$work/stats" "$work/log" ||
		fail "a key is shown"
}

# sign METHOD PATH PARAMETER...: print the signature of this request
sign() {
	local method=$1 path=$2
	shift 2
	printf '%s\n' "$@" | LC_ALL=C sort | {
		printf '%s\n%s\n' "$method" "$path"
		cat
	} | openssl dgst -sha256 -hmac $sign_key -r | cut -d' ' -f1
}

test_a_signed_query_needs_no_key() {
	local late=$(($(date +%s) + 3600)) s
	s=$(sign POST / w=99 fit=inside "expires=$late")
	for query in "w=99&fit=inside&expires=$late&signature=$s" \
		"signature=$s&expires=$late&fit=%69nside&w=%39%39" \
		"fit=inside&signature=${s^^}&w=99&expires=$late"; do
		[ "$(upload "$url/?$query")" = 200 ] ||
			fail "$query: $(shown "$work/body")"
	done
	# It is not valid for another path, method or parameters.
	for query in "w=98&fit=inside&expires=$late" "w=99&expires=$late" \
		"w=99&fit=inside&expires=$((late + 1))" "w=99&fit=inside" \
		"w=99&fit=inside&q=9&expires=$late"; do
		expect_problem 403 bad_signature --data-binary "@$photo" \
			"$url/?$query&signature=$s"
	done
	query="w=99&fit=inside&expires=$late&signature=$s"
	expect_problem 403 bad_signature --data-binary "@$photo" \
		"$url/v1/process?$query"
	expect_problem 403 bad_signature --data-binary "@$photo" \
		"$url/?$query&signature=$s"
	expect_problem 401 unauthorized "$url/stats?$query"
	s=$(sign GET /stats "expires=$late")
	expect_problem 401 unauthorized "$url/stats?expires=$late&signature=$s"
	s=$(sign POST / w=99 expires=1700000000)
	expect_problem 403 signature_expired --data-binary "@$photo" \
		"$url/?w=99&expires=1700000000&signature=$s"
}

# detail TEXT: expect TEXT in the detail of the last problem
detail() {
	"$JSON_VALUE" .detail <"$work/body" | tr '\n' '|' | has -F -- "$1" ||
		fail "not '$1': $(shown "$work/body")"
}

# The problem says which text the signature should be of, with what the client
# has sent, and as much of it as fits.
test_a_bad_signature_is_explained() {
	local late=$(($(date +%s) + 3600)) s
	s=$(sign POST / w=99)
	set -- --data-binary "@$photo"
	expect_problem 403 bad_signature "$@" "$url/?w=99&signature=$s"
	detail 'The signed query has no expires.'
	expect_problem 403 bad_signature "$@" \
		"$url/?w=99&expires=soon&signature=$s"
	detail 'seconds since 1970'
	expect_problem 403 bad_signature "$@" \
		"$url/?expires=1&signature=$s&signature=$s"
	detail 'one signature'
	expect_problem 403 bad_signature "$@" "$url/?expires=1&signature"
	detail 'one signature'
	expect_problem 403 bad_signature "$@" \
		"$url/?w=%0a&expires=$late&signature=$s"
	detail 'cannot be signed'
	expect_problem 403 bad_signature "$@" \
		"$url/v1/images?w=640&fit=%69nside&expires=$late&signature=$s"
	detail "of \"POST|/v1/images|expires=$late|fit=inside|w=640|\" with"
	! grep -qi "$s" "$work/body" || fail "the signature is shown"
	expect_problem 403 bad_signature "$@" "$url/?w=%09%ff&expires=$late&a=$(
		printf 'b%.0s' {1..900})&signature=$s"
	detail 'of "POST|/|a=bbb'
	detail 'bbb" and so on with'
	expect_problem 403 bad_signature "$@" \
		"$url/?w=%09%ff&expires=$late&signature=$s"
	detail 'w=??|"'
}

# A signature allows uploads alone.
test_a_signature_is_not_for_reports() {
	expect_problem 401 unauthorized "$url/stats"
	! grep -q sign "$work/body" || fail "$(shown "$work/body")"
	expect_problem 401 unauthorized --data-binary "@$photo" "$url/"
	detail "or sign the query"
}

test_signed_queries_are_checked_like_others() {
	local late=$(($(date +%s) + 3600)) s
	s=$(sign POST / w=0 "expires=$late")
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?w=0&expires=$late&signature=$s"
	s=$(sign POST / 'q=90 ' "expires=$late")
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?q=90+&expires=$late&signature=$s"
	expect_problem 414 target_too_long --data-binary "@$photo" "$url/?$(
		printf 'a%d=1&' {1..64})signature=$s"
}

# status CURL-ARGUMENTS...: print the status
status() {
	curl -sS -o "$work/body" -w '%{http_code}' "$@"
}

# A stored image is fetched by its id, and removed only with a key.
test_images_are_public() {
	local late=$(($(date +%s) + 3600)) path s
	s=$(sign POST /v1/images w=99 "expires=$late")
	[ "$(upload "$url/v1/images?w=99&expires=$late&signature=$s")" = 201 ] ||
		fail "not stored by signature: $(shown "$work/body")"
	[ "$(upload -H "$(bearer $api_key)" "$url/v1/images?w=99")" = 201 ] ||
		fail "not stored by key: $(shown "$work/body")"
	expect_problem 401 unauthorized --data-binary "@$photo" \
		"$url/v1/images?w=98"
	upload -H "$(bearer $api_key)" "$url/v1/images?w=99" >"$work/code"
	path=$("$JSON_VALUE" .url <"$work/body")
	[ "$(status "$url$path")" = 200 ] || fail "$path needs a key"
	[ "$(status "$url$path/image")" = 200 ] || fail "$path/image needs a key"
	[ "$(status --head "$url$path/image")" = 200 ] || fail "HEAD needs a key"
	expect_problem 404 not_found "$url$path/other"
	detail "no variant 'other'"
	s=$(sign DELETE "$path" "expires=$late")
	expect_problem 401 unauthorized -X DELETE "$url$path"
	expect_problem 401 unauthorized -X DELETE \
		"$url$path?expires=$late&signature=$s"
	[ "$(status "$url$path")" = 200 ] || fail "removed without a key"
	[ "$(status -X DELETE -H "$(bearer $api_key)" "$url$path")" = 204 ] ||
		fail "not removed by key"
	expect_problem 404 not_found "$url$path"
}

# stored_by AUTHORIZATION [QUERY]: store an image and print its path
stored_by() {
	[ "$(upload -H "$1" "$url/v1/images?w=97${2:-}")" = 201 ] ||
		fail "not stored: $(shown "$work/body")"
	jq -r .url "$work/body"
}

# One key cannot remove the image of another key, even if both images are equal.
test_each_owner_has_its_own_images() {
	local late=$(($(date +%s) + 3600)) one two old new signed query
	one=$(stored_by "$(bearer $api_key)")
	two=$(stored_by "$(bearer $other_key)")
	[ "$one" != "$two" ] || fail "two keys have one image"
	[ "$(stored_by "$(bearer $api_key)")" = "$one" ] || fail "not the same"
	[ "$(status -X DELETE -H "$(bearer $api_key)" "$url$one")" = 204 ] ||
		fail "not removed: $(shown "$work/body")"
	expect_problem 404 not_found "$url$one"
	[ "$(status "$url$two/image")" = 200 ] || fail "both are removed"
	# A key and the key that replaces it have the same name.
	old=$(stored_by "$(bearer $old_key)")
	new=$(stored_by "$(bearer $new_key)")
	[ "$old" = "$new" ] || fail "the new key has another image"
	[ "$old" != "$two" ] || fail "a named key has the image of another"
	query="&expires=$late&signature=$(sign POST /v1/images w=97 \
		"expires=$late")"
	signed=$(stored_by "X-None: 1" "$query")
	[ "$signed" = "$old" ] || fail "the sign key has another image"
}

# The documented Python code signs requests as a site's own server would.
test_the_documented_python_signs() {
	local path
	have python3 || return 0
	sed -n '/^```python$/,/^```$/{/^```/!p}' "$api" >"$work/recipe.py"
	cat >>"$work/recipe.py" <<-END
		print(signed("/v1/process", [("w", "99"), ("fit", "inside")],
		             "$sign_key"))
	END
	path=$(python3 "$work/recipe.py")
	[ "$(upload "$url$path")" = 200 ] || fail "$path"
	[ "$(upload "$url$path&h=9")" = 403 ] || fail "$path with h=9"
}

# In /proc, a process that leaves no core dump belongs to root.
test_no_core_dump_has_keys() {
	[ "$(id -u)" = 0 ] ||
		[ "$(stat -c %u "/proc/$server/environ")" = 0 ] ||
		fail "others of its user can read its memory"
}

# With a metrics key, a client may read /metrics, at whichever port, and do
# nothing else; with a key for everything, it may still read them.
test_metrics_keys() {
	local path _
	start --metrics-key-file "$work/metrics.keys" --store "$work/store" "$@"
	[ "$(status -H "$(bearer $metrics_key)" "$admin/metrics")" = 200 ] ||
		fail "may not read /metrics: $(shown "$work/body")"
	grep -q '^darkroom_build_info' "$work/body" || fail "no metrics"
	[ "$(status --head -H "$(bearer another-metrics-key-0)" \
		"$admin/metrics")" = 200 ] || fail "HEAD is not allowed"
	for path in /stats /trace /v1/load /v1/estimates /v1/live \
		/v1/blocking-graph; do
		expect_problem 403 key_not_allowed -m 60 \
			-H "$(bearer $metrics_key)" "$admin$path"
		challenge 'Bearer realm="darkroom", error="insufficient_scope"'
	done
	for path in / /v1/process /v1/images; do
		expect_problem 403 key_not_allowed --data-binary "@$photo" \
			-H "$(bearer $metrics_key)" "$url$path"
	done
	expect_problem 403 key_not_allowed -X DELETE \
		-H "$(bearer $metrics_key)" \
		"$url/v1/images/$(printf 'a%.0s' {1..64})"
	expect_problem 401 invalid_key -H "$(bearer ${metrics_key}x)" \
		"$admin/metrics"
	expect_problem 401 unauthorized "$admin/metrics"
	# It is read again like the others.
	echo metrics-key-of-tomorrow >"$work/metrics.keys"
	kill -HUP "$server"
	for _ in $patience; do
		! grep -q 'read again' "$work/log" || break
		sleep 0.05
	done
	expect_problem 401 invalid_key -H "$(bearer $metrics_key)" \
		"$admin/metrics"
	[ "$(status -H "$(bearer metrics-key-of-tomorrow)" \
		"$admin/metrics")" = 200 ] || fail "the new key is not accepted"
	echo "prometheus $metrics_key" >"$work/metrics.keys"
	echo another-metrics-key-0 >>"$work/metrics.keys"
	stop
}

test_metrics_keys_alone_are_refused() {
	refuses "--metrics-key-file: '$work/metrics.keys': without" \
		--check-config --metrics-key-file "$work/metrics.keys"
	refuses "--metrics-key-file: '$work/none'" --check-config \
		--api-key-file "$work/api.keys" \
		--metrics-key-file "$work/none"
}

# A key of both files would allow everything.
test_metrics_keys_are_others() {
	{
		echo 'prometheus another-metrics-key-0'
		grep -v '^#' "$work/api.keys" | tail -n 1
	} >"$work/both.keys"
	chmod 600 "$work/both.keys"
	refuses "'$work/both.keys': line 2 is also a key of --api-key-file" \
		--check-config --api-key-file "$work/api.keys" \
		--metrics-key-file "$work/both.keys"
}

test_signed_queries() {
	start --sign-key-file "$work/sign.keys" "$@"
	expect_problem 401 unauthorized --data-binary "@$photo" "$url/?w=99"
	expect_problem 401 unauthorized "$url/stats"
	test_a_signed_query_needs_no_key
	test_a_bad_signature_is_explained
	test_a_signature_is_not_for_reports
	test_signed_queries_are_checked_like_others
	stop
}

start --api-key-file "$work/api.keys"
test_no_core_dump_has_keys
test_a_key_is_needed
test_no_body_is_asked_for
test_the_connection_can_be_used_again
test_no_key_is_shown
stop
with_policies 'color thread-per-connection' test_signed_queries
start --sign-key-file "$work/sign.keys" --api-key-file "$work/api.keys"
test_the_documented_python_signs
[ "$(upload -H "$(bearer $api_key)" "$url/?w=9&expires=1&signature=0")" = 200 ] ||
	fail "a key is not enough beside a signature"
stop
mkdir "$work/store"
start --sign-key-file "$work/sign.keys" --api-key-file "$work/api.keys" \
	--store "$work/store"
test_images_are_public
test_each_owner_has_its_own_images
stop
test_metrics_keys --api-key-file "$work/api.keys"
test_metrics_keys --sign-key-file "$work/sign.keys" \
	--admin-listen 127.0.0.1:0
test_metrics_keys_alone_are_refused
test_metrics_keys_are_others
test_others_are_not_listened_to_unasked
test_wrong_files_are_refused_and_not_shown
