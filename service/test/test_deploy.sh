#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The flags in deploy/ are good for this program, and who ends it waits longer
# than it may take.
#
# usage: DARKROOM=PROGRAM test_deploy.sh DEPLOY_DIR
. "$(dirname "$0")/server.sh"
deploy=$1
head -c 24 /dev/urandom | base64 >"$work/keys"
chmod 600 "$work/keys"

# waits_longer SECONDS FLAGS...: than these need to stop
waits_longer() {
	local seconds=$1
	shift
	"$DARKROOM" "$@" --check-config || fail "bad flags: $*"
	"$DARKROOM" "$@" --print-config >"$work/config"
	[ "$(jq --argjson most "$seconds" '[."shutdown-delay", ."drain-timeout"] |
		map(rtrimstr("s") | tonumber) | add > 0 and add < $most' \
		"$work/config")" = true ] || fail "is ended too early: $*"
}

test_unit() {
	local unit=$deploy/darkroom.service
	mapfile -t flags < <(sed -n 's/^ExecStart=[^ ]* //p' "$unit" |
		sed "s|%S|$work|" | tr ' ' '\n')
	waits_longer "$(sed -n 's/^TimeoutStopSec=//p' "$unit")" "${flags[@]}"
	command -v systemd-analyze >/dev/null || return 0
	sed "s|^\(ExecStart=\)[^ ]*|\1$DARKROOM|" "$unit" \
		>"$work/darkroom.service"
	systemd-analyze verify --man=no "$work/darkroom.service" \
		>"$work/report" 2>&1 || fail "$(cat "$work/report")"
	[ ! -s "$work/report" ] || fail "$(cat "$work/report")"
}

test_manifest() {
	local manifest=$deploy/kubernetes.yaml
	mapfile -t flags < <(sed -n 's/^ *- \(--.*\)/\1/p' "$manifest" |
		sed "s|/etc/darkroom/keys|$work/keys|")
	waits_longer "$(sed -n 's/.*GracePeriodSeconds: //p' "$manifest")" \
		"${flags[@]}"
	# As the image would have it without a key.
	DARKROOM_LISTEN=0.0.0.0:8080 DARKROOM_INSECURE=0 refuses insecure
}

test_unit
test_manifest
