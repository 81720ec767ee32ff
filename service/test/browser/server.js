// SPDX-License-Identifier: MIT
// The programs that tests start: darkroom and loadgen, by $DARKROOM, $LOADGEN.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

// Flags of each server for which the test chooses no schedule, as in server.sh.
const testPolicy = process.env.TEST_POLICY
	? ["--policy", ...process.env.TEST_POLICY.split(" ")] : [];

const running = new Set();

// Whatever a failure leaves behind.
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

function run(program, flags, stdio, environment = process.env) {
	const child = spawn(program, flags, { stdio, env: environment });

	running.add(child);
	child.on("exit", () => running.delete(child));
	return child;
}

function policyFor(flags) {
	const chosen = ["--policy", "--balance", "--slice", "--discipline"];

	return chosen.some((flag) => flags.includes(flag)) ? [] : testPolicy;
}

// Its exit status after the signal; null: it died of it.
async function end(child, signal) {
	if (running.has(child)) {
		const exit = once(child, "exit");
		child.kill(signal);
		await exit;
	}
	return child.exitCode;
}

export class Server {
	#process;
	port;
	url;
	adminUrl; // url without --admin-listen

	// On this port; 0: any that is free.
	static async start(flags = [], port = 0) {
		const server = new Server();

		server.#process = run(
			process.env.DARKROOM,
			["--listen", `127.0.0.1:${port}`, ...policyFor(flags),
				...flags],
			["ignore", "ignore", "pipe"],
			{ ...process.env, DARKROOM_LOG: "text" },
		);
		await server.#listening();
		return server;
	}

	// Reads its log until that tells the ports, and then what follows, too,
	// as the server would wait for a reader.
	async #listening() {
		const lines = createInterface({ input: this.#process.stderr });
		const portAfter = (words, text) =>
			text.match(`${words} \\S+ \\(port (\\d+)\\)`)?.[1];
		const seen = [];
		let adminPort;

		await new Promise((resolve, reject) => {
			lines.on("line", (line) => {
				seen.push(line);
				this.port ??= portAfter("listening on", line);
				adminPort ??= portAfter("admin on", line);
				if (this.port)
					resolve();
			});
			lines.on("close", () =>
				reject(new Error(seen.join("\n"))));
		});
		this.url = `http://127.0.0.1:${this.port}`;
		this.adminUrl = `http://127.0.0.1:${adminPort ?? this.port}`;
	}

	// Ends in good order.
	async stop() {
		assert.equal(await end(this.#process, "SIGTERM"), 0);
	}

	// As by a crash.
	async kill() {
		await end(this.#process, "SIGKILL");
	}

	async stats() {
		return (await fetch(`${this.adminUrl}/stats`)).json();
	}
}

// Uploads the photos of a folder, again and again, until end() is called.
export function load(server, folder, query, connections) {
	const loadgen = run(process.env.LOADGEN, [
		"--dataset", folder,
		"--connections", String(connections),
		"--duration", "600",
		`${server.url}/?${query}`,
	], "ignore");

	return { end: () => end(loadgen, "SIGKILL") };
}
