// SPDX-License-Identifier: MIT
// Where this server's other port is, for the page of the main port and for that
// of the admin port.

const reply = fetch("./", { method: "HEAD", cache: "no-store" })
	.catch(() => null);

// null: it is this port, or it is not known.
async function told(name) {
	const url = (await reply)?.headers.get(name) ?? null;

	return /^https?:\/\//.test(url ?? "") ? url : null;
}

export const liveViews = told("X-Live-Views");
export const uploads = told("X-Uploads");
