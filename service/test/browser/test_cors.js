// SPDX-License-Identifier: MIT
// A page of another origin that is in --cors-origin uploads, with progress, with
// a key or a signature, and reads what comes of it; a page that is not can
// neither read anything nor have anything processed.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openForeign, photo } from "./fixture.js";
import { Server } from "./server.js";

const SHOP = "shop.example"; // 127.0.0.1 for the browser, see chromium.js
const API_KEY = "api-key-0123456789", SIGN_KEY = "sign-key-0123456789";

async function serve(t, flags = []) {
	const folder = mkdtempSync(join(tmpdir(), "cors-"));
	const store = join(folder, "store"), keys = join(folder, "api");
	const signs = join(folder, "sign");

	mkdirSync(store);
	writeFileSync(keys, API_KEY, { mode: 0o600 });
	writeFileSync(signs, SIGN_KEY, { mode: 0o600 });
	const server = await Server.start(["--store", store,
		"--api-key-file", keys, "--sign-key-file", signs, ...flags]);

	t.after(async () => {
		await server.stop();
		rmSync(folder, { recursive: true });
	});
	return server;
}

// A page of another origin, which has the photo as a Blob named `photo`.
async function openShop(t) {
	const { page, port } = await openForeign(t, SHOP);

	await page.evaluate((text) => {
		window.photo = new Blob([Uint8Array.from(atob(text),
			(c) => c.charCodeAt(0))], { type: "image/jpeg" });
	}, readFileSync(photo).toString("base64"));
	return { page, origin: `http://${SHOP}:${port}` };
}

function signed(path, width) {
	const expires = Math.floor(Date.now() / 1000) + 600;
	const signature = createHmac("sha256", SIGN_KEY)
		.update(`POST\n${path}\nexpires=${expires}\nw=${width}\n`)
		.digest("hex");

	return `${path}?expires=${expires}&w=${width}&signature=${signature}`;
}

async function sent(server) {
	const reply = await fetch(`${server.url}/stats`,
		{ headers: { Authorization: `Bearer ${API_KEY}` } });

	return (await reply.json()).uploads.sent;
}

test("a page of the list uploads with a key, and reads the reply", async (t) => {
	const { page, origin } = await openShop(t);
	const server = await serve(t, ["--cors-origin", origin]);

	const stored = await page.evaluate(async (url, key) => {
		const reply = await fetch(`${url}/v1/images?w=64`, {
			method: "POST", body: photo,
			headers: { Authorization: `Bearer ${key}` },
		});
		const { url: path } = await reply.json();
		const picture = await fetch(`${url}${path}/image`);

		return {
			status: reply.status,
			location: reply.headers.get("location"),
			id: reply.headers.get("x-request-id"),
			timing: reply.headers.get("server-timing"),
			path,
			etag: picture.headers.get("etag"),
			width: (await createImageBitmap(await picture.blob())).width,
		};
	}, server.url, API_KEY);
	assert.equal(stored.status, 201);
	assert.equal(stored.location, stored.path);
	assert.match(stored.id, /-/);
	assert.match(stored.timing, /decode;dur=/);
	assert.ok(stored.etag);
	assert.equal(stored.width, 64);

	const removed = await page.evaluate(async (url, key) => (await fetch(url, {
		method: "DELETE", headers: { Authorization: `Bearer ${key}` },
	})).status, server.url + stored.path, API_KEY);
	assert.equal(removed, 204);
});

test("a signed URL is enough, and XMLHttpRequest tells progress", async (t) => {
	const { page, origin } = await openShop(t);
	const server = await serve(t, ["--cors-origin", origin]);

	const result = await page.evaluate((url) => new Promise((done) => {
		const request = new XMLHttpRequest(), seen = [];

		request.upload.onprogress = (e) => seen.push(e.loaded);
		request.onload = () => done({ status: request.status, seen,
			size: photo.size,
			type: request.getResponseHeader("content-type"),
			color: request.getResponseHeader("server-timing") });
		request.onerror = () => done({ status: 0 });
		request.open("POST", url);
		request.send(photo);
	}), server.url + signed("/", 64));
	assert.equal(result.status, 200);
	assert.equal(result.seen.at(-1), result.size);
	assert.equal(result.type, "image/jpeg");
});

test("a page of the list can read why an upload is refused", async (t) => {
	const { page, origin } = await openShop(t);
	const server = await serve(t, ["--cors-origin", origin]);

	const problem = await page.evaluate(async (url) => (await fetch(url,
		{ method: "POST", body: new Blob(["no picture, only text"]) }))
		.json(), server.url + signed("/", 64));
	assert.equal(problem.code, "not_a_jpeg");

	const unasked = await page.evaluate(async (url) => (await fetch(url,
		{ method: "POST", body: photo })).json(), `${server.url}/?w=64`);
	assert.equal(unasked.code, "unauthorized");
});

test("a page that is not in the list has nothing processed", async (t) => {
	const { page } = await openShop(t);
	const server = await serve(t, ["--cors-origin", "https://other.example"]);
	const before = await sent(server);
	const attempt = (options) => page.evaluate(async (url, o) => fetch(url,
		{ method: "POST", body: photo, ...o })
		.then((r) => r.type, (error) => error.name),
	server.url + signed("/", 64), options);

	assert.equal(await attempt({}), "TypeError"); // the preflight is refused
	assert.equal(await attempt({ mode: "no-cors",
		headers: { "Content-Type": "text/plain" } }), "opaque");
	// The form of a page needs no script.
	await page.evaluate((url) => {
		document.body.innerHTML = `<form method=post action="${url}"
			enctype=multipart/form-data>
			<input type=file name=file></form>`;
		const files = new DataTransfer();

		files.items.add(new File([photo], "photo.jpg"));
		document.querySelector("input").files = files.files;
		document.forms[0].submit();
	}, server.url + signed("/", 64));
	await page.until((url) => location.href.startsWith(url) &&
		document.readyState === "complete", server.url);
	assert.match(await page.evaluate("document.body.innerText"),
		/cross_site/);
	assert.equal(await sent(server), before);
});
