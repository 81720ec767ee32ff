# SPDX-License-Identifier: MIT
# For test scripts: start and stop a darkroom, and fail with a reason.
#
# Needs $DARKROOM, the program, and $JSON_VALUE; without it, json_value beside
# $DARKROOM.  $TEST_IO_THREADS, if set, is
# the number of I/O threads of each server, except of those with a thread for
# each connection.
# $TEST_POLICY, if set, is the policy of each server for which the test chooses
# no schedule, perhaps with flags, such as "cohort --regime gated".
# Sets $url, $server (the process) and $work (a folder that is removed at the
# end), $admin: the URL of the admin port, or $url if there is none, $agent: the
# port of the agent, and $policy_name: the policy of servers for which the test
# chooses none.
. "${BASH_SOURCE[0]%/*}/../../base/test/script.sh"
JSON_VALUE=${JSON_VALUE:-$(dirname "${DARKROOM:-.}")/json_value}
policy_name=${TEST_POLICY:-color}
policy_name=${policy_name%% *}

# Flags come only from the test, not from the environment.
unset "${!DARKROOM_@}"

# end_tree PID...: kill these processes and all that they have started
end_tree() {
	local pid children
	for pid in "$@"; do
		children=()
		kill -STOP "$pid" 2>/dev/null || continue
		read -r -a children <"/proc/$pid/task/$pid/children" || true
		kill -KILL "$pid" 2>/dev/null || true
		end_tree "${children[@]}"
	done
}

# At the end, also after a failure: kill all children.
at_end() {
	local children=()
	read -r -a children <"/proc/$BASHPID/task/$BASHPID/children" || true
	exec 2>/dev/null # the shell prints a line for each
	end_tree "${children[@]}"
}

server=

# apart: for a subshell with servers of its own, give it its own $work
apart() {
	work=$(mktemp -d -p "$work")
	log=$work/log
	server=
	trap end_script EXIT
}

# shown FILE: the beginning of the file, safe for a terminal
shown() {
	head -c 300 "$1" | tr -cd '[:print:]'
}

# Numbers for a loop that waits for something and pauses for 0.02 s or more in each
# turn.  It gives up after a minute or more: a busy machine may take a hundred times
# as long as an idle one.
printf -v patience '%s ' {1..3000}

# find_port WORDS: set $found_port to the port that the start line names after
# these words; to nothing if there is none
find_port() {
	local text
	found_port=
	IFS= read -r -d '' text <"$work/log" || true
	[[ ! $text =~ "$1 "[^\ ]*" (port "([0-9]+)")" ]] ||
		found_port=${BASH_REMATCH[1]}
}

# have PROGRAM: is it here?  If not, print that what needs it is skipped, in the
# words that script/test looks for.
have() {
	command -v "$1" >/dev/null || {
		echo "skipped: no $1" >&2
		return 1
	}
}

# chooses_policies REASON: the whole test chooses its policies itself, so it is
# skipped with $TEST_POLICY
chooses_policies() {
	[ -z "${TEST_POLICY:-}" ] || {
		echo "skipped with $TEST_POLICY: $1"
		exit 77
	}
}

# needs THING: has the policy of $TEST_POLICY this, which most policies have?
# If not, print so.
#   memory_refusals  an upload is refused if there is no memory for it now; so
#                    it need not wait, and reserves none for the rest of its body
#   queues           events wait for a free worker
#   workers          threads that visit stages, with figures of each
#   io_threads       --io-threads
#   overlap          requests are read while handlers keep all cores busy
#   early_replies    a reply is sent while the upload is still processed
#   trace            /trace
needs() {
	case "${TEST_POLICY:-}:$1" in
	servlib*1:1*:overlap | servlib*1:1*:early_replies) ;;
	capriccio*:memory_refusals | servlib*:overlap | \
		servlib*:queues | thread-per-connection*:queues | \
		servlib*:early_replies | \
		servlib*1:1*:trace | thread-per-connection*:trace | \
		servlib*:workers | thread-per-connection*:workers | \
		servlib*:io_threads | thread-per-connection*:io_threads)
		echo "left out with $TEST_POLICY: ${FUNCNAME[1]} needs $1"
		return 1
		;;
	esac
}

# with_policies "POLICY..." COMMAND ARGS...: run the command for each of these
# policies, with --policy as the last argument; for "default" without it.  With
# $TEST_POLICY, run it once, without --policy.
with_policies() {
	local policy policies=$1
	shift
	[ -z "${TEST_POLICY:-}" ] || policies=default
	for policy in $policies; do
		if [ "$policy" = default ]; then
			"$@"
		else
			"$@" --policy "$policy"
		fi
	done
}

# not_with_tsan COMMAND ARGS...: run the command, except with ThreadSanitizer, for
# what does one thing after the other, or starts only programs that end at once; with
# $TEST_ALL, everywhere
not_with_tsan() {
	[[ -z ${TEST_ALL:-} && ${SANITIZED:-} = *thread* ]] || "$@"
}

