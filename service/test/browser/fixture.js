// SPDX-License-Identifier: MIT
// What all tests here share: a browser, a server without flags, the samples.

import { createServer } from "node:http";
import { after } from "node:test";
import { Chromium } from "./chromium.js";
import { Server } from "./server.js";

export const views = ["graph", "cores", "try"];
export const samples = process.env.SAMPLES;
export const heicFile = process.env.HEIC_FILE; // a program; or empty
export const photo = `${samples}/clownfish.jpg`;

export const browser = await Chromium.start();
export const server = await Server.start();

after(async () => {
	await browser.end();
	await server.stop();
});

// A page that shows that view, until the end of the test.
export async function open(t, url, view = "") {
	const page = await browser.page();

	t.after(() => page.close());
	await page.go(`${url}/${view && "#" + view}`);
	return page;
}

// Waits until the page says that it is in that state.
export function reaches(page, state) {
	return page.until((s) => document.body?.dataset.state === s, state);
}

export async function openLive(t, url, view = "") {
	const page = await open(t, url, view);

	await reaches(page, "live");
	return page;
}

// Chooses a view by its tab.
export async function show(page, view) {
	await page.click(`#tab-${view}`);
	await page.until((id) =>
		document.getElementById(id).checkVisibility(), view);
}

export function isSeen(page, selector) {
	return page.evaluate(
		(s) => Boolean(document.querySelector(s)?.checkVisibility()),
		selector);
}

// An empty page of another server, at this name: { page, port }.  That server is
// gone then.
export async function openForeign(t, name) {
	const other = createServer((request, reply) => {
		reply.setHeader("Content-Type", "text/html");
		reply.end("<!doctype html><title>Evil</title>");
	});
	await new Promise((done) => other.listen(0, "127.0.0.1", done));
	const { port } = other.address();
	const page = await browser.page();

	t.after(() => page.close());
	await page.go(`http://${name}:${port}/`);
	other.closeAllConnections();
	await new Promise((done) => other.close(done));
	return { page, port };
}
