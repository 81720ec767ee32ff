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
place=

# find_place DEPTH: set $place to where the script is, the line of each function
# that is running; not of the innermost DEPTH of them, of which this is one
find_place() {
	local i
	place=
	for ((i = $1; i < ${#FUNCNAME[@]}; i++)); do
		place+=", ${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}"
		[ "${FUNCNAME[i]}" = main ] || place+=" in ${FUNCNAME[i]}()"
	done
	place=${place#, }
}

# fail WHAT...: print what is wrong, and end
fail() {
	has_said=1
	find_place 2
	echo "FAIL: $*" >&2
	echo "at $place" >&2
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
	set +e # whatever at_end() does, $work is removed
	if [ $status != 0 ] && [ $status != 77 ] && [ -z "$has_said" ]; then
		echo "FAIL: status $status of: $command" >&2
		[ -z "$place" ] || echo "at $place" >&2
	fi
	! declare -F at_end >/dev/null || at_end
	rm -rf --one-file-system "$work"
	exit $status
}
# In the trap of EXIT, bash no longer knows the line.
set -o errtrace
trap 'find_place 1' ERR
trap end_script EXIT
