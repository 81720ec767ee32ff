// SPDX-License-Identifier: MIT
// The timeline as a table: a row for each worker with what it did recently.

import { element, setText } from "./dom.js";
import { formatCount, formatShare } from "./figures.js";
import { ASLEEP, NOT_TOLD, UNDER_WAY } from "./spans.js";
import { poolOf } from "./visit_words.js";

const HEADS = ["Worker", "Busy", "CPU", "Mostly", "Sleeps/s", "Stolen/s"];
const SAYS = {
	[ASLEEP]: "asleep",
	[UNDER_WAY]: "a long visit",
	[NOT_TOLD]: "not told",
};
// Frames that are summed up in a row.  Fewer would change it too fast to read.
const FRAMES = 5;
// For "Busy", more frames: the time of a long event is reported when it ends.
const BUSY_FRAMES = 20;

// For each worker: the stage where it spent most of the known time of these
// frames, or ASLEEP, UNDER_WAY or NOT_TOLD.  pools: the only stage of a worker,
// or -1.
export function mostly(from_us, frames, pools) {
	const { at_us, workers } = frames.at(-1);
	const times = workers.map(() => new Map());
	const told_us = workers.map(({ told_since_us }) =>
		Math.max(told_since_us ?? 0, from_us));
	const add = (worker, stage, us) => times[worker].set(stage,
		(times[worker].get(stage) ?? 0) + us);

	for (const { spans } of frames)
		for (const [worker, stage, start_us, duration_us] of spans) {
			const end_us = start_us + duration_us;

			add(worker, stage, end_us - Math.max(start_us, from_us));
			told_us[worker] = Math.max(told_us[worker], end_us);
		}
	workers.forEach(({ asleep_since_us }, i) => {
		const unended = pools[i] < 0 ? UNDER_WAY : pools[i];

		if (asleep_since_us === null)
			add(i, unended, at_us - told_us[i]);
		else
			add(i, ASLEEP,
				at_us - Math.max(asleep_since_us, from_us));
	});
	return times.map((byStage) => [...byStage].reduce(
		(most, next) => next[1] > most[1] ? next : most,
		[NOT_TOLD, 0])[0]);
}

export class LanesTable {
	#rows = [];
	#frames = [];
	#shares = []; // of workers, in the last frames: { busy, cpu }

	constructor() {
		this.body = element("tbody");
		this.element = element("table", {},
			element("caption", {}, "Workers ",
				element("span", { class: "quiet" }, "Busy: time in " +
					"handlers, also while it waits for a " +
					"core. CPU: time on a core. Both: in " +
					"the last 10 s.")),
			element("thead", {}, element("tr", {}, ...HEADS.map(
				(head) => element("th", { scope: "col" }, head)
			))),
			this.body);
	}

	set(workers, stages) {
		this.#frames = [];
		this.#shares = [];
		this.stages = stages;
		this.pools = workers.map(({ name }) => poolOf(name, stages));
		this.#rows = workers.map(() =>
			Array.from({ length: HEADS.length - 1 }, () => element("td")));
		this.body.replaceChildren(...workers.map(({ name }, i) =>
			element("tr", {},
				element("th", { scope: "row" }, name),
				...this.#rows[i])));
	}

	add(frame) {
		this.#frames.push(frame);
		// The server's first frame has no measurements.
		if (frame.workers[0].busy !== null)
			this.#shares.push(frame.workers);
		if (this.#frames.length <= FRAMES)
			return;
		this.#shares = this.#shares.slice(-BUSY_FRAMES);
		const [first, ...rest] = this.#frames;
		const elapsed_s = (frame.at_us - first.at_us) / 1e6;
		const most = mostly(first.at_us, rest, this.pools);
		this.#rows.forEach((cells, i) => {
			const now = frame.workers[i];
			const before = first.workers[i];
			const share = (name) => formatShare(Math.min(1,
				this.#shares.reduce((sum, workers) =>
					sum + workers[i][name], 0)
				/ this.#shares.length));
			const rate = (name) => formatCount(
				(now[name] - before[name]) / elapsed_s);

			[
				share("busy"),
				share("cpu"),
				this.stages[most[i]] ?? SAYS[most[i]],
				rate("sleeps"),
				rate("stolen"),
			].forEach((text, column) => {
				setText(cells[column], text);
			});
		});
		this.#frames = [frame];
	}
}
