// SPDX-License-Identifier: MIT
// What of a lane is to be drawn where, without drawing it.
//
//	spans --> visits, empty visits, sleeps, holes --> marks in columns of pixels
//
// Time is cut into columns as wide as a pixel.  A visit of some columns is a
// mark of its own.  Visits that are shorter share marks, one for each column,
// whose stage is so chosen that over many columns each stage has the area that
// is its share of the time: what a column leaves out is owed to the next.

import { ASLEEP, NOT_TOLD, UNDER_WAY } from "./spans.js";

const OWN_COLUMNS = 3; // a visit as wide as this has a mark of its own
const SPANS_US = [20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 10e6, 20e6];

// Add a short visit to the columns in which it lies.
function crowd(columns, visit, from, until) {
	const last = Math.min(Math.floor(until), columns.length - 1);

	for (let x = Math.max(Math.floor(from), 0); x <= last; x++) {
		const share = Math.min(until, x + 1) - Math.max(from, x);
		const column = columns[x] ??=
			{ visits: 0, events: 0, share: 0, shares: [] };

		column.visits++;
		column.events += visit.events;
		column.share += share;
		column.shares[visit.stage] =
			(column.shares[visit.stage] ?? 0) + share;
	}
}

function* crowdMarks(columns) {
	const owed = [];

	for (const [x, column] of columns.entries()) {
		if (column === undefined)
			continue;
		column.shares.forEach((share, stage) => {
			owed[stage] = (owed[stage] ?? 0) + share;
		});
		let stage = column.shares.findIndex((share) => share >= 0);
		owed.forEach((share, other) => {
			if (share > owed[stage])
				stage = other;
		});
		owed[stage] -= column.share;
		yield {
			x,
			width: 1,
			stage,
			events: column.events / column.visits,
			share: Math.min(column.share, 1),
		};
	}
}

// What to draw of spans, in order, from from_us on, in so many columns:
//
//	visits   { x, width, stage, events, share }: share of the time in visits
//	empty    x of visits that handled nothing
//	sleeps   { x, width }
//	holes    { x, width }: what is not told
//	underWay { x, width } of the visit that has not ended, or null
//
// Short visits come first, so that one that interrupts a long one is hidden
// until it is zoomed to.
export function marks(spans, from_us, column_us, columnCount) {
	const columns = new Array(columnCount).fill();
	const visits = [];
	const empty = [];
	const sleeps = [];
	const holes = [];
	let underWay = null;

	for (const span of spans) {
		const from = (span.start_us - from_us) / column_us;
		const until = (span.end_us - from_us) / column_us;
		const x = Math.round(from);
		const width = Math.round(until) - x;

		if (span.stage === ASLEEP) {
			const { x: lastX, width: lastWidth } = sleeps.at(-1) ??
				{ x: -Infinity, width: 0 };
			if (x + width > lastX + lastWidth || width > 0)
				sleeps.push({ x, width: Math.max(width, 1) });
		} else if (span.stage === NOT_TOLD) {
			holes.push({ x, width });
		} else if (span.stage === UNDER_WAY) {
			underWay = { x, width };
		} else if (span.events === 0) {
			if (empty.at(-1) !== x)
				empty.push(x);
		} else if (width < OWN_COLUMNS) {
			crowd(columns, span, from, until);
		} else {
			const { stage, events } = span;
			visits.push({ x, width, stage, events, share: 1 });
		}
	}
	visits.unshift(...crowdMarks(columns));
	return { visits, empty, sleeps, holes, underWay };
}

// How high a visit is, as a share of its lane: by how often its events double.
export function height(events) {
	return Math.min(0.4 + 0.12 * Math.log2(Math.max(events, 1)), 1);
}

// The next span of time to show, shorter (by -1) or longer (by 1).
export function zoomed(span_us, by) {
	const at = SPANS_US.indexOf(span_us) + by;

	return SPANS_US[Math.min(Math.max(at, 0), SPANS_US.length - 1)];
}

// Round times of a period, at most so many, and how many digits tell them
// apart, in seconds.
export function ticks(from_us, until_us, countMax) {
	const least_us = (until_us - from_us) / Math.max(countMax, 1);
	const power_us = 10 ** Math.floor(Math.log10(least_us));
	const step_us = [1, 2, 5, 10].map((n) => n * power_us)
		.find((us) => us >= least_us);
	const at_us = [];

	for (let i = Math.ceil(from_us / step_us); i * step_us <= until_us; i++)
		at_us.push(i * step_us);
	// Of seconds; a little more than nothing, as logarithms are not exact.
	const digits = -Math.floor(Math.log10(step_us / 1e6) + 1e-9);
	return { at_us, digits: Math.max(digits, 0) };
}
