# SPDX-License-Identifier: MIT
# For test scripts, to be sourced first: if root runs the script, run it again
# as the user nobody, so that a faulty server cannot remove or overwrite files
# of others.
if [ "$(id -u)" = 0 ]; then
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	"${nobody[@]}" test -x "$DARKROOM" || {
		echo "FAIL: nobody may not run $DARKROOM, and root must not" >&2
		exit 1
	}
	exec "${nobody[@]}" "$0" "$@"
fi
