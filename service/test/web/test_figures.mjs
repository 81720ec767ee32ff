// SPDX-License-Identifier: MIT
// Figures of the page keep three digits that count, whatever their size, and
// what was not measured is not told as a number.
import assert from "node:assert/strict";
import test from "node:test";
import * as figures from "../../web/figures.js";

// Formatted, with spaces that break.
function told(format, value) {
	return figures[format](value).replace(/\u00a0/g, " ");
}

function check(format, cases) {
	for (const [value, text] of cases)
		assert.equal(told(format, value), text, `${format}(${value})`);
}

test("three digits count", () => {
	check("formatCount", [
		[0, "0"], [7, "7"], [4.25, "4.25"], [42.06, "42.1"],
		[9.996, "10.0"], [99.96, "100"], [950, "950"],
		[999.6, "1.00k"], [1234, "1.23k"], [56789, "56.8k"],
		[3e6, "3.00M"],
	]);
	check("formatRate", [[0, "0/s"], [12.5, "12.5/s"], [2300, "2.30k/s"]]);
	check("formatMilliseconds", [
		[0, "0 ms"], [0.0042, "4.20 µs"], [0.25, "250 µs"],
		[12.34, "12.3 ms"], [999.7, "1.00 s"], [65432, "65.4 s"],
	]);
	check("formatBytes", [
		[512, "512 B"], [2 ** 20, "1.00 MiB"],
		[1.5 * 2 ** 30, "1.50 GiB"],
	]);
	check("formatShare", [[0, "0 %"], [0.417, "42 %"], [1.5, "150 %"]]);
});

test("parts never add up to more than the whole", () => {
	check("formatPart", [[0, "0 %"], [0.29, "29 %"], [0.999, "99 %"],
		[1, "100 %"]]);
	assert.equal(figures.formatPart(0.4567, 1), "45.6\u00a0%");
});

test("a few errors are not told as none", () => {
	check("formatErrors", [[0, "0 %"], [0.0002, "< 0.1 %"],
		[0.0234, "2.3 %"], [1, "100.0 %"]]);
});

test("what was not measured is a dash", () => {
	for (const format of Object.keys(figures)) {
		assert.equal(told(format, null), "–");
		assert.equal(told(format, undefined), "–");
	}
});
