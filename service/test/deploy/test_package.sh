#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lintian reports nothing about the Debian packages; they have the same bytes when
# they are built again, elsewhere and later.  In a bare
# Debian, the installed server answers the installed load generator and a POSTed
# photo, as an ordinary user.  A removal stops the servers.
#
# Needs root, mmdebstrap, debhelper and lintian, a Git tree and a Debian mirror;
# otherwise it is skipped.  Takes minutes: script/test --all.
#
# usage: test_package.sh SAMPLES_DIR SOURCE_DIR
. "$(dirname "$0")/../../../base/test/script.sh"
samples=$(realpath "$1")
source=$(realpath "$2")

skip() {
	echo "skipped: $*"
	exit 77
}
. "$source/script/debian.sh"
. /etc/os-release
[ "$(id -u)" = 0 ] || skip "needs root"
[ "${ID:-}" = debian ] || skip "needs Debian"
for program in git mmdebstrap dh lintian dpkg-buildpackage; do
	command -v $program >/dev/null || skip "no $program"
done
unshare --mount true 2>/dev/null || skip "may not mount"
git -C "$source" rev-parse --verify -q HEAD >/dev/null 2>&1 ||
	skip "no Git tree"
mirror=$(mirror_of Debian debian)
[ -n "$mirror" ] || skip "no Debian mirror is configured"
curl -fsS -m 20 -o /dev/null \
	"${mirror%/}/dists/$VERSION_CODENAME/InRelease" ||
	skip "no answer from $mirror"

