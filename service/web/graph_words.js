// SPDX-License-Identifier: MIT
// What does not change while the server runs: how it schedules, in words, and
// how the picture is to be read.

import { element, svgElement } from "./dom.js";
import { edgeWidth } from "./graph_picture.js";

// hello.words as a list, and all of them as one line of flags.
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

function edgeSamples() {
	return [1, 10, 100, 1000].map((per_s) => element("span", {},
		sample("edge", svgElement("path", { d: "M4 12h36",
			"stroke-width": edgeWidth(per_s) })), `${per_s}/s`));
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

// A list, in the order in which uploads meet what it tells of.
export function legend(root, hasQueues) {
	const item = (name, ...children) =>
		element("li", { class: name }, ...children);

	const events = hasQueues
		? item("", eventSample(), "an event that waits; a bar, and a " +
			"count, of more than there is room for")
		: item("told", "There are no queues: each connection's own " +
			"thread runs the stages.");
	const quantiles = "p50, p90: half of all, and nine of ten, took at " +
		"most that";

	root.replaceChildren(
		item("edges", "events per second, of the last 5 s:",
			...edgeSamples()),
		events,
		item("", stageSample(), "a stage; filled as far as it keeps " +
			"the cores busy (load; above 100 %, its threads wait " +
			"for cores); of a part, events it handles"),
		item("", quantiles + (hasQueues
			? "; cohort: events handled in one visit" : "")));
}
