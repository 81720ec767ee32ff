// SPDX-License-Identifier: MIT
// One upload: sends a photo and returns the results, or the reason of a failure.
// The page of the admin port sends it to the main port.

import { key } from "./key.js";
import { uploads } from "./ports.js";
import { parse } from "./server_timing.js";

// Texts that are more helpful on this page than the server's own.
const advice = {
	method_not_allowed: "This is the server's admin port;"
		+ " send uploads to its main port.",
	unauthorized: "Enter an API key in the form above.",
};

// The texts of Warning headers: 199 darkroom "...", 199 darkroom "..."
function warnings(headers) {
	return [...(headers.get("Warning") ?? "").matchAll(/"([^"]*)"/g)]
		.map(([, text]) => text);
}

// { status, title, detail, code, retry_s } of a reply that is not a picture.
async function readProblem(reply) {
	const { status, statusText, headers } = reply;
	const told = /^application\/problem\+json\b/
		.test(headers.get("Content-Type") ?? "")
		? await reply.json()
		: { title: !reply.ok && statusText || "No result",
			detail: "The reply is not from Darkroom." };

	return {
		status,
		...told,
		detail: advice[told.code] ?? told.detail,
		retry_s: headers.get("Retry-After"),
	};
}

// The reason for no reply.  A photo that changed on the disk cannot be read.
// `base`: of the other port, or null.
async function lost(photo, base) {
	const isReadable = await photo.slice(0, 1).arrayBuffer()
		.then(() => true, () => false);

	if (isReadable && base !== null)
		return { title: "No reply",
			detail: "The reply of the server's main port cannot be"
				+ " read here. Perhaps the port requires a key,"
				+ " the upload was too slow, or the server has"
				+ " too many connections. Use the page of that"
				+ " port:",
			link: `${base}/#try` };
	return isReadable
		? { title: "No reply",
			detail: "The server cannot be reached, or it closed"
				+ " the connection before it had the whole"
				+ " photo, for example because the photo is"
				+ " too large." }
		: { title: "Not sent",
			detail: "The file cannot be read. Choose it again." };
}

// Decodes base64.
function bytesOf(text) {
	return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

// { results: [{ name, blob, width, height }], placeholder, warnings }
async function readSeveral(reply) {
	const { variants, placeholder = null } = await reply.json();

	return {
		results: variants.map(({ name, type, width, height, data }) =>
			({ name, width, height,
				blob: new Blob([bytesOf(data)], { type }) })),
		placeholder,
		warnings: variants.flatMap((variant) => variant.warnings
			.map((text) => `${variant.name}: ${text}`)),
	};
}

async function readOne(reply) {
	const { headers } = reply;
	const blurhash = headers.get("X-Blurhash");

	return {
		results: [{ name: "", blob: await reply.blob() }],
		placeholder: blurhash === null ? null : { blurhash,
			dominant_color: headers.get("X-Dominant-Color") },
		warnings: warnings(headers),
	};
}

// { problem }, or { results, placeholder, metrics, warnings, seen_ms }; without
// meaning after `signal` has aborted it.
export async function upload(photo, { query, accept, isSeveral }, signal) {
	const base = await uploads;
	const start_ms = performance.now();

	try {
		const reply = await key.fetch(`${base ?? "."}/${query}`, {
			method: "POST",
			// Without a type, the browser need not ask beforehand
			// whether it may send it to another port.
			body: photo.slice(),
			cache: "no-store",
			headers: { Accept: accept },
			signal,
		});

		const type = reply.headers.get("Content-Type") ?? "";

		if (!reply.ok || type.startsWith("image/") === isSeveral)
			return { problem: await readProblem(reply) };
		return {
			...await (isSeveral ? readSeveral : readOne)(reply),
			metrics: parse(reply.headers.get("Server-Timing")),
			seen_ms: performance.now() - start_ms,
		};
	} catch (error) {
		if (error instanceof TypeError || signal.aborted)
			return { problem: await lost(photo, base) };
		throw error;
	}
}