server=
at_end() {
	[ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
}

# It prints where the packages are.
(cd "$source" && script/package --output "$work/first") >"$work/log" 2>&1 ||
	fail "script/package"
mapfile -t packages < <(grep '\.deb$' "$work/log")
[ ${#packages[@]} = 2 ] || fail "${#packages[@]} packages"
version=$("$source/script/package" --version)
for package in "${packages[@]}"; do
	[ "$(dpkg-deb -f "$package" Version)" = "$version" ] ||
		fail "$package is not $version"
done
mkdir "$work/elsewhere"
(
	umask 077
	export TMPDIR=$work/elsewhere TZ=Pacific/Auckland LC_ALL=C.UTF-8
	"$source/script/package" --output "$work/second"
) >"$work/log" 2>&1 || fail "script/package, again"
for package in "${packages[@]}"; do
	cmp "$package" "$work/second/${package##*/}" ||
		fail "not reproducible"
done

# lintian's warning about root goes to standard error, which is ignored.
lintian --fail-on error,warning "$work"/first/*.changes >"$work/log" 2>/dev/null ||
	fail lintian
[ ! -s "$work/log" ] || fail "lintian complains"

make_root "$VERSION_CODENAME" "$work/root" \
	--customize-hook="cp $work/first/*.deb \"\$1\"/tmp/" \
	--customize-hook='chroot "$1" sh -ec "apt-get install -qq -y \
		--no-install-recommends /tmp/*.deb; rm /tmp/*.deb"' \
	>"$work/log" 2>&1 ||
	fail "the packages cannot be installed"

root=$work/root
for file in usr/share/man/man1/darkroom.1.gz usr/share/man/man1/loadgen.1.gz \
	usr/share/man/man1/darkroom-store.1.gz \
	usr/share/man/man1/darkroom-webhook.1.gz \
	usr/share/man/man1/loadgen-compare.1.gz \
	usr/share/bash-completion/completions/darkroom \
	usr/share/bash-completion/completions/darkroom-store \
	usr/share/bash-completion/completions/darkroom-webhook \
	usr/share/bash-completion/completions/loadgen \
	usr/lib/systemd/system/darkroom.service \
	usr/lib/systemd/system/darkroom.socket \
	usr/lib/systemd/system/darkroom-admin.socket etc/darkroom/environment; do
	[ -s "$root/$file" ] || fail "no $file"
done
# An upgrade restarts a server that runs, and does not stop it before.
scripts=$root/var/lib/dpkg/info/darkroom
grep -q 'deb-systemd-invoke.*try-restart.*darkroom.service' "$scripts.postinst" ||
	fail "an upgrade does not restart the server"
! grep -q 'deb-systemd-invoke stop' "$scripts.preinst" 2>/dev/null ||
	fail "an upgrade stops the server"
# What the man pages name is there, not compressed.
for page in darkroom darkroom-store darkroom-webhook loadgen loadgen-compare; do
	zcat "$root/usr/share/man/man1/$page.1.gz" | sed 's/\\//g' |
		grep -oE '/usr/share/[A-Za-z0-9/._-]*[A-Za-z0-9]' || true
done | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -ge 4 ] || fail "names only $(cat "$work/named")"
while read -r file; do
	[ -e "$root$file" ] || fail "a man page names $file"
done <"$work/named"
grep -qx 'ExecStart=/usr/bin/darkroom' \
	"$root/usr/lib/systemd/system/darkroom.service" || fail "ExecStart"
commit=$(git -C "$source" rev-parse --short=12 HEAD)
for program in darkroom loadgen; do
	chroot "$root" $program --version | grep "$commit" >/dev/null ||
		fail "$program --version: $(chroot "$root" $program --version)"
done

# as_darkroom PROGRAM ARGS...: replace this shell by the program, in the bare
# system, as the packages' user
as_darkroom() {
	exec unshare --mount sh -c '
		mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" &&
			exec chroot --userspec darkroom:darkroom "$0" "$@"' \
		"$root" "$@"
}
(as_darkroom darkroom --listen 127.0.0.1:0 2>"$work/log") &
server=$!
for ((i = 0; i < 100; i++)); do
	port=$(sed -n 's/.*(port \([0-9]*\)).*/\1/p' "$work/log")
	[ -z "$port" ] || break
	kill -0 $server 2>/dev/null || fail "the server does not start"
	sleep 0.1
done
[ -n "$port" ] || fail "the server does not start"
curl -fsS --data-binary "@$samples/clownfish.jpg" -o "$work/out.jpg" \
	"http://127.0.0.1:$port/?w=320" || fail "no reply"
[ "$(head -c 2 "$work/out.jpg" | xxd -p)" = ffd8 ] || fail "no JPEG"
(as_darkroom loadgen --dataset /usr/share/darkroom/samples --passes 1 --verify \
	size "http://127.0.0.1:$port/?w=320" >"$work/loadgen" 2>&1) ||
	fail "$(cat "$work/loadgen")"
kill -TERM $server
wait $server || fail "status $?"
server=

# A removal stops servers and sockets, and systemd forgets the units.  There is
# no systemd here, so systemctl only notes what it is told.
mkdir -p "$root/run/systemd/system"
rm -f "$root/usr/sbin/policy-rc.d"
cat >"$root/usr/local/bin/systemctl" <<'NOTE'
#!/bin/sh
echo "$*" >>/tmp/told
NOTE
chmod 755 "$root/usr/local/bin/systemctl"
# told OPTION PACKAGE: run dpkg, and print what it has told systemctl
told() {
	rm -f "$root/tmp/told"
	chroot "$root" env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		dpkg "$@" >"$work/log" 2>&1 || fail "dpkg $*"
	cat "$root/tmp/told" 2>/dev/null || true
}
told --remove darkroom >"$work/told"
grep -qx 'stop darkroom.socket darkroom-admin.socket darkroom.service darkroom@\*.service' \
	"$work/told" || fail "a removal stops nothing: $(cat "$work/told")"
grep -q daemon-reload "$work/told" || fail "no daemon-reload"
[ -s "$root/etc/darkroom/environment" ] || fail "a removal forgets the flags"
told --purge darkroom >"$work/told"
grep -q 'disable .*darkroom.service' "$work/told" || fail "still enabled"
[ ! -e "$root/etc/darkroom/environment" ] || fail "a purge keeps the flags"
