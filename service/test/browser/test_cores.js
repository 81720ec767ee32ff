// SPDX-License-Identifier: MIT
// The timeline shows the workers at work, stands still when asked to, and leads
// to a trace of what it shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isSeen, openLive, samples } from "./fixture.js";
import { load, Server } from "./server.js";

// A live page that shows the lanes of a server under load.
async function openLoaded(t, ...flags) {
	const server = await Server.start(flags);
	t.after(() => server.stop());
	const clients = load(server, samples, "w=320&blur=1", 4);
	t.after(() => clients.end());
	const page = await openLive(t, server.url, "cores");

	return { page, server };
}

const picture = (page) => page.evaluate(() =>
	document.querySelector("#lanes").toDataURL());

// Waits until the canvas shows something else.
const changes = (page, from) => page.until((data) =>
	document.querySelector("#lanes").toDataURL() !== data, from);

// How many pixels have the colour of the first stage, in the page.
function pixelsOfStage() {
	const canvas = document.querySelector("#lanes");
	const { data } = canvas.getContext("2d")
		.getImageData(0, 0, canvas.width, canvas.height);
	const colour = getComputedStyle(document.documentElement)
		.getPropertyValue("--stage-decode").match(/[0-9a-f]{2}/gi)
		.map((byte) => parseInt(byte, 16));
	let count = 0;

	for (let i = 0; i < data.length; i += 4)
		count += colour.every((value, j) => data[i + j] === value);
	return count;
}

test("lanes show the stages that work", async (t) => {
	const { page } = await openLoaded(t);

	await page.until(pixelsOfStage);
	assert.match(await page.evaluate(() =>
		document.querySelector("#lanes-text").textContent), /worker-0/);
	assert.deepEqual(page.errors, []);
});

test("lanes stand still while paused", async (t) => {
	const { page } = await openLoaded(t);
	const isPressed = () => page.evaluate(() =>
		document.querySelector("#pause").getAttribute("aria-pressed"));

	await changes(page, await picture(page));
	assert.equal(await isPressed(), "false");
	await page.click("#pause");
	assert.equal(await isPressed(), "true");
	const still = await picture(page);
	await page.click("#zoom-in");
	await changes(page, still);
	await page.click("#zoom-out");
	await page.until((data) =>
		document.querySelector("#lanes").toDataURL() === data, still);
	await page.click("#pause");
	assert.equal(await isPressed(), "false");
	await changes(page, still);
});

test("the link gives a trace with the workers", async (t) => {
	const { page } = await openLoaded(t);

	await page.until(pixelsOfStage);
	await page.click("#pause");
	const link = await page.until(() =>
		document.querySelector("#trace-link").href);
	const events = await (await fetch(link)).json();
	assert.ok(events.some((event) => event.name === "decode"));
});

test("without workers there are no lanes, and it says so", async (t) => {
	const { page } = await openLoaded(t,
		"--policy", "thread-per-connection");

	await page.until(() => /no workers/i.test(
		document.querySelector("#cores").innerText));
	assert.ok(!await isSeen(page, "#lanes"));
});
