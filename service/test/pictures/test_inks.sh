#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CMYK and YCCK files, with and without an Adobe marker and a profile, look as
# in djpeg, ImageMagick, libvips and Pillow, if these are installed.  Needs
# djpeg to read results; skipped without it.
#
# usage: DARKROOM=PROGRAM INK_FILES=PROGRAM test_inks.sh [MORE.jpg...]
. "$(dirname "$0")/../server.sh"

have djpeg || exit 77

# Each function writes the picture of the JPEG $1 as P6 to $2, or fails if its
# tool cannot.  Without a profile, all tools except libvips mix inks like light;
# libvips assumes a printing press.
by_djpeg() {
	djpeg -ppm -outfile "$2" "$1"
}
by_imagemagick() {
	if [ "$has_profile" = 1 ]; then
		convert "$1" -intent Perceptual -profile "$work/srgb.icc" \
			-depth 8 "ppm:$2"
	else
		convert "$1" -colorspace sRGB -depth 8 "ppm:$2"
	fi
}
by_vips() {
	if [ "$has_profile" = 1 ]; then
		vips icc_transform "$1" "$2" "$work/srgb.icc" --embedded \
			--intent perceptual
	else
		vips colourspace "$1" "$2" srgb
	fi
}
by_pillow() {
	/usr/bin/python3 - "$1" "$2" "$has_profile" "$work/srgb.icc" <<-'PYTHON'
		import io, sys
		from PIL import Image, ImageCms
		picture = Image.open(sys.argv[1])
		if sys.argv[3] == "1":
		    profile = io.BytesIO(picture.info["icc_profile"])
		    picture = ImageCms.profileToProfile(
		        picture, profile, sys.argv[4], outputMode="RGB")
		picture.convert("RGB").save(sys.argv[2], "PPM")
	PYTHON
}

tools=()
convert -version >/dev/null 2>&1 && tools+=(imagemagick)
command -v vips >/dev/null && tools+=(vips)
/usr/bin/python3 -c 'import PIL' 2>/dev/null && tools+=(pillow)

# check FILE HAS-PROFILE: the result is within a few levels of each tool's
check() {
	local tool difference most expected=("${tools[@]}")
	has_profile=$2
	[ "$has_profile" = 1 ] || expected+=(djpeg) # it reads no profiles
	curl -fsS --data-binary "@$1" -o "$work/ours.jpg" \
		"$url/?chroma=444&q=100&orient=0" || fail "refused: $1"
	djpeg -ppm -outfile "$work/ours.ppm" "$work/ours.jpg"
	for tool in "${expected[@]}"; do
		"by_$tool" "$1" "$work/theirs.ppm" || fail "$tool: $1"
		difference=$("$INK_FILES" compare "$work/ours.ppm" \
			"$work/theirs.ppm")
		most=4
		[ "$tool$has_profile" != vips0 ] || most=40
		echo "$(basename "$1"): $tool $difference"
		jq -e -n "$difference < $most" >/dev/null ||
			fail "$1: $difference from $tool's picture"
	done
}

"$INK_FILES" write "$work"
start
for file in "$work"/{cmyk,ycck}-{adobe,none}; do
	check "$file.jpg" 0
	check "$file-icc.jpg" 1
done
for file in "$@"; do
	check "$file" "$(grep -qa ICC_PROFILE "$file" && echo 1 || echo 0)"
done
stop
