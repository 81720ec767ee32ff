#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fetch takes only the photos from packages, and checks them by the manifest;
# here with a tiny package and a folder as the mirror.
#
# usage: test_fetch.sh FETCH
. "$(dirname "$0")/../../base/test/script.sh"
fetch=$1
cd "$work"


mkdir -p tree/DEBIAN tree/usr/share/pictures/sub mirror/pool
printf 'Package: darkroom-test-photos\nVersion: 1:2.0-1\nArchitecture: all\n%s\n%s\n' \
	'Maintainer: nobody <nobody@example.org>' 'Description: photos' \
	>tree/DEBIAN/control
printf 'photo a' >tree/usr/share/pictures/a.jpg
printf 'photo b' >'tree/usr/share/pictures/sub/b c.jpg'
printf 'drawing' >tree/usr/share/pictures/art.jpg
dpkg-deb --root-owner-group -b tree mirror/pool/photos.deb >/dev/null
sha256=$(sha256sum <mirror/pool/photos.deb | cut -d' ' -f1)
cat >manifest.json <<EOF
{ "mirror": "file://$work/mirror",
  "packages": [ {
    "name": "darkroom-test-photos", "version": "1:2.0-1",
    "pool": "pool/photos.deb", "bytes": 700, "sha256": "$sha256",
    "licence": "CC0-1.0", "credits": "Ann Example",
    "under": "usr/share/pictures",
    "photos": [ {"file": "a.jpg"},
      {"file": "sub/b c.jpg", "licence": "CC-BY-4.0", "credits": "Bo"} ] } ] }
EOF
run() {
	"$fetch" --cache cache --output photos --manifest manifest.json "$@"
}

# From the mirror: the photos, their bytes and licences, and no drawings.
run >said 2>&1 || fail "$(cat said)"
[ "$(cat photos/darkroom-test-photos/a.jpg)" = 'photo a' ] || fail "a.jpg"
[ "$(cat 'photos/darkroom-test-photos/sub/b c.jpg')" = 'photo b' ] ||
	fail "b c.jpg"
[ "$(find photos -name '*.jpg' | wc -l)" = 2 ] || fail "more than the photos"
grep -q 'CC0-1.0; Ann Example' said || fail "no licence printed"
grep -q 'b c.jpg: CC-BY-4.0; Bo' photos/LICENSES || fail "no credits kept"
grep -q downloading said || fail "not downloaded"

# Again, without a mirror: nothing is done.
mv mirror away
touch -d 2001-01-01 photos/darkroom-test-photos/a.jpg
run >said 2>&1 || fail "second run: $(cat said)"
! grep -q downloading said || fail "downloaded twice"
[ "$(stat -c %Y photos/darkroom-test-photos/a.jpg)" = \
	"$(date -d 2001-01-01 +%s)" ] || fail "extracted twice"

# A removed photo is restored from the cache, and so is the folder.
rm photos/darkroom-test-photos/a.jpg
run >said 2>&1 || fail "offline: $(cat said)"
[ -e photos/darkroom-test-photos/a.jpg ] || fail "not extracted offline"

# A damaged package is named and removed, and nothing is extracted.
rm -r photos
printf x >>cache/*.deb
! run >said 2>&1 || fail "a damaged package was taken"
grep -q 'darkroom-test-photos has not the checksum' said || fail "$(cat said)"
[ -z "$(find cache -name '*.deb')" ] || fail "a damaged package was kept"
[ -z "$(find photos -name '*.jpg' 2>/dev/null)" ] || fail "photos of it"
! run >said 2>&1 || fail "no mirror, no cache, and yet"
grep -q 'cannot download darkroom-test-photos' said || fail "$(cat said)"

# The manifest names a photo that the package lacks.
mv away mirror
jq '.packages[0].photos += [{"file": "no.jpg"}]' manifest.json >other.json
! run --manifest other.json >said 2>&1 || fail "a missing photo"
grep -q 'a photo is not in' said || fail "$(cat said)"

# Names in the manifest that leave the folder are refused at once.
mkdir -p x && touch x/mine photos/mine
refuses() { # FILTER...: a change of the manifest
	local filter
	for filter; do
		jq ".packages[0] |= ($filter)" manifest.json >other.json
		! run --manifest other.json >said 2>&1 || fail "taken: $filter"
		grep -q 'has unsafe names' said || fail "$filter: $(cat said)"
		[ -e x/mine ] || fail "removed a folder: $filter"
		[ -e photos/mine ] || fail "removed all photos: $filter"
	done
}
refuses '.name = ""' '.name = "../x"' '.name = "ok\n../x"' 'del(.name)' \
	'.version = "1/../../x"' '.under = ""' '.under = "usr/../../x"' \
	'.under = "/usr"' '.under = "usr\\056"' '.photos[0].file = "../x"' \
	'.photos[1].file = "/x"' '.photos[0].file = "a\n--exclude=b"' \
	'del(.photos[0].file)'
echo '[' >other.json
! run --manifest other.json >said 2>&1 || fail "not JSON"
grep -q 'other.json is not a manifest' said || fail "$(cat said)"

# The error for a missing tool names it and says how to get it.
mkdir bin
for tool in bash dirname sed dpkg-deb sha256sum tar; do
	ln -s "$(command -v $tool)" bin
done
! PATH=$work/bin run >said 2>&1 || fail "without jq"
grep -q 'jq is missing; script/bootstrap' said || fail "$(cat said)"
ln -s "$(command -v jq)" bin
! PATH=$work/bin run >said 2>&1 || fail "without curl"
grep -q 'curl is missing; script/bootstrap' said || fail "$(cat said)"
