// SPDX-License-Identifier: MIT
// The graph's picture, whatever the stages and the width: nothing lies on
// anything else or outside, uploads move one way, and a queue has a mark for
// each event as long as there is room.
import assert from "node:assert/strict";
import test from "node:test";
import { layout, marks } from "../../web/graph_layout.js";
import { OUTSIDE, plan } from "../../web/graph_plan.js";

const steps = ["decode", "scale", "blur", "encode"];

function hello(more = {}) {
	return {
		stages: steps, parts: 1, balance: "shared",
		workers: [{ lane: "workers" }], ...more,
	};
}

const graphs = {
	plain: plan(hello(), false),
	all: plan(hello({ stages: [...steps, "store"] }), false),
	apart: plan(hello({ stages: [...steps, "store"], parts: 2,
		balance: "replicate" }), true),
	partitions: plan(hello({ stages: [...steps, "store"],
		parts: 2, balance: "partition" }), true, [0, 1, 1, 0]),
	threads: plan(hello({ workers: [] }), false),
};
const widths = [320, 343, 700, 1000, 1248, 2000];

function forAll(check) {
	for (const [name, graph] of Object.entries(graphs))
		for (const width of widths)
			check(graph, layout(graph, width), `${name} ${width}`);
}

function overlap(a, b) {
	return a.x < b.x + b.width && b.x < a.x + a.width &&
		a.y < b.y + b.height && b.y < a.y + a.height;
}

test("boxes and queues lie apart and inside", () => {
	forAll((_, laid, name) => {
		const all = laid.nodes.flatMap(({ box, queue }) => [box, queue])
			.filter((r) => r !== null);
		all.push(laid.ports.in, laid.ports.out);
		all.forEach((a, i) => {
			assert.ok(a.x >= 0 && a.y >= 0 &&
				a.x + a.width <= laid.width &&
				a.y + a.height <= laid.height,
				`${name}: inside`);
			for (const b of all.slice(i + 1))
				assert.ok(!overlap(a, b), `${name}: overlap`);
		});
	});
});

// Where a rate of five letters is drawn.
function textOf({ x, y, anchor }) {
	const width = 36;

	return { x: anchor === "middle" ? x - width / 2 : x, y: y - 10,
		width, height: 10 };
}

test("what an edge carries lies on nothing", () => {
	forAll((_, laid, name) => {
		const texts = laid.edges.map(({ label }) => textOf(label));
		const all = laid.nodes.flatMap(({ box, queue }) => [box, queue])
			.filter((r) => r !== null).concat(texts);

		texts.forEach((text) => {
			for (const other of all)
				assert.ok(text === other ||
					!overlap(text, other),
					`${name}: ${text.x} ${text.y}`);
		});
	});
});

test("a picture of one part fits, made smaller by a fifth at most", () => {
	for (const name of ["plain", "all", "threads"])
		for (const width of widths.filter((w) => w >= 343)) {
			const laid = layout(graphs[name], width);
			const room = laid.isWide ? width / 0.8 : width;
			assert.ok(laid.width <= room, `${name} ${width}`);
		}
});

test("uploads move right where it is wide, else down", () => {
	assert.ok(layout(graphs.all, 1248).isWide);
	assert.ok(!layout(graphs.all, 343).isWide);
	forAll((graph, laid, name) => {
		const way = (r) => laid.isWide ? r.x : r.y;
		for (const { from, to } of graph.edges) {
			const a = from === OUTSIDE
				? laid.ports.in : laid.nodes[from].box;
			const b = to === OUTSIDE
				? laid.ports.out : laid.nodes[to].box;
			assert.ok(way(a) < way(b), name);
		}
	});
});

test("a plan has the ways that uploads take", () => {
	const named = (graph) => graph.edges.map((edge) =>
		[edge.from, edge.to].map((at) => graph.nodes[at]?.name ?? "-")
			.join(" ")).sort();

	assert.deepEqual(named(graphs.plain), ["- decode", "blur encode",
		"decode scale", "encode -", "scale blur", "scale encode"]);
	assert.deepEqual(named(graphs.all), ["- decode", "blur encode",
		"decode scale", "encode -", "encode store", "scale blur",
		"scale encode", "store -"]);
	assert.equal(graphs.apart.nodes.length, 2 * steps.length + 1);
	assert.deepEqual(graphs.apart.tracks, ["replica 0", "replica 1"]);
	assert.deepEqual(named(graphs.partitions), named(graphs.all));
	assert.deepEqual(graphs.partitions.tracks,
		["partition 0", "partition 1"]);
	assert.deepEqual(graphs.partitions.nodes
		.filter(({ part }) => part !== null)
		.map(({ name, part, track }) => [name, part, track]),
	steps.map((name, i) => [name, [0, 1, 1, 0][i], [0, 1, 1, 0][i]]));
});

test("threads of connections have no queues", () => {
	for (const { queue } of layout(graphs.threads, 1248).nodes)
		assert.equal(queue, null);
});

test("a queue has a mark for each event, then a bar", () => {
	for (const width of [343, 1248]) {
		const { isWide, nodes } = layout(graphs.plain, width);
		const { queue } = nodes[0];
		const count = (events) =>
			marks(queue, events, isWide).split("z").length - 1;

		for (const events of [0, 1, 7, 40])
			assert.equal(count(events), events);
		assert.equal(count(1000), 1);
		// The first one waits next to the box.
		const [, x, y] = /M([\d.]+) ([\d.]+)h/
			.exec(marks(queue, 1, isWide));
		assert.ok(isWide ? x > queue.x + queue.width / 2
			: y > queue.y + queue.height / 2);
	}
});
