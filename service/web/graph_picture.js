// SPDX-License-Identifier: MIT
// The picture: a plan in a layout for one width, as SVG.  It is made again when
// either changes; a frame only sets texts, lengths and widths in it.

import { svgElement, setAttribute, setText } from "./dom.js";
import { formatCount, formatMilliseconds, formatPart, formatRate }
	from "./figures.js";
import { layout, marks } from "./graph_layout.js";
import { stageColour } from "./stages.js";

export const LINE = 16; // pixels from one line of figures to the next

// Width of an edge in pixels: orders of magnitude are distinguishable.
export function edgeWidth(per_s) {
	return per_s > 0 ? 1.5 + 2.5 * Math.log10(1 + per_s) : 1.5;
}

export function text(parent, name, x, y, anchor = "start") {
	const made = svgElement("text",
		{ class: name, x, y, "text-anchor": anchor });

	parent.append(made);
	return made;
}

// A label and a value on one line.
export function figure(parent, label, x, y, anchor) {
	const line = text(parent, "figure", x, y, anchor);
	const value = svgElement("tspan", { class: "value" });

	line.append(svgElement("tspan", { class: "label" }, label + "\u00a0"),
		value);
	return value;
}

function makeBox(parent, node, { box }) {
	const x = box.x + box.width / 2;

	parent.append(svgElement("rect", { class: "inside", rx: 8, ...box }));
	const level = svgElement("rect", { class: "level", x: box.x + 4, rx: 4,
		width: box.width - 8 });
	parent.append(level,
		svgElement("rect", { class: "outline", rx: 8, ...box }));
	setText(text(parent, "name", x, box.y + 25, "middle"), node.name);
	const cpu = text(parent, "cpu", x, box.y + 50, "middle");
	return (figures) => {
		const share = Math.min(figures.cpu ?? 0, 1);
		const height = (box.height - 8) * share;
		const y = box.y + box.height - 4 - height;

		setAttribute(level, "height", height.toFixed(1));
		setAttribute(level, "y", y.toFixed(1));
		setText(cpu, figures.cpu === null
			? formatRate(figures.per_s)
			: formatPart(figures.cpu));
	};
}

// Positions of a queue's figures: below it, up to the box, or at the side.
export function queueLines({ queue, box }, isWide) {
	const x = isWide ? box.x - 8 : box.x + box.width + 9;
	const y = isWide ? box.y + box.height + 19 : queue.y - 3;

	return {
		at: (line) => [x, y + line * LINE, isWide ? "end" : "start"],
		count: isWide ? [x, queue.y - 9, "end"] : [x, y, "start"],
	};
}

// The outline of a queue, open at the tail.
export function trough({ x, y, width, height }, isWide) {
	if (isWide)
		return `M${x - 4} ${y - 3}h${width + 2}` +
			`v${height + 4}h${-width - 2}`;
	return `M${x - 3} ${y - 4}v${height + 2}` +
		`h${width + 4}v${-height - 2}`;
}

function makeQueue(parent, place, isWide) {
	const { queue } = place;
	const lines = queueLines(place, isWide);
	const events = svgElement("path", { class: "events" });

	const d = trough(queue, isWide);

	parent.append(svgElement("path", { class: "trough", d }), events);
	const line = text(parent, "count", ...lines.count);
	const count = svgElement("tspan", { class: "value" });
	const word = svgElement("tspan", { class: "label" });
	line.append(count, word);
	if (isWide)
		setText(text(parent, "head", ...lines.at(0)), "wait");
	const p50 = figure(parent, "p50", ...lines.at(1));
	const p90 = figure(parent, "p90", ...lines.at(2));
	const refused = text(parent, "refused", ...lines.at(3));
	return (figures) => {
		setAttribute(events, "d", marks(queue, figures.queued, isWide));
		setText(count, formatCount(figures.queued));
		setText(word, "\u00a0waiting");
		setText(p50, formatMilliseconds(figures.wait_p50));
		setText(p90, formatMilliseconds(figures.wait_p90));
		setText(refused, figures.refused > 0
			? formatCount(figures.refused) + "\u00a0refused" : "");
	};
}

