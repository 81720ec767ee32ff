// SPDX-License-Identifier: MIT
// Each stage that a server may have has a colour of its own in style.css.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { partName, stageColour } from "../../web/stages.js";

const style = readFileSync(new URL("../../web/style.css", import.meta.url),
	"utf8");
const stages = ["decode", "scale", "blur", "encode", "store"];

test("each stage has its own colour", () => {
	const colours = stages.map((name) =>
		style.match(`${stageColour(name)}: (#\\w{6});`)?.[1]);

	assert.ok(colours.every((colour) => colour !== undefined));
	assert.equal(new Set(colours).size, colours.length);
});

test("parts are told as what they are", () => {
	assert.equal(partName("partition", 1), "partition 1");
	assert.equal(partName("replicate", 0), "replica 0");
});
