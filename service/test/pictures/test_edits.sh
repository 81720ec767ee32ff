#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# crop, rotate, flip, focus, dpr and grayscale: the pixels of results are those
# that a program of its own takes from the upload, for every combination of turns.
# max_bytes: no result is larger.  sharpen: an unsharp mask, computed again.
# watermark: blended by a program of the test's own.
# trim: what is inside of a border, in all formats, turned, in variants.
# pad and fit=pad: the background is around the picture, and nothing else changes.
#
# usage: DARKROOM=PROGRAM test_edits.sh SAMPLES_DIR
. "$(dirname "$0")/../server.sh"
have python3 || exit 77
photo=$(realpath "$1/clownfish.jpg") # 2000 x 1500
cd "$work"

# A PPM whose pixels all differ: results of its size are exact.
cat >grid.py <<'END'
import sys, urllib.error, urllib.request

WIDTH, HEIGHT = 7, 5

def grid(width=WIDTH, height=HEIGHT):
    return [[(x * 30 + 7, y * 40 + 9, (x * y * 13) % 256)
        for x in range(width)] for y in range(height)]

def write(rows):
    head = b"P6 %d %d 255\n" % (len(rows[0]), len(rows))
    return head + bytes(c for row in rows for pixel in row for c in pixel)

def read(data):
    kind, width, height, top, rest = data.split(maxsplit=4)
    # One white space follows the head; the split has taken all of them.
    rest = data[len(data) - int(width) * int(height) * (3 if kind == b"P6" else 1):]
    step = 3 if kind == b"P6" else 1
    rows = [rest[y * int(width) * step:(y + 1) * int(width) * step]
        for y in range(int(height))]
    return [[tuple(row[x * step:x * step + step])
        for x in range(int(width))] for row in rows]

def post(url, query, body):
    request = urllib.request.Request(f"{url}/?format=ppm&{query}", body)
    with urllib.request.urlopen(request) as reply:
        return reply.read()

