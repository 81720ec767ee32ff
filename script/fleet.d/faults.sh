# Sourced by script/fleet: faults, each of which really happens or is reported as
# failed, and the restart of all nodes in turn.
#
# fault KIND TARGET PAUSE: break it, wait PAUSE seconds, repair it, and wait until
# it works again.  False: it did not break, or could not be repaired.

fault_kinds='node freeze osd reload link slow gateway front'

# What can be the target of a fault of this kind.
fault_targets() {
	case $1 in
	node | freeze | link | slow) each_node ;;
	osd) printf '%s\n' "${engine_disks[@]}" ;;
	gateway) [ "$engine" = folder ] || echo gateway ;;
	reload | front) echo active ;; # the front that has the address then
	esac
}

fault() {
	local pause=$3 target=$2
	[ "$target" != active ] || target=$(front_now)
	[ -n "$target" ] || return 1
	"fault_$1" "$target" "$pause"
}

fault_node() {
	kill_node "$1" || return 1
	sleep "$2"
	start_node "$1"
}

fault_freeze() {
	signal "$1" STOP || return 1
	sleep "$2"
	signal "$1" CONT
}

fault_osd() {
	signal "$1" KILL && until_true 5 is_empty "$1" || return 1
	sleep "$2"
	revive "$1"
}

fault_gateway() {
	fault_osd "$@" && until_true 20 s3 -o /dev/null "/$bucket"
}

fault_link() {
	ip -n "$fleet.hub" link set "$1" down || return 1
	sleep "$2"
	ip -n "$fleet.hub" link set "$1" up
}

# What a node receives comes at 2 Mbit/s.
fault_slow() {
	tc -n "$fleet.hub" qdisc add dev "$1" root tbf rate 2mbit burst 32kb \
		latency 200ms || return 1
	sleep "$2"
	tc -n "$fleet.hub" qdisc del dev "$1" root
}

# HAProxy starts a new worker with the new configuration, and the old one ends
# when its connections have.
fault_reload() {
	local before
	before=$(members "$1" | sort)
	signal "$1" USR2 && until_true 5 has_new_member "$1" "$before"
}

has_new_member() {
	[ -n "$(members "$1" | sort | comm -13 <(echo "$2") -)" ]
}

# All processes of one HAProxy.  The other front takes the address.
fault_front() {
	end_services "$1" && until_true 10 has_moved "$1" || return 1
	sleep "$2"
	start_front "$1"
	until_true 5 is_running "$1"
}

has_moved() {
	local now
	now=$(front_now)
	[ -n "$now" ] && [ "$now" != "$1" ]
}

# plan_faults SECONDS SEED KIND=COUNT,...: lines: milliseconds, kind, target,
# pause.  Each kind's faults are spread over the time, one in each of COUNT equal
# parts, so that two of one kind do not meet.
plan_faults() {
	local item kind count
	for item in ${3//,/ }; do
		kind=${item%%=*} count=${item#*=}
		fault_targets "$kind" |
			awk -v kind="$kind" -v count="$count" -v seconds="$1" \
				-v seed="$2" '
			function random() {
				state = state * 16807 % 2147483647
				return state / 2147483647
			}
			{ target[NR - 1] = $1 }
			END {
				state = seed + 1 + length(kind) * 1000 + count
				for (i = 0; i < 9; i++) random()
				for (i = 0; i < count && NR; i++)
					printf "%d %s %s %.2f\n",
						(i + random() * 0.6) * seconds / count * 1000,
						kind, target[int(random() * NR)],
						1 + random()
			}'
	done
}

# do_faults PLAN BEGIN: do the faults of a plan at their times, those of one kind
# one after the other.  Adds a line to $load/faults for each: kind, target, done
# or failed.  Returns when all are repaired.
do_faults() {
	local kind pids=()
	for kind in $fault_kinds; do
		beside do_kind "$kind" "$1" "$2"
		pids+=($!)
	done
	wait "${pids[@]}"
}

# do_kind KIND PLAN BEGIN
do_kind() {
	local ms kind target pause wait_ms
	grep "^[0-9]* $1 " "$2" | while read -r ms kind target pause; do
		wait_ms=$((ms - ($(now_us) - $3) / 1000))
		((wait_ms <= 0)) || sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
		if fault "$kind" "$target" "$pause" </dev/null; then
			echo "$kind $target done"
		else
			echo "$kind $target failed"
		fi
	done >>"$load/faults"
}

# Restart all nodes, one after the other, each when the fronts use the last one
# again.
rolling_restart() {
	local name
	for name in $(each_node); do
		stop_node "$name" || { say "$name did not stop"; return 1; }
		start_node "$name" || return 1
		until_true 15 in_use "$name" || { say "$name is not used"; return 1; }
	done
}
