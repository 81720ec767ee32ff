// SPDX-License-Identifier: MIT
// What the graph tells: figures of nodes, edges and the whole, from the frames
// of the last seconds.  Pure.  What was not measured is null.

const RECENT = 10; // frames: 5 s, as of the server's own recent figures

// frames with one more, as long as they are of use; the newest is last.
export function remember(frames, frame) {
	return [...frames.slice(-RECENT), frame];
}

// How fast a counter grows; of a single frame nothing is known.
function rate(frames, read) {
	const first = frames[0];
	const last = frames[frames.length - 1];
	const duration_s = (last.at_us - first.at_us) / 1e6;

	return duration_s > 0 ? (read(last) - read(first)) / duration_s : null;
}

// Of a stage as a frame has it, times in ms; span: "recent" or "total".
function stageFigures(stage, span) {
	const none = [null, null];
	const [wait_p50, wait_p90] = stage.wait_ms?.[span] ?? none;
	const [service_p50, service_p90] = stage.service_ms?.[span] ?? none;

	return {
		queued: stage.queued,
		handled: stage.handled,
		refused: stage.refused ?? null,
		load: stage.load ?? null,
		wait_p50, wait_p90, service_p50, service_p90,
		cohort: stage.cohort?.[span] ?? null,
	};
}

// Of a node of the plan, handled since start; refused in the span; per second:
// events that came or, as those of a part are not told, that it handled.
export function nodeFigures({ stage, part, isWhole }, frames, span) {
	const read = (frame) => isWhole
		? frame.stages[stage] : frame.parts[part][stage];
	const figures = stageFigures(read(frames[frames.length - 1]), span);

	if (span === "recent" && figures.refused !== null)
		figures.refused -= read(frames[0]).refused;
	figures.per_s = rate(frames, (frame) =>
		read(frame).arrived ?? read(frame).handled);
	return figures;
}

// Events of an edge between stages, from the frame's list of edges.
function passed(frame, from, to) {
	return frame.edges.find(([a, b]) => a === from && b === to)?.[2] ?? 0;
}

// Events per second of an edge of the plan.  Those of single parts are not
// told: what a stage of a part handles came by its only edge, and its results
// leave by the only one; where there are several, it is undefined.
function edgeRate(plan, nodes, edge, frames) {
	const [from, to] = [edge.from, edge.to].map((at) => plan.nodes[at]);

	if (to?.isWhole === false)
		return nodes[edge.to].per_s;
	if (from?.isWhole === false)
		return plan.edges.filter((e) => e.from === edge.from).length > 1
			? undefined : nodes[edge.from].per_s;
	return rate(frames, (frame) =>
		passed(frame, from?.stage ?? -1, to?.stage ?? -1));
}

// Returns { nodes, edges }, in the order of the plan, and what did not get in.
export function picture(plan, frames, span) {
	const nodes = plan.nodes.map((node) => nodeFigures(node, frames, span));

	return {
		nodes,
		edges: plan.edges.map((edge) =>
			edgeRate(plan, nodes, edge, frames)),
		refused_per_s: rate(frames, (frame) => frame.uploads.refused),
	};
}

// Of the whole server, for the strip above the picture.
export function summary(hello, frames) {
	const { uploads, memory_used_bytes } = frames[frames.length - 1];

	return {
		finished_per_s: rate(frames, (frame) => frame.uploads.finished),
		refused_per_s: rate(frames, (frame) => frame.uploads.refused),
		in_flight: uploads.in_flight,
		in_flight_max: hello.uploads_max,
		memory_bytes: memory_used_bytes,
		memory_limit_bytes: hello.memory_limit_bytes,
		cores_used: rate(frames, (frame) => frame.cpu_s),
		cores: hello.cores,
	};
}
