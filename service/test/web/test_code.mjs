// SPDX-License-Identifier: MIT
// The programs that the page shows: their text, whatever a query has; that they
// work is tested in the browser.
import assert from "node:assert/strict";
import test from "node:test";
import * as page from "../../web/code.js";

const formats = [["avif", "image/avif"], ["webp", "image/webp"],
	["jpeg", "image/jpeg"]].map(([word, type]) => ({ word, type }));
const plain = { variants: [] };
const two = { variants: [{ name: "thumb", parameters: "w=320" },
	{ name: "page", parameters: "" }] };

test("fetch has what the request needs, and no key", () => {
	const one = page.fetchCode({ url: "http://x/?w=9", asked: plain,
		accept: "image/*", isKeyed: false });

	assert.match(one, /fetch\("http:\/\/x\/\?w=9", \{/);
	assert.doesNotMatch(one, /headers/);
	assert.match(one, /reply\.blob\(\)/);
	const several = page.fetchCode({ url: 'http://x/?a="', asked: two,
		accept: "application/json", isKeyed: true });

	assert.match(several, /http:\/\/x\/\?a=\\"/);
	assert.match(several, /Accept: "application\/json", Authorization/);
	assert.match(several, /variants/);
});

test("the query of <picture> has its own variants, or the formats", () => {
	const all = "variant=avif:format=avif&variant=webp:format=webp"
		+ "&variant=jpeg:format=jpeg";

	assert.equal(page.pictureQuery("", plain), `?${all}`);
	assert.equal(page.pictureQuery("?w=9&format=png&q=5", plain),
		`?w=9&q=5&${all}`);
	assert.equal(page.pictureQuery("?variant=thumb:w=320", two),
		"?variant=thumb:w=320");
});

test("<picture> is HTML, whatever is in it", () => {
	const one = { base: "http://x/a&b", stored: "http://x/--><p>", formats,
		results: [] };
	const html = page.pictureCode({ ...one, asked: plain });

	assert.equal(html.split("-->").length, 2);
	assert.match(html, /srcset="http:\/\/x\/a&amp;b\/v1\/images\/ID\/avif"/);
	assert.match(html, /<img src="[^"]*\/jpeg" alt="">/);
	const several = page.pictureCode({ ...one, asked: two,
		results: [{ name: "thumb", width: 320 }, { name: "old", width: 9 }] });

	assert.match(several, /ID\/thumb 320w,\n\t\t[^ ]*ID\/page"/);
	assert.doesNotMatch(several, /old/);
});
