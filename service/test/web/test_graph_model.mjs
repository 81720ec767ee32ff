// SPDX-License-Identifier: MIT
// The graph's figures: counters become rates over the time between frames, a
// span chooses which waits are told, and what is not known is null.
import assert from "node:assert/strict";
import test from "node:test";
import { nodeFigures, picture, remember, summary }
	from "../../web/graph_model.js";
import { plan } from "../../web/graph_plan.js";

const hello = {
	stages: ["decode", "encode"], parts: 2, balance: "replicate",
	workers: [{ lane: "workers" }],
	cores: 2, uploads_max: 64, memory_limit_bytes: 1000,
};

// n events after n half seconds, from which all counters are made.
function frame(n) {
	const stage = {
		queued: n, arrived: 10 * n, handled: 9 * n,
		refused: 2 * n, load: 0.5, cpu: 0.3,
		wait_ms: { recent: [1, 2], total: [3, 4] },
		service_ms: { recent: null, total: [5, 6] },
		cohort: { recent: 1.5, total: null },
	};
	const { arrived, refused, load, cpu, ...part } = stage;

	return {
		at_us: 7e6 + n * 5e5,
		uploads: { finished: 10 * n, refused: 2 * n, in_flight: 3 },
		memory_used_bytes: 500, cpu_s: n, cpu: n === 0 ? null : 0.64,
		stages: [stage, { ...stage, arrived: 8 * n }],
		recent: { duration_s: 5, ok: 90, client_errors: 8,
			server_errors: 2, ms: [1, 2, 3] },
		parts: [[part, part], [part, part]],
		edges: [[-1, 0, 10 * n], [0, 1, 8 * n]],
	};
}

function framesTo(n) {
	let frames = [];

	for (let i = 0; i <= n; i++)
		frames = remember(frames, frame(i));
	return frames;
}

test("counters become rates over the last seconds", () => {
	const graph = plan(hello, false);
	const made = picture(graph, framesTo(30), "recent");
	const told = summary(hello, framesTo(30));

	assert.deepEqual(made.edges, [20, 16, 0]);
	assert.equal(made.refused_per_s, 4);
	assert.deepEqual(made.nodes.map(({ per_s }) => per_s), [20, 16]);
	assert.equal(made.nodes[0].refused, 20); // of the last 5 s
	assert.equal(told.ok_per_s, 18);
	assert.equal(told.error_share, 0.1);
	assert.equal(told.client_errors_per_s, 1.6);
	assert.equal(told.server_errors_per_s, 0.4);
	assert.deepEqual(told.ms, [1, 2, 3]);
	assert.equal(told.cores_used, 1.28);
	assert.equal(told.cores, 2);
});

test("of one frame there is no rate", () => {
	const made = picture(plan(hello, false), framesTo(0), "recent");

	assert.deepEqual(made.edges, [null, null, null]);
	assert.equal(summary(hello, framesTo(0)).cores_used, null);
});

test("stages at work without a core are told as that", () => {
	// 111 % of service times beside 64 % of CPU time.
	const stages = [[0.7, 0.38], [0.41, 0.25]].map(([load, cpu]) =>
		({ ...frame(1).stages[0], load, cpu }));
	const told = summary(hello, [frame(0), { ...frame(1), stages }]);
	const made = picture(plan(hello, false),
		[frame(0), { ...frame(1), stages }], "recent");

	assert.equal(told.cpu, 0.64);
	assert.ok(made.nodes.reduce((sum, { cpu }) => sum + cpu, 0) <= 0.64);
	assert.equal(told.waiting_share.toFixed(2), "0.48");
	assert.equal(summary(hello, [{ ...frame(1), stages: [
		{ ...stages[0], load: null, cpu: null }, stages[1]] }])
		.waiting_share, null);
});

test("a span chooses, and nothing measured is null", () => {
	const [node] = plan(hello, false).nodes;
	const recent = nodeFigures(node, framesTo(4), "recent");
	const total = nodeFigures(node, framesTo(30), "total");

	assert.deepEqual([recent.wait_p50, recent.wait_p90], [1, 2]);
	assert.deepEqual([total.wait_p50, total.wait_p90], [3, 4]);
	assert.deepEqual([recent.service_p50, total.service_p50], [null, 5]);
	assert.deepEqual([recent.cohort, total.cohort], [1.5, null]);
	assert.equal(total.refused, 60);
});

test("replicas have figures of their own, as far as they are told", () => {
	const made = picture(plan(hello, true), framesTo(4), "recent");
	const stored = picture(plan({ ...hello,
		stages: [...hello.stages, "store"] }, true),
	framesTo(4).map((one) => ({
		...one, stages: [...one.stages, one.stages[0]],
	})), "recent");

	assert.equal(made.nodes.length, 4);
	assert.equal(made.nodes[3].queued, 4);
	assert.equal(made.nodes[3].cpu, null);
	assert.equal(made.nodes[3].refused, null);
	// To decode, to encode and out, of each.
	assert.deepEqual(made.edges, Array(6).fill(18));
	// Some of the results go to the store, which nobody counts by replica.
	assert.deepEqual(stored.edges.slice(0, 3), [18, 18, undefined]);
	assert.equal(stored.edges.at(-1), 0);
});

test("on two ways to encode, those past blur are not counted by replica", () => {
	const steps = ["decode", "scale", "blur", "encode"];
	const frames = framesTo(4).map((one) => ({
		...one,
		stages: steps.map(() => one.stages[0]),
		parts: one.parts.map(([part]) => steps.map(() => part)),
		edges: [[-1, 0, 10], [0, 1, 10], [1, 2, 3], [1, 3, 7], [2, 3, 3]]
			.map(([from, to, n]) => [from, to, n * one.at_us / 1e6]),
	}));
	const whole = { ...hello, stages: steps };

	assert.deepEqual(picture(plan(whole, false), frames, "recent").edges,
		[10, 10, 3, 3, 7, 0]);
	assert.deepEqual(picture(plan(whole, true), frames, "recent").edges
		.slice(0, 6), [18, 18, 18, 18, undefined, 18]);
});

test("partitions have each stage once, with its own figures", () => {
	const parted = { ...hello, balance: "partition" };
	const frames = framesTo(4);
	const apart = picture(plan(parted, true, [0, 1]), frames, "recent");

	assert.deepEqual(apart,
		picture(plan(parted, false), frames, "recent"));
});
