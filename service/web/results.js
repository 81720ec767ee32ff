// SPDX-License-Identifier: MIT
// The results of an upload: one is compared with the original; and the
// placeholder.

import { decode } from "./blurhash.js";
import * as comparison from "./comparison.js";
import { byId, canvasOf, element } from "./dom.js";
import { formatBytes } from "./figures.js";
import { formats } from "./parameters.js";
import { resultName } from "./query.js";

const HASH_PX = 32; // a BlurHash has no details

let shown = []; // { name, blob, width, height, url }
let chosen = ""; // the name that was chosen last
let photoName = "";

function nameOf({ name, blob }) {
	return resultName(photoName, shown.length > 1 ? name : "",
		formats.find(({ type }) => type === blob.type)?.ending);
}

function compare(result) {
	return comparison.show("result", result.blob, nameOf(result));
}

// A small picture to choose a result, with a link to save it.
function makeChoice(result) {
	const { name, blob, width, height, url } = result;
	const input = element("input", { type: "radio", name: "result" });
	const image = element("img", { src: url, alt: "" });
	const words = `${name}: ${width} × ${height}, ${formatBytes(blob.size)}`;

	input.onchange = () => {
		chosen = name;
		compare(result);
	};
	return {
		input,
		item: element("li", {},
			element("label", {}, image, input, ` ${words}`),
			element("a", { href: url, download: nameOf(result) },
				`Save ${name}`)),
	};
}

// Resolves when the compared result is visible.
export async function showResults(results, name) {
	const list = byId("results");

	shown.forEach(({ url }) => URL.revokeObjectURL(url));
	photoName = name;
	shown = results.map((result) => ({ ...result,
		url: URL.createObjectURL(result.blob) }));
	const at = Math.max(0,
		shown.findIndex((result) => result.name === chosen));
	const choices = shown.map(makeChoice);

	choices[at].input.checked = true;
	list.replaceChildren(...choices.map(({ item }) => item));
	list.parentNode.hidden = shown.length === 1;
	await compare(shown[at]);
}

function forgetPlaceholder() {
	byId("placeholder").replaceChildren();
}

// Aspect ratio of the smallest result, to which the placeholder belongs.
function placeholderAspect() {
	const image = byId("result");
	const [first, ...rest] = shown;

	if (rest.length === 0)
		return image.naturalWidth / image.naturalHeight || 1;
	const { width, height } = rest.reduce((least, next) =>
		next.width * next.height < least.width * least.height
			? next : least, first);
	return width / height;
}

// { blurhash, dominant_color }, or null if none was requested.  The results are
// visible.
export function showPlaceholder(placeholder) {
	const { blurhash, dominant_color } = placeholder ?? {};
	const samples = placeholder && decode(blurhash, HASH_PX, HASH_PX);

	if (!samples || !/^#[\da-f]{6}$/i.test(dominant_color)) {
		forgetPlaceholder();
		return;
	}
	const canvas = canvasOf(HASH_PX, HASH_PX);
	const patch = element("span", { class: "patch" });

	canvas.getContext("2d").putImageData(
		new ImageData(samples, HASH_PX, HASH_PX), 0, 0);
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", "The BlurHash as a picture");
	canvas.style.aspectRatio = placeholderAspect();
	patch.style.setProperty("--colour", dominant_color);
	byId("placeholder").replaceChildren(
		element("h2", {}, "Placeholder"), canvas,
		element("dl", {},
			element("dt", {}, "BlurHash"),
			element("dd", {}, element("code", {}, blurhash)),
			element("dt", {}, "Dominant colour"),
			element("dd", {}, patch,
				element("code", {}, dominant_color))));
}

export function forgetResults() {
	shown.forEach(({ url }) => URL.revokeObjectURL(url));
	shown = [];
	byId("results").parentNode.hidden = true;
	forgetPlaceholder();
	comparison.forget("result");
}
