// SPDX-License-Identifier: MIT
// What all tests here share: a browser, a server without flags, the samples.

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
