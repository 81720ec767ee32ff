#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: the search example finds, for each query, the documents that are found
# by reading all of them: in stages, under each policy and with each option, and in
# threads; it corrects words by their sound; man pages are read without requests
# of roff; queries that are none are answered by an error; and neither an index
# that is not complete nor a wrong flag is taken.
#
# usage: SEARCH=PROGRAM SEARCH_INDEX=PROGRAM test_search.sh
. "$(dirname "$0")/../../../base/test/script.sh"

index=$work/index docs=$work/docs

# field NAME OUTPUT
field() {
	sed -n "s/.*\b$1 \+\([^ ]*\).*/\1/p" <<<"$2"
}

# Some documents that queries below name, and many of random words.
make_collection() {
	local suffix
	mkdir -p "$docs/man/man1" "$docs/notes"
	cat >"$docs/man/man1/cpx.1" <<-'END'
		.\" a comment
		.TH CPX 1
		.de Vb
		.SH NAME
		cpx \- \fBcopies\fR files \(em quickly
		.SH "SEE ALSO"
		.BR Kernel (7)
	END
	printf 'Listing of <directories> & their kernels\n' | gzip >"$docs/notes/ListDir.txt.gz"
	printf 'a picture\0' >"$docs/notes/picture"
	ln -s cpx.1 "$docs/man/man1/link.1"
	awk -v docs="$docs" 'BEGIN {
		srand(7)
		n = split("file files filing copy copies copying kernel colour " \
			"knight write writing directory directories the of and " \
			"philosophy thumb school action receive node nodes caf\303\251 " \
			"x y 42 tree trees relational conditional happy roll", word)
		for (i = 0; i < 150; i++) {
			path = docs "/notes/Note-" i
			for (k = int(rand() * 40); k >= 0; k--)
				printf "%s%s", word[1 + int(rand() * n)],
					k % 7 ? " " : "\n" >path
			close(path)
		}
		for (i = 0; i < 60; i++) # many with one word
			print "common word, common words " i >(docs "/notes/z" i)
	}'
	suffix=$("$SEARCH_INDEX" "$index" "$docs/man" "$docs/notes" 2>"$log") ||
		fail "search_index printed '$suffix'"
	[ "$suffix" = 'documents 212  left-out 1' ] ||
		fail "search_index printed '$suffix'"
}

# answer QUERY: the page, and the status in $status
answer() {
	status=0
	"$SEARCH" --query "$1" "$index" >"$work/page" 2>"$log" || status=$?
}

# finds QUERY PART: it is answered by a page with this part
finds() {
	answer "$1"
	[ $status = 0 ] && has -F "$2" <"$work/page" ||
		fail "the answer to '$1' has no '$2': $(cat "$work/page")"
}

test_what_is_found() {
	finds cpx '<th>cpx<'                           # a title
	finds LISTDIR.TXT '<th>ListDir.txt<'           # in another case
	finds 'the copying of quick files' 'Nothing'   # not every word is there
	finds 'copied quickly' '<th>cpx<'              # by stems, and not as a title
	finds 'quikly' '<th>cpx<'                      # by sound
	finds 'listing kernals' 'of &lt;directories> &amp; their'
	finds 'cpx files' 'CPX 1 NAME cpx - copies files  quickly SEE ALSO Kernel (7)'
	finds unheardofword 'Nothing was found'
	answer 'common word'
	[ "$(grep -c '<tr>' "$work/page")" = 10 ] ||
		fail "not the first ten of sixty documents: $(cat "$work/page")"
}

# Long, empty, without words or with too many, not text, and no query at all.
make_bad_queries() {
	printf 'x%.0s' {1..300}
	printf '\n\n'
	printf 'the and of\n'
	printf '%s\n' '-- !?'
	printf 'a1 b2 c3 d4 e5 f6 g7 h8 i9\n'
	printf 'x %.0s' {1..30}
	printf '\n\377\376\n'
	printf 'a\0b\n'
	printf '\303\n'
	printf '/search/%%00\n/search/%%zz\n/search/%%4\n/search/%%\n'
	printf '/search/\n/search\n/\n/etc/passwd\n'
}

