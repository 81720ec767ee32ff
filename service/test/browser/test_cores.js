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

// What the link asks for, in microseconds of CLOCK_MONOTONIC.
const shownUntil = (page) => page.evaluate(() => Number(
	new URL(document.querySelector("#trace-link").href)
		.searchParams.get("until_us")));

test("a paused timeline shows nothing of the future", async (t) => {
	const { page } = await openLoaded(t);

	await page.until(pixelsOfStage);
	await page.click("#pause");
	for (let i = 0; i < 3; i++)
		await page.click("#zoom-out");
	await page.until(() =>
		/^20/.test(document.querySelector("#span").textContent));
	assert.ok(await shownUntil(page) <= process.hrtime.bigint() / 1000n);
});

// Turns the wheel over the lanes, with Ctrl, as a pinch does.
const wheel = (page, deltaY, count) => page.evaluate((y, n) => {
	const lanes = document.querySelector("#lanes");
	const turn = { deltaY: y, ctrlKey: true, cancelable: true };

	for (let i = 0; i < n; i++)
		lanes.dispatchEvent(new WheelEvent("wheel", turn));
}, deltaY, count);

test("a pinch zooms as far as it goes", async (t) => {
	const { page } = await openLoaded(t);
	const span = (text) => page.until((s) => s ===
		document.querySelector("#span").textContent, text);

	await span("2.00\u00a0s");
	await wheel(page, -2, 12);
	await wheel(page, -100, 1);
	await span("1.00\u00a0s");
	await wheel(page, 10, 8);
	await span("5.00\u00a0s");
});

test("a visit is told until another is touched", async (t) => {
	const { page } = await openLoaded(t);

	await page.until(pixelsOfStage);
	await page.click("#pause");
	const at = await page.evaluate(() => {
		const { x, y, width } = document.querySelector("#lanes")
			.getBoundingClientRect();
		return { x: x + width / 2, y: y + 80 };
	});
	await page.command("Input.dispatchTouchEvent",
		{ type: "touchStart", touchPoints: [at] });
	await page.command("Input.dispatchTouchEvent",
		{ type: "touchEnd", touchPoints: [] });
	await page.until(() =>
		document.querySelector("#visit").checkVisibility());
	await changes(page, "");
	assert.ok(await isSeen(page, "#visit"));
});

test("every lane is reached by keyboard", async (t) => {
	const { page } = await openLoaded(t);
	const seen = [];

	await page.until(pixelsOfStage);
	await page.click("#pause");
	for (let i = 0; i < 6; i++)
		await page.click("#zoom-in");
	await page.evaluate(() => document.querySelector("#lanes").focus());
	for (let i = 0; i < 2; i++)
		for (const name of await page.evaluate(() =>
			[...document.querySelectorAll("#lanes-text tbody th")]
				.map((cell) => cell.textContent))) {
			await page.press("ArrowDown");
			await page.until((s) => document.querySelector("#visit")
				.textContent.startsWith(`${s}:`), name);
			seen.push(name);
		}
	assert.ok(seen.length >= 4);
});

test("without workers there are no lanes, and it says so", async (t) => {
	const { page } = await openLoaded(t,
		"--policy", "thread-per-connection");

	await page.until(() => /no workers/i.test(
		document.querySelector("#cores").innerText));
	assert.ok(!await isSeen(page, "#lanes"));
});

test("with servlib the numbers of threads stand there", async (t) => {
	const { page } = await openLoaded(t, "--policy", "servlib");

	await page.until(() => /no workers: with servlib/i.test(
		document.querySelector("#cores").innerText));
	assert.ok(!await isSeen(page, "#lanes"));
	// The page and four clients have connections, and one thread accepts.
	await page.until(() => [...document.querySelectorAll("#threads td")]
		.every((cell) => cell.innerText !== "") &&
		Number(document.querySelector("#threads td").innerText) >= 5);
});
