#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# script/in-debian passes its command's arguments, files and exit status on;
# and whatever ends it, no process and no mount is left, and no folder either,
# except after SIGKILL.  The bare system here is a few programs of this one, put
# together by an mmdebstrap of the test.  Skipped without root or namespaces.
#
# usage: test_in_debian.sh SOURCE_DIR
. "$(dirname "$0")/../../../base/test/script.sh"
source=$(realpath "$1")

skip() {
	echo "skipped: $*"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
unshare --mount --pid --fork true 2>/dev/null || skip "may not make namespaces"
command -v git >/dev/null || skip "no git"

log=$work/err
chmod 755 "$work"
mkdir "$work/tree" "$work/bin" "$work/scratch"
cd "$work/tree"
export TMPDIR=$work/scratch PATH=$work/bin:$PATH
export GIT_CONFIG_GLOBAL=$work/gitconfig
mark=98765.$$ # seconds of a sleep, by which it is found

# The root: a few programs with their libraries.
mkdir -p "$work"/root/{bin,dev,etc,mnt,proc,sys,tmp,usr}
chmod 755 "$work/root"
chmod 1777 "$work/root/tmp"
ln -s ../bin "$work/root/usr/bin"
for program in bash cat env ls mount pivot_root setpriv sleep umount; do
	programs+=("$(command -v $program)")
done
cp "${programs[@]}" "$work/root/bin"
ldd "${programs[@]}" | grep -oE '/[^ :]*\.so[^ ]*' | sort -u |
	xargs cp --parents --dereference -t "$work/root"

cat >"$work/bin/mmdebstrap" <<'END'
#!/bin/bash
while [[ $1 = -* ]]; do shift; done
[ ! -e "$STUB_FAILS" ] || { echo "no mirror answers" >&2; exit 3; }
cp -a "$STUB_ROOT" "$2"
END
printf '#!/bin/bash\n' >"$work/bin/apt-get"
cp "$work/bin/apt-get" "$work/bin/apt-config"
chmod 755 "$work"/bin/*
export STUB_FAILS=$work/fails STUB_ROOT=$work/root

cp -r "$source/script" script
printf 'secret\n' >.gitignore
touch changed removed secret
git init -q .
git config --global user.name nobody
git config --global user.email nobody@example.org
git add .
git commit -q -m first
echo now >changed
rm removed
touch "$(printf 'new\nline')"
chown -R 65534:65534 .

# in_debian STATUS ARG...: it ends with this status; its output is in $work/out
in_debian() {
	local wanted=$1 status=0
	shift
	script/in-debian "$@" >"$work/out" 2>"$work/err" || status=$?
	[ $status = "$wanted" ] || fail "$*: status $status, not $wanted"
}

# processes: print those that sleep for $mark
processes() {
	grep -lsF "$mark" /proc/[0-9]*/cmdline || true
}

# nothing_runs: no process is left, a moment later
nothing_runs() {
	local _
	for _ in $(seq 1200); do
		[ -n "$(processes)" ] || return 0
		sleep 0.1
	done
	fail "after $1: left: $(processes)"
}
nothing_is_left() {
	nothing_runs "$1"
	[ -z "$(ls -A "$TMPDIR")" ] || fail "after $1: $(ls "$TMPDIR")"
	! grep -F "$TMPDIR" /proc/self/mounts || fail "after $1: a mount"
}

test_arguments_and_status() {
	in_debian 7 13 bash -c 'printf "<%s>" "$@"; exit 7' - 'a  b' '$x' '' "'"
	[ "$(<"$work/out")" = "<a  b><\$x><><'>" ] || fail "$(<"$work/out")"
	in_debian 137 trixie bash -c 'kill -KILL $$'
	in_debian 127 12 no-such-program
	in_debian 2 12
	in_debian 2 '12 13' true
	in_debian 2 --what 12 true
	in_debian 0 12 cat <<<'what is typed'
	[ "$(<"$work/out")" = 'what is typed' ] || fail "no standard input"
	nothing_is_left 'commands'
}

test_the_files_are_those_of_here() {
	in_debian 0 12 bash -c '[ "$PWD" = /darkroom ] && [ "$(<changed)" = now ] &&
		[ -x script/in-debian ] && [ -e new*line ] &&
		[ -d .git ] && [ ! -e removed ] && [ ! -e secret ]'
	[ -e secret ] && [ ! -e removed ] || fail "its own tree is changed"
}

test_nothing_else_is_there() {
	touch "$work/host"
	SECRET=1 in_debian 0 12 bash -c '
		[ ! -e "$1" ] && [ -z "$(ls /mnt)" ] && [ $$ != 1 ] &&
		[ -z "${SECRET:-}" ] && [ ! -e /dev/kmsg ] && : >/dev/null &&
		: >/dev/shm/a && [ -e /proc/self/fd ] && [ -d /sys/class ]' \
		- "$work/host"
	in_debian 0 12 setpriv --reuid 65534 --regid 65534 --clear-groups \
		bash -c ': >/tmp/a && [ -r script/in-debian ] && : >/dev/shm/b'
}

test_processes_end_with_the_command() {
	in_debian 0 12 bash -c "sleep $mark >/dev/null 2>&1 & disown"
	nothing_is_left 'an orphan'
}

# interrupted SIGNAL STATUS: while the command runs
interrupted() {
	local pid status=0 _
	env --default-signal=INT script/in-debian 12 sleep $mark \
		>"$work/out" 2>"$work/err" &
	pid=$!
	for _ in $(seq 1200); do
		[ -z "$(sleepers)" ] || break
		sleep 0.05
	done
	[ -n "$(sleepers)" ] || fail "it does not start"
	kill "-$1" $pid
	wait $pid 2>/dev/null || status=$?
	[ $status = "$2" ] || fail "$1: status $status, not $2"
}
# sleepers: print the sleeps themselves
sleepers() {
	local path
	for path in $(processes); do
		[ "$(cat "${path%/*}/comm" 2>/dev/null)" != sleep ] || echo "$path"
	done
}

test_interrupts() {
	interrupted TERM 143
	nothing_is_left SIGTERM
	interrupted INT 130
	nothing_is_left SIGINT
	interrupted KILL 137
	nothing_runs SIGKILL
	! grep -F "$TMPDIR" /proc/self/mounts || fail "after SIGKILL: a mount"
	rm -rf --one-file-system "$TMPDIR"/darkroom-debian.*
}

test_what_cannot_be_made() {
	touch "$STUB_FAILS"
	in_debian 125 13 true
	grep -q 'no mirror answers' "$work/err" || fail "does not say why"
	rm "$STUB_FAILS"
	in_debian 125 ./nothing true
	nothing_is_left 'a root that cannot be made'
	chmod 777 "$TMPDIR"
	local status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		script/in-debian 12 true 2>"$work/err" || status=$?
	[ $status = 125 ] || fail "as nobody: status $status"
}

test_a_root_that_is_kept() {
	local kept
	in_debian 3 --keep 12 bash -c 'echo kept >here; exit 3'
	kept=$(echo "$TMPDIR"/darkroom-debian.*)
	grep -qF "$kept" "$work/err" || fail "does not name $kept"
	in_debian 0 "$kept" cat here
	[ "$(<"$work/out")" = kept ] || fail "is not the same"
	rm -rf --one-file-system "$kept"
}

test_arguments_and_status
test_the_files_are_those_of_here
test_nothing_else_is_there
test_processes_end_with_the_command
test_interrupts
test_what_cannot_be_made
test_a_root_that_is_kept
