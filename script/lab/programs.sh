# Sourced by bench-score and bench-public: what this and other programs are told,
# to scale all photos of a folder into a box, and how good the results are.

# One thread each.
export MAGICK_THREAD_LIMIT=1 OMP_NUM_THREADS=1 VIPS_CONCURRENCY=1

# spread_out COUNT: so many of the lines that it reads, evenly
spread_out() {
	awk -v most="$1" '
		{ line[NR] = $0 }
		END {
			step = int(NR / most)
			if (step < 1)
				step = 1
			for (i = step; i <= NR && taken++ < most; i += step)
				print line[i]
		}'
}

install_sharp() {
	[ -d loadgen/peers/sharp/node_modules ] ||
		(cd loadgen/peers/sharp && npm install --no-audit --no-fund >&2)
}

# command_of ARM DIR BOX Q OUT: set `command` to one process that writes a result
# of each file of DIR into OUT, under the same name.  Both paths are absolute, and
# OUT exists.  The programs of Debian are those of its packages, not others that
# PATH may have before them.
command_of() {
	local files=("$2"/*) fit="$3x$3>" hint="$(($3 * 2))x$(($3 * 2))"
	local debian=(env -C "$2" PATH=/usr/bin:/bin)
	local ours=(build/release/imgops_bench --dataset "$2" --w "$3" --h "$3"
		--blur 0 --q "$4" --passes 0 --save "$5")
	local sharp=(node loadgen/peers/sharp/inprocess.js "${ours[@]:1}")
	local magick=(-strip -sampling-factor 4:2:0 -quality "$4" "${files[@]##*/}")
	local graphics=(-strip -sampling-factor 2x2 -quality "$4" "${files[@]##*/}")
	local vips=(vipsthumbnail --size "$fit"
		-o "$5/%s.jpg[Q=$4,optimize_coding,strip]" "${files[@]##*/}")
	local pillow=(env PATH=/usr/bin:/bin python3
		loadgen/peers/pillow/inprocess.py "$2" "$3" "$4" "$5")
	case $1 in
	ours) command=("${ours[@]}") ;;
	ours-linear) command=("${ours[@]}" --light linear) ;;
	ours-effort) command=("${ours[@]}" --effort 1) ;;
	sharp) command=("${sharp[@]}") ;;
	sharp-fine) command=("${sharp[@]}" --fine) ;;
	sharp-linear) command=("${sharp[@]}" --linear) ;;
	sharp-mozjpeg) command=("${sharp[@]}" --mozjpeg) ;;
	imagemagick) command=("${debian[@]}" mogrify -path "$5" -auto-orient
		-resize "$fit" "${magick[@]}") ;;
	imagemagick-hint) command=("${debian[@]}" mogrify -path "$5"
		-define "jpeg:size=$hint" -auto-orient -thumbnail "$fit"
		"${magick[@]}") ;;
	graphicsmagick) command=("${debian[@]}" gm mogrify -output-directory "$5"
		-auto-orient -resize "$fit" "${graphics[@]}") ;;
	graphicsmagick-hint) command=("${debian[@]}" gm mogrify
		-output-directory "$5" -size "$3x$3" -auto-orient -resize "$fit"
		"${graphics[@]}") ;;
	vipsthumbnail) command=("${debian[@]}" "${vips[@]}") ;;
	vipsthumbnail-linear) command=("${debian[@]}" "${vips[@]}" --linear) ;;
	pillow) command=("${pillow[@]}" default) ;;
	pillow-draft) command=("${pillow[@]}" draft) ;;
	pillow-full) command=("${pillow[@]}" full) ;;
	*) echo "no such arm: $1" >&2; return 2 ;;
	esac
}

# score_results DIR BOX RESULTS: lines of picture, bytes, score in gamma light,
# score in linear light
score_results() {
	build/release/imgops_bench --dataset "$1" --w "$2" --h "$2" \
		--score "$3" --per-file --json - |
		jq -r '.per_file[] | select(.ssimulacra2_gamma != null) |
			[.path, .result_bytes, .ssimulacra2_gamma,
			 .ssimulacra2_linear] | @tsv'
}

# equal_bytes COLUMN Q...: of lines of set, arm, box, q, picture, bytes and scores,
# the mean of this column's scores at the same bytes, by set and arm: those of
# `ours` at this q, or half way between two.  Between the two nearest results of an
# arm, over the logarithm of bytes.  Pictures for which an arm has no such results
# are left out.  Prints set, arm, pictures, mean; by how much it is above that of
# `ours`, least and most; and for how many pictures it is.
equal_bytes() {
	local at=$1
	shift
	sort -t $'\t' -k 1,1 -k 5,5 -k 2,2 -k 6,6g |
		awk -F '\t' -v at="$at" -v wanted_q="$*" '
			BEGIN { wanted_count = split(wanted_q, list, " ")
				for (i in list) is_wanted[list[i]] }
			function score_at(key, arm, n, i, width) {
				n = count[key, arm]
				for (i = 1; i <= n; i++)
					if (bytes[key, arm, i] == wanted[key])
						return score[key, arm, i]
				i = 1
				while (i < n - 1 && bytes[key, arm, i + 1] < wanted[key])
					i++
				width = bytes[key, arm, i + 1] - bytes[key, arm, i]
				if (n < 2 || width <= 0 || bytes[key, arm, i] > wanted[key] ||
				    bytes[key, arm, i + 1] < wanted[key])
					return "none"
				return score[key, arm, i] + \
					(score[key, arm, i + 1] - score[key, arm, i]) * \
					(wanted[key] - bytes[key, arm, i]) / width
			}
			function add(set, arm, value, more) {
				sum[set, arm] += value
				if (!((set, arm) in least) || more < least[set, arm])
					least[set, arm] = more
				if (!((set, arm) in most) || more > most[set, arm])
					most[set, arm] = more
				above[set, arm] += more > 0
			}
			{
				key = $1 FS $5
				if ($2 == "ours" && $4 in is_wanted)
					wanted[key] += log($6) / wanted_count
				n = ++count[key, $2]
				bytes[key, $2, n] = log($6)
				score[key, $2, n] = $at
				sets[$1]; arms[$2]; set_of[key] = $1
			}
			END {
				for (key in wanted) {
					has_all = 1
					for (arm in arms)
						has_all = has_all && score_at(key, arm) != "none"
					if (!has_all)
						continue
					total[set_of[key]]++
					for (arm in arms)
						add(set_of[key], arm, score_at(key, arm),
							score_at(key, arm) - score_at(key, "ours"))
				}
				for (set in sets)
					for (arm in arms)
						if (total[set] > 0)
							printf "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t%d\n", set,
								arm, total[set], sum[set, arm] / total[set],
								least[set, arm], most[set, arm],
								above[set, arm]
			}' | sort
}
