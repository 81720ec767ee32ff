// SPDX-License-Identifier: MIT
// What workers did recently: visits and sleeps from the frames of v1/live, a lane
// for each worker.  It does not use the page.
//
// The spans of a lane are sorted by start.  A visit that interrupted another lies
// inside it, so ends are not sorted.  But reach_us, the latest end so far, is
// sorted; with it, one finds the first span that ends after a time.

export const ASLEEP = -1; // the stage of a sleep
// The stage of a visit that has not ended is not reported.
export const UNDER_WAY = -2;
// The server left spans out, or the page was not connected.
export const NOT_TOLD = -3;

export const KEPT_US = 30e6;
const KEPT_COUNT = 250000;

function insert(spans, span) {
	let at = spans.length;

	while (at > 0 && spans[at - 1].start_us >= span.start_us)
		at--;
	spans.splice(at, 0, span);
	for (; at < spans.length; at++)
		spans[at].reach_us = Math.max(spans[at].end_us,
			spans[at - 1]?.reach_us ?? 0);
}

// Index of the first span that ends after a time.
function firstBehind(spans, us) {
	let low = 0;
	let high = spans.length;

	while (low < high) {
		const middle = (low + high) >> 1;

		if (spans[middle].reach_us > us)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

export class Spans {
	constructor(laneCount) {
		this.lanes = Array.from({ length: laneCount }, () => ({
			spans: [],
			asleep_us: null, // since when, if it sleeps
		}));
		this.number = NaN; // of the newest frame
		this.until_us = null; // nothing is known from here on
	}

	get count() {
		return this.lanes.reduce(
			(sum, { spans }) => sum + spans.length, 0);
	}

	// Adds the spans of a frame.  Returns the time since which there is new data.
	add(frame) {
		let changed_us = this.until_us ?? 0;

		changed_us = Math.min(changed_us, this.#addHoles(frame));
		for (const [worker, stage, start_us, duration_us, events]
			of frame.spans) {
			const lane = this.lanes[worker];
			const end_us = start_us + duration_us;

			insert(lane.spans, { start_us, end_us, stage, events });
			// A sleep that had not ended is in the list already.
			if (stage !== ASLEEP || start_us !== lane.asleep_us)
				changed_us = Math.min(changed_us, start_us);
		}
		frame.workers.forEach((worker, i) => {
			const lane = this.lanes[i];
			const since_us = worker.asleep_since_us;

			if (since_us !== null && since_us !== lane.asleep_us)
				changed_us = Math.min(changed_us, since_us);
			lane.asleep_us = since_us;
		});
		this.number = frame.number;
		this.until_us = frame.at_us;
		this.#forget();
		return changed_us;
	}

	// Adds the time that a frame leaves out, and that of frames that were
	// missed.  Returns its start.
	#addHoles(frame) {
		const isNext = frame.number === this.number + 1;
		const firsts_us = this.lanes.map(() => Infinity);
		let holes_us = Infinity;

		for (const [worker, , start_us] of frame.spans)
			firsts_us[worker] =
				Math.min(firsts_us[worker], start_us);
		frame.workers.forEach((worker, i) => {
			const told_us = worker.told_since_us ?? (isNext ? null
				: Math.min(worker.asleep_since_us ?? frame.at_us,
					firsts_us[i]));

			if (told_us !== null)
				holes_us = Math.min(holes_us,
					this.#addHole(this.lanes[i], told_us));
		});
		return holes_us;
	}

	// A sleep that had not ended lasted at least until the last frame.
	#addHole({ spans, asleep_us }, end_us) {
		const events = 0;
		const known_us = this.until_us;
		const wasAsleep = asleep_us !== null && known_us < end_us;

		if (wasAsleep)
			insert(spans, { start_us: asleep_us, end_us: known_us,
				stage: ASLEEP, events });
		const start_us = spans.at(-1)?.reach_us ?? end_us - KEPT_US;
		if (start_us >= end_us)
			return Infinity;
		insert(spans, { start_us, end_us, stage: NOT_TOLD, events });
		return wasAsleep ? asleep_us : start_us;
	}

	#forget() {
		let kept_us = KEPT_US;

		this.#forgetBefore(this.until_us - kept_us);
		while (this.count > KEPT_COUNT) {
			kept_us *= 0.9;
			this.#forgetBefore(this.until_us - kept_us);
		}
	}

	#forgetBefore(us) {
		for (const { spans } of this.lanes)
			spans.splice(0, firstBehind(spans, us));
	}

	// What a worker does now.
	#unended(lane) {
		const { spans, asleep_us } = this.lanes[lane];
		const end_us = this.until_us;
		const start_us = asleep_us ??
			spans.at(-1)?.reach_us ?? end_us - KEPT_US;
		const stage = asleep_us === null ? UNDER_WAY : ASLEEP;

		return { start_us, end_us, stage, events: 0 };
	}

	// The spans of a lane that overlap a period, in order.
	*within(lane, from_us, until_us) {
		const { spans } = this.lanes[lane];
		const unended = this.#unended(lane);
		let i = firstBehind(spans, from_us);

		for (; i < spans.length; i++) {
			if (spans[i].start_us >= until_us)
				break;
			if (spans[i].end_us > from_us)
				yield spans[i];
		}
		if (unended.start_us < Math.min(until_us, unended.end_us) &&
			unended.end_us > from_us)
			yield unended;
	}

	// The span of a lane nearest to a time, at most slack_us away; of
	// several, the shortest, which lies on top of the others.
	nearest(lane, us, slack_us) {
		const within = this.within(lane, us - slack_us, us + slack_us);
		let found = null;
		let least_us = Infinity;

		for (const span of within) {
			const off_us = Math.max(
				span.start_us - us, us - span.end_us, 0);
			const length_us = span.end_us - span.start_us;

			if (off_us < least_us || (off_us === least_us &&
				length_us < found.end_us - found.start_us)) {
				found = span;
				least_us = off_us;
			}
		}
		return found;
	}

	// The span of a lane before (by -1) or after (by 1) another one.  When a
	// span ends, it becomes another object.
	next(lane, span, by) {
		const spans =
			[...this.within(lane, -Infinity, this.until_us)];
		const same = spans.indexOf(span);
		const at = same >= 0 ? same : spans.findLastIndex(
			({ start_us }) => start_us <= span.start_us);

		return spans[at + by] ?? null;
	}
}
