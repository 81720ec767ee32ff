// SPDX-License-Identifier: MIT
// The blocking graph is shown where the policy has one: nodes, edges and figures
// are those of /v1/blocking-graph.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axeSource, violations } from "./axe.js";
import { browser, isSeen, openLive, samples, server } from "./fixture.js";
import { eventually } from "./page.js";
import { load, Server } from "./server.js";

// After some uploads.  All have ended, or lose their clients now.
async function serve(t) {
	const threads = await Server.start(["--policy", "capriccio"]);
	t.after(() => threads.stop());
	const clients = load(threads, samples, "w=320&blur=1", 4);
	const page = await openLive(t, threads.url, "graph");

	await page.until(() => [...document.querySelectorAll(
		"#blocking-points [data-figure=visits]")]
		.filter((cell) => parseInt(cell.textContent, 10) > 9).length >= 4);
	await clients.end();
	return { threads, page };
}

// When no upload is inside any more.
async function graphOf(threads) {
	await eventually(async () =>
		(await threads.stats()).uploads.in_flight === 0, "all have ended");
	return (await fetch(`${threads.url}/v1/blocking-graph`)).json();
}

test("a policy of other workers has no blocking graph", async (t) => {
	const other = await Server.start(["--policy", "color"]);
	t.after(() => other.stop());
	const page = await openLive(t, other.url, "graph");

	await page.until(() => document.querySelector("#figures td"));
	assert.ok(!await isSeen(page, "#blocking"));
	assert.ok(!page.requests.some((url) => url.includes("blocking-graph")));
});

test("nodes, edges and figures are those of the report", async (t) => {
	const { threads, page } = await serve(t);
	const { nodes, edges, resources } = await graphOf(threads);
	const count = (selector) => page.evaluate((s) =>
		document.querySelectorAll(s).length, selector);

	assert.equal(nodes.length, 4);
	// Uploads that lost their client end early: edges that come with the next
	// reading.
	await page.until((n) => document.querySelectorAll(
		"#blocking-picture .edge").length === n, edges.length);
	assert.equal(await count("#blocking-picture .node"), nodes.length);
	assert.equal(await count("#blocking-points tbody tr"), nodes.length);
	assert.equal(await count("#resources tbody tr"), resources.length);
	assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll(
		"#blocking-points [data-figure=at]")]
		.map((cell) => cell.textContent)),
	nodes.map(({ file, line }) => `${file}:${line}`));
	const names = await page.evaluate(() => [...document.querySelectorAll(
		"#blocking-points tbody th")].map((cell) => cell.textContent));
	assert.equal(new Set(names).size, nodes.length, "each has its own name");
	nodes.forEach((node, i) => assert.ok(names[i].startsWith(node.function)));
	assert.deepEqual(page.errors, []);
});

test("it fits on a phone, and asks for nothing while hidden", async (t) => {
	const { page } = await serve(t);
	const asked = () => page.requests.filter((url) =>
		url.endsWith("v1/blocking-graph")).length;

	await page.screen(375, 700, true);
	await page.until(() => document.querySelector("#blocking-picture.tall"));
	await page.fits();
	await page.click("#tab-cores");
	const before = asked();
	await page.until(() => new Promise((done) => setTimeout(done, 2500, true)));
	assert.ok(asked() <= before + 1, "one may have been under way");
});

test("the graph has no violation that axe-core finds", async (t) => {
	const source = await axeSource(browser);
	if (!source)
		return t.skip("no axe-core here, nor in Chromium");

	const { page } = await serve(t);
	for (const theme of ["light", "dark"]) {
		await page.prefer({ "prefers-color-scheme": theme });
		assert.deepEqual(await violations(page, source), [], theme);
	}
});
