#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Traces contain every visit of all workers, and every event within its visit.
# A request is a flow from stage to stage.  A trace can be limited to a time
# span.  By default it has the last second, which may be less than a request takes
# on a busy machine, so most ask for a minute.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM [SANITIZED=WORDS]
#        test_trace.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about visits of workers"
dir=$1
photo=$dir/clownfish.jpg
[ -z "${SANITIZED:-}" ] || shrink 700 # pixels take long, and are not traced

# send_few: upload a few photos, in much less than a minute
send_few() {
	"$LOADGEN" --dataset "$dir" --connections 3 --passes 2 \
		"$url/?w=64&blur=2" >"$work/report" || fail "$(cat "$work/report")"
	check_drained
}

# Checks the nesting as a viewer computes it: a slice lies in the last slice
# that is still open on its track; if several start together, the order in the
# file counts.  By this, an event lies in a visit of its stage, and a visit in
# none or in one that it interrupted.
nesting='
def ns: . * 1000 | round;
[.[] | select(.ph == "X")] | group_by(.tid) | all(
	sort_by(.ts | ns) | reduce .[] as $x ({open: [], ok: true};
		($x.ts | ns) as $from | (($x.ts + $x.dur) | ns) as $to |
		.open |= map(select(.to > $from)) |
		.open[-1] as $in |
		.ok = (.ok and ($in == null or $to <= $in.to) and
			if $x.cat == "visit"
			then $in == null or $in.cat == "visit"
			else $in.cat == "visit" and
				($x.name | split(" ")[0]) == $in.name end) |
		.open += [{to: $to, cat: $x.cat, name: $x.name}]) | .ok)'

# After decode, a request passes the other stages; each event is a step of its
# flow.
flows='
[.[] | select(.cat == "event")] | length > 0 and (group_by(.bind_id) | all(
	sort_by(.ts) | .[0].args.request as $number |
	map(.name | split(" ")[0]) == ["decode", "scale", "blur", "encode"] and
	.[0].flow_in == null and all(.[1:][]; .flow_in) and
	all(.[]; .flow_out and .args.request == $number and
		(.bind_id[2:] as $hex | ($number | sub("^0+"; "")) == $hex and
		.name == (.name | split(" ")[0]) + " " + $hex))))'

