// SPDX-License-Identifier: MIT
// Upload libraries, as npm has them, on a page of another origin: with their
// usual settings they upload a photo, with the fields that they add; if they are
// set to send a file in pieces, the refusal says what to change.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openForeign, photo } from "./fixture.js";
import { hasLibrary, library } from "./libraries.js";
import { Server } from "./server.js";

const SHOP = "shop.example"; // 127.0.0.1 for the browser, see chromium.js
// A page with this library and the photo as a File; null: it is not installed.
async function openWith(t, name) {
	if (!hasLibrary(t, name))
		return null;
	const { page, port } = await openForeign(t, SHOP);
	const folder = mkdtempSync(join(tmpdir(), "widgets-"));
	const server = await Server.start(["--store", folder,
		"--cors-origin", `http://${SHOP}:${port}`]);

	t.after(async () => {
		await server.stop();
		rmSync(folder, { recursive: true });
	});
	await page.evaluate(library(name));
	await page.evaluate((text) => {
		window.photo = new File([Uint8Array.from(atob(text),
			(c) => c.charCodeAt(0))], "photo.jpg",
		{ type: "image/jpeg" });
	}, readFileSync(photo).toString("base64"));
	return { page, url: `${server.url}/v1/images?w=64` };
}

const ID = /^[0-9a-f]{64}$/;

test("FilePond stores a photo", async (t) => {
	const shop = await openWith(t, "FilePond");

	if (!shop)
		return;
	// As its documentation names the field, and as a form may.
	for (const name of ["filepond", "image"])
		assert.match(await shop.page.evaluate(async (url, field) => {
			const pond = FilePond.create({ name: field,
				instantUpload: false,
				server: { process: { url,
					onload: (text) => JSON.parse(text).id },
				} });

			await pond.addFile(photo);
			return (await pond.processFile()).serverId;
		}, shop.url, name), ID);
});

test("Uppy stores a photo, and tells progress", async (t) => {
	const shop = await openWith(t, "Uppy");

	if (!shop)
		return;
	const result = await shop.page.evaluate(async (url) => {
		const uppy = new Uppy.Uppy({ meta: { caption: "a fish" } });
		let most = 0;

		uppy.use(Uppy.XHRUpload, { endpoint: url });
		uppy.on("upload-progress", (file, progress) => {
			most = Math.max(most, progress.bytesUploaded);
		});
		uppy.addFile({ name: "photo.jpg", type: "image/jpeg",
			data: photo });
		const { successful } = await uppy.upload();

		return { body: successful[0].response.body, most };
	}, shop.url);
	assert.match(result.body.id, ID);
	assert.ok(result.most > 0);
});

test("Plupload stores a photo, and is told to send it whole", async (t) => {
	const shop = await openWith(t, "Plupload");

	if (!shop)
		return;
	// It takes files only from its own input, which it lays over a button.
	const upload = async (options) => {
		await shop.page.evaluate((url, more) => {
			document.body.innerHTML = "<button>Choose</button>";
			const loader = new plupload.Uploader({
				browse_button: document.querySelector("button"),
				url, runtimes: "html5", ...more });

			window.result = null;
			loader.bind("FileUploaded", (u, file, { response }) => {
				window.result = JSON.parse(response);
			});
			loader.bind("Error", (u, { response, message }) => {
				window.result = response ? JSON.parse(response)
					: { detail: message };
			});
			loader.bind("FilesAdded", () => loader.start());
			loader.init();
		}, shop.url, options);
		await shop.page.until(
			"document.querySelector('input[type=file]')");
		await shop.page.choose("input[type=file]", photo);
		await shop.page.until("window.result");
		return shop.page.evaluate("window.result");
	};

	assert.match((await upload({})).id, ID);
	assert.match((await upload({ chunk_size: "200kb" })).detail,
		/chunk_size: 0/);
});

test("Dropzone stores a photo, and is told to send it whole", async (t) => {
	const shop = await openWith(t, "Dropzone");

	if (!shop)
		return;
	const upload = (options) => shop.page.evaluate((url, more) =>
		new Promise((done) => {
			const box = document.createElement("div");

			document.body.append(box);
			const zone = new Dropzone(box, { url, ...more });

			zone.on("success", (file, reply) => done(reply));
			// Of a problem it gives the text.
			zone.on("error", (file, reply) =>
				done(JSON.parse(reply)));
			zone.addFile(photo);
		}), shop.url, options);

	assert.match((await upload({})).id, ID);
	assert.match((await upload({ chunking: true, forceChunking: true,
		chunkSize: 200000 })).detail, /chunking: false/);
});
