#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every file of a corpus of odd and hostile JPEGs gets the expected answer, with
# strict=1 and strict=0, as the body and in a form.  The server survives them
# all.  With a user-level thread for each upload or connection, the same files
# are taken, and the pictures have the same bytes.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_corpus.sh DIR
#   DIR/manifest.tsv: file, class, expected (accept: 200, reject: 4xx, either)
#
# A file in corpus_exceptions.tsv may get the answer that is listed there.  With
# strict=0, a file that is to be rejected may also get a 200.
# In memory, because each ticket is synced, and this is slow on a disk.
[ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../server.sh"
. "$(dirname "$0")/../ways.sh"
dir=$1
exceptions=$(dirname "$0")/corpus_exceptions.tsv

# save NAME QUERY FLAGS...: upload all files; pictures are in $work/NAME, and
# statuses in its status.tsv
save() {
	"$LOADGEN" --dataset "$dir" --all-files --connections 4 "${@:3}" \
		--save "$work/$1" "$url/?$2" >"$work/report" 2>&1 || true
	sort -o "$work/$1/status.tsv" "$work/$1/status.tsv"
	check_drained
}

# post_all NAME STRICT FILTER FLAGS...
post_all() {
	save "$1" "w=640&h=640&blur=2&strict=$2&filter=$3" "${@:4}"
}

# With TEST_ALL, the pictures are large and from all that can be read.
small='w=24&h=24&blur=1'
[ -z "${TEST_ALL:-}" ] || small='w=640&h=640&blur=2&strict=0'

# check NAME STRICT: compare these answers with the expected ones
check() {
	awk -F'\t' -v strict="$2" '
	FILENAME == ARGV[1] { if ($1 !~ /^#/) excepted[$1] = $2; next }
	FILENAME == ARGV[2] { status[$1] = $2; next }
	$1 == "file" { next }
	{
		files++
		want = $1 in excepted ? excepted[$1] : $3
		# What is no JPEG may be a file of another format.
		if ((!strict && want == "reject") || $2 == "not-jpeg")
			want = "either"
		got = status[$1]
		taken += got == 200
		refused = got >= 400 && got < 500
		ok = want == "accept" ? got == 200 : refused
		if (want == "either")
			ok = got == 200 || refused
		if (!ok) {
			print $1 ": " want ", but status \"" got "\""
			wrong++
		}
	}
	END {
		printf "strict=%s: %d files, %d taken, %d wrong\n", strict,
			files, taken, wrong
		exit wrong > 0 || files == 0
	}' "$exceptions" "$work/$1/status.tsv" "$dir/manifest.tsv" ||
		fail "see above"
}

# send_all WAY: send each file in this way, to a ticket of its own; it gets the
# status that it got without
send_all() {
	local way=$1 file ticket header bytes _
	cut -f1 "$work/default/status.tsv" >"$work/files"
	while read -r _; do
		printf 'url = "%s"\nrequest = POST\nnext\n' \
			"$url/v1/uploads?$small"
	done <"$work/files" | sed '$d' >"$work/config"
	curl -fsS -K "$work/config" | jq -r .url >"$work/tickets" ||
		fail "no tickets"
	(cd "$dir" && xargs -d '\n' stat -c %s) <"$work/files" >"$work/bytes"
	while IFS=$'\t' read -r file ticket bytes; do
		aim "$way" '' '' "$ticket"
		printf '%s = "%s"\n' url "$url$ticket" request "$way_method" \
			data-binary "@$dir/$file" output "$work/out" \
			write-out "$file\t%{http_code}\n" \
			header "Upload-Length: $bytes"
		for header in "${way_headers[@]}"; do
			printf 'header = "%s"\n' "$header"
		done
		echo next
	done < <(paste "$work/files" "$work/tickets" "$work/bytes") |
		sed '$d' >"$work/config"
	aim "$way" '' '' none
	curl -sS -K "$work/config" | sort |
		sed "s/\t$way_done\$/\t200/" >"$work/status.tsv"
	diff <(cut -f1,2 "$work/default/status.tsv") "$work/status.tsv" \
		>"$work/diff" ||
		fail "$way: $(head -n 5 "$work/diff")"
	check_drained
	echo "$way: the same $(wc -l <"$work/files") statuses"
}

chooses_policies "it compares them"

# The limit that the manifest was made for.
limit="--max-megapixels 100"
mkdir "$work/store"
start $limit --store "$work/store"
post_all raw 1 lanczos3
post_all form 1 mitchell --multipart file
post_all lenient 0 lanczos3
save default "$small"
send_all ticket_chunks
send_all tus
stop
check raw 1
check form 1
check lenient 0
for policy in capriccio servlib; do
	start $limit --policy $policy
	save $policy "$small"
	stop
	diff -rq "$work/default" "$work/$policy" >"$work/diff" ||
		fail "$policy: $(head -n 5 "$work/diff")"
	echo "$policy: the same $(find "$work/$policy" -type f | wc -l) files"
done
