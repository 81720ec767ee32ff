// SPDX-License-Identifier: MIT
// A photo arrives by tus-js-client, in Node and in Chromium, although each
// connection is lost after a part or two, and the server is killed between.  No
// more than a part arrives twice for each loss.

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import { hasLibrary, library } from "./libraries.js";
import { LossyProxy } from "./lossy_proxy.js";
import { recipes } from "./recipes.js";
import { Shop, bytes } from "./shop.js";

const PART = 65536;
// Many short pauses: a test need not wait, and a busy machine may be slow.
const options = { chunkSize: PART, retryDelays: Array(2400).fill(50) };
const shop = await Shop.start();
const [byTus] = recipes("tus-js-client");
const [byUppy] = recipes("Uppy");

after(() => shop.end());

// The function of the document, in Node; undefined: tus-js-client is missing.
async function loadTus(t) {
	if (!hasLibrary(t, "tus"))
		return undefined;
	const tus = await import("tus-js-client");

	return { tus, sendInParts: new Function("tus",
		`${byTus}; return sendInParts;`)(tus) };
}

// A way to the server on which each third loss is a crash of it.
async function openLossy(t) {
	let kills = 0, restart;
	const proxy = await LossyProxy.start(t, shop.server.port, (count) => {
		if (count % 3 !== 0)
			return;
		kills++;
		restart = Promise.resolve(restart)
			.then(() => shop.server.kill())
			.then(() => shop.startServer());
	});

	return { proxy, kills: () => kills, settle: () => restart };
}

async function makeTicket(proxy) {
	const { url } = await shop.backEnd.makeTicket({ w: 640, h: 640 });

	return url.replace(shop.server.url, proxy.url);
}

// At most a part arrives twice for each loss, or as many as the client sends by
// itself: Chromium repeats a request whose connection is lost, if it had been
// used before.
async function checkLosses({ proxy, kills, settle }, repeats) {
	const twice = proxy.bodyBytes - bytes.length;

	await settle(); // the last crash may be after the upload
	proxy.isLossy = false;
	assert.ok(proxy.cuts >= 6, `${proxy.cuts} cuts`);
	assert.ok(kills() >= 2, `${kills()} kills`);
	assert.ok(twice >= 0 && twice <= proxy.cuts * PART * repeats,
		`${twice} bytes twice, with ${proxy.cuts} cuts`);
}

test("in Node, a photo arrives in spite of losses", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const lossy = await openLossy(t);
	const image = await client.sendInParts(bytes,
		await makeTicket(lossy.proxy), options);

	await checkLosses(lossy, 1);
	await shop.checkImage(image);
});

test("in Chromium, a photo arrives in spite of losses", async (t) => {
	if (!hasLibrary(t, "tus"))
		return;
	const lossy = await openLossy(t);
	const page = await shop.page(t, library("tus"), byTus);
	const image = await page.evaluate((endpoint, more) =>
		sendInParts(photo, endpoint, more),
	await makeTicket(lossy.proxy), options);

	await checkLosses(lossy, 2);
	await shop.checkImage(image);
});

test("by Uppy, a photo arrives in spite of losses", async (t) => {
	if (!hasLibrary(t, "Uppy"))
		return;
	const lossy = await openLossy(t);
	const page = await shop.page(t, library("Uppy"),
		`const newTicket = async () => "${
			await makeTicket(lossy.proxy)}"`, byUppy);
	const [image] = await page.evaluate(async (more) => {
		uppy.getPlugin("Tus").setOptions(more);
		uppy.addFile({ name: "a.jpg", type: "image/jpeg", data: photo });
		return uploadAll();
	}, options);

	await checkLosses(lossy, 2);
	await shop.checkImage(image);
});

test("one request for the whole file goes on, too", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const proxy = await LossyProxy.start(t, shop.server.port);
	const image = await client.sendInParts(bytes, await makeTicket(proxy),
		{ ...options, chunkSize: Infinity });

	assert.ok(proxy.cuts >= 6, `${proxy.cuts} cuts`);
	proxy.isLossy = false;
	await shop.checkImage(image);
});