def rotate(rows, degrees):
    for _ in range(degrees // 90):
        rows = [list(row) for row in zip(*rows[::-1])]
    return rows

def flip(rows, how):
    return {"none": rows, "h": [row[::-1] for row in rows], "v": rows[::-1]}[how]
END

# Print a PPM with a white frame of so many pixels.
pnm_frame() {
	python3 - "$@" <<-'END'
		from grid import *
		rows, n = read(open(sys.argv[1], "rb").read()), int(sys.argv[2])
		white = (255, 255, 255)
		width = len(rows[0]) + 2 * n
		sys.stdout.buffer.write(write([[white] * width] * n +
		    [[white] * n + row + [white] * n for row in rows] +
		    [[white] * width] * n))
	END
}

test_turns_and_parts_have_the_right_pixels() {
	python3 - "$url" <<-'END' || fail "wrong pixels, above"
		from grid import *
		url, rows = sys.argv[1], grid()
		def check(query, wanted):
		    got = read(post(url, query, write(rows)))
		    assert got == wanted, f"{query}: {got}, not {wanted}"
		check("", rows)
		for degrees in 0, 90, 180, 270:
		    for how in "none", "h", "v":
		        turned = flip(rotate(rows, degrees), how)
		        query = f"flip={how}&rotate={degrees}"
		        check(query, turned)
		        for x, y, w, h in ((0, 0, 1, 1), (1, 2, 3, 2), (2, 1, 2, 99),
		            (4, 4, 99, 1), (0, 0, 99, 99)):
		            part = [row[x:x + w] for row in turned[y:y + h]]
		            check(f"{query}&crop={x},{y},{w},{h}", part)
		# The middle of what is kept; both ends stop it.
		for fx, x in ((0, 0), (0.5, 1), (0.6428, 2), (1, 2)):
		    part = [row[x:x + 5] for row in rows]
		    check(f"w=5&h=5&fit=cover&focus={fx},0.2", part)
		for fy, y in ((0.1, 0), (0.6, 2), (0.9, 3)):
		    part = [row[1:6] for row in rows[y:y + 2]]
		    check(f"crop=1,0,5,99&w=5&h=2&fit=cover&focus=0.5,{fy}", part)
		# Both at once, in a variant of two.
		check("variant=a:crop=1,2,3,2,rotate=180",
		    [row[1:4] for row in rotate(rows, 180)[2:4]])
	END
}

# What a filter makes of a part is what it makes of a picture that ends there.
test_nothing_beyond_a_crop_is_seen() {
	python3 - "$url" <<-'END' || fail "wrong pixels, above"
		from grid import *
		url = sys.argv[1]
		rows = [[((x * 7919 + y * 104729) % 251, (x * x + y) % 256,
		    (x * 31 ^ y * 57) % 256) for x in range(60)] for y in range(50)]
		for turn in "", "rotate=90", "rotate=180&flip=h", "flip=v", \
		    "rotate=270&flip=h":
		    turned = read(post(url, turn, write(rows)))
		    for x, y, w, h in (20, 20, 20, 20), (0, 3, 17, 40), \
		        (31, 0, 13, 9), (5, 5, 999, 999):
		        part = write([row[x:x + w] for row in turned[y:y + h]])
		        for how in "w=10", "w=7&h=9&fit=fill", "w=30&enlarge=1", \
		            "w=8&h=8&fit=cover", "w=9&filter=mitchell", \
		            "w=40&enlarge=1&filter=triangle":
		            got = post(url, f"{turn}&crop={x},{y},{w},{h}&{how}",
		                write(rows))
		            wanted = post(url, how, part)
		            # A turned picture is rounded in another order.
		            most = max(abs(a - b) for a, b in zip(got, wanted))
		            assert len(got) == len(wanted) and \
		                most <= (2 if turn else 0), \
		                f"{turn} {x},{y},{w},{h} {how}: {most}"
	END
}

# Luma as in JPEG.
test_grayscale_is_luma() {
	python3 - "$url" "$photo" <<-'END' || fail "wrong greys, above"
		from grid import *
		url, photo = sys.argv[1], open(sys.argv[2], "rb").read()
		for pixel, got in zip(sum(grid(), []),
		    sum(read(post(url, "grayscale=1", write(grid()))), [])):
		    luma = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]
		    assert all(abs(c - luma) <= 1 for c in got), (pixel, got)
		# The luma of a photo is the same with its colours and without.
		body = urllib.request.urlopen(urllib.request.Request(
		    f"{url}/?w=160&grayscale=1", photo)).read()
		assert b"\xff\xc0\x00\x0b\x08\x00\x78\x00\xa0\x01" in body
		open("grey.jpg", "wb").write(body)
		open("colour.jpg", "wb").write(urllib.request.urlopen(
		    urllib.request.Request(f"{url}/?w=160", photo)).read())
	END
	if have djpeg; then
		djpeg -grayscale -pnm grey.jpg >grey.pgm
		djpeg -grayscale -pnm colour.jpg >colour.pgm
		cmp grey.pgm colour.pgm || fail "another luma"
	fi
	# For other formats, too: read back, all channels are equal.
	for format in $(curl -fsS "$url/stats" | jq -r '.formats[]'); do
		case $format in png | webp | avif | jxl) ;; *) continue ;; esac
		curl -fsS --data-binary "@$photo" -o out \
			"$url/?w=32&grayscale=1&icc=keep&format=$format" ||
			fail "not as $format"
		curl -fsS --data-binary @out -o back "$url/?format=ppm"
		python3 - back <<-'END' || fail "colours in $format, above"
			from grid import *
			most = max(max(p) - min(p) for row in
			    read(open(sys.argv[1], "rb").read()) for p in row)
			assert most <= 2, most
		END
	done
}

