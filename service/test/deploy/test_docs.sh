#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The documents are true: every example of http-api.md and uploads.md works as it
# is written there, every endpoint, parameter, error and flag is described, and
# the figures of the policies are those of the stored results.
#
# Code blocks with a curl command are run, whole and in order, by one shell in
# one folder, so that an example may use files of an earlier one.  @NAME.jpg, if
# there is no such file, is a sample; @half.jpg is half of one.  The server has
# no flags, except after a line `darkroom FLAGS` in a block, up to the next
# heading.  Replies must have a status of 2xx or 304, or the statuses in the
# block's comments, in this order (`# 404`, `# 413 body_too_large`).  Their
# bodies must be of the type in Content-Type.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_docs.sh SAMPLES_DIR SOURCE_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
needs trace || exit 77 # an example asks for one
photo=$(realpath "$1/clownfish.jpg")
source=$(realpath "$2")
api=$source/docs/http-api.md
# A loopback address of this process alone, where no other server listens.  Each
# address of the documents leads to its server, which has a free port.
address=127.1.$(($$ / 250 % 250)).$(($$ % 250 + 1))

# split PAGE: write its sections and code blocks to the files
# $work/part-NNN.{heading,block}
split() {
	rm -f "$work"/part-*
	awk -v out="$work/part-" '
		function end_block() {
			if (text ~ /(^|[^a-z-])curl /)
				printf "%s", text >sprintf("%s%03d.block",
					out, ++count)
			text = ""
		}
		/^```/ { fenced = !fenced; end_block(); next }
		fenced { text = text $0 "\n"; next }
		/^(    |\t)/ && (text != "" || is_blank) {
			sub(/^(    |\t)/, "")
			text = text $0 "\n"
			next
		}
		{ end_block(); is_blank = $0 == "" }
		/^#/ { printf "" >sprintf("%s%03d.heading", out, ++count) }
		END { end_block() }' "$1"
}

# These functions replace the commands in the blocks.  Each reply adds a line to
# $work/said.
curl() {
	timeout 120 curl -sS --connect-to "::$address:$port" "$@" -w \
		'%{stderr}reply\t%{http_code}\t%{content_type}\t%{filename_effective}\n' \
		2>>"$work/said"
}

darkroom() {
	"$DARKROOM" "$@"
}

# serve FLAGS...: restart the server with these flags; a line `darkroom FLAGS`
# of a block does it, too
serve() {
	[ -z "$server" ] || stop
	launch --listen "$address:0" "$@"
}

make_photos() {
	local name
	for name in $(grep -oE '@[A-Za-z0-9_-]+\.jpg' "$1" | tr -d @); do
		if [ ! -e "$name" ] && [ "$name" = half.jpg ]; then
			head -c "$(($(wc -c <"$photo") / 2))" "$photo" >half.jpg
		elif [ ! -e "$name" ]; then
			cp "$photo" "$name"
		fi
	done
}

# is_whole FILE TYPE: the file is complete and of this type
is_whole() {
	local hex
	case $2 in
	image/jpeg)
		hex=$(xxd -p "$1" | tr -d '\n')
		[[ $hex = ffd8ff*ffd9 ]]
		;;
	application/json | application/problem+json)
		jq -e . "$1" >/dev/null
		;;
	multipart/*)
		[[ $2 = *boundary=* && $(head -c 2 "$1") = -- ]]
		;;
	esac
}

# wrong WHY BLOCK: fail, and print the example
wrong() {
	fail "$1, in this example of $page:
$(cat "$2" "$work/said")"
}

# Check the replies to the commands of a block.
check_replies() {
	local type file
	awk -F'\t' '$1 == "reply" && $2 ~ /^[045]/ { print "# " $2 }' \
		"$work/said" >"$work/statuses"
	grep -oE '# [45][0-9]{2}\b' "$1" >"$work/expected" || true
	cmp -s "$work/statuses" "$work/expected" ||
		wrong "statuses other than its comments tell" "$1"
	while IFS=$'\t' read -r type file; do
		[ ! -s "$file" ] || is_whole "$file" "$type" ||
			wrong "not $type: $(shown "$file")" "$1"
	done < <(sed -n 's/^reply\t[0-9]*\t//p' "$work/said")
	[ "$(grep -c ^reply "$work/said")" -ge "$(grep -cw curl "$1")" ] ||
		wrong "not every curl was answered" "$1"
}

run() {
	: >"$work/said"
	sed -E 's/^darkroom (.*[^ &])( *&)?$/serve \1/' "$1" >"$work/script"
	make_photos "$work/script"
	trap 'wrong "a command failed" "'"$1"'"' ERR
	. "$work/script" >>"$work/shown"
	trap 'find_place 1' ERR # as before
	check_replies "$1"
}

# test_examples_work PAGE COUNT: of that many commands or more
test_examples_work() {
	local part needs_flags= page=$1
	split "$page"
	rm -rf "$work/here"
	mkdir "$work/here"
	cd "$work/here"
	serve
	for part in "$work"/part-*; do
		if [ "${part##*.}" = heading ]; then
			[ -z "$needs_flags" ] || serve
			needs_flags=
		else
			run "$part"
			! grep -q '^darkroom ' "$part" || needs_flags=1
		fi
	done
	stop
	server=
	cd "$OLDPWD"
	[ "$(cat "$work"/part-*.block | grep -cw curl)" -ge "$2" ] ||
		fail "too few examples in $page"
}

# The first example for programs, in Node; the files there are those of its
# sentence.
test_the_example_for_programs_works() {
	local kind
	have node || return 0
	serve
	awk '/^### From programs/ { is_here = 1 }
		is_code && /^```$/ { exit }
		is_code
		is_here && /^```js$/ { is_code = 1 }' "$api" |
		sed "s/127\.0\.0\.1:8080/$address:$port/" >"$work/example.js"
	grep -q fetch "$work/example.js" || fail "no example: $api"
	for kind in 'bytes' 'new Blob([bytes])' 'new File([bytes], "a.jpg")'; do
		cat >"$work/program.mjs" <<-END
			import { readFileSync } from "node:fs";
			import { File } from "node:buffer";
			const bytes = readFileSync(process.argv[2]);
			const file = $kind;
			$(<"$work/example.js")
			if (picture.type !== "image/jpeg" || picture.size < 1000)
				throw new Error(picture.type);
		END
		timeout 120 node "$work/program.mjs" "$photo" ||
			fail "the example for programs, with $kind"
	done
	! node "$work/program.mjs" "$source/README.md" 2>"$work/said" ||
		fail "a text is a photo"
	grep -q 'only JPEG.* files are read' "$work/said" ||
		fail "no detail: $(shown "$work/said")"
	stop
	server=
}

test_endpoints_are_described() {
	local path
	grep -ohE '"/[A-Za-z0-9/_.{}-]*"' \
		"$source"/service/http/{,head/,handlers/,handlers/images/,reply/}*.c |
		tr -d '"' | sort -u >"$work/paths"
	[ "$(wc -l <"$work/paths")" -ge 5 ] || fail "$(cat "$work/paths")"
	while read -r path; do
		grep -qE "(GET|POST|PUT|DELETE|HEAD) $path" "$api" ||
			fail "$path is not in $api"
	done <"$work/paths"
}

# Every parameter has a row of a table, with its name in the first column.
test_parameters_are_described() {
	local name
	sed -n '/^POST/,$s/^  \([a-z_]\{1,\}\) .*/\1/p' "$work/help" \
		>"$work/names"
	grep -ohE 'request_argument\(r, "[a-z_]+"' \
		"$source"/service/http/{,head/,handlers/,handlers/images/,reply/}*.c |
		sed 's/.*"\(.*\)"/\1/' >>"$work/names"
	[ "$(wc -l <"$work/names")" -ge 14 ] || fail "$(cat "$work/names")"
	while read -r name; do
		grep -qE "^\|[^|]*\`$name\`" "$api" ||
			fail "parameter $name is not in a table of $api"
	done <"$work/names"
}

# The row of a parameter has its default and its possible values.
test_values_are_described() {
	local name default values value row
	"$PRINT_PARAMETERS" list >"$work/list"
	[ "$(wc -l <"$work/list")" -ge 15 ] || fail "$(cat "$work/list")"
	while IFS=$'\t' read -r name default values; do
		row=$(grep -E "^\|[^|]*\`$name\`" "$api")
		for value in "$default" $values; do
			grep -qwF -- "$value" <<<"$row" ||
				fail "parameter $name: no $value in $row"
		done
	done <"$work/list"
	for value in $(awk -F '\t' '$1 == "format" { print $3 }' "$work/list"); do
		[ "$value" != auto ] || continue
		sed -n '/^### Formats/,/^### Forms/p' "$api" |
			has -F "| \`$value\` |" ||
			fail "format $value has no row in $api, Formats"
	done
}

# Every pair of status and code has a row, and no other pair has.
test_errors_are_described() {
	tr -s ' \t\n' ' ' <"$source/service/http/reply/problem.c" |
		grep -oE '\{ [45][0-9]{2}, "[a-z_]+"' |
		sed -E 's/\{ ([0-9]*), "(.*)"/| \1 | `\2` |/' |
		sort >"$work/codes"
	grep -oE '^\| [45][0-9]{2} \| `[a-z_]+` \|' "$api" | sort >"$work/rows"
	[ "$(wc -l <"$work/codes")" -ge 21 ] || fail "$(cat "$work/codes")"
	cmp -s "$work/codes" "$work/rows" ||
		fail "< problem.c, > $api: $(diff "$work/codes" "$work/rows")"
}

# What script/tables makes of figures.def and of the flags is in the documents and
# the dashboard.
# What /v1/live has of it is named in its section.
test_figures_are_described() {
	local name
	"$source/script/tables" --check 2>"$work/said" || fail "$(<"$work/said")"
	sed -n '/^## GET \/v1\/live/,/^## GET \/v1\/load/p' "$api" >"$work/live"
	for name in $("$PRINT_FIGURES" | jq -r '.[] | select(.live) |
		if .object | test("\\[") then .name else .object end' | sort -u); do
		grep -q "\`$name\`" "$work/live" ||
			fail "$api, GET /v1/live: no $name"
	done
}

test_flags_are_described() {
	local name pages
	pages=("$source/docs/scheduling.md" \
		"$source"/docs/operations/{configure,limits,access,store,deploy,watch,webhooks}.md)
	sed -n '/^POST/q; s/^  --\([a-z0-9-]*\).*/\1/p' "$work/help" >"$work/flags"
	[ "$(wc -l <"$work/flags")" -ge 27 ] || fail "$(cat "$work/flags")"
	while read -r name; do
		grep -qE -- "--$name([^a-z0-9-]|$)" "${pages[@]}" ||
			fail "--$name is in no page of docs/operations/ but flags.md," \
				"and not in docs/scheduling.md: when is it used?"
	done <"$work/flags"
}

# The document on schedules names every policy.
test_policies_are_listed() {
	local name
	"$DARKROOM" --list-policies | sed 's/^ *//; s/[: ].*//' >"$work/policies"
	[ "$(wc -l <"$work/policies")" -ge 10 ] || fail "$(cat "$work/policies")"
	while read -r name; do
		grep -qF "\`$name\`" "$source/docs/scheduling.md" ||
			fail "policy $name is not in docs/scheduling.md"
	done <"$work/policies"
}

# read_anchors DOCUMENT: note the anchors of its headings, as the hosting sites make
# them
declare -A is_read is_anchor
read_anchors() {
	local anchor
	[ -z "${is_read[$1]:-}" ] || return 0
	is_read[$1]=1
	while IFS= read -r anchor; do
		is_anchor[$1#$anchor]=1
	done < <(sed -nE -e '/^#+ /!d' -e 's/^#+ //' \
		-e 'y/ABCDEFGHIJKLMNOPQRSTUVWXYZ /abcdefghijklmnopqrstuvwxyz-/' \
		-e 's/[^a-z0-9_-]//g' -e p "$1")
}

# Relative links of all documents lead to a file.  Links with # lead to a
# heading.
test_links_lead_somewhere() {
	local file link target anchor
	# Files may vanish meanwhile: other tests run.
	{ grep -rsoE --include='*.md' --exclude-dir={build,node_modules,.git} \
		'\]\([^)# ]*(#[^) ]*)?\)' "$source" || true; } |
		grep -vE '\]\((https?|mailto):' >"$work/links"
	[ "$(wc -l <"$work/links")" -ge 100 ] || fail "few links: $(cat "$work/links")"
	while IFS= read -r line; do
		file=${line%%:*} link=${line##*](}
		link=${link%)} anchor=${link#*#}
		target=${link%%#*}
		target=${target:+${file%/*}/$target}
		target=${target:-$file}
		[ -e "$target" ] || fail "$file: no file $link"
		[ "$anchor" != "$link" ] && [[ $target = *.md ]] || continue
		read_anchors "$target"
		[ -n "${is_anchor[$target#$anchor]:-}" ] ||
			fail "$file: no heading $link"
	done <"$work/links"
}

# The same of pictures that are written as HTML.
test_pictures_are_there() {
	local file picture
	grep -rsoE --include='*.md' --exclude-dir={build,node_modules,.git} \
		'(src|srcset)="[^"]*"' "$source" >"$work/pictures" || true
	[ "$(wc -l <"$work/pictures")" -ge 8 ] ||
		fail "few pictures: $(cat "$work/pictures")"
	while IFS= read -r line; do
		file=${line%%:*} picture=${line#*\"}
		[ -e "${file%/*}/${picture%\"}" ] ||
			fail "$file: no picture ${picture%\"}"
	done <"$work/pictures"
}

# The table of all policies is that of the stored results.
test_figures_are_of_the_results() {
	local results=$source/docs/results/policies
	mkdir "$work/report"
	gunzip -c "$results/results.json.gz" >"$work/report/results.json"
	"$LOADGEN" compare --report "$work/report" >"$work/said" 2>&1 ||
		fail "no report: $(cat "$work/said")"
	sed -n '/^## In five figures/,/^Throughput:/p' "$work/report/report.md" |
		grep '^|' >"$work/rows"
	[ "$(wc -l <"$work/rows")" -ge 12 ] || fail "$(cat "$work/rows")"
	while IFS= read -r row; do
		grep -qxF -- "$row" "$source/docs/scheduling.md" ||
			fail "docs/scheduling.md lacks this row of $results: $row"
	done <"$work/rows"
}

# What docs/upgrade.md says of files that outlive a server.
test_formats_are_described() {
	local page=$source/docs/upgrade.md store=$work/kept id
	mkdir "$store"
	serve --store "$store"
	[ "$(<"$store/darkroom-store")" = 'darkroom store, version 1' ] ||
		fail "another version: $(<"$store/darkroom-store")"
	grep -qF "\`$(<"$store/darkroom-store")\`" "$page" ||
		fail "upgrade.md does not describe the store's version"
	id=$(curl --data-binary "@$photo" \
		"http://127.0.0.1:8080/v1/images?w=64" | jq -r .id)
	grep -q '"meta_sha256"' "$store/${id:0:2}/$id/meta.json" ||
		fail "meta.json has no checksum of itself"
	stop
	server=
	# A store of another version is refused, and not changed.
	echo 'darkroom store, version 2' >"$store/darkroom-store"
	ls -lR "$store" >"$work/before"
	ends_with 1 'is not a store of this version of the program' \
		--listen 127.0.0.1:0 --store "$store"
	ls -lR "$store" | cmp - "$work/before" || fail "the store was changed"
	grep -qF 'is not a store of this version of the program' "$page" ||
		fail "upgrade.md has another message"
	for format in 'darkroom 2' 'darkroom-package 1' darkroom-compare/1 \
		darkroom-loadgen/1; do
		grep -qF "\`$format\`" "$page" || fail "upgrade.md: no $format"
		grep -rqF "\"$format" "$source/service" "$source/loadgen" \
			--include='*.c' --include='*.h' ||
			fail "upgrade.md has $format, and the sources do not"
	done
}

"$DARKROOM" --help >"$work/help"
test_endpoints_are_described
test_parameters_are_described
test_values_are_described
test_errors_are_described
test_figures_are_described
test_flags_are_described
test_policies_are_listed
test_links_lead_somewhere
test_pictures_are_there
test_figures_are_of_the_results
test_formats_are_described
test_the_example_for_programs_works
test_examples_work "$api" 10
test_examples_work "$source/docs/uploads.md" 5
