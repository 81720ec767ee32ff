# Sourced by script/fleet: what is uploaded, when, and whether it is still there.
#
# An upload is a photo and a width; the pair decides its id, so equal pairs must
# give equal bytes.  `uploader` sends them; its head describes the files.
#
# Needs $load: a folder below $state.

# Make photos of some sizes from the samples, by a node: some fit into the buffer
# of HAProxy, which then can repeat the request, and some do not.
make_photos() {
	local sample width name
	rm -rf "${load:?}"
	mkdir -p "$load/photos" "$load/replies"
	for sample in datasets/samples/*.jpg; do
		name=$(basename "$sample" .jpg)
		cp "$sample" "$load/photos/$name-full.jpg"
		for width in 320 640 800; do
			attend client user curl -sSf --max-time 30 --data-binary \
				"@$sample" -o "$load/photos/$name-$width.jpg" \
				"http://$(address n1):8080/?w=$width&q=85" ||
				die "cannot make photos"
		done
	done
}

# plan FIRST SECONDS RATE SEED PHASE [SLOW]: a plan for `uploader`: uploads at
# random times, numbered from FIRST.  With SLOW, one more each two seconds whose
# body takes that many seconds.
plan() {
	(cd "$load/photos" && stat -c '%n %s' -- *) |
		awk -v n="$1" -v seconds="$2" -v rate="$3" -v seed="$4" \
			-v phase="$5" -v slow="${6:-0}" '
		function random() {
			state = state * 16807 % 2147483647
			return state / 2147483647
		}
		BEGIN { state = seed + 1; for (i = 0; i < 9; i++) random() }
		{ photo[NR - 1] = $1; bytes[NR - 1] = $2 }
		function line(at, speed) {
			printf "%d %d %s %d %s %d\n", at * 1000, n++,
				photo[k], 100 + int(random() * 300), phase, speed
		}
		END {
			next_slow = slow ? 0.2 : seconds
			while ((at -= log(1 - random()) / rate) < seconds) {
				for (; next_slow < at; next_slow += 2) {
					do k = int(random() * NR)
					while (bytes[k] < 200000)
					line(next_slow, bytes[k] / slow)
				}
				k = int(random() * NR)
				line(at, 0)
			}
		}'
}

# send_plan PLAN BEGIN: send the uploads of a plan and wait for their answers
send_plan() {
	(inside client load "$PWD/script/fleet.d/uploader" "$load" \
		"$front_url" "$2") <"$1" &
	wait $!
}

now_us() {
	echo "${EPOCHREALTIME/./}"
}

# get_all: read what is listed in standard input, as curl's -K has it
get_all() {
	cat >"$load/config"
	[ ! -s "$load/config" ] ||
		attend client load curl -sS --no-progress-meter --parallel \
			--parallel-max 8 --fail --retry 3 --retry-all-errors \
			--max-time 60 -K "$load/config" 2>>"$load/errors" || true
}

# Ask the fronts for every ticket whose upload was answered.  What was not in the
# reply to the upload comes from its node.  Sets $tickets, and $unstored: those that
# did not become the image of the reply, or did not say so.
ask_tickets() {
	local asked=$load/asked
	rm -rf "$asked"
	mkdir "$asked"
	awk '$6 == 201 && $11 != "-" { print $1, $7, $11 }' "$load/uploads" \
		>"$load/tickets"
	awk -v front="$front_url" -v folder="$asked" '{
		printf "url=%s%s\noutput=%s/%s\n", front, $3, folder, $1 }' \
		"$load/tickets" | get_all
	find "$asked" -type f -exec jq -r 'select(.state == "stored") |
		"\(input_filename) \(.image.id)"' {} + 2>>"$load/errors" |
		sed "s|^$asked/||" >"$load/ids" || true
	awk -v folder="$load/replies" '
		FILENAME ~ /machines$/ { address[$1] = $2; next }
		FILENAME ~ /tickets$/ { node[$1] = $2; next }
		(getline line <(folder "/" $1)) <= 0 {
			printf "url=http://%s:8080/v1/images/%s\noutput=%s/%s\n",
				address[node[$1]], $2, folder, $1
		}' "$state/machines" "$load/tickets" "$load/ids" | get_all
	tickets=$(wc -l <"$load/tickets")
	unstored=$((tickets - $(sed "s|^\([0-9]*\).*|$load/replies/\1|" \
		"$load/ids" | xargs -r -n 500 jq -r '"\(input_filename) \(.id)"' \
		2>>"$load/errors" | sed "s|^$load/replies/||" | sort |
		comm -12 - <(sort "$load/ids") | wc -l)))
}

# list_stored: the ids of all stored images, as all nodes list them
list_stored() {
	local name next
	for name in $(each_node); do
		next=
		while :; do
			attend client load curl -sSf "http://$(address "$name"):9090/v1/images?limit=1000$next" \
				>"$load/page" 2>>"$load/errors" || return 1
			jq -r '.images[].id' "$load/page"
			next=$(jq -r '.next // empty' "$load/page")
			[ -n "$next" ] || break
			next="&after=$next"
		done
	done | sort -u
}

# List what the answers 201 promise: id, variant, SHA-256, node.  Sets
# $bad_answers: answers 201 whose text is no such list, or contradicts another
# one to the same upload.
list_promises() {
	awk '$6 == 201 { print $1, $2, $3, $7 }' "$load/uploads" \
		>"$load/stored"
	: >"$load/told"
	# A line for each answer, so that one that is no JSON is missing there.
	sed "s|^\([0-9]*\).*|$load/replies/\1|" "$load/stored" |
		xargs -r -n 500 jq -r '"\(input_filename) \(.id) " +
			(.variants | map("\(.name)=\(.sha256)") | join(" "))' \
			>"$load/told" 2>>"$load/errors" || true
	bad_answers=$(awk -v folder="$load/replies/" '
		FILENAME ~ /stored$/ { key[folder $1] = $2 " " $3; next }
		!($1 in key) || NF != 4 { next }
		{
			rest = $2 " " $3 " " $4
			good += !(key[$1] in first) || first[key[$1]] == rest
			if (!(key[$1] in first)) first[key[$1]] = rest
		}
		END { print length(key) - good }' "$load/stored" "$load/told")
	awk -v folder="$load/replies/" '
		FILENAME ~ /stored$/ { node[folder $1] = $4; next }
		{
			for (i = 3; i <= NF; i++) {
				split($i, part, "=")
				print $2, part[1], part[2], node[$1]
			}
		}' "$load/stored" "$load/told" | sort -u -k 1,2 >"$load/promises"
}

# Read every promised picture from every node, not through the fronts.  Sets
# $reads, $unreadable and $wrong_bytes.
read_back() {
	local name
	mkdir -p "$load/read"
	reads=0 unreadable=0 wrong_bytes=0
	for name in $(each_node); do
		if [ "$engine" = folder ]; then
			grep " $name$" "$load/promises" || true
		else
			cat "$load/promises"
		fi >"$load/wanted"
		split -l 2000 "$load/wanted" "$load/wanted."
		read_parts "$name"
	done
}

read_parts() {
	local part result
	for part in "$load"/wanted.*; do
		[ -s "$part" ] || continue
		awk -v folder="$load/read" -v at="http://$(address "$1"):8080" '{
			printf "url=%s/v1/images/%s/%s\noutput=%s/%s.%s\n", at,
				$1, $2, folder, $1, $2 }' "$part" | get_all
		result=$(find "$load/read" -type f -print0 | xargs -0 -r sha256sum |
			awk -v folder="$load/read/" '
			FILENAME == "-" { sum[$2] = $1; next }
			{ file = folder $1 "." $2; reads++ }
			!(file in sum) { missing++; next }
			sum[file] != $3 { wrong++ }
			END { print reads + 0, missing + 0, wrong + 0 }' - "$part")
		read -r r m w <<<"$result"
		reads=$((reads + r)) unreadable=$((unreadable + m))
		wrong_bytes=$((wrong_bytes + w))
		rm -rf "${load:?}/read" "$part"
		mkdir "$load/read"
	done
}
