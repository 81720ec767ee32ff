// SPDX-License-Identifier: MIT
// Pictures of the page for the documents: the three views of a server under
// load, in both themes and on a phone, and the lanes of two policies.
//
// usage: DARKROOM=PROGRAM LOADGEN=PROGRAM node pictures.js PHOTOS OUT

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Chromium } from "./chromium.js";
import { load, Server } from "./server.js";

const [photos, out] = process.argv.slice(2);
const photo = join(photos,
	readdirSync(photos).sort().find((name) => /\.jpe?g$/i.test(name)));

// Steps that take about as long as each other are all seen.
const QUERY = "w=2000&blur=8&q=90&optimize=1";
const LOAD_MS = 9000; // until recent figures are of nothing but the load
const MINUTE_MS = 62000; // until lines of the last minute are, too

const browser = await Chromium.start();

async function openLive(server) {
	const page = await browser.page();

	await page.go(server.url);
	await page.until("document.body.dataset.state === 'live'");
	return page;
}

// Calls take(page) with a page of a server with these flags after so long under
// load.
async function underLoad(flags, connections, load_ms, take) {
	const server = await Server.start(flags);
	const page = await openLive(server);
	const clients = load(server, photos, QUERY, connections);

	await sleep(load_ms);
	await take(page);
	await page.close();
	await clients.end();
	await server.stop();
}

async function show(page, view) {
	await page.click(`#tab-${view}`);
	await sleep(1000); // frames come twice a second
}

async function tryIt(page) {
	await show(page, "try");
	await page.choose("#photo", photo);
	await page.until("document.querySelector('#result').naturalWidth > 0");
}

async function takeViews(page) {
	for (const theme of ["light", "dark"]) {
		await page.prefer({ "prefers-color-scheme": theme });
		await page.screen(1280, 800);
		for (const view of ["graph", "cores"]) {
			await show(page, view);
			await page.picture(join(out, `${view}-${theme}.png`));
		}
		await page.screen(1280, 960);
		await tryIt(page);
		await page.picture(join(out, `try-${theme}.jpg`));
	}
	await page.screen(375, 1400, true);
	await show(page, "graph");
	await page.picture(join(out, "phone.png"));
}

// One second, in which a wave of 16 uploads is seen as a whole.
async function takeLanes(page, name) {
	await page.screen(720, 385);
	await show(page, "cores");
	await page.click("#pause");
	await page.click("#zoom-in");
	await page.evaluate(() => scrollTo(0, 0));
	await page.picture(join(out, `lanes-${name}.png`));
}

await underLoad([], 16, MINUTE_MS, takeViews);
for (const [name, ...flags] of [
	["cohort", "--policy", "cohort"],
	["srpt", "--policy", "srpt", "--regime", "n-gated=1"],
])
	await underLoad(flags, 16, LOAD_MS,
		(page) => takeLanes(page, name));
await browser.end();
