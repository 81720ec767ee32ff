// SPDX-License-Identifier: MIT
// A shop, whose pages upload photos to a darkroom of another origin: the back end
// of docs/uploads.md, with a darkroom as that document starts it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, photo } from "./fixture.js";
import { recipes } from "./recipes.js";
import { Server } from "./server.js";

const NAME = "shop.example"; // 127.0.0.1 for the browser, see chromium.js
const KEY = "api-key-0123456789", SIGN_KEY = "sign-key-0123456789";

export const bytes = readFileSync(photo);

export class Shop {
	#front; // answers pages
	#folder = mkdtempSync(join(tmpdir(), "shop-"));
	origin;
	server;
	backEnd; // the module; its `notes` are what it logs

	static async start() {
		const shop = new Shop();

		shop.#front = createServer().listen(0, "127.0.0.1");
		await once(shop.#front, "listening");
		shop.origin = `http://${NAME}:${shop.#front.address().port}`;
		mkdirSync(join(shop.#folder, "store"));
		for (const [name, key] of [["api", KEY], ["sign", SIGN_KEY]])
			writeFileSync(join(shop.#folder, name), key,
				{ mode: 0o600 });
		await shop.startServer();
		await shop.#startBackEnd();
		return shop;
	}

	// On the port that it had before, if any.
	async startServer() {
		const file = (name) => join(this.#folder, name);

		this.server = await Server.start(["--store", file("store"),
			"--api-key-file", file("api"),
			"--sign-key-file", file("sign"),
			"--store-original", "--cors-origin", this.origin],
		this.server?.port);
	}

	async #startBackEnd() {
		const file = join(this.#folder, "back-end.mjs");
		const [program] = recipes("A back end in Node");
		const [rails] = recipes("Direct uploads of Rails");

		writeFileSync(file, `${program
			.replace("http://127.0.0.1:8080", this.server.url)
			.replace("process.env.API_KEY", `"${KEY}"`)
			.replace("process.env.SIGN_KEY", `"${SIGN_KEY}"`)
			.replace("backEnd.listen(3000);", "")
			// Of tickets that are never used.
			.replace("setTimeout(done, 1000)", "$&.unref()")
			.replaceAll("console.log", "notes.push")}
			${rails}
			export const notes = [];
			answers["POST /rails/active_storage/direct_uploads"] =
				async (request) => directUpload(JSON.parse(
					(await request.toArray()).join("")));
		`);
		this.backEnd = await import(pathToFileURL(file));
		this.#front.on("request", (request, reply) => {
			if (request.url !== "/")
				return this.backEnd.backEnd.emit("request",
					request, reply);
			reply.setHeader("Content-Type", "text/html");
			reply.end("<!doctype html><input type=file>");
		});
	}

	async end() {
		await this.server.stop();
		this.#front.closeAllConnections();
		this.#front.close();
		rmSync(this.#folder, { recursive: true });
	}

	// A page of the shop with these functions and libraries, and the photo as
	// a File.
	async page(t, ...texts) {
		const page = await browser.page();

		t.after(() => page.close());
		await this.show(page, ...texts);
		return page;
	}

	// Also after a reload.
	async show(page, ...texts) {
		await page.go(`${this.origin}/`);
		for (const text of texts)
			await page.evaluate(`${text}; undefined`);
		await page.evaluate((text) => {
			window.photo = new File([Uint8Array.from(atob(text),
				(c) => c.charCodeAt(0))], "photo.jpg",
			{ type: "image/jpeg", lastModified: 1 });
		}, bytes.toString("base64"));
	}

	ask(path, options) {
		return fetch(this.server.url + path, { ...options,
			headers: { Authorization: `Bearer ${KEY}` } });
	}

	// The image is the one that POST / gives.
	async checkImage(url) {
		const wanted = await this.ask("/?w=640&h=640",
			{ method: "POST", body: bytes });
		const got = await fetch(`${url}/image`);

		assert.equal(wanted.status, 200);
		assert.equal(got.status, 200, url);
		assert.ok(Buffer.from(await got.arrayBuffer()).equals(
			Buffer.from(await wanted.arrayBuffer())),
		"another picture");
	}
}
