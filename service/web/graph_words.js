// SPDX-License-Identifier: MIT
// Texts that do not change while the server runs: its schedule in words, and the
// legend of the picture.

import { element, svgElement } from "./dom.js";
import { edgeWidth } from "./graph_picture.js";

// Policies with one queue for all stages.
const central = ["color"];

// hello.words as a list, and the schedule as one line of flags.
export function words(root, hello) {
	const quiet = (text) => element("span", { class: "quiet" }, text);
	const list = hello.words.map(({ flag, value, meaning }) =>
		element("div", {}, element("dt", {}, quiet(flag), " ", value),
			element("dd", {}, meaning)));

	root.replaceChildren(element("dl", {}, ...list),
		element("pre", {}, element("code", {}, hello.schedule)));
}

function sample(name, ...shapes) {
	return svgElement("svg", { class: name, width: 44, height: 24,
		"aria-hidden": true }, ...shapes);
}

function edgeSample(name, per_s) {
	return sample(name, svgElement("path", { d: "M4 12h36",
		"stroke-width": edgeWidth(per_s) }));
}

function edgeSamples() {
	return [1, 10, 100, 1000].map((per_s) => element("span", {},
		edgeSample("edge", per_s), `${per_s}/s`));
}

function eventSample() {
	const d = [7, 15, 23, 31].map((x) => `M${x} 9h6v6h-6z`).join("");

	return sample("node", svgElement("path", { class: "events", d }));
}

function stageSample() {
	const box = { x: 8, y: 2, width: 28, height: 20, rx: 4 };
	const level = { x: 10, y: 12, width: 24, height: 8 };

	return sample("node", svgElement("rect", { class: "inside", ...box }),
		svgElement("rect", { class: "level", ...level }),
		svgElement("rect", { class: "outline", ...box }));
}

// The legend of queues, if there are any.
function queueItems(hello, item) {
	if (hello.workers.length === 0)
		return [item("told", "There are no queues: each connection's " +
			"own thread runs the stages.")];
	const items = [item("", eventSample(), "an event that waits; a bar " +
		"with a number: more events than can be drawn")];

	if (central.includes(hello.policy))
		items.push(item("told", `Policy ${hello.policy} has one ` +
			"queue for all stages: each event in it is drawn " +
			"before the stage that it waits for."));
	return items;
}

// The legend, in the order of an upload's way; plan: what is drawn.
export function legend(root, hello, { nodes }) {
	const item = (name, ...children) =>
		element("li", { class: name }, ...children);
	const isWhole = nodes.every((node) => node.isWhole);

	root.replaceChildren(
		item("edges", "events per second, in the last 5 s:",
			...edgeSamples(), ...isWhole ? [] : [element("span", {},
				edgeSample("edge unknown", 0), "not known")]),
		...queueItems(hello, item),
		item("", stageSample(), "a stage, filled by the CPU time " +
			"that it used in the last 5 s, as a share of the " +
			"time of all cores; all stages and the other " +
			"threads add up to the CPU figure above" + (isWhole
			? "" : "; for a replica: events handled per second")),
		item("", "p50, p90: half of all, and nine of ten, took at " +
			"most this time" + (hello.workers.length > 0
			? "; cohort: events handled in one visit" : "")));
}
