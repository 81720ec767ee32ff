#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# /metrics has Prometheus' format, agrees with /stats and with the clients' own
# counts, and has every metric that deploy/ reads; each is one of figures.def, so
# service_docs checks that it is documented.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM PRINT_FIGURES=PROGRAM [SANITIZED=1]
#	test_metrics.sh SAMPLES_DIR DEPLOY_DIR
#   promtool is asked, too, where it is installed
. "$(dirname "$0")/../server.sh"
dir=$1
deploy=$2
photo=$dir/clownfish.jpg

read_metrics() {
	curl -fsS -D "$work/head" -o "$work/metrics" "$admin/metrics"
}

# value SERIES: print its value in the last reading
value() {
	awk -v series="$1" '$1 == series { print $2; found = 1 }
		END { exit !found }' "$work/metrics" || fail "no $1"
}

# is SERIES NUMBER: expect this value
is() {
	[ "$(value "$1")" = "$2" ] || fail "$1 is $(value "$1"), not $2"
}

# Rules of the format that readers rely on.
check_format() {
	grep -qi '^content-type: text/plain; version=0.0.4' "$work/head" ||
		fail "type: $(cat "$work/head")"
	awk '
	function bad(why) { print why ": " $0; status = 1 }
	/^# HELP / { help[$3]++; next }
	/^# TYPE / {
		if (type[$3]++)
			bad("a second type")
		if (!($3 in help))
			bad("no help before")
		kind = $4
		name = $3
		if (kind == "counter" && name !~ /_total$/)
			bad("a counter without _total")
		if (kind != "counter" && name ~ /_total$/)
			bad("no counter")
		next
	}
	{
		base = $1
		sub(/{.*/, "", base)
		if (kind == "histogram")
			sub(/_(bucket|sum|count)$/, "", base)
		if (base != name)
			bad("outside of its head")
		if (seen[$1]++)
			bad("twice")
		if ($2 !~ /^[0-9]+(\.[0-9]+)?$/ || NF != 2)
			bad("not a number")
		if ($1 ~ /_bucket{/) {
			if (last != "" && $2 + 0 < last + 0)
				bad("not cumulative")
			last = $2
		}
		if ($1 ~ /le="\+Inf"/) {
			all = $2
			last = ""
		}
		if ($1 ~ /_count({|$)/ && $2 != all)
			bad("not as many as in all buckets")
	}
	END { exit status }' "$work/metrics" >"$work/report" ||
		fail "$(cat "$work/report")"
}

# The same, and what Prometheus' own program finds.
check_all_of_format() {
	check_format
	have promtool || return 0
	promtool check metrics <"$work/metrics" >"$work/report" 2>&1 ||
		fail "promtool: $(cat "$work/report")"
}

# The series of /metrics with their values, as computed from /stats.
expected() {
	curl -fsS "$admin/stats" | jq -r '
	(.uploads | to_entries[] |
		select(.key != "in_flight" and .key != "refused") |
		"darkroom_uploads_\(.key)_total \(.value)"),
	"darkroom_uploads_in_flight \(.uploads.in_flight)",
	"darkroom_upload_seconds_count \(.uploads.finished)",
	"darkroom_memory_limit_bytes \(.memory.limit_bytes)",
	"darkroom_memory_refused_total \(.memory.refused)",
	"darkroom_memory_waits_total \(.memory.waits)",
	"darkroom_buffers_mapped_total \(.buffers.mapped)",
	(.fibres // {} | to_entries[] |
		(if .key == "begun" or .key == "switches" then "_total"
			else "" end) as $suffix |
		"darkroom_fibre_\(.key)\($suffix) \(.value)"),
	(.threads // {} | to_entries[] |
		(if .key | IN("begun", "switches", "transfers", "steps",
			"preempted") then "_total" else "" end) as $suffix |
		"darkroom_thread_\(.key)\($suffix) \(.value)"),
	(.stages[] | "{stage=\"\(.name)\"}" as $labels | . as $stage |
		("arrived", "started", "handled", "refused", "visits",
			"visits_empty", "switches" |
			"darkroom_stage_\(.)_total\($labels) \($stage[.])"),
		"darkroom_stage_threads\($labels) \(.threads)",
		("wait", "service", "total" |
			"darkroom_stage_\(.)_seconds_count\($labels) \(
				$stage.handled)")),
	(.workers[] | "{worker=\"\(.name)\",part=\"\(.part)\"}" as $labels |
		"darkroom_worker_handled_total\($labels) \(.handled)",
		"darkroom_worker_visits_total\($labels) \(.visits)")'
}

# Busy and idle time of a worker are together at most the uptime.  A sleep
# counts while it lasts.
check_idle() {
	sed -n 's/^darkroom_worker_\(busy\|idle\)_seconds_total\({.*}\)/\2 \1/p' \
		"$work/metrics" | sort >"$work/times"
	curl -fsS "$admin/stats" | jq .uptime_s >"$work/uptime"
	awk 'NR == FNR { up = $1; next }
		{ sum[$1] += $3; if ($2 == "idle" && $3 <= 0) bad = 1 }
		END { for (w in sum) if (sum[w] > up + 0.1) bad = 1; exit bad }' \
		"$work/uptime" "$work/times" ||
		fail "up $(cat "$work/uptime"): $(cat "$work/times")"
}

# For an idle server.
check_same_as_stats() {
	read_metrics
	check_all_of_format
	expected >"$work/expected"
	check_idle
	[ "$(wc -l <"$work/expected")" -gt 40 ] || fail "little to expect"
	! grep -vxFf "$work/metrics" "$work/expected" >"$work/report" ||
		fail "not in /metrics: $(cat "$work/report")"
}

# A counter of /stats lies between its values in /metrics before and after it.
check_between() {
	local before between after
	read_metrics
	before=$(value darkroom_uploads_finished_total)
	between=$(stat_of .uploads.finished)
	read_metrics
	after=$(value darkroom_uploads_finished_total)
	check_format
	[ "$before" -le "$between" ] && [ "$between" -le "$after" ] ||
		fail "finished: $before, then $between, then $after"
}

test_agrees_with_stats_and_clients() {
	local load _
	start "$@" --max-uploads 4
	"$LOADGEN" --dataset "$dir" --connections 12 --passes 12 \
		--json "$work/json" "$url/?w=300&blur=1" >"$work/report" &
	load=$!
	for _ in 1 2 3 4 5; do
		check_between
	done
	wait $load || true # some are refused
	check_drained
	check_same_as_stats
	is 'darkroom_http_replies_total{role="upload",status="200"}' \
		"$(jq '.responses["200"]' "$work/json")"
	is 'darkroom_http_problems_total{code="overloaded",status="503"}' \
		"$(jq '.responses["503"] // 0' "$work/json")"
	is 'darkroom_uploads_refused_total{reason="overloaded"}' \
		"$(stat_of .uploads.refused)"
	is darkroom_uploads_limit 4
	stop
}

# The photo has 2000 x 1500 pixels, and the result 640 x 480.
test_counts_bytes_and_pixels() {
	local bytes commit
	start --admin-listen 127.0.0.1:0
	curl -fsS --data-binary "@$photo" "$url/?w=640" -o "$work/out"
	curl -sS --data-binary "@$photo" "$url/?w=0" -o "$work/body"
	curl -sS "$url/nothing" -o "$work/nothing"
	curl -sS "$url/healthz" "$admin/readyz" -o "$work/ok" -o "$work/ok"
	curl -sS --head "$admin/stats" -o "$work/head"
	read_metrics
	check_all_of_format
	is 'darkroom_pixels_total{direction="in"}' 3000000
	is 'darkroom_pixels_total{direction="out"}' $((640 * 480))
	bytes=$(wc -c <"$photo")
	is darkroom_uploads_cleared_bytes_total "$bytes"
	is 'darkroom_http_received_bytes_total{role="upload"}' $((2 * bytes))
	bytes=$(cat "$work/out" "$work/body" | wc -c)
	is 'darkroom_http_sent_bytes_total{role="upload"}' "$bytes"
	is 'darkroom_http_sent_bytes_total{role="report"}' 0
	is 'darkroom_http_replies_total{role="upload",status="400"}' 1
	is 'darkroom_http_replies_total{role="none",status="404"}' 1
	is 'darkroom_http_replies_total{role="probe",status="200"}' 2
	is 'darkroom_http_problems_total{code="bad_parameter",status="400"}' 1
	is 'darkroom_http_connections{port="admin"}' 1
	is darkroom_ready 1
	commit=$("$DARKROOM" --version | sed -n 's/.*(commit \(.*\))$/\1/p')
	grep -q '^darkroom_build_info{version="[^"]*",commit="'"$commit"'",policy="'"$policy_name"'",' \
		"$work/metrics" || fail "build info"
	grep -qF " (commit $commit), listening on " "$work/log" ||
		fail "the start line has no commit"
	[ "$(value process_open_fds)" -gt 4 ] || fail "open files"
	[ "$(value process_resident_memory_bytes)" -gt 1000000 ] ||
		fail "resident memory"
	stop
}

# The figures of the process agree with the system.
test_tells_of_the_process() {
	local started now
	start
	read_metrics
	started=$(value process_start_time_seconds)
	now=$(date +%s)
	[ "${started%.*}" -le "$now" ] && [ "${started%.*}" -gt $((now - 900)) ] ||
		fail "started at $started, now $now"
	[ "$(value process_max_fds)" -ge 512 ] || fail "max fds"
	stop
}

# By the name of a figure, readers know its type and unit.
test_names_tell_types_and_units() {
	"$PRINT_FIGURES" | jq -r '.[] |
		select((.metric != null and
			((.type == "counter") != (.metric | endswith("_total")) or
			.time != (.metric | test("_seconds")))) or
			(.name != null and .time and .type != "histogram" and
			(.name | test("_m?s$") | not))) |
		"\(.name) \(.metric): \(.type), time: \(.time)"' >"$work/report"
	[ ! -s "$work/report" ] || fail "figures.def: $(cat "$work/report")"
}

# The tables of the documents join them to paragraphs.
test_explanations_are_sentences() {
	"$PRINT_FIGURES" | jq -r '.[] | .sentence, .more |
		select(. != "" and (test("^[A-Z0-9`].*[.]$") | not))' \
		>"$work/report"
	[ ! -s "$work/report" ] || fail "figures.def: $(cat "$work/report")"
}

test_every_metric_is_a_figure() {
	start "$@"
	read_metrics
	check_all_of_format
	awk '/^# TYPE / { print $3 "\t" $4 }' "$work/metrics" >"$work/types"
	! grep -vxFf "$work/figures" "$work/types" >"$work/report" ||
		fail "not in figures.def: $(cat "$work/report")"
	stop
}

# The disk space of a store, its quota, and its file system.
test_tells_of_the_store() {
	local store=$work/counted
	mkdir "$store"
	start --store "$store" --store-quota 1M
	curl -fsS --data-binary "@$photo" "$url/v1/images?w=64" -o "$work/body"
	read_metrics
	check_all_of_format
	is darkroom_store_writable 1
	is darkroom_store_put_total 1
	is darkroom_store_quota_bytes 1048576
	is darkroom_store_used_bytes "$(find "$store"/??/ -mindepth 1 \
		-printf '%b\n' | awk '{ n += $1 } END { print n * 512 }')"
	is darkroom_store_disk_bytes "$(stat -f -c '%b %S' "$store" |
		awk '{ printf "%.0f", $1 * $2 }')"
	[ "$(value darkroom_store_disk_free_bytes)" -gt 0 ] &&
		[ "$(value darkroom_store_disk_free_bytes)" -le \
			"$(value darkroom_store_disk_bytes)" ] ||
		fail "free: $(value darkroom_store_disk_free_bytes)"
	[ "$(value darkroom_store_disk_free_files)" -le \
		"$(value darkroom_store_disk_files)" ] || fail "files"
	curl -fsS -X DELETE "$url/v1/images/$("$JSON_VALUE" .id <"$work/body")"
	stop
	start --store "$store" --store-quota 4K
	curl -sS --data-binary "@$photo" "$url/v1/images?w=64" -o "$work/body"
	[ "$("$JSON_VALUE" .code <"$work/body")" = store_full ] ||
		fail "not full: $(shown "$work/body")"
	read_metrics
	is darkroom_store_writable 0
	is darkroom_store_full_total 1
	stop
	start --store "$store"
	read_metrics
	! grep -q '^darkroom_store_\(quota\|used\)' "$work/metrics" ||
		fail "a quota without a quota"
	[ "$(stat_of '[.store.quota_bytes, .store.used_bytes] | map(. == null) |
		all')" = true ] || fail "/stats: a quota without a quota"
	stop
}

# alerts NAME SERIES=VALUES...: is this alert sent after 12 hours, if the series
# have these values, one for each minute?  Looking at the rules every ten minutes
# is enough; it takes promtool a tenth of the time.
alerts() {
	local name=$1 series
	shift
	{
		echo "rule_files: [$(realpath "$deploy/alerts.yml")]"
		echo 'evaluation_interval: 10m'
		printf 'tests:\n  - interval: 1m\n    input_series:\n'
		for series; do
			printf "      - {series: '%s', values: %s}\n" \
				"${series%%=*}" "${series#*=}"
		done
		printf '    alert_rule_test:\n      - {eval_time: 12h, alertname: %s, exp_alerts: []}\n' \
			"$name"
	} >"$work/test.yml"
	! promtool test rules "$work/test.yml" >"$work/report" 2>&1 || return 1
	grep -q "alertname=\"$name\"" "$work/report" ||
		fail "promtool: $(cat "$work/report")"
}

test_a_store_is_told_of_before_it_is_full() {
	local part
	for part in 'disk_free_bytes:disk_bytes' 'disk_free_files:disk_files'; do
		alerts DarkroomStoreNearlyFull \
			"darkroom_store_${part%:*}=9x800" \
			"darkroom_store_${part#*:}=100x800" ||
			fail "no alert at 9 % of $part"
		! alerts DarkroomStoreNearlyFull \
			"darkroom_store_${part%:*}=20x800" \
			"darkroom_store_${part#*:}=100x800" ||
			fail "an alert at 20 % of $part"
		alerts DarkroomStoreFullSoon \
			"darkroom_store_${part%:*}=1000-0.5x800" ||
			fail "no alert a day before $part is used up"
		! alerts DarkroomStoreFullSoon \
			"darkroom_store_${part%:*}=1000-0.1x800" ||
			fail "an alert a week before $part is used up"
	done
	alerts DarkroomStoreNearlyFull darkroom_store_used_bytes=91x800 \
		darkroom_store_quota_bytes=100x800 || fail "no alert at the quota"
	! alerts DarkroomStoreNearlyFull darkroom_store_used_bytes=80x800 \
		darkroom_store_quota_bytes=100x800 || fail "an alert at 80 %"
	alerts DarkroomStoreFullSoon darkroom_store_used_bytes=100+0.5x800 \
		darkroom_store_quota_bytes=1000x800 ||
		fail "no alert a day before the quota is used up"
	alerts DarkroomStoreFull darkroom_store_full_total=0+1x800 ||
		fail "no alert of a full store"
	alerts DarkroomStoreUnwritable darkroom_store_writable=0x800 ||
		fail "no alert of a store that cannot be written"
	! alerts DarkroomStoreUnwritable darkroom_store_writable=0x800 \
		darkroom_store_available=0x800 || fail "two alerts of one store"
}

# pages CODE: is an alert sent if as many requests get this code as uploads are
# answered?
pages() {
	cat >"$work/test.yml" <<-END
		rule_files: [$(realpath "$deploy/alerts.yml")]
		tests:
		  - interval: 1m
		    input_series:
		      - series: 'darkroom_http_problems_total{code="$1",status="503"}'
		        values: 0+60x20
		      - series: 'darkroom_http_replies_total{role="upload",status="200"}'
		        values: 0+60x20
		    alert_rule_test:
		      - {eval_time: 15m, alertname: DarkroomRefuses, exp_alerts: []}
	END
	! promtool test rules "$work/test.yml" >"$work/report" 2>&1
}

test_uploads_refused_alone_page() {
	local code
	for code in overloaded memory_full out_of_memory deadline_exceeded \
		deadline_unreachable; do
		pages $code || fail "nobody is called for $code"
		grep -q 'alertname="DarkroomRefuses"' "$work/report" ||
			fail "promtool: $(cat "$work/report")"
	done
	for code in not_ready stopping too_many_viewers trace_busy; do
		! pages $code || fail "called for $code: $(cat "$work/report")"
	done
}

# What a query of deploy/ calls a metric is one, and counters are rates there.
test_deploy_reads_what_there_is() {
	local name type queries
	queries=$({
		jq -r '.. | .expr? // empty' "$deploy"/grafana*.json
		sed -n '/ expr:/,/ \(for\|labels\):/p' "$deploy/alerts.yml"
	})
	cat "$deploy"/{grafana*.json,alerts.yml} |
		grep -oE '\b(darkroom|process)_[a-z_]+' | sort -u >"$work/names"
	[ "$(wc -l <"$work/names")" -gt 20 ] || fail "nothing found in $deploy"
	while read -r name type; do
		case $type in
		histogram)
			printf '%s\n' "$name"_{bucket,sum,count} "$name"
			;;
		counter)
			! sed -E "s/\b(rate|increase)\($name\b//g" \
				<<<"$queries" | grep -w "$name" >/dev/null ||
				fail "$deploy: $name is read without rate()"
			;&
		*) echo "$name" ;;
		esac
	done <"$work/figures" >"$work/known"
	! grep -vxFf "$work/known" "$work/names" >"$work/report" ||
		fail "$deploy: no such metric: $(cat "$work/report")"
	for name in "$deploy"/grafana*.json; do
		jq -e '.panels | length > 5' "$name" >"$work/report" ||
			fail "$name"
	done
	# Rules and tests of rules are the same in every build.
	[ -z "${SANITIZED:-}" ] && have promtool || return 0
	promtool check rules "$deploy/alerts.yml" >"$work/report" 2>&1 ||
		fail "promtool: $(cat "$work/report")"
	test_uploads_refused_alone_page
	test_a_store_is_told_of_before_it_is_full
}

"$PRINT_FIGURES" | jq -r '.[] | select(.metric) | "\(.metric)\t\(.type)"' \
	>"$work/figures"
# Each request at a port without libmicrohttpd changes the counts of threads.
with_policies 'cohort capriccio thread-per-connection servlib' \
	test_agrees_with_stats_and_clients --admin-listen 127.0.0.1:0
test_counts_bytes_and_pixels
test_tells_of_the_process
test_names_tell_types_and_units
test_explanations_are_sentences
with_policies 'default capriccio servlib' test_every_metric_is_a_figure
test_tells_of_the_store
mkdir "$work/store"
test_every_metric_is_a_figure --store "$work/store" --store-quota 1G
test_deploy_reads_what_there_is
