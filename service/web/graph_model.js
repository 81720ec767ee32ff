// SPDX-License-Identifier: MIT
// The figures of nodes, edges and the whole server, from the frames of the last
// seconds.  Pure.  A figure that was not measured is null.

const RECENT = 10; // frames: 5 s, as of the server's own recent figures

// frames and one more, without those that are too old; the newest is last.
export function remember(frames, frame) {
	return [...frames.slice(-RECENT), frame];
}

// Growth of a counter per second; unknown with a single frame.
function rate(frames, read) {
	const first = frames[0];
	const last = frames[frames.length - 1];
	const duration_s = (last.at_us - first.at_us) / 1e6;

	return duration_s > 0 ? (read(last) - read(first)) / duration_s : null;
}

// Figures of a stage of a frame, times in ms; span: "recent" or "total".
function stageFigures(stage, span) {
	const none = [null, null];
	const [wait_p50, wait_p90] = stage.wait_ms?.[span] ?? none;
	const [service_p50, service_p90] = stage.service_ms?.[span] ?? none;

	return {
		queued: stage.queued,
		handled: stage.handled,
		refused: stage.refused ?? null,
		cpu: stage.cpu ?? null,
		wait_p50, wait_p90, service_p50, service_p90,
		cohort: stage.cohort?.[span] ?? null,
	};
}

// Figures of a node of the plan: handled since the start; refused in the span;
// per second: events that arrived or, because a frame does not have those of a
// part, events that it handled.
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

// The events of an edge between stages, from the frame's list of edges.
function passed(frame, from, to) {
	return frame.edges.find(([a, b]) => a === from && b === to)?.[2] ?? 0;
}

// Events per second of an edge of the plan.  A frame does not have those of
// parts: a stage of a part that has one edge in got all its events through it,
// and one that has one edge out sent all through it; of other edges the rate is
// undefined.
function edgeRate(plan, nodes, edge, frames) {
	const [from, to] = [edge.from, edge.to].map((at) => plan.nodes[at]);
	const isOnly = (end) => plan.edges
		.filter((other) => other[end] === edge[end]).length === 1;

	if (to?.isWhole === false && isOnly("to"))
		return nodes[edge.to].per_s;
	if (from?.isWhole === false || to?.isWhole === false)
		return from?.isWhole === false && isOnly("from")
			? nodes[edge.from].per_s : undefined;
	return rate(frames, (frame) =>
		passed(frame, from?.stage ?? -1, to?.stage ?? -1));
}

// Returns { nodes, edges }, in the order of the plan, and the refused uploads.
export function picture(plan, frames, span) {
	const nodes = plan.nodes.map((node) => nodeFigures(node, frames, span));

	return {
		nodes,
		edges: plan.edges.map((edge) =>
			edgeRate(plan, nodes, edge, frames)),
		refused_per_s: rate(frames, (frame) => frame.uploads.refused),
	};
}

// The share of the cores' time, in the last 5 s, in which workers had work but no
// core: wall-clock time of their handlers minus CPU time.  Without the store,
// whose handlers may wait for disks.
function waitingShare(hello, frame) {
	const stages = frame.stages
		.filter((_, i) => hello.stages[i] !== "store");

	if (stages.some(({ load, cpu }) => load === null || cpu === null))
		return null;
	return stages.reduce((sum, { load, cpu }) =>
		sum + Math.max(0, load - cpu), 0);
}

// Figures of the whole server, for the strip above the picture.
export function summary(hello, frames) {
	const last = frames[frames.length - 1];
	const { uploads, memory_used_bytes, cpu, recent } = last;
	const { ok, client_errors, server_errors, duration_s } = recent;
	const all = ok + client_errors + server_errors;
	const perSecond = (count) => duration_s < 1 ? null : count / duration_s;

	return {
		ok_per_s: perSecond(ok),
		ms: recent.ms,
		error_share: all === 0
			? null : (client_errors + server_errors) / all,
		client_errors_per_s: perSecond(client_errors),
		server_errors_per_s: perSecond(server_errors),
		in_flight: uploads.in_flight,
		in_flight_max: hello.uploads_max,
		memory_bytes: memory_used_bytes,
		memory_limit_bytes: hello.memory_limit_bytes,
		cpu,
		cores_used: cpu === null ? null : cpu * hello.cores,
		cores: hello.cores,
		waiting_share: waitingShare(hello, last),
	};
}
