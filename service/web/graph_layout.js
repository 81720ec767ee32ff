// SPDX-License-Identifier: MIT
// The position of everything in a plan, in pixels.  Pure.
//
// Uploads move along one axis, and tracks lie across it: from left to right if
// there is room for figures below each stage, else from top to bottom with the
// figures at the side.  Along the axis, each rank has
//
//	edge | queue | box
//
// A queue grows backwards from the box, with a mark for each event.

import { OUTSIDE } from "./graph_plan.js";

export const MARK = 6; // pixels, of an event
const PITCH = 8; // from one mark to the next

const CELL_MIN = 188; // a narrower one has no room for figures below
const SCALE_MIN = 0.8; // of a picture that is a little too wide
const PORT = 34; // at both ends, for where uploads come from and go to
const EDGE = 50; // before each queue, and behind the last box

const wide = {
	isWide: true,
	marksAcross: 5,
	boxAcross: 64,
	track: 178, // with figures below
	last: 142, // the last one, without the room between
	before: 50, // of the first track, for counts above it
	over: 58, // above the middle of a track: the way around a stage
	room: 26, // for that
};

const tall = {
	isWide: false,
	marksAcross: 8,
	boxAcross: 64,
	track: 161, // with figures beside it
	before: 4,
	over: 42,
	room: 16,
	cell: 166,
	boxAlong: 66,
	marksAlong: 6,
};

function isBetween(nodes, from, to) {
	return nodes.some((node) => node.track === nodes[from].track &&
		node.rank > nodes[from].rank &&
		(to === OUTSIDE || node.rank < nodes[to].rank));
}

// Does the edge go to a node that uploads have passed before?
function isBack(nodes, from, to) {
	return from !== OUTSIDE && to !== OUTSIDE &&
		nodes[to].rank <= nodes[from].rank;
}

// All sizes; `first` is the start of the first track.
function measure(plan, width) {
	const room = (width - 2 * PORT - EDGE) / plan.ranks;
	const table = room < SCALE_MIN * CELL_MIN ? tall : wide;
	const cell = Math.max(room, CELL_MIN);
	const hasAround = plan.edges.some(({ from, to }) =>
		from !== OUTSIDE && (isBetween(plan.nodes, from, to) ||
			isBack(plan.nodes, from, to)));
	const first = table.before + (hasAround ? table.room : 0);

	if (table === tall) {
		const track = Math.min(260, Math.max(tall.track,
			(width - first) / plan.tracks.length));

		return { ...tall, hasAround, first, track, last: track };
	}
	const boxAlong = Math.min(Math.max(0.4 * cell, 92), 116);

	return {
		...wide,
		hasAround,
		first,
		cell,
		boxAlong,
		marksAlong: Math.floor((cell - boxAlong - EDGE) / PITCH),
	};
}

// Converts positions along and across to x and y.
function turn(m, along, across) {
	return m.isWide ? { x: along, y: across } : { x: across, y: along };
}

function rectangle(m, along, across, alongSize, acrossSize) {
	const size = turn(m, alongSize, acrossSize);

	return { ...turn(m, along, across), width: size.x, height: size.y };
}

function placeNode(m, node) {
	const end = PORT + (node.rank + 1) * m.cell;
	const middle = m.first + node.track * m.track + m.boxAcross / 2;
	const box = end - m.boxAlong;
	const queue = node.hasQueue ? m.marksAlong * PITCH : 0;
	const queueAcross = m.marksAcross * PITCH;

	return {
		tail: box - queue - (queue > 0 ? 6 : 0), // where edges arrive
		end,
		middle,
		side: middle - (queue > 0 ? queueAcross : m.boxAcross) / 2,
		box: rectangle(m, box, middle - m.boxAcross / 2,
			m.boxAlong, m.boxAcross),
		queue: queue > 0 ? rectangle(m, box - queue - 2,
			middle - queueAcross / 2, queue, queueAcross) : null,
	};
}

// A path from commands M, L and C with points along and across.
function path(m, ...steps) {
	return steps.map(([command, ...numbers]) => {
		let text = command;

		for (let i = 0; i < numbers.length; i += 2) {
			const p = turn(m, numbers[i], numbers[i + 1]);
			text += ` ${p.x.toFixed(1)} ${p.y.toFixed(1)}`;
		}
		return text;
	}).join(" ");
}

// The position of the label of an edge through this point: above the edge or, if
// uploads move down, right of it; for a bend whose other end is above, below.
function beside(m, along, across, isBent) {
	const { x, y } = turn(m, along, across);

	if (!m.isWide)
		return { x: x + 10, y: y + 4, anchor: "start" };
	return { x, y: isBent ? y + 19 : y - 9, anchor: "middle" };
}

