#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The blocking graph that capriccio learns from good photos is the pipeline's:
# submit > decode > scale > blur > encode > end, each edge passed by every upload,
# and its CPU times are the service times of /stats; also with variants.  Those
# without blur go from scale to encode.  Other
# policies have none, nor has one that learns nothing.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_blocking.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about the graph of capriccio"
dir=$1
photo=$dir/clownfish.jpg

read_graph() {
	curl -fsS -D "$work/head" -o "$work/graph" "$admin/v1/blocking-graph"
	curl -fsS -o "$work/stats" "$admin/stats"
	jq -s '.[0] + {stats: .[1]}' "$work/graph" "$work/stats" >"$work/both"
}

# The nodes in the order of the path: before decode, scale, blur and encode.
path='def path: [.nodes as $all |
	limit(9; {previous: null} | recurse(.id as $id |
		$all[] | select(.previous == $id)) | select(.id != null) | .id)];'

# Other events than the first of an upload begin at scale.
check_graph() { # UPLOADS VARIANTS
	grep -qi '^content-type: application/json' "$work/head" ||
		fail "type: $(cat "$work/head")"
	holds "$work/both" '.nodes | length == 4 and
		([.[] | select(.previous == null)] | length == 1) and
		all(.[]; .ready == 0 and .waiting == 0 and .tickets > 0 and
			(.function | length > 0) and (.file | endswith(".c")) and
			.line > 0)'
	holds "$work/both" "$path"' .folded == 0 and (path as $p |
		(.edges | map([.from, .to]) | sort) ==
		([[null, $p[0]], [$p[0], $p[1]], [$p[1], $p[2]],
			[$p[2], $p[3]], [$p[3], null]] | sort))'
	holds "$work/both" "$path path as \$p | .edges |
		map({key: \"\\(.from) \\(.to)\", value: [.count, .begun]}) |
		from_entries |
		.[\"null \\(\$p[0])\"] == [$1, 0] and
		.[\"\\(\$p[0]) \\(\$p[1])\"] == [$1, $1 * ($2 - 1)] and
		.[\"\\(\$p[1]) \\(\$p[2])\"] == [$1 * $2, 0] and
		.[\"\\(\$p[2]) \\(\$p[3])\"] == [$1 * $2, 0] and
		.[\"\\(\$p[3]) null\"] == [$1 * $2, 0]"
}

# Both are of the same readings of the clock.
check_cpu() {
	holds "$work/both" "$path"' (path as $p | .nodes as $all |
		[$p[] as $id | $all[] | select(.id == $id)]) as $nodes |
		.stats.stages as $stages |
		all(range(4); ($nodes[.].cpu_us_mean * $nodes[.].visits) as $cpu |
			($stages[.].service_ms_mean * 1000 *
				$stages[.].handled) as $service |
			$cpu > 0.9 * $service and $cpu < 1.1 * $service)'
}

check_resources() {
	holds "$work/both" '.resources | map(.name) ==
		["memory", "files", "stacks", "cpu"] and
		all(.[]; .used >= 0 and (.limit == null or .capacity == null or
			.limit <= .capacity))'
}

test_photos_make_the_pipelines_graph() {
	start --policy capriccio
	send_folder "$dir"
	read_graph
	check_graph "$(stat_of .uploads.finished)" 1
	check_cpu
	check_resources
	holds "$work/stats" '.fibres | .begun > 0 and .ready == 0 and
		.waiting == 0 and .stacks_peak >= 1 and .switches > 0'
	expect_problem 405 method_not_allowed -d x "$url/v1/blocking-graph"
	stop
}

test_variants_take_the_same_way() {
	local i
	start --policy capriccio
	for i in 1 2 3; do
		curl -fsS -o "$work/out" --data-binary "@$photo" \
			"$url/?blur=1&variant=a:w=64&variant=b:w=320&variant=c:w=32"
	done
	check_drained
	read_graph
	check_graph 3 3
	holds "$work/stats" '.fibres.begun == 9'
	stop
}

# Then encode is reached on two ways, each with figures of its own.
test_a_variant_without_blur_passes_it_by() {
	start --policy capriccio
	curl -fsS -o "$work/out" --data-binary "@$photo" \
		"$url/?variant=a:w=64,blur=1&variant=b:w=320&variant=c:w=32"
	check_drained
	read_graph
	holds "$work/both" '.nodes | length == 5'
	holds "$work/both" '[.edges[] | select(.to == null) | .count] | sort ==
		[1, 2]'
	holds "$work/both" '[.stats.stages[] | [.name, .handled]] ==
		[["decode", 1], ["scale", 3], ["blur", 1], ["encode", 3]]'
	stop
}

test_an_idle_server_has_an_empty_graph() {
	start --policy capriccio --admin-listen 127.0.0.1:0
	read_graph
	holds "$work/graph" '.nodes == [] and .edges == []'
	expect_problem 404 not_found "$url/v1/blocking-graph"
	stop
}

test_other_policies_have_none() {
	start
	expect_problem 404 no_blocking_graph "$url/v1/blocking-graph"
	[ "$(stat_of .fibres)" = null ] || fail "fibres in /stats"
	! curl -fsS "$url/metrics" | has darkroom_fibre || fail "metrics"
	stop
	start --policy thread-per-connection
	expect_problem 404 no_blocking_graph "$url/v1/blocking-graph"
	stop
	start --policy capriccio --resources ignore
	expect_problem 404 no_blocking_graph "$url/v1/blocking-graph"
	[ "$(stat_of '.fibres | type')" = object ] || fail "no fibres"
	stop
}

test_photos_make_the_pipelines_graph
test_variants_take_the_same_way
test_a_variant_without_blur_passes_it_by
test_an_idle_server_has_an_empty_graph
test_other_policies_have_none
