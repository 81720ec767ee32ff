// SPDX-License-Identifier: MIT
// The recipes of docs/uploads.md work as they stand there: a page of a shop,
// whose back end makes tickets and signed URLs, uploads a photo to a darkroom of
// another origin, by fetch, XMLHttpRequest and the libraries of npm.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { hasLibrary, library } from "./libraries.js";
import { eventually } from "./page.js";
import { recipes } from "./recipes.js";
import { Shop, bytes } from "./shop.js";

const shop = await Shop.start();
const [byFetch, byRequest] = recipes("A page without a library");
const [byTus] = recipes("tus-js-client");

after(() => shop.end());

test("a back end in Node makes a ticket, and learns of the image", async () => {
	const { id, url } = await shop.backEnd.makeTicket({ w: 640, h: 640 });
	const image = shop.backEnd.imageOf(id);

	await shop.server.kill(); // which it does not notice
	await shop.startServer();
	const reply = await fetch(url, { method: "PUT", body: bytes });

	assert.equal(reply.status, 201);
	await shop.checkImage(await image);
});

test("several variants are asked for by pairs", async () => {
	const pairs = [["variant", "a:w=64"], ["variant", "b:w=32"]];
	const { url } = await shop.backEnd.makeTicket(pairs);
	const signed = shop.backEnd.signedUrl("/v1/images", pairs);

	for (const [method, to] of [["PUT", url], ["POST", signed]]) {
		const reply = await fetch(to, { method, body: bytes });
		const { variants } = await reply.json();

		assert.deepEqual(variants.map((v) => v.name), ["a", "b"]);
	}
});

test("a page shows another size of a stored picture by a signed GET", async (t) => {
	const { id, url } = await shop.backEnd.makeTicket({ w: 64 });
	const page = await shop.page(t);
	const width = (method) => {
		const path = new URL(image).pathname;

		return page.evaluate(`new Promise((done) => {
			const picture = new Image();
			picture.onload = () => done(picture.naturalWidth);
			picture.onerror = () => done("refused");
			picture.src = "${shop.backEnd.signedUrl(path, { w: 48 },
		600, method)}";
		})`);
	};

	await fetch(url, { method: "PUT", body: bytes });
	const image = await shop.backEnd.imageOf(id);

	assert.equal(await width("GET"), 48);
	assert.equal(await width("POST"), "refused");
});

test("it learns of a ticket that has expired", async () => {
	const { id, url } = await shop.backEnd.makeTicket({ lifetime: 1 });

	await assert.rejects(shop.backEnd.imageOf(id), /time of this upload/);
	assert.equal((await fetch(url)).status, 410);
});

test("a page uploads by fetch", async (t) => {
	const page = await shop.page(t, byFetch);
	const image = await page.evaluate("upload(photo)");

	await shop.checkImage(image);
	await eventually(() => shop.backEnd.notes.some((note) =>
		note.endsWith(` is ${image}`)), "the back end logs the image");
});

test("a page uploads with progress, and reads a refusal", async (t) => {
	const page = await shop.page(t, byFetch, byRequest);
	const { text, image, seen } = await page.evaluate(async () => {
		const ticket = await newTicket(), seen = [];
		const note = (sent, all) => seen.push([sent, all]);
		const text = await put(new Blob(["only a text"]), ticket, note)
			.catch((error) => error.message);

		// The same ticket takes another file.
		return { text, seen,
			image: (await put(photo, ticket, note)).url };
	});

	assert.match(text, /only .*files are read/);
	assert.deepEqual(seen.at(-1), [bytes.length, bytes.length]);
	await shop.checkImage(shop.server.url + image);
});

// Uploads by tus.Upload with these options in the page; the image's URL.
function sendInParts(page, options) {
	return page.evaluate(async (more) => sendInParts(photo,
		await newTicket(), { chunkSize: 100000, ...more }), options);
}

test("tus-js-client uploads to a ticket, and options work", async (t) => {
	if (!hasLibrary(t, "tus"))
		return;
	const page = await shop.page(t, library("tus"), byFetch, byTus);

	for (const options of [{}, { uploadDataDuringCreation: true },
		{ uploadLengthDeferred: true }, { overridePatchMethod: true },
		{ metadata: { filename: "\u9b5a".repeat(255) + ".jpg" } }])
		await shop.checkImage(await sendInParts(page, options));
	await assert.rejects(sendInParts(page, { parallelUploads: 2 }),
		/parallelUploads: 1/);
});

test("tus-js-client gives the reason of a refusal", async (t) => {
	if (!hasLibrary(t, "tus"))
		return;
	const page = await shop.page(t, library("tus"), byFetch, byTus);
	const detail = await page.evaluate(async () => sendInParts(
		new Blob(["only a text"]), await newTicket())
		.catch((error) =>
			JSON.parse(error.originalResponse.getBody()).detail));

	assert.match(detail, /only .*files are read/);
});