function makeService(parent, { box, queue }, isWide) {
	const x = isWide ? box.x + 4 : box.x + box.width + 9;
	const y = isWide ? box.y + box.height + 19 : box.y + 12;

	setText(text(parent, "head", x, y), "service");
	const p50 = figure(parent, "p50", x, y + LINE);
	const p90 = figure(parent, "p90", x, y + 2 * LINE);
	// A stage without a queue has no visits.
	const cohort = queue === null
		? null : figure(parent, "cohort", x, y + 3 * LINE);
	return (figures) => {
		setText(p50, formatMilliseconds(figures.service_p50));
		setText(p90, formatMilliseconds(figures.service_p90));
		if (cohort !== null)
			setText(cohort, formatCount(figures.cohort));
	};
}

function makeNode(node, place, isWide) {
	const group = svgElement("g", { class: "node" });

	group.style.setProperty("--colour", `var(${stageColour(node.name)})`);
	const setBox = makeBox(group, node, place);
	const setQueue = place.queue === null
		? () => {} : makeQueue(group, place, isWide);
	const setService = makeService(group, place, isWide);
	return {
		group,
		set(figures) {
			setBox(figures);
			setQueue(figures);
			setService(figures);
		},
	};
}

export function makeEdge(place) {
	const group = svgElement("g", { class: "edge" });
	const line = svgElement("path", { d: place.path });
	const { x, y, anchor } = place.label;

	group.append(line);
	const label = text(group, "rate", x, y, anchor);
	return {
		group,
		set(per_s) {
			const isIdle = !(per_s > 0);

			setAttribute(line, "stroke-width",
				edgeWidth(per_s).toFixed(1));
			setText(label, isIdle ? "" : formatRate(per_s));
			group.classList.toggle("unknown", per_s === undefined);
			if (isIdle === group.classList.contains("idle"))
				return;
			group.classList.toggle("idle", isIdle);
			// Below others, if it runs along one.
			if (isIdle)
				group.parentNode.prepend(group);
		},
	};
}

// Returns the element that shows refused uploads.
function addPorts(parent, { ports, isWide }) {
	for (const port of Object.values(ports))
		parent.append(svgElement("rect",
			{ class: "port", rx: 3, ...port }));
	const line = isWide
		? text(parent, "head", ports.in.x - 20, ports.in.y - 18)
		: text(parent, "head", ports.in.x, ports.in.y - 8);
	const refused = svgElement("tspan", { class: "refused" });

	line.append("uploads\u00a0\u00a0", refused);
	const { x, y } = ports.out;
	setText(isWide ? text(parent, "head", x + 26, y - 18, "end")
		: text(parent, "head", x, y + 20), "results");
	return (per_s) => setText(refused,
		per_s > 0 ? formatRate(per_s) + "\u00a0refused" : "");
}

function addTracks(parent, plan, { tracks, isWide }) {
	plan.tracks.forEach((label, track) => {
		const { x, y } = tracks[track];

		setText(isWide ? text(parent, "track", x, y + 38)
			: text(parent, "track", x + 9, y + 2), label);
	});
}

// Puts the edges and nodes that were made for a layout into svg.
export function fill(svg, laid, edges, nodes) {
	svg.setAttribute("viewBox", `0 0 ${laid.width} ${laid.height}`);
	svg.setAttribute("width", laid.width);
	svg.setAttribute("height", laid.height);
	svg.classList.toggle("tall", !laid.isWide);
	svg.replaceChildren(
		...[...edges, ...nodes].map(({ group }) => group));
}

// Fills svg with the plan; returns a function that shows figures of
// graph_model.js in it.
export function draw(svg, plan, width) {
	const laid = layout(plan, width);
	const edges = laid.edges.map(makeEdge);
	const nodes = laid.nodes.map((place, i) =>
		makeNode(plan.nodes[i], place, laid.isWide));

	fill(svg, laid, edges, nodes);
	const setRefused = addPorts(svg, laid);
	addTracks(svg, plan, laid);
	return (figures) => {
		edges.forEach((edge, i) => edge.set(figures.edges[i]));
		nodes.forEach((node, i) => node.set(figures.nodes[i]));
		setRefused(figures.refused_per_s);
	};
}
