#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Promises: in a form, fields before and after the file are parameters.  They
# are checked like those of the query.  Other fields, as upload libraries send
# them, are ignored, and the reply says so; with --form strict they are refused.
# A form makes the same pictures as the same query.  A field adds nothing to a signed query.
# A second file is refused, and so is a form that readers could understand
# differently; the problem says why.  For a file that is not a JPEG, the error
# names its format.
#
# usage: DARKROOM=PROGRAM test_forms.sh SAMPLES_DIR
. "$(dirname "$0")/../nobody.sh"
. "$(dirname "$0")/../server.sh"
photo=$(realpath "$1/clownfish.jpg")
photo2=$(realpath "$1/lionfish.jpg")
cd "$work"
mkdir store
: >empty
printf '%s\n' api-key-0123456789-one >api.keys
printf '%s\n' sign-key-0123456789-one >sign.keys
chmod 600 ./*.keys

# detail TEXT: expect TEXT in the detail of the last problem
detail() {
	"$JSON_VALUE" .detail <body | has -F -- "$1" || fail "not '$1': $(shown body)"
}

# form QUERY CURL-ARGUMENTS...: the form makes the same picture as this query
form() {
	curl -fsS --data-binary "@$photo" "$url/?$1" -o expected
	curl -fsS "${@:2}" -o got || fail "refused: ${*:2}"
	cmp -s expected got || fail "not as ?$1: ${*:2}"
}

test_fields_are_parameters() {
	form w=200 -F w=200 -F "file=@$photo" "$url/"
	form w=200 -F "file=@$photo" -F w=200 "$url/"
	form 'w=200&h=50&fit=cover&q=33' -F w=200 -F "file=@$photo" -F h=50 \
		-F q=33 "$url/?fit=cover"
	form 'variant=a:w=20' -F "file=@$photo" -F 'variant=a:w=20' "$url/"
	# The same parameter may be in form and query.
	form w=200 -F w=200 -F "file=@$photo" "$url/?w=200"
	form 'variant=a:w=20' -F variant=a:w=20 -F "file=@$photo" \
		"$url/?variant=a:w=20"
	# Browsers send these fields for inputs that were not filled in.
	form w=200 -F h= -F "unused=@empty;filename=" -F "file=@$photo" \
		-F "more=@empty;filename=" -F w=200 "$url/"
	form w=200 -F w= -F w=200 -F "file=@$photo" "$url/"
	curl -fsS -F "file=@$photo" -F variant=b:w=30 -F variant=c -F q=50 \
		-H 'Accept: application/json' "$url/?variant=a:w=20" -o got
	[ "$(jq -c '[.variants[] | .name, .width]' got)" = \
		'["a",20,"b",30,"c",40]' ] || fail "$(shown got)"
}

test_fields_are_checked() {
	local late=10000000
	set -- -F "file=@$photo"
	expect_problem 400 bad_parameter "$@" -F w=300 "$url/?w=200"
	detail "w is '200' in the query and '300' in the form."
	expect_problem 400 bad_parameter -F w=0 "$@" "$url/"
	detail "w must be a whole number of pixels from 1 to 16384, not '0'."
	expect_problem 400 bad_parameter "$@" -F w=0 "$url/"
	expect_problem 400 bad_parameter "$@" -F w=200 -F w=200 "$url/"
	expect_problem 400 bad_parameter "$@" -F variant=a:w=1 \
		"$url/?variant=a:w=2"
	expect_problem 400 bad_parameter "$@" -F respond=decoded "$url/"
}

# ignored COUNT NAME CURL-ARGUMENTS...: the reply says that so many fields were
# ignored, the first of them this one
ignored() {
	local count=$1 name=$2
	shift 2
	form w=20 -D head "$@" -F w=20
	tr -d '\r' <head | grep -qx "Warning: 199 darkroom \".* ignored: $count, the first is '$name'\"" ||
		fail "no warning of $count and $name: $(cat head)"
}

test_fields_of_libraries_are_ignored() {
	local name
	form w=20 -D head -F "file=@$photo" -F w=20 "$url/"
	! grep -qi '^warning' head || fail "a warning without a reason"
	ignored 1 width -F "file=@$photo" -F width=200 "$url/"
	ignored 1 submit -F submit=Send -F "file=@$photo" "$url/"
	ignored 1 'a?b??' -F "file=@$photo" -F 'a\bé=1' "$url/"
	# Uppy; Plupload with one piece; Dropzone.
	ignored 3 relativePath -F relativePath=null -F name=a.jpg \
		-F type=image/jpeg -F "files[]=@$photo" "$url/"
	ignored 3 name -F name=a.jpg -F chunk=0 -F chunks=1 \
		-F "file=@$photo" "$url/"
	ignored 1 dzuuid -F dzuuid=1-2 -F "file=@$photo" "$url/"
	# FilePond: two parts of one name, also of one that names a file.
	for name in filepond image file; do
		ignored 1 $name -F "$name={}" -F "$name=@$photo" "$url/"
		ignored 1 $name -F "$name={\"a\":1}" -F "$name=@$photo" "$url/"
	done
	expect_problem 400 no_file -F 'file={}' "$url/"
	# The JSON has a warning, too; and a refusal, of which it may be the reason.
	curl -fsS -D head -H 'Accept: application/json' -F "file=@$photo" \
		-F width=20 "$url/" -o got
	grep -qi "^warning: .*'width'" head || fail "not with JSON"
	curl -fsS -D head -F "file=@$photo" -F width=20 "$url/v1/images" -o got
	grep -qi "^warning: .*'width'" head || fail "not when it is stored"
}

# A piece of a file is no picture.
test_pieces_of_a_file_are_explained() {
	local field
	head -c 300000 "$photo" >piece
	for field in chunks dztotalchunkcount qqtotalparts \
		resumableTotalChunks flowTotalChunks; do
		expect_problem 400 bad_form -F $field=3 -F file=@piece "$url/"
		detail "field '$field' says; send the file whole"
	done
	detail 'flow.js'
}

test_a_strict_server_refuses_unknown_fields() {
	local late=10000000
	start --form strict
	set -- -F "file=@$photo"
	expect_problem 400 bad_parameter "$@" -F width=200 "$url/"
	detail "There is no parameter 'width'; did you mean 'w'?"
	expect_problem 400 bad_parameter "$@" -F "expires=$late" "$url/"
	expect_problem 400 bad_parameter "$@" -F submit=Send "$url/"
	detail 'a submit button must have no name'
	expect_problem 400 bad_parameter -F filepond={} -F "filepond=@$photo" \
		"$url/"
	write_unquoted_form >sent
	printf 'preamble\r\n' | cat - sent >padded
	expect_problem 400 bad_form --data-binary @padded "$url/" \
		-H 'Content-Type: multipart/form-data; boundary=frontier'
	detail 'must begin with the boundary'
	stop
}

test_fields_are_bounded() {
	local args=() i
	for i in $(seq 65); do
		args+=(-F "field$i=")
	done
	expect_problem 400 bad_form "${args[@]}" -F "file=@$photo" "$url/"
	detail 'more than 64 fields'
	form w=200 "${args[@]:0:126}" -F "file=@$photo" -F w=200 "$url/"
	head -c 16400 /dev/zero | tr '\0' 1 >long
	expect_problem 400 bad_form -F "w=<long" -F "file=@$photo" "$url/"
	detail 'more than 16 KiB'
	args=()
	for i in $(seq 129); do
		args+=(-F 'unused=;filename=x')
	done
	expect_problem 400 bad_form "${args[@]}" "$url/"
	detail 'more than 128 parts'
	printf '2\0000' >nul
	expect_problem 400 bad_form -F "w=<nul" -F "file=@$photo" "$url/"
	detail "The field 'w' has a NUL byte"
	{
		printf -- '--frontier\r\nContent-Disposition: form-data\r\n'
		printf '\r\n5\r\n--frontier\r\n'
		printf 'Content-Disposition: form-data; name="file"\r\n\r\n'
		cat "$photo"
		printf '\r\n--frontier--\r\n'
	} >nameless
	expect_problem 400 bad_form --data-binary @nameless \
		-H 'Content-Type: multipart/form-data; boundary=frontier' "$url/"
	detail 'no name'
}

# A file that is sent without a file name, as by form.append("photo", bytes) of
# some libraries, large or small.
test_a_file_without_a_name_is_explained() {
	head -c 9000 "$photo" >small
	for file in "$photo" small; do
		expect_problem 400 bad_form -F "photo=<$file" -F w=20 "$url/"
		detail "'photo'"
		detail 'has no file name'
		detail 'name it file, image or media'
	done
	form w=20 -F "image=<$photo" -F w=20 "$url/"
}

# A form as .NET sends it: names without quotes, a boundary in quotes.
write_unquoted_form() {
	printf -- '--frontier\r\nContent-Disposition: form-data; name=w\r\n'
	printf '\r\n50\r\n--frontier\r\nContent-Disposition: form-data; '
	printf "name=file; filename=a.jpg; filename*=utf-8''a.jpg\r\n\r\n"
	cat "$photo"
	printf '\r\n--frontier--\r\n'
}

test_quotes() {
	local type='Content-Type: multipart/form-data'
	write_unquoted_form >sent
	set -- --data-binary @sent "$url/"
	form w=50 -H "$type; boundary=\"frontier\"" "$@"
	form w=50 -H "$type; boundary=frontier; charset=utf-8" "$@"
	form w=50 -F w=50 -F "file=@$photo;filename=\"a\\\"b\"" "$url/"
}

test_forms_are_exact() {
	local type='Content-Type: multipart/form-data; boundary'
	write_unquoted_form >sent
	set -- --data-binary @sent "$url/"
	expect_problem 400 bad_form -H "$type=a; boundary=frontier" "$@"
	detail 'must have one boundary'
	expect_problem 400 bad_form -H "$type=other" "$@"
	detail 'does not have the boundary'
	expect_problem 400 bad_form -H "$type=front" "$@"
	detail 'only CR LF or -- can follow a boundary'
	printf x | cat <(head -c -2 sent) - >after
	expect_problem 400 bad_form --data-binary @after -H "$type=frontier" \
		"$url/"
	detail "follow the form's last boundary"
	write_unquoted_form | head -c -4 >sent
	expect_problem 400 bad_form -H "$type=frontier" "$@"
	detail 'ends before its last boundary'
	write_unquoted_form | sed 's/name=w/name=w; name=h/' >sent
	expect_problem 400 bad_form -H "$type=frontier" "$@"
	detail 'each parameter once'
	expect_problem 400 bad_form -F "file=@$photo;encoder=base64" "$url/"
	detail 'Content-Transfer-Encoding'
}

# What RFC 2046 allows around the parts.
test_text_around_the_parts_is_skipped() {
	local type='Content-Type: multipart/form-data; boundary=frontier'
	{
		printf 'This is a form.\r\n--front\r\n'
		write_unquoted_form | sed 's/^--frontier\r$/--frontier \t\r/'
		printf 'bytes after it'
	} >sent
	form w=50 -H "$type" --data-binary @sent "$url/"
}

test_a_second_file_is_refused() {
	expect_problem 400 second_file -F "file=@$photo" -F "b=@$photo2" "$url/"
	detail "a second file, in the field 'b'"
	expect_problem 400 second_file -F "a=@$photo" -F "image=<$photo2" "$url/"
	expect_problem 400 second_file -F "f=@$photo" -F "f=@$photo2" "$url/"
	expect_problem 400 second_file -F "f=@$photo,$photo2" "$url/"
	detail 'A field of the form has several files'
	expect_problem 400 no_file -F w=200 "$url/"
	expect_problem 400 empty_body -F w=200 -F "file=@empty" "$url/"
}

# Before the last field has arrived, an upload can only be refused for errors of
# the picture itself.
test_late_fields_are_waited_for() {
	start --max-output-megapixels 1 --max-cpu 60ms
	expect_problem 413 output_too_large -F "file=@$photo" "$url/"
	curl -fsS -F "file=@$photo" -F w=64 "$url/" -o got ||
		fail "refused before its last field was there"
	head -c 300000 "$photo" >half.jpg
	expect_problem 422 truncated_jpeg -F file=@half.jpg -F w=64 "$url/"
	curl -fsS -F file=@half.jpg -F w=64 -F strict=0 "$url/" -o got ||
		fail "strict=0 does not count"
	check_drained
	stop
}

test_stored_by_a_form() {
	local by_query
	curl -fsS --data-binary "@$photo" "$url/v1/images?w=90" -o got
	by_query=$("$JSON_VALUE" .id <got)
	curl -fsS -F "file=@$photo" -F w=90 "$url/v1/images" -o got
	[ "$("$JSON_VALUE" .id <got)" = "$by_query" ] || fail "not the same image"
	curl -fsS -F "file=@$photo" "$url/v1/images" -o got
	[ "$(jq -r '[.variants[].name] | join(" ")' got)" = "c d" ] ||
		fail "not the presets: $(shown got)"
	curl -fsS -F "file=@$photo" -F variant=d "$url/v1/images" -o got
	[ "$(jq -r '[.variants[].name] | join(" ")' got)" = d ] ||
		fail "all presets, although one was named"
	curl -fsS -F "file=@$photo" -F w=91 -F respond=decoded -o got \
		"$url/v1/images" || fail "respond=decoded is refused"
	expect_problem 400 bad_parameter -F "file=@$photo" -F respond=later \
		"$url/v1/images"
	detail "respond must be stored or decoded, not 'later'."
}

test_a_signature_covers_all() {
	local late=$(($(date +%s) + 3600)) s
	s=$(printf 'POST\n/\nexpires=%d\nw=99\n' "$late" |
		openssl dgst -sha256 -hmac "$(cat sign.keys)" -r | cut -d' ' -f1)
	query="w=99&expires=$late&signature=$s"
	form() { curl -fsS "$@" -o got || fail "refused: $*"; }
	form -F "file=@$photo" "$url/?$query"
	form -F w=99 -F "file=@$photo" -F h= "$url/?$query"
	form -F "file=@$photo" -F submit=Send "$url/?$query"
	for field in w=98 q=100 variant=a:w=5 respond=decoded; do
		expect_problem 403 bad_signature -F "file=@$photo" \
			-F "$field" "$url/?$query"
		expect_problem 403 bad_signature -F "$field" \
			-F "file=@$photo" "$url/?$query"
	done
	detail "'respond' is not in the signed query"
	# With a key, no signature is needed.
	form -F "file=@$photo" -F w=98 "$url/" \
		-H "Authorization: Bearer $(cat api.keys)"
}

test_other_clients() {
	if have python3; then
		python3 - "$url" "$photo" <<-'END' || fail "Python's form"
			import sys, urllib.request
			url, photo = sys.argv[1:]
			parts = [b'Content-Disposition: form-data; name="w"\r\n\r\n123',
			    b'Content-Disposition: form-data; name="file"; '
			    b'filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
			    + open(photo, "rb").read(),
			    b'Content-Disposition: form-data; name="h"\r\n\r\n60']
			body = b"".join(b"--xyz\r\n" + p + b"\r\n" for p in parts)
			request = urllib.request.Request(url + "/", body + b"--xyz--\r\n",
			    {"Content-Type": "multipart/form-data; boundary=xyz"})
			with urllib.request.urlopen(request) as reply:
			    data = reply.read()
			assert data[:2] == b"\xff\xd8" and b"\x00\x3c\x00\x50" in data
		END
	fi
	if have node &&
		node -e 'process.exit(typeof FormData == "function" ? 0 : 1)'; then
		node --input-type=module - "$url" "$photo" <<-'END' || fail "Node's form"
			import { readFileSync } from 'fs';
			const [url, photo] = process.argv.slice(2);
			const form = new FormData();
			form.append('file', new Blob([readFileSync(photo)]), 'a.jpg');
			form.append('variant', 'a:w=20');
			form.append('variant', 'b:w=30');
			const reply = await fetch(url + '/', { method: 'POST',
				body: form, headers: { Accept: 'application/json' } });
			const widths = (await reply.json()).variants.map(v => v.width);
			process.exit(widths.join() === '20,30' ? 0 : 1);
		END
	fi
}

# named WHAT [CURL-ARGUMENTS...]: the file `other` is refused, and the error
# calls it WHAT
named() {
	local what=$1
	shift
	[ $# -gt 0 ] || set -- --data-binary @other
	expect_problem 415 not_a_jpeg "$@" "$url/"
	detail "The file is $what; only JPEG"
}

test_other_files_are_named() {
	local kind bytes
	while IFS='|' read -r kind bytes; do
		{ printf '%b' "$bytes"; head -c 4000 /dev/urandom; } >other
		named "$kind"
	done <<-'END'
		a HEIC picture|\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1
		a video (MP4 or QuickTime)|\x00\x00\x00\x18ftypisom
		a TIFF picture or a camera's raw file|II*\x00
		a TIFF picture or a camera's raw file|MM\x00*
		a BMP picture|BM\x10\x20\x00\x00\x00\x00\x00\x00
		a JPEG 2000 picture|\x00\x00\x00\x0cjP  \r\n
		a PDF document|%PDF-1.7
		gzip data|\x1f\x8b\x08
		a ZIP archive|PK\x03\x04
		of an unknown kind|\xfe\x00\x01
	END
	while IFS='|' read -r kind bytes; do
		{ printf '%b' "$bytes"; seq 1000; } >other
		named "$kind"
	done <<-'END'
		an SVG picture|<?xml version="1.0"?>\n<svg xmlns="">
		an HTML page|\n<!DOCTYPE html><html>
		XML text|<?xml version="1.0"?><a/>
		JSON text|{"image":"
		a JPEG in base64|/9j/4AAQSkZJRg
		a data: URL|data:image/jpeg;base64,/9j/
		a form without its Content-Type|--xyz\r\nContent-Disposition: x
		text|hello
	END
	head -c 5000 /dev/zero >other
	named "zero bytes"
	printf G >other
	named text
	named text -F file=@other -F w=20
	# Files as real programs write them.
	if convert -version >/dev/null 2>&1; then
		for kind in BMP:'a BMP' \
			TIFF:"a TIFF picture or a camera's raw file"; do
			convert -size 90x90 gradient: "${kind%%:*}:other"
			expect_problem 415 not_a_jpeg --data-binary @other "$url/"
			detail "The file is ${kind#*:}"
		done
	fi
}

start --store store --presets 'c:w=40;d:w=41'
test_fields_are_parameters
test_fields_are_checked
test_fields_are_bounded
test_fields_of_libraries_are_ignored
test_pieces_of_a_file_are_explained
test_a_file_without_a_name_is_explained
test_quotes
test_forms_are_exact
test_text_around_the_parts_is_skipped
test_a_second_file_is_refused
test_stored_by_a_form
test_other_clients
test_other_files_are_named
check_drained
stop
test_late_fields_are_waited_for
test_a_strict_server_refuses_unknown_fields
start --api-key-file api.keys --sign-key-file sign.keys
test_a_signature_covers_all
stop
