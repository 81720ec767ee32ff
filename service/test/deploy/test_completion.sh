#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The completion for bash offers the flags of each program, the words and paths
# that a flag's value may be, and commands; also in the middle of a word that
# bash splits, as 1:1.
#
# usage: DARKROOM=PROGRAM LOADGEN=PROGRAM test_completion.sh
. "$(dirname "$0")/../server.sh"
chooses_policies "it starts no server"
programs=$(realpath "$(dirname "$DARKROOM")")
cd "$work" # it has no files yet

# What bash runs only while it completes.
asked=
compopt() {
	asked+=" $*"
}

# load PROGRAM COMMAND...: its completion, and those of its commands
load() {
	local command
	"$1" --completion >"$work/script" || fail "no completion of $1"
	for command in "${@:2}"; do
		"$1" "$command" --completion >>"$work/script" ||
			fail "no completion of $1 $command"
	done
	. "$work/script"
	complete=$(sed -n 's/^complete -F \([a-z_-]*\) .*/\1/p' "$work/script" |
		tail -n 1)
}

# words LINE: split it as bash does, at = and :, too
words() {
	local part parts
	COMP_WORDS=()
	read -ra parts <<<"$1"
	for part in "${parts[@]}"; do
		while [[ $part =~ ^([=:]+|[^=:]+)(.*)$ ]]; do
			COMP_WORDS+=("${BASH_REMATCH[1]}")
			part=${BASH_REMATCH[2]}
		done
	done
	[[ $1 != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

# offers LINE WORD...: what is offered at the end of the line is exactly this
offers() {
	local line=$1
	shift
	words "$line"
	COMPREPLY=()
	asked=
	"$complete"
	diff <(printf '%s\n' "$@" | sort) \
		<(printf '%s\n' "${COMPREPLY[@]}" | sort) >"$work/log" ||
		fail "'$line'"
}

# spaced LINE yes|no: does bash add a space after the only word?
spaced() {
	words "$1"
	asked=
	"$complete"
	[ ${#COMPREPLY[@]} = 1 ] || fail "'$1': not one word"
	case $2:$asked in
	yes:*nospace*) fail "'$1': no space" ;;
	no:*nospace*) ;;
	no:*) fail "'$1': a space" ;;
	esac
}

test_darkroom() {
	local policies
	load "$DARKROOM"
	mapfile -t policies < <("$DARKROOM" --list-policies | sed 's/ .*//')
	[ ${#policies[@]} -ge 10 ] || fail "no policies"
	offers 'darkroom --policy ' "${policies[@]}"
	offers 'darkroom --policy=mg1' mg1 mg1-boxma
	offers 'darkroom --thr' --threads --threshold
	offers 'darkroom --threads ' 1:1 n:1 n:m
	offers 'darkroom --threads n:' 1 m
	offers 'darkroom --threads=n:m' m
	offers 'darkroom --regime n' n-gated=
	spaced 'darkroom --regime n' no
	spaced 'darkroom --regime ga' yes
	offers 'darkroom --log ' auto json text off
	offers 'darkroom --max-body ' ''
	offers 'darkroom --express ' ''
	offers 'darkroom --policy srpt --lo' --log --log-slow --look
	mkdir "$work/photo store"
	: >"$work/photo list"
	offers "darkroom --store $work/ph" "$work/photo store"
	offers "darkroom --store s" s3://
	spaced 'darkroom --store s' no
	offers "darkroom --presets=a:w=1 --config $work/ph" \
		"$work/photo store" "$work/photo list"
	[[ $asked = *filenames* ]] || fail "names are not quoted"
}

test_loadgen() {
	load "$LOADGEN" compare
	offers 'loadgen com' compare
	offers 'loadgen compare --re' --report --repetitions
	offers 'loadgen compare --arms=a --wi' --with
	offers "loadgen compare --report $work/ph" "$work/photo store"
	offers "loadgen compare $work/photo" "$work/photo store" \
		"$work/photo list"
	offers "loadgen --dataset $work/ph" "$work/photo store" \
		"$work/photo list"
	offers 'loadgen --verify ' decode size
	offers 'loadgen --arrivals ' poisson constant trace=
	offers "loadgen --arrivals trace=$work/photo" "$work/photo list" \
		"$work/photo store"
	offers "loadgen --arrivals=trace=$work/photo" "$work/photo list" \
		"$work/photo store"
}

test_others() {
	load "$programs/darkroom-webhook"
	offers 'darkroom-webhook ' serve check flags
	load "$programs/darkroom-store"
	offers 'darkroom-store ' serve check create list verify flags
	load "$programs/stages_sim"
	offers 'stages_sim --dispatch-queue ' fcfs size
	load "$programs/mkset"
	offers 'mkset --profile ' thesis phone camera avatar web
	offers "mkset $work/ph" "$work/photo store"
}

# Every word that the help of a flag names as a value is offered.
test_all_words() {
	local program flag values word all
	for program in darkroom loadgen stages_sim stages_bench imgops_bench; do
		load "$programs/$program"
		while read -r flag values; do
			words "$program $flag "
			"$complete"
			IFS='|' read -ra all <<<"$values"
			for word in "${all[@]}"; do
				[[ $word =~ ^[a-z0-9] ]] || continue
				word=${word%%[A-Z[,]*}
				[[ " ${COMPREPLY[*]} " == *" $word "* ]] ||
					fail "$program $flag: no '$word'"
			done
		done < <("$programs/$program" --help |
			sed -n 's/^  \(--[a-z0-9-]*\) \([^ ]*|[^ ]*\).*/\1 \2/p')
	done
}

test_darkroom
test_loadgen
test_others
test_all_words
