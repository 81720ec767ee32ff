// SPDX-License-Identifier: MIT
// The figures of the picture, exact, in a table: for people who cannot see the
// picture, or want numbers.

import { element, setAttribute, setText } from "./dom.js";
import { formatPart } from "./figures.js";
import { nodeFigures } from "./graph_model.js";
import { plan as planOf } from "./graph_plan.js";
import { partName, stageColour } from "./stages.js";

const number = (digits) => new Intl.NumberFormat("en", {
	minimumFractionDigits: digits, maximumFractionDigits: digits,
}).format;
const count = number(0);
const mean = number(2);
const time = number(3);
const share = (value) => formatPart(value, 1);

const columns = [
	["per_s", "per second", mean],
	["queued", "waiting", count],
	["handled", "handled", count],
	["refused", "refused", count],
	["cpu", "CPU", share],
	["wait_p50", "wait p50", time],
	["wait_p90", "wait p90", time],
	["service_p50", "service p50", time],
	["service_p90", "service p90", time],
	["cohort", "cohort", mean],
];
const ofQueues = ["queued", "wait_p50", "wait_p90", "cohort"];

function makeCell([figure, , format], node) {
	const cell = element("td", { "data-figure": figure });
	const hasAny = node.hasQueue || !ofQueues.includes(figure);

	return {
		cell,
		set(figures) {
			const value = hasAny ? figures[figure] : null;

			setAttribute(cell, "data-value", value ?? "");
			setText(cell, value === null ? "–" : format(value));
			if (figure === "refused")
				cell.classList.toggle("alarm", value > 0);
		},
	};
}

// place: the name of its part; null: there is no such column.
function makeRow(node, shown, place) {
	const { name, part, isWhole } = node;
	const patch = element("span", { class: "patch" });
	const cells = shown.map((column) => makeCell(column, node));

	patch.style.setProperty("--colour", `var(${stageColour(name)})`);
	return {
		row: element("tr", isWhole ? { "data-stage": name }
			: { "data-name": name, "data-part": part },
		element("th", { scope: "row" }, patch, name),
		...place === null ? [] : [element("td", {}, place)],
		...cells.map(({ cell }) => cell)),
		show(frames, span) {
			const figures = nodeFigures(node, frames, span);

			cells.forEach((cell) => cell.set(figures));
		},
	};
}

// The whole stages, each followed by its parts.
function nodesOf(hello, plan) {
	const wholes = planOf(hello, false).nodes.map((node) => plan.nodes.find(
		({ stage, isWhole }) => isWhole && stage === node.stage)
		?? node);

	return wholes
		.sort((a, b) => a.stage - b.stage)
		.flatMap((whole) => [whole, ...plan.nodes.filter(
			({ stage, isWhole }) =>
				!isWhole && stage === whole.stage)]);
}

function caption(span, hasQueue, hasReplicas) {
	const chosen = hasQueue ? "Refused, waits, services and cohorts"
		: "Refused and services";
	const words = span === "recent" ? "of the last 5 seconds"
		: "since the start";
	const came = hasReplicas ? "arrived or, for a replica, were handled"
		: "came";

	return `${chosen} ${words}; per second, events that ${came}, and ` +
		"CPU (share of all cores' time) of the last 5 seconds; " +
		"handled: since the start. Times in milliseconds.";
}

// Fills the table with the figures of a plan, and `told` with their meaning;
// returns a function that shows frames.
export function tabulate(table, told, hello, plan) {
	const nodes = nodesOf(hello, plan);
	const hasQueue = nodes.some((node) => node.hasQueue);
	const shown = columns.filter(([figure]) =>
		hasQueue || !ofQueues.includes(figure));
	const isApart = nodes.some(({ part }) => part !== null);
	const place = ({ part }) => part === null
		? "all" : partName(hello.balance, part);
	const rows = nodes.map((node) =>
		makeRow(node, shown, isApart ? place(node) : null));
	const heads = ["stage", ...isApart ? ["part"] : [],
		...shown.map(([, word]) => word)]
		.map((word) => element("th", { scope: "col" }, word));

	table.replaceChildren(
		element("thead", {}, element("tr", {}, ...heads)),
		element("tbody", {}, ...rows.map(({ row }) => row)));
	return (frames, span) => {
		setText(told, caption(span, hasQueue,
			nodes.some(({ isWhole }) => !isWhole)));
		rows.forEach((row) => row.show(frames, span));
	};
}
