// SPDX-License-Identifier: MIT
// A photo is uploaded by the form, and the page shows what came of it; names
// and errors are shown as they are, whatever is in them.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { axeSource, violations } from "./axe.js";
import {
	browser, heicFile, isSeen, openLive, photo, server,
} from "./fixture.js";
import { Server } from "./server.js";

function folder(t) {
	const made = mkdtempSync(join(tmpdir(), "try-"));

	t.after(() => rmSync(made, { recursive: true }));
	return made;
}

// Fill in a control as a person would have: its listeners hear of it.
function set(page, selector, value) {
	return page.evaluate((s, v) => {
		const control = document.querySelector(s);
		control.value = v;
		for (const type of ["input", "change"])
			control.dispatchEvent(
				new Event(type, { bubbles: true }));
	}, selector, value);
}

// The form, in a page whose images can be read: fetch() of blob: is forbidden.
async function openForm(t) {
	const page = await openLive(t, server.url, "try");

	await page.evaluate(() => {
		const create = URL.createObjectURL;
		window.blobs = new Map();
		URL.createObjectURL = (blob) => {
			const url = create(blob);
			window.blobs.set(url, blob);
			return url;
		};
		window.alert = () => {
			window.isHacked = true;
		};
	});
	return page;
}

// The page sends the photo when it is chosen, and once more at the click.
async function send(page, file) {
	await page.choose("#photo", file);
	await page.click("#send");
}

// The last that was sent has come back: an image before that may be of an earlier
// upload, and vanish.
const resultIsShown = (page) => page.until(() =>
	/^Done/.test(document.querySelector("#sending").textContent)
		&& document.querySelector("#result").naturalWidth > 0);

const sumOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

// Of an image: its size, and the SHA-256 of its file.  The size is 0 if the
// browser cannot show it.
function shown(page, selector) {
	return page.evaluate(async (s) => {
		const image = document.querySelector(s);
		await image.decode().catch(() => {});
		const bytes = await window.blobs.get(image.src).arrayBuffer();
		const sum = await crypto.subtle.digest("SHA-256", bytes);
		return {
			width: image.naturalWidth,
			height: image.naturalHeight,
			sum: [...new Uint8Array(sum)].map((byte) =>
				byte.toString(16).padStart(2, "0")).join(""),
		};
	}, selector);
}

// Run the command that the page gives where only the photo is; the other file
// that is there then.
async function runCurl(page, where, name) {
	execFileSync("bash", ["-c", await page.evaluate(() =>
		document.querySelector("#curl").textContent)],
		{ cwd: where, stdio: "ignore", timeout: 60000 });
	const made = readdirSync(where).filter((file) => file !== name);

	assert.equal(made.length, 1, made.join());
	return readFileSync(join(where, made[0]));
}

test("a photo comes back as it was asked for", async (t) => {
	const where = folder(t);
	const page = await openForm(t);
	copyFileSync(photo, join(where, basename(photo)));
	await set(page, "#parameter-w", "320");
	await set(page, "#parameter-blur", "2");
	await set(page, "#parameter-q", "60");
	await send(page, join(where, basename(photo)));
	await resultIsShown(page);

	const result = await shown(page, "#result");
	const original = await shown(page, "#original");
	assert.equal(original.sum, sumOf(readFileSync(photo)));
	assert.equal(result.width, 320);
	assert.equal(result.height,
		Math.round(320 * original.height / original.width));
	assert.match(await page.text("#saved"), /\d/);
	const timeline = await page.evaluate(() =>
		document.querySelector("#timeline").textContent);
	for (const stage of ["decode", "scale", "blur", "encode"])
		assert.match(timeline, new RegExp(stage));
	assert.equal(sumOf(await runCurl(page, where, basename(photo))),
		result.sum);
	assert.deepEqual(page.errors, []);
});

// The format is one that the browser can show; the command asks for the same.
test("auto is a format that is shown", async (t) => {
	const where = folder(t);
	const page = await openForm(t);
	copyFileSync(photo, join(where, basename(photo)));
	await set(page, "#parameter-w", "64");
	await set(page, "#parameter-format", "auto");
	await page.until(() => /Accept: .*image\/jpeg/.test(
		document.querySelector("#curl").textContent));
	await send(page, join(where, basename(photo)));
	await resultIsShown(page);

	const type = await page.evaluate(() => window.blobs.get(
		document.querySelector("#result").src).type);
	const offersWebp = await page.evaluate(() => document.querySelector(
		"#parameter-format option[value=webp]") !== null);
	assert.equal(type, offersWebp ? "image/webp" : "image/jpeg");
	assert.equal(sumOf(await runCurl(page, where, basename(photo))),
		(await shown(page, "#result")).sum);
});

