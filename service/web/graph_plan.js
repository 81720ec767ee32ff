// SPDX-License-Identifier: MIT
// What there is to draw, before it is known where: which nodes, in which rank
// and lane, and which edges.  Pure.
//
//	in > decode > scale > blur > encode > store > out     lane 0
//	in >        express                         > out     lane 1
//
// Apart, each part of the stage graph has a lane of its own for the workers'
// stages; express is in the last lane.

import { partName } from "./stages.js";

export const OUTSIDE = -1; // as in frames: where uploads are from, and go to

// Behind and beside the others, with threads of their own.
const auxiliary = ["store", "express"];

function addChain(plan, hello, part, lane) {
	const first = plan.nodes.length;
	const { length } = hello.stages.filter((n) => !auxiliary.includes(n));
	const hasQueue = hello.workers.some((w) => w.lane === "workers");

	for (let stage = 0; stage < length; stage++) {
		plan.nodes.push({
			name: hello.stages[stage],
			stage,
			part,
			rank: stage,
			lane,
			hasQueue,
		});
		plan.edges.push({ from: stage > 0 ? first + stage - 1 : OUTSIDE,
			to: first + stage });
	}
	const last = plan.nodes.length - 1;
	plan.edges.push({ from: last, to: OUTSIDE });
	return last;
}

function addAuxiliary(plan, hello, name, rank, lane, senders) {
	const stage = hello.stages.indexOf(name);

	if (stage < 0)
		return OUTSIDE;
	const at = plan.nodes.length;
	const node = { name, stage, part: null, rank, lane, hasQueue: true };
	plan.nodes.push(node);
	for (const from of senders)
		plan.edges.push({ from, to: at });
	plan.edges.push({ from: at, to: OUTSIDE });
	return at;
}

// hello, as the server says it; isApart: parts in lanes of their own.
// Returns { nodes: [{ name, stage, part, rank, lane, hasQueue }], edges:
// [{ from, to }] of indexes of nodes, ranks, lanes: [label] }.  stage is an
// index of hello.stages; part is null where all parts are summed.
export function plan(hello, isApart) {
	const made = { nodes: [], edges: [], ranks: 0, lanes: [] };
	const ends = [];

	for (let lane = 0; lane < (isApart ? hello.parts : 1); lane++) {
		ends.push(addChain(made, hello, isApart ? lane : null, lane));
		made.lanes.push(isApart ? partName(hello.balance, lane) : "");
	}
	const length = made.nodes[ends[0]].rank + 1;
	const hasStore = hello.stages.includes("store");
	const express = addAuxiliary(made, hello, "express",
		(length - 1) / 2, made.lanes.length, [OUTSIDE]);

	if (express !== OUTSIDE) {
		made.lanes.push("");
		ends.push(express);
	}
	addAuxiliary(made, hello, "store", length, 0, ends);
	made.ranks = length + (hasStore ? 1 : 0);
	return made;
}
