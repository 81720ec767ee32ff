// SPDX-License-Identifier: MIT
// Reads the event stream GET v1/live.
//
//	fetch() --> bytes --> lines --> events --> on.hello(), on.frame()
//
// It uses fetch(), because EventSource can neither send a key nor distinguish
// refusals.

const RETRY_MS = 1000;
const RETRY_FULL_MS = 10000; // until a viewer leaves
const SILENCE_MS = 5000; // ten frames

// Reasons for having no stream.
const refusals = {
	invalid_key: "locked",
	key_not_allowed: "locked",
	not_found: "elsewhere",
	too_many_viewers: "full",
	unauthorized: "locked",
};

// { why, detail }
async function refusalOf(reply) {
	const { code, detail } = await reply.json().catch(() => ({}));

	return { why: refusals[code] ?? "lost", detail };
}

// Calls take(event, data) for each event until the stream ends.
async function readEvents(stream, take) {
	const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
	let text = "";

	for (;;) {
		const { value, done } = await reader.read();
		if (done)
			return;
		text += value;
		const blocks = text.split("\n\n");
		text = blocks.pop();
		for (const block of blocks) {
			const lines = block.split("\n");
			const field = (name) => lines
				.filter((line) => line.startsWith(name + ": "))
				.map((line) => line.slice(name.length + 2))
				.join("\n");
			take(field("event"), field("data"));
		}
	}
}

// Reads until the server ends the stream or is silent for too long.  Returns
// { why, detail }.
async function follow(on, key) {
	const aborter = new AbortController();
	let silence;
	const heard = () => {
		clearTimeout(silence);
		silence = setTimeout(() => aborter.abort(), SILENCE_MS);
	};

	heard();
	try {
		const reply = await key.fetch("v1/live", {
			cache: "no-store",
			signal: aborter.signal,
		});
		if (!reply.ok)
			return await refusalOf(reply);
		await readEvents(reply.body, (event, data) => {
			heard();
			on[event]?.(JSON.parse(data));
		});
	} catch (error) {
		if (!(error instanceof TypeError || error.name === "AbortError"))
			throw error;
	} finally {
		clearTimeout(silence);
		aborter.abort();
	}
	return { why: "lost" };
}

// Reads for ever: after each end, reports the reason by on.state() and tries
// again.  It ends after on.elsewhere(): the stream is not on this port.
export async function live(on, key) {
	for (;;) {
		const { why, detail } = await follow(on, key);

		if (why === "elsewhere") {
			on.elsewhere(detail);
			return;
		}
		on.state(why);
		if (why === "locked")
			await key.next();
		else
			await new Promise((go) => setTimeout(
				go, why === "full" ? RETRY_FULL_MS : RETRY_MS));
	}
}
