# Sourced by script/fleet: `test`: uploads at random times while parts of the
# fleet fail, then while all nodes are restarted; and then every ticket is asked what
# became of it, every image that was answered 201 is read from every node, and the
# list of images is compared.

seconds=30
rate=10
seed=1
faults=node=2,osd=2,reload=2,link=2,slow=1,gateway=1,front=1
slow_s=10 # a slow upload's body takes so long
restart=yes

test_fleet() {
	local begin status=0
	load=$state/load
	make_photos
	say "test: $engine, $nodes nodes, $rate uploads/s, seed $seed"
	say "faults, for $seconds s: $faults"
	plan 1 "$seconds" "$rate" "$seed" faults >"$load/plan"
	plan_faults "$seconds" "$seed" "$faults" | sort -n >"$load/fault-plan"
	: >"$load/uploads"
	: >"$load/faults"
	: >"$load/misses"
	list_stored >"$load/before" || die "no list of images"
	begin=$(now_us)
	beside do_faults "$load/fault-plan" "$begin"
	send_plan "$load/plan" "$begin"
	wait
	[ $restart = no ] || test_restart
	say "reading every image from every node"
	ask_tickets
	list_promises
	read_back
	compare_list
	report || status=1
	return $status
}

# Restart all nodes under the same load and some slow uploads.
test_restart() {
	local last begin load_pid
	say "a rolling restart of all nodes, with slow uploads"
	until_true 20 all_in_use || die "a node is not used before the restart"
	last=$(wc -l <"$load/plan")
	plan $((last + 1)) 600 "$rate" $((seed + 1)) restart $slow_s \
		>"$load/restart-plan"
	begin=$(now_us)
	beside send_plan "$load/restart-plan" "$begin"
	load_pid=$!
	sleep 3 # some slow uploads are on their way
	restarted=yes
	rolling_restart || restarted=no
	touch "$load/stop"
	wait $load_pid
}

# Sets $extra: images that no answer names; and $unlisted: those of answers that no
# node lists.
compare_list() {
	list_stored >"$load/after" || : >"$load/after"
	cut -d' ' -f1 "$load/promises" | sort -u >"$load/named"
	unlisted=$(comm -13 "$load/after" "$load/named" | wc -l)
	extra=$(sort -u "$load/before" "$load/named" |
		comm -23 "$load/after" - | wc -l)
}

all_in_use() {
	[ "$(nodes_in_use)" = "$nodes" ]
}

row() {
	printf '| %s | %s |\n' "$1" "$2"
}

# count_uploads AWK-CONDITION: how many uploads it is true of
count_uploads() {
	awk "$1 { count++ } END { print count + 0 }" "$load/uploads"
}

# The table of what happened.  False: something was lost, or a fault did not
# happen as planned.
report() {
	local kind number done_count failed failures unanswered refused way
	local unfinished
	unfinished=$(count_uploads '$11 != "-" && $6 != 201')
	failures=$(grep -c failed "$load/faults" || true)
	unanswered=$(count_uploads '$6 == "none"')
	refused=$(count_uploads '$4 == "restart" &&
		($6 != 201 || ($5 > 1 && $11 == "-"))')
	say ""
	row "faults, done" "failed"
	row --- ---
	for kind in $fault_kinds; do
		done_count=$(grep -c "^$kind .*done" "$load/faults" || true)
		failed=$(grep -c "^$kind .*failed" "$load/faults" || true)
		[ "$done_count$failed" = 00 ] || row "$kind: $done_count" "$failed"
	done
	say ""
	row "uploads" "$(count_uploads 1)"
	row --- ---
	awk '{ count[$6 == 201 ? "201 by " $7 : $6 " " $8]++ }
		END { for (i in count) print count[i], i }' "$load/uploads" |
		sort -k 2 | while read -r number kind; do
		row "answered $kind" "$number"
	done
	for way in length chunks ticket ticket_chunks tus tus_chunks; do
		row "of these, by $way" \
			"$(count_uploads "\$6 == 201 && \$10 == \"$way\"")"
	done
	row "sent again, because no node answered, or that of a ticket was away" \
		"$(awk '{ n += $5 - 1 } END { print n + 0 }' "$load/uploads")"
	row "tickets that did not become an image" "$unfinished"
	row "tickets that did, asked afterwards" "$tickets"
	row "of these, not stored, or as another image" "$unstored"
	row "answers 404 for a ticket, until it was found again" \
		"$(wc -l <"$load/misses")"
	row "without an answer after 12 attempts" "$unanswered"
	[ $restart = no ] || {
		row "in the rolling restart" "$(count_uploads '$4 == "restart"')"
		row "of these, not 201 (without a ticket: at the first attempt)" "$refused"
	}
	row "images" "$(cut -d' ' -f1 "$load/promises" | sort -u | wc -l)"
	row "of these, not in the list of images" "$unlisted"
	row "images in the list that no answer names" "$extra"
	row "answers 201 that contradict another one" "$bad_answers"
	row "pictures read, from each node" "$reads"
	row "unreadable" "$unreadable"
	row "with wrong bytes" "$wrong_bytes"
	row "an upload began later than planned, at most, ms" \
		"$(sort -n "$load/late-ms" | tail -n 1)"
	[ $((unanswered + refused + bad_answers + unreadable + wrong_bytes + \
		failures + unfinished + unstored + unlisted + extra)) = 0 ] &&
		[ "${restarted:-yes}" = yes ] && [ "$reads" -gt 0 ]
}
