// SPDX-License-Identifier: MIT
// Figures as people read them: three digits that count, and a unit.  What was
// not measured, null, is a dash.  Spaces before units do not break.

const NONE = "–";

// scales: [unit, how much of the value one of it is], falling.
function withUnit(value, scales) {
	if (value === null || value === undefined)
		return NONE;
	// A little early, so that 999.6 is not told as 1000.
	const [unit, size] = scales.find(([, size]) => value >= 0.9995 * size)
		?? scales[scales.length - 1];

	if (size === 1 && Number.isInteger(value))
		return value + unit;
	const scaled = Number((value / size).toPrecision(3));
	const digits = scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2;
	return scaled.toFixed(digits) + unit;
}

// Of events, uploads, visits; means of these, too.
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

// Units as of flags: 1 MiB is 1024 KiB.
export function formatBytes(bytes) {
	return withUnit(bytes, [
		["\u00a0GiB", 2 ** 30],
		["\u00a0MiB", 2 ** 20],
		["\u00a0KiB", 2 ** 10],
		["\u00a0B", 1],
	]);
}

// Of one: 0.42 is 42 %.
export function formatShare(share) {
	return share === null || share === undefined
		? NONE : Math.round(100 * share) + "\u00a0%";
}
