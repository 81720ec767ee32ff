// SPDX-License-Identifier: MIT
// The code of docs/uploads.md, which the tests run as it stands there.

import { readFileSync } from "node:fs";

const text = readFileSync(
	new URL("../../../docs/uploads.md", import.meta.url), "utf8");

// The js blocks of a section, in order.
export function recipes(heading) {
	const [, section] = text.split(`\n## ${heading}\n`);
	const blocks = section?.split("\n## ")[0]
		.matchAll(/^```js\n(.*?)^```$/gms);
	const found = [...blocks ?? []].map(([, code]) => code);

	if (found.length === 0)
		throw new Error(`docs/uploads.md has no code of "${heading}"`);
	return found;
}