// What people have: a screenshot, a picture that a browser wrote, an animation,
// a phone's photo, which the browser cannot show.
test("pictures of other formats come back", async (t) => {
	const where = folder(t);
	const page = await openForm(t);
	const { formats } = await (await fetch(`${server.url}/stats`)).json();
	const red = ",\0\0\0\0\x02\0\x01\0\0\x02\x02\x44\x0a\0";
	const gif = "GIF89a\x02\0\x01\0\x80\0\0\xff\0\0\0\xff\0" +
		`!\xf9\x04\0\x05\0\0\0${red}${red};`;
	const webp = await page.evaluate(() => {
		const canvas = document.createElement("canvas");

		[canvas.width, canvas.height] = [96, 64];
		return canvas.toDataURL("image/webp").split(",")[1];
	});
	await page.picture(join(where, "screenshot.png"));
	const files = [
		["png", readFileSync(join(where, "screenshot.png")), [64, null]],
		["webp", Buffer.from(webp, "base64"), [64, 43]],
		["gif", Buffer.from(gif, "latin1"), [2, 1]],
	];

	if (heicFile)
		files.push(["heic", execFileSync(heicFile, ["phone"],
			{ maxBuffer: 1 << 26 }), [64, 85]]);
	await set(page, "#parameter-w", "64");
	for (const [format, bytes, [width, height]] of files) {
		if (!formats.includes(format))
			continue; // a build may lack it
		const file = join(where, `a.${format}`);

		writeFileSync(file, bytes);
		await send(page, file);
		await resultIsShown(page);
		const result = await shown(page, "#result");
		const original = await shown(page, "#original");
		assert.equal(original.sum, sumOf(bytes), format);
		assert.equal(result.width, width, format);
		assert.equal(result.height, height ?? Math.round(
			width * original.height / original.width), format);
	}
	assert.deepEqual(page.errors, []);
});

test("several results come back, and a placeholder", async (t) => {
	const where = folder(t);
	const page = await openForm(t);
	copyFileSync(photo, join(where, basename(photo)));
	assert.ok(!await isSeen(page, "#parameter-gravity"));
	await set(page, "#parameter-fit", "cover");
	await set(page, "#parameter-gravity", "north");
	assert.ok(await isSeen(page, "#parameter-gravity"));
	await set(page, "#parameter-filter", "mitchell");
	await page.click("#parameter-placeholder");
	await page.click("#add-variant");
	await page.click("#add-variant");
	await send(page, join(where, basename(photo)));
	await resultIsShown(page);

	const made = JSON.parse(await runCurl(page, where, basename(photo)));
	assert.deepEqual(made.variants.map(({ name }) => name),
		["thumb", "page"]);
	for (const [i, variant] of made.variants.entries()) {
		const seen = await shown(page,
			`#results li:nth-child(${i + 1}) img`);

		assert.equal(seen.sum, sumOf(Buffer.from(variant.data, "base64")));
		assert.deepEqual([seen.width, seen.height],
			[variant.width, variant.height]);
	}
	assert.match(await page.evaluate(() =>
		document.querySelector("#curl").textContent),
	/gravity=north&filter=mitchell/);
	await page.until(() => document.querySelector("#placeholder canvas"));
	const told = await page.text("#placeholder");
	assert.ok(told.includes(made.placeholder.blurhash), told);
	assert.ok(told.includes(made.placeholder.dominant_color), told);

	await page.click("#results li:nth-child(2) input");
	await page.until((width) => document.querySelector("#result")
		.naturalWidth === width, made.variants[1].width);
	const source = await axeSource(browser);
	assert.deepEqual(source ? await violations(page, source) : [], []);
	await page.screen(375, 700, true);
	await page.fits();
	assert.deepEqual(page.errors, []);
});

