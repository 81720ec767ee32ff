#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Under every policy and balance, and with many values of the other scheduling
# flags: every photo is answered, in the right size, with the same bytes; no
# request is lost; an idle server sleeps; SIGTERM ends it cleanly.
#
# Each schedule is tested with a part of the photos (a half of few ones, a
# sixteenth of many, all with TEST_ALL=1) and with one of the numbers of connections; each
# policy has schedules with two parts or more.  With a sanitizer, every second
# schedule is tested, and so each policy; all with TEST_ALL=1.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM CHECK_SIZES=PROGRAM [SANITIZED=WORDS]
#        test_policies.sh DIR CONNECTIONS...
. "$(dirname "$0")/../server.sh"
chooses_policies "it tries them all"
dir=$1
shift
[ -z "${SANITIZED:-}" ] || shrink 700 # a sanitizer makes pixels slow

# Print flags: every policy with each balance that it supports, in two lines or
# more that follow each other; then every value of the other flags with policies
# that support it.
arms() {
	local policy lines balance
	for policy in $("$DARKROOM" --list-policies | awk '{print $1}'); do
		echo "--policy $policy"
		lines=1
		for balance in replicate partition; do
			"$DARKROOM" --check-config --cores 0,1 --policy "$policy" \
				--balance $balance >"$work/check" 2>&1 || continue
			echo "--policy $policy --balance $balance"
			lines=$((lines + 1))
		done
		[ $lines -gt 1 ] || echo "--policy $policy"
	done
	cat <<-'EOF'
		--policy mg1 --regime gated --discipline stack --balance partition
		--policy cohort --regime n-gated=8 --discipline srpt
		--policy dbr --regime time-gated=5000 --discipline lcfs
		--policy srpt --regime cutoff=3000 --discipline srpt=2 --balance replicate --distribute least-loaded --steal
		--policy cohort --regime cutoff=1000 --discipline stack --balance replicate --steal
		--policy cohort --regime gated --discipline lcfs --threshold encode=2,decode=8:20000
		--policy mg1 --regime n-gated=1 --discipline srpt=0 --balance partition=2 --threshold scale=0:1000
		--policy dbr --regime cutoff=2000 --discipline lcfs --balance replicate --distribute least-loaded
		--policy color --discipline srpt --balance replicate --steal
		--policy color --discipline lcfs --balance replicate=2 --distribute least-loaded
		--policy color --discipline srpt --slice 50
		--policy cohort --discipline lcfs --slice 1 --balance replicate --steal
		--policy pool-per-stage --pool auto --discipline srpt=2 --slice 1000
		--policy pool-per-stage --pool auto --discipline srpt
		--policy pool-per-stage --pool auto --balance replicate --distribute least-loaded
		--policy servlib --threads 1:1
		--policy servlib --threads n:1 --quantum 300
		--policy servlib --io sync
		--policy servlib --transfers thread --quantum 50
	EOF
}

# In a second without requests, the server uses far less CPU time than one
# spinning thread would.  The bound is loose, so that it never fails on a busy
# machine.
check_sleeps() {
	local before after
	before=$(stat_of .cpu_s)
	sleep 1
	after=$(stat_of .cpu_s)
	awk "BEGIN { exit !($after - $before < 0.2) }" ||
		fail "busy while idle: $before to $after CPU seconds"
}

# Each part is a folder of links to photos.
mapfile -t photos < <(find -L "$dir" -type f -iname '*.jp*g' -printf '%P\n' | sort)
[ ${#photos[@]} -gt 1 ] || fail "$dir has not two photos"
parts=("$work/part0")
if [ -z "${TEST_ALL:-}" ]; then
	parts+=("$work/part1")
	[ ${#photos[@]} -lt 40 ] || for i in {2..15}; do parts+=("$work/part$i"); done
fi
for i in "${!photos[@]}"; do
	link=${parts[i % ${#parts[@]}]}/${photos[i]}
	mkdir -p "${link%/*}"
	ln -s "$(realpath "$dir/${photos[i]}")" "$link"
done

counts=("$@")
tried=0
seen=0
while read -r -a flags; do
	seen=$((seen + 1))
	[ -z "${SANITIZED:-}" ] || [ -n "${TEST_ALL:-}" ] || [ $((seen % 2)) = 1 ] ||
		continue
	part=${parts[tried % ${#parts[@]}]}
	first=$part.first
	connections=${counts[(tried + tried / ${#counts[@]}) % ${#counts[@]}]}
	tried=$((tried + 1))
	start "${flags[@]}" --cores 0,1 --max-uploads 256
	out=$work/out
	rm -rf "$out"
	"$LOADGEN" --dataset "$part" --connections "$connections" \
		--seed "$tried" --save "$out" \
		"$url/?w=640&h=640&blur=2" >"$work/report" ||
		fail "${flags[*]} $connections: $(cat "$work/report")"
	sort -o "$out/status.tsv" "$out/status.tsv"
	if [ ! -d "$first" ]; then
		"$CHECK_SIZES" "$part" "$out" 640 640 ||
			fail "a reply has the wrong size"
		cp -r "$out" "$first"
	fi
	diff -rq "$first" "$out" >"$work/diff" ||
		fail "${flags[*]} $connections: $(head -n 5 "$work/diff")"
	check_drained
	check_sleeps
	stop
	echo "${flags[*]}: $(wc -l <"$first/status.tsv") photos, connections $connections"
done < <(arms)
[ $tried -gt 1 ] || fail "no policy was tried"
