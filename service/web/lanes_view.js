// SPDX-License-Identifier: MIT
// Chooses the visible part of the time, and when to draw.
//
// The picture is a little older than the newest frame, so that it moves smoothly
// although frames arrive one at a time.

import { element } from "./dom.js";
import { Lanes } from "./lanes.js";
import { zoomed } from "./marks.js";
import { KEPT_US, Spans } from "./spans.js";
import { describe, poolOf } from "./visit_words.js";

const BEHIND_US = 1.2e6; // two frames and some
const SPAN_US = 2e6;
const GLIDE_US = 1e6; // shorter spans would only flicker: they go by frames
const PICTURE_MS = 30; // smooth enough, and half the cost of 60 a second
const SLACK_PX = 4; // between pointer and span

const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const darkness = matchMedia("(prefers-color-scheme: dark)");

// The server's time.  Frames arrive a little early or late; this is smoothed.
class Clock {
	#ahead_us = null; // of this page's time

	heard(at_us) {
		const ahead_us = at_us - 1000 * performance.now();
		const off_us = ahead_us - (this.#ahead_us ?? -Infinity);

		this.#ahead_us = Math.abs(off_us) > BEHIND_US / 2
			? ahead_us : this.#ahead_us + off_us / 10;
	}

	get now_us() {
		return 1000 * performance.now() + this.#ahead_us;
	}
}

export class LanesView {
	#clock;
	#lanes;
	#isAwaited = false; // the next picture
	#drawn_ms = -Infinity;
	#isChanged = true; // since it was drawn
	#spans = new Spans(0);
	#server = { workers: [], stages: [] }; // of hello
	isShown = false;
	isPaused = false;
	until_us = 0;
	span_us = SPAN_US;
	origin_us = 0; // of seconds on the axis
	chosen = null; // a lane, and a span of it

	constructor() {
		this.canvas = element("canvas", {
			id: "lanes",
			tabindex: 0,
			role: "application",
			"aria-label": "Timeline of the workers",
			"aria-describedby": "lanes-hint",
		});
		this.#lanes = new Lanes(this.canvas);
		stillness.addEventListener("change", () => this.redraw());
		darkness.addEventListener("change", () => this.refit());
	}

	hello({ workers, stages, balance }) {
		this.#server = {
			stages,
			balance,
			workers: workers.map((worker) => ({
				...worker,
				stage: poolOf(worker.name, stages),
			})),
		};
		this.#spans = new Spans(workers.length);
		this.#clock = new Clock();
		this.chosen = null;
		this.refit();
	}

	// Start again with another size or other colours.
	refit() {
		if (!this.isShown || this.#server.workers.length === 0)
			return;
		this.#lanes.set(this.#server,
			Math.min(Math.max(innerHeight * 0.6, 200), 640));
		this.redraw();
	}

	frame(message) {
		this.#clock.heard(message.at_us);
		if (this.#spans.until_us === null) {
			this.origin_us = message.at_us;
			this.until_us = message.at_us; // paused already, maybe
		}
		const from_us = this.until_us - this.span_us;
		if (this.isPaused && message.at_us - from_us > KEPT_US)
			return; // or what is shown would be forgotten
		const changed_us = this.#spans.add(message);
		this.#lanes.changed(changed_us);
		if (!this.isPaused && !this.#glides)
			this.until_us = message.at_us - BEHIND_US;
		if (!this.isPaused || changed_us < this.until_us)
			this.redraw();
	}

	get #glides() {
		return !this.isPaused && !stillness.matches &&
			this.span_us >= GLIDE_US;
	}

	redraw() {
		this.#isChanged = true;
		this.#await();
	}

	#await() {
		if (this.#isAwaited)
			return;
		this.#isAwaited = true;
		requestAnimationFrame((now_ms) => {
			this.#isAwaited = false;
			if (!this.isShown || this.#spans.until_us === null)
				return;
			if (now_ms - this.#drawn_ms < PICTURE_MS)
				return this.#await();
			this.#drawn_ms = now_ms;
			this.#draw();
		});
	}

	#draw() {
		if (this.#glides) {
			// It stops if no frames arrive.
			const until_us = Math.min(this.#spans.until_us,
				Math.round(this.#clock.now_us - BEHIND_US));

			this.#isChanged ||= until_us !== this.until_us;
			this.until_us = until_us;
		}
		if (!this.#isChanged)
			return;
		this.#isChanged = false;
		if (this.chosen?.span.end_us < this.until_us - this.span_us)
			this.chosen = null;
		this.#lanes.draw(this.#spans, this);
		this.onDraw();
		if (this.#glides)
			this.#await();
	}

	pause(isPaused) {
		this.isPaused = isPaused;
		this.onDraw();
		this.redraw();
	}

	// If paused, around a time; else the newest time stays visible.
	zoom(by, around_us = this.until_us - this.span_us / 2) {
		const span_us = zoomed(this.span_us, by);

		const until_us = around_us +
			(this.until_us - around_us) * span_us / this.span_us;

		this.span_us = span_us;
		if (this.isPaused)
			this.#moveTo(until_us);
		this.redraw();
	}

	pan(us) {
		this.#moveTo(this.until_us + us);
		this.pause(true);
	}

	// Only as far as there is data.
	#moveTo(until_us) {
		const newest_us = this.#spans.until_us;

		this.until_us = Math.min(Math.max(until_us,
			newest_us - KEPT_US + this.span_us), newest_us);
	}

	timeAt(x) {
		return this.#lanes.timeAt(x, this);
	}

	// The span at a position of the canvas, or null.
	chooseAt(x, y) {
		const lane = this.#lanes.laneAt(y);
		const us = this.timeAt(x);
		const slack_us = this.timeAt(x + SLACK_PX) - us;
		const span = lane < 0 ? null
			: this.#spans.nearest(lane, us, slack_us);

		this.choose(span && { lane, span });
	}

	choose(chosen) {
		this.chosen = chosen;
		this.redraw();
	}

	// To another lane, at the same time if that is visible.
	stepLane(by) {
		const count = this.#server.workers.length;
		const from_us = this.until_us - this.span_us;
		const start_us = this.chosen?.span.start_us ??
			this.until_us - this.span_us / 2;
		const us = Math.min(Math.max(start_us, from_us), this.until_us);
		const lane = this.chosen === null
			? 0 : (this.chosen.lane + by + count) % count;
		const span = this.#spans.nearest(lane, us, this.span_us);

		if (span)
			this.choose({ lane, span });
	}

	// To another span of the lane.
	stepSpan(by) {
		if (this.chosen === null)
			return this.stepLane(0);
		const { lane } = this.chosen;
		const span = this.#spans.next(lane, this.chosen.span, by);

		if (!span)
			return;
		this.chosen = { lane, span };
		const off_us = this.until_us - span.start_us;
		this.pan(off_us < 0 || off_us > this.span_us
			? this.span_us / 2 - off_us : 0);
	}

	// The position of the text about the chosen span: below it.
	get placeOfChosen() {
		return {
			x: this.#lanes.xAt(this.chosen.span.start_us, this),
			y: this.#lanes.bottomOf(this.chosen.lane) + 4,
		};
	}

	get words() {
		return this.chosen && describe(this.chosen.span,
			this.#server.workers[this.chosen.lane].name,
			this.#server.stages, this.origin_us);
	}
}