test_a_pixel_ratio() {
	for query in 'w=100&dpr=1.5 150 113' 'w=100&h=100&fit=cover&dpr=2 200 200' \
		'crop=0,0,90,90&w=100&dpr=2 90 90' \
		'w=4&h=3&dpr=0.1&fit=fill 1 1' 'w=1&dpr=0.4 1 1'; do
		read -r query width height <<<"$query"
		curl -fsS --data-binary "@$photo" -H 'Accept: application/json' \
			"$url/?$query&variant=a:q=50" -o out
		[ "$(jq -c '.variants[0] | [.width, .height]' out)" = \
			"[$width,$height]" ] || fail "$query: $(shown out)"
	done
}

test_a_result_is_no_larger_than_asked() {
	local most bytes
	for most in 5000 8000 20000 999999; do
		curl -fsS --data-binary "@$photo" -o out \
			"$url/?w=400&max_bytes=$most"
		bytes=$(wc -c <out)
		[ "$bytes" -le $most ] || fail "$bytes, not $most"
		[ $most = 999999 ] || [ "$bytes" -ge $((most * 8 / 10)) ] ||
			fail "$bytes of $most"
	done
	curl -fsS --data-binary "@$photo" -o whole "$url/?w=400"
	cmp out whole || fail "another result, although it fits"
	expect_problem 422 max_bytes_too_small --data-binary "@$photo" \
		"$url/?w=400&max_bytes=100"
	curl -sS --data-binary "@$photo" -o body "$url/?w=400&max_bytes=900"
	bytes=$(jq .value body)
	[ "$bytes" -gt 900 ] && [ "$(jq .limit body)" = 900 ] ||
		fail "no numbers: $(shown body)"
	"$JSON_VALUE" .detail <body | has "has $bytes bytes" || fail "$(shown body)"
	curl -fsS --data-binary "@$photo" -o out \
		"$url/?w=400&max_bytes=$bytes" || fail "$bytes were possible"
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?w=400&max_bytes=99"
}

