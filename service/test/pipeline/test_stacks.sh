#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# With --slice, handlers run on stacks of 64 KiB each (stages/threads/fibre.h);
# with servlib, all code of a connection does, TLS, too.  Whatever is uploaded and
# requested, none uses more than 48 KiB.  The kernel reports which pages of the
# stacks were ever written.
#
# Uploaded are samples, plain and progressive; CMYK, YCCK and RGB with and
# without a profile; and the files of CORPUS; with all filters, codings and
# kinds of replies.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM PRINT_PROFILE=PROGRAM
#        PRINT_GAINMAP=PROGRAM INK_FILES=PROGRAM
#        test_stacks.sh SAMPLES_DIR [CORPUS]
. "$(dirname "$0")/../server.sh"
chooses_policies "it is about those that use stacks"
dir=$1
corpus=${2:-}
stack_kib=64
most_kib=48

queries=(
	'w=640&h=640&blur=2'
	'blur=30&q=100&chroma=444'
	'w=500&progressive=1&placeholder=1'
	'w=333&h=99&fit=cover&optimize=1'
	'w=90&h=300&fit=fill&icc=keep&orient=0'
	'w=150&blur=0.4&chroma=444&progressive=1'
	'variant=a:w=200&variant=b:w=400,q=50,blur=1&w=300'
	'w=120&metadata=copyright&variant=a:metadata=keep&variant=b:w=60'
)
for filter in box triangle bspline catmull-rom mitchell; do
	queries+=("variant=a:w=450,filter=$filter&variant=b:w=250,chroma=444,filter=$filter")
done

make_uploads() {
	mkdir "$work/uploads"
	"$INK_FILES" write "$work/uploads"
	"$PRINT_PROFILE" >"$work/profile"
	# Others take the same code.
	for photo in "$dir"/clownfish.jpg "$dir"/lionfish.jpg; do
		cp "$photo" "$work/uploads"
		curl -fsS --data-binary "@$photo" "$url/?progressive=1&w=1500" \
			-o "$work/uploads/progressive-${photo##*/}"
	done
	with_profile "$work/profile" >"$work/uploads/profile.jpg"
	head -c 300000 "$photo" >"$work/uploads/cut.jpg"
	"$PRINT_GAINMAP" >"$work/uploads/gain.jpg"
	# A build may lack AVIF.
	if curl -fsS --data-binary "@$photo" "$url/?w=500&format=avif" -o \
		"$work/uploads/lossy.avif" 2>/dev/null; then
		queries+=('w=90&format=avif' 'w=50&format=avif&effort=9'
			'w=50&format=avif&lossless=1&effort=5')
	fi
	# A build may lack JPEG XL.
	if curl -fsS --data-binary "@$photo" "$url/?w=900&format=jxl" -o \
		"$work/uploads/lossy.jxl" 2>/dev/null; then
		curl -fsS --data-binary "@$photo" \
			"$url/?w=300&format=jxl&lossless=1" \
			-o "$work/uploads/lossless.jxl"
		queries+=('w=90&format=jxl' 'w=90&format=jxl&effort=9'
			'w=90&format=jxl&lossless=1&effort=8')
	fi
	# A build may lack WebP.
	curl -fsS --data-binary "@$photo" "$url/?w=900&format=webp" -o \
		"$work/uploads/lossy.webp" 2>/dev/null || return 0
	curl -fsS --data-binary "@$photo" "$url/?w=500&format=webp&lossless=1" \
		-o "$work/uploads/lossless.webp"
	queries+=('w=300&format=webp' 'w=300&format=webp&effort=9'
		'w=90&format=webp&lossless=1&effort=1'
		'w=90&format=webp&lossless=1&effort=9')
}

