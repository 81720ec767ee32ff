# Sourced by script/fleet: the ground that a fleet stands on, and its removal.
#
# A machine of the fleet is a network namespace, $fleet.NAME.  All are connected
# by a bridge, which is in a namespace of its own, so the host gets no
# interface, address or route.  A service is a control group below $groups; its
# members are its processes, so no list of processes can be wrong.  The folder
# $state has all files.
#
# fleet_clear() needs nothing but the name of the fleet.  It works after a crash
# at any moment, and when the folder was removed by hand.

fleet=${FLEET:-darkroom-fleet}
[[ $fleet =~ ^[a-z][a-z0-9-]{0,31}$ ]] || {
	echo "fleet: '$fleet' is no name of a fleet: letters, digits, -" >&2
	exit 2
}
state_parent=${FLEET_STATE:-/var/lib}
[[ $state_parent = /* ]] || {
	echo "fleet: FLEET_STATE=$state_parent is not absolute" >&2
	exit 2
}
state=$state_parent/$fleet
network=10.77.0

say() {
	printf '%s\n' "$*"
}

die() {
	echo "fleet: $*" >&2
	exit 1
}

# cannot REASON: this machine cannot have a fleet
cannot() {
	echo "fleet: cannot run here: $*" >&2
	exit 3
}

# until_true SECONDS COMMAND...: run the command, 20 times a second, until it
# succeeds.  False: it did not within this time.
until_true() {
	local i times=$(($1 * 20))
	shift
	for ((i = 0; i < times; i++)); do
		"$@" && return
		sleep 0.05
	done
	return 1
}

# install_packages PROGRAM:PACKAGE...: install the Debian packages whose programs
# are missing.
install_packages() {
	local pair missing=()
	for pair; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		cannot "the programs of ${missing[*]} are missing"
	say "installing ${missing[*]}"
	[ ! -d /run/systemd/system ] || say "(Debian may start their own" \
		"services; 'systemctl disable --now NAME' stops one)"
	# In a session of its own: Ctrl-C must not interrupt dpkg.
	if ! DEBIAN_FRONTEND=noninteractive setsid --wait bash -c '
		options=(-qq -o DPkg::Lock::Timeout=120)
		apt-get "${options[@]}" install -y --no-install-recommends "$@" ||
		{ apt-get "${options[@]}" update && apt-get "${options[@]}" \
			install -y --no-install-recommends "$@"; }' bash \
		"${missing[@]}" >/dev/null 2>&1 </dev/null; then
		cannot "apt-get cannot install ${missing[*]}"
	fi
}

# Say so, before anything is installed, if this machine cannot have a fleet.
check_machine() {
	[ "$(id -u)" = 0 ] || cannot "only root can make namespaces"
	unshare --net true 2>/dev/null || cannot "no network namespaces"
	[ -w "${groups%/*}" ] || cannot "no control groups in ${groups%/*}"
}

# -- the state folder

# Make the folder.  Its mark is a link whose text has the folder's device and
# inode: it is made whole, and another folder cannot be taken for this one.
make_state() {
	mkdir -m 711 "$state" || die "$state exists: script/fleet down"
	ln -s "$fleet:$(stat -c %d:%i "$state")" "$state/.fleet"
}

# Remove the folder, if make_state() made it.  rm does not follow links.
remove_state() {
	[ -e "$state" ] || [ -L "$state" ] || return 0
	if [ -L "$state" ] || [ ! -d "$state" ] ||
		[ "$(stat -c %u "$state")" != "$(id -u)" ] ||
		[ "$(realpath -e "$state")" != "$(realpath -e "$state_parent")/$fleet" ]; then
		echo "fleet: $state is not a folder of $(id -un): left" >&2
		return 1
	fi
	rmdir "$state" 2>/dev/null && return # a crash before the mark
	if [ "$(readlink "$state/.fleet")" != "$fleet:$(stat -c %d:%i "$state")" ]; then
		echo "fleet: $state has no mark of this script: left" >&2
		return 1
	fi
	rm -rf --one-file-system -- "${state:?}"
}

# -- control groups: services and their processes

# Find the control groups that limit the CPU.  Sets $groups and $home_group: the
# group that this script came from.
find_groups() {
	local root path
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	if [ -n "$root" ] && grep -qw cpu "$root/cgroup.controllers"; then
		groups_version=2
		path=$(sed -n 's/^0:://p' /proc/self/cgroup)
	else
		groups_version=1
		root=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' \
			/proc/self/mounts)
		path=$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?://p' \
			/proc/self/cgroup)
	fi
	[ -n "$root" ] || cannot "there is no control group for CPUs"
	groups=$root/$fleet
	home_group=$root$path
	[[ $path != "/$fleet"* && -d $home_group ]] || home_group=$root
}

# make_group NAME [PERCENT]: a group for a service, limited to this part of a
# core.  Without the right to limit, it is not limited.
make_group() {
	local group=$groups/$1
	mkdir -p "$group"
	[ -n "${2:-}" ] || return 0
	if [ "$groups_version" = 1 ]; then
		echo 20000 >"$group/cpu.cfs_period_us" &&
			echo $(($2 * 200)) >"$group/cpu.cfs_quota_us"
	else
		echo +cpu >"${groups%/*}/cgroup.subtree_control" &&
			echo +cpu >"$groups/cgroup.subtree_control" &&
			echo "$(($2 * 200)) 20000" >"$group/cpu.max"
	fi 2>/dev/null || say "no CPU quota for $1: $group does not accept it"
}

# members NAME: the processes of a service
members() {
	cat "$groups/$1/cgroup.procs" 2>/dev/null || true
}

is_empty() {
	[ -z "$(members "$1")" ]
}

# main_of NAME: the process of a service whose parent is not of the service;
# empty if the service does not run
main_of() {
	local pid stat all
	all=" $(members "$1" | tr '\n' ' ') "
	for pid in $all; do
		stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
		stat=${stat##*) } # "STATE PPID ..."
		stat=${stat#* }
		[[ $all = *" ${stat%% *} "* ]] || { echo "$pid"; return; }
	done
}

# signal NAME SIGNAL: to the main process.  False: there is none.
signal() {
	local pid
	pid=$(main_of "$1")
	[ -n "$pid" ] && kill "-$2" "$pid" 2>/dev/null
}

# end_services NAME...: kill all processes of these services
end_services() {
	local name pid _ left
	for _ in $(seq 400); do
		left=
		for name; do
			for pid in $(members "$name"); do
				left=$pid
				kill -KILL "$pid" 2>/dev/null || true
			done
		done
		[ -n "$left" ] || return 0
		sleep 0.05
	done
	echo "fleet: process $left does not end" >&2
	return 1
}

# inside MACHINE SERVICE COMMAND...: replace this process, a subshell, by the
# command, as a member of the service, in the network of the machine
inside() {
	echo "$BASHPID" >"$groups/$2/cgroup.procs"
	exec nsenter "--net=/run/netns/$fleet.$1" -- env -i "PATH=$PATH" \
		HOME=/ LC_ALL=C.UTF-8 "${@:3}"
}

# spawn MACHINE SERVICE COMMAND...: start a service, with a log; in a session of
# its own, so that Ctrl-C does not reach it
spawn() {
	(inside "$1" "$2" setsid "${@:3}") </dev/null \
		>>"$state/log/$2" 2>&1 &
	disown
}

# attend MACHINE SERVICE COMMAND...: run a command to its end.  Unlike a command
# in the foreground, it does not delay the traps of this script.
attend() {
	(inside "$@") </dev/null &
	wait $!
}

# beside COMMAND...: run a function of this script in the background; it ends
# with the fleet
beside() {
	(
		echo "$BASHPID" >"$groups/beside/cgroup.procs"
		"$@"
	) </dev/null &
}

# -- all of it

# make_machine NAME HOST: a namespace with an address
make_machine() {
	local space=$fleet.$1
	ip netns add "$space" 2>/dev/null ||
		cannot "the namespace $space cannot be made"
	ip -n "$fleet.hub" link add "$1" type veth peer name eth0 netns "$space"
	ip -n "$fleet.hub" link set "$1" master bridge up
	ip -n "$space" address add "$network.$2/24" dev eth0
	ip -n "$space" link set lo up
	ip -n "$space" link set eth0 up
	echo "$1 $network.$2" >>"$state/machines"
}

# address MACHINE
address() {
	awk -v name="$1" '$1 == name { print $2 }' "$state/machines"
}

is_up() {
	[ -d "$groups" ] && [ -e "$state/settings" ]
}

# Claim the name of the fleet and make what does not depend on its size.  From
# here on, an end of this script that is not orderly removes everything.
make_ground() {
	local name
	trap '' INT TERM HUP
	if mkdir "$groups" 2>/dev/null; then
		trap 'end_fleet' EXIT
		trap 'exit 130' INT
		trap 'exit 143' TERM HUP
	else
		trap - INT TERM HUP
		[ ! -d "$groups" ] || die "$fleet exists: script/fleet down"
		cannot "$groups cannot be made"
	fi
	make_state
	mkdir "$state/log"
	ip netns add "$fleet.hub" 2>/dev/null ||
		cannot "the namespace $fleet.hub cannot be made"
	ip -n "$fleet.hub" link add bridge type bridge
	ip -n "$fleet.hub" link set bridge up
	for name in setup user load beside; do make_group $name; done
}

# Remove processes, namespaces, the folder and the groups of the fleet, as far
# as they exist.
fleet_clear() {
	local group space name status=0 names=()
	trap '' INT TERM HUP
	[ ! -d "$groups" ] || echo $$ >"$home_group/cgroup.procs"
	for group in "$groups"/*/; do
		[ ! -d "$group" ] || names+=("$(basename "$group")")
	done
	disown -a # or the shell reports each that is killed
	end_services "${names[@]}" || status=1
	for space in "/run/netns/$fleet".*; do
		[ ! -e "$space" ] || ip netns del "${space##*/}" || status=1
	done
	remove_state || status=1
	for name in "${names[@]}"; do
		until_true 5 rmdir "$groups/$name" 2>/dev/null || status=1
	done
	[ ! -d "$groups" ] || rmdir "$groups" || status=1
	trap - INT TERM HUP
	return $status
}

# The end of a script that has made the fleet for itself, or was interrupted
# while it made one.
end_fleet() {
	local status=$?
	trap - EXIT
	[ $status != 1 ] || is_up || tail -n 5 "$state/log/setup" >&2 || true
	fleet_clear || [ $status != 0 ] || status=1
	exit $status
}
