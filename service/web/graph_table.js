// SPDX-License-Identifier: MIT
// The same figures as the picture has, exact, in a table: for people who cannot
// see it, or want numbers.

import { element, setAttribute, setText } from "./dom.js";
import { stageFigures } from "./graph_model.js";
import { stageColour } from "./stages.js";

const number = (digits) => new Intl.NumberFormat("en", {
	minimumFractionDigits: digits, maximumFractionDigits: digits,
}).format;
const count = number(0);
const mean = number(2);
const time = number(3);
const share = (value) => number(1)(100 * value) + "\u00a0%";

const columns = [
	["queued", "waiting", count],
	["handled", "handled", count],
	["refused", "refused", count],
	["load", "load", share],
	["wait_p50", "wait p50", time],
	["wait_p90", "wait p90", time],
	["service_p50", "service p50", time],
	["service_p90", "service p90", time],
	["cohort", "cohort", mean],
];

function makeRow(name) {
	const patch = element("span", { class: "patch" });
	const cells = columns.map(([figure]) =>
		element("td", { "data-figure": figure }));

	patch.style.setProperty("--colour", `var(${stageColour(name)})`);
	return {
		cells,
		row: element("tr", { "data-stage": name },
			element("th", { scope: "row" }, patch, name), ...cells),
	};
}

function setRow(cells, figures) {
	columns.forEach(([figure, , format], i) => {
		const value = figures[figure];

		setAttribute(cells[i], "data-value", value ?? "");
		setText(cells[i], value === null ? "–" : format(value));
	});
	cells[2].classList.toggle("alarm", figures.refused > 0);
}

const spans = {
	recent: "Waits, services and cohorts of the last 5 seconds",
	total: "Waits, services and cohorts since the start",
};

// Fill the table for these stages; returns a function that shows a frame.
export function tabulate(table, stages) {
	const rows = stages.map(makeRow);
	const caption = element("caption");
	const heads = ["stage", ...columns.map(([, word]) => word)]
		.map((word) => element("th", { scope: "col" }, word));

	table.replaceChildren(caption,
		element("thead", {}, element("tr", {}, ...heads)),
		element("tbody", {}, ...rows.map(({ row }) => row)));
	return (frame, span) => {
		setText(caption, `${spans[span]}; times in milliseconds. ` +
			"Handled and refused since the start; load of late.");
		rows.forEach(({ cells }, i) =>
			setRow(cells, stageFigures(frame.stages[i], span)));
	};
}
