// SPDX-License-Identifier: MIT
// Programs that ask for what the form asks for: with fetch, with Uppy, and the
// HTML that shows stored results.  Pure.

import { ANY_PICTURE, isSeveral } from "./query.js";

// What a <picture> offers, the smallest files first.
const OFFERED = ["avif", "webp", "jpeg"];

const quoted = (text) => JSON.stringify(text);

// The body of a program that is indented by one tab.
function list(lines) {
	return lines.map((line) => `\t${line}\n`).join("");
}

function headers(accept, isKeyed) {
	const all = [
		...accept === ANY_PICTURE ? [] : [`Accept: ${quoted(accept)}`],
		// A program may know it; a page for everybody must not.
		...isKeyed ? ["Authorization: `Bearer ${key}`"] : [],
	];

	return all.length > 0 ? [`headers: { ${all.join(", ")} },`] : [];
}

// url: of POST /.  `file` is a File or Blob.
export function fetchCode({ url, asked, accept, isKeyed }) {
	const lines = ['method: "POST",', ...headers(accept, isKeyed),
		"body: file,"];
	const result = isSeveral(asked)
		? "const { variants } = await reply.json(); // data: in base64"
		: "const picture = await reply.blob();";

	return `const reply = await fetch(${quoted(url)}, {\n${list(lines)}});\n\n`
		+ "if (!reply.ok)\n"
		+ "\tthrow new Error((await reply.json()).detail);\n"
		+ `${result}\n`;
}

// stored: the URL of POST /v1/images.
export function uppyCode({ stored, isKeyed }) {
	const lines = [`endpoint: ${quoted(stored)},`,
		...headers(ANY_PICTURE, isKeyed)];

	return 'import Uppy from "@uppy/core";\n'
		+ 'import XHRUpload from "@uppy/xhr-upload";\n\n'
		+ "const uppy = new Uppy().use(XHRUpload, {\n"
		+ `${list(lines)}});\n\n`
		+ 'uppy.on("upload-success", (file, { body }) => {\n'
		+ "\tconsole.log(body.variants.map(({ url }) => url));\n"
		+ "});\n";
}

const escaped = (text) => text.replaceAll("&", "&amp;")
	.replaceAll('"', "&quot;").replaceAll("<", "&lt;");

// The query of POST /v1/images that makes what pictureCode() shows: its own
// variants, or one of each format.
export function pictureQuery(query, asked) {
	if (asked.variants.length > 0)
		return query;
	const said = query.slice(1).split("&").filter((part) =>
		part !== "" && !part.startsWith("format="));

	return "?" + [...said, ...OFFERED.map((word) =>
		`variant=${word}:format=${word}`)].join("&");
}

function formatSources(image, formats) {
	const type = (word) => formats.find((f) => f.word === word)?.type;
	const [last, ...others] = OFFERED.toReversed();

	return "<picture>\n"
		+ list(others.toReversed().map((word) =>
			`<source type="${type(word)}" srcset="${image}/${word}">`))
		+ `\t<img src="${image}/${last}" alt="">\n`
		+ "</picture>\n";
}

// Of several results, the browser takes one by its width, where that is known.
function sizes(image, results) {
	const all = results.map(({ name, width }) =>
		`${image}/${name}${width ? ` ${width}w` : ""}`);

	return `<img src="${image}/${results[0].name}"\n`
		+ `\tsrcset="${all.join(",\n\t\t")}"\n`
		+ '\tsizes="100vw" alt="">\n';
}

// base: of the server, without the last slash; results: the last ones, whose
// widths are known, or none.
export function pictureCode({ base, stored, asked, results, formats }) {
	const image = escaped(`${base}/v1/images/ID`);
	const named = asked.variants.map(({ name }) =>
		results.find((result) => result.name === name) ?? { name });

	return `<!-- The reply to POST ${stored.replaceAll("--", "-%2D")} has the ID. -->\n`
		+ (asked.variants.length > 0 ? sizes(image, named)
			: formatSources(image, formats));
}
