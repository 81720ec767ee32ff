// SPDX-License-Identifier: MIT
// Figures for people: three significant digits and a unit.  A figure that was not
// measured (null) is a dash.  The space before a unit does not break.

const NONE = "–";

// scales: [unit, its value], the largest first.
function withUnit(value, scales) {
	if (value === null || value === undefined)
		return NONE;
	// A little below 1000, so that 999.6 does not become 1000.
	const [unit, size] = scales.find(([, size]) => value >= 0.9995 * size)
		?? scales[scales.length - 1];

	if (size === 1 && Number.isInteger(value))
		return value + unit;
	const scaled = Number((value / size).toPrecision(3));
	const digits = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
	return scaled.toFixed(digits) + unit;
}

// Numbers of events, uploads and visits, and their means.
export function formatCount(count) {
	return withUnit(count, [["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]]);
}

export function formatRate(per_s) {
	return per_s === null || per_s === undefined
		? NONE : formatCount(per_s) + "/s";
}

export function formatMilliseconds(ms) {
	return ms === 0 ? "0\u00a0ms" : withUnit(ms, [
		["\u00a0s", 1e3],
		["\u00a0ms", 1],
		["\u00a0µs", 1e-3],
	]);
}

// Units as in flags: 1 MiB is 1024 KiB.
export function formatBytes(bytes) {
	return withUnit(bytes, [
		["\u00a0GiB", 2 ** 30],
		["\u00a0MiB", 2 ** 20],
		["\u00a0KiB", 2 ** 10],
		["\u00a0B", 1],
	]);
}

// A share of a whole, rounded down, so that shares never add up to more than 1.
export function formatPart(share, digits = 0) {
	if (share === null || share === undefined)
		return NONE;
	const scale = 10 ** digits;
	// 0.29 * 100 is a little below 29.
	const percent = Math.floor(100 * scale * share + 1e-6) / scale;

	return percent.toFixed(digits) + "\u00a0%";
}

// A share that is shown as 0 only if it is 0.
export function formatErrors(share) {
	if (share === null || share === undefined)
		return NONE;
	if (share === 0)
		return "0\u00a0%";
	return share < 0.001 ? "<\u00a00.1\u00a0%"
		: (100 * share).toFixed(1) + "\u00a0%";
}

// 0.42 is 42 %.
export function formatShare(share) {
	return share === null || share === undefined
		? NONE : Math.round(100 * share) + "\u00a0%";
}
