// SPDX-License-Identifier: MIT
// What is drawn, without positions: the nodes, each with its rank and track, and
// the edges.  Pure.
//
//	in > decode > scale > blur > encode > store > out
//	                `------------^
//
// Results without blur pass it by.
//
// All of it is in track 0, except if parts are shown separately: then each replica
// has a chain in its own track, before the same store; with partitions, one chain
// goes through the tracks of all of them.

import { partName } from "./stages.js";

export const OUTSIDE = -1; // as in frames: where uploads are from, and go to

// placeOf: properties of a node there, by stage.
function addChain(plan, hello, placeOf) {
	const first = plan.nodes.length;
	const { length } = hello.stages.filter((name) => name !== "store");
	const hasQueue = hello.workers.some((w) => w.lane === "workers");

	for (let stage = 0; stage < length; stage++) {
		plan.nodes.push({
			name: hello.stages[stage],
			stage,
			rank: stage,
			hasQueue,
			...placeOf(stage),
		});
		plan.edges.push({ from: stage > 0 ? first + stage - 1 : OUTSIDE,
			to: first + stage });
	}
	const blur = hello.stages.indexOf("blur");

	if (blur > 0 && blur + 1 < length)
		plan.edges.push({ from: first + blur - 1, to: first + blur + 1 });

	const last = plan.nodes.length - 1;
	plan.edges.push({ from: last, to: OUTSIDE });
	return last;
}

// Returns the last node of each chain.
function addChains(plan, hello, isApart, stageParts) {
	if (!isApart)
		return [addChain(plan, hello, () =>
			({ track: 0, part: null, isWhole: true }))];
	if (hello.balance === "partition")
		return [addChain(plan, hello, (stage) => ({
			track: stageParts[stage],
			part: stageParts[stage],
			isWhole: true,
		}))];
	return plan.tracks.map((_, part) => addChain(plan, hello, () =>
		({ track: part, part, isWhole: false })));
}

// After the other stages, with threads of its own.
function addStore(plan, hello, senders) {
	const stage = hello.stages.indexOf("store");
	const at = plan.nodes.length;

	if (stage < 0)
		return;
	plan.nodes.push({ name: "store", stage, rank: plan.ranks++,
		hasQueue: true, track: 0, part: null, isWhole: true });
	for (const from of senders)
		plan.edges.push({ from, to: at });
	plan.edges.push({ from: at, to: OUTSIDE });
}

// hello, as the server says it; isApart: parts in tracks of their own;
// stageParts: a frame's stage_parts, which only partitions have.
//
// Returns { nodes: [{ name, stage, rank, track, hasQueue, part, isWhole }],
// edges: [{ from, to }] of indexes of nodes, ranks, tracks: [label] }.  stage is
// an index of hello.stages; part is where it is, null: in no single one; a node
// that is not whole stands for what its part does of the stage.
export function plan(hello, isApart, stageParts) {
	const tracks = isApart
		? Array.from({ length: hello.parts }, (_, part) =>
			partName(hello.balance, part))
		: [""];
	const made = { nodes: [], edges: [], ranks: 0, tracks };
	const ends = addChains(made, hello, isApart, stageParts);

	made.ranks = made.nodes[ends[0]].rank + 1;
	addStore(made, hello, ends);
	return made;
}
