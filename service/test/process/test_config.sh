#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --config reads what --print-config prints.  --check-config prints nothing or
# an error.  Both use all sources of flags.  The documented example is valid.
#
# usage: DARKROOM=PROGRAM test_config.sh OPERATIONS_MD
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about flags and files"
operations=$1

# config FLAGS...: print the configuration
config() {
	"$DARKROOM" --print-config "$@" 2>"$work/log" || fail "refused: $*"
}

# round FLAGS...: the printed configuration, read back, is the same as the flags
round() {
	config "$@" >"$work/first"
	config --config "$work/first" >"$work/second"
	cmp -s "$work/first" "$work/second" ||
		fail "not the same: $* $(diff "$work/first" "$work/second")"
	"$DARKROOM" --check-config --config "$work/first" >"$work/log" 2>&1 ||
		fail "refused, as a file: $*"
	[ ! -s "$work/log" ] || fail "not silent: $*"
}

# is EXPRESSION FLAGS...: the expression is true of the printed configuration,
# by jq
is() {
	local expression=$1
	shift
	config "$@" >"$work/printed"
	[ "$(jq "$expression" "$work/printed")" = true ] ||
		fail "not $expression: $* $(cat "$work/printed")"
}

test_what_is_printed_is_read_back() {
	round
	round --listen '[::1]:0' --cores 0 --max-uploads 1 --max-body 1500K \
		--max-side 10 --max-megapixels 2.5 --max-scans 3 --memory 99M --deadline 5s \
		--max-decode-memory 1.5G --drain-timeout 250ms
	round --trace 'a "b" \ c' --save-graph "$work/graph"
	round --cores 0,1 --policy srpt --regime time-gated=1500 \
		--discipline srpt=0.5 --balance replicate \
		--distribute least-loaded --steal
	round --regime cutoff=9 --threshold blur=3,encode=0:900
	round --policy pool-per-stage --discipline lcfs --pool decode=2,blur=4
	round --policy pool-per-stage --pool auto
	round --policy thread-per-connection
	round --policy servlib --threads n:1 --transfers thread --quantum 70
	round --policy servlib --threads 1:1 --io sync
	round --policy color --discipline lcfs --slice 300
	round --policy color --discipline edf --slice 0
	round --cores 0,1 --balance partition
}

test_every_flag_is_printed_and_in_the_help() {
	"$DARKROOM" --help >"$work/help"
	config >"$work/printed"
	sed -n '/^POST/q; s/^  --\([a-z0-9-]*\).*/\1/p' "$work/help" |
		grep -vxE 'config|(check|print)-config|list-policies|help|version' |
		sort >"$work/flags"
	jq -r 'keys_unsorted[]' "$work/printed" | sort >"$work/keys"
	[ "$(wc -l <"$work/flags")" -ge 21 ] || fail "$(cat "$work/help")"
	cmp -s "$work/flags" "$work/keys" ||
		fail "$(diff "$work/flags" "$work/keys")"
}

test_defaults_are_printed() {
	"$DARKROOM" --help >"$work/help"
	grep -qF -- '--policy color --discipline srpt --slice 1000.' "$work/help" ||
		fail "the help names another default"
	is '.listen == "127.0.0.1:8080" and .["max-uploads"] == 256 and
		.["max-body"] == "64M" and .["max-megapixels"] == 250 and
		.["max-result-megapixels"] == 100 and
		.["drain-timeout"] == "8s" and .trace == null and
		.policy == "color" and .discipline == "srpt" and
		.slice == "1000"'
	is '.policy == "cohort" and .discipline == "fcfs" and
		.slice == null' --regime exhaustive
	is '.discipline == "srpt=2" and .slice == "1000"' --discipline srpt=2
	is '.discipline == "lcfs" and .slice == "0"' --discipline lcfs
	is '.steal == true and .balance == "replicate=2"' --cores 0,1 \
		--balance replicate --steal
}

