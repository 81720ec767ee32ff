#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: with --stages thesis, uploads pass two stages more, parse and
# statistics, which are shown and scheduled as the others are.  Under each policy
# the server makes the same pictures as with --stages image, and refuses bad
# forms, and bodies that are too large, with the same status, code and reason.
# What depends on fields of a form does so: an early reply, a ticket.  A stop
# under load loses no upload that was begun.
#
# usage: DARKROOM=PROGRAM [SANITIZED=WORDS] test_stages.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
cd "$(dirname "$1/x")"
samples=$PWD
cd "$work"
policies="default cohort pool-per-stage thread-per-connection servlib capriccio"
apart="default servlib capriccio"
# What is in a form is the same to each policy; what their threads do is not.
case ${SANITIZED:-} in
*thread*) policies=$apart apart=default ;;
*address*) policies=default apart=default ;;
esac
frontier='Content-Type: multipart/form-data; boundary=frontier'
limits=(--max-body 300K --max-megapixels 1)

# Files to send: a picture, and what is wrong with others.
make_files() {
	start
	curl -fsS --data-binary "@$samples/clownfish.jpg" "$url/?w=320" -o photo
	curl -fsS --data-binary "@$samples/lionfish.jpg" "$url/?w=1300&q=20" \
		-o wide
	stop
	head -c 3000 photo >half
	seq 1000 >text
	head -c 310000 /dev/zero | cat photo - >large
	: >empty
	printf '2\0000' >nul
	head -c 16400 /dev/zero | tr '\0' 1 >long
	{
		printf -- '--frontier\r\nContent-Disposition: form-data; '
		printf 'name=file; filename=a.jpg\r\n\r\n'
		cat photo
		printf '\r\n--frontier\r\nContent-Disposition: form-data; '
		printf 'name=w\r\n\r\n50\r\n--frontier--\r\n'
	} >form
	head -c -4 form >cut
	sed 's/name=w/name=w; name=h/' form >twice
}

# The arguments of curl for each request; those before "refused" get a picture.
requests() {
	cat <<-'EOF'
		--data-binary @photo URL/?w=100
		-H FORM --data-binary @form URL/
		-H FORM -H Transfer-Encoding:chunked --data-binary @form URL/
		-F w=100 -F file=@photo URL/
		-F file=@photo -F w=90 -F h=50 -F fit=cover -F format=png URL/?q=30
		-F unused=@empty;filename= -F file=@photo -F w= URL/?w=100
		-F file=@photo -F variant=a:w=20 -F variant=b:w=30 URL/?variant=c:w=40
		refused
		-F file=@photo -F w=0 URL/
		-F file=@photo -F w=20 URL/?w=30
		-F file=@photo -F chunks=3 URL/
		-F file=@photo -F respond=decoded URL/
		-F file=@photo -F b=@wide URL/
		-F w=20 URL/
		-F w=20 -F file=@empty URL/
		-F w=<nul -F file=@photo URL/
		-F w=<long -F file=@photo URL/
		-F file=@photo;encoder=base64 URL/
		-F photo=<photo URL/
		-F file=@text URL/
		-F file=@half URL/
		-F file=@wide URL/
		-F file=@large URL/
		-H Transfer-Encoding:chunked -F file=@large URL/
		-F file=@photo -F w=5000 -F enlarge=1 URL/
		-H FORM --data-binary @cut URL/
		-H FORM --data-binary @twice URL/
		-H FORM --data-binary @text URL/
		-H FORM --data-binary @empty URL/
		-H Content-Type:multipart/form-data --data-binary @form URL/
		-H FORM -H Content-MD5:1B2M2Y8AsgTpgAmY7PhCfg== --data-binary @cut URL/
		--data-binary @text URL/
		--data-binary @half URL/
		--data-binary @large URL/
	EOF
}

# results: a line for each request: its status, and its picture's hash, or its
# problem
results() {
	local line status args
	while read -r line; do
		[ "$line" != refused ] || continue
		read -r -a args <<<"$line"
		args=("${args[@]/FORM/"$frontier"}")
		status=$(curl -sS -o got -w '%{http_code}' \
			"${args[@]/URL/"$url"}" 2>/dev/null) || true
		if [ "$status" = 200 ]; then
			echo "200 $(sed '/^--/d' got | sha256sum)"
		else
			echo "$status $("$JSON_VALUE" .code .detail <got |
				sed 's/; only .* are read//') $line"
		fi
	done < <(requests)
}

# expect_results FLAGS...: those with --stages image
expect_results() {
	start "${limits[@]}" "$@"
	results >expected
	stop
}

