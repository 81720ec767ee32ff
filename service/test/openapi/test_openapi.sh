#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# /v1/openapi.json is valid, and true: every example of a parameter, every
# operation and every error that a request can cause is as it says; and clients
# can be made of it.  Skipped without Node and what npm install gets.
#
# usage: DARKROOM=PROGRAM test_openapi.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
here=$(realpath "$(dirname "$0")")
chooses_policies "its errors are those of certain policies"
have node || exit 77
[ -d "$here/node_modules" ] || {
	echo "skipped: no node_modules: npm install"
	exit 77
}
samples=$(realpath "$1")
cd "$work"

# serve NAME FLAGS...: a server, whose URL is $NAME
serve() {
	start "${@:2}"
	declare -g "$1=$url"
	servers+=("$server")
	server=
}

mkdir store full
printf 'one 0123456789abcdef\n' >api.keys
printf 'fedcba9876543210\n' >sign.keys
printf '0011223344556677\n' >metrics.keys
servers=()
serve main --store store --store-original --max-body 2M
serve keys --api-key-file api.keys --sign-key-file sign.keys \
	--metrics-key-file metrics.keys
serve small --store full --store-quota 4K --max-megapixels 1 --max-scans 1 \
	--max-cpu 20ms
curl -fsS -o /dev/null -D head --data-binary "@$samples/clownfish.jpg" \
	"$main/?w=64&pdq=1"
sed -n 's/^X-PDQ: \([0-9a-f]*\).*/\1/Ip' head >blocks
serve blocking --block-list blocks
serve plain --max-output-megapixels 0.01 --policy thread-per-connection
# Else Node waits for connections that nobody uses any more.
force=--test-force-exit
node --help | grep -qe $force || force=
status=0
MAIN=$main KEYS=$keys SMALL=$small PLAIN=$plain BLOCKING=$blocking \
	STORE=$work/store WORK=$work SAMPLES=$samples \
	node --test-reporter=spec $force --test "$here/test_openapi.js" >report 2>&1 </dev/null || status=$?
cat report
for server in "${servers[@]}"; do
	kill -TERM "$server"
	{ wait "$server" || true; } 2>/dev/null
done
server=
[ $status = 0 ] || fail "see above"
