#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# metadata=strip|copyright|keep: what exiftool finds in results of each format,
# from uploads of each.  The place where a photo was taken is only in those with
# keep.
#
# usage: DARKROOM=PROGRAM test_metadata.sh SAMPLES_DIR [HEIC_FILE]
. "$(dirname "$0")/../server.sh"
have exiftool || exit 77
have jq || exit 77
photo=$(realpath "$1/clownfish.jpg") # 2000 x 1500; its maker's note is Fujifilm's
heic_file=${2:+$(realpath "$2")}
cd "$work"

# post FILE QUERY OUT: headers are in OUT.head
post() {
	curl -fsS -D "$3.head" --data-binary "@$1" -o "$3" "$url/?w=80&$2" ||
		fail "$1 $2"
}
# write FILE...: give them metadata, by a program of its own
write() {
	exiftool -q -overwrite_original -n -Orientation=6 -Artist=Ann \
		-Copyright='(c) Ann' -Model=Cam -GPSLatitude=52.5 \
		-GPSLatitudeRef=N -GPSLongitude=13.25 -GPSLongitudeRef=E \
		-ExifImageWidth=2000 -XMP-dc:Creator=Ann -XMP-dc:Creator=Bob \
		-XMP-dc:Rights='R & D' -XMP-exif:GPSLatitude=52.5 \
		-XMP-dc:Subject=secret -XMP-tiff:Orientation=6 \
		-XMP-photoshop:Credit=agency "$@" 2>write.log ||
		fail "exiftool cannot write: $(shown write.log)"
}

# What a result has, by the beginning of its name.
cat >wanted.jq <<'END'
def is(key; value): if .[key] == value then empty
	else "\(.SourceFile): \(key) is \(.[key]), not \(value)" end;
def lacks(names): . as $all | keys[] | select(test(names))
	| "\($all.SourceFile) has \(.): \($all[.])";
.[] | .SourceFile as $file
| if ($file | startswith("strip")) then
	lacks("^(IFD|ExifIFD|GPS|XMP|IPTC|Fuji|Maker)")
elif ($file | startswith("copyright")) then
	lacks("GPS|Model|Subject|Orientation|^(ExifIFD|IFD1|IPTC|Fuji)"),
	is("IFD0:Artist"; "Ann; Bob"), is("IFD0:Copyright"; "R & D"),
	is("XMP-dc:Creator"; ["Ann", "Bob"]), is("XMP-dc:Rights"; "R & D"),
	is("XMP-photoshop:Credit"; "agency")
else
	lacks("^(IFD1|XMP-tiff)|Thumbnail"),
	is("GPS:GPSLatitude"; 52.5), is("XMP-exif:GPSLatitude"; 52.5),
	is("IFD0:Model"; "Cam"), is("IFD0:Artist"; "Ann"),
	is("XMP-dc:Subject"; "secret"),
	is("IFD0:Orientation"; if $file == "keep-stored" then 6 else 1 end)
end,
if $file == "keep-photo" then
	is("ExifIFD:ExifImageWidth"; 80),
	is("ExifIFD:ExifImageHeight"; 107), is("IPTC:City"; "Berlin"),
	is("FujiFilm:Quality"; "FINE   ")
elif $file == "keep-cut" then lacks("Fuji"), is("IPTC:City"; "Berlin")
else empty end
END
# check_results FILE...
check_results() {
	exiftool -j -n -a -G1 "$@" >tags.json || fail "exiftool cannot read them"
	[ "$(jq length tags.json)" = $# ] || fail "not all are read"
	jq -r -f wanted.jq tags.json >wrong
	[ ! -s wrong ] || fail "$(cat wrong)"
}

test_each_kind_in_each_format() {
	local from to kept formats files=()
	formats=$(stat_of .formats | tr '[]",' ' ')
	for from in $formats; do
		case $from in
		ppm | gif | jxl) continue ;;
		heic)
			[ -n "$heic_file" ] || continue
			"$heic_file" plain >from.heic
			;;
		*) post "$photo" "format=$from" "from.$from" ;;
		esac
		files+=("from.$from")
	done
	write "${files[@]}"
	# exiftool cannot write all kinds of these
	[[ " $formats " != *" jxl "* ]] ||
		post from.jpeg 'metadata=keep&format=jxl' from.jxl
	files=()
	for from in from.*; do
		[[ $from != *.head ]] || continue
		for to in $formats; do
			[[ " ppm gif heic " != *" $to "* ]] || continue
			for kept in strip copyright keep; do
				files+=("$kept-$from.$to")
				post "$from" "format=$to&metadata=$kept" \
					"$kept-$from.$to"
			done
		done
	done
	post from.jpeg '' strip-default
	check_results "${files[@]}" strip-default
}

test_a_photo_with_all_of_it() {
	cp "$photo" photo.jpeg
	write photo.jpeg
	post "$photo" format=jpeg thumb
	exiftool -q -overwrite_original '-ThumbnailImage<=thumb' \
		-IPTC:City=Berlin photo.jpeg
	post photo.jpeg metadata=keep keep-photo
	post photo.jpeg 'metadata=keep&crop=0,0,500,500' keep-cut
	post photo.jpeg 'metadata=copyright' copyright-photo
	# as stored: with the orientation that the file has
	post photo.jpeg 'metadata=keep&orient=0' keep-stored
	# a limit of bytes includes them
	post photo.jpeg 'metadata=keep&max_bytes=9000' keep-small
	[ "$(wc -c <keep-small)" -le 9000 ] || fail "$(wc -c <keep-small) bytes"
	check_results keep-photo keep-cut copyright-photo keep-stored keep-small
}

test_what_is_left_out_is_said() {
	! has -i '^warning' <keep-photo.head || fail "$(shown keep-photo.head)"
	post photo.jpeg 'metadata=keep&format=ppm' none
	has -i '^warning:.*metadata' <none.head || fail "no warning"
	post photo.jpeg 'metadata=strip&format=ppm' none
	! has -i '^warning' <none.head || fail "a warning of what is not asked"
	# a manifest of C2PA: JUMBF in APP11
	{
		head -c 2 photo.jpeg
		printf '\xff\xeb\x00\x12JP\0\1\0\0\0\1\0\0\0\10jumb'
		tail -c +3 photo.jpeg
	} >signed.jpeg
	post signed.jpeg metadata=keep out
	has -i '^warning:.*C2PA' <out.head || fail "nothing says it"
	! has -aF jumb <out || fail "the manifest is there"
}

start
test_each_kind_in_each_format
test_a_photo_with_all_of_it
test_what_is_left_out_is_said
check_drained
stop
