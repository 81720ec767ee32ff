// SPDX-License-Identifier: MIT
// Names that all views share: of the colour of a stage, by its name, as indexes
// differ from server to server; and of the parts of the stage graph.

// A CSS variable, of style.css.
export function stageColour(name) {
	return `--stage-${name}`;
}

// balance, as hello says it; index of a part.
export function partName(balance, index) {
	return `${balance === "partition" ? "partition" : "replica"} ${index}`;
}
