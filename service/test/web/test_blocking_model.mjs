// SPDX-License-Identifier: MIT
// A blocking graph becomes a plan in which every node has a place of its own and
// every edge its ends; counters become rates; and another graph begins anew.
import assert from "node:assert/strict";
import test from "node:test";
import { figuresOf, planOf, remember, shapeOf } from "../../web/blocking_model.js";
import { layout } from "../../web/graph_layout.js";
import { OUTSIDE } from "../../web/graph_plan.js";

// Nodes by their previous ones; n threads have passed each edge.
function graphOf(previous, edges, n = 0) {
	return {
		at_us: 7e6 + n * 1e6,
		nodes: previous.map((before, id) => ({
			id, previous: before, function: `f${id}`, file: "a.c",
			line: id, ready: 2, waiting: 1, tickets: 64,
			visits: 10 * n, cpu_us_mean: 100 * (id + 1),
			cpu_us_recent: 90, memory_bytes_recent: 5,
		})),
		edges: edges.map(([from, to]) =>
			({ from, to, count: 10 * n, begun: n })),
	};
}

const chain = [[null, 0, 1, 2], [[null, 0], [0, 1], [1, 2], [2, 3], [3, null]]];
const tree = [
	[null, 0, 1, 1, 0, 4, null],
	[[null, 0], [0, 1], [1, 2], [1, 3], [0, 4], [4, 5], [5, null],
		[2, null], [3, null], [1, null], [null, 6], [6, null]],
];
const loop = [[null, 0, 1], [[null, 0], [0, 1], [1, 2], [2, 1], [2, 2], [2, null]]];

test("a chain is one track, from left to right", () => {
	const plan = planOf(graphOf(...chain));

	assert.deepEqual(plan.nodes.map(({ rank, track }) => [rank, track]),
		[[0, 0], [1, 0], [2, 0], [3, 0]]);
	assert.deepEqual(plan.edges.at(0), { from: OUTSIDE, to: 0 });
	assert.deepEqual(plan.edges.at(-1), { from: 3, to: OUTSIDE });
	assert.equal(plan.ranks, 4);
	assert.equal(plan.tracks.length, 1);
	assert.deepEqual(plan.nodes.map(({ name, at }) => `${name} ${at}`),
		["f0 a.c:0", "f1 a.c:1", "f2 a.c:2", "f3 a.c:3"]);
});

test("a call that is passed again has another name", () => {
	const graph = graphOf(...chain);

	for (const node of graph.nodes.slice(1))
		Object.assign(node, { function: "send", line: 9 });
	assert.deepEqual(planOf(graph).nodes.map(({ name }) => name),
		["f0", "send", "send, 2nd time", "send, 3rd time"]);
});

test("no two nodes have the same place, and a child comes after", () => {
	for (const graph of [chain, tree, loop]) {
		const { nodes, tracks, ranks } = planOf(graphOf(...graph));
		const places = nodes.map(({ rank, track }) => `${rank} ${track}`);

		assert.equal(new Set(places).size, nodes.length);
		nodes.forEach(({ rank, track }, id) => {
			const before = graph[0][id];
			assert.equal(rank, before === null
				? 0 : nodes[before].rank + 1);
			assert.ok(rank < ranks && track < tracks.length);
		});
	}
});

test("boxes lie apart, and every edge has a way", () => {
	for (const graph of [chain, tree, loop])
		for (const width of [343, 1248]) {
			const laid = layout(planOf(graphOf(...graph)), width);
			const boxes = laid.nodes.map(({ box }) => box);

			boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) =>
				assert.ok(a.x >= b.x + b.width ||
					b.x >= a.x + a.width ||
					a.y >= b.y + b.height ||
					b.y >= a.y + a.height)));
			for (const { path, label } of laid.edges) {
				assert.ok(!/NaN|undefined/.test(path), path);
				assert.ok(label.x >= 0 && label.y >= 0);
			}
		}
});

test("an edge back begins and ends at the side of its boxes", () => {
	const { edges, nodes } = layout(planOf(graphOf(...loop)), 1248);
	const [, x, y, endX, endY] =
		/^M ([\d.]+) ([\d.]+) C .* ([\d.]+) ([\d.]+)$/
			.exec(edges[3].path).map(Number);

	assert.ok(x > nodes[2].box.x && x < nodes[2].box.x + nodes[2].box.width);
	assert.ok(endX > nodes[1].box.x &&
		endX < nodes[1].box.x + nodes[1].box.width);
	assert.equal(y, nodes[2].box.y);
	assert.equal(endY, nodes[1].box.y);
});

test("counters become rates over the last seconds", () => {
	let readings = [];

	for (let n = 0; n <= 20; n++)
		readings = remember(readings, graphOf(...chain, n));
	assert.ok(readings.length <= 6);
	const { nodes, edges } = figuresOf(readings);
	assert.deepEqual(edges.map(Math.round), [11, 11, 11, 11, 11]);
	assert.deepEqual(nodes.map(({ per_s }) => per_s), [10, 10, 10, 10]);
	assert.deepEqual(nodes.map(({ share }) => share), [0.1, 0.2, 0.3, 0.4]);
	assert.deepEqual(nodes.map(({ queued }) => queued), [3, 3, 3, 3]);
});

test("one reading has no rates", () => {
	const { nodes, edges } =
		figuresOf(remember([], graphOf(...chain)));

	assert.deepEqual(edges, [null, null, null, null, null]);
	assert.deepEqual(nodes.map(({ share }) => share), [0, 0, 0, 0]);
});

test("readings of another graph, or of another server, are forgotten", () => {
	const readings = remember([], graphOf(...chain, 4));

	assert.equal(remember(readings, graphOf(...tree, 5)).length, 1);
	assert.equal(remember(readings, graphOf(...chain, 1)).length, 1);
	assert.equal(remember(readings, graphOf(...chain, 5)).length, 2);
	assert.notEqual(shapeOf(graphOf(...chain)), shapeOf(graphOf(...tree)));
});
