// SPDX-License-Identifier: MIT
// The timeline shows what workers did, no more and no less: spans are found by
// time, forgotten when old, and what is too short for a pixel has its share.
import assert from "node:assert/strict";
import test from "node:test";
import { mostly } from "../../web/lanes_table.js";
import { height, marks, ticks, zoomed } from "../../web/marks.js";
import { ASLEEP, NOT_TOLD, Spans, UNDER_WAY } from "../../web/spans.js";

const AWAKE = { asleep_since_us: null, told_since_us: null };

// One lane; spans as frames have them, without the worker.
function laneOf(until_us, spans, asleep_since_us = null) {
	const store = new Spans(1);

	store.add(frameOf(1, until_us, { asleep_since_us }, ...spans));
	return store;
}

// Of one worker.
function frameOf(number, at_us, worker, ...spans) {
	return {
		number,
		at_us,
		workers: [{ ...AWAKE, ...worker }],
		spans: spans.map((span) => [0, ...span]),
	};
}

// Of those that have been told.
function starts(store, from_us, until_us) {
	return [...store.within(0, from_us, until_us)]
		.filter(({ stage }) => stage !== UNDER_WAY && stage !== NOT_TOLD)
		.map((span) => span.start_us);
}

test("spans are found by time", () => {
	const store = laneOf(100, [[0, 10, 10, 1], [1, 20, 10, 1], [0, 40, 20, 1]]);

	assert.deepEqual(starts(store, 0, 100), [10, 20, 40]);
	assert.deepEqual(starts(store, 15, 25), [10, 20]);
	assert.deepEqual(starts(store, 20, 40), [20]);
	assert.deepEqual(starts(store, 30, 40), []);
	assert.deepEqual(starts(store, 59, 60), [40]);
	assert.deepEqual(starts(store, 60, 100), []);
});

test("an interrupted visit is found around those that interrupted it", () => {
	const store = laneOf(100,
		[[1, 20, 5, 1], [1, 30, 5, 1], [0, 10, 50, 3]]);

	assert.deepEqual(starts(store, 0, 100), [10, 20, 30]);
	assert.deepEqual(starts(store, 50, 55), [10]);
	assert.equal(store.nearest(0, 22, 0).start_us, 20);
	assert.equal(store.nearest(0, 27, 0).start_us, 10);
});

test("the nearest span is no further than the slack", () => {
	const store = laneOf(100, [[0, 10, 0, 0], [0, 50, 10, 1]]);

	assert.equal(store.nearest(0, 12, 3).start_us, 10);
	assert.equal(store.nearest(0, 20, 3), null);
	assert.equal(store.nearest(0, 48, 3).start_us, 50);
	assert.equal(store.next(0, store.nearest(0, 48, 3), -1).start_us, 10);
	const last = store.next(0, store.nearest(0, 48, 3), 1);
	assert.equal(last.stage, UNDER_WAY);
	assert.equal(store.next(0, last, 1), null);
});

test("who is awake is in a visit that has not been told", () => {
	const awake = laneOf(100, [[0, 10, 10, 1], [1, 20, 30, 1]]);
	const [span, ...others] = awake.within(0, 60, 200);

	assert.deepEqual(others, []);
	assert.deepEqual(span,
		{ start_us: 50, end_us: 100, stage: UNDER_WAY, events: 0 });
	assert.deepEqual([...awake.within(0, 100, 200)], []);
	assert.deepEqual(marks([span], 60, 10, 128).underWay,
		{ x: -1, width: 5 });
	assert.equal([...laneOf(100, [], 70).within(0, 60, 200)].at(-1).stage,
		ASLEEP);
});

test("a frame tells since when there is something new", () => {
	const store = new Spans(1);
	const add = (at_us, asleep_since_us, ...spans) => store.add(
		frameOf(at_us / 100, at_us, { asleep_since_us }, ...spans));

	add(100, null);
	assert.equal(add(200, 150), 100);
	assert.equal(add(300, 150), 200, "sleeps on");
	assert.deepEqual(starts(store, 250, 300), [150]);
	assert.equal(add(400, null, [ASLEEP, 150, 160, 0]), 300, "woke up");
	assert.equal(add(500, null, [0, 250, 200, 9]), 250, "a long visit");
	assert.equal(add(600, 470), 470);
});

