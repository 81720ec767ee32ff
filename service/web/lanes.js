// SPDX-License-Identifier: MIT
// The picture of the timeline: workers' names, their lanes, a time axis.
//
//	spans --marks.js--> tiles, a part of the time each --> canvas
//
// A tile has all lanes for a part of the time.  It is painted when it comes into
// view or its content has changed; moving only copies tiles.  Lengths are in
// screen pixels; a CSS pixel may have several of them.

import { canvasOf } from "./dom.js";
import { height, marks, ticks } from "./marks.js";
import { partName, stageColour } from "./stages.js";

const TILE_COLUMNS = 128; // a multiple of the pattern's
const PATTERN_COLUMNS = 8;
const AXIS = 22; // in CSS pixels, as those that follow
const HEADING = 20;
const LANE_MIN = 10;
const LANE_MAX = 64;
const GAP = 3;
const NAME_FONT = 11;
const PALE = 0.35; // opaque so much, at least
const TICK_DISTANCE = 90;

const groups = { workers: "Workers", store: "Store" };

// Sizes of lanes in CSS pixels, if there is enough room, and the headings above
// them if there are several kinds of workers.
export function layout(workers, room, balance) {
	const group = ({ lane, part }) => lane === "workers" &&
		workers.some((worker) => worker.part !== 0)
		? partName(balance, part) : groups[lane];
	const starts = workers.map((worker, i) =>
		i === 0 || group(worker) !== group(workers[i - 1]));
	const headingCount = starts.filter((isStart) => isStart).length;
	const hasHeadings = headingCount > 1;
	const laneRoom = room - AXIS -
		(hasHeadings ? HEADING * headingCount : 0);
	const lane = Math.floor(Math.min(
		Math.max(laneRoom / workers.length, LANE_MIN), LANE_MAX));
	const headings = [];
	let y = AXIS;
	const tops = workers.map((worker, i) => {
		if (hasHeadings && starts[i]) {
			headings.push({ y, text: group(worker) });
			y += HEADING;
		}
		y += lane;
		return y - lane;
	});

	return { lane, tops, headings, height: y + 1 };
}

