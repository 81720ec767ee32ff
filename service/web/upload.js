// SPDX-License-Identifier: MIT
// One upload: a photo goes out, and a result or the reason why not comes back.

import { key } from "./key.js";
import { parse } from "./server_timing.js";

// What the page knows better than the server that answered.
const advice = {
	method_not_allowed: "This is the server's admin port;"
		+ " uploads go to its main port.",
	unauthorized: "Give an API key in the form above.",
};

// The texts of Warning headers: 199 darkroom "...", 199 darkroom "..."
function warnings(headers) {
	return [...(headers.get("Warning") ?? "").matchAll(/"([^"]*)"/g)]
		.map(([, text]) => text);
}

// { status, title, detail, code, retry_s } of a reply that is no picture.
async function readProblem(reply) {
	const { status, statusText, headers } = reply;
	const told = /^application\/problem\+json\b/
		.test(headers.get("Content-Type") ?? "")
		? await reply.json()
		: { title: !reply.ok && statusText || "No result",
			detail: "Something else than Darkroom answered." };

	return {
		status,
		...told,
		detail: advice[told.code] ?? told.detail,
		retry_s: headers.get("Retry-After"),
	};
}

// Why there was no reply.  A photo cannot be read if it changed on the disk.
async function lost(photo) {
	const isReadable = await photo.slice(0, 1).arrayBuffer()
		.then(() => true, () => false);

	return isReadable
		? { title: "No reply",
			detail: "The server is gone, or closed the connection"
				+ " before it had the photo, as it does"
				+ " with one that is too large." }
		: { title: "Not sent",
			detail: "The file cannot be read; choose it again." };
}

// { problem }, or { result, metrics, warnings, seen_ms }; of no meaning once
// `signal` has aborted it.
export async function upload(photo, query, signal) {
	const start_ms = performance.now();

	try {
		const reply = await key.fetch("./" + query, {
			method: "POST",
			body: photo,
			cache: "no-store",
			signal,
		});
		const type = reply.headers.get("Content-Type");

		if (!reply.ok || type !== "image/jpeg")
			return { problem: await readProblem(reply) };
		return {
			result: await reply.blob(),
			metrics: parse(reply.headers.get("Server-Timing")),
			warnings: warnings(reply.headers),
			seen_ms: performance.now() - start_ms,
		};
	} catch (error) {
		if (error instanceof TypeError || signal.aborted)
			return { problem: await lost(photo) };
		throw error;
	}
}
