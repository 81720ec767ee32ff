// SPDX-License-Identifier: MIT
// The timeline in words: a row for each worker, what it did of late.

import { element, setText } from "./dom.js";
import { formatCount, formatShare } from "./figures.js";
import { ASLEEP } from "./spans.js";

const HEADS = ["Worker", "Busy", "Mostly", "Sleeps/s", "Stolen/s"];
const FRAMES = 5; // so many are told together: who reads needs time

export class LanesTable {
	#rows = [];
	#frames = [];

	constructor() {

		this.body = element("tbody");
		this.element = element("table", {},
			element("caption", {}, "Workers, of late"),
			element("thead", {}, element("tr", {}, ...HEADS.map(
				(head) => element("th", { scope: "col" }, head)
			))),
			this.body);
	}

	set(workers, stages) {
		this.#frames = [];
		this.stages = stages;
		this.#rows = workers.map(() =>
			Array.from({ length: 4 }, () => element("td")));
		this.body.replaceChildren(...workers.map(({ name }, i) =>
			element("tr", {},
				element("th", { scope: "row" }, name),
				...this.#rows[i])));
	}

	add(frame) {
		this.#frames.push(frame);
		if (this.#frames.length <= FRAMES)
			return;
		const [first, ...rest] = this.#frames;
		const mostly = this.#mostly(rest);
		const elapsed_s = (frame.at_us - first.at_us) / 1e6;
		this.#rows.forEach((cells, i) => {
			const now = frame.workers[i];
			const before = first.workers[i];
			const busy = rest.reduce((sum, { workers }) =>
				sum + workers[i].busy, 0) / rest.length;
			const rate = (name) => formatCount(
				(now[name] - before[name]) / elapsed_s);

			[
				formatShare(busy),
				this.stages[mostly[i]] ?? "asleep",
				rate("sleeps"),
				rate("stolen"),
			].forEach((text, column) => {
				setText(cells[column], text);
			});
		});
		this.#frames = [frame];
	}

	// The stage where each worker spent most of its time, or ASLEEP.
	#mostly(frames) {
		const times = this.#rows.map(() => new Map());

		for (const { spans } of frames)
			for (const [worker, stage, , duration_us] of spans)
				times[worker].set(stage, duration_us +
					(times[worker].get(stage) ?? 0));
		return times.map((byStage) => [...byStage].reduce(
			(most, next) => next[1] > most[1] ? next : most,
			[ASLEEP, 0])[0]);
	}
}
