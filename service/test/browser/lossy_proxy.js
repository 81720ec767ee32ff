// SPDX-License-Identifier: MIT
// A proxy on the way to a server that loses connections: each when it has passed
// on 64 KiB to 100 KB of the client, wherever in a request that is.  What comes
// after that, from both sides, is lost.

import { once } from "node:events";
import { connect, createServer } from "node:net";

export class LossyProxy {
	#server;
	#target; // a port
	#afterCut; // called with the number of cuts so far
	url;
	bodyBytes = 0; // of requests, passed on to the server
	cuts = 0;
	isLossy = true;
	losesEnd = false; // the reply that says that the upload has ended

	static async start(t, target, afterCut = () => {}) {
		const proxy = new LossyProxy();

		proxy.#target = target;
		proxy.#afterCut = afterCut;
		proxy.#server = createServer((client) => proxy.#accept(client));
		proxy.#server.listen(0, "127.0.0.1");
		await once(proxy.#server, "listening");
		proxy.url = `http://127.0.0.1:${proxy.#server.address().port}`;
		t.after(() => proxy.#server.close());
		return proxy;
	}

	#accept(client) {
		const upstream = connect(this.#target, "127.0.0.1");
		const count = bodyCounter((bytes) => { this.bodyBytes += bytes; });
		let left = 65536 + (this.cuts * 7919) % 34464, isCut = false;

		const pass = (data) => {
			const piece = this.isLossy ? data.subarray(0, left) : data;

			if (isCut)
				return;
			count(piece);
			upstream.write(piece);
			if (!this.isLossy || (left -= piece.length) > 0)
				return;
			isCut = true;
			this.cuts++;
			upstream.end(); // the server gets what was passed on
			client.destroy();
			this.#afterCut(this.cuts);
		};
		// What comes before the server is there does not count.
		upstream.on("connect", () => client.on("data", pass));
		upstream.on("data", (data) => {
			if (this.losesEnd && data.includes("Content-Location")) {
				this.losesEnd = false;
				client.destroy();
			} else if (!isCut) {
				client.write(data);
			}
		});
		for (const [one, other] of [[client, upstream],
			[upstream, client]]) {
			one.on("error", () => {}); // "close" follows
			one.on("close", () => isCut || other.destroy());
		}
	}
}

// A function that is given all bytes of a connection, and tells how many of them
// are of bodies.  It knows Content-Length alone.
function bodyCounter(tell) {
	let head = "", left = 0;

	return (data) => {
		while (data.length > 0) {
			const body = Math.min(left, data.length);

			tell(body);
			left -= body;
			head += data.toString("latin1", body);
			const end = head.indexOf("\r\n\r\n");

			if (left > 0 || end < 0)
				return;
			const [, length] = head.slice(0, end)
				.match(/^content-length: *(\d+)/im) ?? [0, 0];

			left = Number(length);
			data = Buffer.from(head.slice(end + 4), "latin1");
			head = "";
		}
	};
}
