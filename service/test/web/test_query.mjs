// SPDX-License-Identifier: MIT
// What the page asks for is what its curl line asks for, and the line is a
// command of one meaning, whatever a file is called.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import * as page from "../../web/query.js";

// Made by the build, from the server's table.
const { parameters } = await import(process.env.PARAMETERS);

const none = { ...Object.fromEntries(parameters
	.map(({ name, default: value }) => [name, value])), variants: [] };
const one = { isKeyed: false, isSeveral: false, accept: "image/*" };
const thumb = { name: "thumb", parameters: "w=320,h=320,fit=cover" };

test("a query says what differs from the defaults, in order", () => {
	for (const [given, query] of [
		[{}, ""],
		[{ w: "640" }, "?w=640"],
		[{ q: "75", w: "640" }, "?w=640&q=75"],
		[{ q: "1", blur: "0.3", filter: "box", fit: "cover", h: "20",
			w: "10" },
		"?w=10&h=20&fit=cover&filter=box&blur=0.3&q=1"],
		[{ blur: null, q: null }, ""],
		[{ fit: "cover", gravity: "north", placeholder: "1" },
			"?fit=cover&gravity=north&placeholder=1"],
		[{ fit: "cover", gravity: "centre" }, "?fit=cover"],
		[{ orient: "0", icc: "keep", strict: "0" },
			"?orient=0&icc=keep&strict=0"],
		[{ w: "9", variants: [thumb, { name: "page", parameters: "" }] },
			"?w=9&variant=thumb:w=320,h=320,fit=cover&variant=page"],
		[{ variants: [{ name: "a", parameters: "w=1&q=2#+ %é" }] },
			"?variant=a:w=1%26q=2%23%2B%20%25%C3%A9"],
	])
		assert.equal(page.query({ ...none, ...given }, parameters),
			query);
});

test("a value other than the default is said, of every parameter", () => {
	assert.ok(parameters.length >= 15);
	for (const { name } of parameters)
		assert.equal(page.query({ ...none, [name]: "x" }, parameters),
			`?${name}=x`);
});

test("a sigma is none, or wide enough to be one", () => {
	const blur = parameters.find(({ name }) => name === "blur");

	for (const sigma of [NaN, 0, 0.3, 100])
		assert.ok(page.isSigma(sigma, blur));
	assert.ok(!page.isSigma(0.29, blur));
});

// What bash makes of a line, in which curl prints its arguments.
function parsed(line) {
	return execFileSync("bash", ["-c",
		`curl() { printf '%s\\0' "$@"; }\n${line}`],
	{ encoding: "utf8", env: { ...process.env, LC_ALL: "C.UTF-8",
		DARKROOM_KEY: "a key" } }).split("\0").slice(0, -1);
}

test("a shell reads the line as it was meant", () => {
	for (const name of [
		"photo.jpg", "my photo.jpg", "it's.jpg", "\"$(reboot)`x`\\.jpg",
		"a\nb;\tc.jpg", "bell\x07'\\escape\x1b[2J\u0085.jpg", "Größe.jpeg",
		"<img src=x onerror=alert(1)>.jpg", "*", "~", "#",
		"a\u202egpj.exe", "\u{1f468}\u200d\u{1f52c}.jpg", "tag\u{e0001}1.jpg",
	]) {
		const url = "http://[::1]:8080/it's/?w=640&q=75";

		assert.deepEqual(parsed(page.curlLine(url, name, one)),
			["--data-binary", "@" + name, url, "-o", page.resultName(name)]);
	}
});

test("nothing that a terminal would act on is in the line", () => {
	const line = page.curlLine("http://x/",
		"a\x1b\r\n\u009b\u202e.jpg", one);

	assert.doesNotMatch(line, /[\p{Cc}\p{Cf}]/u);
});

test("a name is neither an option nor standard input", () => {
	for (const name of ["-", "-o.jpg"]) {
		const line = parsed(page.curlLine("http://x/", name, one));

		assert.equal(line[1], "@./" + name);
		assert.equal(line[4], "./" + page.resultName(name));
	}
});

test("the result does not go where the photo is", () => {
	for (const name of ["photo.jpg", "photo.JPEG", "photo", "-darkroom.jpg"])
		assert.notEqual(page.resultName(name), name);
});

test("several results are asked for as JSON, and go into one file", () => {
	assert.ok(!page.isSeveral({ ...none, variants: [thumb] }));
	assert.ok(page.isSeveral({ ...none, variants: [thumb, thumb] }));
	assert.deepEqual(parsed(page.curlLine("http://x/?a", "a b.jpg",
		{ ...one, isSeveral: true, accept: "application/json" })),
	["--data-binary", "@a b.jpg", "-H", "Accept: application/json",
		"http://x/?a", "-o", "a b-darkroom.json"]);
	assert.equal(page.resultName("a.jpg", "thumb"),
		"a-darkroom-thumb.jpg");
});

test("a single result has the format of its variant, or of all", () => {
	for (const [format, variants, word] of [
		["jpeg", [], "jpeg"],
		["ppm", [], "ppm"],
		["jpeg", ["w=9,format=ppm"], "ppm"],
		["ppm", ["format=jpeg,w=9"], "jpeg"],
		["ppm", ["w=9"], "ppm"],
		["ppm", [""], "ppm"],
		["jpeg", ["format=ppm", "format=ppm"], "jpeg"],
	])
		assert.equal(page.formatOf({ format, variants: variants.map(
			(parameters) => ({ name: "a", parameters })) }), word);
});

test("types are named if the server may choose a format", () => {
	const shown = ["image/jpeg", "image/webp"];
	const variants = (...all) => all.map((parameters, i) =>
		({ name: `a${i}`, parameters }));

	for (const [asked, accept] of [
		[{}, "image/*"],
		[{ format: "auto" }, "image/jpeg,image/webp,image/*"],
		[{ variants: variants("w=9,format=auto") },
			"image/jpeg,image/webp,image/*"],
		[{ variants: variants("format=automatic") }, "image/*"],
		[{ variants: variants("w=9", "w=8") }, "application/json"],
		[{ variants: variants("w=9", "format=auto,w=8") },
			"application/json,image/jpeg;q=0.9,image/webp;q=0.9"],
	])
		assert.equal(page.accept({ ...none, ...asked }, shown), accept);
	assert.equal(page.accept({ ...none, format: "auto" }, []), "image/*");
	assert.ok(parsed(page.curlLine("http://x/", "a.jpg",
		{ ...one, accept: "image/webp,image/*" }))
		.includes("Accept: image/webp,image/*"));
});

test("a variant has a name of its own, of few characters", () => {
	const problems = page.variantProblems(["thumb", "", "Thumb", "a b",
		"thumb", "a".repeat(33), "2-x_"].map((name) => ({ name })));

	assert.deepEqual(problems.map((problem) => problem !== ""),
		[false, true, true, true, true, true, false]);
});

test("a key is a variable of the shell", () => {
	const line = page.curlLine("http://x/", "a.jpg",
		{ ...one, isKeyed: true });

	assert.ok(parsed(line).includes("Authorization: Bearer a key"));
});