// [start, end, stage] of all there is.
function all(store) {
	return [...store.within(0, 0, Infinity)].map(
		({ start_us, end_us, stage }) => [start_us, end_us, stage]);
}

test("what is not told is no visit", () => {
	const store = new Spans(1);

	store.add(frameOf(1, 40e6, {}, [0, 39.9e6, 0.1e6, 1]));
	assert.deepEqual(all(store), [
		[9.9e6, 39.9e6, NOT_TOLD], // before the first frame
		[39.9e6, 40e6, 0],
	]);
	assert.equal(store.add(frameOf(2, 41e6, { told_since_us: 40.5e6 },
		[0, 40.5e6, 0.4e6, 1])), 40e6);
	assert.deepEqual(all(store).slice(1), [
		[39.9e6, 40e6, 0],
		[40e6, 40.5e6, NOT_TOLD],
		[40.5e6, 40.9e6, 0],
		[40.9e6, 41e6, UNDER_WAY],
	]);
	assert.deepEqual(marks([...store.within(0, 40e6, 40.5e6)],
		40e6, 0.1e6, 128).holes, [{ x: 0, width: 5 }]);
});

test("what was in frames that did not come is not told", () => {
	const store = new Spans(1);

	store.add(frameOf(1, 40e6, {}, [0, 39.9e6, 0.1e6, 1]));
	assert.equal(store.add(frameOf(4, 45e6, {}, [1, 44.6e6, 0.4e6, 1])),
		40e6);
	assert.deepEqual(all(store).slice(2), [
		[40e6, 44.6e6, NOT_TOLD],
		[44.6e6, 45e6, 1],
	]);
	store.add(frameOf(9, 50e6, { asleep_since_us: 48e6 }));
	assert.deepEqual(all(store).slice(4), [
		[45e6, 48e6, NOT_TOLD],
		[48e6, 50e6, ASLEEP],
	]);
	store.add(frameOf(19, 55e6, { asleep_since_us: 54e6 }));
	assert.deepEqual(all(store).slice(5), [
		[48e6, 50e6, ASLEEP],
		[50e6, 54e6, NOT_TOLD],
		[54e6, 55e6, ASLEEP],
	]);
});

test("from what had not ended one goes on when it has", () => {
	const store = new Spans(1);

	store.add(frameOf(1, 100, { asleep_since_us: 60 }, [0, 10, 50, 1]));
	const asleep = store.nearest(0, 80, 0);
	assert.equal(asleep.stage, ASLEEP);
	assert.equal(store.next(0, asleep, -1).start_us, 10);
	store.add(frameOf(2, 200, {}, [ASLEEP, 60, 60, 0], [1, 120, 30, 1]));
	assert.equal(store.next(0, asleep, 1).start_us, 120);
	assert.equal(store.next(0, asleep, -1).start_us, 10);
});

test("a worker's stage is one of those that are told", () => {
	const short = [[0, 980, 10, 1], [1, 990, 10, 1], [1, 1000, 5, 1]];
	const said = (worker, ...spans) =>
		mostly(500, [frameOf(2, 1010, worker, ...spans)], [-1])[0];

	assert.equal(said({ told_since_us: 980 }, ...short), 1);
	assert.equal(said({ told_since_us: 1010 }), NOT_TOLD);
	assert.equal(said({}, [0, 0, 550, 1]), UNDER_WAY);
	assert.equal(said({}, [0, 0, 950, 1]), 0);
	assert.equal(said({ asleep_since_us: 100 }), ASLEEP);
	assert.equal(mostly(500, [frameOf(2, 1010, {})], [3])[0], 3);
});