# The difference of luma and its exact Gaussian is added, by libvips's curve.
test_sharpen_is_an_unsharp_mask_on_luma() {
	python3 - "$url" <<-'END' || fail "not sharpened so, above"
		from math import exp
		from grid import *
		url = sys.argv[1]
		rows = [[(x // 7 * 67 % 160 + x * y % 30, y // 6 * 83 % 200 + 20,
		    (x + y) // 9 * 41 % 180 + 30) for x in range(40)]
		    for y in range(30)]
		luma = [[0.299 * r + 0.587 * g + 0.114 * b for r, g, b in row]
		    for row in rows]
		def blur(lines, sigma):
		    reach = int(5 * sigma) + 1
		    weights = [exp(-(i / sigma) ** 2 / 2)
		        for i in range(-reach, reach + 1)]
		    total = sum(weights)
		    return [[sum(w * line[min(max(x + i - reach, 0), len(line) - 1)]
		        for i, w in enumerate(weights)) / total
		        for x in range(len(line))] for line in lines]
		def curve(off):
		    past = max(abs(off) - 5.1, 0) * 3
		    return min(past, 25.5) if off > 0 else -min(past, 51)
		for sigma in 0.5, 1, 2.5, 8:
		    soft = zip(*blur(zip(*blur(luma, sigma)), sigma))
		    got = read(post(url, f"sharpen={sigma}", write(rows)))
		    changed = worst = 0
		    for row, line, dim, out in zip(rows, luma, soft, got):
		        for pixel, y, low, result in zip(row, line, dim, out):
		            add = curve(y - low)
		            changed += abs(add) > 9
		            for c, r in zip(pixel, result):
		                worst = max(worst,
		                    abs(r - min(max(c + add, 0), 255)))
		    assert worst <= 3 and changed > 30, (sigma, worst, changed)
		# After it was scaled, and not at all.
		big = write([[p for p in row for _ in "ab"] for row in rows
		    for _ in "ab"])
		small = post(url, "w=40", big)
		assert post(url, "w=40&sharpen=1", big) == \
		    post(url, "sharpen=1", small) != small
		assert post(url, "w=40&sharpen=0", big) == small
	END
	for query in 'blur=1&sharpen=1' 'variant=a:w=9,sharpen=2&blur=3'; do
		expect_problem 400 bad_parameter --data-binary "@$photo" \
			"$url/?$query"
		"$JSON_VALUE" .detail <"$work/body" | has 'blur and sharpen exclude' ||
			fail "$(shown "$work/body")"
	done
	curl -fsS --data-binary "@$photo" -o out \
		"$url/?w=64&sharpen=1&variant=a:blur=2,sharpen=0&variant=b:q=50"
}

test_background_is_around_the_picture() {
	python3 - "$url" <<-'END' || fail "wrong pixels, above"
		from grid import *
		url, rows, red = sys.argv[1], grid(), (255, 0, 0)
		def padded(rows, top, right, bottom, left, colour=red):
		    width = left + len(rows[0]) + right
		    return [[colour] * width] * top + [[colour] * left + row +
		        [colour] * right for row in rows] + [[colour] * width] * bottom
		def check(query, wanted):
		    got = read(post(url, f"background=ff0000&{query}", write(rows)))
		    assert got == wanted, f"{query}: {got}, not {wanted}"
		for query, sides in ("pad=0", (0,) * 4), ("pad=2", (2,) * 4), \
		    ("pad=1,2", (1, 2, 1, 2)), ("pad=1,2,3,4", (1, 2, 3, 4)), \
		    ("pad=3,1&dpr=1.5", (5, 2, 5, 2)), \
		    ("w=11&h=9&fit=pad", (2, 2, 2, 2)), \
		    ("w=10&h=5&fit=pad", (0, 2, 0, 1)), \
		    ("w=7&h=8&fit=pad&gravity=south&pad=1", (4, 1, 1, 1)), \
		    ("w=8&h=8&fit=pad&gravity=northwest", (0, 1, 3, 0)), \
		    ("w=20&fit=pad", (0,) * 4):
		    check(query, padded(rows, *sides))
		turned = [row[1:4] for row in flip(rotate(rows, 90), "h")[2:5]]
		check("rotate=90&flip=h&crop=1,2,3,3&pad=1,0",
		    padded(turned, 1, 0, 1, 0))
		# White unless asked for; grey if there are to be no colours.
		assert read(post(url, "pad=1", write(rows)))[0][0] == (255,) * 3
		grey = read(post(url, "pad=1&grayscale=1&background=ff0000",
		    write(rows)))
		assert grey[0][0] == (76, 76, 76)
		# A grey picture gets colours only for a coloured background.
		pgm = b"P5 2 1 255\n\x10\xf0"
		assert post(url, "pad=1&background=404040", pgm) == \
		    b"P5\n4 3\n255\n" + b"@" * 4 + b"@\x10\xf0@" + b"@" * 4
		got = read(post(url, "pad=1&background=ff0000", pgm))
		assert got == padded([[(16,) * 3, (240,) * 3]], 1, 1, 1, 1)
		# A blur stays inside.
		soft = read(post(url, "blur=2", write(rows)))
		check("blur=2&pad=2", padded(soft, 2, 2, 2, 2))
	END
	# Each format has the size and, where it can, transparency.
	for format in jpeg $(curl -fsS "$url/stats" | jq -r '.formats[]'); do
		case $format in heic | gif) continue ;; esac
		curl -fsS --data-binary "@$photo" -o out \
			"$url/?w=60&h=60&fit=pad&pad=2,4&background=transparent&format=$format"
		curl -fsS --data-binary @out -o back "$url/?format=ppm&background=0000ff"
		python3 - back $format <<-'END' || fail "wrong corner as $format, above"
			from grid import *
			rows = read(open(sys.argv[1], "rb").read())
			assert (len(rows[0]), len(rows)) == (68, 64)
			blue = sys.argv[2] in ("png", "webp", "avif", "jxl")
			wanted = (0, 0, 255) if blue else (255, 255, 255)
			for y, x in (0, 0), (63, 67), (4, 30), (30, 1):
			    assert all(abs(a - b) < 15 for a, b in
			        zip(rows[y][x], wanted)), (y, x, rows[y][x])
			assert max(abs(a - b) for a, b in
			    zip(rows[32][34], wanted)) > 40
		END
	done
	expect_problem 413 picture_too_large --data-binary "@$photo" \
		"$url/?w=9&pad=16384"
	expect_problem 413 picture_too_large --data-binary "@$photo" \
		"$url/?w=1&h=1&fit=fill&pad=0,16384&dpr=8"
	"$JSON_VALUE" .detail <"$work/body" | has 'has 131008 x 8 pixels; JPEG allows 65500' ||
		fail "$(shown "$work/body")"
}

test_a_smart_box_has_the_subject() {
	python3 - "$url" <<-'END' || fail "the subject is cut off, above"
		from grid import *
		url = sys.argv[1]
		for left in 0, 30, 70, 110, 140:
		    rows = [[(230, 30, 40) if left <= x < left + 20 and 20 <= y < 40
		        else (120 + x % 3, 140, 130) for x in range(160)]
		        for y in range(60)]
		    for turn, box in ("", "w=60&h=60"), ("rotate=90&", "w=60&h=60"), \
		        ("flip=h&", "w=30&h=60"):
		        got = read(post(url, f"{turn}{box}&fit=cover&gravity=smart",
		            write(rows)))
		        red = sum(r > 180 and g < 90 for row in got
		            for r, g, b in row)
		        assert red >= 19 * 19, (left, turn, red)
	END
}

test_trim_removes_the_border() {
	python3 - "$url" <<-'END' || fail "wrong pixels, above"
		from grid import *
		url, inside, white = sys.argv[1], grid(), (255, 250, 245)
		def framed(rows, top, right, bottom, left, colour=white):
		    width = left + len(rows[0]) + right
		    return [[colour] * width] * top + [[colour] * left + row +
		        [colour] * right for row in rows] + [[colour] * width] * bottom
		def check(query, wanted, rows):
		    got = read(post(url, query, write(rows)))
		    assert got == wanted, f"{query}: {got}, not {wanted}"
		rows = framed(inside, 3, 8, 1, 5)
		check("trim=0", rows, rows)
		for query in "trim=1", "trim=10", "trim=2", "trim=20&w=30":
		    check(query, inside, rows)
		# crop counts in what is left, after the turns.
		for degrees in 0, 90, 180, 270:
		    for how in "none", "h", "v":
		        turned = flip(rotate(inside, degrees), how)
		        query = f"trim=1&rotate={degrees}&flip={how}"
		        check(query, turned, rows)
		        check(query + "&crop=1,2,3,99", [r[1:4] for r in turned[2:]], rows)
		        check(query + "&pad=1&background=000000",
		            framed(turned, 1, 1, 1, 1, (0, 0, 0)), rows)
		# A border within the tolerance, with specks; else it is the picture.
		noisy = [[tuple(c - (x * y * 7) % 9 for c in pixel) if pixel == white
		    else pixel for x, pixel in enumerate(row)] for y, row in enumerate(rows)]
		noisy[0][0], noisy[1][3] = white, (0, 0, 0)
		check("trim=1", inside, noisy)
		check("trim=3", [row[1:] for row in noisy[1:]], noisy)
		# One colour stays.
		plain = [[white] * 9] * 4
		check("trim=1", plain, plain)
		pgm = b"P5 6 4 255\n" + b"\7" * 8 + b"\xf0\x80" + b"\7" * 14
		assert post(url, "trim=1", pgm) == b"P5\n2 1\n255\n\xf0\x80"
	END
	# Each variant has its own.
	curl -fsS --data-binary "@$photo" -o small.ppm "$url/?w=60&format=ppm"
	pnm_frame small.ppm 20 >framed.ppm
	curl -fsS -H 'Accept: application/json' --data-binary @framed.ppm -o body \
		"$url/?variant=a:trim=1&variant=b:w=50&variant=c:trim=1,w=30,rotate=90"
	[ "$(jq -r '[.variants[] | "\(.width)x\(.height)"] | join(" ")' body)" = \
		"60x45 50x43 30x40" ] || fail "$(head -c 500 body)"
	expect_problem 422 crop_outside --data-binary @framed.ppm \
		"$url/?trim=1&crop=70,0,9,9"
	"$JSON_VALUE" .detail <"$work/body" |
		has 'begins at 70,0; the picture has 60 x 45 pixels' ||
		fail "$(shown "$work/body")"
	# In every format that is written here.
	for format in jpeg $(curl -fsS "$url/stats" | jq -r '.formats[]'); do
		case $format in heic | gif) continue ;; esac
		curl -fsS --data-binary @framed.ppm -o upload "$url/?format=$format&q=95"
		curl -fsS --data-binary @upload -o back "$url/?trim=40&format=ppm"
		python3 - back $format <<-'END' || fail "wrong size as $format, above"
			from grid import *
			rows = read(open(sys.argv[1], "rb").read())
			assert 60 <= len(rows[0]) <= 62 and 45 <= len(rows) <= 47, \
			    (len(rows[0]), len(rows))
		END
	done
}

