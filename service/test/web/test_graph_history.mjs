// SPDX-License-Identifier: MIT
// The last minute of the page is that of the server: a second is told once, one
// without replies counts as zero, and one that nobody told of is a gap.
import assert from "node:assert/strict";
import test from "node:test";
import { History, linePath, range, SECONDS } from "../../web/graph_history.js";

const second = (number, ok) => ({ second: number, ok, client_errors: 0,
	server_errors: 0, ms: [1, 2, 3], in_flight: 4,
	memory_used_bytes: 5, cpu: 0.5 });

function historyOf(from, to, ...seconds) {
	const history = new History();

	history.begin({ from, to, seconds });
	return history;
}

const uploads = (history) => history.series(({ ok }) => ok);

test("who comes late sees the minute before", () => {
	const history = historyOf(940, 1000, second(950, 7), second(999, 8));
	const told = uploads(history);

	assert.equal(history.length, SECONDS);
	assert.equal(told.length, SECONDS);
	assert.equal(told[10], 7);
	assert.equal(told[59], 8);
	assert.equal(told.filter((ok) => ok === 0).length, 58);
	assert.equal(history.series(({ ms }) => ms?.[2])[10], 3);
	assert.equal(history.series(({ ms }) => ms?.[2])[11], null);
});

test("a frame adds its seconds, and the oldest go", () => {
	const history = historyOf(940, 1000, second(940, 1), second(941, 2));

	history.add({ from: 997, to: 1002, seconds: [second(1001, 9)] });
	const told = uploads(history);
	assert.equal(told[0], 0); // 942
	assert.equal(told[59], 9);
	assert.equal(history.length, SECONDS);
	// The same again, as frames overlap.
	history.add({ from: 998, to: 1002, seconds: [second(1001, 9)] });
	assert.deepEqual(uploads(history), told);
});

test("what is not known is a gap", () => {
	const young = historyOf(995, 1000);

	assert.equal(young.length, 5);
	assert.deepEqual(uploads(young).slice(53), [null, null, 0, 0, 0, 0, 0]);
	young.add({ from: 1010, to: 1015, seconds: [] }); // missed frames
	assert.deepEqual(uploads(young).slice(43, 56),
		[0, 0, ...Array(10).fill(null), 0]);
	young.begin({ from: 5, to: 7, seconds: [] }); // another server
	assert.equal(young.length, 2);
});

test("a line has the values, and breaks at gaps", () => {
	const box = { width: 60, height: 20 };

	assert.equal(linePath([null, null], 0, box), "");
	assert.equal(linePath([5, 10, null], 10, box),
		"M0.0 10.0L10.0 10.0L30.0 0.0");
	assert.equal(linePath([null, 10, null], 10, box),
		"M20.0 0.0L30.0 0.0L40.0 0.0");
	assert.equal(linePath([0, 0], 0, box), "M0.0 20.0L15.0 20.0L45.0 20.0");
	assert.deepEqual(range([null, 3, 1]), { least: 1, most: 3 });
	assert.equal(range([null]), null);
});
