// SPDX-License-Identifier: MIT
// The graph shows what /stats says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { openLive, photo, samples } from "./fixture.js";
import { eventually } from "./page.js";
import { load, Server } from "./server.js";

// { stage: { figure: number } }; null: nothing is known.
function figures(page) {
	return page.evaluate(() => {
		const rows = document.querySelectorAll("#figures [data-stage]");
		return Object.fromEntries([...rows].map((row) => [
			row.dataset.stage,
			Object.fromEntries(
				[...row.querySelectorAll("[data-figure]")].map(
					({ dataset: { figure, value } }) => [
						figure,
						value ? Number(value) : null,
					])),
		]));
	});
}

// Waits until the page has counted as many as these stats; its figures.
async function figuresSince(page, stats) {
	let seen;

	await eventually(async () => {
		seen = await figures(page);
		return stats.stages.every(({ name, handled }) =>
			seen[name]?.handled >= handled);
	}, "the page counts as far as /stats");
	return seen;
}

async function openTotals(t, server) {
	const page = await openLive(t, server.url, "graph");

	await page.click("input[name=span][value=total]");
	return page;
}

test("counts are those of /stats, within a frame", async (t) => {
	const server = await Server.start();
	t.after(() => server.stop());
	const page = await openTotals(t, server);
	const clients = load(server, samples, "w=320&blur=1", 4);
	t.after(() => clients.end());

	for (let i = 0; i < 3; i++) {
		const seen = await figuresSince(page, await server.stats());
		const { stages } = await server.stats();

		assert.deepEqual(Object.keys(seen), stages.map((s) => s.name));
		for (const { name, handled, refused } of stages) {
			assert.ok(seen[name].handled <= handled, name);
			assert.ok(seen[name].refused <= refused, name);
		}
	}
});

// The text of all cells, by row.
function table(page) {
	return page.evaluate(() => [...document.querySelectorAll("#figures tr")]
		.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

async function startApart(t, ...flags) {
	const server = await Server.start(flags);
	t.after(() => server.stop());
	const page = await openLive(t, server.url, "graph");

	await page.click("input[name=replicas][value=apart]");
	return page;
}

const steps = ["decode", "scale", "blur", "encode"];

test("replicas apart have a chain and rows each", async (t) => {
	const page = await startApart(t, "--balance", "replicate=2");

	await page.until(() => document.querySelector("#figures tr")
		?.cells[1].textContent === "part");

	const [heads, ...rows] = await table(page);

	assert.deepEqual(heads.slice(0, 3), ["stage", "part", "per second"]);
	assert.deepEqual(rows.map(([stage, part]) => [stage, part]),
		steps.flatMap((name) => [[name, "all"], [name, "replica 0"],
			[name, "replica 1"]]));
	assert.deepEqual(Object.keys(await figures(page)), steps);
	await page.until(() => document
		.querySelectorAll("#graph-picture .node").length === 8);
});

test("partitions apart share one chain", async (t) => {
	const page = await startApart(t, "--balance", "partition=2");

	await page.until(() => document
		.querySelector("#figures td")?.textContent === "partition 0");
	const [, ...rows] = await table(page);
	assert.deepEqual(rows.map(([stage]) => stage), steps);
	assert.ok(rows.every(([, part]) => /^partition [01]$/.test(part)));
	const nodes = await page.evaluate(() => document
		.querySelectorAll("#graph-picture .node").length);
	assert.equal(nodes, 4);
});

test("threads of connections have no figures of queues", async (t) => {
	const server = await Server.start(
		["--policy", "thread-per-connection"]);
	t.after(() => server.stop());
	const page = await openLive(t, server.url, "graph");

	await page.until(() => document.querySelector("#figures th"));
	const [heads] = await table(page);
	assert.deepEqual(heads, ["stage", "per second", "handled", "refused",
		"CPU", "service p50", "service p90"]);
});

// What of a stage does not change while nothing comes.
function steady(name, figures, unit) {
	return [
		name,
		figures.queued,
		figures[`wait${unit}_p50`],
		figures[`wait${unit}_p90`],
		figures[`service${unit}_p50`],
		figures[`service${unit}_p90`],
	];
}

test("quantiles are those of /stats, once nothing changes", async (t) => {
	const server = await Server.start(["--policy", "cohort"]);
	t.after(() => server.stop());
	const page = await openTotals(t, server);
	const clients = load(server, samples, "w=320&blur=1", 8);
	await figuresSince(page, { stages: [{ name: "encode", handled: 20 }] });
	await clients.end();

	let seen, told;
	await eventually(async () => {
		told = (await server.stats()).stages
			.map((stage) => steady(stage.name, stage, "_ms"));
		seen = Object.entries(await figures(page))
			.map(([name, row]) => steady(name, row, ""));
		return isDeepStrictEqual(seen, told);
	}).catch(() => assert.deepEqual(seen, told));
});

// Of the tiles above the picture: { word: [figure, words of its line] }.
function tiles(page) {
	return page.evaluate(() => Object.fromEntries(
		[...document.querySelectorAll("#graph dl.strip > div")].map(
			(tile) => [
				tile.querySelector("dt").textContent,
				[tile.querySelector("strong").textContent,
					tile.querySelector("svg[role=img]")
						.getAttribute("aria-label")],
			])));
}

test("the last minute is there for who comes late", async (t) => {
	const server = await Server.start();
	t.after(() => server.stop());
	const post = (body) => fetch(`${server.url}/?w=64`,
		{ method: "POST", body });

	for (let i = 0; i < 3; i++)
		assert.equal((await post(readFileSync(photo))).status, 200);
	assert.equal((await post("no picture")).status, 415);
	const page = await openLive(t, server.url, "graph");
	const seen = await eventually(async () => {
		const told = await tiles(page);
		return /4xx 0.s to 1/.test(told.errors?.[1]) && told;
	}, "the line of errors has the error");
	assert.match(seen.errors[0], /^(25.0\s%|–)$/); // of the last 5 s
	assert.match(seen["uploads done"][1], /in the last .* to [1-3].s$/);
	for (const word of ["p50", "p90", "p99"])
		assert.match(seen[word][1], /^p.* in the last .* m?s/);
	assert.deepEqual(Object.keys(seen), ["uploads done", "p50", "p90",
		"p99", "errors", "uploads inside", "memory of uploads", "CPU"]);
});

test("stages have no more CPU than the whole", async (t) => {
	const server = await Server.start(["--policy", "cohort"]);
	t.after(() => server.stop());
	const page = await openLive(t, server.url, "graph");
	const clients = load(server, samples, "w=320&blur=1", 4);
	t.after(() => clients.end());
	const told = () => page.evaluate(() => {
		const [whole] = [...document.querySelectorAll(".strip dt")]
			.filter((dt) => dt.textContent === "CPU")
			.map((dt) => parseFloat(dt.parentNode
				.querySelector("strong").textContent));
		const stages = [...document.querySelectorAll(
			"#graph-picture .cpu")].map((text) =>
			parseFloat(text.textContent) || 0);
		return { whole, sum: stages.reduce((sum, one) => sum + one) };
	});

	await eventually(async () => (await told()).sum > 5, "some load");
	for (let i = 0; i < 4; i++) {
		const { whole, sum } = await told();
		assert.ok(sum <= whole, `${sum} of ${whole}`);
		await sleep(500);
	}
});
