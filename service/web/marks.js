// SPDX-License-Identifier: MIT
// What to draw of a lane, and where; it draws nothing itself.
//
//	spans --> visits, empty visits, sleeps, holes --> marks in columns of pixels
//
// Time is divided into columns one pixel wide.  A visit of several columns is a
// mark of its own.  Shorter visits share one mark for each column.  Its stage is
// chosen so that over many columns the area of each stage is its share of the
// time: the time that a column does not show is added to the next one.

import { ASLEEP, NOT_TOLD, UNDER_WAY } from "./spans.js";

const OWN_COLUMNS = 3; // a visit as wide as this has a mark of its own
const SPANS_US = [20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 10e6, 20e6];

// Adds a short visit to its columns.
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

// The marks for spans (in order) from from_us on, for a number of columns:
//
//	visits   { x, width, stage, events, share }: share of the time in visits
//	empty    x of visits that handled nothing
//	sleeps   { x, width }
//	holes    { x, width }: times without a report
//	underWay { x, width } of the visit that has not ended, or null
//
// Short visits come first, so a visit that interrupts a long one is hidden until
// one zooms in.
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

// Height of a visit as a share of its lane: logarithmic in its events.
export function height(events) {
	return Math.min(0.4 + 0.12 * Math.log2(Math.max(events, 1)), 1);
}

// The next shorter (-1) or longer (1) span of time to show.
export function zoomed(span_us, by) {
	const at = SPANS_US.indexOf(span_us) + by;

	return SPANS_US[Math.min(Math.max(at, 0), SPANS_US.length - 1)];
}

// Round times within a period, up to a maximum number, and the digits needed to
// distinguish them, in seconds.
export function ticks(from_us, until_us, countMax) {
	const least_us = (until_us - from_us) / Math.max(countMax, 1);
	const power_us = 10 ** Math.floor(Math.log10(least_us));
	const step_us = [1, 2, 5, 10].map((n) => n * power_us)
		.find((us) => us >= least_us);
	const at_us = [];

	for (let i = Math.ceil(from_us / step_us); i * step_us <= until_us; i++)
		at_us.push(i * step_us);
	// The small addition is because logarithms are not exact.
	const digits = -Math.floor(Math.log10(step_us / 1e6) + 1e-9);
	return { at_us, digits: Math.max(digits, 0) };
}
