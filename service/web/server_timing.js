// SPDX-License-Identifier: MIT
// Reads the header Server-Timing of a reply and makes a timeline of it.  Pure.
// (The browser's own PerformanceServerTiming has no `start`.)
//
//	"queue;dur=2, decode;start=2;dur=8, total;dur=12" --parse()-->
//	[{ name: "queue", dur: 2 }, ...] --timeline()--> rows with bars

const QUOTED = '"(?:\\\\.|[^"\\\\])*"';
const METRICS = new RegExp(`(?:${QUOTED}|[^",])+`, "g");
const PARAMETERS = new RegExp(
	`;\\s*([\\w-]+)\\s*=\\s*(${QUOTED}|[^\\s",;]+)`, "g");

function times(metric) {
	return [...metric.matchAll(PARAMETERS)]
		.map(([, key, value]) =>
			[key, Number(value.replaceAll('"', ""))])
		.filter(([key, ms]) => /^(dur|start)$/.test(key) && ms >= 0);
}

// [{ name, dur, start }, ...], times in milliseconds, if given.
export function parse(header) {
	return (header?.match(METRICS) ?? []).map((metric) => ({
		name: metric.split(";")[0].trim(),
		...Object.fromEntries(times(metric)),
	}));
}

function sum(parts) {
	return parts.reduce((ms, { dur }) => ms + dur, 0);
}

// The gaps between the parts: [{ start_ms, duration_ms }, ...].
function gaps(parts) {
	const found = [];
	let end_ms = 0;

	for (const { start, dur } of
		[...parts].sort((a, b) => a.start - b.start)) {
		if (start > end_ms)
			found.push({
				start_ms: end_ms,
				duration_ms: start - end_ms,
			});
		end_ms = Math.max(end_ms, start + dur);
	}
	return found;
}

// For parts without a start: one after the other, up to the end.
function placed(parts, total_ms) {
	let at_ms = Math.max(0, total_ms - sum(parts));

	return parts.map((part) => {
		const start = at_ms;

		at_ms += part.dur;
		return { ...part, start };
	});
}

// A step's time is that of all variants, which may be made at the same time:
// its bar ends with the total.
function row({ name, dur, start }, total_ms) {
	const duration_ms = Math.min(dur, total_ms - start);
	const bars = duration_ms > 0 ? [{ start_ms: start, duration_ms }] : [];

	return { name, duration_ms: dur, bars };
}

// { total_ms, rows: [{ name, duration_ms, bars }, ...] }.  `queue` is the
// sum of all waits and has a bar for each.  Null: there is nothing to show.
export function timeline(metrics) {
	const timed = metrics.filter(({ dur }) => dur !== undefined);
	const parts = timed.filter(({ name }) => name !== "total")
		.map((part) =>
			part.name === "body" ? { start: 0, ...part } : part);
	const total_ms = timed.find(({ name }) => name === "total")?.dur
		?? sum(parts);
	const known = parts.filter(({ start }) => start !== undefined);

	if (total_ms === 0)
		return null;
	if (known.length === 0)
		return { total_ms, rows: placed(parts, total_ms)
			.map((part) => row(part, total_ms)) };
	return {
		total_ms,
		rows: parts.map((part) => part.name === "queue"
			? { ...row(part, total_ms), bars: gaps(known) }
			: row(part, total_ms)),
	};
}
