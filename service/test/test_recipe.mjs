// SPDX-License-Identifier: MIT
// What the page asks for is what its curl line asks for, and the line is a
// command of one meaning, whatever a file is called.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import * as recipe from "../web/recipe.js";

const none = { w: null, h: null, fit: "inside", blur: 0, q: 80 };

test("a query says what differs from the defaults, in order", () => {
	for (const [given, query] of [
		[{}, ""],
		[{ w: 640 }, "?w=640"],
		[{ q: 75, w: 640 }, "?w=640&q=75"],
		[{ q: 1, blur: 0.3, fit: "cover", h: 20, w: 10 },
			"?w=10&h=20&fit=cover&blur=0.3&q=1"],
		[{ blur: null, q: null }, ""],
	])
		assert.equal(recipe.query({ ...none, ...given }), query);
});

test("a blur is none, or wide enough to be one", () => {
	for (const sigma of [null, 0, 0.3, 100])
		assert.equal(recipe.blurProblem(sigma), "");
	assert.notEqual(recipe.blurProblem(0.29), "");
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

		assert.deepEqual(parsed(recipe.curlLine(url, name, false)),
			["--data-binary", "@" + name, url, "-o", recipe.resultName(name)]);
	}
});

test("nothing that a terminal would act on is in the line", () => {
	const line = recipe.curlLine("http://x/",
		"a\x1b\r\n\u009b\u202e.jpg", false);

	assert.doesNotMatch(line, /[\p{Cc}\p{Cf}]/u);
});

test("a name is neither an option nor standard input", () => {
	for (const name of ["-", "-o.jpg"]) {
		const line = parsed(recipe.curlLine("http://x/", name, false));

		assert.equal(line[1], "@./" + name);
		assert.equal(line[4], "./" + recipe.resultName(name));
	}
});

test("the result does not go where the photo is", () => {
	for (const name of ["photo.jpg", "photo.JPEG", "photo", "-darkroom.jpg"])
		assert.notEqual(recipe.resultName(name), name);
});

test("a key is a variable of the shell", () => {
	const line = recipe.curlLine("http://x/", "a.jpg", true);

	assert.ok(parsed(line).includes("Authorization: Bearer a key"));
});
