# Sourced by bench-caches, bench-control, bench-live, bench-spool, bench-stall,
# bench-wrk and script/figures: starts and stops a server to measure.  Sets $work;
# needs $query.

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

# Start a server, under the command in the array $under, if there is one.  Sets
# $server and $url.
start() { # FLAG...
	: >"$work/log"
	"${under[@]}" build/release/darkroom --listen 127.0.0.1:0 "$@" 2>"$work/log" &
	server=$!
	until port=$(sed -n 's/.*(port \([0-9]*\)).*/\1/p' "$work/log") &&
		[ -n "$port" ]; do
		kill -0 "$server" || { cat "$work/log" >&2; exit 1; }
		sleep 0.1
	done
	url="http://127.0.0.1:$port/?$query"
}

stop() {
	kill "$server"
	wait "$server" || true
	server=
}

# Column N of a file of rounds: median (least - most).
column() { # FILE N FORMAT
	cut -f "$2" "$1" | sort -g | awk -v f="$3" '
		{ x[NR] = $1 }
		END {
			m = NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2
			printf f " (" f " - " f ")", m, x[1], x[NR]
		}'
}
