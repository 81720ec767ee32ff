# SPDX-License-Identifier: MIT
# For tests of --isolate with the program `planted`: source it instead of
# server.sh, and set $planted.
. "$(dirname "$0")/../server.sh"

# ppm FILE COMMENT SIDE: a square picture
ppm() {
	{
		printf 'P6\n#%s\n%d %d\n255\n' "$2" "$3" "$3"
		head -c $((3 * $3 * $3)) /dev/zero | tr '\0' 'x'
	} >"$1"
}

# plant: put a server whose decoder has faults into programs/
plant() {
	mkdir programs
	cp "$DARKROOM" programs/darkroom
	cp "$planted" programs/darkroom-decoder
}

# number NAME: of the decoder in /stats
number() {
	stats ".decoder.$1"
}

# in_flight N: wait until that many uploads are
in_flight() {
	local _
	for _ in $patience; do
		[ "$(stat_of .uploads.in_flight)" != "$1" ] || return 0
		sleep 0.02
	done
	fail "in flight: $(stat_of .uploads.in_flight), not $1"
}
