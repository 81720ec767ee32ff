// SPDX-License-Identifier: MIT
// The numbers of threads are shown as they are, counts as rates since the last
// frame, and no rate before there are two frames.
import assert from "node:assert/strict";
import test from "node:test";
import { figuresOf } from "../../web/threads.js";

const now = { now: 3, peak: 9, ready: 1, transferring: 2, waiting: 0,
	kernel_threads: 2 };
const frame = (at_us, counts) => ({ at_us, threads: { begun: 40, ...now,
	...counts } });
const first = frame(1e6, { switches: 100, transfers: 50, steps: 70,
	preempted: 0 });

test("the first frame has no rates", () => {
	assert.deepEqual(figuresOf(first, null), now);
});

test("rates are per second", () => {
	const second = frame(1.5e6, { switches: 110, transfers: 54, steps: 70,
		preempted: 1 });

	assert.deepEqual(figuresOf(second, first), { ...now, switches: 20,
		transfers: 8, steps: 0, preempted: 2 });
});
