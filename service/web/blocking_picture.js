// SPDX-License-Identifier: MIT
// The picture of a blocking graph, as SVG: a box for each node, with its threads
// as a queue before it.  It is made again when the graph grows; a reading only
// sets texts, lengths and widths in it.

import { svgElement, setAttribute, setText } from "./dom.js";
import { formatBytes, formatCount, formatMilliseconds, formatRate }
	from "./figures.js";
import { layout, marks } from "./graph_layout.js";
import { figure, fill, LINE, makeEdge, queueLines, text, trough }
	from "./graph_picture.js";

const NAME_CHARS = 24; // more do not fit beside the next name

export function formatTaken(bytes) {
	return (bytes > 0 ? "+" : bytes < 0 ? "−" : "") +
		formatBytes(Math.round(Math.abs(bytes)));
}

function shorten(name) {
	return name.length > NAME_CHARS
		? name.slice(0, NAME_CHARS - 1) + "…" : name;
}

// The box, filled by the node's part of the CPU time; in it, the CPU time of a
// thread from here to its next blocking point.
function makeBox(parent, { box }) {
	const level = svgElement("rect", { class: "level", x: box.x + 4, rx: 4,
		width: box.width - 8 });

	parent.append(
		svgElement("rect", { class: "inside", rx: 8, ...box }), level,
		svgElement("rect", { class: "outline", rx: 8, ...box }));
	const middle = box.x + box.width / 2;
	setText(text(parent, "head", middle, box.y + 22, "middle"), "CPU");
	const cpu = text(parent, "time", middle, box.y + 44, "middle");
	return ({ share, cpu_us_recent }) => {
		const height = (box.height - 8) * Math.min(share, 1);

		setAttribute(level, "height", height.toFixed(1));
		setAttribute(level, "y",
			(box.y + box.height - 4 - height).toFixed(1));
		setText(cpu, formatMilliseconds(cpu_us_recent / 1e3));
	};
}

// Above the box its name, below it what its threads take; where uploads move
// down, all at its side.
function makeWords(parent, node, { box }, isWide) {
	const x = isWide ? box.x + 4 : box.x + box.width + 9;
	const y = isWide ? box.y + box.height + 19 : box.y + 28;
	const name = isWide
		? text(parent, "name", box.x + box.width / 2, box.y - 10, "middle")
		: text(parent, "name", x, box.y + 12);

	setText(name, shorten(node.name));
	setText(text(parent, "head", x, y), node.at);
	const memory = figure(parent, "memory", x, y + LINE);
	const tickets = figure(parent, "tickets", x, y + 2 * LINE);
	return (figures) => {
		setText(memory, formatTaken(figures.memory_bytes_recent));
		setText(tickets, formatCount(figures.tickets));
	};
}

function makeQueue(parent, place, isWide) {
	const { queue } = place;
	const lines = queueLines(place, isWide);
	const threads = svgElement("path", { class: "events" });
	const d = trough(queue, isWide);

	parent.append(svgElement("path", { class: "trough", d }), threads);
	const ready = figure(parent, "ready", ...lines.at(0));
	const waiting = figure(parent, "waiting", ...lines.at(1));
	const visits = figure(parent, "visits", ...lines.at(2));
	return (figures) => {
		setAttribute(threads, "d",
			marks(queue, figures.queued, isWide));
		setText(ready, formatCount(figures.ready));
		setText(waiting, formatCount(figures.waiting));
		setText(visits, formatRate(figures.per_s));
	};
}

function makeNode(node, place, isWide) {
	const group = svgElement("g", { class: "node" });
	const sets = [
		makeBox(group, place),
		makeQueue(group, place, isWide),
		makeWords(group, node, place, isWide),
	];

	group.prepend(svgElement("title", {}, `${node.name}, ${node.at}`));
	return {
		group,
		set(figures) {
			sets.forEach((set) => set(figures));
		},
	};
}

function addPorts(parent, { ports, isWide }) {
	for (const port of Object.values(ports))
		parent.append(svgElement("rect",
			{ class: "port", rx: 3, ...port }));
	const { in: first, out: last } = ports;

	setText(isWide ? text(parent, "head", first.x - 20, first.y - 18)
		: text(parent, "head", first.x, first.y - 8), "new threads");
	setText(isWide ? text(parent, "head", last.x + 26, last.y - 18, "end")
		: text(parent, "head", last.x, last.y + 20), "ended");
}

// Fills svg with the plan; returns a function that shows figures of
// blocking_model.js in it.
export function draw(svg, plan, width) {
	const laid = layout(plan, width);
	const edges = laid.edges.map(makeEdge);
	const nodes = laid.nodes.map((place, i) =>
		makeNode(plan.nodes[i], place, laid.isWide));

	fill(svg, laid, edges, nodes);
	addPorts(svg, laid);
	return (figures) => {
		edges.forEach((edge, i) => edge.set(figures.edges[i]));
		nodes.forEach((node, i) => node.set(figures.nodes[i]));
	};
}
