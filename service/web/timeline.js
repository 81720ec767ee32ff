// SPDX-License-Identifier: MIT
// The timeline of a request: a table with a bar in each row.

import { element } from "./dom.js";
import { formatMilliseconds } from "./figures.js";
import { stageColour } from "./stages.js";

const words = { body: "receive", queue: "wait" };

function bar({ start_ms, duration_ms }, total_ms) {
	const made = element("span", { class: "bar" });

	made.style.left = `${100 * start_ms / total_ms}%`;
	made.style.width = `${100 * duration_ms / total_ms}%`;
	return made;
}

function row({ name, duration_ms, bars }, total_ms) {
	const made = element("tr", { "data-name": name },
		element("th", { scope: "row" },
			element("span", { class: "patch" }),
			words[name] ?? name),
		element("td", {}, bars.length === 1
			? formatMilliseconds(bars[0].start_ms) : ""),
		element("td", { class: "bars" },
			...bars.map((one) => bar(one, total_ms))),
		element("td", {}, formatMilliseconds(duration_ms)));

	// Only stages have a colour of their own.
	made.style.setProperty("--colour", `var(${stageColour(name)})`);
	return made;
}

function titles() {
	return element("thead", {}, element("tr", {},
		...["step", "start", "", "duration"].map((text) => text === ""
			? element("td", { class: "bars" })
			: element("th", { scope: "col" }, text))));
}

// Shows it in `root`; seen_ms: how long the browser waited.  If the timeline is
// null, it shows only seen_ms.
export function draw(root, timeline, seen_ms) {
	const seen = element("p", {},
		`For the browser it took ${formatMilliseconds(seen_ms)}, `
		+ "from sending to the last byte.");

	if (timeline === null) {
		root.replaceChildren(seen);
		return;
	}
	const { total_ms, rows } = timeline;
	const total = { name: "total", duration_ms: total_ms, bars: [] };

	root.replaceChildren(
		element("table", {},
			element("caption", {}, "On the server, from the"
				+ " request's head to the reply"),
			titles(),
			element("tbody", {},
				...rows.map((one) => row(one, total_ms))),
			element("tfoot", {}, row(total, total_ms))),
		seen);
}
