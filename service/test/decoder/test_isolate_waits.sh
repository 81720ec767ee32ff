#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# No worker waits for a decoder: with --isolate, while files sleep in all of them,
# files of other formats are answered, with every policy.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_isolate_waits.sh SAMPLES_DIR PLANTED
. "$(dirname "$0")/isolated.sh"
samples=$1
planted=$(realpath "$2")
chooses_policies "it is run with several"
cd "$work"

# While as many files as there are workers sleep in their processes, and more
# than there are processes, other files are answered; and when those have ended,
# files of that format, too.
test_workers_do_not_wait() {
	local i count uploads=()
	DARKROOM=programs/darkroom start --isolate ppm "$@"
	count=$(($(nproc) + 4))
	for ((i = 0; i < count; i++)); do
		curl -sS -o "sleep.$i" --data-binary @sleep \
			-H "Request-Timeout: $asleep_s" "$url/?w=50" &
		uploads+=($!)
	done
	in_flight $count
	curl -fsS --data-binary "@$samples/clownfish.jpg" -o body \
		"$url/?w=50&blur=1&variant=a:w=60&variant=b:w=70"
	[ "$(stat_of .uploads.in_flight)" = $count ] || fail "it has waited"
	wait "${uploads[@]}"
	for ((i = 0; i < count; i++)); do
		[[ $("$JSON_VALUE" .code <"sleep.$i") = deadline_* ]] ||
			fail "$(shown "sleep.$i")"
	done
	[ "$(curl -sS --data-binary @ppm -o body -w '%{http_code}' \
		"$url/?w=50&variant=a:w=60&variant=b:w=70")" = 200 ] ||
		fail "$(shown body)"
	[ "$(number decoded)" -gt 0 ] || fail "nothing was decoded there"
	stop
}

asleep_s=4
[ -z "${SANITIZED:-}" ] || asleep_s=12 # a busy machine takes 4 s for the photo
ppm ppm good 64
ppm sleep sleep 64
plant
policies='default pool-per-stage cohort capriccio servlib thread-per-connection'
# With sanitizers, those that wait in different code.
[ -z "${SANITIZED:-}" ] || [ -n "${TEST_ALL:-}" ] ||
	policies='default capriccio thread-per-connection'
with_policies "$policies" test_workers_do_not_wait
test_workers_do_not_wait --policy servlib --threads n:1
test_workers_do_not_wait --policy cohort --pool decode=64
test_workers_do_not_wait --policy cohort --pool scale=1
