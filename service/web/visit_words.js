// SPDX-License-Identifier: MIT
// Describes workers and spans in words.

import { formatMilliseconds } from "./figures.js";
import { ASLEEP, NOT_TOLD, UNDER_WAY } from "./spans.js";

// The index of the stage to whose pool a worker belongs, by its name, or -1.
export function poolOf(name, stages) {
	return stages.findIndex((stage) => name.startsWith(`${stage}-`));
}

// Describes a span.
export function describe(span, worker, stages, origin_us) {
	const { start_us, end_us, stage, events } = span;
	const lasted = formatMilliseconds((end_us - start_us) / 1000);
	const at = `from ${((start_us - origin_us) / 1e6).toFixed(4)}\u00a0s`;

	if (stage === ASLEEP)
		return `${worker}: asleep for ${lasted}, ${at}`;
	if (stage === NOT_TOLD)
		return `${worker}: unknown for ${lasted}, ${at}`;
	if (stage === UNDER_WAY)
		return `${worker}: in a visit that has not ended, ${at}`;
	const what = `${worker}: ${stages[stage]}`;
	if (events === 0)
		return `${what}, empty: no event was left, ${lasted}, ${at}`;
	return `${what}, ${events} ${events === 1 ? "event" : "events"} in ` +
		`${lasted}, ${at}`;
}