# Print the most KiB that any stack has written, and the number of stacks that
# were used.  Stacks are in the mappings without huge pages ("nh") for which no
# memory is reserved ("nr"); below each is a guard of the same size.  A guard may
# end a mapping or not, depending on the kernel.  The highest bit of a page in
# pagemap says that it has memory.
stacks_used() {
	local from to page_kib=$(($(getconf PAGESIZE) / 1024))
	awk '
	/^[0-9a-f]+-[0-9a-f]+ / { split($1, range, "-") }
	$1 == "VmFlags:" && / nh/ && / nr / && / wr / {
		print range[1], range[2]
	}' "/proc/$server/smaps" | while read -r from to; do
		echo mapping
		dd if="/proc/$server/pagemap" status=none bs=64K \
			iflag=skip_bytes,count_bytes \
			skip=$((0x$from / page_kib / 1024 * 8)) \
			count=$(((0x$to - 0x$from) / page_kib / 1024 * 8)) |
			od -An -v -t u8 -w8
	done | awk -v pages=$((stack_kib / page_kib)) -v page_kib=$page_kib '
	function end_stack() {
		count += written > 0
		if (written > most)
			most = written
		written = page = 0
	}
	/mapping/ {
		end_stack()
		next
	}
	{
		written += $1 >= 2 ^ 63
		if (++page == pages)
			end_stack()
	}
	END {
		end_stack()
		print most * page_kib + 0, count + 0
	}'
}

# check WHAT: print and check how much the stacks have used until now
check() {
	local used count
	read -r used count < <(stacks_used)
	echo "$1: $used KiB"
	[ "$count" -ge 2 ] && [ "$count" -le $count_max ] ||
		fail "$count stacks of $stack_kib KiB"
	[ "$used" -gt 0 ] || fail "no stack was used"
	[ "$used" -le $most_kib ] || fail "more than $most_kib KiB: $1"
}

# upload DIR QUERY: upload every file; some are refused
upload() {
	"$LOADGEN" --dataset "$1" --all-files --connections 8 --timeout 300 \
		"$url/?$2" >"$work/report" 2>&1 || true
	check_drained
}

# Each worker has a stack, and 8 more for each core may be used.
count_max=$((9 * 2))
start --policy color --discipline srpt=15 --slice 50 --cores 0,1 --deadline 0 \
	--log json --log-slow 1ms
make_uploads
for query in "${queries[@]}"; do # a refused query would test nothing
	curl -fsS --data-binary "@$photo" "$url/?$query" -o "$work/out" ||
		fail "refused: $query"
done
for query in "${queries[@]}"; do
	upload "$work/uploads" "$query&strict=0"
	check "$query"
done
for photo in "$work"/uploads/*.jpg; do
	curl -sS -H 'Accept: application/json' --data-binary "@$photo" -o \
		"$work/out" "$url/?variant=a:w=200&variant=b:w=300&placeholder=1"
done
check JSON
if [ -n "$corpus" ]; then
	corpus_queries=('strict=0&w=640&h=640&blur=2&progressive=1&chroma=444')
	[ -z "${TEST_ALL:-}" ] || corpus_queries+=('w=640&h=640&blur=2'
		'strict=0&w=100&filter=mitchell'
		'strict=0&progressive=1&chroma=444')
	for query in "${corpus_queries[@]}"; do
		upload "$corpus" "$query"
		check "corpus, $query"
	done
fi
stop

# A connection has a stack, one accepts, and new ones wait for no old one to end.
# Handlers were tried above, so a part of the queries is enough.
count_max=32
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
	-nodes -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$work/key" \
	-out "$work/certificate" 2>"$work/out" || fail "$(cat "$work/out")"
start --policy servlib --cores 0,1 --deadline 0 --log json --log-slow 1ms \
	--tls-cert "$work/certificate" --tls-key "$work/key"
for query in "${queries[1]}" "${queries[6]}&placeholder=1&icc=keep"; do
	for photo in "$work"/uploads/*.jpg; do
		curl -sSk -H 'Accept: application/json' --data-binary "@$photo" \
			-o "$work/out" "https://${url#*://}/?$query&strict=0"
	done
	check "servlib, TLS, $query"
done
[ "$(curl -sSk "https://${url#*://}/stats" | jq .uploads.finished)" -gt 9 ] ||
	fail "few uploads were finished"
stop
