// SPDX-License-Identifier: MIT
// The threads of connections, with --policy servlib: a table of their numbers.

import { element, setText } from "./dom.js";
import { formatCount } from "./figures.js";

const ROWS = [
	["now", "threads of connections, and one that accepts them"],
	["peak", "the most at once"],
	["ready", "could run, and wait for a kernel thread"],
	["transferring", "wait for their clients"],
	["waiting", "wait for something else, such as the store"],
	["kernel_threads", "kernel threads that run them"],
];
// Counts since the start, shown per second.
const RATES = [
	["switches", "times per second that a kernel thread went on with one"],
	["transfers", "heads, bodies and replies per second"],
	["steps", "steps of these per second: a socket was ready"],
	["preempted", "times per second that one had run for its quantum"],
];

// The figures to show: { name: number }.  before: an earlier frame, or null.
export function figuresOf(frame, before) {
	const shown = Object.fromEntries(
		ROWS.map(([name]) => [name, frame.threads[name]]));

	if (before === null)
		return shown;
	const elapsed_s = (frame.at_us - before.at_us) / 1e6;

	for (const [name] of RATES)
		shown[name] = (frame.threads[name] - before.threads[name]) /
			elapsed_s;
	return shown;
}

export class ThreadsTable {
	#cells = new Map();
	#before = null;

	constructor() {
		this.element = element("table", { id: "threads", hidden: "" },
			element("caption", {}, "Threads of connections"),
			element("tbody", {}, ...[...ROWS, ...RATES].map(
				([name, words]) => {
					const cell = element("td");

					this.#cells.set(name, cell);
					return element("tr", {}, cell,
						element("th", { scope: "row" }, words));
				})));
	}

	hello() {
		this.#before = null;
		this.element.hidden = true;
	}

	frame(frame) {
		if (frame.threads === undefined)
			return;
		const figures = figuresOf(frame, this.#before);

		for (const [name, number] of Object.entries(figures))
			setText(this.#cells.get(name), formatCount(number));
		this.#before = frame;
		this.element.hidden = false;
	}
}
