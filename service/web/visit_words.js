// SPDX-License-Identifier: MIT
// What a span was, in a sentence.

import { formatMilliseconds } from "./figures.js";
import { ASLEEP } from "./spans.js";

export function describe(span, worker, stages, origin_us) {
	const { start_us, end_us, stage, events } = span;
	const lasted = formatMilliseconds((end_us - start_us) / 1000);
	const at = `from ${((start_us - origin_us) / 1e6).toFixed(4)}\u00a0s`;

	if (stage === ASLEEP)
		return `${worker}: asleep for ${lasted}, ${at}`;
	const what = `${worker}: ${stages[stage]}`;
	if (events === 0)
		return `${what}, empty: nothing was left, ${lasted}, ${at}`;
	return `${what}, ${events} ${events === 1 ? "event" : "events"} in ` +
		`${lasted}, ${at}`;
}
