#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# HTTPS gives the same pictures as HTTP, by TLS 1.2 and 1.3 and no older
# version.  A wrong certificate or key is reported before the start.  Clients
# that connect and send nothing do not stop others.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_tls.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
photo=$1/clownfish.jpg
photos=$work/photos
mkdir "$photos"
ln -s "$(realpath "$photo")" "$photos"
export CURL_CA_BUNDLE=$work/one.pem

# make NAME: a certificate NAME.pem and its key NAME.key
make() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
		-nodes -days 2 -subj "/CN=$1" -addext \
		'subjectAltName=DNS:localhost,IP:127.0.0.1' \
		-keyout "$work/$1.key" -out "$work/$1.pem" 2>"$work/log" ||
		fail "openssl"
}

test_wrong_files_are_refused() {
	local one=$work/one.pem key=$work/one.key
	echo nonsense >"$work/nonsense"
	refuses --tls-key --check-config --tls-cert "$one"
	refuses --tls-cert --check-config --tls-key "$key"
	refuses "--tls-cert: '$work/none'" --tls-cert "$work/none" \
		--tls-key "$key"
	refuses "--tls-key: '$work/none'" --tls-cert "$one" \
		--tls-key "$work/none"
	refuses "--tls-cert: '$work/nonsense'" --tls-cert "$work/nonsense" \
		--tls-key "$key"
	refuses "--tls-cert: '$key'" --tls-cert "$key" --tls-key "$key"
	refuses "--tls-key: '$work/nonsense'" --tls-cert "$one" \
		--tls-key "$work/nonsense"
	refuses "--tls-key: '$work/two.key'" --tls-cert "$one" \
		--tls-key "$work/two.key"
}

# serves VERSION: does the server answer curl if this is curl's newest version
# of TLS?
serves() {
	[ "$(curl -sS -o "$work/tls" -w '%{http_code}' --tlsv1.0 \
		--tls-max "$1" --ciphers DEFAULT@SECLEVEL=0 \
		"$url/healthz" 2>"$work/why" || true)" = 200 ]
}

test_new_versions_alone() {
	serves 1.3 || fail "not TLS 1.3: $(cat "$work/why")"
	serves 1.2 || fail "not TLS 1.2: $(cat "$work/why")"
	! serves 1.1 || fail "TLS 1.1"
	[ "$(curl -s -o "$work/plain" -w '%{http_code}' \
		"http://${url#https://}/healthz" || true)" = 000 ] ||
		fail "plain HTTP is answered"
}

# several: print a reply with two variants, without its random boundary
several() {
	local boundary
	curl -fsS --data-binary "@$photo" -D "$work/head" -o "$work/parts" \
		"$url/?variant=a:q=100,w=3000,enlarge=1&variant=b:w=99"
	boundary=$(sed -n 's/.*boundary="\{0,1\}\([^"\r]*\).*/\1/p' "$work/head")
	LC_ALL=C sed "s/$boundary/boundary/" "$work/parts"
}

# Large bodies are sent both ways, in many TLS records, and more than once.
test_pictures_are_the_same() {
	local query i
	for query in 'w=320' 'q=100&w=4000&enlarge=1'; do
		curl -fsS --data-binary "@$photo" -o "$work/out1" "$url/?$query" \
			--next -fsS --data-binary "@$photo" -o "$work/out2" \
			"$url/?$query"
		for i in 1 2; do
			cmp "$work/$query" "$work/out$i" || fail "$query differs"
		done
	done
	several >"$work/out1"
	cmp "$work/several" "$work/out1" || fail "several pictures differ"
	curl -fsS -F "file=@$photo" "$url/?w=320" -o "$work/out1"
	cmp "$work/w=320" "$work/out1" || fail "the form's differs"
	expect_problem 415 not_a_jpeg --data-binary "@$work/one.pem" "$url/"
	check_drained
}

# Clients connect and then send nothing, in the middle of a handshake or before
# it.
test_silent_clients_stop_nobody() {
	local i fds=() fd
	for i in $(seq 20); do
		exec {fd}<>"/dev/tcp/127.0.0.1/$port"
		[ $((i % 2)) = 0 ] || printf '\x16\x03\x01\x01' >&"$fd"
		fds+=("$fd")
	done
	curl -fsS --max-time 60 --data-binary "@$photo" -o "$work/out1" \
		"$url/?w=320"
	cmp "$work/w=320" "$work/out1" || fail "differs"
	for fd in "${fds[@]}"; do
		exec {fd}>&-
	done
}

# Several clients at once, on kept connections, with large bodies.
test_many_uploads() {
	"$LOADGEN" --dataset "${photo%/*}" --connections 4 --passes 2 \
		--verify size --cacert "$work/one.pem" "$url/?w=320" \
		>"$work/report" 2>&1 || fail "loadgen: $(cat "$work/report")"
	"$LOADGEN" --dataset "$photos" --passes 1 --insecure \
		--save "$work/saved" "$url/?w=320" >"$work/report" 2>&1 ||
		fail "loadgen --insecure: $(cat "$work/report")"
	cmp "$work/w=320" "$work/saved/clownfish.jpg" || fail "loadgen's differs"
	! "$LOADGEN" --dataset "$photos" --passes 1 --cacert "$work/two.pem" \
		"$url/?w=320" >"$work/report" 2>&1 ||
		fail "loadgen trusts another certificate"
	grep -q 'certificate is not trusted' "$work/report" ||
		fail "loadgen: $(cat "$work/report")"
}

test_https() {
	start --tls-cert "$work/one.pem" --tls-key "$work/one.key" \
		--admin-listen 127.0.0.1:0 "$@"
	url=https://127.0.0.1:$port
	admin=https://${admin#http://}
	test_new_versions_alone
	test_pictures_are_the_same
	test_many_uploads
	test_silent_clients_stop_nobody
	stop
}

make one
make two
test_wrong_files_are_refused
start
for query in 'w=320' 'q=100&w=4000&enlarge=1'; do
	curl -fsS --data-binary "@$photo" -o "$work/$query" "$url/?$query"
done
several >"$work/several"
[ "$(grep -ac boundary "$work/several")" = 3 ] || fail "not two pictures"
stop
with_policies 'color thread-per-connection' test_https