# The trace has exactly the visits and events of /stats.
check_trace() { # TRACE STATS
	local kind
	holds "$1" 'all(.[]; .pid == 1 and (.ph == "X" or .ph == "M"))'
	for kind in visit event; do
		jq -s --arg kind $kind '
			(.[0] | map(select(.cat == $kind)) |
				group_by(.name | split(" ")[0]) | map([
					(.[0].name | split(" ")[0]),
					(map(.args.events // 1) | add),
					if $kind == "visit" then length else 0 end])) ==
			(.[1].stages | map(select(.visits > 0) |
				[.name, .handled,
				if $kind == "visit" then .visits else 0 end]) |
				sort)' "$1" "$2" >"$work/agree"
		grep -qx true "$work/agree" || fail "other ${kind}s than in /stats"
	done
	holds "$1" "$nesting"
	holds "$1" "$flows"
	holds "$1" '([.[] | select(.ph == "X") | .tid] | unique) -
		[.[] | select(.name == "thread_name") | .tid] == []'
	jq -s '(.[0] | map(select(.name == "thread_name") | .args.name)) as $names |
		[.[1].workers[].name] | . == $names[:length]' \
		"$1" "$2" >"$work/agree"
	grep -qx true "$work/agree" || fail "other workers than in /stats"
	holds "$1" '[.[] | select(.name == "thread_sort_index")] |
		map(.args.sort_index) == map(.tid) and length > 0'
	holds "$1" '[.[] | select(.name == "process_name")] | length == 1'
}

test_trace_of_the_last_while() {
	send_few
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	curl -fsS "$url/stats" >"$work/stats"
	check_trace "$work/trace" "$work/stats"
	sleep 0.1
	curl -fsS "$url/trace?ms=1" >"$work/trace"
	holds "$work/trace" 'map(select(.ph == "X")) | length == 0'
	expect_problem 400 bad_parameter "$url/trace?ms=0"
	expect_problem 400 bad_parameter "$url/trace?duration=1"
	expect_problem 400 bad_parameter "$url/trace?ms=60001"
	expect_problem 400 bad_parameter "$url/trace?ms=1s"
	expect_problem 400 bad_parameter "$url/trace?until_us="
	expect_problem 400 bad_parameter "$url/trace?until_us=-1"
	expect_problem 400 bad_parameter "$url/trace?until_us=1.5"
	expect_problem 400 bad_parameter "$url/trace?until_us=18446744073709551616"
	expect_problem 405 method_not_allowed -d x "$url/trace"
}

# upload TARGET: upload the photo, and set $number to the end of its
# X-Request-Id
upload() {
	curl -fsS -D "$work/head" -o "$work/reply" --data-binary "@$photo" \
		"$url$1"
	check_drained
	number=$(sed -n 's/^X-Request-Id: .*-\([0-9a-f]*\).*/\1/ip' "$work/head")
	[ -n "$number" ] || fail "no number: $(cat "$work/head")"
}

# way TRACE NUMBER: print the stages of the request's events, in the order of
# time
way() {
	jq -r --arg number "$2" '[.[] | select(.args.request == $number)] |
		sort_by(.ts) | map(.name | split(" ")[0]) | join(" ")' "$1"
}

test_time_span() {
	local first second until_us
	upload "/?w=300"
	first=$number
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	until_us=$(jq '[.[] | select(.ph == "X") | .ts + .dur] | max | ceil' \
		"$work/trace")
	upload "/?w=300"
	second=$number
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	[ -n "$(way "$work/trace" "$first")" ] || fail "$first is missing"
	[ -n "$(way "$work/trace" "$second")" ] || fail "$second is missing"
	curl -fsS "$url/trace?ms=60000&until_us=$until_us" >"$work/trace"
	[ -n "$(way "$work/trace" "$first")" ] || fail "$first came before"
	[ -z "$(way "$work/trace" "$second")" ] || fail "$second came later"
	curl -fsS "$url/trace?ms=60000&until_us=0" >"$work/trace"
	holds "$work/trace" 'map(select(.ph == "X")) | length == 0'
}

# asks STATUS: wait until a request for a trace gets this status
asks() {
	local status _
	for _ in $patience; do
		status=$(curl -sS -o "$work/body" -D "$work/head" \
			-w '%{http_code}' "$url/trace")
		[ "$status" != "$1" ] || return 0
		sleep 0.05
	done
	fail "a trace gets $status, not $1"
}

# A client that requests many traces and reads none gets one at a time.
# Meanwhile no other client gets a trace.
test_one_at_a_time() {
	local lazy _
	send_folder "$dir" # for traces that fill the connection
	exec {lazy}<>"/dev/tcp/127.0.0.1/$port"
	for _ in $(seq 300); do
		printf 'GET /trace?ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n'
	done >&"$lazy"
	asks 503
	[ "$("$JSON_VALUE" .code <"$work/body")" = trace_busy ] ||
		fail "busy: $(shown "$work/body")"
	grep -qi '^retry-after: [1-9]' "$work/head" || fail "no Retry-After"
	curl -fsS "$url/healthz" -o "$work/body"
	exec {lazy}>&-
	asks 200
	curl -fsSI "$url/trace" -o "$work/head"
	asks 200
}

# If the beginning of a request lies before the time span, its flow begins with
# the first event in the span.
test_cut_flow() {
	local since_us
	upload "/?w=300&blur=1"
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	since_us=$(jq --arg number "$number" '[.[] |
		select(.args.request == $number)] | sort_by(.ts) |
		.[0].ts + .[0].dur | ceil' "$work/trace")
	curl -fsS "$url/trace?ms=60000&until_us=$((since_us + 60000000))" \
		>"$work/trace"
	[ "$(way "$work/trace" "$number")" = "scale blur encode" ] ||
		fail "it went $(way "$work/trace" "$number")"
	holds "$work/trace" "[.[] | select(.args.request == \"$number\")] |
		sort_by(.ts) | map(.flow_in) == [null, true, true]"
}

# A trace has all kinds of work for a request: variants, the store, the removal
# of an image.
test_all_lanes() {
	local id way
	mkdir "$work/store"
	start --store "$work/store" --discipline fcfs
	upload "/v1/images?variant=a:w=64,blur=1&variant=b:w=32"
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	way=$(way "$work/trace" "$number")
	[ "$(tr ' ' '\n' <<<"$way" | sort | xargs)" = \
		"blur decode encode encode scale scale store" ] ||
		fail "it went $way"
	[[ $way = decode\ *\ store ]] || fail "it went $way"
	holds "$work/trace" "$nesting"
	id=$("$JSON_VALUE" .id <"$work/reply")
	curl -fsS -D "$work/head" -X DELETE "$url/v1/images/$id"
	check_drained
	number=$(sed -n 's/^X-Request-Id: .*-\([0-9a-f]*\).*/\1/ip' "$work/head")
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	[ "$(way "$work/trace" "$number")" = store ] ||
		fail "the removal went $(way "$work/trace" "$number")"
	holds "$work/trace" '[.[] | select(.name == "thread_name") |
		.args.name | select(startswith("store-"))] | length > 0'
	stop
}

# Variants go their own ways: none waits for another one before encode, those
# without blur do not pass its stage, and free cores run several at once.
test_variants_apart() {
	local query='/?variant=a:w=1200,blur=2' name overlap='' _
	for name in b c d e f; do
		query+="&variant=$name:w=1250"
	done
	# Fewer workers than variants, or all would be scaled at once.
	HWLOC_SYNTHETIC='numa:1 core:2 pu:1' start --policy srpt --regime n-gated=1
	for _ in {1..20}; do
		upload "$query"
		curl -fsS "$url/trace?ms=60000" | jq --arg number "$number" '[.[] |
			select(.args.request == $number) | {tid, from: .ts,
			to: (.ts + .dur), name: (.name | split(" ")[0])}] |
			sort_by(.from)' >"$work/ways"
		holds "$work/ways" 'map(.name) | sort == ["blur", "decode",
			"encode", "encode", "encode", "encode", "encode", "encode",
			"scale", "scale", "scale", "scale", "scale", "scale"]'
		holds "$work/ways" '([.[] | select(.name == "encode")][0].from) <
			([.[] | select(.name == "scale")][-1].from)'
		overlap=$(jq '[range(length - 1) as $i |
			select(.[$i + 1].from < .[$i].to)] | length > 0' "$work/ways")
		[ "$overlap" = false ] || break
	done
	[ "$overlap" = true ] || [ "$(nproc)" = 1 ] ||
		fail "never two variants at once: $(shown "$work/ways")"
	stop
}