# 24 x 12, with alpha, as PNG; 20 x 10, opaque, as PPM.
make_watermarks() {
	python3 - <<-'END'
		import struct, zlib
		from grid import *
		def chunk(name, data):
		    return struct.pack(">I", len(data)) + name + data + \
		        struct.pack(">I", zlib.crc32(name + data))
		raw = b"".join(b"\0" + bytes(c for x in range(24)
		    for c in (x * 10, 200 - y * 9, 90, min(255, x * y * 3)))
		    for y in range(12))
		open("clear.png", "wb").write(b"\x89PNG\r\n\x1a\n" +
		    chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 12, 8, 6, 0, 0, 0)) +
		    chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
		open("plain.ppm", "wb").write(write([[(250, 20 * y, 10 * x)
		    for x in range(20)] for y in range(10)]))
	END
}

test_a_watermark_is_blended() {
	python3 - "$url" "$photo" <<-'END' || fail "wrong pixels, above"
		from grid import *
		url, photo = sys.argv[1], open(sys.argv[2], "rb").read()
		rows = [[((x * 7) % 256, (y * 11) % 256, (x * y) % 256)
		    for x in range(80)] for y in range(60)]
		def clear(x, y):
		    return (x * 10, 200 - y * 9, 90), min(255, x * y * 3) / 255
		def plain(x, y):
		    return (250, 20 * y, 10 * x), 1
		def check(query, mark, width, height, left, top, opacity=1):
		    got = read(post(url, query, write(rows)))
		    for y, row in enumerate(rows):
		        for x, pixel in enumerate(row):
		            alpha = 0
		            if 0 <= x - left < width and 0 <= y - top < height:
		                colour, alpha = mark(x - left, y - top)
		            if alpha == 0:
		                assert got[y][x] == pixel, (query, x, y)
		                continue
		            for a, b, c in zip(got[y][x], pixel, colour):
		                wanted = b + (c - b) * alpha * opacity
		                assert abs(a - wanted) < 2, (query, x, y, a, wanted)
		check("watermark=plain", plain, 20, 10, 60, 50)
		check("watermark=plain&watermark_position=northwest", plain,
		    20, 10, 0, 0)
		check("watermark=clear&watermark_scale=0.3&watermark_opacity=0.5&"
		    "watermark_position=center", clear, 24, 12, 28, 24, 0.5)
		# Of any size, also in a variant; over the pad, and the last of all.
		small = read(post(url, "variant=a:watermark=plain,w=40,"
		    "watermark_scale=0.5,watermark_position=west", write(rows)))
		assert all(abs(a - b) < 3 for a, b in zip(small[14][9], (250, 80, 90)))
		framed = read(post(url, "watermark=plain&pad=10&background=000000&"
		    "watermark_position=southwest&blur=3", write(rows)))
		assert framed[78][0][0] > 240 and framed[78][26] == (0, 0, 0)
		# A photo without a detour by RGB: luma beyond it is the same.
		one, two = (read(post(url, q, photo)) for q in
		    ("w=160&grayscale=1", "w=160&grayscale=1&watermark=clear"))
		assert [r[:120] for r in one] == [r[:120] for r in two] != two
		assert one[:100] == two[:100] and one != two
	END
	for format in jpeg $(curl -fsS "$url/stats" | jq -r '.formats[]'); do
		case $format in heic | gif) continue ;; esac
		curl -fsS --data-binary "@$photo" -o out \
			"$url/?w=64&watermark=plain&watermark_scale=1&format=$format&chroma=444"
		curl -fsS --data-binary @out -o back "$url/?format=ppm"
		python3 - back <<-'END' || fail "another colour in $format, above"
			from grid import *
			rows = read(open(sys.argv[1], "rb").read())
			r, g, b = rows[40][32]
			assert r > 215 and 70 < g < 150 and 70 < b < 140, (r, g, b)
		END
	done
	expect_problem 400 bad_parameter --data-binary "@$photo" \
		"$url/?watermark=logo"
	"$JSON_VALUE" .detail <"$work/body" |
		has "watermark must be none, clear or plain, not 'logo'" ||
		fail "$(shown "$work/body")"
	curl -fsS --data-binary "@$photo" -o named "$url/?w=64&variant=marked"
	curl -fsS --data-binary "@$photo" -o asked "$url/?w=64&watermark=clear"
	cmp named asked || fail "another result by a preset"
}