# has_schedule FLAGS...: is one of the flags a choice of the schedule?
has_schedule() {
	local flag
	for flag; do
		case $flag in
		--policy | --regime | --discipline | --slice | --balance | \
			--distribute | --steal | --pool | --threshold | --enough)
			return 0
			;;
		esac
	done
	return 1
}

# complete FLAGS...: set $full_flags to these flags and those that $TEST_POLICY
# and $TEST_IO_THREADS add
complete() {
	# shellcheck disable=SC2086
	[ -z "${TEST_POLICY:-}" ] || has_schedule "$@" ||
		set -- --policy $TEST_POLICY "$@"
	[ -z "${TEST_IO_THREADS:-}" ] ||
		[[ " $* " =~ " --policy "(thread-per-connection|servlib)" " ]] ||
		set -- --io-threads "$TEST_IO_THREADS" "$@"
	full_flags=("$@")
}

# launch FLAGS...: start a server; the flags contain --listen.  On a busy machine
# the default limits of time could be over, so where the test chooses none, they
# are longer.
launch() {
	local _
	complete "$@"
	port=
	: >"$work/log" # not the last server's port
	DARKROOM_LOG=${DARKROOM_LOG:-text} \
		DARKROOM_DEADLINE=${DARKROOM_DEADLINE:-600s} \
		DARKROOM_HEADER_TIMEOUT=${DARKROOM_HEADER_TIMEOUT:-60s} \
		DARKROOM_DRAIN_TIMEOUT=${DARKROOM_DRAIN_TIMEOUT:-120s} \
		"$DARKROOM" "${full_flags[@]}" 2>"$work/log" &
	server=$!
	for _ in $patience; do
		find_port 'listening on'
		port=$found_port
		[ -z "$port" ] || return 0
		kill -0 "$server" 2>/dev/null || fail "did not start: $*"
		sleep 0.1
	done
	fail "did not start in time: $*"
}

# start FLAGS...: start a server, on a free port unless the flags contain
# --listen
start() {
	[[ " $* " = *" --listen "* ]] || set -- --listen 127.0.0.1:0 "$@"
	launch "$@"
	url=http://127.0.0.1:$port
	find_port 'admin on'
	admin=$url
	[ -z "$found_port" ] || admin=http://127.0.0.1:$found_port
	find_port 'agent on'
	agent=$found_port
}

# stop [STATUS]: SIGTERM must end the server with this status (default 0); a
# crash, leak or race gives another one
stop() {
	local status=0
	kill -TERM "$server"
	wait "$server" || status=$?
	server=
	[ $status = "${1:-0}" ] || fail "the server ended with status $status"
}

# stats MEMBER...: print these members of /stats, one in a line
stats() {
	case $admin in
	https*) curl -fsS "$admin/stats" | "$JSON_VALUE" "$@" ;;
	*) "$JSON_VALUE" "$admin/stats" "$@" ;;
	esac
}

# computed EXPRESSION: its value, if it is of paths in /stats to whole numbers, such
# as ".memory.waiting == 0 and .memory.used_bytes >= 9 * 65536"
computed() {
	local words word paths=() values text= i=0
	[[ $1 != *[!a-z_.0-9[:space:]=\<\>!*+]* ]] || return 1
	read -r -d '' -a words <<<"$1" || true
	for word in "${words[@]}"; do
		[[ $word != .* ]] || paths+=("$word")
	done
	mapfile -t values < <(stats "${paths[@]}")
	for word in "${words[@]}"; do
		case $word in
		.*)
			word=${values[i++]:-}
			[[ $word =~ ^[0-9]+$ ]] || return 1
			;;
		and) word='&&' ;;
		esac
		text+=" $word"
	done
	[[ $text = *[=\<\>]* ]] || {
		echo "$((text))"
		return
	}
	if ((text)); then echo true; else echo false; fi
}

# stat_of EXPRESSION: one value of /stats, by jq; if it is a path, or can be
# computed, in a tenth of the time, which counts where a test waits for it
stat_of() {
	case $1 in
	*[!a-z_.]*) computed "$1" || stats . | jq -r "$1" ;;
	*) stats "$1" ;;
	esac
}

is_drained() {
	local sent finished failed arrived handled zeros
	{
		read -r sent
		read -r finished
		read -r failed
		read -r arrived
		read -r handled
		read -r -d '' zeros
	} < <(stats .uploads.sent .uploads.finished .uploads.failed \
		'.stages[].arrived' '.stages[].handled' '.stages[].queued' \
		.uploads.in_flight .memory.used_bytes)
	[ "$sent" = $((finished + failed)) ] && [ "$arrived" = "$handled" ] &&
		[[ $zeros =~ ^[0[:space:]]+$ ]]
}

# Expect that no upload is in progress, that all uploads are counted as ended,
# and that no memory is charged.  Wait for that: a worker may still have to
# count an upload that its client has already received, and a connection may
# still have to give memory back.
check_drained() {
	local _
	for _ in $patience; do
		! is_drained || return 0
		sleep 0.05
	done
	fail "not drained: $(curl -fsS "$admin/stats")"
}