test("a variant can be removed, and one alone is a picture", async (t) => {
	const where = folder(t);
	const page = await openForm(t);
	copyFileSync(photo, join(where, basename(photo)));
	await page.click("#add-variant");
	await page.click("#add-variant");
	await set(page, ".variant:nth-child(2) input", "thumb");
	await send(page, join(where, basename(photo)));
	await page.until(() => /another variant called thumb/.test(
		document.querySelector("#sending").textContent));
	await page.click(".variant:nth-child(2) button");
	await resultIsShown(page);

	const result = await shown(page, "#result");
	assert.deepEqual([result.width, result.height], [320, 320]);
	assert.equal(sumOf(await runCurl(page, where, basename(photo))),
		result.sum);
	assert.ok(!await isSeen(page, "#results"));
	assert.ok(!await isSeen(page, "#placeholder canvas"));
});

test("a file's name does nothing", async (t) => {
	const where = folder(t);
	const name = "'$(touch x)`touch y`\"<img src=x onerror=alert(1)>;#.jpg";
	const page = await openForm(t);
	copyFileSync(photo, join(where, name));
	await send(page, join(where, name));
	await resultIsShown(page);

	assert.equal(await page.evaluate("window.isHacked"), undefined);
	assert.equal(sumOf(await runCurl(page, where, name)),
		(await shown(page, "#result")).sum);
});

test("an error is told, as it is", async (t) => {
	const page = await openForm(t);
	const detail = "no <img src=x onerror=alert(1)> here";
	await page.answer("POST", 422, "application/problem+json",
		JSON.stringify({ status: 422, code: detail, detail }));
	await send(page, photo);

	await page.until((text) => document.querySelector("#try").innerText
		.includes(text), detail);
	assert.equal(await page.evaluate("window.isHacked"), undefined);
	assert.equal(await page.evaluate(() =>
		document.querySelector("#try [onerror]")), null);
});

test("a problem makes pale what was before it", async (t) => {
	const page = await openForm(t);
	const opacities = () => page.evaluate(() =>
		["saved", "result", "timeline"].map((id) => getComputedStyle(
			document.getElementById(id)).opacity));
	await send(page, photo);
	await resultIsShown(page);
	assert.deepEqual(await opacities(), ["1", "1", "1"]);
	await page.answer("POST", 422, "application/problem+json",
		JSON.stringify({ status: 422, detail: "none of that" }));
	await page.click("#send");

	await page.until(() => /none of that/.test(
		document.querySelector("#problem").textContent));
	for (const opacity of await opacities())
		assert.ok(opacity < 1);
	assert.deepEqual(page.errors.filter((e) => /Uncaught/.test(e)), []);
});

test("what is no photo is told to be none", async (t) => {
	const page = await openForm(t);
	await send(page, process.argv[1]);

	await page.until(() => /JPEG/.test(
		document.querySelector("#try").innerText));
	assert.equal(await page.evaluate(() =>
		document.querySelector("#result")?.naturalWidth ?? 0), 0);
});

// The admin port takes no uploads: its page sends them to the main port.
for (const host of ["127.0.0.1", "localhost"])
	test(`uploads from the admin port, as ${host}`, async (t) => {
		const divided = await Server.start(
			["--admin-listen", "127.0.0.1:0"]);
		t.after(() => divided.stop());
		const at = (url) => url.replace("127.0.0.1", host);
		const page = await openLive(t, at(divided.adminUrl), "try");

		await page.until((url) => document.querySelector("#curl")
			.textContent.includes(url), at(divided.url));
		await send(page, photo);
		await resultIsShown(page);
		assert.match(await page.text("#timeline"), /decode/);
		assert.equal((await divided.stats()).uploads.finished > 0, true);
	});

// It may read the reply to an upload that is refused by its head.
test("says from the admin port that a photo is too large", async (t) => {
	const small = await Server.start(["--admin-listen", "127.0.0.1:0",
		"--max-body", "1K"]);
	t.after(() => small.stop());
	const page = await browser.page();
	t.after(() => page.close());

	await page.go(`${small.adminUrl}/#try`);
	await send(page, photo);
	await page.until(() => document.querySelector("#problem code"));
	assert.match(await page.text("#problem"),
		/413.*--max-body allows 1 KiB.*body_too_large/s);
});

