// SPDX-License-Identifier: MIT
// What the server tells of itself, as it comes: GET v1/live, an event stream.
//
//	fetch() --> bytes --> lines --> events --> on.hello(), on.frame()
//
// By fetch() and not by EventSource, which can neither send a key nor tell one
// refusal from another.

const RETRY_MS = 1000;
const RETRY_FULL_MS = 10000; // until a viewer leaves
const SILENCE_MS = 5000; // ten frames

// Why there is nothing to see.
const refusals = {
	invalid_key: "locked",
	not_found: "elsewhere",
	too_many_viewers: "full",
	unauthorized: "locked",
};

async function refusalOf(reply) {
	const problem = await reply.json().catch(() => ({}));

	return refusals[problem.code] ?? "lost";
}

// Call take(event, data) for each event of the stream, until it ends.
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

// Until the server ends it, or says nothing for too long.  Returns why there is
// nothing to see now.
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
	return "lost";
}

// Follow, and whenever that ends, say why by on.state(), and again.
export async function live(on, key) {
	for (;;) {
		const why = await follow(on, key);

		on.state(why);
		if (why === "locked")
			await key.next();
		else if (why === "elsewhere")
			return;
		else
			await new Promise((go) => setTimeout(
				go, why === "full" ? RETRY_FULL_MS : RETRY_MS));
	}
}
