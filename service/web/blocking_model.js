// SPDX-License-Identifier: MIT
// The blocking graph of GET v1/blocking-graph as a plan for graph_layout.js, and
// its figures.  Pure.
//
// The nodes are a tree of paths: each is a call site and the node before it.  So
// a node's rank is its depth, and the first child of a node is in its track; each
// further child begins a track of its own.

import { OUTSIDE } from "./graph_plan.js";

const RECENT_US = 5e6;

// Changes when the graph has other nodes or edges than before.
export function shapeOf({ nodes, edges }) {
	return [
		...nodes.map(({ previous, file, line }) =>
			`${previous}>${file}:${line}`),
		...edges.map(({ from, to }) => `${from}-${to}`),
	].join(" ");
}

// The readings of the last seconds and one more; the newest is last.  They have
// the same shape, so that an id means the same node in all of them.
export function remember(readings, reading) {
	const shape = shapeOf(reading);

	return [...readings.filter((one) => shapeOf(one) === shape &&
		one.at_us < reading.at_us &&
		one.at_us >= reading.at_us - RECENT_US), reading];
}

// Gives all nodes after `parent` a rank and a track; returns the number of tracks.
function place(nodes, placed, parent, rank, track, trackCount) {
	let count = trackCount;

	nodes.filter(({ previous }) => previous === parent).forEach(
		({ id }, i) => {
			const own = i === 0 ? track : count++;

			placed.set(id, { rank, track: own });
			count = place(nodes, placed, id, rank + 1, own, count);
		});
	return count;
}

// The function; and, because a thread can pass the same call several times, how
// often it has done so on its way to here.
function nameOf({ nodes }, node) {
	const isSame = ({ file, line }) =>
		file === node.file && line === node.line;
	let count = 0;

	for (let at = node; at !== undefined;
		at = nodes.find(({ id }) => id === at.previous))
		count += isSame(at);
	const ordinal = ["", "2nd", "3rd"][count - 1] ?? `${count}th`;
	return node.function + (count > 1 ? `, ${ordinal} time` : "");
}

// Returns what layout() needs: { nodes: [{ name, at, rank, track, hasQueue }],
// edges: [{ from, to }] of indexes of nodes, ranks, tracks }, nodes and edges in
// the order of the graph.
export function planOf(graph) {
	const placed = new Map();
	const tracks = place(graph.nodes, placed, null, 0, 0, 1);
	const index = new Map(graph.nodes.map(({ id }, i) => [id, i]));
	const at = (id) => id === null ? OUTSIDE : index.get(id);
	const nodes = graph.nodes.map((node) => ({
		name: nameOf(graph, node),
		at: `${node.file}:${node.line}`,
		hasQueue: true,
		...placed.get(node.id),
	}));

	return {
		nodes,
		edges: graph.edges.map(({ from, to }) =>
			({ from: at(from), to: at(to) })),
		ranks: Math.max(0, ...nodes.map(({ rank }) => rank)) + 1,
		tracks: Array.from({ length: tracks }, () => ""),
	};
}

// Growth per second from the first to the last reading; null with only one.
function rate(readings, read) {
	const first = readings[0];
	const last = readings.at(-1);
	const duration_s = (last.at_us - first.at_us) / 1e6;

	return duration_s > 0 ? (read(last) - read(first)) / duration_s : null;
}

// Figures of { nodes, edges } in the order of the plan.  Of a node: what the
// server says of it; `queued`, all its threads; `per_s`, visits per second; and
// `share`, its part of the CPU time that all nodes used lately.  Of an edge:
// threads per second, also those that began at its end, sent by a thread that was
// at its beginning.
export function figuresOf(readings) {
	const { nodes, edges } = readings.at(-1);
	const used_us = nodes.map((_, i) => rate(readings, (reading) =>
		reading.nodes[i].visits * reading.nodes[i].cpu_us_mean));
	const all_us = used_us.reduce((sum, one) => sum + one, 0);

	return {
		nodes: nodes.map((node, i) => ({
			...node,
			queued: node.ready + node.waiting,
			per_s: rate(readings, (reading) => reading.nodes[i].visits),
			share: all_us > 0 ? Math.max(0, used_us[i] / all_us) : 0,
		})),
		edges: edges.map((_, i) => rate(readings, (reading) =>
			reading.edges[i].count + reading.edges[i].begun)),
	};
}
