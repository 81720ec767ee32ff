#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program accepts the flags in deploy/, and the service manager gives it
# more time to stop than it may need.
#
# usage: DARKROOM=PROGRAM test_deploy.sh DEPLOY_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it starts no server"
deploy=$1
head -c 24 /dev/urandom | base64 >"$work/keys"
chmod 600 "$work/keys"

# waits_longer SECONDS FLAGS...: SECONDS are more than a server with these flags
# needs to stop
waits_longer() {
	local seconds=$1
	shift
	"$DARKROOM" "$@" --check-config || fail "bad flags: $*"
	"$DARKROOM" "$@" --print-config >"$work/config"
	[ "$(jq --argjson most "$seconds" '[."shutdown-delay", ."drain-timeout"] |
		map(rtrimstr("s") | tonumber) | add > 0 and add < $most' \
		"$work/config")" = true ] || fail "is ended too early: $*"
}

# flags_of UNIT: print the flags in its variables and its ExecStart, for the
# instance 8081
flags_of() {
	local name value
	{
		sed -n 's/^Environment=//p' "$1" | tr ' ' '\n' |
			while IFS== read -r name value; do
				echo "--${name#DARKROOM_}" | tr 'A-Z_' 'a-z-'
				echo "$value"
			done
		sed -n 's/^ExecStart=[^ ]* //p' "$1" | tr ' ' '\n'
	} | sed "s|%S|$work|; s|%i|8081|g"
}

# test_unit FILE: systemd and the program accept this unit
test_unit() {
	local unit=$deploy/$1
	mapfile -t flags < <(flags_of "$unit")
	waits_longer "$(sed -n 's/^TimeoutStopSec=//p' "$unit")" "${flags[@]}"
	have systemd-analyze || return 0
	sed "s|^\(ExecStart=\)[^ ]*|\1$DARKROOM|" "$unit" >"$work/$1"
	systemd-analyze verify --man=no "$work/$1" \
		>"$work/report" 2>&1 || fail "$(cat "$work/report")"
	[ ! -s "$work/report" ] || fail "$(cat "$work/report")"
}

# The sockets are those of the unit's flags, under the flags' names.
test_sockets() {
	local name socket
	{
		echo "listen $("$DARKROOM" --print-config | jq -r .listen)"
		flags_of "$deploy/darkroom.service" |
			sed -n '/^--admin-listen$/{n;s/^/admin-listen /p}'
	} >"$work/expected"
	for name in darkroom darkroom-admin; do
		socket=$deploy/$name.socket
		grep -qx 'Service=darkroom.service' "$socket" ||
			fail "$name.socket is for another unit"
		echo "$(sed -n 's/^FileDescriptorName=//p' "$socket")" \
			"$(sed -n 's/^ListenStream=//p' "$socket")"
	done | diff "$work/expected" - || fail "the sockets are others"
	have systemd-analyze || return 0
	cp "$deploy"/*.socket "$work"
	systemd-analyze verify --man=no "$work"/darkroom{,-admin}.socket \
		>"$work/report" 2>&1 || fail "$(cat "$work/report")"
	[ ! -s "$work/report" ] || fail "$(cat "$work/report")"
}

test_manifest() {
	local manifest=$deploy/kubernetes.yaml
	mapfile -t flags < <(sed -n 's/^ *- \(--.*\)/\1/p' "$manifest" |
		sed "s|/etc/darkroom/keys|$work/keys|
			s|/etc/darkroom-s3/credentials|$work/s3|")
	printf '[default]\naws_access_key_id = a\naws_secret_access_key = b\n' \
		>"$work/s3"
	chmod 600 "$work/s3"
	waits_longer "$(sed -n 's/.*GracePeriodSeconds: //p' "$manifest")" \
		"${flags[@]}"
	# With the image's environment, it must not start without a key.
	DARKROOM_LISTEN=0.0.0.0:8080 DARKROOM_INSECURE=0 refuses insecure
}

# ports FILE PATTERN: print the port numbers after this pattern
ports() {
	grep -oE "$2[0-9]+" "$1" | grep -oE '[0-9]+$' | sort -u | tr '\n' ' '
}

# No two programs have the same port, and the proxies use the servers' ports.
test_ports_agree() {
	local proxy instances
	instances=$(ports "$deploy/darkroom@.service" 'darkroom@')
	[ "$(wc -w <<<"$instances")" = 3 ] || fail "not three: $instances"
	for proxy in nginx.conf haproxy.cfg; do
		grep -q "darkroom@${instances%% *}" "$deploy/$proxy" ||
			fail "$proxy does not name the units"
		[ "$(ports "$deploy/$proxy" 'server( [a-z])? 127.0.0.1:')" = \
			"$instances" ] ||
			fail "$proxy expects other servers than $instances"
		[ "$(ports "$deploy/$proxy" '(listen |bind :)')" = '80 ' ] ||
			fail "$proxy is not at port 80"
	done
	[ "$(ports "$deploy/haproxy.cfg" 'agent-port ')" = \
		"$(printf '2%s ' $instances)" ] || fail "other agents"
	{
		printf ':%s\n' 80 8404 # of a proxy
		for i in $instances; do
			flags_of "$deploy/darkroom@.service" | sed "s/8081/$i/"
		done
		flags_of "$deploy/darkroom.service"
		"$DARKROOM" --print-config | jq -r .listen
	} | grep -oE '(^|:)[0-9]+$' | tr -d : >"$work/ports"
	[ "$(wc -l <"$work/ports")" = 13 ] || fail "$(cat "$work/ports")"
	[ "$(sort -u "$work/ports" | wc -l)" = 13 ] ||
		fail "a port is taken twice: $(sort "$work/ports" | uniq -d)"
}

# nginx lets larger bodies through than the server, which then answers itself.
test_nginx_has_higher_limits() {
	local file limit
	limit=$("$DARKROOM" --print-config | jq -r '."max-body"')
	[[ $limit =~ ^[0-9]+M$ ]] || fail "--max-body is $limit"
	for file in nginx.conf nginx-store.conf; do
		[ "$(sed -n 's/.*client_max_body_size \([0-9]*\)m;.*/\1/p' \
			"$deploy/$file")" -gt "${limit%M}" ] ||
			fail "$file: not more than $limit"
	done
}

# The file for one server has the port and the folder of its unit.
test_the_store_is_the_units() {
	local folder
	folder=/var/lib/$(sed -n 's/^StateDirectory=//p' \
		"$deploy/darkroom.service")
	grep -q "alias $folder/" "$deploy/nginx-store.conf" || fail "not $folder"
	[ "$(ports "$deploy/nginx-store.conf" 'server 127.0.0.1:')" = \
		"$("$DARKROOM" --print-config | jq -r .listen | sed 's/.*://') " ] ||
		fail "another port than that of darkroom.service"
}

test_haproxy_accepts_its_file() {
	PATH=$PATH:/usr/sbin
	have haproxy || return 0
	haproxy -c -f "$deploy/haproxy.cfg" >"$work/report" 2>&1 ||
		fail "$(cat "$work/report")"
	! grep -qi warning "$work/report" || fail "$(cat "$work/report")"
	# With the line for sites without keys.
	sed 's/#\(http-request deny\)/\1/' "$deploy/haproxy.cfg" >"$work/cfg"
	[ "$(diff "$deploy/haproxy.cfg" "$work/cfg" | grep -c '^>')" = 1 ] &&
		haproxy -c -f "$work/cfg" >"$work/report" 2>&1 ||
		fail "$(cat "$work/report")"
}

# Prometheus accepts its file and the rules.
test_prometheus_accepts_its_file() {
	have promtool || return 0
	promtool check config "$deploy/prometheus.yml" >"$work/report" 2>&1 ||
		fail "$(cat "$work/report")"
}

# The two units are equal except for intended differences.
test_units_agree() {
	local unit
	for unit in darkroom.service darkroom@.service; do
		sed -n '/^\[Unit\]/,$p' "$deploy/$unit" |
			grep -vE '^(Description|ExecStart|StateDirectory|UMask|Environment=DARKROOM_(ADMIN_LISTEN|STORE))' \
				>"$work/$unit.rest"
	done
	diff "$work"/darkroom.service.rest "$work"/darkroom@.service.rest ||
		fail "the units differ"
}

# The command line of a unit has only what /etc/darkroom/environment must not
# change, the ports of an instance.  Each line of that file is a flag.
test_the_environment_overrides() {
	local line unit
	for unit in darkroom.service darkroom@.service; do
		! sed -n 's/^ExecStart=[^ ]*//p' "$deploy/$unit" |
			grep -oE -- ' --[a-z-]+' | grep -vE 'listen$' ||
			fail "$unit cannot be changed"
		grep -A1 '^Environment=' "$deploy/$unit" | tail -n 1 |
			grep -qx 'EnvironmentFile=-/etc/darkroom/environment' ||
			fail "$unit: other variables come later"
	done
	! grep -q '^ExecStart=[^ ]* ' "$deploy/darkroom.service" ||
		fail "darkroom.service has flags"
	while read -r line; do
		env DARKROOM_STORE=s3://photos "$line" "$DARKROOM" \
			--print-config >"$work/config" || fail "$line"
	done < <(sed -n 's/^#\(DARKROOM_[^=]*=[^ ]*\)$/\1/p' \
		"$deploy/environment" | grep -v _FILE=)
}

# If an address does not exist yet, the server's status makes systemd start it
# again, without end.  After a wrong flag, systemd does not start it again.
test_boot_is_retried() {
	local unit=$deploy/darkroom.service
	ends_with 1 192.0.2.1:8080 --insecure --listen 192.0.2.1:8080
	grep -qx 'Restart=on-failure' "$unit" || fail "is not restarted"
	grep -qx 'StartLimitIntervalSec=0' "$unit" || fail "is given up"
	refuses nonsense --listen nonsense
	grep -qx 'RestartPreventExitStatus=2' "$unit" || fail "flags are retried"
}

test_unit darkroom.service
test_unit darkroom@.service
test_sockets
test_units_agree
test_ports_agree
test_nginx_has_higher_limits
test_the_store_is_the_units
test_haproxy_accepts_its_file
test_prometheus_accepts_its_file
test_boot_is_retried
test_the_environment_overrides
test_manifest

# Where npm can install the client: every member exists, with the right type.
test_manifests_are_valid() {
	local status=0
	have npm || return 0
	"$deploy/../script/lab/check-manifests" >"$work/report" 2>&1 || status=$?
	case $status in
	0) ;;
	77) echo "skipped: npm cannot install the client of Kubernetes" ;;
	*) fail "$(cat "$work/report")" ;;
	esac
}
test_manifests_are_valid
