// SPDX-License-Identifier: MIT
// axe-core, which looks for what keeps people out of a page who use a screen
// reader, a keyboard, or weak eyes.
//
// It is taken from node_modules/ here, after `npm install`, or from Chromium, if it
// is not chromium-headless-shell: its developer tools contain Lighthouse, and that
// contains axe-core, as a template literal that begins with its licence.

import { readFileSync } from "node:fs";

const INSTALLED = new URL("node_modules/axe-core/axe.min.js",
	import.meta.url);
const LIGHTHOUSE = "devtools://devtools/bundled/third_party/lighthouse/" +
	"lighthouse-dt-bundle.js";
const LITERAL = /`\/\*! axe v(?:[^`\\]|\\[^])*`/;

async function sourceIn(browser) {
	const page = await browser.open(LIGHTHOUSE);

	try {
		await page.until("document.readyState === 'complete'");
		// Not its innerText, for which megabytes would be laid out.
		const bundle = await page.evaluate("document.body.textContent");
		const literal = LITERAL.exec(bundle)?.[0];
		return literal && await page.evaluate(literal);
	} finally {
		await page.close();
	}
}

let known; // a promise, once it was asked for

// The source of axe-core; undefined: there is none.
export function axeSource(browser) {
	try {
		known ??= readFileSync(INSTALLED, "utf8");
	} catch {
		known ??= sourceIn(browser).catch(() => undefined);
	}
	return known;
}

// What is serious or critical in the page, in words.
export async function violations(page, source) {
	if (!await page.evaluate("'axe' in window"))
		await page.evaluate(`${source}; undefined`);
	const rules = await page.evaluate(() => axe
		.run({ resultTypes: ["violations"] })
		.then((results) => results.violations));

	return rules
		.filter((rule) => ["serious", "critical"].includes(rule.impact))
		.flatMap((rule) => rule.nodes.map((node) =>
			`${rule.id}: ${node.html}: ${node.failureSummary}`));
}
