// SPDX-License-Identifier: MIT
// The whole server in five figures, above the picture.

import { element, setText } from "./dom.js";
import { formatBytes, formatCount, formatRate } from "./figures.js";

// Of graph_model.js's summary: a word, the figure, its limit, and how full.
const items = [
	{ word: "finished", value: (s) => formatRate(s.finished_per_s) },
	{ word: "refused", value: (s) => formatRate(s.refused_per_s),
		isAlarm: (s) => s.refused_per_s > 0 },
	{ word: "in flight", value: (s) => formatCount(s.in_flight),
		limit: (s) => formatCount(s.in_flight_max),
		share: (s) => s.in_flight / s.in_flight_max },
	{ word: "memory of uploads", value: (s) => formatBytes(s.memory_bytes),
		limit: (s) => s.memory_limit_bytes === null
			? "" : formatBytes(s.memory_limit_bytes),
		share: (s) => s.memory_limit_bytes === null
			? null : s.memory_bytes / s.memory_limit_bytes },
	{ word: "CPU cores used", value: (s) => formatCount(s.cores_used),
		limit: (s) => formatCount(s.cores),
		share: (s) => s.cores_used / s.cores },
];

function makeItem({ word, value, limit, share, isAlarm }) {
	const strong = element("strong");
	const of = element("span", { class: "quiet" });
	const level = element("span", { class: "level" });
	const gauge = element("span", { class: "gauge" }, level);
	const group = element("div", {}, element("dt", {}, word),
		element("dd", {}, strong, of, gauge));

	return {
		group,
		set(summary) {
			const bound = limit?.(summary) ?? "";
			const full = share?.(summary) ?? null;
			const width = `${100 * Math.min(full, 1)}%`;

			setText(strong, value(summary));
			setText(of, bound === "" ? "" : ` of ${bound}`);
			group.classList.toggle("alarm",
				isAlarm?.(summary) ?? false);
			gauge.hidden = full === null;
			if (level.style.width !== width)
				level.style.width = width;
		},
	};
}

// Fill a <dl>; returns a function that shows a summary.
export function strip(list) {
	const made = items.map(makeItem);

	list.replaceChildren(...made.map(({ group }) => group));
	return (summary) => made.forEach((item) => item.set(summary));
}
