// SPDX-License-Identifier: MIT
// The last minute, second by second, from hello and frames, and its lines.
// Pure.
//
//	hello.history, frame.history --> History --> series() --> linePaths()
//
// A history { from, to, seconds } covers all seconds from `from` up to, but
// without, `to`.  In a second that it does not list there were no replies and no
// viewers.  A second that no history covers is unknown.

export const SECONDS = 60;

const nothing = {
	ok: 0, client_errors: 0, server_errors: 0,
	ms: null, in_flight: null, memory_used_bytes: null, cpu: null,
};

export class History {
	#seconds = new Map(); // by number
	#to = 0; // the first second that is not over

	// Replaces everything: the older seconds may be those of another server.
	begin(history) {
		this.#seconds.clear();
		this.#to = 0;
		this.add(history);
	}

	add({ from, to, seconds }) {
		for (let i = from; i < to; i++)
			this.#seconds.set(i, nothing);
		for (const second of seconds)
			this.#seconds.set(second.second, second);
		this.#to = Math.max(this.#to, to);
		for (const number of this.#seconds.keys())
			if (number < this.#to - SECONDS)
				this.#seconds.delete(number);
	}

	// The number of known seconds among the last SECONDS.
	get length() {
		return this.#seconds.size;
	}

	// The result of read() for each of the last SECONDS, oldest first; null
	// for an unknown second.
	series(read) {
		return Array.from({ length: SECONDS }, (_, i) => {
			const second = this.#seconds.get(this.#to - SECONDS + i);

			return second === undefined ? null : read(second) ?? null;
		});
	}
}

// { least, most } of the known values; null: there are none.
export function range(values) {
	const known = values.filter((value) => value !== null);

	return known.length === 0 ? null
		: { least: Math.min(...known), most: Math.max(...known) };
}

// The path of these values in a box, from 0 at the bottom to `top`.  Unknown
// values are gaps; a single value between two gaps is a dash.
export function linePath(values, top, { width, height }) {
	const step = width / values.length;
	const y = (value) => (height - height * value / (top || 1)).toFixed(1);
	const x = (place) => (place * step).toFixed(1);

	return values.map((value, i) => {
		if (value === null)
			return "";
		const begins = i === 0 || values[i - 1] === null;
		const start = begins ? `M${x(i)} ${y(value)}` : "";

		return `${start}L${x(i + 0.5)} ${y(value)}` +
			(begins && (values[i + 1] ?? null) === null
				? `L${x(i + 1)} ${y(value)}` : "");
	}).join("");
}