# The same events and tracks as in /stats.
test_trace_of_connections() {
	start --policy servlib
	send_few
	curl -fsS "$url/trace?ms=60000" >"$work/trace"
	curl -fsS "$url/stats" >"$work/stats"
	check_trace "$work/trace" "$work/stats"
	stop
}

test_trace_in_a_file() {
	local _
	start --trace "$work/file" "$@"
	send_folder "$dir"
	# While the server runs, the file is complete except for its end.
	for _ in $patience; do
		(cat "$work/file" && echo ']') >"$work/part"
		! grep -q '"ph": *"X"' "$work/part" || break
		sleep 0.05
	done
	holds "$work/part" 'map(select(.ph == "X")) | length > 0'
	send_folder "$dir"
	curl -fsS "$url/stats" >"$work/stats"
	stop
	check_trace "$work/file" "$work/stats"
	! grep -q 'left out' "$work/log" || fail "$(cat "$work/log")"
}

test_no_workers_no_trace() {
	start --policy servlib --io sync
	expect_problem 404 no_trace "$url/trace"
	stop
	start --policy thread-per-connection
	send_folder "$dir"
	expect_problem 404 no_trace "$url/trace"
	[ "$(stat_of '.workers | length')" = 0 ] ||
		fail "workers where there are none"
	stop
	refuses --trace --policy thread-per-connection --trace "$work/file"
	refuses --trace --trace /nowhere/file
}

start --balance replicate=1
test_trace_of_the_last_while
test_time_span
test_cut_flow
test_one_at_a_time
stop
test_all_lanes
test_variants_apart
test_trace_of_connections
test_trace_in_a_file --policy cohort --threshold encode=1
test_trace_in_a_file --policy color
test_trace_in_a_file --policy capriccio
test_trace_in_a_file --policy servlib
test_no_workers_no_trace