test("the same photo chosen again is another upload", async (t) => {
	if (!hasLibrary(t, "tus"))
		return;
	const page = await shop.page(t, library("tus"), byFetch, byTus);
	const sent = () => page.requests.filter((url) =>
		url.includes("/v1/uploads/")).length;

	await shop.checkImage(await sendInParts(page, {}));
	const before = sent();
	await shop.checkImage(await sendInParts(page, {
		removeFingerprintOnSuccess: false }));
	assert.ok(sent() >= 2 * before);
	// Without the option nothing is sent, and the image is the old one.
	const old = sent();
	await shop.checkImage(await sendInParts(page, {}));
	assert.ok(sent() - old < before);
});

test("Uppy uploads each file to a ticket", async (t) => {
	if (!hasLibrary(t, "Uppy"))
		return;
	const page = await shop.page(t, library("Uppy"), byFetch,
		recipes("Uppy")[0]);
	const images = await page.evaluate(async () => {
		for (const name of ["one.jpg", "two.jpg"])
			uppy.addFile({ name, type: "image/jpeg", data: photo });
		return uploadAll();
	});

	assert.equal(images.length, 2);
	for (const image of images)
		await shop.checkImage(image);
});

test("Uppy uploads to a signed URL", async (t) => {
	if (!hasLibrary(t, "Uppy"))
		return;
	const page = await shop.page(t, library("Uppy"), recipes("Uppy")[1]);
	const image = await page.evaluate(async () => {
		const uppy = await signedUppy();

		uppy.addFile({ name: "a.jpg", type: "image/jpeg", data: photo });
		const { successful } = await uppy.upload();
		const { uploadURL } = successful[0];
		const { image } = await (await fetch(uploadURL)).json();

		return image.url;
	});

	await shop.checkImage(shop.server.url + image);
});

test("Uppy uploads to a ticket by XHRUpload", async (t) => {
	if (!hasLibrary(t, "Uppy"))
		return;
	const page = await shop.page(t, library("Uppy"), byFetch);
	const image = await page.evaluate(async () => {
		const uppy = new Uppy.Uppy();

		uppy.use(Uppy.XHRUpload, { endpoint: await newTicket(),
			method: "PUT", formData: false });
		uppy.addFile({ name: "a.jpg", type: "image/jpeg", data: photo });
		return (await uppy.upload()).successful[0].response.body.url;
	});

	await shop.checkImage(shop.server.url + image);
});

test("FilePond uploads each file to a ticket", async (t) => {
	if (!hasLibrary(t, "FilePond"))
		return;
	const page = await shop.page(t, library("FilePond"), byFetch, byRequest,
		recipes("FilePond")[0]);

	const ids = await page.evaluate(async () => {
		pond.setOptions({ instantUpload: false, allowMultiple: true });
		await pond.addFiles([photo, new File([photo], "two.jpg")]);
		return (await pond.processFiles())
			.map((file) => file.serverId);
	});

	assert.equal(ids.length, 2);
	for (const id of ids)
		await shop.checkImage(`${shop.server.url}/v1/images/${id}`);
});

test("FilePond uploads one file to a ticket as its URL", async (t) => {
	if (!hasLibrary(t, "FilePond"))
		return;
	const page = await shop.page(t, library("FilePond"), byFetch);
	const id = await page.evaluate(async () => {
		const url = await newTicket();
		const pond = FilePond.create({ instantUpload: false,
			server: { process: { url,
				onload: (text) => JSON.parse(text).id } } });

		await pond.addFile(photo);
		return (await pond.processFile()).serverId;
	});

	await shop.checkImage(`${shop.server.url}/v1/images/${id}`);
});

// DirectUpload with this file: { error, signedId, reply }.
function uploadDirectly(page, change) {
	return page.evaluate((text) => new Promise((done) => {
		let reply;
		const delegate = {
			directUploadWillCreateBlobWithXHR(xhr) {
				const { send } = xhr;

				xhr.send = (body) => send.call(xhr,
					eval(`(${text})`)(body));
			},
			directUploadWillStoreFileWithXHR(xhr) {
				xhr.addEventListener("progress", () => {
					reply = JSON.parse(xhr.response);
				});
			},
		};

		new ActiveStorage.DirectUpload(photo,
			"/rails/active_storage/direct_uploads", delegate)
			.create((error, blob) => done({ error, reply,
				signedId: blob?.signed_id }));
	}), `${change ?? ((body) => body)}`);
}

test("Rails' direct uploads store a photo", async (t) => {
	if (!hasLibrary(t, "ActiveStorage"))
		return;
	const page = await shop.page(t, library("ActiveStorage"));
	const { error, signedId } = await uploadDirectly(page);

	assert.equal(error, null);
	await shop.checkImage(await shop.backEnd.imageOf(signedId));
});

test("Rails' direct uploads are refused with a wrong checksum", async (t) => {
	if (!hasLibrary(t, "ActiveStorage"))
		return;
	const page = await shop.page(t, library("ActiveStorage"));
	const right = createHash("md5").update(bytes).digest("base64");
	const { error, reply } = await uploadDirectly(page, `(body) =>
		body.replace(${JSON.stringify(right)},
			"AAAAAAAAAAAAAAAAAAAAAA==")`);

	assert.match(error, /Status: 400/);
	assert.equal(reply.code, "digest_mismatch");
});