// Black or white, whichever is readable on the colour #rrggbb.
function inkOn(colour) {
	const [red, green, blue] = [1, 3, 5].map((at) =>
		(parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);

	return 0.21 * red + 0.72 * green + 0.07 * blue > 0.18
		? "#000000" : "#ffffff";
}

export class Lanes {
	#canvas;
	#context;
	#tiles = new Map();
	#colours;
	#names; // a canvas, left of the lanes
	#column_us = 0;

	constructor(canvas) {
		this.#canvas = canvas;
		this.#context = canvas.getContext("2d");
	}

	// Start again with another size, other colours or another hello.  Workers
	// of a pool have its stage.
	set({ workers, stages, balance }, room) {
		const ratio = window.devicePixelRatio;

		this.workers = workers;
		this.layout = layout(workers, room, balance);
		this.#canvas.style.height = `${this.layout.height}px`;
		this.ratio = ratio;
		this.#canvas.width =
			Math.round(this.#canvas.clientWidth * ratio);
		this.#canvas.height = Math.round(this.layout.height * ratio);
		this.#readColours(stages);
		this.#paintNames();
		this.#tiles.clear();
	}

	get columns() {
		return Math.max(this.#canvas.width - this.#names.width, 1);
	}

	#readColours(names) {
		const style = getComputedStyle(this.#canvas);
		const of = (name) => style.getPropertyValue(name).trim();
		const stages = names.map((name) => of(stageColour(name)));

		this.#colours = {
			stages,
			inks: stages.map(inkOn),
			panel: of("--panel"),
			line: of("--line"),
			text: of("--text"),
			quiet: of("--quiet"),
			sleep: this.#pattern(of("--asleep"), (context, size) => {
				for (const x of [-size, 0, size]) {
					context.moveTo(x - 1, size + 1);
					context.lineTo(x + size + 1, -1);
				}
				context.strokeStyle = of("--hatch");
				context.stroke();
			}),
			hole: this.#pattern(of("--panel"), (context, size) => {
				const dot = Math.ceil(size / 6);

				context.fillStyle = of("--hatch");
				context.fillRect(0, 0, dot, dot);
				context.fillRect(size / 2, size / 2, dot, dot);
			}),
		};
	}

	// A tile has a whole number of them.
	#pattern(back, paint) {
		const size = PATTERN_COLUMNS;
		const canvas = canvasOf(size, size);
		const context = canvas.getContext("2d");

		context.fillStyle = back;
		context.fillRect(0, 0, size, size);
		paint(context, size);
		return context.createPattern(canvas, "repeat");
	}

	#font(context, size = NAME_FONT) {
		context.font = `${size * this.ratio}px system-ui, sans-serif`;
		context.textBaseline = "middle";
	}

	#paintNames() {
		const { ratio, layout, workers } = this;
		const size = Math.min(NAME_FONT, layout.lane);

		this.#font(this.#context, size);
		const width = Math.max(0, ...workers.map((worker) =>
			this.#context.measureText(worker.name).width));
		this.#names = canvasOf(Math.ceil(width + 10 * ratio),
			this.#canvas.height);
		const context = this.#names.getContext("2d");
		context.fillStyle = this.#colours.panel;
		context.fillRect(0, 0, this.#names.width, this.#names.height);
		this.#font(context, size);
		context.fillStyle = this.#colours.quiet;
		workers.forEach((worker, i) => context.fillText(worker.name, 0,
			(layout.tops[i] + layout.lane / 2) * ratio));
	}

	// What is known since this time differs from what was drawn.
	changed(us) {
		for (const index of this.#tiles.keys()) {
			const end = (index + 1) * TILE_COLUMNS;

			if (end * this.#column_us > us)
				this.#tiles.delete(index);
		}
	}

	#paintTile(spans, index) {
		const tile = canvasOf(TILE_COLUMNS, this.#canvas.height);
		const context = tile.getContext("2d");
		const duration_us = TILE_COLUMNS * this.#column_us;
		const from_us = index * duration_us;

		this.#font(context);
		context.textAlign = "center";
		this.workers.forEach((worker, i) => {
			const within =
				spans.within(i, from_us, from_us + duration_us);

			this.#paintLane(context, i, marks(within, from_us,
				this.#column_us, TILE_COLUMNS));
		});
		return tile;
	}

	#paintLane(context, lane, { visits, empty, sleeps, holes, underWay }) {
		const { ratio, layout } = this;
		const colours = this.#colours;
		const bottom = Math.round(this.bottomOf(lane) * ratio);
		const gap = Math.min(GAP, layout.lane / 8) * ratio;
		const full = layout.lane * ratio - gap;

		context.fillStyle = colours.line;
		context.fillRect(0, bottom, TILE_COLUMNS, 1);
		for (const [marks, pattern] of [
			[holes, colours.hole], [sleeps, colours.sleep],
		]) {
			context.fillStyle = pattern;
			for (const { x, width } of marks)
				context.fillRect(x, bottom - full, width, full);
		}
		if (underWay !== null) {
			const high = Math.round(height(1) * full);

			context.globalAlpha = PALE;
			context.fillStyle =
				colours.stages[this.workers[lane].stage] ??
				colours.quiet;
			context.fillRect(underWay.x, bottom - high,
				underWay.width, high);
		}
		for (const mark of visits) {
			const high = Math.round(height(mark.events) * full);
			// One pixel of distance to the next one.
			const width = mark.width - (mark.width > 4 ? 1 : 0);

			context.globalAlpha = PALE + (1 - PALE) * mark.share;
			context.fillStyle = colours.stages[mark.stage];
			context.fillRect(mark.x, bottom - high, width, high);
			if (mark.events > 1 && high >= 10 * ratio)
				this.#paintCount(context, mark,
					bottom - high / 2);
		}
		context.globalAlpha = 1;
		context.fillStyle = colours.text;
		for (const x of empty)
			context.fillRect(x, bottom - full,
				Math.ceil(1.5 * ratio), full / 3);
	}

	// The number of events of a visit, if it fits.
	#paintCount(context, { x, width, stage, events }, y) {
		const text = String(events);

		if (width < (text.length * 7 + 4) * this.ratio)
			return;
		context.fillStyle = this.#colours.inks[stage];
		context.fillText(text, x + width / 2, y + this.ratio / 2);
	}

	// Converts CSS pixels from the left edge to a time, and back.
	timeAt(x, { until_us, span_us }) {
		const column = x * this.ratio - this.#names.width;

		return until_us - span_us + column * span_us / this.columns;
	}

	xAt(us, { until_us, span_us }) {
		const column =
			(us - until_us + span_us) * this.columns / span_us;

		return (column + this.#names.width) / this.ratio;
	}

	// The lane at a height, or -1.
	laneAt(y) {
		return this.layout.tops.findIndex((top) =>
			y >= top && y < top + this.layout.lane);
	}

	bottomOf(lane) {
		return this.layout.tops[lane] + this.layout.lane;
	}

	// view: see LanesView.
	draw(spans, view) {
		const context = this.#context;
		const column_us = view.span_us / this.columns;
		const left = this.#names.width;
		const { width, height } = this.#canvas;

		if (column_us !== this.#column_us)
			this.#tiles.clear();
		this.#column_us = column_us;
		context.clearRect(0, 0, width, height);
		const end = Math.round(view.until_us / column_us);
		const first = Math.floor((end - this.columns) / TILE_COLUMNS);
		const last = Math.floor((end - 1) / TILE_COLUMNS);
		this.#drawAxis(view);
		for (const index of this.#tiles.keys())
			if (index < first || index > last)
				this.#tiles.delete(index);
		for (let index = first; index <= last; index++) {
			if (!this.#tiles.has(index))
				this.#tiles.set(index,
					this.#paintTile(spans, index));
			context.drawImage(this.#tiles.get(index), left +
				this.columns - end + index * TILE_COLUMNS, 0);
		}
		if (view.chosen !== null)
			this.#drawChosen(view);
		context.drawImage(this.#names, 0, 0);
		this.#drawHeadings();
	}

	#drawChosen(view) {
		const { lane, span } = view.chosen;
		const context = this.#context;
		const from = this.xAt(span.start_us, view) * this.ratio;
		const until = this.xAt(span.end_us, view) * this.ratio;

		context.strokeStyle = this.#colours.text;
		context.lineWidth = 2 * this.ratio;
		context.strokeRect(from - 1,
			this.layout.tops[lane] * this.ratio,
			Math.max(until - from, 1) + 2,
			this.layout.lane * this.ratio);
	}

	#drawHeadings() {
		const context = this.#context;

		this.#font(context);
		context.textAlign = "left";
		context.fillStyle = this.#colours.text;
		for (const { y, text } of this.layout.headings)
			context.fillText(text, 0,
				(y + HEADING / 2 + 2) * this.ratio);
	}

	#drawAxis(view) {
		const { ratio } = this;
		const context = this.#context;
		const until_us = view.until_us - view.origin_us;
		const { at_us, digits } = ticks(
			until_us - view.span_us, until_us,
			Math.floor(this.columns / ratio / TICK_DISTANCE));

		context.textAlign = "center";
		for (const us of at_us) {
			const x = Math.round(
				this.xAt(us + view.origin_us, view) * ratio);

			context.fillStyle = this.#colours.line;
			context.fillRect(x, (AXIS - 5) * ratio, 1,
				this.#canvas.height);
			context.fillStyle = this.#colours.quiet;
			const text = `${(us / 1e6).toFixed(digits)} s`;
			const half = context.measureText(text).width / 2;
			if (x - half < this.#names.width ||
				x + half > this.#canvas.width)
				continue; // half of a number is another
			context.fillText(text, x, (AXIS / 2 - 2) * ratio);
		}
	}
}
