// SPDX-License-Identifier: MIT
// The timeline in words: a row for each worker, what it did of late.

import { element, setText } from "./dom.js";
import { formatCount, formatShare } from "./figures.js";
import { ASLEEP, UNDER_WAY } from "./spans.js";
import { poolOf } from "./visit_words.js";

const HEADS = ["Worker", "Busy", "Mostly", "Sleeps/s", "Stolen/s"];
const SAYS = { [ASLEEP]: "asleep", [UNDER_WAY]: "a long visit" };
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
		this.pools = workers.map(({ name }) => poolOf(name, stages));
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
		const elapsed_s = (frame.at_us - first.at_us) / 1e6;
		const mostly = this.#mostly(rest, 1e6 * elapsed_s);
		this.#rows.forEach((cells, i) => {
			const now = frame.workers[i];
			const before = first.workers[i];
			const busy = rest.reduce((sum, { workers }) =>
				sum + workers[i].busy, 0) / rest.length;
			const rate = (name) => formatCount(
				(now[name] - before[name]) / elapsed_s);

			[
				formatShare(busy),
				this.stages[mostly[i]] ?? SAYS[mostly[i]],
				rate("sleeps"),
				rate("stolen"),
			].forEach((text, column) => {
				setText(cells[column], text);
			});
		});
		this.#frames = [frame];
	}

	// The stage where each worker spent most of its time, ASLEEP, or
	// UNDER_WAY: what is not told, as it has not ended, is all the rest.
	#mostly(frames, elapsed_us) {
		const times = this.#rows.map(() => new Map());
		const add = (worker, stage, us) => times[worker].set(stage,
			(times[worker].get(stage) ?? 0) + us);

		for (const { spans } of frames)
			for (const [worker, stage, , duration_us] of spans)
				add(worker, stage, duration_us);
		frames.at(-1).workers.forEach(({ asleep_since_us }, i) => {
			const told_us = [...times[i].values()]
				.reduce((sum, us) => sum + us, 0);
			const unended = this.pools[i] < 0
				? UNDER_WAY : this.pools[i];

			add(i, asleep_since_us === null ? unended : ASLEEP,
				elapsed_us - told_us);
		});
		return times.map((byStage) => [...byStage].reduce(
			(most, next) => next[1] > most[1] ? next : most)[0]);
	}
}
