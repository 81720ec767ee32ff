// SPDX-License-Identifier: MIT
// The timeline of a request is what its Server-Timing says, of this server and
// of others, with and without the times at which steps begin.
import assert from "node:assert/strict";
import test from "node:test";
import { parse, timeline } from "../../web/server_timing.js";

test("a header is read by its grammar", () => {
	for (const [header, metrics] of [
		[null, []],
		["", []],
		["queue;dur=0.1, total;dur=10.25",
			[{ name: "queue", dur: 0.1 }, { name: "total", dur: 10.25 }]],
		["decode ; start=1.5 ;dur = \"8\"", [{ name: "decode", dur: 8, start: 1.5 }]],
		["miss, db;desc=\"a, b;dur=7\\\"\";dur=2", [{ name: "miss" }, { name: "db", dur: 2 }]],
		["broken;dur=x;start=-1", [{ name: "broken" }]],
	])
		assert.deepEqual(parse(header), metrics, header);
});

test("without begins, parts follow each other up to the end", () => {
	assert.deepEqual(timeline(parse("queue;dur=2, decode;dur=5, blur;dur=0, total;dur=10")), {
		total_ms: 10,
		rows: [
			{ name: "queue", duration_ms: 2, bars: [{ start_ms: 3, duration_ms: 2 }] },
			{ name: "decode", duration_ms: 5, bars: [{ start_ms: 5, duration_ms: 5 }] },
			{ name: "blur", duration_ms: 0, bars: [] },
		],
	});
});

test("with begins, waits are what lies between", () => {
	const { total_ms, rows } = timeline(parse("body;dur=1, queue;dur=2.5, "
		+ "decode;dur=4;start=2, scale;dur=1;start=8, blur;dur=0, total;dur=10"));

	assert.equal(total_ms, 10);
	assert.deepEqual(rows.map(({ name, bars }) => [name, ...bars.flatMap(Object.values)]), [
		["body", 0, 1],
		["queue", 1, 1, 6, 2],
		["decode", 2, 4],
		["scale", 8, 1],
		["blur"],
	]);
	assert.equal(rows[1].duration_ms, 2.5);
});

test("steps of several variants at once do not pass the end", () => {
	const { rows } = timeline(parse("decode;dur=15;start=2, scale;dur=3;start=12, total;dur=10"));

	assert.deepEqual(rows.map(({ duration_ms, bars }) => [duration_ms, ...bars.flatMap(Object.values)]),
		[[15, 2, 8], [3]]);
});

test("nothing that took time is no timeline", () => {
	assert.equal(timeline(parse(null)), null);
	assert.equal(timeline(parse("miss, total;dur=0")), null);
});
