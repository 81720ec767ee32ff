# SPDX-License-Identifier: MIT
# For test scripts, before all else: go on as nobody instead of root, so that a
# server that removes or overwrites too much cannot.
if [ "$(id -u)" = 0 ]; then
	exec setpriv --reuid 65534 --regid 65534 --clear-groups "$0" "$@"
fi
