// SPDX-License-Identifier: MIT
// A form as the browser makes it is read: fields before and after the file,
// inputs that were not filled in, and names of files that it has to escape.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { open, photo, server } from "./fixture.js";

// Sends the page's form; returns the status, the width of the picture or the
// error's code, and the warning if there is one.
function send(page) {
	return page.evaluate(async () => {
		const reply = await fetch("/", {
			method: "POST",
			body: new FormData(document.querySelector("#plain")),
		});

		return [reply.status, reply.ok ?
			(await createImageBitmap(await reply.blob())).width :
			(await reply.json()).code,
		reply.headers.get("Warning")].filter((one) => one !== null);
	});
}

test("reads a form of the browser", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "form-"));
	const page = await open(t, server.url, "try");

	t.after(() => rmSync(folder, { recursive: true }));
	await page.evaluate(() => {
		document.body.innerHTML = `<form id=plain>
			<input name=w value=200><input name=h>
			<input type=file name=unused>
			<input type=file name=any id=file>
			<input type=file name=more>
			<input name=variant></form>`;
	});
	assert.deepEqual(await send(page), [400, "no_file"]);
	for (const name of ["a.jpg", 'a"b.jpg', "a\\b", "a\\", "\u00e9\u20ac; name=w",
		"a\r\n--b"]) {
		copyFileSync(photo, join(folder, name));
		await page.choose("#file", join(folder, name));
		assert.deepEqual(await send(page), [200, 200], name);
	}
	await page.evaluate(() => {
		document.querySelector("[name=h]").name = 'h"\n\u00e9';
		document.querySelector("[name=w]").name = "w\\";
	});
	const [status, , warning] = await send(page);
	assert.equal(status, 200);
	assert.match(warning, /ignored: 1, the first is 'w\?'/);
});