# send_folder DIR: upload every file of DIR four times, over eight connections.
# Also needs $LOADGEN.
send_folder() {
	"$LOADGEN" --dataset "$1" --connections 8 --passes 4 \
		"$url/?w=300&blur=2" >"$work/report" ||
		fail "$(cat "$work/report")"
	check_drained
}

# shrink SIDE: set $dir to a folder with the same photos, scaled to fit into a
# square of SIDE pixels; for tests that only take longer with larger photos
shrink() {
	local photo
	mkdir "$work/shrunk"
	start
	for photo in "$dir"/*.jpg; do
		curl -fsS --data-binary "@$photo" "$url/?w=$1&h=$1&q=90" \
			-o "$work/shrunk/${photo##*/}"
	done
	stop
	dir=$work/shrunk
}

# shrink_photo: scale $photo, for tests that only take longer with a larger one
shrink_photo() {
	start
	curl -fsS --data-binary "@$photo" "$url/?w=800&q=90" -o "$work/shrunk.jpg"
	stop
	photo=$work/shrunk.jpg
}

# holds FILE EXPRESSION: expect that the expression is true of the file, by jq
holds() {
	[ "$(jq "$2" "$1")" = true ] || fail "not true: $2 $(head -c 2000 "$1")"
}

# send COUNT QUERY: begin this number of uploads of $photo at once, in the
# background.  Their pids are in $clients, statuses in $work/code*, replies in
# $work/reply*.
send() {
	local count=$1 query=$2 i
	clients=()
	rm -f "$work"/code*
	for i in $(seq "$count"); do
		curl -sS -o "$work/reply$i" -w '%{http_code}\n' --data-binary \
			"@$photo" "$url/?$query" >"$work/code$i" &
		clients+=($!)
	done
}

# taken COUNT: wait until the server has accepted this number of uploads
taken() {
	local count=$1 _
	for _ in $patience; do
		[ "$(stat_of .uploads.sent)" != "$count" ] || return 0
		sleep 0.02
	done
	fail "$count uploads were sent, but $(stat_of .uploads.sent) taken"
}

# got STATUS: the number of uploads of send that got this status
got() {
	cat "$work"/code* | grep -cx "$1" || true
}

# ends_with STATUS WORD FLAGS...: expect that the program does not start, ends
# with this status, and prints WORD
ends_with() {
	local expected=$1 word=$2 status=0
	shift 2
	timeout 300 "$DARKROOM" "$@" >"$work/log" 2>&1 || status=$?
	[ $status = "$expected" ] || fail "status $status, not $expected: $*"
	grep -qF -- "$word" "$work/log" || fail "does not name $word: $*"
}

# refuses WORD FLAGS...: expect that the flags are refused as wrong (status 2),
# and that WORD is printed
refuses() {
	ends_with 2 "$@"
}

# expect_problem STATUS CODE CURL-ARGUMENTS...: expect this problem as the reply
expect_problem() {
	local status=$1 code=$2 got head
	shift 2
	got=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] ||
		fail "status $got, not $status: $* $(shown "$work/body")"
	got=$("$JSON_VALUE" .code .status <"$work/body") || true
	[ "$got" = "$code"$'\n'"$status" ] ||
		fail "not $code and $status: $* $(shown "$work/body")"
	head=$(<"$work/head")
	head=${head,,}
	[[ $head = *$'\ncontent-type: application/problem+json'* ]] ||
		fail "not problem+json: $*"
	[[ $head =~ $'\nx-request-id: '[^$'\r\n'] ]] || fail "no request id: $*"
}

# ask STATUS CURL-ARGUMENTS...: expect this status; the reply is in $work/body and
# $work/head
ask() {
	local status=$1 got
	shift
	: >"$work/body"
	got=$(curl -sS -o "$work/body" -D "$work/head" -w '%{http_code}' "$@")
	[ "$got" = "$status" ] ||
		fail "$got, not $status: $* $(shown "$work/body")"
}

# header NAME: print the value of this header of the last reply
header() {
	sed -n "s/^$1: \(.*\)\r$/\1/Ip" "$work/head" | tail -1
}

# start_empty FLAGS...: start a server with an empty store, in $work/store
start_empty() {
	rm -rf "$work/store"
	mkdir "$work/store"
	start --store "$work/store" "$@"
}

# insert MARKER PAYLOAD-FILE: print $photo with this segment after its SOI
insert() {
	head -c 2 "$photo"
	printf '%s%04x' "$1" $(($(stat -c %s "$2") + 2)) | xxd -r -p
	cat "$2"
	tail -c +3 "$photo"
}

# with_profile PROFILE-FILE: print $photo with this profile, whole or broken, in
# one chunk
with_profile() {
	{ printf 'ICC_PROFILE\0\1\1'; cat "$1"; } >"$work/chunk"
	insert ffe2 "$work/chunk"
}
