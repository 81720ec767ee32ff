// SPDX-License-Identifier: MIT
// Names for all views: of a stage's colour, by the name of the stage, because
// indexes differ between servers; and of the parts of the stage graph.

// A CSS variable of style.css.
export function stageColour(name) {
	return `--stage-${name}`;
}

// balance: that of hello; index: of a part.
export function partName(balance, index) {
	return `${balance === "partition" ? "partition" : "replica"} ${index}`;
}
