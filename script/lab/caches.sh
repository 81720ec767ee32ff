# Sourced by bench-caches and bench-pubsub: runs programs under valgrind with a
# model of this machine's caches.  It has two levels, so the last is this
# machine's L2 in one run, and its L3 in another.

# The size, ways and line of a cache, as valgrind wants them.
cache() { # LEVEL: L1d, L1i, L2 or L3
	lscpu -B -C=NAME,ONE-SIZE,WAYS,COHERENCY-SIZE |
		awk -v name="$1" '$1 == name { print $2 "," $3 "," $4 }'
}

caches() {
	printf 'I1 %s; D1 %s; L2 %s; L3 %s\n' "$(cache L1i)" "$(cache L1d)" \
		"$(cache L2)" "$(cache L3)"
}

# Sets $under to the command that counts into FILE.
count_under() { # cachegrind|callgrind LAST-LEVEL FILE
	under=(valgrind "--tool=$1" "--I1=$(cache L1i)" "--D1=$(cache L1d)"
		"--LL=$(cache "$2")" "--$1-out-file=$3")
	[ "$1" = cachegrind ] ||
		under+=(--cache-sim=yes --compress-strings=no --compress-pos=no)
}

# For each step of a run of twice as many events, less a run that the first half
# of them had: "STEP EVENTS INSTRUCTIONS I1 D1 LL", all for one of its events, and
# its events for one of the step `all`.  So neither the start of the program
# counts, nor the first misses.  Each file has such lines, with totals.
growth() { # FILE-OF-HALF FILE
	awk '{
		sign = FILENAME == ARGV[1] ? -1 : 1
		if (!($1 in seen)) {
			seen[$1]
			step[++steps] = $1
		}
		for (i = 2; i <= 6; i++)
			value[$1, i] += sign * $i
	}
	END {
		for (k = 1; k <= steps; k++) {
			events = value[step[k], 2]
			if (events > 0)
				printf "%s %.3f %.0f %.2f %.2f %.2f\n", step[k],
					events / value["all", 2], value[step[k], 3] / events,
					value[step[k], 4] / events, value[step[k], 5] / events,
					value[step[k], 6] / events
		}
	}' "$1" "$2"
}