# same_results FLAGS...: they are as expected
same_results() {
	start "${limits[@]}" --stages thesis "$@"
	results >got_results
	diff expected got_results >&2 || fail "other results: $*"
	check_drained
	stop
}

test_same_results_under_each_policy() {
	local good
	expect_results
	good=$(requests | sed '/^refused/,$d' | wc -l)
	[ "$(head -n "$good" expected | grep -c '^200 ')" = "$good" ] ||
		fail "not all are pictures: $(cat expected)"
	[ "$(tail -n "+$((good + 1))" expected | grep -c '^4')" = \
		$(($(requests | wc -l) - good - 1)) ] ||
		fail "not all are refused: $(cat expected)"
	with_policies "$policies" same_results
	# Files of this format do not pass decode, but a process of their own.
	with_policies "$apart" same_results --isolate jpeg
	[ -z "${TEST_POLICY:-}" ] || return 0
	expect_results --form strict
	same_results --form strict
}

# A form is read by the stage, and counted by the other; a raw body passes.
test_stages_are_shown() {
	local all='parse decode scale blur encode statistics'
	start --stages thesis
	ask 200 --data-binary @photo "$url/?w=20"
	ask 200 -F file=@photo -F variant=a:w=20 -F variant=b:w=30 "$url/"
	[ "$(header Server-Timing | grep -o '[a-z]*;dur' | tr '\n' ' ')" = \
		"body;dur queue;dur ${all// /;dur };dur total;dur " ] ||
		fail "times are of others: $(header Server-Timing)"
	expect_problem 400 no_file -F w=20 "$url/"
	check_drained
	[ "$(stat_of '[.stages[].name] | join(" ")')" = "$all" ] ||
		fail "stages: $(stat_of '.stages[].name')"
	[ "$(stat_of '[.stages[].handled] | join(" ")')" = '3 2 3 0 3 3' ] ||
		fail "handled: $(stat_of '[.stages[].handled] | join(" ")')"
	[ "$(stat_of '[.uploads.finished, .uploads.failed] | join(" ")')" = \
		'2 1' ] || fail "finished: $(stats .uploads)"
	curl -fsS "$url/metrics" >metrics
	for stage in $all; do
		grep -q "stage=\"$stage\"" metrics || fail "no metrics of $stage"
	done
	curl -sN --max-time 3 "$url/v1/live" >live || true
	sed -n '/^data: .*"stages":\[/{s/^data: //p;q}' live >hello
	[ "$(jq -r '.stages | join(" ")' hello)" = "$all" ] ||
		fail "not told to viewers: $(shown hello)"
	stop
}

# A form whose picture does not fit into the memory is refused when it is read.
test_refusals_are_counted() {
	start --stages thesis --memory 8M
	expect_problem 413 too_much_memory -F file=@photo -F w=4000 \
		-F enlarge=1 "$url/"
	check_drained
	[ "$(stat_of '.memory.refused == 1 and .uploads.refused == 1')" = \
		true ] || fail "refused: $(stats .memory .uploads)"
	stop
}

test_events_are_in_traces() {
	needs trace || return 0
	start --stages thesis
	ask 200 -F file=@photo -F w=20 "$url/"
	check_drained
	curl -fsS "$url/trace?ms=60000" -o trace
	for stage in parse decode statistics; do
		jq -e --arg name $stage \
			'any(.[]; .cat == "visit" and .name == $name)' trace \
			>/dev/null || fail "no $stage in the trace"
	done
	stop
}

test_stages_are_scheduled() {
	[ -z "${TEST_POLICY:-}" ] || return 0
	start --policy pool-per-stage --pool parse=2,statistics=3 --stages thesis
	stats .schedule | has -F 'parse=2,' || fail "not two threads"
	stats .schedule | has -F ',statistics=3' || fail "not three threads"
	ask 200 -F file=@photo -F w=20 "$url/"
	stop
	DARKROOM_STAGES=thesis start --policy cohort \
		--regime exhaustive,parse=n-gated=8 --threshold statistics=4
	stats .schedule | has -F 'parse=n-gated=8' || fail "no regime of parse"
	stop
	# The pools of the thesis, for its four cores; the stages of a file.
	echo '{"stages": "thesis", "policy": "pool-per-stage"}' >file.json
	start --config file.json --cores 0
	stats .schedule | has -F 'parse=1,decode=1,scale=1,blur=1,encode=1,statistics=1' ||
		fail "other pools: $(stats .schedule)"
	stop
	refuses parse --policy pool-per-stage --pool parse=2
	refuses stages --stages other
	start --policy cohort --balance partition=2 --stages thesis \
		--save-graph "$work/graph.json" --cores 0,1
	ask 200 -F file=@photo -F w=20 "$url/"
	stop
	grep -q '"parse"' graph.json || fail "not in the graph: $(cat graph.json)"
	start --policy cohort --balance partition=2 --stages thesis \
		--graph "$work/graph.json" --cores 0,1
	ask 200 -F file=@photo -F w=20 "$url/"
	stop
	refuses graph --policy cohort --balance partition=2 --cores 0,1 \
		--graph "$work/graph.json"
}