test("a stream whose length is not known arrives", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const { url } = await shop.backEnd.makeTicket({ w: 640, h: 640 });
	const pieces = [bytes.subarray(0, 1000), bytes.subarray(1000)];

	await shop.checkImage(await client.sendInParts(Readable.from(pieces), url,
		{ ...options, uploadLengthDeferred: true }));
});

test("the upload ends although the last reply is lost", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const proxy = await LossyProxy.start(t, shop.server.port);
	const page = await shop.page(t, library("tus"), byTus);

	proxy.isLossy = false;
	for (const send of [client.sendInParts, (file, endpoint, more) =>
		page.evaluate((...values) => sendInParts(photo, ...values),
			endpoint, more)]) {
		proxy.losesEnd = true;
		await shop.checkImage(await send(bytes,
			await makeTicket(proxy), options));
		assert.ok(!proxy.losesEnd);
	}
});

// Sends three parts to the endpoint; and then the page is gone.
async function sendAndReload(page, endpoint) {
	await page.evaluate((...values) => new Promise((done) => {
		const [to, chunkSize] = values;
		let count = 0;

		sendInParts(photo, to, { chunkSize,
			onBeforeRequest: () => count === 3 ?
				new Promise(() => {}) : undefined,
			onChunkComplete: () => ++count === 3 && done() });
	}), endpoint, PART);
	await shop.show(page, library("tus"), byTus);
}

test("after a reload of the page the upload goes on", async (t) => {
	if (!hasLibrary(t, "tus"))
		return;
	const proxy = await LossyProxy.start(t, shop.server.port);
	const page = await shop.page(t, library("tus"), byTus);
	const send = async () => page.evaluate((...values) =>
		sendInParts(photo, ...values), await makeTicket(proxy), options);

	proxy.isLossy = false;
	await sendAndReload(page, await makeTicket(proxy));
	await shop.checkImage(await send());
	assert.equal(proxy.bodyBytes, bytes.length); // nothing twice

	// If the ticket is gone, the new one is used.
	const ticket = await makeTicket(proxy);

	await sendAndReload(page, ticket);
	await fetch(ticket, { method: "DELETE" });
	await shop.checkImage(await send());
});

// Sends two parts to the endpoint; then the tus.Upload is paused.
function sendTwo({ tus }, endpoint) {
	return new Promise((done, failed) => {
		let count = 0;
		const upload = new tus.Upload(bytes, { ...options, endpoint,
			onError: failed,
			onChunkComplete: async () => {
				if (++count !== 2)
					return;
				await upload.abort();
				done(upload);
			} });

		upload.start();
	});
}

test("another tus.Upload goes on by uploadUrl", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const { url: ticket } = await shop.backEnd.makeTicket({ w: 640, h: 640 });
	const { url: uploadUrl } = await sendTwo(client, ticket);
	const parts = [];

	assert.equal(uploadUrl, ticket);
	await new Promise((onSuccess, onError) => new client.tus.Upload(bytes,
		{ ...options, uploadUrl, onSuccess, onError,
			onChunkComplete: (size, end) => parts.push(end - size) })
		.start());
	assert.equal(parts[0], 2 * PART);
	const { image } = await (await fetch(ticket)).json();
	await shop.checkImage(shop.server.url + image.url);
});

test("abort(true) removes a ticket and what has arrived", async (t) => {
	const client = await loadTus(t);

	if (!client)
		return;
	const upload = await sendTwo(client, shop.backEnd.signedUrl(
		"/v1/uploads", { w: 640, h: 640 }));
	const { state, offset } = await (await fetch(upload.url)).json();

	assert.deepEqual([state, offset], ["receiving", 2 * PART]);
	await upload.abort(true);
	assert.equal((await fetch(upload.url)).status, 404);
});
