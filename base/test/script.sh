# SPDX-License-Identifier: MIT
# For all test scripts, to be sourced first: a folder that is removed at the end,
# and failures that say where they are.
#
# Sets $work, the folder, and $log, a file of which a failure shows the end.  A
# script that leaves more than that behind defines at_end(), which is called
# before $work is removed, and may set `status`.
set -euo pipefail
work=$(mktemp -d)
log=$work/log
has_said=

# Where the script is: the line of each function that is running, the innermost
# first.
print_place() {
	local i place=
	for ((i = 2; i < ${#FUNCNAME[@]}; i++)); do
		place+=", ${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}"
		[ "${FUNCNAME[i]}" = main ] || place+=" in ${FUNCNAME[i]}()"
	done
	[ -z "$place" ] || echo "at ${place#, }" >&2
}

# fail WHAT...: print what is wrong, and end
fail() {
	has_said=1
	echo "FAIL: $*" >&2
	print_place
	[ ! -s "$log" ] || tail -n 20 "$log" >&2
	exit 1
}

# has ARG...: whether standard input has a line as grep finds it.  Unlike
# `grep -q`, it reads to the end, so that the program before it in a pipe is not
# ended by SIGPIPE, which would count as a failure.
has() {
	grep "$@" >/dev/null
}

# At the end, also where `set -e` ends the script without a word.
end_script() {
	local status=$? command=$BASH_COMMAND
	if [ $status != 0 ] && [ $status != 77 ] && [ -z "$has_said" ]; then
		echo "FAIL: status $status of: $command" >&2
		print_place
	fi
	! declare -F at_end >/dev/null || at_end
	rm -rf --one-file-system "$work"
	exit $status
}
trap end_script EXIT
