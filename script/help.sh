# SPDX-License-Identifier: MIT
# For scripts: with --help or -h, print the comment at the script's head and end
# with status 0.  `. help.sh` looks at all words of the script's command line;
# `. help.sh "${1:-}"`, in a script that runs a command of the user, at the first.
for word; do
	case $word in
	--help | -h)
		awk 'NR > 1 && !/^#/ { exit }
			NR > 1 && !/SPDX/ { sub(/^# ?/, ""); print }' "$0"
		exit
		;;
	esac
done
unset word
