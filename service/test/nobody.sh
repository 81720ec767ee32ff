# SPDX-License-Identifier: MIT
# For test scripts, before all else: go on as nobody instead of root, so that a
# server that removes or overwrites too much cannot.
if [ "$(id -u)" = 0 ]; then
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${nobody[@]}" test -x "$DARKROOM" || {
		echo "FAIL: nobody may not run $DARKROOM, and root must not" >&2
		exit 1
	}
	exec "${nobody[@]}" "$0" "$@"
fi