# stored ID: the image is there, now or soon
stored() {
	local _
	for _ in $patience; do
		[ "$(curl -sS -o got -w '%{http_code}' "$url/v1/images/$1")" != 200 ] ||
			return 0
		sleep 0.05
	done
	fail "image $1 was not stored: $(shown got)"
}

# check_stored FLAGS...: fields of a form about the reply, and of a ticket
check_stored() {
	local early='20[12]' where status i
	start_empty --stages thesis "$@"
	ask 201 -F file=@photo -F w=60 "$url/v1/images"
	for i in 1 2 3 4; do
		for where in "-F respond=decoded" "-F respond=stored" ""; do
			# shellcheck disable=SC2086
			status=$(curl -sS -o got -w '%{http_code}' $where \
				-F file=@photo -F "w=6$i" -F enlarge=1 -F blur=3 \
				"$url/v1/images${where:+?q=9$i}")
			[[ $status =~ ^$early$ ]] || fail "$status: $(shown got)"
			[ "$status" != 202 ] || [ "$where" = "-F respond=decoded" ] ||
				fail "202 with '$where'"
			stored "$("$JSON_VALUE" .id <got)"
		done
	done
	expect_problem 400 bad_parameter -F file=@photo -F respond=decoded \
		-F w=0 "$url/v1/images"
	expect_problem 400 bad_parameter -F respond=decoded -F file=@photo \
		-F respond=later "$url/v1/images"
	ask 201 -X POST "$url/v1/uploads?w=64"
	ticket=$url/v1/uploads/$("$JSON_VALUE" .id <body)
	expect_problem 400 second_file -F file=@photo -F b=@wide "$ticket"
	expect_problem 400 no_file -F w=20 "$ticket"
	ask 201 -F file=@photo "$ticket"
	check_drained
	stop
}

# Without a spool, the reply follows decode at once.
check_early() {
	start_empty --stages thesis --spool none "$@"
	ask 202 -F file=@photo -F respond=decoded -F w=60 "$url/v1/images"
	stored "$("$JSON_VALUE" .id <body)"
	check_drained
	[ "$(stat_of '[.stages[:-1][].handled] | join(" ")')" = \
		"1 ${decoded:-1} 1 0 1 1" ] ||
		fail "handled: $(stat_of '.stages[].handled') $*"
	stop
}

test_fields_decide_what_is_stored() {
	with_policies "$policies" check_stored
	! needs early_replies ||
		with_policies "default thread-per-connection capriccio" check_early
	# The thread that waits for another process to decode makes the image.
	[ -n "${TEST_POLICY:-}" ] ||
		decoded=0 check_early --isolate jpeg --policy servlib
}

# client NUMBER: send forms until the server does not answer any more
client() {
	local status
	while :; do
		status=$(curl -sS -o "reply$1" -w '%{http_code}' -F file=@photo \
			-F w=100 "$url/" 2>/dev/null) || true
		case $status in
		200)
			cmp -s "reply$1" picture || echo "another picture"
			;;
		503) ;;
		*) break ;;
		esac
		echo "$status"
	done >"client$1"
}

check_stop() {
	local i clients=()
	start --stages thesis --max-uploads 4 "$@"
	curl -fsS -F file=@photo -F w=100 "$url/" -o picture
	for i in 1 2 3 4 5 6; do
		client "$i" &
		clients+=($!)
	done
	for _ in $patience; do
		[ "$(stat_of .uploads.finished)" -lt 20 ] || break
		sleep 0.05
	done
	stop
	wait "${clients[@]}"
	! cat client? | has another || fail "another picture: $*"
	[ "$(cat client? | grep -c '^200')" -ge 12 ] || fail "no load: $*"
}

test_stop_under_load() {
	with_policies "$policies" check_stop
	[ -n "${TEST_POLICY:-}" ] || check_stop --isolate jpeg
}

make_files
test_same_results_under_each_policy
test_stages_are_shown
test_refusals_are_counted
test_events_are_in_traces
test_stages_are_scheduled
test_fields_decide_what_is_stored
test_stop_under_load