test("what is old or too much is forgotten", () => {
	const store = new Spans(2);
	let number = 0;
	const frame = (at_us, count) => ({
		number: ++number,
		at_us,
		workers: [AWAKE, AWAKE],
		spans: Array.from({ length: count },
			(_, i) => [i % 2, 0, at_us - count + i, 1, 1]),
	});

	store.add(frame(1e6, 100));
	store.add(frame(30.5e6, 100));
	assert.equal(store.count, 202, "and what was before");
	store.add(frame(31.5e6, 100));
	assert.equal(store.count, 200);
	assert.deepEqual(starts(store, 0, 2e6), []);
	for (let second = 40; second < 70; second++)
		store.add(frame(second * 1e6, 20000));
	assert.ok(store.count <= 250000, `${store.count} spans`);
	assert.ok(starts(store, 60e6, 70e6).length > 0);
});

function visit(start_us, end_us, stage, events = 1) {
	return { start_us, end_us, stage, events };
}

test("a visit of some columns is one mark", () => {
	const { visits } = marks([visit(100, 200, 2, 40)], 50, 10, 256);

	assert.deepEqual(visits,
		[{ x: 5, width: 10, stage: 2, events: 40, share: 1 }]);
});

test("a column has one mark, however many visits there are", () => {
	const crowded = Array.from({ length: 25600 },
		(_, i) => visit(i, i + 1, i % 3));
	const { visits } = marks(crowded, 0, 100, 256);

	assert.equal(visits.length, 256);
	assert.deepEqual(visits.map((mark) => mark.x), [...Array(256).keys()]);
});

test("stages have as many columns as they have of the time", () => {
	// 70, 20 and 10 us of each 100.
	const crowded = Array.from({ length: 256 }, (_, i) => [
		visit(100 * i, 100 * i + 70, 0),
		visit(100 * i + 70, 100 * i + 90, 1),
		visit(100 * i + 90, 100 * i + 100, 2),
	]).flat();
	const { visits } = marks(crowded, 0, 100, 256);
	const columns = [0, 1, 2].map((stage) =>
		visits.filter((mark) => mark.stage === stage).length);

	[0.7, 0.2, 0.1].forEach((share, stage) => assert.ok(
		Math.abs(columns[stage] - share * 256) <= 2, `${columns}`));
});

test("a column tells its share of time, and the mean of its events", () => {
	const { visits } = marks([visit(110, 120, 0, 1), visit(150, 165, 0, 4)],
		0, 100, 256);

	assert.equal(visits.length, 1);
	assert.equal(visits[0].x, 1);
	assert.ok(Math.abs(visits[0].share - 0.25) < 1e-9);
	assert.equal(visits[0].events, 2.5);
});

test("visits that handled nothing, and sleeps, are no visits", () => {
	const drawn = marks([
		visit(100, 102, 0, 0), visit(102, 103, 1, 0),
		visit(500, 503, ASLEEP, 0), visit(503, 504, ASLEEP, 0),
		visit(600, 900, ASLEEP, 0),
	], 0, 10, 256);

	assert.deepEqual(drawn.visits, []);
	assert.deepEqual(drawn.empty, [10]);
	assert.deepEqual(drawn.sleeps,
		[{ x: 50, width: 1 }, { x: 60, width: 30 }]);
});

test("a larger cohort is higher, up to the whole lane", () => {
	assert.ok(height(1) < height(2) && height(2) < height(16));
	assert.equal(height(1000), 1);
});

test("zoom goes from 20 ms to 20 s and no further", () => {
	assert.equal(zoomed(2e6, -1), 1e6);
	assert.equal(zoomed(2e6, 1), 5e6);
	assert.equal(zoomed(20e3, -1), 20e3);
	assert.equal(zoomed(20e6, 1), 20e6);
});

test("ticks are round and no more than fit", () => {
	assert.deepEqual(ticks(1.93e6, 3.93e6, 5),
		{ at_us: [2e6, 2.5e6, 3e6, 3.5e6], digits: 1 });
	assert.deepEqual(ticks(0, 20e3, 4).digits, 3);
	for (let span_us = 20e3; span_us <= 20e6; span_us = zoomed(span_us, 1)) {
		const { at_us } = ticks(12345, 12345 + span_us, 8);

		assert.ok(at_us.length >= 2 && at_us.length <= 9);
		if (span_us === 20e6)
			break;
	}
});