test_watermarks_are_read_at_the_start() {
	local spec
	printf 'a text' >text
	head -c 100 clear.png >cut.png
	for spec in 'logo' '=clear.png' 'Logo=clear.png' 'a=clear.png;a=plain.ppm' \
		'none=clear.png' 'a=' 'a=missing.png' 'a=text' 'a=cut.png'; do
		"$DARKROOM" --check-config --watermark "$spec" 2>err &&
			fail "$spec was taken"
		has -- '--watermark' <err || fail "$(cat err)"
	done
	"$DARKROOM" --check-config --watermark 'a=clear.png;b=plain.ppm' ||
		fail "not taken"
	"$DARKROOM" --check-config --watermark 'a=clear.png' \
		--presets 'p:watermark=b' 2>err && fail "b is not known"
	has 'watermark must be none or a' <err || fail "$(cat err)"
}

test_wrong_values_are_explained() {
	expect_problem 422 crop_outside --data-binary "@$photo" \
		"$url/?crop=2000,0,10,10"
	"$JSON_VALUE" .detail <"$work/body" |
		has 'begins at 2000,0; the picture has 2000 x 1500 pixels' ||
		fail "$(shown "$work/body")"
	expect_problem 422 crop_outside --data-binary "@$photo" \
		"$url/?rotate=90&crop=0,2000,10,10"
	expect_problem 422 crop_outside --data-binary "@$photo" \
		"$url/?variant=a:w=9&variant=b:crop=1999,1500,1,1"
	for query in crop=1,2,3 crop=1,2,0,3 rotate=45 flip=x focus=2,0 dpr=0 \
		grayscale=2 sharpen=0.2 sharpen=11 pad=1,2,3 pad=16385 \
		background=red trim=256 trim=x watermark=x watermark_scale=0 \
		watermark_opacity=1.1 watermark_position=nw; do
		expect_problem 400 bad_parameter --data-binary "@$photo" \
			"$url/?$query"
	done
}

start
test_turns_and_parts_have_the_right_pixels
test_nothing_beyond_a_crop_is_seen
test_grayscale_is_luma
test_a_pixel_ratio
test_a_result_is_no_larger_than_asked
test_sharpen_is_an_unsharp_mask_on_luma
test_background_is_around_the_picture
test_trim_removes_the_border
test_a_smart_box_has_the_subject
test_wrong_values_are_explained
check_drained
stop
if ! "$DARKROOM" --version | grep -q '^formats:.* png'; then
	echo 'skipped: watermarks: PNG is not built in'
	exit
fi
make_watermarks
test_watermarks_are_read_at_the_start
start --watermark 'clear=clear.png;plain=plain.ppm' \
	--presets 'marked:watermark=clear'
test_a_watermark_is_blended
check_drained
stop
