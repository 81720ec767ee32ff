// SPDX-License-Identifier: MIT
// A page of another site can neither send nor remove pictures, nor read what
// the server says about itself, also under a name that it has had point here; but
// it may show a stored picture, and link to the page.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { browser, openForeign, photo, reaches } from "./fixture.js";
import { Server } from "./server.js";

// 127.0.0.1 for the browser, see chromium.js.
const EVIL = "evil.example";
const PRIVATE = "evil.test"; // no public DNS server answers for it

// A server with a picture in its store: { server, image }, its path.
async function serve(t, port = 0) {
	const folder = mkdtempSync(join(tmpdir(), "store-"));
	const server = await Server.start(["--store", folder], port);

	t.after(async () => {
		await server.stop();
		rmSync(folder, { recursive: true });
	});
	const reply = await fetch(`${server.url}/v1/images?w=64`,
		{ method: "POST", body: readFileSync(photo) });
	assert.equal(reply.status, 201);
	return { server, image: (await reply.json()).url };
}

// How often requests ended with this problem.
async function problems(server, code) {
	const text = await (await fetch(`${server.url}/metrics`)).text();

	return Number(text.match(
		`darkroom_http_problems_total{code="${code}",[^}]*} (\\d+)`)[1]);
}

// How a fetch() in the page ends.
function tryFetch(page, url, options) {
	return page.evaluate((u, o) => fetch(u, o)
		.then((r) => r.type === "opaque" ? "opaque" : r.status,
			(error) => error.name), url, options);
}

// What the page asks for is refused by the server, or by the browser before.
async function isRefused(server, code, attack) {
	const before = await problems(server, code);
	const sent = (await server.stats()).uploads.sent;

	await attack();
	// After a 421 Chromium asks once more.
	assert.ok(await problems(server, code) > before);
	assert.equal((await server.stats()).uploads.sent, sent);
}

const post = { method: "POST", body: "x", mode: "no-cors" };

for (const [what, name] of [["site", EVIL], ["port", "127.0.0.1"]]) {
	test(`refuses a page of another ${what}`, async (t) => {
		const { server, image } = await serve(t);
		const { page } = await openForeign(t, name);
		const refused = (attack) =>
			isRefused(server, "cross_site", attack);

		await refused(() => tryFetch(page, `${server.url}/`, post));
		for (const path of ["/stats", "/metrics", "/trace", "/v1/live"])
			await refused(async () => assert.equal(
				await tryFetch(page, server.url + path),
				"TypeError"));
		await refused(() => page.evaluate((u) => new Promise((done) => {
			const source = new EventSource(u);
			source.onerror = () => done(source.close());
			source.onopen = () => { throw new Error("open"); };
		}), `${server.url}/v1/live`));
		await refused(() => page.evaluate((u) => new Promise((done) => {
			const script = document.createElement("script");
			script.onload = script.onerror = done;
			script.src = u;
			document.head.append(script);
		}), `${server.url}/stats`));

		// These ask beforehand, and are not answered as they would.
		for (const [path, options] of [
			["/", { method: "POST", body: "x",
				headers: { "Content-Type": "image/jpeg" } }],
			[image, { method: "DELETE" }],
		])
			assert.equal(await tryFetch(page, server.url + path,
				options), "TypeError");
		assert.equal((await fetch(server.url + image)).status, 200);
	});

	test(`refuses the form of another ${what}`, async (t) => {
		const { server } = await serve(t);
		const { page } = await openForeign(t, name);

		await isRefused(server, "cross_site", async () => {
			await page.evaluate((u) => {
				document.body.innerHTML = `<form method=post
					enctype=multipart/form-data action=${u}>
					<input name=file value=x></form>`;
				document.forms[0].submit();
			}, `${server.url}/`);
			await page.until((u) => location.href === `${u}/` &&
				document.readyState === "complete", server.url);
		});
	});
}

test("lets other sites show a picture and link to the page", async (t) => {
	const { server, image } = await serve(t);
	const { page } = await openForeign(t, EVIL);

	assert.equal(await page.evaluate((u) => new Promise((done) => {
		const picture = new Image();
		picture.onload = () => done(picture.naturalWidth);
		picture.onerror = () => done(0);
		picture.src = u;
	}), `${server.url}${image}/image`), 64);
	await page.evaluate((u) => {
		document.body.innerHTML = `<a href=${u}>Darkroom</a>`;
	}, server.url);
	await page.click("a");
	await reaches(page, "live");
});

test("shows a stored picture by itself", async (t) => {
	const { server, image } = await serve(t);
	const page = await browser.page();

	t.after(() => page.close());
	await page.go(`${server.url}${image}/image`);
	assert.equal(await page.evaluate(
		"document.querySelector('img').naturalWidth"), 64);
});

// The name of the page pointed to its own server, and now points here.
test("refuses a page whose name was turned on it", async (t) => {
	const { page, port } = await openForeign(t, EVIL);
	const { server, image } = await serve(t, port);

	for (const [path, method] of [["/", "POST"], ["/stats", "GET"],
		["/v1/live", "GET"], ["/trace", "GET"], [image, "DELETE"],
		[`${image}/image`, "GET"]])
		await isRefused(server, "wrong_host", async () => assert.equal(
			await tryFetch(page, path, { method }), 421));
	assert.equal((await fetch(server.url + image)).status, 200);
});

// Another machine of the private network answered for the name before.
test("lets a page of a private name change nothing", async (t) => {
	const { page, port } = await openForeign(t, PRIVATE);
	const { server, image } = await serve(t, port);

	for (const [path, method] of [["/", "POST"], [image, "DELETE"]])
		await isRefused(server, "wrong_host", async () => assert.equal(
			await tryFetch(page, path, { method }), 421));
	assert.equal((await fetch(server.url + image)).status, 200);
});
