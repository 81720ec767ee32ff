// SPDX-License-Identifier: MIT
// The report of `loadgen compare` can be read on a phone: only tables and plots
// are wider than the screen, and each column can be scrolled to.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { browser } from "./fixture.js";

const names = ["Thread per connection with 64 connections (long)", "b".repeat(48)];

// The folder of a report of two arms, disturbed in one run.
function makeReport() {
	const folder = mkdtempSync(join(tmpdir(), "report-"));
	const runs = [1, 2, 3].flatMap((repetition) => names.map((arm, i) => ({
		arm,
		load: "closed",
		repetition,
		slice: 1,
		attempt: 1,
		result: {
			bytes_per_s: 1e6 * (i + 1) + repetition,
			responses_per_s: 10,
			requests: 1000,
			responses: { 200: 1000 },
			makespan_s: 1,
			response_ms: { p90: 100 + repetition },
			machine: { disturbed_percent: repetition === 1 ? 9 : 0 },
		},
	})));

	writeFileSync(join(folder, "results.json"), JSON.stringify({
		schema: "darkroom-compare/1",
		began: "2026-01-02T03:04:05Z",
		commit: "abc",
		dataset: "photos",
		repetitions: 3,
		machine: { cpu: "c", cores: 2, kernel: "k", memory_bytes: 1e9 },
		plan: {
			title: "Two",
			closed: { connections: 16, passes: 1 },
			arms: names.map((name) => ({ name, url: "http://h/" })),
		},
		runs,
	}));
	execFileSync(process.env.LOADGEN, ["compare", "--report", folder]);
	return folder;
}

// Of each table: may it scroll, and which part of the width is left beside its
// first column when it is scrolled to the end?
function tables() {
	return [...document.querySelectorAll("table")].map((table) => {
		const box = table.parentElement;
		box.scrollLeft = 1e6;
		const seen = box.getBoundingClientRect();
		const row = table.querySelector("tbody tr");
		const first = row.firstElementChild.getBoundingClientRect();
		const last = row.lastElementChild.getBoundingClientRect();
		return {
			isWhole: box.scrollWidth <= box.clientWidth,
			free: (seen.right - first.right) / seen.width,
			isLastSeen: last.left >= first.right - 1 &&
				last.right <= seen.right + 1,
			canFocus: box.tabIndex === 0,
		};
	});
}

test("a report's tables scroll on a phone", async (t) => {
	const page = await browser.page();
	t.after(() => page.close());
	await page.screen(360, 740, true);
	await page.go(`file://${makeReport()}/report.html`);

	const all = await page.evaluate(tables);
	assert.ok(all.length >= 5);
	assert.ok(all.some((table) => !table.isWhole));
	for (const table of all) {
		assert.ok(table.free > 0.5, JSON.stringify(table));
		assert.ok(table.isLastSeen, JSON.stringify(table));
		assert.ok(table.canFocus);
	}
	assert.ok(await page.evaluate(() =>
		document.scrollingElement.scrollWidth <= innerWidth));
	// What must be known first is above all headings but the title.
	assert.ok(await page.evaluate(() =>
		document.querySelector("h1 + .banner").getBoundingClientRect()
			.top < document.querySelector("h2")
			.getBoundingClientRect().top));
	assert.deepEqual(page.errors, []);
});