test_bad_queries_are_errors() {
	local out count server
	make_bad_queries >"$work/bad"
	count=$(wc -l <"$work/bad")
	for server in '' --threads; do
		# shellcheck disable=SC2086 # several flags
		out=$("$SEARCH" --check --queries "$work/bad" --count "$count" $server \
			"$index" 2>"$log") || fail "search $server printed '$out'"
		[ "$(field errors "$out")" = "$count" ] ||
			fail "of $count queries that are none: '$out'"
	done
	answer $'\001'
	[ $status = 1 ] && has 'not text' <"$work/page" ||
		fail "status $status, '$(cat "$work/page")' for a control character"
}

# answers_are_right FLAGS...: sets $sum and $out
answers_are_right() {
	out=$("$SEARCH" --check --requests 300 --count 240 --clients 12 "$@" \
		"$index" 2>"$log") || fail "search $* printed '$out'"
	[ "$(field wrong "$out")" = 0 ] && [ "$(field answers "$out")" = 240 ] ||
		fail "search $* printed '$out'"
	sum=$(field sum "$out")
}

test_all_servers_find_the_same() {
	local first='' server kind
	for server in '--policy cohort' '--policy mg1 --regime gated' \
		'--policy mg1-boxma' '--policy srpt --regime n-gated=3' '--policy dbr' \
		'--policy color' '--policy pool-per-stage --pool combine=3 --pool lists=2' \
		'--policy capriccio' '--blind --regime time-gated=200' --few-stages \
		'--at-once --stages' '--at-once --policy color --few-stages' \
		'--replicas 1 --clients 1' '--cache 0' '--cache 0.01' \
		'--zipf 1 --threads' '--threads --clients 1'; do
		# shellcheck disable=SC2086 # several flags
		answers_are_right $server
		[ "${first:=$sum}" = "$sum" ] ||
			fail "other answers with '$server' than in stages: $out"
		for kind in titles single multi corrected; do
			[ "$(field $kind "$out")" != 0 ] || fail "no $kind: $out"
		done
		if [ "$server" = '--cache 0' ]; then
			[ "$(field cached "$out")" = 0 ] || fail "a cache of 0 MB: $out"
		elif [ "$server" != '--cache 0.01' ]; then
			[ "$(field cached "$out")" != 0 ] || fail "nothing is cached: $out"
		fi
	done
}

test_a_run_for_some_time() {
	local out server
	for server in '' --threads; do
		# shellcheck disable=SC2086 # several flags
		out=$("$SEARCH" --seconds 0.3 --warmup 0.1 $server "$index" 2>"$log") ||
			fail "search $server printed '$out'"
		[ "$(field answers "$out")" != 0 ] || fail "no answer: '$out'"
		[[ $out == *mean-ms*steady* ]] || fail "no times: '$out'"
	done
}

# refused STATUS PART FLAGS...
refused() {
	local status=0
	"${@:3}" >"$work/out" 2>"$log" || status=$?
	[ $status = "$1" ] || fail "${*:3} has status $status, not $1"
	has -e "$2" <"$log" || fail "${*:3} does not say '$2'"
}

test_what_is_refused() {
	refused 1 exists "$SEARCH_INDEX" "$index" "$docs"
	refused 1 missing "$SEARCH_INDEX" "$work/new" "$docs/missing"
	refused 1 'not complete' "$SEARCH" "$work/new"
	refused 1 'No such file' "$SEARCH" "$work/none"
	echo 'no index' >"$work/text"
	refused 1 "$work/text" "$SEARCH" "$work/text"
	: >"$work/empty"
	refused 1 'no query' "$SEARCH" --queries "$work/empty" "$index"
	refused 2 usage "$SEARCH"
	refused 2 usage "$SEARCH_INDEX" "$index"
	refused 2 'no such policy' "$SEARCH" --policy best "$index"
	refused 2 'no such regime' "$SEARCH" --regime n-gated "$index"
	refused 2 'no such stage' "$SEARCH" --policy pool-per-stage --pool x=1 "$index"
	refused 2 'no stages' "$SEARCH" --threads --policy color "$index"
	refused 2 'regime' "$SEARCH" --policy color --regime gated "$index"
	refused 2 'have no threads' "$SEARCH" --policy thread-per-connection "$index"
	refused 2 'not a number' "$SEARCH" --clients 0 "$index"
}

make_collection
test_what_is_found
test_bad_queries_are_errors
test_all_servers_find_the_same
test_a_run_for_some_time
test_what_is_refused
