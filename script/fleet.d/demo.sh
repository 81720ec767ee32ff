# Sourced by script/fleet: `demo`: what a fleet does when parts of it fail, one
# step after the other.

demo_fleet() {
	load=$state/load
	make_photos
	: >"$load/uploads"
	first_n=1

	step "uploads to $front_url, at random times, 10 a second for 4 s"
	demo_load 4

	step "the same, and n1 gets a SIGKILL after 1 s and is started again 2 s later"
	during 1 fault node n1 2
	demo_load 60

	if [ "$engine" != folder ]; then
		step "the same, and a disk of the store, ${engine_disks[0]}, is killed"
		during 1 fault osd "${engine_disks[0]}" 2
		demo_load 60
	fi

	step "the same, and the HAProxy that has the address is killed"
	during 1 fault front active 2
	demo_load 60

	step "the same, and all nodes are restarted, one after the other"
	during 0 rolling_restart
	demo_load 600

	step "every picture of every image, from every node"
	list_promises
	read_back
	say "$(wc -l <"$load/stored") uploads were answered 201. They are" \
		"$(cut -d' ' -f1 "$load/promises" | sort -u | wc -l) images," \
		"because equal uploads are one image." \
		"$reads pictures were read: $unreadable are missing," \
		"$wrong_bytes have wrong bytes."
	((unreadable + wrong_bytes + bad_answers == 0)) || die "something was lost"
}

step() {
	printf '\n== %s\n' "$*"
}

# during SECONDS COMMAND...: run the command after this time, beside the next
# demo_load, which ends a second after the command
during() {
	beside after_pause "$@"
}

after_pause() {
	sleep "$1"
	if "${@:2}"; then echo "done"; else echo "failed"; fi >"$load/beside"
	sleep 1
	touch "$load/stop"
}

# demo_load SECONDS: send uploads, and print which node answered them
demo_load() {
	local before last
	before=$(wc -l <"$load/uploads")
	rm -f "$load/stop"
	plan "$first_n" "$1" 10 "$first_n" demo >"$load/plan"
	last=$(wc -l <"$load/plan")
	first_n=$((first_n + last))
	send_plan "$load/plan" "$(now_us)"
	wait
	[ ! -s "$load/beside" ] || [ "$(cat "$load/beside")" = "done" ] ||
		die "it did not work: see $state/log"
	rm -f "$load/beside"
	tail -n +$((before + 1)) "$load/uploads" | awk '
		{ by[$6 == 201 ? "201 by " $7 : $6 " " $8]++; again += $5 - 1 }
		END {
			for (i in by) printf "%4d answered %s\n", by[i], i | "sort -k 3"
			close("sort -k 3")
			if (again) printf "%4d sent again, because no node answered\n", again
		}'
}