// With keys a browser would have to ask beforehand.
test("names the page that can upload", async (t) => {
	const made = folder(t);
	const secret = "key-of-this-test-0123456789";
	const keys = join(made, "keys");

	writeFileSync(keys, secret, { mode: 0o600 });
	const keyed = await Server.start(["--admin-listen", "127.0.0.1:0",
		"--api-key-file", keys]);
	t.after(() => keyed.stop());
	const page = await browser.page();
	t.after(() => page.close());

	await page.go(`${keyed.adminUrl}/#try`);
	await send(page, photo);
	await page.until(() => document.querySelector("#problem a"));
	assert.equal(await page.evaluate(
		"document.querySelector('#problem a').href"),
	`${keyed.url}/#try`);
});

// A page of a server with a store, on which the photo came back, w=64.
async function openStored(t) {
	const stored = await Server.start(["--store", folder(t)]);
	const page = await openLive(t, stored.url, "try");

	t.after(() => stored.stop());
	await set(page, "#parameter-w", "64");
	await send(page, photo);
	await resultIsShown(page);
	await page.evaluate((text) => {
		window.photoFile = new File([Uint8Array.from(atob(text),
			(c) => c.charCodeAt(0))], "photo.jpg",
		{ type: "image/jpeg" });
	}, readFileSync(photo).toString("base64"));
	return { page, stored };
}

async function program(page, name) {
	await page.click(`[name=program][value=${name}]`);
	return page.text("#curl");
}

test("the program with fetch does the same", async (t) => {
	const { page } = await openStored(t);
	const code = await program(page, "fetch");
	const bytes = await page.evaluate(`(async (file) => {
		${code}
		return picture.size;
	})(photoFile)`);

	assert.equal(bytes, await page.evaluate(async () =>
		(await (await fetch("/?w=64", { method: "POST",
			body: photoFile })).blob()).size));
});

test("the program with Uppy stores the photo", async (t) => {
	const { page } = await openStored(t);
	const library = new URL("node_modules/uppy/dist/uppy.min.js",
		import.meta.url);

	if (!existsSync(library)) {
		t.skip("no Uppy in node_modules: npm install");
		return;
	}
	const code = (await program(page, "uppy")).replace(/^import .*$/gm, "");

	await page.evaluate(`${readFileSync(library, "utf8")}; undefined`);
	const widths = await page.evaluate(`((Uppy, XHRUpload, file) => {
		${code}
		uppy.addFile({ name: file.name, type: file.type, data: file });
		return uppy.upload().then(({ successful }) =>
			successful[0].response.body.variants.map((v) => v.width));
	})(Uppy.Uppy, Uppy.XHRUpload, photoFile)`);

	assert.deepEqual(widths, [64]);
});

// Put what the page says into a page, with the ID that its comment tells to get.
async function showStored(page, html) {
	const [, url] = /POST (\S+) has the ID/.exec(html);

	return page.evaluate(async (at, text) => {
		const { id } = await (await fetch(at, { method: "POST",
			body: photoFile })).json();
		const place = document.createElement("div");

		document.body.append(place);
		place.innerHTML = text.replaceAll("/ID/", `/${id}/`);
		const image = place.querySelector("img");
		await image.decode();
		return { source: image.currentSrc, width: image.naturalWidth };
	}, url, html);
}

test("the <picture> shows what was stored", async (t) => {
	const { page } = await openStored(t);
	const { source, width } = await showStored(page,
		await program(page, "picture"));

	assert.match(source, /\/(avif|webp|jpeg)$/);
	assert.equal(width, 64);
	assert.deepEqual(page.errors, []);
});

test("a picture that is dropped on another view is tried", async (t) => {
	const page = await openLive(t, server.url, "graph");

	await page.evaluate((text) => {
		const data = new DataTransfer();

		data.items.add(new File([Uint8Array.from(atob(text),
			(c) => c.charCodeAt(0))], "dropped.jpg",
		{ type: "image/jpeg" }));
		for (const type of ["dragover", "drop"])
			document.body.dispatchEvent(new DragEvent(type, {
				bubbles: true, cancelable: true, dataTransfer: data }));
	}, readFileSync(photo).toString("base64"));
	await resultIsShown(page);
	assert.ok(await isSeen(page, "#try"));
	assert.match(await page.text("#curl"), /dropped\.jpg/);
});