// A straight edge; or one that follows its own track as far as possible and then
// bends to the other.  Its label is near its end, for a bend outside of it.
function direct(m, a, b) {
	const isBent = a.across !== b.across;
	const turns = isBent ? b.along - EDGE + 4 : b.along;
	const half = b.along - EDGE / 2;
	const bend = ["C", half, a.across, half, b.across, b.along, b.across];

	return {
		path: path(m, ["M", a.along, a.across], ["L", turns, a.across],
			...isBent ? [bend] : []),
		label: beside(m, half, Math.max(a.across, b.across), isBent),
	};
}

// Past the stages in between: from the side of the box to a port, which is long
// enough, or into the side of a node's queue or box.
function around(m, from, b, to) {
	const along = from.end - m.boxAlong / 2;
	const side = from.middle - m.boxAcross / 2;
	const across = from.middle - m.over;
	const end = b.along + 26;
	const into = to && ["C", end, across, end, across, end, to.side];

	return {
		path: path(m, ["M", along, side],
			["C", along, across, along, across, along + 26, across],
			["L", b.along, across], ...into ? [into] : []),
		label: beside(m, b.along - EDGE / 2, across, false),
	};
}

// From the side of a box to the side of another one before it, or of the same box.
function back(m, from, to) {
	const side = ({ middle }) => middle - m.boxAcross / 2;
	const start = from.end - m.boxAlong / 4;
	const end = to.end - 3 * m.boxAlong / 4;
	const across = Math.min(from.middle, to.middle) - m.over;

	return {
		path: path(m, ["M", start, side(from)],
			["C", start, across, end, across, end, side(to)]),
		label: beside(m, (start + end) / 2, across, false),
	};
}

function placeEdge(m, nodes, places, edge, ends) {
	const from = places[edge.from];
	const to = places[edge.to];
	const a = { along: from?.end ?? ends.in,
		across: from?.middle ?? to.middle };
	const b = { along: to?.tail ?? ends.out,
		across: to?.middle ?? from.middle };

	if (isBack(nodes, edge.from, edge.to))
		return back(m, from, to);
	if (from !== undefined && isBetween(nodes, edge.from, edge.to))
		return around(m, from, b, to);
	return direct(m, a, b);
}

// The entry and the exit of uploads: as long as all tracks together.
function placePorts(m, plan, ends) {
	const above = m.hasAround ? m.over + 6 - m.boxAcross / 2 : 0;
	const first = m.first - above;
	const last = m.first + (plan.tracks.length - 1) * m.track + m.boxAcross;
	const port = (along) => rectangle(m, along, first, 6, last - first);

	return { in: port(ends.in - 6), out: port(ends.out) };
}

// The picture may be larger than asked for: a wide one is to be scaled, a tall
// one to be scrolled.  Returns { isWide, width, height, nodes: [{ box,
// queue }], edges: [{ path, label: { x, y, anchor } }], ports: { in, out },
// tracks: [{ x, y }] }, in the order of the plan; a box, queue or port is { x,
// y, width, height }, queue null without one.
export function layout(plan, width) {
	const m = measure(plan, width);
	const places = plan.nodes.map((node) => placeNode(m, node));
	const ends = { in: PORT, out: PORT + plan.ranks * m.cell + EDGE };
	const size = turn(m, ends.out + PORT,
		m.first + (plan.tracks.length - 1) * m.track + m.last);

	return {
		isWide: m.isWide,
		width: size.x,
		height: size.y,
		nodes: places.map(({ box, queue }) => ({ box, queue })),
		edges: plan.edges.map((edge) =>
			placeEdge(m, plan.nodes, places, edge, ends)),
		ports: placePorts(m, plan, ends),
		tracks: plan.tracks.map((_, track) => turn(m, PORT + 10,
			m.first + track * m.track + m.boxAcross / 2)),
	};
}

// The path of a queue's marks, nearest to the box first; if there are more events
// than fit, one bar.
export function marks(queue, count, isWide) {
	const columns = Math.round(queue.width / PITCH);
	const rows = Math.round(queue.height / PITCH);
	let text = "";

	if (count > columns * rows)
		return `M${queue.x} ${queue.y + 1}h${queue.width - 2}` +
			`v${queue.height - 2}h${2 - queue.width}z`;
	for (let i = 0; i < count; i++) {
		const column = isWide
			? columns - 1 - Math.floor(i / rows) : i % columns;
		const row = isWide
			? i % rows : rows - 1 - Math.floor(i / columns);
		text += `M${(queue.x + column * PITCH).toFixed(1)} ` +
			`${(queue.y + row * PITCH + 1).toFixed(1)}` +
			`h${MARK}v${MARK}h${-MARK}z`;
	}
	return text;
}
