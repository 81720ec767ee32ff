// SPDX-License-Identifier: MIT
// The strip above the picture: figures of the whole server in the last 5 seconds,
// each with a line of the last minute.

import { element, setAttribute, setText, svgElement } from "./dom.js";
import { formatBytes, formatCount, formatErrors, formatMilliseconds,
	formatPart, formatRate } from "./figures.js";
import { linePath, range, SECONDS } from "./graph_history.js";

const BOX = { width: 120, height: 32 };

const perSecond = (read) => ({ read, format: formatRate });

function percentile(word, place) {
	return {
		word,
		note: () => "head to reply",
		value: (s) => formatMilliseconds(s.ms?.[place]),
		lines: [{ read: (second) => second.ms?.[place],
			format: formatMilliseconds }],
	};
}

// From graph_model.js's summary: a word, the figure and a note; from each second
// of graph_history.js: one or two lines, the second one dashed.  top: the smallest
// value at the top of the box.
const items = [
	{ word: "uploads done", value: (s) => formatRate(s.ok_per_s),
		note: () => "answered 2xx",
		lines: [perSecond((second) => second.ok)] },
	percentile("p50", 0),
	percentile("p90", 1),
	percentile("p99", 2),
	{ word: "errors", value: (s) => formatErrors(s.error_share),
		note: (s) => `5xx ${formatRate(s.server_errors_per_s)}, ` +
			`4xx ${formatRate(s.client_errors_per_s)}`,
		isAlarm: (s) => s.server_errors_per_s > 0,
		lines: [
			{ ...perSecond((second) => second.server_errors),
				word: "5xx", isAlarm: true },
			{ ...perSecond((second) => second.client_errors),
				word: "4xx" },
		] },
	{ word: "uploads inside", value: (s) => formatCount(s.in_flight),
		note: (s) => `of ${formatCount(s.in_flight_max)}`,
		lines: [{ read: (second) => second.in_flight,
			format: formatCount }] },
	{ word: "memory of uploads", value: (s) => formatBytes(s.memory_bytes),
		note: (s) => s.memory_limit_bytes === null
			? "" : `of ${formatBytes(s.memory_limit_bytes)}`,
		lines: [{ read: (second) => second.memory_used_bytes,
			format: formatBytes }] },
	{ word: "CPU", value: (s) => formatPart(s.cpu),
		note: (s) => `${formatCount(s.cores_used)} of ` +
			`${formatCount(s.cores)} cores`,
		top: 1,
		lines: [{ read: (second) => second.cpu, format: formatPart }] },
];

// "51.0/s to 58.2/s"
function rangeWords({ word, format }, values) {
	const found = range(values);
	const name = word === undefined ? "" : word + " ";

	if (found === null)
		return `${name}–`;
	const [least, most] = [format(found.least), format(found.most)];
	return name + (least === most ? least : `${least} to ${most}`);
}

function makeLines({ word, lines, top = 0 }) {
	const paths = lines.map(({ isAlarm }, i) => svgElement("path", {
		class: `line${isAlarm ? " alarm" : ""}${i > 0 ? " dashed" : ""}`,
	}));
	const svg = svgElement("svg", { class: "spark", role: "img",
		"aria-label": `${word}: no figures yet`,
		viewBox: `0 -1 ${BOX.width} ${BOX.height + 2}`,
		preserveAspectRatio: "none" }, ...paths);
	const words = element("span", { class: "range quiet" });

	return {
		elements: [svg, words],
		set(history) {
			const series = lines.map(({ read }) =>
				history.series(read));
			const most = Math.max(top,
				...series.map((one) => range(one)?.most ?? 0));
			const told = series.map((one, i) =>
				rangeWords(lines[i], one)).join(", ");
			const span = history.length < SECONDS
				? `${history.length} s` : "minute";

			// Of several lines, those that are 0 are left out.
			series.forEach((one, i) => setAttribute(paths[i], "d",
				lines.length > 1 && !range(one)?.most
					? "" : linePath(one, most, BOX)));
			setText(words, told);
			setAttribute(svg, "aria-label",
				`${word} in the last ${span}: ${told}`);
		},
	};
}

function makeItem(item) {
	const { word, value, note = () => "", isAlarm } = item;
	const strong = element("strong");
	const small = element("span", { class: "quiet" });
	const lines = makeLines(item);
	const group = element("div", {}, element("dt", {}, word),
		element("dd", {}, strong, small, ...lines.elements));

	return {
		group,
		set(summary, history) {
			setText(strong, value(summary));
			setText(small, note(summary));
			group.classList.toggle("alarm",
				isAlarm?.(summary) ?? false);
			lines.set(history);
		},
	};
}

// The meaning of the figures, and whether workers lack cores.
function sayMeaning(told, { waiting_share }, history) {
	const lines = history.length < SECONDS
		? `lines: the last ${history.length} s; more is not known`
		: "lines: the last minute, with minimum and maximum";
	const waits = waiting_share >= 0.1
		? " Other programs use the cores: for another " +
			`${formatPart(waiting_share)} of the cores' time, ` +
			"workers had work but no core."
		: "";

	setText(told, `Figures of the last 5 s; ${lines}. p50, p90 and p99: ` +
		"half, nine of ten and 99 of 100 uploads took at most this, " +
		"from the head of the request to its reply. Errors are the " +
		`share of all replies to uploads.${waits}`);
}

// Fills a <dl> and a <p>; returns a function that shows a summary and a history.
export function strip(list, told) {
	const made = items.map(makeItem);

	list.replaceChildren(...made.map(({ group }) => group));
	return (summary, history) => {
		made.forEach((item) => item.set(summary, history));
		sayMeaning(told, summary, history);
	};
}