test_all_sources_count() {
	echo '{ "max-body": "1M", "max-side": 11, "max-scans": 12 }' \
		>"$work/file"
	DARKROOM_CONFIG=$work/file DARKROOM_MAX_BODY=2M \
		DARKROOM_MAX_SIDE=22 is '.["max-body"] == "3M" and
		.["max-side"] == 22 and .["max-scans"] == 12' --max-body 3M
	DARKROOM_MAX_SIDE=22 is '.["max-body"] == "1M" and
		.["max-side"] == 22' --config "$work/file"
}

test_one_address_for_each_port() {
	local flag
	for flag in --admin-listen --agent-listen; do
		refuses "$flag: '127.0.0.1:8080': this is also the address of --listen" \
			--check-config $flag 127.0.0.1:8080
		refuses 'also the address of --listen' --listen 127.0.0.1:1 \
			$flag 127.0.0.1:1
	done
	refuses 'also the address of --admin-listen' --check-config \
		--admin-listen 127.0.0.1:9090 --agent-listen 127.0.0.1:9090
	"$DARKROOM" --check-config --listen 127.0.0.1:0 \
		--admin-listen 127.0.0.1:0 || fail "port 0 is refused"
}

test_low_ports() {
	[ "$(</proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 81 ] || return 0
	(
		if [ "$(id -u)" = 0 ]; then
			chmod 711 "$work"
			printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "%s" "$@"\n' \
				"$DARKROOM" >"$work/as_nobody"
			chmod 755 "$work/as_nobody"
			DARKROOM=$work/as_nobody
		fi
		refuses "--listen: '127.0.0.1:81': Permission denied: ports below 1024 are for root" \
			--listen 127.0.0.1:81
	)
}

test_words_that_were_probably_meant() {
	refuses "--store: 's3:/photos': did you mean s3://photos?" \
		--check-config --store s3:/photos
	refuses 'did you mean s3://photos/site?' --check-config \
		--store S3://photos/site
	refuses "--store-quota: '1G': it is for a folder" --check-config \
		--store s3://photos --store-quota 1024M
	refuses 'did you mean 64M' --check-config --max-body 64MB
}

test_refusals_have_a_source() {
	refuses "--cores: '4095'" --check-config --cores 4095
	DARKROOM_CORES=4095 refuses "DARKROOM_CORES: '4095'" --check-config
	echo '{ "cores": "4095" }' >"$work/file"
	refuses "$work/file: cores: '4095'" --check-config \
		--config "$work/file"
	DARKROOM_LISTN=x refuses 'did you mean DARKROOM_LISTEN?' --check-config
	echo '{ "max_body": "1M" }' >"$work/file"
	refuses "max_body: there is no such key; did you mean 'max-body'?" \
		--check-config --config "$work/file"
	DARKROOM_LISTEN=x refuses "DARKROOM_LISTEN: 'x': not ADDRESS:PORT" \
		--check-config
	DARKROOM_LISTEN=192.0.2.1:80 refuses "DARKROOM_LISTEN: '192.0.2.1:80'"
	DARKROOM_TRACE=/nowhere/x refuses "DARKROOM_TRACE: '/nowhere/x'" \
		--listen 127.0.0.1:0
	refuses "$work/none: No such file" --check-config --config "$work/none"
	refuses "$work/none" --check-config --balance partition --cores 0,1 \
		--graph "$work/none"
	refuses "--save-graph: '/nowhere/x'" --check-config \
		--save-graph /nowhere/x
	refuses 'makes no sense' --check-config --steal
	refuses 'makes no sense' --print-config --steal
	refuses 'defaults, here --policy color --discipline srpt' \
		--check-config --slice 1000
	DARKROOM_SLICE=1000 refuses 'defaults, here --policy color' \
		--check-config
	refuses 'defaults, here --policy color' --check-config --pool auto
	refuses 'no event comes before one that has begun' --check-config \
		--policy color --discipline fcfs --slice 1000
	! grep -q 'other defaults' "$work/log" || fail "all values were given"
	refuses 1000000 --check-config --max-connections 1000000
	# The number of open files in the message is enough.  An admin port, a
	# store or counters need more.
	(
		ulimit -n 64
		refuses 'files are needed' --check-config --cores 0 \
			--max-connections 200
	)
	files=$(grep -oE '[0-9]+ open files' "$work/log")
	(
		ulimit -n "${files% open files}"
		"$DARKROOM" --check-config --cores 0 --max-connections 200 ||
			fail "$files are enough"
		refuses 200 --check-config --cores 0 --max-connections 200 \
			--admin-listen 127.0.0.1:0
		refuses 200 --check-config --cores 0 --max-connections 200 \
			--store "$work"
		refuses 200 --check-config --cores 0 --max-connections 200 \
			--hardware-counters
	)
	! grep -q listening "$work/log" || fail "$(cat "$work/log")"
}

# Flags of a store or cache that is not there would have no effect.  The defaults
# may be in a file, where --print-config writes them.
test_flags_that_need_another() {
	local needy
	for needy in '--store-quota 1G' '--store-threads 8' '--spool none'; do
		# shellcheck disable=SC2086 # a flag and its value
		refuses 'it needs --store' --check-config $needy
		# shellcheck disable=SC2086
		"$DARKROOM" --check-config $needy --store "$work/store" ||
			fail "$needy is refused with a store"
	done
	DARKROOM_STORE_QUOTA=64M refuses \
		"DARKROOM_STORE_QUOTA: '64M': it needs --store DIR"
	echo '{ "store-quota": "3G" }' >"$work/file"
	refuses "$work/file: store-quota: '3G': it needs --store DIR" \
		--check-config --config "$work/file"
	refuses 'it needs --store-cache DIR' --check-config --store s3://photos \
		--store-cache-quota 2G
	"$DARKROOM" --check-config --store-quota 0 --spool store ||
		fail "defaults are refused"
	round --store "$work/store" --store-quota 3G --store-threads 8
}

# A flag of an earlier version is refused, with a message that names its
# replacement.
test_removed_flags_say_what_replaced_them() {
	refuses '--express: it was removed; --slice' --check-config --express 5ms
	DARKROOM_EXPRESS=5ms refuses \
		'DARKROOM_EXPRESS: it was removed; --slice' --check-config
	echo '{ "express": "5ms" }' >"$work/file"
	refuses "$work/file: express: it was removed; --slice" --check-config \
		--config "$work/file"
}

# --help works with any environment.
test_help_needs_no_environment() {
	DARKROOM_LISTN=x "$DARKROOM" --help >"$work/help" || fail "no help"
}

test_a_file_starts_a_server() {
	echo '{ "policy": "mg1", "max-uploads": 9 }' >"$work/file"
	start --config "$work/file"
	[ "$(stat_of .policy)" = mg1 ] || fail "$(stat_of .policy)"
	stop
	grep -qF 'defaults, here --discipline srpt --slice 1000)' "$work/log" ||
		fail "the log does not say which defaults were dropped"
}

test_the_documented_example_is_valid() {
	sed -n '/^```json$/,/^```$/{/^```/!p}' "$operations" >"$work/example"
	jq -e 'length >= 3' "$work/example" >"$work/log" ||
		fail "no example in $operations"
	"$DARKROOM" --check-config --config "$work/example" >"$work/log" 2>&1 ||
		fail "$(cat "$work/example")"
}

test_what_is_printed_is_read_back
test_every_flag_is_printed_and_in_the_help
test_defaults_are_printed
test_all_sources_count
test_refusals_have_a_source
test_one_address_for_each_port
test_low_ports
test_words_that_were_probably_meant
test_flags_that_need_another
test_removed_flags_say_what_replaced_them
test_help_needs_no_environment
test_a_file_starts_a_server
test_the_documented_example_is_valid
